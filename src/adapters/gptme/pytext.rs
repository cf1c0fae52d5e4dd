//! What Python makes of odd values where gptme expects texts: `str()`,
//! iteration, and `pathlib`'s idea of the same path.

use crate::model::json::{self, Kind};

/// Whether gptme takes a text for a URI: `scheme://`.
pub(super) fn is_uri(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once("://") else { return false };
    let mut chars = scheme.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic()) && chars.all(|c| c.is_ascii_alphanumeric() || matches!(c, '+' | '.' | '-'))
}

/// The texts that a loop over a value gives: characters of a string, keys of
/// an object, `str()` of each element of a list.
pub(super) fn iterated(value: &[u8]) -> Vec<String> {
    match json::kind_of(value) {
        Kind::Array => json::elements(value).map(python_str).collect(),
        Kind::String => json::unescape(value).chars().map(String::from).collect(),
        Kind::Object => {
            let mut keys: Vec<String> = Vec::new();
            for member in json::members(value) {
                if !keys.iter().any(|known| *known == member.name()) {
                    keys.push(member.name().into_owned());
                }
            }
            keys
        }
        Kind::Number | Kind::True | Kind::False | Kind::Null => Vec::new(),
    }
}

/// Python's `str()` of a JSON value.
fn python_str(value: &[u8]) -> String {
    match json::kind_of(value) {
        Kind::String => json::unescape(value).into_owned(),
        Kind::Number | Kind::Object | Kind::Array | Kind::True | Kind::False | Kind::Null => {
            let mut out = String::new();
            push_repr(value, 0, &mut out);
            out
        }
    }
}

/// Python's `repr()`, bounded in depth: nobody attaches a file whose name is a
/// list of lists.
fn push_repr(value: &[u8], depth: usize, out: &mut String) {
    if depth > 100 {
        return out.push('…');
    }
    match json::kind_of(value) {
        Kind::True => out.push_str("True"),
        Kind::False => out.push_str("False"),
        Kind::Null => out.push_str("None"),
        Kind::Number => out.push_str(&number_repr(value)),
        Kind::String => push_string_repr(&json::unescape(value), out),
        Kind::Array => {
            out.push('[');
            for (n, item) in json::elements(value).enumerate() {
                if n > 0 {
                    out.push_str(", ");
                }
                push_repr(item, depth + 1, out);
            }
            out.push(']');
        }
        Kind::Object => {
            out.push('{');
            for (n, member) in json::members(value).enumerate() {
                if n > 0 {
                    out.push_str(", ");
                }
                push_string_repr(&member.name(), out);
                out.push_str(": ");
                push_repr(member.value, depth + 1, out);
            }
            out.push('}');
        }
    }
}

fn push_string_repr(text: &str, out: &mut String) {
    let quote = if text.contains('\'') && !text.contains('"') { '"' } else { '\'' };
    out.push(quote);
    for c in text.chars() {
        match c {
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c == quote => out.extend(['\\', c]),
            c if u32::from(c) < 0x20 || (0x7f..0xa1).contains(&u32::from(c)) || c == '\u{ad}' => {
                out.push_str(&format!("\\x{:02x}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out.push(quote);
}

/// Python's `repr` of a number: integers as they are, floats by shortest
/// digits, with an exponent from 1e16 on and below 1e-4.
fn number_repr(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    if text == "-0" {
        return "0".to_owned();
    }
    if !text.contains(['.', 'e', 'E', 'N', 'I']) {
        return text.into_owned();
    }
    let value: f64 = text.parse().unwrap_or(f64::NAN);
    if value.is_nan() {
        return "nan".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "inf" } else { "-inf" }.to_owned();
    }
    let scientific = format!("{value:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if value != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    let plain = format!("{value}");
    if plain.contains('.') { plain } else { format!("{plain}.0") }
}

/// `str(Path(text))` on a POSIX system: no doubled slashes, no `.` parts, no
/// slash at the end; two leading slashes, and only two, stay.
pub(super) fn path_text(text: &str) -> String {
    let root = match text.len() - text.trim_start_matches('/').len() {
        0 => "",
        2 => "//",
        _ => "/",
    };
    let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
    let path = format!("{root}{}", parts.join("/"));
    if path.is_empty() { ".".to_owned() } else { path }
}

/// Whether `pathlib` sees a suffix in a path's last part.
pub(super) fn has_suffix(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or_default();
    name.rfind('.').is_some_and(|at| at > 0 && at + 1 < name.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_what_pathlib_makes_of_them() {
        for (text, want) in
            [("a//b/./c.txt", "a/b/c.txt"), ("./x", "x"), ("", "."), ("//a", "//a"), ("///a/", "/a"), ("/", "/"), ("../~", "../~")]
        {
            assert_eq!(path_text(text), want, "{text}");
        }
        assert!(is_uri("http://h/p//q") && is_uri("C://x") && !is_uri("1http://x") && !is_uri("/a://b"));
    }

    #[test]
    fn odd_entries_read_as_python_prints_them() {
        let list = br#"[null, true, 1e16, 0.00001, 100.0, 7, "x", {"k": "v", "n": null}, [1.5, "\n"], "it's"]"#;
        let want = ["None", "True", "1e+16", "1e-05", "100.0", "7", "x", "{'k': 'v', 'n': None}", "[1.5, '\\n']", "it's"];
        assert_eq!(iterated(list), want);
        assert_eq!(iterated(br#""ab""#), ["a", "b"]);
        assert_eq!(iterated(br#"{"a": 1, "b": 2, "a": 3}"#), ["a", "b"]);
    }
}
