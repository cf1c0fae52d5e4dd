//! Numbers that must not be mixed up.

use serde::{Deserialize, Serialize};
use std::fmt;

/// An event's place in its log: dense, from 1, and the identity of a node.
/// 0 is the root above every first message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Seq(u32);

impl Seq {
    /// The root: the parent of nodes that have none.
    pub const ROOT: Seq = Seq(0);

    /// Returns the event with this number.
    #[must_use]
    pub const fn new(number: u32) -> Seq {
        Seq(number)
    }

    /// Returns the number itself.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// As an index into tables that have an entry for the root.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Returns the event after this one.
    #[must_use]
    pub const fn next(self) -> Seq {
        Seq(self.0 + 1)
    }

    /// Tells whether this is the root, which is not an event.
    #[must_use]
    pub const fn is_root(self) -> bool {
        self.0 == 0
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
