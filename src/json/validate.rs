//! The one validator: a single pass without recursion that finds a text complete,
//! truncated or invalid, and hands out the outermost members.

use super::byte_set::ByteSet;
use super::members::Member;
use super::nesting::Open;
use super::value::{Value, spells};
use super::verdict::{Dialect, Facts, Fault, Outline, Scan, ScanError};

/// Validates a text that is exactly one value, with or without white space around
/// it.
///
/// # Errors
/// When the text is truncated or not one JSON value of this dialect.
pub fn validate(text: &[u8], dialect: Dialect) -> Result<Scan<'_>, ScanError> {
    let (scan, mut scanner) = first_value(text, dialect)?;
    scanner.skip_white_space();
    if scanner.at < text.len() {
        return Err(scanner.error("more text after the end of the value"));
    }
    Ok(scan)
}

/// Validates an object that fills the whole text, collecting its members.
///
/// # Errors
/// When the text is not exactly one JSON object of this dialect.
pub fn validate_object<'a>(text: &'a [u8], dialect: Dialect, out: &mut Vec<Member<'a>>) -> Result<Scan<'a>, ScanError> {
    whole_object(text, dialect, out, &mut |scanner, _| scanner.value(1))
}

/// Validates an object as [`validate_object`] does, for those who need nothing but
/// its members.
///
/// # Errors
/// When the text is not exactly one JSON object of this dialect.
pub fn scan_object<'a>(text: &'a [u8], dialect: Dialect, out: &mut Vec<Member<'a>>) -> Result<Facts, ScanError> {
    validate_object(text, dialect, out).map(|scan| scan.facts)
}

/// Validates an object and collects its members. Of the lists to which `name` gives
/// a name the elements are noted too, so that no second walk has to find them.
///
/// # Errors
/// When the text is not exactly one JSON object of this dialect.
pub fn scan_outline<'a>(
    text: &'a [u8],
    dialect: Dialect,
    name: &dyn Fn(&Member<'a>) -> Option<&'static str>,
    out: &mut Vec<Member<'a>>,
    lists: &mut Vec<Outline<'a>>,
) -> Result<Facts, ScanError> {
    whole_object(text, dialect, out, &mut |scanner, key| {
        let list = Some(b'[').filter(|open| scanner.peek() == Some(*open)).and_then(|_| name(&Member { key, value: b"" }));
        match list {
            Some(name) => scanner.list(name).map(|list| lists.push(list)),
            None => scanner.value(1),
        }
    })
    .map(|scan| scan.facts)
}

/// Validates an object and collects its members. Of the last member of this name the
/// members are noted too, where it is an object.
///
/// # Errors
/// When the text is not exactly one JSON object of this dialect.
pub fn scan_opened<'a>(
    text: &'a [u8],
    dialect: Dialect,
    name: &str,
    out: &mut Vec<Member<'a>>,
    opened: &mut Vec<Member<'a>>,
) -> Result<Facts, ScanError> {
    opened.clear();
    whole_object(text, dialect, out, &mut |scanner, key| {
        if !spells(key, name) {
            return scanner.value(1);
        }
        opened.clear();
        if scanner.peek() == Some(b'{') { scanner.object(2, opened, &mut |scanner, _| scanner.value(2)) } else { scanner.value(1) }
    })
    .map(|scan| scan.facts)
}

/// Validates an object that fills the whole text; `value` skips the value of a key.
fn whole_object<'a>(text: &'a [u8], dialect: Dialect, out: &mut Vec<Member<'a>>, value: SkipValue<'a, '_>) -> Result<Scan<'a>, ScanError> {
    out.clear();
    let mut scanner = Scanner::new(text, dialect);
    scanner.skip_white_space();
    if scanner.peek() != Some(b'{') {
        return Err(scanner.error("expected an object"));
    }
    let start = scanner.at;
    scanner.object(1, out, value)?;
    let end = scanner.at;
    scanner.skip_white_space();
    if scanner.at < text.len() {
        return Err(scanner.error("more text after the end of the object"));
    }
    Ok(Scan { value: Value::scanned(&text[start..end]), end, facts: scanner.facts })
}

