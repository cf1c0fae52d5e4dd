//! The tokens of a date.

use crate::runtimes::javascript::is_space;

/// V8 reads so many digits of a number, leading zeros not counted, and skips
/// the others.
pub(super) const DIGITS: usize = 9;

/// The meaning of a word, known by its first three letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    /// A month, from 1.
    Month(i64),
    /// `am` or `pm`, as hours to add.
    HalfDay(i64),
    /// A zone, in hours ahead of UTC.
    Zone(i64),
    /// `T`, which separates day and time.
    TimeMark,
    /// Any other word.
    Other,
}

/// Words that mean something; only the name of a month may be longer.
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
pub(super) enum Token {
    /// A number and how many digits it is written with.
    Number(i64, usize),
    /// A word and its length in UTF-16 units.
    Word(Word, usize),
    /// `+` (1) or `-` (-1).
    Sign(i64),
    /// `:`.
    Colon,
    /// `.`.
    Dot,
    /// `)`.
    Close,
    /// One white space character.
    Space,
    /// Anything else, such as text in parentheses.
    Other,
    /// The end; a zero character is one too.
    End,
}

impl Token {
    /// `Z` alone, without the other names of its zone.
    pub(super) const UTC: Token = Token::Word(Word::Zone(0), 1);
}

/// The tokens of a text with one token of lookahead.
#[derive(Debug)]
pub(super) struct Tokens<'t> {
    rest: std::str::Chars<'t>,
    next: Token,
}

impl<'t> Tokens<'t> {
    pub(super) fn new(text: &'t str) -> Tokens<'t> {
        let mut rest = text.chars();
        let next = scan(&mut rest);
        Tokens { rest, next }
    }

    /// Returns the next token.
    pub(super) fn peek(&self) -> Token {
        self.next
    }

    /// Returns the next token, which is consumed.
    pub(super) fn take(&mut self) -> Token {
        let next = scan(&mut self.rest);
        std::mem::replace(&mut self.next, next)
    }

    /// Consumes this token if it is the next; whether it was.
    pub(super) fn skip(&mut self, token: Token) -> bool {
        let is_next = self.next == token;
        if is_next {
            self.take();
        }
        is_next
    }
}

/// Line ends beyond ASCII count as letters here, and so does everything else
/// from `A` on.
fn is_letter(c: char) -> bool {
    c >= 'A' && (!is_space(c) || matches!(c, '\u{2028}' | '\u{2029}'))
}

fn scan(rest: &mut std::str::Chars<'_>) -> Token {
    let text = rest.as_str();
    let Some(first) = rest.next().filter(|first| *first != '\0') else {
        *rest = "".chars();
        return Token::End;
    };
    match first {
        '0'..='9' => {
            let length = text.bytes().take_while(u8::is_ascii_digit).count();
            let (digits, after) = text.split_at(length);
            *rest = after.chars();
            let read = digits.trim_start_matches('0').bytes().take(DIGITS);
            Token::Number(read.fold(0, |n, digit| n * 10 + i64::from(digit - b'0')), length)
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
            let (word, after) = text.split_at(text.find(|c| !is_letter(c)).unwrap_or(text.len()));
            *rest = after.chars();
            let length = word.chars().map(char::len_utf16).sum();
            Token::Word(meaning(word, length), length)
        }
        space if is_space(space) => Token::Space,
        _ => Token::Other,
    }
}

/// Moves past the parenthesis that closes the one just read, or to the end.
fn skip_parentheses(rest: &mut std::str::Chars<'_>) {
    let mut open = 1_usize;
    while open > 0 {
        let before = rest.clone();
        match rest.next() {
            Some('(') => open += 1,
            Some(')') => open -= 1,
            Some('\0') => {
                *rest = before;
                return;
            }
            Some(_) => {}
            None => return,
        }
    }
}

fn meaning(word: &str, length: usize) -> Word {
    // V8 sets one bit to make letters small, which turns some marks into others.
    let start: String = word.chars().take(3).map(|c| if c.is_ascii() { char::from(c as u8 | 0x20) } else { c }).collect();
    let found = WORDS.iter().find(|(name, _)| *name == start).map_or(Word::Other, |(_, word)| *word);
    if length <= 3 || matches!(found, Word::Month(_)) { found } else { Word::Other }
}
