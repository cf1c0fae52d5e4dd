//! The rollouts of a thread before anything is put into the log: their records as
//! steps, which of them a resume reads, and what each goes on from.

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

use crate::json::{self, Member};
use crate::model::files::{Files, RelPath};
use crate::model::finding::Findings;
use crate::model::ids::Seq;

use super::history::{Alter, Compaction, ItemInfo, NO_SUMMARY, Slot, Source, Step, Thread};
use super::item::Item;
use super::marks::{Mark, mark};
use super::members::{get, members_of, some, text};
use super::names;
use super::record::Record;
use super::scan::{self, Generation, RecordLine, Scan};
use super::typed;

/// One file of the thread, or the beginning of another thread's that it goes on from.
pub(super) struct Rollout<'a> {
    /// None for a file of another thread.
    pub path: Option<&'a RelPath>,
    pub bytes: &'a [u8],
    /// Its id.
    pub id: String,
    pub scan: Scan<'a>,
    /// Its steps, and where each ends in the file.
    pub steps: Vec<PlacedStep>,
    /// The rollout that it goes on from, and how many bytes of that count.
    pub base: BaseOf,
}

/// What a rollout goes on from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BaseOf {
    Nothing,
    Rollout { number: usize, bytes: usize },
    Missing,
    NotPaginated,
    Short { number: usize },
    Circle,
}

/// What a rollout is among those of its unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// A resume reads it.
    Main,
    /// Another of the thread.
    Earlier,
    /// Another file of its name takes its place.
    Shadowed,
    /// It is of another thread.
    Foreign,
}

/// A step, and where it is.
#[derive(Debug, Clone)]
pub(super) struct PlacedStep {
    pub step: Step,
    /// The number of its record.
    pub record: usize,
    pub end: usize,
}

/// All rollouts of a unit.
pub(super) struct Prepared<'a> {
    pub rollouts: Vec<Rollout<'a>>,
    pub thread: Thread<'a>,
    standings: Vec<Standing>,
}

