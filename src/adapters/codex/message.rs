//! Items as messages of the log, and back.

use std::borrow::Cow;

use crate::adapters::kit::mapping::{Claim, Content, NoIds, ParentId, Parents, Rendered, Setting, Table, To};
use crate::json::{self, Escapes, Member, Separators, Style};
use crate::model::ids::Seq;
use crate::model::shape::Shapes;

use super::content::{Call, Output, Reasoning, Texts, Whole};
use super::item::Item;
use super::members::{get, text};
use super::tables;

/// How Codex writes a line.
pub(super) const LINES: Style = Style { separators: Separators::Compact, escapes: Escapes::Utf8 };

/// How its first version wrote a document.
pub(super) const DOCUMENT: Style = Style { separators: Separators::Indented, escapes: Escapes::Utf8 };

/// How deep an item is in such a document.
pub(super) const DEPTH_IN_DOCUMENT: usize = 2;

/// The dialect of an item that its release shows as it is stored.
pub(super) const AS_STORED: &str = "\"as_stored\"";
/// The dialect of an item in a document of the first version.
pub(super) const IN_DOCUMENT: &str = "\"in_document\"";

/// The type of record of a message between agents.
pub(super) const AGENT_RECORD: &str = "\"inter_agent_communication\"";

/// A payload, and the number of the shape that it ends in.
pub(super) struct Drafted<'a> {
    pub payload: Vec<u8>,
    pub ts: Option<&'a str>,
    pub shape: usize,
}

/// Members that a message has besides its own.
pub(super) type Says = [(&'static str, &'static str)];

/// What an item is in the log: its tables, its content and its role.
struct Layout {
    item: Option<&'static Table>,
    record: &'static Table,
    content: &'static dyn Content,
    role: &'static str,
}

fn layout(item: Item, is_assistant: impl FnOnce() -> bool) -> Layout {
    let plain = |item, record, content, role| Layout { item: Some(item), record, content, role };
    match item {
        Item::Message if is_assistant() => plain(&tables::MESSAGE, &tables::MESSAGE_RECORD, &Texts::Output, "\"assistant\""),
        Item::Message => plain(&tables::MESSAGE, &tables::MESSAGE_RECORD, &Texts::Input, "\"user\""),
        Item::Reasoning => plain(&tables::REASONING, &tables::REASONING_RECORD, &Reasoning, "\"assistant\""),
        Item::FunctionCall => plain(&tables::FUNCTION_CALL, &tables::FUNCTION_CALL_RECORD, &Call, "\"assistant\""),
        Item::CustomCall => plain(&tables::CUSTOM_CALL, &tables::CUSTOM_CALL_RECORD, &Call, "\"assistant\""),
        Item::ShellCall => plain(&tables::SHELL_CALL, &tables::SHELL_CALL_RECORD, &Call, "\"assistant\""),
        Item::FunctionOutput => plain(&tables::FUNCTION_OUTPUT, &tables::FUNCTION_OUTPUT_RECORD, &Output, "\"tool\""),
        Item::CustomOutput => plain(&tables::CUSTOM_OUTPUT, &tables::CUSTOM_OUTPUT_RECORD, &Output, "\"tool\""),
        Item::SearchOutput => Layout { item: None, record: &tables::WHOLE_RECORD, content: &Whole, role: "\"tool\"" },
        Item::SearchCall
        | Item::WebSearch
        | Item::ImageGeneration
        | Item::Compaction
        | Item::ContextCompaction
        | Item::AgentMessage
        | Item::AdditionalTools
        | Item::GhostSnapshot
        | Item::Unknown => Layout { item: None, record: &tables::WHOLE_RECORD, content: &Whole, role: "\"assistant\"" },
    }
}

/// Leaves of equal keys the last, which is the one that counts.
fn leave_last(members: &mut Vec<Member<'_>>) {
    let mut later = std::collections::HashSet::new();
    let is_last: Vec<bool> = members.iter().rev().map(|member| later.insert(member.name())).collect();
    let mut is_last = is_last.into_iter().rev();
    members.retain(|_| is_last.next().unwrap_or(true));
}

fn setting() -> Setting<'static> {
    Setting { writer: LINES.escapes, parent: ParentId::Unwritten }
}

