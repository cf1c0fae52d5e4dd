//! JavaScript's view of JSON: what is blank, what is false, which ids are the
//! same, how a number is printed, when a time is.

use std::borrow::Cow;
use std::ops::Range;

use crate::model::json::{self, Bare, Dialect, Kind};

use super::date::{clipped, date};

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
            let mut key = Vec::with_capacity(value.len());
            push_string(&chars_of(value), &mut key);
            Some(Cow::Owned(key))
        }
        Kind::Number => Some(Cow::Owned(number_text(number(value)).into_bytes())),
        Kind::True | Kind::False | Kind::Null => Some(Cow::Borrowed(value)),
    }
}

/// The characters of a string token, in UTF-8 but for lone surrogates, which
/// have the three bytes they would have if they were characters.
pub(in crate::adapters) fn chars_of(token: &[u8]) -> Cow<'_, [u8]> {
    let inner = token.get(1..token.len().saturating_sub(1)).unwrap_or_default();
    if !inner.contains(&b'\\') {
        return Cow::Borrowed(inner);
    }
    if let Ok(text) = json::decode_string(token) {
        return Cow::Owned(text.into_bytes());
    }
    let mut out = Vec::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(at) = memchr::memchr(b'\\', rest) {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at..];
        let unit = |at: usize| {
            let digits = rest.get(at..at + 6)?.strip_prefix(b"\\u")?;
            u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
        };
        let (code, len) = match (unit(0), unit(6)) {
            (Some(high @ 0xd800..0xdc00), Some(low @ 0xdc00..0xe000)) => (0x10000 + ((high - 0xd800) << 10) + (low - 0xdc00), 12),
            (Some(unit), _) => (unit, 6),
            (None, _) => {
                let short = rest.get(1).copied().unwrap_or_default();
                let plain = [(b'n', 10), (b'r', 13), (b't', 9), (b'b', 8), (b'f', 12)].iter().find(|(name, _)| *name == short);
                (plain.map_or(u32::from(short), |(_, code)| *code), 2)
            }
        };
        match char::from_u32(code) {
            Some(c) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            None => out.extend([0xe0 | (code >> 12) as u8, 0x80 | (code >> 6 & 0x3f) as u8, 0x80 | (code & 0x3f) as u8]),
        }
        rest = rest.get(len..).unwrap_or_default();
    }
    out.extend_from_slice(rest);
    Cow::Owned(out)
}

/// Prints characters in the form of [`chars_of`] as `JSON.stringify` does.
pub(in crate::adapters) fn push_string(chars: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    let mut at = 0;
    while let Some(&byte) = chars.get(at) {
        at += match (byte, chars.get(at + 1), chars.get(at + 2)) {
            (0xed, Some(&second @ 0xa0..), Some(&third)) => {
                let unit = 0xd000 | (u32::from(second & 0x3f) << 6) | u32::from(third & 0x3f);
                out.extend_from_slice(format!("\\u{unit:04x}").as_bytes());
                3
            }
            (b'"' | b'\\', ..) => {
                out.extend([b'\\', byte]);
                1
            }
            (0..0x20, ..) => {
                let short = [(8, b'b'), (9, b't'), (10, b'n'), (12, b'f'), (13, b'r')].iter().find(|(code, _)| *code == byte);
                match short {
                    Some((_, name)) => out.extend([b'\\', *name]),
                    None => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
                }
                1
            }
            _ => {
                out.push(byte);
                1
            }
        };
    }
    out.push(b'"');
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
    let rest = push_changed(value, numbers, out);
    out.extend_from_slice(&value[rest..]);
}

/// The same, and nothing is copied where it is printed as it stands.
pub(in crate::adapters) fn printed(value: &[u8], numbers: Numbers) -> Cow<'_, [u8]> {
    let mut out = Vec::new();
    match push_changed(value, numbers, &mut out) {
        0 => Cow::Borrowed(value),
        rest => {
            out.extend_from_slice(&value[rest..]);
            Cow::Owned(out)
        }
    }
}

/// Prints a value up to behind the last token that is printed otherwise than it
/// stands; says from where on the rest stays.
fn push_changed(value: &[u8], numbers: Numbers, out: &mut Vec<u8>) -> usize {
    // What is printed as it stands is copied in one piece.
    let mut copied = 0;
    json::each_bare(value, |bare, Range { start, end }| {
        let text = &value[start..end];
        if bare == Bare::Number && stays(text, numbers) {
            return;
        }
        out.extend_from_slice(&value[copied..start]);
        copied = end;
        if bare == Bare::Number {
            push_number(text, out);
        }
    });
    copied
}

