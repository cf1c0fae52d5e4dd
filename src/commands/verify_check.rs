//! One log, checked: opened, rebuilt, replayed, and compared with whatever
//! there is to compare it with.

use std::collections::BTreeSet;
use std::fs::File;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crate::adapters::format::{Format, Standing};
use crate::log::{LogProblem, LogView, SealState};
use crate::model::digest::sha256_hex;
use crate::model::files::{Files, RelPath};
use crate::model::finding::{Finding, Severity};
use crate::model::location::Location;
use crate::model::stream::StreamError;
use crate::pipeline::batch;
use crate::pipeline::snapshot::files_of;
use crate::pipeline::source::{Source, SourceUnit};
use crate::report::printer::Form;
use crate::store::layout::{LOG_SUFFIX, Store, path_below};
use crate::store::receipts::{Receipt, Receipts};
use crate::store::{StoreError, blobs, disk};
use crate::verify::alone::{check_heads, check_log_to, files_have_their_hashes, recorded_hashes, refused_path, seal_difference};
use crate::verify::explain::{Explained, Limits, altered_line, file_differences, is_conversion, replay_differences};
use crate::verify::golden::{golden_difference, replay_text};
use crate::verify::proof::files_rebuild;
use crate::verify::{Difference, Level, Proof, Records, prove_records};

use super::baseline::{Acceptance, Baseline};
use super::error::CommandError;
use super::golden;
use super::logs::{self, Asked};
use super::verify_job::{Kept, LogToCheck, Verdict, VerifyJob};
use super::verify_row::{Checked, Located};

/// How many lines of a kept replay are shown around a difference, for so much
/// context elsewhere.
const GOLDEN_LINES: usize = 3;

/// A log as commands open it.
pub(super) type View = LogView<Arc<File>>;

/// Why a check ended early.
pub(super) enum Stopped {
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

    pub(super) fn stream(path: &Path) -> impl Fn(StreamError) -> Stopped {
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
    /// Returns what was noted when a log was made.
    fn receipt(&self, item: &LogToCheck<'_>) -> Option<Receipt> {
        item.noted.as_ref().and_then(|unit| self.receipts.get(unit))
    }

    /// Checks one. A log of another source of the store is checked by itself.
    pub(super) fn check(&self, item: &LogToCheck<'_>) -> Checked {
        let is_of_source = |source: &&Source| source.has_logs_at(&RelPath::from_key(&item.key));
        Checker { source: self.source.filter(is_of_source), ..*self }.check_one(item)
    }

    fn check_one(&self, item: &LogToCheck<'_>) -> Checked {
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

    /// Returns a session of the source that has no log.
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
        move |sha256: &str, size: u64| self.store.is_some_and(|store| blobs::is_intact(store, sha256, size))
    }

    fn examine(&self, item: &LogToCheck<'_>, checked: &mut Checked, found: &mut Explained) -> Result<(), Stopped> {
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
            // What is left of a session is not a session that could be loaded.
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

    /// Returns what the store's own notes say against a log that is good by itself.
    fn other_than_written(&self, item: &LogToCheck<'_>, view: &View) -> Option<(Verdict, &'static str)> {
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

    /// Tells whether the receipt of a log is one of those that are damaged, which are
    /// reported by themselves.
    fn lost_its_receipt(&self, item: &LogToCheck<'_>) -> bool {
        let log_of = |unit: &String| Store::log_name(&RelPath::from_key(unit)).key();
        self.receipts.damaged().iter().filter_map(|damaged| damaged.unit.as_ref()).any(|unit| log_of(unit) == item.key)
    }

    /// The files of the session that a log is of, as far as they are to be
    /// compared.
    fn files_of(&self, item: &LogToCheck<'_>, view: &mut View) -> Result<Option<Files>, Stopped> {
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

    /// Compares a log with its source, and checks by itself what that does not show.
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

    /// Tells whether a log that rebuilds and replays its source is the one that was
    /// written: it says more than these two need, and can be sealed anew. Its
    /// receipt tells, or else a conversion, since a run that was cut short may
    /// have left an older receipt.
    fn as_written(&self, item: &LogToCheck<'_>, view: &View, adapter: &dyn Format, files: &Files) -> Result<Option<Difference>, Stopped> {
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

    /// Checks a log by itself, and its files against those that are left of them.
    fn against_remains(&self, view: &mut View, adapter: &dyn Format, files: &Files) -> Result<Result<Proof, Difference>, StreamError> {
        let alone = check_log_to(self.job.level, view, adapter, &self.blob())?;
        if let (Ok(_), Err(difference)) = (&alone, files_rebuild(view, adapter, files)?) {
            return Ok(Err(difference));
        }
        Ok(alone)
    }

    /// Returns what differs, and which side is to blame: a log that comes to what it
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
        item: &LogToCheck<'_>,
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
        item: &LogToCheck<'_>,
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
}

/// Tells whether an earlier log still has the bytes that it had when it was kept: one
/// that was not whole then has their hash in its name.
fn is_as_it_was_kept(item: &LogToCheck<'_>) -> bool {
    item.kept == Kept::Earlier && disk::read(&item.log.path).is_ok_and(|bytes| name_says(item, &sha256_hex(&bytes)))
}

/// Tells whether the name of an earlier log has the beginning of this hash in it.
fn name_says(item: &LogToCheck<'_>, sha256: &str) -> bool {
    let name = item.key.strip_suffix(LOG_SUFFIX).unwrap_or_default();
    let said = name.rsplit('.').next().unwrap_or_default();
    said.len() == 16 && sha256.starts_with(said)
}
