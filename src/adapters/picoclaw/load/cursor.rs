//! A walk over JSON text that refuses what Go's `encoding/json` refuses. It
//! owns syntax alone; what a value is read into lies with its caller. A text
//! that is wrong anywhere is lost as a whole, so that nothing is checked twice.

use crate::model::json::token_end;
use crate::model::stops::Stops;

/// What matters in a string.
const MARKS: Stops<2> = Stops::at([b'"', b'\\']).and_controls();

/// How many objects and arrays may stand inside each other.
const DEEPEST: usize = 10_000;

/// The program does not take this text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused;

/// A place in a text, where a value, a key or a mark is expected.
#[derive(Debug, Clone)]
pub struct Cursor<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
    /// Whether what follows was walked through before, and not refused.
    is_known: bool,
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
        let mut cursor = Cursor { text, at: 0, depth: 0, is_known: false };
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
        if self.is_known && self.peek() == b'"' {
            let (start, end) = (self.at + 1, token_end(self.text, self.at));
            self.at = end;
            return Ok(self.text.get(start..end - 1).unwrap_or_default());
        }
        self.pass(b'"')?;
        let start = self.at;
        loop {
            self.at = MARKS.next(self.text, self.at);
            match self.peek() {
                b'"' => break,
                b'\\' => self.escape()?,
                _ => return Err(Refused),
            }
        }
        let inner = self.text.get(start..self.at).unwrap_or_default();
        self.at += 1;
        Ok(inner)
    }

    fn escape(&mut self) -> Result<(), Refused> {
        self.pass(b'\\')?;
        let letter = self.peek();
        self.at += 1;
        match letter {
            b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(()),
            b'u' => {
                let digits = self.text.get(self.at..self.at + 4).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
                self.at += 4;
                digits.map(|_| ()).ok_or(Refused)
            }
            _ => Err(Refused),
        }
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

    /// Passes an array, and hands out the place at which its elements begin: they
    /// are known to be right, and can be walked through with less care.
    pub fn set_aside(&mut self) -> Result<(Cursor<'a>, Series), Refused> {
        let mut inside = self.clone();
        let series = inside.array()?;
        self.skip()?;
        inside.is_known = true;
        Ok((inside, series))
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
