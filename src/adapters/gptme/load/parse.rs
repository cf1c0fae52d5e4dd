//! JSON as CPython 3.11's `json.loads` takes it: one pass, spans instead of
//! values, and the first of its three kinds of failure in its own order. Which
//! failure comes first matters, because the loader skips a line for some and
//! gives up the whole session for others.

use crate::model::json::{Kind, Member, kind_of};
use crate::model::stops::Stops;

use super::dump::string_token;
use super::token::{Failure, Text};

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
        let mut cursor = Cursor { text: Text::new(text), at: 0, parser: self };
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
    let mut at = next_token(object, next_token(object, 0) + 1);
    while object.get(at) == Some(&b'"') {
        let key = accepted_at(object, at);
        let start = next_token(object, at + key.len());
        let value = accepted_at(object, start);
        found.push(Member { key, value });
        at = next_token(object, start + value.len());
    }
    found
}

/// The elements of an array that has been accepted before.
#[must_use]
pub fn elements(array: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    let mut at = next_token(array, next_token(array, 0) + 1);
    while !matches!(array.get(at), None | Some(b']')) {
        let element = accepted_at(array, at);
        found.push(element);
        at = next_token(array, at + element.len());
    }
    found
}

/// The first place from here on that is neither blank nor a comma or colon.
fn next_token(text: &[u8], from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':')).count()
}

/// The value that starts here, in a text that has been accepted before.
fn accepted_at(text: &[u8], start: usize) -> &[u8] {
    const MARKS: Stops<6> = Stops::at([b'"', b'\\', b'{', b'}', b'[', b']']);
    let rest = text.get(start..).unwrap_or_default();
    let len = match rest.first() {
        Some(b'"') => return string_token(rest),
        Some(b'{' | b'[') => {
            let (mut depth, mut in_string) = (0_usize, false);
            let closer = MARKS.walk(rest, 0, |at| {
                match rest.get(at)? {
                    b'"' => in_string = !in_string,
                    b'\\' => return Some(at + 2),
                    _ if in_string => {}
                    b'{' | b'[' => depth += 1,
                    _ if depth > 1 => depth -= 1,
                    _ => return None,
                }
                Some(at + 1)
            });
            closer + 1
        }
        _ => rest.iter().take_while(|b| !matches!(b, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r')).count().max(1),
    };
    rest.get(..len).unwrap_or(rest)
}

struct Cursor<'a, 'p> {
    text: Text<'a>,
    at: usize,
    parser: &'p mut Parser,
}

impl<'a> Cursor<'a, '_> {
    fn peek(&self) -> Option<u8> {
        self.text.byte(self.at)
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
            let key = self.text.between(start, self.at);
            self.colon()?;
            let start = self.at;
            self.value(1)?;
            members.push(Member { key, value: self.text.between(start, self.at) });
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
                _ => self.at = self.text.end_of_scalar(self.at)?,
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
        self.at = self.text.end_of_string(self.at)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<(Kind, usize), Failure> {
        let mut members = Vec::new();
        let kind = Parser::new(4).whole(text.as_bytes(), &mut members)?;
        Ok((kind, members.len()))
    }

    #[test]
    fn takes_what_cpython_takes_and_nothing_else() {
        for good in ["-0", "1e400", " 1E-5\t", "NaN", "-Infinity", "\"\\ud800\\/\u{7f}é\"", "[[],{}]", "[ 1 ,2 ]", "null", "0.5e+1"] {
            assert!(parsed(good).is_ok(), "{good}");
        }
        assert_eq!(parsed(r#"{"a":1, "a" : {"b":[]}}"#), Ok((Kind::Object, 2)));
        for bad in [
            "",
            "01",
            "1.",
            ".5",
            "+1",
            "1e",
            "-",
            "nan",
            "\"\\x\"",
            "\"\\u12g4\"",
            "\"\\u12",
            "\"\\",
            "\"\t\"",
            "\"open",
            "[1,]",
            "{\"a\":1,}",
            "{a:1}",
            "{\"a\" 1}",
            "{1:1}",
            "[1}",
            "[1 2]",
            "]",
            "nul",
            "1 2",
            "\u{feff}1",
            "{\"a\":1}x",
        ] {
            assert_eq!(parsed(bad), Err(Failure::Syntax), "{bad}");
        }
    }

    #[test]
    fn of_several_failures_the_first_counts() {
        let long = "1".repeat(4301);
        for (text, failure) in [
            ("[[[[".to_owned(), Failure::TooDeep),
            ("{\"a\":[{\"b\":[x".to_owned(), Failure::TooDeep),
            ("[[[x[".to_owned(), Failure::Syntax),
            (format!("[-{long}, [[["), Failure::LongInteger),
            (format!("[[[[{long}"), Failure::TooDeep),
            (format!("[{long}x"), Failure::LongInteger),
            (format!("[x{long}"), Failure::Syntax),
        ] {
            assert_eq!(parsed(&text), Err(failure), "{text:.20}");
        }
        assert!(parsed(&"1".repeat(4300)).is_ok() && parsed(&format!("{long}.0")).is_ok());
    }

    #[test]
    fn what_was_accepted_is_taken_apart_without_another_look() {
        let object = r#" {"a" : [ {"}]":"\\"} ,2] ,"b\"":-1.5e3, "c":{} }"#;
        let spans: Vec<(&[u8], &[u8])> = members(object.as_bytes()).iter().map(|member| (member.key, member.value)).collect();
        assert_eq!(spans, [(&br#""a""#[..], &br#"[ {"}]":"\\"} ,2]"#[..]), (br#""b\"""#, b"-1.5e3"), (br#""c""#, b"{}")]);
        let mut parsed = Vec::new();
        Parser::new(9).whole(object.as_bytes(), &mut parsed).unwrap();
        assert_eq!(spans, parsed.iter().map(|member| (member.key, member.value)).collect::<Vec<_>>());
        let list: Vec<&[u8]> = elements(br#"[ [ "]" ], null,"\\\"," ,{"a":[]} ]"#);
        assert_eq!(list, [&br#"[ "]" ]"#[..], b"null", br#""\\\",""#, br#"{"a":[]}"#]);
        assert!(members(b"{ }").is_empty() && elements(b"[ ]").is_empty());
    }

    #[test]
    fn a_million_levels_need_no_stack() {
        let deep = format!("{}{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
        assert_eq!(Parser::new(usize::MAX).whole(deep.as_bytes(), &mut Vec::new()), Ok(Kind::Array));
        assert_eq!(elements(deep.as_bytes()).len(), 1);
    }
}
