//! The previous logs of a session: the one that has its name, and earlier ones
//! that were kept. None is removed that has a fact or a fork which the new log
//! lacks.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::log::contain::{self, Missing};
use crate::log::fork::{self, Fork, Rest};
use crate::log::{Carry, LogProblem, LogView, SealState};
use crate::model::counted::count;
use crate::model::digest::sha256_of;
use crate::model::files::RelPath;
use crate::model::finding::{Finding, FindingCode, Findings};
use crate::model::heads::HeadName;
use crate::model::location::Location;
use crate::store::{StoreError, disk, extend};

use super::error::ConvertError;
use super::old_bytes::earlier_logs;
use super::pruned::History;
use super::target::{Mode, Target};

/// What has a log's name.
pub(crate) enum Existing {
    Nothing,
    /// A log that is good to its end.
    Log(Box<LogView<File>>),
    /// A log without a good seal, or with events after it: no conversion can
    /// write those again.
    Doubtful(Box<LogView<File>>),
    /// A file that is not a valid log: it is kept, because nobody can say what it
    /// holds.
    Unreadable,
}

/// Opens the file that has a log's name. An unfinished fork after the last good
/// seal is removed, and noted.
///
/// # Errors
/// When it cannot be read, or was written by a newer version.
pub(crate) fn existing(path: &Path, target: Target<'_>, notes: &mut Vec<Finding>) -> Result<Existing, ConvertError> {
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
        SealState::Followed { .. } => fork::rest(&view)?,
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

/// Returns the message about an unfinished fork.
pub(crate) fn unfinished(bytes: u64) -> String {
    format!("{} of an unfinished fork followed the last good seal and were removed", count(bytes, "byte"))
}

/// Something that this run alone can see.
fn note(code: FindingCode, file: &str, message: String) -> Finding {
    Finding::new(code, Location::file(file), message)
}

/// Returns the hash in an earlier log's name: its seal's, or that of its bytes.
pub(crate) fn old_name(seal: &SealState, path: &Path) -> Result<String, StoreError> {
    match seal {
        SealState::Good { sha256 } => Ok(sha256.clone()),
        // Piece by piece: what is not a log any more may be of any size.
        SealState::Followed { .. } | SealState::Broken { .. } | SealState::Missing => {
            sha256_of(disk::open(path)?).map_err(StoreError::io("read", path))
        }
    }
}

/// Tells whether a log has what was pruned and can be brought back from it: a new one
/// may hold every fact of it and still not the bytes.
pub(crate) fn is_needed(target: Target<'_>, log_name: &RelPath, seal: &SealState) -> bool {
    matches!(seal, SealState::Good { sha256 } if target.pruned.needs(log_name, sha256))
}

/// What an old log has that its successor lacks.
pub(crate) struct Lacking {
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
        // A loss that cannot be explained, for any reason, is reported.
        let was_pruned = !missing.is_nothing() && history.explains(old, new).unwrap_or(false);
        Ok(Lacking { missing, why: if was_pruned { Why::Pruned } else { Why::Unknown }, forks })
    }

    pub(crate) fn is_nothing(&self) -> bool {
        self.missing.is_nothing() && self.forks.is_empty()
    }
}

/// The log that will have the name, with the forks that it carries. It is opened
/// only if there is an old log to compare it with.
pub(crate) enum Successor<'a> {
    /// A new one.
    Closed(&'a File),
    /// A new one, opened.
    New(Box<LogView<File>>, Carry),
    /// The existing one, which gets no forks.
    Existing(Box<LogView<File>>),
}

impl Successor<'_> {
    /// Returns what an old log has that this one lacks. Forks are taken along.
    pub(crate) fn lacks(&mut self, old: &mut LogView<File>, history: &History<'_>) -> Result<Lacking, ConvertError> {
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
            Successor::Existing(view) => {
                let mut carry = Carry::into_log(view);
                let mut forks = carry.take(old, view)?;
                forks.extend(carry.forks().iter().map(|fork| fork.name.clone()));
                Lacking::of(old, view, history, forks)
            }
        }
    }

    /// Returns the lines that append the forks, and notes about renamed ones.
    pub(crate) fn forks(&self, log_name: &RelPath, notes: &mut Vec<Finding>) -> Result<(Vec<u8>, &[Fork]), ConvertError> {
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
        // Each earlier log mostly has what the one after it has, and their sum would
        // count a message once for every log: so much is missing at least.
        self.missing.messages = self.missing.messages.max(missing.messages);
        self.missing.others = self.missing.others.max(missing.others);
    }

    /// Returns what is said of them.
    fn text(&self, why: &str) -> String {
        let counts = [(self.missing.messages, "message"), (self.missing.others, "other fact")];
        let missing: Vec<String> = counts.iter().filter(|(number, _)| *number > 0).map(|(number, what)| count(*number, what)).collect();
        if missing.is_empty() {
            // A damaged log cannot say what the source lacks of it.
            return format!("{} kept, because what was in it cannot be compared with the source{why}", logs_are(self.logs, "earlier"));
        }
        let at_least = if self.logs > 1 { "at least " } else { "" };
        let missing = missing.join(" and ");
        format!("the source no longer has {at_least}{missing} of earlier logs{why}; {} kept", logs_are(self.logs, "such"))
    }
}

/// The earlier logs of a unit, beside its new one.
#[derive(Default)]
pub(crate) struct Earlier {
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
    /// Compares the kept logs with the new one, but for the one that is judged
    /// already: an interrupted run has kept it under its second name.
    pub(crate) fn compare(
        &mut self,
        target: Target<'_>,
        log_name: &RelPath,
        judged: Option<&Path>,
        new: &mut Successor<'_>,
        history: &History<'_>,
        notes: &mut Vec<Finding>,
    ) -> Result<(), ConvertError> {
        for path in earlier_logs(target.store, log_name) {
            if judged == Some(path.as_path()) {
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
    pub(crate) fn add(&mut self, lacking: Lacking) {
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
    pub(crate) fn add_unjudged(&mut self) {
        self.shrunk.add(Missing::default());
    }

    /// One is kept for the bytes alone.
    pub(crate) fn add_needed(&mut self) {
        self.needed += 1;
    }

    /// Says what is kept, in every run: it stays true until the source has it
    /// again.
    pub(crate) fn note(&self, log_name: &RelPath, findings: &mut Findings) {
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
