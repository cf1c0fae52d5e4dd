//! The tokenizer: validates one JSON text in a single pass without recursion,
//! and hands out the spans of the outermost members.

use std::borrow::Cow;
use std::fmt;

use crate::model::stops::Stops;

use super::carry::token_end;
use super::escape::decode_string;

/// Whose rules decide what is JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// RFC 8259.
    Strict,
    /// CPython's `json.loads`: also takes `NaN`, `Infinity` and `-Infinity`.
    Python,
}

/// What a value is, told by its first byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A string.
    String,
    /// A number, `NaN` and the infinities included.
    Number,
    /// An object.
    Object,
    /// An array.
    Array,
    /// `true`.
    True,
    /// `false`.
    False,
    /// `null`.
    Null,
}

/// The kind of a value that [`scan_value`] or [`scan_object`] has accepted.
#[must_use]
pub fn kind_of(value: &[u8]) -> Kind {
    match value.first() {
        Some(b'"') => Kind::String,
        Some(b'{') => Kind::Object,
        Some(b'[') => Kind::Array,
        Some(b't') => Kind::True,
        Some(b'f') => Kind::False,
        Some(b'n') => Kind::Null,
        _ => Kind::Number,
    }
}

/// One member of an object: both spans as they stand in the text.
#[derive(Debug, Clone, Copy)]
pub struct Member<'a> {
    /// The key with its quotes.
    pub key: &'a [u8],
    /// The value without surrounding white space.
    pub value: &'a [u8],
}

impl<'a> Member<'a> {
    /// Whether this is the key's text. Most keys have no escapes, so their
    /// bytes decide.
    #[must_use]
    pub fn is(&self, name: &str) -> bool {
        let inner = self.key.get(1..self.key.len().saturating_sub(1)).unwrap_or_default();
        // An escape is longer than what it stands for.
        inner == name.as_bytes() || (inner.len() > name.len() && self.is_escaped() && self.name() == name)
    }

    /// Whether the key holds an escape, so that its bytes are not its text.
    #[must_use]
    pub fn is_escaped(&self) -> bool {
        const ESCAPE: Stops<1> = Stops::at([b'\\']);
        ESCAPE.next(self.key, 0) < self.key.len()
    }

    /// The key's text; an escaped key is decoded, a lone surrogate in it
    /// becomes U+FFFD (no key that we look for has one).
    #[must_use]
    pub fn name(&self) -> Cow<'a, str> {
        let inner = &self.key[1..self.key.len() - 1];
        if !self.is_escaped() {
            return std::str::from_utf8(inner).map_or_else(|_| String::from_utf8_lossy(inner), Cow::Borrowed);
        }
        Cow::Owned(decode_string(self.key).unwrap_or_else(|lossy| lossy))
    }
}

/// Why a text is not JSON, and where.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanError {
    /// Byte offset in the text that was scanned.
    pub at: usize,
    /// What was wrong there.
    pub what: &'static str,
}

impl fmt::Display for ScanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)
    }
}

impl std::error::Error for ScanError {}

/// What a scan noticed about the whole text besides its members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Facts {
    /// Deepest nesting: 1 for a flat object, 0 for a scalar.
    pub depth: usize,
    /// Digits of the longest integer (CPython refuses more than 4300).
    pub longest_integer: usize,
}

/// A text that has been accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Scan {
    /// Where the value ends in the text; white space may follow.
    pub end: usize,
    /// What else was noticed.
    pub facts: Facts,
}

/// Scans an object that fills the whole text, collecting its members.
///
/// # Errors
/// When the text is not exactly one JSON object of this dialect.
pub fn scan_object<'a>(text: &'a [u8], dialect: Dialect, out: &mut Vec<Member<'a>>) -> Result<Facts, ScanError> {
    out.clear();
    let mut scanner = Scanner::new(text, dialect);
    scanner.blank();
    if scanner.peek() != Some(b'{') {
        return Err(scanner.error("expected an object"));
    }
    scanner.facts.depth = 1;
    scanner.at += 1;
    scanner.blank();
    if scanner.peek() == Some(b'}') {
        scanner.at += 1;
    } else {
        loop {
            let key_start = scanner.at;
            scanner.string("expected a key in quotes")?;
            let key = &text[key_start..scanner.at];
            scanner.blank();
            scanner.expect(b':', "expected `:` after a key")?;
            scanner.blank();
            let value_start = scanner.at;
            scanner.value(1)?;
            out.push(Member { key, value: &text[value_start..scanner.at] });
            scanner.blank();
            match scanner.peek() {
                Some(b',') => scanner.at += 1,
                Some(b'}') => {
                    scanner.at += 1;
                    break;
                }
                _ => return Err(scanner.error("expected `,` or `}`")),
            }
            scanner.blank();
        }
    }
    scanner.blank();
    if scanner.at < text.len() {
        return Err(scanner.error("more text behind the end of the object"));
    }
    Ok(scanner.facts)
}