/// Whether a number is surely printed as it stands.
fn stays(text: &[u8], numbers: Numbers) -> bool {
    let is_held = || number(text).is_finite() && (number(text) != 0.0 || text[0] != b'-');
    is_short_integer(text) || is_short_decimal(text) || (numbers == Numbers::Kept && is_held())
}

/// Whether a number with a point has as few digits as every double can be told
/// by, none of them in vain, and is not so small that it gets an exponent:
/// those are the digits that are printed.
fn is_short_decimal(text: &[u8]) -> bool {
    const DIGITS: usize = 15;
    let size = text.strip_prefix(b"-").unwrap_or(text);
    let Some(point) = size.iter().position(|b| *b == b'.') else { return false };
    let (whole, part) = (&size[..point], &size[point + 1..]);
    let is_plain = whole.iter().chain(part).all(u8::is_ascii_digit) && matches!(part.last(), Some(b'1'..=b'9'));
    match whole {
        _ if !is_plain => false,
        b"0" => part.len() <= DIGITS && part.iter().take_while(|b| **b == b'0').count() < 6,
        [b'1'..=b'9', ..] => whole.len() + part.len() <= DIGITS,
        _ => false,
    }
}

/// Whether a number is one that everybody prints alike.
fn is_short_integer(text: &[u8]) -> bool {
    text.len() <= 15 && text != b"-0" && text.iter().skip(1).all(u8::is_ascii_digit) && (text[0] != b'-' || text.len() > 1)
}

/// Prints a number as JavaScript does.
fn push_number(text: &[u8], out: &mut Vec<u8>) {
    if is_short_integer(text) {
        return out.extend_from_slice(text);
    }
    let value = number(text);
    if value.is_finite() {
        out.extend_from_slice(number_text(value).as_bytes());
    } else {
        out.extend_from_slice(b"null");
    }
}

/// `String(number)`.
fn number_text(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    if !value.is_finite() {
        return value.to_string().replace("inf", "Infinity");
    }
    // Rust prints the same shortest digits, with the point elsewhere.
    let shortest = format!("{:e}", value.abs());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let point = exponent + 1;
    let count = digits.len() as i32;
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
    if value < 0.0 { format!("-{text}") } else { text }
}

/// What cannot be made a text, a number or a time: JavaScript fails on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) struct TypeError;

/// `String(value)`. Of lists the brackets vanish, however deep.
fn text_of(value: &[u8]) -> Result<String, TypeError> {
    let mut text = String::new();
    let mut at = 0;
    while let Some(&byte) = value.get(at) {
        at += match byte {
            b'[' | b']' | b' ' | b'\t' | b'\n' | b'\r' => 1,
            b',' => {
                text.push(',');
                1
            }
            b'{' => {
                let object = &value[at..at + json::scan_value(&value[at..], Dialect::Strict).map_err(|_| TypeError)?.end];
                // A member of that name hides the function, and is none.
                if json::members(object).any(|member| member.name() == "toString") {
                    return Err(TypeError);
                }
                text.push_str("[object Object]");
                object.len()
            }
            b'"' => {
                let end = json::token_end(value, at);
                text.push_str(&json::unescape(&value[at..end]));
                end - at
            }
            _ => {
                let len = value[at..].iter().take_while(|b| !matches!(b, b',' | b']' | b' ' | b'\t' | b'\n' | b'\r')).count();
                let token = &value[at..at + len];
                match json::kind_of(token) {
                    Kind::Null => {}
                    Kind::Number => text.push_str(&number_text(number(token))),
                    Kind::True | Kind::False | Kind::String | Kind::Object | Kind::Array => text.push_str(&String::from_utf8_lossy(token)),
                }
                len.max(1)
            }
        };
    }
    Ok(text)
}

/// `Number(value)`.
pub(in crate::adapters) fn number_of(value: &[u8]) -> Result<f64, TypeError> {
    Ok(match json::kind_of(value) {
        Kind::Number => number(value),
        Kind::True => 1.0,
        Kind::False | Kind::Null => 0.0,
        Kind::String | Kind::Array | Kind::Object => number_of_text(&text_of(value)?),
    })
}

