//! Python's numbers: integers without limit, doubles, and booleans, which are
//! the integers 0 and 1; and its order, which mixes them exactly.

use std::cmp::Ordering;

use crate::model::json::{Kind, kind_of};

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

impl Number {
    /// The number that an accepted value is, if it is one.
    #[must_use]
    pub fn of(value: &[u8]) -> Option<Number> {
        match kind_of(value) {
            Kind::Number => Some(Number::read(value)),
            Kind::True => Some(Number::read(b"1")),
            Kind::False => Some(Number::read(b"0")),
            Kind::String | Kind::Object | Kind::Array | Kind::Null => None,
        }
    }

    fn read(token: &[u8]) -> Number {
        match token {
            b"NaN" => return Number::Float(f64::NAN),
            b"Infinity" => return Number::Float(f64::INFINITY),
            b"-Infinity" => return Number::Float(f64::NEG_INFINITY),
            _ => {}
        }
        let (sign, digits) = match token {
            [b'-', digits @ ..] => (Sign::Minus, digits),
            digits => (Sign::Plus, digits),
        };
        if !digits.iter().all(u8::is_ascii_digit) {
            // What JSON takes for a number, Rust does too.
            let text = std::str::from_utf8(token).unwrap_or_default();
            return Number::Float(text.parse().unwrap_or(f64::NAN));
        }
        let zeros = digits.iter().take_while(|b| **b == b'0').count();
        match digits.get(zeros..) {
            Some([]) | None => Number::Int(Sign::Plus, Vec::new()),
            Some(digits) => Number::Int(sign, digits.to_vec()),
        }
    }

    /// Whether Python calls it true.
    #[must_use]
    pub fn is_truthy(&self) -> bool {
        match self {
            Number::Int(_, digits) => !digits.is_empty(),
            Number::Float(float) => *float != 0.0,
        }
    }

    /// How it compares with another number; not at all, if either is NaN.
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

    /// An integer against a double, without rounding either.
    fn order_with_float(&self, float: f64) -> Option<Ordering> {
        if float.is_nan() {
            return None;
        }
        if float.is_infinite() {
            return 0.0.partial_cmp(&float);
        }
        // Rust writes a whole double with all its digits.
        let whole = Number::read(format!("{:.0}", float.trunc()).as_bytes());
        Some(self.order_of_integers(&whole).then_with(|| 0.0_f64.total_cmp(&(float - float.trunc() + 0.0))))
    }

    /// Writes it as Python's `repr` does.
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

/// The shortest digits that read back the same, with an exponent below 1e-4 and
/// from 1e16 on.
fn float_repr(float: f64) -> String {
    if float.is_nan() {
        return "nan".into();
    }
    if float.is_infinite() {
        return if float < 0.0 { "-inf".into() } else { "inf".into() };
    }
    let scientific = format!("{float:e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    match exponent.parse::<i32>() {
        Ok(exponent) if float != 0.0 && !(-4..16).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.abs())
        }
        _ if float == float.trunc() => format!("{float:.1}"),
        _ => format!("{float}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Number {
        Number::of(text.as_bytes()).unwrap()
    }

    #[test]
    fn integers_and_doubles_compare_without_rounding() {
        for (less, more) in [
            ("9007199254740992.0", "9007199254740993"),
            ("-9007199254740993", "-9007199254740992.0"),
            ("1", "1.5"),
            ("-1.5", "-1"),
            ("-0.5", "0"),
            ("false", "0.5"),
            ("1e23", "100000000000000000000000"),
            ("-2", "-1"),
            ("10", "Infinity"),
        ] {
            assert_eq!(number(less).order(&number(more)), Some(Ordering::Less), "{less} {more}");
            assert_eq!(number(more).order(&number(less)), Some(Ordering::Greater), "{less} {more}");
        }
        assert_eq!(number("1e22").order(&number("10000000000000000000000")), Some(Ordering::Equal));
        assert_eq!(number("-0").order(&number("-0.0")), Some(Ordering::Equal));
        assert_eq!(number("true").order(&number("1")), Some(Ordering::Equal));
        assert_eq!(number("NaN").order(&number("1")), None);
    }

    #[test]
    fn a_double_is_written_as_python_writes_it() {
        for (token, written) in [
            ("1e5", "100000.0"),
            ("1E16", "1e+16"),
            ("123456789012345678.0", "1.2345678901234568e+17"),
            ("0.0001", "0.0001"),
            ("0.00001", "1e-05"),
            ("5e-324", "5e-324"),
            ("-0.0", "-0.0"),
            ("1.50", "1.5"),
            ("1e400", "inf"),
            ("-Infinity", "-inf"),
            ("-0", "0"),
            ("-12", "-12"),
        ] {
            let mut out = Vec::new();
            number(token).push_repr(&mut out);
            assert_eq!(String::from_utf8_lossy(&out), written);
        }
    }
}
