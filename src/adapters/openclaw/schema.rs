//! OpenClaw's transcripts: entries of the session manager that it embeds, and how
//! OpenClaw 2026.7.1 reads and shows them.

use crate::adapters::kit::entries::schema::{
    ContentRule, Dialect, Edits, EntrySchema, OlderCompactions, Quirks, Renames, Resets, Shows, SystemRule, is_entry,
};
use crate::adapters::kit::entries::tables;
use crate::adapters::kit::tree::schema::LineRule;
use crate::runtimes::javascript::Numbers;

pub(super) const ID: &str = "openclaw";
pub(super) const PROGRAM: &str = "OpenClaw";

static TRANSCRIPT: Dialect = Dialect {
    name: "",
    table: tables::table,
    quirks: Quirks {
        numbers: Numbers::Kept,
        content: ContentRule::ListAnswers,
        system: SystemRule::Kept,
        shows: Shows::Everything,
        older_compactions: OlderCompactions::Hidden,
    },
};

/// The newest version of a transcript that is known.
pub(super) const NEWEST: f64 = 3.0;

/// A transcript as OpenClaw reads it.
pub(super) const SCHEMA: EntrySchema = EntrySchema {
    dialects: &[&TRANSCRIPT],
    dialect: &TRANSCRIPT,
    line_rule: LineRule::TrimmedText,
    is_record: is_entry,
    edits: Edits::Unknown,
    resets: Resets::Unknown,
    renames: Renames::Nothing,
};
