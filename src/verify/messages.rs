//! Replayed messages against loaded ones, in lockstep.

use foldhash::quality::RandomState;
use std::collections::HashMap;
use std::hash::BuildHasher;

use crate::log::{Item, LogView, Projection, Reach, Salvage};
use crate::model::heads::HeadName;
use crate::model::ids::Seq;
use crate::model::json;
use crate::model::loaded::{LoadOutcome, Loader};
use crate::model::shown::Shower;
use crate::model::stream::{ReadAt, StreamError};

use super::difference::{Difference, Sides};
use super::structure::{Changes, changes};

/// Heads of one log against what the source program loads, one after the other.
pub struct Comparison<'s> {
    shower: &'s Shower,
    proven: Proven,
}

/// What items were found to show. Heads share their items: what one head has
/// shown to be equal need not be rendered for the next, as long as the program
/// shows the very same line again. Lines are known by a hash of random seed.
#[derive(Default)]
struct Proven {
    /// The one line of an item; nothing where it shows none.
    lines: HashMap<Item, Option<u64>, RandomState>,
    seed: RandomState,
}

/// The messages of one head, compared as both sides produce them.
struct Lockstep<'v, R> {
    replayed: Replayed<'v, R>,
    /// Nothing where there is but one head.
    proven: Option<&'v mut Proven>,
    /// How many messages the source program has shown.
    loaded: usize,
    head: String,
    first: Option<Result<Difference, StreamError>>,
}

impl<R: ReadAt> Lockstep<'_, R> {
    fn loaded(&mut self, loaded: &[u8]) {
        self.loaded += 1;
        if self.first.is_none()
            && let Err(error) = self.compare(loaded)
        {
            self.first = Some(Err(error));
        }
    }

    fn compare(&mut self, loaded: &[u8]) -> Result<(), StreamError> {
        let hash = self.proven.as_ref().map(|proven| proven.seed.hash_one(loaded));
        if let (Some(proven), Some(hash)) = (&mut self.proven, hash)
            && self.replayed.takes_known(proven, hash)?
        {
            return Ok(());
        }
        let number = self.loaded;
        match self.replayed.next_line()? {
            Some((_, replayed)) if replayed == loaded || json::same_value(replayed, loaded) => {
                if let (Some(proven), Some(hash)) = (&mut self.proven, hash)
                    && let Some(item) = self.replayed.item_of_one_line()
                {
                    proven.lines.insert(item, Some(hash));
                }
            }
            Some((seq, replayed)) => self.first = Some(Ok(message_difference(&self.head, number, loaded, (seq, replayed)))),
            // One side is longer, which is said at the end.
            None => {}
        }
        Ok(())
    }
}

/// What the log shows of one head, line by line.
pub(super) struct Replayed<'v, R> {
    log: &'v mut LogView<R>,
    shower: &'v Shower,
    projection: Projection,
    /// The item at hand.
    item: Option<Item>,
    /// The one behind it, where that was looked at and not yet taken.
    next: Option<Item>,
    /// The lines of the item at hand, and where each ends.
    lines: Vec<u8>,
    ends: Vec<usize>,
    /// How many of them are taken.
    taken: usize,
    /// How many lines were taken in all.
    count: usize,
}

impl<'v, R: ReadAt> Replayed<'v, R> {
    /// What is shown of the path to a node.
    pub(super) fn of(log: &'v mut LogView<R>, shower: &'v Shower, node: Seq) -> Result<Replayed<'v, R>, StreamError> {
        let projection = Projection::of(log, node, Reach::Shown, Salvage::Hidden)?;
        let (lines, ends) = (Vec::new(), Vec::new());
        Ok(Replayed { log, shower, projection, item: None, next: None, lines, ends, taken: 0, count: 0 })
    }

    /// What it took so far: lines that were taken, or nodes on the path.
    pub(super) fn cost(&self) -> u64 {
        self.projection.path_len().max(self.count) as u64
    }

    /// The next line, and the event that it comes from.
    pub(super) fn next_line(&mut self) -> Result<Option<(Seq, &[u8])>, StreamError> {
        while self.taken >= self.ends.len() {
            if !self.next_item()? {
                return Ok(None);
            }
        }
        let from = self.taken.checked_sub(1).map_or(0, |before| self.ends[before]);
        let to = self.ends[self.taken];
        self.taken += 1;
        self.count += 1;
        Ok(self.item.map(|item| (item.seq, &self.lines[from..to])))
    }

    /// Renders the next item; `false` where there is none.
    fn next_item(&mut self) -> Result<bool, StreamError> {
        let (lines, ends) = (&mut self.lines, &mut self.ends);
        lines.clear();
        ends.clear();
        self.taken = 0;
        self.item = match self.next.take() {
            None => self.projection.next_item(self.log)?,
            looked_at => looked_at,
        };
        let Some(item) = self.item else { return Ok(false) };
        let shown = self.projection.read(item, self.log)?;
        (self.shower)(&shown, &mut |line| {
            lines.extend_from_slice(line);
            ends.push(lines.len());
        })?;
        Ok(true)
    }

    /// Takes the next line without rendering it, where it is known to be the one
    /// with this hash.
    fn takes_known(&mut self, proven: &mut Proven, hash: u64) -> Result<bool, StreamError> {
        while self.taken >= self.ends.len() {
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
                Some(Some(_)) => return Ok(false),
                Some(None) => self.next = None,
                None => {
                    self.next_item()?;
                    if self.ends.is_empty() {
                        proven.lines.insert(next, None);
                    }
                }
            }
        }
        Ok(false)
    }

    /// The item at hand, where it shows nothing but the line that was taken.
    fn item_of_one_line(&self) -> Option<Item> {
        self.item.filter(|_| self.ends.len() == 1)
    }
}

/// How one message differs; `replayed` comes with its event.
pub(super) fn message_difference(head: &str, number: usize, loaded: &[u8], replayed: (Seq, &[u8])) -> Difference {
    let changes = changes(loaded, replayed.1);
    let what = format!("message {number} of {head} differs{}", in_fields(&changes));
    Difference { sides: Sides::Json(changes), ..Difference::at_event(what, replayed.0) }
}

/// Which members changed, as far as they can be named in a line.
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
pub struct Compared {
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
    /// Nothing is compared yet.
    #[must_use]
    pub fn new(shower: &'s Shower) -> Comparison<'s> {
        Comparison { shower, proven: Proven::default() }
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
    ) -> Result<Compared, StreamError> {
        let node = log.state().head(head).unwrap_or(Seq::ROOT);
        let proven = (log.state().heads().count() > 1).then_some(&mut self.proven);
        let replayed = Replayed::of(log, self.shower, node)?;
        let mut lockstep = Lockstep { replayed, proven, loaded: 0, head: head.to_string(), first: None };
        let outcome = loader.load(ask, &mut |message| lockstep.loaded(message));
        let Lockstep { mut replayed, loaded, first, .. } = lockstep;
        let mut difference = first.transpose()?;
        if difference.is_none() {
            while replayed.next_line()?.is_some() {}
            let count = replayed.count;
            if outcome.error.is_none() && loaded != count {
                let what = format!("{head} has {loaded} messages in the source program and {count} in the log");
                difference = Some(Difference::in_log(what, (!node.is_root()).then(|| u64::from(node.number()))));
            }
        }
        let cost = replayed.cost().max(loaded as u64);
        Ok(Compared { outcome, messages: replayed.count as u64, cost, difference })
    }
}
