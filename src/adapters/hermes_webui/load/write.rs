//! Accepted values written anew: on one line, with one member for equal keys.
//!
//! Nothing recurses, and every byte is written once: objects whose members must
//! be left out or reordered are found first, and their values are then fetched
//! from where they stand.

use std::borrow::Cow;
use std::collections::HashMap;

use super::number;
use super::parse::{next_token, scalar_end, string_end};
use super::text::{Piece, decode, pieces, push_json};

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// JSON whose strings and numbers keep their text.
    Line,
    /// JSON whose strings have one form, so that equal ones have equal bytes.
    Fact,
    /// Python's `repr`.
    Repr,
    /// As `Repr`, with the keys in order: equal where `json.dumps` with sorted
    /// keys is equal.
    Sorted,
}

/// One member of an object: where its key and its value start.
#[derive(Debug, Clone, Copy)]
struct Member {
    key: usize,
    value: usize,
}

/// What is written in place of an object, and where the text goes on behind it.
#[derive(Debug)]
struct Anew {
    members: Vec<Member>,
    behind: usize,
}

/// The objects that are written anew, by the place where they start.
type Plan = HashMap<usize, Anew>;

/// Writes an accepted value.
pub fn push(value: &[u8], form: Form, out: &mut Vec<u8>) {
    let plan = plan(value, form);
    let mut writer = Writer { value, form, plan: &plan, frames: Vec::new() };
    writer.run(out);
}

/// Finds the objects that cannot be written as they stand.
fn plan(value: &[u8], form: Form) -> Plan {
    let mut plan = Plan::new();
    // Open containers: where they start and, for objects, their first member.
    let mut open: Vec<(usize, Option<usize>)> = Vec::new();
    let mut members: Vec<Member> = Vec::new();
    let mut at = next_token(value, 0);
    let mut key_is_next = false;
    while let Some(&byte) = value.get(at) {
        match byte {
            b'{' | b'[' => {
                let is_object = byte == b'{';
                open.push((at, is_object.then_some(members.len())));
                key_is_next = is_object;
                at += 1;
            }
            b'}' | b']' => {
                if let Some((start, Some(first))) = open.pop() {
                    let list = rearranged(value, members.get(first..).unwrap_or_default(), form);
                    plan.extend(list.map(|members| (start, Anew { members, behind: at + 1 })));
                    members.truncate(first);
                }
                key_is_next = matches!(open.last(), Some((_, Some(_))));
                at += 1;
            }
            b'"' if key_is_next => {
                let behind = next_token(value, string_end(value, at));
                members.push(Member { key: at, value: behind });
                key_is_next = false;
                at = behind;
                continue;
            }
            _ => {
                at = if byte == b'"' { string_end(value, at) } else { scalar_end(value, at) };
                key_is_next = matches!(open.last(), Some((_, Some(_))));
            }
        }
        at = next_token(value, at);
    }
    plan
}

fn key_of(value: &[u8], member: Member) -> Cow<'_, [u8]> {
    decode(value.get(member.key..string_end(value, member.key)).unwrap_or_default())
}

/// The members as a `dict` has them, the last value of equal keys in the place
/// of the first, unless they already stand so.
fn rearranged(value: &[u8], members: &[Member], form: Form) -> Option<Vec<Member>> {
    if members.len() < 2 {
        return None;
    }
    let keys: Vec<Cow<'_, [u8]>> = members.iter().map(|member| key_of(value, *member)).collect();
    let repeats = match members.len() {
        // A table costs more than it saves.
        ..17 => keys.iter().enumerate().any(|(at, key)| keys.iter().skip(at + 1).any(|other| other == key)),
        _ => true,
    };
    let is_sorted = form != Form::Sorted || keys.is_sorted();
    if !repeats && is_sorted {
        return None;
    }
    let mut places: HashMap<&[u8], usize> = HashMap::with_capacity(keys.len());
    let mut list: Vec<(usize, Member)> = Vec::with_capacity(keys.len());
    for (at, (key, member)) in keys.iter().zip(members).enumerate() {
        match places.get(key.as_ref()).and_then(|place| list.get_mut(*place)) {
            Some((_, known)) => known.value = member.value,
            None => {
                places.insert(key, list.len());
                list.push((at, *member));
            }
        }
    }
    if list.len() == members.len() && is_sorted {
        return None;
    }
    if form == Form::Sorted {
        list.sort_by(|(a, _), (b, _)| keys.get(*a).cmp(&keys.get(*b)));
    }
    Some(list.into_iter().map(|(_, member)| member).collect())
}

