//! The one form that times have in a log: `YYYY-MM-DDTHH:MM:SS[.digits][Z|±HH:MM]`.

/// Whether a text is a time in the log's form, and one that exists.
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

/// How many days a month of the Gregorian calendar has.
#[must_use]
pub fn days_in_month(year: u32, month: u32) -> u32 {
    let leap = (year.is_multiple_of(4) && !year.is_multiple_of(100)) || year.is_multiple_of(400);
    match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + u32::from(leap),
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
