//! The patch log: messages by their id, rewinds, and patches of what is said of
//! the session.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::json::elements;
use crate::runtimes::javascript::{Type, Value, is_blank, pick};

use super::classify::{Thrown, Worth, classify};

pub(super) type Id<'a> = Cow<'a, [u8]>;

/// What is said of the session; of each property the last.
#[derive(Debug, Clone, Copy)]
pub(super) struct Meta<'a> {
    pub(super) session: Value<'a>,
    pub(super) project: Value<'a>,
    pub(super) start: Value<'a>,
    pub(super) updated: Value<'a>,
    pub(super) kind: Value<'a>,
}

impl<'a> Meta<'a> {
    const NOTHING: Meta<'static> = Meta {
        session: Value::UNDEFINED,
        project: Value::UNDEFINED,
        start: Value::UNDEFINED,
        updated: Value::UNDEFINED,
        kind: Value::UNDEFINED,
    };

    /// What a record says.
    pub(super) fn of(record: Value<'a>) -> Meta<'a> {
        let [session, project, start, updated, kind] = record.get_all(["sessionId", "projectHash", "startTime", "lastUpdated", "kind"]);
        Meta { session, project, start, updated, kind }
    }

    fn merge(&mut self, record: Value<'a>) {
        let new = Meta::of(record);
        let places = [&mut self.session, &mut self.project, &mut self.start, &mut self.updated, &mut self.kind];
        for (place, value) in places.into_iter().zip([new.session, new.project, new.start, new.updated, new.kind]) {
            if !value.is_undefined() {
                *place = value;
            }
        }
    }
}

/// What is told of the messages of a patch log, in its order.
pub(super) trait Messages<'a> {
    fn put(&mut self, id: Id<'a>, message: Value<'a>, worth: Worth);
    /// Forgets a message and all after it.
    fn rewind(&mut self, id: &[u8]);
    fn clear(&mut self);
}

/// The messages as they are loaded: each in its first place and in its last form.
#[derive(Default)]
pub(super) struct Loaded<'a> {
    all: Vec<(Id<'a>, Value<'a>)>,
    places: HashMap<Id<'a>, usize>,
}

impl<'a> Loaded<'a> {
    pub(super) fn messages(&self) -> impl Iterator<Item = Value<'a>> {
        self.all.iter().map(|(_, message)| *message)
    }
}

impl<'a> Messages<'a> for Loaded<'a> {
    fn put(&mut self, id: Id<'a>, message: Value<'a>, _: Worth) {
        let place = *self.places.entry(id.clone()).or_insert(self.all.len());
        match self.all.get_mut(place) {
            Some((_, known)) => *known = message,
            None => self.all.push((id, message)),
        }
    }

    fn rewind(&mut self, id: &[u8]) {
        let Some(&place) = self.places.get(id) else { return self.clear() };
        for (id, _) in self.all.drain(place..) {
            self.places.remove(&id);
        }
    }

    fn clear(&mut self) {
        *self = Loaded::default();
    }
}

/// The messages as a list of sessions counts them: by the times that each was
/// written. A rewind forgets what was written since, also of a message that was
/// there before.
#[derive(Default)]
pub(super) struct Listed<'a> {
    written: Vec<Id<'a>>,
    firsts: HashMap<Id<'a>, usize>,
    worths: HashMap<Id<'a>, Worth>,
}

impl Listed<'_> {
    pub(super) fn is_resumable(&self) -> bool {
        self.worths.values().any(|worth| *worth == Worth::Resumable)
    }
}

impl<'a> Messages<'a> for Listed<'a> {
    fn put(&mut self, id: Id<'a>, _: Value<'a>, worth: Worth) {
        self.firsts.entry(id.clone()).or_insert(self.written.len());
        self.worths.insert(id.clone(), worth);
        self.written.push(id);
    }

    fn rewind(&mut self, id: &[u8]) {
        let Some(&first) = self.firsts.get(id) else { return self.clear() };
        for id in self.written.drain(first..) {
            self.worths.remove(&id);
            if self.firsts.get(&id).is_some_and(|place| *place >= first) {
                self.firsts.remove(&id);
            }
        }
    }

    fn clear(&mut self) {
        *self = Listed::default();
    }
}

/// Reads a patch log, and returns what is said of the session.
pub(super) fn read<'a>(text: &'a [u8], messages: &mut impl Messages<'a>) -> Meta<'a> {
    let mut meta = Meta::NOTHING;
    for line in lines(text).filter(|line| !is_blank(line)) {
        if let Some(record) = Value::parse(line).filter(|record| record.type_of() == Type::Object) {
            apply(record, &mut meta, messages);
        }
    }
    meta
}

/// The lines of a text: they end at a line feed, a carriage return, or both.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| matches!(byte, b'\n' | b'\r'))
}

fn apply<'a>(record: Value<'a>, meta: &mut Meta<'a>, messages: &mut impl Messages<'a>) {
    let found: Vec<_> = record.members().collect();
    let [rewind, id, patch, session, project, list] = pick(&found, ["$rewindTo", "id", "$set", "sessionId", "projectHash", "messages"]);
    if let Some(id) = rewind.text() {
        messages.rewind(&id);
    } else if let Some(id) = id.text() {
        if let Ok(worth) = classify(record) {
            messages.put(id, record, worth);
        }
    } else if matches!(patch.type_of(), Type::Object | Type::Array) {
        let list = patch.get("messages");
        if list.type_of() == Type::Array {
            messages.clear();
            if refill(list, messages).is_err() {
                return;
            }
        }
        meta.merge(patch);
    } else if session.type_of() == Type::String && project.type_of() == Type::String {
        if list.type_of() == Type::Array {
            // Where it throws, what comes after is lost; what is said of the
            // session is not.
            let _ = refill(list, messages);
        }
        meta.merge(record);
    }
}

/// Puts the messages of a list, up to the first that throws.
fn refill<'a>(list: Value<'a>, messages: &mut impl Messages<'a>) -> Result<(), Thrown> {
    for message in elements(list.token()).map(Value::accepted) {
        if let Some(id) = message.get("id").text() {
            let worth = classify(message)?;
            messages.put(id, message, worth);
        }
    }
    Ok(())
}
