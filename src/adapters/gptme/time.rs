//! gptme's message times: everything that dateutil's `isoparse` takes, and
//! Python's `isoformat` of it.

use crate::model::time::days_in_month;

/// A point in time, with or without a zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    days: i64,
    seconds: i64,
    micros: u32,
    /// Minutes east of UTC.
    offset: Option<i64>,
}

/// Why a text is no time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NoTime {
    /// Not a time: the line is skipped.
    Rejected,
    /// Past the year 9999: the whole load fails.
    Overflow,
}

/// The first and last day that Python's `datetime` has, from 0001-01-01.
const LAST_DAY: i64 = 3_652_058;

/// Days from 0001-01-01 to this day.
fn day_number(year: i64, month: i64, day: i64) -> Option<i64> {
    let (y, m) = (u32::try_from(year).ok()?, u32::try_from(month).ok()?);
    if !(1..=9999).contains(&year) || !(1..=12).contains(&month) || day < 1 || day > i64::from(days_in_month(y, m)) {
        return None;
    }
    let before = year - 1;
    let months: i64 = (1..m).map(|month| i64::from(days_in_month(y, month))).sum();
    Some(before * 365 + before / 4 - before / 100 + before / 400 + months + day - 1)
}

fn date_of(days: i64) -> (u32, u32, i64) {
    let mut year = (days / 366 + 1) as u32;
    while day_number(i64::from(year) + 1, 1, 1).is_some_and(|next| next <= days) {
        year += 1;
    }
    let mut left = days - day_number(i64::from(year), 1, 1).unwrap_or(0);
    let mut month = 1;
    while left >= i64::from(days_in_month(year, month)) {
        left -= i64::from(days_in_month(year, month));
        month += 1;
    }
    (year, month, left + 1)
}

impl Stamp {
    /// A file's time as the program reads it: through a double, to the
    /// microsecond, half to even, in UTC.
    pub(super) fn of_file(mtime_ns: i64) -> Stamp {
        let whole = mtime_ns.div_euclid(1_000_000_000);
        let time = whole as f64 + 1e-9 * mtime_ns.rem_euclid(1_000_000_000) as f64;
        let floor = time.floor();
        let micros = ((time - floor) * 1e6).round_ties_even() as i64;
        let seconds = floor as i64 + micros / 1_000_000;
        let epoch = day_number(1970, 1, 1).unwrap_or(0);
        Stamp {
            days: (epoch + seconds.div_euclid(86_400)).clamp(0, LAST_DAY),
            seconds: seconds.rem_euclid(86_400),
            micros: (micros % 1_000_000) as u32,
            offset: Some(0),
        }
    }

    /// What Python's `isoformat` prints.
    pub(super) fn isoformat(self) -> String {
        let (year, month, day) = date_of(self.days);
        let (hour, minute, second) = (self.seconds / 3600, self.seconds / 60 % 60, self.seconds % 60);
        let mut text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
        if self.micros > 0 {
            text.push_str(&format!(".{:06}", self.micros));
        }
        if let Some(offset) = self.offset {
            let sign = if offset < 0 { '-' } else { '+' };
            text.push_str(&format!("{sign}{:02}:{:02}", offset.abs() / 60, offset.abs() % 60));
        }
        text
    }

    /// Reads what `isoparse` reads.
    pub(super) fn parse(text: &str) -> Result<Stamp, NoTime> {
        let text = text.as_bytes();
        if !text.is_ascii() {
            return Err(NoTime::Rejected);
        }
        let (days, len) = match common_date(text) {
            Some(date) => date,
            None => {
                let (days, len) = uncommon_date(text)?;
                (Date::Days(days), len)
            }
        };
        let clock = match text.get(len + 1..) {
            Some(time) => clock(time).ok_or(NoTime::Rejected)?,
            None if text.len() > len => return Err(NoTime::Rejected),
            None => Clock::default(),
        };
        // The calendar is asked last, as `datetime` is.
        let mut days = match days {
            Date::Days(days) => days,
            Date::Parts(year, month, day) => day_number(year, month, day).ok_or(NoTime::Rejected)?,
        };
        let mut hour = clock.parts[0];
        if hour == 24 {
            hour = 0;
            days += 1;
        }
        let [_, minute, second] = clock.parts;
        if !(0..24).contains(&hour) || !(0..60).contains(&minute) || !(0..60).contains(&second) {
            return Err(NoTime::Rejected);
        }
        if days > LAST_DAY {
            return Err(NoTime::Overflow);
        }
        Ok(Stamp { days, seconds: hour * 3600 + minute * 60 + second, micros: clock.micros, offset: clock.offset })
    }
}