impl<'a> Prepared<'a> {
    pub(super) fn new(files: &'a Files, own: &[(&'a RelPath, Option<&'a [u8]>)], findings: &mut Findings) -> Prepared<'a> {
        let mut prepared = Prepared { rollouts: Vec::new(), thread: Thread::default(), standings: Vec::new() };
        for (path, bytes) in own {
            let id = names::parse(path.as_bytes()).map(|name| name.rollout.to_owned()).unwrap_or_default();
            let text = bytes.unwrap_or_default();
            let mut scan = scan::scan(path, text, findings);
            if bytes.is_none() {
                scan.refused = Some(scan::NOT_COMPRESSED.to_owned());
            }
            prepared.add(Some(path), text, id, scan);
        }
        // Of another thread it is its own log that says what is wrong with it.
        let mut unsaid = Findings::default();
        for slice in files.shared_facts().slices.iter().filter(|slice| names::parse(slice.file.as_bytes()).is_some()) {
            let scan = scan::scan(&slice.file, &slice.text, &mut unsaid);
            prepared.add(None, &slice.text, slice.key.clone(), scan);
        }
        prepared.find_standings();
        prepared.find_bases();
        prepared
    }

    fn add(&mut self, path: Option<&'a RelPath>, bytes: &'a [u8], id: String, scan: Scan<'a>) {
        let mut steps = Vec::new();
        let known = self.thread.compactions.len();
        for (number, line) in scan.records.iter().enumerate() {
            if let Some(step) = self.step(line, scan.generation) {
                steps.push(PlacedStep { step, record: number, end: line.end });
            }
        }
        if !scan.header.is_paginated {
            self.leave_out_snapshots(known);
        }
        self.rollouts.push(Rollout { path, bytes, id, scan, steps, base: BaseOf::Nothing });
    }

    /// Leaves snapshots out of what compactions have kept, from this one on: in rollouts of
    /// the older kind Codex drops them.
    fn leave_out_snapshots(&mut self, from: usize) {
        for item in self.thread.compactions[from..].iter().flat_map(|compaction| compaction.items.iter().flatten()) {
            let info = &mut self.thread.items[*item];
            if info.item == Item::GhostSnapshot {
                info.alter = Alter::Out;
            }
        }
    }

    fn step(&mut self, line: &RecordLine<'a>, generation: Generation) -> Option<Step> {
        let value = line.text.trim_ascii_start();
        let payload = |value: &'a [u8]| get(&members_of(value), "payload");
        match line.record {
            Record::Item(_) if generation == Generation::Bare => Some(Step::Item(self.item(value))),
            Record::Item(_) | Record::BetweenAgents => {
                let item = self.item(payload(value)?);
                if line.record == Record::BetweenAgents {
                    let info = &mut self.thread.items[item];
                    (info.item, info.mark) = (Item::AgentMessage, Mark::AgentTurn);
                }
                if typed::has_empty_text(members_of(payload(value)?).as_slice()) {
                    self.thread.items[item].alter = Alter::NoEmptyTexts;
                }
                let is_left_out = self.is_left_out(item);
                (!is_left_out).then_some(Step::Item(item))
            }
            Record::Compacted => {
                let payload = members_of(payload(value)?);
                let items = some(&payload, "replacement_history").map(|list| json::elements(list).map(|item| self.item(item)).collect());
                let message = get(&payload, "message")?;
                let summary = items.is_none().then(|| self.summary(message));
                self.thread.compactions.push(Compaction { items, summary, message, laid: Vec::new() });
                Some(Step::Compacted(self.thread.compactions.len() - 1))
            }
            Record::RolledBack => {
                let turns = get(&members_of(payload(value)?), "num_turns").and_then(|n| std::str::from_utf8(n).ok()?.parse().ok())?;
                Some(Step::RolledBack(turns))
            }
            Record::TurnStarted => Some(Step::TurnStarted(turn_id(&members_of(payload(value)?)))),
            Record::TurnContext => Some(Step::TurnContext(turn_id(&members_of(payload(value)?)))),
            Record::UserEvent => Some(Step::UserEvent),
            Record::Meta => Some(Step::Meta),
            Record::Other | Record::Unknown => None,
        }
    }

    fn item(&mut self, value: &'a [u8]) -> usize {
        let members = members_of(value);
        let item = text(&members, "type").map_or(Item::Unknown, |name| Item::named(&name));
        let mark = mark(item, &members);
        self.thread.items.push(ItemInfo {
            source: Source::Stored(value),
            item,
            mark,
            alter: Alter::Nothing,
            message: Seq::ROOT,
            node: Seq::ROOT,
        });
        self.thread.items.len() - 1
    }

    /// The prompt that the program makes of a summary.
    fn summary(&mut self, token: &'a [u8]) -> usize {
        let text = match json::unescape(token) {
            empty if empty.is_empty() => Cow::Borrowed(NO_SUMMARY),
            text => text,
        };
        let mut said = Vec::new();
        json::push_string(&text, &mut said);
        let message = [b"{\"role\":\"user\",\"content\":[{\"type\":\"input_text\",\"text\":", said.as_slice(), b"}]}"].concat();
        let mark = mark(Item::Message, &members_of(&message));
        self.thread.items.push(ItemInfo {
            source: Source::Summary(text),
            item: Item::Message,
            mark,
            alter: Alter::Nothing,
            message: Seq::ROOT,
            node: Seq::ROOT,
        });
        self.thread.items.len() - 1
    }

    /// Whether an item of a line of its own is not shown to the model.
    fn is_left_out(&self, item: usize) -> bool {
        let info = &self.thread.items[item];
        let Source::Stored(value) = &info.source else { return false };
        info.item == Item::GhostSnapshot || (info.item == Item::Message && text(&members_of(value), "role").as_deref() == Some("system"))
    }

    fn find_bases(&mut self) {
        let mut numbers: Vec<usize> = (0..self.rollouts.len()).filter(|n| self.standing(*n) != Standing::Shadowed).collect();
        numbers.sort_by_key(|n| (self.rollouts[*n].path.is_some(), self.rollouts[*n].bytes.len()));
        let by_id: HashMap<&str, usize> = numbers.into_iter().map(|n| (self.rollouts[n].id.as_str(), n)).collect();
        let mut bases = Vec::new();
        for rollout in &self.rollouts {
            bases.push(match rollout.scan.header.base.as_ref().filter(|_| rollout.scan.header.is_paginated) {
                None => BaseOf::Nothing,
                Some(base) => match by_id.get(base.rollout.as_str()) {
                    None => BaseOf::Missing,
                    Some(&number) if !self.rollouts[number].scan.header.is_paginated => BaseOf::NotPaginated,
                    Some(&number) if self.rollouts[number].bytes.len() < base.bytes => BaseOf::Short { number },
                    Some(&number) => BaseOf::Rollout { number, bytes: base.bytes },
                },
            });
        }
        for n in 0..bases.len() {
            // Whether a rollout was met before is asked before its length is.
            let mut passed = vec![self.rollouts[n].id.as_str()];
            let mut at = bases[n];
            let is_circle = loop {
                let (BaseOf::Rollout { number, .. } | BaseOf::Short { number }) = at else { break false };
                let id = self.rollouts[number].id.as_str();
                if passed.contains(&id) {
                    break true;
                }
                if matches!(at, BaseOf::Short { .. }) {
                    break false;
                }
                passed.push(id);
                at = bases[number];
            };
            self.rollouts[n].base = if is_circle { BaseOf::Circle } else { bases[n] };
        }
    }

    /// The files of the thread, in the order of their names.
    pub(super) fn own(&self) -> impl Iterator<Item = &Rollout<'a>> {
        let mut own: Vec<&Rollout<'a>> = self.rollouts.iter().filter(|rollout| rollout.path.is_some()).collect();
        own.sort_by_key(|rollout| rank(rollout));
        own.into_iter()
    }

