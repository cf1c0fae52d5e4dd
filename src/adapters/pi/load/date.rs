//! `Date.parse` as V8 does it: the standard form first, and from where that
//! breaks off the lenient reading of almost anything with numbers in it. A time
//! without a zone is taken as UTC, so that no machine's zone matters.

mod compose;
mod tokens;

use super::lines::is_space;

use compose::{Day, Time, Zone};
use tokens::{Token, Tokens, Word};

/// Further from the epoch than this, in milliseconds, no date exists.
const LAST_TIME: f64 = 8.64e15;

/// Milliseconds since the epoch; NaN where the text is no date.
pub(super) fn parse(text: &str) -> f64 {
    read(text)
        .and_then(|(day, time, zone)| Some(day.days()? * 86_400_000.0 + time.milliseconds()? - zone.milliseconds()))
        .map_or(f64::NAN, clip)
}

/// A time value as a `Date` holds it: whole milliseconds within its range.
pub(super) fn clip(time: f64) -> f64 {
    if time.abs() <= LAST_TIME { time.trunc() + 0.0 } else { f64::NAN }
}

/// How far the standard form was followed.
enum Standard {
    /// To the end of the text.
    All,
    /// Up to this token, which the lenient reading has to take.
    UpTo(Token),
    /// Nothing else may follow what was read.
    Wrong,
}

fn read(text: &str) -> Option<(Day, Time, Zone)> {
    let mut tokens = Tokens::new(text);
    let (mut day, mut time, mut zone) = (Day::default(), Time::default(), Zone::default());
    match standard(&mut tokens, &mut day, &mut time, &mut zone) {
        Standard::All => {}
        Standard::UpTo(token) => lenient(token, &mut tokens, &mut day, &mut time, &mut zone)?,
        Standard::Wrong => return None,
    }
    Some((day, time, zone))
}

/// `YYYY-MM-DDTHH:MM:SS.sss` and its shorter forms; a year of six digits has a
/// sign.
fn standard(tokens: &mut Tokens<'_>, day: &mut Day, time: &mut Time, zone: &mut Zone) -> Standard {
    if let Token::Sign(sign) = tokens.peek() {
        let token = tokens.next();
        let Some(year) = tokens.peek().fixed(6) else { return Standard::UpTo(token) };
        tokens.next();
        if sign < 0 && year == 0 {
            return Standard::UpTo(token);
        }
        day.add(sign * year);
    } else {
        let token = tokens.next();
        let Some(year) = token.fixed(4) else { return Standard::UpTo(token) };
        day.add(year);
    }
    for last in [12, 31] {
        if !tokens.skip(Token::Sign(-1)) {
            break;
        }
        match tokens.peek().fixed(2) {
            Some(part) if (1..=last).contains(&part) => day.add(part),
            Some(_) | None => return Standard::UpTo(tokens.next()),
        };
        tokens.next();
    }
    match tokens.peek() {
        Token::Word(Word::TimeSeparator, _) => {
            tokens.next();
            if clock(tokens, time, zone).is_none() || tokens.peek() != Token::End {
                return Standard::Wrong;
            }
        }
        Token::End => zone.set_hours(0),
        Token::Number { .. } | Token::Sign(_) | Token::Symbol(_) | Token::Word(..) | Token::Space | Token::Other => {
            return Standard::UpTo(tokens.next());
        }
    }
    day.is_standard = true;
    Standard::All
}

/// What stands behind the `T` of the standard form.
fn clock(tokens: &mut Tokens<'_>, time: &mut Time, zone: &mut Zone) -> Option<()> {
    let two = |tokens: &mut Tokens<'_>, last: i64| tokens.next().fixed(2).filter(|part| *part <= last);
    let hour = two(tokens, 24)?;
    time.add(hour);
    tokens.skip(Token::Symbol(b':')).then_some(())?;
    time.add(two(tokens, 59)?);
    if tokens.skip(Token::Symbol(b':')) {
        time.add(two(tokens, 59)?);
        if tokens.skip(Token::Symbol(b'.')) {
            let Token::Number { value, length } = tokens.next() else { return None };
            // What is cut off counts as well: midnight has no fraction at all.
            if hour == 24 && value > 0 {
                return None;
            }
            time.add(fraction(value, length));
        }
    }
    match tokens.peek() {
        token if token.is_z() => {
            tokens.next();
            zone.set_hours(0);
        }
        Token::Sign(sign) => {
            tokens.next();
            let (hours, minutes) = match tokens.peek().fixed(4) {
                Some(both) => {
                    tokens.next();
                    (both / 100, both % 100)
                }
                None => {
                    let hours = two(tokens, 23)?;
                    tokens.skip(Token::Symbol(b':')).then_some(())?;
                    (hours, two(tokens, 59)?)
                }
            };
            if hours > 23 || minutes > 59 {
                return None;
            }
            *zone = Zone { sign: Some(sign), hour: Some(hours), minute: Some(minutes) };
        }
        Token::Number { .. } | Token::Symbol(_) | Token::Word(..) | Token::Space | Token::Other | Token::End => {}
    }
    Some(())
}

