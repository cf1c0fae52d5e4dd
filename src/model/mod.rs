//! What every other room of the house speaks about: events, messages, files,
//! findings, places, and JSON as bytes. Depends on nothing else in the crate.

pub mod audit;
pub mod database;
pub mod digest;
pub mod digits;
pub mod event;
pub mod files;
pub mod finding;
pub mod folder;
pub mod heads;
pub mod ids;
pub mod json;
pub mod jsonl;
pub mod loaded;
pub mod location;
pub mod map;
pub mod recipe;
pub mod repair;
pub mod retention;
pub mod shape;
pub mod shown;
pub mod stops;
pub mod stream;
pub mod time;
