//! One file of entries while it is read: where its entries stand, and which
//! events they became.

use std::collections::HashMap;

use crate::adapters::kit::mapping::Parents;
use crate::model::files::RelPath;
use crate::model::ids::Seq;
use crate::model::map::Map;

use super::forest::{self, ById};
use super::scan::Scan;
use super::schema::TreeSchema;

/// Where the entries of a file stand, by the rules of its program.
pub(in crate::adapters) struct Placed<S> {
    /// The schema, in the dialect that the file is in.
    pub schema: S,
    /// The entry above each, headers included.
    pub parents: Vec<Option<usize>>,
    /// Which entries stand in the tree at all, besides headers.
    pub is_node: Vec<bool>,
    /// Which entries can be found by their id.
    pub is_named: Vec<bool>,
    /// Which entry a compaction keeps first, where it says so by number.
    pub first_kept: HashMap<usize, usize>,
}

/// Who keeps the bytes of records that their events cannot be rendered to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Residuals {
    /// The kit, record by record.
    OfRecords,
    /// The adapter: a record is only a part of what it rebuilds.
    OfAdapter,
}

/// A file, and its events as far as they are put.
pub(super) struct File<'a, 'f, S: TreeSchema> {
    pub path: &'a RelPath,
    pub scan: &'f Scan<'a, S>,
    pub placed: &'f Placed<S>,
    pub by_id: ById<'f>,
    pub parents: Parents,
    pub seqs: Vec<Seq>,
    /// The residual of each event that needs one.
    pub residuals: Map<Seq, u32>,
    pub keeps: Residuals,
}

/// What a file holds, in its recipe's words.
pub(in crate::adapters) const ENTRIES: &str = "entries";
/// What a file holds whose entries do not name those above them.
const LINEAR_ENTRIES: &str = "linear entries";

/// Tells whether entries of a file that holds this name those above them; `None` where
/// it holds something else.
pub(super) fn parents_of(holds: &str) -> Option<Parents> {
    match holds {
        ENTRIES => Some(Parents::Written),
        LINEAR_ENTRIES => Some(Parents::Unwritten),
        _ => None,
    }
}

impl<'a, 'f, S: TreeSchema> File<'a, 'f, S> {
    pub(super) fn new(path: &'a RelPath, scan: &'f Scan<'a, S>, placed: &'f Placed<S>) -> File<'a, 'f, S> {
        let first = scan.entries.iter().find(|entry| !S::is_header(entry.kind) && entry.is_object());
        let first_says = || if first.is_some_and(|entry| entry.parent.is_none()) { Parents::Unwritten } else { Parents::Written };
        File {
            path,
            scan,
            placed,
            by_id: forest::by_id(&scan.entries, |n| placed.is_named[n]),
            parents: S::PARENTS.unwrap_or_else(first_says),
            seqs: vec![Seq::ROOT; scan.entries.len()],
            residuals: Map::default(),
            keeps: Residuals::OfRecords,
        }
    }

    pub(super) fn holds(&self) -> &'static str {
        match self.parents {
            Parents::Written => ENTRIES,
            Parents::Unwritten => LINEAR_ENTRIES,
        }
    }
}
