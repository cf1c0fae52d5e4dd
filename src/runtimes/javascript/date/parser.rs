//! From tokens to fields: the ISO form first, then the legacy forms.

use std::ops::RangeInclusive;

use super::fields::{Day, Time, Zone};
use super::tokens::{DIGITS, Token, Tokens, Word};

/// The parser and what it has collected.
#[derive(Debug)]
pub(super) struct Parser<'t> {
    tokens: Tokens<'t>,
    pub(super) day: Day,
    pub(super) time: Time,
    pub(super) zone: Zone,
}

/// Returns the number of a token that has exactly so many digits and is in range.
fn fixed(token: Token, length: usize, range: RangeInclusive<i64>) -> Option<i64> {
    match token {
        Token::Number(n, len) => Some(n).filter(|n| len == length && range.contains(n)),
        Token::Word(..) | Token::Sign(_) | Token::Colon | Token::Dot | Token::Close | Token::Space | Token::Other | Token::End => None,
    }
}

impl Parser<'_> {
    /// Returns the fields of a text; nothing where it is not a date.
    pub(super) fn parse(text: &str) -> Option<Parser<'_>> {
        let mut parser = Parser { tokens: Tokens::new(text), day: Day::EMPTY, time: Time::EMPTY, zone: Zone::EMPTY };
        let first = parser.iso()?;
        parser.legacy(first)?;
        Some(parser)
    }

    /// Reads as much of an ISO date as there is and returns the token that the
    /// legacy forms start with. Nothing where the time of an ISO date is broken,
    /// which V8 does not forgive.
    fn iso(&mut self) -> Option<Token> {
        let any = 0..=i64::MAX;
        if let Token::Sign(sign) = self.tokens.peek() {
            let token = self.tokens.take();
            let Some(year) = fixed(self.tokens.peek(), 6, any) else { return Some(token) };
            self.tokens.take();
            // There is no negative year 0.
            if sign < 0 && year == 0 {
                return Some(token);
            }
            self.day.add(sign * year)?;
        } else {
            let token = self.tokens.take();
            let Some(year) = fixed(token, 4, any) else { return Some(token) };
            self.day.add(year)?;
        }
        for range in [1..=12, 1..=31] {
            if !self.tokens.skip(Token::Sign(-1)) {
                break;
            }
            let token = self.tokens.take();
            let Some(part) = fixed(token, 2, range) else { return Some(token) };
            self.day.add(part)?;
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

    fn iso_number(&mut self, range: RangeInclusive<i64>) -> Option<i64> {
        fixed(self.tokens.take(), 2, range)
    }

    fn iso_time(&mut self) -> Option<()> {
        let hour = self.iso_number(0..=24)?;
        // 24:00 is the end of a day, and nothing may follow in that hour.
        let last = if hour == 24 { 0 } else { 59 };
        self.time.add(hour)?;
        self.tokens.skip(Token::Colon).then_some(())?;
        let minute = self.iso_number(0..=last)?;
        self.time.add(minute)?;
        if self.tokens.skip(Token::Colon) {
            let second = self.iso_number(0..=last)?;
            self.time.add(second)?;
            if self.tokens.skip(Token::Dot) {
                let Token::Number(n, length) = self.tokens.take() else { return None };
                (hour < 24 || n == 0).then_some(())?;
                self.time.add(milliseconds(n, length))?;
            }
        }
        if self.tokens.skip(Token::UTC) {
            self.zone.set_hours(0);
        } else if let Token::Sign(sign) = self.tokens.peek() {
            self.tokens.take();
            self.zone.sign = Some(sign);
            self.iso_offset()?;
        }
        (self.tokens.peek() == Token::End).then_some(())
    }

    /// `+HH:MM` or `+HHMM`, after the sign.
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
    fn legacy(&mut self, first: Token) -> Option<()> {
        let mut has_number = !self.day.is_empty();
        let mut token = first;
        while token != Token::End {
            match token {
                Token::Number(n, _) => {
                    has_number = true;
                    self.legacy_number(n)?;
                }
                Token::Word(word, _) if has_number => self.legacy_word(word)?,
                Token::Word(word, _) => self.legacy_first_word(word)?,
                Token::Sign(sign) if self.zone.is_utc() || !self.time.is_empty() => {
                    has_number = true;
                    self.legacy_offset(sign)?;
                }
                Token::Sign(_) | Token::Close if has_number => return None,
                Token::Sign(_) | Token::Close | Token::Colon | Token::Dot | Token::Space | Token::Other | Token::End => {}
            }
            token = self.tokens.take();
        }
        Some(())
    }

    fn legacy_number(&mut self, n: i64) -> Option<()> {
        if self.tokens.skip(Token::Colon) {
            if self.tokens.skip(Token::Colon) {
                self.time.is_empty().then_some(())?;
                self.time.add(n)?;
                return self.time.add(0);
            }
            self.time.add(n)?;
            self.tokens.skip(Token::Dot);
            return Some(());
        }
        // The point is consumed even where no time can continue there.
        if self.tokens.skip(Token::Dot) && self.time.expects(n) {
            self.time.add(n)?;
            let Token::Number(n, length) = self.tokens.take() else { return None };
            self.time.add_last(milliseconds(n, length));
            return Some(());
        }
        if self.zone.expects(n) {
            self.zone.minute = Some(n);
            return Some(());
        }
        if self.time.expects(n) {
            self.time.add_last(n);
            let next = self.tokens.peek();
            return (next == Token::UTC || matches!(next, Token::End | Token::Space | Token::Sign(_))).then_some(());
        }
        self.day.add(n)?;
        self.tokens.skip(Token::Sign(-1));
        Some(())
    }

    /// A word after a number must mean something.
    fn legacy_word(&mut self, word: Word) -> Option<()> {
        match word {
            Word::HalfDay(offset) if !self.time.is_empty() => self.time.half_day = Some(offset),
            Word::Month(month) => self.set_month(month),
            Word::Zone(hours) => self.zone.set_hours(hours),
            Word::HalfDay(_) | Word::TimeMark | Word::Other => return None,
        }
        Some(())
    }

    /// Words before the first number are skipped, unless they touch it.
    fn legacy_first_word(&mut self, word: Word) -> Option<()> {
        if let Word::Month(month) = word {
            self.set_month(month);
            return Some(());
        }
        (!matches!(self.tokens.peek(), Token::Number(..))).then_some(())
    }

    fn set_month(&mut self, month: i64) {
        self.day.named_month = Some(month);
        self.tokens.skip(Token::Sign(-1));
    }

    /// Returns the number after a sign that is the distance from UTC; it may be missing.
    fn legacy_offset(&mut self, sign: i64) -> Option<()> {
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

/// Returns the first three digits of a fraction. Of a long one V8 has forgotten the
/// zeros at the front: `.000123456789` is 123.
fn milliseconds(n: i64, length: usize) -> i64 {
    match length {
        1 => n * 100,
        2 => n * 10,
        _ => n / 10_i64.pow(length.min(DIGITS) as u32 - 3),
    }
}
