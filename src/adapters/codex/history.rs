//! What the model sees after a resume: the records of a thread, folded by Codex's
//! rules to a list of items.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use crate::json::{self, Kind};
use crate::model::ids::Seq;

use super::item::Item;
use super::marks::{Mark, turn_of};
use super::members::{get, members_of, some, text};

/// One record, as far as it matters for the list.
#[derive(Debug, Clone)]
pub(super) enum Step {
    /// The item with this number.
    Item(usize),
    /// The compaction with this number.
    Compacted(usize),
    RolledBack(u32),
    TurnStarted(Option<Rc<str>>),
    TurnContext(Option<Rc<str>>),
    UserEvent,
    /// A header.
    Meta,
}

/// An item of the thread.
#[derive(Debug)]
pub(super) struct ItemInfo<'a> {
    pub source: Source<'a>,
    pub item: Item,
    pub mark: Mark,
    /// How it is seen wherever it stands.
    pub alter: Alter,
    /// Its message in the log, and the node that has brought it.
    pub message: Seq,
    pub node: Seq,
}

/// Where an item comes from.
#[derive(Debug)]
pub(super) enum Source<'a> {
    /// The item as it is stored.
    Stored(&'a [u8]),
    /// A prompt that a compaction has made of its summary.
    Summary(Cow<'a, str>),
}

/// A compaction of the thread.
#[derive(Debug)]
pub(super) struct Compaction<'a> {
    /// The new list; none where the program has to make it.
    pub items: Option<Vec<usize>>,
    /// The item that its summary becomes where the program makes the list.
    pub summary: Option<usize>,
    pub message: &'a [u8],
    /// The list as it was put into the log.
    pub laid: Vec<Slot>,
}

/// One place of the list.
#[derive(Debug, Clone)]
pub(super) struct Slot {
    pub item: usize,
    /// The node that has brought it; the root where none has.
    pub node: Seq,
    pub alter: Alter,
}

/// How an item is seen otherwise than it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Alter {
    Nothing,
    /// With these texts in the place of its content.
    Texts(Rc<Vec<String>>),
    /// An output without its texts that are empty.
    NoEmptyTexts,
    /// Not at all.
    Out,
}

/// The items and compactions of a thread.
#[derive(Debug, Default)]
pub(super) struct Thread<'a> {
    pub items: Vec<ItemInfo<'a>>,
    pub compactions: Vec<Compaction<'a>>,
}

/// Which compactions count.
#[derive(Debug, Default)]
pub(super) struct Liveness {
    /// The step after which the list begins.
    pub base: Option<usize>,
    /// Compactions that a rollback took away.
    pub dead: HashSet<usize>,
}

/// The bytes of a prompt for each token that it is taken for.
const BYTES_PER_TOKEN: usize = 4;
/// So many tokens of prompts outlive a compaction.
const KEPT_TOKENS: usize = 20_000;
/// What stands for a summary that is empty.
pub(super) const NO_SUMMARY: &str = "(no summary available)";

impl<'a> Thread<'a> {
    fn counts(&self, item: usize) -> bool {
        matches!(self.items[item].mark, Mark::UserTurn | Mark::Summary | Mark::AgentTurn)
    }

    /// Goes through turns from the newest to the oldest, and says which compactions
    /// were rolled back.
    pub(super) fn liveness(&self, steps: &[Step]) -> Liveness {
        let mut liveness = Liveness::default();
        let mut pending = 0u64;
        let (mut id, mut counts, mut compactions) = (None::<Rc<str>>, false, Vec::new());
        for (n, step) in steps.iter().enumerate().rev() {
            let mut closes = false;
            match step {
                Step::Item(item) => counts |= self.counts(*item),
                Step::UserEvent => counts = true,
                Step::RolledBack(turns) => pending += u64::from(*turns),
                Step::Compacted(_) => compactions.push(n),
                Step::TurnContext(turn) => id = id.or_else(|| turn.clone()),
                Step::TurnStarted(turn) => closes = id.is_none() || turn.is_none() || id == *turn,
                Step::Meta => {}
            }
            if closes || n == 0 {
                let is_dead = pending > 0;
                pending = pending.saturating_sub(u64::from(is_dead && counts));
                for at in compactions.drain(..) {
                    let Step::Compacted(compaction) = &steps[at] else { continue };
                    if is_dead {
                        liveness.dead.insert(*compaction);
                    } else if liveness.base.is_none() && self.compactions[*compaction].items.is_some() {
                        liveness.base = Some(at);
                    }
                }
                (id, counts) = (None, false);
            }
        }
        liveness
    }

