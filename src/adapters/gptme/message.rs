//! A message record to its normalised payload. What has no canonical place, or
//! is not in the usual form, is kept in `ext` as it was.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::adapters::kit::mapping::has_a_name_twice;
use crate::adapters::kit::words::COMMON_ROLES;
use crate::json::{self, Escapes, Kind, Member, Value};
use crate::model::shape::Shapes;
use crate::runtimes::python::value::is_truthy;

use super::files;
use super::wire::{self, Record, TOKENS, Time};

/// The `ext` key that names fields which the canonical form has and the record
/// has not. No field of gptme begins with `$`.
pub(super) const ABSENT: &str = "$absent";

/// A record in its normal form.
#[derive(Debug, Default)]
pub(super) struct Normal {
    /// The payload without its closing brace and shape, so that two records
    /// which differ only in key order are the same message.
    pub payload: Vec<u8>,
    /// The time for the envelope; empty where the file's own is to be taken.
    pub ts: String,
}

impl Normal {
    /// Completes the payload, with the number of its shape.
    pub(super) fn finish(&mut self, shape: usize) {
        if shape > 0 {
            self.payload.extend_from_slice(format!(",\"shape\":{shape}").as_bytes());
        }
        self.payload.push(b'}');
    }
}

/// Normalises a record that was written with these escapes. `file_time` stands
/// in where the record has no time of its own.
pub(super) fn normalise(record: &Record<'_>, writer: Escapes, file_time: &str, normal: &mut Normal) {
    normal.payload.clear();
    normal.ts.clear();
    let mut ext = Ext::default();
    set_time(record, file_time, &mut normal.ts, &mut ext, writer);
    let out = &mut normal.payload;
    push_role(record.role, writer, out);
    push_content(record, writer, out, &mut ext);
    let metadata = Metadata::of(record.metadata);
    if let Some(model) = metadata.model {
        out.extend_from_slice(b",\"model\":");
        json::push_carried_string(model, writer, out);
    }
    metadata.push_usage(out);
    if record.pinned.is_some_and(is_truthy) {
        out.extend_from_slice(b",\"pinned\":true");
    }
    push_hidden(record, out);
    for (key, value) in [("pinned", record.pinned), ("hide", record.hide), ("ui_only", record.ui_only)] {
        if let Some(value) = value.filter(|value| value.kind() != Kind::True) {
            ext.carried(key, value, writer);
        }
    }
    for member in &record.others {
        ext.member(member, writer);
    }
    metadata.push_rest(&mut ext, writer);
    ext.finish(out);
}

/// Writes the role in the log's words, and the record's own beside it where it is
/// another.
fn push_role(role: Value<'_>, writer: Escapes, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"role\":");
    let is_common = matches!(role.text(), b"\"user\"" | b"\"assistant\"" | b"\"system\"" | b"\"tool\"");
    if is_common {
        return out.extend_from_slice(role.text());
    }
    let (word, _) = COMMON_ROLES.translate(role.text());
    out.extend_from_slice(word);
    out.extend_from_slice(b",\"source_role\":");
    json::push_carried_string(role, writer, out);
}

/// The shape of the last record that was in an unusual one: where keys and the
/// kinds of their values are the same, so is the shape.
#[derive(Debug, Default)]
pub(super) struct LastShape {
    keys: Vec<u8>,
    number: usize,
}

impl LastShape {
    /// Returns the number of the shape that renders this record, a new one if need be.
    pub(super) fn of(&mut self, record: &Record<'_>, shapes: &mut Shapes) -> Option<usize> {
        let usual_metadata = record.metadata.is_none_or(|meta| !meta.is_object() || wire::metadata_is_usual(meta));
        if !record.unusual_order && usual_metadata {
            return Some(0);
        }
        let mut keys = Vec::with_capacity(self.keys.len());
        wire::push_keys(record.value, &mut keys);
        if keys != self.keys {
            // What has no shape now may have one later.
            let number = shape_of(record, shapes)?;
            *self = LastShape { keys, number };
        }
        Some(self.number)
    }
}