fn number_of_text(text: &str) -> f64 {
    let text = text.trim_matches(is_space);
    let radix = match text.get(..2) {
        Some("0x" | "0X") => 16,
        Some("0o" | "0O") => 8,
        Some("0b" | "0B") => 2,
        _ => 10,
    };
    if radix != 10 {
        let mut digits = text[2..].chars().map(|c| c.to_digit(radix).map(f64::from));
        let sum = digits.try_fold(0.0, |sum, digit| digit.map(|digit| sum * f64::from(radix) + digit));
        return sum.filter(|_| text.len() > 2).unwrap_or(f64::NAN);
    }
    let size = text.strip_prefix(['+', '-']).unwrap_or(text);
    match size {
        "" if text.is_empty() => 0.0,
        "Infinity" => number(text.as_bytes().strip_suffix(b"inity").unwrap_or_default()),
        // Rust knows words that JavaScript does not.
        _ if size.starts_with(|c: char| c.is_ascii_digit() || c == '.') => number(text.as_bytes()),
        _ => f64::NAN,
    }
}

/// `new Date(value).getTime()`; nothing where that is no time.
pub(in crate::adapters) fn time_of(value: Option<&[u8]>) -> Result<Option<i64>, TypeError> {
    let Some(value) = value else { return Ok(None) };
    Ok(match json::kind_of(value) {
        Kind::String | Kind::Array | Kind::Object => date(&text_of(value)?),
        Kind::Number | Kind::True | Kind::False | Kind::Null => clipped(number_of(value)?),
    })
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
            ("0.00000123", "0.00000123"),
            ("0.000000123", "1.23e-7"),
            ("-12.50", "-12.5"),
            ("-0.5", "-0.5"),
            ("123456789.1234567", "123456789.1234567"),
            ("1234567890.12345678", "1234567890.1234567"),
            ("0.1000000000000000055511151231257827", "0.1"),
        ] {
            let mut out = Vec::new();
            push_value(source.as_bytes(), Numbers::Printed, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), printed);
        }
    }

    #[test]
    fn values_become_numbers_and_times_as_in_javascript() {
        for (value, wanted) in [
            ("\" 0x10\\n\"", 16.0),
            ("\"\"", 0.0),
            ("\"-Infinity\"", f64::NEG_INFINITY),
            ("\"5.\"", 5.0),
            ("[[ \"2\" ]]", 2.0),
            ("[null]", 0.0),
            ("[1,2]", f64::NAN),
            ("\"inf\"", f64::NAN),
            ("\"-0x1\"", f64::NAN),
            ("\"0x\"", f64::NAN),
            ("\"1_0\"", f64::NAN),
            ("{\"a\":[\"}\"]}", f64::NAN),
            ("true", 1.0),
        ] {
            let found = number_of(value.as_bytes()).unwrap();
            assert!(found == wanted || (found.is_nan() && wanted.is_nan()), "{value}: {found}");
        }
        assert_eq!(number_of(b"[1,[{\"toString\":0}]]"), Err(TypeError));
        for (value, wanted) in [("null", Some(0)), ("86400000.7", Some(86_400_000)), ("9e15", None), ("[\"1970\"]", Some(0)), ("{}", None)]
        {
            assert_eq!(time_of(Some(value.as_bytes())), Ok(wanted), "{value}");
        }
        assert_eq!(time_of(None), Ok(None));
    }

    #[test]
    fn ids_are_the_same_as_in_a_map() {
        assert_eq!(map_key(Some(br#""\u0061""#)), map_key(Some(b"\"a\"")));
        assert_eq!(map_key(Some(br#""\u0022\ud83e\uddf5""#)), map_key(Some("\"\\\"🧵\"".as_bytes())));
        assert_eq!(map_key(Some(br#""\uD800\n""#)), map_key(Some(br#""\ud800\u000a""#)));
        assert_ne!(map_key(Some(br#""A\ud800""#)), map_key(Some(br#""a\ud800""#)));
        assert_eq!(map_key(Some(b"1.0")), map_key(Some(b"1")));
        assert_ne!(map_key(Some(b"1")), map_key(Some(b"\"1\"")));
        assert_ne!(map_key(None), map_key(Some(b"null")));
        assert_ne!(map_key(Some(b"1e400")), map_key(Some(b"null")));
        assert_eq!(map_key(Some(b"{}")), None);
    }
}
