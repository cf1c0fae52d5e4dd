//! `Date.parse` and `toISOString` of V8.
//!
//! V8 reads the ISO form as far as it goes. Where that breaks off before the
//! time, its legacy parser continues from the same token and takes almost
//! anything that has numbers in it. A time without a zone is UTC here.

mod calendar;
mod fields;
mod parser;
mod tokens;

pub use calendar::to_iso_string;

use calendar::LAST_TIME;
use parser::Parser;

/// `Date.parse(text)` in milliseconds since the epoch; nothing where that is
/// NaN.
#[must_use]
pub fn parse_date(text: &str) -> Option<i64> {
    let parsed = Parser::parse(text)?;
    let ms = parsed.day.days()? * 86_400_000 + parsed.time.milliseconds()? - parsed.zone.offset_seconds()? * 1000;
    time_clip(ms as f64)
}

/// Returns the time that a `Date` made of a number of milliseconds holds: whole
/// milliseconds within its range, or nothing, which is NaN.
#[must_use]
pub fn time_clip(ms: f64) -> Option<i64> {
    (ms.abs() <= LAST_TIME).then_some(ms as i64)
}
