//! The lines of a file of receipts: where each stands, of which unit it is, and
//! how often that unit's receipt had been replaced by then.

use foldhash::fast::RandomState;
use memchr::memmem::Finder;
use std::fs::File;
use std::hash::BuildHasher;
use std::io::{BufRead, BufReader, Read};

use crate::model::stream::ReadAt;
use crate::store::line_checksum::{self, LineChecksum};
use crate::store::receipt::Receipt;

/// So much of the file is read in one go.
const PIECE: usize = 256 * 1024;

/// No receipt is longer: a file without line ends is not read into memory.
const LONGEST_LINE: u64 = 128 * 1024 * 1024;

/// What a line begins with, up to the text that is its unit.
const BEGINNING: &[u8] = b"{\"unit\":\"";

/// What stands before a unit's format.
const FORMAT: &[u8] = b"\",\"format\":\"";

/// What stands before the revision, which is a line's last member but its checksum.
const REVISION: &[u8] = b",\"revision\":";

/// Where the line of a unit stands.
#[derive(Debug)]
pub struct ReceiptLine {
    pub(super) unit: Box<str>,
    pub(super) at: u64,
    pub(super) bytes: u32,
    /// The file that it stands in, by its place in the list of files.
    pub(super) part: u32,
    pub(super) revision: Revision,
    /// Where the list of all hashes has what the line says of files whose content
    /// said what the session is.
    pub(super) sure_at: u32,
    pub(super) sure_count: u16,
    pub(super) retired: Retirement,
}

/// How often a unit's receipt was replaced by a part of a larger run. Of the lines
/// of one unit in several files the one with the highest revision counts: whoever
/// writes one has read the others, and nobody's clock is asked. Lines of a run that
/// is no part have none, which is 0: when it writes, there are no other files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Revision(u32);

/// A line of a file that is not as it was written. It counts for nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedLine {
    /// The file's path below the store.
    pub file: String,
    /// The line's number, from 1.
    pub line: u64,
    /// The unit that the line names, as a key, where it still names one.
    pub unit: Option<String>,
}

/// Whether something of a unit is retired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Retirement {
    /// Nothing is.
    None,
    /// The line has the word.
    Perhaps,
}

/// Whether a file says what is known, one line for each unit and in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum ListState {
    #[default]
    Written,
    Other,
}

impl Revision {
    /// Returns the revision of the line that comes after one of this revision.
    #[must_use]
    pub fn next(self) -> Revision {
        Revision(self.0.saturating_add(1))
    }

    /// Returns the revision of a line.
    #[must_use]
    pub fn of(line: &[u8]) -> Revision {
        split(line).1
    }

    /// Returns a line with this revision, in place of the one that it has.
    #[must_use]
    pub fn stamp(self, line: &[u8]) -> Vec<u8> {
        let mut stamped = split(line).0.to_vec();
        if self > Revision::default() {
            stamped.extend_from_slice(REVISION);
            stamped.extend_from_slice(self.0.to_string().as_bytes());
        }
        stamped.push(b'}');
        line_checksum::add(&mut stamped);
        stamped.push(b'\n');
        stamped
    }
}

/// Returns a line without its last members and brace, and its revision.
fn split(line: &[u8]) -> (&[u8], Revision) {
    let body = line_checksum::body(line.strip_suffix(b"\n").unwrap_or(line));
    let digits = body.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (rest, number) = body.split_at(body.len() - digits);
    // No other member of a receipt that can be its last is a number.
    let revision = rest.strip_suffix(REVISION).zip(std::str::from_utf8(number).ok().and_then(|number| number.parse().ok()));
    revision.map_or((body, Revision::default()), |(rest, number)| (rest, Revision(number)))
}

/// What is looked for in every line.
struct Look<'h> {
    retired: Finder<'static>,
    sure: Finder<'static>,
    path: Finder<'static>,
    mode: Finder<'static>,
    /// For what lines say of files, where anybody will ask for that.
    hasher: Option<&'h RandomState>,
}

impl<'h> Look<'h> {
    fn new(hasher: Option<&'h RandomState>) -> Look<'h> {
        Look {
            retired: Finder::new("\"retired\""),
            sure: Finder::new(",\"sure\":true"),
            path: Finder::new("{\"path\":"),
            mode: Finder::new(",\"mode\":"),
            hasher,
        }
    }

    /// Returns the place of a line, if it has a unit; what it is sure of is added to a list.
    fn at(&self, (part, at): (u32, u64), line: &[u8], sure: &mut Vec<u64>) -> Option<ReceiptLine> {
        let unit = unit_of(line)?;
        // A name with an escape in it may be any.
        let may_be = self.retired.find(line).is_some() || memchr::memchr(b'\\', line).is_some();
        let retired = if may_be { Retirement::Perhaps } else { Retirement::None };
        let before = sure.len();
        let _ = self.add_sure(&unit, line, sure);
        // A session of more files than that is looked into again.
        let (sure_at, sure_count) = match (u32::try_from(before), u16::try_from(sure.len() - before)) {
            (Ok(at), Ok(count)) => (at, count),
            (Err(_), _) | (_, Err(_)) => {
                sure.truncate(before);
                (0, 0)
            }
        };
        let bytes = u32::try_from(line.len()).ok()?;
        Some(ReceiptLine { unit: unit.into(), at, bytes, part, revision: Revision::of(line), sure_at, sure_count, retired })
    }

    /// Adds what a line says of the files of a session that was recognised for sure.
    fn add_sure(&self, unit: &str, line: &[u8], sure: &mut Vec<u64>) -> Option<()> {
        let hasher = self.hasher?;
        self.sure.find(line)?;
        let rest = line.get(BEGINNING.len() + unit.len()..)?.strip_prefix(FORMAT)?;
        let format = &rest[..memchr::memchr(b'"', rest)?];
        // Inside a text no quote stands by itself, so these are members.
        sure.extend(self.path.find_iter(rest).filter_map(|from| {
            let to = from + self.mode.find(&rest[from..])?;
            Some(hasher.hash_one((format, &rest[from..to])))
        }));
        Some(())
    }
}

impl ReceiptLine {
    /// Returns what it says of files, in the list that it was added to.
    pub(super) fn sure_of<'s>(&self, sure: &'s [u64]) -> &'s [u64] {
        let from = self.sure_at as usize;
        sure.get(from..from + usize::from(self.sure_count)).unwrap_or_default()
    }
}

