//! Texts as points in time, the way V8's `Date` reads them: the standard form,
//! and where that breaks off, almost anything with numbers in it. A time
//! without a zone is taken as UTC, because a log is the same in every zone.

use super::js;

/// The milliseconds since the epoch; `None` where the text is no date.
pub(in crate::adapters) fn date(text: &str) -> Option<i64> {
    let mut read = Reading { tokens: tokens(text), at: 0, ..Reading::default() };
    match read.standard() {
        Ok(()) => {}
        Err(Stop::Wrong) => return None,
        Err(Stop::GoOnFrom(at)) => {
            read.at = at;
            read.lenient()?;
        }
    }
    clipped(read.day()? as f64 * 86_400_000.0 + read.clock()? as f64 - read.offset() as f64)
}

/// A number of milliseconds as a `Date` holds it.
pub(in crate::adapters) fn clipped(ms: f64) -> Option<i64> {
    // Further than this from the epoch there are no dates.
    (ms.abs() <= 8.64e15).then_some(ms as i64)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token {
    /// Its value, of nine digits at most, and how many digits there were.
    Number(i64, usize),
    /// `:`, `-`, `+`, `.` or `)`.
    Sign(u8),
    Month(i64),
    /// Hours to add to those before noon.
    Noon(i64),
    /// Hours from UTC, and whether it is the letter `Z`.
    Zone(i64, bool),
    T,
    OtherWord,
    Space,
    Other,
    End,
}

/// Months and zones in three letters; only a month's name may be longer.
const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const ZONES: [(&str, i64); 12] = [
    ("ut", 0),
    ("utc", 0),
    ("z", 0),
    ("gmt", 0),
    ("est", -5),
    ("edt", -4),
    ("cst", -6),
    ("cdt", -5),
    ("mst", -7),
    ("mdt", -6),
    ("pst", -8),
    ("pdt", -7),
];

fn tokens(text: &str) -> Vec<Token> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&c) = chars.get(at) {
        let run = |is: &dyn Fn(char) -> bool| chars[at..].iter().take_while(|c| is(**c)).count();
        let (token, len) = match c {
            '0'..='9' => {
                let len = run(&|c| c.is_ascii_digit());
                let zeros = run(&|c| c == '0');
                let value = chars[at + zeros..at + len].iter().take(9).fold(0, |sum, c| sum * 10 + i64::from(*c as u32 - '0' as u32));
                (Token::Number(value, len), len)
            }
            ':' | '-' | '+' | '.' | ')' => (Token::Sign(c as u8), 1),
            _ if js::is_space(c) => (Token::Space, 1),
            'A'.. => {
                let len = run(&|c| c >= 'A' && !js::is_space(c));
                (word(&chars[at..at + len]), len)
            }
            '(' => (Token::Other, bracketed(&chars[at..])),
            _ => (Token::Other, 1),
        };
        tokens.push(token);
        at += len;
    }
    tokens
}

/// What is in brackets is passed over, however they are nested.
fn bracketed(chars: &[char]) -> usize {
    let mut depth = 0;
    for (n, c) in chars.iter().enumerate() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            '\0' => return n,
            _ => {}
        }
        if depth == 0 {
            return n + 1;
        }
    }
    chars.len()
}

fn word(chars: &[char]) -> Token {
    let start: String = chars.iter().take(3).map(char::to_ascii_lowercase).collect();
    if let Some(month) = MONTHS.iter().position(|month| *month == start) {
        return Token::Month(month as i64 + 1);
    }
    if chars.len() > 3 {
        return Token::OtherWord;
    }
    match start.as_str() {
        "am" => Token::Noon(0),
        "pm" => Token::Noon(12),
        "t" => Token::T,
        _ => ZONES.iter().find(|(zone, _)| *zone == start).map_or(Token::OtherWord, |(zone, hours)| Token::Zone(*hours, *zone == "z")),
    }
}

/// Why the standard form was not followed to the end.
enum Stop {
    /// The lenient reading goes on from this token.
    GoOnFrom(usize),
    Wrong,
}

