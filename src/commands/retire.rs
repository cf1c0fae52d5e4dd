//! Retiring sources: proven ones are renamed to `*.migrated`, so that their
//! program no longer sees them, and get their names back on request.

use std::path::Path;

use crate::model::files::RelPath;
use crate::report::exit::ExitStatus;
use crate::report::printer::Printer;
use crate::report::text;
use crate::store::StoreError;
use crate::store::disk::Disk;
use crate::store::layout::{Store, path_below};
use crate::store::receipts::{Receipt, Receipts};

use super::error::CommandError;
use super::migrate::MigrateJob;
use super::migrate_report::UnitReport;
use super::source::{Source, SourceUnit};

/// What a retired file's name ends in.
const SUFFIX: &str = ".migrated";

fn retired_name(path: &RelPath) -> RelPath {
    RelPath::new([path.as_bytes(), SUFFIX.as_bytes()].concat())
}

/// Renames the files of a proven session that its program would list, if they
/// are still what was proven. Never over an existing file.
///
/// # Errors
/// When a file cannot be renamed.
pub fn retire(
    source: &Source,
    unit: &SourceUnit,
    receipt: &mut Receipt,
    disk: &dyn Disk,
    report: &mut UnitReport,
) -> Result<(), StoreError> {
    if !report.is_proven() {
        return Ok(());
    }
    let folder = source.folder_of(unit);
    let mut done = Vec::new();
    for path in &unit.found.retires {
        let from = path_below(&folder, path);
        let to = path_below(&folder, &retired_name(path));
        let proven = receipt.files.iter().find(|file| file.path == path.to_string());
        let still_the_same = proven.is_some_and(|proven| is_still(&from, proven.size, proven.mtime_ns));
        if !still_the_same || to.symlink_metadata().is_ok() {
            continue;
        }
        disk.rename(&from, &to)?;
        disk.sync(&folder)?;
        done.push(path.to_string());
    }
    receipt.retired.clone_from(&done);
    report.retired(done);
    Ok(())
}

fn is_still(path: &Path, size: u64, mtime_ns: i64) -> bool {
    use std::os::unix::fs::MetadataExt;
    path.symlink_metadata().is_ok_and(|meta| meta.len() == size && meta.mtime() * 1_000_000_000 + meta.mtime_nsec() == mtime_ns)
}

/// Gives retired files their names back.
///
/// # Errors
/// When a file cannot be renamed.
pub fn unretire(source: &Source, store: &Store, job: &MigrateJob<'_>, out: &Printer) -> Result<ExitStatus, CommandError> {
    let mut receipts = Receipts::load(store);
    let mut count = 0;
    for unit in &source.units {
        let Some(mut receipt) = receipts.get(&unit.name).cloned() else { continue };
        let folder = source.folder_of(unit);
        for name in std::mem::take(&mut receipt.retired) {
            let path = RelPath::new(name.as_bytes());
            let (from, to) = (path_below(&folder, &retired_name(&path)), path_below(&folder, &path));
            if to.symlink_metadata().is_ok() {
                return Err(StoreError::Exists { path: to }.into());
            }
            job.disk.rename(&from, &to)?;
            job.disk.sync(&folder)?;
            count += 1;
        }
        receipts.put(receipt);
    }
    receipts.save(store, job.disk)?;
    out.text(&format!("{} got their names back", text::count(count, "file")));
    Ok(ExitStatus::Well)
}
