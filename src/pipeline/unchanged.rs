//! Whether a session is still what its receipt says, so that it need not be
//! converted again.

use rayon::prelude::*;
use std::borrow::Cow;
use std::fs::File;

use crate::adapters::format::Standing;
use crate::log::fork;
use crate::model::files::{Entry, RelPath};
use crate::model::finding::{Finding, FindingCode};
use crate::model::folder::{Listed, ListedKind};
use crate::model::stream::ReadAt;
use crate::store::blobs;
use crate::store::disk::{self, OpenFolder};
use crate::store::layout::Store;
use crate::store::receipts::{FileReceipt, Receipt, Receipts};
use crate::store::snapshot;

use super::error::ConvertError;
use super::receipt::shared_facts_sha256;
use super::snapshot::files_of;
use super::source::{Source, SourceUnit};

/// Whether a file of the same size and time counts as unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// It does.
    SizeAndTime,
    /// It does not: everything is read and proven again.
    Nothing,
}

/// What has the name of a receipt's log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LogState {
    /// The log that was written then, with or without forks after it, and its
    /// attachments.
    Intact,
    /// That log, and after it bytes that no seal ends.
    Unfinished,
    /// Another file, or none.
    Other,
}

/// The end of a log that has the whole of its last line in it.
const TAIL: u64 = 256;

/// Tells whether the log of a receipt is the one that was written then, or begins
/// with it: its size, and the hash in its last line.
pub(crate) fn log_state(receipt: &Receipt, store: &Store) -> LogState {
    let opened = disk::open(&store.path(&RelPath::from_key(&receipt.log)));
    opened.map_or(LogState::Other, |file| if has_blobs(receipt, store) { state_of(&file, receipt) } else { LogState::Other })
}

/// Tells whether the store has the attachments of a receipt's log, each in its size:
/// without them the log rebuilds nothing. Their bytes are for `verify` to check.
fn has_blobs(receipt: &Receipt, store: &Store) -> bool {
    receipt.blobs.iter().all(|sha256| {
        let file = receipt.files.iter().find(|file| file.sha256.as_ref() == Some(sha256));
        file.is_some_and(|file| blobs::open(store, sha256, file.size).is_ok())
    })
}

/// Compares the end of a file that has the log's name with its receipt.
fn state_of(file: &File, receipt: &Receipt) -> LogState {
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
        false => LogState::Other,
        true if have == length => LogState::Intact,
        true if fork::ends_in_seal(file, end).unwrap_or(false) => LogState::Intact,
        true => LogState::Unfinished,
    }
}

/// So many sessions are compared in one go.
const AT_ONCE: usize = 256;

/// Calls `say` for the sessions of a source, each with its size, whose listing is
/// what their receipts say, and whose logs are intact. Of those only the ends are
/// read.
pub(crate) fn unchanged_as_listed<R: Send>(
    (source, sizes): (&Source, &[u64]),
    known: &Receipts,
    store: &Store,
    say: impl Fn(u64, &Receipt) -> R + Sync,
) -> Vec<Option<R>> {
    let mut said: Vec<Option<R>> = sizes.iter().map(|_| None).collect();
    let Ok(logs) = OpenFolder::at(store.root()) else { return said };
    let log_is_intact = |receipt: &Receipt| {
        let opened = logs.open(&RelPath::from_key(&receipt.log));
        opened.is_ok_and(|file| state_of(&file, receipt) == LogState::Intact) && has_blobs(receipt, store)
    };
    let look_at = |units: &[SourceUnit], sizes: &[u64], said: &mut [Option<R>]| {
        let mut receipts = known.in_order();
        let is_it = |unit: &SourceUnit, receipt: &Receipt| {
            let is_its = unit.found.standing != Standing::Retired && receipt.format == unit.found.adapter.id();
            is_its && is_as_listed(unit, source, receipt) && log_is_intact(receipt)
        };
        for ((unit, bytes), said) in units.iter().zip(sizes).zip(said) {
            *said = receipts.get(&unit.name).filter(|receipt| is_it(unit, receipt)).map(|receipt| say(*bytes, &receipt));
        }
    };
    // In the place where they stay: a million sessions have a million answers.
    let places = said.par_chunks_mut(AT_ONCE).zip(source.units.par_chunks(AT_ONCE)).zip(sizes.par_chunks(AT_ONCE));
    places.with_max_len(1).for_each(|((said, units), sizes)| look_at(units, sizes, said));
    said
}

