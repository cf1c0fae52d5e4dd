//! The parts of a date while they are collected.

/// Year, month and day in the order in which they were met.
#[derive(Debug, Default)]
pub(super) struct Day {
    parts: [i64; 3],
    len: usize,
    pub(super) named_month: Option<i64>,
    pub(super) is_standard: bool,
}

impl Day {
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn add(&mut self, part: i64) -> bool {
        push(&mut self.parts, &mut self.len, part)
    }

    /// Days since the epoch.
    pub(super) fn days(&self) -> Option<f64> {
        /// Years beyond which no date is computed.
        const LAST_YEAR: i64 = 1_000_000;
        let is_day = |part: i64| (1..=31).contains(&part);
        let [first, second, third] = match self.len {
            0 => return None,
            1 => [self.parts[0], 1, 1],
            2 => [self.parts[0], self.parts[1], 1],
            _ => self.parts,
        };
        let (year, month, day) = match self.named_month {
            None if self.is_standard || !is_day(first) => (first, second, third),
            None => (third, first, second),
            Some(month) if !is_day(first) => (first, month, second),
            Some(month) => (second, month, first),
        };
        let year = match year {
            0..=49 if !self.is_standard => year + 2000,
            50..=99 if !self.is_standard => year + 1900,
            _ => year,
        };
        let exists = year.abs() <= LAST_YEAR && (1..=12).contains(&month) && is_day(day);
        exists.then(|| (days_before(year, month) + day - 1) as f64)
    }
}

/// Days from the epoch to the first of a month in the Gregorian calendar.
fn days_before(year: i64, month: i64) -> i64 {
    // A year that begins in March has its odd day at its end.
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    const MARCH_FIRST_OF_YEAR_ZERO: i64 = -719_468;
    MARCH_FIRST_OF_YEAR_ZERO + year * 365 + leap_days + (153 * month + 2) / 5
}

/// Hour, minute, second and millisecond.
#[derive(Debug, Default)]
pub(super) struct Time {
    parts: [i64; 4],
    len: usize,
    pub(super) half_day: Option<i64>,
}

impl Time {
    pub(super) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn expects(&self, part: i64) -> bool {
        match self.len {
            1 | 2 => (0..60).contains(&part),
            3 => (0..1000).contains(&part),
            _ => false,
        }
    }

    pub(super) fn add(&mut self, part: i64) -> bool {
        push(&mut self.parts, &mut self.len, part)
    }

    /// Adds a part behind which none is expected.
    pub(super) fn add_last(&mut self, part: i64) {
        self.add(part);
        self.len = self.parts.len();
    }

    pub(super) fn milliseconds(&self) -> Option<f64> {
        let [mut hour, minute, second, millisecond] = self.parts;
        if let Some(offset) = self.half_day {
            if hour > 12 {
                return None;
            }
            hour = hour % 12 + offset;
        }
        let is_midnight = (hour, minute, second, millisecond) == (24, 0, 0, 0);
        let exists = is_midnight || (hour < 24 && minute < 60 && second < 60 && millisecond < 1000);
        exists.then(|| (((hour * 60 + minute) * 60 + second) * 1000 + millisecond) as f64)
    }
}

/// The distance from UTC.
#[derive(Debug, Default)]
pub(super) struct Zone {
    pub(super) sign: Option<i64>,
    pub(super) hour: Option<i64>,
    pub(super) minute: Option<i64>,
}

impl Zone {
    pub(super) fn set_hours(&mut self, hours: i64) {
        *self = Zone { sign: Some(if hours < 0 { -1 } else { 1 }), hour: Some(hours.abs()), minute: Some(0) };
    }

    pub(super) fn is_utc(&self) -> bool {
        self.hour == Some(0) && self.minute == Some(0)
    }

    pub(super) fn expects(&self, part: i64) -> bool {
        self.hour.is_some() && self.minute.is_none() && (0..60).contains(&part)
    }

    pub(super) fn milliseconds(&self) -> f64 {
        let minutes = self.hour.unwrap_or(0) * 60 + self.minute.unwrap_or(0);
        (self.sign.unwrap_or(0) * minutes * 60_000) as f64
    }
}

fn push<const N: usize>(parts: &mut [i64; N], len: &mut usize, part: i64) -> bool {
    match parts.get_mut(*len) {
        Some(place) => {
            *place = part;
            *len += 1;
            true
        }
        None => false,
    }
}
