//! A unit of OpenClaw's files to events: a session with its copies and traces,
//! the session store, the scheduled jobs, or one job's run log.

use std::collections::BTreeMap;

use crate::adapters::format::{Check, ReadSummary};
use crate::adapters::kit::conversion::Conversion;
use crate::adapters::kit::entries::facts;
use crate::adapters::kit::entries::schema::{Reader, Scan};
use crate::adapters::kit::members;
use crate::adapters::kit::tree::{notes, scan};
use crate::json;
use crate::model::event::{EventKind, Outcome, Session, SessionKind};
use crate::model::files::{Entry, Files, RelPath};
use crate::model::finding::{FindingCode, Findings};
use crate::model::heads::{HeadKind, HeadName, HeadOp};
use crate::model::ids::Seq;
use crate::model::location::Location;
use crate::model::stream::{EventSink, StreamError};

use super::names::{self, Name};
use super::place::{self, Failing, Judged};
use super::schema::{ID, NEWEST, PROGRAM, SCHEMA};
use super::{count, runs};

/// The regular files of a unit with what their names say.
type Parts<'a> = Vec<(&'a RelPath, &'a [u8], String)>;

/// Converts a unit.
pub(super) fn read(files: &Files, check: Check, events: &mut dyn EventSink, findings: &mut Findings) -> Result<ReadSummary, StreamError> {
    let to = Conversion::new(files, check, events, findings);
    let parts: Parts<'_> = files
        .iter()
        .filter_map(|(path, entry)| match entry {
            Entry::File(file) => {
                let name = String::from_utf8_lossy(path.as_bytes().rsplit(|b| *b == b'/').next().unwrap_or_default()).into_owned();
                Some((path, file.bytes.as_slice(), name))
            }
            Entry::Rows(_) | Entry::Link { .. } | Entry::EmptyFolder => None,
        })
        .collect();
    let has = |is: fn(&Name<'_>) -> bool| parts.iter().any(|(_, _, name)| is(&names::judge(name)));
    if has(|name| *name == Name::Jobs) {
        return documents(to, &parts, SessionKind::Jobs, |name| *name == Name::Jobs);
    }
    if has(|name| *name == Name::Store) {
        return documents(to, &parts, SessionKind::Store, |name| *name == Name::Store);
    }
    let is_run_log = |(_, bytes, _): &(&RelPath, &[u8], String)| scan::first_entry(bytes, SCHEMA).is_some_and(|first| runs::is_run(&first));
    if parts.len() == 1 && is_run_log(&parts[0]) {
        return run_log(to, &parts);
    }
    transcript(Reader::new(to), &parts)
}

/// Files that are one JSON object each.
fn documents<'a>(
    mut to: Conversion<'a, '_>,
    parts: &Parts<'a>,
    kind: SessionKind,
    is: fn(&Name<'_>) -> bool,
) -> Result<ReadSummary, StreamError> {
    to.put_json(EventKind::Session, &Session::new(kind, ID, to.files.name()))?;
    for (path, bytes, _) in parts.iter().filter(|(_, _, name)| is(&names::judge(name))) {
        members::read(&mut to, path, bytes, PROGRAM)?;
    }
    without_messages(&mut to)?;
    to.trailer(&[])
}

fn run_log<'a>(mut to: Conversion<'a, '_>, parts: &Parts<'a>) -> Result<ReadSummary, StreamError> {
    to.put_json(EventKind::Session, &Session::new(SessionKind::Jobs, ID, to.files.name()))?;
    let mut shapes = crate::model::shape::Shapes::new(crate::model::shape::Order::default());
    for (path, bytes, _) in parts {
        runs::read(&mut to, path, bytes, &mut shapes)?;
    }
    without_messages(&mut to)?;
    to.trailer(shapes.others())
}

/// Ends the facts of files that hold no conversation.
fn without_messages(to: &mut Conversion<'_, '_>) -> Result<(), StreamError> {
    let main = HeadName::main();
    to.put_head(&main, Seq::ROOT, HeadOp::Branch)?;
    to.put_json(EventKind::Outcome, &Outcome { active: Some(main.to_string()), ..Outcome::default() })?;
    to.events.close_facts(&main.to_string())
}

