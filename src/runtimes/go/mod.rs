//! Go 1.25: `encoding/json`, `time.Time` in JSON, and the few functions of
//! `strings`, `unicode` and `bufio` that go with them.
//!
//! A format declares its records with `record!`, in the order and with the
//! keys of the Go structs. They are decoded from a [`Scanner`], which checks
//! the syntax on the way, or from an [`Accepted`] text, which was checked
//! before; the rules are the same ones, in `decode`. Then they are written by
//! [`Marshal`].

mod accepted;
mod bufio;
mod decode;
mod marshal;
mod record;
mod scanner;
mod strings;
mod syntax;
mod text;
mod time;

pub use accepted::{Accepted, Rejection, decode_members, whole_value};
pub use bufio::{ScanLines, TOKEN_TOO_LONG, TokenTooLong};
pub use decode::{Decode, KeyForm, Raw, Record, Slice, Source};
pub use marshal::{Marshal, Object, Omit, is_marshal_escape, push_string};
pub(crate) use record::record;
pub use scanner::{Invalid, Scanner, Series, ends_too_soon, unmarshal};
pub use strings::{is_space, is_white_space, matches_key, to_utf8};
pub use syntax::{MAX_DEPTH, UNEXPECTED_END, compact};
pub use text::Text;
pub use time::Time;

#[cfg(test)]
mod oracle_tests;
