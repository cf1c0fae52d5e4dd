//! The tokens of a date.

use super::is_space;

/// Digits beyond these are read over.
pub const DIGITS: usize = 9;

/// A word, known by its first three letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Word {
    /// A month, from 1.
    Month(i64),
    /// Hours to add for `am` and `pm`.
    HalfDay(i64),
    /// A zone, in hours from UTC.
    Zone(i64),
    /// `T`.
    TimeMark,
    /// Any other.
    Other,
}

/// Words that stand for something; only a month may be longer than three.
const WORDS: [(&str, Word); 27] = [
    ("jan", Word::Month(1)),
    ("feb", Word::Month(2)),
    ("mar", Word::Month(3)),
    ("apr", Word::Month(4)),
    ("may", Word::Month(5)),
    ("jun", Word::Month(6)),
    ("jul", Word::Month(7)),
    ("aug", Word::Month(8)),
    ("sep", Word::Month(9)),
    ("oct", Word::Month(10)),
    ("nov", Word::Month(11)),
    ("dec", Word::Month(12)),
    ("am", Word::HalfDay(0)),
    ("pm", Word::HalfDay(12)),
    ("ut", Word::Zone(0)),
    ("utc", Word::Zone(0)),
    ("z", Word::Zone(0)),
    ("gmt", Word::Zone(0)),
    ("cdt", Word::Zone(-5)),
    ("cst", Word::Zone(-6)),
    ("edt", Word::Zone(-4)),
    ("est", Word::Zone(-5)),
    ("mdt", Word::Zone(-6)),
    ("mst", Word::Zone(-7)),
    ("pdt", Word::Zone(-7)),
    ("pst", Word::Zone(-8)),
    ("t", Word::TimeMark),
];

/// One token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Token {
    /// A number and how many digits it is written with.
    Number(i64, usize),
    /// A word and its length.
    Word(Word, usize),
    /// `+` or `-`.
    Sign(i64),
    /// `:`.
    Colon,
    /// `.`.
    Dot,
    /// `)`.
    Close,
    /// One white space character.
    Space,
    /// Anything else, text in parentheses included.
    Other,
    /// The end, which a zero character is too.
    End,
}

/// The tokens of a text, with one of them in view.
pub struct Tokens<'t> {
    rest: std::str::Chars<'t>,
    next: Token,
}

impl<'t> Tokens<'t> {
    /// The tokens of this text.
    #[must_use]
    pub fn new(text: &'t str) -> Tokens<'t> {
        let text = text.split('\0').next().unwrap_or_default();
        let mut rest = text.chars();
        let next = scan(&mut rest);
        Tokens { rest, next }
    }

    /// The next token.
    #[must_use]
    pub fn peek(&self) -> Token {
        self.next
    }

    /// The next token, and steps over it.
    pub fn take(&mut self) -> Token {
        let next = scan(&mut self.rest);
        std::mem::replace(&mut self.next, next)
    }

    /// Steps over this token, if it is the next.
    pub fn skip(&mut self, token: Token) -> bool {
        let is_next = self.next == token;
        if is_next {
            self.take();
        }
        is_next
    }
}

fn scan(rest: &mut std::str::Chars<'_>) -> Token {
    let text = rest.as_str();
    let Some(first) = rest.next() else { return Token::End };
    // Line ends beyond ASCII count as letters here.
    let is_letter = |c: char| c >= 'A' && (!is_space(c) || matches!(c, '\u{2028}' | '\u{2029}'));
    match first {
        '0'..='9' => {
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            *rest = text.get(digits..).unwrap_or_default().chars();
            let digits = text.get(..digits).unwrap_or_default();
            let counted = digits.trim_start_matches('0').bytes().take(DIGITS);
            Token::Number(counted.fold(0, |n, digit| n * 10 + i64::from(digit - b'0')), digits.len())
        }
        ':' => Token::Colon,
        '-' => Token::Sign(-1),
        '+' => Token::Sign(1),
        '.' => Token::Dot,
        ')' => Token::Close,
        '(' => {
            skip_parentheses(rest);
            Token::Other
        }
        letter if is_letter(letter) => {
            let word = text.split(|c| !is_letter(c)).next().unwrap_or_default();
            *rest = text.get(word.len()..).unwrap_or_default().chars();
            let length = word.chars().map(char::len_utf16).sum();
            Token::Word(word_of(word, length), length)
        }
        space if is_space(space) => Token::Space,
        _ => Token::Other,
    }
}

/// Up to the parenthesis that closes the one just read, or to the end.
fn skip_parentheses(rest: &mut std::str::Chars<'_>) {
    let mut open = 1_usize;
    while open > 0
        && let Some(c) = rest.next()
    {
        match c {
            '(' => open += 1,
            ')' => open -= 1,
            _ => {}
        }
    }
}

fn word_of(word: &str, length: usize) -> Word {
    // Setting one bit makes letters small, and some marks into others.
    let lowered: String = word.chars().take(3).map(|c| if c.is_ascii() { char::from(c as u8 | 0x20) } else { c }).collect();
    let found = WORDS.iter().find(|(name, _)| *name == lowered).map_or(Word::Other, |(_, word)| *word);
    if length <= 3 || matches!(found, Word::Month(_)) { found } else { Word::Other }
}
