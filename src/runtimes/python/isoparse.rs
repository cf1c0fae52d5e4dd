//! `dateutil.parser.isoparse`, version 2.9.

use jiff::civil::Date;

use super::datetime::{DateTime, plus_days};
use super::exception::Exception;

/// A date as far as it has been checked: `isoparse` checks the range of a month
/// and a day only after it has parsed the time.
#[derive(Debug, Clone, Copy)]
enum Day {
    Parts(i64, i64, i64),
    Date(Date),
}

/// The time of a day as it was parsed.
#[derive(Debug, Default)]
struct Clock {
    hour: i64,
    minute: i64,
    second: i64,
    microsecond: i64,
    offset: Option<i64>,
}

/// Parses a timestamp.
///
/// # Errors
/// `ValueError` where the text is not a timestamp, and `OverflowError` for a day
/// after 9999-12-31.
pub fn isoparse(text: &[u8]) -> Result<DateTime, Exception> {
    if !text.is_ascii() {
        return Err(Exception::Value);
    }
    let (day, used) = match common_date(text) {
        Err(_) => uncommon_date(text)?,
        Ok(found) => found,
    };
    let mut clock = Clock::default();
    if let Some(time) = text.get(used + 1..) {
        // One character of any kind separates date and time.
        clock.parse(time)?;
    }
    clock.on(day)
}

impl Clock {
    fn parse(&mut self, text: &[u8]) -> Result<(), Exception> {
        if text.len() < 2 {
            return Err(Exception::Value);
        }
        let mut at = 0;
        let mut has_colons = false;
        let mut part = 0;
        // Hour, minute, second, fraction, zone, and one more try for the zone.
        while at < text.len() && part <= 5 {
            if let Some(b'-' | b'+' | b'Z' | b'z') = text.get(at) {
                self.offset = Some(zone(cut(text, at, text.len()))?);
                at = text.len();
                break;
            }
            if part == 1 && text.get(at) == Some(&b':') {
                has_colons = true;
                at += 1;
            } else if part == 2 && has_colons {
                if text.get(at) != Some(&b':') {
                    return Err(Exception::Value);
                }
                at += 1;
            }
            match part {
                0 => self.hour = int(cut(text, at, at + 2))?,
                1 => self.minute = int(cut(text, at, at + 2))?,
                2 => self.second = int(cut(text, at, at + 2))?,
                3 => at += self.parse_fraction(cut(text, at, text.len())),
                _ => {}
            }
            if part < 3 {
                at += 2;
            }
            part += 1;
        }
        if at < text.len() { Err(Exception::Value) } else { Ok(()) }
    }

    /// Parses `.123` or `,123` and gives its length; digits after the sixth are
    /// cut off.
    fn parse_fraction(&mut self, text: &[u8]) -> usize {
        let Some((b'.' | b',', digits)) = text.split_first() else { return 0 };
        let count = digits.iter().take_while(|b| b.is_ascii_digit()).count();
        if count == 0 {
            return 0;
        }
        let digit = |at: usize| digits.get(at).filter(|_| at < count).map_or(0, |b| i64::from(b - b'0'));
        self.microsecond = (0..6).fold(0, |value, at| value * 10 + digit(at));
        count + 1
    }

    /// Returns the moment on a day. Hour 24 is midnight of the next day.
    fn on(mut self, day: Day) -> Result<DateTime, Exception> {
        let ends_a_day = self.hour == 24;
        if ends_a_day {
            if (self.minute, self.second, self.microsecond) != (0, 0, 0) {
                return Err(Exception::Value);
            }
            self.hour = 0;
        }
        let date = match day {
            Day::Date(date) => date,
            Day::Parts(year, month, day) => date(year, month, day).ok_or(Exception::Value)?,
        };
        if !(0..24).contains(&self.hour) || !(0..60).contains(&self.minute) || !(0..60).contains(&self.second) {
            return Err(Exception::Value);
        }
        let date = if ends_a_day { plus_days(date, 1).ok_or(Exception::Overflow)? } else { date };
        let second_of_day = self.hour * 3600 + self.minute * 60 + self.second;
        Ok(DateTime { date, second_of_day, microsecond: self.microsecond, offset: self.offset })
    }
}

/// Returns a date that Python's `datetime` can hold, which begins with the year 1.
fn date(year: i64, month: i64, day: i64) -> Option<Date> {
    let (year, month, day) = (i16::try_from(year).ok()?, i8::try_from(month).ok()?, i8::try_from(day).ok()?);
    if year < 1 { None } else { Date::new(year, month, day).ok() }
}

/// Returns a slice as Python cuts one: what lies after the end is not there.
fn cut(text: &[u8], from: usize, to: usize) -> &[u8] {
    text.get(from..to.min(text.len())).unwrap_or_default()
}

