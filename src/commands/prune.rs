//! `everlog prune`: removes what has served its purpose, and never anything else.
//! First a plan with the one reason why each other thing stays; then that plan;
//! and the way back.

mod apply;
mod bundles;
mod case;
mod groups;
mod job;
mod judged;
mod logs;
mod plan;
mod report;
mod resume;
mod retired;
mod tally;
mod undo;
mod users;

use std::path::{Path, PathBuf};

use crate::adapters::format::Format;
use crate::model::files::RelPath;
use crate::pipeline::retired as retired_before;
use crate::pipeline::source::Source;
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::store::StoreError;
use crate::store::layout::Store;
use crate::store::lock::StoreLock;
use crate::store::pruned::Pruned;
use crate::store::receipts::Receipts;
use crate::verify::difference::visible;

pub use self::job::{Action, Copies, PruneJob};
use self::judged::Depth;
use super::error::CommandError;
use super::overlap::refuse_overlap;
use super::place;

/// Runs the command.
///
/// # Errors
/// When nothing is recognised, or the disk fails.
pub fn run(job: &PruneJob<'_>, out: &Printer) -> Result<ExitStatus, CommandError> {
    let store = Store::at(&job.dest);
    let place = place::find(&store, &job.source)?;
    let mut source = Source::open_with_logs_in(&place, &job.source, &job.adapters, &job.selection)?;
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
        [Some(&job.dest), job.trash.as_ref()].into_iter().flatten().try_for_each(|folder| refuse_overlap(&source, folder))?;
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

/// Returns a file that somebody named, below the source; nothing where it is elsewhere.
fn below(source: &Source, file: &Path) -> Result<Option<RelPath>, StoreError> {
    // Its folder is looked up and its name is kept: a link is itself, not the file
    // that it leads to.
    let place = |path: &Path| {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let name = path.file_name().ok_or(std::io::ErrorKind::InvalidInput)?;
        path.symlink_metadata()?;
        Ok::<PathBuf, std::io::Error>(std::fs::canonicalize(folder)?.join(name))
    };
    let full = place(file).or_else(|_| place(&source.root.join(file))).map_err(StoreError::io("find", file))?;
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
    adapters: &[&'static dyn Format],
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
