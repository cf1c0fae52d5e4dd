//! One session on the road: snapshot, events, log, both proofs, and what the
//! store has of it already.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::adapters::adapter::{Check, Confidence, ReadSummary};
use crate::log::fork::Fork;
use crate::log::{LogProblem, LogView, SealState, UnsealedLog, Written};
use crate::model::digest::sha256_hex;
use crate::model::files::{Beside, Entry, Files, RelPath};
use crate::model::finding::{Finding, Findings};
use crate::model::folder::Listing;
use crate::model::location::Location;
use crate::model::stream::StreamError;
use crate::store::disk::Disk;
use crate::store::layout::Store;
use crate::store::pruned::Pruned;
use crate::store::receipts::{Counts, FileReceipt, Receipt};
use crate::store::replace::{Ready, Temporary, temporary_in};
use crate::store::{StoreError, blobs, snapshot};
use crate::verify::{Difference, Proof, prove};

use super::earlier::{Earlier, Existing, Successor, existing, is_needed, old_name};
use super::prune::history::History;
use super::source::SourceUnit;

/// Why a session could not be converted.
#[derive(Debug)]
#[non_exhaustive]
pub enum ConvertError {
    /// The disk.
    Store(StoreError),
    /// The log could not be written or read back.
    Stream(StreamError),
    /// The log as read back is none.
    Log(LogProblem),
    /// A proof failed: nothing was kept.
    Unproven(Box<Difference>),
    /// The log that is there was written by a newer version.
    NewerLog(u32),
    /// The session was retired, and its log is gone.
    RetiredWithoutLog,
    /// Its log would take the place of another session's.
    SameName {
        /// That session.
        other: String,
    },
    /// A panic: a bug in everlog, kept to its session.
    Bug(String),
}

impl ConvertError {
    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            ConvertError::Store(error) => error.hint(),
            ConvertError::Unproven(_) | ConvertError::Bug(_) => {
                Some("the source is untouched and no log was kept; this is a bug in everlog, please report it")
            }
            ConvertError::NewerLog(_) => Some("upgrade everlog, or choose another destination with `-o`"),
            ConvertError::SameName { .. } => Some("choose a destination with `-o` on a filesystem that tells them apart"),
            ConvertError::RetiredWithoutLog => Some("rename the *.migrated file back and migrate again"),
            ConvertError::Stream(_) | ConvertError::Log(_) => None,
        }
    }
}

impl fmt::Display for ConvertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ConvertError::Store(error) => error.fmt(f),
            ConvertError::Stream(error) => error.fmt(f),
            ConvertError::Log(error) => error.fmt(f),
            ConvertError::Unproven(difference) => write!(f, "not proven: {} ({})", difference.what, difference.place),
            ConvertError::NewerLog(version) => write!(f, "the log that is there has version {version}, which is newer than this build"),
            ConvertError::RetiredWithoutLog => f.write_str("the session was retired, and its log is missing"),
            ConvertError::SameName { other } => {
                write!(f, "upper and lower case are the same in this destination: its log would take the place of that of {other}")
            }
            ConvertError::Bug(what) => write!(f, "a bug in everlog: {what}"),
        }
    }
}

impl std::error::Error for ConvertError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ConvertError::Store(error) => error.source(),
            ConvertError::Stream(error) => error.source(),
            ConvertError::Log(error) => error.source(),
            ConvertError::Unproven(_)
            | ConvertError::NewerLog(_)
            | ConvertError::RetiredWithoutLog
            | ConvertError::SameName { .. }
            | ConvertError::Bug(_) => None,
        }
    }
}

impl From<StoreError> for ConvertError {
    fn from(error: StoreError) -> Self {
        ConvertError::Store(error)
    }
}

impl From<StreamError> for ConvertError {
    fn from(error: StreamError) -> Self {
        ConvertError::Stream(error)
    }
}

/// Where logs go.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The store.
    pub store: &'a Store,
    /// The disk under it.
    pub disk: &'a dyn Disk,
    /// What was pruned, and may be brought back from logs there.
    pub pruned: &'a Pruned,
    /// Whether names may change.
    pub mode: Mode,
}

/// Whether a conversion is for real.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// Logs get their names.
    Replace,
    /// Everything but that.
    DryRun,
}

/// A session that has been converted and proven.
#[derive(Debug)]
pub struct Converted {
    /// What the report and the next run need to know.
    pub receipt: Receipt,
    /// What its log is to the one that is there.
    pub change: Change,
    /// The log on its way to its name; none where nothing is to be replaced.
    pub ready: Option<Ready>,
    /// Earlier logs that the new one contains.
    pub superseded: Vec<PathBuf>,
    /// What was found that this run alone can see.
    pub notes: Vec<Finding>,
}

/// What a new log is to the one that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// There is none.
    Created,
    /// It takes its place.
    Changed,
    /// It is the same, byte for byte.
    Unchanged,
}

