//! What a loader derives from entries besides messages.

use std::collections::BTreeMap;

use crate::model::json::{self, Member};

use super::entry::{Entry, get, text_of, with_members};
use super::js;
use super::tables::Record;

/// The session's name and its labels, from the file as a whole.
pub(in crate::adapters) fn of_file(entries: &[Entry<'_>]) -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    if let Some(name) = name(entries) {
        facts.insert("name".to_owned(), name);
    }
    let labels = labels(entries);
    if !labels.is_empty() {
        // A map of texts is always JSON.
        facts.insert("labels".to_owned(), serde_json::to_string(&labels).unwrap_or_default());
    }
    facts
}

/// The thinking level at the end of a path.
pub(in crate::adapters) fn thinking_level(entries: &[Entry<'_>], path: &[usize]) -> Option<String> {
    let last = path.iter().rev().find(|n| entries[**n].kind == Record::Thinking);
    let Some(last) = last else { return Some("off".to_owned()) };
    with_members(&entries[*last], |members| get(members, "thinkingLevel").and_then(text_of))
}

/// The model at the end of a path: the last that was set, or that answered.
pub(in crate::adapters) fn model(entries: &[Entry<'_>], path: &[usize]) -> Option<String> {
    let named = |members: &[Member<'_>], provider: &str, model: &str| {
        let part = |key: &str| get(members, key).and_then(text_of).unwrap_or_default();
        format!("{}/{}", part(provider), part(model))
    };
    path.iter().rev().map(|n| &entries[*n]).find_map(|entry| match entry.kind {
        Record::Model => Some(with_members(entry, |members| named(members, "provider", "modelId"))),
        Record::AssistantMessage => with_members(entry, |members| {
            let message: Vec<Member<'_>> = get(members, "message").map(|message| json::members(message).collect()).unwrap_or_default();
            Some(named(&message, "provider", "model"))
        }),
        _ => None,
    })
}

/// The same in the tutorial, which knows no providers.
pub(in crate::adapters) fn tutorial_model(entries: &[Entry<'_>], path: &[usize]) -> Option<String> {
    path.iter().rev().map(|n| &entries[*n]).find_map(|entry| match entry.kind {
        Record::Model => with_members(entry, |members| get(members, "model").and_then(text_of)),
        Record::AssistantMessage => with_members(entry, |members| {
            let message = json::members(get(members, "message")?).filter(|member| member.name() == "model").last()?;
            text_of(message.value)
        }),
        _ => None,
    })
}

/// The last name that the session was given; an empty one is none.
fn name(entries: &[Entry<'_>]) -> Option<String> {
    let last = entries.iter().rev().find(|entry| entry.kind == Record::Info)?;
    let name = with_members(last, |members| get(members, "name").and_then(text_of))?;
    let name = name.trim_matches(js::is_space);
    (!name.is_empty()).then(|| name.to_owned())
}

fn labels(entries: &[Entry<'_>]) -> BTreeMap<String, String> {
    let mut labels = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.kind == Record::Label) {
        with_members(entry, |members| {
            let Some(target) = get(members, "targetId").and_then(text_of) else { return };
            match get(members, "label").and_then(text_of).filter(|label| !label.is_empty()) {
                Some(label) => labels.insert(target, label),
                None => labels.remove(&target),
            };
        });
    }
    labels
}
