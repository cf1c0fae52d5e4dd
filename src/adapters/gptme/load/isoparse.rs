//! Timestamps: what `dateutil.parser.isoparse` takes, and what
//! `datetime.isoformat` and `datetime.fromtimestamp` give.

use super::calendar::{Date, LAST_DAY, date_of, day_number, days_in, is_leap, week_date};

/// What `isoparse` raises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// `ValueError`: no timestamp.
    Value,
    /// `OverflowError`: a day behind the last one. The loader does not catch it.
    Overflow,
}

/// A `datetime`; the offset is in minutes, and absent in a naive one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    year: i64,
    month: i64,
    day: i64,
    hour: i64,
    minute: i64,
    second: i64,
    micro: i64,
    offset: Option<i64>,
}

/// Reads a timestamp from the text of a string.
///
/// # Errors
/// As `isoparse` raises.
pub fn isoparse(text: &[u8]) -> Result<Stamp, Trouble> {
    if !text.is_ascii() {
        return Err(Trouble::Value);
    }
    let ((year, month, day), used) = match common_date(text) {
        Err(Trouble::Value) => uncommon_date(text)?,
        other => other?,
    };
    let mut stamp = Stamp { year, month, day, hour: 0, minute: 0, second: 0, micro: 0, offset: None };
    if let Some(time) = text.get(used + 1..) {
        // One character of any kind stands between date and time.
        stamp.read_time(time)?;
    }
    stamp.checked()
}

impl Stamp {
    /// When a file was last written, as `datetime.fromtimestamp(st_mtime, tz=utc)`.
    #[must_use]
    pub fn of_mtime(mtime_ns: i64) -> Stamp {
        const BILLION: i64 = 1_000_000_000;
        // `os.stat` gives a double, made from seconds and nanoseconds in just this way.
        let mtime = mtime_ns.div_euclid(BILLION) as f64 + 1e-9 * mtime_ns.rem_euclid(BILLION) as f64;
        let mut seconds = mtime.trunc() as i64;
        let mut micro = ((mtime - mtime.trunc()) * 1e6).round_ties_even() as i64;
        if micro < 0 {
            micro += 1_000_000;
            seconds -= 1;
        } else if micro >= 1_000_000 {
            micro -= 1_000_000;
            seconds += 1;
        }
        let (year, month, day) = date_of(seconds.div_euclid(86_400) + day_number(1970, 1, 1));
        let rest = seconds.rem_euclid(86_400);
        Stamp { year, month, day, hour: rest / 3600, minute: rest / 60 % 60, second: rest % 60, micro, offset: Some(0) }
    }

    fn read_time(&mut self, text: &[u8]) -> Result<(), Trouble> {
        if text.len() < 2 {
            return Err(Trouble::Value);
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
                    return Err(Trouble::Value);
                }
                at += 1;
            }
            match part {
                0 => self.hour = int(cut(text, at, at + 2))?,
                1 => self.minute = int(cut(text, at, at + 2))?,
                2 => self.second = int(cut(text, at, at + 2))?,
                3 => at += self.read_fraction(cut(text, at, text.len())),
                _ => {}
            }
            if part < 3 {
                at += 2;
            }
            part += 1;
        }
        if at < text.len() { Err(Trouble::Value) } else { Ok(()) }
    }

    /// Reads `.123` or `,123`, and says how long it was; later digits are cut off.
    fn read_fraction(&mut self, text: &[u8]) -> usize {
        let Some((b'.' | b',', digits)) = text.split_first() else { return 0 };
        let count = digits.iter().take_while(|b| b.is_ascii_digit()).count();
        if count == 0 {
            return 0;
        }
        self.micro = (0..6).fold(0, |micro, at| {
            let digit = if at < count { digits.get(at).map_or(0, |b| i64::from(b - b'0')) } else { 0 };
            micro * 10 + digit
        });
        count + 1
    }

    fn checked(mut self) -> Result<Stamp, Trouble> {
        let ends_a_day = self.hour == 24;
        if ends_a_day {
            if (self.minute, self.second, self.micro) != (0, 0, 0) {
                return Err(Trouble::Value);
            }
            self.hour = 0;
        }
        let sound = (1..=9999).contains(&self.year)
            && (1..=12).contains(&self.month)
            && (1..=days_in(self.year, self.month)).contains(&self.day)
            && (0..24).contains(&self.hour)
            && (0..60).contains(&self.minute)
            && (0..60).contains(&self.second);
        if !sound {
            return Err(Trouble::Value);
        }
        if ends_a_day {
            let next = day_number(self.year, self.month, self.day) + 1;
            if next > LAST_DAY {
                return Err(Trouble::Overflow);
            }
            (self.year, self.month, self.day) = date_of(next);
        }
        Ok(self)
    }

    /// Writes it as `isoformat` does.
    pub fn push_isoformat(&self, out: &mut Vec<u8>) {
        push_digits(self.year, 4, out);
        for (mark, value) in [(b'-', self.month), (b'-', self.day), (b'T', self.hour), (b':', self.minute), (b':', self.second)] {
            out.push(mark);
            push_digits(value, 2, out);
        }
        if self.micro != 0 {
            out.push(b'.');
            push_digits(self.micro, 6, out);
        }
        if let Some(offset) = self.offset {
            out.push(if offset < 0 { b'-' } else { b'+' });
            push_digits(offset.abs() / 60, 2, out);
            out.push(b':');
            push_digits(offset.abs() % 60, 2, out);
        }
    }
}

