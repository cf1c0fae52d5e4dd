//! JSON as CPython 3.11's `json.loads` takes it: one pass, spans instead of
//! values, and the first of its three kinds of failure in its own order. Which
//! failure comes first matters, because the loader skips a line for some and
//! gives up the whole session for others.

use crate::model::json::{Kind, Member, kind_of};

/// CPython refuses to turn more digits than this into an integer.
pub const LONGEST_INTEGER: usize = 4300;

/// What `json.loads` raises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// `JSONDecodeError`: the text is not JSON.
    Syntax,
    /// A bare `ValueError`: an integer has too many digits.
    LongInteger,
    /// `RecursionError`: the nesting goes too deep.
    TooDeep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Open {
    Object,
    Array,
}

/// A parser that can be used again and again, so that its stack is allocated once.
#[derive(Debug)]
pub struct Parser {
    too_deep: usize,
    open: Vec<Open>,
}

impl Parser {
    /// A parser that raises where this many containers stand in each other.
    #[must_use]
    pub fn new(too_deep: usize) -> Parser {
        Parser { too_deep, open: Vec::new() }
    }

    /// Takes a text that is one value, and says what it is; the members of an
    /// object are put into `members`, which is empty for everything else.
    ///
    /// # Errors
    /// As `json.loads` raises.
    pub fn whole<'a>(&mut self, text: &'a [u8], members: &mut Vec<Member<'a>>) -> Result<Kind, Failure> {
        members.clear();
        self.open.clear();
        let mut cursor = Cursor::new(text, self);
        cursor.blank();
        let start = cursor.at;
        if cursor.peek() == Some(b'{') {
            cursor.object(members)?;
        } else {
            cursor.value(0)?;
        }
        cursor.blank();
        if cursor.at < text.len() {
            return Err(Failure::Syntax);
        }
        Ok(kind_of(text.get(start..).unwrap_or_default()))
    }
}

/// The members of an object that has been accepted before.
#[must_use]
pub fn members(object: &[u8]) -> Vec<Member<'_>> {
    let mut found = Vec::new();
    // Accepted text does not fail; other text ends early.
    let _ = Parser::new(usize::MAX).whole(object, &mut found);
    found
}

/// The elements of an array that has been accepted before.
#[must_use]
pub fn elements(array: &[u8]) -> Vec<&[u8]> {
    let mut parser = Parser::new(usize::MAX);
    let mut cursor = Cursor::new(array, &mut parser);
    cursor.at = 1;
    let mut found = Vec::new();
    loop {
        cursor.blank();
        let start = cursor.at;
        if cursor.value(1).is_err() {
            return found; // `]` behind `[`, which is no value
        }
        found.push(array.get(start..cursor.at).unwrap_or_default());
        cursor.blank();
        if cursor.take(b',').is_err() {
            return found;
        }
    }
}

/// Whether a byte is there that may not stand raw in a string. Looks at all of
/// them, which is quicker than to stop at the first.
fn has_controls(text: &[u8]) -> bool {
    text.iter().fold(u8::MAX, |least, &b| least.min(b)) < 0x20
}

struct Cursor<'a, 'p> {
    text: &'a [u8],
    at: usize,
    /// Looked for once in the whole text: nearly none has any.
    has_controls: bool,
    parser: &'p mut Parser,
}

impl<'a, 'p> Cursor<'a, 'p> {
    fn new(text: &'a [u8], parser: &'p mut Parser) -> Cursor<'a, 'p> {
        Cursor { text, at: 0, has_controls: has_controls(text), parser }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn since(&self, start: usize) -> &'a [u8] {
        self.text.get(start..self.at).unwrap_or_default()
    }

    fn blank(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> Result<(), Failure> {
        if self.peek() != Some(byte) {
            return Err(Failure::Syntax);
        }
        self.at += 1;
        Ok(())
    }

    /// The outermost object, whose members are wanted.
    fn object(&mut self, members: &mut Vec<Member<'a>>) -> Result<(), Failure> {
        self.at += 1;
        self.blank();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            let start = self.at;
            self.string()?;
            let key = self.since(start);
            self.colon()?;
            let start = self.at;
            self.value(1)?;
            members.push(Member { key, value: self.since(start) });
            self.blank();
            if self.peek() == Some(b'}') {
                self.at += 1;
                return Ok(());
            }
            self.take(b',')?;
            self.blank();
        }
    }

    fn colon(&mut self) -> Result<(), Failure> {
        self.blank();
        self.take(b':')?;
        self.blank();
        Ok(())
    }

    /// Passes over one value that stands inside `outside` containers. The open
    /// ones are on a stack of ours, so that no text can exhaust the real one.
    fn value(&mut self, outside: usize) -> Result<(), Failure> {
        let floor = self.parser.open.len();
        loop {
            match self.peek() {
                Some(b'{') if self.enter(Open::Object, outside)? => {
                    self.string()?;
                    self.colon()?;
                    continue;
                }
                Some(b'[') if self.enter(Open::Array, outside)? => continue,
                Some(b'{' | b'[') => {}
                _ => self.scalar()?,
            }
            loop {
                if self.parser.open.len() == floor {
                    return Ok(());
                }
                self.blank();
                match (self.peek(), self.parser.open.last()) {
                    (Some(b','), Some(Open::Array)) => {
                        self.at += 1;
                        self.blank();
                        break;
                    }
                    (Some(b','), Some(Open::Object)) => {
                        self.at += 1;
                        self.blank();
                        self.string()?;
                        self.colon()?;
                        break;
                    }
                    (Some(b'}'), Some(Open::Object)) | (Some(b']'), Some(Open::Array)) => self.leave(),
                    _ => return Err(Failure::Syntax),
                }
            }
        }
    }

