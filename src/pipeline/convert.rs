//! The second stage: a sealed log in a temporary file.

use std::fs::File;
use std::sync::Arc;

use crate::adapters::format::{Check, ReadSummary};
use crate::log::restore::check_sizes;
use crate::log::{LogView, UnsealedLog, Written};
use crate::model::finding::Findings;
use crate::model::stream::StreamError;
use crate::store::layout::Store;
use crate::store::replace::{Temporary, temporary_for};

use super::error::ConvertError;
use super::snapshot::{Snapshot, left_out};
use super::target::{Mode, Target};

/// A session's log in a temporary file, sealed and not yet proven.
#[derive(Debug)]
pub struct Converted<'d> {
    pub(super) temporary: Temporary<'d>,
    pub(super) log: LogView<Arc<File>>,
    pub(super) written: Written,
    pub(super) summary: ReadSummary,
    pub(super) findings: Findings,
}

/// Converts a session into a temporary file, and reads that back.
///
/// # Errors
/// When the log cannot be written or read back. The temporary file is removed.
pub fn convert<'d>(snapshot: &Snapshot<'_>, target: Target<'d>, check: Check) -> Result<Converted<'d>, ConvertError> {
    let files = &snapshot.files;
    let mut findings = left_out(snapshot.unit);
    let scratch = target.scratch_folder(&target.store.path(&Store::log_name(&snapshot.unit.name)))?;
    let mut temporary = temporary_for(target.store, target.disk, &scratch)?;
    if target.mode == Mode::DryRun {
        // No later run would sweep it there.
        temporary.forget_name()?;
    }
    let mut writer = UnsealedLog::new(&temporary);
    let summary = std::thread::scope(|scope| {
        // The log ends with the hashes of its files; without a thread they are computed there.
        if files.is_large() {
            let _ = std::thread::Builder::new().spawn_scoped(scope, || files.hash_all());
        }
        snapshot.unit.found.adapter.read(files, check, writer.events(), &mut findings)
    })?;
    writer.close()?;
    // From here on only what can be read back counts; that is what is sealed.
    let file = temporary.file.try_clone().map_err(|source| StreamError::Io { doing: "read the log", source })?;
    let (mut log, written) = LogView::open(Arc::new(file)).map_err(ConvertError::Log)?.seal_with(&temporary)?;
    // What `verify` would refuse to rebuild must not be written.
    check_sizes(&mut log)?;
    Ok(Converted { temporary, log, written, summary, findings })
}
