//! A walk over JSON text that refuses what `encoding/json` refuses. A text that
//! is wrong anywhere is refused as a whole, so that nothing is checked twice.

use crate::json::byte_set::ByteSet;
use crate::json::{Value, token_end};

use super::decode::{Decode, Record, Source, find_field};
use super::marshal::is_marshal_escape;
use super::syntax::MAX_DEPTH;
use super::text::{Text, TokenEscapes};

/// What ends a string, and what no string may hold raw.
const MARKS: ByteSet<2> = ByteSet::of([b'"', b'\\']).and_controls();

/// What tells how a text is nested.
const NESTING: ByteSet<5> = ByteSet::of([b'"', b'{', b'}', b'[', b']']);

/// `json.Unmarshal` fails on this text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Invalid;

/// A place in a text, where a value, a key or a mark is expected.
#[derive(Debug, Clone)]
pub struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    depth: usize,
}

/// An object or array that is being walked through.
#[derive(Debug, Clone, Copy)]
pub struct Series {
    close: u8,
    is_fresh: bool,
}

impl<'a> Scanner<'a> {
    /// Returns the start of a text, white space passed.
    #[must_use]
    pub fn new(text: &'a [u8]) -> Scanner<'a> {
        let mut scanner = Scanner { text, at: 0, depth: 0 };
        scanner.pass_space();
        scanner
    }

    /// Returns the byte that is next, 0 at the end. A zero byte is never right outside
    /// of a string, so that the two need not be told apart.
    #[must_use]
    pub fn peek(&self) -> u8 {
        self.text.get(self.at).copied().unwrap_or(0)
    }

    /// Makes sure that nothing but white space follows.
    pub fn end(mut self) -> Result<(), Invalid> {
        self.pass_space();
        if self.at == self.text.len() { Ok(()) } else { Err(Invalid) }
    }

    /// Tells whether the text ends where more of a value is expected. Go finds that out
    /// by reading a space after the end: a number, a word or an escape that is cut
    /// off is another error, because no space may stand in it. That is why the
    /// methods go back to the start of a word or number that they refuse, and to
    /// the backslash of an escape.
    pub(super) fn ends_too_soon(mut self) -> bool {
        self.skip().is_err() && self.at == self.text.len()
    }

    fn pass_space(&mut self) {
        while matches!(self.peek(), b' ' | b'\t' | b'\r' | b'\n') {
            self.at += 1;
        }
    }

    fn pass(&mut self, byte: u8) -> Result<(), Invalid> {
        if self.text.get(self.at) != Some(&byte) {
            return Err(Invalid);
        }
        self.at += 1;
        Ok(())
    }

    /// Passes a word such as `null`.
    pub fn word(&mut self, word: &str) -> Result<(), Invalid> {
        let start = self.at;
        word.bytes().try_for_each(|byte| self.pass(byte)).inspect_err(|_| self.at = start)
    }

    /// Goes into an object.
    pub fn open_object(&mut self) -> Result<Series, Invalid> {
        self.open(b'{', b'}')
    }

    /// Goes into an array.
    pub fn open_array(&mut self) -> Result<Series, Invalid> {
        self.open(b'[', b']')
    }

    fn open(&mut self, open: u8, close: u8) -> Result<Series, Invalid> {
        self.pass(open)?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            self.at -= 1;
            return Err(Invalid);
        }
        Ok(Series { close, is_fresh: true })
    }

    /// Steps to the next key or element, or out of the series after its last.
    pub fn more(&mut self, series: &mut Series) -> Result<bool, Invalid> {
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

    /// Passes a key and its colon; the key with its quotes.
    pub fn key(&mut self) -> Result<&'a [u8], Invalid> {
        let key = self.string()?.token();
        self.pass_space();
        self.pass(b':')?;
        self.pass_space();
        Ok(key)
    }

