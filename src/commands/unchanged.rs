//! Whether a session is still what its receipt says, so that it need not be
//! converted again.

use rayon::prelude::*;
use std::borrow::Cow;
use std::fs::File;

use crate::adapters::adapter;
use crate::log::fork;
use crate::model::files::{Entry, RelPath};
use crate::model::finding::{Finding, FindingCode};
use crate::model::folder::{Listed, ListedKind};
use crate::model::stream::ReadAt;
use crate::store::disk::{self, OpenFolder};
use crate::store::layout::Store;
use crate::store::receipts::{FileReceipt, Receipt, Receipts};
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
    let opened = disk::open(&store.path(&RelPath::from_key(&receipt.log)));
    opened.map_or(Standing::Other, |file| standing_of(&file, receipt))
}

/// The same of a file that has the log's name.
fn standing_of(file: &File, receipt: &Receipt) -> Standing {
    let end = receipt.log_bytes;
    // The end as it was, and a byte more: whether there is one tells the size too.
    let length = end.min(TAIL) as usize;
    let mut read = [0; TAIL as usize + 1];
    let have = file.read_some_at(&mut read[..=length], end - length as u64).unwrap_or(0);
    let tail = &read[..length];
    // The hash is the last that a seal says.
    let hash = tail.strip_suffix(b"\"}}\n").and_then(|line| line.get(line.len().checked_sub(receipt.log_sha256.len())?..));
    let is_it = have >= length && !receipt.log_sha256.is_empty() && hash == Some(receipt.log_sha256.as_bytes());
    match is_it {
        false => Standing::Other,
        true if have == length => Standing::There,
        true if fork::ends_in_seal(file, end).unwrap_or(false) => Standing::There,
        true => Standing::Unfinished,
    }
}

/// So many sessions are looked at in one go.
const AT_ONCE: usize = 256;

/// What is said of those sessions, each with its size, that are what their
/// receipts say at first sight, as are their logs: nothing but their ends is read.
pub(super) fn at_first_sight<R: Send>(
    units: &[(&SourceUnit, u64)],
    source: &Source,
    known: &Receipts,
    store: &Store,
    say: impl Fn(u64, &Receipt) -> R + Sync,
) -> Vec<Option<R>> {
    let Ok(logs) = OpenFolder::at(store.root()) else { return units.iter().map(|_| None).collect() };
    let log_is_there = |receipt: &Receipt| {
        let opened = logs.open(&RelPath::from_key(&receipt.log));
        opened.is_ok_and(|file| standing_of(&file, receipt) == Standing::There)
    };
    let some = |units: &[(&SourceUnit, u64)]| -> Vec<Option<R>> {
        let mut receipts = known.in_order();
        let is_it = |unit: &SourceUnit, receipt: &Receipt| {
            let is_its = unit.found.standing != adapter::Standing::Retired && receipt.format == unit.found.adapter.id();
            is_its && is_as_listed(unit, source, receipt) && log_is_there(receipt)
        };
        units
            .iter()
            .map(|(unit, bytes)| receipts.get(&unit.name).filter(|receipt| is_it(unit, receipt)).map(|receipt| say(*bytes, &receipt)))
            .collect()
    };
    units.par_chunks(AT_ONCE).with_max_len(1).flat_map_iter(some).collect()
}

/// Whether names, sizes, times and permissions are those of a receipt, and all
/// else that can be known without reading.
fn is_as_listed(unit: &SourceUnit, source: &Source, receipt: &Receipt) -> bool {
    let as_listed = |(was, listed): (&FileReceipt, Option<&Listed>)| listed.is_some_and(|listed| was.is_as_listed(listed));
    has_same_names(unit, receipt)
        && receipt.files.iter().zip(unit.listed(&source.listing)).all(as_listed)
        && left_out_as_before(unit, receipt)
}

/// Whether a session has the same files, and what lies beside it says the same.
fn has_same_names(unit: &SourceUnit, receipt: &Receipt) -> bool {
    // Another name is another file, whatever its bytes.
    let (was, is) = (&receipt.files, &unit.found.files);
    let same_names = was.len() == is.len() && is.iter().zip(was).all(|(path, file)| path.has_key(&file.path));
    same_names && receipt.beside_sha256 == beside_sha256(&unit.found.beside)
}

/// The receipt, brought up to date where it is not, of a source that has not
/// changed.
pub(super) fn as_before<'r>(
    unit: &SourceUnit,
    source: &Source,
    receipt: &'r Receipt,
    trust: Trust,
) -> Result<Option<Cow<'r, Receipt>>, ConvertError> {
    if trust == Trust::Nothing {
        return Ok(None);
    }
    if is_as_listed(unit, source, receipt) {
        return Ok(Some(Cow::Borrowed(receipt)));
    }
    // Another time or mode: the bytes decide, unless a time is part of the log.
    let listed: Vec<_> = unit.listed(&source.listing).collect();
    let sizes_same = receipt.files.iter().zip(&listed).all(|(was, listed)| {
        listed.is_some_and(|listed| was.is_as_listed(listed) || (listed.kind == ListedKind::File && was.size == listed.size))
    });
    if receipt.uses_file_times || !has_same_names(unit, receipt) || !sizes_same || !left_out_as_before(unit, receipt) {
        return Ok(None);
    }
    let files = snapshot::take(&source.folder_of(unit), unit.own_name(), &unit.found.files)?;
    let mut same = receipt.clone();
    for ((was, path), listed) in same.files.iter_mut().zip(&unit.found.files).zip(&listed) {
        if let (Some(Entry::File(file)), Some(listed)) = (files.entry(path), listed) {
            if was.sha256.as_deref() != files.sha256(path) {
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
