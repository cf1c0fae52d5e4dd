//! Times as Go reads and writes them in JSON.

use crate::model::time::days_in_month;

/// A time that Go has read: what it needs to write it again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct GoTime {
    date: [u32; 3],
    clock: [u32; 3],
    nanos: u32,
    /// Minutes east of Greenwich.
    offset: i32,
}

impl GoTime {
    /// The time that a field has to which none was given.
    pub(super) const ZERO: GoTime = GoTime { date: [1, 1, 1], clock: [0; 3], nanos: 0, offset: 0 };

    /// Reads a JSON string as it stands: escapes in it are not undone.
    pub(super) fn parse(token: &[u8]) -> Option<GoTime> {
        let text = token.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        let (date, rest) = (text.get(..11)?, text.get(11..)?);
        let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T'] = date else { return None };
        let date = [number(&[*y1, *y2, *y3, *y4])?, number(&[*m1, *m2])?, number(&[*d1, *d2])?];
        // An hour may have one digit.
        let hour_len = rest.iter().position(|b| *b == b':').filter(|len| (1..=2).contains(len))?;
        let hour = number(&rest[..hour_len])?;
        let rest = &rest[hour_len..];
        let [b':', m1, m2, b':', s1, s2, rest @ ..] = rest else { return None };
        let clock = [hour, number(&[*m1, *m2])?, number(&[*s1, *s2])?];
        if !(1..=12).contains(&date[1]) || date[2] == 0 || date[2] > days_in_month(date[0], date[1]) {
            return None;
        }
        if clock[0] > 23 || clock[1] > 59 || clock[2] > 59 {
            return None;
        }
        let (nanos, zone) = fraction(rest)?;
        Some(GoTime { date, clock, nanos, offset: offset(zone)? })
    }

    /// Writes it as Go formats it, be its offset a day or more, which Go's JSON
    /// encoder would refuse.
    pub(super) fn push(self, out: &mut Vec<u8>) {
        let [year, month, day] = self.date;
        let [hour, minute, second] = self.clock;
        digits(year, 4, out);
        for (mark, part) in [(b'-', month), (b'-', day), (b'T', hour), (b':', minute), (b':', second)] {
            out.push(mark);
            digits(part, 2, out);
        }
        if self.nanos > 0 {
            out.push(b'.');
            digits(self.nanos, 9, out);
            while out.last() == Some(&b'0') {
                out.pop();
            }
        }
        if self.offset == 0 {
            out.push(b'Z');
        } else {
            out.push(if self.offset < 0 { b'-' } else { b'+' });
            digits(self.offset.unsigned_abs() / 60, 2, out);
            out.push(b':');
            digits(self.offset.unsigned_abs() % 60, 2, out);
        }
    }

    /// The text that Go would write, of a time that was given.
    pub(super) fn given(self) -> Option<String> {
        if self.is_zero() { None } else { self.text() }
    }

    /// Whether this is the instant that stands for no time at all, in whatever
    /// zone it is told.
    pub(super) fn is_zero(self) -> bool {
        // The zone may lead to the day before the first, or the day after.
        let days = match self.date {
            [1, 1, day] => i64::from(day) - 1,
            [0, 12, day] => i64::from(day) - 32,
            _ => return false,
        };
        let [hour, minute, second] = self.clock;
        second == 0 && self.nanos == 0 && days * 1440 + i64::from(hour * 60 + minute) == i64::from(self.offset)
    }

    /// The text that Go would write.
    pub(super) fn text(self) -> Option<String> {
        let mut out = Vec::with_capacity(40);
        self.push(&mut out);
        String::from_utf8(out).ok()
    }
}

fn digits(number: u32, len: u32, out: &mut Vec<u8>) {
    for place in (0..len).rev() {
        out.push(b'0' + (number / 10_u32.pow(place) % 10) as u8);
    }
}

fn number(text: &[u8]) -> Option<u32> {
    text.iter().try_fold(0, |sum, b| b.is_ascii_digit().then(|| sum * 10 + u32::from(b - b'0')))
}

/// Nanoseconds, digits past the ninth dropped, and what follows.
fn fraction(text: &[u8]) -> Option<(u32, &[u8])> {
    let [b'.' | b',', rest @ ..] = text else { return Some((0, text)) };
    let len = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    let used = &rest[..len.min(9)];
    let nanos = number(used).filter(|_| len > 0)? * 10_u32.pow(9 - used.len() as u32);
    Some((nanos, &rest[len..]))
}

fn offset(zone: &[u8]) -> Option<i32> {
    match zone {
        b"Z" => Some(0),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let (hours, minutes) = (number(&[*h1, *h2])?, number(&[*m1, *m2])?);
            let all = (hours <= 24 && minutes <= 60).then_some((hours * 60 + minutes) as i32)?;
            Some(if *sign == b'-' { -all } else { all })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_at_all_is_an_instant_and_no_spelling() {
        for zero in ["0001-01-01T00:00:00Z", "0001-01-01T02:30:00.000+02:30", "0000-12-31T23:00:00-01:00", "0001-01-02T0:00:00,0+24:00"] {
            assert_eq!(GoTime::parse(format!("\"{zero}\"").as_bytes()).map(GoTime::is_zero), Some(true), "{zero}");
        }
        for other in ["0001-01-01T00:00:01Z", "0001-01-01T00:00:00+01:00", "0001-02-01T00:00:00Z", "0001-01-01T00:00:00.000000001Z"] {
            assert_eq!(GoTime::parse(format!("\"{other}\"").as_bytes()).map(GoTime::is_zero), Some(false), "{other}");
        }
    }

    #[test]
    fn times_are_written_as_go_would_write_them_again() {
        for (read, written) in [
            ("2026-06-13T18:19:35.12+08:00", Some("2026-06-13T18:19:35.12+08:00")),
            ("2026-06-13T18:19:35.120+00:00", Some("2026-06-13T18:19:35.12Z")),
            ("2026-06-13T8:19:35,5-00:00", Some("2026-06-13T08:19:35.5Z")),
            ("2026-06-13T18:19:35.1234567899-03:30", Some("2026-06-13T18:19:35.123456789-03:30")),
            ("2026-06-13T18:19:35+10:60", Some("2026-06-13T18:19:35+11:00")),
            ("0000-02-29T00:00:00Z", Some("0000-02-29T00:00:00Z")),
            ("2026-06-13T18:19:35+24:00", Some("2026-06-13T18:19:35+24:00")),
            ("2026-06-13T18:19:35+23:60", Some("2026-06-13T18:19:35+24:00")),
            ("2026-06-13T18:19:35-24:60", Some("2026-06-13T18:19:35-25:00")),
        ] {
            let time = GoTime::parse(format!("\"{read}\"").as_bytes()).unwrap_or_else(|| panic!("{read}"));
            assert_eq!(time.text().as_deref(), written, "{read}");
        }
        for bad in [
            "2026-06-13T18:19:35",
            "2026-06-13t18:19:35Z",
            "2026-06-13 18:19:35Z",
            "2026-06-13T18:19:60Z",
            "2026-06-13T24:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-06-13T18:19:35+25:00",
            "2026-06-13T18:19:35.Z",
            "\\u0032026-06-13T18:19:35Z",
            "",
        ] {
            assert_eq!(GoTime::parse(format!("\"{bad}\"").as_bytes()), None, "{bad}");
        }
    }
}
