//! A `datetime`: `datetime.fromtimestamp` of a file's time, and `isoformat`.

use jiff::civil::Date;

/// A `datetime` of Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DateTime {
    pub(super) date: Date,
    /// Seconds since midnight.
    pub(super) second_of_day: i64,
    pub(super) microsecond: i64,
    /// Minutes east of UTC; a naive `datetime` has none.
    pub(super) offset: Option<i64>,
}

impl DateTime {
    /// Returns when a file was last written: `datetime.fromtimestamp(st_mtime, tz=utc)`.
    #[must_use]
    pub fn of_mtime(mtime_ns: i64) -> DateTime {
        const BILLION: i64 = 1_000_000_000;
        const DAY: i64 = 86_400;
        // `os.stat` gives a double, made from seconds and nanoseconds in this way.
        let mtime = mtime_ns.div_euclid(BILLION) as f64 + 1e-9 * mtime_ns.rem_euclid(BILLION) as f64;
        let mut seconds = mtime.trunc() as i64;
        let mut microsecond = ((mtime - mtime.trunc()) * 1e6).round_ties_even() as i64;
        if microsecond < 0 {
            microsecond += 1_000_000;
            seconds -= 1;
        } else if microsecond >= 1_000_000 {
            microsecond -= 1_000_000;
            seconds += 1;
        }
        // 64 bits of nanoseconds reach from 1677 to 2262, so no day is out of range.
        let date = plus_days(jiff::civil::date(1970, 1, 1), seconds.div_euclid(DAY)).unwrap_or(Date::MAX);
        DateTime { date, second_of_day: seconds.rem_euclid(DAY), microsecond, offset: Some(0) }
    }

    /// Writes it as `isoformat` does.
    pub fn push_isoformat(&self, out: &mut Vec<u8>) {
        let (hour, minute, second) = (self.second_of_day / 3600, self.second_of_day / 60 % 60, self.second_of_day % 60);
        push_digits(i64::from(self.date.year()), 4, out);
        let (month, day) = (i64::from(self.date.month()), i64::from(self.date.day()));
        for (mark, value) in [(b'-', month), (b'-', day), (b'T', hour), (b':', minute), (b':', second)] {
            out.push(mark);
            push_digits(value, 2, out);
        }
        if self.microsecond != 0 {
            out.push(b'.');
            push_digits(self.microsecond, 6, out);
        }
        if let Some(offset) = self.offset {
            out.push(if offset < 0 { b'-' } else { b'+' });
            push_digits(offset.abs() / 60, 2, out);
            out.push(b':');
            push_digits(offset.abs() % 60, 2, out);
        }
    }

    /// `isoformat()`.
    #[must_use]
    pub fn isoformat(&self) -> String {
        let mut out = Vec::with_capacity(32);
        self.push_isoformat(&mut out);
        String::from_utf8_lossy(&out).into_owned()
    }
}

/// `date + timedelta(days)`; none after the last day, 9999-12-31.
pub(super) fn plus_days(date: Date, days: i64) -> Option<Date> {
    date.checked_add(jiff::SignedDuration::from_hours(days.checked_mul(24)?)).ok()
}

fn push_digits(value: i64, width: u32, out: &mut Vec<u8>) {
    for place in (0..width).rev() {
        out.push(b'0' + (value / 10_i64.pow(place) % 10) as u8);
    }
}

/// Writes `isoparse(text).isoformat()` for a text of the form
/// `YYYY-MM-DDTHH:MM:SS[.digits][Z|±HH:MM]` that is known to be valid: six digits
/// of a fraction or none, and `+00:00` for UTC. Every message that is shown has
/// such a time, and to parse it would cost more.
pub fn push_isoformat_of(text: &str, out: &mut Vec<u8>) {
    let (clock, rest) = text.split_at_checked(19).unwrap_or((text, ""));
    out.extend_from_slice(clock.as_bytes());
    let digits = rest.strip_prefix('.').map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
    if digits > 0 {
        let mut micros = [b'0'; 6];
        micros.iter_mut().zip(rest.bytes().skip(1).take(digits)).for_each(|(place, digit)| *place = digit);
        if micros != [b'0'; 6] {
            out.push(b'.');
            out.extend_from_slice(&micros);
        }
    }
    match rest.get(if digits > 0 { 1 + digits } else { 0 }..).unwrap_or_default() {
        "Z" | "-00:00" => out.extend_from_slice(b"+00:00"),
        offset => out.extend_from_slice(offset.as_bytes()),
    }
}
