//! The sessions of a store, as people know them: for lists, and to find one by
//! its id, the beginning of its id, its title, or as the last one.
//!
//! What a list needs of a session is in its receipt, which is written together
//! with its log. Where a receipt is missing, is of an older release, or is of a
//! log of another size (a fork was added since), that one log is read instead.

use rayon::prelude::*;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::adapters::{ALL, by_id};
use crate::log::LogProblem;
use crate::model::about::About;
use crate::model::event::{EventKind, SessionKind};
use crate::model::files::RelPath;
use crate::model::finding::Severity;
use crate::model::ids::Seq;
use crate::model::stream::LogAccess;
use crate::pipeline::source::{Selection, Source};
use crate::store::layout::{LOG_SUFFIX, path_below};
use crate::store::receipts::{Receipt, Receipts};
use crate::verify::difference::visible;

use super::error::CommandError;
use super::logs::{self, Asked, LogFile, Unread};

/// The word for the session with the newest message.
const LAST: &str = "@last";

/// So many sessions are looked up before those are added to the list: a store may
/// have a million.
const PIECE: usize = 16 * 1024;

/// One session of a store.
#[derive(Debug, Clone)]
pub struct SessionRow {
    /// The folder that its log's name is below.
    folder: Arc<Path>,
    /// The log's name below the folder that was listed.
    pub name: RelPath,
    /// The source format.
    pub format: Cow<'static, str>,
    /// What it is: a session, or what is left of one.
    pub kind: SessionKind,
    /// The log's size.
    pub bytes: u64,
    /// Findings that somebody should look at.
    pub findings: usize,
    /// What it is about.
    pub about: About,
}

impl SessionRow {
    /// Returns where its log is.
    #[must_use]
    pub fn path(&self) -> PathBuf {
        path_below(&self.folder, &self.name)
    }

    /// Returns what sessions are ordered by in time: the time of the last
    /// message in UTC. A time without a zone counts as UTC.
    #[must_use]
    pub fn order(&self) -> Option<String> {
        let last = self.about.last.as_deref()?;
        let utc = crate::api::utc(last).unwrap_or_else(|| last.to_owned());
        // As text, a fraction would come before the `Z` of a whole second.
        Some(utc.trim_end_matches('Z').to_owned())
    }
}

/// The sessions of a store, and what could not be looked at.
#[derive(Debug, Default)]
pub struct Sessions {
    /// The sessions, newest first.
    pub rows: Vec<SessionRow>,
    /// Why logs cannot be read.
    pub failed: Vec<CommandError>,
    /// What may be a log and was not looked at.
    pub unread: Vec<Unread>,
}

/// Lists the sessions of a store or of a folder of logs, newest first. Logs of
/// files about many sessions are not listed.
///
/// # Errors
/// When the folder cannot be listed, or has no logs.
pub fn list(folder: &Path) -> Result<Sessions, CommandError> {
    let asked = Asked::of(folder);
    let (looked, receipts) = rayon::join(|| logs::look_at_sizes(folder), || asked.store.as_ref().map(Receipts::load).unwrap_or_default());
    let mut looked = looked?;
    if looked.logs.is_empty() && looked.unread.is_empty() {
        return Err(source_at(folder).unwrap_or_else(|| CommandError::NoLogs { path: folder.to_owned() }));
    }
    let failed = Mutex::new(Vec::new());
    let with_log = AtomicUsize::new(0);
    let above = if folder.is_dir() { folder } else { folder.parent().unwrap_or(Path::new("")) };
    let above: Arc<Path> = above.into();
    let row = |(n, (name, bytes)): (usize, &(RelPath, Option<u64>))| {
        let log = asked.log(folder, name.clone());
        let receipt = receipts.of_log(&asked.name_of(&log));
        with_log.fetch_add(usize::from(receipt.is_some()), Ordering::Relaxed);
        match row_of(receipt, LogFile { bytes: *bytes, ..log }, &above) {
            Ok(row) => is_listed(row.kind).then_some(row),
            Err(error) => {
                failed.lock().unwrap_or_else(PoisonError::into_inner).push((n, error));
                None
            }
        }
    };
    let mut rows: Vec<SessionRow> = Vec::with_capacity(looked.logs.len());
    for (k, piece) in looked.logs.chunks(PIECE).enumerate() {
        rows.par_extend(piece.par_iter().enumerate().map(|(n, log)| (k * PIECE + n, log)).filter_map(row));
    }
    // Which logs are gone is asked only where some may be: of a million sessions that
    // takes as long as the rest.
    if with_log.into_inner() < receipts.len() {
        let names = looked.logs.iter().map(|(name, _)| asked.name_below(name));
        looked.unread.extend(logs::gone(folder, &asked, &receipts, names, &looked.unread));
    }
    drop((receipts, looked.logs));
    let mut failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.sort_by_key(|(n, _)| *n);
    // What is equal stays in the order of names.
    rows.sort_by_cached_key(|row| std::cmp::Reverse(row.order().map(String::into_boxed_str)));
    Ok(Sessions { rows, failed: failed.into_iter().map(|(_, error)| error).collect(), unread: looked.unread })
}

