//! Equality of JSON values as a source program sees it: escapes, white space
//! and key order do not count, the last of equal keys wins.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::accepted::{elements, members};
use super::escape::{decode_string, lossy, push_string};
use super::tokens::{Kind, kind_of};

/// Deeper than any loader we follow goes; below it only equal text is equal.
const DEEPEST: usize = 1200;

/// Whether two string tokens hold the same characters.
#[must_use]
pub fn same_string(a: &[u8], b: &[u8]) -> bool {
    a == b || units(a) == units(b)
}

/// A token's UTF-16 units, because a lone surrogate is a character too.
fn units(token: &[u8]) -> Vec<u16> {
    let inner = token.get(1..token.len().saturating_sub(1)).unwrap_or_default();
    let mut units = Vec::with_capacity(inner.len());
    let mut rest = inner;
    loop {
        let plain = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
        units.extend(lossy(&rest[..plain]).encode_utf16());
        rest = &rest[plain..];
        let taken = match rest.get(1) {
            None => return units,
            Some(b'u') => {
                let digits = rest.get(2..6).and_then(|d| std::str::from_utf8(d).ok());
                units.extend(digits.and_then(|d| u16::from_str_radix(d, 16).ok()));
                6
            }
            Some(b'n') => unit(&mut units, 10),
            Some(b'r') => unit(&mut units, 13),
            Some(b't') => unit(&mut units, 9),
            Some(b'b') => unit(&mut units, 8),
            Some(b'f') => unit(&mut units, 12),
            Some(&other) => unit(&mut units, u16::from(other)),
        };
        rest = rest.get(taken..).unwrap_or_default();
    }
}

fn unit(units: &mut Vec<u16>, code: u16) -> usize {
    units.push(code);
    2
}

/// Whether two accepted values are equal.
#[must_use]
pub fn same_value(a: &[u8], b: &[u8]) -> bool {
    same_at_depth(a, b, 0)
}

fn same_at_depth(a: &[u8], b: &[u8], depth: usize) -> bool {
    if a == b {
        return true;
    }
    let kind = kind_of(a);
    if kind != kind_of(b) || depth > DEEPEST {
        return false;
    }
    match kind {
        Kind::String => same_string(a, b),
        Kind::Number => same_number(a, b),
        Kind::True | Kind::False | Kind::Null => true,
        Kind::Array => {
            let (mut left, mut right) = (elements(a), elements(b));
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
            left.len() == right.len() && left.iter().all(|(name, x)| right.get(name).is_some_and(|y| same_at_depth(x, y, depth + 1)))
        }
    }
}

/// A text that two accepted values share when, and only when, they are equal.
#[must_use]
pub fn normal_form(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.len());
    push_normal(value, 0, &mut out);
    out
}

fn push_normal(value: &[u8], depth: usize, out: &mut Vec<u8>) {
    let kind = kind_of(value);
    if depth > DEEPEST {
        return out.extend_from_slice(value);
    }
    match kind {
        Kind::String => push_normal_string(value, out),
        Kind::Number => push_normal_number(value, out),
        Kind::True | Kind::False | Kind::Null => out.extend_from_slice(value),
        Kind::Array => {
            out.push(b'[');
            for element in elements(value) {
                push_normal(element, depth + 1, out);
                out.push(b',');
            }
            out.push(b']');
        }
        Kind::Object => {
            out.push(b'{');
            for (name, value) in by_name(value) {
                push_string(&name, out);
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
        // A lone surrogate stands in no UTF-8 text: the units are told instead.
        Err(_) => out.extend_from_slice(format!("{:x?}", units(token)).as_bytes()),
    }
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

fn by_name(object: &[u8]) -> BTreeMap<Cow<'_, str>, &[u8]> {
    members(object).map(|member| (member.name(), member.value)).collect()
}

/// Integers have no limit in Python, and are compared with others exactly.
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
    use super::*;

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
            ("[1,2]", "[2,1]"),
            ("true", "1"),
            ("9007199254740993", "9007199254740993.0"),
        ] {
            assert!(!same_value(a.as_bytes(), b.as_bytes()), "{a} {b}");
            assert_ne!(normal_form(a.as_bytes()), normal_form(b.as_bytes()));
        }
    }
}