enum Date {
    Days(i64),
    Parts(i64, i64, i64),
}

/// Python's `int()` of a few bytes: blanks around, a sign, and single
/// underscores between digits are all taken.
fn python_int(text: &[u8]) -> Option<i64> {
    let is_blank = |b: &u8| matches!(b, b'\t'..=b'\r' | b' ');
    let start = text.iter().position(|b| !is_blank(b))?;
    let end = text.iter().rposition(|b| !is_blank(b))? + 1;
    let text = &text[start..end];
    let (negative, digits) = match text.first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let mut value: i64 = 0;
    let mut after_digit = false;
    for &byte in digits {
        match byte {
            b'0'..=b'9' => {
                value = value.checked_mul(10)?.checked_add(i64::from(byte - b'0'))?;
                after_digit = true;
            }
            b'_' if after_digit => after_digit = false,
            _ => return None,
        }
    }
    after_digit.then_some(if negative { -value } else { value })
}

fn slice(text: &[u8], from: usize, len: usize) -> &[u8] {
    let from = from.min(text.len());
    &text[from..(from + len).min(text.len())]
}

/// `YYYY`, `YYYY-MM`, `YYYY-MM-DD`, `YYYYMMDD`.
fn common_date(text: &[u8]) -> Option<(Date, usize)> {
    if text.len() < 4 {
        return None;
    }
    let year = python_int(&text[..4])?;
    if text.len() == 4 {
        return Some((Date::Parts(year, 1, 1), 4));
    }
    let dashed = text[4] == b'-';
    let mut at = 4 + usize::from(dashed);
    if text.len() - at < 2 {
        return None;
    }
    let month = python_int(slice(text, at, 2))?;
    at += 2;
    if at >= text.len() {
        return dashed.then_some((Date::Parts(year, month, 1), at));
    }
    if dashed {
        if text[at] != b'-' {
            return None;
        }
        at += 1;
    }
    if text.len() - at < 2 {
        return None;
    }
    Some((Date::Parts(year, month, python_int(slice(text, at, 2))?), at + 2))
}

/// `YYYY-Www[-D]`, `YYYYWww[D]`, `YYYY-DDD`, `YYYYDDD`.
fn uncommon_date(text: &[u8]) -> Result<(i64, usize), NoTime> {
    let year = slice(text, 0, 4);
    if year.len() < 4 {
        return Err(NoTime::Rejected);
    }
    let year = python_int(year).ok_or(NoTime::Rejected)?;
    let dashed = text.get(4) == Some(&b'-');
    let mut at = 4 + usize::from(dashed);
    if text.get(at) != Some(&b'W') {
        if text.len().saturating_sub(at) < 3 {
            return Err(NoTime::Rejected);
        }
        let day = python_int(slice(text, at, 3)).ok_or(NoTime::Rejected)?;
        let first = day_number(year, 1, 1).ok_or(NoTime::Rejected)?;
        let in_year = 365 + i64::from(days_in_month(year as u32, 2) == 29);
        if !(1..=in_year).contains(&day) {
            return Err(NoTime::Rejected);
        }
        return Ok((first + day - 1, at + 3));
    }
    at += 1;
    let week = python_int(slice(text, at, 2)).ok_or(NoTime::Rejected)?;
    at += 2;
    let mut day = 1;
    if text.len() > at {
        if (text[at] == b'-') != dashed {
            return Err(NoTime::Rejected);
        }
        at += usize::from(dashed);
        day = python_int(slice(text, at, 1)).ok_or(NoTime::Rejected)?;
        at += 1;
    }
    if !(1..54).contains(&week) || !(1..8).contains(&day) {
        return Err(NoTime::Rejected);
    }
    let fourth = day_number(year, 1, 4).ok_or(NoTime::Rejected)?;
    // 0001-01-01 was a Monday.
    let days = fourth - fourth.rem_euclid(7) + (week - 1) * 7 + day - 1;
    if (0..=LAST_DAY).contains(&days) { Ok((days, at)) } else { Err(NoTime::Overflow) }
}

#[derive(Default)]
struct Clock {
    parts: [i64; 3],
    micros: u32,
    offset: Option<i64>,
}

