//! One line of a transcript: what the loader accepts, and what it then shows.

use crate::json::{Kind, Member, Value};
use crate::runtimes::python::datetime::DateTime;
use crate::runtimes::python::dict::Dict;
use crate::runtimes::python::dumps::{self, Form};
use crate::runtimes::python::exception::Exception;
use crate::runtimes::python::isoparse::isoparse;
use crate::runtimes::python::loads::{Failure, loads};
use crate::runtimes::python::strings::{push_ascii, push_token_in_ascii};
use crate::runtimes::python::value::is_truthy;
use crate::runtimes::wtf8::decode;

use super::paths::references;

/// The token counts that version 0.31 kept in `metadata` itself.
const TOKEN_KEYS: [&str; 5] = ["input_tokens", "output_tokens", "cache_read_tokens", "cache_creation_tokens", "reasoning_tokens"];

/// Why a line gives no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The loader warns and goes on.
    Skipped,
    /// Nothing catches this, and the load ends here.
    Raises(Exception),
}

/// The values of a record that the program knows; of a repeated key, the last.
#[derive(Debug, Clone, Copy, Default)]
struct Fields<'a> {
    role: Option<Value<'a>>,
    content: Option<Value<'a>>,
    timestamp: Option<Value<'a>>,
    files: Option<Value<'a>>,
    file_hashes: Option<Value<'a>>,
    pinned: Option<Value<'a>>,
    hide: Option<Value<'a>>,
    ui_only: Option<Value<'a>>,
    ephemeral_ttl: Option<Value<'a>>,
    call_id: Option<Value<'a>>,
    metadata: Option<Value<'a>>,
}

impl<'a> Fields<'a> {
    fn of(members: &[Member<'a>]) -> Fields<'a> {
        let mut fields = Fields::default();
        for member in members {
            let inner = member.key().get(1..member.key().len().saturating_sub(1)).unwrap_or_default();
            let slot = if inner.contains(&b'\\') { fields.slot(&decode(member.key())) } else { fields.slot(inner) };
            if let Some(slot) = slot {
                *slot = Some(member.value());
            }
        }
        fields
    }

    fn slot(&mut self, name: &[u8]) -> Option<&mut Option<Value<'a>>> {
        Some(match name {
            b"role" => &mut self.role,
            b"content" => &mut self.content,
            b"timestamp" => &mut self.timestamp,
            b"files" => &mut self.files,
            b"file_hashes" => &mut self.file_hashes,
            b"pinned" => &mut self.pinned,
            b"hide" => &mut self.hide,
            b"ui_only" => &mut self.ui_only,
            b"ephemeral_ttl" => &mut self.ephemeral_ttl,
            b"call_id" => &mut self.call_id,
            b"metadata" => &mut self.metadata,
            // `quiet` and `terminal_display_content` are never shown again.
            _ => return None,
        })
    }
}

/// A line that the loader accepts.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    fields: Fields<'a>,
    /// Absent where the line has none: the file's own time takes its place.
    stamp: Option<DateTime>,
}

impl<'a> Message<'a> {
    /// Returns the `files` value, if it holds any.
    #[must_use]
    pub fn files(&self) -> Option<Value<'a>> {
        self.fields.files.filter(|files| is_truthy(*files))
    }

    /// Returns the `file_hashes` value.
    #[must_use]
    pub fn file_hashes(&self) -> Option<Value<'a>> {
        self.fields.file_hashes
    }

    /// Tells whether the line says when it was written.
    #[must_use]
    pub fn has_timestamp(&self) -> bool {
        self.stamp.is_some()
    }
}

/// Reads lines one after the other, with tables that are allocated once.
#[derive(Debug)]
pub struct Reader<'a> {
    too_deep: usize,
    members: Vec<Member<'a>>,
}

impl<'a> Reader<'a> {
    /// Returns a reader that raises where this many containers stand in each other.
    #[must_use]
    pub fn new(too_deep: usize) -> Reader<'a> {
        Reader { too_deep, members: Vec::new() }
    }

    /// `_message_from_json_line`, on a line without white space around it.
    ///
    /// # Errors
    /// Where the line gives no message.
    pub fn read(&mut self, line: &'a [u8]) -> Result<Message<'a>, Refusal> {
        match loads(line, self.too_deep, &mut self.members) {
            Ok(value) if value.is_object() => {}
            Err(Failure::TooDeep) => return Err(Refusal::Raises(Exception::Recursion)),
            Ok(_) | Err(Failure::Syntax(_) | Failure::LongInteger) => return Err(Refusal::Skipped),
        }
        let fields = Fields::of(&self.members);
        let is_string = |value: Option<Value<'_>>| value.is_some_and(Value::is_string);
        if !is_string(fields.role) || !is_string(fields.content) || !fields.files.is_none_or(can_be_iterated) {
            return Err(Refusal::Skipped);
        }
        let stamp = fields.timestamp.map(stamp_of).transpose()?;
        match fields.metadata {
            Some(metadata) if !metadata.is_object() && is_truthy(metadata) => Err(Refusal::Skipped),
            _ => Ok(Message { fields, stamp }),
        }
    }
}

