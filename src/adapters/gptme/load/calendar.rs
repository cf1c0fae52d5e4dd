//! Days of the proleptic Gregorian calendar, numbered as Python's `toordinal`
//! does: 0001-01-01 is day 1.

/// Year, month, day.
pub type Date = (i64, i64, i64);

/// The last day that a `datetime` can name, 9999-12-31.
pub const LAST_DAY: i64 = 3_652_059;

/// Whether February has 29 days.
#[must_use]
pub fn is_leap(year: i64) -> bool {
    year.rem_euclid(4) == 0 && (year.rem_euclid(100) != 0 || year.rem_euclid(400) == 0)
}

/// How many days a month has.
#[must_use]
pub fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The number of a day.
#[must_use]
pub fn day_number(year: i64, month: i64, day: i64) -> i64 {
    let before = year - 1;
    let months: i64 = (1..month).map(|month| days_in(year, month)).sum();
    before * 365 + before.div_euclid(4) - before.div_euclid(100) + before.div_euclid(400) + months + day
}

/// The day of a number.
#[must_use]
pub fn date_of(number: i64) -> Date {
    // From below, and then corrected step by step.
    let mut year = (number - 1).div_euclid(366) + 1;
    year += (number - day_number(year, 1, 1)).div_euclid(366);
    while day_number(year + 1, 1, 1) <= number {
        year += 1;
    }
    let mut month = 1;
    while month < 12 && day_number(year, month + 1, 1) <= number {
        month += 1;
    }
    (year, month, number - day_number(year, month, 1) + 1)
}

/// The number of a day of an ISO week, which may lie behind the last day; none
/// where there is no such week, day or year.
#[must_use]
pub fn week_date(year: i64, week: i64, day: i64) -> Option<i64> {
    if !(1..54).contains(&week) || !(1..8).contains(&day) || !(1..=9999).contains(&year) {
        return None;
    }
    // The first week is the one with January 4th in it; day 1 was a Monday.
    let fourth = day_number(year, 1, 4);
    let monday = fourth - (fourth - 1) % 7;
    Some(monday + (week - 1) * 7 + day - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_day_has_a_number_and_every_number_a_day() {
        assert_eq!((day_number(1, 1, 1), day_number(1970, 1, 1), day_number(9999, 12, 31)), (1, 719_163, LAST_DAY));
        let mut expected = (1, 1, 1);
        for number in 1..=LAST_DAY {
            assert_eq!(date_of(number), expected);
            let (year, month, day) = expected;
            expected = match (month, day) {
                (12, 31) => (year + 1, 1, 1),
                _ if day == days_in(year, month) => (year, month + 1, 1),
                _ => (year, month, day + 1),
            };
        }
    }
}
