//! What people and programs read: the only user of the terminal.

pub mod differences;
pub mod exit;
pub mod findings;
pub mod fitted;
pub mod github;
pub mod junit;
pub mod markdown;
pub mod pager;
pub mod printer;
pub mod styled;
pub mod terminal;
pub mod text;
pub mod words;
pub mod wrap;

pub use exit::ExitStatus;
pub use printer::{Printer, Progress, Talk};
