//! Bytes that a message has in base64.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// What to do with bytes that a message carries.
pub(super) enum Carried {
    /// A picture, which is not looked into.
    Picture,
    /// A text.
    Text(String),
    /// Anything else, in which a secret could be hidden.
    Unknown,
}

/// The beginnings of pictures that are made of points. A drawing is a text.
const PICTURES: [&[u8]; 7] = [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF87a", b"GIF89a", b"BM", b"II*\0", b"MM\0*"];

/// Returns what a text in base64 holds; `None` where it is not base64.
pub(super) fn carried(text: &str) -> Option<Carried> {
    let bytes = STANDARD.decode(text).ok()?;
    let is_webp = bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP");
    Some(if is_webp || PICTURES.iter().any(|start| bytes.starts_with(start)) {
        Carried::Picture
    } else {
        String::from_utf8(bytes).map_or(Carried::Unknown, Carried::Text)
    })
}

/// Returns the base64 of a text.
pub(super) fn encoded(text: &str) -> String {
    STANDARD.encode(text)
}
