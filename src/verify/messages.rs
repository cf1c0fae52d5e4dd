//! Replayed messages against loaded ones, in lockstep.

use foldhash::quality::RandomState;
use std::collections::HashMap;
use std::hash::BuildHasher;

use crate::json::Value;
use crate::log::{LogView, ProjectedNode, Projection, Reach, Salvage};
use crate::model::heads::HeadName;
use crate::model::ids::Seq;
use crate::model::loaded::{LoadOutcome, Loader};
use crate::model::shown::{MessageRenderer, Shown};
use crate::model::stream::{ReadAt, StreamError};

use super::difference::{Difference, Sides};
use super::records::Records;
use super::structure::{Changes, changes};

/// Heads of one log against what the source program loads, one after the other.
pub struct Comparison<'s> {
    message_renderer: &'s MessageRenderer,
    records: &'s Records<'s>,
    proven: Proven,
}

/// What items were found to show. Heads share their items: what one head has
/// shown to be equal need not be rendered for the next, as long as the program
/// shows the very same line again. Lines are known by a hash of random seed.
#[derive(Default)]
struct Proven {
    /// The one line of an item; nothing where it shows none.
    lines: HashMap<ProjectedNode, Option<u64>, RandomState>,
    seed: RandomState,
}

/// The messages of one head, compared as both sides produce them.
struct Lockstep<'v, R> {
    replayed: Replayed<'v, R>,
    /// How many messages the source program has shown.
    loaded: usize,
    head: String,
    first: Option<Result<Difference, StreamError>>,
}

impl<R: ReadAt> Lockstep<'_, R> {
    fn loaded(&mut self, loaded: &[u8]) {
        self.loaded += 1;
        if self.first.is_none() {
            self.first = self.compare(loaded).transpose();
        }
    }

    fn compare(&mut self, loaded: &[u8]) -> Result<Option<Difference>, StreamError> {
        let hash = self.replayed.proven.as_ref().map(|proven| proven.seed.hash_one(loaded));
        if let Some(hash) = hash
            && self.replayed.takes_known(hash)?
        {
            return Ok(None);
        }
        let (number, head) = (self.loaded, &self.head);
        let compared = self.replayed.next_line(|seq, replayed| {
            // `replay` promises one line per message; equal values with a line
            // end between their tokens would break that promise unnoticed.
            if memchr::memchr(b'\n', replayed).is_some() {
                return Some(Difference::at_event(format!("message {number} of {head} is shown as several lines"), seq));
            }
            let is_same = Value::trusted(replayed).is_same_as(Value::trusted(loaded));
            (!is_same).then(|| message_difference(head, number, loaded, (seq, replayed)))
        })?;
        match (compared, hash) {
            (Some(None), Some(hash)) => self.replayed.was_equal(hash),
            // Where one side is longer, that is said at the end.
            (Some(None) | None, _) => {}
            (Some(difference), _) => return Ok(difference),
        }
        Ok(None)
    }
}

/// What the log shows of one head, line by line.
pub(super) struct Replayed<'v, R> {
    log: &'v mut LogView<R>,
    message_renderer: &'v MessageRenderer,
    /// What events are known to be rendered to.
    records: Option<&'v Records<'v>>,
    projection: Projection,
    /// What items are known to show, where that is of use.
    proven: Option<&'v mut Proven>,
    /// The item at hand.
    item: Option<ProjectedNode>,
    /// The one after it, where that was looked at and not yet taken.
    next: Option<ProjectedNode>,
    /// The lines of the item at hand but for the first, and where each ends.
    lines: Vec<u8>,
    ends: Vec<usize>,
    /// How many of them are taken.
    taken: usize,
    /// How many lines were taken in all.
    count: usize,
}

