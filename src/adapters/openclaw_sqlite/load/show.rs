//! Entries as the messages that the program makes of them.

use crate::runtimes::javascript::{Numbers, Type, Value, parse_date, push_printed_raw};

use super::entry::Kind;

/// An entry's time in milliseconds; none where the text is not a time, or is missing.
pub fn time(event: Value<'_>) -> Option<i64> {
    parse_date(&event.get("timestamp").lossy()?)
}

/// The message in place of what a compaction leaves out.
pub fn summary(event: Value<'_>) -> Vec<u8> {
    made("compactionSummary", &["summary", "tokensBefore"], event)
}

/// Where an entry stands: what is kept from before a boundary has lost the state that a
/// provider left with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stands {
    /// Before the last compaction or reset.
    Before,
    /// After it, or there is none.
    After,
}

/// The message of an entry; nothing where it has none.
pub fn entry(kind: Kind, event: Value<'_>, stands: Stands) -> Option<Vec<u8>> {
    match kind {
        Kind::Message => message(event.get("message"), stands),
        Kind::CustomMessage => Some(made("custom", &["customType", "content", "display", "details"], event)),
        Kind::BranchSummary => event.get("summary").is_truthy().then(|| made("branchSummary", &["summary", "fromId"], event)),
        Kind::ThinkingLevel
        | Kind::Model
        | Kind::Compaction
        | Kind::Reset
        | Kind::Custom
        | Kind::Label
        | Kind::SessionInfo
        | Kind::Leaf
        | Kind::Linked
        | Kind::Nothing => None,
    }
}

fn message(message: Value<'_>, stands: Stands) -> Option<Vec<u8>> {
    let [role, left_out, replay, custom] = message.get_all(["role", "excludeFromContext", "providerReplay", "customType"]);
    if left_out.token() == b"true" {
        return None;
    }
    let is_stale = stands == Stands::Before && role.is("assistant") && is_checkpoint(replay);
    let is_hook = role.is("custom") && custom.is_undefined();
    let mut line = Vec::new();
    if !is_stale && !is_hook {
        push_printed_raw(message.token(), Numbers::Kept, &mut line);
        return Some(line);
    }
    line.push(b'{');
    for member in message.members().filter(|member| !(is_stale && member.name() == "providerReplay")) {
        if line.len() > 1 {
            line.push(b',');
        }
        push_printed_raw(member.key(), Numbers::Kept, &mut line);
        line.push(b':');
        push_printed_raw(member.value(), Numbers::Kept, &mut line);
    }
    if is_hook {
        line.extend_from_slice(b",\"customType\":\"hook\"");
    }
    line.push(b'}');
    Some(line)
}

fn is_checkpoint(replay: Value<'_>) -> bool {
    let kind = replay.get("type");
    let kinds = ["openai-responses-compaction", "openai-responses-retained-compaction", "anthropic-compaction"];
    replay.type_of() == Type::Object && kinds.iter().any(|name| kind.is(name))
}

/// A message that the program makes of an entry's members.
fn made(role: &str, names: &[&str], event: Value<'_>) -> Vec<u8> {
    let mut line = format!("{{\"role\":\"{role}\"").into_bytes();
    for name in names {
        let value = event.get(name);
        if !value.is_undefined() {
            line.extend_from_slice(format!(",\"{name}\":").as_bytes());
            push_printed_raw(value.token(), Numbers::Kept, &mut line);
        }
    }
    line.extend_from_slice(format!(",\"timestamp\":{}}}", time(event).unwrap_or_default()).as_bytes());
    line
}
