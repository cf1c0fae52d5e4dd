//! JSON as bytes: a validator that keeps what `serde_json::Value` loses (number
//! forms, key order, duplicate keys, lone surrogates, depth), the escapes of
//! the log and of source programs, and comparison of values as text.
//!
//! Validation ([`validate()`], [`scan_object`] and its relatives) makes a [`Value`];
//! everything else reads one, and checks nothing again.

pub mod byte_set;
mod carry;
mod equal;
mod lexemes;
mod members;
mod nesting;
mod skip;
mod string;
mod style;
mod unvalidated;
mod validate;
mod value;
mod verdict;

pub use carry::{push_carried_string, push_carried_value};
pub use lexemes::{Lexeme, each_number_or_space};
pub use members::{Elements, Member, Members, Name};
pub use nesting::deepest;
pub use skip::token_end;
pub use string::{Escapes, RAW_KEY, decode_string, first_unicode_escape, lossy, push_escaped, push_own_key, push_string, unescape};
pub use style::{Separators, Style};
pub use unvalidated::{
    all_members, all_members_opening, elements, from_member, kind_of, members, normal_form, opened_elements, same_value,
};
pub use validate::{scan_object, scan_opened, scan_outline, scan_value, validate, validate_object};
pub use value::{Kind, Value, span_in};
pub use verdict::{Dialect, Facts, Fault, Outline, Scan, ScanError};
