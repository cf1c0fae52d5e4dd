//! Two things that hold messages, as the user names them: logs or sources, of
//! whatever formats. A source is converted in memory first.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::adapters::ALL;
use crate::adapters::format::{Check, Format, RETIRED_SUFFIX, Standing};
use crate::adapters::maintenance::Maintenance;
use crate::log::LogView;
use crate::maintenance;
use crate::model::database::DatabaseMessage;
use crate::model::files::RelPath;
use crate::model::finding::{Finding, FindingCode, Findings, Severity};
use crate::model::folder::{ListedKind, Portion};
use crate::model::location::Location;
use crate::model::stream::{ReadAt, StreamError};
use crate::pipeline::snapshot::files_of;
use crate::pipeline::source::{Selection, Source, SourceUnit};
use crate::pipeline::unclaimed;
use crate::report::differences::Showing;
use crate::report::printer::{Form, Printer};
use crate::store::database::{self, DatabaseCopy};
use crate::store::layout::{LOG_SUFFIX, Store, path_below};
use crate::store::{StoreError, disk, listing};
use crate::verify::build_log;
use crate::verify::difference::visible;

use super::error::CommandError;
use super::logs::{self, LogFile, Looked};
use super::verify_rows::earlier_unit_name;
use super::{audit, evidence};

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
    /// The folders of the source that a program has sessions in.
    folders: Vec<(&'static dyn Format, RelPath)>,
    /// By name; what stands first is the session as it is now.
    sessions: BTreeMap<String, Vec<Origin>>,
    unseen: Vec<Unseen>,
    /// Files there that belong to no session and are not expected to.
    strays: Vec<Unseen>,
    /// Databases there whose messages can be read.
    pub(super) databases: Vec<DatabaseOf>,
}

/// Something that lies there and was not looked into.
#[derive(Debug, Clone, Serialize)]
pub(super) struct Unseen {
    schema: u32,
    not_compared: String,
    code: FindingCode,
    severity: Severity,
    why: String,
    /// How many more files like it are not listed one by one.
    #[serde(skip_serializing_if = "is_zero")]
    more: u64,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// The messages of a database.
pub(super) struct DatabaseOf {
    /// Where it is, for reports.
    pub(super) place: String,
    pub(super) messages: Vec<DatabaseMessage>,
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
    pub attachments: Attachments,
}

/// Where the attachments of a session are.
#[derive(Debug)]
pub(super) enum Attachments {
    /// Among the files of the source, which were read just now.
    InSource,
    /// In the store of its log, where the log is in one.
    InStore(Option<Store>),
}

impl Side {
    /// Looks at what stands at a path.
    ///
    /// # Errors
    /// When nothing there holds messages.
    pub(super) fn open(path: &Path) -> Result<Side, CommandError> {
        let mut side = Side {
            path: path.to_owned(),
            source: None,
            folders: Vec::new(),
            sessions: BTreeMap::new(),
            unseen: Vec::new(),
            strays: Vec::new(),
            databases: Vec::new(),
        };
        match found_logs(path) {
            Ok(looked) => side.add_logs(looked)?,
            Err(CommandError::NoLogs { .. }) => {}
            Err(error) => return Err(error),
        }
        let is_source = side.sessions.is_empty() || (path.is_dir() && !Store::at(path).private().is_dir());
        if is_source {
            side.add_source(Source::open(path, ALL, &Selection::default())?);
        }
        if side.sessions.is_empty() && side.unseen.is_empty() && side.databases.is_empty() {
            return Err(CommandError::NothingToCompare { path: path.to_owned() });
        }
        Ok(side)
    }

