//! `buildSessionContext`: what of a branch a model would be given.

use std::collections::HashMap;

use crate::runtimes::javascript::{Type, Value, trim};

use super::entry::Kind;
use super::failure::Failure;
use super::show::{self, Stands};
use super::tree::Tree;

/// A branch, and where its last compaction or reset cuts it.
pub struct Context {
    path: Vec<usize>,
    boundary: Option<usize>,
    /// What is kept of the entries before that.
    kept: Vec<usize>,
}

impl Context {
    /// The context of the branch that ends in an entry.
    pub fn of(tree: &Tree, leaf: Option<usize>) -> Result<Context, Failure> {
        let path = tree.branch(leaf);
        let kind = |at: &usize| tree.events[*at].kind;
        let boundary = path.iter().rposition(|at| matches!(kind(at), Kind::Compaction | Kind::Reset));
        let mut kept = Vec::new();
        if let Some(at) = boundary {
            let first = tree.first_kept(path[at]).and_then(|first| path[..at].iter().position(|entry| *entry == first));
            kept = path[first.unwrap_or(at)..at].to_vec();
            if kind(&path[at]) == Kind::Reset {
                kept = kept_by_reset(tree, &kept);
            }
        }
        let context = Context { path, boundary, kept };
        let is_sound = |at: usize| {
            let event = &tree.events[at];
            let is_told = || event.kind == Kind::BranchSummary && event.value().get("summary").is_truthy();
            let needs_time = event.kind == Kind::CustomMessage || is_told();
            !needs_time || show::time(event.value()).is_some()
        };
        let summary = context.boundary.map(|at| context.path[at]).filter(|at| kind(at) == Kind::Compaction);
        let all = summary.is_none_or(|at| show::time(tree.events[at].value()).is_some()) && context.shown().all(is_sound);
        if all { Ok(context) } else { Err(Failure::Time) }
    }

    /// The entries besides the boundary that may be shown.
    fn shown(&self) -> impl Iterator<Item = usize> {
        self.kept.iter().chain(&self.path[self.boundary.map_or(0, |at| at + 1)..]).copied()
    }

    /// Shows the messages, each as one line.
    pub fn show(&self, tree: &Tree, show: &mut dyn FnMut(&[u8])) {
        let mut emit = |line: Option<Vec<u8>>| line.into_iter().for_each(|line| show(&line));
        if let Some(at) = self.boundary.map(|at| self.path[at]).filter(|at| tree.events[*at].kind == Kind::Compaction) {
            emit(Some(show::summary(tree.events[at].value())));
        }
        for (n, at) in self.shown().enumerate() {
            let event = &tree.events[at];
            let stands = if n < self.kept.len() { Stands::Before } else { Stands::After };
            emit(show::entry(event.kind, event.value(), stands));
        }
    }

    /// The model that was set last, or that answered last.
    pub fn model(&self, tree: &Tree) -> Option<String> {
        let text = |value: Value<'_>| value.lossy().unwrap_or_default();
        self.path.iter().rev().find_map(|at| {
            let event = &tree.events[*at];
            let message = event.value().get("message");
            let (provider, model) = if event.kind == Kind::Model {
                (event.value().get("provider"), event.value().get("modelId"))
            } else if event.kind == Kind::Message && message.get("role").is("assistant") {
                (message.get("provider"), message.get("model"))
            } else {
                return None;
            };
            Some(format!("{}/{}", text(provider), text(model)))
        })
    }

    /// The thinking level that was set last.
    pub fn thinking_level(&self, tree: &Tree) -> String {
        let set = self.path.iter().rev().find(|at| tree.events[**at].kind == Kind::ThinkingLevel);
        set.and_then(|at| tree.events[*at].value().get("thinkingLevel").lossy()).unwrap_or_else(|| "off".to_owned())
    }
}

/// What a reset keeps: messages of the user and the model, and the results of those
/// calls that an answer among them makes.
fn kept_by_reset(tree: &Tree, entries: &[usize]) -> Vec<usize> {
    let mut open: HashMap<Vec<u8>, u64> = HashMap::new();
    let mut kept = Vec::new();
    for at in entries.iter().filter(|at| tree.events[**at].kind == Kind::Message) {
        let message = tree.events[*at].value().get("message");
        let role = message.get("role");
        if role.is("toolResult") {
            let id = message.get("toolCallId").text().map(|id| trim(&id).to_vec()).unwrap_or_default();
            let Some(count) = open.get_mut(&id).filter(|count| **count > 0 && !id.is_empty()) else { continue };
            *count -= 1;
        } else if role.is("assistant") {
            let calls = calls(message.get("content"));
            if !calls.is_empty() {
                open.clear();
            }
            for call in calls {
                *open.entry(call).or_default() += 1;
            }
        } else if !role.is("user") {
            continue;
        }
        kept.push(*at);
    }
    kept
}

fn calls(content: Value<'_>) -> Vec<Vec<u8>> {
    let Some(list) = content.value().filter(|_| content.type_of() == Type::Array) else { return Vec::new() };
    let call = |part: Value<'_>| {
        let [kind, id] = part.get_all(["type", "id"]);
        let is_call = kind.is("toolCall") || kind.is("toolUse") || kind.is("functionCall");
        id.text().filter(|id| is_call && !id.is_empty()).map(std::borrow::Cow::into_owned)
    };
    list.elements().map(Value::accepted).filter_map(call).collect()
}
