//! The entries of `files`: each is a URI, which stays as it is, or a path,
//! which `pathlib` normalises.

use crate::model::json::{Kind, kind_of};

use super::pairs::{Dict, character};
use super::parse::elements;
use super::text::{codes, decode};
use super::value::str_of;

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
        if is_uri(&text) { Reference::Uri(text) } else { Reference::Path(normal_path(&text)) }
    }

    /// `str(entry)`.
    #[must_use]
    pub fn text(&self) -> &[u8] {
        match self {
            Reference::Uri(text) | Reference::Path(text) => text,
        }
    }
}

/// The references of a `files` value: whatever Python can iterate is taken
/// apart, a string into its characters and an object into its keys.
#[must_use]
pub fn references(files: &[u8]) -> Vec<Reference> {
    match kind_of(files) {
        Kind::Array => elements(files).into_iter().map(|entry| Reference::of(str_of(entry))).collect(),
        Kind::String => codes(&decode(files)).map(|code| Reference::of(decode(&character(code)))).collect(),
        Kind::Object => Dict::of_object(files).texts().map(|(key, _)| Reference::of(key.to_vec())).collect(),
        Kind::Number | Kind::True | Kind::False | Kind::Null => Vec::new(),
    }
}

/// Whether a letter, and letters, digits, `+`, `.`, `-` behind it, stand before `://`.
fn is_uri(text: &[u8]) -> bool {
    let scheme = text.iter().take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'.' | b'-')).count();
    text.first().is_some_and(u8::is_ascii_alphabetic) && text.get(scheme..).is_some_and(|rest| rest.starts_with(b"://"))
}

/// `str(PurePosixPath(text))`.
#[must_use]
pub fn normal_path(text: &[u8]) -> Vec<u8> {
    let slashes = text.iter().take_while(|b| **b == b'/').count();
    // POSIX leaves open what two slashes mean, so pathlib keeps exactly two.
    let root: &[u8] = match slashes {
        0 => b"",
        2 => b"//",
        _ => b"/",
    };
    let parts: Vec<&[u8]> = text.split(|b| *b == b'/').filter(|part| !part.is_empty() && *part != b".").collect();
    let path = [root, &parts.join(&b'/')].concat();
    if path.is_empty() { b".".to_vec() } else { path }
}

/// `Path(text).suffix` of a normalised path.
#[must_use]
pub fn suffix(path: &[u8]) -> &[u8] {
    let name = path.rsplit(|b| *b == b'/').next().unwrap_or_default();
    match name.iter().rposition(|b| *b == b'.') {
        Some(at) if at > 0 && at + 1 < name.len() => name.get(at..).unwrap_or_default(),
        _ => b"",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(files: &str) -> Vec<String> {
        references(files.as_bytes()).iter().map(|r| String::from_utf8_lossy(r.text()).into_owned()).collect()
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

    #[test]
    fn a_suffix_is_the_last_one_of_the_name() {
        for (path, end) in [("a/b.tar.gz", ".gz"), (".bashrc", ""), ("a.", ""), ("..", ""), ("a.b/c", ""), ("/x.y", ".y")] {
            assert_eq!(suffix(path.as_bytes()), end.as_bytes(), "{path}");
        }
    }
}