    /// The list that steps come to.
    pub(super) fn list(&self, steps: &[Step]) -> Vec<Slot> {
        let liveness = self.liveness(steps);
        let mut list = match liveness.base.map(|base| &steps[base]) {
            Some(Step::Compacted(compaction)) => self.compactions[*compaction].laid.clone(),
            _ => Vec::new(),
        };
        for step in &steps[liveness.base.map_or(0, |base| base + 1)..] {
            match step {
                Step::Item(item) => list.push(self.slot(*item)),
                Step::RolledBack(turns) => self.roll_back(&mut list, *turns),
                Step::Compacted(compaction) => {
                    let compaction = &self.compactions[*compaction];
                    if let Some(summary) = compaction.summary {
                        let mut rebuilt = self.rebuilt(&list);
                        rebuilt.push(self.slot(summary));
                        for (slot, laid) in rebuilt.iter_mut().zip(&compaction.laid) {
                            if slot.item == laid.item {
                                slot.node = laid.node;
                            }
                        }
                        list = rebuilt;
                    }
                }
                Step::TurnStarted(_) | Step::TurnContext(_) | Step::UserEvent | Step::Meta => {}
            }
        }
        list
    }

    /// A place for an item where it was put.
    pub(super) fn slot(&self, item: usize) -> Slot {
        let info = &self.items[item];
        Slot { item, node: info.node, alter: info.alter.clone() }
    }

    /// Takes the last turns off a list.
    pub(super) fn roll_back(&self, list: &mut Vec<Slot>, turns: u32) {
        let mark = |slot: &Slot| self.items[slot.item].mark;
        let is_turn = |slot: &Slot| slot.alter != Alter::Out && matches!(mark(slot), Mark::UserTurn | Mark::AgentTurn);
        let Some(first) = list.iter().position(is_turn).filter(|_| turns > 0) else { return };
        let found = list.iter().enumerate().rev().filter(|(_, slot)| is_turn(slot)).map(|(at, _)| at);
        let turn = found.take(turns as usize).last().unwrap_or(first);
        let cut_turn = self.turn_of(&list[turn]);
        let mut cut = turn;
        if turn > first {
            while cut > first + 1
                && (list[cut - 1].alter == Alter::Out || matches!(mark(&list[cut - 1]), Mark::HarnessUser | Mark::HarnessDeveloper))
            {
                cut -= 1;
            }
        }
        list.truncate(cut);
        if turn == first
            && let Some(turn) = cut_turn
        {
            for slot in list.iter_mut() {
                self.forget_model_switch(slot, &turn);
            }
        }
    }

    fn turn_of(&self, slot: &Slot) -> Option<String> {
        match &self.items[slot.item].source {
            Source::Stored(item) => turn_of(&members_of(item)),
            Source::Summary(_) => None,
        }
    }

    /// Takes out of a developer message what it says of a change of models in a turn.
    fn forget_model_switch(&self, slot: &mut Slot, turn: &str) {
        let Source::Stored(item) = &self.items[slot.item].source else { return };
        let members = members_of(item);
        let is_of_turn = text(&members, "role").as_deref() == Some("developer") && turn_of(&members).as_deref() == Some(turn);
        if !is_of_turn || self.items[slot.item].item != Item::Message || slot.alter == Alter::Out {
            return;
        }
        let texts = self.texts(slot);
        let is_switch = |text: &str| {
            let text = text.trim();
            text.starts_with("<model_switch>") && text.ends_with("</model_switch>")
        };
        let left: Vec<String> = texts.iter().filter(|text| !is_switch(text)).cloned().collect();
        if left.is_empty() && !texts.is_empty() {
            slot.alter = Alter::Out;
        } else if left.len() < texts.len() {
            slot.alter = Alter::Texts(Rc::new(left));
        }
    }