/// `int()` of at most six bytes of ASCII: white space around them, a sign, and
/// single underscores between digits are all accepted.
fn int(bytes: &[u8]) -> Result<i64, Exception> {
    let value_of = |digits: &[u8]| digits.iter().filter(|b| **b != b'_').fold(0, |value, &b| value * 10 + i64::from(b - b'0'));
    if !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit) {
        return Ok(value_of(bytes));
    }
    let (sign, digits) = match super::text::strip_bytes(bytes) {
        [b'-', digits @ ..] => (-1, digits),
        [b'+', digits @ ..] => (1, digits),
        digits => (1, digits),
    };
    let mut groups = digits.split(|&b| b == b'_');
    if groups.any(|group| group.is_empty() || !group.iter().all(u8::is_ascii_digit)) {
        return Err(Exception::Value);
    }
    Ok(sign * value_of(digits))
}

/// `YYYY`, `YYYY-MM`, `YYYY-MM-DD` and `YYYYMMDD`.
fn common_date(text: &[u8]) -> Result<(Day, usize), Exception> {
    if text.len() < 4 {
        return Err(Exception::Value);
    }
    let year = int(cut(text, 0, 4))?;
    let mut at = 4;
    if text.len() == at {
        return Ok((Day::Parts(year, 1, 1), at));
    }
    let has_dashes = text.get(at) == Some(&b'-');
    at += usize::from(has_dashes);
    if text.len() < at + 2 {
        return Err(Exception::Value);
    }
    let month = int(cut(text, at, at + 2))?;
    at += 2;
    if text.len() <= at {
        return if has_dashes { Ok((Day::Parts(year, month, 1), at)) } else { Err(Exception::Value) };
    }
    if has_dashes {
        if text.get(at) != Some(&b'-') {
            return Err(Exception::Value);
        }
        at += 1;
    }
    if text.len() < at + 2 {
        return Err(Exception::Value);
    }
    Ok((Day::Parts(year, month, int(cut(text, at, at + 2))?), at + 2))
}

/// `YYYY-Www`, `YYYYWww`, `YYYY-Www-D`, `YYYYWwwD`, `YYYY-DDD` and `YYYYDDD`.
fn uncommon_date(text: &[u8]) -> Result<(Day, usize), Exception> {
    if text.len() < 4 {
        return Err(Exception::Value);
    }
    let year = int(cut(text, 0, 4))?;
    let has_dashes = text.get(4) == Some(&b'-');
    let mut at = 4 + usize::from(has_dashes);
    if text.get(at) != Some(&b'W') {
        if text.len() < at + 3 {
            return Err(Exception::Value);
        }
        let day = int(cut(text, at, at + 3))?;
        let first = date(year, 1, 1).ok_or(Exception::Value)?;
        if !(1..=i64::from(first.days_in_year())).contains(&day) {
            return Err(Exception::Value);
        }
        return Ok((Day::Date(plus_days(first, day - 1).ok_or(Exception::Overflow)?), at + 3));
    }
    let week = int(cut(text, at + 1, at + 3))?;
    at += 3;
    let mut day = 1;
    if text.len() > at {
        if (text.get(at) == Some(&b'-')) != has_dashes {
            return Err(Exception::Value);
        }
        at += usize::from(has_dashes);
        day = int(cut(text, at, at + 1))?;
        at += 1;
    }
    Ok((Day::Date(week_date(year, week, day)?), at))
}

/// Returns a day of an ISO week. Every year has 53 weeks here, as `dateutil` counts; the
/// last one may reach into the next year.
fn week_date(year: i64, week: i64, day: i64) -> Result<Date, Exception> {
    if !(1..54).contains(&week) || !(1..8).contains(&day) {
        return Err(Exception::Value);
    }
    // The first week is the one with January 4th in it.
    let fourth = date(year, 1, 4).ok_or(Exception::Value)?;
    let monday = -i64::from(fourth.weekday().to_monday_zero_offset());
    plus_days(fourth, monday + (week - 1) * 7 + day - 1).ok_or(Exception::Overflow)
}

/// Returns a zone's minutes east of UTC.
fn zone(text: &[u8]) -> Result<i64, Exception> {
    if let b"Z" | b"z" = text {
        return Ok(0);
    }
    let sign = match text.first() {
        _ if !matches!(text.len(), 3 | 5 | 6) => return Err(Exception::Value),
        Some(b'-') => -1,
        Some(b'+') => 1,
        _ => return Err(Exception::Value),
    };
    let hours = int(cut(text, 1, 3))?;
    let minutes = match text.get(3) {
        None => 0,
        Some(b':') => int(cut(text, 4, text.len()))?,
        Some(_) => int(cut(text, 3, text.len()))?,
    };
    if minutes > 59 || hours > 23 { Err(Exception::Value) } else { Ok(sign * (hours * 60 + minutes)) }
}
