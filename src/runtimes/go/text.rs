//! A string of a JSON text, decoded only when it is asked what it says.

use std::borrow::Cow;

use crate::json::byte_set::ByteSet;
use crate::runtimes::wtf8;

use super::marshal::{Marshal, is_marshal_escape, push_string};
use super::strings::{is_white_space, to_utf8};

/// A string field: the token that it was read from.
///
/// Most strings are written again as they were read, so that their characters
/// need not be known.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a> {
    /// With its quotes.
    token: &'a [u8],
    escapes: TokenEscapes,
}

/// What is known of the escapes in a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenEscapes {
    Unknown,
    /// `json.Marshal` writes all of them the same way.
    Marshalled,
    /// It writes some of them in another way.
    Other,
}

impl Default for Text<'_> {
    fn default() -> Self {
        Text { token: b"\"\"", escapes: TokenEscapes::Marshalled }
    }
}

impl<'a> Text<'a> {
    /// Returns the string of a validated token, quotes included.
    #[must_use]
    pub fn of_token(token: &'a [u8]) -> Text<'a> {
        Text { token, escapes: TokenEscapes::Unknown }
    }

    pub(super) fn with_escapes(token: &'a [u8], escapes: TokenEscapes) -> Text<'a> {
        Text { token, escapes }
    }

    /// Returns the token as it stands in the source, quotes included.
    #[must_use]
    pub fn token(&self) -> &'a [u8] {
        self.token
    }

    fn inner(&self) -> &'a [u8] {
        self.token.get(1..self.token.len().saturating_sub(1)).unwrap_or_default()
    }

    /// Tells whether it has no characters.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.token.len() <= 2
    }

    /// Returns the characters. A byte that is not UTF-8 and half a surrogate pair become
    /// U+FFFD, each by itself.
    #[must_use]
    pub fn decoded(&self) -> Cow<'a, str> {
        let Some(first) = memchr::memchr(b'\\', self.inner()) else { return to_utf8(self.inner()) };
        let mut text = String::with_capacity(self.token.len());
        let (mut rest, mut plain) = (self.inner(), first);
        loop {
            let (before, escape) = rest.split_at(plain);
            text.push_str(&to_utf8(before));
            if escape.is_empty() {
                return Cow::Owned(text);
            }
            let (code, len) = wtf8::unescape(escape);
            text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
            rest = escape.get(len..).unwrap_or_default();
            plain = memchr::memchr(b'\\', rest).unwrap_or(rest.len());
        }
    }

    /// Returns the characters, where there are some.
    #[must_use]
    pub fn non_empty(&self) -> Option<String> {
        (!self.is_empty()).then(|| self.decoded().into_owned())
    }

    /// Tells whether it says this.
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        let is_literal = |byte: &u8| byte.is_ascii() && *byte != b'\\';
        self.inner() == text.as_bytes() || (!self.inner().iter().all(is_literal) && self.decoded() == text)
    }

    /// Tells whether `strings.TrimSpace` leaves nothing of it.
    #[must_use]
    pub fn is_blank(&self) -> bool {
        match self.inner() {
            [] => true,
            // Most texts say with their first character that they are not.
            [first, ..] if first.is_ascii_graphic() && *first != b'\\' => false,
            _ => self.decoded().chars().all(is_white_space),
        }
    }

    /// Tells whether `json.Marshal` writes it as it stands in the source.
    fn is_marshalled(&self) -> bool {
        const CLOSER_LOOK: ByteSet<3> = ByteSet::of([b'<', b'>', b'&']).and_non_ascii();
        let inner = self.inner();
        let has_own_escapes = match self.escapes {
            TokenEscapes::Marshalled => true,
            TokenEscapes::Other => false,
            TokenEscapes::Unknown => has_marshal_escapes_only(inner),
        };
        has_own_escapes && (!CLOSER_LOOK.is_in(inner) || is_marshalled_raw(inner))
    }

    /// Appends it as `json.Marshal` writes it.
    pub fn push(&self, out: &mut Vec<u8>) {
        if self.is_marshalled() {
            out.extend_from_slice(self.token);
        } else {
            push_string(&self.decoded(), out);
        }
    }
}

impl Marshal for Text<'_> {
    fn marshal(&self, out: &mut Vec<u8>) {
        self.push(out);
    }

    fn is_empty(&self) -> bool {
        Text::is_empty(self)
    }
}

fn has_marshal_escapes_only(inner: &[u8]) -> bool {
    const ESCAPES: ByteSet<1> = ByteSet::of([b'\\']);
    let first_other = ESCAPES.walk(inner, 0, |at| match inner.get(at + 1)? {
        b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 2),
        b'u' if is_marshal_escape(&inner[at..]) => Some(at + 6),
        _ => None,
    });
    first_other >= inner.len()
}

/// Tells whether all that is not escaped may stand so: it is UTF-8, and holds nothing
/// that `json.Marshal` escapes.
fn is_marshalled_raw(inner: &[u8]) -> bool {
    let is_separator = |at: usize| matches!(inner.get(at + 1..at + 3), Some([0x80, 0xa8 | 0xa9]));
    memchr::memchr3(b'<', b'>', b'&', inner).is_none()
        && std::str::from_utf8(inner).is_ok()
        && !memchr::memchr_iter(0xe2, inner).any(is_separator)
}