    /// Passes a string.
    pub fn string(&mut self) -> Result<Text<'a>, Invalid> {
        if self.peek() != b'"' {
            return Err(Invalid);
        }
        let text = self.text;
        let mut escapes = TokenEscapes::Marshalled;
        let quote = MARKS.walk(text, self.at + 1, |at| {
            let escape = Some(at).filter(|at| text.get(*at) == Some(&b'\\')).and_then(|at| escape_at(text, at))?;
            if escape.spelling == TokenEscapes::Other {
                escapes = TokenEscapes::Other;
            }
            Some(escape.end)
        });
        // Otherwise it ends nowhere, or holds what it may not.
        if text.get(quote) != Some(&b'"') {
            self.at = quote;
            return Err(Invalid);
        }
        let token = text.get(self.at..=quote).unwrap_or_default();
        self.at = quote + 1;
        Ok(Text::with_escapes(token, escapes))
    }

    /// Passes a number; its text.
    pub fn number(&mut self) -> Result<&'a [u8], Invalid> {
        let start = self.at;
        self.pass_number().inspect_err(|_| self.at = start)?;
        Ok(self.text.get(start..self.at).unwrap_or_default())
    }

    fn pass_number(&mut self) -> Result<(), Invalid> {
        if self.peek() == b'-' {
            self.at += 1;
        }
        // A zero in front stands alone: a digit after it is then out of place.
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
        Ok(())
    }

    fn digits(&mut self) -> Result<(), Invalid> {
        let start = self.at;
        while self.peek().is_ascii_digit() {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(Invalid) }
    }

    fn scalar(&mut self) -> Result<(), Invalid> {
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
    pub fn set_aside(&mut self) -> Result<(Scanner<'a>, Series), Invalid> {
        let mut inside = self.clone();
        let series = inside.open_array()?;
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
                _ => return Err(Invalid),
            }
            if open == 0 {
                return Ok((inside, series));
            }
        }
    }

    /// Passes any value; its text. Keeps its own stack: the depth of a text is
    /// up to whoever wrote it.
    pub fn skip(&mut self) -> Result<&'a [u8], Invalid> {
        let start = self.at;
        let mut open: Vec<Series> = Vec::new();
        loop {
            match self.peek() {
                b'{' => open.push(self.open_object()?),
                b'[' => open.push(self.open_array()?),
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
    spelling: TokenEscapes,
}

/// Returns the escape that begins at a backslash, if it is one.
fn escape_at(text: &[u8], at: usize) -> Option<Escape> {
    match text.get(at + 1)? {
        b'"' | b'\\' | b'b' | b'f' | b'n' | b'r' | b't' => Some(Escape { end: at + 2, spelling: TokenEscapes::Marshalled }),
        b'/' => Some(Escape { end: at + 2, spelling: TokenEscapes::Other }),
        b'u' => {
            let escape = text.get(at..at + 6).filter(|escape| escape[2..].iter().all(u8::is_ascii_hexdigit))?;
            let spelling = if is_marshal_escape(escape) { TokenEscapes::Marshalled } else { TokenEscapes::Other };
            Some(Escape { end: at + 6, spelling })
        }
        _ => None,
    }
}

impl<'a> Source<'a> for Scanner<'a> {
    type Error = Invalid;

    fn peek(&self) -> u8 {
        Scanner::peek(self)
    }

    fn null(&mut self) -> Result<(), Invalid> {
        self.word("null")
    }

    fn text(&mut self) -> Result<Text<'a>, Invalid> {
        self.string()
    }

    fn number(&mut self) -> Result<&'a [u8], Invalid> {
        Scanner::number(self)
    }

    fn raw(&mut self) -> Result<Value<'a>, Invalid> {
        // This scanner is a validator itself, by Go's rules.
        self.skip().map(Value::trusted)
    }

    fn object<T: Record<'a, Self>>(&mut self, record: &mut T) -> Result<(), Invalid> {
        let mut object = self.open_object()?;
        while self.more(&mut object)? {
            match find_field(T::KEYS, self.key()?) {
                Some((field, _)) => record.decode_field(field, self)?,
                None => {
                    self.skip()?;
                }
            }
        }
        Ok(())
    }

    fn array(&mut self, mut each: impl FnMut(&mut Self) -> Result<(), Invalid>) -> Result<(), Invalid> {
        let mut array = self.open_array()?;
        while self.more(&mut array)? {
            each(self)?;
        }
        Ok(())
    }

    fn wrong_type(&self) -> Invalid {
        Invalid
    }
}

/// `json.Unmarshal` into a fresh value, with a check of the whole text.
pub fn unmarshal<'a, T: Decode<'a, Scanner<'a>> + Default>(text: &'a [u8]) -> Result<T, Invalid> {
    let mut value = T::default();
    let mut scanner = Scanner::new(text);
    value.decode(&mut scanner)?;
    scanner.end()?;
    Ok(value)
}

/// Tells whether [`UNEXPECTED_END`](super::UNEXPECTED_END) is the error that this text gives.
#[must_use]
pub fn ends_too_soon(text: &[u8]) -> bool {
    Scanner::new(text).ends_too_soon()
}
