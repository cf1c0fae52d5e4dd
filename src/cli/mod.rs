//! The command line: what was typed, and what it means.

mod args;
mod choices;
mod config;
mod help;
mod migrate;
mod places;
mod prune;
mod quantities;
mod reading;
mod resolve;
mod sessions;
mod tables;

pub use args::Args;
pub use choices::moment;
pub use config::{PruneConfig, settings};
pub use quantities::{size, span_ns};
pub use resolve::run;
