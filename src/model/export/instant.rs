//! Points in time, as targets write them.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::model::time::is_log_time;

/// A point in time, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Instant(Timestamp);

/// The first second of the year 1, and the last of the year 9999.
const FIRST: i64 = -62_135_596_800;
const LAST: i64 = 253_402_300_799;

/// What had to be assumed to read a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Zone {
    /// Nothing.
    Said,
    /// That it is in UTC.
    Assumed,
}

impl Instant {
    /// The beginning of 1970.
    pub const EPOCH: Instant = Instant(Timestamp::UNIX_EPOCH);

    /// Reads a time of a log; `None` where it is not one of the years 1 to 9999.
    #[must_use]
    pub fn of(ts: &str) -> Option<(Instant, Zone)> {
        if !is_log_time(ts.as_bytes()) {
            return None;
        }
        // More digits than nanoseconds have are cut.
        let digits = ts.get(19..)?.strip_prefix('.').map_or(0, |rest| rest.bytes().take_while(u8::is_ascii_digit).count());
        // The zone may take it out of the years that programs can write.
        let writable = |timestamp: Timestamp| (FIRST..=LAST).contains(&timestamp.as_second()).then_some(Instant(timestamp));
        let (fraction, zone) = ts.get(19..)?.split_at_checked(if digits > 0 { digits + 1 } else { 0 })?;
        let text = format!("{}{}", &ts[..19], fraction.get(..fraction.len().min(10))?);
        if zone.is_empty() {
            let local: DateTime = text.parse().ok()?;
            return Some((writable(local.to_zoned(TimeZone::UTC).ok()?.timestamp())?, Zone::Assumed));
        }
        Some((writable(format!("{text}{zone}").parse().ok()?)?, Zone::Said))
    }

    /// Returns the time cut to so many digits of a second.
    #[must_use]
    pub fn cut(self, digits: u32) -> Instant {
        let step = 10_i128.pow(9 - digits.min(9));
        let nanos = self.0.as_nanosecond();
        Timestamp::from_nanosecond(nanos - nanos.rem_euclid(step)).map_or(self, Instant)
    }

    /// Returns the time a so-manieth part of a second later.
    #[must_use]
    pub fn after(self, nanos: i128) -> Instant {
        Timestamp::from_nanosecond(self.0.as_nanosecond() + nanos).map_or(self, Instant)
    }

    /// Returns the milliseconds since the beginning of 1970.
    #[must_use]
    pub fn millis(self) -> i64 {
        self.0.as_millisecond()
    }

    /// Returns the microseconds since the beginning of 1970.
    #[must_use]
    pub fn micros(self) -> i64 {
        self.0.as_microsecond()
    }

    /// Returns the time in UTC with so many digits and no zone.
    #[must_use]
    pub fn text(self, digits: usize) -> String {
        let seconds = self.0.strftime("%Y-%m-%dT%H:%M:%S").to_string();
        if digits == 0 {
            return seconds;
        }
        let nanos = self.0.as_nanosecond().rem_euclid(1_000_000_000);
        format!("{seconds}.{}", &format!("{nanos:09}")[..digits.min(9)])
    }

    /// Returns the time in UTC with as many digits as it needs, in groups of
    /// three, and no zone.
    #[must_use]
    pub fn shortest(self) -> String {
        let nanos = self.0.as_nanosecond().rem_euclid(1_000_000_000);
        let digits =
            [(1_000_000_000, 0), (1_000_000, 3), (1_000, 6)].iter().find(|(step, _)| nanos % step == 0).map_or(9, |(_, digits)| *digits);
        self.text(digits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_with_its_zone_and_written_in_utc() {
        let (time, zone) = Instant::of("2026-01-01T00:30:00.123456789012+01:00").unwrap();
        assert_eq!((time.text(3), zone), ("2025-12-31T23:30:00.123".to_owned(), Zone::Said));
        assert_eq!(Instant::of("2026-01-01T00:00:00").unwrap(), (Instant::of("2026-01-01T00:00:00Z").unwrap().0, Zone::Assumed));
        assert_eq!(time.cut(3).shortest(), "2025-12-31T23:30:00.123");
        assert_eq!(time.cut(6).shortest(), "2025-12-31T23:30:00.123456");
        assert_eq!(Instant::EPOCH.shortest(), "1970-01-01T00:00:00");
        assert_eq!(Instant::of("yesterday"), None);
        assert_eq!((Instant::of("0001-01-01T00:00:00+01:00"), Instant::of("9999-12-31T23:59:59-01:00")), (None, None));
        assert!(Instant::of("0001-01-01T00:00:00Z").is_some());
    }
}
