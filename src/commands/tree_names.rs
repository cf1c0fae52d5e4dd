//! What nodes are called in the tree: by the source's own id, cut short where
//! that still tells it from all others, else by number. What is shown can be
//! typed: `--at` and `--leaf` find that node by it.

use foldhash::fast::FixedState;
use std::hash::BuildHasher;

use crate::model::ids::Seq;

/// An id of at most so many characters is not shortened.
const LONGEST: usize = 12;
/// What is shown of a longer one.
const SHORTENED: usize = 8;

/// How a node is called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Called {
    Number,
    Id,
    Beginning,
}

/// How each node is called, by number.
#[derive(Debug, Default)]
pub(super) struct Names(Vec<Called>);

impl Names {
    /// Returns what a node with this id is called.
    pub(super) fn name(&self, seq: Seq, id: Option<&str>) -> String {
        match (self.0.get(seq.index()), id) {
            (Some(Called::Id), Some(id)) => id.to_owned(),
            (Some(Called::Beginning), Some(id)) => beginning(id).to_owned(),
            _ => format!("#{seq}"),
        }
    }
}

/// The ids of a log, as hashes: there may be a great many.
#[derive(Debug, Default)]
pub(super) struct Ids(Vec<Id>);

#[derive(Debug, Clone, Copy)]
struct Id {
    whole: u64,
    beginning: u64,
    seq: Seq,
    called: Called,
}

impl Ids {
    /// Takes the id of the next node.
    pub(super) fn add(&mut self, seq: Seq, id: Option<&str>) {
        // What begins like a number would be taken for one.
        let Some(id) = id.filter(|id| !id.is_empty() && !id.starts_with('#')) else { return };
        let hasher = FixedState::with_seed(0);
        let called = if id.chars().nth(LONGEST).is_some() { Called::Beginning } else { Called::Id };
        self.0.push(Id { whole: hasher.hash_one(id), beginning: hasher.hash_one(beginning(id)), seq, called });
    }

    /// Returns what the nodes up to `last` are called.
    pub(super) fn names(mut self, last: Seq) -> Names {
        let mut names = vec![Called::Number; last.index() + 1];
        // Of equal ids the last counts.
        self.0.sort_unstable_by_key(|id| (id.whole, std::cmp::Reverse(id.seq)));
        self.0.dedup_by_key(|id| id.whole);
        self.0.sort_unstable_by_key(|id| id.beginning);
        for alike in self.0.chunk_by(|a, b| a.beginning == b.beginning) {
            for id in alike {
                names[id.seq.index()] = if alike.len() > 1 && id.called == Called::Beginning { Called::Number } else { id.called };
            }
        }
        Names(names)
    }
}

fn beginning(id: &str) -> &str {
    id.char_indices().nth(SHORTENED).map_or(id, |(at, _)| &id[..at])
}
