//! The command line: what was typed, and what it means.

mod args;
mod resolve;

pub use args::Args;
pub use resolve::{moment, run};
