//! What messages say, in a form that two formats can be compared by.

use sha2::{Digest, Sha256};
use std::collections::BTreeSet;

use crate::api::{Arguments, Media, Message, MessageKind, Part, StopReason, ToolResult, Usage};
use crate::json::{self, Value};
use crate::model::digest::hex;
use crate::model::event::EventKind;
use crate::model::export::instant::Instant;
use crate::model::export::loss::Aspect;

use super::source::SourceEvent;

/// What one or several records say together.
#[derive(Debug, Default, PartialEq)]
struct Facts {
    present: bool,
    roles: Vec<String>,
    text: Vec<String>,
    thinking: Vec<String>,
    signatures: Vec<String>,
    call_ids: Vec<String>,
    tool_names: Vec<String>,
    calls: Vec<String>,
    results: Vec<String>,
    error_flags: Vec<bool>,
    media: Vec<String>,
    other: Vec<String>,
    order: Vec<&'static str>,
    models: Vec<String>,
    usage: Vec<Usage>,
    costs: Vec<f64>,
    stops: Vec<StopReason>,
    errors: Vec<String>,
    times: Vec<Option<String>>,
    marks: Vec<String>,
    names: Vec<String>,
}

/// Returns by which aspects two groups of records differ.
#[must_use]
pub fn differing(before: &[&SourceEvent], after: &[&SourceEvent]) -> BTreeSet<Aspect> {
    let (a, b) = (Facts::of(before), Facts::of(after));
    let sides = [
        (Aspect::Presence, a.present == b.present),
        (Aspect::Role, a.roles == b.roles),
        (Aspect::Text, a.text.join("\n") == b.text.join("\n")),
        (Aspect::Thinking, a.thinking.join("\n") == b.thinking.join("\n")),
        (Aspect::Signature, a.signatures == b.signatures),
        (Aspect::CallIds, a.call_ids == b.call_ids),
        (Aspect::ToolNames, a.tool_names == b.tool_names),
        (Aspect::Calls, a.calls == b.calls),
        (Aspect::Results, a.results == b.results),
        (Aspect::ErrorFlags, a.error_flags == b.error_flags),
        (Aspect::Media, a.media == b.media),
        (Aspect::Other, a.other == b.other),
        (Aspect::Order, a.order == b.order),
        (Aspect::Model, a.models == b.models),
        (Aspect::Usage, a.usage == b.usage),
        (Aspect::Cost, a.costs == b.costs),
        (Aspect::StopReason, a.stops == b.stops),
        (Aspect::Error, a.errors == b.errors),
        (Aspect::Time, a.times == b.times),
        (Aspect::Marks, a.marks == b.marks),
        (Aspect::Name, a.names == b.names),
    ];
    sides.into_iter().filter(|(_, is_same)| !is_same).map(|(aspect, _)| aspect).collect()
}

impl Facts {
    fn of(events: &[&SourceEvent]) -> Facts {
        let mut facts = Facts { present: !events.is_empty(), ..Facts::default() };
        for event in events {
            match &event.message {
                Some(message) => facts.add(message),
                None => facts.add_entry(event),
            }
            let time = event
                .ts
                .as_deref()
                .map(|ts| Instant::of(ts).map_or_else(|| ts.to_owned(), |(time, zone)| format!("{} {zone:?}", time.shortest())));
            if facts.times.last() != Some(&time) {
                facts.times.push(time);
            }
        }
        facts
    }

    fn add(&mut self, message: &Message) {
        let is_answered = !message.parts.is_empty() && message.parts.iter().all(|part| matches!(part, Part::ToolResult(_)));
        let role = match message.kind {
            // The role of a message that holds results alone says nothing: programs
            // differ in who they think says them.
            MessageKind::Message if is_answered => None,
            MessageKind::Message => Some(message.role.name()),
            MessageKind::Compaction => Some("compaction"),
            MessageKind::BranchSummary => Some("branch_summary"),
        };
        if let Some(role) = role.filter(|role| self.roles.last().is_none_or(|last| last != role)) {
            self.roles.push(role.to_owned());
        }
        message.parts.iter().for_each(|part| self.add_part(part));
        // Some programs have both in one text.
        let both: Vec<&str> = [&message.provider, &message.model].into_iter().flatten().map(String::as_str).collect();
        let model = both.join("/");
        if !both.is_empty() && self.models.last() != Some(&model) {
            self.models.push(model);
        }
        // What it cost is a side of its own, and a usage may say nothing else.
        let counts = message.usage.map(|usage| without_sum(Usage { cost: None, ..usage }));
        self.usage.extend(counts.filter(|counts| *counts != Usage::default()));
        self.costs.extend(message.usage.and_then(|usage| usage.cost));
        if message.stop_reason.is_some() && self.stops.last().copied() != message.stop_reason {
            self.stops.extend(message.stop_reason);
        }
        self.errors.extend(message.error.clone());
        let pinned = Value::trusted(message.raw.as_str().as_bytes()).first("pinned").is_some_and(|pinned| pinned.text() == b"true");
        self.marks.extend(pinned.then(|| "pinned".to_owned()));
        self.marks.extend(message.hidden_from.iter().cloned());
        self.names.extend(message.name.clone());
    }

