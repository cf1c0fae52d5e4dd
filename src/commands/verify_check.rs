//! One log, checked: opened, rebuilt, replayed, and compared with whatever
//! there is to compare it with.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::adapters::adapter::{Adapter, Standing};
use crate::log::restore::file_plan;
use crate::log::{LogProblem, LogView, SealState};
use crate::model::digest::sha256_hex;
use crate::model::files::{Files, RelPath};
use crate::model::finding::{Finding, Severity};
use crate::model::location::Location;
use crate::model::stream::StreamError;
use crate::report::printer::Form;
use crate::store::layout::{LOG_SUFFIX, Store, path_below};
use crate::store::receipts::{Receipt, Receipts};
use crate::store::{blobs, disk, snapshot};
use crate::verify::alone::{check_heads, check_log_to, files_have_their_hashes, recorded_hashes, refused_path, seal_difference};
use crate::verify::difference::Place;
use crate::verify::explain::{Explained, Limits, altered_line, file_differences, is_conversion, replay_differences};
use crate::verify::golden::{golden_difference, replay_text};
use crate::verify::proof::files_rebuild;
use crate::verify::{Difference, Level, Proof, Records, prove_records};

use super::batch;
use super::error::CommandError;
use super::golden;
use super::logs;
use super::source::{Source, SourceUnit};
use super::verify::{Item, Kept, Verdict, VerifyJob};

/// How many lines of a kept replay are shown around a difference, for so much
/// context elsewhere.
const GOLDEN_LINES: usize = 3;

/// A log as commands open it.
type View = LogView<Arc<File>>;

/// One line of the report.
#[derive(Debug)]
pub(super) struct Checked {
    /// The log's name below the store.
    pub log: String,
    /// Where it lies, as the user would name it.
    pub path: PathBuf,
    pub session: String,
    pub kept: Kept,
    pub verdict: Verdict,
    pub bytes: u64,
    pub messages: u64,
    pub findings: Vec<(PathBuf, Finding)>,
    pub differences: Vec<Located>,
    /// How many more there are.
    pub more: u64,
    /// Why it could not be read.
    pub error: Option<CommandError>,
    pub took: Duration,
}

/// A difference, and the file that it is in.
#[derive(Debug)]
pub(super) struct Located {
    pub difference: Difference,
    pub file: PathBuf,
    pub line: Option<u64>,
    pub byte: Option<u64>,
}

impl Located {
    /// `file:line:byte`.
    pub(super) fn at(&self) -> String {
        Location { file: self.file.display().to_string(), line: self.line, byte: self.byte }.to_string()
    }
}

impl Checked {
    fn new(log: String, session: String, kept: Kept) -> Checked {
        Checked {
            log,
            path: PathBuf::new(),
            session,
            kept,
            verdict: Verdict::Same,
            bytes: 0,
            messages: 0,
            findings: Vec::new(),
            differences: Vec::new(),
            more: 0,
            error: None,
            took: Duration::ZERO,
        }
    }

    /// A kept replay whose session has no log.
    pub(super) fn golden_left(folder: &Path, session: &str) -> Checked {
        let mut checked = Checked::new(format!("{session}{LOG_SUFFIX}"), session.to_owned(), Kept::Current);
        checked.verdict = Verdict::GoldenLeft;
        let difference = Difference::in_file("a replay is kept of a session that has no log", Location::file(session));
        checked.differences.push(Located { difference, file: golden::path_of(folder, session), line: None, byte: None });
        checked
    }

    /// A log that was written, and that is no more.
    pub(super) fn gone(log: &RelPath, session: String, file: PathBuf) -> Checked {
        let mut checked = Checked::new(log.to_string(), session, Kept::Current);
        checked.verdict = Verdict::LogGone;
        let what = match file.symlink_metadata() {
            Err(_) => "a log was written here, and is gone",
            Ok(meta) if meta.is_dir() => "a log was written here, and a folder stands in its place",
            Ok(meta) if meta.is_symlink() => "a log was written here, and a link stands in its place",
            Ok(_) => "a log was written here, and something that is no file stands in its place",
        };
        let difference = Difference::in_log(what, None);
        checked.differences.push(Located { difference, file, line: None, byte: None });
        checked
    }

