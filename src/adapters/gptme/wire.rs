//! A message record exactly as it stands on disk: spans of its fields, and
//! whether the program's loader takes it.

use std::borrow::Cow;

use crate::model::json::{self, Dialect, Kind, Member};
use crate::model::shape::Order;
use crate::model::time::is_log_time;

use super::pytext;
use super::time::{NoTime, Stamp};

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

/// CPython refuses to convert longer integers.
const LONGEST_INTEGER: usize = 4300;

/// The fields of one message record, as the bytes they are.
#[derive(Debug, Default)]
pub(super) struct Record<'a> {
    pub role: &'a [u8],
    pub content: &'a [u8],
    pub timestamp: Option<&'a [u8]>,
    pub files: Option<&'a [u8]>,
    pub file_hashes: Option<&'a [u8]>,
    pub pinned: Option<&'a [u8]>,
    pub hide: Option<&'a [u8]>,
    pub ui_only: Option<&'a [u8]>,
    pub call_id: Option<&'a [u8]>,
    pub metadata: Option<&'a [u8]>,
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
    Other(Stamp),
    /// Past what the program can hold; the whole load fails.
    Overflow,
}

impl<'a> Time<'a> {
    fn of(token: &'a [u8]) -> Option<Time<'a>> {
        let inner = token.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        if is_log_time(inner) {
            return std::str::from_utf8(inner).ok().map(Time::Log);
        }
        match Stamp::parse(&json::decode_string(token).ok()?) {
            Ok(stamp) => Some(Time::Other(stamp)),
            Err(NoTime::Overflow) => Some(Time::Overflow),
            Err(NoTime::Rejected) => None,
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

/// The usual order of a record's keys, metadata opened.
pub(super) fn usual_order() -> Order {
    let list = concat!(
        r#"["role","content","timestamp","files","file_hashes","pinned","hide","ui_only","ephemeral_ttl","call_id","metadata","#,
        r#"["model","resolved_model","served_model","usage","#,
        r#"["input_tokens","output_tokens","cache_read_tokens","cache_creation_tokens","reasoning_tokens"],"cost"]]"#
    );
    Order::from_json(list.as_bytes()).unwrap_or_default()
}

/// The place of a key in the writer's usual order.
fn usual_place(key: &str) -> Option<usize> {
    const KEYS: [&str; 11] =
        ["role", "content", "timestamp", "files", "file_hashes", "pinned", "hide", "ui_only", "ephemeral_ttl", "call_id", "metadata"];
    KEYS.iter().position(|known| *known == key)
}

impl<'a> Record<'a> {
    /// Splits a line into fields and judges it as the loader would. `spare` is
    /// scratch space.
    pub(super) fn parse(text: &'a [u8], spare: &mut Vec<Member<'a>>) -> Result<Record<'a>, Rejection> {
        let facts = match json::scan_object(text, Dialect::Python, spare) {
            Ok(facts) => facts,
            Err(error) => return Err(not_an_object(text, error)),
        };
        if facts.longest_integer > LONGEST_INTEGER {
            return Err(Rejection::NoMessage("an integer has more than 4300 digits"));
        }
        let mut record = Record { depth: facts.depth, ..Record::default() };
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
            "role" => self.role = member.value,
            "content" => self.content = member.value,
            "timestamp" => self.timestamp = Some(member.value),
            "files" => self.files = Some(member.value),
            "file_hashes" => self.file_hashes = Some(member.value),
            "pinned" => self.pinned = Some(member.value),
            "hide" => self.hide = Some(member.value),
            "ui_only" => self.ui_only = Some(member.value),
            "call_id" => self.call_id = Some(member.value),
            "metadata" => self.metadata = Some(member.value),
            _ => self.others.push(member),
        }
    }

    fn judge(&mut self) -> Result<(), Rejection> {
        let is_string = |value: &[u8]| value.first() == Some(&b'"');
        if !is_string(self.role) || !is_string(self.content) {
            return Err(Rejection::NoMessage("`role` and `content` must be strings"));
        }
        if self.files.is_some_and(|files| !matches!(json::kind_of(files), Kind::Array | Kind::String | Kind::Object)) {
            return Err(Rejection::NoMessage("`files` is no list"));
        }
        if self.timestamp.is_some_and(|time| !is_string(time)) {
            return Err(Rejection::NoMessage("`timestamp` is no text"));
        }
        if let Some(token) = self.timestamp {
            self.time = Time::of(token).ok_or(Rejection::NoMessage("`timestamp` is no ISO time"))?;
        }
        if self.metadata.is_some_and(|meta| is_truthy(meta) && json::kind_of(meta) != Kind::Object) {
            return Err(Rejection::NoMessage("`metadata` is no object"));
        }
        Ok(())
    }

    /// The fields that the loader drops because it does not know them.
    pub(super) fn unknown_fields(&self) -> impl Iterator<Item = Cow<'a, str>> {
        self.others.iter().map(Member::name).filter(|name| name != "ephemeral_ttl" && !SILENT.contains(&name.as_ref()))
    }

    /// The exception that this record, though taken, makes the whole load end in.
    pub(super) fn fatal(&self, deepest: usize) -> Option<&'static str> {
        if self.depth >= deepest {
            return Some("RecursionError");
        }
        if self.time == Time::Overflow {
            return Some("OverflowError");
        }
        let files = self.files.filter(|files| is_truthy(files))?;
        let hashes = self.file_hashes?;
        unusable_hashes(hashes).or_else(|| unusable_hash(files, hashes))
    }
}

