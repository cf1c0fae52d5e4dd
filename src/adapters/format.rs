//! The trait that a source format implements. What else a program's folders
//! need, audit, repair and retention, is [`Maintenance`](super::maintenance).

use std::collections::BTreeMap;
use std::fmt;

use super::exporter::Exporter;
use crate::model::database::DatabaseFormat;
use crate::model::files::{Files, RelPath, SharedFacts};
use crate::model::finding::{FindingCode, Findings};
use crate::model::folder::FolderView;
use crate::model::loaded::Loader;
use crate::model::shape::Order;
use crate::model::shown::{self, MessageLine, MessageRenderer};
use crate::model::stream::{EventSink, RecordRenderer, StreamError};
use crate::model::turn_terms::TurnTerms;

/// A source format: pure, bytes in and events or bytes out.
pub trait Format: Sync {
    /// Returns the short name, as `--format` and logs have it.
    fn id(&self) -> &'static str;

    /// Returns the program and its files, in one line for people.
    fn describe(&self) -> &'static str;

    /// Returns what a folder is looked through for, in words that follow "looked for".
    fn looked_for(&self) -> &'static str {
        self.describe()
    }

    /// Returns where the program keeps its sessions where nobody has said otherwise.
    fn default_places(&self) -> &'static [DefaultPlace] {
        &[]
    }

    /// Returns what its claims are about.
    fn claims(&self) -> Claims {
        Claims::Files
    }

    /// Judges a folder by names and first bytes, and says which files make one
    /// session. Cannot fail, because unsure is not a claim.
    fn discover(&self, folder: &FolderView<'_>) -> Found;

    /// Judges a folder of which somebody has said that it is of this format: less is
    /// enough to tell.
    fn discover_chosen(&self, folder: &FolderView<'_>) -> Found {
        self.discover(folder)
    }

    /// Returns how the program keeps its sessions in a database, where it does: each claim
    /// is then of one database, and its files are the main file and those beside
    /// it. What `read` and [`Format::loader`] get of a session is the text of its
    /// rows, under the name of the main file.
    fn database(&self) -> Option<&'static dyn DatabaseFormat> {
        None
    }

    /// Puts every byte of `files` into some event. What the program's loader
    /// would reject is carried as damage, and said in `findings`.
    ///
    /// # Errors
    /// When the events cannot be written.
    fn read(&self, files: &Files, check: Check, events: &mut dyn EventSink, findings: &mut Findings) -> Result<ReadSummary, StreamError>;

    /// Returns the inverse of `read`, record by record: a renderer for files that hold
    /// these records in this style. `None` where it knows no such records.
    fn renderer(&self, _holds: &str, _style: Option<&str>, _shapes: &[Order]) -> Option<Box<dyn RecordRenderer>> {
        None
    }

    /// Returns what the program would show of the nodes of a log with these shapes. By
    /// default it is what [`Format::message_line`] makes of each message.
    fn message_renderer(&self, shapes: &[Order]) -> Box<MessageRenderer> {
        shown::messages(self.message_line(shapes))
    }

    /// For a program that shows its messages and nothing else: what it would show
    /// of each, as one line of JSON in its own shape.
    fn message_line(&self, _shapes: &[Order]) -> Box<MessageLine> {
        Box::new(|_, _| Ok(()))
    }

    /// Tells whether a load that ends in this error still gives the branches of
    /// the session: only its main list is lost.
    fn spares_branches(&self, _error: &str) -> bool {
        false
    }

    /// Returns the codes of findings that only this format's `discover` has about files
    /// near a session, besides those that every format may have.
    fn discovery_codes(&self) -> &'static [FindingCode] {
        &[]
    }

    /// Returns the words of the program's turn and run journals; none where it keeps
    /// none.
    fn turn_terms(&self) -> Option<TurnTerms> {
        None
    }

    /// Writes sessions of other programs in this format; `None` where they cannot be
    /// exported to it.
    fn exporter(&self) -> Option<&dyn Exporter> {
        None
    }

    /// Returns the program's own loader for these files: what it would show, message by
    /// message in the form of [`Format::message_renderer`], and how its load ends. Shares
    /// no code with `read`, or the two could be wrong together.
    fn loader<'f>(&self, files: &'f Files) -> Box<dyn Loader + 'f>;
}

/// A folder in which a program keeps its sessions. Those of environment
/// variables that are set count; those of the home folder where none is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DefaultPlace {
    /// What the folder is below.
    pub base: PlaceBase,
    /// Its path below that; empty for that folder itself.
    pub folder: &'static str,
}

/// What a default place is below.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceBase {
    /// The folder that this environment variable names.
    Variable(&'static str),
    /// The user's home folder.
    Home,
}

impl DefaultPlace {
    /// Returns a folder below the one that an environment variable names.
    pub(crate) const fn variable(name: &'static str, folder: &'static str) -> DefaultPlace {
        DefaultPlace { base: PlaceBase::Variable(name), folder }
    }

    /// Returns a folder below the user's home.
    pub(crate) const fn home(folder: &'static str) -> DefaultPlace {
        DefaultPlace { base: PlaceBase::Home, folder }
    }
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
    /// A folder that is one session, with the files in it that its program writes.
    /// What else lies there, and other sessions below it, stay for everybody.
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
    /// A sentence that says so.
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
    /// What files outside of it say about it.
    pub shared: SharedFacts,
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

impl fmt::Debug for dyn Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}
