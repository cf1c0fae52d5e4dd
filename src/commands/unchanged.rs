//! Whether a session is still what its receipt says, so that it need not be
//! converted again.

use std::borrow::Cow;

use crate::log::fork;
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

/// What stands under the name of a receipt's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Standing {
    /// The log that was written then, with or without forks behind it.
    There,
    /// The same, and behind it something that no seal ends.
    Unfinished,
    /// Something else, or nothing.
    Other,
}

/// The end of a log that has the whole of its last line in it.
const TAIL: u64 = 256;

/// Whether the log of a receipt is the one that was written then, or begins
/// with it: its size, and the hash in its last line.
pub(super) fn log_standing(receipt: &Receipt, store: &Store) -> Standing {
    let path = store.path(&RelPath::from_key(&receipt.log));
    let Ok(file) = disk::open(&path) else { return Standing::Other };
    let end = receipt.log_bytes;
    // The end as it was, and a byte more: whether there is one tells the size too.
    let length = end.min(TAIL) as usize;
    let mut read = [0; TAIL as usize + 1];
    let have = file.read_some_at(&mut read[..=length], end - length as u64).unwrap_or(0);
    let tail = &read[..length];
    let is_it = have >= length && tail.ends_with(b"\n") && memchr::memmem::find(tail, receipt.log_sha256.as_bytes()).is_some();
    match is_it {
        false => Standing::Other,
        true if have == length => Standing::There,
        true if fork::ends_in_seal(&file, end).unwrap_or(false) => Standing::There,
        true => Standing::Unfinished,
    }
}

/// The receipt, brought up to date where it is not, of a source that has not
/// changed.
pub(super) fn as_before<'r>(
    unit: &SourceUnit,
    source: &Source,
    receipt: &'r Receipt,
    trust: Trust,
) -> Result<Option<Cow<'r, Receipt>>, ConvertError> {
    let same_beside = receipt.beside_sha256 == beside_sha256(&unit.found.beside);
    // Another name is another file, whatever its bytes.
    let (was, is) = (&receipt.files, &unit.found.files);
    let same_names = was.len() == is.len() && is.iter().zip(was).all(|(path, file)| path.has_key(&file.path));
    if trust == Trust::Nothing || !same_beside || !same_names {
        return Ok(None);
    }
    let listed: Vec<_> = source.listing.each_below(&unit.found.root, &unit.found.files).collect();
    let all_same = receipt.files.iter().zip(&listed).all(|(was, listed)| listed.is_some_and(|listed| was.is_as_listed(listed)));
    if all_same && left_out_as_before(unit, receipt) {
        return Ok(Some(Cow::Borrowed(receipt)));
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
    Ok(Some(Cow::Owned(same)))
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
                | FindingCode::ImportStops
                | FindingCode::KeyTwice
                | FindingCode::KeyElsewhere
                | FindingCode::AliasOfAnother
                | FindingCode::PromotedCopy
        )
    };
    let then = receipt.findings.iter().filter(stray);
    let then = then.map(|finding| (finding.code, Cow::Borrowed(finding.location.file.as_str()), finding.message.as_str()));
    let now = unit.found.left_out.iter().map(|(path, code, message)| (*code, String::from_utf8_lossy(path.as_bytes()), message.as_str()));
    then.eq(now)
}