    /// Takes logs, and those that their stores keep from before.
    fn add_logs(&mut self, Looked { logs, unread }: Looked) -> Result<(), CommandError> {
        for unread in unread {
            self.skip(FindingCode::Unreadable, path_below(&self.path, &unread.relative), unread.why.to_string());
        }
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
            let earlier = logs::look_at_earlier(&Store::at(&store))?;
            for unread in earlier.unread {
                self.skip(FindingCode::Unreadable, path_below(&store, &unread.relative), unread.why.to_string());
            }
            for log in earlier.logs {
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
        let findings = audit::of_discovery(&source).into_iter().filter(|finding| !has_logs || !is_log(&finding.location.file));
        let links = links_of_sessions(&source);
        for finding in findings.chain(left_out(&source)).chain(links) {
            if self.took_database(&source, &finding) {
                continue;
            }
            let not_compared = self.path.join(&finding.location.file).display().to_string();
            let Finding { code, severity, message: why, more, .. } = finding;
            let unseen = Unseen { schema: 1, not_compared, code, severity, why, more };
            match severity {
                Severity::Info => self.strays.push(unseen),
                Severity::Warn | Severity::Error => self.unseen.push(unseen),
            }
        }
        let folders = evidence::folders(&source);
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
        (self.source, self.folders) = (Some(source), folders);
    }

    /// Takes a file that belongs to no session for a database, if it is one: its
    /// messages are compared, or it is named as not compared.
    fn took_database(&mut self, source: &Source, finding: &Finding) -> bool {
        let file = RelPath::new(finding.location.file.as_bytes());
        if finding.code != FindingCode::UnknownFile {
            return false;
        }
        let name = file.as_bytes().rsplit(|b| *b == b'/').next().unwrap_or_default();
        let program = maintenance::ALL.iter().find(|program| program.database().is_some_and(|rule| rule.name.as_bytes() == name));
        // One whose first bytes are damaged is still its program's database.
        let is_named_so = program.is_some() && source.listing.get(&file).is_some_and(|entry| entry.size > 0);
        if !is_named_so && !is_database(&source.root, &file) {
            return false;
        }
        let place = self.path.join(&finding.location.file);
        let read = program.map(|program| read_database(*program, &path_below(&source.root, &file)));
        match read {
            Some(Ok(messages)) => self.databases.push(DatabaseOf { place: place.display().to_string(), messages }),
            Some(Err(why)) => self.skip(FindingCode::DatabaseSkipped, place, format!("the database cannot be read: {why}")),
            None => self.skip(FindingCode::DatabaseSkipped, place, "a database of a program that is not known here".to_owned()),
        }
        true
    }

    /// Reads the databases outside of a source that its programs keep for the
    /// same sessions: the programs show what is in both. One that cannot be read is
    /// noted as not looked into.
    pub(super) fn outside_databases(&mut self) -> Vec<DatabaseOf> {
        let mut found: BTreeMap<PathBuf, Result<Vec<DatabaseMessage>, String>> = BTreeMap::new();
        for (adapter, folder) in &self.folders {
            let program = maintenance::of(adapter.id());
            let (Some(rule), Some(source)) = (program.database(), &self.source) else { continue };
            let folder = path_below(&source.root, folder);
            let of_profiles = database::find_in_each(&folder, rule.profiles, rule.name, rule.levels_above);
            let paths =
                database::find(&folder, rule.name, rule.levels_above).into_iter().chain(of_profiles.into_iter().map(|(_, path)| path));
            for path in paths.filter(|path| !path.starts_with(&source.root)) {
                found.entry(path).or_insert_with_key(|path| read_database(program, path));
            }
        }
        let mut databases = Vec::new();
        for (path, read) in found {
            match read {
                Ok(messages) => databases.push(DatabaseOf { place: path.display().to_string(), messages }),
                Err(why) => self.skip(FindingCode::DatabaseSkipped, path, format!("the database cannot be read: {why}")),
            }
        }
        databases
    }

    /// Notes databases as not looked into, for commands that compare sessions.
    pub(super) fn skip_databases(&mut self) {
        for database in std::mem::take(&mut self.databases) {
            let why = "messages of a database are compared by `everlog contains` only".to_owned();
            self.skip(FindingCode::DatabaseSkipped, database.place.into(), why);
        }
    }

    /// Notes something that was not looked into.
    fn skip(&mut self, code: FindingCode, place: PathBuf, why: String) {
        let not_compared = place.display().to_string();
        self.unseen.push(Unseen { schema: 1, not_compared, code, severity: code.severity(), why, more: 0 });
    }

    /// Returns how many files there belong to no session, and are not expected to.
    pub(super) fn strays(&self) -> u64 {
        self.strays.iter().map(|stray| stray.more + 1).sum()
    }

    /// Returns the names of its sessions.
    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.sessions.keys()
    }

    /// Returns a session as it is now.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(super) fn log(&self, session: &str) -> Result<Opened, CommandError> {
        self.versions(session).next().unwrap_or_else(|| Err(CommandError::NothingToCompare { path: self.path.clone() }))
    }

    /// Returns a session as it is now, then as it is kept from before.
    pub(super) fn versions(&self, session: &str) -> impl Iterator<Item = Result<Opened, CommandError>> {
        let place = self.place(session);
        self.sessions.get(session).into_iter().flatten().map(move |origin| match (origin, &self.source) {
            (Origin::Log(log), _) => {
                let bytes = LogBytes::File(Arc::new(disk::open(&log.path)?));
                let view = LogView::open(bytes).map_err(|source| CommandError::Log { path: log.path.clone(), source })?;
                let warning = logs::seal_warning(view.seal());
                let attachments = Attachments::InStore(Store::of_log(&log.path));
                Ok(Opened { log: view, warning, place: log.path.display().to_string(), attachments })
            }
            (Origin::Unit(unit, names), Some(source)) => {
                let attachments = Attachments::InSource;
                Ok(Opened { log: converted(source, unit, *names)?, warning: None, place: place.clone(), attachments })
            }
            (Origin::Unit(..), None) => Err(CommandError::NothingToCompare { path: self.path.clone() }),
        })
    }

    /// Returns the exact name of a session in base64, where it is not UTF-8.
    pub(super) fn name_b64(&self, session: &str) -> Option<String> {
        match self.sessions.get(session).and_then(|origins| origins.first())? {
            Origin::Unit(unit, _) => unit.name.as_b64(),
            Origin::Log(log) => {
                let bytes = log.relative.as_bytes();
                RelPath::new(bytes.strip_suffix(LOG_SUFFIX.as_bytes()).unwrap_or(bytes)).as_b64()
            }
        }
    }

