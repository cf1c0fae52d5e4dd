//! The one trait that a source format implements.

use std::collections::BTreeMap;
use std::fmt;

use crate::model::audit::{AuditItem, Evidence};
use crate::model::files::{Beside, Files, RelPath};
use crate::model::finding::{Finding, FindingCode, Findings};
use crate::model::folder::FolderView;
use crate::model::loaded::Loader;
use crate::model::repair::Repairs;
use crate::model::retention::{Item, Outlook, Rule};
use crate::model::shape::Order;
use crate::model::shown::Shower;
use crate::model::stream::{EventSink, RecordRenderer, StreamError};

/// A source format: pure, bytes in and events or bytes out.
pub trait Adapter: Sync {
    /// The short name, as `--format` and logs have it.
    fn id(&self) -> &'static str;

    /// The program and its files, in one line for people.
    fn describe(&self) -> &'static str;

    /// What a folder is looked through for, in words that follow "looked for".
    fn looked_for(&self) -> &'static str;

    /// What its claims are about.
    fn claims(&self) -> Claims {
        Claims::Files
    }

    /// Judges a folder by names and first bytes, and says which files make one
    /// session. Cannot fail, because unsure is no claim.
    fn discover(&self, folder: &FolderView<'_>) -> Found;

    /// The same where somebody has said that the folder is of this format: less
    /// is enough to tell.
    fn discover_chosen(&self, folder: &FolderView<'_>) -> Found {
        self.discover(folder)
    }

    /// Puts every byte of `files` into some event. What the program's loader
    /// would reject is carried as damage, and said in `findings`.
    ///
    /// # Errors
    /// When the events cannot be written.
    fn read(&self, files: &Files, check: Check, events: &mut dyn EventSink, findings: &mut Findings) -> Result<ReadSummary, StreamError>;

    /// The inverse of `read`, record by record: a renderer for files that hold
    /// these records in this style. `None` where it knows no such records.
    fn renderer(&self, holds: &str, style: Option<&str>, shapes: &[Order]) -> Option<Box<dyn RecordRenderer>>;

    /// What the program would show of the nodes of a log with these shapes.
    fn shower(&self, shapes: &[Order]) -> Box<Shower>;

    /// The file of a folder that the program would write over if a retired one
    /// got its name back there.
    fn overwritten_by(&self, _name: &RelPath, _bytes: &[u8], _folder: &FolderView<'_>) -> Option<RelPath> {
        None
    }

    /// How to tell that the program runs and works on a folder of sessions.
    fn pid_file(&self) -> Option<PidFile> {
        None
    }

    /// The database that belongs to a folder of sessions.
    fn database(&self) -> Option<DatabaseFile> {
        None
    }

    /// What is wrong in a folder of sessions that no single session shows.
    fn audit(&self, _folder: &FolderView<'_>, _evidence: &Evidence<'_>) -> Vec<AuditItem> {
        Vec::new()
    }

    /// What of that could be mended safely, and how.
    fn repair(&self, _folder: &FolderView<'_>, _evidence: &Evidence<'_>) -> Repairs {
        Repairs::default()
    }

    /// The rules by which something of a folder of sessions may be pruned.
    fn retention_rules(&self) -> &'static [Rule] {
        &[]
    }

    /// What there is in a folder of sessions that those rules are about: what
    /// has served its purpose, and why the rest has not.
    fn retention(&self, _folder: &FolderView<'_>, _outlook: &Outlook<'_>) -> Vec<Item> {
        Vec::new()
    }

    /// Whether a finding of `read` is one that `audit` has too, and better.
    fn audit_covers(&self, _finding: &Finding) -> bool {
        false
    }

    /// The program's own loader for these files: what it would show, message by
    /// message in the form of [`Adapter::shower`], and how its load ends. Shares
    /// no code with `read`, or the two could be wrong together.
    fn loader<'f>(&self, files: &'f Files) -> Box<dyn Loader + 'f>;
}

/// The file in which a program says that it runs: JSON with a member `pid`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PidFile {
    /// Its name.
    pub name: &'static str,
    /// How many folders above the sessions it may lie.
    pub levels_above: usize,
    /// The environment variable that names the folder that it lies in.
    pub home: &'static str,
    /// What the process is called.
    pub program: &'static str,
}

/// A database that lies beside sessions. It is only ever looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatabaseFile {
    /// Its name.
    pub name: &'static str,
    /// How many folders above the sessions it may lie.
    pub levels_above: usize,
    /// The folder beside it that has a folder for each profile, with a database
    /// of this name in it.
    pub profiles: &'static str,
}

/// What the name of a retired file ends in.
pub const RETIRED_SUFFIX: &str = ".migrated";

/// How sure an adapter is that files are its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// The names fit, and the content does not speak against it.
    Likely,
    /// The content says so.
    Sure,
}

/// What an adapter's claims are about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Claims {
    /// A folder as a whole, with everything in it.
    Folders,
    /// Single files of a folder, and never the folder as a whole.
    Files,
}

/// Whether a session is to be converted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is there.
    Live,
    /// It was converted before, and its main file renamed.
    Retired,
    /// Renamed by this program or by its own: retired, if there is a log of it
    /// under the name that it had.
    PerhapsRetired,
}

/// What an adapter finds in one folder.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// The sessions.
    pub units: Vec<UnitClaim>,
    /// Files that it knows for what they are, and that belong to no session.
    pub strays: Vec<Stray>,
}

/// A file that lies in a source and belongs to no session, and what it is.
#[derive(Debug, Clone)]
pub struct Stray {
    /// Its path below the folder that was looked at.
    pub path: RelPath,
    /// What kind of thing it is.
    pub code: FindingCode,
    /// The same in a sentence.
    pub message: String,
}

/// Files that make one session.
#[derive(Debug, Clone)]
pub struct UnitClaim {
    /// The unit's name below the folder that was looked at; empty where that
    /// folder as a whole is the unit.
    pub name: RelPath,
    /// The folder that the files' names are relative to, below the same.
    pub root: RelPath,
    /// Its files, links and empty folders, relative to `root`.
    pub files: Vec<RelPath>,
    /// Files that lie there and belong to no session, and what they are.
    pub left_out: Vec<(RelPath, FindingCode, String)>,
    /// What is known of it from what lies beside it.
    pub beside: Beside,
    /// The files that `--retire` renames.
    pub retires: Vec<RelPath>,
    /// How sure the adapter is.
    pub confidence: Confidence,
    /// Whether it is to be converted.
    pub standing: Standing,
}

/// How `read` makes sure that each record can be rendered again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Not at all: the proof of the whole file will tell.
    ByProof,
    /// Each record is rendered and compared at once, and what differs is kept
    /// as a residual.
    EachRecord,
}

/// What `read` has to say besides events and findings.
#[derive(Debug, Clone, Default)]
pub struct ReadSummary {
    /// The SHA-256 of every regular file.
    pub hashes: BTreeMap<RelPath, String>,
    /// Companions whose bytes go into blobs.
    pub blobs: Vec<RelPath>,
    /// How many bytes of the source could not be rendered from events.
    pub residual_bytes: u64,
    /// Whether a file's time entered the log.
    pub uses_file_times: bool,
}

impl fmt::Debug for dyn Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}
