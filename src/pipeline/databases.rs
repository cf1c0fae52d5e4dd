//! Sessions that live in a database: one unit for each, and one for what belongs
//! to none of them.

use rayon::prelude::*;
use std::path::Path;
use std::sync::Arc;

use crate::adapters::discover::Unit;
use crate::model::database::{Credentials, DatabaseFormat, LayoutError};
use crate::model::files::{Entry, Files, RelPath, SourceFile};
use crate::model::finding::{FindingCode, Findings};
use crate::model::location::Location;
use crate::store::database::DatabaseCopy;
use crate::store::layout::path_below;
use crate::store::rows::SessionDatabase;
use crate::store::{StoreError, snapshot};

/// One session of a database, or what belongs to none.
#[derive(Debug, Clone)]
pub struct DatabasePart {
    /// The main file, relative to the unit's folder.
    pub main: RelPath,
    /// The session; none for what belongs to none.
    pub session: Option<String>,
    /// Files beside the database that hold a part of the session.
    pub files: Vec<RelPath>,
    credentials: Credentials,
    database: Result<Arc<SessionDatabase>, String>,
}

impl DatabasePart {
    /// The size of its share of a database file, as far as that can be said before
    /// its rows are read.
    #[must_use]
    pub(super) fn share_of(&self, bytes: u64) -> u64 {
        let sessions = self.database.as_ref().map_or(0, |database| database.layout().sessions.len());
        bytes / (sessions as u64 + 1)
    }

    /// The same part with the rows that are left out of it; nothing where none are.
    pub(super) fn with_credentials(&self) -> Option<DatabasePart> {
        let has_some = self.session.is_none() && self.database.as_ref().is_ok_and(|database| !database.layout().left_out.is_empty());
        let is_new = has_some && self.credentials == Credentials::LeftOut;
        is_new.then(|| DatabasePart { credentials: Credentials::Carried, ..self.clone() })
    }

    /// Reads its rows, and the files beside the database.
    pub(super) fn files_of(&self, folder: &Path, own_name: &[u8]) -> Result<Files, StoreError> {
        let database = self.database.as_ref().map_err(|what| {
            let path = path_below(folder, &self.main);
            StoreError::Database { path, what: what.clone() }
        })?;
        let mut files = snapshot::take(folder, own_name, &self.files)?;
        let bytes = database.rows(self.session.as_deref(), self.credentials)?;
        files.insert(self.main.clone(), Entry::Rows(SourceFile { bytes, mtime_ns: 0 }));
        Ok(files)
    }
}

/// Takes the databases out of the units of a source, and returns their sessions.
pub(super) fn take_sessions(
    root: &Path,
    units: &mut Vec<Unit>,
    credentials: Credentials,
    findings: &mut Findings,
) -> Vec<(Unit, Box<DatabasePart>)> {
    let claims: Vec<Unit> = units.extract_if(.., |unit| database_of(unit).is_some()).collect();
    let opened: Vec<(Unit, Opened)> = claims.into_par_iter().with_max_len(1).filter_map(|unit| open(root, unit)).collect();
    let mut sessions = Vec::new();
    for (unit, opened) in opened {
        match opened {
            Opened::Foreign => {
                for file in &unit.files {
                    let place = Location::of_path(&file.below(&unit.root));
                    findings.add(FindingCode::UnknownFile, place, "belongs to no session that is known here");
                }
            }
            Opened::Database(database) => sessions.extend(parts(&unit, credentials, &database)),
        }
    }
    sessions
}

/// What a claimed database turned out to be.
enum Opened {
    Foreign,
    Database(Result<Arc<SessionDatabase>, String>),
}

/// The format of a unit that is a database, and the main file.
fn database_of(unit: &Unit) -> Option<(&'static dyn DatabaseFormat, &RelPath)> {
    unit.adapter.database().zip(unit.files.first())
}

fn open(root: &Path, unit: Unit) -> Option<(Unit, Opened)> {
    let (format, main) = database_of(&unit)?;
    let path = path_below(&path_below(root, &unit.root), main);
    let said = |error: StoreError| {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
        format!("{error}{cause}")
    };
    let opened = DatabaseCopy::of(&path).and_then(|copy| SessionDatabase::of(copy, format)).map_err(said);
    let database = match opened {
        Ok(Ok(database)) => Ok(Arc::new(database)),
        Ok(Err(LayoutError::Foreign)) => return Some((unit, Opened::Foreign)),
        Ok(Err(LayoutError::Unknown(what))) => Err(what),
        Ok(Err(LayoutError::Tables(error))) => Err(error.to_string()),
        Err(error) => Err(error),
    };
    Some((unit, Opened::Database(database)))
}