/// The payload of a record with an item in it; `None` where its envelope is odd.
pub(super) fn draft_record<'a>(record: &'a [u8], item: Item, says: &Says, shapes: &mut Shapes) -> Option<Drafted<'a>> {
    let mut inner = Vec::new();
    let mut members = json::all_members_opening(record, "payload", &mut inner);
    leave_last(&mut members);
    leave_last(&mut inner);
    let about = inner.clone();
    let layout = layout(item, || text(&about, "role").as_deref() == Some("assistant"));
    let claim = match layout.item {
        Some(_) => layout.record.claim_opened(&members, inner, setting(), &NoIds)?,
        None => layout.record.claim(&members, setting(), &NoIds)?,
    };
    Some(drafted(claim, layout.record, &members, &layout, (item, &about), says, shapes))
}

/// The payload of an item by itself.
pub(super) fn draft_item<'a>(value: &'a [u8], item: Item, says: &Says, shapes: &mut Shapes) -> Option<Drafted<'a>> {
    let mut members = json::all_members(value);
    leave_last(&mut members);
    let layout = layout(item, || text(&members, "role").as_deref() == Some("assistant"));
    let about = members.clone();
    match layout.item {
        Some(table) => {
            let claim = table.claim(&members, setting(), &NoIds)?;
            Some(drafted(claim, table, &members, &layout, (item, &about), says, shapes))
        }
        None => {
            // As a record has it, without the record.
            let payload = [Member { key: b"\"payload\"", value }];
            let claim = tables::WHOLE_ITEM.claim(&payload, setting(), &NoIds)?;
            Some(drafted(claim, &tables::WHOLE_ITEM, &payload, &layout, (item, &about), says, shapes))
        }
    }
}

fn drafted<'a>(
    mut claim: Claim<'a>,
    table: &Table,
    members: &[Member<'a>],
    layout: &Layout,
    (item, about): (Item, &[Member<'a>]),
    says: &Says,
    shapes: &mut Shapes,
) -> Drafted<'a> {
    if item == Item::Message {
        if claim.member("role").is_none() {
            claim.say("role", layout.role.as_bytes().to_vec());
        }
    } else {
        claim.say("role", layout.role.as_bytes().to_vec());
        let mut name = Vec::new();
        // An item that is not as its type wants it is carried as it is.
        let known = get(about, "type").filter(|_| item != Item::Unknown).unwrap_or(b"\"other\"");
        json::push_carried_string(known, LINES.escapes, &mut name);
        claim.say("source_type", name);
    }
    for (name, value) in says {
        claim.say(name, value.as_bytes().to_vec());
    }
    let shape = claim.shape(table, members, shapes);
    let mut payload = Vec::new();
    claim.push_payload(tables::MESSAGE_ORDER, layout.content, table, shape, LINES.escapes, &mut payload);
    Drafted { payload, ts: claim.ts, shape }
}

/// The payload of a message between agents.
pub(super) fn draft_agent_record<'a>(record: &'a [u8], says: &Says, shapes: &mut Shapes) -> Option<Drafted<'a>> {
    let mut members = json::all_members(record);
    leave_last(&mut members);
    let mut claim = tables::AGENT_RECORD.claim(&members, setting(), &NoIds)?;
    claim.say("role", b"\"user\"".to_vec());
    claim.say("source_type", AGENT_RECORD.as_bytes().to_vec());
    for (name, value) in says {
        claim.say(name, value.as_bytes().to_vec());
    }
    let shape = claim.shape(&tables::AGENT_RECORD, &members, shapes);
    let mut payload = Vec::new();
    claim.push_payload(tables::MESSAGE_ORDER, &Whole, &tables::AGENT_RECORD, shape, LINES.escapes, &mut payload);
    Some(Drafted { payload, ts: claim.ts, shape })
}

/// The payload of a compaction, without its closing brace: how many events make its
/// list is said after it.
pub(super) fn draft_compaction<'a>(
    record: &'a [u8],
    shapes: &mut Shapes,
    says: &[(&'static str, String)],
    order: &[&'static str],
) -> Option<Drafted<'a>> {
    let mut inner = Vec::new();
    let mut members = json::all_members_opening(record, "payload", &mut inner);
    leave_last(&mut members);
    leave_last(&mut inner);
    let mut claim = tables::COMPACTED_RECORD.claim_opened(&members, inner, setting(), &NoIds)?;
    for (name, value) in says {
        claim.say(name, value.clone().into_bytes());
    }
    let shape = claim.shape(&tables::COMPACTED_RECORD, &members, shapes);
    let mut payload = Vec::new();
    claim.push_payload(order, &Whole, &tables::COMPACTED_RECORD, shape, LINES.escapes, &mut payload);
    Some(Drafted { payload, ts: claim.ts, shape })
}

/// The payload of any other record.
pub(super) fn draft_other<'a>(record: &'a [u8], says: &Says, shapes: &mut Shapes) -> Option<Drafted<'a>> {
    let mut members = json::all_members(record);
    leave_last(&mut members);
    let mut claim = tables::OTHER_RECORD.claim(&members, setting(), &NoIds)?;
    claim.member("custom_type")?;
    for (name, value) in says {
        claim.say(name, value.as_bytes().to_vec());
    }
    let shape = claim.shape(&tables::OTHER_RECORD, &members, shapes);
    let mut payload = Vec::new();
    claim.push_payload(tables::OTHER_ORDER, &Whole, &tables::OTHER_RECORD, shape, LINES.escapes, &mut payload);
    Some(Drafted { payload, ts: claim.ts, shape })
}

