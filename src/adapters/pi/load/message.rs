//! From an entry to the messages that it stands for.

use crate::json::Member;
use crate::runtimes::javascript::{Numbers, ObjectWriter, Type, Value, is_key, printed_raw, push_printed_raw, push_string, to_time};

use super::Failure;
use super::flavour::{Flavour, Migration};
use super::record::{self, Kind, Said};

/// Where in its context an entry stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ContextPosition {
    /// In front, as the latest compaction does.
    First,
    After,
}

/// What a later entry says about this one.
#[derive(Debug, Clone, Copy)]
pub(super) enum Edit<'a> {
    None,
    Drop,
    /// The content to show instead is a property of this value.
    Replace(Value<'a>),
}

/// What stands in the place of a message's content.
#[derive(Debug, Clone, Copy)]
enum Content<'a> {
    Stored,
    /// Nothing that the program could not do with.
    Empty(&'static str),
    Replaced(Value<'a>),
    /// A text as the one part of a list.
    AsPart(Value<'a>),
}

/// Whether the role of a message is taken over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Stored,
    /// Older versions called custom messages those of hooks.
    Custom,
}

/// Turns entries into messages, one line each.
#[derive(Debug)]
pub(super) struct Projection {
    flavour: Flavour,
    line: Vec<u8>,
}

impl Projection {
    pub(super) fn new(flavour: Flavour) -> Projection {
        Projection { flavour, line: Vec::new() }
    }

    /// Shows the messages of one entry that is not a message itself.
    ///
    /// # Errors
    /// Where the program would throw.
    pub(super) fn entry(
        &mut self,
        kind: Kind,
        entry: Value<'_>,
        place: ContextPosition,
        edit: Edit<'_>,
        show: &mut dyn FnMut(&[u8]),
    ) -> Result<(), Failure> {
        let is_tutorial = self.flavour == Flavour::Tutorial;
        if kind == Kind::Compaction && self.flavour == Flavour::Harness {
            self.compaction(entry, Edit::None, show)
        } else if kind == Kind::Compaction && place == ContextPosition::First {
            self.compaction(entry, edit, show)
        } else if kind == Kind::CustomMessage && !is_tutorial {
            self.custom_message(entry, edit, show)
        } else if kind == Kind::BranchSummary && !is_tutorial {
            self.branch_summary(entry, edit, show)
        } else {
            Ok(())
        }
    }

    /// Shows a message, of which this is known.
    ///
    /// # Errors
    /// Where the program would throw.
    pub(super) fn message(&mut self, message: Value<'_>, said: Said, edit: Edit<'_>, show: &mut dyn FnMut(&[u8])) -> Result<(), Failure> {
        let migration = match self.flavour {
            Flavour::Pi(migration) => migration,
            Flavour::Harness | Flavour::Tutorial if said.stands => {
                show(message.token());
                return Ok(());
            }
            Flavour::Harness | Flavour::Tutorial => return self.print(message, Role::Stored, Content::Stored, show),
        };
        let is_hook = matches!(migration, Migration::Chain | Migration::Hooks) && said.role == Some("hookMessage");
        let (role, name) = if is_hook { (Role::Custom, Some("custom")) } else { (Role::Stored, said.role) };
        let content = match edit {
            Edit::Drop => return Ok(()),
            Edit::Replace(replacement) => replaced(name, replacement)?,
            Edit::None => Content::Stored,
        }
        .or_repaired(name, said.body);
        if said.stands && role == Role::Stored && matches!(content, Content::Stored) {
            show(message.token());
            return Ok(());
        }
        self.print(message, role, content, show)
    }

    /// The summary of what was cut off, after the system prompt of that time.
    fn compaction(&mut self, entry: Value<'_>, edit: Edit<'_>, show: &mut dyn FnMut(&[u8])) -> Result<(), Failure> {
        let [summary, tokens, timestamp, system] = entry.get_all(["summary", "tokensBefore", "timestamp", "systemMessage"]);
        let time = to_time(timestamp.defined())?;
        if matches!(edit, Edit::Drop) {
            return Ok(());
        }
        if matches!(self.flavour, Flavour::Pi(_)) && system.is_truthy() {
            let content = match edit {
                Edit::Replace(replacement) => replaced(Said::of_value(system).role, replacement)?,
                Edit::None | Edit::Drop => Content::Stored,
            };
            self.print(system, Role::Stored, content, show)?;
        }
        let mut object = self.object("compactionSummary");
        object.member("summary", summary);
        object.member("tokensBefore", tokens);
        self.finish(time, show);
        Ok(())
    }

    fn branch_summary(&mut self, entry: Value<'_>, edit: Edit<'_>, show: &mut dyn FnMut(&[u8])) -> Result<(), Failure> {
        let [summary, from, timestamp] = entry.get_all(["summary", "fromId", "timestamp"]);
        if !summary.is_truthy() {
            return Ok(());
        }
        let time = to_time(timestamp.defined())?;
        if !matches!(edit, Edit::Drop) {
            let mut object = self.object("branchSummary");
            object.member("summary", summary);
            object.member("fromId", from);
            self.finish(time, show);
        }
        Ok(())
    }

    fn custom_message(&mut self, entry: Value<'_>, edit: Edit<'_>, show: &mut dyn FnMut(&[u8])) -> Result<(), Failure> {
        let [kind, content, display, details, timestamp] = entry.get_all(["customType", "content", "display", "details", "timestamp"]);
        let time = to_time(timestamp.defined())?;
        let content = match edit {
            Edit::Drop => return Ok(()),
            Edit::Replace(replacement) => replaced(Some("custom"), replacement)?,
            Edit::None if matches!(self.flavour, Flavour::Pi(_)) && content.is_nullish() => Content::Empty("[]"),
            Edit::None => Content::Replaced(content),
        };
        let mut object = self.object("custom");
        object.member("customType", kind);
        content.write(&mut object);
        object.member("display", display);
        object.member("details", details);
        self.finish(time, show);
        Ok(())
    }

    /// Begins a message that the file does not hold as such.
    fn object(&mut self, role: &str) -> ObjectWriter<'_> {
        self.line.clear();
        let mut object = ObjectWriter::new(&mut self.line);
        object.raw("role", |out| push_string(role.as_bytes(), out));
        object
    }

    /// Ends it with the time of its entry, which is `null` where it is not a time.
    fn finish(&mut self, time: Option<i64>, show: &mut dyn FnMut(&[u8])) {
        let time = time.map_or_else(|| "null".to_owned(), |time| time.to_string());
        self.line.extend_from_slice(b",\"timestamp\":");
        self.line.extend_from_slice(time.as_bytes());
        self.line.push(b'}');
        show(&self.line);
    }

    fn print(&mut self, message: Value<'_>, role: Role, content: Content<'_>, show: &mut dyn FnMut(&[u8])) -> Result<(), Failure> {
        let keeps_content = matches!(content, Content::Stored);
        if role == Role::Stored && keeps_content {
            show(&printed_raw(message.token(), Numbers::Printed));
            return Ok(());
        }
        self.line.clear();
        let mut object = ObjectWriter::new(&mut self.line);
        for Member { key, value } in message.members() {
            let is_replaced = (role == Role::Custom && is_key(key, "role")) || (!keeps_content && is_key(key, "content"));
            if !is_replaced {
                object.copy(key, Value::accepted(value));
            }
        }
        if role == Role::Custom {
            object.raw("role", |out| push_string(b"custom", out));
        }
        content.write(&mut object);
        object.close();
        show(&self.line);
        Ok(())
    }
}