fn is_listed(kind: SessionKind) -> bool {
    match kind {
        SessionKind::Session | SessionKind::Orphan => true,
        SessionKind::Store | SessionKind::Index | SessionKind::Jobs => false,
    }
}

fn row_of(receipt: Option<Receipt>, log: LogFile, folder: &Arc<Path>) -> Result<SessionRow, CommandError> {
    let warned = |receipt: &Receipt| receipt.findings.iter().filter(|finding| finding.severity >= Severity::Warn).count();
    let LogFile { path, relative: name, bytes, .. } = log;
    let is_of_it = |receipt: &Receipt| bytes == Some(receipt.log_bytes) && receipt.about.is_some();
    match receipt {
        Some(mut receipt) if is_of_it(&receipt) => {
            let (about, findings) = (receipt.about.take().unwrap_or_default(), warned(&receipt));
            let (format, kind, bytes) = (format_named(receipt.format), receipt.kind, receipt.log_bytes);
            Ok(SessionRow { folder: Arc::clone(folder), name, format, kind, bytes, findings, about })
        }
        other => {
            let mut view = logs::open_any(&path, None)?;
            let about = About::of_log(&mut view).map_err(|source| CommandError::Stream { path: path.clone(), source })?;
            let damaged = || (1..=view.last().number()).filter(|seq| view.kind(Seq::new(*seq)) == EventKind::Damage).count();
            let findings = other.as_ref().map_or_else(damaged, warned);
            let (format, kind, bytes) = (format_named(view.session.format.clone()), view.session.kind, view.bytes());
            Ok(SessionRow { folder: Arc::clone(folder), name, format, kind, bytes, findings, about })
        }
    }
}

/// The name of a format, which most sessions of a list share.
fn format_named(id: String) -> Cow<'static, str> {
    by_id(&id).map_or(Cow::Owned(id), |format| Cow::Borrowed(format.id()))
}

/// Finds the log that a person means: a path, or a session of the store by
/// `@last`, its id, the beginning of its id or of its log's name, or its title.
/// The store is only asked for where no file has the name.
///
/// # Errors
/// When no session or several sessions fit, or the path is a folder.
pub fn log_named(typed: &Path, store: impl FnOnce() -> Result<PathBuf, CommandError>) -> Result<PathBuf, CommandError> {
    if typed.is_dir() {
        let holds_logs = logs::look(typed).is_ok_and(|looked| !looked.logs.is_empty());
        let path = typed.to_owned();
        return Err(if holds_logs {
            CommandError::FolderOfLogs { path }
        } else {
            source_at(typed).unwrap_or(CommandError::NoLogs { path })
        });
    }
    match typed.to_str() {
        Some(word) if typed.symlink_metadata().is_err() && !word.ends_with(LOG_SUFFIX) => named(word, &store()?),
        Some(_) | None => Ok(typed.to_owned()),
    }
}

