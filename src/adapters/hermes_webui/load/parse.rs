//! What CPython 3.11's `json.loads` accepts, checked in one pass without
//! recursion, and walks over texts that have been accepted.

use crate::model::stops::Stops;

/// CPython turns no more digits than this into an integer.
const LONGEST_INTEGER: usize = 4300;

/// What `json.loads` raises.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failure {
    /// `JSONDecodeError`, which readers of lines catch.
    Syntax,
    /// A bare `ValueError` or a `RecursionError`, which they do not.
    Limit,
}

/// The value that fills a whole text, without the white space around it. Where
/// `too_deep` containers stand in each other, the interpreter gives up.
///
/// # Errors
/// As `json.loads` raises for the first thing it stumbles over.
pub fn check(text: &[u8], too_deep: usize) -> Result<&[u8], Failure> {
    let mut checker = Checker { text, at: 0, open: Vec::new(), too_deep };
    checker.blank();
    let start = checker.at;
    checker.value()?;
    let end = checker.at;
    checker.blank();
    if checker.at < text.len() { Err(Failure::Syntax) } else { Ok(text.get(start..end).unwrap_or_default()) }
}

struct Checker<'a> {
    text: &'a [u8],
    at: usize,
    /// The closing brackets that are still to come.
    open: Vec<u8>,
    too_deep: usize,
}