/// Scans one value at the start of the text; what follows it is not looked at.
///
/// # Errors
/// When no value of this dialect stands there.
pub fn scan_value(text: &[u8], dialect: Dialect) -> Result<Scan, ScanError> {
    let mut scanner = Scanner::new(text, dialect);
    scanner.blank();
    scanner.value(0)?;
    Ok(Scan { end: scanner.at, facts: scanner.facts })
}

/// The members of an object that has been accepted before; an object that was
/// not accepted ends early instead of failing.
pub fn members(object: &[u8]) -> impl Iterator<Item = Member<'_>> {
    let mut scanner = Scanner::inside(object);
    std::iter::from_fn(move || {
        scanner.blank();
        if scanner.peek() == Some(b',') {
            scanner.at += 1;
            scanner.blank();
        }
        if scanner.peek() != Some(b'"') {
            return None;
        }
        let key_start = scanner.at;
        scanner.string("").ok()?;
        let key = &object[key_start..scanner.at];
        scanner.blank();
        scanner.expect(b':', "").ok()?;
        scanner.blank();
        let value_start = scanner.at;
        scanner.value(0).ok()?;
        Some(Member { key, value: &object[value_start..scanner.at] })
    })
}

/// The elements of an array that has been accepted before.
pub fn elements(array: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut scanner = Scanner::inside(array);
    std::iter::from_fn(move || {
        scanner.blank();
        if scanner.peek() == Some(b',') {
            scanner.at += 1;
            scanner.blank();
        }
        if matches!(scanner.peek(), None | Some(b']')) {
            return None;
        }
        let start = scanner.at;
        scanner.value(0).ok()?;
        Some(&array[start..scanner.at])
    })
}

struct Scanner<'a> {
    text: &'a [u8],
    at: usize,
    dialect: Dialect,
    facts: Facts,
    /// The text was accepted before: only the ends of tokens are looked for.
    accepted: bool,
}

impl<'a> Scanner<'a> {
    fn new(text: &'a [u8], dialect: Dialect) -> Self {
        Scanner { text, at: 0, dialect, facts: Facts::default(), accepted: false }
    }

    /// Behind the opening byte of a text that was accepted before.
    fn inside(text: &'a [u8]) -> Self {
        Scanner { text, at: 1, dialect: Dialect::Python, facts: Facts::default(), accepted: true }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn error(&self, what: &'static str) -> ScanError {
        ScanError { at: self.at, what: if self.at >= self.text.len() { "the text ends early" } else { what } }
    }

    fn blank(&mut self) {
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
        if self.accepted && self.peek() == Some(b'"') {
            self.at = token_end(self.text, self.at);
            return Ok(());
        }
        const MARKS: Stops<2> = Stops::at([b'"', b'\\']).and_controls();
        self.expect(b'"', what)?;
        loop {
            self.at = MARKS.next(self.text, self.at);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => self.escape()?,
                // A string that is never closed was cut off, whatever is in it.
                Some(_) if memchr::memchr2(b'"', b'\\', &self.text[self.at..]).is_some() => {
                    return Err(self.error("a control character stands raw in a string"));
                }
                Some(_) | None => {
                    self.at = self.text.len();
                    return Err(self.error("a string is not closed"));
                }
            }
        }
    }