/// Digits behind a point as milliseconds; only the first nine were read.
fn fraction(value: i64, length: usize) -> i64 {
    match length {
        1 => value * 100,
        2 => value * 10,
        _ => (3..length.min(9)).fold(value, |value, _| value / 10),
    }
}

fn lenient(first: Token, tokens: &mut Tokens<'_>, day: &mut Day, time: &mut Time, zone: &mut Zone) -> Option<()> {
    let mut has_number = !day.is_empty();
    let mut token = first;
    while token != Token::End {
        match token {
            Token::Number { value, .. } => {
                has_number = true;
                number(value, tokens, day, time, zone)?;
            }
            Token::Word(Word::HalfDay(hours), _) if !time.is_empty() => time.half_day = Some(hours),
            Token::Word(Word::Month(month), _) => {
                day.named_month = Some(month);
                tokens.skip(Token::Sign(-1));
            }
            Token::Word(Word::Zone(hours), _) if has_number => zone.set_hours(hours),
            // Words before the first number do not count, but must not touch it.
            Token::Word(..) => {
                if has_number || matches!(tokens.peek(), Token::Number { .. }) {
                    return None;
                }
            }
            Token::Sign(sign) if zone.is_utc() || !time.is_empty() => {
                has_number = true;
                offset(sign, tokens, zone)?;
            }
            Token::Sign(_) | Token::Symbol(b')') if has_number => return None,
            Token::Sign(_) | Token::Symbol(_) | Token::Space | Token::Other | Token::End => {}
        }
        token = tokens.next();
    }
    Some(())
}

fn number(value: i64, tokens: &mut Tokens<'_>, day: &mut Day, time: &mut Time, zone: &mut Zone) -> Option<()> {
    if tokens.skip(Token::Symbol(b':')) {
        if tokens.skip(Token::Symbol(b':')) {
            if !time.is_empty() {
                return None;
            }
            time.add(value);
            time.add(0);
            return Some(());
        }
        time.add(value).then_some(())?;
        tokens.skip(Token::Symbol(b'.'));
        return Some(());
    }
    if tokens.skip(Token::Symbol(b'.')) && time.expects(value) {
        time.add(value);
        let Token::Number { value, length } = tokens.next() else { return None };
        time.add_last(fraction(value, length));
        return Some(());
    }
    if zone.expects(value) {
        zone.minute = Some(value);
        return Some(());
    }
    if time.expects(value) {
        time.add_last(value);
        let next = tokens.peek();
        return (next.is_z() || matches!(next, Token::End | Token::Space | Token::Sign(_))).then_some(());
    }
    day.add(value).then_some(())?;
    tokens.skip(Token::Sign(-1));
    Some(())
}

/// The number behind a sign that gives the distance from UTC; it may be absent.
fn offset(sign: i64, tokens: &mut Tokens<'_>, zone: &mut Zone) -> Option<()> {
    zone.sign = Some(sign);
    let (value, length) = match tokens.peek() {
        Token::Number { value, length } => {
            tokens.next();
            (value, length)
        }
        Token::Sign(_) | Token::Symbol(_) | Token::Word(..) | Token::Space | Token::Other | Token::End => (0, 0),
    };
    (zone.hour, zone.minute) = match length {
        _ if tokens.peek() == Token::Symbol(b':') => (Some(value), None),
        1 | 2 => (Some(value), Some(0)),
        3 | 4 => (Some(value / 100), Some(value % 100)),
        _ => return None,
    };
    Some(())
}