    /// The number of the rollout that a resume reads.
    pub(super) fn main(&self) -> Option<usize> {
        self.standings.iter().position(|standing| *standing == Standing::Main)
    }

    /// What a rollout is among the others.
    pub(super) fn standing(&self, n: usize) -> Standing {
        self.standings[n]
    }

    fn find_standings(&mut self) {
        let mut own: Vec<usize> = (0..self.rollouts.len()).filter(|n| self.rollouts[*n].path.is_some()).collect();
        own.sort_by_key(|n| rank(&self.rollouts[*n]));
        self.standings = vec![Standing::Foreign; self.rollouts.len()];
        let stem = |n: usize| rank(&self.rollouts[n]).1.0;
        for (at, n) in own.iter().enumerate() {
            let is_shadowed = own.get(at + 1).is_some_and(|next| !stem(*n).is_empty() && stem(*n) == stem(*next));
            self.standings[*n] = if is_shadowed { Standing::Shadowed } else { Standing::Earlier };
        }
        // Codex looks into the newest folder first, and there for the greatest name.
        let folder = |n: usize| self.rollouts[n].path.map(|path| names::folder(path.as_bytes()));
        let found = own.into_iter().filter(|n| self.standings[*n] == Standing::Earlier).max_by_key(|n| (folder(*n), stem(*n)));
        if let Some(main) = found {
            self.standings[main] = Standing::Main;
        }
    }