fn transcript<'a>(mut reader: Reader<'a, '_>, parts: &Parts<'a>) -> Result<ReadSummary, StreamError> {
    let is_main = |name: &str| matches!(names::judge(name), Name::Transcript);
    let is_copy = |name: &str| matches!(names::judge(name), Name::CopyOf(_) | Name::ShortenedFrom(_) | Name::Unfinished(_));
    let copies: Vec<_> = parts.iter().filter(|(_, _, name)| is_copy(name)).collect();
    let main = parts.iter().find(|(_, _, name)| is_main(name)).or(match (parts.as_slice(), copies.as_slice()) {
        // What was left before a transcript was shortened stands for it.
        (_, [only]) if matches!(names::judge(&only.2), Name::ShortenedFrom(_)) => Some(*only),
        // A person named it as one.
        ([only], []) if names::judge(&only.2) == Name::Other && reader.to.files.lone_file().is_some() => Some(only),
        _ => None,
    });
    let Some((path, bytes, _)) = main else { return remains(reader, &copies) };
    let scan = scan::scan(path, bytes, PROGRAM, SCHEMA, reader.to.findings);
    let judged = place::judge(&scan);
    let version = judged.version.clone().unwrap_or_else(|| "1".to_owned());
    reader.to.put_json(EventKind::Session, &facts::session(ID, reader.to.files.name(), &scan.entries, version))?;
    store_entries(&mut reader.to)?;
    let seqs = reader.file(path, bytes, &scan, &judged.placed)?;
    let failing = Failing::new(&judged, &scan.entries);
    let mut failures = heads(&mut reader, path, &scan, &judged, &failing, &seqs)?;
    note_oddities(reader.to.findings, &path.to_string(), &scan, &judged);
    notes::repeats(reader.to.findings, path, PROGRAM, &scan.entries, &judged.placed.is_named);
    notes::newer_version(reader.to.findings, path, PROGRAM, &scan.entries, (judged.version.as_deref(), NEWEST));
    let is_unknown = |n: usize| judged.placed.is_node[n] && !judged.is_entry(n) && !scan.entries[n].is_other("leaf");
    let unknown = scan.entries.iter().enumerate().filter(|(n, _)| is_unknown(*n)).map(|(_, entry)| entry);
    notes::unknown_types(reader.to.findings, path, PROGRAM, unknown);
    for (copy, bytes, _) in parts.iter().filter(|(other, _, name)| other != path && is_copy(name)) {
        backup(&mut reader, copy, bytes)?;
    }
    let of_leaf = judged.leaf.filter(|_| judged.error.is_none()).and_then(|leaf| failing.why(leaf));
    failures.extend(of_leaf.map(|why| (HeadName::main().to_string(), why.to_owned())));
    let error = judged.error.or(of_leaf);
    let mut derived = if judged.error.is_none() { place::state(&scan, &judged) } else { BTreeMap::new() };
    let mut model = None;
    if error.is_none() {
        let (last_model, level) = place::settings(&scan, &judged);
        model = last_model;
        derived.extend(level.map(|level| ("thinking_level".to_owned(), level)));
    }
    if let Some(older) = count::older_shows(&scan, &judged) {
        note_older(&mut reader.to, &path.to_string(), older)?;
    }
    let active = HeadName::main().to_string();
    let outcome =
        Outcome { active: Some(active.clone()), model, facts: derived, error: error.map(str::to_owned), failures, ..Outcome::default() };
    reader.to.put_json(EventKind::Outcome, &outcome)?;
    reader.to.events.close_facts(&active)?;
    reader.trailer()
}

