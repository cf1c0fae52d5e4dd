//! Python's numbers: integers without limit, doubles, and booleans, which are
//! the integers 0 and 1; how they are ordered, and how `repr` writes them.

use std::cmp::Ordering;

use crate::json::{Kind, Value};

/// The value of a number token, or of `true` and `false`.
#[derive(Debug, Clone, PartialEq)]
pub enum Number {
    /// An integer: its sign, and its digits without leading zeros; 0 has none.
    Int(Sign, Vec<u8>),
    /// A double.
    Float(f64),
}

/// On which side of 0 an integer lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sign {
    /// Below 0.
    Minus,
    /// 0 and above.
    Plus,
}

/// Tells whether a number token is an integer for Python.
#[must_use]
pub fn is_integer(token: &[u8]) -> bool {
    token.iter().all(|b| b.is_ascii_digit() || *b == b'-')
}

/// Returns the double of a number token. An integer that no double can hold becomes
/// infinite here, where Python's `float()` would raise.
#[must_use]
pub fn double(token: &[u8]) -> f64 {
    // Rust parses every form that JSON has, and `NaN`, `Infinity`, `-Infinity`.
    std::str::from_utf8(token).ok().and_then(|text| text.parse().ok()).unwrap_or(f64::NAN)
}

impl Number {
    /// Returns the number that a value is, if it is one.
    #[must_use]
    pub fn of(value: Value<'_>) -> Option<Number> {
        match value.kind() {
            Kind::Number if is_integer(value.text()) => Some(Number::integer(value.text())),
            Kind::Number => Some(Number::Float(double(value.text()))),
            Kind::True => Some(Number::Int(Sign::Plus, b"1".to_vec())),
            Kind::False => Some(Number::Int(Sign::Plus, Vec::new())),
            Kind::String | Kind::Object | Kind::Array | Kind::Null => None,
        }
    }

    fn integer(token: &[u8]) -> Number {
        let (sign, digits) = match token {
            [b'-', digits @ ..] => (Sign::Minus, digits),
            digits => (Sign::Plus, digits),
        };
        let zeros = digits.iter().take_while(|b| **b == b'0').count();
        match digits.get(zeros..) {
            Some([]) | None => Number::Int(Sign::Plus, Vec::new()),
            Some(digits) => Number::Int(sign, digits.to_vec()),
        }
    }

    /// Returns how it compares with another number; not at all if either is NaN.
    #[must_use]
    pub fn order(&self, other: &Number) -> Option<Ordering> {
        match (self, other) {
            (Number::Float(a), Number::Float(b)) => a.partial_cmp(b),
            (Number::Int(..), Number::Int(..)) => Some(self.order_of_integers(other)),
            (Number::Int(..), Number::Float(b)) => self.order_with_float(*b),
            (Number::Float(a), Number::Int(..)) => other.order_with_float(*a).map(Ordering::reverse),
        }
    }

    fn order_of_integers(&self, other: &Number) -> Ordering {
        let (Number::Int(sign, digits), Number::Int(other_sign, other_digits)) = (self, other) else { return Ordering::Equal };
        let size = digits.len().cmp(&other_digits.len()).then_with(|| digits.cmp(other_digits));
        sign.cmp(other_sign).then(match sign {
            Sign::Plus => size,
            Sign::Minus => size.reverse(),
        })
    }

    /// Compares an integer with a double without rounding either.
    fn order_with_float(&self, float: f64) -> Option<Ordering> {
        if float.is_nan() {
            return None;
        }
        if float.is_infinite() {
            return 0.0.partial_cmp(&float);
        }
        let whole = Number::integer(truncated(float).as_bytes());
        Some(self.order_of_integers(&whole).then_with(|| 0.0_f64.total_cmp(&(float - float.trunc() + 0.0))))
    }

    /// Writes it as `repr` does.
    pub fn push_repr(&self, out: &mut Vec<u8>) {
        match self {
            Number::Int(_, digits) if digits.is_empty() => out.push(b'0'),
            Number::Int(sign, digits) => {
                if *sign == Sign::Minus {
                    out.push(b'-');
                }
                out.extend_from_slice(digits);
            }
            Number::Float(float) => out.extend_from_slice(float_repr(*float).as_bytes()),
        }
    }
}

/// Returns the digits of a finite double without its fraction, as `str(int(float))`.
#[must_use]
pub fn truncated(float: f64) -> String {
    // Rust writes a double without a fraction with all its digits; adding 0.0
    // takes the sign from -0.0, which is not an integer.
    format!("{:.0}", float.trunc() + 0.0)
}

/// Writes a number token as `repr` writes the number.
pub fn push_token_repr(token: &[u8], out: &mut Vec<u8>) {
    if is_integer(token) {
        // The only integer that JSON can write in two ways.
        return out.extend_from_slice(if token == b"-0" { b"0" } else { token });
    }
    out.extend_from_slice(float_repr(double(token)).as_bytes());
}

/// `repr(float)`: the shortest digits that give the same double again, plain
/// from 1e-4 up to 1e16, with an exponent of at least two digits elsewhere.
#[must_use]
pub fn float_repr(float: f64) -> String {
    if float.is_nan() {
        return "nan".into();
    }
    if float.is_infinite() {
        return if float > 0.0 { "inf".into() } else { "-inf".into() };
    }
    let short = format!("{float:e}");
    let (digits, power) = short.split_once('e').unwrap_or((&short, "0"));
    let power: i32 = power.parse().unwrap_or_default();
    if !(-4..16).contains(&power) {
        return format!("{digits}e{}{:02}", if power < 0 { '-' } else { '+' }, power.abs());
    }
    // Only the number of digits is taken from Rust's shortest form. Where two such
    // forms are equally near, Rust takes the upper one and Python the even one, as
    // rounding to that many digits does: 996165664600864.25 ends in `.2`, not `.3`.
    let digits = digits.bytes().filter(u8::is_ascii_digit).count() as i32;
    format!("{float:.*}", usize::try_from(digits - 1 - power).unwrap_or(0).max(1))
}

/// `json.dumps(float)`: as `repr`, but for `NaN` and the infinities.
#[must_use]
pub fn float_json(float: f64) -> String {
    if float.is_nan() {
        return "NaN".into();
    }
    if float.is_infinite() {
        return if float > 0.0 { "Infinity".into() } else { "-Infinity".into() };
    }
    float_repr(float)
}
