//! A session's file to events.

use std::collections::{BTreeMap, HashSet};

use crate::adapters::format::{Check, ReadSummary};
use crate::adapters::kit::conversion::Conversion;
use crate::adapters::kit::entries::records::Record;
use crate::adapters::kit::entries::schema::{Edits, Entry as TreeEntry, Reader, Scan};
use crate::adapters::kit::entries::{context, facts};
use crate::adapters::kit::tree::{forest, notes, scan};
use crate::json::{self, Kind};
use crate::model::event::{EventKind, Outcome, Session, SessionKind};
use crate::model::files::{Entry, Files, RelPath};
use crate::model::finding::{FindingCode, Findings};
use crate::model::heads::{HeadKind, HeadName, HeadOp};
use crate::model::ids::Seq;
use crate::model::location::Location;
use crate::model::stream::{EventSink, StreamError};

use super::harness;
use super::place::{self, Failing, Judged, Leaf, NO_HARNESS_SESSION, Writer};
use super::schema::{ID, NEWEST, PROGRAM, SCHEMA};

/// Converts a session.
pub(super) fn read(files: &Files, check: Check, events: &mut dyn EventSink, findings: &mut Findings) -> Result<ReadSummary, StreamError> {
    let mut reader = Reader::new(Conversion::new(files, check, events, findings));
    let session_file = files.iter().find_map(|(path, entry)| match entry {
        Entry::File(file) => Some((path, file.bytes.as_slice())),
        Entry::Rows(_) | Entry::Link { .. } | Entry::EmptyFolder => None,
    });
    let Some((path, bytes)) = session_file else {
        reader.to.put_json(EventKind::Session, &Session::new(SessionKind::Orphan, ID, files.name()))?;
        return reader.trailer();
    };
    let mut scan = scan::scan(path, bytes, PROGRAM, SCHEMA, reader.to.findings);
    harness::split_commits(&mut scan, bytes);
    let judged = place::judge(&mut scan);
    let session = facts::session(ID, files.name(), &scan.entries, version(&judged));
    reader.to.put_json(EventKind::Session, &harness::described(session, &scan.entries))?;
    let seqs = reader.file(path, bytes, &scan, &judged.placed)?;
    let failing = Failing::new(&judged, &scan.entries);
    let mut failures = heads(&mut reader, path, &scan, &judged, &failing, &seqs)?;
    let of_leaf = || match judged.leaf {
        Leaf::Nowhere => None,
        Leaf::At(leaf) => failing.why(leaf),
        Leaf::Lost => Some(NO_HARNESS_SESSION),
    };
    let of_leaf = if judged.error.is_none() { of_leaf() } else { None };
    failures.extend(of_leaf.map(|why| (HeadName::main().to_string(), why.to_owned())));
    let error = judged.error.or(of_leaf).map(str::to_owned);
    note_oddities(reader.to.findings, &path.to_string(), &scan, &judged, error.as_deref());
    notes::repeats(reader.to.findings, path, PROGRAM, &scan.entries, &judged.placed.is_named);
    notes::newer_version(reader.to.findings, path, PROGRAM, &scan.entries, (judged.version.as_deref(), NEWEST));
    harness::note_newer(reader.to.findings, path, &scan.entries);
    let is_harness = |entry: &&TreeEntry<'_>| entry.is_other("leaf") || entry.is_other("active_tools_change");
    let is_known = |entry: &&TreeEntry<'_>| entry.is_other("event") || (judged.writer != Writer::Pi && is_harness(entry));
    notes::unknown_types(reader.to.findings, path, PROGRAM, scan.entries.iter().filter(|entry| !is_known(entry)));
    let active = HeadName::main().to_string();
    let mut outcome = Outcome { active: Some(active.clone()), error, failures, ..Outcome::default() };
    if outcome.error.is_none() {
        (outcome.model, outcome.facts) = place::derived(&scan, &judged);
    }
    reader.to.put_json(EventKind::Outcome, &outcome)?;
    reader.to.events.close_facts(&active)?;
    reader.trailer()
}

/// Returns the version as the header says it, and whose it is where it is not pi's own.
fn version(judged: &Judged) -> String {
    let version = judged.version.as_deref().unwrap_or("1");
    match judged.writer {
        Writer::Pi => version.to_owned(),
        Writer::Harness => format!("harness {version}"),
        Writer::Tutorial => format!("tutorial {version}"),
    }
}

