//! Records that the database lacks, as transcripts that its import takes: one per old
//! file, each a session of its own under a new id, because a second record of an id that
//! a session has already is never imported. Records keep their bytes. Only what ties
//! them to records that are not among them is changed: a parent that is not there
//! becomes the rescued record before, so that one branch shows them all.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Range;

use crate::adapters::containment::{Answer, Rescued, Verdict};
use crate::json::{self, Dialect};
use crate::model::database::TablesError;
use crate::model::digest::{HalfDigest, half_digest, hex};
use crate::model::files::RelPath;
use crate::runtimes::javascript::{Type, Value, parse_date, push_string, stringify};

use crate::maintenance::records::Reading;

use super::files::Transcript;
use super::importer::Version;
use super::transcript::JudgedTranscript;

/// What is being written out.
#[derive(Default)]
pub(super) struct Rescuer {
    /// What was rescued for each session: its backups repeat its records.
    seen: HashSet<(String, HalfDigest)>,
    /// The new sessions with the time of their last entry, by agent.
    sessions: BTreeMap<String, Vec<(String, i64)>>,
}

/// A record to be written.
struct Piece<'b> {
    /// How many values of the file are before it. Entries that were fused have the same
    /// number.
    index: usize,
    text: &'b [u8],
}

impl Rescuer {
    /// Writes what the database lacks of a file.
    pub(super) fn take(&mut self, file: &Transcript, judged: &JudgedTranscript<'_>, answer: &mut dyn Answer) -> Result<(), TablesError> {
        let mut pieces = pieces(judged);
        pieces.retain(|piece| self.seen.insert((judged.session.clone(), half_digest(&stringify(Value::accepted(piece.text).token())))));
        if pieces.is_empty() {
            return Ok(());
        }
        let agent = agent_of(&file.folder);
        let id = new_id(file, &pieces);
        let mut bytes = header(judged, &id);
        let mut entries = Entries::of(&pieces, judged.version, &id);
        for (n, piece) in pieces.iter().enumerate() {
            entries.push(n, piece, &mut bytes);
        }
        self.sessions.entry(agent.to_owned()).or_default().push((id.clone(), entries.last_time));
        let path = RelPath::new(format!("agents/{agent}/sessions/{id}.jsonl"));
        answer.rescued(Rescued { path, bytes, records: pieces.len() as u64, note: None })
    }

    /// Writes the session stores that name the new sessions.
    pub(super) fn finish(self, answer: &mut dyn Answer) -> Result<(), TablesError> {
        for (agent, sessions) in self.sessions {
            let entry = |(id, time): &(String, i64)| {
                let key = quoted(&format!("agent:{agent}:rescued:{id}"));
                format!("  {key}: {{\n    \"sessionId\": \"{id}\",\n    \"updatedAt\": {time}\n  }}")
            };
            let text = format!("{{\n{}\n}}", sessions.iter().map(entry).collect::<Vec<_>>().join(",\n"));
            let path = RelPath::new(format!("agents/{agent}/sessions/sessions.json"));
            answer.rescued(Rescued { path, bytes: text.into_bytes(), records: 0, note: None })?;
        }
        Ok(())
    }
}

/// Returns the records of a file that the database lacks, in their order. Headers are not among
/// them: every transcript gets its own.
fn pieces<'b>(judged: &JudgedTranscript<'b>) -> Vec<Piece<'b>> {
    let (mut pieces, mut index) = (Vec::new(), 0);
    for (record, outcome) in &judged.records {
        let text = &judged.bytes[record.at.clone()];
        let is_header = || Value::accepted(text).get("type").is("session");
        match (outcome.verdict, &record.reading) {
            (Verdict::Missing | Verdict::Changed, Reading::Value { .. }) if !is_header() => {
                pieces.push(Piece { index, text });
            }
            (Verdict::Unreadable, _) => {
                let inside = judged.salvaged.get(&record.line).into_iter().flatten().map(|at| &judged.bytes[at.clone()]);
                let entries = inside.filter(|text| !Value::accepted(*text).get("type").is("session"));
                pieces.extend(entries.map(|text| Piece { index, text }));
            }
            _ => {}
        }
        index += usize::from(matches!(record.reading, Reading::Value { .. }));
    }
    pieces
}

/// Returns the agent whose sessions are in a folder.
fn agent_of(folder: &str) -> &str {
    let above = folder.strip_suffix("/sessions").unwrap_or_default();
    match above.rsplit_once('/') {
        Some((agents, agent)) if agents == "agents" || agents.ends_with("/agents") => agent,
        Some(_) | None => "main",
    }
}

