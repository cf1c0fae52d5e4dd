//! Numbers and white space outside of strings, in a value that was validated
//! before. A program that prints the value again changes these, and copies all
//! else.

use std::ops::Range;

use super::byte_set::{ByteSet, CHUNK};

use super::skip::{Strings, each_chunk};

/// What a piece of text outside of strings is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lexeme {
    /// A number.
    Number,
    /// One or more bytes of white space.
    WhiteSpace,
}

/// Hands every number, and every run of white space, to `hand_on`, in order.
#[inline]
pub fn each_number_or_space(value: &[u8], mut hand_on: impl FnMut(Lexeme, Range<usize>)) {
    // Digits, signs, points, white space and, of punctuation, commas.
    const LOW: ByteSet<0> = ByteSet::of([]).and_below(b'9' + 1);
    const COMMAS: ByteSet<1> = ByteSet::of([b',']);
    let mut strings = Strings::default();
    let (mut at, mut seen) = (0_usize, 0_usize);
    each_chunk(value, 0, |chunk| {
        let from = at;
        at += CHUNK;
        // A lexeme of the previous chunk may continue in this one, or even farther.
        let known = u64::MAX.checked_shl(u32::try_from(seen.saturating_sub(from)).unwrap_or(u32::MAX)).unwrap_or(0);
        let mut marks = strings.outside(chunk)? & LOW.marks_of(chunk) & !COMMAS.marks_of(chunk) & known;
        while marks != 0 {
            let start = from + marks.trailing_zeros() as usize;
            let (lexeme, end) = lexeme_at(value, start)?;
            if let Some(lexeme) = lexeme {
                hand_on(lexeme, start..end);
            }
            seen = end;
            marks &= u64::MAX.checked_shl(u32::try_from(end - from).unwrap_or(u32::MAX)).unwrap_or(0);
        }
        None
    });
}

/// Returns what starts here, if it is either, and where it ends; nothing after the
/// end of the text.
#[inline(always)]
fn lexeme_at(value: &[u8], start: usize) -> Option<(Option<Lexeme>, usize)> {
    let is_white_space = |byte: u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    let is_of_number = |byte: u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    let run = |is_of_it: fn(u8) -> bool| start + value[start..].iter().take_while(|byte| is_of_it(**byte)).count();
    Some(match *value.get(start)? {
        byte if is_white_space(byte) => (Some(Lexeme::WhiteSpace), run(is_white_space)),
        b'-' | b'0'..=b'9' => (Some(Lexeme::Number), run(is_of_number)),
        _ => (None, start + 1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::token_end;

    fn found(value: &[u8]) -> Vec<(Lexeme, Range<usize>)> {
        let mut all = Vec::new();
        each_number_or_space(value, |lexeme, span| all.push((lexeme, span)));
        all
    }

    /// Finds them byte by byte.
    fn slowly(value: &[u8]) -> Vec<(Lexeme, Range<usize>)> {
        let (mut all, mut at) = (Vec::new(), 0);
        while let Some(byte) = value.get(at) {
            let run = |set: &[u8]| at + value[at..].iter().take_while(|byte| set.contains(byte)).count();
            at = match byte {
                b'"' => token_end(value, at),
                b'-' | b'0'..=b'9' => {
                    let end = run(b"0123456789+-.eE");
                    all.push((Lexeme::Number, at..end));
                    end
                }
                b' ' | b'\t' | b'\n' | b'\r' => {
                    let end = run(b" \t\n\r");
                    all.push((Lexeme::WhiteSpace, at..end));
                    end
                }
                _ => at + 1,
            };
        }
        all
    }

    #[test]
    fn numbers_and_white_space_are_found_outside_of_strings_alone() {
        let text = br#"{"a 1":[-1.5e+3,"2 \" 3",true],"b": [ ],"c":0}"#;
        let spans: Vec<_> = found(text).into_iter().map(|(lexeme, span)| (lexeme, text[span].escape_ascii().to_string())).collect();
        let number = |text: &str| (Lexeme::Number, text.to_owned());
        let space = (Lexeme::WhiteSpace, " ".to_owned());
        assert_eq!(spans, [number("-1.5e+3"), space.clone(), space, number("0")]);
        assert_eq!(found(b""), []);
    }

    #[test]
    fn chunks_tell_what_single_bytes_tell() {
        let mut seed = 11_u64;
        let mut random = move |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        let tokens: [&[u8]; 12] =
            [b"1", b"-0.25e-7", b" ", b"\n  ", b",", b":", b"{", b"]", b"null", b"\"\"", b"\"4 \\\" 5\\\\\"", b"18446744073709551616"];
        for _ in 0..20_000 {
            let mut text = Vec::new();
            while text.len() < 250 {
                match random(16) {
                    12 => text.extend(std::iter::repeat_n(b'7', random(150))),
                    13 => text.extend([b"\"", &b"x 9".repeat(random(60))[..], b"\""].concat()),
                    n => text.extend_from_slice(tokens[n % tokens.len()]),
                }
            }
            text.truncate(random(text.len()));
            assert_eq!(found(&text), slowly(&text), "{}", text.escape_ascii());
        }
    }
}
