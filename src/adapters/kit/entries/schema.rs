//! The description of a file of entries: its keys, its dialect, and the quirks of
//! the loader that opens it.

use std::borrow::Cow;

use crate::adapters::kit::mapping::{self, Claim, Table};
use crate::adapters::kit::tree;
use crate::adapters::kit::tree::entry::{canonical, get};
use crate::adapters::kit::tree::schema::{Judged, Keys, LineRule, Pass, Surroundings, TreeSchema};
use crate::adapters::kit::words::{SOURCE_ROLE, SYSTEM};
use crate::json::{self, Escapes, Kind, Member, Separators, Style};
use crate::model::event::EventKind;
use crate::model::ids::Seq;
use crate::runtimes::javascript::{self as js, Numbers};

use super::content::Parts;
use super::records::Record;
use super::signs;
use super::tables;

/// An entry of such a file.
pub(in crate::adapters) type Entry<'a> = tree::entry::Entry<'a, EntrySchema>;
/// Such a file in pieces.
pub(in crate::adapters) type Scan<'a> = tree::scan::Scan<'a, EntrySchema>;
/// Where its entries stand.
pub(in crate::adapters) type Placed = tree::file::Placed<EntrySchema>;
/// Its entries on their way into the log.
pub(in crate::adapters) type Reader<'a, 's> = tree::read::Reader<'a, 's, EntrySchema>;

/// Who wrote the records: their tables, the name that events carry, and how the
/// program shows them.
#[derive(Debug)]
pub(in crate::adapters) struct Dialect {
    /// Empty for the dialect that events do not name.
    pub name: &'static str,
    pub table: fn(Record) -> Option<&'static Table>,
    pub quirks: Quirks,
}

/// Whether the loader renames roles of an older version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum Renames {
    Nothing,
    Hooks,
}

/// Whether a program knows entries that change others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum Edits {
    Count,
    Unknown,
}

/// Whether a program knows entries after which the conversation begins anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum Resets {
    Count,
    Unknown,
}

/// How a program treats entries when it shows them.
#[derive(Debug, Clone, Copy)]
pub(in crate::adapters) struct Quirks {
    /// How numbers are compared with those of the program's loader.
    pub numbers: Numbers,
    pub content: ContentRule,
    pub system: SystemRule,
    pub shows: Shows,
    pub older_compactions: OlderCompactions,
}

/// What the program does with content that a model's API would not take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum ContentRule {
    AsStored,
    /// Missing content becomes empty content.
    FillMissing,
    /// Content of answers and results becomes a list.
    ListAnswers,
}

/// Whether a compaction brings a system message of its own, in the place of those
/// before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum SystemRule {
    Kept,
    ReplacedByCompaction,
}

/// Which entries become messages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum Shows {
    Everything,
    /// Messages and the latest compaction.
    MessagesOnly,
}

/// Whether compactions that the latest one keeps are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum OlderCompactions {
    Hidden,
    Shown,
}

/// A file of entries, as one loader reads it.
#[derive(Debug, Clone, Copy)]
pub(in crate::adapters) struct EntrySchema {
    /// Every dialect of the format, the one that events do not name first.
    pub dialects: &'static [&'static Dialect],
    /// The dialect of the file.
    pub dialect: &'static Dialect,
    pub line_rule: LineRule,
    /// Whether an object on a broken line is a record of such a file.
    pub is_record: fn(&[Member<'_>]) -> bool,
    pub edits: Edits,
    pub resets: Resets,
    pub renames: Renames,
}

/// What the rules of these loaders ask of an entry besides its place.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::adapters) struct Traits {
    /// It says that it is a message, and has none.
    pub lacks_message: bool,
    /// It is marked as standing beside the branch.
    pub is_side: bool,
}

