//! One entry of a transcript, by the places of what it names.

use super::keys::Key;

/// No entry.
pub const NONE: u32 = u32::MAX;

/// One entry of the tree.
#[derive(Debug, Clone, Copy)]
pub struct Entry {
    /// The row that holds it.
    pub row: u32,
    /// Its id, made up where the format has none.
    pub id: Key,
    /// The parent that it names itself.
    pub named_parent: Key,
}
