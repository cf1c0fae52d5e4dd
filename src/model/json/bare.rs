//! What stands outside of strings in a value that was accepted before, and is no
//! punctuation and no word: numbers, and the blanks that nobody needs. Who prints
//! a value anew copies all else.

use std::ops::Range;

use crate::model::stops::{STRETCH, Stops};

use super::ends::{Strings, each_stretch};

/// What such a stretch of text is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bare {
    /// A number.
    Number,
    /// One or more blanks.
    Blanks,
}

/// Hands on every number, and every run of blanks, in order.
#[inline]
pub fn each_bare(value: &[u8], mut hand_on: impl FnMut(Bare, Range<usize>)) {
    // Digits, signs, points and blanks; of punctuation commas.
    const LOW: Stops<0> = Stops::at([]).and_below(b'9' + 1);
    const COMMAS: Stops<1> = Stops::at([b',']);
    let mut strings = Strings::default();
    let (mut at, mut behind) = (0_usize, 0_usize);
    each_stretch(value, 0, |stretch| {
        let from = at;
        at += STRETCH;
        // What began before goes on in here, or even farther.
        let known = u64::MAX.checked_shl(u32::try_from(behind.saturating_sub(from)).unwrap_or(u32::MAX)).unwrap_or(0);
        let mut marks = strings.outside(stretch)? & LOW.marks_of(stretch) & !COMMAS.marks_of(stretch) & known;
        while marks != 0 {
            let start = from + marks.trailing_zeros() as usize;
            let (bare, end) = bare_at(value, start)?;
            if let Some(bare) = bare {
                hand_on(bare, start..end);
            }
            behind = end;
            marks &= u64::MAX.checked_shl(u32::try_from(end - from).unwrap_or(u32::MAX)).unwrap_or(0);
        }
        None
    });
}

/// What stands here, if it is either, and where it ends; nothing behind the text.
#[inline(always)]
fn bare_at(value: &[u8], start: usize) -> Option<(Option<Bare>, usize)> {
    let is_blank = |byte: u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    let is_of_number = |byte: u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    let run = |is_of_it: fn(u8) -> bool| start + value[start..].iter().take_while(|byte| is_of_it(**byte)).count();
    Some(match *value.get(start)? {
        byte if is_blank(byte) => (Some(Bare::Blanks), run(is_blank)),
        b'-' | b'0'..=b'9' => (Some(Bare::Number), run(is_of_number)),
        _ => (None, start + 1),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::json::token_end;

    fn found(value: &[u8]) -> Vec<(Bare, Range<usize>)> {
        let mut all = Vec::new();
        each_bare(value, |bare, span| all.push((bare, span)));
        all
    }

    /// The same byte by byte.
    fn slowly(value: &[u8]) -> Vec<(Bare, Range<usize>)> {
        let (mut all, mut at) = (Vec::new(), 0);
        while let Some(byte) = value.get(at) {
            let run = |set: &[u8]| at + value[at..].iter().take_while(|byte| set.contains(byte)).count();
            at = match byte {
                b'"' => token_end(value, at),
                b'-' | b'0'..=b'9' => {
                    let end = run(b"0123456789+-.eE");
                    all.push((Bare::Number, at..end));
                    end
                }
                b' ' | b'\t' | b'\n' | b'\r' => {
                    let end = run(b" \t\n\r");
                    all.push((Bare::Blanks, at..end));
                    end
                }
                _ => at + 1,
            };
        }
        all
    }

    #[test]
    fn numbers_and_blanks_are_found_outside_of_strings_alone() {
        let text = br#"{"a 1":[-1.5e+3,"2 \" 3",true],"b": [ ],"c":0}"#;
        let spans: Vec<_> = found(text).into_iter().map(|(bare, span)| (bare, text[span].escape_ascii().to_string())).collect();
        let number = |text: &str| (Bare::Number, text.to_owned());
        let blanks = (Bare::Blanks, " ".to_owned());
        assert_eq!(spans, [number("-1.5e+3"), blanks.clone(), blanks, number("0")]);
        assert_eq!(found(b""), []);
    }

    #[test]
    fn stretches_tell_what_single_bytes_tell() {
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