fn can_be_iterated(value: Value<'_>) -> bool {
    match value.kind() {
        Kind::String | Kind::Object | Kind::Array => true,
        Kind::Number | Kind::True | Kind::False | Kind::Null => false,
    }
}

fn stamp_of(value: Value<'_>) -> Result<DateTime, Refusal> {
    // Whatever isoparse raises for other values, the loader catches it.
    if !value.is_string() {
        return Err(Refusal::Skipped);
    }
    let refusal = |exception| if exception == Exception::Overflow { Refusal::Raises(exception) } else { Refusal::Skipped };
    isoparse(&decode(value.text())).map_err(refusal)
}

/// Writes messages as `json.dumps(message.to_dict())` does.
#[derive(Debug, Default)]
pub struct Writer {
    dumper: dumps::Writer,
    out: Vec<u8>,
}

impl Writer {
    /// Returns the text of one message; `written` is when its file was.
    pub fn write(&mut self, message: &Message<'_>, hashes: Option<Value<'_>>, written: &DateTime) -> &[u8] {
        let fields = &message.fields;
        self.out.clear();
        self.out.extend_from_slice(b"{\"role\": ");
        push_token_in_ascii(fields.role.unwrap_or_default().text(), &mut self.out);
        self.out.extend_from_slice(b", \"content\": ");
        push_token_in_ascii(fields.content.unwrap_or_default().text(), &mut self.out);
        self.out.extend_from_slice(b", \"timestamp\": \"");
        message.stamp.as_ref().unwrap_or(written).push_isoformat(&mut self.out);
        self.out.push(b'"');
        if let Some(files) = message.files() {
            self.push_files(files);
        }
        if let Some(hashes) = hashes.filter(|hashes| is_truthy(*hashes)) {
            self.push_member("file_hashes", hashes);
        }
        for (name, value) in [("pinned", fields.pinned), ("hide", fields.hide), ("ui_only", fields.ui_only)] {
            if value.is_some_and(is_truthy) {
                self.push_member(name, Value::TRUE);
            }
        }
        if let Some(ttl) = fields.ephemeral_ttl.filter(|ttl| !ttl.is_null()) {
            self.push_member("ephemeral_ttl", ttl);
        }
        if let Some(id) = fields.call_id.filter(|id| is_truthy(*id)) {
            self.push_member("call_id", id);
        }
        if let Some(metadata) = fields.metadata.filter(|metadata| is_truthy(*metadata)) {
            self.push_metadata(metadata);
        }
        self.out.push(b'}');
        &self.out
    }

    fn push_key(&mut self, name: &str) {
        self.out.extend_from_slice(b", \"");
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\": ");
    }

    fn push_member(&mut self, name: &str, value: Value<'_>) {
        self.push_key(name);
        self.push_value(value);
    }

    fn push_value(&mut self, value: Value<'_>) {
        self.dumper.push(value, Form::Ascii, &mut self.out);
    }

    /// `_migrate_metadata`: flat token counts move into `usage`, unless that is
    /// there.
    fn push_metadata(&mut self, metadata: Value<'_>) {
        let has = |names: &[&str]| metadata.members().any(|member| names.iter().any(|name| member.is(name)));
        if !has(&TOKEN_KEYS) || has(&["usage"]) {
            return self.push_member("metadata", metadata);
        }
        let dict = Dict::of_object(metadata);
        let is_count = |key: &[u8]| TOKEN_KEYS.iter().any(|name| name.as_bytes() == key);
        self.push_key("metadata");
        self.push_entries(dict.texts().filter(|(key, _)| !is_count(key)));
        self.out.extend_from_slice(if dict.texts().all(|(key, _)| is_count(key)) { b"" } else { b", " });
        self.out.extend_from_slice(b"\"usage\": ");
        self.push_entries(dict.texts().filter(|(key, _)| is_count(key)));
        self.out.extend_from_slice(b"}}");
    }

    /// Writes the object of these entries, without its last brace.
    fn push_entries<'v>(&mut self, entries: impl Iterator<Item = (&'v [u8], Value<'v>)>) {
        self.out.push(b'{');
        for (at, (key, value)) in entries.enumerate() {
            self.out.extend_from_slice(if at == 0 { b"" } else { b", " });
            push_ascii(key, &mut self.out);
            self.out.extend_from_slice(b": ");
            self.push_value(value);
        }
    }

    fn push_files(&mut self, files: Value<'_>) {
        self.push_key("files");
        self.out.push(b'[');
        for (at, reference) in references(files).iter().enumerate() {
            self.out.extend_from_slice(if at == 0 { b"" } else { b", " });
            push_ascii(reference.text(), &mut self.out);
        }
        self.out.push(b']');
    }
}
