//! What a store has of a session already, beside the log that is to come: the
//! log under its name and those kept from before. Nothing of them is given up
//! that the new one has not: neither facts nor forks.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::log::contain::{self, Missing};
use crate::log::fork::{self, Fork, Rest};
use crate::log::{Carry, LogProblem, LogView, SealState};
use crate::model::digest::sha256_hex;
use crate::model::files::RelPath;
use crate::model::finding::{Finding, FindingCode, Findings};
use crate::model::heads::HeadName;
use crate::model::location::Location;
use crate::report::text;
use crate::store::layout::LOG_SUFFIX;
use crate::store::{StoreError, disk, extend};

use super::convert::{ConvertError, Mode, Target};
use super::prune::history::History;

/// What stands under a log's name.
pub(super) enum Existing {
    Nothing,
    /// A log that is good to its end.
    Log(Box<LogView<File>>),
    /// One without a good seal, or with events behind it: it says things that
    /// no conversion can say again.
    Doubtful(Box<LogView<File>>),
    /// Something that is no log any more: kept, because nobody can say what
    /// it holds.
    Unreadable,
}

/// Opens what stands under a log's name. What a fork left behind the last good
/// seal that did not come to its end is taken away, and noted.
pub(super) fn existing(path: &Path, target: Target<'_>, notes: &mut Vec<Finding>) -> Result<Existing, ConvertError> {
    let file = match disk::open(path) {
        Ok(file) => file,
        Err(StoreError::Io { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => return Ok(Existing::Nothing),
        Err(error) => return Err(error.into()),
    };
    let view = match LogView::open(file) {
        Ok(view) => Box::new(view),
        Err(LogProblem::Version(version)) => return Err(ConvertError::NewerLog(version)),
        Err(LogProblem::Io(source)) => return Err(StoreError::Io { doing: "read", path: path.to_owned(), source }.into()),
        Err(_) => return Ok(Existing::Unreadable),
    };
    let rest = match view.seal() {
        SealState::Good { .. } => return Ok(Existing::Log(view)),
        SealState::Behind { .. } => fork::rest(&view)?,
        SealState::Broken { .. } | SealState::Missing => Rest::Events,
    };
    match (rest, target.mode) {
        (Rest::Events, _) => Ok(Existing::Doubtful(view)),
        (Rest::Unfinished(_), Mode::DryRun) => Ok(Existing::Log(view)),
        (Rest::Unfinished(bytes), Mode::Replace) => {
            extend::cut(target.disk, path, view.bytes())?;
            let name = path.strip_prefix(target.store.root()).unwrap_or(path).to_string_lossy();
            notes.push(note(FindingCode::ForkUnfinished, &name, unfinished(bytes)));
            existing(path, target, notes)
        }
    }
}

/// What is said of a fork that did not come to its end.
pub(super) fn unfinished(bytes: u64) -> String {
    format!("{} of a fork that did not come to its end stood behind the last good seal; taken away", text::count(bytes, "byte"))
}

/// Something that this run alone can see.
fn note(code: FindingCode, file: &str, message: String) -> Finding {
    Finding { code, severity: code.severity(), location: Location::file(file), message, more: 0 }
}

/// The hash in an earlier log's name: its seal's, or that of its bytes.
pub(super) fn old_name(seal: &SealState, path: &Path) -> Result<String, StoreError> {
    match seal {
        SealState::Good { sha256 } => Ok(sha256.clone()),
        SealState::Behind { .. } | SealState::Broken { .. } | SealState::Missing => Ok(sha256_hex(&disk::read(path)?)),
    }
}

/// Whether a log has what was pruned and can be brought back from it: a new one
/// may hold every fact of it and still not the bytes.
pub(super) fn is_needed(target: Target<'_>, log_name: &RelPath, seal: &SealState) -> bool {
    matches!(seal, SealState::Good { sha256 } if target.pruned.needs(log_name, sha256))
}

/// What an old log has that its successor lacks.
pub(super) struct Lacking {
    missing: Missing,
    why: Why,
    forks: Vec<HeadName>,
}

/// Why something is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    /// It was pruned, all of it.
    Pruned,
    /// Nobody knows.
    Unknown,
}

impl Lacking {
    fn of(old: &mut LogView<File>, new: &mut LogView<File>, history: &History<'_>, forks: Vec<HeadName>) -> Result<Lacking, ConvertError> {
        let missing = contain::missing(old, new)?;
        // What cannot be explained, for whatever reason, is told.
        let was_pruned = !missing.is_nothing() && history.explains(old, new).unwrap_or(false);
        Ok(Lacking { missing, why: if was_pruned { Why::Pruned } else { Why::Unknown }, forks })
    }

    pub(super) fn is_nothing(&self) -> bool {
        self.missing.is_nothing() && self.forks.is_empty()
    }
}

/// The log that is to stand under the name, and the forks that come with it.
/// Opened only where there is something to compare it with.
pub(super) enum Successor<'a> {
    /// A new one.
    Closed(&'a File),
    /// The same, opened.
    New(Box<LogView<File>>, Carry),
    /// The one that is there: it gets no forks.
    Standing(Box<LogView<File>>),
}

impl Successor<'_> {
    /// What an old log has that this one lacks. Forks are taken along.
    pub(super) fn lacks(&mut self, old: &mut LogView<File>, history: &History<'_>) -> Result<Lacking, ConvertError> {
        if let Successor::Closed(file) = self {
            let file = file.try_clone().map_err(|source| crate::model::stream::StreamError::Io { doing: "read the log", source })?;
            let view = LogView::open(file).map_err(ConvertError::Log)?;
            let carry = Carry::into_log(&view);
            *self = Successor::New(Box::new(view), carry);
        }
        match self {
            Successor::Closed(_) => Err(ConvertError::Bug("a log was not opened".to_owned())),
            Successor::New(view, carry) => {
                let forks = carry.take(old, view)?;
                Lacking::of(old, view, history, forks)
            }
            Successor::Standing(view) => {
                let mut carry = Carry::into_log(view);
                let mut forks = carry.take(old, view)?;
                forks.extend(carry.forks().iter().map(|fork| fork.name.clone()));
                Lacking::of(old, view, history, forks)
            }
        }
    }

    /// The lines that put the forks behind its end, and what to say of them.
    pub(super) fn forks(&self, log_name: &RelPath, notes: &mut Vec<Finding>) -> Result<(Vec<u8>, &[Fork]), ConvertError> {
        let Successor::New(view, carry) = self else { return Ok((Vec::new(), &[])) };
        for (old, new) in carry.renamed() {
            let message = format!("the fork {old} is now {new}: the source has a head of that name");
            notes.push(note(FindingCode::ForkRenamed, &log_name.to_string(), message));
        }
        if carry.forks().is_empty() {
            return Ok((Vec::new(), &[]));
        }
        Ok((fork::lines(view, carry.forks())?, carry.forks()))
    }
}

