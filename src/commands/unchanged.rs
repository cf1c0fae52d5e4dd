//! Whether a session is still what its receipt says, so that it need not be
//! converted again.

use crate::model::digest::sha256_hex;
use crate::model::files::{Entry, RelPath};
use crate::model::finding::{Finding, FindingCode};
use crate::model::folder::ListedKind;
use crate::model::stream::ReadAt;
use crate::store::disk;
use crate::store::layout::Store;
use crate::store::receipts::Receipt;
use crate::store::snapshot;

use super::convert::{ConvertError, beside_sha256};
use super::migrate::Trust;
use super::source::{Source, SourceUnit};

/// Whether the log of a receipt is the one that was written then: its size,
/// and the hash in its last line.
pub(super) fn log_is_there(receipt: &Receipt, store: &Store) -> bool {
    let path = store.path(&RelPath::from_key(&receipt.log));
    let Ok(file) = disk::open(&path) else { return false };
    let mut tail = Vec::new();
    file.size().is_ok_and(|size| size == receipt.log_bytes)
        && file.fill_at(&mut tail, receipt.log_bytes.saturating_sub(256), 256).is_ok()
        && memchr::memmem::find(&tail, receipt.log_sha256.as_bytes()).is_some()
}

/// The receipt, brought up to date, of a source that has not changed.
pub(super) fn as_before(unit: &SourceUnit, source: &Source, receipt: &Receipt, trust: Trust) -> Result<Option<Receipt>, ConvertError> {
    let same_beside = receipt.beside_sha256 == beside_sha256(&unit.found.beside);
    if trust == Trust::Nothing || !same_beside || receipt.files.len() != unit.found.files.len() {
        return Ok(None);
    }
    let listed: Vec<_> = unit.found.files.iter().map(|path| source.listing.get(&path.below(&unit.found.root))).collect();
    let all_same = receipt
        .files
        .iter()
        .zip(&unit.found.files)
        .zip(&listed)
        .all(|((was, path), listed)| was.path == path.key() && listed.is_some_and(|listed| was.is_as_listed(listed)));
    if all_same && left_out_as_before(unit, receipt) {
        return Ok(Some(receipt.clone()));
    }
    // Another time or mode: the bytes decide, unless a time is part of the log.
    let sizes_same = receipt.files.iter().zip(&listed).all(|(was, listed)| {
        listed.is_some_and(|listed| was.is_as_listed(listed) || (listed.kind == ListedKind::File && was.size == listed.size))
    });
    if receipt.uses_file_times || !sizes_same || !left_out_as_before(unit, receipt) {
        return Ok(None);
    }
    let files = snapshot::take(&source.folder_of(unit), unit.own_name(), &unit.found.files)?;
    let mut same = receipt.clone();
    for ((was, path), listed) in same.files.iter_mut().zip(&unit.found.files).zip(&listed) {
        if let (Some(Entry::File(file)), Some(listed)) = (files.entry(path), listed) {
            if was.sha256.as_deref() != Some(sha256_hex(&file.bytes).as_str()) {
                return Ok(None);
            }
            was.mtime_ns = file.mtime_ns;
            was.mode = listed.mode;
        }
    }
    Ok(Some(same))
}

/// Whether the same strays lie about as did then.
fn left_out_as_before(unit: &SourceUnit, receipt: &Receipt) -> bool {
    let stray = |finding: &&Finding| {
        matches!(
            finding.code,
            FindingCode::LockFile
                | FindingCode::TemporaryKept
                | FindingCode::TemporaryLeft
                | FindingCode::SpecialFile
                | FindingCode::Unreadable
                | FindingCode::WouldOverwrite
                | FindingCode::KeyTwice
                | FindingCode::KeyElsewhere
                | FindingCode::AliasOfAnother
        )
    };
    let then: Vec<_> = receipt
        .findings
        .iter()
        .filter(stray)
        .map(|finding| (finding.code, finding.location.file.clone(), finding.message.clone()))
        .collect();
    let now: Vec<_> = unit.found.left_out.iter().map(|(path, code, message)| (*code, path.to_string(), message.clone())).collect();
    then == now
}