enum Frame<'p> {
    /// Read from the text as it stands.
    Array { items: usize },
    /// The same; `key_is_next` where its next string is a key.
    Object { items: usize, key_is_next: bool },
    /// Fetched member by member; the text goes on at `behind`.
    Planned { members: &'p [Member], items: usize, behind: usize },
}

struct Writer<'p> {
    value: &'p [u8],
    form: Form,
    plan: &'p Plan,
    frames: Vec<Frame<'p>>,
}

impl Writer<'_> {
    fn run(&mut self, out: &mut Vec<u8>) {
        let mut at = 0;
        loop {
            if let Some(Frame::Planned { members, items, behind }) = self.frames.last_mut() {
                let done = *items;
                match members.get(done) {
                    Some(member) => {
                        *items += 1;
                        at = member.value;
                        self.key(member.key, done, out);
                    }
                    None => {
                        at = *behind;
                        self.frames.pop();
                        out.push(b'}');
                        if self.is_done() {
                            return;
                        }
                        continue;
                    }
                }
            }
            at = next_token(self.value, at);
            let Some(&byte) = self.value.get(at) else { return };
            at = match byte {
                b'}' | b']' => {
                    self.frames.pop();
                    out.push(byte);
                    at + 1
                }
                _ => match self.before(at, out) {
                    Some(value) => {
                        at = value;
                        continue;
                    }
                    None => self.token(at, byte, out),
                },
            };
            if self.is_done() {
                return;
            }
        }
    }

    fn is_done(&self) -> bool {
        self.frames.is_empty()
    }

    /// What stands between this token and the one before it; where the token is
    /// a key, writes it and says where its value starts.
    fn before(&mut self, at: usize, out: &mut Vec<u8>) -> Option<usize> {
        match self.frames.last_mut() {
            Some(Frame::Array { items }) => {
                *items += 1;
                if *items > 1 {
                    self.comma(out);
                }
                None
            }
            Some(Frame::Object { items, key_is_next }) => {
                let (done, is_key) = (*items, *key_is_next);
                *key_is_next = !is_key;
                if !is_key {
                    return None;
                }
                *items += 1;
                self.key(at, done, out);
                Some(next_token(self.value, string_end(self.value, at)))
            }
            Some(Frame::Planned { .. }) | None => None,
        }
    }

    /// Writes a key, which is the first of its object if none is done.
    fn key(&self, at: usize, done: usize, out: &mut Vec<u8>) {
        if done > 0 {
            self.comma(out);
        }
        self.string(at, out);
        out.extend_from_slice(match self.form {
            Form::Line | Form::Fact => b":",
            Form::Repr | Form::Sorted => b": ",
        });
    }

    fn comma(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(match self.form {
            Form::Line | Form::Fact => b",",
            Form::Repr | Form::Sorted => b", ",
        });
    }

    /// Writes a scalar, or opens a container; says where the text goes on.
    fn token(&mut self, at: usize, byte: u8, out: &mut Vec<u8>) -> usize {
        match byte {
            b'[' => {
                self.frames.push(Frame::Array { items: 0 });
                out.push(byte);
                at + 1
            }
            b'{' => {
                out.push(byte);
                self.frames.push(match self.plan.get(&at) {
                    Some(Anew { members, behind }) => Frame::Planned { members, items: 0, behind: *behind },
                    None => Frame::Object { items: 0, key_is_next: true },
                });
                at + 1
            }
            b'"' => self.string(at, out),
            _ => self.scalar(at, out),
        }
    }

    fn string(&self, at: usize, out: &mut Vec<u8>) -> usize {
        let end = string_end(self.value, at);
        let token = self.value.get(at..end).unwrap_or_default();
        match self.form {
            Form::Line => out.extend_from_slice(token),
            Form::Fact => push_json(&decode(token), out),
            Form::Repr | Form::Sorted => push_quoted(&decode(token), out),
        }
        end
    }

    fn scalar(&self, at: usize, out: &mut Vec<u8>) -> usize {
        let end = scalar_end(self.value, at);
        let token = self.value.get(at..end).unwrap_or_default();
        match (self.form, token) {
            (Form::Line | Form::Fact, _) => out.extend_from_slice(token),
            (Form::Repr | Form::Sorted, b"true") => out.extend_from_slice(b"True"),
            (Form::Repr | Form::Sorted, b"false") => out.extend_from_slice(b"False"),
            (Form::Repr | Form::Sorted, b"null") => out.extend_from_slice(b"None"),
            (Form::Repr | Form::Sorted, _) => number::push_repr(token, out),
        }
        end
    }
}

