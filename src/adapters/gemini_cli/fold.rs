//! What kind of record a line is, and what the lines of a patch log come to:
//! the session's metadata, and whether the program would offer to resume it.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::json;
use crate::model::jsonl::{Lines, Newlines};
use crate::runtimes::javascript::{Type, Value};

use super::classify::{Resumes, Throws, classify};

/// A line that is a JSON object, by its keys and in the program's order.
pub(super) enum Record<'a> {
    /// Takes everything back from the message with this id on.
    Rewind(Cow<'a, [u8]>),
    /// A message with this id.
    Message(Cow<'a, [u8]>),
    /// Sets metadata, or the whole list of messages.
    Patch(Value<'a>),
    /// The session's metadata.
    Metadata,
    /// The program passes it over.
    Unknown,
}

impl<'a> Record<'a> {
    /// Tells what an object is.
    pub(super) fn of(value: Value<'a>) -> Record<'a> {
        let [rewind, id, set, session, project] = value.get_all(["$rewindTo", "id", "$set", "sessionId", "projectHash"]);
        if let Some(id) = rewind.text() {
            return Record::Rewind(id);
        }
        if let Some(id) = id.text() {
            return Record::Message(id);
        }
        if matches!(set.type_of(), Type::Object | Type::Array) {
            return Record::Patch(set);
        }
        if session.type_of() == Type::String && project.type_of() == Type::String {
            return Record::Metadata;
        }
        Record::Unknown
    }
}

/// The id of an element of a list of messages, where it is a message.
pub(super) fn id_of(element: Value<'_>) -> Option<Cow<'_, [u8]>> {
    element.get("id").text()
}

/// The list of messages of a patch or a metadata line, where it has one.
pub(super) fn list_of(record: Value<'_>) -> Option<&[u8]> {
    let list = record.get("messages");
    (list.type_of() == Type::Array).then(|| list.token())
}

/// What a session's metadata comes to.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meta<'a> {
    pub session_id: Value<'a>,
    pub project_hash: Value<'a>,
    pub created: Value<'a>,
    pub updated: Value<'a>,
    pub kind: Value<'a>,
    pub summary: Value<'a>,
    pub scratchpad: Value<'a>,
    pub directories: Value<'a>,
}

impl Default for Meta<'_> {
    fn default() -> Self {
        let none = Value::UNDEFINED;
        Meta {
            session_id: none,
            project_hash: none,
            created: none,
            updated: none,
            kind: none,
            summary: none,
            scratchpad: none,
            directories: none,
        }
    }
}

impl<'a> Meta<'a> {
    /// Takes over what a record says, `{...meta, ...record}`.
    pub(super) fn merge(&mut self, record: Value<'a>) {
        let names = ["sessionId", "projectHash", "startTime", "lastUpdated", "kind", "summary", "memoryScratchpad", "directories"];
        let found = record.get_all(names);
        let own = [
            &mut self.session_id,
            &mut self.project_hash,
            &mut self.created,
            &mut self.updated,
            &mut self.kind,
            &mut self.summary,
            &mut self.scratchpad,
            &mut self.directories,
        ];
        for (own, found) in own.into_iter().zip(found) {
            if !found.is_undefined() {
                *own = found;
            }
        }
    }

    /// Whether the program takes the lines for a session.
    pub(super) fn names_a_session(&self) -> bool {
        self.session_id.is_truthy() && self.project_hash.is_truthy()
    }
}

/// How the program loads a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// As a patch log.
    Lines,
    /// As one object.
    Whole,
    /// Not at all.
    Nothing,
}

/// What the program's list of sessions knows of a file.
pub(super) struct Survey<'a> {
    pub meta: Meta<'a>,
    pub form: Form,
    /// Whether the list would offer it.
    pub resumes: Resumes,
}

/// Looks at a file as the program's list does: it does not keep messages, and
/// its rewinds cut another list than a load's do.
pub(super) fn survey(bytes: &[u8]) -> Survey<'_> {
    let mut list = Listed::default();
    let mut meta = Meta::default();
    for line in Lines::new(bytes, Newlines::Universal) {
        let Some(value) = Value::parse(line.text).filter(|value| value.type_of() == Type::Object) else { continue };
        match Record::of(value) {
            Record::Rewind(id) => list.rewind(&id),
            Record::Message(id) => _ = list.add(id.into_owned(), value),
            Record::Patch(set) => {
                let mut done = Ok(());
                if let Some(messages) = list_of(set) {
                    list.clear();
                    done = list.add_all(messages);
                }
                if done.is_ok() {
                    meta.merge(set);
                }
            }
            Record::Metadata => {
                meta.merge(value);
                if let Some(messages) = list_of(value) {
                    _ = list.add_all(messages);
                }
            }
            Record::Unknown => {}
        }
    }
    if meta.names_a_session() {
        return Survey { meta, form: Form::Lines, resumes: list.resumes() };
    }
    match whole(bytes) {
        Some((meta, resumes)) => Survey { meta, form: Form::Whole, resumes },
        None => Survey { meta, form: Form::Nothing, resumes: Resumes::No },
    }
}

