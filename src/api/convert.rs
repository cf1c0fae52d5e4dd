//! Converting the sessions of a source into logs.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use crate::model::files::RelPath;
use crate::model::finding::Finding;
use crate::pipeline::error::ConvertError;
use crate::pipeline::retired;
use crate::pipeline::run::{Conversion, Finished, Outcome, Run, convert_all};
use crate::pipeline::settle::LogChange;
use crate::pipeline::target::{Mode, Target};
use crate::pipeline::unchanged::Trust;
use crate::store::disk::RealDisk;
use crate::store::layout::Store;
use crate::store::live::Running;
use crate::store::lock::StoreLock;
use crate::store::pruned::Pruned;
use crate::store::receipts::Receipts;
use crate::store::replace::sweep_store;

use super::error::Error;
use super::source::Source;

/// How a source is converted.
///
/// ```
/// let options = everlog::ConvertOptions::new().dry_run().jobs(2);
/// # let _ = options;
/// ```
#[derive(Debug, Clone)]
pub struct ConvertOptions {
    mode: Mode,
    trust: Trust,
    jobs: Option<usize>,
    refuses_running: bool,
    stop: Arc<AtomicBool>,
}

impl Default for ConvertOptions {
    fn default() -> ConvertOptions {
        ConvertOptions { mode: Mode::Replace, trust: Trust::SizeAndTime, jobs: None, refuses_running: true, stop: Arc::default() }
    }
}

impl ConvertOptions {
    /// Converts what has changed, proves it, and writes it.
    #[must_use]
    pub fn new() -> ConvertOptions {
        ConvertOptions::default()
    }

    /// Converts and proves, and writes nothing.
    #[must_use]
    pub fn dry_run(mut self) -> ConvertOptions {
        self.mode = Mode::DryRun;
        self
    }

    /// Proves every session again, also where sizes and times of its files are
    /// those of an earlier proof.
    #[must_use]
    pub fn prove_again(mut self) -> ConvertOptions {
        self.trust = Trust::Nothing;
        self
    }

    /// Converts so many sessions at once; as many as there are processors, if
    /// this is not said.
    #[must_use]
    pub fn jobs(mut self, jobs: usize) -> ConvertOptions {
        self.jobs = Some(jobs.max(1));
        self
    }

    /// Converts the files as they are, also while their program runs.
    #[must_use]
    pub fn allow_running(mut self) -> ConvertOptions {
        self.refuses_running = false;
        self
    }

    /// Stops after the sessions that have begun once this is `true`.
    #[must_use]
    pub fn stop_when(mut self, stop: Arc<AtomicBool>) -> ConvertOptions {
        self.stop = stop;
        self
    }
}

/// How far a conversion is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// How many sessions are done.
    pub sessions: u64,
    /// How many there are.
    pub all_sessions: u64,
    /// How many bytes of sources are done.
    pub bytes: u64,
    /// How many there are.
    pub all_bytes: u64,
}

/// What became of a source.
#[derive(Debug)]
#[non_exhaustive]
pub struct Converted {
    /// What became of each session, in the order of the source's; sessions that
    /// were not begun because the run was stopped are missing.
    pub sessions: Vec<ConvertedSession>,
    /// How many were not begun.
    pub not_begun: usize,
    /// What was found and belongs to no session.
    pub findings: Vec<Finding>,
}

impl Converted {
    /// Tells whether every session has a proven log.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.not_begun == 0 && self.sessions.iter().all(|session| session.error.is_none())
    }
}

/// What became of one session.
#[derive(Debug)]
#[non_exhaustive]
pub struct ConvertedSession {
    /// Its name: its path below the source.
    pub name: String,
    /// The format of its program.
    pub format: &'static str,
    /// What became of it.
    pub status: ConvertStatus,
    /// Its log. A dry run writes none.
    pub log: Option<PathBuf>,
    /// How many messages its program shows of it.
    pub messages: u64,
    /// What was found: damage, oddities, what a later run should know.
    pub findings: Vec<Finding>,
    /// Why it has no log.
    pub error: Option<String>,
}

/// What became of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ConvertStatus {
    /// It has its first log.
    Created,
    /// It has another log than before.
    Changed,
    /// It has the same log as before.
    Unchanged,
    /// Its files were renamed once their log was proven; the log stays.
    Retired,
    /// It could not be converted, or not be proven. No log was written.
    Failed,
}