/// Writes a string as `repr` does: in single quotes, unless only these are in it.
fn push_quoted(text: &[u8], out: &mut Vec<u8>) {
    let quote = if text.contains(&b'\'') && !text.contains(&b'"') { '"' } else { '\'' };
    out.push(quote as u8);
    for piece in pieces(text) {
        match piece {
            Piece::Text(text) => text.chars().for_each(|c| push_quoted_char(c, quote, out)),
            Piece::Lone(code) => out.extend_from_slice(format!("\\u{code:04x}").as_bytes()),
        }
    }
    out.push(quote as u8);
}

fn push_quoted_char(c: char, quote: char, out: &mut Vec<u8>) {
    let written = match (c, u32::from(c)) {
        ('\t', _) => "\\t".into(),
        ('\n', _) => "\\n".into(),
        ('\r', _) => "\\r".into(),
        ('\\', _) => "\\\\".into(),
        _ if c == quote => format!("\\{c}"),
        _ if is_printable(c) => return out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        (_, code @ 0..0x100) => format!("\\x{code:02x}"),
        (_, code @ 0x100..0x1_0000) => format!("\\u{code:04x}"),
        (_, code) => format!("\\U{code:08x}"),
    };
    out.extend_from_slice(written.as_bytes());
}

/// `str.isprintable` of one character. Rust's own escaping spares the same ones,
/// but for a mark that stands first, and for what Unicode got after Python 3.11.
fn is_printable(c: char) -> bool {
    matches!(c, ' '..='~') || !format!("a{c}").escape_debug().any(|c| c == '\\')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(value: &str, form: Form) -> String {
        let mut out = b">".to_vec();
        push(value.as_bytes(), form, &mut out);
        String::from_utf8(out).unwrap().split_off(1)
    }

    #[test]
    fn a_value_stands_on_one_line_and_equal_keys_once() {
        for (value, line) in [
            ("[\n 1 , 2.10,\r\n \"a , b\" ]", r#"[1,2.10,"a , b"]"#),
            ("{ }", "{}"),
            (" [ ] ", "[]"),
            (" -1e400 ", "-1e400"),
            (r#"{"a":[ {} , [] ],"b": "\u00e9"}"#, r#"{"a":[{},[]],"b":"\u00e9"}"#),
            (r#"{"a":1,"b":{"c":0,"c":[{"d":1,"d":2}]},"\u0061":{"x":[1,2]},"e":0}"#, r#"{"a":{"x":[1,2]},"b":{"c":[{"d":2}]},"e":0}"#),
            (r#"[{"a":{"a":0,"a":1},"a":{"a":2,"a":3}},4]"#, r#"[{"a":{"a":3}},4]"#),
        ] {
            assert_eq!(written(value, Form::Line), line);
        }
        assert_eq!(written(r#"{"\u0061":"\u00e9\/\ud800\u007f"}"#, Form::Fact), "{\"a\":\"é/\\ud800\u{7f}\"}");
    }

    #[test]
    fn repr_is_that_of_python() {
        for (value, repr) in [
            (r#"{"b": [1.0, null], "a": true, "b": -0}"#, "{'b': 0, 'a': True}"),
            (
                r#"["it's", "\"", "'\"", "\\\t\u0000\u0085\u00a0\u200b\ud800\u00e9\u0301"]"#,
                r#"["it's", '"', '\'"', '\\\t\x00\x85\xa0\u200b\ud800é́']"#,
            ),
            ("[1e16, NaN, 18446744073709551616]", "[1e+16, nan, 18446744073709551616]"),
        ] {
            assert_eq!(written(value, Form::Repr), repr);
        }
    }

    #[test]
    fn sorted_forms_are_equal_where_only_the_order_differs() {
        let sorted = |value: &str| written(value, Form::Sorted);
        assert_eq!(sorted(r#"{"b":{"d":1,"c":[2]},"a":3}"#), sorted(r#"{"a":3,"b":{"c":[2],"d":0,"d":1}}"#));
        assert_ne!(sorted(r#"{"a":1}"#), sorted(r#"{"a":1.0}"#));
        assert_ne!(sorted("[1,2]"), sorted("[2,1]"));
    }

    #[test]
    fn depth_and_width_cost_no_stack_and_no_square() {
        let deep = format!("{}1{}", r#"{"b":0,"a":0,"b":"#.repeat(50_000), "}".repeat(50_000));
        assert_eq!(written(&deep, Form::Sorted).len(), r#"{'a': 0, 'b': "#.len() * 50_000 + 50_001);
        let wide = format!("{{{}\"k1\":0}}", (0..100_000).map(|k| format!("\"k{k}\":1,")).collect::<String>());
        assert!(written(&wide, Form::Line).starts_with(r#"{"k0":1,"k1":0,"k2":1"#));
    }
}
