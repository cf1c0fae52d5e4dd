//! A file of entries in pieces: every byte belongs to one.

use std::ops::Range;

use crate::adapters::surgery::{self, LineEnd, Wound};
use crate::model::files::RelPath;
use crate::model::finding::{FindingCode, Findings};
use crate::model::json::{self, Dialect, Kind, Member};
use crate::model::jsonl::{Line, Lines, Newlines};
use crate::model::location::Location;

use super::entry::{self, Entry, NoEntry};
use super::js;
use super::signs;

/// A piece of a file, in file order.
#[derive(Debug)]
pub(in crate::adapters) enum Piece<'a> {
    /// Bytes between records that mean nothing, and how many times they stand
    /// there one after the other: empty lines come by the million.
    Gap(&'a [u8], u64),
    /// Bytes that the loader rejects.
    Damage { line: u64, start: usize, end: usize, wound: Wound },
    /// The entry with this number, and its line end.
    Entry(usize, &'a [u8]),
    /// A complete record on a broken line, which the loader does not see.
    Salvaged(Box<Entry<'a>>, &'a [u8]),
}

/// A file, read.
#[derive(Debug, Default)]
pub(in crate::adapters) struct Scan<'a> {
    pub pieces: Vec<Piece<'a>>,
    /// What the loader takes, in file order, headers included.
    pub entries: Vec<Entry<'a>>,
}

/// How a program takes a file to pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum Manner {
    /// Line by line; what counts as false is passed over.
    Lines,
    /// As a text without the white space around it; every value is kept.
    TrimmedText,
}

/// Which records a file holds, where one has to be told from its parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum Holds {
    /// Entries, headers among them.
    Entries,
    /// The runs of a scheduled job.
    Runs,
}

impl Holds {
    /// Whether an object is such a record, and not a part of one.
    fn accepts(self, object: &[u8]) -> bool {
        let members: Vec<Member<'_>> = json::all_members(object);
        let is_text = |key: &str| entry::get(&members, key).is_some_and(|value| json::kind_of(value) == Kind::String);
        match self {
            Holds::Entries => {
                let is_placed = is_text("id") && entry::get(&members, "parentId").is_some();
                let is_known = is_text("timestamp") && entry::get(&members, "type").is_some_and(signs::is_known_type);
                is_text("type") && (is_placed || is_known)
            }
            Holds::Runs => is_text("jobId") && is_text("action"),
        }
    }
}

/// Reads a file; what is wrong with it is said in `findings`.
pub(in crate::adapters) fn scan<'a>(
    path: &RelPath,
    bytes: &'a [u8],
    program: &str,
    (manner, holds): (Manner, Holds),
    findings: &mut Findings,
) -> Scan<'a> {
    let mut scan = Scan::default();
    let Range { start, end } = text_in(bytes, manner);
    if start > 0 {
        scan.gap(&bytes[..start]);
    }
    let lines_before = memchr::memchr_iter(b'\n', &bytes[..start]).count() as u64;
    for line in Lines::new(&bytes[start..end], Newlines::LineFeed) {
        let line = Line { number: line.number + lines_before, offset: line.offset + start, ..line };
        let whole = &bytes[line.offset..line.offset + line.text.len() + line.end.len()];
        match entry::read(line, manner) {
            Ok(entry) => {
                if !entry.is_utf8 {
                    let at = std::str::from_utf8(line.text).map_or_else(|error| error.valid_up_to(), |_| 0) as u64 + 1;
                    let message = format!("bytes that are not UTF-8; {program} shows U+FFFD in their place");
                    findings.add(FindingCode::ReplacedBytes, Location::at(path.to_string(), line.number, at), message);
                }
                scan.pieces.push(Piece::Entry(scan.entries.len(), line.end));
                scan.entries.push(entry);
            }
            Err(NoEntry::Blank) => scan.gap(whole),
            Err(NoEntry::Falsy) => {
                let message = Wound::Rejected.sentence(program, "it is null, false, 0 or empty");
                findings.add(FindingCode::RejectedRecord, Location::at(path.to_string(), line.number, 1), message);
                scan.damage(line, 0, whole.len(), Wound::Rejected);
            }
            Err(NoEntry::NotJson { at, what }) => scan.broken(path, line, (at, what), program, holds, findings),
        }
    }
    if end < bytes.len() {
        scan.gap(&bytes[end..]);
    }
    scan
}

