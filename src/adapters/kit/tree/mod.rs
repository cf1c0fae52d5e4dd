//! Tree-shaped sessions: lines that name the line above them. A
//! [`schema::TreeSchema`] describes one format; which entry is the leaf, and what
//! an odd name leads to, is decided by that format's adapter.

pub(in crate::adapters) mod draft;
pub(in crate::adapters) mod entry;
pub(in crate::adapters) mod file;
pub(in crate::adapters) mod forest;
mod ids;
pub(in crate::adapters) mod notes;
pub(in crate::adapters) mod read;
pub(in crate::adapters) mod render;
pub(in crate::adapters) mod retell;
pub(in crate::adapters) mod scan;
pub(in crate::adapters) mod schema;
