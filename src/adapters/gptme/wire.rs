//! A message record exactly as it stands on disk: spans of its fields, and
//! whether the program's loader takes it.

use std::borrow::Cow;

use crate::json::{self, Dialect, Kind, Member, Value};
use crate::model::shape::Order;
use crate::model::time::is_log_time;
use crate::runtimes::python::datetime::DateTime;
use crate::runtimes::python::dict::Dict;
use crate::runtimes::python::exception::Exception;
use crate::runtimes::python::isoparse::isoparse;
use crate::runtimes::python::loads::LONGEST_INTEGER;
use crate::runtimes::python::value::is_truthy;
use crate::runtimes::wtf8::decode;

use super::files;

/// Token counts: gptme's name, and ours.
pub(super) const TOKENS: [(&str, &str); 5] = [
    ("input_tokens", "input"),
    ("output_tokens", "output"),
    ("cache_read_tokens", "cache_read"),
    ("cache_creation_tokens", "cache_write"),
    ("reasoning_tokens", "reasoning"),
];

/// Fields that the loader knows and the writer never writes.
const SILENT: [&str; 2] = ["quiet", "terminal_display_content"];

/// The fields of one message record, as the bytes they are.
#[derive(Debug, Default)]
pub(super) struct Record<'a> {
    /// The whole record.
    pub value: Value<'a>,
    pub role: Value<'a>,
    pub content: Value<'a>,
    pub timestamp: Option<Value<'a>>,
    pub files: Option<Value<'a>>,
    pub file_hashes: Option<Value<'a>>,
    pub pinned: Option<Value<'a>>,
    pub hide: Option<Value<'a>>,
    pub ui_only: Option<Value<'a>>,
    pub call_id: Option<Value<'a>>,
    pub metadata: Option<Value<'a>>,
    /// Fields without a canonical place, in order; those that the loader does
    /// not know among them.
    pub others: Vec<Member<'a>>,
    /// Nesting, the record itself included.
    pub depth: usize,
    /// It was cut out of a broken line, and the loader does not see it.
    pub is_salvaged: bool,
    /// The keys do not stand in the writer's usual order.
    pub unusual_order: bool,
    /// What the timestamp says.
    pub time: Time<'a>,
}

/// A record's time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Time<'a> {
    /// The record has none: the loader takes the file's.
    #[default]
    Absent,
    /// Already in the log's form.
    Log(&'a str),
    /// In another form that the loader takes.
    Other(DateTime),
    /// Past what the program can hold; the whole load fails.
    Overflow,
}

