//! One log, checked: opened, rebuilt, replayed, and compared with whatever
//! there is to compare it with.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::adapters::format::{Format, Standing};
use crate::log::restore::file_plan;
use crate::log::{LogProblem, LogView, SealState};
use crate::model::digest::sha256_hex;
use crate::model::event::SessionKind;
use crate::model::files::{Files, RelPath};
use crate::model::finding::{Finding, Severity};
use crate::model::folder::{Listed, ListedKind};
use crate::model::location::Location;
use crate::model::stream::StreamError;
use crate::pipeline::batch;
use crate::pipeline::snapshot::files_of;
use crate::pipeline::source::{Source, SourceUnit, name_without};
use crate::report::printer::Form;
use crate::store::layout::{LOG_SUFFIX, Store, path_below};
use crate::store::receipts::{Receipt, Receipts};
use crate::store::{StoreError, blobs, disk, snapshot};
use crate::verify::alone::{check_heads, check_log_to, files_have_their_hashes, recorded_hashes, refused_path, seal_difference};
use crate::verify::difference::Place;
use crate::verify::explain::{Explained, Limits, altered_line, file_differences, is_conversion, replay_differences};
use crate::verify::golden::{golden_difference, replay_text};
use crate::verify::proof::files_rebuild;
use crate::verify::{Difference, Level, Proof, Records, prove_records};

use super::baseline::{Acceptance, Baseline};
use super::error::CommandError;
use super::golden;
use super::logs::{self, Asked, NotRead, Unread};
use super::verify_job::{Item, Kept, Verdict, VerifyJob};

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
    /// The exact name of the log, where it is not UTF-8.
    pub log_b64: Option<String>,
    pub kept: Kept,
    /// What the log is of, where it could be opened.
    pub kind: Option<SessionKind>,
    pub verdict: Verdict,
    /// Whether somebody has looked at this and accepted it.
    pub accepted: bool,
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
        Location { line: self.line, byte: self.byte, ..Location::file(self.file.display().to_string()) }.to_string()
    }
}

impl Checked {
    pub(super) fn new(log: String, session: String, kept: Kept) -> Checked {
        Checked {
            log,
            path: PathBuf::new(),
            session,
            log_b64: None,
            kept,
            kind: None,
            verdict: Verdict::Same,
            accepted: false,
            bytes: 0,
            messages: 0,
            findings: Vec::new(),
            differences: Vec::new(),
            more: 0,
            error: None,
            took: Duration::ZERO,
        }
    }

    /// A log before it is looked at.
    pub(super) fn of(item: &Item<'_>) -> Checked {
        let name = RelPath::from_key(&item.key);
        let mut checked = Checked::new(name.to_string(), item.unit_name.clone(), item.kept);
        checked.path.clone_from(&item.log.path);
        checked.log_b64 = name.as_b64();
        checked
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
            Ok(meta) if meta.is_dir() => "a log was written here, and a folder is in its place",
            Ok(meta) if meta.is_symlink() => "a log was written here, and a link is in its place",
            Ok(_) => "a log was written here, and something that is not a file is in its place",
        };
        let difference = Difference::in_log(what, None);
        checked.differences.push(Located { difference, file, line: None, byte: None });
        checked
    }

    /// Something with the name of a log that was not looked at.
    pub(super) fn unread(unread: &Unread, folder: &Path) -> Checked {
        let name = unread.relative.to_string();
        let kept = if name.starts_with(".everlog/") { Kept::Earlier } else { Kept::Current };
        let session = name.strip_suffix(LOG_SUFFIX).unwrap_or(&name).to_owned();
        let mut checked = Checked::new(name, session, kept);
        let file = path_below(folder, &unread.relative);
        checked.path.clone_from(&file);
        checked.verdict = match &unread.why {
            NotRead::Link | NotRead::Special => Verdict::NoReceipt,
            NotRead::Refused(_) => Verdict::Unreadable,
        };
        let difference = Difference::in_log(unread.why.to_string(), None);
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
            StreamError::OutOfProportion { seq, .. } => Stopped::damaged(Difference::at_event(error.to_string(), seq)),
            StreamError::TooLong | StreamError::TooMuchWork | StreamError::Differs => {
                Stopped::damaged(Difference::in_log(error.to_string(), None))
            }
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
#[derive(Clone, Copy)]
pub(super) struct Checker<'a> {
    pub job: &'a VerifyJob,
    pub asked: &'a Asked,
    pub source: Option<&'a Source>,
    pub store: Option<&'a Store>,
    pub receipts: &'a Receipts,
    /// What somebody has looked at and accepted.
    pub baseline: &'a Baseline,
    pub form: Form,
    /// The files of all sessions that the source has now.
    pub owned: &'a OnceLock<BTreeSet<RelPath>>,
}