/// Validates one value at the start of the text; what follows it is not looked at.
///
/// # Errors
/// When the text does not begin with a value of this dialect.
pub fn scan_value(text: &[u8], dialect: Dialect) -> Result<Scan<'_>, ScanError> {
    first_value(text, dialect).map(|(scan, _)| scan)
}

#[inline(always)]
fn first_value(text: &[u8], dialect: Dialect) -> Result<(Scan<'_>, Scanner<'_>), ScanError> {
    let mut scanner = Scanner::new(text, dialect);
    scanner.skip_white_space();
    let start = scanner.at;
    scanner.value(0)?;
    let scan = Scan { value: Value::scanned(&text[start..scanner.at]), end: scanner.at, facts: scanner.facts };
    Ok((scan, scanner))
}

/// Skips the value of a key.
type SkipValue<'a, 'f> = &'f mut dyn FnMut(&mut Scanner<'a>, &'a [u8]) -> Result<(), ScanError>;

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    dialect: Dialect,
    facts: Facts,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a [u8], dialect: Dialect) -> Self {
        Scanner { text, at: 0, dialect, facts: Facts::default() }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    #[cold]
    fn error(&self, what: &'static str) -> ScanError {
        let what = if self.at >= self.text.len() { "the text ends early" } else { what };
        let fault = if self.is_at_cut_token() { Fault::Truncated } else { Fault::Invalid };
        ScanError { at: self.at, what, fault }
    }

    /// Tells whether the text ends here, or within a token that more text would
    /// complete.
    fn is_at_cut_token(&self) -> bool {
        let rest = self.text.get(self.at..).unwrap_or_default();
        let before = self.at.checked_sub(1).and_then(|at| self.text.get(at)).copied().unwrap_or(0);
        match rest {
            [] => true,
            // An escape: the backslash is the byte before.
            [b'u', digits @ ..] if before == b'\\' => digits.len() < 4 && digits.iter().all(u8::is_ascii_hexdigit),
            // A point or an exponent without digits: the number ended before it.
            b"." | b"e" | b"E" | b"e+" | b"e-" | b"E+" | b"E-" => before.is_ascii_digit() && self.may_continue_number(),
            _ => words(self.dialect).iter().any(|word| word.len() > rest.len() && word.starts_with(rest)),
        }
    }

    /// Tells whether the point or exponent that is next can belong to the number
    /// before it: a point only to an integer, an exponent to any number without one.
    fn may_continue_number(&self) -> bool {
        let before = self.text.get(..self.at).unwrap_or_default();
        let start = before.iter().rposition(|b| !matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-')).map_or(0, |at| at + 1);
        let number = before.get(start..).unwrap_or_default();
        let has_exponent = number.iter().any(|b| matches!(b, b'e' | b'E'));
        !has_exponent && (self.peek() != Some(b'.') || !number.contains(&b'.'))
    }

    fn skip_white_space(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8, what: &'static str) -> Result<(), ScanError> {
        if self.peek() != Some(byte) {
            return Err(self.error(what));
        }
        self.at += 1;
        Ok(())
    }

    fn string(&mut self, what: &'static str) -> Result<(), ScanError> {
        if self.peek() != Some(b'"') {
            return Err(self.error(what));
        }
        let (text, start) = (self.text, self.at);
        const MARKS: ByteSet<2> = ByteSet::of([b'"', b'\\']).and_controls();
        // Keys and most values end near by, and have no escapes.
        if let Some(near) = MARKS.near(text, start + 1).filter(|near| text[*near] == b'"') {
            self.at = near + 1;
            return Ok(());
        }
        let end = MARKS.walk(text, start + 1, |at| if text[at] == b'\\' { escape_end(text, at) } else { None });
        if text.get(end) == Some(&b'"') {
            self.at = end + 1;
            return Ok(());
        }
        self.at = start + 1;
        self.broken_string()
    }

    /// Finds what is wrong with a string that has no end, a control character, or an
    /// invalid escape.
    fn broken_string(&mut self) -> Result<(), ScanError> {
        const MARKS: ByteSet<2> = ByteSet::of([b'"', b'\\']).and_controls();
        loop {
            self.at = MARKS.next(self.text, self.at);
            match self.peek() {
                Some(b'\\') => self.escape()?,
                // A string that is never closed was cut off, whatever is in it.
                Some(_) if memchr::memchr2(b'"', b'\\', &self.text[self.at..]).is_some() => {
                    return Err(self.error("an unescaped control character in a string"));
                }
                Some(_) | None => {
                    self.at = self.text.len();
                    return Err(self.error("a string is not closed"));
                }
            }
        }
    }

    fn escape(&mut self) -> Result<(), ScanError> {
        if let Some(end) = escape_end(self.text, self.at) {
            self.at = end;
            return Ok(());
        }
        self.at += 1;
        Err(self.error(if self.peek() == Some(b'u') { "four hex digits must follow \\u" } else { "no such escape" }))
    }

    fn digits(&mut self) -> usize {
        let start = self.at;
        while self.peek().is_some_and(|b| b.is_ascii_digit()) {
            self.at += 1;
        }
        self.at - start
    }

    fn number(&mut self) -> Result<(), ScanError> {
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        let start = self.at;
        let whole = self.digits();
        if whole == 0 || (whole > 1 && self.text[start] == b'0') {
            // A leading zero ends the number; what follows it is then an error
            // of the text around, as in every JSON parser.
            if whole == 0 {
                return Err(self.error("expected a value"));
            }
            self.at = start + 1;
            return Ok(());
        }
        let mut integer = true;
        if self.peek() == Some(b'.') && self.text.get(self.at + 1).is_some_and(u8::is_ascii_digit) {
            integer = false;
            self.at += 1;
            self.digits();
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            let mut ahead = self.at + 1;
            if matches!(self.text.get(ahead), Some(b'+' | b'-')) {
                ahead += 1;
            }
            if self.text.get(ahead).is_some_and(u8::is_ascii_digit) {
                integer = false;
                self.at = ahead;
                self.digits();
            }
        }
        if integer {
            self.facts.longest_integer = self.facts.longest_integer.max(whole);
        }
        Ok(())
    }

    fn scalar(&mut self) -> Result<(), ScanError> {
        if self.peek().is_some_and(|b| b.is_ascii_digit()) {
            return self.number();
        }
        let rest = &self.text[self.at..];
        if let Some(word) = words(self.dialect).iter().find(|w| rest.starts_with(w)) {
            self.at += word.len();
            return Ok(());
        }
        self.number()
    }

    /// Validates an object at this depth and notes its members; `value` skips the
    /// value of a key.
    fn object(&mut self, depth: usize, out: &mut Vec<Member<'a>>, value: SkipValue<'a, '_>) -> Result<(), ScanError> {
        self.facts.depth = self.facts.depth.max(depth);
        self.at += 1;
        self.skip_white_space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(());
        }
        loop {
            let key_start = self.at;
            self.string("expected a key in quotes")?;
            let key = &self.text[key_start..self.at];
            self.skip_white_space();
            self.expect(b':', "expected `:` after a key")?;
            self.skip_white_space();
            let value_start = self.at;
            value(self, key)?;
            out.push(Member { key, value: &self.text[value_start..self.at] });
            if !self.goes_on(b'}', "expected `,` or `}`")? {
                return Ok(());
            }
        }
    }

    /// Validates a list of the outermost object and notes its elements.
    fn list(&mut self, name: &'static str) -> Result<Outline<'a>, ScanError> {
        let start = self.at;
        let (mut elements, mut members) = (Vec::new(), Vec::new());
        self.facts.depth = self.facts.depth.max(2);
        self.at += 1;
        self.skip_white_space();
        let mut goes_on = self.peek() != Some(b']');
        if !goes_on {
            self.at += 1;
        }
        while goes_on {
            let from = self.at;
            match self.peek() {
                Some(b'{') => self.object(3, &mut members, &mut |scanner, _| scanner.value(3))?,
                _ => self.value(2)?,
            }
            elements.push((&self.text[from..self.at], members.len()));
            goes_on = self.goes_on(b']', "expected `,` or `]`")?;
        }
        Ok(Outline { name, array: &self.text[start..self.at], elements, members })
    }

    /// Skips what follows a member or an element, a comma or the closing bracket, and
    /// tells whether another one comes.
    fn goes_on(&mut self, close: u8, what: &'static str) -> Result<bool, ScanError> {
        self.skip_white_space();
        match self.peek() {
            Some(b',') => {
                self.at += 1;
                self.skip_white_space();
                Ok(true)
            }
            Some(byte) if byte == close => {
                self.at += 1;
                Ok(false)
            }
            _ => Err(self.error(what)),
        }
    }

    /// Validates one value; `outside` is the number of containers around it. The
    /// stack of open containers is one bit each, so depth costs no recursion.
    fn value(&mut self, outside: usize) -> Result<(), ScanError> {
        match self.peek() {
            Some(b'"') => return self.string(""),
            Some(b'{' | b'[') => {}
            _ => return self.scalar(),
        }
        let mut open = Open::default();
        loop {
            // At the start of a value.
            match self.peek() {
                Some(opener @ (b'{' | b'[')) => {
                    let is_object = opener == b'{';
                    self.at += 1;
                    open.push(opener);
                    self.facts.depth = self.facts.depth.max(outside + open.depth);
                    self.skip_white_space();
                    let closer = if is_object { b'}' } else { b']' };
                    if self.peek() != Some(closer) {
                        if is_object {
                            self.key()?;
                        }
                        continue;
                    }
                }
                Some(b'"') => self.string("")?,
                _ => self.scalar()?,
            }
            // After a value, or before the closing bracket of an empty container.
            loop {
                self.skip_white_space();
                let is_object = open.is_in_object();
                match self.peek() {
                    Some(b',') => {
                        self.at += 1;
                        self.skip_white_space();
                        if is_object {
                            self.key()?;
                        }
                        break;
                    }
                    Some(b'}') if is_object => {}
                    Some(b']') if !is_object => {}
                    _ => return Err(self.error(if is_object { "expected `,` or `}`" } else { "expected `,` or `]`" })),
                }
                self.at += 1;
                open.pop();
                if open.depth == 0 {
                    return Ok(());
                }
            }
        }
    }

    fn key(&mut self) -> Result<(), ScanError> {
        self.string("expected a key in quotes")?;
        self.skip_white_space();
        self.expect(b':', "expected `:` after a key")?;
        self.skip_white_space();
        Ok(())
    }
}

/// Returns the words that are values.
fn words(dialect: Dialect) -> &'static [&'static [u8]] {
    match dialect {
        Dialect::Strict => &[b"true", b"false", b"null"],
        Dialect::Python => &[b"true", b"false", b"null", b"NaN", b"Infinity", b"-Infinity"],
    }
}

/// Returns the end of the escape that begins at a backslash, if it is one.
#[inline]
fn escape_end(text: &[u8], at: usize) -> Option<usize> {
    match text.get(at + 1)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Some(at + 2),
        b'u' => text.get(at + 2..at + 6).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit)).map(|_| at + 6),
        _ => None,
    }
}

#[cfg(test)]
#[path = "validate_tests.rs"]
mod tests;
