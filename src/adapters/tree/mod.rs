//! Tree-shaped sessions, as pi writes them and others after it: lines that name
//! the line above them. What the formats share stands here; which entry is the
//! leaf, and what an odd name leads to, is each format's own.

pub(in crate::adapters) mod content;
pub(in crate::adapters) mod context;
mod date;
mod draft;
pub(in crate::adapters) mod entry;
pub(in crate::adapters) mod facts;
pub(in crate::adapters) mod forest;
mod ids;
pub(in crate::adapters) mod js;
pub(in crate::adapters) mod notes;
pub(in crate::adapters) mod read;
pub(in crate::adapters) mod render;
mod retell;
pub(in crate::adapters) mod scan;
pub(in crate::adapters) mod show;
pub(in crate::adapters) mod signs;
pub(in crate::adapters) mod tables;
