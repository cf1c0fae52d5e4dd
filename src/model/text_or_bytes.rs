//! Bytes in JSON: as text where they are UTF-8, else in base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Returns bytes as text where they are UTF-8, else as base64: `(text, b64)`.
#[must_use]
pub fn text_or_b64(bytes: &[u8]) -> (Option<String>, Option<String>) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (Some(text.to_owned()), None),
        Err(_) => (None, Some(STANDARD.encode(bytes))),
    }
}

/// Returns the inverse of [`text_or_b64`]; `None` where neither or bad base64 is given.
#[must_use]
pub fn bytes_of(text: Option<&str>, b64: Option<&str>) -> Option<Vec<u8>> {
    match (text, b64) {
        (Some(text), None) => Some(text.as_bytes().to_vec()),
        (None, Some(b64)) => STANDARD.decode(b64).ok(),
        _ => None,
    }
}
