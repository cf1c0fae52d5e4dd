//! Replayed messages against loaded ones, in lockstep.

use crate::log::{LogView, Projection, Reach, Salvage};
use crate::model::heads::HeadName;
use crate::model::ids::Seq;
use crate::model::json::{self, Member};
use crate::model::loaded::{LoadOutcome, Loader};
use crate::model::location::Location;
use crate::model::shown::Shower;
use crate::model::stream::{ReadAt, StreamError};

use super::difference::{Difference, window};

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
        if self.first.is_some() {
            return;
        }
        let number = self.loaded;
        match self.replayed.next_line() {
            Err(error) => self.first = Some(Err(error)),
            Ok(Some(replayed)) if replayed == loaded || json::same_value(replayed, loaded) => {}
            Ok(Some(replayed)) => self.first = Some(Ok(message_difference(&self.head, number, loaded, replayed))),
            // One side is longer, which is said at the end.
            Ok(None) => {}
        }
    }
}

/// What the log shows of one head, line by line.
struct Replayed<'v, R> {
    log: &'v mut LogView<R>,
    shower: &'v Shower,
    projection: Projection,
    /// The lines of the item at hand, and where each ends.
    lines: Vec<u8>,
    ends: Vec<usize>,
    /// How many of them are taken.
    taken: usize,
    /// How many lines were taken in all.
    count: usize,
}

impl<'v, R: ReadAt> Replayed<'v, R> {
    fn new(log: &'v mut LogView<R>, shower: &'v Shower, projection: Projection) -> Replayed<'v, R> {
        Replayed { log, shower, projection, lines: Vec::new(), ends: Vec::new(), taken: 0, count: 0 }
    }

    fn next_line(&mut self) -> Result<Option<&[u8]>, StreamError> {
        while self.taken >= self.ends.len() {
            let (lines, ends) = (&mut self.lines, &mut self.ends);
            lines.clear();
            ends.clear();
            self.taken = 0;
            let Some(shown) = self.projection.next_shown(self.log)? else { return Ok(None) };
            (self.shower)(&shown, &mut |line| {
                lines.extend_from_slice(line);
                ends.push(lines.len());
            })?;
        }
        let from = self.taken.checked_sub(1).map_or(0, |before| self.ends[before]);
        let to = self.ends[self.taken];
        self.taken += 1;
        self.count += 1;
        Ok(Some(&self.lines[from..to]))
    }
}

fn message_difference(head: &str, number: usize, loaded: &[u8], replayed: &[u8]) -> Difference {
    let field = json::members(loaded)
        .find(|Member { key, value }| !json::members(replayed).any(|other| other.key == *key && json::same_value(other.value, value)))
        .map(|member| member.name().into_owned());
    let at = loaded.iter().zip(replayed).take_while(|(a, b)| a == b).count();
    Difference {
        what: format!("message {number} of {head} differs{}", field.map(|name| format!(" in `{name}`")).unwrap_or_default()),
        location: Location::file(head),
        source: window(loaded, at),
        log: window(replayed, at),
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

/// Compares one head; `None` is the program's default load.
///
/// # Errors
/// When the log cannot be read.
pub fn compare_head<R: ReadAt>(
    log: &mut LogView<R>,
    loader: &mut dyn Loader,
    shower: &Shower,
    ask: Option<&HeadName>,
    head: &HeadName,
) -> Result<Compared, StreamError> {
    let node = log.state().head(head).unwrap_or(Seq::ROOT);
    let projection = Projection::of(log, node, Reach::Shown, Salvage::Hidden)?;
    let mut lockstep = Lockstep { replayed: Replayed::new(log, shower, projection), loaded: 0, head: head.to_string(), first: None };
    let outcome = loader.load(ask, &mut |message| lockstep.loaded(message));
    let Lockstep { mut replayed, loaded, first, .. } = lockstep;
    let mut difference = first.transpose()?;
    if difference.is_none() {
        while replayed.next_line()?.is_some() {}
        let count = replayed.count;
        if outcome.error.is_none() && loaded != count {
            let what = format!("{head} has {loaded} messages in the source program and {count} in the log");
            difference = Some(Difference::plain(what, Location::file(head.to_string())));
        }
    }
    let cost = replayed.projection.path_len().max(replayed.count).max(loaded) as u64;
    Ok(Compared { outcome, messages: replayed.count as u64, cost, difference })
}
