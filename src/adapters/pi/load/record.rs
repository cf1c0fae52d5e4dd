//! The records of a file: what `JSON.parse` makes of its lines, as far as it is
//! needed to find one's way.

use super::lines::{first_line, lines};
use super::value::{Type, Value};

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
    fn of(value: Value<'_>) -> Kind {
        match value.type_of() {
            Type::Object => {}
            Type::Array => return Kind::Other,
            Type::Undefined | Type::Null | Type::Boolean | Type::Number | Type::String => return Kind::Scalar,
        }
        let [kind, message] = value.get_all(["type", "message"]);
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

/// A record by its place in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record {
    start: usize,
    pub(super) kind: Kind,
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
    /// Lines that are no JSON are passed over, and so are `null`, `false`, `0`
    /// and `""`.
    pub(super) fn read(text: &'a [u8]) -> Records<'a> {
        let all = lines(text)
            .filter_map(|(start, line)| {
                let value = Value::parse(line).filter(|value| value.is_truthy())?;
                Some(Record { start, kind: Kind::of(value) })
            })
            .collect();
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

    /// The records of one kind, in the order of the file.
    pub(super) fn of_kind(&self, kind: Kind) -> impl DoubleEndedIterator<Item = Index> {
        self.all.iter().enumerate().filter(move |(_, record)| record.kind == kind).map(|(index, _)| index)
    }

    /// Whether any record is of this kind.
    pub(super) fn has(&self, kind: Kind) -> bool {
        self.of_kind(kind).next().is_some()
    }

    pub(super) fn text(&self) -> &'a [u8] {
        self.text
    }
}
