//! Events that a checkpoint has made superfluous: the program drops them itself
//! since 0.34, and older logs keep them for ever.

use crate::adapters::maintenance::Maintenance;
use crate::json::{self, Dialect, Member, Value};
use crate::model::digest::sha256_hex;
use crate::model::files::RelPath;
use crate::model::folder::{FolderView, ListedKind};
use crate::model::jsonl::{Lines, Newlines};
use crate::model::retention::{Completion, Due, Edit, Prunable, Removal, RetentionContext, Rule, Share, Stay, StayCode, iso_to_ns};

use crate::adapters::gptme::layout::TRANSCRIPT;

const EVENTS: &str = "events.jsonl";
const LOCK: &str = ".events.jsonl.lock";

/// Retention of gptme event logs.
pub(super) struct GptmeMaintenance;

impl Maintenance for GptmeMaintenance {
    fn format(&self) -> &'static str {
        "gptme"
    }

    fn retention_rules(&self) -> &'static [Rule] {
        &[Rule::EventLog]
    }

    fn retention(&self, folder: &FolderView<'_>, _: &RetentionContext<'_>) -> Vec<Prunable> {
        items(folder)
    }

    fn can_prune(&self, rule: Rule, path: &str, _old: &[u8]) -> bool {
        rule == Rule::EventLog && is_event_log(path)
    }
}

/// Returns the event logs of a conversation.
fn items(folder: &FolderView<'_>) -> Vec<Prunable> {
    let files = folder.entries().filter(|(_, entry)| entry.kind == ListedKind::File);
    let names = files.filter_map(|(path, _)| std::str::from_utf8(path).ok());
    names.filter(|path| is_event_log(path)).filter_map(|path| item(path, &folder.all_bytes(path), folder)).collect()
}

fn is_event_log(path: &str) -> bool {
    matches!(path.split('/').collect::<Vec<_>>().as_slice(), [EVENTS] | ["branches", _, EVENTS])
}

/// An event that was read: where it stands, its number and its time.
struct Event<'a> {
    range: std::ops::Range<usize>,
    seq: u64,
    time: Option<i64>,
    members: Vec<Member<'a>>,
}

impl<'a> Event<'a> {
    fn of(line: crate::model::jsonl::Line<'a>) -> Option<Event<'a>> {
        let mut members = Vec::new();
        json::scan_object(line.text, Dialect::Python, &mut members).ok()?;
        let seq = get(&members, "seq").and_then(Value::parse)?;
        let time = get(&members, "ts").and_then(Value::as_str).and_then(|ts| iso_to_ns(&ts));
        Some(Event { range: line.offset..line.offset + line.text.len() + line.end.len(), seq, time, members })
    }

    /// Tells whether everything before it can be done without: replay begins here.
    fn is_checkpoint(&self) -> bool {
        let is_type = get(&self.members, "type").is_some_and(|word| word.is_str("checkpoint"));
        let messages = get(&self.members, "payload").and_then(|payload| payload.get("messages"));
        is_type && messages.is_some_and(Value::is_array)
    }
}

/// Returns a member's value; of equal keys the last.
fn get<'a>(members: &[Member<'a>], key: &str) -> Option<Value<'a>> {
    members.iter().rev().find(|member| member.is(key)).map(Member::value)
}

fn item(path: &str, bytes: &[u8], folder: &FolderView<'_>) -> Option<Prunable> {
    let events: Vec<Event<'_>> = Lines::new(bytes, Newlines::LineFeed).filter_map(Event::of).collect();
    let checkpoint = events.iter().rposition(Event::is_checkpoint);
    let before: Vec<&Event<'_>> = match checkpoint {
        Some(at) => events[..at].iter().filter(|event| event.seq < events[at].seq).collect(),
        None => events.iter().collect(),
    };
    if before.is_empty() {
        return None;
    }
    let standing = match checkpoint {
        None => Err(Stay::new(StayCode::NotEnded, "no checkpoint follows them yet")),
        Some(_) if folder.get(TRANSCRIPT).is_none() => Err(Stay::new(StayCode::Unsettled, "the conversation itself is gone")),
        Some(_) => Ok(Completion::By("a later checkpoint has what they come to, and the conversation is there")),
    };
    let edits: Vec<Edit> = before.iter().map(|event| Edit::cut(event.range.clone())).collect();
    let lock = path.strip_suffix(EVENTS).map(|folder| RelPath::new(format!("{folder}{LOCK}")));
    let share = Share {
        file: RelPath::new(path),
        bytes: edits.iter().map(|edit| edit.to - edit.from).sum(),
        removal: Removal::Bytes { edits, sha256: sha256_hex(bytes) },
        writer: None,
        lock,
    };
    let own_ns = before.iter().filter_map(|event| event.time).max();
    let (name, parts) = (format!("{}/{path}", folder.path()), before.len() as u64);
    Some(Prunable { rule: Rule::EventLog, name, parts, shares: vec![share], own_ns, due: Due::ByPolicy, standing })
}
