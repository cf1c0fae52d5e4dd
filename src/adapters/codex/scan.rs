//! A rollout in pieces: every byte belongs to one.

use std::rc::Rc;

use crate::adapters::kit::salvage::{self, DamageKind, LineEnd};
use crate::json::{self, Dialect, Kind, Member};
use crate::model::files::RelPath;
use crate::model::finding::{FindingCode, Findings};
use crate::model::jsonl::{Line, Lines, Newlines};
use crate::model::location::Location;
use crate::runtimes::rust;

use super::item::Item;
use super::members::{get, inside, members_of, some, text};
use super::record::{self, NoRecord, Record};

/// How the records of a file are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Generation {
    /// Items by themselves, after a bare header.
    Bare,
    /// Records in envelopes.
    Enveloped,
}

/// One record of a rollout.
#[derive(Debug, Clone)]
pub(super) struct RecordLine<'a> {
    pub text: &'a [u8],
    pub number: u64,
    /// Where its text ends in the file.
    pub end: usize,
    pub record: Record,
}

/// A piece of a file, in file order.
#[derive(Debug)]
pub(super) enum Piece<'a> {
    /// Bytes between records that mean nothing, and how many times they follow each
    /// other.
    Gap(&'a [u8], u64),
    /// Bytes that the loader rejects.
    Damage { line: u64, start: usize, end: usize, kind: DamageKind },
    /// The record with this number, and its line end.
    Record(usize, &'a [u8]),
    /// A complete record on a broken line, which the loader does not see.
    Salvaged(RecordLine<'a>, &'a [u8]),
}

/// A file in pieces, and what its records say of it as a whole.
#[derive(Debug)]
pub(super) struct Scan<'a> {
    pub generation: Generation,
    pub pieces: Vec<Piece<'a>>,
    pub records: Vec<RecordLine<'a>>,
    /// What its first line says, where that is a header.
    pub header: Header,
    has_header: bool,
    /// Why Codex refuses the file.
    pub refused: Option<String>,
}

/// What the header of a rollout says.
#[derive(Debug, Clone, Default)]
pub(super) struct Header {
    pub id: Option<String>,
    pub timestamp: Option<String>,
    pub cwd: Option<String>,
    pub version: Option<String>,
    /// The thread that it was forked from, or that started it.
    pub parent: Option<Rc<str>>,
    pub is_paginated: bool,
    pub base: Option<Base>,
}

/// The rollout that a file goes on from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Base {
    pub rollout: String,
    /// So many bytes of its plain text count.
    pub bytes: usize,
}

