//! The Gregorian calendar, continued to the years before its time.

/// Further from the epoch than this, in milliseconds, no date exists.
pub(super) const LAST_TIME: f64 = 8.64e15;

/// Days from the epoch to 1 March of the year 0. Years that begin in March have
/// their leap day at their end, which makes both directions simple.
const MARCH_OF_YEAR_ZERO: i64 = -719_468;
const DAYS_OF_ERA: i64 = 146_097;
const MS_OF_DAY: i64 = 86_400_000;

/// Days from the epoch to the first of a month.
pub(super) fn days_before(year: i64, month: i64) -> i64 {
    let (year, month) = if month <= 2 { (year - 1, month + 9) } else { (year, month - 3) };
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    MARCH_OF_YEAR_ZERO + year * 365 + leap_days + (153 * month + 2) / 5
}

/// Year, month and day of a day counted from the epoch.
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days - MARCH_OF_YEAR_ZERO;
    let (era, day) = (days.div_euclid(DAYS_OF_ERA), days.rem_euclid(DAYS_OF_ERA));
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    (era * 400 + year, month, day)
}

/// `new Date(ms).toISOString()`; nothing where that throws a `RangeError`.
#[must_use]
pub fn to_iso_string(ms: i64) -> Option<String> {
    if ms as f64 > LAST_TIME || (ms as f64) < -LAST_TIME {
        return None;
    }
    let (year, month, day) = civil(ms.div_euclid(MS_OF_DAY));
    let ms = ms.rem_euclid(MS_OF_DAY);
    let (hour, minute, second) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60);
    let year = match year {
        0..=9999 => format!("{year:04}"),
        _ => format!("{}{:06}", if year < 0 { '-' } else { '+' }, year.abs()),
    };
    Some(format!("{year}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", ms % 1000))
}