    /// Current logs first, each kind by name.
    pub(super) fn order(&self) -> (bool, &str) {
        (self.kept == Kept::Earlier, &self.log)
    }
}

/// Why a check ended early.
enum Stopped {
    /// The log is not what it should be.
    Damaged(Box<Difference>),
    /// It could not be read.
    Unreadable(Box<CommandError>),
}

impl Stopped {
    fn damaged(difference: Difference) -> Stopped {
        Stopped::Damaged(Box::new(difference))
    }

    fn unreadable(error: CommandError) -> Stopped {
        Stopped::Unreadable(Box::new(error))
    }

    fn stream(path: &Path) -> impl Fn(StreamError) -> Stopped {
        move |error| match error {
            StreamError::Log { seq, what } => Stopped::damaged(Difference::at_event(format!("event {seq} {what}"), seq)),
            StreamError::TooLong | StreamError::Differs => Stopped::damaged(Difference::in_log(error.to_string(), None)),
            StreamError::Io { .. } | StreamError::TooManyEvents => {
                Stopped::unreadable(CommandError::Stream { path: path.to_owned(), source: error })
            }
        }
    }
}

impl From<CommandError> for Stopped {
    fn from(error: CommandError) -> Stopped {
        let CommandError::Log { source, .. } = &error else { return Stopped::unreadable(error) };
        match source {
            LogProblem::Line { line, what } => Stopped::damaged(Difference::in_log(format!("line {line} {what}"), Some(*line))),
            LogProblem::NotALog => Stopped::damaged(Difference::in_log(source.to_string(), Some(1))),
            LogProblem::Io(_) | LogProblem::Version(_) => Stopped::unreadable(error),
        }
    }
}

impl From<crate::store::StoreError> for Stopped {
    fn from(error: crate::store::StoreError) -> Stopped {
        Stopped::unreadable(error.into())
    }
}

/// Checks logs.
pub(super) struct Checker<'a> {
    pub job: &'a VerifyJob,
    pub source: Option<&'a Source>,
    pub store: Option<&'a Store>,
    pub receipts: &'a Receipts,
    pub form: Form,
}