/// What a file of receipts has in it.
#[derive(Debug, Default)]
pub(super) struct FileLines {
    /// Where each line stands that has a unit and is as it was written.
    pub(super) lines: Vec<ReceiptLine>,
    /// How long the file is.
    pub(super) bytes: u64,
    pub(super) standing: ListState,
    /// The lines that are not as they were written.
    pub(super) damaged: Vec<DamagedLine>,
}

/// Reads a file, which is the `part`th; what its lines are sure of is added to a list.
pub(super) fn lines_of((part, name): (u32, &str), file: &File, hasher: &RandomState, sure: &mut Vec<u64>) -> FileLines {
    let mut reader = BufReader::with_capacity(PIECE, file);
    let (mut found, mut number) = (FileLines::default(), 0);
    let (look, mut line) = (Look::new(Some(hasher)), Vec::new());
    let damaged = |line: u64, bytes: &[u8]| DamagedLine { file: name.to_owned(), line, unit: unit_of(bytes) };
    // What cannot be read to its end is judged by what there is.
    while reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        number += 1;
        if line.len() as u64 == LONGEST_LINE && !line.ends_with(b"\n") {
            found.damaged.push(damaged(number, &line));
            found.bytes = file.metadata().map_or(found.bytes, |meta| meta.len());
            found.standing = ListState::Other;
            return found;
        }
        let is_whole = is_as_written(&line);
        if !is_whole && !line.trim_ascii().is_empty() {
            found.damaged.push(damaged(number, &line));
        }
        let place = if is_whole { look.at((part, found.bytes), &line, sure) } else { None };
        if place.is_none() || !line.ends_with(b"\n") {
            found.standing = ListState::Other;
        }
        found.lines.extend(place);
        found.bytes += line.len() as u64;
        line.clear();
    }
    if !found.lines.is_sorted_by(|a, b| a.unit < b.unit) {
        found.standing = ListState::Other;
    }
    found
}

/// Returns where lines stand that were added at the end of a file; the part is set by
/// whoever knows it.
pub(super) fn places_of(lines: &[(String, Vec<u8>)], mut at: u64) -> Vec<ReceiptLine> {
    // Discovery is done by now, so nobody will ask for what they say of files.
    let look = Look::new(None);
    let places = lines.iter().filter_map(|(_, line)| {
        let place = look.at((0, at), line, &mut Vec::new());
        at += line.len() as u64;
        place
    });
    places.collect()
}

/// Tells whether a line is a receipt as it was written.
fn is_as_written(line: &[u8]) -> bool {
    match line_checksum::check(line.strip_suffix(b"\n").unwrap_or(line)) {
        LineChecksum::Intact => true,
        LineChecksum::Wrong => false,
        // Earlier releases wrote no checksum. A flipped bit in the name of the
        // checksum's member looks the same, but for a member that no release had.
        LineChecksum::Absent => Receipt::has_only_known_members(line) && parsed(line).is_some(),
    }
}

/// Returns the unit of a line. Whether the rest of it is a receipt is not looked at.
pub(super) fn unit_of(line: &[u8]) -> Option<String> {
    let plain = line.strip_prefix(BEGINNING).and_then(|rest| {
        let end = memchr::memchr2(b'"', b'\\', rest).filter(|end| rest[*end] == b'"')?;
        std::str::from_utf8(&rest[..end]).ok()
    });
    plain.map_or_else(|| parsed(line).map(|receipt| receipt.unit), |unit| Some(unit.to_owned()))
}

/// Reads a line again.
pub(super) fn read(file: &File, line: &ReceiptLine) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    file.fill_at(&mut bytes, line.at, line.bytes as usize).ok()?;
    Some(bytes)
}

/// Returns the receipt that a line is.
pub(super) fn parsed(line: &[u8]) -> Option<Receipt> {
    // As one text: otherwise each text in it is looked through by itself.
    serde_json::from_str(std::str::from_utf8(line).ok()?).ok()
}

/// Sorts lines by unit; of those of one unit the one of the highest revision stays,
/// and of several of these the last one.
pub(super) fn in_order(lines: &mut Vec<ReceiptLine>) {
    lines.reverse();
    lines.sort_by(|a, b| a.unit.cmp(&b.unit).then(b.revision.cmp(&a.revision)));
    lines.dedup_by(|other, first| other.unit == first.unit);
}
