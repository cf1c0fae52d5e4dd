//! Values written again on one line, with one member for equal keys, as
//! a `dict` has them: as JSON, and as `repr` writes them.
//!
//! Nothing recurses. A value is written in one pass in the hope that no object
//! needs its members rearranged, and again with a plan where one does.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::json::{Value, token_end};
use crate::runtimes::wtf8::decode;

use super::number::push_token_repr;
use super::strings::{push_key_in_ascii, push_repr, push_token_in_ascii, push_utf8};

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// JSON without spaces, whose strings and numbers keep their text.
    Tokens,
    /// `json.dumps(…, ensure_ascii=False, separators=(",", ":"))`, except that
    /// numbers keep their text.
    Utf8,
    /// `json.dumps(…)`, except that numbers keep their text, and strings the
    /// escapes that they have.
    Ascii,
    /// `repr(…)`.
    Repr,
    /// As `Repr` with the keys in order: two values are equal in this form where
    /// `json.dumps(…, sort_keys=True)` is equal.
    SortedRepr,
}

/// One member of an object, by its places in the text.
#[derive(Debug, Clone, Copy)]
struct MemberSpan {
    key: usize,
    key_end: usize,
    value: usize,
}

/// The members that are written in place of an object's own, and where the text
/// continues after the object.
#[derive(Debug)]
struct Rearranged {
    members: Vec<MemberSpan>,
    after: usize,
}

/// The objects whose members are rearranged, by the place where they start.
type Plan = HashMap<usize, Rearranged>;

/// Writes a value.
pub fn push<'v>(value: impl Into<Value<'v>>, form: Form, out: &mut Vec<u8>) {
    Writer::default().push(value, form, out);
}

/// A writer whose tables are allocated once for many values.
#[derive(Debug, Default)]
pub struct Writer {
    frames: Vec<Frame>,
    /// The members of all open objects.
    members: Vec<MemberSpan>,
}

#[derive(Debug)]
enum Frame {
    Array {
        items: usize,
    },
    /// An object that is read from the text as it stands; `first` is its first
    /// place among the members.
    Object {
        items: usize,
        first: usize,
        key_is_next: bool,
    },
    /// An object whose members are taken from the plan.
    Planned {
        start: usize,
        items: usize,
    },
}

/// What came of an attempt to write a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Attempt {
    Written,
    NeedsPlan,
}

impl Writer {
    /// Writes a value.
    pub fn push<'v>(&mut self, value: impl Into<Value<'v>>, form: Form, out: &mut Vec<u8>) {
        let value = value.into().text();
        let start = out.len();
        if self.run(&mut Pass { value, form, plan: None }, out) == Attempt::NeedsPlan {
            out.truncate(start);
            let plan = plan(value, form);
            self.run(&mut Pass { value, form, plan: Some(&plan) }, out);
        }
    }

    fn run(&mut self, pass: &mut Pass<'_>, out: &mut Vec<u8>) -> Attempt {
        self.frames.clear();
        self.members.clear();
        let mut at = 0;
        loop {
            if let Some(Frame::Planned { start, items }) = self.frames.last_mut() {
                let Some(Rearranged { members, after }) = pass.planned(*start) else { return Attempt::NeedsPlan };
                match members.get(*items) {
                    Some(member) => {
                        pass.push_key(*member, *items, out);
                        *items += 1;
                        at = member.value;
                    }
                    None => {
                        at = *after;
                        self.frames.pop();
                        out.push(b'}');
                        if self.frames.is_empty() {
                            return Attempt::Written;
                        }
                        continue;
                    }
                }
            }
            at = next_token(pass.value, at);
            let Some(&byte) = pass.value.get(at) else { return Attempt::Written };
            at = match byte {
                b'}' | b']' => {
                    if self.close(pass) == Attempt::NeedsPlan {
                        return Attempt::NeedsPlan;
                    }
                    out.push(byte);
                    at + 1
                }
                _ => match self.before_token(at, pass, out) {
                    Some(value) => {
                        at = value;
                        continue;
                    }
                    None => self.token(at, byte, pass, out),
                },
            };
            if self.frames.is_empty() {
                return Attempt::Written;
            }
        }
    }

    /// Leaves a container; in the first pass, checks the keys of an object.
    fn close(&mut self, pass: &Pass<'_>) -> Attempt {
        let Some(Frame::Object { first, .. }) = self.frames.pop() else { return Attempt::Written };
        let members = self.members.get(first..).unwrap_or_default();
        if pass.plan.is_none() && needs_rearranging(pass.value, members, pass.form) {
            return Attempt::NeedsPlan;
        }
        self.members.truncate(first);
        Attempt::Written
    }

    /// Writes what separates this token from the one before. If the token is a
    /// key, writes that too, and gives the place of its value.
    fn before_token(&mut self, at: usize, pass: &Pass<'_>, out: &mut Vec<u8>) -> Option<usize> {
        match self.frames.last_mut() {
            Some(Frame::Array { items }) => {
                *items += 1;
                if *items > 1 {
                    pass.push_comma(out);
                }
                None
            }
            Some(Frame::Object { items, key_is_next, .. }) => {
                *key_is_next = !*key_is_next;
                if *key_is_next {
                    return None;
                }
                let member = member_at(pass.value, at);
                pass.push_key(member, *items, out);
                *items += 1;
                self.members.push(member);
                Some(member.value)
            }
            Some(Frame::Planned { .. }) | None => None,
        }
    }

    /// Writes a scalar, or opens a container; gives the place after it.
    fn token(&mut self, at: usize, byte: u8, pass: &Pass<'_>, out: &mut Vec<u8>) -> usize {
        match byte {
            b'[' => {
                self.frames.push(Frame::Array { items: 0 });
                out.push(byte);
                at + 1
            }
            b'{' => {
                self.frames.push(match pass.planned(at) {
                    Some(_) => Frame::Planned { start: at, items: 0 },
                    None => Frame::Object { items: 0, first: self.members.len(), key_is_next: true },
                });
                out.push(byte);
                at + 1
            }
            b'"' => {
                let end = token_end(pass.value, at);
                pass.push_string(pass.value.get(at..end).unwrap_or_default(), out);
                end
            }
            _ => {
                let end = scalar_end(pass.value, at);
                pass.push_scalar(pass.value.get(at..end).unwrap_or_default(), out);
                end
            }
        }
    }
}