impl Checker<'_> {
    /// What was noted when a log was made.
    fn receipt(&self, item: &Item<'_>) -> Option<Receipt> {
        item.noted.as_ref().and_then(|unit| self.receipts.get(unit))
    }

    /// Checks one. A log of another source of the store is checked by itself.
    pub(super) fn check(&self, item: &Item<'_>) -> Checked {
        let is_of_source = |source: &&Source| source.has_logs_at(&RelPath::from_key(&item.key));
        Checker { source: self.source.filter(is_of_source), ..*self }.check_one(item)
    }

    fn check_one(&self, item: &Item<'_>) -> Checked {
        let begun = Instant::now();
        let mut checked = Checked::of(item);
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
        let (session, mut noted) = self.receipt(item).map(|receipt| (receipt.unit, receipt.findings)).unwrap_or_default();
        let mut acceptance = self.baseline.acceptance();
        for finding in &mut noted {
            acceptance.settle(&session, finding);
        }
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
    pub(super) fn not_converted(&self, finding: &Finding, acceptance: &mut Acceptance<'_>) -> Checked {
        let name = &finding.location.file;
        let mut checked = Checked::new(name.clone(), name.clone(), Kept::Current);
        checked.verdict = Verdict::NotConverted;
        checked.accepted = acceptance.settle("", &mut finding.clone());
        let difference = Difference::in_file(&finding.message, finding.location.clone());
        checked.differences.push(Located { difference, file: self.shown_base().join(name), line: None, byte: None });
        checked
    }

    fn limits(&self) -> Limits {
        Limits { context: self.job.showing.context, most: self.job.most }
    }

    fn blob(&self) -> impl Fn(&str, u64) -> bool {
        move |sha256: &str, size: u64| self.store.is_some_and(|store| blobs::is_whole(store, sha256, size))
    }

    fn examine(&self, item: &Item<'_>, checked: &mut Checked, found: &mut Explained) -> Result<(), Stopped> {
        let (mut view, adapter) = logs::open(&item.log.path, None)?;
        checked.kind = Some(view.session.kind);
        let stream = Stopped::stream(&item.log.path);
        let files = self.files_of(item, &mut view)?;
        let is_live = item.unit.is_some_and(|unit| unit.found.standing == Standing::Live);
        if self.source.is_some() && !is_live && item.kept == Kept::Current {
            if let Some(path) = self.unreadable_place(item, &mut view)? {
                let source = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
                return Err(Stopped::unreadable(StoreError::Io { doing: "read the source of this log,", path, source }.into()));
            }
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
        // A log that is good by itself may still be another one than was written
        // here: swapped with another session's, rolled back, or added.
        let is_by_itself = proven.is_ok() && (files.is_none() || item.unit.is_none());
        let other = is_by_itself.then(|| self.other_than_written(item, &view)).flatten();
        let proven = match other {
            None => proven,
            Some((verdict, what)) => {
                checked.verdict = verdict;
                Err(Difference::in_log(what, None))
            }
        };
        match (proven, files) {
            (Ok(proof), _) => (checked.bytes, checked.messages) = (proof.bytes, proof.messages),
            (Err(first), _) if matches!(checked.verdict, Verdict::OtherLog | Verdict::NoReceipt) => found.add(first, self.limits()),
            (Err(first), None) => {
                checked.verdict = Verdict::Differs;
                found.add(first, self.limits());
            }
            (Err(first), Some(files)) => {
                checked.verdict = self.explain(&mut view, adapter, &files, first, found).map_err(&stream)?;
                // An older log looks like a source that went on.
                if let (Verdict::SourceChanged, Some(_), Some((verdict, what))) =
                    (checked.verdict, self.receipt(item), self.other_than_written(item, &view))
                {
                    checked.verdict = verdict;
                    found.list.insert(0, Difference::in_log(what, None));
                }
            }
        }
        self.compare_golden(item, &mut view, adapter, checked, found)
    }

    /// What the store's own notes say against a log that is good by itself.
    fn other_than_written(&self, item: &Item<'_>, view: &View) -> Option<(Verdict, &'static str)> {
        match (item.kept, self.receipt(item)) {
            (Kept::Earlier, _) => {
                let is_named_so = matches!(view.seal(), SealState::Good { sha256 } if name_says(item, sha256));
                (!is_named_so).then_some((Verdict::OtherLog, "this earlier log is not the one that was kept under this name"))
            }
            (Kept::Current, Some(receipt)) if view.began_as(receipt.log_bytes, &receipt.log_sha256) => None,
            (Kept::Current, Some(_)) => {
                Some((Verdict::OtherLog, "the log is intact, and not the one that its receipt names: swapped, or an older version"))
            }
            (Kept::Current, None) if self.asked.store.is_none() || self.receipts.are_absent() || self.lost_its_receipt(item) => None,
            (Kept::Current, None) => Some((
                Verdict::NoReceipt,
                "the store has no receipt of this log: it was not written here, or its receipt could not be written",
            )),
        }
    }

    /// Whether the receipt of a log is one of those that are damaged, which are
    /// reported by themselves.
    fn lost_its_receipt(&self, item: &Item<'_>) -> bool {
        let log_of = |unit: &String| Store::log_name(&RelPath::from_key(unit)).key();
        self.receipts.damaged().iter().filter_map(|damaged| damaged.unit.as_ref()).any(|unit| log_of(unit) == item.key)
    }

    /// The files of the session that a log is of, as far as they are to be
    /// compared.
    fn files_of(&self, item: &Item<'_>, view: &mut View) -> Result<Option<Files>, Stopped> {
        let Some(source) = self.source.filter(|_| self.job.level > Level::Seal && item.kept == Kept::Current) else { return Ok(None) };
        match item.unit {
            Some(unit) if unit.found.standing == Standing::Live => {
                let folder = source.folder_of(unit);
                let files = files_of(unit, &folder)?;
                let Some(unit) = unit.with_credentials() else { return Ok(Some(files)) };
                // A person may have asked for the credentials in this log.
                let stream = Stopped::stream(&item.log.path);
                if recorded_hashes(view, &files, &|_, _| true).map_err(&stream)?.is_none() {
                    return Ok(Some(files));
                }
                let complete = files_of(&unit, &folder)?;
                let is_complete = recorded_hashes(view, &complete, &|_, _| true).map_err(&stream)?.is_none();
                Ok(Some(if is_complete { complete } else { files }))
            }
            Some(_) => Ok(None),
            None => self.remains(item, source, view),
        }
    }

    /// The folder of a source that cannot be read and that the files of a log are in:
    /// nobody can say that the source no longer has them.
    fn unreadable_place(&self, item: &Item<'_>, view: &mut View) -> Result<Option<PathBuf>, Stopped> {
        let Some(source) = self.source else { return Ok(None) };
        let is_unreadable = |entry: &&Listed| matches!(entry.kind, ListedKind::Unreadable(_));
        let refused: Vec<&RelPath> = source.listing.entries().iter().filter(is_unreadable).map(|entry| &entry.path).collect();
        if refused.is_empty() {
            return Ok(None);
        }
        let folder = self.folder_in_source(view, item, source);
        let mut paths = vec![name_without(&RelPath::new(item.unit_name.as_bytes()), &source.place).into_owned()];
        for seq in view.files().to_vec() {
            paths.push(file_plan(view, seq).map_err(Stopped::stream(&item.log.path))?.path.below(&folder));
        }
        let is_in = |place: &RelPath| paths.iter().any(|path| path == place || path.folders().any(|above| above == *place));
        Ok(refused.into_iter().find(|place| is_in(place)).map(|place| path_below(&source.root, place)))
    }

    /// What is left of a session that the source no longer has: files that are
    /// there and of which its program would make nothing, or something else.
    fn remains(&self, item: &Item<'_>, source: &Source, view: &mut View) -> Result<Option<Files>, Stopped> {
        let folder = self.folder_in_source(view, item, source);
        let mut left = Vec::new();
        for seq in view.files().to_vec() {
            let path = file_plan(view, seq).map_err(Stopped::stream(&item.log.path))?.path;
            let full = path.below(&folder);
            // A file that is another session's by now is compared with that one's
            // log; this log has what it was before, and nothing is wrong with that.
            if source.listing.get(&full).is_some() && !self.is_of_a_live_session(source, &full) {
                left.push(path);
            }
        }
        if left.is_empty() {
            return Ok(None);
        }
        let name = item.unit_name.rsplit('/').next().unwrap_or_default();
        Ok(Some(snapshot::take(&path_below(&source.root, &folder), name.as_bytes(), &left)?))
    }

    fn is_of_a_live_session(&self, source: &Source, path: &RelPath) -> bool {
        let owned = self.owned.get_or_init(|| {
            let live = source.units.iter().filter(|unit| unit.found.standing == Standing::Live);
            live.flat_map(|unit| unit.found.files.iter().map(|file| file.below(&unit.found.root))).collect()
        });
        owned.contains(path)
    }

    /// A log against its source, and by itself as far as that is not the same.
    fn against(&self, view: &mut View, adapter: &dyn Format, files: &Files) -> Result<Result<Proof, Difference>, StreamError> {
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
    fn as_written(&self, item: &Item<'_>, view: &View, adapter: &dyn Format, files: &Files) -> Result<Option<Difference>, Stopped> {
        let is_noted = self.receipt(item).is_some_and(|receipt| view.began_as(receipt.log_bytes, &receipt.log_sha256));
        if is_noted {
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
    fn against_remains(&self, view: &mut View, adapter: &dyn Format, files: &Files) -> Result<Result<Proof, Difference>, StreamError> {
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
        adapter: &dyn Format,
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
        adapter: &dyn Format,
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
        adapter: &dyn Format,
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
        match (item.unit, &self.job.source, self.source) {
            (Some(unit), _, _) => self.shown_folder(unit),
            (None, Some(typed), Some(source)) => logs::open_any(&item.log.path, None)
                .map_or_else(|_| typed.clone(), |view| path_below(typed, &self.folder_in_source(&view, item, source))),
            (None, _, _) => PathBuf::new(),
        }
    }

    /// The folder of a log's session, as its source has it.
    fn folder_in_source(&self, view: &View, item: &Item<'_>, source: &Source) -> RelPath {
        let folder = logs::session_folder(view, &item.log);
        // Where one source's folder was asked for, names begin below it.
        if !self.asked.part().as_bytes().is_empty() {
            return folder;
        }
        if folder == source.place { RelPath::new("") } else { name_without(&folder, &source.place).into_owned() }
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
    item.kept == Kept::Earlier && disk::read(&item.log.path).is_ok_and(|bytes| name_says(item, &sha256_hex(&bytes)))
}

/// Whether the name of an earlier log has the beginning of this hash in it.
fn name_says(item: &Item<'_>, sha256: &str) -> bool {
    let name = item.key.strip_suffix(LOG_SUFFIX).unwrap_or_default();
    let said = name.rsplit('.').next().unwrap_or_default();
    said.len() == 16 && sha256.starts_with(said)
}