/// Returns the content that an edit gives to a message of this role.
fn replaced<'a>(role: Option<&str>, replacement: Value<'a>) -> Result<Content<'a>, Failure> {
    let wants_parts = match role {
        Some("assistant" | "toolResult") => true,
        Some("user" | "custom") => false,
        Some(_) | None => return Ok(Content::Stored),
    };
    if replacement.type_of() == Type::Undefined {
        return Err(Failure::TypeError);
    }
    let content = replacement.get("content");
    Ok(if wants_parts && content.type_of() == Type::String { Content::AsPart(content) } else { Content::Replaced(content) })
}

impl<'a> Content<'a> {
    /// Returns what is shown where nothing else was said and nothing is stored.
    fn or_repaired(self, role: Option<&str>, stored: record::Body) -> Content<'a> {
        match (self, stored, role) {
            (Content::Stored, record::Body::Missing, Some("system")) => Content::Empty("\"\""),
            (Content::Stored, record::Body::Missing, Some("user" | "assistant" | "toolResult")) => Content::Empty("[]"),
            (content, record::Body::Missing | record::Body::There, _) => content,
        }
    }

    fn write(self, object: &mut ObjectWriter<'_>) {
        match self {
            Content::Stored => {}
            Content::Empty(empty) => object.raw("content", |out| out.extend_from_slice(empty.as_bytes())),
            Content::Replaced(value) => object.member("content", value),
            Content::AsPart(part) => object.raw("content", |out| {
                out.extend_from_slice(b"[{\"type\":\"text\",\"text\":");
                push_printed_raw(part.token(), Numbers::Printed, out);
                out.extend_from_slice(b"}]");
            }),
        }
    }
}