/// Makes an id in the form that the program gives to sessions: the same one each time.
fn new_id(file: &Transcript, pieces: &[Piece<'_>]) -> String {
    let mut content = file.path.as_bytes().to_vec();
    pieces.iter().for_each(|piece| {
        content.push(0);
        content.extend(half_digest(piece.text));
    });
    let digits = hex(&half_digest(&content));
    format!("{}-{}-4{}-8{}-{}", &digits[..8], &digits[8..12], &digits[13..16], &digits[17..20], &digits[20..])
}

fn header(judged: &JudgedTranscript<'_>, id: &str) -> Vec<u8> {
    let mut texts = judged.records.iter().filter(|(record, _)| matches!(record.reading, Reading::Value { .. }));
    let own = texts.find_map(|(record, _)| {
        let value = Value::accepted(&judged.bytes[record.at.clone()]);
        value.get("type").is("session").then_some(value)
    });
    let text = |name: &str, otherwise: &str| {
        let own = own.map(|header| header.get(name)).filter(|value| value.type_of() == Type::String);
        own.map_or_else(|| quoted(otherwise), |value| String::from_utf8_lossy(&stringify(value.token())).into_owned())
    };
    let (timestamp, cwd) = (text("timestamp", "1970-01-01T00:00:00.000Z"), text("cwd", ""));
    format!("{{\"type\":\"session\",\"version\":3,\"id\":\"{id}\",\"timestamp\":{timestamp},\"cwd\":{cwd}}}\n").into_bytes()
}

fn quoted(text: &str) -> String {
    let mut out = Vec::new();
    push_string(text.as_bytes(), &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// The entries of a new transcript, tied to each other.
struct Entries<'p> {
    version: Version,
    session: &'p str,
    /// The ids that entries have so far. A parent has to come before its children, or
    /// two entries could become each other's parents.
    used: HashSet<String>,
    /// The entries of a linear file by the number of values before each: their places in
    /// the new one.
    places: BTreeMap<usize, usize>,
    last: Option<String>,
    last_time: i64,
}

impl<'p> Entries<'p> {
    fn of(pieces: &[Piece<'_>], version: Version, session: &'p str) -> Entries<'p> {
        let places = pieces.iter().enumerate().rev().map(|(n, piece)| (piece.index, n)).collect();
        Entries { version, session, used: HashSet::new(), places, last: None, last_time: 0 }
    }

    fn push(&mut self, n: usize, piece: &Piece<'_>, out: &mut Vec<u8>) {
        let value = Value::accepted(piece.text);
        if let Some(time) = value.get("timestamp").lossy().and_then(|text| parse_date(&text)) {
            self.last_time = self.last_time.max(time);
        }
        let edited = if value.type_of() == Type::Object { self.edit(n, piece, value) } else { piece.text.to_vec() };
        out.extend_from_slice(&edited);
        out.push(b'\n');
    }

    fn edit(&mut self, n: usize, piece: &Piece<'_>, value: Value<'_>) -> Vec<u8> {
        let mut edits = Edits::of(piece.text);
        if matches!(self.version, Version::Linear | Version::Second) && value.get("message").get("role").is("hookMessage") {
            edits.replace(value.get("message").get("role").token(), "\"custom\"");
        }
        let last = self.last.as_deref().map_or_else(|| "null".to_owned(), quoted);
        if self.version == Version::Linear {
            let id = derived_id(self.session, n);
            edits.set(value, "id", &quoted(&id));
            edits.set(value, "parentId", &last);
            if let Some(index) = value.get("firstKeptEntryIndex").number().filter(|index| *index >= 0.0) {
                // What it names may not be among the rescued ones: then what comes next.
                let kept = self.places.range(index as usize..).next().map_or(n, |(_, place)| *place);
                edits.set(value, "firstKeptEntryId", &quoted(&derived_id(self.session, kept)));
            }
            self.last = Some(id);
            return edits.apply();
        }
        let Some(mut id) = value.get("id").lossy() else { return edits.apply() };
        if value.get("parentId").lossy().is_some_and(|parent| !self.used.contains(&parent)) {
            edits.set(value, "parentId", &last);
        }
        if !self.used.insert(id.clone()) {
            // Of two entries with one id the import drops the second.
            id = derived_id(self.session, n);
            edits.set(value, "id", &quoted(&id));
        }
        self.last = Some(id);
        edits.apply()
    }
}

/// Makes an id in the form that the program gives to entries.
fn derived_id(session: &str, place: usize) -> String {
    hex(&half_digest(format!("{session} {place}").as_bytes()))[..8].to_owned()
}

/// Changes of single values in the text of an object.
struct Edits<'t> {
    text: &'t [u8],
    replaced: HashMap<Range<usize>, String>,
    added: String,
}

impl<'t> Edits<'t> {
    fn of(text: &'t [u8]) -> Edits<'t> {
        Edits { text, replaced: HashMap::new(), added: String::new() }
    }

    /// Replaces a part of the text.
    fn replace(&mut self, part: &[u8], by: &str) {
        self.replaced.insert(json::span_in(self.text, part), by.to_owned());
    }

    /// Gives a member of the object another value, or adds it.
    fn set(&mut self, object: Value<'t>, name: &str, by: &str) {
        match object.get(name).defined() {
            Some(part) => self.replace(part, by),
            None => self.added.push_str(&format!(",\"{name}\":{by}")),
        }
    }

    fn apply(self) -> Vec<u8> {
        let mut parts: Vec<(Range<usize>, String)> = self.replaced.into_iter().collect();
        parts.sort_by_key(|(at, _)| at.start);
        let (mut out, mut at) = (Vec::with_capacity(self.text.len()), 0);
        for (range, by) in parts {
            out.extend_from_slice(&self.text[at..range.start]);
            out.extend_from_slice(by.as_bytes());
            at = range.end;
        }
        out.extend_from_slice(&self.text[at..]);
        if !self.added.is_empty() && out.pop() == Some(b'}') {
            let is_empty = json::validate(self.text, Dialect::Strict).is_ok_and(|scan| scan.value.members().next().is_none());
            out.extend_from_slice(self.added.as_bytes().get(usize::from(is_empty)..).unwrap_or_default());
            out.push(b'}');
        }
        out
    }
}