#[derive(Default)]
struct Reading {
    tokens: Vec<Token>,
    at: usize,
    /// Up to three numbers of a day, in whichever order.
    days: Vec<i64>,
    named_month: Option<i64>,
    is_standard: bool,
    /// Hour, minute, second, millisecond.
    times: Vec<i64>,
    noon: Option<i64>,
    zone_sign: Option<i64>,
    zone_hour: Option<i64>,
    zone_minute: Option<i64>,
}

impl Reading {
    fn peek(&self) -> Token {
        self.tokens.get(self.at).copied().unwrap_or(Token::End)
    }

    fn next(&mut self) -> Token {
        let token = self.peek();
        self.at += 1;
        token
    }

    fn skip(&mut self, sign: u8) -> bool {
        let is_there = self.peek() == Token::Sign(sign);
        self.at += usize::from(is_there);
        is_there
    }

    /// The next token, where it is a number of so many digits in this range.
    fn digits(&mut self, len: usize, last: i64) -> Option<i64> {
        let Token::Number(value, digits) = self.peek() else { return None };
        let fits = digits == len && value <= last;
        self.at += usize::from(fits);
        fits.then_some(value)
    }

    /// The sign of what follows, where the next token is one.
    fn sign(&mut self) -> Option<i64> {
        let Token::Sign(sign @ (b'+' | b'-')) = self.peek() else { return None };
        self.at += 1;
        Some(if sign == b'-' { -1 } else { 1 })
    }

    /// `YYYY-MM-DDTHH:MM:SS.sss` with a zone, and the shorter forms of it.
    fn standard(&mut self) -> Result<(), Stop> {
        if let Some(sign) = self.sign() {
            let year = self.digits(6, 999_999).ok_or(Stop::GoOnFrom(0))?;
            if sign < 0 && year == 0 {
                // Both are passed over.
                return Err(Stop::GoOnFrom(self.at));
            }
            self.days.push(sign * year);
        } else {
            let year = self.digits(4, 9999).ok_or(Stop::GoOnFrom(0))?;
            self.days.push(year);
        }
        for last in [12, 31] {
            if !self.skip(b'-') {
                break;
            }
            let part = self.digits(2, last);
            let Some(part) = part.filter(|part| *part > 0) else {
                // A zero was taken as a number of two digits.
                return Err(Stop::GoOnFrom(if part.is_some() { self.at - 1 } else { self.at }));
            };
            self.days.push(part);
        }
        if self.peek() == Token::T {
            self.at += 1;
            self.standard_clock().ok_or(Stop::Wrong)?;
            if self.peek() != Token::End {
                return Err(Stop::Wrong);
            }
        } else if self.peek() != Token::End {
            return Err(Stop::GoOnFrom(self.at));
        }
        self.is_standard = true;
        Ok(())
    }

    fn standard_clock(&mut self) -> Option<()> {
        let hour = self.digits(2, 24)?;
        let last = if hour == 24 { 0 } else { 59 };
        self.times.push(hour);
        self.skip(b':').then_some(())?;
        let minute = self.digits(2, last)?;
        self.times.push(minute);
        if self.skip(b':') {
            let second = self.digits(2, last)?;
            self.times.push(second);
            if self.skip(b'.') {
                let Token::Number(value, len) = self.next() else { return None };
                (hour < 24 || value == 0).then_some(())?;
                self.times.push(thousandths(value, len));
            }
        }
        if matches!(self.peek(), Token::Zone(_, true)) {
            self.at += 1;
            self.set_zone(0);
        } else if let Some(sign) = self.sign() {
            self.zone_sign = Some(sign);
            let (hour, minute) = match self.digits(4, 9999) {
                Some(both) => (both / 100, both % 100),
                None => {
                    let hour = self.digits(2, 23)?;
                    self.skip(b':').then_some(())?;
                    (hour, self.digits(2, 59)?)
                }
            };
            (hour < 24 && minute < 60).then_some(())?;
            (self.zone_hour, self.zone_minute) = (Some(hour), Some(minute));
        }
        Some(())
    }