    /// The numbers of all rollouts, each after the one that it goes on from.
    pub(super) fn order(&self) -> Vec<usize> {
        let mut numbers: Vec<usize> = (0..self.rollouts.len()).collect();
        numbers.sort_by_key(|n| rank(&self.rollouts[*n]));
        let mut order = Vec::with_capacity(numbers.len());
        let mut is_listed = vec![false; numbers.len()];
        for n in numbers {
            let mut chain = Vec::new();
            let mut at = Some(n);
            while let Some(number) = at.filter(|number| !is_listed[*number]) {
                is_listed[number] = true;
                chain.push(number);
                at = match self.rollouts[number].base {
                    BaseOf::Rollout { number, .. } => Some(number),
                    BaseOf::Nothing | BaseOf::Missing | BaseOf::NotPaginated | BaseOf::Short { .. } | BaseOf::Circle => None,
                };
            }
            order.extend(chain.into_iter().rev());
        }
        order
    }

    /// Why a resume of a rollout is refused.
    pub(super) fn refusal(&self, n: usize) -> Option<String> {
        let rollout = &self.rollouts[n];
        if let Some(refused) = &rollout.scan.refused {
            return Some(refused.clone());
        }
        let mut at = rollout.base;
        loop {
            match at {
                BaseOf::Nothing => return None,
                BaseOf::Missing => return Some(scan::NO_BASE.to_owned()),
                BaseOf::NotPaginated => return Some(scan::BASE_NOT_PAGINATED.to_owned()),
                BaseOf::Short { .. } => return Some(scan::BASE_SHORT.to_owned()),
                BaseOf::Circle => return Some(scan::CIRCLE.to_owned()),
                BaseOf::Rollout { number, .. } => at = self.rollouts[number].base,
            }
        }
    }

    /// Whether a rollout was written by a release that left the history on its server.
    pub(super) fn is_on_server(&self, n: usize) -> bool {
        let scan = &self.rollouts[n].scan;
        scan.generation == Generation::Bare
            && scan.records.iter().any(|line| line.record == Record::Other && get(&members_of(line.text), "previous_response_id").is_some())
    }

    /// The steps that a resume of a rollout goes through, as far as they end in its first
    /// bytes.
    pub(super) fn steps(&self, n: usize, bytes: usize) -> Vec<Step> {
        let rollout = &self.rollouts[n];
        let mut steps = match rollout.base {
            BaseOf::Rollout { number, bytes } => self.steps(number, bytes),
            BaseOf::Nothing | BaseOf::Missing | BaseOf::NotPaginated | BaseOf::Short { .. } | BaseOf::Circle => Vec::new(),
        };
        let own: Vec<&PlacedStep> = rollout.steps.iter().filter(|step| step.end <= bytes).collect();
        // A paginated rollout is read from its end back to the nearest header.
        let from =
            if rollout.scan.header.is_paginated { own.iter().rposition(|step| matches!(step.step, Step::Meta)).unwrap_or(0) } else { 0 };
        steps.extend(own[from..].iter().map(|step| step.step.clone()));
        steps
    }

    /// The list that a rollout comes to.
    pub(super) fn list(&self, n: usize) -> Vec<Slot> {
        self.thread.list(&self.steps(n, usize::MAX))
    }

    /// The list that a resume of the thread comes to.
    pub(super) fn main_list(&self, main: usize) -> Vec<Slot> {
        if self.is_on_server(main) { Vec::new() } else { self.list(main) }
    }

    /// Whether the items of a rollout are handed on as they are stored.
    pub(super) fn is_as_stored(&self, n: usize) -> bool {
        self.rollouts[n].scan.generation == Generation::Bare
    }
}

/// The order of rollouts: those of other threads come first.
fn rank<'r>(rollout: &'r Rollout<'_>) -> (bool, (&'r str, bool, &'r [u8])) {
    (rollout.path.is_some(), names::rank(rollout.path.map(RelPath::as_bytes).unwrap_or_default()))
}

fn turn_id(payload: &[Member<'_>]) -> Option<Rc<str>> {
    text(payload, "turn_id").map(Rc::from)
}
