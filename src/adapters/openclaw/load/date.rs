//! `Date.parse` as V8 does it: the ISO forms first, and behind them the loose
//! forms that old programs wrote. Times without a zone are taken for UTC, as
//! the loader runs in a world of its own.

mod fields;
mod tokens;

use super::text::is_space;

use fields::{Day, Time, Zone};
use tokens::{Token, Tokens, Word};

/// The milliseconds since the epoch that a text stands for.
#[must_use]
pub fn parse(text: &str) -> Option<i64> {
    let mut parser = Parser { tokens: Tokens::new(text), day: Day::default(), time: Time::default(), zone: Zone::default() };
    let first = parser.iso()?;
    parser.loose(first)?;
    let ms = parser.day.days()? * 86_400_000 + parser.time.milliseconds()? - parser.zone.offset_seconds()? * 1000;
    (ms.abs() <= 8_640_000_000_000_000).then_some(ms)
}

/// A lone `Z`.
const UTC_MARK: Token = Token::Word(Word::Zone(0), 1);

struct Parser<'t> {
    tokens: Tokens<'t>,
    day: Day,
    time: Time,
    zone: Zone,
}

/// A number of exactly this many digits that is small enough.
fn fixed(token: Token, length: usize, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
    if let Token::Number(n, len) = token { Some(n).filter(|n| len == length && range.contains(n)) } else { None }
}

