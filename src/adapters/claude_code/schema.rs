//! The records of a transcript: their keys, and the events that they become.

use std::borrow::Cow;
use std::rc::Rc;

use crate::adapters::kit::mapping::{Claim, Content, Parents, Table};
use crate::adapters::kit::tree::entry::get;
use crate::adapters::kit::tree::schema::{Judged, Keys, LineRule, RepeatedState, Surroundings, TreeSchema};
use crate::adapters::kit::words::{COMMON_ROLES, TOOL};
use crate::json::{self, Escapes, Kind, Member, Separators, Style};
use crate::model::event::EventKind;
use crate::model::ids::Seq;
use crate::runtimes::javascript as js;

use super::content;
use super::tables;

pub(super) const ID: &str = "claude-code";
pub(super) const PROGRAM: &str = "Claude Code";

/// The kinds of records that have a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Record {
    User,
    Assistant,
    /// A prompt that was typed while a turn ran.
    Queued,
    /// Where a compaction cut the conversation.
    Boundary,
    /// Context that the program added.
    Attachment,
    /// The shape of an API request: its prompt and tools.
    RequestShape,
    /// Anything else, carried as it is.
    Other,
}

/// What a record is to the loader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Node {
    User,
    Assistant,
    Progress,
    System,
    Attachment,
    /// Not a node of the tree.
    #[default]
    State,
}

/// What the loader's rules ask of a record besides its place.
#[derive(Debug, Clone, Default)]
pub(super) struct Traits {
    pub node: Node,
    pub is_sidechain: bool,
    pub has_team: bool,
    pub is_meta: bool,
    pub is_summary: bool,
    pub is_fork_briefing: bool,
    /// Whether it is a prompt that was typed while a turn ran, well-formed or not.
    pub is_queued: bool,
    /// The id of the API message that the record is a block of.
    pub message_id: Option<Vec<u8>>,
    /// How the record is shown; the reader fills it in.
    pub shown: Shown,
}

/// How a record is shown, where the record alone does not say.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Shown {
    pub way: Way,
    /// The subagent that wrote it, as the member of its event.
    pub agent: Option<Rc<str>>,
}

/// Whether and as what a record is shown.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Way {
    #[default]
    Plain,
    /// Not at all: context for the model, or no part of the main conversation.
    Hidden,
    /// As a prompt that was delivered while a turn ran.
    QueuedCommand,
    /// As a command that the program itself has answered.
    LocalCommand,
}

/// A transcript as the SDK reads it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Transcript;

const REQUEST: &str = "\"api-request-shape\"";
const HIDDEN: &str = "{\"from\":[\"display\"],\"why\":\"not shown by the program\"}";
const QUEUED_COMMAND: &str = "\"queued_command\"";
const LOCAL_COMMAND: &str = "\"local_command\"";

impl Shown {
    /// The members that an event has besides the record's own words.
    fn members(&self) -> Vec<(&'static str, String)> {
        let way = match self.way {
            Way::Plain => None,
            Way::Hidden => Some(("hidden", HIDDEN.to_owned())),
            Way::QueuedCommand => Some(("shown_as", QUEUED_COMMAND.to_owned())),
            Way::LocalCommand => Some(("shown_as", LOCAL_COMMAND.to_owned())),
        };
        way.into_iter().chain(self.agent.as_deref().map(|agent| ("agent", agent.to_owned()))).collect()
    }

    /// Reads what [`Shown::members`] gave.
    pub(super) fn of(payload: &[Member<'_>]) -> Shown {
        let member = |name: &str| payload.iter().find(|member| member.is(name)).map(|member| member.value);
        let way = match (member("hidden"), member("shown_as")) {
            (Some(hidden), _) if hidden == HIDDEN.as_bytes() => Way::Hidden,
            (_, Some(b"\"queued_command\"")) => Way::QueuedCommand,
            (_, Some(b"\"local_command\"")) => Way::LocalCommand,
            _ => Way::Plain,
        };
        Shown { way, agent: member("agent").map(|agent| Rc::from(String::from_utf8_lossy(agent))) }
    }
}

/// Types of state lines that are known.
pub(super) const KNOWN_TYPES: &[&str] = &[
    "summary",
    "custom-title",
    "agent-name",
    "tag",
    "last-prompt",
    "mode",
    "permission-mode",
    "queue-operation",
    "file-history-snapshot",
    "file-history-delta",
    "cost-state",
    "tools-used",
    "atis-latch",
    "ai-title",
    "api-request-shape",
    "api-request-blob",
    "api-request",
    "agent-color",
    "agent-setting",
    "relocated",
    "continued-in",
    "derived-from",
    "ended-by-model",
    "pr-link",
    "frame-link",
    "bridge-session",
    "history-suppression",
    "attribution-snapshot",
    "isolation-latch",
    "session-owner",
    "dev-mods",
    "memory-mode",
    "worktree-state",
    "content-replacement",
    "fork-context-ref",
    "observer-ref",
    "resume-head-vouch",
];

/// The value of a key where it is a string, decoded.
pub(super) fn text(members: &[Member<'_>], key: &str) -> Option<Vec<u8>> {
    get(members, key).filter(|value| json::kind_of(value) == Kind::String).map(|value| js::decode(value).into_owned())
}

/// Whether the value of a key counts as true.
pub(super) fn is_set(members: &[Member<'_>], key: &str) -> bool {
    get(members, key).is_some_and(js::is_truthy)
}

/// The members of the object under a key; none where it is not an object.
pub(super) fn inside<'a>(members: &[Member<'a>], key: &str) -> Vec<Member<'a>> {
    get(members, key).filter(|value| json::kind_of(value) == Kind::Object).map(json::all_members).unwrap_or_default()
}