    /// Steps into a container, and says whether it holds anything; an empty one
    /// is left again at once.
    fn enter(&mut self, open: Open, outside: usize) -> Result<bool, Failure> {
        self.parser.open.push(open);
        if outside + self.parser.open.len() >= self.parser.too_deep {
            return Err(Failure::TooDeep);
        }
        self.at += 1;
        self.blank();
        let closer = match open {
            Open::Object => b'}',
            Open::Array => b']',
        };
        if self.peek() == Some(closer) {
            self.leave();
            return Ok(false);
        }
        Ok(true)
    }

    fn leave(&mut self) {
        self.at += 1;
        self.parser.open.pop();
    }

    fn string(&mut self) -> Result<(), Failure> {
        self.take(b'"')?;
        let start = self.at;
        let mut at = start;
        loop {
            at += first_mark(self.text.get(at..).unwrap_or_default());
            match (self.text.get(at), self.text.get(at + 1)) {
                (Some(b'"'), _) => break,
                (Some(_), Some(b'u')) => {
                    let digits = self.text.get(at + 2..at + 6).ok_or(Failure::Syntax)?;
                    if !digits.iter().all(u8::is_ascii_hexdigit) {
                        return Err(Failure::Syntax);
                    }
                    at += 6;
                }
                (Some(_), Some(&escaped)) if ESCAPABLE[usize::from(escaped)] => at += 2,
                _ => return Err(Failure::Syntax),
            }
        }
        self.at = at + 1;
        if self.has_controls && has_controls(self.text.get(start..at).unwrap_or_default()) {
            return Err(Failure::Syntax);
        }
        Ok(())
    }

    fn scalar(&mut self) -> Result<(), Failure> {
        let words: [&[u8]; 6] = [b"true", b"false", b"null", b"NaN", b"Infinity", b"-Infinity"];
        match self.peek() {
            Some(b'"') => self.string(),
            Some(b'0'..=b'9') => self.number(),
            _ => match words.iter().find(|word| self.rest().starts_with(word)) {
                Some(word) => {
                    self.at += word.len();
                    Ok(())
                }
                None => self.number(),
            },
        }
    }

    fn digits(&mut self) -> usize {
        let count = self.rest().iter().take_while(|b| b.is_ascii_digit()).count();
        self.at += count;
        count
    }

    fn number(&mut self) -> Result<(), Failure> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let whole = match self.peek() {
            // Nothing follows a leading zero: more digits are another token.
            Some(b'0') => {
                self.at += 1;
                1
            }
            _ => self.digits(),
        };
        if whole == 0 {
            return Err(Failure::Syntax);
        }
        let end_of_integer = self.at;
        if self.peek() == Some(b'.') && self.text.get(self.at + 1).is_some_and(u8::is_ascii_digit) {
            self.at += 1;
            self.digits();
        }
        if let Some(b'e' | b'E') = self.peek() {
            let signed = matches!(self.text.get(self.at + 1), Some(b'+' | b'-'));
            let digits_at = self.at + 1 + usize::from(signed);
            if self.text.get(digits_at).is_some_and(u8::is_ascii_digit) {
                self.at = digits_at;
                self.digits();
            }
        }
        if self.at == end_of_integer && whole > LONGEST_INTEGER {
            return Err(Failure::LongInteger);
        }
        Ok(())
    }
}

/// Which bytes may stand behind a backslash. A table, because a chain of
/// comparisons is guessed wrong at every other escape.
const ESCAPABLE: [bool; 256] = {
    let mut table = [false; 256];
    let mut at = 0;
    while at < 8 {
        table[b"\"\\/bfnrt"[at] as usize] = true;
        at += 1;
    }
    table
};

/// How many bytes stand before the first quote or backslash. Most keys end, and
/// many escapes follow, within a few bytes: only then is a longer search set up.
fn first_mark(text: &[u8]) -> usize {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const NEAR: usize = 2;
    // Sets the high bit of each byte that is 0; above the first such byte a
    // borrow may set others, so only the lowest bit can be trusted.
    let zeros = |word: u64| word.wrapping_sub(ONES) & !word & (ONES << 7);
    let (words, _) = text.as_chunks::<8>();
    for (at, word) in words.iter().take(NEAR).enumerate() {
        let word = u64::from_le_bytes(*word);
        let found = zeros(word ^ (ONES * u64::from(b'"'))) | zeros(word ^ (ONES * u64::from(b'\\')));
        if found != 0 {
            return at * 8 + (found.trailing_zeros() / 8) as usize;
        }
    }
    let searched = words.len().min(NEAR) * 8;
    let far = text.get(searched..).unwrap_or_default();
    searched + memchr::memchr2(b'"', b'\\', far).unwrap_or(far.len())
}
