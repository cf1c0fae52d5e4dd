//! JavaScript's view of JSON: what is blank, what is false, which ids are the
//! same, how a number is printed, when a time is.

use std::borrow::Cow;

use crate::model::json::{self, Kind};
use crate::model::time::days_in_month;

/// The text of a line as the program decodes it: what is not UTF-8 is replaced.
pub(in crate::adapters) fn decoded(text: &[u8]) -> Cow<'_, [u8]> {
    match std::str::from_utf8(text) {
        Ok(_) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(String::from_utf8_lossy(text).into_owned().into_bytes()),
    }
}

/// Whether `trim` removes this character.
pub(in crate::adapters) fn is_space(c: char) -> bool {
    matches!(c, '\u{9}'..='\u{d}' | ' ' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{2028}' | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}' | '\u{feff}')
}

/// Whether nothing is left of a text after `trim`.
pub(in crate::adapters) fn is_blank(text: &[u8]) -> bool {
    text.first().is_none_or(|b| !b.is_ascii_graphic()) && std::str::from_utf8(text).is_ok_and(|text| text.chars().all(is_space))
}

/// Whether a value counts as false.
pub(in crate::adapters) fn is_falsy(value: &[u8]) -> bool {
    match json::kind_of(value) {
        Kind::Null | Kind::False => true,
        Kind::String => value == b"\"\"",
        Kind::Number => number(value) == 0.0,
        Kind::True | Kind::Object | Kind::Array => false,
    }
}

/// A number's value.
pub(in crate::adapters) fn number(text: &[u8]) -> f64 {
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
}

/// What two ids have in common exactly when a `Map` takes them for the same;
/// nothing for objects and lists, which are only ever the same as themselves.
pub(in crate::adapters) fn map_key(value: Option<&[u8]>) -> Option<Cow<'_, [u8]>> {
    let Some(value) = value else { return Some(Cow::Borrowed(b"")) };
    match json::kind_of(value) {
        Kind::Object | Kind::Array => None,
        Kind::String if !value.contains(&b'\\') => Some(Cow::Borrowed(value)),
        Kind::String => {
            let mut key = b"\"".to_vec();
            // A lone surrogate keeps its escape, in one spelling.
            match json::decode_string(value) {
                Ok(text) => key.extend_from_slice(text.as_bytes()),
                Err(_) => key.extend(value[1..value.len() - 1].to_ascii_lowercase()),
            }
            key.push(b'"');
            Some(Cow::Owned(key))
        }
        Kind::Number => {
            let mut key = Vec::new();
            push_number(value, &mut key);
            Some(Cow::Owned(key))
        }
        Kind::True | Kind::False | Kind::Null => Some(Cow::Borrowed(value)),
    }
}

/// Which text a number is printed as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum Numbers {
    /// JavaScript's own.
    Printed,
    /// The one that it has, unless it cannot be held at all.
    Kept,
}