impl<'a> Time<'a> {
    fn of(value: Value<'a>) -> Option<Time<'a>> {
        let token = value.text();
        let inner = token.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        if is_log_time(inner) {
            return std::str::from_utf8(inner).ok().map(Time::Log);
        }
        match isoparse(&decode(token)) {
            Ok(time) => Some(Time::Other(time)),
            Err(exception) => (exception == Exception::Overflow).then_some(Time::Overflow),
        }
    }
}

/// Why the loader does not take a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Rejection {
    /// Not JSON at all; the offset and what was expected there.
    NotJson { at: usize, what: &'static str },
    /// JSON, but no message.
    NoMessage(&'static str),
}

/// Returns the usual order of a record's keys, metadata opened.
pub(super) fn usual_order() -> Order {
    let list = concat!(
        r#"["role","content","timestamp","files","file_hashes","pinned","hide","ui_only","ephemeral_ttl","call_id","metadata","#,
        r#"["model","resolved_model","served_model","usage","#,
        r#"["input_tokens","output_tokens","cache_read_tokens","cache_creation_tokens","reasoning_tokens"],"cost"]]"#
    );
    Order::from_json(Value::trusted(list.as_bytes())).unwrap_or_default()
}

/// Returns the place of a key in the writer's usual order.
fn usual_place(key: &str) -> Option<usize> {
    const KEYS: [&str; 11] =
        ["role", "content", "timestamp", "files", "file_hashes", "pinned", "hide", "ui_only", "ephemeral_ttl", "call_id", "metadata"];
    KEYS.iter().position(|known| *known == key)
}

impl<'a> Record<'a> {
    /// Splits a line into fields and judges it as the loader would. `spare` is
    /// scratch space.
    pub(super) fn parse(text: &'a [u8], spare: &mut Vec<Member<'a>>) -> Result<Record<'a>, Rejection> {
        let json::Scan { value, facts, .. } = match json::validate_object(text, Dialect::Python, spare) {
            Ok(scan) => scan,
            Err(error) => return Err(not_an_object(text, error)),
        };
        if facts.longest_integer > LONGEST_INTEGER {
            return Err(Rejection::NoMessage("an integer has more than 4300 digits"));
        }
        let mut record = Record { value, depth: facts.depth, ..Record::default() };
        let mut next_place = 0;
        for member in spare.iter() {
            let name = member.name();
            match usual_place(&name) {
                Some(place) if place >= next_place => next_place = place + 1,
                Some(_) => record.unusual_order = true,
                // Keys without a place come last: none with a place may follow.
                None => next_place = usize::MAX,
            }
            record.put(*member, &name);
        }
        record.judge()?;
        Ok(record)
    }

    fn put(&mut self, member: Member<'a>, name: &str) {
        match name {
            "role" => self.role = member.value(),
            "content" => self.content = member.value(),
            "timestamp" => self.timestamp = Some(member.value()),
            "files" => self.files = Some(member.value()),
            "file_hashes" => self.file_hashes = Some(member.value()),
            "pinned" => self.pinned = Some(member.value()),
            "hide" => self.hide = Some(member.value()),
            "ui_only" => self.ui_only = Some(member.value()),
            "call_id" => self.call_id = Some(member.value()),
            "metadata" => self.metadata = Some(member.value()),
            _ => self.others.push(member),
        }
    }

    fn judge(&mut self) -> Result<(), Rejection> {
        if !self.role.is_string() || !self.content.is_string() {
            return Err(Rejection::NoMessage("`role` and `content` must be strings"));
        }
        if self.files.is_some_and(|files| !matches!(files.kind(), Kind::Array | Kind::String | Kind::Object)) {
            return Err(Rejection::NoMessage("`files` is not a list"));
        }
        if self.timestamp.is_some_and(|time| !time.is_string()) {
            return Err(Rejection::NoMessage("`timestamp` is not a text"));
        }
        if let Some(time) = self.timestamp {
            self.time = Time::of(time).ok_or(Rejection::NoMessage("`timestamp` is not an ISO time"))?;
        }
        if self.metadata.is_some_and(|meta| is_truthy(meta) && !meta.is_object()) {
            return Err(Rejection::NoMessage("`metadata` is not an object"));
        }
        Ok(())
    }

    /// Returns the fields that the loader drops because it does not know them.
    pub(super) fn unknown_fields(&self) -> impl Iterator<Item = Cow<'a, str>> {
        self.others.iter().map(Member::name).filter(|name| name != "ephemeral_ttl" && !SILENT.contains(&name.as_ref()))
    }

    /// Returns the exception that this record, though taken, makes the whole load end in.
    pub(super) fn fatal(&self, deepest: usize) -> Option<&'static str> {
        if self.depth >= deepest {
            return Some("RecursionError");
        }
        if self.time == Time::Overflow {
            return Some("OverflowError");
        }
        let files = self.files.filter(|files| is_truthy(*files))?;
        let hashes = self.file_hashes?;
        unusable_hashes(hashes).or_else(|| unusable_hash(files, hashes))
    }
}

/// Returns a hash that is not text, of a file whose name has a suffix: the program
/// tries to use it as a path.
fn unusable_hash(files: Value<'_>, hashes: Value<'_>) -> Option<&'static str> {
    if !hashes.is_object() {
        return None;
    }
    let used_as_path = hashes.members().any(|member| {
        let odd = !member.value().is_string() && is_truthy(member.value());
        odd && files::has_suffix(&member.name())
            && files::iterated(files).iter().any(|file| !files::is_uri(file) && files::path_text(file) == member.name())
    });
    used_as_path.then_some("TypeError")
}

