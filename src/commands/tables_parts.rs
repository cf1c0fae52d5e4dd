//! Part files of tables: made from logs, from the rows of parts that are there, or
//! found to be there already.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use crate::model::digest::sha256_of;
use crate::model::files::RelPath;
use crate::store::disk::{self, Disk};
use crate::store::layout::path_below;
use crate::store::replace::Ready;
use crate::store::{StoreError, walk};
use crate::tables::manifest::{FileLine, Manifest, PartLine, SessionLine};
use crate::tables::parquet::{PartReader, PartWriter, Written};
use crate::tables::plan::{self, PartFile, PlannedSession, file_of};
use crate::tables::rows::{RowSink, rows_of};
use crate::tables::{Row, TableError, TableName};

use super::error::CommandError;
use super::tables_listing::Listing;

/// What the folder of tables has from before.
#[derive(Debug, Default)]
pub(super) struct Before {
    parts: Vec<PartLine>,
    by_name: HashMap<String, usize>,
    /// Where the rows of a log are: the number of its part, and of its session there.
    by_log: HashMap<String, (usize, usize)>,
}

impl Before {
    pub(super) fn of(manifest: Option<Manifest>) -> Before {
        let parts = manifest.map(|manifest| manifest.parts).unwrap_or_default();
        let by_name = parts.iter().enumerate().map(|(n, part)| (part.part.clone(), n)).collect();
        let each = |(n, part): (usize, &PartLine)| {
            part.sessions.iter().enumerate().map(move |(at, session)| (session.log.clone(), (n, at))).collect::<Vec<_>>()
        };
        let by_log = parts.iter().enumerate().flat_map(each).collect();
        Before { parts, by_name, by_log }
    }

    /// Returns where the rows of a log are, if they are still right.
    fn rows_of(&self, entry: &PlannedSession) -> Option<(usize, usize)> {
        let (part, at) = *self.by_log.get(&entry.log)?;
        let session = self.parts.get(part)?.sessions.get(at)?;
        (session.made_from == entry.identity()).then_some((part, at))
    }
}

/// Makes parts in one folder.
#[derive(Debug)]
pub(super) struct Maker<'a> {
    pub dest: &'a Path,
    pub listing: &'a Listing,
    pub before: &'a Before,
    pub disk: &'a dyn Disk,
}

/// What became of a part.
#[derive(Debug)]
pub(super) enum Made {
    /// Its files were there.
    Unchanged(PartLine),
    /// It was written.
    New {
        line: PartLine,
        /// Files that take the places of others, which may be needed until all are made.
        ready: Vec<Ready>,
        /// How many of its sessions were read from their logs.
        read: u64,
        /// Why sessions were left out.
        failed: Vec<TableError>,
    },
    /// None of its sessions can be read.
    Nothing(Vec<TableError>),
}

/// Returns where a file of a part is.
pub(super) fn place(dest: &Path, part: &str, table: TableName) -> PathBuf {
    path_below(dest, &RelPath::new(file_of(part, table)))
}

/// A part that was written and whose files have no names yet.
struct WrittenPart {
    line: PartLine,
    ready: Vec<Ready>,
    read: u64,
}

/// Why a part was not written, and the session that is to blame, if one is.
struct Failure {
    session: Option<usize>,
    error: TableError,
}

/// The files of a part that is being written.
struct Writers<'d> {
    files: Vec<(TableName, PartWriter<'d>)>,
    rows: BTreeMap<TableName, u64>,
}

impl RowSink for Writers<'_> {
    fn row(&mut self, table: TableName, row: Row) -> Result<(), TableError> {
        *self.rows.entry(table).or_default() += 1;
        self.files.iter_mut().find(|(of, _)| *of == table).map_or(Ok(()), |(_, file)| file.push(row))
    }
}

