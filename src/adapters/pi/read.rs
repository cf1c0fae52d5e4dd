//! A session's file to events.

use std::collections::BTreeMap;

use crate::adapters::adapter::{Check, ReadSummary};
use crate::adapters::conversion::Conversion;
use crate::adapters::tree::entry::{get, text_of, with_members};
use crate::adapters::tree::read::Reader;
use crate::adapters::tree::scan::{self, Manner, Scan};
use crate::adapters::tree::tables::Record;
use crate::model::event::{EventKind, Outcome, Session, SessionKind};
use crate::model::files::{Entry, Files};
use crate::model::finding::{FindingCode, Findings};
use crate::model::heads::{HeadKind, HeadName, HeadOp};
use crate::model::ids::Seq;
use crate::model::json::{self, Kind};
use crate::model::location::Location;
use crate::model::stream::{EventSink, StreamError};

use super::place::{self, CIRCLE, Judged, Writer};

const PROGRAM: &str = "pi";

/// Converts a session.
pub(super) fn read(files: &Files, check: Check, events: &mut dyn EventSink, findings: &mut Findings) -> Result<ReadSummary, StreamError> {
    let mut reader = Reader::new(Conversion::new(files, check, events, findings));
    let session_file = files.iter().find_map(|(path, entry)| match entry {
        Entry::File(file) => Some((path, file.bytes.as_slice())),
        Entry::Link { .. } | Entry::EmptyFolder => None,
    });
    let Some((path, bytes)) = session_file else {
        reader.to.put_json(EventKind::Session, &Session::new(SessionKind::Orphan, super::ID, files.name()))?;
        return reader.trailer();
    };
    let scan = scan::scan(path, bytes, PROGRAM, Manner::Lines, reader.to.findings);
    let judged = place::judge(&scan);
    reader.to.put_json(EventKind::Session, &session(files, &scan, &judged))?;
    let seqs = reader.file(path, bytes, &scan, &judged.placed)?;
    let failures = heads(&mut reader, &judged, &seqs)?;
    let error = judged.error.or_else(|| judged.leaf.filter(|leaf| judged.circular[*leaf]).map(|_| CIRCLE)).map(str::to_owned);
    note_oddities(reader.to.findings, &path.to_string(), &scan, &judged, error.as_deref());
    let active = HeadName::main().to_string();
    let mut outcome = Outcome { active: Some(active.clone()), error, failures, ..Outcome::default() };
    if outcome.error.is_none() {
        (outcome.model, outcome.facts) = place::derived(&scan, &judged);
    }
    reader.to.put_json(EventKind::Outcome, &outcome)?;
    reader.to.events.close_facts(&active)?;
    reader.trailer()
}

fn session(files: &Files, scan: &Scan<'_>, judged: &Judged) -> Session {
    let mut session = Session::new(SessionKind::Session, super::ID, files.name());
    if let Some(header) = scan.entries.iter().find(|entry| entry.kind == Record::Header) {
        with_members(header, |members| {
            let field = |key: &str| get(members, key).and_then(text_of);
            session.id = field("id").unwrap_or_else(|| files.name().to_owned());
            session.cwd = field("cwd");
            session.created = field("timestamp");
            session.parent_session = field("parentSession").or_else(|| field("branchedFrom"));
        });
        let version = judged.version.as_deref().unwrap_or("1");
        session.format_version = Some(match judged.writer {
            Writer::Pi => version.to_owned(),
            Writer::Harness => format!("harness {version}"),
            Writer::Tutorial => format!("tutorial {version}"),
        });
    }
    session
}

/// Sets the heads; returns those that the program cannot show.
fn heads(reader: &mut Reader<'_, '_>, judged: &Judged, seqs: &[Seq]) -> Result<BTreeMap<String, String>, StreamError> {
    reader.set_main(judged.leaf.map_or(Seq::ROOT, |leaf| seqs[leaf]))?;
    let mut failures = BTreeMap::new();
    for (id, entry) in &judged.others {
        let head = HeadName::new(HeadKind::Branch, id.clone());
        reader.to.put_head(&head, seqs[*entry], HeadOp::Append)?;
        if judged.circular[*entry] {
            failures.insert(head.to_string(), CIRCLE.to_owned());
        }
    }
    Ok(failures)
}

fn note_oddities(findings: &mut Findings, path: &str, scan: &Scan<'_>, judged: &Judged, error: Option<&str>) {
    if let Some(error) = error {
        let message = format!("pi cannot show this session: {error}; every entry is in the log");
        findings.add(FindingCode::LoaderFails, Location::file(path), message);
    }
    let mut headers = scan.entries.iter().filter(|entry| entry.kind == Record::Header).skip(1);
    if let Some(second) = headers.next() {
        findings.add(FindingCode::RepeatedHeader, Location::at(path, second.line.number, 1), "a second header, which pi passes over");
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
