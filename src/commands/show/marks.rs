//! What a reader of a conversation must see besides what was said: damage,
//! branches that leave, turns that were cut short, a failing loader.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::adapters::format::Format;
use crate::commands::calls::one_line;
use crate::log::LogView;
use crate::log::turns::{SettledBy, turns};
use crate::model::event::{Damage, EventKind};
use crate::model::heads::{HeadKind, HeadName};
use crate::model::ids::Seq;
use crate::model::stream::{LogAccess, ReadAt, StreamError};
use crate::report::terminal::Tint;
use crate::report::text;

/// At one message so many branches are named.
const NAMED: usize = 4;

/// A line that nobody said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mark {
    pub tint: Tint,
    /// What it says, without bytes of the source.
    pub words: String,
    /// The bytes that the source's program rejects, as far as they are text.
    pub quoted: Option<String>,
}

impl Mark {
    pub(super) fn of(tint: Tint, words: impl Into<String>) -> Mark {
        Mark { tint, words: words.into(), quoted: None }
    }

    /// Returns the whole line.
    pub(super) fn line(&self) -> String {
        match &self.quoted {
            Some(quoted) => format!("{}: {quoted}", self.words),
            None => self.words.clone(),
        }
    }
}

/// The marks of one log.
#[derive(Debug, Default)]
pub(super) struct Marks {
    /// Damage, by the number of its event.
    damage: VecDeque<(Seq, Mark)>,
    /// Marks after a message.
    after: HashMap<Seq, Vec<Mark>>,
    /// Marks after all messages.
    at_end: Vec<Mark>,
}

impl Marks {
    /// Finds the marks for the path to `node`, which is shown.
    pub(super) fn of<R: ReadAt>(view: &mut LogView<R>, adapter: &dyn Format, node: Seq) -> Result<Marks, StreamError> {
        let mut marks = Marks::default();
        for seq in (1..=view.last_followed().number()).map(Seq::new).filter(|seq| view.kind(*seq) == EventKind::Damage).collect::<Vec<_>>()
        {
            if let Ok(damage) = serde_json::from_slice::<Damage>(view.event(seq)?.payload) {
                marks.damage.push_back((seq, damaged(&damage)));
            }
        }
        for (seq, words) in leaving(view, node) {
            marks.after.entry(seq).or_default().push(Mark::of(Tint::Mark, words));
        }
        marks.add_turns(view, adapter)?;
        Ok(marks)
    }

    fn add_turns<R: ReadAt>(&mut self, view: &mut LogView<R>, adapter: &dyn Format) -> Result<(), StreamError> {
        let Some(terms) = adapter.turn_terms() else { return Ok(()) };
        for turn in turns(view, &terms)? {
            let is_interrupted = [Some(&turn.state), turn.end.as_ref()].into_iter().flatten().any(|state| state == INTERRUPTED);
            if !is_interrupted && turn.settled != SettledBy::Open {
                continue;
            }
            let state = if is_interrupted { "was interrupted".to_owned() } else { format!("has no end ({})", turn.state) };
            let reason = turn.reason.as_ref().map(|reason| format!(": {}", one_line(reason))).unwrap_or_default();
            let asked = turn.prompt.as_ref().filter(|_| turn.asked.is_none()).map(|asked| format!("; asked: {}", one_line(asked)));
            let mark = Mark::of(Tint::Damage, format!("✗ this turn {state}{reason}{}", asked.unwrap_or_default()));
            match turn.answered.or(turn.asked) {
                Some(seq) => self.after.entry(seq).or_default().push(mark),
                None => self.at_end.push(mark),
            }
        }
        Ok(())
    }

    /// Takes the damage that stands before an event.
    pub(super) fn before(&mut self, seq: Seq) -> Vec<Mark> {
        let count = self.damage.iter().take_while(|(at, _)| *at < seq).count();
        self.damage.drain(..count).map(|(_, mark)| mark).collect()
    }

    /// Takes the marks after a message.
    pub(super) fn after(&mut self, seq: Seq) -> Vec<Mark> {
        self.after.remove(&seq).unwrap_or_default()
    }

