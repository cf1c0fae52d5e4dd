//! Doubles as JavaScript reads and prints them.

use super::space::trim;

/// Returns the double that a number token of JSON stands for; a number that is too
/// large is infinite.
#[must_use]
pub fn number(token: &[u8]) -> f64 {
    std::str::from_utf8(token).ok().and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
}

/// `String(number)`.
#[must_use]
pub fn number_text(number: f64) -> String {
    ryu_js::Buffer::new().format(number).to_owned()
}

/// Appends `JSON.stringify(number)`: what is not finite becomes `null`.
pub(super) fn push_number(number: f64, out: &mut Vec<u8>) {
    if number.is_finite() {
        out.extend_from_slice(ryu_js::Buffer::new().format_finite(number).as_bytes());
    } else {
        out.extend_from_slice(b"null");
    }
}

/// Returns the place in an array that a number token names as its key, if it names one.
#[must_use]
pub fn array_index(token: &[u8]) -> Option<usize> {
    let number = number(token);
    let is_index = (0.0..4_294_967_295.0).contains(&number) && number == number.trunc();
    is_index.then_some(number as usize)
}

/// `Number(text)`; NaN where the text is not a number.
#[must_use]
pub fn parse_number(text: &[u8]) -> f64 {
    let text = trim(text);
    match text {
        b"" => return 0.0,
        [b'0', b'x' | b'X', digits @ ..] => return binary_digits(digits, 4),
        [b'0', b'o' | b'O', digits @ ..] => return binary_digits(digits, 3),
        [b'0', b'b' | b'B', digits @ ..] => return binary_digits(digits, 1),
        _ => {}
    }
    let (sign, size) = match text {
        [b'-', size @ ..] => (-1.0, size),
        [b'+', size @ ..] => (1.0, size),
        size => (1.0, size),
    };
    // Rust also reads words such as `inf` and `nan`, which JavaScript does not.
    match size {
        b"Infinity" => sign * f64::INFINITY,
        [b'0'..=b'9' | b'.', ..] => sign * number(size),
        _ => f64::NAN,
    }
}

/// Returns the value of digits with so many bits each, rounded to the nearest double and
/// in case of a tie to the even one.
fn binary_digits(digits: &[u8], bits: u32) -> f64 {
    /// From here on another digit would not fit.
    const FULL: u64 = 1 << 60;
    if digits.is_empty() {
        return f64::NAN;
    }
    let (mut sum, mut exponent) = (0_u64, 0_i32);
    for digit in digits {
        let Some(digit) = char::from(*digit).to_digit(1 << bits) else { return f64::NAN };
        if sum < FULL {
            sum = (sum << bits) | u64::from(digit);
        } else {
            // Digits that are too low to be held still decide a tie: one bit far
            // below the last one of a double remembers that they are not zero.
            sum |= u64::from(digit != 0);
            exponent = exponent.saturating_add(bits as i32);
        }
    }
    sum as f64 * 2_f64.powi(exponent)
}
