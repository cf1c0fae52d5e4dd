//! Rust with serde_json 1 and its feature `arbitrary_precision`: what it takes for JSON,
//! and how it prints a value.
//!
//! | Rust | here |
//! |---|---|
//! | `serde_json::from_str::<serde_json::Value>(line)` | [`parse`] |
//! | `value.as_u64()` of a parsed number | [`unsigned`] |
//! | `value.is_f64()` | [`is_float`] |
//! | `serde_json::from_value::<u32>(value)` | [`unsigned`], then a `try_from` |
//! | `serde_json::to_string(&value)` | [`printed`] |
//! | `serde_json::to_string(text)` | [`push_string`] |
//! | `BufRead::lines`, without the check for UTF-8 | `lines` |
//!
//! ```
//! use everlog::runtimes::rust::{parse, printed, unsigned};
//!
//! let value = parse(br#" {"b": 1e2, "a": "\u00e9", "b": 7} "#).ok_or("not JSON")?;
//! assert_eq!(value.get("b").and_then(unsigned), Some(7));
//! assert_eq!(printed(value), "{\"a\":\"é\",\"b\":7}".as_bytes());
//! assert!(parse(br#""\ud800""#).is_none() && parse(b"18446744073709551616").is_none());
//! # Ok::<(), &str>(())
//! ```

mod accept;
mod lines;
mod print;

pub use accept::{MAX_DEPTH, accepted, is_float, parse, unsigned};
pub use lines::{is_blank, lines};
pub use print::{printed, push_string};

#[cfg(test)]
mod oracle_tests;
