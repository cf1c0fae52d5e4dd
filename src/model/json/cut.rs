//! Whether a text was cut off: so far a JSON value, and not all of one.

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Value,
    /// A value, or the end of the list that has just begun.
    First,
    /// A key, or the end of the object that has just begun.
    FirstKey,
    Key,
    Colon,
    /// A comma, or the end of what is open.
    More,
    Nothing,
}

/// Where a token ends, if it does.
enum Token {
    Ends(usize),
    Cut,
    Wrong,
}

/// Whether a text could go on to be one JSON value, and is none yet. A text that
/// is wrong somewhere, or whole, is not cut off; nor is one that is nested more
/// than `deepest` deep.
#[must_use]
pub fn is_cut_off(text: &[u8], deepest: usize) -> bool {
    let mut open: Vec<u8> = Vec::new();
    let mut next = Next::Value;
    let mut at = 0;
    while let Some(&byte) = text.get(at) {
        if matches!(byte, b' ' | b'\t' | b'\n' | b'\r') {
            at += 1;
            continue;
        }
        let is_value = matches!(next, Next::Value | Next::First);
        let behind = if open.is_empty() { Next::Nothing } else { Next::More };
        let token = match byte {
            b'"' if is_value || matches!(next, Next::FirstKey | Next::Key) => string(text, at),
            b'{' | b'[' if is_value && open.len() < deepest => {
                open.push(byte);
                next = if byte == b'{' { Next::FirstKey } else { Next::First };
                at += 1;
                continue;
            }
            b'}' | b']' => {
                let fits = open.pop() == Some(if byte == b'}' { b'{' } else { b'[' });
                let may_end = match next {
                    Next::More => true,
                    Next::First => byte == b']',
                    Next::FirstKey => byte == b'}',
                    Next::Value | Next::Key | Next::Colon | Next::Nothing => false,
                };
                if !fits || !may_end {
                    return false;
                }
                next = if open.is_empty() { Next::Nothing } else { Next::More };
                at += 1;
                continue;
            }
            b',' if next == Next::More => {
                next = if open.last() == Some(&b'{') { Next::Key } else { Next::Value };
                at += 1;
                continue;
            }
            b':' if next == Next::Colon => {
                next = Next::Value;
                at += 1;
                continue;
            }
            b't' if is_value => word(text, at, b"true"),
            b'f' if is_value => word(text, at, b"false"),
            b'n' if is_value => word(text, at, b"null"),
            b'-' | b'0'..=b'9' if is_value => number(text, at),
            _ => Token::Wrong,
        };
        match token {
            Token::Ends(end) => {
                next = if is_value { behind } else { Next::Colon };
                at = end;
            }
            Token::Cut => return true,
            Token::Wrong => return false,
        }
    }
    next != Next::Nothing
}

fn word(text: &[u8], at: usize, word: &[u8]) -> Token {
    let rest = &text[at..];
    if rest.starts_with(word) {
        return Token::Ends(at + word.len());
    }
    if word.starts_with(rest) { Token::Cut } else { Token::Wrong }
}

fn string(text: &[u8], at: usize) -> Token {
    let mut at = at + 1;
    while let Some(&byte) = text.get(at) {
        match byte {
            b'"' => return Token::Ends(at + 1),
            0..=0x1f => return Token::Wrong,
            b'\\' => match text.get(at + 1) {
                None => return Token::Cut,
                Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => at += 2,
                Some(b'u') => {
                    let digits = text.get(at + 2..(at + 6).min(text.len())).unwrap_or_default();
                    if !digits.iter().all(u8::is_ascii_hexdigit) {
                        return Token::Wrong;
                    }
                    if digits.len() < 4 {
                        return Token::Cut;
                    }
                    at += 6;
                }
                Some(_) => return Token::Wrong,
            },
            _ => at += 1,
        }
    }
    Token::Cut
}

fn number(text: &[u8], at: usize) -> Token {
    let digits = |from: usize| from + text[from.min(text.len())..].iter().take_while(|b| b.is_ascii_digit()).count();
    let missing = |at: usize| if at >= text.len() { Token::Cut } else { Token::Wrong };
    let start = if text[at] == b'-' { at + 1 } else { at };
    // A zero in front stands alone.
    let mut end = if text.get(start) == Some(&b'0') { start + 1 } else { digits(start) };
    if end == start {
        return missing(end);
    }
    if text.get(end) == Some(&b'.') {
        let from = end + 1;
        end = digits(from);
        if end == from {
            return missing(end);
        }
    }
    if matches!(text.get(end), Some(b'e' | b'E')) {
        let from = if matches!(text.get(end + 1), Some(b'+' | b'-')) { end + 2 } else { end + 1 };
        end = digits(from);
        if end == from {
            return missing(end);
        }
    }
    Token::Ends(end)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::json::{Dialect, scan_value};

    #[test]
    fn every_beginning_of_a_value_is_cut_off_and_the_value_is_not() {
        let whole = br#" {"a": [1, -0.5e+10, true, null, "x\u00e9\\\n"], "b": {"c": {}, "d": []}} "#;
        let last = whole.len() - 1;
        for end in 0..last {
            assert!(is_cut_off(&whole[..end], 10), "{end}");
        }
        assert!(!is_cut_off(&whole[..last], 10) && !is_cut_off(whole, 10));
        assert!(scan_value(whole, Dialect::Strict).is_ok());
        assert!(is_cut_off(b"", 10) && is_cut_off(b"[[", 2) && !is_cut_off(b"[[", 1));
    }

    #[test]
    fn what_is_wrong_is_not_cut_off() {
        for wrong in [
            "{,",
            "{\"a\" 1",
            "[1,]",
            "[[1,]",
            "[{\"a\"}",
            "[{\"a\":}",
            "[{\"a\":1,}",
            "[01",
            "{\"a\":tru ",
            "\"\n",
            "\"\\x",
            "\"\\u12x",
            "{} {",
            "]",
            "[}",
            "{\"a\",",
            "1.x",
            "-a",
            "nulx",
            "1 2",
        ] {
            assert!(!is_cut_off(wrong.as_bytes(), 10), "{wrong}");
        }
    }
}
