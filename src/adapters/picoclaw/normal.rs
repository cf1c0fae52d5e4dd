//! A record as a message's payload: what picoclaw takes it for, in the log's
//! own form.

use crate::adapters::kit::mapping::{self, NoIds, ParentId, Parents, Rendered, Setting};
use crate::adapters::kit::words::SYSTEM;
use crate::json::{self, Dialect, Escapes, Member, Style, Value};
use crate::model::event::EventRef;
use crate::model::ids::Seq;
use crate::model::shape::Shapes;
use crate::model::stream::StreamError;
use crate::model::time::is_log_time;
use crate::runtimes::go::{KeyForm, Marshal, Rejection, Time, matches_key};

use super::content::Parts;
use super::decode::{self, Message};
use super::usual;
use super::wire::{LINES, MESSAGE, MESSAGE_ORDER};

/// Who sees a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
    Shown,
    /// The program's loader leaves it out, and why.
    Hidden(&'static str),
}

/// A record that the program would take.
pub(super) struct Record<'a> {
    pub members: Vec<Member<'a>>,
    pub message: Message<'a>,
    /// Odd ones are put as the program reads them; their bytes are kept beside.
    pub form: KeyForm,
}

impl<'a> Record<'a> {
    pub(super) fn decode(text: &'a [u8]) -> Result<Record<'a>, Rejection> {
        let mut members = Vec::with_capacity(12);
        let (message, form) = decode::message(text, &mut members)?;
        // What is not UTF-8 has no place in a log but as what it is read as.
        let is_text = text.is_ascii() || std::str::from_utf8(text).is_ok();
        Ok(Record { members, message, form: if is_text { form } else { KeyForm::Odd } })
    }

    /// Decodes an element of a document, given with its members; `text` is odd where
    /// the document is not all UTF-8.
    pub(super) fn of_accepted(value: Value<'a>, members: &[Member<'a>], text: KeyForm) -> Result<Record<'a>, Rejection> {
        let (mut message, mut form) = decode::accepted_message(value, members)?;
        if message.forget_zero_time() {
            form = KeyForm::Odd;
        }
        Ok(Record { members: members.to_vec(), message, form: if text == KeyForm::Plain { form } else { KeyForm::Odd } })
    }

    /// Tells whether a salvaged object is a message, and not some part of one.
    pub(super) fn is_whole(text: &[u8]) -> bool {
        Record::decode(text).is_ok_and(|record| {
            let has = |name: &str| record.members.iter().any(|member| member.name() == name);
            has("role") && has("content")
        })
    }

    /// Returns who sees it, if nobody says otherwise.
    pub(super) fn sight(&self) -> Sight {
        if self.message.is_thought() { Sight::Hidden("reasoning only") } else { Sight::Shown }
    }

    /// Keys that the program does not know.
    pub(super) fn unknown_fields(&self) -> impl Iterator<Item = String> {
        let is_known = |name: &str| MESSAGE.0.iter().any(|(key, _)| *key == name || matches_key(key, name));
        self.members.iter().map(|member| member.name()).filter(move |name| !is_known(name)).map(std::borrow::Cow::into_owned)
    }
}

/// A payload, and the time beside it.
#[derive(Debug, Default)]
pub(super) struct Normal {
    pub ts: Option<String>,
    /// Whole, and without the number of a shape.
    pub payload: Vec<u8>,
}

impl Normal {
    pub(super) fn fill(&mut self, record: &Record<'_>, sight: Sight, writer: Escapes) {
        self.payload.clear();
        if record.form == KeyForm::Plain {
            return self.take(&record.members, &record.message, sight, writer);
        }
        let mut again = Vec::new();
        record.message.marshal(&mut again);
        let mut members = Vec::new();
        if json::scan_object(&again, Dialect::Strict, &mut members).is_ok() {
            self.take(&members, &record.message, sight, Escapes::Go);
        }
    }

    fn take(&mut self, members: &[Member<'_>], message: &Message<'_>, sight: Sight, writer: Escapes) {
        let setting = Setting { writer, parent: ParentId::Unwritten };
        // No object is opened, so it can always be taken apart.
        let Some(mut taken) = MESSAGE.claim(members, setting, &NoIds) else { return };
        let as_written = |time: Time| Some(time.text()).filter(|text| is_log_time(text.as_bytes()));
        self.ts = taken.ts.map(str::to_owned).or_else(|| message.created_at.and_then(as_written));
        if taken.member("role").is_none() {
            match members.iter().any(|member| member.name() == "role") {
                true => taken.say("role", SYSTEM.to_vec()),
                false => taken.supply("role", "role", SYSTEM.to_vec()),
            }
        }
        if let Sight::Hidden(why) = sight {
            taken.say("hidden", format!("{{\"from\":[\"loader\"],\"why\":\"{why}\"}}").into_bytes());
        }
        taken.push_payload(MESSAGE_ORDER, &Parts, &MESSAGE, 0, writer, &mut self.payload);
    }

    /// Puts the number of a shape at the end of the payload.
    pub(super) fn with_shape(&self, shape: usize) -> Vec<u8> {
        let mut payload = self.payload[..self.payload.len() - 1].to_vec();
        payload.extend_from_slice(format!(",\"shape\":{shape}}}").as_bytes());
        payload
    }
}

/// Renders a message's payload as the record that it was.
pub(super) fn render(payload: &[u8], ts: Option<&str>, shapes: &Shapes, style: Style, depth: usize, out: &mut Vec<u8>) -> Option<()> {
    if usual::render(payload, ts, style, depth, out) {
        return Some(());
    }
    let event = Rendered { payload, ts, parent: Seq::ROOT, parents: Parents::Unwritten };
    MESSAGE.render(&event, shapes, &Parts, &mut NoIds, mapping::To { style, depth, out })
}

/// What the program would show of a message: the record, as it would write it
/// again.
pub(super) fn show(event: &EventRef<'_>, shapes: &Shapes, record: &mut Vec<u8>, line: &mut Vec<u8>) -> Result<(), StreamError> {
    if usual::show(event.payload, event.ts, LINES, line) {
        return Ok(());
    }
    line.clear();
    render(event.payload, event.ts, shapes, LINES, 0, record)
        .ok_or_else(|| StreamError::log(event.seq, "has a shape that the log does not list"))?;
    let mut members = Vec::with_capacity(12);
    let (message, _) = decode::message(record, &mut members)
        .map_err(|rejection| StreamError::log(event.seq, format!("is not a message: {}", rejection.because())))?;
    message.marshal(line);
    Ok(())
}
