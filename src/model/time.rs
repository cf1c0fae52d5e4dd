//! The one form that times have in a log: `YYYY-MM-DDTHH:MM:SS[.digits][Z|±HH:MM]`.

/// Tells whether a text is a time in the log's form, and one that exists.
#[must_use]
pub fn is_log_time(text: &[u8]) -> bool {
    let digits = |from: usize, len: usize| -> Option<u32> {
        let part = text.get(from..from + len)?;
        part.iter().try_fold(0, |sum, b| b.is_ascii_digit().then(|| sum * 10 + u32::from(b - b'0')))
    };
    let mark = |at: usize, byte: u8| text.get(at) == Some(&byte);
    let (Some(year), Some(month), Some(day)) = (digits(0, 4), digits(5, 2), digits(8, 2)) else { return false };
    let (Some(hour), Some(minute), Some(second)) = (digits(11, 2), digits(14, 2), digits(17, 2)) else { return false };
    if !(mark(4, b'-') && mark(7, b'-') && mark(10, b'T') && mark(13, b':') && mark(16, b':')) {
        return false;
    }
    if year == 0 || !(1..=12).contains(&month) || day == 0 || day > days_in_month(year, month) || hour > 23 || minute > 59 || second > 59 {
        return false;
    }
    let mut rest = &text[19..];
    if rest.first() == Some(&b'.') {
        let len = rest[1..].iter().take_while(|b| b.is_ascii_digit()).count();
        if len == 0 {
            return false;
        }
        rest = &rest[1 + len..];
    }
    match rest {
        b"" | b"Z" => true,
        [b'+' | b'-', h1, h2, b':', m1, m2] => {
            [h1, h2, m1, m2].iter().all(|b| b.is_ascii_digit()) && (*h1, *h2) <= (b'2', b'3') && *h1 <= b'2' && *m1 <= b'5'
        }
        _ => false,
    }
}

/// Returns how many days a month of the Gregorian calendar has.
#[must_use]
pub fn days_in_month(year: u32, month: u32) -> u32 {
    let leap = (year.is_multiple_of(4) && !year.is_multiple_of(100)) || year.is_multiple_of(400);
    match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(leap),
        _ => 31,
    }
}

const DAY: u64 = 86_400;

/// Seconds since the epoch, as a program wrote them, in the log's form: all
/// digits after the point stay. `None` where the number has another form (a
/// sign, an exponent) or lies beyond the year 9999, because then this text
/// would not give it back.
#[must_use]
pub fn from_epoch(number: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(number).ok()?;
    let (whole, fraction) = text.split_once('.').map_or((text, None), |(whole, fraction)| (whole, Some(fraction)));
    let is_plain = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    if !is_plain(whole) || (whole.len() > 1 && whole.starts_with('0')) || !fraction.is_none_or(is_plain) {
        return None;
    }
    let seconds: u64 = whole.parse().ok()?;
    let (year, month, day) = civil(seconds / DAY)?;
    let rest = seconds % DAY;
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    let point = if fraction.is_some() { "." } else { "" };
    Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{point}{}Z", fraction.unwrap_or_default()))
}

/// Returns the number that [`from_epoch`] made a time of.
#[must_use]
pub fn to_epoch(time: &str) -> Option<String> {
    let text = time.strip_suffix('Z').filter(|_| is_log_time(time.as_bytes()))?;
    let part = |from: usize, len: usize| text.get(from..from + len).and_then(|digits| digits.parse::<u64>().ok());
    let days = days_since_epoch(part(0, 4)?, part(5, 2)?, part(8, 2)?)?;
    let seconds = days * DAY + part(11, 2)? * 3600 + part(14, 2)? * 60 + part(17, 2)?;
    Some(format!("{seconds}{}", text.get(19..)?))
}

/// Returns the day of the Gregorian calendar so many days after 1970-01-01: whole
/// years from March on, so that a leap day is the last one.
fn civil(days: u64) -> Option<(u64, u64, u64)> {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let of_era = shifted % 146_097;
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    (year <= 9999).then_some((year, month, day))
}

/// Returns the inverse of [`civil`]; nothing before 1970.
fn days_since_epoch(year: u64, month: u64, day: u64) -> Option<u64> {
    let shifted_year = if month <= 2 { year.checked_sub(1)? } else { year };
    let era = shifted_year / 400;
    let year_of_era = shifted_year % 400;
    let shifted_month = if month > 2 { month - 3 } else { month + 9 };
    let of_year = (153 * shifted_month + 2) / 5 + day - 1;
    let of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + of_year;
    (era * 146_097 + of_era).checked_sub(719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_since_the_epoch_come_back_as_they_were() {
        for (number, time) in [
            ("0", "1970-01-01T00:00:00Z"),
            ("0.0", "1970-01-01T00:00:00.0Z"),
            ("951782399.5", "2000-02-28T23:59:59.5Z"),
            ("951782400", "2000-02-29T00:00:00Z"),
            ("1794785646.2492297", "2026-11-15T23:34:06.2492297Z"),
            ("4107542400", "2100-03-01T00:00:00Z"),
            ("253402300799.9", "9999-12-31T23:59:59.9Z"),
        ] {
            assert_eq!(from_epoch(number.as_bytes()).as_deref(), Some(time), "{number}");
            assert!(is_log_time(time.as_bytes()));
            assert_eq!(to_epoch(time).as_deref(), Some(number));
        }
        for odd in ["-1", "1e9", "01", "1.", "NaN", "253402300800", "99999999999999999999", "", "\"1\""] {
            assert_eq!(from_epoch(odd.as_bytes()), None, "{odd}");
        }
        for days in 0..80_000 {
            let (year, month, day) = civil(days).unwrap();
            assert_eq!(days_since_epoch(year, month, day), Some(days));
        }
        assert_eq!(to_epoch("1969-12-31T23:59:59Z"), None);
        assert_eq!(to_epoch("2026-11-15T23:34:06+00:00"), None);
    }

    #[test]
    fn only_real_times_in_the_one_form_count() {
        for good in ["2026-06-19T03:14:07.123456+00:00", "0001-01-01T00:00:00", "2024-02-29T23:59:59Z", "2026-01-01T00:00:00.1-23:59"] {
            assert!(is_log_time(good.as_bytes()), "{good}");
        }
        for bad in [
            "2026-06-19",
            "2026-02-29T00:00:00",
            "2026-06-19T24:00:00",
            "2026-06-19 03:14:07",
            "2026-06-19T03:14:07.",
            "2026-06-19T03:14:07+24:00",
            "2026-06-19T03:14:07+0000",
            "0000-01-01T00:00:00",
            "2026-06-19T03:14:07z",
            "２026-06-19T03:14:07",
            "2026-06-19T03:14:07+19:60",
        ] {
            assert!(!is_log_time(bad.as_bytes()), "{bad}");
        }
    }
}