impl Header {
    /// Reads the payload of a header.
    pub(super) fn of(payload: &[Member<'_>]) -> Header {
        let base = inside(payload, "history_base");
        let bytes = get(&base, "end_byte_offset").and_then(|n| std::str::from_utf8(n).ok()?.parse().ok());
        let parent = text(payload, "forked_from_id").or_else(|| text(payload, "parent_thread_id"));
        Header {
            id: text(payload, "id"),
            timestamp: text(payload, "timestamp"),
            cwd: text(payload, "cwd"),
            version: text(payload, "cli_version"),
            parent: parent.map(Rc::from),
            is_paginated: text(payload, "history_mode").as_deref() == Some("paginated"),
            base: text(&base, "thread_id").zip(bytes).map(|(rollout, bytes)| Base { rollout, bytes }),
        }
    }
}

/// How a file begins: its header by generation; `None` where the first line that is
/// not blank is not one.
pub(super) fn header_of(bytes: &[u8]) -> Option<(Generation, Header)> {
    let line = Lines::new(bytes, Newlines::LineFeed).find_map(|line| match record::parse(line.text) {
        Err(NoRecord::Blank) => None,
        parsed => Some(parsed),
    })?;
    let members = members_of(line.ok()?);
    if is_bare_header(&members) {
        return Some((Generation::Bare, Header { id: text(&members, "id"), timestamp: text(&members, "timestamp"), ..Header::default() }));
    }
    let is_meta = record::judge(&members) == Ok(Record::Meta);
    is_meta.then(|| (Generation::Enveloped, Header::of(&inside(&members, "payload"))))
}

fn is_bare_header(members: &[Member<'_>]) -> bool {
    ["id", "timestamp"].iter().all(|key| text(members, key).is_some()) && get(members, "type").is_none()
}

/// Reads a file; what is wrong with it is said in `findings`.
pub(super) fn scan<'a>(path: &RelPath, bytes: &'a [u8], findings: &mut Findings) -> Scan<'a> {
    let header = header_of(bytes);
    let generation = header.as_ref().map_or(Generation::Enveloped, |(generation, _)| *generation);
    let has_header = header.is_some();
    let header = header.map(|(_, header)| header).unwrap_or_default();
    let mut scan = Scan { generation, pieces: Vec::new(), records: Vec::new(), header, has_header, refused: None };
    for line in Lines::new(bytes, Newlines::LineFeed) {
        let whole = &bytes[line.offset..line.offset + line.text.len() + line.end.len()];
        match record::parse(line.text).and_then(|value| scan.judge(value)) {
            Ok(record) => scan.record(path, line, record, findings),
            Err(NoRecord::Blank) => scan.gap(whole),
            Err(NoRecord::Rejected(why)) => {
                let message = DamageKind::Rejected.sentence(PROGRAM, why);
                findings.add(FindingCode::RejectedRecord, Location::at(path.to_string(), line.number, 1), message);
                scan.damage(line, 0, whole.len(), DamageKind::Rejected);
            }
            Err(NoRecord::NotJson { at, what }) => scan.broken(path, line, (at, what), findings),
        }
    }
    scan.refused = scan.refusal(bytes);
    scan
}

pub(super) const PROGRAM: &str = "Codex";

impl<'a> Scan<'a> {
    fn judge(&self, value: &[u8]) -> Result<Record, NoRecord> {
        if json::kind_of(value) != Kind::Object {
            return Err(NoRecord::Rejected("it is no object"));
        }
        let members = json::all_members(value);
        match self.generation {
            Generation::Enveloped => record::judge(&members),
            Generation::Bare if self.records.is_empty() => Ok(Record::Meta),
            Generation::Bare if get(&members, "record_type").is_some() => Ok(Record::Other),
            Generation::Bare => Ok(Record::Item(record::judge_item(&members).unwrap_or(Item::Unknown))),
        }
    }

    fn record(&mut self, path: &RelPath, line: Line<'a>, record: Record, findings: &mut Findings) {
        if record == Record::Unknown {
            let message = format!("{PROGRAM} 0.169.0 does not know its type; carried as it is");
            findings.add(FindingCode::UnknownRecord, Location::at(path.to_string(), line.number, 1), message);
        }
        self.pieces.push(Piece::Record(self.records.len(), line.end));
        self.records.push(RecordLine { text: line.text, number: line.number, end: line.offset + line.text.len(), record });
    }

    fn gap(&mut self, bytes: &'a [u8]) {
        match self.pieces.last_mut() {
            Some(Piece::Gap(before, times)) if *before == bytes => *times += 1,
            _ => self.pieces.push(Piece::Gap(bytes, 1)),
        }
    }

    fn damage(&mut self, line: Line<'a>, from: usize, to: usize, kind: DamageKind) {
        let (start, to) = (line.offset + from, line.offset + to);
        match self.pieces.last_mut() {
            Some(Piece::Damage { end, kind: before, .. }) if *before == kind && *end == start => *end = to,
            _ => self.pieces.push(Piece::Damage { line: line.number, start, end: to, kind }),
        }
    }

