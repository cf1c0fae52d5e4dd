//! The fields of a date while they are collected, and the time they amount to.

use super::calendar::days_before;

/// A list with room for `N` numbers.
#[derive(Debug)]
struct Numbers<const N: usize> {
    numbers: [i64; N],
    len: usize,
}

impl<const N: usize> Numbers<N> {
    const EMPTY: Numbers<N> = Numbers { numbers: [0; N], len: 0 };

    fn add(&mut self, n: i64) -> Option<()> {
        *self.numbers.get_mut(self.len)? = n;
        self.len += 1;
        Some(())
    }
}

/// Up to three numbers that make a day, in an order that follows from them.
#[derive(Debug)]
pub(super) struct Day {
    parts: Numbers<3>,
    pub(super) named_month: Option<i64>,
    /// Whether the parts are year, month and day as they stand.
    pub(super) is_iso: bool,
}

impl Day {
    pub(super) const EMPTY: Day = Day { parts: Numbers::EMPTY, named_month: None, is_iso: false };

    /// Adds a number; nothing where there are three already.
    pub(super) fn add(&mut self, n: i64) -> Option<()> {
        self.parts.add(n)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parts.len == 0
    }

    /// Days since the epoch.
    pub(super) fn days(&self) -> Option<i64> {
        let [first, second, third] = match (self.parts.len, self.parts.numbers) {
            (0, _) => return None,
            // A part that is missing is 1, the year included.
            (1, [first, ..]) => [first, 1, 1],
            (2, [first, second, _]) => [first, second, 1],
            (_, all) => all,
        };
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
        // A day that the month does not have is one of the next month.
        let is_possible = (-1_000_000..=1_000_000).contains(&year) && (1..=12).contains(&month) && is_day(day);
        is_possible.then(|| days_before(year, month) + day - 1)
    }
}

/// Hour, minute, second and millisecond.
#[derive(Debug)]
pub(super) struct Time {
    parts: Numbers<4>,
    /// Hours to add to a clock of twelve hours.
    pub(super) half_day: Option<i64>,
}

impl Time {
    pub(super) const EMPTY: Time = Time { parts: Numbers::EMPTY, half_day: None };

    /// Adds a number; nothing where there are four already.
    pub(super) fn add(&mut self, n: i64) -> Option<()> {
        self.parts.add(n)
    }

    /// Adds a number after which none is expected. V8 does not mind one too many
    /// here.
    pub(super) fn add_last(&mut self, n: i64) {
        self.parts.add(n);
        self.parts.len = 4;
    }

    pub(super) fn is_empty(&self) -> bool {
        self.parts.len == 0
    }

    /// Tells whether a number can be the next part.
    pub(super) fn expects(&self, n: i64) -> bool {
        match self.parts.len {
            1 | 2 => (0..60).contains(&n),
            3 => (0..1000).contains(&n),
            _ => false,
        }
    }

    /// Milliseconds since midnight.
    pub(super) fn milliseconds(&self) -> Option<i64> {
        let [mut hour, minute, second, ms] = self.parts.numbers;
        if let Some(offset) = self.half_day {
            (0..=12).contains(&hour).then_some(())?;
            hour = hour % 12 + offset;
        }
        let is_time = (0..24).contains(&hour) && (0..60).contains(&minute) && (0..60).contains(&second) && (0..1000).contains(&ms);
        // Midnight may also end a day.
        let is_midnight = (hour, minute, second, ms) == (24, 0, 0, 0);
        (is_time || is_midnight).then_some(((hour * 60 + minute) * 60 + second) * 1000 + ms)
    }
}

/// The distance from UTC.
#[derive(Debug)]
pub(super) struct Zone {
    /// 1 or -1; without one there is no zone.
    pub(super) sign: Option<i64>,
    /// Hours without their sign.
    pub(super) hour: Option<i64>,
    /// Minutes without their sign.
    pub(super) minute: Option<i64>,
}

impl Zone {
    pub(super) const EMPTY: Zone = Zone { sign: None, hour: None, minute: None };

    /// A zone of whole hours.
    pub(super) fn set_hours(&mut self, hours: i64) {
        *self = Zone { sign: Some(if hours < 0 { -1 } else { 1 }), hour: Some(hours.abs()), minute: Some(0) };
    }

    /// Tells whether it was given as UTC.
    pub(super) fn is_utc(&self) -> bool {
        (self.hour, self.minute) == (Some(0), Some(0))
    }

    /// Tells whether a number can be the minutes that are missing.
    pub(super) fn expects(&self, n: i64) -> bool {
        self.hour.is_some() && self.minute.is_none() && (0..60).contains(&n)
    }

    /// Seconds to subtract. V8 counts them in 32 bits, which hours without limit
    /// wrap around, and refuses only what looks negative then.
    pub(super) fn offset_seconds(&self) -> Option<i64> {
        let seconds = (self.hour.unwrap_or(0) * 3600 + self.minute.unwrap_or(0) * 60) as u32;
        Some(self.sign.unwrap_or(0) * i64::from(i32::try_from(seconds).ok()?))
    }
}
