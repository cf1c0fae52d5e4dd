//! Heads: the branches of a session, and other named ends of its history.

use std::fmt;

use crate::model::heads::HeadName;
use crate::model::ids::Seq;

pub use crate::model::heads::HeadKind;

/// A named pointer to a node: its history is the walk from there to the root.
///
/// A head is printed as `kind:name`, and [`Log::head`](super::Log::head) reads
/// that, or a branch's bare name.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let log = everlog::Log::open("examples/logs/two-branches.jsonl.everlog.jsonl")?;
/// let names: Vec<String> = log.heads().map(|head| head.to_string()).collect();
/// assert_eq!(names, ["branch:main", "branch:x1"]);
/// assert!(log.heads().any(|head| head.is_active()));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    pub(super) name: HeadName,
    pub(super) node: Seq,
    pub(super) is_active: bool,
}

impl Head {
    /// Returns what the head stands for in its source.
    #[must_use]
    pub fn kind(&self) -> HeadKind {
        self.name.kind
    }

    /// Returns its name in the source.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name.name
    }

    /// Returns the node that it points to; [`Seq::ROOT`] where its history is
    /// empty.
    #[must_use]
    pub fn node(&self) -> Seq {
        self.node
    }

    /// Tells whether this is the head that the source program shows.
    #[must_use]
    pub fn is_active(&self) -> bool {
        self.is_active
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}
