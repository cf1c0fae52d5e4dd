//! What Codex CLI 0.169.0 sends to the model on `codex exec resume`: the input
//! items in front of the new turn, without the instructions. Written again from
//! its behaviour. It shares serde_json ([`crate::runtimes::rust`]) and nothing
//! else with the rest of this adapter. Files of older generations, which 0.169.0
//! refuses or ignores, are loaded as the release that wrote them loads them.
//!
//! The files of a thread are its entries named `rollout-*`, in whatever folder.
//! The one with the greatest name is loaded; a plain file takes the place of a
//! compressed one. A thread that goes on from a rollout of another thread finds
//! it among the slices beside it: `file` is the path of that rollout, and `text`
//! its plain bytes from the beginning, at least up to where the thread goes on.
//!
//! Heads: `branch:main`; for every other rollout of the thread a backup with its
//! rollout id; and the contexts just before the history was cut, as backups:
//! `before-compaction-N` for the N-th compaction and `before-rollback-N` for the
//! N-th rollback of at least one turn, of all of these the newest [`MOST_CUTS`];
//! and `unloaded`, which shows nothing, where the program loads nothing. Facts: none. Errors: the constants of
//! [`lineage`], in the order in which they are looked for, and
//! [`rollout::NOT_COMPRESSED`], [`early::NOT_A_DOCUMENT`].

mod budget;
mod context;
mod early;
mod entry;
mod item;
mod lineage;
mod marks;
mod metadata;
mod object;
mod parts;
mod print;
mod record;
mod rollout;
mod send;
mod shapes;
mod types;

use std::collections::BTreeMap;

use crate::model::files::Files;
use crate::model::heads::{HeadKind, HeadName};
use crate::model::loaded::{LoadOutcome, Loader, NO_SUCH_HEAD};

use record::{History, Record, What};
use rollout::Rollouts;

/// The head of a session of which the program loads nothing.
const UNLOADED: &str = "unloaded";

/// So many heads for what was cut: a damaged session can have a cut on every line.
const MOST_CUTS: usize = 64;

/// The loader of one thread.
#[must_use]
pub fn loader(files: &Files) -> Box<dyn Loader + '_> {
    Box::new(Thread::new(files))
}

/// A thread: its rollouts, and what was read of the one that is loaded.
struct Thread<'f> {
    rollouts: Rollouts<'f>,
    main: Result<Loaded, &'static str>,
    /// The heads besides the main one, by name.
    others: BTreeMap<String, Other>,
}

/// What was read of a rollout.
enum Loaded {
    /// The records of the newer generations, oldest first.
    Records(History, Vec<Record>),
    /// A rollout of an older generation, which shows its items as they are.
    Early(usize),
}

/// A head besides the main one.
#[derive(Debug, Clone, Copy)]
enum Other {
    /// The context that this rollout ends in.
    Rollout(usize),
    /// The context before the record with this number.
    Before(usize),
}

impl<'f> Thread<'f> {
    fn new(files: &'f Files) -> Thread<'f> {
        let rollouts = Rollouts::of(files);
        let main = match rollouts.main() {
            Some(main) => read(&rollouts, main),
            None => Err(lineage::EMPTY),
        };
        let mut others: BTreeMap<String, Other> = rollouts.others().map(|(id, at)| (id.to_owned(), Other::Rollout(at))).collect();
        if let Ok(Loaded::Records(_, records)) = &main {
            let all: Vec<(String, Other)> = cuts(records).collect();
            others.extend(all.into_iter().rev().take(MOST_CUTS));
        }
        Thread { rollouts, main, others }
    }

    /// Whether there is a rollout, and the program loads nothing of it.
    fn loads_nothing(&self) -> bool {
        match &self.main {
            Ok(Loaded::Early(at)) => self.rollouts.text(*at).is_ok_and(early::shows_nothing),
            Ok(Loaded::Records(..)) => false,
            Err(_) => self.rollouts.main().is_some(),
        }
    }

    fn load_head(&self, head: &HeadName, show: &mut dyn FnMut(&[u8])) -> Result<(), &'static str> {
        if *head == HeadName::main() {
            return self.show(self.main.as_ref().map_err(|error| *error)?, usize::MAX, show);
        }
        let other = self.others.get(&head.name).filter(|_| head.kind == HeadKind::Backup).ok_or(NO_SUCH_HEAD)?;
        match (*other, &self.main) {
            (Other::Rollout(at), _) => self.show(&read(&self.rollouts, at)?, usize::MAX, show),
            (Other::Before(end), Ok(main)) => self.show(main, end, show),
            (Other::Before(_), Err(error)) => Err(error),
        }
    }

    /// Shows the context that the first records make.
    fn show(&self, loaded: &Loaded, end: usize, show: &mut dyn FnMut(&[u8])) -> Result<(), &'static str> {
        match loaded {
            Loaded::Early(at) => early::show(self.rollouts.text(*at)?, show),
            Loaded::Records(history, records) => {
                let records = records.get(..end).unwrap_or(records);
                send::send(&context::rebuild(&self.rollouts, *history, records), show);
                Ok(())
            }
        }
    }
}

/// Reads a rollout, and those that it goes on from.
fn read(rollouts: &Rollouts<'_>, at: usize) -> Result<Loaded, &'static str> {
    if early::is_early(rollouts.text(at)?) {
        return Ok(Loaded::Early(at));
    }
    lineage::read(rollouts, at).map(|(history, records)| Loaded::Records(history, records))
}

/// The heads that end before a compaction or a rollback.
fn cuts(records: &[Record]) -> impl Iterator<Item = (String, Other)> {
    let (mut compactions, mut rollbacks) = (0, 0);
    records.iter().enumerate().filter_map(move |(at, record)| {
        let (what, count) = match record.what {
            What::Compacted(_) => ("compaction", &mut compactions),
            What::RolledBack(turns) if turns > 0 => ("rollback", &mut rollbacks),
            What::RolledBack(_)
            | What::Meta(_)
            | What::Item(_)
            | What::UserMessage
            | What::TurnStarted(_)
            | What::TurnContext(_)
            | What::AgentMessage
            | What::Other => return None,
        };
        *count += 1;
        Some((format!("before-{what}-{count}"), Other::Before(at)))
    })
}

impl Loader for Thread<'_> {
    fn heads(&mut self) -> Vec<HeadName> {
        let others = self.others.keys().map(|name| HeadName::new(HeadKind::Backup, name));
        let unloaded = self.loads_nothing().then(|| HeadName::new(HeadKind::Backup, UNLOADED));
        std::iter::once(HeadName::main()).chain(others).chain(unloaded).collect()
    }

    fn load(&mut self, head: Option<&HeadName>, show: &mut dyn FnMut(&[u8])) -> LoadOutcome {
        let main = HeadName::main();
        let error = self.load_head(head.unwrap_or(&main), show).err().map(str::to_owned);
        LoadOutcome { active: head.is_none().then_some(main), error, ..LoadOutcome::default() }
    }
}

#[cfg(test)]
mod tests;
