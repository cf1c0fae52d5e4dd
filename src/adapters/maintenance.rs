//! What can be done about a program's folder besides converting it: find what is
//! wrong, repair it, and remove what has served its purpose. A format that
//! offers any of this implements [`Maintenance`]; every method has a default, and
//! the implementations are in `maintenance/<format>`.

use crate::adapters::containment::Containment;
use crate::model::audit::{AuditItem, Evidence};
use crate::model::database::{DatabaseMessage, Tables, TablesError};
use crate::model::files::RelPath;
use crate::model::finding::Finding;
use crate::model::folder::FolderView;
use crate::model::repair::Repairs;
use crate::model::retention::{Prunable, RetentionContext, Rule};

/// Audit, repair and retention of one program's folders.
pub trait Maintenance: Sync {
    /// Returns the id of the format that this belongs to.
    fn format(&self) -> &'static str;

    /// Returns the file that the program would overwrite if the retired file
    /// `name` got its name back.
    fn overwritten_by(&self, _name: &RelPath, _bytes: &[u8], _folder: &FolderView<'_>) -> Option<RelPath> {
        None
    }

    /// Returns where the program says that it is running.
    fn process_file(&self) -> Option<ProcessFile> {
        None
    }

    /// Returns where the program says which sessions its processes have open.
    fn open_marks(&self) -> Option<OpenMarks> {
        None
    }

    /// Returns words of which one is in the command line of every process that
    /// writes these sessions. Where a file names a process, that process counts
    /// as running only if its command line has one of them, because the system
    /// gives process numbers to other programs later.
    fn writer_programs(&self) -> &'static [&'static str] {
        &[]
    }

    /// Returns the database that belongs to a folder of sessions.
    fn database(&self) -> Option<DatabaseFile> {
        None
    }

    /// Returns the database that `audit` compares a folder of sessions with. It is the one
    /// whose messages belong to the sessions, unless the program only moved there.
    fn audited_database(&self) -> Option<DatabaseFile> {
        self.database()
    }

    /// Reads every message of the program's database, whatever its session and
    /// whether or not it is still shown.
    ///
    /// # Errors
    /// Returns an error when the tables cannot be read, or are not the program's.
    fn database_messages(&self, _tables: &dyn Tables) -> Result<Vec<DatabaseMessage>, TablesError> {
        Err(TablesError("its tables are not known".to_owned()))
    }

    /// Returns the rules of what is contained in the program's database, for programs
    /// that moved their sessions into one.
    fn containment(&self) -> Option<&'static dyn Containment> {
        None
    }

    /// Finds what is wrong in a folder of sessions that no single session shows.
    fn audit(&self, _folder: &FolderView<'_>, _evidence: &Evidence<'_>) -> Vec<AuditItem> {
        Vec::new()
    }

    /// Plans the safe repairs of what `audit` finds.
    fn repair(&self, _folder: &FolderView<'_>, _evidence: &Evidence<'_>) -> Repairs {
        Repairs::default()
    }

    /// Returns the rules by which parts of a folder of sessions may be pruned.
    fn retention_rules(&self) -> &'static [Rule] {
        &[]
    }

    /// Lists what those rules apply to in a folder of sessions: what has served
    /// its purpose, and for the rest the reason to keep it.
    fn retention(&self, _folder: &FolderView<'_>, _outlook: &RetentionContext<'_>) -> Vec<Prunable> {
        Vec::new()
    }

    /// Tells whether a rule can ever take something from this file: `path` is
    /// below the folder of sessions, `old` are the bytes that the file had. A
    /// record of a prune that names any other file was not written by everlog.
    fn can_prune(&self, _rule: Rule, _path: &str, _old: &[u8]) -> bool {
        false
    }

    /// Tells whether `audit` reports this finding of a conversion itself, with
    /// more detail.
    fn audit_covers(&self, _finding: &Finding) -> bool {
        false
    }
}

/// The file in which a program says that it runs: JSON with a member `pid`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessFile {
    /// Its name.
    pub name: &'static str,
    /// How many folders above the sessions it may be.
    pub levels_above: usize,
    /// The environment variable that names its folder.
    pub home: &'static str,
    /// The name of the process.
    pub program: &'static str,
}

/// The folder in which each process of a program says which session it has open:
/// a file named by its number, `<pid>.json`, with the session's id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OpenMarks {
    /// The name of the folder.
    pub folder: &'static str,
    /// How many folders above the sessions it may be.
    pub levels_above: usize,
    /// The environment variable that names the folder around it.
    pub home: &'static str,
    /// The member with the session's id.
    pub session: &'static str,
    /// The member with the time at which the process began, in clock ticks as
    /// `/proc` counts them: a number that was given again is another process.
    pub started: &'static str,
}

/// A database that belongs to a folder of sessions. It is only read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DatabaseFile {
    /// Its name.
    pub name: &'static str,
    /// How many folders above the sessions it may be.
    pub levels_above: usize,
    /// The folder beside it that has one folder per profile, each with a database of
    /// this name; empty where the program has no profiles.
    pub profiles: &'static str,
}
