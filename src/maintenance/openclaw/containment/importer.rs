//! What the import of OpenClaw's database does to a line besides printing it again. An
//! entry is compared as a value: the order of its own keys, of its message's and of
//! the metadata's aside, which is as deep as any rule reaches.

use std::collections::BTreeMap;

use crate::runtimes::javascript::{Type, Value, push_string, stringify};

use crate::maintenance::records::{Importer, Rewriting};

/// The keys that a linear file of version 1 gets, or loses, on import.
const DERIVED_KEYS: [&str; 4] = ["id", "parentId", "firstKeptEntryId", "firstKeptEntryIndex"];

/// The version that the import brings every file to.
const CURRENT_VERSION: f64 = 3.0;

/// The version of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// Lines without ids, in their order.
    Linear,
    /// A tree with an older role.
    Second,
    /// As the import leaves it.
    Current,
    /// There is no header that says it.
    Unknown,
}

impl Version {
    /// Reads the version of a file from its first header.
    pub(super) fn of(records: impl Iterator<Item = impl AsRef<[u8]>>) -> Version {
        for record in records {
            let Some(header) = Value::parse(record.as_ref()).filter(|value| value.get("type").is("session")) else { continue };
            return match header.get("version").number() {
                Some(version) if version >= CURRENT_VERSION => Version::Current,
                Some(version) if version >= 2.0 => Version::Second,
                Some(_) | None => Version::Linear,
            };
        }
        Version::Unknown
    }
}

/// The import of one file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Import<'s> {
    /// The session that the file is of.
    pub session: &'s str,
    /// The version of the file.
    pub version: Version,
}

impl Importer for Import<'_> {
    fn rewritten(&self, record: &[u8]) -> Vec<Rewriting> {
        let Some(entry) = Entry::of(record) else { return Vec::new() };
        let mut rules = Vec::new();
        let mut all = Vec::new();
        let is_derived = match self.version {
            Version::Linear => true,
            Version::Unknown => !entry.top.contains_key(&b"id"[..]),
            Version::Second | Version::Current => false,
        };
        let compared = if is_derived { Compared::WithoutDerived } else { Compared::Whole };
        let entry = if entry.is_header() {
            self.header(entry, &mut rules)
        } else {
            if is_derived {
                rules.push("v1-ids");
            }
            let is_older = matches!(self.version, Version::Linear | Version::Second);
            message(entry, if is_older { Roles::Older } else { Roles::Current }, &mut rules)
        };
        for media in media(&entry) {
            let mut rules = rules.clone();
            let entry = match media {
                Some(message) => {
                    rules.push("media-fields");
                    Entry { message: Some(message), top: entry.top.clone() }
                }
                None => entry.clone(),
            };
            for provider in provider(&entry) {
                let mut rules = rules.clone();
                let form = match provider {
                    Some(top) => {
                        rules.push("codex-provider");
                        Entry { top, message: entry.message.clone() }.form(compared)
                    }
                    None => entry.form(compared),
                };
                rules.sort_unstable();
                rules.dedup();
                if rules.is_empty() {
                    rules.push("key-order");
                }
                all.push(Rewriting { form, rules });
            }
        }
        all
    }

    fn forms(&self, row: &[u8]) -> Vec<Vec<u8>> {
        let Some(entry) = Entry::of(row) else { return Vec::new() };
        match self.version {
            Version::Linear => vec![entry.form(Compared::WithoutDerived)],
            Version::Unknown => vec![entry.form(Compared::Whole), entry.form(Compared::WithoutDerived)],
            Version::Second | Version::Current => vec![entry.form(Compared::Whole)],
        }
    }

    fn id(&self, text: &[u8]) -> Option<Vec<u8>> {
        let id = Value::parse(text)?.get("id").text().map(|id| id.into_owned());
        id.filter(|id| !id.is_empty())
    }

    fn differing(&self, record: &[u8], row: &[u8]) -> Vec<String> {
        let (Some(record), Some(row)) = (Entry::of(record), Entry::of(row)) else { return vec!["the whole value".to_owned()] };
        let mut differing = differing(&record.top, &row.top, "");
        match (&record.message, &row.message) {
            (Some(one), Some(other)) => differing.extend(self::differing(one, other, "message.")),
            (None, None) => {}
            (Some(_), None) | (None, Some(_)) => differing.push("message".to_owned()),
        }
        differing.dedup();
        differing
    }
}

