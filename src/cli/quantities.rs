//! Spans, sizes and times as people write them.

use jiff::tz::TimeZone;
use jiff::{Span, SpanRelativeTo, Timestamp, civil};

/// Returns a span (90d, 12h) in nanoseconds; a day has 24 hours, `0` is none.
#[must_use]
pub fn span_ns(text: &str) -> Option<i64> {
    let text = text.trim();
    if text == "0" {
        return Some(0);
    }
    let span: Span = text.parse().ok()?;
    let length = span.to_duration(SpanRelativeTo::days_are_24_hours()).ok()?;
    i64::try_from(length.as_nanos()).ok().filter(|ns| *ns >= 0)
}

const UNITS: [(&str, u64); 13] = [
    ("tib", 1 << 40),
    ("gib", 1 << 30),
    ("mib", 1 << 20),
    ("kib", 1 << 10),
    ("tb", 1_000_000_000_000),
    ("gb", 1_000_000_000),
    ("mb", 1_000_000),
    ("kb", 1_000),
    ("t", 1 << 40),
    ("g", 1 << 30),
    ("m", 1 << 20),
    ("k", 1 << 10),
    ("b", 1),
];

/// Returns a size (2GiB, 500 MB, 1.5g) in bytes.
#[must_use]
pub fn size(text: &str) -> Option<u64> {
    let lower = text.trim().to_ascii_lowercase();
    let (number, unit) = UNITS.iter().find_map(|(word, unit)| Some((lower.strip_suffix(word)?, *unit))).unwrap_or((&lower, 1));
    let number = number.trim();
    if let Ok(whole) = number.parse::<u64>() {
        return whole.checked_mul(unit);
    }
    let is_plain = !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let bytes = number.parse::<f64>().ok().filter(|_| is_plain)? * unit as f64;
    (bytes < 9e18).then_some(bytes as u64)
}

/// Returns a time or a date in nanoseconds since the epoch; where it names no zone, it
/// is that of this machine.
pub(super) fn moment_ns(text: &str) -> Option<i64> {
    let moment = match text.parse::<Timestamp>() {
        Ok(moment) => moment,
        Err(_) => text.parse::<civil::DateTime>().ok()?.to_zoned(TimeZone::system()).ok()?.timestamp(),
    };
    i64::try_from(moment.as_nanosecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_and_sizes_are_read_as_people_write_them() {
        const HOUR: i64 = 3_600_000_000_000;
        for (text, hours) in [("90d", 90 * 24), ("12h", 12), ("2w", 14 * 24), ("1d 6h", 30), ("0", 0), ("90 days", 90 * 24)] {
            assert_eq!(span_ns(text), Some(hours * HOUR), "{text}");
        }
        for text in ["", "d", "90", "-3d", "2 months", "soon"] {
            assert_eq!(span_ns(text), None, "{text}");
        }
        let sizes = [("2GiB", 2 << 30), ("500 MB", 500_000_000), ("1.5k", 1536), ("0", 0), ("42", 42), ("7b", 7), ("3g", 3 << 30)];
        for (text, bytes) in sizes {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for text in ["", "GiB", "1e3", "-1", "2 apples", "99999999999t"] {
            assert_eq!(size(text), None, "{text}");
        }
        assert_eq!(moment_ns("2026-11-16T13:00:00+01:00"), moment_ns("2026-11-16T12:00:00Z"));
        assert_eq!(moment_ns("yesterday"), None);
    }
}
