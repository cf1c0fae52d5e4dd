//! The sessions of a store as tables, for engines that read columns.
//!
//! `schema` says which tables and columns there are, `rows` makes rows out of logs,
//! `plan` groups sessions into part files, and `manifest` says which file holds what.
//! A row is a row whatever it is written to: `parquet` and `sqlite` write it.

pub mod cell;
pub mod error;
pub mod manifest;
#[cfg(feature = "parquet")]
pub mod parquet;
pub mod plan;
pub mod rows;
pub mod schema;
#[cfg(feature = "databases")]
pub mod sqlite;

pub use cell::{Cell, Row};
pub use error::TableError;
pub use schema::{Table, TableName};
