//! Times as a person reads them: in the zone that was asked for.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// In which zone times are shown.
#[derive(Debug, Clone)]
pub enum Clock {
    /// In this one. A time of which the source says no zone is shown as it is,
    /// because a zone is never guessed.
    In(TimeZone),
    /// In the source's own.
    Source,
}

impl Clock {
    /// Returns the day and the time to the second.
    #[must_use]
    pub fn shown(&self, ts: &str) -> String {
        let moment = || ts.parse::<Timestamp>().ok();
        match self {
            Clock::In(zone) => match moment() {
                Some(moment) => moment.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S").to_string(),
                None => as_written(ts),
            },
            Clock::Source => as_written(ts),
        }
    }
}

/// Returns a time to the second as the log has it, without its zone.
fn as_written(ts: &str) -> String {
    ts.get(..19).unwrap_or(ts).replacen('T', " ", 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::tz::Offset;

    #[test]
    fn a_zone_is_used_and_never_guessed() {
        let clock = Clock::In(TimeZone::fixed(Offset::constant(2)));
        assert_eq!(clock.shown("2026-06-19T23:14:07.123456+00:00"), "2026-06-20 01:14:07");
        assert_eq!(clock.shown("2026-06-19T23:14:07-05:30"), "2026-06-20 06:44:07");
        assert_eq!(clock.shown("2026-06-19T23:14:07.5"), "2026-06-19 23:14:07");
        assert_eq!(Clock::Source.shown("2026-06-19T23:14:07Z"), "2026-06-19 23:14:07");
        assert_eq!(clock.shown("9999-99-99T99:99:99Z"), "9999-99-99 99:99:99");
    }
}