    fn broken(&mut self, path: &RelPath, line: Line<'a>, (at, what): (usize, &'static str), findings: &mut Findings) {
        let end = if line.end.is_empty() { LineEnd::FileEnd } else { LineEnd::Newline };
        let accepts = |object: &[u8]| record::parse(object).is_ok() && self.is_record(&json::all_members(object));
        let pieces = salvage::dissect(line.text, at, end, Dialect::Strict, &accepts);
        let last = pieces.len() - 1;
        for (n, piece) in pieces.into_iter().enumerate() {
            let line_end: &[u8] = if n == last { line.end } else { b"" };
            let end = if n == last { line.text.len() + line.end.len() } else { piece.end };
            let place = Location::at(path.to_string(), line.number, piece.start as u64 + 1);
            let text = &line.text[piece.start..piece.end];
            match piece.damage.map_or_else(|| self.judge(text).map_err(|_| DamageKind::Fused), Err) {
                Err(kind) => {
                    let is_placed = kind == DamageKind::Fused || kind == DamageKind::NulRun;
                    let at = if is_placed { place } else { Location::at(path.to_string(), line.number, at as u64 + 1) };
                    findings.add(kind.finding(), at, kind.sentence(PROGRAM, what));
                    self.damage(line, piece.start, end, kind);
                }
                Ok(record) => {
                    let message = format!("a complete record on a broken line, which {PROGRAM} does not see; salvaged");
                    findings.add(FindingCode::Salvaged, place, message);
                    let number = line.number;
                    self.pieces.push(Piece::Salvaged(RecordLine { text, number, end: line.offset + piece.end, record }, line_end));
                }
            }
        }
    }

    /// Whether an object found on a broken line is a record, and not a part of one.
    fn is_record(&self, members: &[Member<'_>]) -> bool {
        match self.generation {
            Generation::Enveloped => record::judge(members).is_ok_and(|record| record != Record::Unknown),
            Generation::Bare => {
                let item = text(members, "type").map_or(Item::Unknown, |name| Item::named(&name));
                item != Item::Unknown && record::judge_item(members).is_ok()
            }
        }
    }

    /// Why Codex refuses the file, lineage aside.
    fn refusal(&self, bytes: &[u8]) -> Option<String> {
        let is_utf8 = std::str::from_utf8(bytes).is_ok();
        if self.generation == Generation::Bare {
            return (!is_utf8).then(|| NOT_UTF8.to_owned());
        }
        if Lines::new(bytes, Newlines::LineFeed).all(|line| rust::is_blank(line.text)) {
            return Some(EMPTY.to_owned());
        }
        if !self.has_header {
            return Some(NO_HEADER.to_owned());
        }
        let first = self.records.first().map(|line| json::all_members(line.text.trim_ascii_start())).unwrap_or_default();
        let mode = get(&inside(&first, "payload"), "history_mode").map(json::unescape);
        if mode.is_some_and(|mode| mode != "legacy" && mode != "paginated") {
            return Some(UNKNOWN_MODE.to_owned());
        }
        // Of a paginated rollout only the lines that are not UTF-8 are skipped.
        if !is_utf8 && !self.header.is_paginated {
            return Some(NOT_UTF8.to_owned());
        }
        let last = self.records.iter().rfind(|line| line.record != Record::Unknown);
        let has_ordinal = |line: &RecordLine<'_>| some(&json::all_members(line.text.trim_ascii_start()), "ordinal").is_some();
        (self.header.is_paginated && !last.is_some_and(has_ordinal)).then(|| NO_ORDINAL.to_owned())
    }
}

/// The errors in which a load ends, one for each reason.
pub(super) const EMPTY: &str = "the rollout is empty";
const NO_HEADER: &str = "the rollout does not start with session metadata";
const UNKNOWN_MODE: &str = "the history mode is unknown";
const NOT_UTF8: &str = "the rollout is not valid UTF-8";
const NO_ORDINAL: &str = "the last record has no ordinal";
/// The rollout that a file continues is not there.
pub(super) const NO_BASE: &str = "the rollout that this one continues is missing";
/// That rollout is not paginated.
pub(super) const BASE_NOT_PAGINATED: &str = "the rollout that this one continues is not paginated";
/// That rollout ends before the place from which this one goes on.
pub(super) const BASE_SHORT: &str = "the rollout that this one continues is too short";
/// Rollouts continue each other in a circle.
pub(super) const CIRCLE: &str = "the rollouts continue each other in a circle";
/// A compressed file cannot be decompressed.
pub(super) const NOT_COMPRESSED: &str = "the compressed rollout cannot be read";