/// One pass over a value; without a plan it is the first.
struct Pass<'p> {
    value: &'p [u8],
    form: Form,
    plan: Option<&'p Plan>,
}

impl<'p> Pass<'p> {
    fn planned(&self, start: usize) -> Option<&'p Rearranged> {
        self.plan?.get(&start)
    }

    fn push_comma(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(match self.form {
            Form::Tokens | Form::Utf8 => b",",
            Form::Ascii | Form::Repr | Form::SortedRepr => b", ",
        });
    }

    fn push_key(&self, member: MemberSpan, items_before: usize, out: &mut Vec<u8>) {
        if items_before > 0 {
            self.push_comma(out);
        }
        let token = self.value.get(member.key..member.key_end).unwrap_or_default();
        match self.form {
            Form::Ascii => push_key_in_ascii(token, out),
            Form::Tokens | Form::Utf8 | Form::Repr | Form::SortedRepr => self.push_string(token, out),
        }
        out.extend_from_slice(match self.form {
            Form::Tokens | Form::Utf8 => b":",
            Form::Ascii | Form::Repr | Form::SortedRepr => b": ",
        });
    }

    fn push_string(&self, token: &[u8], out: &mut Vec<u8>) {
        match self.form {
            Form::Tokens => out.extend_from_slice(token),
            Form::Utf8 => push_utf8(&decode(token), out),
            Form::Ascii => push_token_in_ascii(token, out),
            Form::Repr | Form::SortedRepr => push_repr(&decode(token), out),
        }
    }

    fn push_scalar(&self, token: &[u8], out: &mut Vec<u8>) {
        match (self.form, token) {
            (Form::Tokens | Form::Utf8 | Form::Ascii, _) => out.extend_from_slice(token),
            (Form::Repr | Form::SortedRepr, b"true") => out.extend_from_slice(b"True"),
            (Form::Repr | Form::SortedRepr, b"false") => out.extend_from_slice(b"False"),
            (Form::Repr | Form::SortedRepr, b"null") => out.extend_from_slice(b"None"),
            (Form::Repr | Form::SortedRepr, _) => push_token_repr(token, out),
        }
    }
}

/// Returns the first place from here on that is neither blank nor a comma or colon.
fn next_token(text: &[u8], start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    start + rest.iter().take_while(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r' | b',' | b':')).count()
}

/// Returns where the number or word that starts here ends.
fn scalar_end(text: &[u8], start: usize) -> usize {
    let rest = text.get(start..).unwrap_or_default();
    start + rest.iter().take_while(|b| !matches!(b, b',' | b']' | b'}' | b' ' | b'\t' | b'\n' | b'\r')).count().max(1)
}

/// Returns the member whose key stands here.
fn member_at(text: &[u8], key: usize) -> MemberSpan {
    let key_end = token_end(text, key);
    MemberSpan { key, key_end, value: next_token(text, key_end) }
}

/// Finds the objects whose members must be rearranged.
fn plan(value: &[u8], form: Form) -> Plan {
    let mut plan = Plan::new();
    // Open containers: where they start and, for objects, their first member.
    let mut open: Vec<(usize, Option<usize>)> = Vec::new();
    let mut members: Vec<MemberSpan> = Vec::new();
    let mut at = next_token(value, 0);
    let mut key_is_next = false;
    while let Some(&byte) = value.get(at) {
        match byte {
            b'{' | b'[' => {
                key_is_next = byte == b'{';
                open.push((at, key_is_next.then_some(members.len())));
                at += 1;
            }
            b'"' if key_is_next => {
                let member = member_at(value, at);
                members.push(member);
                key_is_next = false;
                at = member.value;
                continue;
            }
            _ => {
                at = match byte {
                    b'}' | b']' => {
                        if let Some((start, Some(first))) = open.pop() {
                            let list = rearranged(value, members.get(first..).unwrap_or_default(), form);
                            plan.extend(list.map(|members| (start, Rearranged { members, after: at + 1 })));
                            members.truncate(first);
                        }
                        at + 1
                    }
                    b'"' => token_end(value, at),
                    _ => scalar_end(value, at),
                };
                key_is_next = matches!(open.last(), Some((_, Some(_))));
            }
        }
        at = next_token(value, at);
    }
    plan
}

fn key_token<'v>(value: &'v [u8], member: &MemberSpan) -> &'v [u8] {
    value.get(member.key..member.key_end).unwrap_or_default()
}