/// Returns what Python's `dict(…)` of `file_hashes` raises, where it does.
fn unusable_hashes(hashes: Value<'_>) -> Option<&'static str> {
    match hashes.kind() {
        Kind::Object => None,
        Kind::String | Kind::Array | Kind::Number | Kind::True | Kind::False | Kind::Null => Dict::of(hashes).err().map(Exception::name),
    }
}

fn not_an_object(text: &[u8], error: json::ScanError) -> Rejection {
    match json::validate(text, Dialect::Python) {
        Ok(_) => Rejection::NoMessage("not a JSON object"),
        Err(_) => Rejection::NotJson { at: error.at, what: error.what },
    }
}

/// Tells whether metadata has its keys in the writer's usual order, and its token
/// counts where the writer has them today.
pub(super) fn metadata_is_usual(metadata: Value<'_>) -> bool {
    const KEYS: [&str; 5] = ["model", "resolved_model", "served_model", "usage", "cost"];
    in_order(metadata, &KEYS, |member| match member.is("usage") && member.value().is_object() {
        true => in_order(member.value(), &TOKENS.map(|(name, _)| name), |_| true),
        false => !TOKENS.iter().any(|(token, _)| member.is(token)),
    })
}

/// Tells whether the keys of an object stand in this order, and each is as it should.
fn in_order(object: Value<'_>, usual: &[&str], is_usual: impl Fn(&Member<'_>) -> bool) -> bool {
    let mut next = 0;
    let mut members = object.members();
    members.all(|member| {
        is_usual(&member)
            && match usual.iter().position(|known| member.is(known)) {
                Some(place) => {
                    let in_place = place >= next;
                    next = place + 1;
                    in_place
                }
                None => {
                    next = usize::MAX;
                    true
                }
            }
    })
}

/// What is opened of a record for its shape, one inside the other.
const OPENED: [&str; 2] = ["metadata", "usage"];

/// Returns the order of a record's keys, metadata and usage opened, for its shape.
pub(super) fn order_of(record: Value<'_>) -> Order {
    keys(record, &OPENED)
}

/// Writes those keys as they are spelt, each with the kind of its value.
pub(super) fn push_keys(record: Value<'_>, out: &mut Vec<u8>) {
    push_opened_keys(record, &OPENED, out);
}

fn push_opened_keys(object: Value<'_>, opened: &[&str], out: &mut Vec<u8>) {
    for member in object.members() {
        out.extend_from_slice(member.key());
        out.push(member.value().kind() as u8);
        if let Some((_, inner)) = opened.split_first().filter(|(open, _)| member.value().is_object() && member.is(open)) {
            push_opened_keys(member.value(), inner, out);
            out.push(b'}');
        }
    }
}

fn keys(object: Value<'_>, opened: &[&str]) -> Order {
    object
        .members()
        .map(|member| {
            let name = member.name();
            let inside = match opened.split_first() {
                Some((open, inner)) if *open == name && member.value().is_object() => Some(keys(member.value(), inner)),
                _ => None,
            };
            (name, inside)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rejection(text: &str) -> Option<Rejection> {
        Record::parse(text.as_bytes(), &mut Vec::new()).err()
    }

    #[test]
    fn takes_what_the_loader_takes() {
        let base = r#""role": "user", "content": "x""#;
        for good in [
            "{BASE}",
            r#"{BASE, "timestamp": "2026"}"#,
            r#"{BASE, "files": "ab", "metadata": null}"#,
            r#"{BASE, "x": NaN, "metadata": {}}"#,
            r#"{"role": 1, BASE}"#,
        ] {
            assert_eq!(rejection(&good.replace("BASE", base)), None, "{good}");
        }
        for bad in [
            r#"{"role": "user"}"#,
            r#"{BASE, "role": 1}"#,
            r#"{BASE, "timestamp": null}"#,
            r#"{BASE, "timestamp": "soon"}"#,
            r#"{BASE, "files": null}"#,
            r#"{BASE, "metadata": "m"}"#,
            "[1]",
            "5",
            r#"{BASE, "n": N}"#,
        ] {
            let text = bad.replace("BASE", base).replace('N', &"1".repeat(4301));
            assert!(matches!(rejection(&text), Some(Rejection::NoMessage(_))), "{bad}");
        }
        for torn in ["{\"role\": \"us", "\u{feff}{}", "{}{}", "{'role': 1}"] {
            assert!(matches!(rejection(torn), Some(Rejection::NotJson { .. })), "{torn}");
        }
    }
}