    /// Something on the path that is not a message says what its payload says, but
    /// for its id.
    fn add_entry(&mut self, event: &SourceEvent) {
        if event.kind == EventKind::ModelChange {
            let value = Value::trusted(&event.payload);
            let word = |name| value.first(name).map(|value| value.to_str().into_owned()).unwrap_or_default();
            self.models.push([word("provider"), word("model")].join("/"));
        }
        if event.kind == EventKind::Meta {
            let title = Value::trusted(&event.payload).first("title");
            self.text.extend(title.map(|title| title.to_str().into_owned()));
        }
    }

    fn add_part(&mut self, part: &Part) {
        match part {
            Part::Text(text) => {
                // An empty text says nothing, and some programs have one in every message.
                if !text.as_str().is_empty() {
                    self.step("text");
                    self.text.push(text.as_str().to_owned());
                }
            }
            Part::Thinking(thinking) => {
                self.step("thinking");
                self.thinking.push(thinking.text.as_str().to_owned());
                self.signatures.extend(thinking.signature.clone());
            }
            Part::Image(media) => self.media.push(format!("image {}", named(media))),
            Part::File(media) => self.media.push(format!("file {}", named(media))),
            Part::ToolCall(call) => {
                self.step("call");
                self.call_ids.push(call.id.clone().unwrap_or_default());
                self.tool_names.push(call.name.clone().unwrap_or_default());
                self.calls.push(call.arguments.as_ref().map(arguments).unwrap_or_default());
            }
            Part::ToolResult(result) => self.add_result(result),
            Part::Shell(shell) => self.other.push(format!("{} {} {:?}", shell.command, shell.output, shell.exit_code)),
            Part::Other(json) => self.other.push(json.to_string()),
        }
    }

    fn add_result(&mut self, result: &ToolResult) {
        self.step("result");
        self.call_ids.push(result.call_id.clone().unwrap_or_default());
        self.results.push(result.text());
        self.error_flags.push(result.is_error == Some(true));
        for part in &result.content {
            match part {
                Part::Image(media) => self.media.push(format!("image {}", named(media))),
                Part::File(media) => self.media.push(format!("file {}", named(media))),
                Part::Other(json) => self.other.push(json.to_string()),
                Part::Text(_) | Part::Thinking(_) | Part::ToolCall(_) | Part::ToolResult(_) | Part::Shell(_) => {}
            }
        }
    }

    fn step(&mut self, what: &'static str) {
        if self.order.last() != Some(&what) {
            self.order.push(what);
        }
    }
}

/// Token counts without a total that is their sum, which says nothing.
fn without_sum(mut usage: Usage) -> Usage {
    let counts = [usage.input, usage.output, usage.cache_read, usage.cache_write];
    let sum = counts.into_iter().flatten().fold(0, u64::saturating_add);
    usage.total = usage.total.filter(|total| *total != sum);
    usage
}

fn arguments(arguments: &Arguments) -> String {
    match (arguments.json(), arguments) {
        (Some(json), _) => String::from_utf8_lossy(&json::normal_form(json.as_str().as_bytes())).into_owned(),
        (None, Arguments::Text(text)) => text.as_str().to_owned(),
        (None, Arguments::Json(json)) => json.to_string(),
    }
}

/// A picture or a file by its bytes, or by its name where the log has none.
fn named(media: &Media) -> String {
    match media
        .data
        .as_deref()
        .or_else(|| media.uri.as_deref().filter(|uri| uri.starts_with("data:")).and_then(|uri| uri.split_once(',').map(|(_, data)| data)))
    {
        Some(data) => hex(&Sha256::digest(data)),
        None => media.path.clone().or_else(|| media.uri.clone()).or_else(|| media.name.clone()).unwrap_or_default(),
    }
}
