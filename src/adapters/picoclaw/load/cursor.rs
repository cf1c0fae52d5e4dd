//! A walk over JSON text that refuses what Go's `encoding/json` refuses. It
//! owns syntax alone; what a value is read into lies with its caller. A text
//! that is wrong anywhere is lost as a whole, so that nothing is checked twice.

use crate::model::json::token_end;
use crate::model::stops::Stops;

/// What ends a string, and what no string may hold raw.
const MARKS: Stops<2> = Stops::at([b'"', b'\\']).and_controls();

/// What tells how a text is nested.
const NESTING: Stops<5> = Stops::at([b'"', b'{', b'}', b'[', b']']);

/// How many objects and arrays may stand inside each other.
pub const DEEPEST: usize = 10_000;

/// The program does not take this text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused;

/// A place in a text, where a value, a key or a mark is expected.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
}

/// A string, as it stands between its quotes.
#[derive(Debug, Clone, Copy)]
pub struct Quoted<'a> {
    /// Its text.
    pub inner: &'a [u8],
    /// Whether it has escapes that Go would not write.
    pub has_odd_escapes: bool,
}

/// An object or array that is being walked through.
#[derive(Debug, Clone, Copy)]
pub struct Series {
    close: u8,
    is_fresh: bool,
}

impl<'a> Cursor<'a> {
    /// The start of a text, white space passed.
    #[must_use]
    pub fn new(text: &'a [u8]) -> Cursor<'a> {
        let mut cursor = Cursor { text, at: 0, depth: 0 };
        cursor.pass_space();
        cursor
    }

    /// The byte that is next, 0 at the end. A zero byte is never right outside
    /// of a string, so that the two need not be told apart.
    #[must_use]
    pub fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    /// Whether the next value is `null`, by its first letter.
    #[must_use]
    pub fn is_at_null(&self) -> bool {
        self.peek() == b'n'
    }

    /// Makes sure that nothing but white space follows.
    pub fn end(mut self) -> Result<(), Refused> {
        self.pass_space();
        if self.at == self.text.len() { Ok(()) } else { Err(Refused) }
    }

    fn pass_space(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r' | b'\n') {
            self.at += 1;
        }
    }

    fn pass(&mut self, byte: u8) -> Result<(), Refused> {
        if self.text.get(self.at) != Some(&byte) {
            return Err(Refused);
        }
        self.at += 1;
        Ok(())
    }

    /// Passes a word such as `null`.
    pub fn word(&mut self, word: &str) -> Result<(), Refused> {
        word.bytes().try_for_each(|byte| self.pass(byte))
    }

    /// Goes into an object.
    pub fn object(&mut self) -> Result<Series, Refused> {
        self.open(b'{', b'}')
    }

    /// Goes into an array.
    pub fn array(&mut self) -> Result<Series, Refused> {
        self.open(b'[', b']')
    }