    fn escape(&mut self) -> Result<(), ScanError> {
        self.at += 1;
        match self.peek() {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => self.at += 1,
            Some(b'u') => {
                let digits = self.text.get(self.at + 1..self.at + 5);
                if !digits.is_some_and(|d| d.iter().all(u8::is_ascii_hexdigit)) {
                    return Err(self.error("four hex digits must follow \\u"));
                }
                self.at += 5;
            }
            _ => return Err(self.error("no such escape")),
        }
        Ok(())
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
        let words: &[&[u8]] = match self.dialect {
            Dialect::Strict => &[b"true", b"false", b"null"],
            Dialect::Python => &[b"true", b"false", b"null", b"NaN", b"Infinity", b"-Infinity"],
        };
        if let Some(word) = words.iter().find(|w| rest.starts_with(w)) {
            self.at += word.len();
            return Ok(());
        }
        self.number()
    }

    /// Passes over one value; `outside` is how deep it stands already. The
    /// stack of open containers is one bit each, so depth costs no recursion.
    fn value(&mut self, outside: usize) -> Result<(), ScanError> {
        match self.peek() {
            Some(b'"') => return self.string(""),
            Some(b'{' | b'[') => {}
            _ => return self.scalar(),
        }
        let mut open: Vec<bool> = Vec::new(); // true: object
        loop {
            // At the start of a value.
            match self.peek() {
                Some(opener @ (b'{' | b'[')) => {
                    let is_object = opener == b'{';
                    self.at += 1;
                    open.push(is_object);
                    self.facts.depth = self.facts.depth.max(outside + open.len());
                    self.blank();
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
            // Behind a value, or before the closer of an empty container.
            loop {
                self.blank();
                let Some(&is_object) = open.last() else { return Ok(()) };
                match self.peek() {
                    Some(b',') => {
                        self.at += 1;
                        self.blank();
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
                if open.is_empty() {
                    return Ok(());
                }
            }
        }
    }

    fn key(&mut self) -> Result<(), ScanError> {
        self.string("expected a key in quotes")?;
        self.blank();
        self.expect(b':', "expected `:` after a key")?;
        self.blank();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepts(text: &str, dialect: Dialect) -> bool {
        scan_value(text.as_bytes(), dialect).is_ok_and(|scan| text[scan.end..].trim().is_empty())
    }

    #[test]
    fn takes_what_the_dialect_takes_and_nothing_else() {
        for good in ["0", "-0", "1e400", "0.10", "1E-5", "\"\\ud800\"", "[]", "{}", "[[],{}]", "{\"a\":{},\"a\":[1,2]}", "null"] {
            assert!(accepts(good, Dialect::Strict), "{good}");
        }
        for bad in
            ["", "01", "1.", ".5", "+1", "1e", "\"\\x\"", "\"\\u12g4\"", "\"\n\"", "[1,]", "{\"a\":1,}", "{a:1}", "[1}", "nul", "\"open"]
        {
            assert!(!accepts(bad, Dialect::Python), "{bad}");
        }
        for odd in ["NaN", "-Infinity", "[Infinity]"] {
            assert!(accepts(odd, Dialect::Python), "{odd}");
            assert!(!accepts(odd, Dialect::Strict), "{odd}");
        }
    }

    #[test]
    fn members_keep_their_bytes_and_order() {
        let text = br#" {"b" : 1.10 , "a":[ {"x":"}"} ] ,"b":"\u00e9"} "#;
        let mut found = Vec::new();
        let facts = scan_object(text, Dialect::Strict, &mut found).unwrap();
        let spans: Vec<_> = found.iter().map(|m| (m.name().into_owned(), String::from_utf8_lossy(m.value).into_owned())).collect();
        assert_eq!(spans, [("b".into(), "1.10".into()), ("a".into(), "[ {\"x\":\"}\"} ]".into()), ("b".into(), "\"\\u00e9\"".into())]);
        assert_eq!(facts.depth, 3);
    }

    #[test]
    fn a_million_levels_need_no_stack() {
        let deep = format!("{}1{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
        assert_eq!(scan_value(deep.as_bytes(), Dialect::Strict).unwrap().facts.depth, 1_000_000);
        assert!(scan_value(&deep.as_bytes()[..1_500_000], Dialect::Strict).is_err());
    }

    #[test]
    fn a_control_character_is_wrong_only_in_a_string_that_ends() {
        let error = |text: &[u8]| scan_value(text, Dialect::Strict).unwrap_err();
        assert_eq!(error(b"\"ab\ncd\""), ScanError { at: 3, what: "a control character stands raw in a string" });
        // Cut off, and something else was written behind it.
        assert_eq!(error(b"\"ab\ncd"), ScanError { at: 6, what: "the text ends early" });
    }
}
