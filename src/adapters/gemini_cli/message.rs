//! A message, or a turn of a saved chat, as a payload in the log's form, and
//! back to the record that it was.

use std::borrow::Cow;

use crate::adapters::kit::mapping::{self, Claim, NoIds, ParentId, Parents, Rendered, Setting, Table, has_a_name_twice};
use crate::adapters::kit::words::{SYSTEM, TOOL, USER};
use crate::json::{self, Escapes, Kind, Member, Style};
use crate::model::ids::Seq;
use crate::model::shape::Shapes;
use crate::runtimes::javascript::decode_utf8;

use super::content::{MessageContent, TURN_MARK, Usual};
use super::fields::{last_of_each, member};
use super::schema::{MESSAGE, MESSAGE_ORDER, MESSAGE_ROLES, TURN, TURN_ROLES};

/// Which record a message is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordKind {
    /// A message of a session.
    Message,
    /// A turn of a saved chat.
    Turn,
}

impl RecordKind {
    /// Tells what a payload is made of.
    pub(super) fn of_payload(payload: &[u8]) -> RecordKind {
        let is_turn = member(payload, "ext").and_then(|ext| member(ext, TURN_MARK)).is_some();
        if is_turn { RecordKind::Turn } else { RecordKind::Message }
    }

    fn table(self) -> &'static Table {
        match self {
            RecordKind::Message => &MESSAGE,
            RecordKind::Turn => &TURN,
        }
    }

    /// What the content of such a record usually is, in a message with this role.
    fn usual(self, role: &[u8]) -> Usual {
        match self {
            RecordKind::Message => Usual::of_role(role),
            RecordKind::Turn => Usual::Turn,
        }
    }
}

/// Who sees a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
    /// Everybody whom the program lets see it.
    Shown,
    /// The program's loader leaves it out, and why.
    Hidden(&'static str),
}

/// A payload, and the time beside it.
#[derive(Debug, Default)]
pub(super) struct Normal {
    /// Empty where there is none.
    pub ts: String,
    /// Whole, and without the number of a shape.
    pub payload: Vec<u8>,
}

impl Normal {
    /// Makes the payload of a record, which is an object. Returns the number of
    /// the shape that renders it.
    pub(super) fn of(record: &[u8], kind: RecordKind, sight: Sight, writer: Escapes, shapes: &mut Shapes) -> (Normal, usize) {
        let record = decode_utf8(record);
        let all = json::all_members(&record);
        let members: Cow<'_, [Member<'_>]> = if has_a_name_twice(&all) { last_of_each(&all).into() } else { all.into() };
        let mut normal = Normal::default();
        let setting = Setting { writer, parent: ParentId::Unwritten };
        let table = kind.table();
        // No object is opened, so it can always be claim apart.
        let Some(mut claim) = table.claim(&members, setting, &NoIds) else { return (normal, 0) };
        normal.ts = claim.ts.unwrap_or_default().to_owned();
        let role = say_role(&mut claim, kind, &members);
        let hides_from_model = kind == RecordKind::Message && role == b"\"system\"";
        match sight {
            Sight::Hidden(why) => claim.say("hidden", format!("{{\"from\":[\"loader\"],\"why\":\"{why}\"}}").into_bytes()),
            Sight::Shown if hides_from_model => {
                claim.say("hidden", b"{\"from\":[\"model\"],\"why\":\"a notice of the program\"}".to_vec());
            }
            Sight::Shown => {}
        }
        let shape = claim.shape(table, &members, shapes);
        let content = MessageContent(kind.usual(&role));
        claim.push_payload(MESSAGE_ORDER, &content, table, 0, writer, &mut normal.payload);
        (normal, shape)
    }

    /// Returns the payload with the number of its shape, where it has one.
    pub(super) fn with_shape(&self, shape: usize) -> Cow<'_, [u8]> {
        if shape == 0 {
            return Cow::Borrowed(&self.payload);
        }
        let mut payload = self.payload[..self.payload.len() - 1].to_vec();
        payload.extend_from_slice(format!(",\"shape\":{shape}}}").as_bytes());
        Cow::Owned(payload)
    }
}

/// Says the role in the log's words, and returns it. The program's own word
/// stands beside it where it is not the usual one for that role.
fn say_role(claim: &mut Claim<'_>, kind: RecordKind, members: &[Member<'_>]) -> Vec<u8> {
    let (name, content, roles) = match kind {
        RecordKind::Message => ("type", "content", &MESSAGE_ROLES),
        RecordKind::Turn => ("role", "parts", &TURN_ROLES),
    };
    let find = |name: &str| members.iter().find(|member| member.is(name)).map(|member| member.value);
    let answers = || find(content).is_some_and(is_only_responses);
    match claim.member("role") {
        Some(USER) if answers() => {
            claim.choose(roles, TOOL);
            TOOL.to_vec()
        }
        Some(role) => role.to_vec(),
        None => {
            match find(name) {
                Some(_) => claim.say("role", SYSTEM.to_vec()),
                None => claim.supply("role", name, SYSTEM.to_vec()),
            }
            SYSTEM.to_vec()
        }
    }
}

/// Tells whether a content is nothing but answers of tools.
fn is_only_responses(content: &[u8]) -> bool {
    json::kind_of(content) == Kind::Array
        && json::elements(content).next().is_some()
        && json::elements(content).all(|part| member(part, "functionResponse").is_some())
}

/// Renders a payload as the record that it was. `None` where it names a shape
/// that the log does not list.
pub(super) fn render(
    payload: &[u8],
    ts: Option<&str>,
    kind: RecordKind,
    shapes: &Shapes,
    (style, depth): (Style, usize),
    out: &mut Vec<u8>,
) -> Option<()> {
    let role = member(payload, "role").unwrap_or_default();
    let event = Rendered { payload, ts, parent: Seq::ROOT, parents: Parents::Unwritten };
    let content = MessageContent(kind.usual(role));
    kind.table().render(&event, shapes, &content, &mut NoIds, mapping::To { style, depth, out })
}
