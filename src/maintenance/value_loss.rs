//! What of a JSON text is lost when JavaScript parses it and prints it again.

use crate::json::{self, Lexeme, Value, each_number_or_space};
use crate::runtimes::javascript::{number, number_text};

/// Names every kind of value that JavaScript does not keep, each once.
pub(super) fn lost(value: &[u8]) -> Vec<String> {
    let mut found: Vec<&'static str> = Vec::new();
    let mut note = |reason: &'static str| {
        if !found.contains(&reason) {
            found.push(reason);
        }
    };
    each_number_or_space(value, |lexeme, range| {
        if lexeme == Lexeme::Number
            && let Some(reason) = lost_of_number(&value[range])
        {
            note(reason);
        }
    });
    if repeats_a_key(value) {
        note("repeated-key");
    }
    found.into_iter().map(str::to_owned).collect()
}

fn lost_of_number(token: &[u8]) -> Option<&'static str> {
    let double = number(token);
    if !double.is_finite() {
        return Some("overflow");
    }
    if double == 0.0 {
        return token.starts_with(b"-").then_some("negative-zero");
    }
    let is_integer = token.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-');
    let printed = number_text(double);
    (is_integer && integer(&printed).as_deref() != std::str::from_utf8(token).ok()).then_some("integer-precision")
}

/// Returns the digits of an integer that may be printed with an exponent.
fn integer(printed: &str) -> Option<String> {
    let Some((mantissa, exponent)) = printed.split_once("e+") else { return Some(printed.to_owned()) };
    let exponent: usize = exponent.parse().ok()?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    Some(format!("{whole}{fraction}{}", "0".repeat(exponent.checked_sub(fraction.len())?)))
}

/// Tells whether an object in a value has a key twice. Nesting costs no recursion.
fn repeats_a_key(value: &[u8]) -> bool {
    let mut open: Vec<Value<'_>> = json::validate(value, json::Dialect::Strict).map(|scan| scan.value).into_iter().collect();
    while let Some(value) = open.pop() {
        if value.is_array() {
            open.extend(value.elements().filter(|inner| inner.is_array() || inner.is_object()));
        } else if value.is_object() {
            let mut names = std::collections::HashSet::new();
            for member in value.members() {
                if !names.insert(member.name().into_owned()) {
                    return true;
                }
                open.push(member.value());
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_javascript_changes_is_named_and_what_it_only_respells_is_not() {
        for kept in [
            "1.0",
            "1e2",
            "9007199254740991",
            "1000000000000000000000",
            "0.1",
            "[0,{\"a\":1,\"b\":{\"a\":2}}]",
            "1e-400",
            "0.10000000000000000555",
        ] {
            assert_eq!(lost(kept.as_bytes()), Vec::<String>::new(), "{kept}");
        }
        let cases = [
            ("9007199254740993", "integer-precision"),
            // Printed with other digits, though the double is exact.
            ("1152921504606846976", "integer-precision"),
            ("[1e400]", "overflow"),
            ("-0", "negative-zero"),
            ("{\"x\":[{\"a\":1,\"\\u0061\":2}]}", "repeated-key"),
        ];
        for (text, reason) in cases {
            assert_eq!(lost(text.as_bytes()), [reason], "{text}");
        }
    }
}
