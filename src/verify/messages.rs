//! Replayed messages against loaded ones, in lockstep.

use crate::adapters::adapter::Shower;
use crate::log::LogView;
use crate::model::heads::HeadName;
use crate::model::ids::Seq;
use crate::model::json::{self, Member};
use crate::model::loaded::{LoadOutcome, Loader};
use crate::model::location::Location;
use crate::model::stream::{LogAccess, ReadAt, StreamError};

use super::difference::{Difference, window};

/// The messages of one head, compared as both sides produce them.
struct Lockstep<'v, R> {
    log: &'v mut LogView<R>,
    shower: &'v Shower,
    path: Vec<Seq>,
    next: usize,
    replayed: Vec<u8>,
    head: String,
    first: Option<Result<Difference, StreamError>>,
}

impl<R: ReadAt> Lockstep<'_, R> {
    fn loaded(&mut self, loaded: &[u8]) {
        if self.first.is_some() {
            return;
        }
        let Some(&seq) = self.path.get(self.next) else {
            self.next += 1;
            return;
        };
        self.next += 1;
        self.replayed.clear();
        let shown = self.log.event(seq).and_then(|event| (self.shower)(&event, &mut self.replayed));
        match shown {
            Err(error) => self.first = Some(Err(error)),
            Ok(()) if self.replayed == loaded || json::same_value(&self.replayed, loaded) => {}
            Ok(()) => self.first = Some(Ok(message_difference(&self.head, self.next, loaded, &self.replayed))),
        }
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
    let node = log.state().head(head);
    let path = match node {
        Some(node) => log.path(node)?,
        None => Vec::new(),
    };
    let count = path.len();
    let mut lockstep = Lockstep { log, shower, path, next: 0, replayed: Vec::new(), head: head.to_string(), first: None };
    let outcome = loader.load(ask, &mut |message| lockstep.loaded(message));
    let loaded = lockstep.next;
    let difference = match lockstep.first {
        Some(first) => Some(first?),
        None if outcome.error.is_none() && loaded != count => {
            let what = format!("{head} has {loaded} messages in the source program and {count} in the log");
            Some(Difference::plain(what, Location::file(head.to_string())))
        }
        None => None,
    };
    Ok(Compared { outcome, messages: count as u64, cost: count.max(loaded) as u64, difference })
}
