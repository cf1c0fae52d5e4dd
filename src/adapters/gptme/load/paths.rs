//! The entries of `files`: each is a URI, which stays as it is, or a path,
//! which `pathlib` normalises.

use crate::json::Value;
use crate::runtimes::python::pathlib::normal;
use crate::runtimes::python::value::iterated;

/// What a message refers to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reference {
    /// `scheme://…`.
    Uri(Vec<u8>),
    /// A path, as `str(Path(entry))` gives it.
    Path(Vec<u8>),
}

impl Reference {
    /// `parse_file_reference`.
    #[must_use]
    pub fn of(text: Vec<u8>) -> Reference {
        if is_uri(&text) { Reference::Uri(text) } else { Reference::Path(normal(&text)) }
    }

    /// `str(entry)`.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        match self {
            Reference::Uri(text) | Reference::Path(text) => text,
        }
    }
}

/// Returns the references of a `files` value: whatever Python can iterate is taken
/// apart, a string into its characters and an object into its keys.
#[must_use]
pub fn references(files: Value<'_>) -> Vec<Reference> {
    iterated(files).into_iter().map(|text| Reference::of(text.into_owned())).collect()
}

/// Tells whether a letter, and letters, digits, `+`, `.`, `-` after it, stand before `://`.
fn is_uri(text: &[u8]) -> bool {
    let scheme = text.iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'.' | b'-')).count();
    text.first().is_some_and(u8::is_ascii_alphabetic) && text.get(scheme..).is_some_and(|rest| rest.starts_with(b"://"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(files: &str) -> Vec<String> {
        references(Value::trusted(files.as_bytes())).iter().map(|r| String::from_utf8_lossy(r.text()).into_owned()).collect()
    }

    #[test]
    fn paths_are_normalised_as_pathlib_does_and_uris_are_not() {
        for (entry, path) in [
            ("", "."),
            (".", "."),
            ("./a//b/./c/", "a/b/c"),
            ("/", "/"),
            ("//", "//"),
            ("//a/../b", "//a/../b"),
            ("///a", "/a"),
            ("..", ".."),
            ("~/x", "~/x"),
            ("http://a//b/./", "http://a//b/./"),
            ("a+.-1://x//", "a+.-1://x//"),
            ("1a://x//", "1a:/x"),
            ("http:/x//y", "http:/x/y"),
            ("://x", ":/x"),
        ] {
            assert_eq!(shown(&format!("[\"{entry}\"]")), [path], "{entry}");
        }
    }

    #[test]
    fn whatever_can_be_iterated_is_taken_apart() {
        assert_eq!(shown(r#""a/😀""#), ["a", "/", "😀"]);
        assert_eq!(shown(r#"{"b": 1, "a//": 2, "b": 3}"#), ["b", "a"]);
        assert_eq!(
            shown(r#"[1.50, null, true, -0, ["it's", "'\"", "\n\u00ad\u00e9", NaN], {"k": {"a": [], "a": 1e-7}}]"#),
            ["1.5", "None", "True", "0", "[\"it's\", '\\'\"', '\\n\\xadé', nan]", "{'k': {'a': 1e-07}}"]
        );
        assert_eq!(shown("7"), Vec::<String>::new());
    }
}
