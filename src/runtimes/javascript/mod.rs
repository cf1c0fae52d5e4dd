//! JavaScript as V8 runs it: `JSON.parse`, `JSON.stringify`, numbers, text and
//! dates.
//!
//! Values are not built in memory. A [`Value`] is the JSON text that the program
//! parses, read the way the program sees the parsed value: strings are UTF-16
//! (in the form of [`crate::runtimes::wtf8`], so lone surrogates survive),
//! numbers are doubles, the last of equal keys counts, and a missing property is
//! `undefined`. Functions that need no `undefined` take a
//! [`json::Value`](crate::json::Value).
//!
//! | JavaScript | here |
//! |---|---|
//! | `new TextDecoder().decode(bytes)` | [`decode_utf8`] |
//! | `JSON.parse(text)` | [`Value::parse`] |
//! | `value.name`, `Object.entries(value)` | [`Value::get`], [`Value::properties`] |
//! | `JSON.stringify(value)` | [`stringify()`]; cheaper and equal in meaning: [`printed`] |
//! | `Boolean(value)`, `a === b`, keys of a `Map` | [`is_truthy`], [`Key`], [`map_key`] |
//! | `String(value)`, `Number(value)` | [`to_text`], [`to_number`] |
//! | `Date.parse(text)`, `new Date(value).getTime()` | [`parse_date`], [`to_time`] |
//! | `new Date(ms).toISOString()` | [`to_iso_string`] |
//! | `text.trim()` | [`trim`], [`is_space`] |
//!
//! ```
//! use everlog::runtimes::javascript::{Value, parse_date, stringify};
//!
//! let value = Value::parse(br#"{"b": 1.0, "2": "\u0061", "b": 1e21}"#).ok_or("not JSON")?;
//! assert_eq!(value.get("b").number(), Some(1e21));
//! assert_eq!(stringify(value.token()), br#"{"2":"a","b":1e+21}"#);
//! assert_eq!(parse_date("Mar 5, 2026 4:05 pm"), Some(1_772_726_700_000));
//! # Ok::<(), &str>(())
//! ```
//!
//! Not followed: local time zones (a time without a zone is UTC, because a log
//! must be the same in every zone), and the stack and string length limits of
//! an engine.

mod coerce;
mod date;
mod key;
mod lines;
mod number;
mod properties;
mod space;
mod stringify;
mod text;
mod value;
mod writer;

pub use coerce::{TypeError, to_number, to_text, to_time};
pub use date::{parse_date, time_clip, to_iso_string};
pub use key::{Key, map_key};
pub use lines::{first_line, lines};
pub use number::{array_index, number, number_text, parse_number};
pub use space::{is_blank, is_space, trim, trim_start};
pub use stringify::{Numbers, printed, printed_raw, push_printed, push_printed_raw, stringify};
pub use text::{decode_utf8, has_lone_surrogate, lossy, push_string};
pub use value::{Type, Value, is_key, is_text, is_truthy, member, pick};
pub use writer::ObjectWriter;

pub use crate::runtimes::wtf8::decode;

#[cfg(test)]
mod oracle;