/// The payload of a record that no table fits.
pub(super) fn draft_whole(record: &[u8], says: &Says) -> Vec<u8> {
    let mut payload = b"{\"record\":".to_vec();
    json::push_carried_value(record.trim_ascii(), LINES.escapes, &mut payload);
    for (name, value) in says {
        payload.extend_from_slice(format!(",\"{name}\":{value}").as_bytes());
    }
    payload.push(b'}');
    payload
}

/// How a message is rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// In its envelope.
    Record,
    /// By itself.
    Item,
}

/// Renders a message as the record that it was. `None` where it names a shape that the
/// log does not have.
pub(super) fn render_message(
    payload: &[u8],
    given: &[Member<'_>],
    ts: Option<&str>,
    form: Form,
    shapes: &Shapes,
    to: To<'_>,
) -> Option<()> {
    let source_type = get(given, "source_type").map(json::unescape);
    let item = source_type.as_deref().map_or(Item::Message, Item::named);
    let layout = layout(item, || get(given, "role") == Some(b"\"assistant\""));
    let event = Rendered { payload, ts, parent: Seq::ROOT, parents: Parents::Unwritten };
    if form == Form::Record && get(given, "source_type") == Some(AGENT_RECORD.as_bytes()) {
        return tables::AGENT_RECORD.render_members(&event, given, shapes, &Whole, &mut NoIds, to);
    }
    match (form, layout.item) {
        (Form::Record, _) => layout.record.render_members(&event, given, shapes, layout.content, &mut NoIds, to),
        (Form::Item, Some(table)) => table.render_members(&event, given, shapes, layout.content, &mut NoIds, to),
        (Form::Item, None) => {
            let parts = get(given, "content").unwrap_or(b"[]");
            layout.content.decode("item", parts, &|_| false, to);
            Some(())
        }
    }
}

/// Renders any other record.
pub(super) fn render_other(payload: &[u8], given: &[Member<'_>], ts: Option<&str>, shapes: &Shapes, out: &mut Vec<u8>) -> Option<()> {
    if let Some(record) = get(given, "record") {
        LINES.push_value(record, out);
        return Some(());
    }
    let event = Rendered { payload, ts, parent: Seq::ROOT, parents: Parents::Unwritten };
    tables::OTHER_RECORD.render_members(&event, given, shapes, &Whole, &mut NoIds, To { style: LINES, depth: 0, out })
}

/// Renders a compaction, with what the events after it say.
pub(super) fn render_compaction(
    payload: &[u8],
    given: &[Member<'_>],
    ts: Option<&str>,
    after: Afterwards<'_>,
    shapes: &Shapes,
    out: &mut Vec<u8>,
) -> Option<()> {
    let mut given = given.to_vec();
    let mut said = Vec::new();
    match after {
        Afterwards::Items(items) => {
            said.push(b'[');
            for (n, item) in items.iter().enumerate() {
                if n > 0 {
                    said.push(b',');
                }
                json::push_carried_value(item.as_slice(), LINES.escapes, &mut said);
            }
            said.push(b']');
            given.push(Member { key: b"\"items\"", value: &said });
        }
        Afterwards::Summary(text) if get(&given, "summary").is_none() => {
            json::push_string(&text, &mut said);
            given.push(Member { key: b"\"summary\"", value: &said });
        }
        Afterwards::Summary(_) => {}
    }
    let event = Rendered { payload, ts, parent: Seq::ROOT, parents: Parents::Unwritten };
    tables::COMPACTED_RECORD.render_members(&event, &given, shapes, &Whole, &mut NoIds, To { style: LINES, depth: 0, out })
}

/// What the events after a compaction say of its record.
pub(super) enum Afterwards<'s> {
    /// The items of its list.
    Items(&'s [Vec<u8>]),
    /// Its summary.
    Summary(Cow<'s, str>),
}
