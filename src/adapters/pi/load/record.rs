//! The records of a file: what `JSON.parse` makes of its lines, as far as it is
//! needed to find one's way.

use std::borrow::{Borrow, Cow};

use crate::json::{Dialect, Member, scan_opened};
use crate::runtimes::javascript::{Numbers, Type, Value, first_line, lines, pick, printed_raw};

/// What a record is, by its `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Session,
    Message,
    /// A message entry without a message, on which the program fails.
    BrokenMessage,
    ThinkingLevelChange,
    ModelChange,
    Compaction,
    BranchSummary,
    CustomMessage,
    ContextEdit,
    Label,
    SessionInfo,
    Leaf,
    ActiveToolsChange,
    /// Any other object, and every array.
    Other,
    /// A string, a number or `true`, which can have no properties.
    Scalar,
}

impl Kind {
    fn of(kind: Value<'_>, message: Value<'_>) -> Kind {
        match kind.text().as_deref() {
            Some(b"session") => Kind::Session,
            Some(b"message") if message.is_nullish() => Kind::BrokenMessage,
            Some(b"message") => Kind::Message,
            Some(b"thinking_level_change") => Kind::ThinkingLevelChange,
            Some(b"model_change") => Kind::ModelChange,
            Some(b"compaction") => Kind::Compaction,
            Some(b"branch_summary") => Kind::BranchSummary,
            Some(b"custom_message") => Kind::CustomMessage,
            Some(b"context_edit") => Kind::ContextEdit,
            Some(b"label") => Kind::Label,
            Some(b"session_info") => Kind::SessionInfo,
            Some(b"leaf") => Kind::Leaf,
            Some(b"active_tools_change") => Kind::ActiveToolsChange,
            Some(_) | None => Kind::Other,
        }
    }
}

/// The place of a value in its line; nowhere is `undefined`.
#[derive(Debug, Clone, Copy, Default)]
struct Span {
    from: u32,
    len: u32,
}

impl Span {
    fn of(value: Value<'_>, line: &[u8]) -> Span {
        let from = value.token().as_ptr().addr().saturating_sub(line.as_ptr().addr());
        match (u32::try_from(from), u32::try_from(value.token().len())) {
            (Ok(from), Ok(len)) if len > 0 => Span { from, len },
            // JavaScript has no strings of such a length, and so no such line.
            (Ok(_) | Err(_), Ok(_) | Err(_)) => Span::default(),
        }
    }
}

/// The roles whose content the program minds, and the one that it renamed.
const KNOWN_ROLES: [&str; 6] = ["system", "user", "assistant", "toolResult", "custom", "hookMessage"];

/// What decides how a message is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Said {
    /// Its role, where that is one of those that matter.
    pub(super) role: Option<&'static str>,
    pub(super) body: Body,
    /// Whether it is printed as it stands: a message may be on many paths.
    pub(super) stands: bool,
}

/// Whether a message has content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    /// It has none, or `null`.
    Missing,
    There,
}

impl Said {
    const NOTHING: Said = Said { role: None, body: Body::Missing, stands: false };

    /// Returns what a message says of itself, by its members too.
    fn of<'a>(message: Value<'a>, members: impl IntoIterator<Item = impl Borrow<Member<'a>>>) -> Said {
        let [role, content] = pick(members, ["role", "content"]);
        let body = if content.is_nullish() { Body::Missing } else { Body::There };
        Said {
            role: KNOWN_ROLES.into_iter().find(|name| role.is(name)),
            body,
            stands: matches!(printed_raw(message.token(), Numbers::Printed), Cow::Borrowed(_)),
        }
    }

    /// Returns what decides how a message is shown that is not a record of its own.
    pub(super) fn of_value(message: Value<'_>) -> Said {
        Said::of(message, message.members())
    }
}

/// A record by its place in the file, with the values that lead to others.
#[derive(Debug, Clone, Copy)]
struct Record {
    start: usize,
    kind: Kind,
    id: Span,
    parent: Span,
    message: Span,
    said: Said,
}

