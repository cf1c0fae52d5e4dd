//! The items of a context as they are sent: each call with an output, and each
//! output with a call.

use std::borrow::Cow;
use std::collections::HashSet;

use sha1::{Digest, Sha1};
use uuid::{Builder, Uuid};

use crate::json::Value;

use super::entry::Entry;
use super::item::Kind;
use super::object::Object;
use super::print;

/// The namespace of the ids of outputs that are made up.
const NAMESPACE: Uuid = Uuid::from_u128(0x90d3_8d3e_6a5b_4d52_bfe2_2f1e_634b_fac4);

/// What calls and outputs share: an output is of a call of its own family.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Family {
    Function,
    Custom,
    ToolSearch,
}

/// What an entry is to the rule.
enum Side {
    Call(Family),
    Output(Family),
}

impl Side {
    fn of(kind: Kind) -> Option<Side> {
        Some(match kind {
            Kind::FunctionCall | Kind::LocalShellCall => Side::Call(Family::Function),
            Kind::CustomToolCall => Side::Call(Family::Custom),
            Kind::ToolSearchCall => Side::Call(Family::ToolSearch),
            Kind::FunctionCallOutput => Side::Output(Family::Function),
            Kind::CustomToolCallOutput => Side::Output(Family::Custom),
            Kind::ToolSearchOutput => Side::Output(Family::ToolSearch),
            Kind::Message
            | Kind::Reasoning
            | Kind::WebSearchCall
            | Kind::ImageGenerationCall
            | Kind::Compaction
            | Kind::ContextCompaction
            | Kind::AgentMessage
            | Kind::AdditionalTools
            | Kind::GhostSnapshot
            | Kind::Unknown => return None,
        })
    }
}

/// The ids of calls, each with its family.
type CallIds<'r> = HashSet<(Family, Cow<'r, str>)>;

/// Shows the items that are sent for a context, one line each.
pub(super) fn send(history: &[Entry<'_>], show: &mut dyn FnMut(&[u8])) {
    let (mut calls, mut outputs) = (CallIds::new(), CallIds::new());
    for entry in history {
        if let Some((side, id)) = side_of(entry)
            && let Some(id) = id
        {
            match side {
                Side::Call(family) => calls.insert((family, id)),
                Side::Output(family) => outputs.insert((family, id)),
            };
        }
    }
    let mut line = Vec::new();
    let mut print = |entry: &Entry<'_>, missing: Option<(Family, &str)>| {
        line.clear();
        match missing {
            None => print::push(entry, &mut line),
            Some((family, id)) => push_missing(entry, family, id, &mut line),
        }
        show(&line);
    };
    for entry in history {
        match side_of(entry) {
            Some((Side::Output(family), Some(id))) if !is_server(entry) => {
                if calls.contains(&(family, id)) {
                    print(entry, None);
                }
            }
            Some((Side::Call(family), Some(id))) => {
                print(entry, None);
                let key = (family, id);
                if !outputs.contains(&key) {
                    print(entry, Some((family, &key.1)));
                }
            }
            Some(_) | None => print(entry, None),
        }
    }
}

/// What an entry is to the rule, and the id of its call.
fn side_of<'r>(entry: &Entry<'r>) -> Option<(Side, Option<Cow<'r, str>>)> {
    match entry {
        Entry::Stored(kind, item) | Entry::Output(kind, item) => {
            Side::of(*kind).map(|side| (side, item.get("call_id").and_then(Value::as_str)))
        }
        Entry::Cut(..) | Entry::Prompt(..) | Entry::Communication(_) => None,
    }
}

/// Tells whether an output needs no call, because the server searched.
fn is_server(entry: &Entry<'_>) -> bool {
    matches!(entry, Entry::Stored(Kind::ToolSearchOutput, item) if item.get("execution").is_some_and(|execution| execution.is_str("server")))
}

/// Writes the output of a call that has none.
fn push_missing(call: &Entry<'_>, family: Family, call_id: &str, out: &mut Vec<u8>) {
    let (kind, prefix) = match family {
        Family::Function => (Kind::FunctionCallOutput, "fco"),
        Family::Custom => (Kind::CustomToolCallOutput, "ctco"),
        Family::ToolSearch => (Kind::ToolSearchOutput, "tso"),
    };
    let id = match call {
        Entry::Stored(_, item) | Entry::Output(_, item) => item.get("id").and_then(Value::as_str).filter(|id| !id.is_empty()),
        Entry::Cut(..) | Entry::Prompt(..) | Entry::Communication(_) => None,
    };
    let mut object = Object::new(out);
    object.text("type", kind.name());
    if let Some(id) = id {
        object.text("id", &format!("{prefix}_{}", derived_id(&format!("{prefix}:{id}"))));
    }
    object.text("call_id", call_id);
    if family == Family::ToolSearch {
        object.text("status", "completed");
        object.text("execution", "client");
        object.value("tools", Value::EMPTY_ARRAY);
    } else {
        object.text("output", "aborted");
    }
    object.close();
}

/// The UUID of version 5 for a name.
fn derived_id(name: &str) -> Uuid {
    let hash = Sha1::new().chain_update(NAMESPACE).chain_update(name).finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash[..16]);
    Builder::from_sha1_bytes(bytes).into_uuid()
}