    fn set_zone(&mut self, hours: i64) {
        self.zone_sign = Some(if hours < 0 { -1 } else { 1 });
        (self.zone_hour, self.zone_minute) = (Some(hours.abs()), Some(0));
    }

    fn lenient(&mut self) -> Option<()> {
        let mut has_number = !self.days.is_empty();
        loop {
            match self.next() {
                Token::End => return Some(()),
                Token::Number(value, _) => {
                    has_number = true;
                    self.lenient_number(value)?;
                }
                Token::Noon(hours) if !self.times.is_empty() => self.noon = Some(hours),
                Token::Month(month) => {
                    self.named_month = Some(month);
                    self.skip(b'-');
                }
                Token::Zone(hours, _) if has_number => self.set_zone(hours),
                Token::Noon(_) | Token::Zone(..) | Token::T | Token::OtherWord => {
                    // Words may only stand before all numbers, and apart.
                    if has_number || matches!(self.peek(), Token::Number(..)) {
                        return None;
                    }
                }
                Token::Sign(sign @ (b'+' | b'-')) if self.is_utc() || !self.times.is_empty() => {
                    has_number = true;
                    self.lenient_zone(if sign == b'-' { -1 } else { 1 })?;
                }
                Token::Sign(b'+' | b'-' | b')') if has_number => return None,
                Token::Sign(_) | Token::Space | Token::Other => {}
            }
        }
    }

    fn is_utc(&self) -> bool {
        (self.zone_hour, self.zone_minute) == (Some(0), Some(0))
    }

    /// Whether a number can be the next part of the time.
    fn wants_time(&self, value: i64) -> bool {
        match self.times.len() {
            1 | 2 => value < 60,
            3 => value < 1000,
            _ => false,
        }
    }

    fn lenient_number(&mut self, value: i64) -> Option<()> {
        if self.skip(b':') {
            if self.skip(b':') {
                self.times.is_empty().then_some(())?;
                self.times.extend([value, 0]);
            } else {
                (self.times.len() < 4).then(|| self.times.push(value))?;
                self.skip(b'.');
            }
            return Some(());
        }
        if self.skip(b'.') && self.wants_time(value) {
            self.times.push(value);
            let Token::Number(rest, len) = self.next() else { return None };
            return self.last_of_time(thousandths(rest, len));
        }
        if self.zone_hour.is_some() && self.zone_minute.is_none() && value < 60 {
            self.zone_minute = Some(value);
            return Some(());
        }
        if self.wants_time(value) {
            self.last_of_time(value)?;
            let may_follow = matches!(self.peek(), Token::End | Token::Space | Token::Zone(_, true) | Token::Sign(b'+' | b'-'));
            return may_follow.then_some(());
        }
        (self.days.len() < 3).then(|| self.days.push(value))?;
        self.skip(b'-');
        Some(())
    }

    fn last_of_time(&mut self, value: i64) -> Option<()> {
        (self.times.len() < 4).then(|| self.times.push(value))?;
        self.times.resize(4, 0);
        Some(())
    }

    fn lenient_zone(&mut self, sign: i64) -> Option<()> {
        self.zone_sign = Some(sign);
        let (mut value, mut len) = (0, 0);
        if let Token::Number(next, digits) = self.peek() {
            self.at += 1;
            (value, len) = (next, digits);
        }
        (self.zone_hour, self.zone_minute) = match len {
            _ if self.peek() == Token::Sign(b':') => (Some(value), None),
            1 | 2 => (Some(value), Some(0)),
            3 | 4 => (Some(value / 100), Some(value % 100)),
            _ => return None,
        };
        Some(())
    }