/// The unit of what belongs to no session, and those of the sessions.
fn parts(unit: &Unit, credentials: Credentials, database: &Result<Arc<SessionDatabase>, String>) -> Vec<(Unit, Box<DatabasePart>)> {
    let Some(main) = unit.files.first().cloned() else { return Vec::new() };
    let part = |session, files| Box::new(DatabasePart { main: main.clone(), session, files, credentials, database: database.clone() });
    let (of_database, mut unnamed): (Vec<RelPath>, Vec<RelPath>) = unit.files.iter().cloned().partition(|file| is_of_database(&main, file));
    let mut sessions = Vec::new();
    for session in database.iter().flat_map(|database| &database.layout().sessions) {
        // Only what was claimed with the database is there to be read.
        let files: Vec<RelPath> =
            session.files.iter().filter_map(|file| beside(&main, file)).filter(|file| unit.files.contains(file)).collect();
        unnamed.retain(|file| !files.contains(file));
        let mut own = unit.clone();
        own.name = RelPath::new(escaped(&session.id)).below(&unit.name);
        own.files = of_database.iter().chain(&files).cloned().collect();
        own.left_out.clear();
        sessions.push((own, part(Some(session.id.clone()), files)));
    }
    // A file that no session names belongs to none.
    let mut rest = unit.clone();
    rest.files = of_database.into_iter().chain(unnamed.iter().cloned()).collect();
    let mut all = vec![(rest, part(None, unnamed))];
    all.append(&mut sessions);
    all
}

/// Whether a file is the database itself, or a log of it.
fn is_of_database(main: &RelPath, file: &RelPath) -> bool {
    let end = file.as_bytes().strip_prefix(main.as_bytes());
    end.is_some_and(|end| [b"".as_slice(), b"-wal", b"-journal"].contains(&end))
}

/// The path of a file that a database names from its own folder; nothing where that
/// leads out of the unit's folder.
fn beside(main: &RelPath, file: &RelPath) -> Option<RelPath> {
    let above = |path: &RelPath| path.folders().next().unwrap_or_else(|| RelPath::new(""));
    let mut folder = above(main);
    let mut rest = file.as_bytes();
    while let Some(next) = rest.strip_prefix(b"../") {
        rest = next;
        if folder.as_bytes().is_empty() {
            return None;
        }
        folder = above(&folder);
    }
    let file = RelPath::new(rest);
    file.stays_inside().then(|| file.below(&folder))
}

/// A session's id as the name of a file, which no other id has.
fn escaped(id: &str) -> String {
    let mut name = String::with_capacity(id.len());
    for (at, byte) in id.bytes().enumerate() {
        // A colon is refused by some disks and archives.
        let is_plain = byte.is_ascii_alphanumeric() || b"_-@+=,~".contains(&byte) || (byte == b'.' && at > 0);
        if is_plain {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("%{byte:02X}"));
        }
    }
    if name.is_empty() { "%".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_beside_a_database_is_found_from_its_folder_and_never_outside() {
        let found = |main: &str, file: &str| beside(&RelPath::new(main), &RelPath::new(file)).map(|path| path.to_string());
        assert_eq!(found("agent/a.sqlite", "../sessions/x"), Some("sessions/x".to_owned()));
        assert_eq!(found("agent/a.sqlite", "x"), Some("agent/x".to_owned()));
        assert_eq!(found("a.sqlite", "x"), Some("x".to_owned()));
        for (main, file) in [("a.sqlite", "../x"), ("agent/a.sqlite", "../../x"), ("a.sqlite", "y/../../x"), ("a.sqlite", "/x")] {
            assert_eq!(found(main, file), None, "{main} {file}");
        }
        let main = RelPath::new("agent/a.sqlite");
        assert!(is_of_database(&main, &RelPath::new("agent/a.sqlite-wal")) && !is_of_database(&main, &RelPath::new("agent/a.sqlite-x")));
    }

    #[test]
    fn every_id_has_a_name_of_its_own_that_stays_in_its_folder() {
        let ids = ["", "%", "a", "a/b", "a%2Fb", ".", "..", "../x", "a.b", "agent:main:é", "\0"];
        let names: std::collections::BTreeSet<String> = ids.iter().map(|id| escaped(id)).collect();
        assert_eq!(names.len(), ids.len());
        assert!(names.iter().all(|name| RelPath::new(name).stays_inside() && !name.contains('/')), "{names:?}");
    }
}
