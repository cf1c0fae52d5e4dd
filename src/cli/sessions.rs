//! Sessions and stores as people name them on the command line.

use jiff::Timestamp;
use std::path::{Path, PathBuf};

use crate::adapters::ALL;
use crate::adapters::format::Format;
use crate::commands::CommandError;
use crate::commands::export::{ExportJob, ExportTarget, Installation, OnLoss, Placing};
use crate::commands::ls::{Damage, LsJob, Sort};
use crate::commands::sessions::log_named;
use crate::export::{Extension, document};
use crate::model::heads::HeadName;
use crate::model::ids::Seq;
use crate::report::terminal::Terminal;
use crate::store::disk::RealDisk;
use crate::store::layout::Store;
use crate::store::walk::real_path;

use super::args;
use super::choices::{Problem, adapters, homes, now_ns, redactor, said, since};
use super::migrate::usual_store;
use super::places;

/// Returns the store that is meant where a command names none: that of
/// `--store`, of `EVERLOG_STORE`, the one around the current folder, the one
/// that `migrate` writes beside it, or that of `migrate --all`.
fn store(named: Option<&Path>, session: Option<&Path>) -> Result<PathBuf, CommandError> {
    if let Some(named) = named.map(Path::to_owned).or_else(|| said("EVERLOG_STORE").map(PathBuf::from)) {
        return Ok(real_path(&named));
    }
    let none = || CommandError::NoStoreNamed { word: session.map(|word| word.display().to_string()) };
    let here = std::env::current_dir().map_err(|_| none())?;
    let usual = || usual_store().filter(|store| Store::at(store).private().is_dir());
    // A store is looked for from something inside of it.
    if let Some(around) = Store::of_log(&here.join("log")) {
        return Ok(around.root().to_owned());
    }
    let mut name = here.file_name().map(ToOwned::to_owned).unwrap_or_default();
    name.push(".everlog");
    Some(here.with_file_name(name)).filter(|beside| beside.is_dir()).or_else(usual).ok_or_else(none)
}

/// Returns the log that is meant: a file, or a session of the store.
pub(super) fn log(typed: &Path, named: Option<&Path>) -> Result<PathBuf, CommandError> {
    Ok(real_path(&log_as_typed(typed, named)?))
}

/// Returns the log that is meant under the name that was typed, links and all: who
/// writes to it must see a link to refuse it.
pub(super) fn log_as_typed(typed: &Path, named: Option<&Path>) -> Result<PathBuf, CommandError> {
    log_named(typed, || store(named, Some(typed)))
}

/// Returns the log or the folder of logs that is meant.
pub(super) fn logs(typed: &Path, named: Option<&Path>) -> Result<PathBuf, CommandError> {
    if typed.is_dir() { Ok(real_path(typed)) } else { log(typed, named) }
}

/// Returns the store or folder of logs that is meant: the one that was typed, or
/// the one that is meant where nothing was.
pub(super) fn folder(typed: Option<&Path>, named: Option<&Path>) -> Result<PathBuf, CommandError> {
    typed.map_or_else(|| store(named, None), |folder| Ok(real_path(folder)))
}

/// Returns a time as lists compare it: in UTC, without a `Z`.
pub(super) fn since_in_utc(typed: Option<&str>) -> Result<Option<String>, Problem> {
    let utc = |ns: i64| Timestamp::from_nanosecond(i128::from(ns)).map(|time| time.to_string().trim_end_matches('Z').to_owned());
    Ok(typed.map(since).transpose()?.and_then(|ns| utc(ns).ok()))
}

/// Settles what `everlog ls` lists.
pub(super) fn ls_job(args: args::Ls, named: Option<&Path>, terminal: Terminal) -> Result<LsJob, Problem> {
    if let Some(format) = &args.format {
        adapters(Some(format))?;
    }
    let since = since_in_utc(args.since.as_deref())?;
    // A source's folder may be gone, or be of another machine: it is compared as
    // a text.
    let cwd = args.cwd.map(|folder| std::path::absolute(&folder).unwrap_or(folder).to_string_lossy().into_owned());
    Ok(LsJob {
        store: folder(args.folder.as_deref(), named)?,
        sort: match args.sort.as_str() {
            "size" => Sort::Size,
            "messages" => Sort::Messages,
            "title" => Sort::Title,
            _ => Sort::Time,
        },
        since,
        format: args.format,
        cwd,
        damage: if args.damaged { Damage::Only } else { Damage::Any },
        terminal,
    })
}

/// Settles what `everlog export` writes.
pub(super) fn export_job(args: args::Export, named: Option<&Path>, jobs: usize) -> Result<ExportJob<'static>, Problem> {
    let target = export_target(args.to.as_deref().unwrap_or_default())?;
    let (dest, placing) = match (args.output, target) {
        (Some(output), _) => (output, Placing::InFolder),
        (None, ExportTarget::Program(format)) => {
            let place = places::first(format).ok_or_else(|| {
                Problem::Usage(format!("{} has no usual place for sessions on this machine: name a folder with `-o`", format.id()))
            })?;
            (place, Placing::Installed(Installation { homes: homes(), now_ms: now_ns() / 1_000_000 }))
        }
        (None, ExportTarget::Document(document)) => {
            return Err(Problem::Usage(format!("no program looks for {}: name a folder with `-o`", document.describes())));
        }
    };
    Ok(ExportJob {
        logs: args.logs.iter().map(|typed| logs(typed, named)).collect::<Result<_, _>>()?,
        target,
        dest,
        placing,
        head: args.head.as_deref().map(HeadName::parse),
        leaf: args.leaf,
        at: args.at.map(Seq::new),
        cwd: args.cwd.map(|folder| std::path::absolute(&folder).unwrap_or(folder).to_string_lossy().into_owned()),
        model: args.model,
        title: args.title,
        extension: if args.bare { Extension::Bare } else { Extension::Carried },
        on_loss: if args.strict { OnLoss::Refuse } else { OnLoss::Report },
        redactor: redactor(&args.redact)?,
        jobs,
        disk: &RealDisk,
    })
}

/// Returns the format or the kind of document with this name.
fn export_target(word: &str) -> Result<ExportTarget, Problem> {
    let programs = || ALL.iter().copied().filter(|format| format.exporter().is_some());
    let program = programs().find(|format| format.id() == word).map(ExportTarget::Program);
    let document = || document::ALL.iter().copied().find(|document| document.id() == word).map(ExportTarget::Document);
    program.or_else(document).ok_or_else(|| {
        let known: Vec<&str> = programs().map(Format::id).chain(document::ALL.iter().map(|document| document.id())).collect();
        Problem::Usage(format!("sessions cannot be exported to `{word}`: the targets are {}, parquet, sqlite", known.join(", ")))
    })
}