impl Import<'_> {
    /// Gives a header the id of its session, and the current version.
    fn header(&self, mut entry: Entry, rules: &mut Vec<&'static str>) -> Entry {
        let id = printed(self.session);
        let before = entry.top.clone();
        entry.top.insert(b"id".to_vec(), id);
        entry.top.remove(&b"sessionId"[..]);
        for required in ["timestamp", "cwd"] {
            entry.top.entry(required.as_bytes().to_vec()).or_insert_with(|| b"\"\"".to_vec());
        }
        if entry.top != before {
            rules.push("header-id");
        }
        if matches!(self.version, Version::Linear | Version::Second) {
            entry.top.insert(b"version".to_vec(), b"3".to_vec());
            rules.push("version");
        }
        entry
    }
}

/// Members by their names, each value as JavaScript prints it.
type Fields = BTreeMap<Vec<u8>, Vec<u8>>;

/// An entry of a transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    /// Its members, except a message that is an object.
    top: Fields,
    message: Option<Fields>,
}

/// What of an entry is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compared {
    Whole,
    /// All but the ids that the import derives from the path of the file.
    WithoutDerived,
}

/// Which roles messages may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Roles {
    Current,
    /// Those of files before version 3.
    Older,
}

impl Entry {
    fn of(text: &[u8]) -> Option<Entry> {
        let value = Value::parse(text).filter(|value| value.type_of() == Type::Object)?;
        let mut top = fields(value);
        let message = value.get("message");
        let message = (message.type_of() == Type::Object).then(|| fields(message));
        if message.is_some() {
            top.remove(&b"message"[..]);
        }
        Some(Entry { top, message })
    }

    fn is_header(&self) -> bool {
        self.top.get(&b"type"[..]).is_some_and(|kind| kind == b"\"session\"")
    }

    /// Returns a text that is equal for entries of equal values.
    fn form(&self, compared: Compared) -> Vec<u8> {
        let mut out = match compared {
            Compared::Whole => b"entry".to_vec(),
            Compared::WithoutDerived => b"linear entry".to_vec(),
        };
        let is_compared = |name: &[u8]| compared == Compared::Whole || !DERIVED_KEYS.iter().any(|key| key.as_bytes() == name);
        push_fields(self.top.iter().filter(|(name, _)| is_compared(name)), &mut out);
        if let Some(message) = &self.message {
            push_fields(message.iter(), &mut out);
        }
        out
    }
}

fn push_fields<'f>(fields: impl Iterator<Item = (&'f Vec<u8>, &'f Vec<u8>)>, out: &mut Vec<u8>) {
    out.push(b'{');
    for (name, value) in fields {
        push_string(name, out);
        out.push(b':');
        let metadata = Value::accepted(value.as_slice());
        match name.as_slice() {
            METADATA if metadata.type_of() == Type::Object => push_fields(self::fields(metadata).iter(), out),
            _ => out.extend_from_slice(value),
        }
        out.push(b',');
    }
    out.push(b'}');
}

fn fields(value: Value<'_>) -> Fields {
    value.properties().into_iter().map(|(name, value)| (name.into_owned(), stringify(value.token()))).collect()
}

fn printed(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    push_string(text.as_bytes(), &mut out);
    out
}

/// Returns the names of the fields that differ, or that only one of two objects has.
fn differing(one: &Fields, other: &Fields, prefix: &str) -> Vec<String> {
    let only_other = other.keys().filter(|name| !one.contains_key(*name));
    let names = one.iter().filter(|(name, value)| other.get(*name) != Some(value)).map(|(name, _)| name).chain(only_other);
    names.map(|name| format!("{prefix}{}", String::from_utf8_lossy(name))).collect()
}

/// Applies the rules for messages: an older role, content that is not a list, and the
/// names of a provider and its interface.
fn message(mut entry: Entry, roles: Roles, rules: &mut Vec<&'static str>) -> Entry {
    let Some(message) = &mut entry.message else { return entry };
    let is = |message: &Fields, name: &str, text: &[u8]| message.get(name.as_bytes()).is_some_and(|value| value == text);
    if roles == Roles::Older && is(message, "role", b"\"hookMessage\"") {
        message.insert(b"role".to_vec(), b"\"custom\"".to_vec());
        rules.push("hookMessage");
    }
    let is_result = is(message, "role", b"\"toolResult\"");
    if (is_result || is(message, "role", b"\"assistant\""))
        && let Some(content) = message.get_mut(&b"content"[..])
    {
        match content.first() {
            Some(b'"') => {
                *content = [b"[{\"type\":\"text\",\"text\":", content.as_slice(), b"}]"].concat();
                rules.push("content-string-to-parts");
            }
            Some(b'{') if is_result => {
                *content = [b"[", content.as_slice(), b"]"].concat();
                rules.push("content-object-to-parts");
            }
            _ => {}
        }
    }
    if is(message, "provider", CODEX) {
        message.insert(b"provider".to_vec(), OPENAI.to_vec());
        rules.push("codex-provider");
    }
    if is(message, "api", b"\"openai-codex-responses\"") {
        message.insert(b"api".to_vec(), b"\"openai-chatgpt-responses\"".to_vec());
        rules.push("codex-api");
    }
    entry
}

