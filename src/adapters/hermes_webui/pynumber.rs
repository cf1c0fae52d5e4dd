//! What Python's `int(value or 0)` and `float(value or 0)` make of values that
//! need not be numbers.

use crate::model::digits::ascii_digit;
use crate::model::json::{self, Kind};

use super::message::is_true;
use super::pytext;
use super::turns::LONGEST_INTEGER;

/// A time as `float` has it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Seconds {
    Known(f64),
    /// `TypeError` or `ValueError`, which the program knows to expect.
    NoNumber,
    /// `OverflowError`, which it does not: an integer beyond every double.
    TooLarge,
}

impl Seconds {
    pub(super) fn known(self) -> Option<f64> {
        if let Seconds::Known(seconds) = self { Some(seconds) } else { None }
    }
}

/// `float(value or 0)`.
pub(super) fn seconds(value: Option<&[u8]>) -> Seconds {
    let Some(value) = value.filter(|value| is_true(Some(value))) else { return Seconds::Known(0.0) };
    let text = String::from_utf8_lossy(value);
    let number = match json::kind_of(value) {
        Kind::Number => text.parse().ok(),
        Kind::True => Some(1.0),
        Kind::String => in_ascii(value).and_then(|text| text.parse().ok()),
        Kind::False | Kind::Null | Kind::Object | Kind::Array => None,
    };
    let is_whole = json::kind_of(value) == Kind::Number && is_whole(&text);
    match number {
        Some(number) if is_whole && f64::is_infinite(number) => Seconds::TooLarge,
        Some(number) => Seconds::Known(number),
        None => Seconds::NoNumber,
    }
}

/// `int(value or 0)`, in decimal; `None` where it raises.
pub(super) fn integer(value: Option<&[u8]>) -> Option<String> {
    let Some(value) = value.filter(|value| is_true(Some(value))) else { return Some("0".to_owned()) };
    let text = match json::kind_of(value) {
        Kind::Number => String::from_utf8_lossy(value).into_owned(),
        Kind::True => "1".to_owned(),
        Kind::String => {
            in_ascii(value).filter(|text| is_whole(text.strip_prefix('+').filter(|rest| !rest.starts_with('-')).unwrap_or(text)))?
        }
        Kind::False | Kind::Null | Kind::Object | Kind::Array => return None,
    };
    if json::kind_of(value) == Kind::Number && !is_whole(&text) {
        let number: f64 = text.parse().ok().filter(|number: &f64| number.is_finite())?;
        return Some(format!("{:.0}", number.trunc() + 0.0));
    }
    let (sign, digits) = text.strip_prefix('-').map_or(("", text.trim_start_matches('+')), |digits| ("-", digits));
    let short = digits.trim_start_matches('0');
    match (digits.len(), short) {
        (0, _) => None,
        (len, _) if len > LONGEST_INTEGER => None,
        (_, "") => Some("0".to_owned()),
        (_, digits) => Some(format!("{sign}{digits}")),
    }
}

fn is_whole(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

/// The number in a string as ASCII: digits of any script, blanks around it,
/// and single underscores between digits.
fn in_ascii(string: &[u8]) -> Option<String> {
    let mut text = String::new();
    for decoded in char::decode_utf16(pytext::units(string)) {
        let c = decoded.ok()?;
        text.push(match c {
            _ if c.is_ascii() => c,
            _ if c.is_whitespace() => ' ',
            _ => ascii_digit(c)?,
        });
    }
    let text = text.trim_matches(|c: char| c == ' ' || ('\t'..='\r').contains(&c));
    let parts: Vec<&str> = text.split('_').collect();
    let joins = |pair: &[&str]| pair[0].ends_with(|c: char| c.is_ascii_digit()) && pair[1].starts_with(|c: char| c.is_ascii_digit());
    parts.windows(2).all(joins).then(|| parts.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each as CPython 3.11.7 answered.
    #[test]
    fn texts_become_numbers_where_python_makes_them() {
        for (text, whole, float) in [
            ("1__0", None, None),
            ("_1", None, None),
            ("1_", None, None),
            ("1_0", Some("10"), Some(10.0)),
            ("१", Some("1"), Some(1.0)),
            ("１２", Some("12"), Some(12.0)),
            (" 1\u{2003}", Some("1"), Some(1.0)),
            ("\\u001c1", None, None),
            ("+1", Some("1"), Some(1.0)),
            ("- 1", None, None),
            ("+-1", None, None),
            ("0x1", None, None),
            ("1e3", None, Some(1000.0)),
            ("۱.५", None, Some(1.5)),
            ("½", None, None),
            ("\\ud800", None, None),
        ] {
            let value = format!("\"{text}\"");
            assert_eq!(integer(Some(value.as_bytes())).as_deref(), whole, "{text}");
            assert_eq!(seconds(Some(value.as_bytes())).known(), float, "{text}");
        }
    }

    #[test]
    fn what_no_double_holds_is_told_from_what_is_no_number() {
        let many = "1".repeat(400);
        assert_eq!(seconds(Some(many.as_bytes())), Seconds::TooLarge);
        assert_eq!(seconds(Some(format!("\"{many}\"").as_bytes())), Seconds::Known(f64::INFINITY));
        assert_eq!(seconds(Some(b"1e400")), Seconds::Known(f64::INFINITY));
        assert_eq!(integer(Some(format!("\"{many}\"").as_bytes())), Some(many.clone()));
        assert_eq!(integer(Some(many.as_bytes())), Some(many));
        let most = "1".repeat(4300);
        assert!(integer(Some(format!("\"{most}\"").as_bytes())).is_some());
        assert_eq!(integer(Some(format!("\"{most}1\"").as_bytes())), None);
        assert_eq!((integer(Some(b"1e400")), integer(Some(b"-0.5"))), (None, Some("0".to_owned())));
        assert_eq!((seconds(Some(b"[1]")), seconds(Some(b"[]"))), (Seconds::NoNumber, Seconds::Known(0.0)));
    }
}