/// The first entry of a file, if it has one: what stands behind it is not read.
pub(in crate::adapters) fn first_entry(bytes: &[u8], manner: Manner) -> Option<Entry<'_>> {
    Lines::new(&bytes[text_in(bytes, manner)], Newlines::LineFeed).find_map(|line| entry::read(line, manner).ok())
}

/// Where in a file its lines begin and end.
fn text_in(bytes: &[u8], manner: Manner) -> Range<usize> {
    match manner {
        Manner::Lines => 0..bytes.len(),
        Manner::TrimmedText => {
            let (start, end) = trimmed(bytes);
            // The last line's own end is no white space around the text.
            start..if end > start && bytes.get(end) == Some(&b'\n') { end + 1 } else { end }
        }
    }
}

/// The first character, if the text begins with one.
fn first_char(text: &[u8]) -> Option<char> {
    const LONGEST: usize = 4;
    text[..text.len().min(LONGEST)].utf8_chunks().next()?.valid().chars().next()
}

/// Where a text begins and ends without the white space around it.
fn trimmed(bytes: &[u8]) -> (usize, usize) {
    // Bytes that are not UTF-8 become characters that are no white space.
    let mut start = 0;
    while let Some(space) = first_char(&bytes[start..]).filter(|c| js::is_space(*c)) {
        start += space.len_utf8();
    }
    let mut end = bytes.len();
    while end > start {
        let from = (start.max(end.saturating_sub(4))..end).rev().find(|at| !matches!(bytes[*at], 0x80..=0xbf)).unwrap_or(end - 1);
        match std::str::from_utf8(&bytes[from..end]).ok().and_then(|last| last.chars().next()) {
            Some(c) if js::is_space(c) && c.len_utf8() == end - from => end = from,
            _ => break,
        }
    }
    (start, end)
}

impl<'a> Scan<'a> {
    fn gap(&mut self, bytes: &'a [u8]) {
        match self.pieces.last_mut() {
            Some(Piece::Gap(before, times)) if *before == bytes => *times += 1,
            _ => self.pieces.push(Piece::Gap(bytes, 1)),
        }
    }

    fn damage(&mut self, line: Line<'a>, from: usize, to: usize, wound: Wound) {
        let (start, to) = (line.offset + from, line.offset + to);
        match self.pieces.last_mut() {
            Some(Piece::Damage { end, wound: before, .. }) if *before == wound && *end == start => *end = to,
            _ => self.pieces.push(Piece::Damage { line: line.number, start, end: to, wound }),
        }
    }

    fn broken(
        &mut self,
        path: &RelPath,
        line: Line<'a>,
        (at, what): (usize, &'static str),
        program: &str,
        holds: Holds,
        findings: &mut Findings,
    ) {
        let end = if line.end.is_empty() { LineEnd::FileEnd } else { LineEnd::Newline };
        let as_line = |start: usize, end: usize| Line { text: &line.text[start..end], offset: line.offset + start, ..line };
        let accepts = |object: &[u8]| holds.accepts(object);
        let pieces = surgery::dissect(line.text, at, end, Dialect::Strict, &accepts);
        let last = pieces.len() - 1;
        for (n, piece) in pieces.into_iter().enumerate() {
            let line_end: &[u8] = if n == last { line.end } else { b"" };
            let end = if n == last { line.text.len() + line.end.len() } else { piece.end };
            let place = Location::at(path.to_string(), line.number, piece.start as u64 + 1);
            match piece.wound {
                Some(wound) => {
                    let at = if wound == Wound::Fused || wound == Wound::NulRun {
                        place
                    } else {
                        Location::at(path.to_string(), line.number, at as u64 + 1)
                    };
                    findings.add(wound.finding(), at, wound.sentence(program, what));
                    self.damage(line, piece.start, end, wound);
                }
                None => match entry::read(as_line(piece.start, piece.end), Manner::Lines) {
                    Ok(entry) => {
                        let message = format!("a complete record on a broken line, which {program} does not see; salvaged");
                        findings.add(FindingCode::Salvaged, place, message);
                        self.pieces.push(Piece::Salvaged(Box::new(entry), line_end));
                    }
                    Err(_) => self.damage(line, piece.start, end, Wound::Fused),
                },
            }
        }
    }
}