/// Sets the heads; returns those that the program cannot show.
fn heads<'a>(
    reader: &mut Reader<'a, '_>,
    path: &'a RelPath,
    scan: &Scan<'a>,
    judged: &Judged,
    failing: &Failing<'_, '_, '_>,
    seqs: &[Seq],
) -> Result<BTreeMap<String, String>, StreamError> {
    let others = judged.others.iter().map(|(id, entry)| (HeadName::new(HeadKind::Branch, id.clone()), *entry));
    let mut heads: Vec<(HeadName, Option<usize>, Seq)> = vec![(HeadName::main(), judged.leaf.entry(), Seq::ROOT)];
    heads.extend(others.map(|(head, entry)| (head, Some(entry), Seq::ROOT)));
    for (_, entry, node) in &mut heads {
        *node = entry.map_or(Seq::ROOT, |entry| seqs[entry]);
    }
    reader.set_main(heads[0].2)?;
    retell_early_edits(reader, path, scan, judged, failing, seqs, &mut heads)?;
    let mut failures = BTreeMap::new();
    for (head, entry, node) in heads.iter().skip(1) {
        reader.to.put_head(head, *node, HeadOp::Append)?;
        if let Some(why) = entry.and_then(|entry| failing.why(entry)) {
            failures.insert(head.to_string(), why.to_owned());
        }
    }
    Ok(failures)
}

/// An edit that comes before its target cannot name it: such a branch is
/// told once more.
fn retell_early_edits<'a>(
    reader: &mut Reader<'a, '_>,
    path: &'a RelPath,
    scan: &Scan<'a>,
    judged: &Judged,
    failing: &Failing<'_, '_, '_>,
    seqs: &[Seq],
    heads: &mut [(HeadName, Option<usize>, Seq)],
) -> Result<(), StreamError> {
    if reader.early_edits.is_empty() || judged.placed.schema.edits == Edits::Unknown {
        return Ok(());
    }
    let early: HashSet<usize> = reader.early_edits.drain(..).collect();
    let has_early = forest::on_path(&judged.placed.parents, |n| early.contains(&n));
    let mut moved = None;
    let mut retelling = None;
    for (head, entry, node) in heads.iter_mut() {
        let Some(entry) = entry.filter(|entry| has_early[*entry] && failing.why(*entry).is_none()) else { continue };
        let branch = forest::path(&judged.placed.parents, Some(entry));
        let context = failing.context(&branch);
        let edits = context.edits(&scan.entries);
        let edited = context.ruling.into_iter().chain(context.others());
        let edited = edited.filter_map(|n| scan.entries[n].id.as_deref().and_then(|id| edits.get(id)).map(|edit| (n, *edit)));
        let edited: Vec<(usize, usize)> = edited.filter(|(_, edit)| !context::lacks_replacement(&scan.entries[*edit])).collect();
        // Where none of them is edited, the edits change nothing.
        if !edited.iter().any(|(_, edit)| early.contains(edit)) {
            continue;
        }
        if retelling.is_none() {
            retelling = Some(reader.retell(path, scan, &judged.placed, seqs)?);
        }
        if let Some(retelling) = &mut retelling {
            *node = retelling.branch(&context, &edited)?;
        }
        if *head == HeadName::main() {
            moved = Some(*node);
        }
    }
    match moved {
        Some(node) => reader.to.put_head(&HeadName::main(), node, HeadOp::Append),
        None => Ok(()),
    }
}

fn note_oddities(findings: &mut Findings, path: &str, scan: &Scan<'_>, judged: &Judged, error: Option<&str>) {
    if let Some(error) = error {
        let message = format!("pi cannot show this session: {error}; every entry is in the log");
        findings.add(FindingCode::LoaderFails, Location::file(path), message);
    }
    let mut headers = scan.entries.iter().filter(|entry| entry.kind == Record::Header).skip(1);
    if let Some(second) = headers.next() {
        findings.add(FindingCode::RepeatedHeader, Location::at(path, second.line.number, 1), "a second header, which pi skips");
    }
    for (n, entry) in scan.entries.iter().enumerate() {
        let place = || Location::at(path, entry.line.number, 1);
        if judged.circular[n] {
            let message = "the entries above it form a circle, in which pi never ends; placed below the nearest earlier one of that id";
            findings.add(FindingCode::CircularParents, place(), message);
            continue;
        }
        let names_one = entry.parent.as_deref().is_some_and(|parent| json::kind_of(parent) == Kind::String);
        if names_one && judged.placed.parents[n].is_none() && judged.writer != Writer::Tutorial {
            let message = "names an entry above it that is not there; pi shows nothing from before it on this branch";
            findings.add(FindingCode::LostParent, place(), message);
        }
    }
}