fn shape_of(record: &Record<'_>, shapes: &mut Shapes) -> Option<usize> {
    let order = wire::order_of(record.value);
    let metadata = Metadata::of(record.metadata);
    let flat: Vec<&str> = match metadata.flat {
        true => TOKENS.iter().zip(metadata.tokens).filter(|(_, value)| value.is_some()).map(|((token, _), _)| *token).collect(),
        false => Vec::new(),
    };
    // Only an order that lists these counts in the metadata itself puts them
    // there, and one that lists any puts all there.
    shapes.number_for(&order, |shape| {
        let inside = shape.keys().find(|(key, _)| *key == "metadata").and_then(|(_, inside)| inside);
        let lists = |token: &str| inside.is_some_and(|meta| meta.contains(token));
        let lists_any = TOKENS.iter().any(|(token, _)| lists(token));
        record.metadata.is_none() || (lists_any != flat.is_empty() && flat.iter().all(|token| lists(token)))
    })
}

fn set_time(record: &Record<'_>, file_time: &str, ts: &mut String, ext: &mut Ext, writer: Escapes) {
    match record.time {
        Time::Log(time) => ts.push_str(time),
        Time::Other(stamp) => ts.push_str(&stamp.isoformat()),
        Time::Absent => {
            ts.push_str(file_time);
            ext.raw(ABSENT, b"[\"timestamp\"]");
        }
        Time::Overflow => {}
    }
    if let (Some(token), Time::Other(_) | Time::Overflow) = (record.timestamp, record.time) {
        ext.carried("timestamp", token, writer);
    }
}

fn push_content(record: &Record<'_>, writer: Escapes, out: &mut Vec<u8>, ext: &mut Ext) {
    out.extend_from_slice(b",\"content\":[");
    // The result of a tool call is a system message that names the call.
    let call_id = record.call_id.filter(|id| id.is_string() && is_truthy(*id) && record.role.text() == b"\"system\"");
    match call_id {
        Some(id) => {
            out.extend_from_slice(b"{\"type\":\"tool_result\",\"call_id\":");
            json::push_carried_string(id, writer, out);
            out.extend_from_slice(b",\"content\":[{\"type\":\"text\",\"text\":");
            json::push_carried_string(record.content, writer, out);
            out.extend_from_slice(b"}]}");
        }
        None => {
            out.extend_from_slice(b"{\"type\":\"text\",\"text\":");
            json::push_carried_string(record.content, writer, out);
            out.push(b'}');
            if let Some(id) = record.call_id {
                ext.carried("call_id", id, writer);
            }
        }
    }
    push_files(record, writer, out, ext);
    out.push(b']');
}

fn push_files(record: &Record<'_>, writer: Escapes, out: &mut Vec<u8>, ext: &mut Ext) {
    let listed: Vec<Value<'_>> = match record.files {
        Some(files) if files.is_array() => files.elements().collect(),
        _ => Vec::new(),
    };
    let plain = !listed.is_empty() && listed.iter().all(|item| item.is_string());
    if let Some(files) = record.files.filter(|_| !plain) {
        ext.carried("files", files, writer);
    }
    let hashes = record.file_hashes.filter(|_| plain).and_then(|hashes| hashes_in_order(hashes, &listed));
    if let Some(carried) = record.file_hashes.filter(|_| hashes.is_none()) {
        ext.carried("file_hashes", carried, writer);
    }
    if plain {
        for (n, token) in listed.iter().enumerate() {
            let key: &[u8] = if files::is_uri(&token.to_str()) { b"uri" } else { b"path" };
            out.extend_from_slice(b",{\"type\":\"file\",\"");
            out.extend_from_slice(key);
            out.extend_from_slice(b"\":");
            json::push_carried_string(*token, writer, out);
            if let Some(hash) = hashes.as_ref().and_then(|hashes| hashes[n]) {
                out.extend_from_slice(b",\"hash\":");
                json::push_carried_string(hash, writer, out);
            }
            out.push(b'}');
        }
        return;
    }
    // In another form: what the loader makes of it is the fact, and `ext`
    // holds how it was written.
    for path in record.files.map(files::iterated_tokens).unwrap_or_default() {
        let path = Value::trusted(&path);
        let is_uri = files::is_uri(&path.to_str());
        out.extend_from_slice(if is_uri { b",{\"type\":\"file\",\"uri\":" } else { b",{\"type\":\"file\",\"path\":" });
        json::push_carried_string(path, Escapes::Utf8, out);
        out.push(b'}');
    }
}

