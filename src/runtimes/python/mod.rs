//! CPython 3.11: its `json` module, `str`, `repr`, `int()`, `float()`, `dict()`,
//! `datetime` and `pathlib`, and `dateutil`'s `isoparse`.
//!
//! Values are not built: every function works on a [`json::Value`](crate::json::Value),
//! the text of a value that [`loads::loads`] or another validator has taken, because
//! the text keeps what a tree of values loses. Strings are [WTF-8](super::wtf8).

pub mod convert;
pub mod datetime;
pub mod dict;
pub mod dumps;
pub mod exception;
pub mod isoparse;
pub mod loads;
pub mod number;
pub mod pathlib;
mod printable;
pub mod sort;
pub mod strings;
pub mod text;
pub mod value;

#[cfg(test)]
mod oracle;
