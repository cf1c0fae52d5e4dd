//! What Python does with a value that `json.loads` gave: truth, `get`, `str()`.
//! All of it on the text of an accepted value.

use std::borrow::Cow;

use crate::model::json::{Kind, kind_of};

use super::number::double;
use super::parse::members;
use super::text::decode;
use super::write::{Form, push};

/// `bool(value)`.
#[must_use]
pub fn is_truthy(value: &[u8]) -> bool {
    let is_filled = |closer: u8| value.iter().skip(1).find(|b| !b.is_ascii_whitespace()) != Some(&closer);
    match kind_of(value) {
        Kind::String => value.len() > 2,
        Kind::Object => is_filled(b'}'),
        Kind::Array => is_filled(b']'),
        Kind::True => true,
        Kind::False | Kind::Null => false,
        // A long integer is infinite here, and true.
        Kind::Number => double(value) != 0.0,
    }
}

/// The values that an object has under some names, in one walk over it; of
/// equal keys the last counts.
#[must_use]
pub fn pick<'a, const N: usize>(object: &'a [u8], names: [&str; N]) -> [Option<&'a [u8]>; N] {
    let mut found = [None; N];
    for (key, value) in members(object) {
        let key = decode(key);
        if let Some((_, slot)) = names.iter().zip(found.iter_mut()).find(|(name, _)| name.as_bytes() == &*key) {
            *slot = Some(value);
        }
    }
    found
}

/// `str(value or "")`.
#[must_use]
pub fn text_or_empty(value: Option<&[u8]>) -> Cow<'_, [u8]> {
    value.filter(|value| is_truthy(value)).map_or(Cow::Borrowed(&[]), text_of)
}

/// `str(value)`: a string is itself, all else is as `repr` writes it.
#[must_use]
pub fn text_of(value: &[u8]) -> Cow<'_, [u8]> {
    match kind_of(value) {
        Kind::String => decode(value),
        Kind::Object | Kind::Array | Kind::Number | Kind::True | Kind::False | Kind::Null => {
            let mut out = Vec::new();
            push(value, Form::Repr, &mut out);
            Cow::Owned(out)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn truth_is_that_of_python() {
        for falsy in ["0", "-0", "0.0", "-0e9", "1e-400", "\"\"", "[ ]", "{\t}", "false", "null"] {
            assert!(!is_truthy(falsy.as_bytes()), "{falsy}");
        }
        for truthy in ["1", "0.1", "NaN", "-Infinity", "\" \"", "[0]", "{ \"\":0}", "true", "1e400", &"9".repeat(500)] {
            assert!(is_truthy(truthy.as_bytes()), "{truthy}");
        }
    }

    #[test]
    fn of_equal_keys_the_last_counts_however_it_is_written() {
        let object = br#"{"a":1,"b":2,"\u0061":3,"A":4}"#;
        assert_eq!(pick(object, ["a", "b", "c"]), [Some(b"3".as_slice()), Some(b"2"), None]);
    }

    #[test]
    fn str_gives_strings_as_they_are_and_all_else_as_repr() {
        for (value, text) in [
            (r#""a'\n""#, "a'\n"),
            (r#"{"b":[true,null,1e2],"a":"x"}"#, "{'b': [True, None, 100.0], 'a': 'x'}"),
            ("[]", "[]"),
            ("false", "False"),
            ("-0", "0"),
        ] {
            assert_eq!(String::from_utf8_lossy(&text_of(value.as_bytes())), text);
        }
        assert_eq!(text_or_empty(Some(b"0")), b"".as_slice());
        assert_eq!(text_or_empty(None), b"".as_slice());
    }
}
