//! Doubles as JavaScript prints and reads them.

use super::lines::is_space;

/// `String(number)`.
pub(super) fn to_text(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned();
    }
    let size = number.abs();
    if size == 0.0 {
        return "0".to_owned();
    }
    if (1e-6..1e21).contains(&size) {
        // Rust prints the same shortest digits, and never an exponent.
        return format!("{number}");
    }
    let text = format!("{number:e}");
    if text.contains("e-") { text } else { text.replace('e', "e+") }
}

/// A number token as `JSON.stringify` would print its value: the token itself
/// wherever that says the same, so that no digits are lost on the way.
pub(super) fn push_json(token: &[u8], out: &mut Vec<u8>) {
    if stays(token) {
        return out.extend_from_slice(token);
    }
    let number = of_token(token);
    if has_only_digits(token) || !number.is_finite() || number == 0.0 {
        push_canonical(token, out);
    } else {
        out.extend_from_slice(token);
    }
}

/// Whether a number token surely says the same as what is printed: an integer
/// that is exact as a double, or a decimal that is neither nothing nor too large.
pub(super) fn stays(token: &[u8]) -> bool {
    /// An integer of so many digits is exact as a double.
    const EXACT_DIGITS: usize = 15;
    let (mut has_point, mut is_something) = (false, false);
    for byte in token {
        match byte {
            b'1'..=b'9' => is_something = true,
            b'.' => has_point = true,
            b'0' | b'-' => {}
            _ => return false,
        }
    }
    token.len() <= EXACT_DIGITS && (is_something || (!has_point && token != b"-0"))
}

fn has_only_digits(token: &[u8]) -> bool {
    token.iter().all(|b| b.is_ascii_digit() || *b == b'-')
}

/// A number token exactly as `JSON.stringify` prints its value.
pub(super) fn push_canonical(token: &[u8], out: &mut Vec<u8>) {
    let number = of_token(token);
    if number.is_finite() {
        out.extend_from_slice(to_text(number).as_bytes());
    } else {
        out.extend_from_slice(b"null");
    }
}

fn of_token(token: &[u8]) -> f64 {
    std::str::from_utf8(token).ok().and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
}

/// `Number(text)`.
pub(super) fn of_text(text: &str) -> f64 {
    let text = text.trim_matches(is_space);
    if text.is_empty() {
        return 0.0;
    }
    for (prefix, radix) in [("0x", 16), ("0X", 16), ("0o", 8), ("0O", 8), ("0b", 2), ("0B", 2)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            return of_digits(digits, radix);
        }
    }
    let (sign, size) = match text.as_bytes().first() {
        Some(b'-') => (-1.0, text.get(1..).unwrap_or_default()),
        Some(b'+') => (1.0, text.get(1..).unwrap_or_default()),
        Some(_) | None => (1.0, text),
    };
    if size == "Infinity" {
        return sign * f64::INFINITY;
    }
    // Rust reads more words than JavaScript, but the same digits.
    if !size.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return f64::NAN;
    }
    size.parse::<f64>().map_or(f64::NAN, |number| sign * number)
}

fn of_digits(digits: &str, radix: u32) -> f64 {
    if digits.is_empty() {
        return f64::NAN;
    }
    // Exact below 2^53, and above it only the order of magnitude is asked for.
    digits.chars().try_fold(0.0, |sum, c| c.to_digit(radix).map(|digit| sum * f64::from(radix) + f64::from(digit))).unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_is_printed_as_it_stands() {
        for token in ["0", "7", "-7", "123456789012345", "0.00036", "-1.50", "1.0"] {
            assert!(stays(token.as_bytes()), "{token}");
            let (mut printed, mut exactly) = (Vec::new(), Vec::new());
            push_json(token.as_bytes(), &mut printed);
            push_canonical(token.as_bytes(), &mut exactly);
            let double = |text: &[u8]| of_token(text).to_bits();
            assert_eq!((printed.as_slice(), double(&printed)), (token.as_bytes(), double(&exactly)), "{token}");
        }
        for token in ["-0", "0.0", "-0.00", "1e5", "1234567890123456", "0.12345678901234", "1E-400"] {
            assert!(!stays(token.as_bytes()), "{token}");
        }
    }
}