    /// The texts of an item, without images and the tags around them.
    fn texts(&self, slot: &Slot) -> Vec<String> {
        if let Alter::Texts(texts) = &slot.alter {
            return texts.as_ref().clone();
        }
        let item = match &self.items[slot.item].source {
            Source::Stored(item) => item,
            Source::Summary(text) => return vec![text.clone().into_owned()],
        };
        let members = members_of(item);
        let parts: Vec<_> = json::elements(content(&members)).map(members_of).collect();
        let type_of = |at: Option<usize>| at.and_then(|at| parts.get(at)).and_then(|part| get(part, "type"));
        let is_image = |at: Option<usize>| type_of(at) == Some(b"\"input_image\"");
        let mut texts = Vec::new();
        for (n, part) in parts.iter().enumerate().filter(|(n, _)| type_of(Some(*n)) == Some(b"\"input_text\"")) {
            let said = text(part, "text").unwrap_or_default();
            let opens = said == "<image>" || (said.starts_with("<image name=") && said.ends_with('>'));
            if !(opens && is_image(Some(n + 1)) || said == "</image>" && is_image(n.checked_sub(1))) {
                texts.push(said);
            }
        }
        texts
    }

    fn has_parts(&self, slot: &Slot) -> bool {
        match &self.items[slot.item].source {
            Source::Stored(item) => json::elements(content(&members_of(item))).next().is_some(),
            Source::Summary(_) => true,
        }
    }

    /// Whether the texts of a prompt are all that it has.
    fn is_only_texts(&self, slot: &Slot) -> bool {
        match &self.items[slot.item].source {
            Source::Stored(item) => {
                let members = members_of(item);
                let is_text = |part: &[u8]| get(&members_of(part), "type") == Some(b"\"input_text\"");
                let mut parts = json::elements(content(&members)).peekable();
                parts.peek().is_some() && parts.all(is_text) && some(&members, "phase").or(some(&members, "status")).is_none()
            }
            Source::Summary(_) => true,
        }
    }

    /// The prompts that a compaction leaves where the program makes the list.
    pub(super) fn rebuilt(&self, list: &[Slot]) -> Vec<Slot> {
        let mut left = KEPT_TOKENS;
        let mut kept = Vec::new();
        for slot in list.iter().rev().filter(|slot| slot.alter != Alter::Out && self.items[slot.item].mark == Mark::UserTurn) {
            if left == 0 {
                break;
            }
            let mut texts = self.texts(slot);
            if texts.is_empty() && self.has_parts(slot) {
                texts.push(String::new());
            }
            let bytes: usize = texts.iter().map(String::len).sum();
            let tokens = bytes.div_ceil(BYTES_PER_TOKEN);
            let mut next = Slot { node: Seq::ROOT, ..slot.clone() };
            if tokens > left {
                next.alter = Alter::Texts(Rc::new(truncated(&texts, bytes, left)));
                kept.push(next);
                break;
            }
            if matches!(slot.alter, Alter::Texts(_)) || !self.is_only_texts(slot) {
                next.alter = Alter::Texts(Rc::new(texts));
            }
            left -= tokens;
            kept.push(next);
        }
        kept.reverse();
        kept
    }

