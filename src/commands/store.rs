//! `everlog store compact`: the receipts of parts of larger runs become one file.

use serde::Serialize;
use std::path::PathBuf;

use crate::model::files::RelPath;
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::store::disk::Disk;
use crate::store::layout::Store;
use crate::store::lock::StoreLock;
use crate::store::receipts::Receipts;
use crate::store::replace::sweep_store;
use crate::store::root::root_of;
use crate::verify::difference::visible;

use super::error::CommandError;

/// The store to compact.
#[derive(Debug)]
pub struct CompactJob<'a> {
    /// Where it is.
    pub store: PathBuf,
    /// The disk under it.
    pub disk: &'a dyn Disk,
}

/// The report.
#[derive(Debug, Serialize)]
struct Compacted {
    /// How many sessions have a receipt.
    receipts: usize,
    /// How many files of parts became one.
    parts: usize,
    /// Lines that were not as they were written, and are gone.
    damaged: usize,
    root: String,
}

/// Runs the command.
///
/// # Errors
/// When there is no store, another run writes to it, or the disk fails.
pub fn run(job: &CompactJob<'_>, out: &Printer) -> Result<ExitStatus, CommandError> {
    let store = Store::at(&job.store);
    if !store.private().is_dir() {
        return Err(CommandError::NoStore { path: job.store.clone() });
    }
    let _lock = StoreLock::take(&store, job.disk)?;
    sweep_store(&store, job.disk)?;
    let parts = store.receipts_of_parts().len();
    let mut known = Receipts::load(&store);
    for damaged in known.damaged() {
        let of = damaged.unit.as_ref().map(|unit| format!(" of {}", visible(&RelPath::from_key(unit).to_string()))).unwrap_or_default();
        out.complain(&format!(
            "warning: the receipt{of} is not as it was written, and is left out [receipt_damaged]\n  at {}:{}\n\
             hint: `everlog migrate SOURCE` proves its session again",
            visible(&damaged.file),
            damaged.line
        ));
    }
    let damaged = known.damaged().len();
    known.compact(&store, job.disk)?;
    known.save(&store, job.disk)?;
    let report = Compacted { receipts: known.len(), parts, damaged, root: root_of(store.root())? };
    out.summary(&format!(
        "{} in one file{}",
        text::count(report.receipts as u64, "receipt"),
        if parts > 0 { format!(", from {}", text::count(parts as u64, "part")) } else { String::new() }
    ));
    out.summary(&format!("root {}", report.root));
    if out.form() == Form::Json {
        out.object(&report);
    }
    Ok(if damaged > 0 { ExitStatus::Found } else { ExitStatus::Well })
}
