//! Whether one log contains another: every message, turn, run, custom entry,
//! compaction, summary, label and damage of the old stands in the new.

use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, Hasher};

use crate::model::event::{Damage, EventKind, EventRef};
use crate::model::ids::Seq;
use crate::model::stream::{LogAccess, ReadAt, StreamError};

use super::view::LogView;

/// What an old log has and a new one lacks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Missing {
    /// How many messages.
    pub messages: u64,
    /// How many other facts.
    pub others: u64,
}

impl Missing {
    /// Tells whether nothing is missing.
    #[must_use]
    pub fn is_nothing(self) -> bool {
        self == Missing::default()
    }
}

/// Counts what `old` has and `new` lacks.
///
/// # Errors
/// When either cannot be read.
pub fn missing<A: ReadAt, B: ReadAt>(old: &mut LogView<A>, new: &mut LogView<B>) -> Result<Missing, StreamError> {
    let mut lacking = Missing::default();
    let mut seq = Seq::ROOT.next();
    // The usual case is growth: the old events are a prefix of the new ones.
    while seq <= old.last() && seq <= new.last() && counted(old.kind(seq)) == counted(new.kind(seq)) {
        if counted(old.kind(seq)) && identity(&old.event(seq)?) != identity(&new.event(seq)?) {
            break;
        }
        seq = seq.next();
    }
    let rest = (seq.number()..=old.last().number()).map(Seq::new).any(|seq| counted(old.kind(seq)));
    if !rest {
        return Ok(lacking);
    }
    let mut have: HashMap<u64, u64, FixedState> = HashMap::default();
    for number in 1..=new.last().number() {
        let seq = Seq::new(number);
        if counted(new.kind(seq)) {
            *have.entry(identity(&new.event(seq)?)).or_default() += 1;
        }
    }
    for number in 1..=old.last().number() {
        let seq = Seq::new(number);
        if !counted(old.kind(seq)) {
            continue;
        }
        let event = old.event(seq)?;
        match have.get_mut(&identity(&event)) {
            Some(left) if *left > 0 => *left -= 1,
            _ if event.kind == EventKind::Message => lacking.messages += 1,
            _ => lacking.others += 1,
        }
    }
    Ok(lacking)
}

/// Tells whether losing such an event would be a loss.
fn counted(kind: EventKind) -> bool {
    match kind {
        EventKind::Message
        | EventKind::Turn
        | EventKind::Run
        | EventKind::Custom
        | EventKind::Compaction
        | EventKind::BranchSummary
        | EventKind::Label
        | EventKind::Damage => true,
        EventKind::Repeat
        | EventKind::Session
        | EventKind::Head
        | EventKind::Outcome
        | EventKind::Edit
        | EventKind::Hide
        | EventKind::ModelChange
        | EventKind::SettingChange
        | EventKind::Usage
        | EventKind::Meta
        | EventKind::Row
        | EventKind::Checkpoint
        | EventKind::Shapes
        | EventKind::Residual
        | EventKind::File
        | EventKind::Seal
        | EventKind::Unknown => false,
    }
}

/// Members that say where something stands in this log and not what it is:
/// numbers of other events, which shift when something comes before them, and
/// the number of a shape.
const PLACES: &[&str] = &["first_kept", "from", "target", "shape"];

/// Returns what makes an event the same in two logs: of a message role, content and
/// time; of damage its bytes; of anything else all it says but the numbers by
/// which it names other events.
pub(super) fn identity(event: &EventRef<'_>) -> u64 {
    let mut state = FixedState::with_seed(0).build_hasher();
    identify(event, &mut state);
    state.finish()
}