    /// Days since the epoch.
    fn day(&self) -> Option<i64> {
        let first = *self.days.first()?;
        let part = |at: usize| self.days.get(at).copied().unwrap_or(1);
        let is_day = |value: i64| (1..=31).contains(&value);
        let (mut year, month, day) = match self.named_month {
            None if self.is_standard || !is_day(first) => (first, part(1), part(2)),
            None => (part(2), first, part(1)),
            Some(month) if !is_day(first) => (first, month, part(1)),
            Some(month) => (part(1), month, first),
        };
        if !self.is_standard {
            year += match year {
                0..=49 => 2000,
                50..=99 => 1900,
                _ => 0,
            };
        }
        // A day that the month does not have is one of the next.
        ((1..=12).contains(&month) && is_day(day)).then(|| days_from_epoch(year, month, day))
    }

    /// Milliseconds since midnight.
    fn clock(&self) -> Option<i64> {
        let part = |at: usize| self.times.get(at).copied().unwrap_or(0);
        let (mut hour, minute, second, millis) = (part(0), part(1), part(2), part(3));
        if let Some(noon) = self.noon {
            (hour <= 12).then_some(())?;
            hour = hour % 12 + noon;
        }
        let in_range = hour < 24 && minute < 60 && second < 60 && millis < 1000;
        (in_range || (hour, minute, second, millis) == (24, 0, 0, 0)).then_some(())?;
        Some(((hour * 60 + minute) * 60 + second) * 1000 + millis)
    }

    /// Milliseconds from UTC.
    fn offset(&self) -> i64 {
        self.zone_sign.unwrap_or(0) * (self.zone_hour.unwrap_or(0) * 3600 + self.zone_minute.unwrap_or(0) * 60) * 1000
    }
}

/// Digits behind a point as thousandths; of many the first nine were read.
fn thousandths(value: i64, len: usize) -> i64 {
    match len {
        1 => value * 100,
        2 => value * 10,
        _ => value / 10_i64.pow(len.min(9) as u32 - 3),
    }
}

/// Days since 1970-01-01 in the Gregorian calendar.
fn days_from_epoch(year: i64, month: i64, day: i64) -> i64 {
    // Years begin in March, so that the leap day is their last.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = (153 * month + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_form_is_read() {
        for (text, ms) in [
            ("1970-01-01T00:00:00.000Z", 0),
            ("2026-11-15T23:14:50.910Z", 1_794_784_490_910),
            ("2026-11-15T23:14:50.9109+01:00", 1_794_780_890_910),
            ("2024-02-29", 1_709_164_800_000),
            ("2026-02-31", 1_772_496_000_000),
            ("+002026-01-01T24:00Z", 1_767_312_000_000),
            ("2026", 1_767_225_600_000),
        ] {
            assert_eq!(date(text), Some(ms), "{text}");
        }
        for no_date in ["", "x", "2026-11-15T25:00:00Z", "2026-11-15T23:14:50.Z", "2026-11-15T24:01Z", "2026-01-01T00:00:00 Z", "soon"] {
            assert_eq!(date(no_date), None, "{no_date}");
        }
    }

    #[test]
    fn what_is_not_standard_is_read_as_far_as_it_can_be() {
        // As V8 gives them where the zone is UTC.
        for (text, ms) in [
            ("Mar 5, 2026 4:05 pm", Some(1_772_726_700_000)),
            ("5 march 26 04:05:06.7 PST", Some(1_772_712_306_700)),
            ("2026-1-2", Some(1_767_312_000_000)),
            ("2026-13-01", None),
            ("2026-00-01", None),
            ("2026-11-15 ", Some(1_794_700_800_000)),
            ("2026-11-15 10:00 +0130 (a (nested) word)", Some(1_794_731_400_000)),
            ("Thu 1/2/3", Some(1_041_465_600_000)),
            ("7", Some(993_945_600_000)),
            ("12:30", None),
            ("1 2 3 4", None),
            ("2026-11-15 10::", Some(1_794_736_800_000)),
            ("2026-11-15 10:00 GMT-8", Some(1_794_765_600_000)),
            ("2026-11-15 13:00 pm", None),
            ("2026-11-15 10:00)", None),
            ("-000000-01", Some(978_307_200_000)),
        ] {
            assert_eq!(date(text), ms, "{text}");
        }
    }
}
