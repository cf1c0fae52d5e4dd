//! Values as `json.dumps` writes them: its separators, and of equal keys the
//! place of the first with the value of the last. Number texts are kept.
//!
//! One pass over the tokens, whatever the nesting: what has been written is
//! rearranged when an object closes that needs it.

use std::collections::HashMap;
use std::ops::Range;

use crate::model::stops::Stops;

use super::text::{push_key, push_token};

/// The token counts that version 0.31 kept in `metadata` itself.
const TOKEN_KEYS: [&[u8]; 5] =
    [b"\"input_tokens\"", b"\"output_tokens\"", b"\"cache_read_tokens\"", b"\"cache_creation_tokens\"", b"\"reasoning_tokens\""];

/// Objects of more keys are searched for equal ones by hashing.
const FEW: usize = 8;

/// What is done with the outermost object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Written as it is.
    Plain,
    /// Flat token counts move into `usage`, as `_migrate_metadata` does.
    Metadata,
}

#[derive(Debug, Clone)]
struct Entry {
    key: Range<usize>,
    value: Range<usize>,
}

#[derive(Debug, Clone, Copy)]
enum Frame {
    Array,
    /// Where it starts in the output, and its first entry.
    Object {
        start: usize,
        first: usize,
    },
}

/// A writer whose tables are allocated once.
#[derive(Debug, Default)]
pub struct Dumper {
    frames: Vec<Frame>,
    entries: Vec<Entry>,
}

impl Dumper {
    /// Writes an accepted value.
    pub fn push(&mut self, value: &[u8], shape: Shape, out: &mut Vec<u8>) {
        self.frames.clear();
        self.entries.clear();
        let mut at = 0;
        let mut key_is_next = Next::Value;
        while let Some(&byte) = value.get(at) {
            let rest = value.get(at..).unwrap_or_default();
            at += 1;
            match byte {
                b' ' | b'\t' | b'\n' | b'\r' => {}
                b'{' => {
                    self.frames.push(Frame::Object { start: out.len(), first: self.entries.len() });
                    out.push(b'{');
                    key_is_next = Next::Key;
                }
                b'[' => {
                    self.frames.push(Frame::Array);
                    out.push(b'[');
                    key_is_next = Next::Value;
                }
                b'}' | b']' => {
                    self.close(shape, out);
                    out.push(byte);
                }
                b',' => key_is_next = self.comma(out),
                b':' => out.extend_from_slice(b": "),
                b'"' => {
                    let token = string_token(rest);
                    at += token.len() - 1;
                    self.string(token, key_is_next, out);
                    key_is_next = Next::Value;
                }
                _ => {
                    let len = rest.iter().take_while(|b| !matches!(b, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r')).count();
                    out.extend_from_slice(rest.get(..len).unwrap_or_default());
                    at += len - 1;
                }
            }
        }
    }

    fn string(&mut self, token: &[u8], next: Next, out: &mut Vec<u8>) {
        match next {
            Next::Value => push_token(token, out),
            Next::Key => {
                let start = out.len();
                push_key(token, out);
                // The value begins behind `": "`, and its end is known later.
                self.entries.push(Entry { key: start..out.len(), value: out.len() + 2..out.len() + 2 });
            }
        }
    }

    /// The value before this place is complete.
    fn end_value(&mut self, end: usize) {
        if let Some(entry) = self.entries.last_mut() {
            entry.value.end = end.max(entry.value.start);
        }
    }

    fn comma(&mut self, out: &mut Vec<u8>) -> Next {
        let next = match self.frames.last() {
            Some(Frame::Object { .. }) => {
                self.end_value(out.len());
                Next::Key
            }
            Some(Frame::Array) | None => Next::Value,
        };
        out.extend_from_slice(b", ");
        next
    }

    fn close(&mut self, shape: Shape, out: &mut Vec<u8>) {
        let Some(Frame::Object { start, first }) = self.frames.pop() else { return };
        if self.entries.len() > first {
            self.end_value(out.len());
        }
        let entries = self.entries.get(first..).unwrap_or_default();
        let kept = without_repeats(entries, out);
        let list = kept.as_deref().unwrap_or(entries);
        let is_metadata = shape == Shape::Metadata && self.frames.is_empty();
        let object = if is_metadata && is_flat(list, out) { Some(migrated(list, out)) } else { kept.map(|kept| rebuilt(&kept, out)) };
        if let Some(object) = object {
            out.truncate(start);
            out.extend_from_slice(&object);
        }
        self.entries.truncate(first);
    }
}

/// What a string is, where it stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Next {
    Key,
    Value,
}

/// The string token that the text starts with.
#[must_use]
pub fn string_token(text: &[u8]) -> &[u8] {
    const MARKS: Stops<2> = Stops::at([b'"', b'\\']);
    let quote = MARKS.walk(text, 1, |at| (text.get(at) == Some(&b'\\')).then_some(at + 2));
    text.get(..=quote).unwrap_or(text)
}

fn bytes<'o>(range: &Range<usize>, out: &'o [u8]) -> &'o [u8] {
    out.get(range.clone()).unwrap_or_default()
}