    /// What is seen otherwise because of what else is in the list: calls without an
    /// output, and the places of outputs without a call.
    pub(super) fn unpaired(&self, list: &[Slot]) -> (HashSet<usize>, HashSet<usize>) {
        let mut calls: HashMap<(Pairing, String), bool> = HashMap::new();
        let mut outputs: HashSet<(Pairing, String)> = HashSet::new();
        let pairs: Vec<Option<(Pair, Option<String>)>> =
            list.iter().map(|slot| if slot.alter == Alter::Out { None } else { self.pair_of(slot) }).collect();
        for (pair, id) in pairs.iter().flatten() {
            let Some(id) = id else { continue };
            match pair {
                Pair::Call(pairing) => _ = calls.insert((*pairing, id.clone()), true),
                Pair::Output(pairing) => _ = outputs.insert((*pairing, id.clone())),
                Pair::ServerOutput => {}
            }
        }
        let (mut unanswered, mut uncalled) = (HashSet::new(), HashSet::new());
        for (at, pair) in pairs.into_iter().enumerate() {
            match pair {
                Some((Pair::Call(pairing), Some(id))) if !outputs.contains(&(pairing, id.clone())) => _ = unanswered.insert(at),
                Some((Pair::Output(pairing), Some(id))) if !calls.contains_key(&(pairing, id.clone())) => _ = uncalled.insert(at),
                _ => {}
            }
        }
        (unanswered, uncalled)
    }

    fn pair_of(&self, slot: &Slot) -> Option<(Pair, Option<String>)> {
        let Source::Stored(item) = &self.items[slot.item].source else { return None };
        let pair = match self.items[slot.item].item {
            Item::FunctionCall | Item::ShellCall => Pair::Call(Pairing::Function),
            Item::FunctionOutput => Pair::Output(Pairing::Function),
            Item::CustomCall => Pair::Call(Pairing::Custom),
            Item::CustomOutput => Pair::Output(Pairing::Custom),
            Item::SearchCall => Pair::Call(Pairing::Search),
            Item::SearchOutput if text(&members_of(item), "execution").as_deref() == Some("server") => Pair::ServerOutput,
            Item::SearchOutput => Pair::Output(Pairing::Search),
            Item::Message
            | Item::Reasoning
            | Item::WebSearch
            | Item::ImageGeneration
            | Item::Compaction
            | Item::ContextCompaction
            | Item::AgentMessage
            | Item::AdditionalTools
            | Item::GhostSnapshot
            | Item::Unknown => return None,
        };
        Some((pair, text(&members_of(item), "call_id")))
    }
}

/// Which calls and outputs belong to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Pairing {
    Function,
    Custom,
    Search,
}

#[derive(Debug, Clone, Copy)]
enum Pair {
    Call(Pairing),
    Output(Pairing),
    /// The output of a search that the server has made.
    ServerOutput,
}

fn content<'a>(members: &[json::Member<'a>]) -> &'a [u8] {
    get(members, "content").filter(|list| json::kind_of(list) == Kind::Array).unwrap_or(b"[]")
}

/// The nearest place between two characters in one direction.
fn boundary(text: &str, mut at: usize, step: impl Fn(usize) -> usize) -> usize {
    while !text.is_char_boundary(at) {
        at = step(at);
    }
    at
}

/// The beginning and the end of texts, so that both fit into what is left.
fn truncated(texts: &[String], bytes: usize, left: usize) -> Vec<String> {
    let half = left * BYTES_PER_TOKEN / 2;
    let mut out = Vec::new();
    let mut room = half;
    for text in texts {
        let taken = boundary(text, room.min(text.len()), |at| at - 1);
        if taken > 0 {
            out.push(text[..taken].to_owned());
        }
        room -= taken;
        if taken < text.len() {
            break;
        }
    }
    let cut = (bytes - left * BYTES_PER_TOKEN).div_ceil(BYTES_PER_TOKEN);
    out.push(format!("…{cut} tokens truncated…"));
    let mut tail = Vec::new();
    let mut room = half;
    for text in texts.iter().rev() {
        let from = boundary(text, text.len().saturating_sub(room), |at| at + 1);
        if from < text.len() {
            tail.push(text[from..].to_owned());
        }
        room -= text.len() - from;
        if from > 0 {
            break;
        }
    }
    tail.reverse();
    out.extend(tail);
    out
}
