//! The types that all other modules share: events, messages, files, findings,
//! locations, retention. They do no I/O and, of the rest of the crate, use only
//! `json`.

pub mod about;
pub mod audit;
#[cfg(test)]
pub(crate) mod corpus;
pub mod counted;
pub mod damage;
pub mod database;
pub mod digest;
pub mod event;
pub mod export;
pub mod fact;
pub mod few;
pub mod files;
pub mod finding;
pub mod folder;
pub mod heads;
pub mod ids;
pub mod jsonl;
pub mod loaded;
pub mod location;
pub mod map;
pub mod packing;
pub mod printable;
pub mod recipe;
pub mod repair;
pub mod retention;
pub mod rows;
pub mod session;
pub mod shape;
pub mod shard;
pub mod shown;
pub mod stream;
pub mod text_or_bytes;
pub mod time;
pub mod turn_terms;
