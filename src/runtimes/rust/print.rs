//! How serde_json prints.

use crate::json::{Kind, Value, unescape};

/// Returns what `serde_json::to_string` prints of a value that [`parse`] accepted:
/// without white space, each key once with its last value, numbers with the digits that
/// they were written with.
///
/// [`parse`]: super::parse
#[must_use]
pub fn printed(value: Value<'_>) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.text().len());
    push(value, &mut out);
    out
}

fn push(value: Value<'_>, out: &mut Vec<u8>) {
    match value.kind() {
        Kind::Object => {
            out.push(b'{');
            let members = value.all_members();
            let mut later = std::collections::HashSet::new();
            let mut kept: Vec<_> = members.iter().rev().filter(|member| later.insert(member.name())).collect();
            kept.reverse();
            for (at, member) in kept.into_iter().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                push_string(&unescape(member.key), out);
                out.push(b':');
                push(Value::trusted(member.value), out);
            }
            out.push(b'}');
        }
        Kind::Array => {
            out.push(b'[');
            for (at, element) in value.elements().enumerate() {
                if at > 0 {
                    out.push(b',');
                }
                push(element, out);
            }
            out.push(b']');
        }
        Kind::String => push_string(&value.to_str(), out),
        Kind::Number => push_number(value.text(), out),
        Kind::True | Kind::False | Kind::Null => out.extend_from_slice(value.text()),
    }
}

/// Appends a number: an exponent is written with `e` and its sign, and zero has no sign
/// of its own where it is an integer.
fn push_number(number: &[u8], out: &mut Vec<u8>) {
    if number == b"-0" {
        return out.push(b'0');
    }
    let mut bytes = number.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        out.push(byte.to_ascii_lowercase());
        if matches!(byte, b'e' | b'E') && bytes.peek().is_some_and(u8::is_ascii_digit) {
            out.push(b'+');
        }
    }
}

/// Appends a text as `serde_json::to_string` writes it, quotes included.
pub fn push_string(text: &str, out: &mut Vec<u8>) {
    out.push(b'"');
    let mut plain = 0;
    for (at, byte) in text.bytes().enumerate().filter(|(_, byte)| *byte < 0x20 || matches!(byte, b'"' | b'\\')) {
        out.extend_from_slice(text.as_bytes().get(plain..at).unwrap_or_default());
        plain = at + 1;
        match byte {
            b'"' | b'\\' => out.extend([b'\\', byte]),
            8 => out.extend_from_slice(b"\\b"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            12 => out.extend_from_slice(b"\\f"),
            b'\r' => out.extend_from_slice(b"\\r"),
            control => out.extend_from_slice(format!("\\u{control:04x}").as_bytes()),
        }
    }
    out.extend_from_slice(text.as_bytes().get(plain..).unwrap_or_default());
    out.push(b'"');
}