/// Tells whether names, sizes, times and permissions are those of a receipt, and all
/// else that can be known without reading.
fn is_as_listed(unit: &SourceUnit, source: &Source, receipt: &Receipt) -> bool {
    let as_listed = |(was, listed): (&FileReceipt, Option<&Listed>)| listed.is_some_and(|listed| was.is_as_listed(listed));
    has_same_names(unit, receipt) && receipt.files.iter().zip(unit.listed(&source.listing)).all(as_listed) && same_left_out(unit, receipt)
}

/// Tells whether a session has the same files, and files outside of it have the same
/// facts about it.
fn has_same_names(unit: &SourceUnit, receipt: &Receipt) -> bool {
    // Another name is another file, whatever its bytes.
    let (was, is) = (&receipt.files, &unit.found.files);
    let same_names = was.len() == is.len() && is.iter().zip(was).all(|(path, file)| path.has_key(&file.path));
    same_names && receipt.beside_sha256 == shared_facts_sha256(unit.found.shared_facts())
}

/// Returns the receipt of a session that has not changed, with the times that its
/// files have now; `None` if it has changed.
///
/// # Errors
/// When its files cannot be read.
pub(crate) fn unchanged<'r>(
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
    if let Some(part) = &unit.part {
        return Ok(same_rows(unit, source, receipt, &part.main)?.map(Cow::Owned));
    }
    // Another time or mode: the bytes decide, unless a time is part of the log.
    let listed: Vec<_> = unit.listed(&source.listing).collect();
    let sizes_same = receipt.files.iter().zip(&listed).all(|(was, listed)| {
        listed.is_some_and(|listed| was.is_as_listed(listed) || (listed.kind == ListedKind::File && was.size == listed.size))
    });
    if receipt.uses_file_times || !has_same_names(unit, receipt) || !sizes_same || !same_left_out(unit, receipt) {
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

/// Returns the receipt of a part of a database whose rows are what they were, with
/// the sizes and times that its files have now: another session may have changed.
fn same_rows(unit: &SourceUnit, source: &Source, receipt: &Receipt, main: &RelPath) -> Result<Option<Receipt>, ConvertError> {
    if !has_same_names(unit, receipt) || !same_left_out(unit, receipt) {
        return Ok(None);
    }
    let files = files_of(unit, &source.folder_of(unit))?;
    let mut same = receipt.clone();
    for ((was, path), listed) in same.files.iter_mut().zip(&unit.found.files).zip(unit.listed(&source.listing)) {
        let is_carried = path == main || files.entry(path).is_some();
        if is_carried && was.sha256.as_deref() != files.sha256(path) {
            return Ok(None);
        }
        let Some(listed) = listed else { return Ok(None) };
        (was.size, was.mtime_ns, was.mode) = (listed.size, listed.mtime_ns, listed.mode);
    }
    Ok(Some(same))
}

/// What any format may say of a file near a session that is not part of it.
const LEFT_OUT: [FindingCode; 5] =
    [FindingCode::LockFile, FindingCode::TemporaryKept, FindingCode::TemporaryLeft, FindingCode::SpecialFile, FindingCode::Unreadable];

/// Tells whether the same files are left out as were then.
fn same_left_out(unit: &SourceUnit, receipt: &Receipt) -> bool {
    let of_format = unit.found.adapter.discovery_codes();
    let is_left_out = |finding: &&Finding| LEFT_OUT.contains(&finding.code) || of_format.contains(&finding.code);
    let then = receipt.findings.iter().filter(is_left_out);
    let then = then.map(|finding| (finding.code, Cow::Borrowed(finding.location.file.as_str()), finding.message.as_str()));
    let now = unit.found.left_out.iter().map(|(path, code, message)| (*code, String::from_utf8_lossy(path.as_bytes()), message.as_str()));
    then.eq(now)
}
