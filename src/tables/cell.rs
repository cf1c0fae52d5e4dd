//! One value of a row, whatever file it is written to.

use jiff::SignedDuration;
use jiff::civil::{DateTime, date};
use std::sync::Arc;

/// Where microseconds are counted from. A time of the calendar, because a timestamp
/// does not reach the end of the year 9999.
const EPOCH: DateTime = date(1970, 1, 1).at(0, 0, 0, 0);

/// One value.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    /// Nothing: the source does not say it.
    Null,
    /// A text.
    Text(String),
    /// A text that many rows have.
    Shared(Arc<str>),
    /// A whole number.
    Integer(i64),
    /// Any number.
    Real(f64),
    /// Yes or no.
    Flag(bool),
    /// Microseconds since 1970 in UTC.
    Time(i64),
    /// Texts in their order.
    Texts(Vec<String>),
    /// The members of one record.
    Record(Vec<Cell>),
    /// Records in their order.
    Records(Vec<Vec<Cell>>),
}

/// The cells of one row, in the order of its table's columns.
pub type Row = Vec<Cell>;

impl Cell {
    /// Returns a text, or nothing.
    #[must_use]
    pub fn text(text: Option<&str>) -> Cell {
        text.map_or(Cell::Null, |text| Cell::Text(text.to_owned()))
    }

    /// Returns a count, or nothing: also where there is none that a column can hold.
    #[must_use]
    pub fn count(count: Option<u64>) -> Cell {
        count.and_then(|count| i64::try_from(count).ok()).map_or(Cell::Null, Cell::Integer)
    }

    /// Yes or no, or nothing.
    #[must_use]
    pub fn flag(flag: Option<bool>) -> Cell {
        flag.map_or(Cell::Null, Cell::Flag)
    }

    /// Returns a number, or nothing: what is not finite is nothing.
    #[must_use]
    pub fn real(number: Option<f64>) -> Cell {
        number.filter(|number| number.is_finite()).map_or(Cell::Null, Cell::Real)
    }

    /// Returns the moment of a time in UTC, as a log has it, to the microsecond; nothing where
    /// it is not one.
    #[must_use]
    pub fn time(utc: Option<&str>) -> Cell {
        utc.and_then(micros).map_or(Cell::Null, Cell::Time)
    }

    /// About how many bytes it takes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        match self {
            Cell::Null | Cell::Flag(_) => 1,
            Cell::Integer(_) | Cell::Real(_) | Cell::Time(_) => 8,
            Cell::Shared(_) => 4,
            Cell::Text(text) => text.len(),
            Cell::Texts(texts) => texts.iter().map(|text| text.len() + 4).sum(),
            Cell::Record(cells) => cells.iter().map(Cell::bytes).sum(),
            Cell::Records(records) => records.iter().flatten().map(Cell::bytes).sum(),
        }
    }

    /// Returns its text, where it is one.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Cell::Text(text) => Some(text),
            Cell::Shared(text) => Some(text),
            Cell::Null
            | Cell::Integer(_)
            | Cell::Real(_)
            | Cell::Flag(_)
            | Cell::Time(_)
            | Cell::Texts(_)
            | Cell::Record(_)
            | Cell::Records(_) => None,
        }
    }

    /// Tells whether two cells say the same.
    #[must_use]
    pub fn says(&self, other: &Cell) -> bool {
        match (self.as_text(), other.as_text()) {
            (Some(mine), Some(theirs)) => mine == theirs,
            (None, None) => match (self, other) {
                (Cell::Record(mine), Cell::Record(theirs)) => all_say(mine, theirs),
                (Cell::Records(mine), Cell::Records(theirs)) => {
                    mine.len() == theirs.len() && mine.iter().zip(theirs).all(|(mine, theirs)| all_say(mine, theirs))
                }
                (mine, theirs) => mine == theirs,
            },
            (Some(_), None) | (None, Some(_)) => false,
        }
    }
}

fn all_say(mine: &[Cell], theirs: &[Cell]) -> bool {
    mine.len() == theirs.len() && mine.iter().zip(theirs).all(|(mine, theirs)| mine.says(theirs))
}

/// Microseconds since 1970 of `2026-01-02T08:00:03.000Z`; what is smaller is cut off.
fn micros(utc: &str) -> Option<i64> {
    let (seconds, rest) = utc.split_at_checked(19)?;
    let seconds: DateTime = seconds.parse().ok()?;
    if seconds.year() < 1 {
        return None;
    }
    let fraction = rest.strip_suffix('Z')?;
    let digits = fraction.strip_prefix('.').unwrap_or(fraction);
    let kept: String = digits.chars().chain(std::iter::repeat('0')).take(6).collect();
    let since = seconds.duration_since(EPOCH).as_secs();
    since.checked_mul(1_000_000)?.checked_add(kept.parse().ok()?)
}

/// Returns the time of so many microseconds since 1970, in UTC with six digits.
#[must_use]
pub fn time_text(micros: i64) -> Option<String> {
    let time = EPOCH.checked_add(SignedDuration::from_micros(micros)).ok()?;
    Some(time.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_kept_to_the_microsecond() {
        for (text, expected) in [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("1970-01-01T00:00:01.5Z", Some(1_500_000)),
            ("1969-12-31T23:59:59.999999999999Z", Some(-1)),
            ("2026-01-02T08:00:03.000001Z", Some(1_767_340_803_000_001)),
            ("0001-01-01T00:00:00Z", Some(-62_135_596_800_000_000)),
            ("9999-12-31T23:59:59.999999Z", Some(253_402_300_799_999_999)),
            ("2026-01-02T08:00:03", None),
            ("0000-12-31T23:59:59Z", None),
            ("yesterday", None),
        ] {
            assert_eq!(micros(text), expected, "{text}");
        }
        assert_eq!(time_text(1_767_340_803_000_001).as_deref(), Some("2026-01-02T08:00:03.000001Z"));
        assert_eq!(time_text(-1).as_deref(), Some("1969-12-31T23:59:59.999999Z"));
        assert_eq!(time_text(253_402_300_799_999_999).as_deref(), Some("9999-12-31T23:59:59.999999Z"));
    }

    #[test]
    fn what_no_column_can_hold_is_nothing() {
        assert_eq!(Cell::count(Some(u64::MAX)), Cell::Null);
        assert_eq!(Cell::count(Some(7)), Cell::Integer(7));
        assert_eq!([Cell::real(Some(f64::NAN)), Cell::real(Some(f64::INFINITY))], [Cell::Null, Cell::Null]);
    }

    #[test]
    fn a_shared_text_says_what_a_text_says() {
        assert!(Cell::Shared("a".into()).says(&Cell::Text("a".to_owned())));
        assert!(!Cell::Shared("a".into()).says(&Cell::Null));
        let record = |text: &str| Cell::Records(vec![vec![Cell::Text(text.to_owned())]]);
        assert!(record("a").says(&record("a")) && !record("a").says(&record("b")));
    }
}