/// Tells whether an object is an entry or a header, and not a part of one.
pub(in crate::adapters) fn is_entry(members: &[Member<'_>]) -> bool {
    let is_text = |key: &str| get(members, key).is_some_and(|value| json::kind_of(value) == Kind::String);
    let is_placed = is_text("id") && get(members, "parentId").is_some();
    let is_known = is_text("timestamp") && get(members, "type").is_some_and(signs::is_known_type);
    is_text("type") && (is_placed || is_known)
}

/// The member that names the dialect.
pub(super) const DIALECT: &str = "words";

impl TreeSchema for EntrySchema {
    type Kind = Record;
    type Traits = Traits;

    const KEYS: Keys =
        Keys { id: "id", parent: "parentId", record_type: "type", time: "timestamp", message: "message", replacement: "replacement" };
    const STYLE: Style = Style { separators: Separators::Compact, escapes: Escapes::Utf8 };
    const OTHER: Record = Record::Whole;

    fn line_rule(&self) -> LineRule {
        self.line_rule
    }

    fn judge(&self, members: &[Member<'_>], of_message: &[Member<'_>]) -> Judged<EntrySchema> {
        let kind = match (self.resets, text(members, "type").as_ref()) {
            // The reason is what tells its event from that of a compaction.
            (Resets::Count, b"\"reset\"") if get(members, "reason").is_some() => Record::Reset,
            (_, entry_type) => Record::of(entry_type, &text(of_message, "role")),
        };
        let has_message = || get(members, "message").is_some_and(|message| message != b"null");
        let is_side = get(members, "appendMode").is_some_and(|mode| canonical(mode).as_ref() == b"\"side\"");
        Judged { kind, traits: Traits { lacks_message: kind.is_message() && !has_message(), is_side } }
    }

    fn is_record(&self, members: &[Member<'_>]) -> bool {
        (self.is_record)(members)
    }

    fn is_header(kind: Record) -> bool {
        kind == Record::Header
    }

    fn event_kind(kind: Record) -> EventKind {
        kind.event_kind()
    }

    fn table(&self, kind: Record) -> Option<&'static Table> {
        (self.dialect.table)(kind)
    }

    fn payload_order(kind: EventKind) -> &'static [&'static str] {
        if kind == EventKind::Message { tables::MESSAGE } else { tables::OTHER }
    }

    fn content() -> &'static dyn mapping::Content {
        &Parts
    }

    fn complete(&self, kind: Record, _: &Traits, claim: &mut Claim<'_>, around: &Surroundings<'_>) -> Option<()> {
        match kind {
            Record::UserMessage | Record::ShellMessage | Record::AssistantMessage | Record::ResultMessage => {
                claim.member("role")?;
                if claim.member(SOURCE_ROLE) == Some(b"\"hookMessage\"") && self.renames == Renames::Hooks {
                    claim.reword(SOURCE_ROLE, b"\"role\"", b"\"custom\"");
                }
            }
            Record::CustomMessage => {
                claim.say("role", SYSTEM.to_vec());
                claim.say(SOURCE_ROLE, b"\"custom\"".to_vec());
                claim.say("source_type", b"\"custom_message\"".to_vec());
            }
            Record::Thinking => claim.say("name", b"\"thinking_level\"".to_vec()),
            Record::Compaction | Record::Reset if !claim.points("first_kept") => {
                let is_named = get(around.members, "firstKeptEntryId").is_some_and(js::is_truthy);
                let named = (around.named)("firstKeptEntryId").filter(|_| is_named && around.pass != Pass::Retold);
                if let Some(kept) = around.kept.or(named) {
                    claim.point("first_kept", kept);
                }
            }
            // An edit without a target changes nothing, and neither does one without a
            // replacement.
            Record::Edit if self.edits == Edits::Unknown => return None,
            Record::Edit => {
                get(around.members, "replacement")?;
                if !claim.points("target") {
                    claim.point("target", (around.named)("targetId")?);
                }
            }
            Record::Compaction
            | Record::Reset
            | Record::Header
            | Record::Model
            | Record::BranchSummary
            | Record::Custom
            | Record::Label
            | Record::Info
            | Record::Usage
            | Record::Whole => {}
        }
        if !self.dialect.name.is_empty() {
            claim.say(DIALECT, format!("\"{}\"", self.dialect.name).into_bytes());
        }
        Some(())
    }

    fn frame(&self, _: &Traits, members: &[Member<'_>]) -> (Cow<'static, str>, Cow<'static, str>) {
        let before = if self.renames == Renames::Hooks && is_hook(members) { "\"role\":\"custom\"," } else { "" };
        let name = self.dialect.name;
        let after = if name.is_empty() { Cow::Borrowed("") } else { Cow::Owned(format!(",\"{DIALECT}\":\"{name}\"")) };
        (Cow::Borrowed(before), after)
    }

    fn of_event(&self, kind: EventKind, parent: Option<Seq>, members: &[Member<'_>]) -> Option<(Record, EntrySchema)> {
        let member = |name: &str| members.iter().find(|member| member.is(name)).map(|member| member.value);
        let record = match kind {
            EventKind::Message => {
                let role = members.first().filter(|member| member.is("role")).map(|member| member.value);
                let source = members.get(1).filter(|member| member.is(SOURCE_ROLE)).map(|member| member.value);
                let is_source = |word: &str| source.is_some_and(|source| canonical(source).as_ref() == word.as_bytes());
                match role {
                    Some(b"\"assistant\"") => Record::AssistantMessage,
                    Some(b"\"tool\"") => Record::ResultMessage,
                    _ if member("source_type").is_some() => Record::CustomMessage,
                    _ if is_source(tables::SHELL_ROLE) => Record::ShellMessage,
                    _ => Record::UserMessage,
                }
            }
            EventKind::Meta if parent.is_some() => Record::Info,
            // Other things known of the session are not records of its file.
            EventKind::Meta if member("store").is_some() || member("older_loader").is_some() => return None,
            EventKind::Meta => Record::Header,
            EventKind::SettingChange => Record::Thinking,
            EventKind::ModelChange => Record::Model,
            EventKind::Compaction if member("reason").is_some() => Record::Reset,
            EventKind::Compaction => Record::Compaction,
            EventKind::BranchSummary => Record::BranchSummary,
            EventKind::Custom if member("record").is_some() => Record::Whole,
            EventKind::Custom => Record::Custom,
            EventKind::Label => Record::Label,
            EventKind::Usage => Record::Usage,
            EventKind::Edit => Record::Edit,
            EventKind::Repeat
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
        // The dialect stands after content, so it is looked for last.
        let name = member(DIALECT).and_then(|name| name.strip_prefix(b"\"")?.strip_suffix(b"\"")).unwrap_or_default();
        let named = self.dialects.iter().find(|dialect| dialect.name.as_bytes() == name);
        let dialect = named.or(self.dialects.first()).copied().unwrap_or(self.dialect);
        Some((record, EntrySchema { dialect, ..*self }))
    }
}

/// Returns a value in its one spelling, by its key; empty where there is none.
fn text<'v>(members: &[Member<'v>], key: &str) -> Cow<'v, [u8]> {
    get(members, key).map(canonical).unwrap_or_default()
}

/// Tells whether a record is a message in a role that its program renames.
fn is_hook(members: &[Member<'_>]) -> bool {
    let message = get(members, "message").filter(|message| json::kind_of(message) == Kind::Object);
    message.is_some_and(|message| {
        let inside: Vec<Member<'_>> = json::all_members(message);
        js::map_key(get(&inside, "role")).as_deref() == Some(b"\"hookMessage\"")
    })
}
