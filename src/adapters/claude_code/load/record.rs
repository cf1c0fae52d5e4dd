//! The records of a transcript: which lines are nodes of the tree, and what of
//! them decides where they stand.

use crate::json::{Dialect, Member, elements, scan_object};
use crate::runtimes::javascript::{Type, Value, lines, pick};

/// What a node is, by its `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    User,
    Assistant,
    Attachment,
    System,
    Progress,
}

impl Kind {
    fn of(kind: Value<'_>) -> Option<Kind> {
        Some(match kind.text().as_deref()? {
            b"user" => Kind::User,
            b"assistant" => Kind::Assistant,
            b"attachment" => Kind::Attachment,
            b"system" => Kind::System,
            b"progress" => Kind::Progress,
            _ => return None,
        })
    }

    /// Whether it is what somebody said.
    pub(super) fn is_said(self) -> bool {
        matches!(self, Kind::User | Kind::Assistant)
    }
}

/// One record of the tree.
#[derive(Debug, Clone)]
pub(super) struct Record<'a> {
    pub(super) kind: Kind,
    /// The text of the record, from its first byte that is not blank.
    pub(super) line: &'a [u8],
    pub(super) uuid: Value<'a>,
    pub(super) parent: Value<'a>,
    pub(super) message: Value<'a>,
    pub(super) attachment: Value<'a>,
    pub(super) timestamp: Value<'a>,
    pub(super) agent: Value<'a>,
    pub(super) sidechain: Value<'a>,
    /// What a boundary of a compaction says of what it kept.
    pub(super) compaction: Value<'a>,
    pub(super) is_sidechain: bool,
    pub(super) is_of_team: bool,
    pub(super) is_meta: bool,
}

/// A line that says that a queued prompt was taken up.
#[derive(Debug, Clone, Copy)]
pub(super) struct Absorbed<'a> {
    pub(super) delivery: Value<'a>,
    pub(super) command: Value<'a>,
}

/// A line that matters.
#[derive(Debug)]
pub(super) enum Line<'a> {
    Node(Record<'a>),
    Absorbed(Absorbed<'a>),
}

/// The lines of a transcript that matter, in their order.
pub(super) fn read(text: &[u8]) -> impl Iterator<Item = Line<'_>> {
    let mut members = Vec::new();
    lines(text).filter_map(move |(_, line)| Line::read(line, &mut members))
}

impl<'a> Line<'a> {
    fn read(line: &'a [u8], members: &mut Vec<Member<'a>>) -> Option<Line<'a>> {
        let start = line.iter().position(|byte| *byte > b' ')?;
        let line = &line[start..];
        scan_object(line, Dialect::Strict, members).ok()?;
        let [kind, uuid] = pick(&*members, ["type", "uuid"]);
        if kind.is("queue-operation") {
            let [operation, reason, delivery, command] = pick(&*members, ["operation", "reason", "deliveryId", "commandUuid"]);
            let is_taken_up = operation.is("remove") && reason.is("absorbed_mid_turn");
            return is_taken_up.then_some(Line::Absorbed(Absorbed { delivery, command }));
        }
        let kind = Kind::of(kind).filter(|_| uuid.type_of() == Type::String)?;
        let [parent, message, attachment, timestamp, agent] =
            pick(&*members, ["parentUuid", "message", "attachment", "timestamp", "agentId"]);
        let [sidechain, team, meta, subtype, compaction] =
            pick(&*members, ["isSidechain", "teamName", "isMeta", "subtype", "compactMetadata"]);
        let is_boundary = kind == Kind::System && subtype.is("compact_boundary");
        Some(Line::Node(Record {
            kind,
            line,
            uuid,
            parent,
            message,
            attachment,
            timestamp,
            agent,
            sidechain,
            compaction: if is_boundary { compaction } else { Value::UNDEFINED },
            is_sidechain: sidechain.is_truthy(),
            is_of_team: team.is_truthy(),
            is_meta: meta.is_truthy(),
        }))
    }
}

impl<'a> Record<'a> {
    /// Whether it is of the main conversation.
    pub(super) fn is_main(&self) -> bool {
        !self.is_sidechain && !self.is_of_team && self.kind != Kind::Progress && !self.is_attached("fork_briefing")
    }

    /// Whether it holds the result of a call, and something is above it.
    pub(super) fn is_result(&self) -> bool {
        self.kind == Kind::User && self.parent.is_truthy() && self.blocks_of("tool_result").next().is_some()
    }

    /// Whether it is an attachment of this type.
    pub(super) fn is_attached(&self, kind: &str) -> bool {
        self.kind == Kind::Attachment && self.attachment.get("type").is(kind)
    }

    /// The blocks of its message.
    pub(super) fn blocks(&self) -> impl Iterator<Item = Value<'a>> + use<'a> {
        let content = self.message.get("content");
        let list = if content.type_of() == Type::Array { content.token() } else { b"[]" };
        elements(list).map(Value::accepted)
    }

    /// The blocks of this type in its message.
    pub(super) fn blocks_of(&self, kind: &'static str) -> impl Iterator<Item = Value<'a>> + use<'a> {
        self.blocks().filter(move |block| block.get("type").is(kind))
    }
}