fn clock(text: &[u8]) -> Option<Clock> {
    if text.len() < 2 {
        return None;
    }
    let mut clock = Clock::default();
    let mut at = 0;
    let mut coloned = false;
    let mut part = 0;
    while at < text.len() && part < 6 {
        if matches!(text[at], b'-' | b'+' | b'Z' | b'z') {
            clock.offset = Some(offset(&text[at..])?);
            at = text.len();
            break;
        }
        if part == 1 && text[at] == b':' {
            coloned = true;
            at += 1;
        } else if part == 2 && coloned {
            if text[at] != b':' {
                return None;
            }
            at += 1;
        }
        if part < 3 {
            clock.parts[part] = python_int(slice(text, at, 2))?;
            at += 2;
        }
        if part == 3 && matches!(text[at], b'.' | b',') {
            let digits = text[at + 1..].iter().take_while(|b| b.is_ascii_digit()).count();
            if digits > 0 {
                let kept = &text[at + 1..at + 1 + digits.min(6)];
                let value = python_int(kept)? as u32;
                clock.micros = value * 10u32.pow(6 - kept.len() as u32);
                at += 1 + digits;
            }
        }
        part += 1;
    }
    if at < text.len() {
        return None;
    }
    if clock.parts[0] == 24 && (clock.parts[1] != 0 || clock.parts[2] != 0 || clock.micros != 0) {
        return None;
    }
    Some(clock)
}

fn offset(text: &[u8]) -> Option<i64> {
    if text == b"Z" || text == b"z" {
        return Some(0);
    }
    if !matches!(text.len(), 3 | 5 | 6) {
        return None;
    }
    let sign = match text[0] {
        b'-' => -1,
        b'+' => 1,
        _ => return None,
    };
    let hours = python_int(&text[1..3])?;
    let minutes = match text.len() {
        3 => 0,
        _ => python_int(&text[if text[3] == b':' { 4 } else { 3 }..])?,
    };
    if minutes > 59 || hours > 23 {
        return None;
    }
    Some(sign * (hours * 60 + minutes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn takes_what_dateutil_takes() {
        for (text, want) in [
            ("2026-11-15T20:00:00Z", "2026-11-15T20:00:00+00:00"),
            ("2026-11-15T20:00:00.123456789", "2026-11-15T20:00:00.123456"),
            ("2026-11-15T20:00:00.5+05:30", "2026-11-15T20:00:00.500000+05:30"),
            ("2026-11-15", "2026-11-15T00:00:00"),
            ("20261115T200000", "2026-11-15T20:00:00"),
            ("2026-W46-7T01:02:03", "2026-11-15T01:02:03"),
            ("2026-11-15T24:00:00", "2026-11-16T00:00:00"),
            ("2026-11-15T20:00:00,25", "2026-11-15T20:00:00.250000"),
            ("2026-11", "2026-11-01T00:00:00"),
            ("2026", "2026-01-01T00:00:00"),
            ("2026-11-15T20:00:00-00:00", "2026-11-15T20:00:00+00:00"),
            ("2026- 3- 4", "2026-03-04T00:00:00"),
            ("2026-1_5", "2026-01-15T00:00:00"),
            ("2026-03-04505:06:07", "2026-03-04T05:06:07"),
            ("2026-01-01T00:00+05:-9", "2026-01-01T00:00:00+04:51"),
            ("2027-W53-1", "2028-01-03T00:00:00"),
            ("2025060", "2025-03-01T00:00:00"),
            ("2026-01-01T+05:00", "2026-01-01T00:00:00+05:00"),
        ] {
            assert_eq!(Stamp::parse(text).map(Stamp::isoformat), Ok(want.to_owned()), "{text}");
        }
        for text in ["", "2026-13-15", "202603", "2026-11-15T20:00:00 UTC", "2026-02-29", "2026-11-15T24:00:01", "2026-W5T05:00", "1é"] {
            assert_eq!(Stamp::parse(text), Err(NoTime::Rejected), "{text}");
        }
        for text in ["9999-12-31T24:00", "9999-W53-1"] {
            assert_eq!(Stamp::parse(text), Err(NoTime::Overflow), "{text}");
        }
    }

    #[test]
    fn a_files_time_goes_through_a_double() {
        assert_eq!(Stamp::of_file(1_696_000_000_250_000_000).isoformat(), "2023-09-29T15:06:40.250000+00:00");
        assert_eq!(Stamp::of_file(1_696_000_000_123_456_550).isoformat(), "2023-09-29T15:06:40.123456+00:00");
        assert_eq!(Stamp::of_file(1_696_000_000_123_402_480).isoformat(), "2023-09-29T15:06:40.123403+00:00");
    }
}