    fn open(&mut self, open: u8, close: u8) -> Result<Series, Refused> {
        self.pass(open)?;
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(Refused);
        }
        Ok(Series { close, is_fresh: true })
    }

    /// Steps to the next key or element, or out of the series behind its last.
    pub fn more(&mut self, series: &mut Series) -> Result<bool, Refused> {
        self.pass_space();
        let was_fresh = std::mem::replace(&mut series.is_fresh, false);
        if self.peek() == series.close {
            self.at += 1;
            self.depth -= 1;
            return Ok(false);
        }
        if !was_fresh {
            // A comma promises something: what follows is not taken for an end.
            self.pass(b',')?;
            self.pass_space();
        }
        Ok(true)
    }

    /// Passes a key and its colon; the key as it stands between its quotes.
    pub fn key(&mut self) -> Result<&'a [u8], Refused> {
        let key = self.string()?;
        self.pass_space();
        self.pass(b':')?;
        self.pass_space();
        Ok(key)
    }

    /// Passes a string; its text as it stands between the quotes.
    pub fn string(&mut self) -> Result<&'a [u8], Refused> {
        self.quoted().map(|quoted| quoted.inner)
    }

    /// The same, with what is to be known of it besides.
    pub fn quoted(&mut self) -> Result<Quoted<'a>, Refused> {
        if self.peek() != b'"' {
            return Err(Refused);
        }
        let text = self.text;
        let mut has_odd_escapes = false;
        let quote = MARKS.walk(text, self.at + 1, |at| {
            let escape = Some(at).filter(|at| text.get(*at) == Some(&b'\\')).and_then(|at| escape_at(text, at))?;
            has_odd_escapes |= !escape.is_written_so;
            Some(escape.end)
        });
        // Otherwise it ends nowhere, or holds what it may not.
        if text.get(quote) != Some(&b'"') {
            return Err(Refused);
        }
        let inner = text.get(self.at + 1..quote).unwrap_or_default();
        self.at = quote + 1;
        Ok(Quoted { inner, has_odd_escapes })
    }

    /// Passes a number; its text.
    pub fn number(&mut self) -> Result<&'a [u8], Refused> {
        let start = self.at;
        if self.peek() == b'-' {
            self.at += 1;
        }
        // A zero in front stands alone: a digit behind it is then out of place.
        if self.peek() == b'0' {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == b'.' {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), b'e' | b'E') {
            self.at += 1;
            if matches!(self.peek(), b'+' | b'-') {
                self.at += 1;
            }
            self.digits()?;
        }
        Ok(self.text.get(start..self.at).unwrap_or_default())
    }

    fn digits(&mut self) -> Result<(), Refused> {
        let start = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(Refused) }
    }

    fn scalar(&mut self) -> Result<(), Refused> {
        match self.peek() {
            b'"' => self.string().map(|_| ()),
            b't' => self.word("true"),
            b'f' => self.word("false"),
            b'n' => self.word("null"),
            _ => self.number().map(|_| ()),
        }
    }

    /// Passes an array, and hands out the place at which its elements begin. Only
    /// quotes and brackets are looked at: of an array that is right they tell the
    /// end, and whether it is right shows when its elements are walked through.
    pub fn set_aside(&mut self) -> Result<(Cursor<'a>, Series), Refused> {
        let mut inside = self.clone();
        let series = inside.array()?;
        let mut open = 0_usize;
        loop {
            self.at = NESTING.next(self.text, self.at);
            match self.peek() {
                b'"' => self.at = token_end(self.text, self.at),
                b'{' | b'[' => {
                    open += 1;
                    self.at += 1;
                }
                b'}' | b']' => {
                    open -= 1;
                    self.at += 1;
                }
                _ => return Err(Refused),
            }
            if open == 0 {
                return Ok((inside, series));
            }
        }
    }

    /// Passes any value; its text. Keeps its own stack: the depth of a text is
    /// up to whoever wrote it.
    pub fn skip(&mut self) -> Result<&'a [u8], Refused> {
        let start = self.at;
        let mut open: Vec<Series> = Vec::new();
        loop {
            match self.peek() {
                b'{' => open.push(self.object()?),
                b'[' => open.push(self.array()?),
                _ => self.scalar()?,
            }
            loop {
                let Some(series) = open.last_mut() else {
                    return Ok(self.text.get(start..self.at).unwrap_or_default());
                };
                if self.more(series)? {
                    if series.close == b'}' {
                        self.key()?;
                    }
                    break;
                }
                open.pop();
            }
        }
    }
}

/// An escape.
struct Escape {
    end: usize,
    /// Whether Go writes just this one.
    is_written_so: bool,
}

/// The escape that begins at a backslash, if it is one.
fn escape_at(text: &[u8], at: usize) -> Option<Escape> {
    match text.get(at + 1)? {
        b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't' => Some(Escape { end: at + 2, is_written_so: true }),
        b'/' => Some(Escape { end: at + 2, is_written_so: false }),
        b'u' => {
            let digits = text.get(at + 2..at + 6).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
            Some(Escape { end: at + 6, is_written_so: is_written_so(digits) })
        }
        _ => None,
    }
}

/// Whether Go writes a `\u` escape with these digits: of five characters, and
/// of the controls that have no shorter one.
fn is_written_so(digits: &[u8]) -> bool {
    match digits {
        b"003c" | b"003e" | b"0026" | b"2028" | b"2029" => true,
        [b'0', b'0', b'0', digit] => matches!(digit, b'0'..=b'7' | b'b' | b'e' | b'f'),
        [b'0', b'0', b'1', digit] => matches!(digit, b'0'..=b'9' | b'a'..=b'f'),
        _ => false,
    }
}