/// Hashes what makes an event the same in two logs, as `identity` does, with a
/// hash of the caller's choice: one log may be of somebody who looks for two
/// events with the same short hash.
pub fn identify(event: &EventRef<'_>, state: &mut impl Hasher) {
    if event.kind == EventKind::Message {
        let mut role: &[u8] = b"";
        let mut content: &[u8] = b"";
        for member in event.value().members().take(3) {
            match member.name().as_ref() {
                "role" => role = member.value().text(),
                // Older logs have the source's word in the place of the role. What answers a
                // call is a tool in all logs.
                "source_role" if role != b"\"tool\"" => role = member.value().text(),
                "content" => content = member.value().text(),
                _ => {}
            }
        }
        return (event.ts, role, content).hash(state);
    }
    if event.kind == EventKind::Damage
        && let Ok(damage) = serde_json::from_slice::<Damage>(event.payload)
    {
        // Older logs write runs of zero bytes out.
        return damage.bytes().hash(state);
    }
    if event.kind == EventKind::Run {
        let (before, after) = around_node(event.payload);
        return (event.kind, event.ts, before, after).hash(state);
    }
    let places: &[&str] = match event.kind {
        EventKind::Compaction | EventKind::BranchSummary | EventKind::Label | EventKind::Custom | EventKind::Edit => PLACES,
        EventKind::Head => &["node"],
        EventKind::Message
        | EventKind::Damage
        | EventKind::Run
        | EventKind::Turn
        | EventKind::Repeat
        | EventKind::Session
        | EventKind::Outcome
        | EventKind::Hide
        | EventKind::ModelChange
        | EventKind::SettingChange
        | EventKind::Usage
        | EventKind::Meta
        | EventKind::Row
        | EventKind::Checkpoint
        | EventKind::Shapes
        | EventKind::Residual
        | EventKind::File
        | EventKind::Seal
        | EventKind::Unknown => return (event.kind, event.ts, event.payload).hash(state),
    };
    (event.kind, event.ts).hash(state);
    for member in event.value().members().filter(|member| !places.contains(&member.name().as_ref())) {
        (member.key(), member.value().text()).hash(state);
    }
}

/// Returns a run's payload without the number of the node that stands for a transcript:
/// the messages on its path are nodes themselves.
fn around_node(payload: &[u8]) -> (&[u8], &[u8]) {
    // Inside a string the quotes would be escaped.
    const MARK: &[u8] = b"{\"$path\":";
    let Some(at) = memchr::memmem::find(payload, MARK) else { return (payload, b"") };
    let (before, rest) = payload.split_at(at + MARK.len());
    let digits = rest.iter().take_while(|b| b.is_ascii_digit()).count();
    (before, &rest[digits..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::LogWriter;
    use crate::model::event::{Body, Draft};
    use crate::model::stream::EventSink;

    fn log(nodes: &[(EventKind, &str)]) -> LogView<Vec<u8>> {
        let mut writer = LogWriter::new(Vec::new());
        let session = br#"{"version":1,"kind":"session","format":"none","id":"s"}"#;
        let mut put = |parent, kind, payload| writer.put(Draft { ts: None, parent, body: Body::Json(kind, payload) }).unwrap();
        put(None, EventKind::Session, &session[..]);
        let mut parent = Seq::ROOT;
        for (kind, payload) in nodes {
            parent = put(Some(parent), *kind, payload.as_bytes());
        }
        LogView::open(writer.finish().unwrap().0).unwrap()
    }

    #[test]
    fn a_run_is_the_same_wherever_its_transcript_stands_now() {
        let run = |node: u32, model: &str| {
            let payload = format!(
                r#"{{"source_id":2,"event":"done","data":{{"session":{{"messages":{{"$path":{node},"as":"sent"}},"model":"{model}"}}}}}}"#
            );
            log(&[(EventKind::Message, r#"{"role":"user","content":[]}"#), (EventKind::Run, &payload)])
        };
        assert!(missing(&mut run(2, "m"), &mut run(17, "m")).unwrap().is_nothing());
        assert_eq!(missing(&mut run(2, "m"), &mut run(2, "n")).unwrap(), Missing { messages: 0, others: 1 });
    }

    #[test]
    fn a_node_is_the_same_wherever_what_it_names_stands_now() {
        const MESSAGE: (EventKind, &str) = (EventKind::Message, r#"{"role":"user","content":[],"source_id":"a"}"#);
        let mut old = log(&[
            MESSAGE,
            (EventKind::Label, r#"{"source_id":"l","target":2,"label":"x"}"#),
            (EventKind::BranchSummary, r#"{"source_id":"b","summary":"s","from":2}"#),
            (EventKind::Compaction, r#"{"source_id":"c","summary":"s","first_kept":2}"#),
            (EventKind::Custom, r#"{"custom_type":"t","data":{"target":1}}"#),
        ]);
        let healed = |summary: &str, data: &str| {
            log(&[
                (EventKind::Message, r#"{"role":"user","content":["earlier"]}"#),
                MESSAGE,
                (EventKind::Label, r#"{"source_id":"l","target":3,"label":"x"}"#),
                (EventKind::BranchSummary, r#"{"source_id":"b","summary":"s","from":3}"#),
                (EventKind::Compaction, &format!(r#"{{"source_id":"c","summary":"{summary}","first_kept":3}}"#)),
                (EventKind::Custom, &format!(r#"{{"custom_type":"t","data":{{"target":{data}}},"shape":1}}"#)),
            ])
        };
        assert!(missing(&mut old, &mut healed("s", "1")).unwrap().is_nothing());
        assert_eq!(missing(&mut old, &mut healed("other", "2")).unwrap(), Missing { messages: 0, others: 2 });
    }
}
