//! The times of a log in UTC.

use jiff::SignedDuration;
use jiff::civil::DateTime;

use crate::model::time::is_log_time;

/// Returns a time of the log in UTC, with the digits that it has; `None` where
/// it says no zone, because a zone is never guessed.
pub(crate) fn utc(ts: &str) -> Option<String> {
    if !is_log_time(ts.as_bytes()) {
        return None;
    }
    if ts.ends_with('Z') {
        return Some(ts.to_owned());
    }
    let (local, zone) = ts.split_at_checked(ts.len().checked_sub(6)?)?;
    let sign = match zone.as_bytes().first()? {
        b'+' => 1,
        b'-' => -1,
        _ => return None,
    };
    let (hours, minutes): (i64, i64) = (zone.get(1..3)?.parse().ok()?, zone.get(4..6)?.parse().ok()?);
    let (seconds, digits) = local.split_at_checked(19)?;
    let local: DateTime = seconds.parse().ok()?;
    let time = local.checked_sub(SignedDuration::from_secs(sign * (hours * 3600 + minutes * 60))).ok()?;
    // The log's form has four digits for the year, and no year 0.
    (1..=9999).contains(&time.year()).then(|| format!("{}{digits}Z", time.strftime("%Y-%m-%dT%H:%M:%S")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_with_a_zone_is_given_in_utc() {
        for (ts, time) in [
            ("2026-06-19T03:14:07.123456+00:00", Some("2026-06-19T03:14:07.123456Z")),
            ("2026-06-19T03:14:07Z", Some("2026-06-19T03:14:07Z")),
            ("2026-01-01T00:30:00.000000000001+01:00", Some("2025-12-31T23:30:00.000000000001Z")),
            ("2024-02-28T23:00:00-05:30", Some("2024-02-29T04:30:00Z")),
            ("0001-01-01T00:00:00+01:00", None),
            ("9999-12-31T23:00:00-02:00", None),
            ("2026-06-19T03:14:07", None),
            ("yesterday", None),
        ] {
            assert_eq!(utc(ts).as_deref(), time, "{ts}");
        }
    }
}