impl Checker<'_> {
    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn blank(&mut self) {
        while let Some(b' ' | b'\t' | b'\n' | b'\r') = self.peek() {
            self.at += 1;
        }
    }

    fn expect(&mut self, byte: u8) -> Result<(), Failure> {
        if self.peek() != Some(byte) {
            return Err(Failure::Syntax);
        }
        self.at += 1;
        Ok(())
    }

    /// One value, whatever stands inside it.
    fn value(&mut self) -> Result<(), Failure> {
        loop {
            match self.peek() {
                Some(b'{') => {
                    if self.enter(b'}')? == Inside::Something {
                        self.key()?;
                        continue;
                    }
                }
                Some(b'[') => {
                    if self.enter(b']')? == Inside::Something {
                        continue;
                    }
                }
                Some(b'"') => self.string()?,
                _ => self.scalar()?,
            }
            if self.leave()? == Inside::Nothing {
                return Ok(());
            }
        }
    }

    fn enter(&mut self, closer: u8) -> Result<Inside, Failure> {
        self.open.push(closer);
        if self.open.len() >= self.too_deep {
            return Err(Failure::Limit);
        }
        self.at += 1;
        self.blank();
        if self.peek() != Some(closer) {
            return Ok(Inside::Something);
        }
        self.at += 1;
        self.open.pop();
        Ok(Inside::Nothing)
    }

    /// Behind a value: closes what ends here, up to the place of the next value.
    fn leave(&mut self) -> Result<Inside, Failure> {
        while let Some(&closer) = self.open.last() {
            self.blank();
            match self.peek() {
                Some(b',') => {
                    self.at += 1;
                    self.blank();
                    if closer == b'}' {
                        self.key()?;
                    }
                    return Ok(Inside::Something);
                }
                Some(byte) if byte == closer => {
                    self.at += 1;
                    self.open.pop();
                }
                _ => return Err(Failure::Syntax),
            }
        }
        Ok(Inside::Nothing)
    }

    fn key(&mut self) -> Result<(), Failure> {
        self.string()?;
        self.blank();
        self.expect(b':')?;
        self.blank();
        Ok(())
    }

    fn string(&mut self) -> Result<(), Failure> {
        const MARKS: Stops<2> = Stops::at([b'"', b'\\']).and_controls();
        self.expect(b'"')?;
        let text = self.text;
        let end = MARKS.walk(text, self.at, |at| match (text.get(at)?, text.get(at + 1)?) {
            (b'\\', b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Some(at + 2),
            (b'\\', b'u') => text.get(at + 2..at + 6).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit)).map(|_| at + 6),
            _ => None,
        });
        // Otherwise it ends nowhere, or holds what it may not.
        if text.get(end) != Some(&b'"') {
            return Err(Failure::Syntax);
        }
        self.at = end + 1;
        Ok(())
    }

    fn scalar(&mut self) -> Result<(), Failure> {
        const WORDS: [&[u8]; 6] = [b"true", b"false", b"null", b"NaN", b"Infinity", b"-Infinity"];
        let rest = self.text.get(self.at..).unwrap_or_default();
        if let Some(word) = WORDS.iter().find(|word| rest.starts_with(word)) {
            self.at += word.len();
            return Ok(());
        }
        let digits = |at: usize| rest.iter().skip(at).take_while(|b| b.is_ascii_digit()).count();
        let first = usize::from(rest.first() == Some(&b'-'));
        // What follows a leading zero is not part of the number.
        let whole = if rest.get(first) == Some(&b'0') { 1 } else { digits(first) };
        if whole == 0 {
            return Err(Failure::Syntax);
        }
        let mut end = first + whole;
        if rest.get(end) == Some(&b'.') && digits(end + 1) > 0 {
            end += 1 + digits(end + 1);
        }
        if let Some(b'e' | b'E') = rest.get(end) {
            let sign = usize::from(matches!(rest.get(end + 1), Some(b'+' | b'-')));
            let power = digits(end + 1 + sign);
            if power > 0 {
                end += 1 + sign + power;
            }
        }
        if end == first + whole && whole > LONGEST_INTEGER {
            return Err(Failure::Limit);
        }
        self.at += end;
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Inside {
    Something,
    Nothing,
}

/// Where the string that opens here ends, behind its last quote.
#[must_use]
pub fn string_end(text: &[u8], start: usize) -> usize {
    const MARKS: Stops<2> = Stops::at([b'"', b'\\']);
    let quote = MARKS.walk(text, start + 1, |at| (text.get(at) == Some(&b'\\')).then_some(at + 2));
    text.len().min(quote + 1)
}

/// Where the number or word that starts here ends.
#[must_use]
pub fn scalar_end(text: &[u8], start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    start + rest.iter().take_while(|b| !matches!(b, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r')).count()
}

/// The first place from here on that is neither blank nor a comma or colon.
#[must_use]
pub fn next_token(text: &[u8], start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    start + rest.iter().take_while(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':')).count()
}

/// Where the value that starts here ends.
#[must_use]
pub fn value_end(text: &[u8], start: usize) -> usize {
    let mut depth = 0_usize;
    let mut at = start;
    loop {
        match text.get(at) {
            None => return text.len(),
            Some(b'{' | b'[') => {
                depth += 1;
                at += 1;
            }
            Some(b'}' | b']') => {
                depth = depth.saturating_sub(1);
                at += 1;
            }
            Some(b'"') => at = string_end(text, at),
            Some(_) => at = scalar_end(text, at),
        }
        if depth == 0 {
            return at;
        }
        at = next_token(text, at);
    }
}

/// The elements of an accepted array.
pub fn elements(array: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut at = 1;
    std::iter::from_fn(move || {
        let start = next_token(array, at);
        if matches!(array.get(start), None | Some(b']')) {
            return None;
        }
        at = value_end(array, start);
        array.get(start..at)
    })
}

/// The keys, with their quotes, and values of an accepted object, in the order
/// of the text and with repeated ones.
pub fn members(object: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    let mut at = 1;
    std::iter::from_fn(move || {
        let key = next_token(object, at);
        if object.get(key) != Some(&b'"') {
            return None;
        }
        let key_end = string_end(object, key);
        let value = next_token(object, key_end);
        at = value_end(object, value);
        Some((object.get(key..key_end)?, object.get(value..at)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn python_takes_and_refuses_what_it_does() {
        for good in
            ["[NaN, -Infinity,Infinity]", " {\"a\" : [ ] , \"a\":{}}\r\n", r#""\ud800\/""#, "-0", "1E+5", "-1.50e-3", "\"\u{2028}\u{7f}\""]
        {
            assert_eq!(check(good.as_bytes(), 9).map(<[u8]>::len), Ok(good.trim().len()), "{good}");
        }
        for bad in [
            "",
            " ",
            "\u{feff}1",
            "[1,]",
            "{\"a\":1,}",
            "{,}",
            "01",
            "1.",
            ".5",
            "+1",
            "-NaN",
            "1 2",
            "\"a\tb\"",
            r#""\x""#,
            r#""\u12""#,
            r#""\u12g4""#,
            "{1:2}",
            "[1",
            "nul",
            "[1]]",
            "'a'",
            "{\"a\" 1}",
            "[}",
        ] {
            assert_eq!(check(bad.as_bytes(), 9), Err(Failure::Syntax), "{bad}");
        }
    }

    #[test]
    fn what_goes_too_far_is_another_failure_but_only_where_it_comes_first() {
        assert!(check(b"[[1]]", 3).is_ok());
        assert_eq!(check(b"[[[", 3), Err(Failure::Limit));
        assert_eq!(check(b"[}[[[", 3), Err(Failure::Syntax));
        let digits = "1".repeat(4300);
        assert!(check(format!("-{digits}").as_bytes(), 3).is_ok());
        assert_eq!(check(format!("{digits}1 x").as_bytes(), 3), Err(Failure::Limit));
        assert!(check(format!("{digits}1.5").as_bytes(), 3).is_ok());
        assert_eq!(check(format!("x {digits}1").as_bytes(), 3), Err(Failure::Syntax));
    }

    #[test]
    fn accepted_texts_are_walked_through() {
        let parts: Vec<&[u8]> = elements(br#"[ 1 , "a]\"" ,{"b":[2]}, [] ]"#).collect();
        assert_eq!(parts, [b"1".as_slice(), br#""a]\"""#, br#"{"b":[2]}"#, b"[]"]);
        let parts: Vec<_> = members(br#"{"a" : {"x":1} ,"b":NaN}"#).collect();
        assert_eq!(parts, [(b"\"a\"".as_slice(), b"{\"x\":1}".as_slice()), (b"\"b\"", b"NaN")]);
        assert_eq!((elements(b"[ ]").count(), members(b"{ }").count()), (0, 0));
    }
}
