//! The two proofs: files rebuilt from a log against the source's bytes, and
//! its replay against what the source program's own loader shows. And, where a
//! proof fails, why.

pub mod alone;
pub mod build;
pub mod bytes;
pub mod compare;
pub mod difference;
pub mod explain;
pub mod facts;
pub mod golden;
pub mod messages;
pub mod proof;
pub mod records;
pub mod seal;
pub mod structure;

pub use alone::{Level, check_log};
pub use build::build_log;
pub use difference::Difference;
pub use proof::{Proof, prove, prove_records};
pub use records::Records;