impl<'v, R: ReadAt> Replayed<'v, R> {
    /// Returns what is shown of the path to a node.
    pub(super) fn of(log: &'v mut LogView<R>, message_renderer: &'v MessageRenderer, node: Seq) -> Result<Replayed<'v, R>, StreamError> {
        let projection = Projection::of(log, node, Reach::Shown, Salvage::Hidden)?;
        let (lines, ends) = (Vec::new(), Vec::new());
        Ok(Replayed {
            log,
            message_renderer,
            records: None,
            projection,
            proven: None,
            item: None,
            next: None,
            lines,
            ends,
            taken: 0,
            count: 0,
        })
    }

    /// Returns what it took so far: lines that were taken, or nodes on the path.
    pub(super) fn cost(&self) -> u64 {
        self.projection.path_len().max(self.count) as u64
    }

    /// Looks at the next line, and the event that it comes from. Most items show
    /// one, which is looked at where it is: it may be as long as the session.
    pub(super) fn next_line<T>(&mut self, look: impl FnOnce(Seq, &[u8]) -> T) -> Result<Option<T>, StreamError> {
        let mut look = Some(look);
        while self.taken >= self.ends.len() {
            let (lines, ends) = (&mut self.lines, &mut self.ends);
            lines.clear();
            ends.clear();
            self.taken = 0;
            self.item = match self.next.take() {
                None => self.projection.next_item(self.log)?,
                looked_at => looked_at,
            };
            let Some(item) = self.item else { return Ok(None) };
            let record = self.records.and_then(|records| records.of(item.seq));
            let shown = Shown { record, ..self.projection.read(item, self.log)? };
            let mut seen = None;
            (self.message_renderer)(&shown, &mut |line| match look.take() {
                Some(look) => seen = Some(look(item.seq, line)),
                None => {
                    lines.extend_from_slice(line);
                    ends.push(lines.len());
                }
            })?;
            if seen.is_some() {
                self.count += 1;
                return Ok(seen);
            }
            if let Some(proven) = &mut self.proven {
                proven.lines.insert(item, None);
            }
        }
        let from = self.taken.checked_sub(1).map_or(0, |before| self.ends[before]);
        let to = self.ends[self.taken];
        self.taken += 1;
        self.count += 1;
        Ok(self.item.zip(look).map(|(item, look)| look(item.seq, &self.lines[from..to])))
    }

    /// Takes the next line without rendering it, where it is known to be the one
    /// with this hash.
    fn takes_known(&mut self, hash: u64) -> Result<bool, StreamError> {
        let Some(proven) = self.proven.as_ref().filter(|_| self.taken >= self.ends.len()) else { return Ok(false) };
        loop {
            if self.next.is_none() {
                self.next = self.projection.next_item(self.log)?;
            }
            let Some(next) = self.next else { return Ok(false) };
            match proven.lines.get(&next) {
                Some(Some(known)) if *known == hash => {
                    self.next = None;
                    self.count += 1;
                    return Ok(true);
                }
                Some(Some(_)) | None => return Ok(false),
                Some(None) => self.next = None,
            }
        }
    }

    /// Notes that the line at hand was equal to the one with this hash, where its
    /// item shows no other.
    fn was_equal(&mut self, hash: u64) {
        if let (Some(proven), Some(item)) = (&mut self.proven, self.item.filter(|_| self.ends.is_empty())) {
            proven.lines.insert(item, Some(hash));
        }
    }
}

/// Returns how one message differs; `replayed` comes with its event.
pub(super) fn message_difference(head: &str, number: usize, loaded: &[u8], replayed: (Seq, &[u8])) -> Difference {
    let changes = changes(Value::trusted(loaded), Value::trusted(replayed.1));
    let what = format!("message {number} of {head} differs{}", in_fields(&changes));
    Difference { sides: Sides::Json(changes), ..Difference::at_event(what, replayed.0) }
}

/// Returns which members changed, as far as they can be named in a line.
fn in_fields(changes: &Changes) -> String {
    const NAMED: usize = 3;
    let paths: Vec<String> =
        changes.list.iter().filter(|change| !change.path.is_empty()).map(|change| format!("`{}`", change.path)).collect();
    let rest = paths.len().saturating_sub(NAMED) as u64 + changes.more;
    match paths.as_slice() {
        [] => String::new(),
        paths if rest == 0 => format!(" in {}", paths.join(", ")),
        paths => format!(" in {} and {rest} more", paths[..NAMED.min(paths.len())].join(", ")),
    }
}

/// What comparing one head came to.
#[derive(Debug)]
pub struct HeadComparison {
    /// How the source program's load ends.
    pub outcome: LoadOutcome,
    /// How many messages the log shows.
    pub messages: u64,
    /// What it took: messages on either side, and nodes on the path.
    pub cost: u64,
    /// The first difference.
    pub difference: Option<Difference>,
}

impl<'s> Comparison<'s> {
    /// Nothing is compared yet; these records need not be rendered for it.
    #[must_use]
    pub fn new(message_renderer: &'s MessageRenderer, records: &'s Records<'s>) -> Comparison<'s> {
        Comparison { message_renderer, records, proven: Proven::default() }
    }

    /// Compares one head; `None` is the program's default load.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn head<R: ReadAt>(
        &mut self,
        log: &mut LogView<R>,
        loader: &mut dyn Loader,
        ask: Option<&HeadName>,
        head: &HeadName,
    ) -> Result<HeadComparison, StreamError> {
        let node = log.state().head(head).unwrap_or(Seq::ROOT);
        // What is shown of one head alone is never asked for again.
        let proven = (log.state().head_count() > 1).then_some(&mut self.proven);
        let replayed = Replayed { proven, records: Some(self.records), ..Replayed::of(log, self.message_renderer, node)? };
        let mut lockstep = Lockstep { replayed, loaded: 0, head: head.to_string(), first: None };
        let outcome = loader.load(ask, &mut |message| lockstep.loaded(message));
        let Lockstep { mut replayed, loaded, first, .. } = lockstep;
        let mut difference = first.transpose()?;
        if difference.is_none() {
            while replayed.next_line(|_, _| ())?.is_some() {}
            let count = replayed.count;
            if outcome.error.is_none() && loaded != count {
                let what = format!("{head} has {loaded} messages in the source program and {count} in the log");
                difference = Some(Difference::in_log(what, (!node.is_root()).then(|| u64::from(node.number()))));
            }
        }
        let cost = replayed.cost().max(loaded as u64);
        Ok(HeadComparison { outcome, messages: replayed.count as u64, cost, difference })
    }
}
