//! Times: which texts Go takes for one, and how it writes them again.

use std::io::Write;

use crate::model::time::days_in_month;

/// A time as the clock on its own wall shows it, which is all that a rewrite
/// needs: Go keeps the offset that it has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    year: u32,
    month: u32,
    day: u32,
    hour: u32,
    minute: u32,
    second: u32,
    nanosecond: u32,
    /// Minutes east of Greenwich.
    offset: i32,
}

impl Default for Moment {
    /// What a time is that was never set.
    fn default() -> Moment {
        Moment { year: 1, month: 1, day: 1, hour: 0, minute: 0, second: 0, nanosecond: 0, offset: 0 }
    }
}

impl Moment {
    /// Reads the text between the quotes, in which no escape is undone.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Moment> {
        let mut rest = text;
        let year = number(&mut rest, 4)?;
        mark(&mut rest, b"-")?;
        let month = number(&mut rest, 2).filter(|month| (1..=12).contains(month))?;
        mark(&mut rest, b"-")?;
        let day = number(&mut rest, 2).filter(|day| (1..=days_in_month(year, month)).contains(day))?;
        mark(&mut rest, b"T")?;
        // The hour alone may have one digit.
        let hour = number(&mut rest, 2).or_else(|| number(&mut rest, 1)).filter(|hour| *hour < 24)?;
        mark(&mut rest, b":")?;
        let minute = number(&mut rest, 2).filter(|minute| *minute < 60)?;
        mark(&mut rest, b":")?;
        let second = number(&mut rest, 2).filter(|second| *second < 60)?;
        let nanosecond = fraction(&mut rest)?;
        let offset = offset(rest)?;
        Some(Moment { year, month, day, hour, minute, second, nanosecond, offset })
    }

    /// Whether this is the instant that stands for no time at all, in whatever
    /// zone it is told.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        let days = match (self.year, self.month) {
            (1, 1) => i64::from(self.day) - 1,
            (0, 12) => i64::from(self.day) - 32,
            _ => return false,
        };
        let minutes = days * 1440 + i64::from(self.hour * 60 + self.minute);
        self.second == 0 && self.nanosecond == 0 && minutes == i64::from(self.offset)
    }

    /// Appends the time without quotes. An offset of a day or more is one that
    /// Go reads and can format, though its encoder then fails.
    pub fn push(&self, out: &mut Vec<u8>) {
        let Moment { year, month, day, hour, minute, second, .. } = self;
        let mut text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
        if self.nanosecond > 0 {
            let digits = format!("{:09}", self.nanosecond);
            text.push('.');
            text.push_str(digits.trim_end_matches('0'));
        }
        out.extend_from_slice(text.as_bytes());
        let ahead = self.offset.unsigned_abs();
        let sign = if self.offset < 0 { '-' } else { '+' };
        // Writing to memory does not fail.
        let _ = match ahead {
            0 => out.write_all(b"Z"),
            _ => write!(out, "{sign}{:02}:{:02}", ahead / 60, ahead % 60),
        };
    }

    /// The time as a text.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = Vec::new();
        self.push(&mut out);
        String::from_utf8(out).unwrap_or_default()
    }
}

/// Takes a number of exactly so many digits.
fn number(rest: &mut &[u8], len: usize) -> Option<u32> {
    let (digits, behind) = rest.split_at_checked(len)?;
    let value = digits.iter().try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + u32::from(byte - b'0')))?;
    *rest = behind;
    Some(value)
}

fn mark(rest: &mut &[u8], mark: &[u8]) -> Option<()> {
    *rest = rest.strip_prefix(mark)?;
    Some(())
}

/// Takes the part behind the seconds, if there is one: nine digits count.
fn fraction(rest: &mut &[u8]) -> Option<u32> {
    let [b'.' | b',', digits @ ..] = *rest else { return Some(0) };
    let len = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if len == 0 {
        return None;
    }
    let digit = |at: usize| digits.get(..len).and_then(|digits| digits.get(at)).map_or(0, |byte| u32::from(byte - b'0'));
    let value = (0..9).fold(0, |sum, at| sum * 10 + digit(at));
    *rest = digits.get(len..).unwrap_or_default();
    Some(value)
}

/// Reads the zone, which is all that is left. A day and an hour's worth of
/// minutes are let through.
fn offset(rest: &[u8]) -> Option<i32> {
    let (sign, mut rest) = match rest {
        b"Z" => return Some(0),
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return None,
    };
    let hours = number(&mut rest, 2).filter(|hours| *hours <= 24)?;
    mark(&mut rest, b":")?;
    let minutes = number(&mut rest, 2).filter(|minutes| *minutes <= 60)?;
    let offset = i32::try_from(hours * 60 + minutes).ok()?;
    rest.is_empty().then_some(sign * offset)
}
