//! The two proofs: files rebuilt from a log against the source's bytes, and
//! its replay against what the source program's own loader shows.

pub mod bytes;
pub mod difference;
pub mod messages;
pub mod proof;

pub use difference::Difference;
pub use proof::{Proof, check_log, prove};