/// Finds the session of a store that a word means.
fn named(word: &str, store: &Path) -> Result<PathBuf, CommandError> {
    let sessions = list(store)?.rows;
    let none = || CommandError::NoSuchSession { word: word.to_owned(), store: store.to_owned() };
    if word == LAST {
        return sessions.first().map(SessionRow::path).ok_or_else(none);
    }
    let lower = word.to_lowercase();
    let title = |row: &SessionRow| row.about.called().map(str::to_lowercase);
    let log_name = |row: &SessionRow| row.name.to_string();
    // The first of these that fits anything decides: a whole id is more than
    // the beginning of one, and an id is more than a title.
    let ways: [&dyn Fn(&SessionRow) -> bool; 6] = [
        &|row| row.about.id == word,
        &|row| log_name(row).strip_suffix(LOG_SUFFIX) == Some(word),
        &|row| row.about.id.starts_with(word),
        &|row| log_name(row).rsplit('/').next().is_some_and(|name| name.starts_with(word)),
        &|row| title(row).as_deref() == Some(&lower),
        &|row| title(row).is_some_and(|title| title.contains(&lower)),
    ];
    for fits in ways.iter().filter(|_| !word.is_empty()) {
        let found: Vec<&SessionRow> = sessions.iter().filter(|row| fits(row)).collect();
        match found.as_slice() {
            [] => {}
            [one] => return Ok(one.path()),
            several => {
                let candidates = several.iter().map(|row| candidate(row)).collect();
                return Err(CommandError::SeveralSessions { word: word.to_owned(), candidates });
            }
        }
    }
    Err(none())
}

/// Returns a session in a list of candidates.
fn candidate(row: &SessionRow) -> String {
    let day = row.about.last.as_deref().and_then(|last| last.get(..10)).unwrap_or("no time");
    let called: String = row.about.called().unwrap_or_default().chars().take(50).collect();
    visible(&format!("  {}  {day}  {called}  ({})", row.about.id, row.name))
}

/// Explains an error about a file or folder that is not a log, where sessions of a
/// program are there.
#[must_use]
pub fn explained(error: CommandError) -> CommandError {
    if let CommandError::Log { path, source: LogProblem::NotALog } | CommandError::NoLogs { path } = &error {
        source_at(path).unwrap_or(error)
    } else {
        error
    }
}

/// Says which program's sessions are at a path; nothing where there are none.
fn source_at(path: &Path) -> Option<CommandError> {
    let source = Source::open(path, ALL, &Selection::default()).ok()?;
    let mut formats: Vec<&'static str> = source.units.iter().map(|unit| unit.found.adapter.id()).collect();
    formats.sort_unstable();
    formats.dedup();
    let error = CommandError::NotConverted { path: path.to_owned(), formats, sessions: source.units.len() };
    (!source.units.is_empty()).then_some(error)
}

/// Returns the shortest beginnings by which sessions can be told apart, of at
/// least eight characters, in the order of the rows.
#[must_use]
pub fn short_ids(rows: &[SessionRow]) -> Vec<&str> {
    let mut sorted: Vec<&str> = rows.iter().map(|row| row.about.id.as_str()).collect();
    sorted.sort_unstable();
    let shared = |a: &str, b: &str| a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let short = |id: &'_ str| -> usize {
        let at = sorted.partition_point(|other| *other < id);
        let after = at + sorted[at..].iter().take_while(|other| **other == id).count();
        let before = at.checked_sub(1).map_or(0, |n| shared(sorted[n], id));
        let next = sorted.get(after).map_or(0, |other| shared(other, id));
        id.chars().take((before.max(next) + 1).max(8)).map(char::len_utf8).sum()
    };
    rows.iter().map(|row| &row.about.id[..short(&row.about.id)]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, last: Option<&str>) -> SessionRow {
        SessionRow {
            folder: Path::new("").into(),
            name: RelPath::new(id),
            format: Cow::Borrowed(""),
            kind: SessionKind::Session,
            bytes: 0,
            findings: 0,
            about: About { id: id.to_owned(), last: last.map(str::to_owned), ..About::default() },
        }
    }

    #[test]
    fn short_ids_tell_sessions_apart() {
        let ids = ["2026-03-05-alpha", "2026-03-05-beta", "0197c0de-0001", "x", "2026-03-05-alpha"];
        let rows: Vec<SessionRow> = ids.iter().map(|id| row(id, None)).collect();
        assert_eq!(short_ids(&rows), ["2026-03-05-a", "2026-03-05-b", "0197c0de", "x", "2026-03-05-a"]);
    }

    #[test]
    fn times_are_ordered_in_utc() {
        let order = |last| row("x", Some(last)).order().unwrap_or_default();
        assert!(order("2026-01-01T00:00:00Z") < order("2026-01-01T00:00:00.5Z"));
        assert!(order("2026-01-01T01:00:00+02:00") < order("2026-01-01T00:00:00"));
        assert_eq!(row("x", None).order(), None);
    }
}
