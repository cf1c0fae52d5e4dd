//! Values as CPython prints them: `str`, `repr` and `json.dumps`, as far as the
//! program puts what it read into texts of its own.

use std::collections::HashMap;

use crate::model::json::{self, Kind, Member};

/// Below this depth a value stays as it is: nobody nests names.
const DEEPEST: usize = 64;

/// A text in UTF-16 units: Python's may hold lone surrogates, ours may not.
pub(super) type Units = Vec<u16>;

/// The characters of a string token.
pub(super) fn units(token: &[u8]) -> Units {
    let inner = token.get(1..token.len().saturating_sub(1)).unwrap_or_default();
    let mut units = Vec::with_capacity(inner.len());
    let mut rest = inner;
    loop {
        let plain = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
        units.extend(json::lossy(&rest[..plain]).encode_utf16());
        rest = &rest[plain..];
        let (unit, len) = match rest.get(1) {
            None => return units,
            Some(b'u') => {
                let digits = rest.get(2..6).and_then(|digits| std::str::from_utf8(digits).ok());
                (digits.and_then(|digits| u16::from_str_radix(digits, 16).ok()).unwrap_or(0xfffd), 6)
            }
            Some(b'n') => (10, 2),
            Some(b'r') => (13, 2),
            Some(b't') => (9, 2),
            Some(b'b') => (8, 2),
            Some(b'f') => (12, 2),
            Some(&other) => (u16::from(other), 2),
        };
        units.push(unit);
        rest = rest.get(len..).unwrap_or_default();
    }
}

/// A text in which lone surrogates stand as their escapes.
pub(super) fn readable(units: &[u16]) -> String {
    char::decode_utf16(units.iter().copied())
        .map(|decoded| decoded.map_or_else(|lone| format!("\\u{:04x}", lone.unpaired_surrogate()), String::from))
        .collect()
}

/// A text or any other value, for people.
pub(super) fn shown(value: &[u8]) -> String {
    if json::kind_of(value) == Kind::String { readable(&units(value)) } else { dumps(value) }
}

/// `json.dumps(text, ensure_ascii=False)`, with escapes for lone surrogates.
pub(super) fn dumps_text(units: &[u16]) -> String {
    let mut out = String::from("\"");
    for decoded in char::decode_utf16(units.iter().copied()) {
        match decoded {
            Err(lone) => out.push_str(&format!("\\u{:04x}", lone.unpaired_surrogate())),
            Ok('"') => out.push_str("\\\""),
            Ok('\\') => out.push_str("\\\\"),
            Ok('\n') => out.push_str("\\n"),
            Ok('\r') => out.push_str("\\r"),
            Ok('\t') => out.push_str("\\t"),
            Ok('\u{8}') => out.push_str("\\b"),
            Ok('\u{c}') => out.push_str("\\f"),
            Ok(control @ '\0'..='\u{1f}') => out.push_str(&format!("\\u{:04x}", u32::from(control))),
            Ok(other) => out.push(other),
        }
    }
    out.push('"');
    out
}

/// A value on one line without spaces; numbers keep their text.
pub(super) fn dumps(value: &[u8]) -> String {
    let mut out = String::new();
    push_dumps(value, 0, &mut out);
    out
}

fn push_dumps(value: &[u8], depth: usize, out: &mut String) {
    match json::kind_of(value) {
        Kind::String => out.push_str(&dumps_text(&units(value))),
        Kind::Object if depth < DEEPEST => push_list(out, ("{", "}"), ",", last_members(value), |(key, value), out| {
            out.push_str(&dumps_text(&key));
            out.push(':');
            push_dumps(value, depth + 1, out);
        }),
        Kind::Array if depth < DEEPEST => {
            push_list(out, ("[", "]"), ",", json::elements(value), |item, out| push_dumps(item, depth + 1, out))
        }
        Kind::Object | Kind::Array | Kind::Number | Kind::True | Kind::False | Kind::Null => out.push_str(&String::from_utf8_lossy(value)),
    }
}

fn push_list<T>(out: &mut String, ends: (&str, &str), comma: &str, items: impl IntoIterator<Item = T>, each: impl Fn(T, &mut String)) {
    out.push_str(ends.0);
    for (n, item) in items.into_iter().enumerate() {
        if n > 0 {
            out.push_str(comma);
        }
        each(item, out);
    }
    out.push_str(ends.1);
}

/// The members of an object as a dictionary has them: of equal keys the first
/// place and the last value.
fn last_members(object: &[u8]) -> Vec<(Units, &[u8])> {
    let mut found: Vec<(Units, &[u8])> = Vec::new();
    let mut places: HashMap<Units, usize> = HashMap::new();
    for Member { key, value } in json::members(object) {
        let key = units(key);
        match places.get(&key) {
            Some(&at) => found[at].1 = value,
            None => {
                places.insert(key.clone(), found.len());
                found.push((key, value));
            }
        }
    }
    found
}

/// `str(value)`.
pub(super) fn str_of(value: &[u8]) -> Units {
    if json::kind_of(value) == Kind::String {
        return units(value);
    }
    let mut out = String::new();
    push_repr(value, 0, &mut out);
    out.encode_utf16().collect()
}