/// The entries that a `dict` would have, if they are not these already.
fn without_repeats(entries: &[Entry], out: &[u8]) -> Option<Vec<Entry>> {
    if entries.len() <= FEW {
        let repeats =
            |(at, entry): (usize, &Entry)| entries.iter().skip(at + 1).any(|other| bytes(&entry.key, out) == bytes(&other.key, out));
        if !entries.iter().enumerate().any(repeats) {
            return None;
        }
    }
    let mut places: HashMap<&[u8], usize> = HashMap::with_capacity(entries.len());
    let mut kept: Vec<Entry> = Vec::with_capacity(entries.len());
    for entry in entries {
        match places.get(bytes(&entry.key, out)).and_then(|at| kept.get_mut(*at)) {
            Some(known) => known.value = entry.value.clone(),
            None => {
                places.insert(bytes(&entry.key, out), kept.len());
                kept.push(entry.clone());
            }
        }
    }
    (kept.len() < entries.len()).then_some(kept)
}

fn is_token_count(entry: &Entry, out: &[u8]) -> bool {
    TOKEN_KEYS.contains(&bytes(&entry.key, out))
}

fn is_flat(entries: &[Entry], out: &[u8]) -> bool {
    entries.iter().any(|entry| is_token_count(entry, out)) && !entries.iter().any(|entry| bytes(&entry.key, out) == b"\"usage\"")
}

/// The object with its token counts moved into `usage`, without its last brace.
fn migrated(entries: &[Entry], out: &[u8]) -> Vec<u8> {
    let (counts, others): (Vec<Entry>, Vec<Entry>) = entries.iter().cloned().partition(|entry| is_token_count(entry, out));
    let mut object = rebuilt(&others, out);
    object.extend_from_slice(if others.is_empty() { b"" } else { b", " });
    object.extend_from_slice(b"\"usage\": ");
    object.extend_from_slice(&rebuilt(&counts, out));
    object.push(b'}');
    object
}

/// The object of these entries, without its last brace.
fn rebuilt(entries: &[Entry], out: &[u8]) -> Vec<u8> {
    let mut object = vec![b'{'];
    for (at, entry) in entries.iter().enumerate() {
        object.extend_from_slice(if at == 0 { b"" } else { b", " });
        object.extend_from_slice(bytes(&entry.key, out));
        object.extend_from_slice(b": ");
        object.extend_from_slice(bytes(&entry.value, out));
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dumped(value: &str, shape: Shape) -> String {
        let mut out = b"before ".to_vec();
        Dumper::default().push(value.as_bytes(), shape, &mut out);
        String::from_utf8(out).unwrap().strip_prefix("before ").unwrap().to_owned()
    }

    #[test]
    fn separators_are_pythons_and_of_equal_keys_the_last_wins_in_the_first_place() {
        for (value, written) in [
            ("[1,2 , 3.10,NaN ]", "[1, 2, 3.10, NaN]"),
            (r#"{ "a" :{}, "b":[ ] }"#, r#"{"a": {}, "b": []}"#),
            (r#"{"a":1,"b":2,"a":{"x":1,"\u0078":[{"y":0,"y":1}],"z":0},"b":3}"#, r#"{"a": {"x": [{"y": 1}], "z": 0}, "b": 3}"#),
            (
                r#"{"1":1,"2":1,"3":1,"4":1,"5":1,"6":1,"7":1,"8":1,"9":1,"3":2}"#,
                r#"{"1": 1, "2": 1, "3": 2, "4": 1, "5": 1, "6": 1, "7": 1, "8": 1, "9": 1}"#,
            ),
            (r#""a, b: {""#, r#""a, b: {""#),
            ("-1e5", "-1e5"),
        ] {
            assert_eq!(dumped(value, Shape::Plain), written);
        }
    }

    #[test]
    fn flat_token_counts_move_into_usage_unless_it_is_there() {
        for (value, written) in [
            (
                r#"{"model":"m","input_tokens":1,"cost":0.5,"output_tokens":2,"input_tokens":3}"#,
                r#"{"model": "m", "cost": 0.5, "usage": {"input_tokens": 3, "output_tokens": 2}}"#,
            ),
            (r#"{"reasoning_tokens":null}"#, r#"{"usage": {"reasoning_tokens": null}}"#),
            (r#"{"input_tokens":1,"usage":0}"#, r#"{"input_tokens": 1, "usage": 0}"#),
            (r#"{"timings":{"input_tokens":1}}"#, r#"{"timings": {"input_tokens": 1}}"#),
        ] {
            assert_eq!(dumped(value, Shape::Metadata), written);
            assert_ne!(dumped(r#"{"input_tokens":1}"#, Shape::Plain), dumped(r#"{"input_tokens":1}"#, Shape::Metadata));
        }
    }
}