/// A hash that is no text, of a file whose name has a suffix: the program
/// tries to use it as a path.
fn unusable_hash(files: &[u8], hashes: &[u8]) -> Option<&'static str> {
    if json::kind_of(hashes) != Kind::Object {
        return None;
    }
    let used_as_path = json::members(hashes).any(|member| {
        let odd = json::kind_of(member.value) != Kind::String && is_truthy(member.value);
        odd && pytext::has_suffix(&member.name())
            && pytext::iterated(files).iter().any(|file| !pytext::is_uri(file) && pytext::path_text(file) == member.name())
    });
    used_as_path.then_some("TypeError")
}

/// What Python's `dict(…)` of `file_hashes` raises, where it does.
fn unusable_hashes(hashes: &[u8]) -> Option<&'static str> {
    match json::kind_of(hashes) {
        Kind::Object => None,
        Kind::Null | Kind::True | Kind::False | Kind::Number => Some("TypeError"),
        Kind::String if hashes == b"\"\"" => None,
        Kind::String => Some("ValueError"),
        Kind::Array => json::elements(hashes).find_map(|item| match json::kind_of(item) {
            Kind::Null | Kind::True | Kind::False | Kind::Number => Some("TypeError"),
            Kind::String => (json::unescape(item).chars().count() != 2).then_some("ValueError"),
            Kind::Array => (json::elements(item).count() != 2).then_some("ValueError"),
            Kind::Object => (json::members(item).count() != 2).then_some("ValueError"),
        }),
    }
}

fn not_an_object(text: &[u8], error: json::ScanError) -> Rejection {
    match json::scan_value(text, Dialect::Python) {
        Ok(scan) if text[scan.end..].trim_ascii().is_empty() => Rejection::NoMessage("not a JSON object"),
        _ => Rejection::NotJson { at: error.at, what: error.what },
    }
}

/// Python's idea of truth.
pub(super) fn is_truthy(value: &[u8]) -> bool {
    match json::kind_of(value) {
        Kind::Null | Kind::False => false,
        Kind::True => true,
        Kind::String => value.len() > 2,
        Kind::Array => json::elements(value).next().is_some(),
        Kind::Object => json::members(value).next().is_some(),
        Kind::Number => {
            let mantissa = value.split(|b| matches!(b, b'e' | b'E')).next().unwrap_or_default();
            !mantissa.iter().all(|b| matches!(b, b'0' | b'-' | b'.'))
        }
    }
}

/// Whether metadata has its keys in the writer's usual order, and its token
/// counts where the writer has them today.
pub(super) fn metadata_is_usual(metadata: &[u8]) -> bool {
    const KEYS: [&str; 5] = ["model", "resolved_model", "served_model", "usage", "cost"];
    in_order(metadata, &KEYS, |member| match member.is("usage") && json::kind_of(member.value) == Kind::Object {
        true => in_order(member.value, &TOKENS.map(|(name, _)| name), |_| true),
        false => !TOKENS.iter().any(|(token, _)| member.is(token)),
    })
}

/// Whether the keys of an object stand in this order, and each is as it should.
fn in_order(object: &[u8], usual: &[&str], is_usual: impl Fn(&Member<'_>) -> bool) -> bool {
    let mut next = 0;
    let mut members = json::members(object);
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

/// The order of a record's keys, metadata and usage opened, for its shape.
pub(super) fn order_of(text: &[u8]) -> Order {
    keys(text, &OPENED)
}

/// Writes the same keys as they are spelt, each with how its value begins.
pub(super) fn push_keys(text: &[u8], out: &mut Vec<u8>) {
    push_opened_keys(text, &OPENED, out);
}

fn push_opened_keys(object: &[u8], opened: &[&str], out: &mut Vec<u8>) {
    for member in json::members(object) {
        out.extend_from_slice(member.key);
        out.push(json::kind_of(member.value) as u8);
        if let Some((_, inner)) = opened.split_first().filter(|(open, _)| json::kind_of(member.value) == Kind::Object && member.is(open)) {
            push_opened_keys(member.value, inner, out);
            out.push(b'}');
        }
    }
}

fn keys(object: &[u8], opened: &[&str]) -> Order {
    json::members(object)
        .map(|member| {
            let name = member.name();
            let inside = match opened.split_first() {
                Some((open, inner)) if *open == name && json::kind_of(member.value) == Kind::Object => Some(keys(member.value, inner)),
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

    #[test]
    fn truth_is_pythons() {
        for yes in ["true", "1", "\" \"", "[0]", "{\"a\":0}", "NaN", "1e-9", "0.1"] {
            assert!(is_truthy(yes.as_bytes()), "{yes}");
        }
        for no in ["false", "null", "0", "-0.0", "0e5", "\"\"", "[ ]", "{}"] {
            assert!(!is_truthy(no.as_bytes()), "{no}");
        }
    }
}