fn node(members: &[Member<'_>]) -> Node {
    if text(members, "uuid").is_none() {
        return Node::State;
    }
    match text(members, "type").as_deref() {
        Some(b"user") => Node::User,
        Some(b"assistant") => Node::Assistant,
        Some(b"progress") => Node::Progress,
        Some(b"system") => Node::System,
        Some(b"attachment") => Node::Attachment,
        _ => Node::State,
    }
}

impl TreeSchema for Transcript {
    type Kind = Record;
    type Traits = Traits;

    const KEYS: Keys =
        Keys { id: "uuid", parent: "parentUuid", record_type: "type", time: "timestamp", message: "message", replacement: "" };
    const STYLE: Style = Style { separators: Separators::Compact, escapes: Escapes::Utf8 };
    const OTHER: Record = Record::Other;
    // Files may begin with state lines, which are below nothing.
    const PARENTS: Option<Parents> = Some(Parents::Written);
    const REPEATED_STATE: RepeatedState = RepeatedState::StoredOnce;

    fn line_rule(&self) -> LineRule {
        LineRule::AfterControlBytes
    }

    fn judge(&self, members: &[Member<'_>], of_message: &[Member<'_>]) -> Judged<Transcript> {
        let node = node(members);
        let attachment = if node == Node::Attachment { inside(members, "attachment") } else { Vec::new() };
        let attachment_type = text(&attachment, "type");
        let is_queued = attachment_type.as_deref() == Some(b"queued_command");
        let has_prompt =
            is_queued && get(&attachment, "prompt").is_some_and(|prompt| matches!(json::kind_of(prompt), Kind::String | Kind::Array));
        let kind = match node {
            Node::User => Record::User,
            Node::Assistant => Record::Assistant,
            Node::Attachment if has_prompt => Record::Queued,
            Node::System if text(members, "subtype").as_deref() == Some(b"compact_boundary") => Record::Boundary,
            Node::Attachment => Record::Attachment,
            Node::State if text(members, "type").as_deref() == Some(b"api-request-shape") => Record::RequestShape,
            Node::System | Node::Progress | Node::State => Record::Other,
        };
        let traits = Traits {
            node,
            is_sidechain: is_set(members, "isSidechain"),
            has_team: is_set(members, "teamName"),
            is_meta: is_set(members, "isMeta"),
            is_summary: is_set(members, "isCompactSummary"),
            is_fork_briefing: attachment_type.as_deref() == Some(b"fork_briefing"),
            is_queued,
            message_id: if node == Node::Assistant { text(of_message, "id") } else { None },
            shown: Shown::default(),
        };
        Judged { kind, traits }
    }

    fn is_record(&self, members: &[Member<'_>]) -> bool {
        let is_state = || text(members, "type").is_some_and(|name| KNOWN_TYPES.iter().any(|known| known.as_bytes() == name));
        (node(members) != Node::State && get(members, "parentUuid").is_some()) || (get(members, "sessionId").is_some() && is_state())
    }

    fn is_header(_: Record) -> bool {
        false
    }

    fn event_kind(kind: Record) -> EventKind {
        match kind {
            Record::User | Record::Assistant | Record::Queued => EventKind::Message,
            Record::Boundary => EventKind::Compaction,
            Record::Attachment | Record::RequestShape | Record::Other => EventKind::Custom,
        }
    }

    fn opened(kind: Record) -> &'static str {
        if kind == Record::Queued { "attachment" } else { "message" }
    }

    fn table(&self, kind: Record) -> Option<&'static Table> {
        match kind {
            Record::User => Some(&tables::USER_RECORD),
            Record::Assistant => Some(&tables::ASSISTANT_RECORD),
            Record::Queued => Some(&tables::QUEUED_RECORD),
            Record::Boundary => Some(&tables::BOUNDARY_RECORD),
            Record::Attachment => Some(&tables::ATTACHMENT_RECORD),
            Record::RequestShape => Some(&tables::REQUEST_SHAPE),
            Record::Other => None,
        }
    }

    fn payload_order(kind: EventKind) -> &'static [&'static str] {
        if kind == EventKind::Message { tables::MESSAGE } else { tables::OTHER }
    }

    fn content() -> &'static dyn Content {
        &content::Blocks
    }

    fn complete(&self, kind: Record, traits: &Traits, claim: &mut Claim<'_>, around: &Surroundings<'_>) -> Option<()> {
        match kind {
            Record::User | Record::Assistant => {
                let own: &'static [u8] = if kind == Record::User { b"\"user\"" } else { b"\"assistant\"" };
                match claim.member("role") {
                    None => claim.supply("role", "role", own.to_vec()),
                    Some(b"\"user\"") if kind == Record::User && has_results(around.members) => claim.choose(&COMMON_ROLES, TOOL),
                    Some(role) if role == own => {}
                    // The record's type decides which table it has.
                    Some(_) => claim.choose(&COMMON_ROLES, own),
                }
            }
            Record::Queued => {
                claim.say("role", b"\"user\"".to_vec());
                claim.say("source_type", b"\"attachment\"".to_vec());
            }
            Record::Boundary => {
                let about = inside(around.members, "compactMetadata");
                let tokens = get(&about, "preTokens").filter(|tokens| json::kind_of(tokens) == Kind::Number);
                claim.say("tokens_before", tokens.unwrap_or(b"null").to_vec());
            }
            Record::Attachment => {
                let attachment = inside(around.members, "attachment");
                let name = get(&attachment, "type").filter(|name| json::kind_of(name) == Kind::String && *name != REQUEST.as_bytes())?;
                claim.say("custom_type", carried(name));
            }
            Record::RequestShape => claim.say("custom_type", REQUEST.as_bytes().to_vec()),
            Record::Other => {}
        }
        if Transcript::event_kind(kind) == EventKind::Message {
            for (name, value) in traits.shown.members() {
                claim.say(name, value.into_bytes());
            }
        }
        Some(())
    }

    fn frame(&self, traits: &Traits, _: &[Member<'_>]) -> (Cow<'static, str>, Cow<'static, str>) {
        (Cow::Borrowed(""), Cow::Owned(self.unwritten(traits)))
    }

    fn unwritten(&self, traits: &Traits) -> String {
        traits.shown.members().iter().map(|(name, value)| format!(",\"{name}\":{value}")).collect()
    }

    fn of_event(&self, kind: EventKind, _: Option<Seq>, members: &[Member<'_>]) -> Option<(Record, Transcript)> {
        let member = |name: &str| members.iter().find(|member| member.is(name)).map(|member| member.value);
        let record = match kind {
            EventKind::Message if member("source_type").is_some() => Record::Queued,
            EventKind::Message if member("role") == Some(b"\"assistant\"") => Record::Assistant,
            EventKind::Message => Record::User,
            EventKind::Compaction => Record::Boundary,
            EventKind::Custom if member("record").is_some() => Record::Other,
            EventKind::Custom if member("custom_type") == Some(REQUEST.as_bytes()) => Record::RequestShape,
            EventKind::Custom if member("custom_type").is_some() => Record::Attachment,
            EventKind::Custom
            | EventKind::Meta
            | EventKind::SettingChange
            | EventKind::ModelChange
            | EventKind::BranchSummary
            | EventKind::Label
            | EventKind::Usage
            | EventKind::Edit
            | EventKind::Repeat
            | EventKind::Session
            | EventKind::Head
            | EventKind::Outcome
            | EventKind::Hide
            | EventKind::Turn
            | EventKind::Run
            | EventKind::Row
            | EventKind::Checkpoint
            | EventKind::Damage
            | EventKind::Shapes
            | EventKind::Residual
            | EventKind::File
            | EventKind::Seal
            | EventKind::Unknown => return None,
        };
        Some((record, *self))
    }
}

/// A string in the log's form.
fn carried(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    json::push_carried_string(text, Transcript::STYLE.escapes, &mut out);
    out
}

/// Whether a user record carries results of tools.
pub(super) fn has_results(members: &[Member<'_>]) -> bool {
    let message = inside(members, "message");
    let blocks = get(&message, "content").filter(|content| json::kind_of(content) == Kind::Array);
    blocks.is_some_and(|blocks| json::elements(blocks).any(|block| is_of_type(block, "tool_result")))
}

/// The ids in the blocks of this type.
pub(super) fn ids_of(members: &[Member<'_>], block_type: &str, key: &str) -> Vec<Vec<u8>> {
    let message = inside(members, "message");
    let Some(blocks) = get(&message, "content").filter(|content| json::kind_of(content) == Kind::Array) else { return Vec::new() };
    let blocks = json::elements(blocks).filter(|block| is_of_type(block, block_type));
    blocks.filter_map(|block| text(&json::all_members(block), key)).collect()
}

/// Whether a value is an id as the loader lets them through: letters, digits and these
/// signs, 128 at the most.
pub(super) fn is_id(value: &[u8], signs: &str) -> bool {
    let is_character = |c: char| c.is_ascii_alphanumeric() || signs.contains(c);
    let length = json::unescape(value).len();
    json::kind_of(value) == Kind::String && (1..=128).contains(&length) && json::unescape(value).chars().all(is_character)
}

/// Whether a value is an object of this type.
pub(super) fn is_of_type(block: &[u8], name: &str) -> bool {
    json::kind_of(block) == Kind::Object
        && json::members(block).filter(|member| member.is("type")).last().is_some_and(|member| json::unescape(member.value) == name)
}