/// Converts one session into a temporary file and proves it.
///
/// # Errors
/// When it cannot be read, written or proven. Nothing is left behind.
pub fn convert(unit: &SourceUnit, folder: &Path, listing: &Listing, target: Target<'_>) -> Result<Converted, ConvertError> {
    let files = snapshot::take(folder, unit.own_name(), &unit.found.files)?.with_beside(unit.found.beside.clone());
    let mut findings = left_out(unit);
    let log_name = Store::log_name(&unit.name);
    let log_path = target.store.path(&log_name);
    let scratch = scratch_folder(target, &log_path)?;
    let made = write_and_prove(unit, &files, target, &scratch, &mut findings)?;
    Arrival { unit, files: &files, listing, target, log_name, log_path }.settle(made, findings)
}

/// Findings about files that lie in a session's folder and belong to nobody.
fn left_out(unit: &SourceUnit) -> Findings {
    let mut findings = Findings::default();
    for (path, code, message) in &unit.found.left_out {
        findings.add(*code, Location::file(path.to_string()), message.clone());
    }
    findings
}

/// Where the temporary goes: beside its final name, or for a dry run anywhere.
fn scratch_folder(target: Target<'_>, log_path: &Path) -> Result<PathBuf, StoreError> {
    match target.mode {
        Mode::DryRun => Ok(std::env::temp_dir()),
        Mode::Replace => {
            let folder = log_path.parent().unwrap_or(target.store.root());
            target.disk.create_folders(folder)?;
            Ok(folder.to_owned())
        }
    }
}

/// A log in a temporary file, proven.
struct Made<'d> {
    temporary: Temporary<'d>,
    written: Written,
    summary: ReadSummary,
    proof: Proof,
}

/// Converts optimistically and proves once; only a session that fails is
/// converted again with a check of each record.
fn write_and_prove<'d>(
    unit: &SourceUnit,
    files: &Files,
    target: Target<'d>,
    scratch: &Path,
    findings: &mut Findings,
) -> Result<Made<'d>, ConvertError> {
    let noted = findings.clone();
    match attempt(unit, files, target, scratch, Check::ByProof, findings)? {
        Ok(made) => Ok(made),
        Err(_) => {
            *findings = noted;
            attempt(unit, files, target, scratch, Check::EachRecord, findings)?
                .map_err(|difference| ConvertError::Unproven(Box::new(difference)))
        }
    }
}

fn attempt<'d>(
    unit: &SourceUnit,
    files: &Files,
    target: Target<'d>,
    scratch: &Path,
    check: Check,
    findings: &mut Findings,
) -> Result<Result<Made<'d>, Difference>, ConvertError> {
    let mut temporary = temporary_in(target.disk, scratch)?;
    if target.mode == Mode::DryRun {
        // No later run would sweep it there.
        temporary.forget_name()?;
    }
    let mut writer = UnsealedLog::new(&temporary);
    let summary = std::thread::scope(|scope| {
        // The log says at its end what the hashes are; without a thread they are made then.
        if files.is_large() {
            let _ = std::thread::Builder::new().spawn_scoped(scope, || files.hash_all());
        }
        unit.found.adapter.read(files, check, writer.events(), findings)
    })?;
    writer.close()?;
    // From here on only what can be read back counts; that is what is sealed.
    let (mut log, written) = LogView::open(&temporary.file).map_err(ConvertError::Log)?.seal_with(&temporary)?;
    let proven = match prove(&mut log, unit.found.adapter, files) {
        // A log that cannot even be rendered is as little proven as one that
        // renders to something else.
        Err(StreamError::Log { seq, what }) => Err(Difference::at_event(format!("event {seq} {what}"), seq)),
        proven => proven?,
    };
    drop(log);
    Ok(proven.map(|proof| Made { temporary, written, summary, proof }))
}

/// One session at the end of the road.
struct Arrival<'a> {
    unit: &'a SourceUnit,
    files: &'a Files,
    listing: &'a Listing,
    target: Target<'a>,
    log_name: RelPath,
    log_path: PathBuf,
}

