//! Two things that hold messages, as the user names them: logs or sources, of
//! whatever formats. A source is converted in memory first.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::adapters::ALL;
use crate::adapters::adapter::{Check, RETIRED_SUFFIX, Standing};
use crate::log::{LogView, LogWriter};
use crate::model::files::RelPath;
use crate::model::finding::{Finding, Findings, Severity};
use crate::model::location::Location;
use crate::model::stream::{ReadAt, StreamError};
use crate::report::differences::Showing;
use crate::report::printer::{Form, Printer};
use crate::store::layout::{LOG_SUFFIX, Store};
use crate::store::{StoreError, disk, snapshot};
use crate::verify::difference::visible;

use super::audit;
use super::error::CommandError;
use super::logs::{self, LogFile};
use super::source::{Selection, Source, SourceUnit};
use super::verify::earlier_unit_name;

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
    /// By name; what stands first is the session as it is now.
    sessions: BTreeMap<String, Vec<Origin>>,
    unseen: Vec<Unseen>,
    /// How many files there belong to no session, in ordinary life.
    pub(super) strays: u64,
}

/// Something that lies there and could not be looked into.
#[derive(Debug, Serialize)]
pub(super) struct Unseen {
    not_compared: String,
    why: String,
}

/// Where a session's messages come from.
enum Origin {
    Log(LogFile),
    Unit(Box<SourceUnit>, Names),
}

/// Under which names the files of a session are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Names {
    AsTheyAre,
    /// Those that they had before the session was retired.
    BeforeRetired,
}

/// A session as one of its origins has it.
pub(super) struct Opened {
    pub log: LogView<LogBytes>,
    /// What is to be said of a log that is not as it was sealed.
    pub warning: Option<&'static str>,
    pub place: String,
}

impl Side {
    /// Looks at what stands at a path.
    ///
    /// # Errors
    /// When nothing there holds messages.
    pub(super) fn open(path: &Path) -> Result<Side, CommandError> {
        let mut side = Side { path: path.to_owned(), source: None, sessions: BTreeMap::new(), unseen: Vec::new(), strays: 0 };
        match found_logs(path) {
            Ok(logs) => side.add_logs(logs)?,
            Err(CommandError::NoLogs { .. }) => {}
            Err(error) => return Err(error),
        }
        let is_source = side.sessions.is_empty() || (path.is_dir() && !Store::at(path).private().is_dir());
        if is_source {
            side.add_source(Source::open(path, ALL, &Selection::default())?);
        }
        if side.sessions.is_empty() && side.unseen.is_empty() {
            return Err(CommandError::NothingToCompare { path: path.to_owned() });
        }
        Ok(side)
    }

    /// Takes logs, and those that their stores keep from before.
    fn add_logs(&mut self, logs: Vec<LogFile>) -> Result<(), CommandError> {
        let whole = std::path::absolute(&self.path).map_err(StoreError::io("find", &self.path))?;
        let stores: BTreeSet<PathBuf> =
            logs.iter().filter_map(|log| Store::of_log(&log.path)).map(|store| store.root().to_owned()).collect();
        for log in logs {
            let name = log.name.strip_suffix(LOG_SUFFIX).unwrap_or(&log.name).to_owned();
            self.sessions.entry(name).or_default().push(Origin::Log(log));
        }
        for store in stores {
            // Of a part of a store nobody asked for the whole.
            let Ok(prefix) = store.strip_prefix(&whole) else { continue };
            for log in logs::earlier(&Store::at(&store))? {
                let name = prefix.join(earlier_unit_name(&log.relative.key())).display().to_string();
                self.sessions.entry(name).or_default().push(Origin::Log(log));
            }
        }
        Ok(())
    }

    /// Takes the sessions of a source, and notes what of it cannot be read.
    fn add_source(&mut self, mut source: Source) {
        let is_log = |file: &str| file.ends_with(LOG_SUFFIX);
        let has_logs = !self.sessions.is_empty();
        if has_logs {
            source.units.retain(|unit| !unit.found.files.iter().all(|file| is_log(&file.to_string())));
        }
        let findings = audit::beyond_sessions(&source).into_iter().filter(|finding| !has_logs || !is_log(&finding.location.file));
        for finding in findings.chain(left_out(&source)) {
            match finding.severity {
                Severity::Info => self.strays += finding.more + 1,
                Severity::Warn | Severity::Error => {
                    let not_compared = self.path.join(&finding.location.file).display().to_string();
                    self.unseen.push(Unseen { not_compared, why: finding.message });
                }
            }
        }
        for unit in std::mem::take(&mut source.units) {
            let origins = self.sessions.entry(unit.name.to_string()).or_default();
            let has_retired = unit.found.files.iter().any(|file| name_before(&unit, file).is_some());
            let names: &[Names] = match unit.found.standing {
                Standing::Retired => &[Names::BeforeRetired],
                // Retired, and its program has begun another one.
                Standing::Live if has_retired => &[Names::AsTheyAre, Names::BeforeRetired],
                Standing::Live | Standing::PerhapsRetired => &[Names::AsTheyAre],
            };
            origins.extend(names.iter().map(|names| Origin::Unit(Box::new(unit.clone()), *names)));
        }
        self.source = Some(source);
    }

