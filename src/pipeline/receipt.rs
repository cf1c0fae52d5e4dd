//! The receipt of a proven session.

use crate::adapters::format::{Confidence, ReadSummary};
use crate::log::Written;
use crate::model::digest::sha256_hex;
use crate::model::event::SessionKind;
use crate::model::files::{Entry, SharedFacts};
use crate::model::finding::Finding;
use crate::store::layout::Store;
use crate::store::receipts::{Counts, FileReceipt, Receipt};
use crate::verify::Proof;

use super::snapshot::Snapshot;

/// Makes the receipt of a session whose log is proven.
pub(super) fn receipt_of(
    snapshot: &Snapshot<'_>,
    (written, kind): (&Written, SessionKind),
    summary: &ReadSummary,
    proof: Proof,
    findings: Vec<Finding>,
) -> Receipt {
    let (unit, files) = (snapshot.unit, &snapshot.files);
    let listed = unit.found.files.iter().map(|path| (path, snapshot.listing.get(&path.below(&unit.found.root))));
    let file_receipts = listed.map(|(path, entry)| {
        let (size, mtime_ns, sha256) = match files.entry(path) {
            Some(Entry::File(file)) => (file.bytes.len() as u64, file.mtime_ns, summary.hashes.get(path).cloned()),
            Some(Entry::Link { target }) => (target.len() as u64, entry.map_or(0, |entry| entry.mtime_ns), None),
            // A database is known by its size and time, and a part of it by its rows.
            Some(Entry::Rows(_)) => {
                (entry.map_or(0, |entry| entry.size), entry.map_or(0, |entry| entry.mtime_ns), summary.hashes.get(path).cloned())
            }
            None => (entry.map_or(0, |entry| entry.size), entry.map_or(0, |entry| entry.mtime_ns), None),
            Some(Entry::EmptyFolder) => (0, 0, None),
        };
        FileReceipt { path: path.key(), size, mtime_ns, mode: entry.map_or(0, |entry| entry.mode), sha256 }
    });
    Receipt {
        unit: unit.name.key(),
        format: unit.found.adapter.id().to_owned(),
        kind,
        files: file_receipts.collect(),
        log: Store::log_name(&unit.name).key(),
        log_sha256: written.sha256.clone(),
        log_bytes: written.bytes,
        counts: Counts {
            source_bytes: files.total_bytes(),
            residual_bytes: summary.residual_bytes,
            messages: proof.messages,
            events: written.events,
        },
        findings,
        uses_file_times: summary.uses_file_times,
        beside_sha256: shared_facts_sha256(unit.found.shared_facts()),
        sure: unit.found.confidence == Confidence::Sure,
        about: None,
        blobs: summary.blobs.iter().filter_map(|path| summary.hashes.get(path).cloned()).collect(),
        retired: None,
    }
}

/// Hashes the facts about a session that files outside of it have; `None` where
/// there are none.
pub(super) fn shared_facts_sha256(facts: &SharedFacts) -> Option<String> {
    let mut all = Vec::new();
    let mut add = |part: &[u8]| {
        all.extend_from_slice(&(part.len() as u64).to_be_bytes());
        all.extend_from_slice(part);
    };
    for slice in &facts.slices {
        [slice.file.as_bytes(), slice.key.as_bytes(), &slice.text].into_iter().for_each(&mut add);
    }
    for (name, other) in [("canonical", &facts.canonical), ("promoted_from", &facts.promoted_from)] {
        if let Some(other) = other {
            [name.as_bytes(), other.as_bytes()].into_iter().for_each(&mut add);
        }
    }
    (!all.is_empty()).then(|| sha256_hex(&all))
}
