//! Strings, numbers and words of JSON, as CPython 3.11's scanner passes over them.

use crate::model::stops::Stops;

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

/// A text, and what was noticed about it once for all its strings.
#[derive(Debug, Clone, Copy)]
pub struct Text<'a> {
    bytes: &'a [u8],
    /// Nearly no text has any, and then no string needs to be searched for them.
    has_controls: bool,
}

impl<'a> Text<'a> {
    /// This text.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Text<'a> {
        Text { bytes, has_controls: has_controls(bytes) }
    }

    /// The byte at a place.
    #[must_use]
    pub fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    /// What stands between two places; nothing, where there is nothing.
    #[must_use]
    pub fn between(&self, start: usize, end: usize) -> &'a [u8] {
        self.bytes.get(start..end).unwrap_or_default()
    }

    /// What stands behind a place.
    #[must_use]
    pub fn from(&self, start: usize) -> &'a [u8] {
        self.bytes.get(start..).unwrap_or_default()
    }

    /// Where the string that opens here ends, behind its last quote.
    ///
    /// # Errors
    /// Where none opens, or it does not end as it should.
    pub fn end_of_string(&self, start: usize) -> Result<usize, Failure> {
        if self.byte(start) != Some(b'"') {
            return Err(Failure::Syntax);
        }
        const MARKS: Stops<2> = Stops::at([b'"', b'\\']);
        let quote = MARKS.walk(self.bytes, start + 1, |at| match (self.byte(at), self.byte(at + 1)) {
            (Some(b'\\'), Some(b'u')) => {
                let digits = self.between(at + 2, at + 6);
                (!digits.is_empty() && digits.iter().all(u8::is_ascii_hexdigit)).then_some(at + 6)
            }
            (Some(b'\\'), Some(escaped)) => ESCAPABLE[usize::from(escaped)].then_some(at + 2),
            _ => None,
        });
        // Otherwise the text ends here, or an escape is none.
        if self.byte(quote) != Some(b'"') || (self.has_controls && has_controls(self.between(start, quote))) {
            return Err(Failure::Syntax);
        }
        Ok(quote + 1)
    }

    /// Where the value that starts here ends, if it is no object or array.
    ///
    /// # Errors
    /// Where none starts.
    pub fn end_of_scalar(&self, start: usize) -> Result<usize, Failure> {
        let words: [&[u8]; 6] = [b"true", b"false", b"null", b"NaN", b"Infinity", b"-Infinity"];
        match self.byte(start) {
            Some(b'"') => self.end_of_string(start),
            Some(b'0'..=b'9') => self.end_of_number(start),
            _ => match words.iter().find(|word| self.from(start).starts_with(word)) {
                Some(word) => Ok(start + word.len()),
                None => self.end_of_number(start),
            },
        }
    }

    fn end_of_number(&self, start: usize) -> Result<usize, Failure> {
        let digits = |at: usize| self.from(at).iter().take_while(|b| b.is_ascii_digit()).count();
        let first = start + usize::from(self.byte(start) == Some(b'-'));
        let whole = match self.byte(first) {
            // More digits behind a zero are another token, and so an error.
            Some(b'0') => 1,
            _ => digits(first),
        };
        if whole == 0 {
            return Err(Failure::Syntax);
        }
        let end_of_integer = first + whole;
        let mut end = end_of_integer;
        if self.byte(end) == Some(b'.') && digits(end + 1) > 0 {
            end += 1 + digits(end + 1);
        }
        if let Some(b'e' | b'E') = self.byte(end) {
            let sign = usize::from(matches!(self.byte(end + 1), Some(b'+' | b'-')));
            let exponent = digits(end + 1 + sign);
            if exponent > 0 {
                end += 1 + sign + exponent;
            }
        }
        if end == end_of_integer && whole > LONGEST_INTEGER { Err(Failure::LongInteger) } else { Ok(end) }
    }
}

/// Whether a byte is there that may not stand raw in a string. Looks at all of
/// them, which is quicker than to stop at the first.
fn has_controls(text: &[u8]) -> bool {
    text.iter().fold(u8::MAX, |least, &b| least.min(b)) < 0x20
}

/// Which bytes may stand behind a backslash, besides `u`.
const ESCAPABLE: [bool; 256] = {
    let mut table = [false; 256];
    let mut at = 0;
    while at < 8 {
        table[b"\"\\/bfnrt"[at] as usize] = true;
        at += 1;
    }
    table
};