/// For each listed file its hash, where the keys are a subsequence of the
/// paths and the values texts.
fn hashes_in_order<'a>(hashes: Value<'a>, listed: &[Value<'_>]) -> Option<Vec<Option<Value<'a>>>> {
    if !hashes.is_object() {
        return None;
    }
    let mut found = vec![None; listed.len()];
    let mut next = 0;
    for member in hashes.members() {
        let at = next + listed[next..].iter().position(|token| token.text() == member.key())?;
        let value = member.value();
        if !value.is_string() {
            return None;
        }
        found[at] = Some(value);
        next = at + 1;
    }
    (next > 0).then_some(found)
}

fn push_hidden(record: &Record<'_>, out: &mut Vec<u8>) {
    let from = [
        (record.is_salvaged, "\"loader\""),
        (record.hide.is_some_and(is_truthy), "\"display\""),
        (record.ui_only.is_some_and(is_truthy), "\"model\""),
    ];
    let from: Vec<&str> = from.iter().filter(|(is, _)| *is).map(|(_, who)| *who).collect();
    if from.is_empty() {
        return;
    }
    out.extend_from_slice(b",\"hidden\":{\"from\":[");
    out.extend_from_slice(from.join(",").as_bytes());
    out.push(b']');
    if record.is_salvaged {
        out.extend_from_slice(b",\"why\":\"salvaged from a broken line\"");
    }
    out.push(b'}');
}

/// The parts of `metadata` that have a canonical place, and those that have not.
#[derive(Default)]
struct Metadata<'a> {
    model: Option<Value<'a>>,
    cost: Option<Value<'a>>,
    tokens: [Option<Value<'a>>; TOKENS.len()],
    rest: Vec<Member<'a>>,
    /// Unknown counts of `usage`.
    usage_rest: Vec<Member<'a>>,
    usage_opened: bool,
    /// Carried as it is: not an object, or one without members.
    whole: Option<Value<'a>>,
    /// Token counts stand in the metadata itself, as 0.31 wrote them.
    flat: bool,
}

impl<'a> Metadata<'a> {
    fn of(metadata: Option<Value<'a>>) -> Metadata<'a> {
        let Some(text) = metadata else { return Metadata::default() };
        if !text.is_object() || !is_truthy(text) {
            return Metadata { whole: Some(text), ..Metadata::default() };
        }
        let members = last_of_each(text);
        let has_usage = members.iter().any(|member| member.name() == "usage");
        let mut parts = Metadata::default();
        for member in members {
            let is_number = member.value().is_number();
            let name = member.name();
            match name.as_ref() {
                "model" if member.value().is_string() => parts.model = Some(member.value()),
                "cost" if is_number => parts.cost = Some(member.value()),
                "usage" if member.value().is_object() && is_truthy(member.value()) => parts.open_usage(member.value()),
                _ => match TOKENS.iter().position(|(token, _)| *token == name) {
                    Some(at) if is_number && !has_usage => {
                        parts.flat = true;
                        parts.tokens[at] = Some(member.value());
                    }
                    _ => parts.rest.push(member),
                },
            }
        }
        // An object with this key is carried as a whole: member by member it would
        // be taken for a value that the log carries as text.
        if parts.rest.iter().chain(&parts.usage_rest).any(|member| member.is(json::RAW_KEY)) {
            return Metadata { whole: Some(text), ..Metadata::default() };
        }
        parts
    }

    fn open_usage(&mut self, usage: Value<'a>) {
        self.usage_opened = true;
        for member in last_of_each(usage) {
            match TOKENS.iter().position(|(token, _)| member.is(token)) {
                Some(at) if member.value().is_number() => self.tokens[at] = Some(member.value()),
                _ => self.usage_rest.push(member),
            }
        }
    }

    fn push_usage(&self, out: &mut Vec<u8>) {
        let counts = TOKENS.iter().zip(self.tokens).filter_map(|((_, ours), value)| value.map(|value| (*ours, value)));
        let mut separator: &[u8] = b",\"usage\":{\"";
        for (name, value) in counts.chain(self.cost.map(|cost| ("cost", cost))) {
            out.extend_from_slice(separator);
            out.extend_from_slice(name.as_bytes());
            out.extend_from_slice(b"\":");
            json::push_carried_value(value, Escapes::Ascii, out);
            separator = b",\"";
        }
        if separator.len() == 2 {
            out.push(b'}');
        }
    }

    fn push_rest(&self, ext: &mut Ext, writer: Escapes) {
        if let Some(whole) = self.whole {
            return ext.carried("metadata", whole, writer);
        }
        let mut rest = Ext::default();
        for member in &self.rest {
            rest.member(member, writer);
        }
        if self.usage_opened && (!self.usage_rest.is_empty() || self.tokens.iter().all(Option::is_none)) {
            let mut usage = Ext::default();
            for member in &self.usage_rest {
                usage.member(member, writer);
            }
            rest.raw("usage", &usage.into_object());
        }
        if !rest.is_empty() {
            ext.raw("metadata", &rest.into_object());
        }
    }
}

/// Returns the members of metadata or usage. Of a key that has a canonical place only
/// the last counts, as in Python; a place holds one value, and the record's
/// bytes keep the others. Every other key is carried as often as it stands.
fn last_of_each(object: Value<'_>) -> Vec<Member<'_>> {
    let members = object.all_members();
    if !has_a_name_twice(&members) {
        return members;
    }
    let has_place = |name: &str| matches!(name, "model" | "cost" | "usage") || TOKENS.iter().any(|(token, _)| *token == name);
    let last: HashMap<Cow<'_, str>, usize> = members.iter().enumerate().map(|(n, member)| (member.name(), n)).collect();
    let counts = |n: usize, name: &str| !has_place(name) || last[name] == n;
    members.iter().enumerate().filter(|(n, member)| counts(*n, &member.name())).map(|(_, member)| *member).collect()
}

/// Members of an object under construction, in log form.
#[derive(Default)]
struct Ext(Vec<u8>);

impl Ext {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn key(&mut self, key: &str) {
        self.0.push(if self.0.is_empty() { b'{' } else { b',' });
        json::push_string(key, &mut self.0);
        self.0.push(b':');
    }

    fn raw(&mut self, key: &str, value: &[u8]) {
        self.key(key);
        self.0.extend_from_slice(value);
    }

    fn carried(&mut self, key: &str, value: Value<'_>, writer: Escapes) {
        self.key(key);
        json::push_carried_value(value, writer, &mut self.0);
    }

    fn member(&mut self, member: &Member<'_>, writer: Escapes) {
        // A key with a lone surrogate cannot be carried; it is kept readable
        // here, and the record's bytes as a residual.
        self.carried(&member.name(), member.value(), writer);
    }

    fn into_object(mut self) -> Vec<u8> {
        if self.0.is_empty() {
            self.0.push(b'{');
        }
        self.0.push(b'}');
        self.0
    }

    fn finish(self, out: &mut Vec<u8>) {
        if !self.is_empty() {
            out.extend_from_slice(b",\"ext\":");
            out.extend_from_slice(&self.into_object());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shape_of_the_record_before_counts_only_for_the_same_keys_and_kinds() {
        let metadata = |inside: &str| format!(r#"{{"content": "x", "role": "user", "metadata": {{{inside}}}}}"#);
        let records = [
            r#"{"content": "x", "role": "user"}"#.to_owned(),
            r#"{"content": "y", "role": "system"}"#.to_owned(),
            r#"{"content": "x", "timestamp": "2026-01-01T00:00:00", "role": "user"}"#.to_owned(),
            metadata(r#""input_tokens": 1"#),
            metadata(r#""input_tokens": "1""#),
            metadata(r#""input_tokens": 2, "model": "m""#),
            metadata(r#""usage": {"output_tokens": 1, "input_tokens": 2}"#),
            metadata(r#""usage": {"output_tokens": 1}, "input_tokens": 2"#),
            metadata(r#""usage": "output_tokens""#),
            r#"{"role": "user", "content": "usual"}"#.to_owned(),
        ];
        let (mut shapes, mut again) = (Shapes::new(wire::usual_order()), Shapes::new(wire::usual_order()));
        let mut last = LastShape::default();
        let mut numbers = std::collections::BTreeSet::new();
        // In every order of two, and each twice.
        for (one, other) in records.iter().flat_map(|one| records.iter().map(move |other| (one, other))) {
            for text in [one, one, other] {
                let mut spare = Vec::new();
                let record = Record::parse(text.as_bytes(), &mut spare).ok().unwrap();
                let fresh = LastShape::default().of(&record, &mut again);
                assert_eq!(last.of(&record, &mut shapes), fresh, "{text}");
                numbers.insert(fresh);
            }
        }
        assert!(numbers.len() > 3, "{numbers:?}");
    }
}
