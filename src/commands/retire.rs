//! Retiring sources: proven ones are renamed to `*.migrated`, so that their
//! program no longer sees them, and get their names back on request. The way
//! back needs nothing but the source: no receipt, no log.

use std::path::Path;

use crate::adapters::adapter::RETIRED_SUFFIX;
use crate::log::SealState;
use crate::log::restore::file_plan;
use crate::model::digest::sha256_hex;
use crate::model::files::{Entry, RelPath};
use crate::model::finding::{Finding, FindingCode, Findings};
use crate::model::location::Location;
use crate::report::exit::ExitStatus;
use crate::report::printer::Printer;
use crate::report::text;
use crate::store::disk::Disk;
use crate::store::layout::{Store, path_below};
use crate::store::receipts::Receipt;
use crate::store::{StoreError, snapshot};
use crate::verify::difference::visible;

use super::convert::ConvertError;
use super::error::CommandError;
use super::logs;
use super::migrate::MigrateJob;
use super::source::{Source, SourceUnit};

fn retired_name(path: &RelPath) -> RelPath {
    RelPath::new([path.as_bytes(), RETIRED_SUFFIX.as_bytes()].concat())
}

/// Renames the files of a proven session that its program would list, if they
/// are still what was proven. Returns those renamed; what was not is a finding.
pub(super) fn retire(source: &Source, unit: &SourceUnit, receipt: &Receipt, disk: &dyn Disk, findings: &mut Findings) -> Vec<String> {
    let folder = source.folder_of(unit);
    let mut done = Vec::new();
    for path in &unit.found.retires {
        let from = path_below(&folder, path);
        let to = path_below(&folder, &retired_name(path));
        let proven = receipt.files.iter().find(|file| file.path == path.key());
        let renamed = match proven {
            Some(proven) if is_still(&from, proven.size, proven.mtime_ns) => disk.rename_new(&from, &to).and_then(|()| disk.sync(&folder)),
            _ => Err(StoreError::Unsteady { path: from }),
        };
        match renamed {
            Ok(()) => done.push(path),
            Err(error) => {
                findings.add(FindingCode::NotRetired, Location::file(path.to_string()), format!("not renamed: {error}"));
                // Half a session would be another one for its program.
                for path in done.drain(..) {
                    let (from, to) = (path_below(&folder, &retired_name(path)), path_below(&folder, path));
                    let _ = disk.rename_new(&from, &to).and_then(|()| disk.sync(&folder));
                }
                break;
            }
        }
    }
    done.into_iter().map(ToString::to_string).collect()
}

fn is_still(path: &Path, size: u64, mtime_ns: i64) -> bool {
    use std::os::unix::fs::MetadataExt;
    path.symlink_metadata().is_ok_and(|meta| meta.len() == size && meta.mtime() * 1_000_000_000 + meta.mtime_nsec() == mtime_ns)
}

/// Gives retired files their names back, one by one: what cannot be renamed
/// does not keep the others from it.
///
/// # Errors
/// Never as a whole.
pub(super) fn unretire(source: &Source, job: &MigrateJob<'_>, out: &Printer) -> Result<ExitStatus, CommandError> {
    let (mut done, mut failed) = (0, 0);
    for unit in &source.units {
        let folder = source.folder_of(unit);
        let is_there = |path: &Path| path.symlink_metadata().is_ok();
        let was_retired = unit.found.retires.iter().all(|path| is_there(&path_below(&folder, &retired_name(path))));
        for path in &unit.found.retires {
            let (from, to) = (path_below(&folder, &retired_name(path)), path_below(&folder, path));
            // A program may make such names itself, beside a session that lives.
            if !is_there(&from) || (is_there(&to) && !was_retired) {
                continue;
            }
            match job.disk.rename_new(&from, &to).and_then(|()| job.disk.sync(&folder)) {
                Ok(()) => done += 1,
                Err(error) => {
                    failed += 1;
                    let place = visible(&unit.reported(path).to_string());
                    out.complain(&format!("error: {}\n  at {place}\nhint: move it away, and run again", visible(&error.to_string())));
                }
            }
        }
    }
    out.summary(&format!("{} got their names back, {} not", text::count(done, "file"), failed));
    Ok(if failed == 0 { ExitStatus::Well } else { ExitStatus::Found })
}

/// A retired session as its log has it.
#[derive(Debug)]
pub(super) struct RetiredUnit {
    pub log: RelPath,
    pub log_bytes: u64,
    pub findings: Vec<Finding>,
}

/// Looks at a retired session: its log must be there and good, and whatever
/// else lies in the session must still be what the log holds.
///
/// # Errors
/// When there is no such log, or the session cannot be read.
pub(super) fn look_at(unit: &SourceUnit, source: &Source, store: &Store) -> Result<RetiredUnit, ConvertError> {
    let log = Store::log_name(&unit.name);
    let opened = logs::open(&store.path(&log), None).ok().filter(|(view, _)| matches!(view.seal(), SealState::Good { .. }));
    let Some((mut view, _)) = opened else { return Err(ConvertError::RetiredWithoutLog) };
    let files = snapshot::take(&source.folder_of(unit), unit.own_name(), &unit.found.files)?;
    let mut findings = Findings::default();
    findings.add(FindingCode::SourceRetired, Location::file(""), "migrated and retired; its log stays");
    let changed = "changed since the session was retired: `--unretire` it and migrate again";
    let mut known = Vec::new();
    for seq in view.files().to_vec() {
        let plan = file_plan(&mut view, seq)?;
        let now = if unit.found.retires.contains(&plan.path) { retired_name(&plan.path) } else { plan.path };
        let same = match files.entry(&now) {
            Some(Entry::File(file)) => plan.entry.sha256 == Some(sha256_hex(&file.bytes)),
            Some(Entry::Link { target }) => plan.target.as_ref() == Some(target),
            Some(Entry::EmptyFolder) => true,
            None => false,
        };
        if !same {
            findings.add(FindingCode::RetiredChanged, Location::file(now.to_string()), changed);
        }
        known.push(now);
    }
    for (path, _) in files.iter().filter(|(path, _)| !known.contains(path)) {
        findings.add(FindingCode::RetiredChanged, Location::file(path.to_string()), changed);
    }
    Ok(RetiredUnit { log, log_bytes: view.bytes(), findings: findings.into_list() })
}
