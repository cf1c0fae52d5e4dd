//! OpenClaw's transcripts in a database: entries of the session manager that it
//! embeds, and how OpenClaw 2026.9 reads and shows them.

use crate::adapters::kit::entries::schema::{
    ContentRule, Dialect, Edits, EntrySchema, OlderCompactions, Quirks, Renames, Resets, Shows, SystemRule, is_entry,
};
use crate::adapters::kit::entries::tables;
use crate::adapters::kit::tree::schema::LineRule;
use crate::runtimes::javascript::Numbers;

pub(super) const ID: &str = "openclaw-sqlite";

static TRANSCRIPT: Dialect = Dialect {
    name: "",
    table: tables::table,
    quirks: Quirks {
        numbers: Numbers::Kept,
        content: ContentRule::AsStored,
        system: SystemRule::Kept,
        shows: Shows::Everything,
        older_compactions: OlderCompactions::Hidden,
    },
};

/// A transcript as OpenClaw reads it.
pub(super) const SCHEMA: EntrySchema = EntrySchema {
    dialects: &[&TRANSCRIPT],
    dialect: &TRANSCRIPT,
    line_rule: LineRule::TrimmedText,
    is_record: is_entry,
    edits: Edits::Unknown,
    resets: Resets::Count,
    renames: Renames::Nothing,
};
