//! `JSON.stringify(JSON.parse(text))`, exactly or as far as it matters.
//!
//! Messages are compared by what they mean, so most of them are printed as they
//! stand in the source: escapes, the order of keys and keys that stand twice
//! keep their text ([`printed`]), which costs a copy at most. What is compared or
//! shown as text is printed exactly ([`stringify`]).

use std::borrow::Cow;
use std::ops::Range;

use crate::json::{Lexeme, Value, each_number_or_space, token_end};
use crate::runtimes::wtf8;

use super::number::{number, push_number};
use super::properties::order;
use super::text::{decode_utf8, push_string};

/// The digits of numbers that [`printed`] gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbers {
    /// The ones that JavaScript prints.
    Printed,
    /// The ones of the source, unless JavaScript cannot give the number back:
    /// too large a number is `null`, and the negative zero is `0`.
    Kept,
}

/// Prints a value of UTF-8 text without the white space in it; nothing
/// is copied where it is printed as it stands.
#[must_use]
pub fn printed<'v>(value: impl Into<Value<'v>>, numbers: Numbers) -> Cow<'v, [u8]> {
    let value = value.into().text();
    let mut out = Vec::new();
    match push_changed(value, numbers, &mut out) {
        0 => Cow::Borrowed(value),
        rest => {
            out.extend_from_slice(&value[rest..]);
            Cow::Owned(out)
        }
    }
}

/// Appends what [`printed`] gives.
pub fn push_printed<'v>(value: impl Into<Value<'v>>, numbers: Numbers, out: &mut Vec<u8>) {
    let value = value.into().text();
    let rest = push_changed(value, numbers, out);
    out.extend_from_slice(&value[rest..]);
}

/// [`printed`] of a value whose strings may hold bytes that are not UTF-8.
#[must_use]
pub fn printed_raw<'v>(value: impl Into<Value<'v>>, numbers: Numbers) -> Cow<'v, [u8]> {
    // In a valid value such bytes are in strings alone: replacing them moves no
    // other token.
    match decode_utf8(value.into().text()) {
        Cow::Borrowed(text) => printed(Value::trusted(text), numbers),
        Cow::Owned(text) => Cow::Owned(printed(Value::trusted(&text), numbers).into_owned()),
    }
}

/// Appends what [`printed_raw`] gives.
pub fn push_printed_raw<'v>(value: impl Into<Value<'v>>, numbers: Numbers, out: &mut Vec<u8>) {
    push_printed(Value::trusted(&decode_utf8(value.into().text())), numbers, out);
}

/// Prints a value up to the end of the last token that is printed otherwise than
/// it stands, and returns where that token ends. Long stretches that stay are
/// copied in one piece.
fn push_changed(value: &[u8], numbers: Numbers, out: &mut Vec<u8>) -> usize {
    let mut copied = 0;
    each_number_or_space(value, |lexeme, Range { start, end }| {
        let instead = match lexeme {
            Lexeme::WhiteSpace => Some(Instead::Nothing),
            Lexeme::Number => number_instead(&value[start..end], numbers),
        };
        if let Some(instead) = instead {
            out.extend_from_slice(&value[copied..start]);
            copied = end;
            match instead {
                Instead::Nothing => {}
                Instead::Double(number) => push_number(number, out),
            }
        }
    });
    copied
}

/// What is printed in the place of a token.
enum Instead {
    Nothing,
    Double(f64),
}

/// Returns the double to print in the place of a number token; nothing where the token
/// stays as it is.
fn number_instead(token: &[u8], numbers: Numbers) -> Option<Instead> {
    if is_short_integer(token) || is_short_decimal(token) {
        return None;
    }
    let double = number(token);
    let stays = match numbers {
        Numbers::Kept => double.is_finite() && (double != 0.0 || token[0] != b'-'),
        Numbers::Printed => double.is_finite() && ryu_js::Buffer::new().format_finite(double).as_bytes() == token,
    };
    (!stays).then_some(Instead::Double(double))
}

/// No double needs more digits than these to be told from its neighbours, and
/// every number of so many digits comes back from a double unchanged.
const EXACT_DIGITS: usize = 15;