/// Logs that hold more than the new one.
#[derive(Default)]
struct Kept {
    logs: u64,
    missing: Missing,
}

impl Kept {
    fn add(&mut self, missing: Missing) {
        self.logs += 1;
        self.missing.messages += missing.messages;
        self.missing.others += missing.others;
    }

    /// What is said of them.
    fn text(&self, why: &str) -> String {
        let messages = text::count(self.missing.messages, "message");
        let others = text::count(self.missing.others, "other fact");
        format!("the source no longer has {messages} and {others} of earlier logs{why}; {} kept", logs_are(self.logs, "such"))
    }
}

/// The earlier logs of a unit, beside its new one.
#[derive(Default)]
pub(super) struct Earlier {
    /// Those that hold nothing which the new one lacks.
    pub superseded: Vec<PathBuf>,
    /// Those that hold more, or cannot be judged.
    shrunk: Kept,
    /// Those that hold more because that was pruned.
    pruned: Kept,
    /// How many hold no more, but bytes that were pruned.
    needed: u64,
    /// Forks that stand on what the source no longer has.
    forks: Vec<HeadName>,
}

impl Earlier {
    /// Looks at the logs that were kept, but for the one that is judged already:
    /// a run that was cut short has kept it under its second name.
    pub(super) fn look(
        &mut self,
        target: Target<'_>,
        log_name: &RelPath,
        judged: Option<&Path>,
        new: &mut Successor<'_>,
        history: &History<'_>,
        notes: &mut Vec<Finding>,
    ) -> Result<(), ConvertError> {
        let (folder, prefix) = target.store.earlier_prefix(log_name);
        let Ok(entries) = std::fs::read_dir(folder) else { return Ok(()) };
        let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
        paths.sort();
        for path in paths {
            let name = path.file_name().map(|name| name.as_encoded_bytes().to_vec()).unwrap_or_default();
            // Prefix, 16 hex digits, suffix: else it is another unit's.
            let is_other = name.strip_prefix(prefix.as_slice()).is_none_or(|rest| rest.len() != 16 + LOG_SUFFIX.len());
            if is_other || judged == Some(path.as_path()) {
                continue;
            }
            match existing(&path, target, notes)? {
                Existing::Log(mut old) if !old.was_extended() => {
                    let lacking = new.lacks(&mut old, history)?;
                    match lacking.is_nothing() {
                        false => self.add(lacking),
                        true if is_needed(target, log_name, old.seal()) => self.add_needed(),
                        true => self.superseded.push(path),
                    }
                }
                Existing::Log(_) | Existing::Doubtful(_) | Existing::Unreadable => self.add_unjudged(),
                Existing::Nothing => {}
            }
        }
        Ok(())
    }

    /// One is kept for what the new one lacks.
    pub(super) fn add(&mut self, lacking: Lacking) {
        // Where it is kept for its forks alone, they are what is said of it.
        if !lacking.missing.is_nothing() || lacking.forks.is_empty() {
            match lacking.why {
                Why::Pruned => self.pruned.add(lacking.missing),
                Why::Unknown => self.shrunk.add(lacking.missing),
            }
        }
        self.forks.extend(lacking.forks);
    }

    /// One is kept that cannot be judged.
    pub(super) fn add_unjudged(&mut self) {
        self.shrunk.add(Missing::default());
    }

    /// One is kept for the bytes alone.
    pub(super) fn add_needed(&mut self) {
        self.needed += 1;
    }

    /// Says what is kept, in every run: it stays true until the source has it
    /// again.
    pub(super) fn note(&self, log_name: &RelPath, findings: &mut Findings) {
        let mut add = |code, message| findings.add(code, Location::file(log_name.to_string()), message);
        for fork in &self.forks {
            let message = format!("the fork {fork} stands on what the source no longer has; the log that has it is kept");
            add(FindingCode::ForkKept, message);
        }
        if self.needed > 0 {
            let message = format!("{} kept: what was pruned can be brought back from there", logs_are(self.needed, "earlier"));
            add(FindingCode::SourcePruned, message);
        }
        if self.pruned.logs > 0 {
            add(FindingCode::SourcePruned, self.pruned.text(", which were pruned"));
        }
        if self.shrunk.logs > 0 {
            add(FindingCode::SourceShrunk, self.shrunk.text(""));
        }
    }
}

fn logs_are(count: u64, which: &str) -> String {
    if count == 1 { format!("1 {which} log is") } else { format!("{count} {which} logs are") }
}
