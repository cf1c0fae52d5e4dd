//! Sessions of entries: a header, then lines with `id` and `parentId`, as one
//! session manager writes them that several programs embed. The records, their
//! tables, and what its loader derives of them stand here; each program adds its
//! own dialects and the quirks of its loader.

pub(in crate::adapters) mod content;
pub(in crate::adapters) mod context;
pub(in crate::adapters) mod export;
pub(in crate::adapters) mod facts;
pub(in crate::adapters) mod records;
pub(in crate::adapters) mod schema;
pub(in crate::adapters) mod show;
pub(in crate::adapters) mod signs;
pub(in crate::adapters) mod tables;
