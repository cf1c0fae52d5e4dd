//! What a programming language does with JSON, text, numbers and dates,
//! implemented once for every adapter.
//!
//! The programs whose sessions are read here are written in Python, JavaScript,
//! Go and Rust. What they accept, how they print a float and where they end a line is
//! decided by their language and not by their own code. Each language has one
//! folder here, which `read`, `load` and `maintenance` of every format use. The
//! tables in `fixtures/runtimes/` hold the answers of the real interpreters, and
//! the tests of this module compare every function with them. Rust needs no
//! table: its tests ask serde_json itself.

pub(crate) mod digits;
pub mod go;
pub mod javascript;
pub mod python;
pub mod rust;
pub mod wtf8;