/// The members of a line, and of the message in it.
#[derive(Default)]
struct Members<'a> {
    own: Vec<Member<'a>>,
    of_message: Vec<Member<'a>>,
}

impl Record {
    fn read<'a>(start: usize, line: &'a [u8], members: &mut Members<'a>) -> Option<Record> {
        let nowhere = Span::default();
        let bare = |kind| Record { start, kind, id: nowhere, parent: nowhere, message: nowhere, said: Said::NOTHING };
        if !line.trim_ascii_start().starts_with(b"{") {
            let value = Value::parse(line).filter(|value| value.is_truthy())?;
            return Some(bare(if value.type_of() == Type::Array { Kind::Other } else { Kind::Scalar }));
        }
        scan_opened(line, Dialect::Strict, "message", &mut members.own, &mut members.of_message).ok()?;
        let [kind, id, parent, message] = pick(&members.own, ["type", "id", "parentId", "message"]);
        let (id, parent, span) = (Span::of(id, line), Span::of(parent, line), Span::of(message, line));
        Some(Record { id, parent, message: span, said: Said::of(message, &members.of_message), ..bare(Kind::of(kind, message)) })
    }
}

/// A record's place among all records of its file, the header's being 0.
pub(super) type Index = usize;

/// All records of a file.
#[derive(Debug)]
pub(super) struct Records<'a> {
    text: &'a [u8],
    all: Vec<Record>,
}

impl<'a> Records<'a> {
    /// Lines that are not JSON are skipped, and so are `null`, `false`, `0`
    /// and `""`.
    pub(super) fn read(text: &'a [u8]) -> Records<'a> {
        let mut members = Members::default();
        let all = lines(text).filter_map(|(start, line)| Record::read(start, line, &mut members)).collect();
        Records { text, all }
    }

    pub(super) fn len(&self) -> usize {
        self.all.len()
    }

    pub(super) fn kind(&self, index: Index) -> Kind {
        self.all.get(index).map_or(Kind::Other, |record| record.kind)
    }

    pub(super) fn value(&self, index: Index) -> Value<'a> {
        let from = self.all.get(index).and_then(|record| self.text.get(record.start..));
        from.map_or(Value::UNDEFINED, |from| Value::accepted(first_line(from)))
    }

    /// Returns the `id` of a record.
    pub(super) fn id(&self, index: Index) -> Value<'a> {
        self.span(index, |record| record.id)
    }

    /// Returns the `parentId` of a record.
    pub(super) fn parent_id(&self, index: Index) -> Value<'a> {
        self.span(index, |record| record.parent)
    }

    /// Returns the `message` of a record.
    pub(super) fn message(&self, index: Index) -> Value<'a> {
        self.span(index, |record| record.message)
    }

    /// Returns what the `message` of a record says of itself.
    pub(super) fn said(&self, index: Index) -> Said {
        self.all.get(index).map_or(Said::NOTHING, |record| record.said)
    }

    fn span(&self, index: Index, of: impl Fn(&Record) -> Span) -> Value<'a> {
        let Some(record) = self.all.get(index) else { return Value::UNDEFINED };
        let Span { from, len } = of(record);
        let from = record.start + from as usize;
        Value::accepted(self.text.get(from..from + len as usize).unwrap_or_default())
    }

    /// Returns the records of one kind, in the order of the file.
    pub(super) fn of_kind(&self, kind: Kind) -> impl DoubleEndedIterator<Item = Index> {
        self.all.iter().enumerate().filter(move |(_, record)| record.kind == kind).map(|(index, _)| index)
    }

    /// Tells whether any record is of this kind.
    pub(super) fn has(&self, kind: Kind) -> bool {
        self.of_kind(kind).next().is_some()
    }

    pub(super) fn text(&self) -> &'a [u8] {
        self.text
    }
}