impl Parser<'_> {
    /// Reads as much of an ISO date as there is; the token that comes next for
    /// the loose forms. `None` where a time part is broken, which ends it all.
    fn iso(&mut self) -> Option<Token> {
        let any = 0..=i64::MAX;
        if let Token::Sign(sign) = self.tokens.peek() {
            let token = self.tokens.take();
            let Some(year) = fixed(self.tokens.peek(), 6, any) else { return Some(token) };
            self.tokens.take();
            if sign < 0 && year == 0 {
                return Some(token);
            }
            self.day.add(sign * year);
        } else if let Some(year) = fixed(self.tokens.peek(), 4, any) {
            self.tokens.take();
            self.day.add(year);
        } else {
            return Some(self.tokens.take());
        }
        for range in [1..=12, 1..=31] {
            if !self.tokens.skip(Token::Sign(-1)) {
                break;
            }
            let Some(part) = fixed(self.tokens.peek(), 2, range) else { return Some(self.tokens.take()) };
            self.tokens.take();
            self.day.add(part);
        }
        if let Token::Word(Word::TimeMark, _) = self.tokens.peek() {
            self.tokens.take();
            self.iso_time()?;
        } else if self.tokens.peek() != Token::End {
            return Some(self.tokens.take());
        }
        self.day.is_iso = true;
        Some(Token::End)
    }

    fn iso_number(&mut self, range: std::ops::RangeInclusive<i64>) -> Option<i64> {
        fixed(self.tokens.take(), 2, range)
    }

    fn iso_time(&mut self) -> Option<()> {
        let hour = self.iso_number(0..=24)?;
        // Midnight may end a day, and nothing of that hour is left then.
        let last = if hour == 24 { 0 } else { 59 };
        self.time.add(hour);
        self.tokens.skip(Token::Colon).then_some(())?;
        let minute = self.iso_number(0..=last)?;
        self.time.add(minute);
        if self.tokens.skip(Token::Colon) {
            let second = self.iso_number(0..=last)?;
            self.time.add(second);
            if self.tokens.skip(Token::Dot) {
                let Token::Number(n, len) = self.tokens.take() else { return None };
                (hour < 24 || n == 0).then_some(())?;
                self.time.add(milliseconds(n, len));
            }
        }
        if self.tokens.skip(UTC_MARK) {
            self.zone.set(0);
        } else if let Token::Sign(sign) = self.tokens.peek() {
            self.tokens.take();
            self.zone.sign = Some(sign);
            self.iso_offset()?;
        }
        (self.tokens.peek() == Token::End).then_some(())
    }

    fn iso_offset(&mut self) -> Option<()> {
        let Token::Number(n, length) = self.tokens.take() else { return None };
        let (hour, minute) = if length == 4 {
            (n / 100, n % 100)
        } else {
            (length == 2 && self.tokens.skip(Token::Colon)).then_some(())?;
            (n, self.iso_number(0..=59)?)
        };
        (self.zone.hour, self.zone.minute) = (Some(hour), Some(minute));
        (hour <= 23 && minute <= 59).then_some(())
    }

    /// Reads the rest in whatever order it comes.
    fn loose(&mut self, first: Token) -> Option<()> {
        let mut has_number = !self.day.is_empty();
        let mut token = first;
        while token != Token::End {
            match token {
                Token::Number(n, _) => {
                    has_number = true;
                    self.loose_number(n)?;
                }
                Token::Word(word, _) => self.loose_word(word, has_number.then_some(()))?,
                Token::Sign(sign) if self.zone.is_utc() || !self.time.is_empty() => {
                    has_number = true;
                    self.loose_offset(sign)?;
                }
                Token::Sign(_) | Token::Close if has_number => return None,
                Token::Sign(_) | Token::Close | Token::Colon | Token::Dot | Token::Space | Token::Other | Token::End => {}
            }
            token = self.tokens.take();
        }
        Some(())
    }

    fn loose_number(&mut self, n: i64) -> Option<()> {
        if self.tokens.skip(Token::Colon) {
            if self.tokens.skip(Token::Colon) {
                self.time.is_empty().then_some(())?;
                self.time.add(n);
                self.time.add(0);
            } else {
                self.time.add(n).then_some(())?;
                self.tokens.skip(Token::Dot);
            }
        } else if self.tokens.skip(Token::Dot) && self.time.expects(n) {
            self.time.add(n);
            let Token::Number(n, len) = self.tokens.take() else { return None };
            self.time.add_last(milliseconds(n, len));
        } else if self.zone.expects(n) {
            self.zone.minute = Some(n);
        } else if self.time.expects(n) {
            self.time.add_last(n);
            let next = self.tokens.peek();
            (next == UTC_MARK || matches!(next, Token::End | Token::Space | Token::Sign(_))).then_some(())?;
        } else {
            self.day.add(n).then_some(())?;
            self.tokens.skip(Token::Sign(-1));
        }
        Some(())
    }

    fn loose_word(&mut self, word: Word, number: Option<()>) -> Option<()> {
        match word {
            Word::HalfDay(offset) if !self.time.is_empty() => self.time.half_day = Some(offset),
            Word::Month(month) => {
                self.day.named_month = Some(month);
                self.tokens.skip(Token::Sign(-1));
            }
            Word::Zone(hours) if number.is_some() => self.zone.set(hours),
            // Any other word may stand before the first number, not at it.
            Word::HalfDay(_) | Word::Zone(_) | Word::TimeMark | Word::Other => {
                let is_at_number = matches!(self.tokens.peek(), Token::Number(..));
                (number.is_none() && !is_at_number).then_some(())?;
            }
        }
        Some(())
    }

    fn loose_offset(&mut self, sign: i64) -> Option<()> {
        self.zone.sign = Some(sign);
        let (mut n, mut length) = (0, 0);
        if let Token::Number(number, len) = self.tokens.peek() {
            self.tokens.take();
            (n, length) = (number, len);
        }
        (self.zone.hour, self.zone.minute) = match length {
            _ if self.tokens.peek() == Token::Colon => (Some(n), None),
            1 | 2 => (Some(n), Some(0)),
            3 | 4 => (Some(n / 100), Some(n % 100)),
            _ => return None,
        };
        Some(())
    }
}

/// The first three digits of a fraction. Of a long one V8 forgets the zeros at
/// the front: `.000123456789` is 123.
fn milliseconds(n: i64, length: usize) -> i64 {
    match length {
        1 => n * 100,
        2 => n * 10,
        _ => n / 10_i64.pow(length.min(tokens::DIGITS) as u32 - 3),
    }
}

#[cfg(test)]
mod tests;
