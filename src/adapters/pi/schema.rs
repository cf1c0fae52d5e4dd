//! The dialects in which pi's files are written: the coding agent's own, the agent
//! core's harness, and the tutorial's.

use crate::adapters::kit::entries::records::Record;
use crate::adapters::kit::entries::schema::{
    ContentRule, Dialect, Edits, EntrySchema, OlderCompactions, Quirks, Renames, Resets, Shows, SystemRule, is_entry,
};
use crate::adapters::kit::entries::tables::{self, ROLES, STOP_REASONS};
use crate::adapters::kit::mapping::Table;
use crate::adapters::kit::mapping::Target::{Constant, Content, Object, Open, Parent, Time, To, Word};
use crate::adapters::kit::mapping::ValueKind::{Any, Number, Text};
use crate::adapters::kit::tree::schema::LineRule;
use crate::runtimes::javascript::Numbers;

pub(super) const ID: &str = "pi";
pub(super) const PROGRAM: &str = "pi";

/// Everything as it is stored: how the harness shows entries.
const AS_STORED: Quirks = Quirks {
    numbers: Numbers::Printed,
    content: ContentRule::AsStored,
    system: SystemRule::Kept,
    shows: Shows::Everything,
    older_compactions: OlderCompactions::Shown,
};

/// The coding agent's own dialect (pi 1.5), which events do not name.
pub(super) static AGENT: Dialect = Dialect {
    name: "",
    table: tables::table,
    quirks: Quirks {
        content: ContentRule::FillMissing,
        system: SystemRule::ReplacedByCompaction,
        older_compactions: OlderCompactions::Hidden,
        ..AS_STORED
    },
};
pub(super) static HARNESS: Dialect = Dialect { name: "harness", table: tables::placed_first, quirks: AS_STORED };
pub(super) static TUTORIAL: Dialect = Dialect {
    name: "tutorial",
    table: tutorial,
    quirks: Quirks { shows: Shows::MessagesOnly, older_compactions: OlderCompactions::Hidden, ..AS_STORED },
};

/// The newest version of the agent's own files that is known.
pub(super) const NEWEST: f64 = 3.0;

/// A file as the coding agent reads it.
pub(super) const SCHEMA: EntrySchema = EntrySchema {
    dialects: &[&AGENT, &HARNESS, &TUTORIAL],
    dialect: &AGENT,
    line_rule: LineRule::Truthy,
    is_record: is_entry,
    edits: Edits::Unknown,
    resets: Resets::Unknown,
    renames: Renames::Nothing,
};

/// The tutorial's usage.
const USAGE: Table = Table(&[("inputTokens", To("input", Number)), ("outputTokens", To("output", Number))]);

const ASSISTANT: Table = Table(&[
    ("role", Word(&ROLES)),
    ("stopReason", Word(&STOP_REASONS)),
    ("content", Content("content")),
    ("model", To("model", Text)),
    ("usage", Object("usage", &USAGE)),
]);

const RESULT: Table = Table(&[
    ("role", Word(&ROLES)),
    ("toolCallId", Content("call_id")),
    ("toolName", Content("tool_name")),
    ("isError", Content("is_error")),
    ("content", Content("content")),
]);

macro_rules! entry {
    ($name:literal, $row:expr) => {
        Table(&[
            ("type", Constant(concat!("\"", $name, "\""))),
            ("id", To("source_id", Text)),
            ("parentId", Parent),
            ("timestamp", Time),
            $row,
        ])
    };
}

static HEADER: Table = Table(&[
    ("type", Constant("\"session\"")),
    ("id", To("id", Text)),
    ("timestamp", Time),
    ("cwd", To("cwd", Text)),
    ("version", To("version", Any)),
]);
static ASSISTANT_MESSAGE: Table = entry!("message", ("message", Open(&ASSISTANT)));
static RESULT_MESSAGE: Table = entry!("message", ("message", Open(&RESULT)));
static MODEL: Table = entry!("model_change", ("model", To("model", Text)));

/// Returns the tables of the tutorial's records.
fn tutorial(record: Record) -> Option<&'static Table> {
    match record {
        Record::Header => Some(&HEADER),
        Record::AssistantMessage => Some(&ASSISTANT_MESSAGE),
        Record::ResultMessage => Some(&RESULT_MESSAGE),
        Record::Model => Some(&MODEL),
        Record::UserMessage
        | Record::ShellMessage
        | Record::CustomMessage
        | Record::Thinking
        | Record::Compaction
        | Record::Reset
        | Record::BranchSummary
        | Record::Custom
        | Record::Label
        | Record::Info
        | Record::Usage
        | Record::Edit
        | Record::Whole => tables::placed_first(record),
    }
}
