//! Text that a source wrote, which need not be text that UTF-8 can hold.

use std::fmt;

use crate::json::{self, Kind};

use super::json::Json;

/// A text of a source.
///
/// Some programs write strings with half of a surrogate pair, and some write a
/// number or a list where a string should be. Such a text is readable here with
/// U+FFFD in the place of what cannot be shown, or as JSON, and
/// [`original`](Text::original) has the value as the log carries it.
///
/// ```
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let log = everlog::Log::open("examples/logs/two-branches.jsonl.everlog.jsonl")?;
/// use everlog::Part;
///
/// let message = log.messages(&log.active())?.next().ok_or("no message")??;
/// let Part::Text(text) = &message.parts[0] else { return Err("no text".into()) };
/// assert_eq!(text.as_str(), "Add a --dry-run flag");
/// assert!(text.original().is_none(), "a plain string needs no original");
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Text {
    text: String,
    original: Option<Json>,
}

impl Text {
    /// Reads a value that has been validated.
    pub(super) fn of(value: &[u8]) -> Text {
        match json::kind_of(value) {
            Kind::String => match json::decode_string(value) {
                Ok(text) => Text { text, original: None },
                Err(text) => Text { text, original: Some(Json::of(value)) },
            },
            Kind::Object => Text::of_raw(value).unwrap_or_else(|| Text::of_other(value)),
            Kind::Number | Kind::Array | Kind::True | Kind::False | Kind::Null => Text::of_other(value),
        }
    }

    /// Takes a text that is not the source's own.
    pub(super) fn plain(text: String) -> Text {
        Text { text, original: None }
    }

    /// Reads `{"$raw":"the JSON text of a value that a log cannot carry"}`.
    fn of_raw(value: &[u8]) -> Option<Text> {
        let mut members = json::members(value);
        let only = members.next().filter(|member| member.is(json::RAW_KEY) && json::kind_of(member.value) == Kind::String)?;
        if members.next().is_some() {
            return None;
        }
        let inside = json::unescape(only.value).into_owned();
        let is_string = inside.len() > 1 && inside.starts_with('"') && inside.ends_with('"');
        let text = if is_string { json::unescape(inside.as_bytes()).into_owned() } else { inside };
        Some(Text { text, original: Some(Json::of(value)) })
    }

    /// Tells whether a value is a string that the log carries as `$raw`.
    pub(super) fn is_raw(value: &[u8]) -> bool {
        json::kind_of(value) == Kind::Object && Text::of_raw(value).is_some()
    }

    /// Reads a value that is not a string: its JSON is its text.
    fn of_other(value: &[u8]) -> Text {
        let original = Json::of(value);
        Text { text: original.as_str().to_owned(), original: Some(original) }
    }

    /// Returns the text, with U+FFFD in the place of what UTF-8 cannot hold.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// Returns the value as the log carries it, where the text alone does not
    /// say what the source had.
    #[must_use]
    pub fn original(&self) -> Option<&Json> {
        self.original.as_ref()
    }

    pub(super) fn into_string(self) -> String {
        self.text
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_utf8_cannot_hold_keeps_its_original() {
        let raw = Text::of(br#"{"$raw":"\"a\\ud800b\""}"#);
        assert_eq!((raw.as_str(), raw.original().map(Json::as_str)), ("a\u{fffd}b", Some(r#"{"$raw":"\"a\\ud800b\""}"#)));
        let token = Text::of(br#""\udc00""#);
        assert_eq!((token.as_str(), token.original().map(Json::as_str)), ("\u{fffd}", Some(r#""\udc00""#)));
        let number = Text::of(br#"{"$raw":"NaN"}"#);
        assert_eq!((number.as_str(), number.original().is_some()), ("NaN", true));
    }

    #[test]
    fn what_is_not_a_string_is_its_json() {
        assert_eq!(Text::of(b"[1.50,null]").as_str(), "[1.50,null]");
        let looks_raw = Text::of(br#"{"$raw":"x","more":1}"#);
        assert_eq!(looks_raw.as_str(), r#"{"$raw":"x","more":1}"#);
        assert_eq!(Text::of(br#""caf\u00e9\n""#), Text { text: "café\n".to_owned(), original: None });
    }
}
