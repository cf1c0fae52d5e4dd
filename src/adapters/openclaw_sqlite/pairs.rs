//! What a reset keeps of the entries before it: what the user and the model said, and
//! the results of calls that were made among it.

use std::collections::HashMap;

use crate::adapters::kit::entries::records::Record;
use crate::adapters::kit::entries::schema::Entry;
use crate::adapters::kit::tree::entry::{get, with_members};
use crate::json::{self, Kind};
use crate::runtimes::javascript as js;

/// The entries among these that are kept.
pub(super) fn said(entries_kept: &[usize], entries: &[Entry<'_>]) -> Vec<usize> {
    // Calls that wait for their results, by id: those of the last answer with calls.
    let mut waiting: HashMap<Vec<u8>, usize> = HashMap::new();
    let is_said = |n: &usize| match entries[*n].kind {
        Record::AssistantMessage => {
            let calls = calls_of(&entries[*n]);
            if !calls.is_empty() {
                waiting.clear();
                for call in calls {
                    *waiting.entry(call).or_default() += 1;
                }
            }
            true
        }
        Record::ResultMessage => {
            let of = answered(&entries[*n]);
            let claimed = of.and_then(|id| waiting.get_mut(&id)).filter(|open| **open > 0);
            claimed.map(|open| *open -= 1).is_some()
        }
        Record::UserMessage => has_role(&entries[*n], "user"),
        Record::Header
        | Record::ShellMessage
        | Record::CustomMessage
        | Record::Thinking
        | Record::Model
        | Record::Compaction
        | Record::Reset
        | Record::BranchSummary
        | Record::Custom
        | Record::Label
        | Record::Info
        | Record::Usage
        | Record::Edit
        | Record::Whole => false,
    };
    entries_kept.iter().copied().filter(is_said).collect()
}

fn has_role(entry: &Entry<'_>, role: &str) -> bool {
    of_message(entry, "role").is_some_and(|value| js::is_text(&value[..], role))
}

fn of_message(entry: &Entry<'_>, name: &str) -> Option<Vec<u8>> {
    with_members(entry, |members| {
        let message = get(members, "message").filter(|message| json::kind_of(message) == Kind::Object)?;
        json::members(message).filter(|member| member.name() == name).last().map(|member| member.value.to_vec())
    })
}

fn calls_of(entry: &Entry<'_>) -> Vec<Vec<u8>> {
    let Some(content) = of_message(entry, "content").filter(|content| json::kind_of(content) == Kind::Array) else { return Vec::new() };
    let id_of = |part: &[u8]| {
        let members = json::all_members(part);
        let is_call =
            get(&members, "type").is_some_and(|kind| ["toolCall", "toolUse", "functionCall"].iter().any(|name| js::is_text(kind, name)));
        let id = get(&members, "id").filter(|id| is_call && json::kind_of(id) == Kind::String)?;
        Some(js::decode(id).into_owned()).filter(|id| !id.is_empty())
    };
    json::elements(&content).filter(|part| json::kind_of(part) == Kind::Object).filter_map(id_of).collect()
}

fn answered(entry: &Entry<'_>) -> Option<Vec<u8>> {
    let id = of_message(entry, "toolCallId").filter(|id| json::kind_of(id) == Kind::String)?;
    Some(js::trim(&js::decode(&id)).to_vec()).filter(|id| !id.is_empty())
}