/// Converts the sessions of a source into logs below `dest`.
///
/// Each log is proven before it gets its name: it rebuilds the session's files
/// byte for byte, and it replays what the session's own program shows. Sessions
/// that have not changed since an earlier run are left as they are. `on_progress`
/// is called after each session, by one thread at a time.
///
/// ```
/// use everlog::{ConvertOptions, Log, Source, convert};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// # let folder = tempfile::tempdir()?;
/// # let dest = folder.path();
/// let source = Source::open("examples/sessions")?;
/// let done = convert(source, dest, &ConvertOptions::new(), |progress| {
///     println!("{} of {}", progress.sessions, progress.all_sessions);
/// })?;
/// assert!(done.is_complete());
/// let log = Log::open(done.sessions[0].log.as_deref().ok_or("no log")?)?;
/// assert_eq!(log.session().id, "s42");
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// When nothing could be done at all: [`Error::Overlap`] where `dest` and the
/// source are inside each other, [`Error::Running`] where the sessions' program
/// runs, [`Error::Store`] where another run is under way or the disk fails. What
/// is wrong with one session is in its [`ConvertedSession`], and stops no other.
pub fn convert(
    source: Source,
    dest: impl AsRef<Path>,
    options: &ConvertOptions,
    on_progress: impl FnMut(Progress) + Send,
) -> Result<Converted, Error> {
    let (mut source, dest) = (source.inner, dest.as_ref());
    if source.overlaps(dest)? {
        return Err(Error::Overlap { source: source.root, dest: dest.to_owned() });
    }
    if let Some(Running { process, file }) = source.running().into_values().next().filter(|_| options.refuses_running) {
        return Err(Error::Running { process, file });
    }
    let store = Store::at(dest);
    let _lock = match options.mode {
        Mode::DryRun => None,
        Mode::Replace => {
            let lock = StoreLock::take(&store, &RealDisk)?;
            sweep_store(&store, &RealDisk)?;
            Some(lock)
        }
    };
    // After the lock: another run may have written them until then.
    let mut known = Receipts::load(&store);
    if options.mode == Mode::Replace {
        known.compact(&store, &RealDisk)?;
    }
    retired::settle(&mut source, &store, &known);
    let pruned = Pruned::read(&store)?;
    let target = Target { store: &store, disk: &RealDisk, pruned: &pruned, mode: options.mode };
    let jobs = options.jobs.unwrap_or_else(|| std::thread::available_parallelism().map_or(1, usize::from));
    let conversion = Conversion { source: &source, target, trust: options.trust, jobs, stop: &options.stop };
    let all_bytes = source.units.iter().map(|unit| unit.bytes(&source.listing)).sum();
    let progress = Progress { sessions: 0, all_sessions: source.units.len() as u64, bytes: 0, all_bytes };
    let progress = Mutex::new((progress, on_progress));
    let Run { results, failed, unsaved } = convert_all(&conversion, &mut known, |finished| {
        let mut progress = progress.lock().unwrap_or_else(PoisonError::into_inner);
        progress.0.sessions += 1;
        progress.0.bytes += finished.bytes;
        let now = progress.0;
        (progress.1)(now);
        drop(progress);
        Done::of(finished)
    })?;
    if let Some(error) = unsaved {
        return Err(error.into());
    }
    if options.mode == Mode::Replace {
        known.save(&store, &RealDisk)?;
    }
    let mut converted = Converted { sessions: Vec::new(), not_begun: 0, findings: source.discovery.findings.list().to_vec() };
    for (unit, done) in source.units.iter().zip(results) {
        let Some(mut done) = done else {
            converted.not_begun += 1;
            continue;
        };
        if let Some(why) = failed.get(&unit.name.key()) {
            done = Done::failed(why.clone());
        }
        let is_there = options.mode == Mode::Replace || matches!(done.status, ConvertStatus::Unchanged | ConvertStatus::Retired);
        converted.sessions.push(ConvertedSession {
            name: unit.name.to_string(),
            format: unit.found.adapter.id(),
            status: done.status,
            log: done.log.filter(|_| is_there).map(|log| store.path(&log)),
            messages: done.messages,
            findings: done.findings,
            error: done.error,
        });
    }
    Ok(converted)
}

/// What became of a session, without its name.
struct Done {
    status: ConvertStatus,
    log: Option<RelPath>,
    messages: u64,
    findings: Vec<Finding>,
    error: Option<String>,
}

impl Done {
    fn of(finished: Finished<'_>) -> Done {
        let (status, receipt, more) = match finished.outcome {
            Ok(Outcome::Unchanged(receipt, notes)) => (ConvertStatus::Unchanged, receipt.into_owned(), notes),
            Ok(Outcome::Converted(committed)) => {
                let status = match committed.change {
                    LogChange::Created => ConvertStatus::Created,
                    LogChange::Changed => ConvertStatus::Changed,
                    LogChange::Unchanged => ConvertStatus::Unchanged,
                };
                (status, committed.receipt, committed.notes)
            }
            Ok(Outcome::Retired(retired)) => {
                let (log, findings) = (Some(retired.log), retired.findings);
                return Done { status: ConvertStatus::Retired, log, messages: 0, findings, error: None };
            }
            Err(error) => return Done::failed(with_causes(&error)),
        };
        let findings = receipt.findings.into_iter().chain(more).collect();
        Done { status, log: Some(RelPath::from_key(&receipt.log)), messages: receipt.counts.messages, findings, error: None }
    }

    fn failed(error: String) -> Done {
        Done { status: ConvertStatus::Failed, log: None, messages: 0, findings: Vec::new(), error: Some(error) }
    }
}

/// Returns an error with its causes in one line.
fn with_causes(error: &ConvertError) -> String {
    let mut text = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(inner) = cause {
        text.push_str(&format!(": {inner}"));
        cause = inner.source();
    }
    text
}