impl Arrival<'_> {
    /// Compares a proven log with what the store has, and makes it ready.
    fn settle(self, made: Made<'_>, mut findings: Findings) -> Result<Converted, ConvertError> {
        let Made { temporary, written, summary, proof } = made;
        let mut notes = Vec::new();
        let mut new = Successor::Closed(&temporary.file);
        let history = History { unit: self.unit, files: self.files, store: self.target.store, pruned: self.target.pruned };
        let mut earlier = Earlier::default();
        let mut keep_as = None;
        let keep = |seal: &SealState| -> Result<Option<PathBuf>, ConvertError> {
            Ok(Some(self.target.store.earlier(&self.log_name, &old_name(seal, &self.log_path)?)))
        };
        let change = match existing(&self.log_path, self.target, &mut notes)? {
            Existing::Nothing => Change::Created,
            Existing::Unreadable => {
                keep_as = keep(&SealState::Missing)?;
                earlier.add_unjudged();
                Change::Changed
            }
            Existing::Log(old) if old.began_as(written.bytes, &written.sha256) => {
                new = Successor::Standing(old);
                Change::Unchanged
            }
            Existing::Log(mut old) => {
                let lacking = new.lacks(&mut old, &history)?;
                if !lacking.is_nothing() || old.was_extended() {
                    keep_as = keep(old.seal())?;
                    earlier.add(lacking);
                } else if is_needed(self.target, &self.log_name, old.seal()) {
                    keep_as = keep(old.seal())?;
                    earlier.add_needed();
                }
                Change::Changed
            }
            Existing::Doubtful(mut old) => {
                keep_as = keep(old.seal())?;
                earlier.add(new.lacks(&mut old, &history)?);
                Change::Changed
            }
        };
        earlier.look(self.target, &self.log_name, keep_as.as_deref(), &mut new, &history, &mut notes)?;
        earlier.note(&self.log_name, &mut findings);
        add_forks(&temporary, new.forks(&self.log_name, &mut notes)?)?;
        drop(new);
        let receipt = self.receipt(&written, &summary, proof, findings.into_list());
        let replaces = self.target.mode == Mode::Replace && change != Change::Unchanged;
        if self.target.mode == Mode::Replace {
            self.store_blobs(&summary)?;
        }
        let ready = replaces.then(|| Ready { from: temporary.keep(), to: self.log_path.clone(), keep_as });
        let superseded = if self.target.mode == Mode::Replace { earlier.superseded } else { Vec::new() };
        Ok(Converted { receipt, change, ready, superseded, notes })
    }

    /// Stores the companions that the log names by their hash.
    fn store_blobs(&self, summary: &ReadSummary) -> Result<(), ConvertError> {
        for path in &summary.blobs {
            if let (Some(Entry::File(file)), Some(sha256)) = (self.files.entry(path), summary.hashes.get(path)) {
                blobs::put(self.target.store, self.target.disk, sha256, &file.bytes)?;
            }
        }
        Ok(())
    }

    fn receipt(&self, written: &Written, summary: &ReadSummary, proof: Proof, findings: Vec<Finding>) -> Receipt {
        let unit = self.unit;
        let listed = unit.found.files.iter().map(|path| (path, self.listing.get(&path.below(&unit.found.root))));
        let file_receipts = listed.map(|(path, entry)| {
            let (size, mtime_ns, sha256) = match self.files.entry(path) {
                Some(Entry::File(file)) => (file.bytes.len() as u64, file.mtime_ns, summary.hashes.get(path).cloned()),
                Some(Entry::Link { target }) => (target.len() as u64, entry.map_or(0, |entry| entry.mtime_ns), None),
                Some(Entry::EmptyFolder) | None => (0, 0, None),
            };
            FileReceipt { path: path.key(), size, mtime_ns, mode: entry.map_or(0, |entry| entry.mode), sha256 }
        });
        Receipt {
            unit: unit.name.key(),
            format: unit.found.adapter.id().to_owned(),
            files: file_receipts.collect(),
            log: self.log_name.key(),
            log_sha256: written.sha256.clone(),
            log_bytes: written.bytes,
            counts: Counts {
                source_bytes: self.files.total_bytes(),
                residual_bytes: summary.residual_bytes,
                messages: proof.messages,
                events: written.events,
            },
            findings,
            uses_file_times: summary.uses_file_times,
            beside_sha256: beside_sha256(&unit.found.beside),
            sure: unit.found.confidence == Confidence::Sure,
            retired: None,
        }
    }
}

/// Puts forks behind the end of a new log, and reads it back. Its receipt goes on
/// naming what stands before them.
fn add_forks(temporary: &Temporary<'_>, (lines, forks): (Vec<u8>, &[Fork])) -> Result<(), ConvertError> {
    if forks.is_empty() {
        return Ok(());
    }
    temporary.fill(&lines)?;
    let log = LogView::open(&temporary.file).map_err(ConvertError::Log)?;
    let stands = |fork: &Fork| log.state().head(&fork.name) == Some(fork.node);
    if matches!(log.seal(), SealState::Good { .. }) && log.forks().len() == forks.len() && forks.iter().all(stands) {
        return Ok(());
    }
    Err(ConvertError::Unproven(Box::new(Difference::in_log("the new log does not carry the forks of the old one", None))))
}

/// What is known of a session from what lies beside it, hashed; nothing where
/// that is nothing.
pub(super) fn beside_sha256(beside: &Beside) -> Option<String> {
    let mut all = Vec::new();
    let mut add = |part: &[u8]| {
        all.extend_from_slice(&(part.len() as u64).to_be_bytes());
        all.extend_from_slice(part);
    };
    for slice in &beside.slices {
        [slice.file.as_bytes(), slice.key.as_bytes(), &slice.text].into_iter().for_each(&mut add);
    }
    for (name, other) in [("canonical", &beside.canonical), ("promoted_from", &beside.promoted_from)] {
        if let Some(other) = other {
            [name.as_bytes(), other.as_bytes()].into_iter().for_each(&mut add);
        }
    }
    (!all.is_empty()).then(|| sha256_hex(&all))
}
