//! Equality of JSON values as a source program sees it: escapes, white space
//! and key order do not count, the last of equal keys wins.

use std::collections::BTreeMap;

use super::members::Name;
use super::string::{decode_string, push_string, units};
use super::value::{Kind, Value};

/// Deeper than any loader we follow goes; below it only equal text is equal.
const DEEPEST: usize = 1200;

impl<'a> Value<'a> {
    /// Tells whether two values are the same to the program that reads them.
    #[must_use]
    pub fn is_same_as(self, other: Value<'_>) -> bool {
        same_at_depth(self, other, 0)
    }

    /// Returns a text that two values share when, and only when, they are the same to
    /// the program that reads them.
    #[must_use]
    pub fn normal_form(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.text().len());
        push_normal(self, 0, &mut out);
        out
    }
}

fn same_at_depth(a: Value<'_>, b: Value<'_>, depth: usize) -> bool {
    if a.text() == b.text() {
        return true;
    }
    let kind = a.kind();
    if kind != b.kind() || depth > DEEPEST {
        return false;
    }
    match kind {
        Kind::String => units(a.text()) == units(b.text()),
        Kind::Number => same_number(a.text(), b.text()),
        Kind::True | Kind::False | Kind::Null => true,
        Kind::Array => {
            let (mut left, mut right) = (a.elements(), b.elements());
            loop {
                match (left.next(), right.next()) {
                    (None, None) => return true,
                    (Some(x), Some(y)) if same_at_depth(x, y, depth + 1) => {}
                    _ => return false,
                }
            }
        }
        Kind::Object => {
            let (left, right) = (by_name(a), by_name(b));
            left.len() == right.len() && left.iter().all(|(name, x)| right.get(name).is_some_and(|y| same_at_depth(*x, *y, depth + 1)))
        }
    }
}

fn push_normal(value: Value<'_>, depth: usize, out: &mut Vec<u8>) {
    if depth > DEEPEST {
        return out.extend_from_slice(value.text());
    }
    match value.kind() {
        Kind::String => push_normal_string(value.text(), out),
        Kind::Number => push_normal_number(value.text(), out),
        Kind::True | Kind::False | Kind::Null => out.extend_from_slice(value.text()),
        Kind::Array => {
            out.push(b'[');
            for element in value.elements() {
                push_normal(element, depth + 1, out);
                out.push(b',');
            }
            out.push(b']');
        }
        Kind::Object => {
            out.push(b'{');
            for (name, value) in by_name(value) {
                match name {
                    Name::Text(text) => push_string(&text, out),
                    Name::Units(units) => push_units(&units, out),
                }
                out.push(b':');
                push_normal(value, depth + 1, out);
                out.push(b',');
            }
            out.push(b'}');
        }
    }
}

fn push_normal_string(token: &[u8], out: &mut Vec<u8>) {
    match decode_string(token) {
        Ok(text) => push_string(&text, out),
        Err(_) => push_units(&units(token), out),
    }
}

/// Writes the UTF-16 units of a string with a lone surrogate, which no UTF-8
/// text can hold. No string in quotes looks like it.
fn push_units(units: &[u16], out: &mut Vec<u8>) {
    out.extend_from_slice(format!("{units:x?}").as_bytes());
}

fn push_normal_number(number: &[u8], out: &mut Vec<u8>) {
    let text = String::from_utf8_lossy(number);
    let is_integer = number.iter().all(|b| b.is_ascii_digit() || *b == b'-');
    match text.parse::<f64>() {
        Ok(0.0) => out.push(b'0'),
        Ok(float) if !is_integer => out.extend_from_slice(float.to_string().as_bytes()),
        _ => out.extend_from_slice(number),
    }
}

/// Returns the members by name, each the last of its name.
fn by_name(object: Value<'_>) -> BTreeMap<Name<'_>, Value<'_>> {
    object.members().map(|member| (member.exact_name(), member.value())).collect()
}

/// Compares two numbers; integers, which have no limit in Python, exactly.
fn same_number(a: &[u8], b: &[u8]) -> bool {
    let normal = |number: &[u8]| {
        let mut out = Vec::new();
        push_normal_number(number, &mut out);
        out
    };
    normal(a) == normal(b)
}

#[cfg(test)]
mod tests {
    use crate::json::{normal_form, same_value};

    #[test]
    fn values_compare_as_the_program_sees_them() {
        for (a, b) in [
            (r#"{"a": 1.0, "b": [ "\u00e9" ]}"#, r#"{"b":["é"],"a":1}"#),
            (r#"{"a": 1, "a": 2}"#, r#"{"a":2}"#),
            (r#""\ud83d\ude00""#, "\"😀\""),
            ("1e400", "Infinity"),
            ("-0", "0"),
        ] {
            assert!(same_value(a.as_bytes(), b.as_bytes()), "{a} {b}");
            assert_eq!(normal_form(a.as_bytes()), normal_form(b.as_bytes()));
        }
        for (a, b) in [
            ("18446744073709551616", "18446744073709551617"),
            (r#"{"a":1}"#, r#"{"a":1,"b":null}"#),
            (r#""\ud83d""#, "\"\u{fffd}\""),
            // Lone surrogates are characters of a name too.
            (r#"{"\ud800":1,"\ud801":2}"#, r#"{"\ud801":2}"#),
            (r#"{"\ud800":1}"#, r#"{"\ud801":1}"#),
            (r#"{"\ud800":1}"#, "{\"\u{fffd}\":1}"),
            ("[1,2]", "[2,1]"),
            ("true", "1"),
            ("9007199254740993", "9007199254740993.0"),
        ] {
            assert!(!same_value(a.as_bytes(), b.as_bytes()), "{a} {b}");
            assert_ne!(normal_form(a.as_bytes()), normal_form(b.as_bytes()));
        }
    }
}