    /// Takes all that are left: those of messages that are not shown, too.
    pub(super) fn rest(mut self) -> Vec<Mark> {
        let mut left: Vec<(Seq, Vec<Mark>)> = self.after.drain().collect();
        left.sort_by_key(|(seq, _)| *seq);
        let damage = self.damage.drain(..).map(|(_, mark)| mark);
        damage.chain(left.into_iter().flat_map(|(_, marks)| marks)).chain(self.at_end).collect()
    }

    /// Leaves out the marks of messages that are not shown.
    pub(super) fn keep_after(&mut self, shown: &HashSet<Seq>, from: Option<Seq>) {
        self.after.retain(|seq, _| shown.contains(seq));
        self.damage.retain(|(seq, _)| from.is_none_or(|from| *seq >= from));
    }
}

/// The word of programs for a turn that did not come to its end.
const INTERRUPTED: &str = "interrupted";

fn damaged(damage: &Damage) -> Mark {
    let nul: u64 = damage.nul.iter().map(|(_, len)| len).sum();
    let encoded = damage.b64.as_ref().map_or(0, |b64| b64.trim_end_matches('=').len() as u64 * 3 / 4);
    let bytes = nul + damage.text.as_ref().map_or(encoded, |text| text.len() as u64);
    let reason = damage.reason.replace('_', " ");
    let words = format!("✗ damaged: {}:{}, {reason}, {}", damage.file, damage.line, text::size(bytes));
    Mark { tint: Tint::Damage, words, quoted: damage.text.as_deref().map(one_line).filter(|text| !text.is_empty()) }
}

/// Says at which shown messages other branches leave, or end.
fn leaving<R: ReadAt>(view: &LogView<R>, node: Seq) -> Vec<(Seq, String)> {
    let walk = |from: Seq| std::iter::successors(Some(from), |seq| (!seq.is_root()).then(|| view.parent(*seq)));
    let path: HashSet<Seq> = walk(node).collect();
    // Where the walk from a node that was seen before meets the path.
    let mut meets: HashMap<Seq, Seq> = HashMap::new();
    let mut found: HashMap<(Seq, Ways), Vec<&HeadName>> = HashMap::new();
    for (name, end) in view.state().heads().filter(|(name, end)| name.kind == HeadKind::Branch && *end != node) {
        let mut passed = Vec::new();
        let mut point = Seq::ROOT;
        for seq in walk(end) {
            if let Some(known) = path.get(&seq).or_else(|| meets.get(&seq)) {
                point = *known;
                break;
            }
            passed.push(seq);
        }
        let way = if passed.is_empty() { Ways::Ends } else { Ways::Leaves };
        meets.extend(passed.into_iter().map(|seq| (seq, point)));
        found.entry((message_at(view, point), way)).or_default().push(name);
    }
    let mut said: Vec<(Seq, String)> = found
        .into_iter()
        .map(|((seq, way), heads)| {
            let names: Vec<&str> = heads.iter().take(NAMED).map(|head| head.name.as_str()).collect();
            let more = if heads.len() > NAMED { format!(" and {} more", heads.len() - NAMED) } else { String::new() };
            let (one, verb) = (heads.len() == 1, if way == Ways::Leaves { "leave" } else { "end" });
            let (noun, verb) = if one { ("branch", format!("{verb}s")) } else { ("branches", verb.to_owned()) };
            (seq, format!("⑂ {noun} {}{more} {verb} here", names.join(", ")))
        })
        .collect();
    said.sort_unstable();
    said
}

/// What another branch does at a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Ways {
    Leaves,
    Ends,
}

/// The message that a node is, or that stands before it.
fn message_at<R: ReadAt>(view: &LogView<R>, node: Seq) -> Seq {
    let mut at = node;
    while !at.is_root() {
        if let Some((_, last)) = view.repeat(at) {
            return last;
        }
        if matches!(view.kind(at), EventKind::Message | EventKind::Compaction | EventKind::BranchSummary) {
            return at;
        }
        at = view.parent(at);
    }
    at
}
