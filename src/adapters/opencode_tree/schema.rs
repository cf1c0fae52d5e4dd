//! The tree's own files by table, and what files hold.

use crate::adapters::kit::mapping::{Table, Target, ValueKind};
use crate::json::{Escapes, Separators, Style};

/// A session's own file.
pub(super) const SESSION: Table = Table(&[
    ("id", Target::To("session_id", ValueKind::Any)),
    ("slug", Target::To("slug", ValueKind::Any)),
    ("version", Target::To("program_version", ValueKind::Any)),
    ("projectID", Target::To("project", ValueKind::Any)),
    ("directory", Target::To("cwd", ValueKind::Any)),
    ("parentID", Target::To("parent_session", ValueKind::Any)),
    ("title", Target::To("title", ValueKind::Any)),
    ("permission", Target::To("permission", ValueKind::Any)),
    ("time", Target::Object("time", &SESSION_TIME)),
    ("summary", Target::To("summary", ValueKind::Any)),
    ("share", Target::To("share", ValueKind::Any)),
    ("revert", Target::To("revert", ValueKind::Any)),
]);

const SESSION_TIME: Table = Table(&[
    ("created", Target::To("created", ValueKind::Any)),
    ("updated", Target::To("updated", ValueKind::Any)),
    ("compacting", Target::To("compacting", ValueKind::Any)),
    ("archived", Target::To("archived", ValueKind::Any)),
]);

/// How the program writes its files.
pub(super) const DOCUMENT: Style = Style { separators: Separators::Indented, escapes: Escapes::Utf8 };

/// What a file holds, in its recipe's words.
pub(super) const HOLDS_MESSAGE: &str = "message";
pub(super) const HOLDS_PART: &str = "part";
pub(super) const HOLDS_SESSION: &str = "session";
pub(super) const HOLDS_VALUE: &str = "value";
