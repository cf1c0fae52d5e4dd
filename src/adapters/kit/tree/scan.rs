//! A file of entries in pieces: every byte belongs to one.

use std::ops::Range;

use crate::adapters::kit::salvage::{self, DamageKind, LineEnd};
use crate::json::{self, Dialect};
use crate::model::files::RelPath;
use crate::model::finding::{FindingCode, Findings};
use crate::model::jsonl::{Line, Lines, Newlines};
use crate::model::location::Location;
use crate::runtimes::javascript as js;

use super::entry::{self, Entry, NoEntry};
use super::schema::{LineRule, TreeSchema};

/// A piece of a file, in file order.
#[derive(Debug)]
pub(in crate::adapters) enum Piece<'a, S: TreeSchema> {
    /// Bytes between records that mean nothing, and how many times they stand
    /// there one after the other: empty lines come by the million.
    Gap(&'a [u8], u64),
    /// Bytes that the loader rejects.
    Damage { line: u64, start: usize, end: usize, kind: DamageKind },
    /// The entry with this number, and its line end.
    Entry(usize, &'a [u8]),
    /// A complete record on a broken line, which the loader does not see.
    Salvaged(Box<Entry<'a, S>>, &'a [u8]),
}

/// A file in pieces, and the entries among them.
#[derive(Debug)]
pub(in crate::adapters) struct Scan<'a, S: TreeSchema> {
    pub pieces: Vec<Piece<'a, S>>,
    /// The records that the loader takes, in file order, headers included.
    pub entries: Vec<Entry<'a, S>>,
}

/// Reads a file; what is wrong with it is said in `findings`.
pub(in crate::adapters) fn scan<'a, S: TreeSchema>(
    path: &RelPath,
    bytes: &'a [u8],
    program: &str,
    schema: S,
    findings: &mut Findings,
) -> Scan<'a, S> {
    let mut scan = Scan { pieces: Vec::new(), entries: Vec::new() };
    let Range { start, end } = text_in(bytes, schema.line_rule());
    if start > 0 {
        scan.gap(&bytes[..start]);
    }
    let lines_before = memchr::memchr_iter(b'\n', &bytes[..start]).count() as u64;
    for line in Lines::new(&bytes[start..end], Newlines::LineFeed) {
        let line = Line { number: line.number + lines_before, offset: line.offset + start, ..line };
        let line = scan.after_control_bytes(line, schema.line_rule());
        let whole = &bytes[line.offset..line.offset + line.text.len() + line.end.len()];
        match entry::read(line, schema) {
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
                let message = DamageKind::Rejected.sentence(program, "it is null, false, 0 or empty");
                findings.add(FindingCode::RejectedRecord, Location::at(path.to_string(), line.number, 1), message);
                scan.damage(line, 0, whole.len(), DamageKind::Rejected);
            }
            Err(NoEntry::NotJson { at, what }) => scan.broken(path, line, (at, what), program, schema, findings),
        }
    }
    if end < bytes.len() {
        scan.gap(&bytes[end..]);
    }
    scan
}

/// Returns the first entry of a file, if it has one; the lines after it are not read.
pub(in crate::adapters) fn first_entry<S: TreeSchema>(bytes: &[u8], schema: S) -> Option<Entry<'_, S>> {
    Lines::new(&bytes[text_in(bytes, schema.line_rule())], Newlines::LineFeed).find_map(|line| entry::read(line, schema).ok())
}

/// Returns where in a file its lines begin and end.
fn text_in(bytes: &[u8], rule: LineRule) -> Range<usize> {
    match rule {
        LineRule::Truthy | LineRule::AfterControlBytes => 0..bytes.len(),
        LineRule::TrimmedText => {
            let start = bytes.len() - js::trim_start(bytes).len();
            let end = start + js::trim(bytes).len();
            // The last line's own end is not white space around the text.
            start..if end > start && bytes.get(end) == Some(&b'\n') { end + 1 } else { end }
        }
    }
}

impl<'a, S: TreeSchema> Scan<'a, S> {
    /// Returns the line from where its loader reads it on; the bytes before are a gap.
    fn after_control_bytes(&mut self, line: Line<'a>, rule: LineRule) -> Line<'a> {
        let skipped = line.text.iter().take_while(|byte| **byte <= b' ').count();
        // A line of nothing else is a gap as a whole.
        if rule != LineRule::AfterControlBytes || skipped == 0 || skipped == line.text.len() {
            return line;
        }
        self.gap(&line.text[..skipped]);
        Line { text: &line.text[skipped..], offset: line.offset + skipped, ..line }
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

    fn broken(
        &mut self,
        path: &RelPath,
        line: Line<'a>,
        (at, what): (usize, &'static str),
        program: &str,
        schema: S,
        findings: &mut Findings,
    ) {
        let end = if line.end.is_empty() { LineEnd::FileEnd } else { LineEnd::Newline };
        let as_line = |start: usize, end: usize| Line { text: &line.text[start..end], offset: line.offset + start, ..line };
        let accepts = |object: &[u8]| schema.is_record(&json::all_members(object));
        let pieces = salvage::dissect(line.text, at, end, Dialect::Strict, &accepts);
        let last = pieces.len() - 1;
        for (n, piece) in pieces.into_iter().enumerate() {
            let line_end: &[u8] = if n == last { line.end } else { b"" };
            let end = if n == last { line.text.len() + line.end.len() } else { piece.end };
            let place = Location::at(path.to_string(), line.number, piece.start as u64 + 1);
            match piece.damage {
                Some(kind) => {
                    let at = if kind == DamageKind::Fused || kind == DamageKind::NulRun {
                        place
                    } else {
                        Location::at(path.to_string(), line.number, at as u64 + 1)
                    };
                    findings.add(kind.finding(), at, kind.sentence(program, what));
                    self.damage(line, piece.start, end, kind);
                }
                None => match entry::read(as_line(piece.start, piece.end), schema) {
                    Ok(entry) => {
                        let message = format!("a complete record on a broken line, which {program} does not see; salvaged");
                        findings.add(FindingCode::Salvaged, place, message);
                        self.pieces.push(Piece::Salvaged(Box::new(entry), line_end));
                    }
                    Err(_) => self.damage(line, piece.start, end, DamageKind::Fused),
                },
            }
        }
    }
}
