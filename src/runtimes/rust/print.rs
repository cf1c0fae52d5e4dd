//! How serde_json prints.

use crate::json::Value;

/// Returns what `serde_json::to_string` prints of a value that [`parse`]
/// accepted: without white space, keys in order and each once with its last
/// value, numbers in the shortest form of their type.
///
/// [`parse`]: super::parse
#[must_use]
pub fn printed(value: Value<'_>) -> Vec<u8> {
    let parsed: serde_json::Result<serde_json::Value> = serde_json::from_slice(value.text());
    // A value that was not accepted keeps its text.
    parsed.map_or_else(|_| value.text().to_vec(), |parsed| parsed.to_string().into_bytes())
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