/// Tells whether a token is an integer that is surely printed as it stands.
fn is_short_integer(token: &[u8]) -> bool {
    token.len() <= EXACT_DIGITS && token != b"-0" && token.iter().skip(1).all(u8::is_ascii_digit) && (token[0] != b'-' || token.len() > 1)
}

/// Tells whether a token with a point is surely printed as it stands: few digits, no
/// zero at the end, and not so small that it gets an exponent.
fn is_short_decimal(token: &[u8]) -> bool {
    let size = token.strip_prefix(b"-").unwrap_or(token);
    let Some(point) = size.iter().position(|b| *b == b'.') else { return false };
    let (whole, fraction) = (&size[..point], &size[point + 1..]);
    let is_plain = whole.iter().chain(fraction).all(u8::is_ascii_digit) && matches!(fraction.last(), Some(b'1'..=b'9'));
    match whole {
        _ if !is_plain => false,
        b"0" => fraction.len() <= EXACT_DIGITS && fraction.iter().take_while(|b| **b == b'0').count() < 6,
        [b'1'..=b'9', ..] => whole.len() + fraction.len() <= EXACT_DIGITS,
        _ => false,
    }
}

/// `JSON.stringify(JSON.parse(text))` of a value: escapes, numbers, the
/// order of properties and repeated keys as the engine prints them.
#[must_use]
pub fn stringify<'v>(value: impl Into<Value<'v>>) -> Vec<u8> {
    let value = value.into().text();
    let mut out = Vec::with_capacity(value.len());
    let mut open: Vec<Open> = Vec::new();
    let mut at = 0;
    while let Some(&byte) = value.get(at) {
        let mut end = at + 1;
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => {}
            b'"' => {
                end = token_end(value, at).max(end);
                let start = out.len();
                push_string(&wtf8::decode(&value[at..end]), &mut out);
                let name = start..out.len();
                if let Some(Open { is_at_key: is_at_key @ true, members, .. }) = open.last_mut() {
                    *is_at_key = false;
                    members.push(Printed { name, end: 0 });
                }
            }
            b'-' | b'0'..=b'9' => {
                let digits = value[at..].iter().take_while(|b| matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'));
                end = at + digits.count();
                push_number(number(&value[at..end]), &mut out);
            }
            b'{' | b'[' => {
                out.push(byte);
                open.push(Open { start: out.len(), is_at_key: byte == b'{', members: Vec::new() });
            }
            b'}' | b']' => {
                if let Some(object) = open.pop() {
                    object.close(&mut out, open.len());
                }
                out.push(byte);
            }
            b',' => {
                if let Some(object) = open.last_mut() {
                    object.end_member(out.len());
                }
                out.push(byte);
            }
            other => out.push(other),
        }
        at = end;
    }
    out
}

/// An object or array that is being printed.
struct Open {
    /// Where its content starts in the output.
    start: usize,
    is_at_key: bool,
    members: Vec<Printed>,
}

/// A member in the output.
struct Printed {
    name: Range<usize>,
    end: usize,
}

impl Open {
    fn end_member(&mut self, end: usize) {
        if let Some(last) = self.members.last_mut() {
            last.end = end;
            self.is_at_key = true;
        }
    }

    /// Moves the printed members into the engine's order.
    fn close(mut self, out: &mut Vec<u8>, depth: usize) {
        /// An engine's stack overflows before this, and moving members on every
        /// level of a deep value would take time that grows with the square.
        const DEEPEST: usize = 5_000;
        self.end_member(out.len());
        // Equal names are printed alike, so the printed ones can be compared.
        let names: Vec<&[u8]> = self.members.iter().map(|member| &out[member.name.start + 1..member.name.end - 1]).collect();
        let Some(order) = order(&names).filter(|_| depth < DEEPEST) else { return };
        let mut content = Vec::with_capacity(out.len() - self.start);
        for member in order.into_iter().filter_map(|at| self.members.get(at)) {
            if !content.is_empty() {
                content.push(b',');
            }
            content.extend_from_slice(&out[member.name.start..member.end]);
        }
        out.truncate(self.start);
        out.extend_from_slice(&content);
    }
}
