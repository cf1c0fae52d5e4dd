//! Databases made again from the logs of their parts.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use sha2::Digest;

use crate::log::restore::{ByteSink, file_plan, rebuild};
use crate::model::digest::hex;
use crate::model::event::SessionKind;
use crate::model::files::RelPath;
use crate::model::rows::{LeftOut, RowsLine};
use crate::model::stream::StreamError;
use crate::pipeline::batch;
use crate::pipeline::open::{LogError, LogFile, open};
use crate::store::StoreError;
use crate::store::database_builder::{BuildError, DatabaseBuilder};
use crate::store::layout::{LOG_SUFFIX, path_below};
use crate::store::restored::{Expected, RestoreFolder, Standing};

use super::error::RestoreError;
use super::plan::{EntryKind, LogPlan, Planned};

/// The logs that have rows of one database, by number, each with its entry.
type Parts<'p> = Vec<(usize, &'p Planned)>;

/// What databases are restored from, and where to.
pub(super) struct Databases<'a> {
    pub(super) logs: &'a [LogFile],
    pub(super) plans: &'a [Option<LogPlan>],
    pub(super) stop: &'a AtomicBool,
    pub(super) folder: &'a RestoreFolder<'a>,
}

/// What came of the rows of one log.
pub(super) enum Made {
    /// The database that begins with them was made.
    Database(MadeDatabase),
    /// They are not in it.
    Failed(RestoreError),
    /// It was not begun, because the run was stopped.
    Stopped,
}

/// A database that was made.
pub(super) struct MadeDatabase {
    pub(super) bytes: u64,
    /// Whether it was there already.
    pub(super) standing: Standing,
    /// Tables whose rows it lacks.
    pub(super) left_out: Vec<LeftOut>,
}

impl Databases<'_> {
    /// Restores every database that these logs have rows of, and says what came of
    /// logs by their numbers. A log that cannot give its rows fails by itself: the
    /// rows of the others are restored.
    pub(super) fn restore(&self, is_well: impl Fn(usize) -> bool) -> Vec<(usize, Made)> {
        let mut databases: BTreeMap<&RelPath, Parts<'_>> = BTreeMap::new();
        for (n, plan) in self.plans.iter().enumerate().filter(|(n, _)| is_well(*n)) {
            for entry in plan.iter().flat_map(|plan| &plan.entries) {
                if let EntryKind::Rows { .. } = entry.what {
                    databases.entry(&entry.path).or_default().push((n, entry));
                }
            }
        }
        let mut made = Vec::new();
        for (path, mut parts) in databases {
            if self.stop.load(Ordering::Relaxed) {
                made.extend(parts.iter().map(|(n, _)| (*n, Made::Stopped)));
                continue;
            }
            // The schema comes first, and the sessions in the order of their names.
            parts.sort_by(|(a, _), (b, _)| {
                self.has_schema(*b).cmp(&self.has_schema(*a)).then_with(|| self.logs[*a].name.cmp(&self.logs[*b].name))
            });
            let Some(first) = parts.first().map(|(n, _)| *n) else { continue };
            let mut failed = Vec::new();
            let one = batch::caught(|| self.one_database(path, &parts, &mut failed), RestoreError::Bug);
            made.push((first, one.map_or_else(Made::Failed, Made::Database)));
            made.extend(failed.into_iter().map(|(n, error)| (n, Made::Failed(error))));
        }
        made
    }

    fn has_schema(&self, n: usize) -> bool {
        self.plans[n].as_ref().is_some_and(|plan| plan.kind == SessionKind::Store)
    }

    /// Makes one database.
    fn one_database(
        &self,
        path: &RelPath,
        parts: &Parts<'_>,
        failed: &mut Vec<(usize, RestoreError)>,
    ) -> Result<MadeDatabase, RestoreError> {
        let Some((first, entry)) = parts.first().copied() else { return Err(RestoreError::Bug("a database without logs".to_owned())) };
        let mut builder = DatabaseBuilder::new().map_err(|error| not_built(&self.logs[first], error))?;
        if !self.has_schema(first) {
            let schema = schema_log(&self.logs[first]);
            if !schema.path.is_file() {
                let what = format!("has rows of a database, and the log with the schema of it is not there: {}", schema.path.display());
                return Err(RestoreError::Unrestorable { path: self.logs[first].path.clone(), what });
            }
            add(&schema, None, Takes::Schema, &mut builder)?;
        }
        for (n, entry) in parts {
            // What is not as its log records must not be half in the database.
            let added = add(&self.logs[*n], Some(entry), Takes::Nothing, &mut builder)
                .and_then(|()| add(&self.logs[*n], Some(entry), Takes::Everything, &mut builder));
            match added {
                Ok(()) => {}
                Err(error) if *n == first => return Err(error),
                Err(error) => failed.push((*n, error)),
            }
        }
        let (_, adapter) = open(&self.logs[first].path, None)?;
        let format = adapter.database().ok_or_else(|| RestoreError::Bug("a format without databases has rows".to_owned()))?;
        let mut built = builder.finish(format).map_err(|error| not_built(&self.logs[first], error))?;
        let io = |source| StoreError::io("read the database", &path_below(self.folder.root(), path))(source);
        let mut bytes = Vec::with_capacity(PIECE);
        let mut hash = sha2::Sha256::new();
        let mut each_piece = |take: &mut dyn FnMut(&[u8]) -> Result<(), RestoreError>| -> Result<(), RestoreError> {
            std::io::Seek::rewind(&mut built.file).map_err(io)?;
            loop {
                bytes.clear();
                if (&mut built.file).take(PIECE as u64).read_to_end(&mut bytes).map_err(io)? == 0 {
                    return Ok(());
                }
                take(&bytes)?;
            }
        };
        each_piece(&mut |piece| {
            hash.update(piece);
            Ok(())
        })?;
        let sha256 = hex(&hash.finalize());
        let standing = self.folder.standing(path, Expected::File { size: built.bytes, sha256: &sha256 })?;
        if standing == Standing::Nothing {
            let file = self.folder.file(path)?;
            each_piece(&mut |piece| {
                let mut out = file.bytes();
                std::io::Write::write_all(&mut out, piece).map_err(io).map_err(Into::into)
            })?;
            file.done(entry.was)?;
        }
        Ok(MadeDatabase { bytes: built.bytes, standing, left_out: built.left_out })
    }
}

