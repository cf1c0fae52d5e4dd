//! `time.Time` as `encoding/json` reads and writes it.

/// A time as the clock of its zone shows it, which is what Go keeps of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Time {
    /// Year, month and day.
    date: [u32; 3],
    /// Hour, minute and second.
    clock: [u32; 3],
    nanos: u32,
    /// Minutes east of Greenwich.
    offset: i32,
}

impl Default for Time {
    /// Returns a time that was never set.
    fn default() -> Time {
        Time { date: [1, 1, 1], clock: [0; 3], nanos: 0, offset: 0 }
    }
}

impl Time {
    /// `UnmarshalJSON` of the text between the quotes. It undoes no escapes, and
    /// it takes more than RFC 3339: an hour of one digit, a comma before the
    /// fraction, and offsets up to 24 hours and 60 minutes.
    #[must_use]
    pub fn parse(text: &[u8]) -> Option<Time> {
        let mut rest = text;
        let year = number(&mut rest, 4)?;
        mark(&mut rest, b'-')?;
        let month = number(&mut rest, 2).filter(|month| (1..=12).contains(month))?;
        mark(&mut rest, b'-')?;
        let day = number(&mut rest, 2).filter(|day| (1..=days_in_month(year, month)).contains(day))?;
        mark(&mut rest, b'T')?;
        let hour = number(&mut rest, 2).or_else(|| number(&mut rest, 1)).filter(|hour| *hour < 24)?;
        mark(&mut rest, b':')?;
        let minute = number(&mut rest, 2).filter(|minute| *minute < 60)?;
        mark(&mut rest, b':')?;
        let second = number(&mut rest, 2).filter(|second| *second < 60)?;
        let nanos = fraction(&mut rest)?;
        Some(Time { date: [year, month, day], clock: [hour, minute, second], nanos, offset: offset(rest)? })
    }

    /// `IsZero`: whether this is the instant that stands for no time at all, in
    /// whatever zone.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        // The zone may lead to the day before the first, or to the day after.
        let days = match self.date {
            [1, 1, day] => i64::from(day) - 1,
            [0, 12, day] => i64::from(day) - 32,
            _ => return false,
        };
        let [hour, minute, second] = self.clock;
        second == 0 && self.nanos == 0 && days * 1440 + i64::from(hour * 60 + minute) == i64::from(self.offset)
    }

    /// `Format(time.RFC3339Nano)`. `MarshalJSON` writes the same between quotes,
    /// but fails where the offset is a day or more.
    pub fn push(&self, out: &mut Vec<u8>) {
        let [year, month, day] = self.date;
        let [hour, minute, second] = self.clock;
        push_digits(year, 4, out);
        for (mark, part) in [(b'-', month), (b'-', day), (b'T', hour), (b':', minute), (b':', second)] {
            out.push(mark);
            push_digits(part, 2, out);
        }
        if self.nanos > 0 {
            out.push(b'.');
            push_digits(self.nanos, 9, out);
            while out.last() == Some(&b'0') {
                out.pop();
            }
        }
        if self.offset == 0 {
            return out.push(b'Z');
        }
        out.push(if self.offset < 0 { b'-' } else { b'+' });
        push_digits(self.offset.unsigned_abs() / 60, 2, out);
        out.push(b':');
        push_digits(self.offset.unsigned_abs() % 60, 2, out);
    }

    /// Returns the time as Go prints it in JSON.
    #[must_use]
    pub fn text(&self) -> String {
        let mut out = Vec::with_capacity(40);
        self.push(&mut out);
        String::from_utf8(out).unwrap_or_default()
    }

    /// Returns the time as a text, unless it is Go's zero time.
    #[must_use]
    pub fn non_zero(&self) -> Option<String> {
        (!self.is_zero()).then(|| self.text())
    }
}

fn days_in_month(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn push_digits(number: u32, len: u32, out: &mut Vec<u8>) {
    for place in (0..len).rev() {
        out.push(b'0' + (number / 10_u32.pow(place) % 10) as u8);
    }
}

/// Takes a number of exactly so many digits.
fn number(rest: &mut &[u8], len: usize) -> Option<u32> {
    let (digits, after) = rest.split_at_checked(len)?;
    let value = digits.iter().try_fold(0, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + u32::from(byte - b'0')))?;
    *rest = after;
    Some(value)
}

fn mark(rest: &mut &[u8], mark: u8) -> Option<()> {
    let (first, after) = rest.split_first()?;
    *rest = after;
    (*first == mark).then_some(())
}

/// Takes the fraction of a second, if there is one: nine digits count.
fn fraction(rest: &mut &[u8]) -> Option<u32> {
    let [b'.' | b',', digits @ ..] = *rest else { return Some(0) };
    let len = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let mut used = &digits[..len.min(9)];
    let used_len = used.len();
    let nanos = number(&mut used, used_len).filter(|_| len > 0)? * 10_u32.pow(9 - used_len as u32);
    *rest = &digits[len..];
    Some(nanos)
}

/// Reads the zone, which is all that is left.
fn offset(zone: &[u8]) -> Option<i32> {
    let (sign, mut rest) = match zone {
        b"Z" => return Some(0),
        [b'+', rest @ ..] => (1, rest),
        [b'-', rest @ ..] => (-1, rest),
        _ => return None,
    };
    let hours = number(&mut rest, 2).filter(|hours| *hours <= 24)?;
    mark(&mut rest, b':')?;
    let minutes = number(&mut rest, 2).filter(|minutes| *minutes <= 60)?;
    let offset = i32::try_from(hours * 60 + minutes).ok()?;
    rest.is_empty().then_some(sign * offset)
}