/// Returns what is left of a session whose transcript is gone.
fn remains<'a>(mut reader: Reader<'a, '_>, copies: &[&(&'a RelPath, &'a [u8], String)]) -> Result<ReadSummary, StreamError> {
    reader.to.put_json(EventKind::Session, &Session::new(SessionKind::Orphan, ID, reader.to.files.name()))?;
    let head = HeadName::main();
    reader.to.put_head(&head, Seq::ROOT, HeadOp::Branch)?;
    for (copy, bytes, _) in copies {
        backup(&mut reader, copy, bytes)?;
    }
    // Traces alone were never loaded.
    let error = (!copies.is_empty()).then(|| "no transcript".to_owned());
    reader.to.put_json(EventKind::Outcome, &Outcome { active: Some(head.to_string()), error, ..Outcome::default() })?;
    reader.to.events.close_facts(&head.to_string())?;
    reader.trailer()
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
    reader.set_main(judged.leaf.map_or(Seq::ROOT, |leaf| seqs[leaf]))?;
    let mut failures = BTreeMap::new();
    let mut round = Vec::new();
    for (id, entry) in &judged.others {
        let head = HeadName::new(HeadKind::Branch, id.clone());
        let why = failing.why(*entry);
        failures.extend(why.map(|why| (head.to_string(), why.to_owned())));
        if why.is_none() && judged.is_round(*entry) {
            round.push((head, *entry));
        } else {
            reader.to.put_head(&head, seqs[*entry], HeadOp::Append)?;
        }
    }
    if round.is_empty() {
        return Ok(failures);
    }
    // The program goes round a circle from wherever it comes into it.
    let mut retelling = reader.retell(path, scan, &judged.placed, seqs)?;
    let mut nodes = Vec::new();
    for (head, entry) in round {
        let way = judged.way(Some(entry));
        let context = judged.context(&way, &scan.entries, &failing.by_id);
        nodes.push((head, retelling.branch(&context, &[])?));
    }
    for (head, node) in nodes {
        reader.to.put_head(&head, node, HeadOp::Append)?;
    }
    Ok(failures)
}

/// A copy of the transcript: a head of its own.
fn backup<'a>(reader: &mut Reader<'a, '_>, path: &'a RelPath, bytes: &'a [u8]) -> Result<(), StreamError> {
    reader.switch_to_nobody()?;
    let scan = scan::scan(path, bytes, PROGRAM, SCHEMA, reader.to.findings);
    let judged = place::judge(&scan);
    let seqs = reader.file(path, bytes, &scan, &judged.placed)?;
    let leaf = judged.leaf.map_or(Seq::ROOT, |leaf| seqs[leaf]);
    let name = RelPath::new(path.as_bytes().rsplit(|b| *b == b'/').next().unwrap_or_default()).key();
    reader.to.put_head(&HeadName::new(HeadKind::Backup, name), leaf, HeadOp::Load)
}

/// What the session store says of this session.
fn store_entries(to: &mut Conversion<'_, '_>) -> Result<(), StreamError> {
    for slice in &to.files.shared_facts().slices {
        let mut payload = b"{\"store\":".to_vec();
        json::push_string(&slice.file.to_string(), &mut payload);
        payload.extend_from_slice(b",\"key\":");
        json::push_string(&slice.key, &mut payload);
        payload.extend_from_slice(b",\"entry\":");
        json::push_carried_value(&slice.text, members::USUAL.escapes, &mut payload);
        payload.push(b'}');
        to.put(EventKind::Meta, None, None, &payload)?;
    }
    Ok(())
}

/// Says that versions with pi's own loader would have shown another history.
fn note_older(to: &mut Conversion<'_, '_>, path: &str, older: count::Older) -> Result<(), StreamError> {
    let payload = format!("{{\"older_loader\":{{\"before\":\"2026.5.28\",\"messages\":{}}}}}", older.messages);
    to.put(EventKind::Meta, None, None, payload.as_bytes())?;
    let message = format!("versions before 2026.5.28 would show {} of it, today's shows {}", older.messages, older.today);
    to.findings.add(FindingCode::OlderLoaderDiffers, Location::file(path), message);
    Ok(())
}

fn note_oddities(findings: &mut Findings, path: &str, scan: &Scan<'_>, judged: &Judged) {
    if !judged.has_header && !scan.entries.is_empty() {
        let message = "does not begin with a header; OpenClaw makes one anew, and versions before 2026.6 empty the file when they open it";
        findings.add(FindingCode::HeaderLost, Location::file(path), message);
    }
    let known: BTreeMap<&[u8], ()> = scan.entries.iter().filter_map(|entry| entry.id_text.as_deref().map(|id| (id, ()))).collect();
    for entry in &scan.entries {
        let lost = entry.parent.as_deref().is_some_and(|parent| json::kind_of(parent) == json::Kind::String && !known.contains_key(parent));
        if lost {
            let message = "names an entry above it that is not there; OpenClaw shows nothing from before it on this branch";
            findings.add(FindingCode::LostParent, Location::at(path, entry.line.number, 1), message);
        }
    }
}
