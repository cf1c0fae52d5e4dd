//! The command line: what was typed, and what it means.

mod args;
mod config;
mod prune;
mod quantities;
mod resolve;

pub use args::Args;
pub use config::{PruneConfig, settings};
pub use quantities::{size, span_ns};
pub use resolve::{moment, run};