const CODEX: &[u8] = b"\"openai-codex\"";
const OPENAI: &[u8] = b"\"openai\"";

/// An entry may name a provider itself. The rule is known for messages, so that both
/// names are looked for.
fn provider(entry: &Entry) -> Vec<Option<Fields>> {
    let mut ways = vec![None];
    if entry.top.get(&b"provider"[..]).is_some_and(|provider| provider == CODEX) {
        let mut top = entry.top.clone();
        top.insert(b"provider".to_vec(), OPENAI.to_vec());
        ways.push(Some(top));
    }
    ways
}

/// Where messages keep what belongs to the program.
const METADATA: &[u8] = b"__openclaw";

/// The fields of a message with attachments that one list replaces.
const MEDIA: [&str; 4] = ["MediaPath", "MediaPaths", "MediaType", "MediaTypes"];

/// Returns a user's message with its attachments in the metadata. Fields besides the known
/// four may be dropped with them, and a path may get the type of the first one where
/// it has none by its place: all of these ways are looked for.
fn media(entry: &Entry) -> Vec<Option<Fields>> {
    let Some(message) = entry.message.as_ref().filter(|message| message.get(&b"role"[..]).is_some_and(|role| role == b"\"user\"")) else {
        return vec![None];
    };
    let get = |name: &str| message.get(name.as_bytes()).map_or(Value::UNDEFINED, |value| Value::accepted(value.as_slice()));
    let list = |name: &str| -> Vec<Value<'_>> {
        let value = get(name);
        if value.type_of() != Type::Array {
            return Vec::new();
        }
        value.value().map(|array| array.elements().map(Value::accepted).collect()).unwrap_or_default()
    };
    let mut paths = list("MediaPaths");
    if paths.is_empty() && get("MediaPath").type_of() == Type::String {
        paths = vec![get("MediaPath")];
    }
    if paths.is_empty() {
        return vec![None];
    }
    let (types, first) = (list("MediaTypes"), get("MediaType"));
    let entries = |missing: Value<'_>| {
        let one = |(n, path): (usize, &Value<'_>)| {
            let given = types.get(n).copied().filter(|kind| !kind.is_nullish());
            // A lone path has its type beside it, not in a list.
            let kind = given.or_else(|| (n == 0).then_some(first)).filter(|kind| !kind.is_nullish()).unwrap_or(missing);
            let kind = kind.defined().map(|kind| [b",\"contentType\":", kind].concat()).unwrap_or_default();
            [b"{\"path\":", path.token(), &kind, b"}"].concat()
        };
        let all: Vec<Vec<u8>> = paths.iter().enumerate().map(one).collect();
        [b"[", all.join(&b","[..]).as_slice(), b"]"].concat()
    };
    let mut ways = Vec::new();
    for media in [entries(Value::UNDEFINED), entries(first)] {
        for is_dropped in [is_media as fn(&str) -> bool, |name| name.starts_with("Media")] {
            let mut message = message.clone();
            message.retain(|name, _| !std::str::from_utf8(name).is_ok_and(is_dropped));
            let mut metadata = match get("__openclaw") {
                object if object.type_of() == Type::Object => fields(object),
                _ => Fields::new(),
            };
            metadata.insert(b"media".to_vec(), media.clone());
            message.insert(METADATA.to_vec(), object(&metadata));
            if !ways.contains(&Some(message.clone())) {
                ways.push(Some(message));
            }
        }
    }
    ways.push(None);
    ways
}

fn is_media(name: &str) -> bool {
    MEDIA.contains(&name)
}

fn object(fields: &Fields) -> Vec<u8> {
    let mut out = b"{".to_vec();
    for (name, value) in fields {
        if out.len() > 1 {
            out.push(b',');
        }
        push_string(name, &mut out);
        out.push(b':');
        out.extend_from_slice(value);
    }
    out.push(b'}');
    out
}
