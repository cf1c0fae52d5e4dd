//! The facts that a loader derives from entries besides messages.

use std::collections::BTreeMap;

use crate::adapters::kit::tree::entry::{get, text_of, with_members};
use crate::json::{self, Kind, Member};
use crate::model::event::{Session, SessionKind};
use crate::model::fact::Fact;
use crate::runtimes::javascript::{self as js, Numbers, TypeError};

use super::records::Record;
use super::schema::Entry;

/// How a program takes labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum Labels {
    /// Whatever is not false is one.
    AsTheyAre,
    /// Only texts, without the white space around them.
    Trimmed,
}

/// Returns the session as its first header describes it.
pub(in crate::adapters) fn session(format: &'static str, name: &str, entries: &[Entry<'_>], version: String) -> Session {
    let mut session = Session::new(SessionKind::Session, format, name);
    if let Some(header) = entries.iter().find(|entry| entry.kind == Record::Header) {
        with_members(header, |members| {
            let field = |key: &str| get(members, key).and_then(text_of);
            session.id = field("id").unwrap_or_else(|| name.to_owned());
            session.cwd = field("cwd");
            session.created = field("timestamp");
            session.parent_session = field("parentSession").or_else(|| field("branchedFrom"));
        });
        session.format_version = Some(version);
    }
    session
}

/// Returns the session's name and its labels, from these entries of a file.
///
/// # Errors
/// Where the program fails on a label.
pub(in crate::adapters) fn of_file<'e, 'a: 'e>(
    entries: impl DoubleEndedIterator<Item = &'e Entry<'a>> + Clone,
    rule: Labels,
) -> Result<BTreeMap<String, Fact>, TypeError> {
    let mut facts = BTreeMap::new();
    if let Some(name) = name(entries.clone()) {
        facts.insert("name".to_owned(), Fact::Text(name));
    }
    let labels = labels(entries, rule)?;
    if !labels.is_empty() {
        facts.insert("labels".to_owned(), Fact::Json(labels_json(&labels)));
    }
    Ok(facts)
}

/// Returns the thinking level at the end of a path; a value that is not a text is given as
/// JSON.
pub(in crate::adapters) fn thinking_level(entries: &[Entry<'_>], path: &[usize]) -> Option<Fact> {
    let last = path.iter().rev().find(|n| entries[**n].kind == Record::Thinking);
    let Some(last) = last else { return Some(Fact::from("off")) };
    with_members(&entries[*last], |members| {
        let level = get(members, "thinkingLevel")?;
        let printed = || String::from_utf8(js::printed(level, Numbers::Printed).into_owned()).ok();
        text_of(level).map(Fact::Text).or_else(|| printed().map(Fact::Json))
    })
}

/// Returns the model at the end of a path: the last that was set, or that answered.
pub(in crate::adapters) fn model(entries: &[Entry<'_>], path: &[usize]) -> Option<String> {
    let named = |members: &[Member<'_>], provider: &str, model: &str| {
        let part = |key: &str| get(members, key).and_then(text_of).unwrap_or_default();
        format!("{}/{}", part(provider), part(model))
    };
    let last = naming_a_model(entries, path).next()?;
    Some(with_members(last, |members| {
        if last.kind == Record::Model {
            return named(members, "provider", "modelId");
        }
        let message: Vec<Member<'_>> = get(members, "message").map(json::all_members).unwrap_or_default();
        named(&message, "provider", "model")
    }))
}

/// Returns the entries of a path that may name a model, the last first.
pub(in crate::adapters) fn naming_a_model<'e, 'a>(entries: &'e [Entry<'a>], path: &'e [usize]) -> impl Iterator<Item = &'e Entry<'a>> {
    path.iter().rev().map(|n| &entries[*n]).filter(|entry| matches!(entry.kind, Record::Model | Record::AssistantMessage))
}

/// Returns the last name that the session was given; an empty one does not count.
fn name<'e, 'a: 'e>(entries: impl DoubleEndedIterator<Item = &'e Entry<'a>>) -> Option<String> {
    let last = entries.rev().find(|entry| entry.kind == Record::Info)?;
    let name = with_members(last, |members| get(members, "name").and_then(text_of))?;
    let name = name.trim_matches(js::is_space);
    (!name.is_empty()).then(|| name.to_owned())
}

/// Returns the ids of labelled entries, and each label as JSON.
fn labels<'e, 'a: 'e>(entries: impl Iterator<Item = &'e Entry<'a>>, rule: Labels) -> Result<BTreeMap<Vec<u8>, Vec<u8>>, TypeError> {
    let mut labels = BTreeMap::new();
    for entry in entries.filter(|entry| entry.kind == Record::Label) {
        with_members(entry, |members| {
            let label = get(members, "label").filter(|label| *label != b"null");
            let label = match rule {
                Labels::AsTheyAre => label.filter(|label| js::is_truthy(label)).map(as_json),
                Labels::Trimmed => label.map(trimmed).transpose()?.flatten(),
            };
            let Some(target) = get(members, "targetId").filter(|target| json::kind_of(target) == Kind::String) else { return Ok(()) };
            let target = js::decode(target).into_owned();
            match label {
                Some(label) => labels.insert(target, label),
                None => labels.remove(&target),
            };
            Ok(())
        })?;
    }
    Ok(labels)
}

fn as_json(value: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    if json::kind_of(value) == Kind::String {
        js::push_string(&js::decode(value), &mut out);
    } else {
        js::push_printed(value, Numbers::Printed, &mut out);
    }
    out
}

fn trimmed(label: &[u8]) -> Result<Option<Vec<u8>>, TypeError> {
    let text = text_of(label).ok_or(TypeError)?;
    let text = text.trim_matches(js::is_space);
    let mut out = Vec::new();
    js::push_string(text.as_bytes(), &mut out);
    Ok((!text.is_empty()).then_some(out))
}

fn labels_json(labels: &BTreeMap<Vec<u8>, Vec<u8>>) -> String {
    let mut out = Vec::new();
    for (target, label) in labels {
        out.push(if out.is_empty() { b'{' } else { b',' });
        js::push_string(target, &mut out);
        out.push(b':');
        out.extend_from_slice(label);
    }
    out.push(b'}');
    String::from_utf8_lossy(&out).into_owned()
}