/// A database is copied in pieces of this size.
const PIECE: usize = 256 * 1024;

fn not_built(log: &LogFile, error: BuildError) -> RestoreError {
    match error {
        BuildError::Store(error) => error.into(),
        error @ (BuildError::Refused { .. } | BuildError::Line { .. }) => {
            let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
            RestoreError::Unrestorable { path: log.path.clone(), what: format!("does not make a database: {error}{cause}") }
        }
    }
}

/// Returns the log of what belongs to no session: the folder of a session's log has its name.
fn schema_log(log: &LogFile) -> LogFile {
    let folder = log.path.parent().unwrap_or(&log.path);
    let mut path = folder.as_os_str().to_owned();
    path.push(LOG_SUFFIX);
    let path = PathBuf::from(path);
    LogFile { name: path.display().to_string(), path, below: RelPath::new(""), relative: RelPath::new(""), bytes: None }
}

/// Which lines of a log's rows a database takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Schema,
    Everything,
}

/// Gives the rows of a log to a database, and compares their size and hash with
/// what the log records.
fn add(log: &LogFile, entry: Option<&Planned>, takes: Takes, builder: &mut DatabaseBuilder) -> Result<(), RestoreError> {
    let (mut view, adapter) = open(&log.path, None)?;
    let stream = |source| RestoreError::Log(LogError::Stream { path: log.path.clone(), source });
    let seq = match entry {
        Some(entry) => entry.seq,
        None => *view.files().first().ok_or_else(|| RestoreError::NoFiles { path: log.path.clone() })?,
    };
    let plan = file_plan(&mut view, seq).map_err(stream)?;
    let mut rows = RowLines { builder, takes, line: Vec::new(), bytes: 0, hash: sha2::Sha256::new(), error: None };
    let rebuilt = rebuild(&mut view, &plan, &|holds, style, shapes| adapter.renderer(holds, style, shapes), &mut rows);
    if let Some(error) = rows.error {
        return Err(not_built(log, error));
    }
    rebuilt.map_err(stream)?;
    let is_right = plan.entry.size == Some(rows.bytes) && plan.entry.sha256 == Some(hex(&rows.hash.finalize()));
    if is_right { Ok(()) } else { Err(stream(StreamError::log(seq, "does not rebuild to the hash and size it records"))) }
}

/// Hands on what comes line by line.
struct RowLines<'b> {
    builder: &'b mut DatabaseBuilder,
    takes: Takes,
    line: Vec<u8>,
    bytes: u64,
    hash: sha2::Sha256,
    error: Option<BuildError>,
}

impl RowLines<'_> {
    fn one(&mut self, line: &[u8]) -> Result<(), StreamError> {
        let is_taken = match self.takes {
            Takes::Nothing => false,
            Takes::Schema => matches!(RowsLine::read(line), Some(RowsLine::Database(_) | RowsLine::Schema(_))),
            Takes::Everything => true,
        };
        if !is_taken {
            return Ok(());
        }
        self.builder.line(line).map_err(|error| {
            self.error = Some(error);
            StreamError::Differs
        })
    }
}

impl ByteSink for RowLines<'_> {
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), StreamError> {
        self.hash.update(bytes);
        self.bytes += bytes.len() as u64;
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let (line, more) = (&rest[..end], &rest[end + 1..]);
            if self.line.is_empty() {
                self.one(line)?;
            } else {
                let mut whole = std::mem::take(&mut self.line);
                whole.extend_from_slice(line);
                self.one(&whole)?;
                whole.clear();
                self.line = whole;
            }
            rest = more;
        }
        self.line.extend_from_slice(rest);
        Ok(())
    }
}