fn push_digits(value: i64, width: u32, out: &mut Vec<u8>) {
    for place in (0..width).rev() {
        out.push(b'0' + (value / 10_i64.pow(place) % 10) as u8);
    }
}

/// A slice as Python cuts one: what lies behind the end is not there.
fn cut(text: &[u8], from: usize, to: usize) -> &[u8] {
    text.get(from..to.min(text.len())).unwrap_or_default()
}

/// `int()` of a few bytes: white space around them, a sign, and single
/// underscores between digits are all accepted.
fn int(bytes: &[u8]) -> Result<i64, Trouble> {
    if !bytes.is_empty() && bytes.iter().all(u8::is_ascii_digit) {
        return Ok(value_of(bytes));
    }
    let blank = |b: &u8| matches!(b, b' ' | b'\t' | b'\n' | b'\r' | 0x0b | 0x0c);
    let start = bytes.iter().position(|b| !blank(b)).ok_or(Trouble::Value)?;
    let end = bytes.iter().rposition(|b| !blank(b)).map_or(0, |last| last + 1);
    let (sign, digits) = match cut(bytes, start, end) {
        [b'-', digits @ ..] => (-1, digits),
        [b'+', digits @ ..] => (1, digits),
        digits => (1, digits),
    };
    let mut groups = digits.split(|&b| b == b'_');
    if groups.any(|group| group.is_empty() || !group.iter().all(u8::is_ascii_digit)) {
        return Err(Trouble::Value);
    }
    Ok(sign * value_of(digits))
}

fn value_of(digits: &[u8]) -> i64 {
    digits.iter().filter(|b| **b != b'_').fold(0, |value, &b| value * 10 + i64::from(b - b'0'))
}

/// `YYYY`, `YYYY-MM`, `YYYY-MM-DD` and `YYYYMMDD`; ranges are checked later.
fn common_date(text: &[u8]) -> Result<(Date, usize), Trouble> {
    if text.len() < 4 {
        return Err(Trouble::Value);
    }
    let year = int(cut(text, 0, 4))?;
    let mut at = 4;
    if text.len() == at {
        return Ok(((year, 1, 1), at));
    }
    let has_dashes = text.get(at) == Some(&b'-');
    at += usize::from(has_dashes);
    if text.len() < at + 2 {
        return Err(Trouble::Value);
    }
    let month = int(cut(text, at, at + 2))?;
    at += 2;
    if text.len() <= at {
        return if has_dashes { Ok(((year, month, 1), at)) } else { Err(Trouble::Value) };
    }
    if has_dashes {
        if text.get(at) != Some(&b'-') {
            return Err(Trouble::Value);
        }
        at += 1;
    }
    if text.len() < at + 2 {
        return Err(Trouble::Value);
    }
    Ok(((year, month, int(cut(text, at, at + 2))?), at + 2))
}

/// `YYYY-Www`, `YYYYWww`, `YYYY-Www-D`, `YYYYWwwD`, `YYYY-DDD` and `YYYYDDD`.
fn uncommon_date(text: &[u8]) -> Result<(Date, usize), Trouble> {
    if text.len() < 4 {
        return Err(Trouble::Value);
    }
    let year = int(cut(text, 0, 4))?;
    let has_dashes = text.get(4) == Some(&b'-');
    let mut at = 4 + usize::from(has_dashes);
    if text.get(at) != Some(&b'W') {
        if text.len() < at + 3 {
            return Err(Trouble::Value);
        }
        let day = int(cut(text, at, at + 3))?;
        if !(1..=365 + i64::from(is_leap(year))).contains(&day) || !(1..=9999).contains(&year) {
            return Err(Trouble::Value);
        }
        return Ok((date_of(day_number(year, 1, 1) + day - 1), at + 3));
    }
    let week = int(cut(text, at + 1, at + 3))?;
    at += 3;
    let mut day = 1;
    if text.len() > at {
        if (text.get(at) == Some(&b'-')) != has_dashes {
            return Err(Trouble::Value);
        }
        at += usize::from(has_dashes);
        day = int(cut(text, at, at + 1))?;
        at += 1;
    }
    let number = week_date(year, week, day).ok_or(Trouble::Value)?;
    if number > LAST_DAY { Err(Trouble::Overflow) } else { Ok((date_of(number), at)) }
}

/// A zone's minutes east of Greenwich.
fn zone(text: &[u8]) -> Result<i64, Trouble> {
    if let b"Z" | b"z" = text {
        return Ok(0);
    }
    let sign = match text.first() {
        _ if !matches!(text.len(), 3 | 5 | 6) => return Err(Trouble::Value),
        Some(b'-') => -1,
        Some(b'+') => 1,
        _ => return Err(Trouble::Value),
    };
    let hours = int(cut(text, 1, 3))?;
    let minutes = match text.get(3) {
        None => 0,
        Some(b':') => int(cut(text, 4, text.len()))?,
        Some(_) => int(cut(text, 3, text.len()))?,
    };
    if minutes > 59 || hours > 23 { Err(Trouble::Value) } else { Ok(sign * (hours * 60 + minutes)) }
}

#[cfg(test)]
mod tests;
