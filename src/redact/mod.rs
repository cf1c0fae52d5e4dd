//! Takes secrets out of messages before they leave the machine: keys, tokens,
//! passwords, e-mail addresses, home directories, and what a person's own
//! patterns find. It knows no format, and it never changes a log.
//!
//! A secret gets a placeholder such as `[api-key-1]`, and wherever a
//! [`Redactor`] sees it again the same one. A message of which some text cannot
//! be looked into is left out, for nobody knows what it says.

mod bytes;
mod message;
mod redactor;
mod report;
mod rules;

pub use redactor::{InvalidPattern, Redactor};
pub use report::{Redaction, Redactions, RemovedFrom};