/// Objects of more members are searched for equal keys by hashing.
const FEW: usize = 16;

/// Tells whether a `dict` would have other members than these, or another order.
fn needs_rearranging(value: &[u8], members: &[MemberSpan], form: Form) -> bool {
    if members.len() < 2 {
        return false;
    }
    // Keys of plain ASCII, as nearly all are, are equal where their tokens are.
    let is_plain = |token: &[u8]| token.iter().all(|b| matches!(b, 0x20..0x7f) && *b != b'\\');
    if form != Form::SortedRepr && members.len() <= FEW && members.iter().all(|member| is_plain(key_token(value, member))) {
        return members.iter().enumerate().any(|(at, member)| {
            let key = key_token(value, member);
            members.iter().skip(at + 1).any(|other| key_token(value, other) == key)
        });
    }
    let keys: Vec<Cow<'_, [u8]>> = members.iter().map(|member| decode(key_token(value, member))).collect();
    let mut seen = HashSet::with_capacity(keys.len());
    !keys.iter().all(|key| seen.insert(key.as_ref())) || (form == Form::SortedRepr && !keys.is_sorted())
}

/// Returns the members as a `dict` has them, the last value of equal keys in the place
/// of the first, unless they are in this order already.
fn rearranged(value: &[u8], members: &[MemberSpan], form: Form) -> Option<Vec<MemberSpan>> {
    if !needs_rearranging(value, members, form) {
        return None;
    }
    let mut places: HashMap<Cow<'_, [u8]>, usize> = HashMap::with_capacity(members.len());
    let mut list: Vec<MemberSpan> = Vec::with_capacity(members.len());
    for member in members {
        let place = *places.entry(decode(key_token(value, member))).or_insert(list.len());
        match list.get_mut(place) {
            Some(known) => known.value = member.value,
            None => list.push(*member),
        }
    }
    if form == Form::SortedRepr {
        list.sort_by_cached_key(|member| decode(key_token(value, member)));
    }
    Some(list)
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
    fn tokens_keep_their_text_where_the_form_says_so() {
        for (value, line) in [
            ("[\n 1 , 2.10,\r\n \"a , b\" ]", r#"[1,2.10,"a , b"]"#),
            (" -1e400 ", "-1e400"),
            (r#"{"a":[ {} , [] ],"b": "\u00e9"}"#, r#"{"a":[{},[]],"b":"\u00e9"}"#),
            (r#"{"a":1,"b":{"c":0,"c":[{"d":1,"d":2}]},"\u0061":{"x":[1,2]},"e":0}"#, r#"{"a":{"x":[1,2]},"b":{"c":[{"d":2}]},"e":0}"#),
            (r#"[{"a":{"a":0,"a":1},"a":{"a":2,"a":3}},4]"#, r#"[{"a":{"a":3}},4]"#),
        ] {
            assert_eq!(written(value, Form::Tokens), line);
        }
        assert_eq!(written("[1,2 , 3.10,NaN ]", Form::Ascii), "[1, 2, 3.10, NaN]");
        assert_eq!(written(r#"{"\u0061":"\u00e9\/\ud800\u007f"}"#, Form::Utf8), "{\"a\":\"é/\\ud800\u{7f}\"}");
        assert_ne!(written(r#"{"a":1}"#, Form::SortedRepr), written(r#"{"a":1.0}"#, Form::SortedRepr));
    }

    #[test]
    fn depth_and_width_cost_no_stack_and_no_square() {
        let deep = format!("{}1{}", r#"{"b":0,"a":0,"b":"#.repeat(50_000), "}".repeat(50_000));
        assert_eq!(written(&deep, Form::SortedRepr).len(), r#"{'a': 0, 'b': "#.len() * 50_000 + 50_001);
        let wide = format!("{{{}\"k1\":0}}", (0..100_000).map(|k| format!("\"k{k}\":1,")).collect::<String>());
        assert!(written(&wide, Form::Tokens).starts_with(r#"{"k0":1,"k1":0,"k2":1"#));
    }
}