    /// The names of its sessions.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.sessions.keys()
    }

    /// A session as it is now.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn log(&self, session: &str) -> Result<Opened, CommandError> {
        self.versions(session).next().unwrap_or_else(|| Err(CommandError::NothingToCompare { path: self.path.clone() }))
    }

    /// A session as it is now, then as it is kept from before.
    pub(super) fn versions(&self, session: &str) -> impl Iterator<Item = Result<Opened, CommandError>> {
        let place = self.place(session);
        self.sessions.get(session).into_iter().flatten().map(move |origin| match (origin, &self.source) {
            (Origin::Log(log), _) => {
                let bytes = LogBytes::File(Arc::new(disk::open(&log.path)?));
                let view = LogView::open(bytes).map_err(|source| CommandError::Log { path: log.path.clone(), source })?;
                let warning = logs::seal_warning(view.seal());
                Ok(Opened { log: view, warning, place: log.path.display().to_string() })
            }
            (Origin::Unit(unit, names), Some(source)) => {
                Ok(Opened { log: converted(source, unit, *names)?, warning: None, place: place.clone() })
            }
            (Origin::Unit(..), None) => Err(CommandError::NothingToCompare { path: self.path.clone() }),
        })
    }

    /// Where a session is, for reports.
    pub(super) fn place(&self, session: &str) -> String {
        match self.sessions.get(session).and_then(|origins| origins.first()) {
            Some(Origin::Log(log)) => log.path.display().to_string(),
            Some(Origin::Unit(..)) if self.sessions.len() > 1 => self.path.join(session).display().to_string(),
            Some(Origin::Unit(..)) | None => self.path.display().to_string(),
        }
    }

    /// Notes a session that could not be read.
    pub(super) fn miss(&mut self, session: &str, error: &CommandError) {
        let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
        self.unseen.push(Unseen { not_compared: self.place(session), why: format!("{error}{cause}") });
    }

    /// How many things could not be looked into.
    pub(super) fn unseen(&self) -> u64 {
        self.unseen.len() as u64
    }

    /// Says what could not be looked into.
    pub(super) fn tell_unseen(&self, out: &Printer) {
        for unseen in &self.unseen {
            match out.form() {
                Form::Json => out.object(unseen),
                Form::Text => {
                    out.complain(&format!("warning: not compared: {}\n  at {}", visible(&unseen.why), visible(&unseen.not_compared)));
                }
            }
        }
    }
}

/// What lies in sessions and is not read with them.
fn left_out(source: &Source) -> impl Iterator<Item = Finding> {
    source.units.iter().flat_map(|unit| {
        let others =
            unit.found.left_out.iter().filter(|(path, code, _)| code.severity() > Severity::Info && !unit.found.files.contains(path));
        others.map(|(path, code, message)| Finding {
            code: *code,
            severity: code.severity(),
            location: Location::file(unit.reported(path).to_string()),
            message: message.clone(),
            more: 0,
        })
    })
}

/// The name that a file of a session had before it was retired.
fn name_before(unit: &SourceUnit, file: &RelPath) -> Option<RelPath> {
    let was = RelPath::new(file.as_bytes().strip_suffix(RETIRED_SUFFIX.as_bytes())?);
    unit.found.retires.contains(&was).then_some(was)
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
fn converted(source: &Source, unit: &SourceUnit, names: Names) -> Result<LogView<LogBytes>, CommandError> {
    let folder = source.folder_of(unit);
    let mut files = snapshot::take(&folder, unit.own_name(), &unit.found.files)?;
    if names == Names::BeforeRetired {
        files = files.renamed(|file| name_before(unit, file));
    }
    let files = files.with_beside(unit.found.beside.clone());
    let stream = |source: StreamError| CommandError::Stream { path: folder.clone(), source };
    let mut writer = LogWriter::new(Vec::new());
    unit.found.adapter.read(&files, Check::ByProof, &mut writer, &mut Findings::default()).map_err(stream)?;
    let (bytes, _) = writer.finish().map_err(stream)?;
    LogView::open(LogBytes::Memory(Arc::new(bytes))).map_err(|source| CommandError::Log { path: folder, source })
}
