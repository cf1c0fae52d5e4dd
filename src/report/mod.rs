//! What people and programs read: the only user of the terminal.

pub mod differences;
pub mod exit;
pub mod github;
pub mod junit;
pub mod printer;
pub mod terminal;
pub mod text;
pub mod words;

pub use exit::ExitStatus;
pub use printer::{Printer, Progress, Talk};
