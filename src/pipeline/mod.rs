//! The stages of a conversion. Each is a function from one type to the next:
//!
//! | stage | from | to |
//! |---|---|---|
//! | [`snapshot`] | a [`SourceUnit`](source::SourceUnit) | a [`Snapshot`](snapshot::Snapshot): its files in memory |
//! | [`convert`] | a snapshot | a [`Converted`](convert::Converted) log in a temporary file |
//! | [`prove`] | a converted log | a [`Proven`](prove::Proven) one: it rebuilds the files and replays as their program shows them |
//! | [`settle`] | a proven log | a [`Settled`](settle::Settled) one: compared with the logs that the store has |
//! | [`commit`] | a settled log | a [`Committed`](commit::Committed) one: handed to the group commit of the store |
//!
//! [`run::convert_all`] takes every session of a [`Source`](source::Source)
//! through them and calls back for each. Nothing here prints.

pub mod batch;
pub mod commit;
pub mod convert;
pub mod databases;
pub mod error;
pub mod old_bytes;
pub mod open;
pub mod previous;
pub mod prove;
pub mod pruned;
mod receipt;
pub mod restore;
pub mod retired;
pub mod run;
pub mod settle;
pub mod snapshot;
pub mod source;
pub mod target;
pub mod tombstone;
pub mod unchanged;
pub mod unclaimed;
