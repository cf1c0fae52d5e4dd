//! The tokens of a date.

use super::is_space;

/// A word that means something; only its first three letters count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    Month(i64),
    /// Hours to add: 0 in the morning, 12 in the afternoon.
    HalfDay(i64),
    /// Hours ahead of UTC.
    Zone(i64),
    TimeSeparator,
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token {
    Number { value: i64, length: usize },
    Sign(i64),
    Symbol(u8),
    Word(Word, usize),
    Space,
    Other,
    End,
}

impl Token {
    /// The number, if it was written with exactly so many digits.
    pub(super) fn fixed(self, digits: usize) -> Option<i64> {
        match self {
            Token::Number { value, length } if length == digits => Some(value),
            Token::Number { .. } | Token::Sign(_) | Token::Symbol(_) | Token::Word(..) | Token::Space | Token::Other | Token::End => None,
        }
    }

    pub(super) fn is_z(self) -> bool {
        matches!(self, Token::Word(Word::Zone(_), 1))
    }
}

/// The tokens of a text with one of them looked at ahead.
#[derive(Debug)]
pub(super) struct Tokens<'t> {
    rest: &'t str,
    ahead: Token,
}

impl<'t> Tokens<'t> {
    pub(super) fn new(text: &'t str) -> Tokens<'t> {
        // A zero character ends the text.
        let mut tokens = Tokens { rest: text.split('\0').next().unwrap_or_default(), ahead: Token::End };
        tokens.next();
        tokens
    }

    pub(super) fn peek(&self) -> Token {
        self.ahead
    }

    pub(super) fn next(&mut self) -> Token {
        let (token, len) = scan(self.rest);
        self.rest = self.rest.get(len..).unwrap_or_default();
        std::mem::replace(&mut self.ahead, token)
    }

    /// Passes over this token, if it is the next one.
    pub(super) fn skip(&mut self, token: Token) -> bool {
        let is_next = self.ahead == token;
        if is_next {
            self.next();
        }
        is_next
    }
}

/// The first token of a text and its length in bytes.
fn scan(text: &str) -> (Token, usize) {
    let Some(first) = text.chars().next() else { return (Token::End, 0) };
    match first {
        '0'..='9' => number(text),
        ':' | '.' | ')' => (Token::Symbol(first as u8), 1),
        '+' => (Token::Sign(1), 1),
        '-' => (Token::Sign(-1), 1),
        _ if is_letter(first) => word(text),
        _ if is_space(first) => (Token::Space, first.len_utf8()),
        '(' => (Token::Other, parentheses(text)),
        _ => (Token::Other, first.len_utf8()),
    }
}

/// Nine digits are read, leading zeros not counted, and the others passed over.
fn number(text: &str) -> (Token, usize) {
    let length = text.bytes().take_while(u8::is_ascii_digit).count();
    let digits = text.get(..length).unwrap_or_default().trim_start_matches('0');
    let value = digits.get(..9).unwrap_or(digits).parse().unwrap_or(0);
    (Token::Number { value, length }, length)
}

/// Whatever comes from `A` on in Unicode, `[` and `_` included.
fn is_letter(c: char) -> bool {
    c >= 'A' && !is_space(c)
}

fn word(text: &str) -> (Token, usize) {
    let end = text.find(|c| !is_letter(c)).unwrap_or(text.len());
    let word = text.get(..end).unwrap_or_default();
    let length = word.chars().map(char::len_utf16).sum();
    (Token::Word(meaning(&word.to_ascii_lowercase()), length), end)
}

fn meaning(word: &str) -> Word {
    const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    // Only the name of a month may go on.
    if let Some(at) = MONTHS.iter().position(|month| word.starts_with(month)) {
        return Word::Month(at as i64 + 1);
    }
    match word {
        "am" => Word::HalfDay(0),
        "pm" => Word::HalfDay(12),
        "ut" | "utc" | "z" | "gmt" => Word::Zone(0),
        "edt" => Word::Zone(-4),
        "est" | "cdt" => Word::Zone(-5),
        "cst" | "mdt" => Word::Zone(-6),
        "mst" | "pdt" => Word::Zone(-7),
        "pst" => Word::Zone(-8),
        "t" => Word::TimeSeparator,
        _ => Word::Unknown,
    }
}

/// The length of a text in parentheses, nested ones included.
fn parentheses(text: &str) -> usize {
    let mut open = 0;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'(' => open += 1,
            b')' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return at + 1;
        }
    }
    text.len()
}