/// The id and the kind of a file's session, without a look at its messages: by
/// the lines that name one of them.
pub(super) fn identity(bytes: &[u8]) -> Survey<'_> {
    let mut meta = Meta::default();
    for line in Lines::new(bytes, Newlines::Universal) {
        let names_any =
            ["\"sessionId\"", "\"projectHash\"", "\"kind\""].iter().any(|name| memchr::memmem::find(line.text, name.as_bytes()).is_some());
        let Some(value) = Value::parse(line.text).filter(|value| names_any && value.type_of() == Type::Object) else { continue };
        match Record::of(value) {
            Record::Patch(set) => {
                let throws = list_of(set).is_some_and(|list| {
                    json::elements(list).map(Value::accepted).filter(|item| id_of(*item).is_some()).any(|item| classify(item).is_err())
                });
                if !throws {
                    meta.merge(set);
                }
            }
            Record::Metadata => meta.merge(value),
            Record::Rewind(_) | Record::Message(_) | Record::Unknown => {}
        }
    }
    if meta.names_a_session() {
        return Survey { meta, form: Form::Lines, resumes: Resumes::No };
    }
    match whole(bytes) {
        Some((meta, resumes)) => Survey { meta, form: Form::Whole, resumes },
        None => Survey { meta, form: Form::Nothing, resumes: Resumes::No },
    }
}

/// A file that is one object, as the program loads it.
fn whole(bytes: &[u8]) -> Option<(Meta<'_>, Resumes)> {
    let value = Value::parse(bytes).filter(|value| value.type_of() == Type::Object)?;
    let messages = value.get("messages");
    if value.get("sessionId").is_undefined() {
        return None;
    }
    let mut meta = Meta::default();
    meta.merge(value);
    if messages.is_nullish() {
        return Some((meta, Resumes::No));
    }
    if messages.type_of() != Type::Array || json::elements(messages.token()).any(|element| element == b"null") {
        return None;
    }
    for element in json::elements(messages.token()) {
        match classify(Value::accepted(element)) {
            Err(Throws) => return None,
            Ok(Resumes::Yes) => return Some((meta, offered(messages.token()))),
            Ok(Resumes::No) => {}
        }
    }
    Some((meta, Resumes::No))
}

/// Whether the program's list offers a whole file that can be resumed. It looks
/// for the first prompt too, and where that throws the file is not listed.
fn offered(messages: &[u8]) -> Resumes {
    let prompts = json::elements(messages).map(Value::accepted).filter(|message| message.get("type").is("user"));
    for prompt in prompts {
        match classify(prompt) {
            Err(Throws) => return Resumes::No,
            Ok(Resumes::Yes) => return Resumes::Yes,
            Ok(Resumes::No) => {}
        }
    }
    Resumes::Yes
}

/// What the program's list of sessions keeps of messages.
#[derive(Default)]
struct Listed {
    ids: Vec<Vec<u8>>,
    kinds: HashMap<Vec<u8>, Resumes>,
}

impl Listed {
    fn add(&mut self, id: Vec<u8>, message: Value<'_>) -> Result<(), Throws> {
        let resumes = classify(message)?;
        self.ids.push(id.clone());
        self.kinds.insert(id, resumes);
        Ok(())
    }

    fn add_all(&mut self, list: &[u8]) -> Result<(), Throws> {
        for element in json::elements(list).map(Value::accepted) {
            if let Some(id) = id_of(element) {
                self.add(id.into_owned(), element)?;
            }
        }
        Ok(())
    }

    fn rewind(&mut self, id: &[u8]) {
        match self.ids.iter().position(|known| known == id) {
            Some(at) => {
                for id in self.ids.drain(at..) {
                    self.kinds.remove(&id);
                }
            }
            None => self.clear(),
        }
    }

    fn clear(&mut self) {
        self.ids.clear();
        self.kinds.clear();
    }

    fn resumes(&self) -> Resumes {
        if self.kinds.values().any(|kind| *kind == Resumes::Yes) { Resumes::Yes } else { Resumes::No }
    }
}