/// Prints a JSON value as `JSON.stringify` would after `JSON.parse`, but for
/// the order of keys and keys that stand twice.
pub(in crate::adapters) fn push_value(value: &[u8], numbers: Numbers, out: &mut Vec<u8>) {
    let mut at = 0;
    while let Some(&byte) = value.get(at) {
        match byte {
            b'"' => {
                let end = json::token_end(value, at);
                out.extend_from_slice(&value[at..end]);
                at = end;
            }
            b'-' | b'0'..=b'9' => {
                let len = value[at..].iter().take_while(|b| matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')).count();
                let text = &value[at..at + len];
                let is_held = || number(text).is_finite() && (number(text) != 0.0 || text[0] != b'-');
                if numbers == Numbers::Kept && is_held() {
                    out.extend_from_slice(text);
                } else {
                    push_number(text, out);
                }
                at += len;
            }
            b' ' | b'\t' | b'\n' | b'\r' => at += 1,
            other => {
                out.push(other);
                at += 1;
            }
        }
    }
}

/// Prints a number as JavaScript does.
fn push_number(text: &[u8], out: &mut Vec<u8>) {
    // Short integers are printed as they stand.
    if text.len() <= 15 && text != b"-0" && text.iter().skip(1).all(u8::is_ascii_digit) && (text[0] != b'-' || text.len() > 1) {
        return out.extend_from_slice(text);
    }
    let value = number(text);
    if !value.is_finite() {
        return out.extend_from_slice(b"null");
    }
    if value == 0.0 {
        return out.push(b'0');
    }
    // Rust prints the same shortest digits, with the point elsewhere.
    let shortest = format!("{:e}", value.abs());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let point = exponent + 1;
    let count = digits.len() as i32;
    if value < 0.0 {
        out.push(b'-');
    }
    let text = if (count..=21).contains(&point) {
        format!("{digits}{}", "0".repeat((point - count) as usize))
    } else if (1..=21).contains(&point) {
        format!("{}.{}", &digits[..point as usize], &digits[point as usize..])
    } else if (-5..=0).contains(&point) {
        format!("0.{}{digits}", "0".repeat(-point as usize))
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        let fraction = if digits.len() > 1 { format!(".{}", &digits[1..]) } else { String::new() };
        format!("{}{fraction}e{sign}{}", &digits[..1], exponent.abs())
    };
    out.extend_from_slice(text.as_bytes());
}

/// The milliseconds since the epoch of a time as `Date` parses it; `None`
/// where it is no date. Times without a zone are taken as UTC, because a log
/// is the same in every zone. Only ISO forms are known.
pub(in crate::adapters) fn date(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let digits = |from: usize, len: usize| -> Option<i64> {
        bytes.get(from..from + len)?.iter().try_fold(0, |sum, b| b.is_ascii_digit().then(|| sum * 10 + i64::from(b - b'0')))
    };
    let (sign, year_len) = match bytes.first()? {
        b'+' => (1, 6),
        b'-' => (-1, 6),
        _ => (1, 4),
    };
    let mut at = usize::from(year_len == 6);
    let year = sign * digits(at, year_len)?;
    if year_len == 6 && sign < 0 && year == 0 {
        return None;
    }
    at += year_len;
    let (mut month, mut day) = (1, 1);
    if bytes.get(at) == Some(&b'-') {
        month = digits(at + 1, 2)?;
        at += 3;
        if bytes.get(at) == Some(&b'-') {
            day = digits(at + 1, 2)?;
            at += 3;
        }
    }
    let (mut hour, mut minute, mut second, mut millis, mut offset) = (0, 0, 0, 0, 0);
    if bytes.get(at) == Some(&b'T') {
        hour = digits(at + 1, 2)?;
        (bytes.get(at + 3) == Some(&b':')).then_some(())?;
        minute = digits(at + 4, 2)?;
        at += 6;
        if bytes.get(at) == Some(&b':') {
            second = digits(at + 1, 2)?;
            at += 3;
            if bytes.get(at) == Some(&b'.') {
                let len = bytes[at + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
                (len > 0).then_some(())?;
                millis = (0..3).fold(0, |sum, n| sum * 10 + if n < len { i64::from(bytes[at + 1 + n] - b'0') } else { 0 });
                at += 1 + len;
            }
        }
        match bytes.get(at) {
            Some(b'Z') => at += 1,
            Some(sign @ (b'+' | b'-')) => {
                let minutes = digits(at + 1, 2)? * 60 + digits(at + 4, 2)?;
                (bytes.get(at + 3) == Some(&b':')).then_some(())?;
                offset = if *sign == b'-' { -minutes } else { minutes };
                at += 6;
            }
            _ => {}
        }
    }
    let is_midnight = (hour, minute, second, millis) == (24, 0, 0, 0);
    let in_range = (1..=12).contains(&month) && (1..=31).contains(&day) && (hour < 24 || is_midnight) && minute < 60 && second < 60;
    let exists = day <= i64::from(days_in_month(year.rem_euclid(400) as u32 + 400, month as u32));
    (at == bytes.len() && in_range && exists).then_some(())?;
    Some((((days_from_epoch(year, month, day) * 24 + hour) * 60 + minute - offset) * 60 + second) * 1000 + millis)
}

/// Days since 1970-01-01 in the Gregorian calendar.
fn days_from_epoch(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that the leap day is their last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_printed_as_javascript_does() {
        for (source, printed) in [
            ("0.1", "0.1"),
            ("1e21", "1e+21"),
            ("1E-7", "1e-7"),
            ("0.000001", "0.000001"),
            ("12345678901234567890", "12345678901234567000"),
            ("1.0", "1"),
            ("-0", "0"),
            ("-0.0", "0"),
            ("1e400", "null"),
            ("5e-324", "5e-324"),
            ("100000000000000000000", "100000000000000000000"),
            ("123.456e3", "123456"),
            ("-1.5e-9", "-1.5e-9"),
        ] {
            let mut out = Vec::new();
            push_value(source.as_bytes(), Numbers::Printed, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), printed);
        }
    }

    #[test]
    fn dates_are_parsed_as_v8_does() {
        assert_eq!(date("1970-01-01T00:00:00.000Z"), Some(0));
        assert_eq!(date("2026-11-15T23:14:50.910Z"), Some(1_794_784_490_910));
        assert_eq!(date("2026-11-15T23:14:50.9109+01:00"), Some(1_794_780_890_910));
        assert_eq!(date("2024-02-29"), Some(1_709_164_800_000));
        for no_date in ["", "x", "2026-13-01", "2026-11-15T25:00:00Z", "2026-11-15T23:14:50.Z", "2026-11-15 "] {
            assert_eq!(date(no_date), None, "{no_date}");
        }
    }

    #[test]
    fn ids_are_the_same_as_in_a_map() {
        assert_eq!(map_key(Some(br#""\u0061""#)), map_key(Some(b"\"a\"")));
        assert_eq!(map_key(Some(b"1.0")), map_key(Some(b"1")));
        assert_ne!(map_key(Some(b"1")), map_key(Some(b"\"1\"")));
        assert_ne!(map_key(None), map_key(Some(b"null")));
        assert_eq!(map_key(Some(b"{}")), None);
    }
}