impl Checker<'_> {
    /// What was noted when a log was made.
    fn receipt(&self, item: &Item<'_>) -> Option<Receipt> {
        item.noted.as_ref().and_then(|unit| self.receipts.get(unit))
    }

    /// Checks one.
    pub(super) fn check(&self, item: &Item<'_>) -> Checked {
        let begun = Instant::now();
        let mut checked = Checked::new(RelPath::from_key(&item.key).to_string(), item.unit_name.clone(), item.kept);
        checked.path = item.log.path.clone();
        let mut found = Explained::default();
        let examined = batch::caught(|| self.examine(item, &mut checked, &mut found), |what| Stopped::unreadable(CommandError::Bug(what)));
        match examined {
            Ok(()) => {}
            Err(Stopped::Damaged(difference)) => {
                checked.verdict = Verdict::Damaged;
                found.list.insert(0, *difference);
            }
            Err(Stopped::Unreadable(error)) => {
                checked.verdict = Verdict::Unreadable;
                checked.error = Some(*error);
            }
        }
        if matches!(checked.verdict, Verdict::Differs | Verdict::Damaged) && is_as_it_was_kept(item) {
            checked.verdict = Verdict::KeptDamaged;
        }
        checked.more = found.more;
        checked.differences = found.list.into_iter().map(|difference| self.located(difference, item)).collect();
        let folder = item.unit.map(|unit| self.shown_folder(unit));
        let noted = self.receipt(item).map(|receipt| receipt.findings).unwrap_or_default();
        // People are told no others, and there may be many logs.
        let told = noted.into_iter().filter(|finding| self.form == Form::Json || finding.severity >= Severity::Warn);
        let placed = told.map(|finding| (self.finding_file(&finding, folder.as_deref(), item), finding));
        checked.findings = placed.collect();
        checked.took = begun.elapsed();
        checked
    }

    /// A session of the source that has no log.
    pub(super) fn without_log(&self, log: &str, unit: &SourceUnit) -> Checked {
        let mut checked = Checked::new(RelPath::from_key(log).to_string(), unit.name.to_string(), Kept::Current);
        checked.verdict = Verdict::NoLog;
        let folder = self.shown_folder(unit);
        let file = unit.found.files.first().map_or_else(|| folder.clone(), |file| path_below(&folder, file));
        let difference = Difference::in_file("the source has a session that has no log", Location::file(unit.name.to_string()));
        checked.differences.push(Located { difference, file, line: None, byte: None });
        checked
    }

    /// Something of the source that is recognised and cannot be converted.
    pub(super) fn not_converted(&self, finding: &Finding) -> Checked {
        let name = &finding.location.file;
        let mut checked = Checked::new(name.clone(), name.clone(), Kept::Current);
        checked.verdict = Verdict::NotConverted;
        let difference = Difference::in_file(&finding.message, finding.location.clone());
        checked.differences.push(Located { difference, file: self.shown_base().join(name), line: None, byte: None });
        checked
    }

    fn limits(&self) -> Limits {
        Limits { context: self.job.showing.context, most: self.job.most }
    }

    fn blob(&self) -> impl Fn(&str) -> Option<Vec<u8>> {
        move |sha256: &str| self.store.and_then(|store| blobs::get(store, sha256).ok())
    }

    fn examine(&self, item: &Item<'_>, checked: &mut Checked, found: &mut Explained) -> Result<(), Stopped> {
        let (mut view, adapter) = logs::open(&item.log.path, None)?;
        let stream = Stopped::stream(&item.log.path);
        let files = self.files_of(item, &mut view)?;
        let is_live = item.unit.is_some_and(|unit| unit.found.standing == Standing::Live);
        if self.source.is_some() && !is_live && item.kept == Kept::Current {
            checked.verdict = Verdict::NoSource;
        }
        if let Some(difference) = seal_difference(view.seal()) {
            checked.verdict = Verdict::Differs;
            found.add(difference, self.limits());
            return self.why_not_as_sealed(item, &mut view, adapter, files.as_ref(), found);
        }
        let proven = match &files {
            None => check_log_to(self.job.level, &mut view, adapter, &self.blob()).map_err(&stream)?,
            // What is left of a session is no session that could be loaded.
            Some(files) if item.unit.is_none() => self.against_remains(&mut view, adapter, files).map_err(&stream)?,
            Some(files) => match self.against(&mut view, adapter, files).map_err(&stream)? {
                Ok(proof) => self.as_written(item, &view, adapter, files)?.map_or(Ok(proof), Err),
                differs => differs,
            },
        };
        match (proven, files) {
            (Ok(proof), _) => (checked.bytes, checked.messages) = (proof.bytes, proof.messages),
            (Err(first), None) => {
                checked.verdict = Verdict::Differs;
                found.add(first, self.limits());
            }
            (Err(first), Some(files)) => {
                checked.verdict = self.explain(&mut view, adapter, &files, first, found).map_err(&stream)?;
            }
        }
        self.compare_golden(item, &mut view, adapter, checked, found)
    }

    /// The files of the session that a log is of, as far as they are to be
    /// compared.
    fn files_of(&self, item: &Item<'_>, view: &mut View) -> Result<Option<Files>, Stopped> {
        let Some(source) = self.source.filter(|_| self.job.level > Level::Seal && item.kept == Kept::Current) else { return Ok(None) };
        match item.unit {
            Some(unit) if unit.found.standing == Standing::Live => {
                let files = snapshot::take(&source.folder_of(unit), unit.own_name(), &unit.found.files)?;
                Ok(Some(files.with_beside(unit.found.beside.clone())))
            }
            Some(_) => Ok(None),
            None => self.remains(item, source, view),
        }
    }

    /// What is left of a session that the source no longer has: files that are
    /// there and of which its program would make nothing, or something else.
    fn remains(&self, item: &Item<'_>, source: &Source, view: &mut View) -> Result<Option<Files>, Stopped> {
        let folder = logs::session_folder(view, &item.log);
        let mut left = Vec::new();
        for seq in view.files().to_vec() {
            let path = file_plan(view, seq).map_err(Stopped::stream(&item.log.path))?.path;
            if source.listing.get(&path.below(&folder)).is_some() {
                left.push(path);
            }
        }
        if left.is_empty() {
            return Ok(None);
        }
        let name = item.unit_name.rsplit('/').next().unwrap_or_default();
        Ok(Some(snapshot::take(&path_below(&source.root, &folder), name.as_bytes(), &left)?))
    }

    /// A log against its source, and by itself as far as that is not the same.
    fn against(&self, view: &mut View, adapter: &dyn Adapter, files: &Files) -> Result<Result<Proof, Difference>, StreamError> {
        let mut records = Records::default();
        let proven = if self.job.level == Level::Full {
            prove_records(view, adapter, files, &mut records)?
        } else {
            files_rebuild(view, adapter, files)?.map(|bytes| Proof { bytes, ..Proof::default() })
        };
        let Ok(proof) = proven else { return Ok(proven) };
        let wrong = match refused_path(view)? {
            None => recorded_hashes(view, files, &self.blob())?,
            refused => refused,
        };
        if let Some(difference) = wrong {
            return Ok(Err(difference));
        }
        if self.job.level == Level::Full
            && let Err(difference) = check_heads(view, adapter, &records)?
        {
            return Ok(Err(difference));
        }
        Ok(Ok(proof))
    }

    /// Whether a log that rebuilds and replays its source is the one that was
    /// written: it says more than these two need, and can be sealed anew. Its
    /// receipt tells, or else a conversion, since a run that was cut short may
    /// have left an older receipt.
    fn as_written(&self, item: &Item<'_>, view: &View, adapter: &dyn Adapter, files: &Files) -> Result<Option<Difference>, Stopped> {
        let is_noted = self.receipt(item).is_some_and(|receipt| view.began_as(receipt.log_bytes, &receipt.log_sha256));
        if self.job.level < Level::Full || is_noted {
            return Ok(None);
        }
        let is_fine = is_conversion(view, adapter, files).map_err(Stopped::stream(&item.log.path))?;
        if is_fine.unwrap_or(item.noted.is_none()) {
            return Ok(None);
        }
        let line = altered_line(&disk::read(&item.log.path)?, adapter, files, self.limits().context);
        Ok(Some(line.unwrap_or_else(|| Difference::in_log("the log is not the one that was written", None))))
    }

    /// A log by itself, and its files against those that are left of them.
    fn against_remains(&self, view: &mut View, adapter: &dyn Adapter, files: &Files) -> Result<Result<Proof, Difference>, StreamError> {
        let alone = check_log_to(self.job.level, view, adapter, &self.blob())?;
        if let (Ok(_), Err(difference)) = (&alone, files_rebuild(view, adapter, files)?) {
            return Ok(Err(difference));
        }
        Ok(alone)
    }

    /// What differs, and which side is to blame: a log that comes to what it
    /// records is good, and its source has changed.
    fn explain(
        &self,
        view: &mut View,
        adapter: &dyn Adapter,
        files: &Files,
        first: Difference,
        found: &mut Explained,
    ) -> Result<Verdict, StreamError> {
        let alone = check_log_to(Level::Restore, view, adapter, &self.blob())?;
        if let Err(difference) = &alone {
            found.add(difference.clone(), self.limits());
        }
        file_differences(view, adapter, files, self.limits(), found)?;
        if alone.is_ok() && !found.list.is_empty() {
            return Ok(Verdict::SourceChanged);
        }
        if found.list.is_empty() {
            replay_differences(view, adapter, files, self.limits(), found)?;
        }
        if found.list.is_empty() {
            found.add(first, self.limits());
        }
        Ok(Verdict::Differs)
    }

    /// What else can be said of a log whose seal is not good.
    fn why_not_as_sealed(
        &self,
        item: &Item<'_>,
        view: &mut View,
        adapter: &dyn Adapter,
        files: Option<&Files>,
        found: &mut Explained,
    ) -> Result<(), Stopped> {
        if !matches!(view.seal(), SealState::Broken { .. }) || self.job.level == Level::Seal {
            return Ok(());
        }
        let limits = self.limits();
        if let Some(files) = files
            && let Some(difference) = altered_line(&disk::read(&item.log.path)?, adapter, files, limits.context)
        {
            found.add(difference, limits);
        }
        let rebuilt = files_have_their_hashes(view, adapter, &self.blob(), &mut |difference| found.add(difference, limits));
        match rebuilt.map_err(Stopped::stream(&item.log.path)) {
            Err(Stopped::Damaged(difference)) => {
                found.add(*difference, limits);
                Ok(())
            }
            rebuilt => rebuilt.map(|_| ()),
        }
    }

    fn compare_golden(
        &self,
        item: &Item<'_>,
        view: &mut View,
        adapter: &dyn Adapter,
        checked: &mut Checked,
        found: &mut Explained,
    ) -> Result<(), Stopped> {
        let Some(folder) = self.job.golden.as_ref().filter(|_| item.kept == Kept::Current) else { return Ok(()) };
        let path = golden::golden_path(folder, &RelPath::from_key(&item.key));
        let name = path.display().to_string();
        let is_fine = matches!(checked.verdict, Verdict::Same | Verdict::NoSource);
        if !path.is_file() {
            checked.verdict = if is_fine { Verdict::GoldenMissing } else { checked.verdict };
            found.add(Difference::in_file("no replay of this session was kept", Location::file(name)), self.limits());
            return Ok(());
        }
        let now = replay_text(view, adapter).map_err(Stopped::stream(&item.log.path))?;
        let kept = disk::read(&path)?;
        if let Some(difference) = golden_difference(&String::from_utf8_lossy(&kept), &now, &name, GOLDEN_LINES) {
            checked.verdict = if is_fine { Verdict::GoldenChanged } else { checked.verdict };
            found.add(difference, self.limits());
        }
        Ok(())
    }

    /// The file that a difference is in, as the user would name it.
    fn located(&self, difference: Difference, item: &Item<'_>) -> Located {
        let (file, line, byte) = match &difference.place {
            Place::Log(at) => (item.log.path.clone(), at.map(|at| at.0), at.map(|at| at.1)),
            Place::File(location) => {
                let is_golden = self.job.golden.as_ref().is_some_and(|folder| Path::new(&location.file).starts_with(folder));
                let folder = if is_golden { None } else { Some(self.session_folder(item)) };
                let file = folder.map_or_else(|| PathBuf::from(&location.file), |folder| folder.join(&location.file));
                (file, location.line, location.byte)
            }
        };
        Located { difference, file, line, byte }
    }

    /// A finding's file: below the source where there is one, else the log.
    fn finding_file(&self, finding: &Finding, folder: Option<&Path>, item: &Item<'_>) -> PathBuf {
        match folder {
            Some(folder) if !finding.location.file.ends_with(LOG_SUFFIX) => folder.join(&finding.location.file),
            Some(_) | None => item.log.path.clone(),
        }
    }

    /// Where the files of a log's session lie, or would lie.
    fn session_folder(&self, item: &Item<'_>) -> PathBuf {
        match (item.unit, &self.job.source) {
            (Some(unit), _) => self.shown_folder(unit),
            (None, Some(typed)) => logs::open_any(&item.log.path, None)
                .map_or_else(|_| typed.clone(), |view| path_below(typed, &logs::session_folder(&view, &item.log))),
            (None, None) => PathBuf::new(),
        }
    }

    /// Where a session's files lie, as the user would name it.
    fn shown_folder(&self, unit: &SourceUnit) -> PathBuf {
        path_below(&self.shown_base(), &unit.found.root)
    }

    /// The folder that the source's paths are relative to, in the same way.
    fn shown_base(&self) -> PathBuf {
        let (Some(source), Some(typed)) = (self.source, &self.job.source) else { return PathBuf::new() };
        match (&source.only_file, typed.parent()) {
            (Some(_), Some(parent)) => parent.to_owned(),
            _ => typed.clone(),
        }
    }
}

/// Whether an earlier log still has the bytes that it had when it was kept: one
/// that was not whole then has their hash in its name.
fn is_as_it_was_kept(item: &Item<'_>) -> bool {
    let name = item.key.strip_suffix(LOG_SUFFIX).unwrap_or_default();
    let said = name.rsplit('.').next().unwrap_or_default();
    item.kept == Kept::Earlier && said.len() == 16 && disk::read(&item.log.path).is_ok_and(|bytes| sha256_hex(&bytes).starts_with(said))
}
