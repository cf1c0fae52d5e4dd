//! Whether the records of an old store are in a database of the same program: what a
//! program's own rules say of each record. The rules are in `maintenance/<format>`.

use serde::Serialize;

use crate::model::database::{Tables, TablesError};
use crate::model::files::RelPath;

/// What became of one record of an old store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The database has it as it is.
    Identical,
    /// The database has it in another spelling of the same values.
    Respelled,
    /// The database has its fields, in columns.
    Mapped,
    /// The database has it under another number.
    Renumbered,
    /// The database has it with changes; the reasons are beside it.
    Changed,
    /// The database has nothing of it.
    Missing,
    /// It cannot be read, by the program either.
    Unreadable,
}

impl Verdict {
    /// Every verdict, in the order in which they are counted.
    pub const ALL: [Verdict; 7] = [
        Verdict::Identical,
        Verdict::Respelled,
        Verdict::Mapped,
        Verdict::Renumbered,
        Verdict::Changed,
        Verdict::Missing,
        Verdict::Unreadable,
    ];

    /// Returns the verdict's word.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Identical => "identical",
            Verdict::Respelled => "respelled",
            Verdict::Mapped => "mapped",
            Verdict::Renumbered => "renumbered",
            Verdict::Changed => "changed",
            Verdict::Missing => "missing",
            Verdict::Unreadable => "unreadable",
        }
    }

    /// Tells whether a record with this verdict is in the database.
    #[must_use]
    pub fn is_contained(self) -> bool {
        match self {
            Verdict::Identical | Verdict::Respelled | Verdict::Mapped | Verdict::Renumbered => true,
            Verdict::Changed | Verdict::Missing | Verdict::Unreadable => false,
        }
    }
}

/// Where in its store a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordPlace {
    /// It is a file.
    File,
    /// It is in a list of its file, at this place from 0.
    Index(u64),
    /// It is the row with this id.
    Row(i64),
}

/// The nearest place in which a record was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Found {
    /// Where its program shows it.
    Live,
    /// Elsewhere in the database.
    Database,
    /// In a file beside the database.
    StateFolder,
    /// Nowhere.
    Nowhere,
}

/// One record of an old store, judged.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// The file that it is in, below the old store; `None` where that is a database.
    pub file: Option<String>,
    /// Where in the file.
    pub place: RecordPlace,
    /// Where it was found.
    pub found: Found,
    /// What changed, or why it cannot be read.
    pub why: Vec<String>,
}

/// Files of a folder, read when they are asked for.
pub trait StoreFiles {
    /// The paths of all regular files, in byte order.
    fn paths(&self) -> Vec<RelPath>;

    /// Reads a file.
    ///
    /// # Errors
    /// Returns what is wrong with it where it cannot be read.
    fn read(&self, path: &RelPath) -> Result<Vec<u8>, TablesError>;
}

/// What is looked for.
#[derive(Clone, Copy)]
pub enum OldStore<'a> {
    /// A folder.
    Files(&'a dyn StoreFiles),
    /// Another database.
    Database(&'a dyn Tables),
}

/// What it is looked for in.
#[derive(Clone, Copy)]
pub struct NewStore<'a> {
    /// The database.
    pub tables: &'a dyn Tables,
    /// Reads a file by its path below the folder of the database; `None` where there
    /// is no such file.
    pub beside: &'a dyn Fn(&RelPath) -> Option<Vec<u8>>,
}

/// One program's rules of what is contained in its database.
pub trait Containment: Sync {
    /// Tells whether a database is one of this program.
    fn knows(&self, tables: &dyn Tables) -> bool;

    /// Judges every record of an old store, and hands each out.
    ///
    /// # Errors
    /// Returns an error when the database cannot be read, or the old store is of a kind
    /// that this program never had.
    fn judge(&self, old: OldStore<'_>, new: NewStore<'_>, out: &mut dyn FnMut(Judged)) -> Result<(), TablesError>;
}
