//! What several commands are told in the same words: which formats, which
//! sessions, since when; and where the environment and the clock are read.

use glob::Pattern;
use jiff::{Span, Timestamp, Zoned};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use crate::adapters::format::Format;
use crate::adapters::{ALL, by_id};
use crate::commands::CommandError;
use crate::maintenance;
use crate::model::database::Credentials;
use crate::pipeline::source::Selection;
use crate::redact::{InvalidPattern, Redactor};
use crate::store::StoreError;

use super::{args, quantities};

/// Set by the first Ctrl-C; the second one ends the process.
pub(super) static STOP: AtomicBool = AtomicBool::new(false);

/// Why nothing was done.
pub(super) enum Problem {
    Usage(String),
    Command(CommandError),
}

impl From<CommandError> for Problem {
    fn from(error: CommandError) -> Self {
        Problem::Command(error)
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Problem::Command(error.into())
    }
}

/// Returns the formats that are meant: the one that was named, or all.
pub(super) fn adapters(format: Option<&str>) -> Result<Vec<&'static dyn Format>, Problem> {
    match format {
        None => Ok(ALL.to_vec()),
        Some(id) => match by_id(id) {
            Some(adapter) => Ok(vec![adapter]),
            None => Err(CommandError::UnknownFormat { format: id.to_owned() }.into()),
        },
    }
}

/// Returns the time, in nanoseconds since the epoch.
pub(super) fn now_ns() -> i64 {
    i64::try_from(Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX)
}

/// `<source><suffix>` beside the source.
pub(super) fn beside(source: &Path, suffix: &str) -> Result<PathBuf, Problem> {
    let whole = std::fs::canonicalize(source).map_err(StoreError::io("find", source))?;
    // A file stands for the session that it belongs to.
    let whole = match whole.parent() {
        Some(folder) if whole.is_file() => folder.to_owned(),
        _ => whole,
    };
    let mut name = whole.file_name().ok_or_else(|| Problem::Usage("name a destination with `-o`".to_owned()))?.to_owned();
    name.push(suffix);
    Ok(whole.with_file_name(name))
}

/// Returns the sessions that are meant.
pub(super) fn selection(chosen: &args::Chosen, written_since: Option<&str>) -> Result<Selection, Problem> {
    Ok(Selection {
        include: patterns(&chosen.include)?,
        exclude: patterns(&chosen.exclude)?,
        since_ns: written_since.map(since).transpose()?,
        homes: homes(),
        credentials: Credentials::LeftOut,
    })
}

/// Returns where programs say that they run, as far as the environment tells.
pub(super) fn homes() -> BTreeMap<&'static str, PathBuf> {
    let of_programs = maintenance::ALL.iter().filter_map(|maintenance| Some(maintenance.process_file()?.home));
    let of_sessions = maintenance::ALL.iter().filter_map(|maintenance| Some(maintenance.open_marks()?.home));
    of_programs.chain(of_sessions).filter_map(|name| Some((name, PathBuf::from(said(name)?)))).collect()
}

fn patterns(globs: &[String]) -> Result<Vec<Pattern>, Problem> {
    globs
        .iter()
        .map(|text| Pattern::new(text).map_err(|error| Problem::Usage(format!("{text:?} is not a valid pattern: {error}"))))
        .collect()
}

/// Returns the moment that words such as `7d` or `2026-11-01` mean, in nanoseconds since
/// the epoch; nothing where they mean none.
#[must_use]
pub fn moment(text: &str) -> Option<i64> {
    since(text).ok()
}

/// Returns a date, a time or a span back from now, in nanoseconds since the epoch.
pub(super) fn since(text: &str) -> Result<i64, Problem> {
    let wrong = || Problem::Usage(format!("{text:?} is neither a date (2026-11-01) nor a span (7d, 12h)"));
    let moment = match text.parse::<Span>() {
        Ok(span) => Zoned::now().checked_sub(span).ok().and_then(|moment| i64::try_from(moment.timestamp().as_nanosecond()).ok()),
        Err(_) => quantities::moment_ns(text),
    };
    moment.ok_or_else(wrong)
}

/// Returns what an environment variable says, if it says anything.
pub(super) fn said(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Returns what takes secrets out, where that is asked for.
pub(super) fn redactor(args: &args::Redact) -> Result<Option<Redactor>, Problem> {
    let usage = |error: InvalidPattern| Problem::Usage(error.to_string());
    args.redact.then(|| Redactor::new(&args.redact_pattern).map_err(usage)).transpose()
}
