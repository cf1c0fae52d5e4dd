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
    /// The database has it as its program's import rewrites such records; the rules
    /// are beside it.
    Rewritten,
    /// It repeats a record that the database has.
    Repeated,
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
    pub const ALL: [Verdict; 9] = [
        Verdict::Identical,
        Verdict::Respelled,
        Verdict::Rewritten,
        Verdict::Repeated,
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
            Verdict::Rewritten => "rewritten",
            Verdict::Repeated => "repeated",
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
            Verdict::Identical | Verdict::Respelled | Verdict::Rewritten | Verdict::Repeated | Verdict::Mapped | Verdict::Renumbered => {
                true
            }
            Verdict::Changed | Verdict::Missing | Verdict::Unreadable => false,
        }
    }
}

/// Where in its store a record is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordPlace {
    /// It is a file.
    File,
    /// It is this line of its file, from 1.
    Line(u64),
    /// It is in a list of its file, at this place from 0.
    Index(u64),
    /// It is the row with this id.
    Row(i64),
}

/// The nearest place in which a record was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FoundIn {
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// The file that it is in, below the old store; `None` where that is a database.
    pub file: Option<String>,
    /// Where in the file.
    pub place: RecordPlace,
    /// Where it was found.
    pub found: FoundIn,
    /// The session, or the file and line, that has it where the database does not show
    /// it.
    pub found_in: Option<String>,
    /// What changed, which rules rewrote it, or why it cannot be read.
    pub why: Vec<String>,
}

/// One file of an old store of which every record is judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgedFile {
    /// The file, below the old store.
    pub file: String,
    /// The session of the database that its records were looked for in.
    pub session: String,
    /// How many records it has.
    pub records: u64,
    /// How many of them are missing, changed or unreadable.
    pub lacking: u64,
}

/// A file of a rescue: records that the database lacks, in a form that the program
/// can import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rescued {
    /// Where it goes, below the folder of the rescue.
    pub path: RelPath,
    /// What it holds.
    pub bytes: Vec<u8>,
    /// How many of the missing and changed records are in it.
    pub records: u64,
    /// What a person has to know before importing it.
    pub note: Option<String>,
}

/// What receives the answers of a comparison, in whatever order they come.
pub trait Answer {
    /// Receives a record with its verdict.
    fn judged(&mut self, judged: Judged);

    /// Receives a file whose records are all judged.
    fn file(&mut self, file: JudgedFile);

    /// Receives a file of the rescue.
    ///
    /// # Errors
    /// Returns an error when it cannot be kept, which ends the comparison.
    fn rescued(&mut self, file: Rescued) -> Result<(), TablesError>;

    /// Receives a row of a session that is in the old store, too, when no record of the
    /// old store is that row: the database may be the only place that has it.
    fn only_in_new(&mut self, session: &str, row: i64);

    /// Receives what of the new store could not be read, so that nothing was found
    /// there.
    fn unread(&mut self, what: String);
}

/// Files of a folder, read when they are asked for.
pub trait StoreFiles {
    /// Returns the paths of all regular files, in byte order.
    fn paths(&self) -> Vec<RelPath>;

    /// Reads a file.
    ///
    /// # Errors
    /// Returns what is wrong with it where it cannot be read.
    fn read(&self, path: &RelPath) -> Result<Vec<u8>, TablesError>;
}

/// The folder that a program keeps its database and files in. What lies in the old
/// store, too, is not in it: a file is not proof of itself.
pub trait StateFolder {
    /// Returns the paths of the files in a folder of it, in byte order.
    fn files(&self, folder: &str) -> Vec<RelPath>;

    /// Reads a file; `None` where there is none, or it cannot be read.
    fn read(&self, path: &RelPath) -> Option<Vec<u8>>;
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
    /// The folder around it.
    pub state: &'a dyn StateFolder,
}

/// Whether the records that are not in the database are written out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rescue {
    /// They are.
    Wanted,
    /// They are only named.
    NotWanted,
}

/// One program's rules of what is contained in its database.
pub trait Containment: Sync {
    /// Tells whether a database is one of this program.
    fn knows(&self, tables: &dyn Tables) -> bool;

    /// Returns the name of the folder that the database has to itself inside of the
    /// state folder; `None` where it lies directly in the state folder.
    fn database_folder(&self) -> Option<&'static str> {
        None
    }

    /// Returns why the program could not import what a rescue would write; `None`
    /// where it can.
    fn cannot_rescue(&self) -> Option<&'static str>;

    /// Judges every record of an old store, and hands each out.
    ///
    /// # Errors
    /// Returns an error when the database cannot be read, or the old store is of a kind
    /// that this program never had.
    fn judge(&self, old: OldStore<'_>, new: NewStore<'_>, rescue: Rescue, answer: &mut dyn Answer) -> Result<(), TablesError>;
}
