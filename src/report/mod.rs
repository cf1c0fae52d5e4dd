//! What people and programs read: the only user of the terminal.

pub mod exit;
pub mod printer;
pub mod terminal;
pub mod text;

pub use exit::ExitStatus;
pub use printer::{Printer, Progress, Talk};
