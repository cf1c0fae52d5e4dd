//! JSON text that is handed out as the log has it.

use std::fmt;

use crate::json::lossy;

/// A JSON value as its text stands in the log.
///
/// Numbers keep their digits and objects their order and duplicate keys, which
/// a parsed tree would lose. A value that not every JSON parser takes is
/// `{"$raw":"its original text"}`, as everywhere in a log.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let log = everlog::Log::open("examples/logs/two-branches.jsonl.everlog.jsonl")?;
/// let message = log.messages(&log.active())?.next().ok_or("no message")??;
/// assert!(message.raw.as_str().starts_with(r#"{"role":"user","content":["#));
/// let parsed: serde_json::Value = message.raw.parse()?;
/// assert_eq!(parsed["role"], "user");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Json(String);

impl Json {
    /// Takes bytes that have been validated as JSON.
    pub(super) fn of(value: &[u8]) -> Json {
        Json(lossy(value).into_owned())
    }

    /// Returns the JSON text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Parses the text into a type of the caller's.
    ///
    /// # Errors
    /// When the value does not fit the type.
    pub fn parse<T: serde::de::DeserializeOwned>(&self) -> serde_json::Result<T> {
        serde_json::from_str(&self.0)
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