fn push_repr(value: &[u8], depth: usize, out: &mut String) {
    match json::kind_of(value) {
        Kind::String => push_repr_text(&units(value), out),
        Kind::True => out.push_str("True"),
        Kind::False => out.push_str("False"),
        Kind::Null => out.push_str("None"),
        Kind::Number => out.push_str(&number(&String::from_utf8_lossy(value))),
        Kind::Object if depth < DEEPEST => push_list(out, ("{", "}"), ", ", last_members(value), |(key, value), out| {
            push_repr_text(&key, out);
            out.push_str(": ");
            push_repr(value, depth + 1, out);
        }),
        Kind::Array if depth < DEEPEST => {
            push_list(out, ("[", "]"), ", ", json::elements(value), |item, out| push_repr(item, depth + 1, out))
        }
        Kind::Object | Kind::Array => out.push_str(&String::from_utf8_lossy(value)),
    }
}

/// A number as Python prints it.
fn number(text: &str) -> String {
    if text.bytes().all(|b| b.is_ascii_digit() || b == b'-') {
        return if text == "-0" { "0".to_owned() } else { text.to_owned() };
    }
    let Ok(value) = text.parse::<f64>() else { return text.to_owned() };
    if !value.is_finite() {
        return if value.is_nan() { "nan".to_owned() } else { format!("{value}") };
    }
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    match exponent.parse::<i32>() {
        Ok(-4..=15) => {
            let plain = format!("{value}");
            if plain.contains('.') { plain } else { plain + ".0" }
        }
        Ok(far) => format!("{digits}e{}{:02}", if far < 0 { '-' } else { '+' }, far.abs()),
        Err(_) => scientific,
    }
}

fn push_repr_text(units: &[u16], out: &mut String) {
    let has = |wanted: char| units.contains(&(wanted as u16));
    let quote = if has('\'') && !has('"') { '"' } else { '\'' };
    out.push(quote);
    for decoded in char::decode_utf16(units.iter().copied()) {
        match decoded {
            Err(lone) => out.push_str(&format!("\\u{:04x}", lone.unpaired_surrogate())),
            Ok('\\') => out.push_str("\\\\"),
            Ok('\n') => out.push_str("\\n"),
            Ok('\r') => out.push_str("\\r"),
            Ok('\t') => out.push_str("\\t"),
            Ok(c) if c == quote => out.extend(['\\', c]),
            Ok(c) if c == ' ' || !(c.is_control() || c.is_whitespace() || is_format(c)) => out.push(c),
            Ok(c) if u32::from(c) < 0x100 => out.push_str(&format!("\\x{:02x}", u32::from(c))),
            Ok(c) if u32::from(c) < 0x1_0000 => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            Ok(c) => out.push_str(&format!("\\U{:08x}", u32::from(c))),
        }
    }
    out.push(quote);
}

/// The commonest characters that print as nothing.
fn is_format(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{feff}' | '\u{e000}'..='\u{f8ff}')
}

/// A text without the white space that `str.strip` removes.
pub(super) fn stripped(units: &[u16]) -> &[u16] {
    let is_space = |unit: &u16| char::from_u32(u32::from(*unit)).is_some_and(|c| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c));
    let start = units.iter().take_while(|unit| is_space(unit)).count();
    let end = units[start..].iter().rev().take_while(|unit| is_space(unit)).count();
    &units[start..units.len() - end]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(value: &str) -> String {
        readable(&str_of(value.as_bytes()))
    }

    #[test]
    fn values_print_as_python_prints_them() {
        for (value, printed) in [
            ("1e22", "1e+22"),
            ("1e16", "1e+16"),
            ("1e15", "1000000000000000.0"),
            ("1e-5", "1e-05"),
            ("0.0001", "0.0001"),
            ("1e400", "inf"),
            ("-0", "0"),
            ("-0.0", "-0.0"),
            ("100000000000000000000", "100000000000000000000"),
            (r#"[1, "a'b", null, true, 1.0]"#, r#"[1, "a'b", None, True, 1.0]"#),
            (r#"{"a": "x\n\u00e9\u0001\u2028\ud800", "a": {}}"#, r#"{'a': {}}"#),
            (r#"["x\n\u00e9\u0001\u2028\ud800'\""]"#, r#"['x\né\x01\u2028\ud800\'"']"#),
            (r#""plain\ud800""#, r"plain\ud800"),
        ] {
            assert_eq!(text(value), printed, "{value}");
        }
    }

    #[test]
    fn values_dump_as_python_dumps_them() {
        let said = dumps(br#" {"a": 1, "b": ["\u0041\/\ud800", 1E2], "a": "\u2028\u0001"}"#.trim_ascii());
        assert_eq!(said, "{\"a\":\"\u{2028}\\u0001\",\"b\":[\"A/\\ud800\",1E2]}");
        assert_eq!(readable(stripped(&units(b"\"\\u00a0x\\u001f\""))), "x");
    }
}
