//! The fields of a date as they come in, and what they amount to.

/// Up to three numbers that make a day, in an order that follows from them.
#[derive(Debug, Default)]
pub struct Day {
    parts: Vec<i64>,
    /// A month that was named.
    pub named_month: Option<i64>,
    /// Whether the parts are year, month and day as they stand.
    pub is_iso: bool,
}

impl Day {
    /// Takes a number; there is room for three.
    pub fn add(&mut self, n: i64) -> bool {
        let has_room = self.parts.len() < 3;
        if has_room {
            self.parts.push(n);
        }
        has_room
    }

    /// Whether there is no number yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Days since the epoch.
    #[must_use]
    pub fn days(&self) -> Option<i64> {
        let first = *self.parts.first()?;
        // What is not said is 1, the year included.
        let [second, third] = [1, 2].map(|at| self.parts.get(at).copied().unwrap_or(1));
        let is_day = |n: i64| (1..=31).contains(&n);
        let (mut year, month, day) = match self.named_month {
            None if self.is_iso || !is_day(first) => (first, second, third),
            None => (third, first, second),
            Some(month) if !is_day(first) => (first, month, second),
            Some(month) => (second, month, first),
        };
        if !self.is_iso {
            year += match year {
                0..=49 => 2000,
                50..=99 => 1900,
                _ => 0,
            };
        }
        let is_possible = (-1_000_000..=1_000_000).contains(&year) && (1..=12).contains(&month) && is_day(day);
        is_possible.then(|| days_before(year, month) + day - 1)
    }
}

/// Days from the epoch to the first of a month in the Gregorian calendar.
fn days_before(year: i64, month: i64) -> i64 {
    // Years that begin in March put the odd day at their end.
    let year = if month <= 2 { year - 1 } else { year };
    let month = (month + 9) % 12;
    let days_of_year = (153 * month + 2) / 5;
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400) + days_of_year - 719_468
}

/// Hour, minute, second and millisecond.
#[derive(Debug, Default)]
pub struct Time {
    parts: Vec<i64>,
    /// Hours to add to a clock of twelve.
    pub half_day: Option<i64>,
}

impl Time {
    /// Takes a number; there is room for four.
    pub fn add(&mut self, n: i64) -> bool {
        let has_room = self.parts.len() < 4;
        if has_room {
            self.parts.push(n);
        }
        has_room
    }

    /// Takes the last number.
    pub fn add_last(&mut self, n: i64) {
        self.add(n);
        self.parts.resize(4, 0);
    }

    /// Whether there is no number yet.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Whether a number fits behind those that are there.
    #[must_use]
    pub fn expects(&self, n: i64) -> bool {
        match self.parts.len() {
            1 | 2 => (0..60).contains(&n),
            3 => (0..1000).contains(&n),
            _ => false,
        }
    }

    /// The time of day.
    #[must_use]
    pub fn milliseconds(&self) -> Option<i64> {
        let [mut hour, minute, second, ms] = [0, 1, 2, 3].map(|at| self.parts.get(at).copied().unwrap_or(0));
        if let Some(offset) = self.half_day {
            (0..=12).contains(&hour).then_some(())?;
            hour = hour % 12 + offset;
        }
        let is_time = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second) && (0..1000).contains(&ms);
        let is_midnight = (hour, minute, second, ms) == (24, 0, 0, 0);
        (is_time || is_midnight).then_some(((hour * 60 + minute) * 60 + second) * 1000 + ms)
    }
}

/// The distance from UTC.
#[derive(Debug, Default)]
pub struct Zone {
    /// 1 or -1; without one there is no zone.
    pub sign: Option<i64>,
    /// Hours without their sign.
    pub hour: Option<i64>,
    /// Minutes without their sign.
    pub minute: Option<i64>,
}

impl Zone {
    /// A zone of whole hours.
    pub fn set(&mut self, hours: i64) {
        (self.sign, self.hour, self.minute) = (Some(if hours < 0 { -1 } else { 1 }), Some(hours.abs()), Some(0));
    }

    /// Whether it was given as UTC.
    #[must_use]
    pub fn is_utc(&self) -> bool {
        (self.hour, self.minute) == (Some(0), Some(0))
    }

    /// Whether a number can be the minutes that are missing.
    #[must_use]
    pub fn expects(&self, n: i64) -> bool {
        self.hour.is_some() && self.minute.is_none() && (0..60).contains(&n)
    }

    /// Seconds to take away. Hours without end wrap around at 32 bits, and only
    /// what looks negative then is refused.
    #[must_use]
    pub fn offset_seconds(&self) -> Option<i64> {
        let seconds = (self.hour.unwrap_or(0) * 3600 + self.minute.unwrap_or(0) * 60) as u32;
        Some(self.sign.unwrap_or(0) * i64::from(i32::try_from(seconds).ok()?))
    }
}
