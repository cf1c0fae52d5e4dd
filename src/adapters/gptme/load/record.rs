//! One line of a transcript: what the loader accepts, and what it then shows.

use crate::model::json::{Kind, Member, kind_of};

use super::attachments::Hashes;
use super::dump::{Dumper, Shape};
use super::exception::Exception;
use super::isoparse::{Stamp, Trouble, isoparse};
use super::parse::Parser;
use super::paths::references;
use super::text::{decode, push_json, push_token};
use super::token::Failure;
use super::value::is_truthy;

/// Why a line gives no message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The loader warns and goes on.
    Skipped,
    /// Nothing catches this, and the load is over.
    Raises(Exception),
}

/// The values of a record that the program knows; of a repeated key, the last.
#[derive(Debug, Clone, Copy, Default)]
struct Fields<'a> {
    role: Option<&'a [u8]>,
    content: Option<&'a [u8]>,
    timestamp: Option<&'a [u8]>,
    files: Option<&'a [u8]>,
    file_hashes: Option<&'a [u8]>,
    pinned: Option<&'a [u8]>,
    hide: Option<&'a [u8]>,
    ui_only: Option<&'a [u8]>,
    ephemeral_ttl: Option<&'a [u8]>,
    call_id: Option<&'a [u8]>,
    metadata: Option<&'a [u8]>,
}

impl<'a> Fields<'a> {
    fn of(members: &[Member<'a>]) -> Fields<'a> {
        let mut fields = Fields::default();
        for member in members {
            let inner = member.key.get(1..member.key.len().saturating_sub(1)).unwrap_or_default();
            let slot = if inner.contains(&b'\\') { fields.slot(&decode(member.key)) } else { fields.slot(inner) };
            if let Some(slot) = slot {
                *slot = Some(member.value);
            }
        }
        fields
    }

    fn slot(&mut self, name: &[u8]) -> Option<&mut Option<&'a [u8]>> {
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
    stamp: Option<Stamp>,
}

impl<'a> Message<'a> {
    /// The `files` value, if it holds any.
    #[must_use]
    pub fn files(&self) -> Option<&'a [u8]> {
        self.fields.files.filter(|files| is_truthy(files))
    }

    /// The `file_hashes` value.
    #[must_use]
    pub fn file_hashes(&self) -> Option<&'a [u8]> {
        self.fields.file_hashes
    }

    /// Whether the line says when it was written.
    #[must_use]
    pub fn has_timestamp(&self) -> bool {
        self.stamp.is_some()
    }
}

/// Reads lines one after the other, with tables that are allocated once.
#[derive(Debug)]
pub struct Reader<'a> {
    parser: Parser,
    members: Vec<Member<'a>>,
}

impl<'a> Reader<'a> {
    /// A reader that raises where this many containers stand in each other.
    #[must_use]
    pub fn new(too_deep: usize) -> Reader<'a> {
        Reader { parser: Parser::new(too_deep), members: Vec::new() }
    }

    /// `_message_from_json_line`, on a line without white space around it.
    ///
    /// # Errors
    /// Where the line gives no message.
    pub fn read(&mut self, line: &'a [u8]) -> Result<Message<'a>, Refusal> {
        match self.parser.whole(line, &mut self.members) {
            Ok(Kind::Object) => {}
            Ok(Kind::String | Kind::Number | Kind::Array | Kind::True | Kind::False | Kind::Null) => return Err(Refusal::Skipped),
            Err(Failure::TooDeep) => return Err(Refusal::Raises(Exception::Recursion)),
            Err(Failure::Syntax | Failure::LongInteger) => return Err(Refusal::Skipped),
        }
        let fields = Fields::of(&self.members);
        let is_string = |value: Option<&[u8]>| value.is_some_and(|value| kind_of(value) == Kind::String);
        if !is_string(fields.role) || !is_string(fields.content) || !fields.files.is_none_or(can_be_iterated) {
            return Err(Refusal::Skipped);
        }
        let stamp = fields.timestamp.map(stamp_of).transpose()?;
        match fields.metadata {
            Some(metadata) if kind_of(metadata) != Kind::Object && is_truthy(metadata) => Err(Refusal::Skipped),
            _ => Ok(Message { fields, stamp }),
        }
    }
}

fn can_be_iterated(value: &[u8]) -> bool {
    match kind_of(value) {
        Kind::String | Kind::Object | Kind::Array => true,
        Kind::Number | Kind::True | Kind::False | Kind::Null => false,
    }
}

fn stamp_of(value: &[u8]) -> Result<Stamp, Refusal> {
    // Whatever isoparse raises for other values, the loader catches it.
    if kind_of(value) != Kind::String {
        return Err(Refusal::Skipped);
    }
    let inner = value.get(1..value.len().saturating_sub(1)).unwrap_or_default();
    let stamp = if inner.contains(&b'\\') { isoparse(&decode(value)) } else { isoparse(inner) };
    stamp.map_err(|trouble| match trouble {
        Trouble::Value => Refusal::Skipped,
        Trouble::Overflow => Refusal::Raises(Exception::Overflow),
    })
}

/// Writes messages as `json.dumps(message.to_dict())` does.
#[derive(Debug, Default)]
pub struct Writer {
    dumper: Dumper,
    out: Vec<u8>,
}

impl Writer {
    /// The text of one message; `written` is when its file was.
    pub fn write(&mut self, message: &Message<'_>, hashes: &Hashes<'_>, written: &Stamp) -> &[u8] {
        let fields = &message.fields;
        self.out.clear();
        self.out.extend_from_slice(b"{\"role\": ");
        push_token(fields.role.unwrap_or_default(), &mut self.out);
        self.out.extend_from_slice(b", \"content\": ");
        push_token(fields.content.unwrap_or_default(), &mut self.out);
        self.out.extend_from_slice(b", \"timestamp\": \"");
        message.stamp.as_ref().unwrap_or(written).push_isoformat(&mut self.out);
        self.out.push(b'"');
        if let Some(files) = message.files() {
            self.push_files(files);
        }
        if let Some(hashes) = hashes.value().filter(|hashes| is_truthy(hashes)) {
            self.push_member("file_hashes", hashes, Shape::Plain);
        }
        for (name, value) in [("pinned", fields.pinned), ("hide", fields.hide), ("ui_only", fields.ui_only)] {
            if value.is_some_and(is_truthy) {
                self.push_member(name, b"true", Shape::Plain);
            }
        }
        if let Some(ttl) = fields.ephemeral_ttl.filter(|ttl| kind_of(ttl) != Kind::Null) {
            self.push_member("ephemeral_ttl", ttl, Shape::Plain);
        }
        for (name, value, shape) in [("call_id", fields.call_id, Shape::Plain), ("metadata", fields.metadata, Shape::Metadata)] {
            if let Some(value) = value.filter(|value| is_truthy(value)) {
                self.push_member(name, value, shape);
            }
        }
        self.out.push(b'}');
        &self.out
    }

    fn push_key(&mut self, name: &str) {
        self.out.extend_from_slice(b", \"");
        self.out.extend_from_slice(name.as_bytes());
        self.out.extend_from_slice(b"\": ");
    }

    fn push_member(&mut self, name: &str, value: &[u8], shape: Shape) {
        self.push_key(name);
        self.dumper.push(value, shape, &mut self.out);
    }

    fn push_files(&mut self, files: &[u8]) {
        self.push_key("files");
        self.out.push(b'[');
        for (at, reference) in references(files).iter().enumerate() {
            self.out.extend_from_slice(if at == 0 { b"" } else { b", " });
            push_json(reference.text(), &mut self.out);
        }
        self.out.push(b']');
    }
}