impl Maker<'_> {
    /// Makes a part, unless it is there.
    pub(super) fn make(&self, part: &PartFile) -> Result<Made, CommandError> {
        let entries = &self.listing.entries;
        let identity = plan::identity(part.sessions.iter().map(|n| &entries[*n]));
        if let Some(line) = self.unchanged(part, &identity) {
            return Ok(Made::Unchanged(line));
        }
        let mut sessions = part.sessions.clone();
        let mut failed = Vec::new();
        let mut unreadable = BTreeSet::new();
        while !sessions.is_empty() {
            match self.write(part, &sessions) {
                Ok(WrittenPart { line, ready, read }) => return Ok(Made::New { line, ready, read, failed }),
                // Rows of a log that cannot be read to its end are not taken back, so
                // all of the part is written again without it.
                Err(Failure { session: Some(n), error }) if error.is_of_log() && unreadable.insert(n) => {
                    sessions.retain(|one| *one != n);
                    failed.push(error);
                }
                Err(Failure { error, .. }) => return Err(error.into()),
            }
        }
        Ok(Made::Nothing(failed))
    }

    /// Returns the line of a part whose files are there and made from the same.
    fn unchanged(&self, part: &PartFile, identity: &str) -> Option<PartLine> {
        let line = self.before.by_name.get(&part.name).map(|n| &self.before.parts[*n]).filter(|line| line.made_from == identity);
        let says_so =
            |table| PartReader::open(&place(self.dest, &part.name, table), table).is_ok_and(|file| file.identity() == Some(identity));
        if let Some(line) = line {
            let is_there = |(table, file): (&TableName, &FileLine)| {
                let meta = place(self.dest, &part.name, *table).symlink_metadata();
                meta.is_ok_and(|meta| meta.is_file() && meta.len() == file.bytes) && says_so(*table)
            };
            return TableName::ALL.iter().zip(&line.files).all(is_there).then(|| line.clone());
        }
        self.finished(part, identity)
    }

    /// Returns the line of a part that a run has finished which was cut short before it wrote
    /// its manifest.
    fn finished(&self, part: &PartFile, identity: &str) -> Option<PartLine> {
        let mut sessions = None;
        let mut files = Vec::new();
        for table in TableName::ALL {
            let path = place(self.dest, &part.name, table);
            let file = PartReader::open(&path, table).ok().filter(|file| file.identity() == Some(identity))?;
            if table == TableName::Sessions {
                sessions = serde_json::from_str::<Vec<SessionLine>>(file.sessions()?).ok();
            }
            let bytes = path.symlink_metadata().ok()?.len();
            files.push(FileLine { rows: file.rows(), bytes, sha256: sha256_of(disk::open(&path).ok()?).ok()? });
        }
        Some(PartLine { part: part.name.clone(), made_from: identity.to_owned(), files, sessions: sessions? })
    }

    /// Writes the files of a part; where a session is to blame, says which.
    fn write(&self, part: &PartFile, sessions: &[usize]) -> Result<WrittenPart, Failure> {
        let other = |error: TableError| Failure { session: None, error };
        let mut files = Vec::new();
        for table in TableName::ALL {
            let path = place(self.dest, &part.name, table);
            let folder = disk_folder(&path);
            self.disk.create_folders(folder).map_err(|error| other(error.into()))?;
            files.push((table, PartWriter::new(self.disk, folder, table).map_err(other)?));
        }
        let mut writers = Writers { files, rows: BTreeMap::new() };
        let mut olds = Olds { maker: self, open: HashMap::new() };
        let mut lines = Vec::new();
        let mut read = 0;
        for n in sessions.iter().copied() {
            writers.rows.clear();
            let mut entry = self.listing.entries[n].clone();
            let is_copied = match self.before.rows_of(&entry) {
                Some((part, at)) => olds.copy(part, at, &mut writers).map_err(other)?,
                None => false,
            };
            if !is_copied {
                read += 1;
                // The log may be another by now than when it was listed.
                entry.sha256 = rows_of(&self.listing.subject(n), &mut writers).map_err(|error| Failure { session: Some(n), error })?;
            }
            let rows = TableName::ALL.iter().map(|table| writers.rows.get(table).copied().unwrap_or(0)).collect();
            lines
                .push((SessionLine { log: entry.log.clone(), log_sha256: entry.sha256.clone(), made_from: entry.identity(), rows }, entry));
        }
        let identity = plan::identity(lines.iter().map(|(_, entry)| entry));
        let lines: Vec<SessionLine> = lines.into_iter().map(|(line, _)| line).collect();
        let text = serde_json::to_string(&lines)
            .map_err(|error| other(TableError::File { path: self.dest.to_owned(), what: error.to_string() }))?;
        let (mut ready, mut file_lines) = (Vec::new(), Vec::new());
        for (table, file) in writers.files {
            let about = (table == TableName::Sessions).then_some(text.as_str());
            let Written { temporary, rows, bytes, sha256 } = file.finish(&identity, about).map_err(other)?;
            file_lines.push(FileLine { rows, bytes, sha256 });
            ready.push(Ready { from: temporary.keep(), to: place(self.dest, &part.name, table), keep_as: None });
        }
        let line = PartLine { part: part.name.clone(), made_from: identity, files: file_lines, sessions: lines };
        Ok(WrittenPart { line, ready, read })
    }
}

