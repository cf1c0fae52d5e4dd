//! Two things that hold messages, as the user names them: logs or sources, of
//! whatever formats. A source is converted in memory first.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::adapters::ALL;
use crate::adapters::adapter::{Check, Standing};
use crate::log::{LogView, LogWriter};
use crate::model::finding::Findings;
use crate::model::stream::{ReadAt, StreamError};
use crate::report::differences::Showing;
use crate::store::layout::LOG_SUFFIX;
use crate::store::{disk, snapshot};

use super::error::CommandError;
use super::logs::{self, LogFile};
use super::source::{Selection, Source, SourceUnit};

/// What to compare.
#[derive(Debug)]
pub struct CompareJob {
    /// One side.
    pub a: PathBuf,
    /// The other one.
    pub b: PathBuf,
    /// How differences are shown.
    pub showing: Showing,
    /// How many of one session are shown.
    pub most: usize,
    /// How many sessions at once.
    pub jobs: usize,
}

/// The bytes of a log: on disk, or just made.
#[derive(Debug, Clone)]
pub(super) enum LogBytes {
    File(Arc<File>),
    Memory(Arc<Vec<u8>>),
}

impl ReadAt for LogBytes {
    fn size(&self) -> std::io::Result<u64> {
        match self {
            LogBytes::File(file) => file.size(),
            LogBytes::Memory(bytes) => bytes.size(),
        }
    }

    fn read_some_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        match self {
            LogBytes::File(file) => file.read_some_at(buffer, offset),
            LogBytes::Memory(bytes) => bytes.read_some_at(buffer, offset),
        }
    }
}

/// One side of a comparison.
pub(super) struct Side {
    path: PathBuf,
    source: Option<Source>,
    sessions: BTreeMap<String, Origin>,
}

/// Where a session's messages come from.
enum Origin {
    Log(LogFile),
    Unit(Box<SourceUnit>),
}

impl Side {
    /// Looks at what stands at a path.
    ///
    /// # Errors
    /// When nothing there holds messages.
    pub(super) fn open(path: &Path) -> Result<Side, CommandError> {
        match found_logs(path) {
            Ok(logs) => {
                let name = |log: &LogFile| log.name.strip_suffix(LOG_SUFFIX).unwrap_or(&log.name).to_owned();
                let sessions = logs.into_iter().map(|log| (name(&log), Origin::Log(log))).collect();
                Ok(Side { path: path.to_owned(), source: None, sessions })
            }
            Err(CommandError::NoLogs { .. }) => {
                let mut source = Source::open(path, ALL, &Selection::default())?;
                let units = std::mem::take(&mut source.units).into_iter().filter(|unit| unit.found.standing != Standing::Retired);
                let sessions: BTreeMap<String, Origin> = units.map(|unit| (unit.name.to_string(), Origin::Unit(Box::new(unit)))).collect();
                if sessions.is_empty() {
                    return Err(CommandError::NothingToCompare { path: path.to_owned() });
                }
                Ok(Side { path: path.to_owned(), source: Some(source), sessions })
            }
            Err(error) => Err(error),
        }
    }

    /// The names of its sessions.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.sessions.keys()
    }

    /// A session's log, and a warning where it is not as it was sealed.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn log(&self, session: &str) -> Result<(LogView<LogBytes>, Option<&'static str>), CommandError> {
        let nothing = || CommandError::NothingToCompare { path: self.path.clone() };
        match (self.sessions.get(session), &self.source) {
            (Some(Origin::Log(log)), _) => {
                let bytes = LogBytes::File(Arc::new(disk::open(&log.path)?));
                let view = LogView::open(bytes).map_err(|source| CommandError::Log { path: log.path.clone(), source })?;
                let warning = logs::seal_warning(view.seal());
                Ok((view, warning))
            }
            (Some(Origin::Unit(unit)), Some(source)) => Ok((converted(source, unit)?, None)),
            (Some(Origin::Unit(_)), None) | (None, _) => Err(nothing()),
        }
    }

    /// Where a session is, for reports.
    pub(super) fn place(&self, session: &str) -> String {
        match self.sessions.get(session) {
            Some(Origin::Log(log)) => log.path.display().to_string(),
            Some(Origin::Unit(_)) if self.sessions.len() > 1 => self.path.join(session).display().to_string(),
            Some(Origin::Unit(_)) | None => self.path.display().to_string(),
        }
    }
}

/// The logs at a path; a file that is none is a source.
fn found_logs(path: &Path) -> Result<Vec<LogFile>, CommandError> {
    let is_log = |file: &File| {
        let mut start = Vec::new();
        file.fill_at(&mut start, 0, 64).is_ok() && start.starts_with(b"{\"seq\":1,\"type\":\"session\"")
    };
    let by_name = path.as_os_str().as_encoded_bytes().ends_with(LOG_SUFFIX.as_bytes());
    if path.is_dir() || by_name || is_log(&disk::open(path)?) {
        return logs::find(path);
    }
    Err(CommandError::NoLogs { path: path.to_owned() })
}

/// The log that a session of a source would become.
fn converted(source: &Source, unit: &SourceUnit) -> Result<LogView<LogBytes>, CommandError> {
    let folder = source.folder_of(unit);
    let files = snapshot::take(&folder, unit.own_name(), &unit.found.files)?.with_beside(unit.found.beside.clone());
    let stream = |source: StreamError| CommandError::Stream { path: folder.clone(), source };
    let mut writer = LogWriter::new(Vec::new());
    unit.found.adapter.read(&files, Check::ByProof, &mut writer, &mut Findings::default()).map_err(stream)?;
    let (bytes, _) = writer.finish().map_err(stream)?;
    LogView::open(LogBytes::Memory(Arc::new(bytes))).map_err(|source| CommandError::Log { path: folder, source })
}