    /// Returns where a session is, for reports.
    pub(super) fn place(&self, session: &str) -> String {
        match self.sessions.get(session).and_then(|origins| origins.first()) {
            Some(Origin::Log(log)) => log.path.display().to_string(),
            Some(Origin::Unit(..)) if self.sessions.len() > 1 => self.path.join(session).display().to_string(),
            Some(Origin::Unit(..)) | None => self.path.display().to_string(),
        }
    }

    /// Notes a session that could not be read.
    pub(super) fn miss(&mut self, session: &str, error: &CommandError) {
        self.skip(FindingCode::Unreadable, self.place(session).into(), with_cause(error));
    }

    /// Returns how many things could not be looked into.
    pub(super) fn unseen(&self) -> u64 {
        self.unseen.iter().map(|unseen| unseen.more + 1).sum()
    }

    /// Lists for programs the files that belong to no session.
    pub(super) fn tell_strays(&self, out: &Printer) {
        if out.form() == Form::Json {
            self.strays.iter().for_each(|stray| out.object(stray));
        }
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

/// Returns an error and its cause in one line.
fn with_cause(error: &dyn std::error::Error) -> String {
    let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
    format!("{error}{cause}")
}

/// Reads every message of a program's database.
fn read_database(program: &dyn Maintenance, path: &Path) -> Result<Vec<DatabaseMessage>, String> {
    let copy = DatabaseCopy::of(path).map_err(|error| with_cause(&error))?;
    program.database_messages(&copy).map_err(|error| error.to_string())
}

/// Tells whether a file is a SQLite database.
fn is_database(root: &Path, file: &RelPath) -> bool {
    listing::part_of(root, file, Portion::Beginning).starts_with(b"SQLite format 3\0")
}

/// Links among the files of sessions that lead to a file outside of the source.
/// A log has such a link as a link; what is in the file no log has.
fn links_of_sessions(source: &Source) -> Vec<Finding> {
    let mut found = Vec::new();
    for unit in &source.units {
        for (file, entry) in unit.found.files.iter().zip(unit.listed(&source.listing)) {
            let path = path_below(&source.folder_of(unit), file);
            let is_link = entry.is_some_and(|entry| entry.kind == ListedKind::Link) && path.is_file();
            if let Some(to) = is_link.then(|| unclaimed::leads_out(&source.root, &path)).flatten() {
                let code = FindingCode::LinkSkipped;
                let message = format!("a link to {to}, which is not looked at");
                let location = Location::file(unit.reported(file).to_string());
                found.push(Finding { code, severity: code.severity(), location, message, more: 0, digest: None });
            }
        }
    }
    found
}

/// Returns what lies in sessions and is not read with them.
fn left_out(source: &Source) -> impl Iterator<Item = Finding> {
    source.units.iter().flat_map(|unit| {
        let others =
            unit.found.left_out.iter().filter(|(path, code, _)| code.severity() > Severity::Info && !unit.found.files.contains(path));
        others.map(|(path, code, message)| Finding::new(*code, Location::file(unit.reported(path).to_string()), message.clone()))
    })
}

/// Returns the name that a file of a session had before it was retired.
fn name_before(unit: &SourceUnit, file: &RelPath) -> Option<RelPath> {
    let was = RelPath::new(file.as_bytes().strip_suffix(RETIRED_SUFFIX.as_bytes())?);
    unit.found.retires.contains(&was).then_some(was)
}

/// Returns the logs at a path; a file that is not one is a source.
fn found_logs(path: &Path) -> Result<Looked, CommandError> {
    let is_log = |file: &File| {
        let mut start = Vec::new();
        file.fill_at(&mut start, 0, 64).is_ok() && start.starts_with(b"{\"seq\":1,\"type\":\"session\"")
    };
    let by_name = path.as_os_str().as_encoded_bytes().ends_with(LOG_SUFFIX.as_bytes());
    if path.is_dir() || by_name || is_log(&disk::open(path)?) {
        return logs::look(path);
    }
    Err(CommandError::NoLogs { path: path.to_owned() })
}

/// Returns the log that a session of a source would become.
fn converted(source: &Source, unit: &SourceUnit, names: Names) -> Result<LogView<LogBytes>, CommandError> {
    let folder = source.folder_of(unit);
    let mut files = files_of(unit, &folder)?;
    if names == Names::BeforeRetired {
        files = files.renamed(|file| name_before(unit, file));
    }
    let stream = |source: StreamError| CommandError::Stream { path: folder.clone(), source };
    let built = build_log(unit.found.adapter, &files, Check::ByProof, Vec::new(), &mut Findings::default()).map_err(stream)?;
    LogView::open(LogBytes::Memory(Arc::new(built.out))).map_err(|source| CommandError::Log { path: folder, source })
}