fn disk_folder(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

/// Parts from before whose rows are copied.
struct Olds<'m> {
    maker: &'m Maker<'m>,
    /// The files of each, with the numbers of their next rows; none where they are not
    /// as they were written.
    open: HashMap<usize, Option<Vec<(PartReader, u64)>>>,
}

impl Olds<'_> {
    /// Copies the rows of a session; says whether it could.
    fn copy(&mut self, part: usize, at: usize, writers: &mut Writers<'_>) -> Result<bool, TableError> {
        let line = &self.maker.before.parts[part];
        let session = &line.sessions[at];
        let maker = self.maker;
        let Some(files) = self.open.entry(part).or_insert_with(|| open(maker.dest, line)) else { return Ok(false) };
        for (n, table) in TableName::ALL.into_iter().enumerate() {
            let first: u64 = line.sessions[..at].iter().map(|session| session.rows[n]).sum();
            let (file, next) = &mut files[n];
            if *next > first {
                *file = PartReader::open(&place(maker.dest, &line.part, table), table)?;
                *next = 0;
            }
            file.skip(first - *next)?;
            for _ in 0..session.rows[n] {
                let path = || place(maker.dest, &line.part, table);
                let row = file.next_row()?.ok_or_else(|| TableError::File { path: path(), what: "it ends too early".to_owned() })?;
                writers.row(table, row)?;
            }
            *next = first + session.rows[n];
        }
        Ok(true)
    }
}

/// Opens the files of a part, if they are as they were written.
fn open(dest: &Path, line: &PartLine) -> Option<Vec<(PartReader, u64)>> {
    let one = |(table, file): (&TableName, &FileLine)| {
        let path = place(dest, &line.part, *table);
        let is_it = hash_of(&path).is_ok_and(|sha256| sha256 == file.sha256);
        is_it.then(|| PartReader::open(&path, *table).ok()).flatten().map(|file| (file, 0))
    };
    TableName::ALL.iter().zip(&line.files).map(one).collect()
}

/// Returns the hash of a file's bytes.
pub(super) fn hash_of(path: &Path) -> Result<String, StoreError> {
    sha256_of(disk::open(path)?).map_err(StoreError::io("read", path))
}

/// Returns the part files in a folder of tables that none of these parts has.
pub(super) fn foreign(dest: &Path, parts: &[PartLine]) -> Vec<PathBuf> {
    let known: BTreeSet<PathBuf> =
        parts.iter().flat_map(|part| TableName::ALL.into_iter().map(|table| place(dest, &part.part, table))).collect();
    let mut found = Vec::new();
    let mut folders: Vec<PathBuf> = TableName::ALL.into_iter().map(|table| dest.join(table.name())).collect();
    while let Some(folder) = folders.pop() {
        if !walk::is_folder("look into", &folder).unwrap_or(false) {
            continue;
        }
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Ok(kind) = entry.file_type() else { continue };
            let path = entry.path();
            if kind.is_dir() {
                folders.push(path);
            } else if kind.is_file() && is_part(entry.file_name().as_encoded_bytes()) && !known.contains(&path) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// Tells whether a name is one of ours: a person's own file stays where it is.
fn is_part(name: &[u8]) -> bool {
    let digits = name.strip_prefix(b"part-").and_then(|name| name.strip_suffix(b".parquet"));
    digits.is_some_and(|digits| digits.len() == 16 && digits.iter().all(u8::is_ascii_hexdigit))
}
