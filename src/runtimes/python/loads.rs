//! `json.loads`: which texts it accepts, and which of its three kinds of failure
//! comes first. The kind matters, because programs catch some kinds and not
//! others.

use crate::json::{self, Dialect, Member, ScanError, Value};

/// CPython refuses to convert integers with more digits than this.
pub const LONGEST_INTEGER: usize = 4300;

/// What `json.loads` raises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// `JSONDecodeError`: the text is not JSON.
    Syntax(ScanError),
    /// A bare `ValueError`: an integer has too many digits.
    LongInteger,
    /// `RecursionError`: the nesting is too deep.
    TooDeep,
}

/// Checks a text as `json.loads` does, where nesting `too_deep` containers
/// exhausts the interpreter's stack. Gives the value, and puts the
/// members of an object into `members`; for all other values that is empty.
///
/// # Errors
/// The failure that `json.loads` meets first.
pub fn loads<'a>(text: &'a [u8], too_deep: usize, members: &mut Vec<Member<'a>>) -> Result<Value<'a>, Failure> {
    members.clear();
    let value = without_white_space(text);
    let scanned = match value.first() {
        Some(b'{') => json::validate_object(value, Dialect::Python, members),
        _ => json::validate(value, Dialect::Python),
    };
    let failure = match scanned {
        Ok(scan) if scan.facts.depth < too_deep && scan.facts.longest_integer <= LONGEST_INTEGER => return Ok(scan.value),
        Ok(_) => first_limit(value, too_deep),
        Err(error) => {
            let before = value.get(..error.at).unwrap_or(value);
            first_limit(before, too_deep).or(Some(Failure::Syntax(error)))
        }
    };
    members.clear();
    Err(failure.unwrap_or(Failure::TooDeep))
}

/// [`loads`] where nobody needs the members.
///
/// # Errors
/// The failure that `json.loads` meets first.
pub fn check(text: &[u8], too_deep: usize) -> Result<Value<'_>, Failure> {
    loads(text, too_deep, &mut Vec::new())
}

fn is_white_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Returns the text without the white space that JSON allows around a value.
fn without_white_space(text: &[u8]) -> &[u8] {
    let start = text.iter().position(|b| !is_white_space(*b)).unwrap_or(text.len());
    let end = text.iter().rposition(|b| !is_white_space(*b)).map_or(start, |last| last + 1);
    text.get(start..end).unwrap_or_default()
}

/// Returns the first limit that a text exceeds, if the text is valid as far as it goes.
fn first_limit(text: &[u8], too_deep: usize) -> Option<Failure> {
    let (mut depth, mut at) = (0_usize, 0);
    while let Some(byte) = text.get(at) {
        at = match byte {
            b'"' => json::token_end(text, at).max(at + 1),
            b'{' | b'[' => {
                depth += 1;
                if depth >= too_deep {
                    return Some(Failure::TooDeep);
                }
                at + 1
            }
            b'}' | b']' => {
                depth = depth.saturating_sub(1);
                at + 1
            }
            b'0'..=b'9' => {
                let (end, digits) = number_end(text, at);
                if digits > LONGEST_INTEGER {
                    return Some(Failure::LongInteger);
                }
                end
            }
            _ => at + 1,
        };
    }
    None
}

/// Returns where the number that starts here ends, and how many digits it has if it is
/// an integer. A point or an exponent without digits is not part of a number.
fn number_end(text: &[u8], start: usize) -> (usize, usize) {
    let digits = |from: usize| text.get(from..).unwrap_or_default().iter().take_while(|b| b.is_ascii_digit()).count();
    let whole = digits(start);
    let mut end = start + whole;
    if text.get(end) == Some(&b'.') && digits(end + 1) > 0 {
        end += 1 + digits(end + 1);
    }
    if let Some(b'e' | b'E') = text.get(end) {
        let sign = usize::from(matches!(text.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + sign);
        end += if exponent > 0 { 1 + sign + exponent } else { 0 };
    }
    (end, if end == start + whole { whole } else { 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failure(text: &str) -> Option<&'static str> {
        check(text.as_bytes(), 4).err().map(|failure| match failure {
            Failure::Syntax(_) => "syntax",
            Failure::LongInteger => "integer",
            Failure::TooDeep => "depth",
        })
    }

    #[test]
    fn of_several_failures_the_first_counts() {
        let long = "1".repeat(4301);
        for (text, expected) in [
            ("[[[[".to_owned(), "depth"),
            ("{\"a\":[{\"b\":[x".to_owned(), "depth"),
            ("[[[x[".to_owned(), "syntax"),
            ("[\"[[[[".to_owned(), "syntax"),
            (format!("[-{long}, [[["), "integer"),
            (format!("[[[[{long}"), "depth"),
            (format!("[{long}, [[[1]]]]"), "integer"),
            (format!("[[[[1]]],{long}]"), "depth"),
            (format!("[{long}x"), "integer"),
            (format!("{long}."), "integer"),
            (format!("{long}e+"), "integer"),
            (format!("[x{long}"), "syntax"),
        ] {
            assert_eq!(failure(&text), Some(expected), "{text:.20}");
        }
        assert_eq!((failure(&"1".repeat(4300)), failure(&format!("{long}.0")), failure(&format!("\"{long}\""))), (None, None, None));
    }

    #[test]
    fn members_are_those_of_an_object_that_was_accepted() {
        let mut members = Vec::new();
        assert_eq!(loads(b" {\"a\":1, \"a\" : {\"b\":[]}}\n", 4, &mut members).map(|value| value.text().len()), Ok(23));
        assert_eq!(members.iter().map(|member| member.value().text()).collect::<Vec<_>>(), [&b"1"[..], b"{\"b\":[]}"]);
        assert_eq!(loads(b"[1]", 4, &mut members).map(Value::text), Ok(&b"[1]"[..]));
        assert!(members.is_empty());
        assert!(loads(b"{\"a\":1}x", 4, &mut members).is_err() && members.is_empty());
    }

    #[test]
    fn a_million_levels_need_no_stack() {
        let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
        assert_eq!(check(deep.as_bytes(), usize::MAX).map(|deep| deep.elements().count()), Ok(1));
        assert_eq!(check(deep.as_bytes(), 995), Err(Failure::TooDeep));
    }
}
