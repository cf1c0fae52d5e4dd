//! `everlog prune`: what has served its purpose goes, and never anything else.
//! First a plan with the one reason why each other thing stays; then that plan;
//! and the way back.

mod apply;
mod bundles;
mod case;
mod groups;
pub(super) mod history;
mod logs;
mod plan;
mod report;
mod retired;
mod undo;
mod users;

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use crate::adapters::adapter::Adapter;
use crate::model::files::RelPath;
use crate::model::retention::{Policy, Rule};
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::store::StoreError;
use crate::store::disk::Disk;
use crate::store::layout::Store;
use crate::store::lock::StoreLock;
use crate::store::pruned::Pruned;
use crate::store::receipts::Receipts;
use crate::verify::difference::visible;

use self::plan::Depth;
use super::error::CommandError;
use super::migrate::refuse_nesting;
use super::retired as retired_before;
use super::source::{Selection, Source};

/// What to prune, and how.
#[derive(Debug)]
pub struct PruneJob<'a> {
    /// The source as the user named it.
    pub source: PathBuf,
    /// Where its logs are.
    pub dest: PathBuf,
    /// Which sessions.
    pub selection: Selection,
    /// Which formats.
    pub adapters: Vec<&'static dyn Adapter>,
    /// Which rules.
    pub rules: Vec<Rule>,
    /// What is due.
    pub policy: Policy,
    /// How long a file must not have been written, in nanoseconds.
    pub idle_ns: i64,
    /// Whether a log must have what goes.
    pub copies: Copies,
    /// Where old files are moved instead of being removed.
    pub trash: Option<PathBuf>,
    /// Plan, do, or undo.
    pub action: Action,
    /// How many sessions at once.
    pub jobs: usize,
    /// The time, in nanoseconds since the epoch.
    pub now_ns: i64,
    /// Set by Ctrl-C.
    pub stop: &'a AtomicBool,
    /// The disk under it all.
    pub disk: &'a dyn Disk,
}

/// Whether a log must have what goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Copies {
    /// It must, and be proven to.
    InLogs,
    /// What no log has is gone.
    GivenUp,
}

/// Plan, do, or undo.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Print what would go.
    Plan,
    /// Say whether something should have gone by now.
    Check,
    /// Do it.
    Apply,
    /// Print the whole case of what is in one file.
    Explain(PathBuf),
    /// Bring back what a prune took: the last one, or the one of this name.
    Undo(Option<String>),
}

/// Runs the command.
///
/// # Errors
/// When nothing is recognised, or the disk fails.
pub fn run(job: &PruneJob<'_>, out: &Printer) -> Result<ExitStatus, CommandError> {
    let store = Store::at(&job.dest);
    let mut source = Source::open(&job.source, &job.adapters, &job.selection)?;
    let needs_store = match &job.action {
        Action::Undo(_) => true,
        Action::Apply | Action::Check => job.copies == Copies::InLogs,
        Action::Plan | Action::Explain(_) => false,
    };
    // A name that was mistyped must neither make a folder nor look like peace.
    if needs_store && !store.private().is_dir() {
        return Err(CommandError::NoStore { path: job.dest.clone() });
    }
    let pruned = Pruned::read(&store)?;
    say_damaged(&pruned, &store, out);
    if let Action::Undo(wanted) = &job.action {
        let _lock = StoreLock::take(&store, job.disk)?;
        return undo::undo(&source, &store, wanted.as_deref(), job, out);
    }
    if source.units.is_empty() && source.recognised == 0 && !source.discovery.recognised_any() {
        say_all_went(&source, &job.source, &pruned, &job.adapters, out)?;
    }
    retired_before::settle(&mut source, &store, &Receipts::load(&store));
    if job.action == Action::Apply {
        [Some(&job.dest), job.trash.as_ref()].into_iter().flatten().try_for_each(|folder| refuse_nesting(&source, folder))?;
        let _lock = match StoreLock::take(&store, job.disk) {
            Err(StoreError::Locked { path }) => {
                // A scheduled job comes again.
                if out.form() == Form::Json {
                    out.object(&serde_json::json!({ "busy": { "dest": path.display().to_string() } }));
                }
                out.summary(&format!("another run is at work in {}; nothing was done", path.display()));
                return Ok(ExitStatus::Well);
            }
            lock => lock?,
        };
        return apply::apply(source, &store, job, out);
    }
    let explained = if let Action::Explain(file) = &job.action { below(&source, file)? } else { None };
    let depth = Depth { explained };
    let plan = plan::make(&source, &store, &pruned, &depth, job)?;
    if let Action::Explain(file) = &job.action {
        return Ok(report::explain(&plan, depth.explained.as_ref(), file, out));
    }
    let cut_short = pruned.unfinished(&source.root.to_string_lossy()).count();
    Ok(report::plan(&plan, cut_short, job, out))
}

/// A file that somebody named, below the source; nothing where it is elsewhere.
fn below(source: &Source, file: &Path) -> Result<Option<RelPath>, StoreError> {
    let there = std::fs::canonicalize(file).or_else(|_| std::fs::canonicalize(source.root.join(file)));
    let full = there.map_err(StoreError::io("find", file))?;
    Ok(full.strip_prefix(&source.root).ok().map(|path| RelPath::new(path.as_os_str().as_encoded_bytes())))
}

/// Says which lines of the tombstones were damaged.
pub(super) fn say_damaged(pruned: &Pruned, store: &Store, out: &Printer) {
    let Some((first, more)) = pruned.damaged().split_first() else { return };
    let place = format!("{}:{first}", visible(&store.pruned().display().to_string()));
    let places = more.iter().fold(place, |places, line| format!("{places}, :{line}"));
    let count = text::count(pruned.damaged().len() as u64, "line");
    out.complain(&format!("warning: {count} of what was pruned cannot be read: {places}; what the others name can be brought back"));
}

/// Says why a source has no session, where that is because they were pruned.
///
/// # Errors
/// When nobody knows of any.
pub(super) fn say_all_went(
    source: &Source,
    named: &Path,
    pruned: &Pruned,
    adapters: &[&'static dyn Adapter],
    out: &Printer,
) -> Result<(), CommandError> {
    if !pruned.knows(&source.root) {
        let looked_for = adapters.iter().map(|adapter| adapter.looked_for()).collect();
        return Err(CommandError::NothingRecognised { path: named.to_owned(), looked_for });
    }
    if out.form() == Form::Text {
        out.summary(&format!("no session is left in {}: what was there was pruned", visible(&named.display().to_string())));
    }
    Ok(())
}
