//! What source formats share: trees of entries, whole-file documents, tables
//! that map a record's members to facts and back, and the conversion that every
//! reader feeds. Nothing here names a format.

pub(in crate::adapters) mod chat;
pub(in crate::adapters) mod conversion;
pub(in crate::adapters) mod document;
pub(in crate::adapters) mod entries;
pub(in crate::adapters) mod known;
pub(in crate::adapters) mod mapping;
pub(in crate::adapters) mod members;
pub(in crate::adapters) mod object;
pub(in crate::adapters) mod part_records;
pub(in crate::adapters) mod place;
pub(in crate::adapters) mod rows;
pub(in crate::adapters) mod salvage;
pub(in crate::adapters) mod tree;
pub(in crate::adapters) mod words;
