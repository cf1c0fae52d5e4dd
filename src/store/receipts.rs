//! The file of receipts: a line for each unit. What a run does not ask for is
//! not kept in memory, only where its line stands.

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use memchr::memmem::Finder;
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::hash::BuildHasher;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::model::files::RelPath;
use crate::model::folder::{Listed, ListedKind};
use crate::model::stream::ReadAt;

use super::disk::{self, Disk};
use super::error::StoreError;
use super::layout::Store;
use super::line_checksum::{self, LineChecksum};
use super::listing::mtime_ns;
pub use super::receipt::{Counts, FileReceipt, Receipt, Retired};
use super::replace::temporary_in;

/// So much of the file is read or written in one go.
const PIECE: usize = 256 * 1024;

/// So much, where only some of its lines may be wanted.
const AHEAD: usize = 64 * 1024;

/// No receipt is longer: a file without line ends is not read into memory.
const LONGEST_LINE: u64 = 128 * 1024 * 1024;

/// What a line begins with, up to the text that is its unit.
const BEGINNING: &[u8] = b"{\"unit\":\"";

/// What stands before a unit's format.
const FORMAT: &[u8] = b"\",\"format\":\"";

/// Where the line of a unit stands.
#[derive(Debug)]
pub struct Line {
    unit: Box<str>,
    at: u64,
    bytes: u32,
    retired: Retirement,
    /// What it says of files whose content said what the session is, hashed.
    sure_of: Box<[u64]>,
}

/// A line of the file that is not as it was written. It counts for nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DamagedLine {
    /// The line's number, from 1.
    pub line: u64,
    /// The unit that the line names, as a key, where it still names one.
    pub unit: Option<String>,
}

/// Whether something of a unit is retired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Retirement {
    /// Nothing is.
    None,
    /// The line has the word.
    Perhaps,
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

    /// The place of a line, if it has a unit.
    fn at(&self, at: u64, line: &[u8]) -> Option<Line> {
        let unit = unit_of(line)?;
        // A name with an escape in it may be any.
        let may_be = self.retired.find(line).is_some() || memchr::memchr(b'\\', line).is_some();
        let retired = if may_be { Retirement::Perhaps } else { Retirement::None };
        let sure_of = self.sure_of(&unit, line).unwrap_or_default();
        Some(Line { unit: unit.into(), at, bytes: u32::try_from(line.len()).ok()?, retired, sure_of })
    }

    /// What it says of the files of a session that was recognised for sure.
    fn sure_of(&self, unit: &str, line: &[u8]) -> Option<Box<[u64]>> {
        let hasher = self.hasher?;
        self.sure.find(line)?;
        let rest = line.get(BEGINNING.len() + unit.len()..)?.strip_prefix(FORMAT)?;
        let format = &rest[..memchr::memchr(b'"', rest)?];
        // Inside a text no quote stands by itself, so these are members.
        let files = self.path.find_iter(rest).filter_map(|from| {
            let to = from + self.mode.find(&rest[from..])?;
            Some(hasher.hash_one((format, &rest[from..to])))
        });
        Some(files.collect())
    }
}

/// Whether a file says what is known, one line for each unit and in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Standing {
    #[default]
    Written,
    Other,
}

/// All receipts of a store, by unit.
#[derive(Debug, Default)]
pub struct Receipts {
    /// The file that the lines are read from, even if another has its name.
    file: Option<File>,
    /// How long it was.
    bytes: u64,
    /// Its lines, in the order of units, and their numbers by unit.
    lines: Vec<Line>,
    by_unit: HashTable<u32>,
    /// Lines that take their places.
    changed: BTreeMap<String, Vec<u8>>,
    standing: Standing,
    /// The lines that are not as they were written.
    damaged: Vec<DamagedLine>,
    /// For units, and for what lines say of files.
    hasher: RandomState,
}

impl Receipts {
    /// Reads them. A line that cannot be read is as good as none: the unit is
    /// converted again.
    #[must_use]
    pub fn load(store: &Store) -> Receipts {
        let Ok((file, _)) = disk::open_regular(&store.receipts()) else { return Receipts::default() };
        let hasher = RandomState::default();
        let (mut lines, bytes, mut standing, damaged) = lines_of(&file, &hasher);
        if standing == Standing::Written && !lines.is_sorted_by(|a, b| a.unit < b.unit) {
            standing = Standing::Other;
        }
        if standing == Standing::Other {
            // Left by a run that was cut short. Of a unit's lines the last one
            // that is whole counts, so all of them are read.
            lines = lines.into_par_iter().filter(|line| read(&file, line).is_some_and(|line| parsed(&line).is_some())).collect();
            in_order(&mut lines);
        }
        let by_unit = by_unit(&lines, &hasher);
        Receipts { file: Some(file), bytes, lines, by_unit, changed: BTreeMap::new(), standing, damaged, hasher }
    }

    /// Tells whether the store has no file of receipts that can be read.
    #[must_use]
    pub fn are_absent(&self) -> bool {
        self.file.is_none()
    }

    /// Returns the lines that are not as they were written.
    #[must_use]
    pub fn damaged(&self) -> &[DamagedLine] {
        &self.damaged
    }

    /// Whether the file is still the one that was read.
    #[must_use]
    pub fn are_those_of(&self, store: &Store) -> bool {
        let state = |meta: Metadata| (meta.ino(), meta.len(), mtime_ns(&meta));
        let now = store.receipts().metadata().ok().map(state);
        now == self.file.as_ref().and_then(|file| file.metadata().ok()).map(state) && now.is_none_or(|(_, bytes, _)| bytes == self.bytes)
    }

    /// A unit's receipt.
    #[must_use]
    pub fn get(&self, unit: &RelPath) -> Option<Receipt> {
        parsed(&self.line_of(&unit.key())?)
    }

    /// Receipts of units that are asked for in order.
    #[must_use]
    pub fn in_order(&self) -> InOrder<'_> {
        InOrder { receipts: self, piece: Vec::new(), at: 0 }
    }

    /// Whether a session of this format was recognised for sure when this file
    /// of it, which is what is listed now, was proven.
    #[must_use]
    pub fn knows(&self, unit: &RelPath, format: &str, file: &str, listed: &Listed) -> bool {
        // As a receipt says it.
        let Ok(path) = serde_json::to_string(file) else { return false };
        let said = format!("{{\"path\":{path},\"size\":{},\"mtime_ns\":{}", listed.size, listed.mtime_ns);
        let hash = self.hasher.hash_one((format.as_bytes(), said.as_bytes()));
        let line = unit.as_text().and_then(|unit| self.place_of(unit));
        listed.kind == ListedKind::File && line.is_some_and(|line| line.sure_of.contains(&hash))
    }

    /// All of them, by unit.
    pub fn iter(&self) -> impl Iterator<Item = Receipt> {
        self.each(|_| true).filter_map(|(_, line)| parsed(&line))
    }

    /// Those of units of which something is retired.
    pub fn retired(&self) -> impl Iterator<Item = (Receipt, Retired)> {
        let perhaps = self.each(|line| line.retired == Retirement::Perhaps);
        perhaps.filter_map(|(_, line)| {
            let receipt: Receipt = parsed(&line)?;
            let retired = receipt.retired.clone()?;
            Some((receipt, retired))
        })
    }

    /// Replaces a unit's receipt.
    ///
    /// # Errors
    /// When it cannot be written as a line.
    pub fn put(&mut self, receipt: &Receipt) -> Result<(), StoreError> {
        if self.get(&RelPath::from_key(&receipt.unit)).as_ref() != Some(receipt) {
            self.put_line(receipt.unit.clone(), receipt.line()?);
        }
        Ok(())
    }

    /// Replaces the line of a unit.
    pub fn put_line(&mut self, unit: String, line: Vec<u8>) {
        self.standing = Standing::Other;
        self.changed.insert(unit, line);
    }

    /// Takes in what was added to the file since.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn take_in(&mut self, store: &Store, added: Vec<Line>) -> Result<(), StoreError> {
        if added.is_empty() {
            return Ok(());
        }
        if self.file.is_none() {
            self.file = Some(disk::open(&store.receipts())?);
        }
        self.standing = Standing::Other;
        self.lines.extend(added);
        in_order(&mut self.lines);
        self.by_unit = by_unit(&self.lines, &self.hasher);
        Ok(())
    }

    /// Notes what of a unit is retired, if anything is. Returns what it was.
    ///
    /// # Errors
    /// When it cannot be written as a line.
    pub fn set_retired(&mut self, unit: &RelPath, retired: Option<Retired>) -> Result<Option<Retired>, StoreError> {
        let Some(mut receipt) = self.get(unit) else { return Ok(None) };
        let before = std::mem::replace(&mut receipt.retired, retired);
        if receipt.retired != before {
            self.put_line(receipt.unit.clone(), receipt.line()?);
        }
        Ok(before)
    }

    /// Writes them as one file, sorted, if that changes anything.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&mut self, store: &Store, disk: &dyn Disk) -> Result<(), StoreError> {
        // Nothing is written that is there: a second run must not touch mtimes.
        if self.standing == Standing::Written {
            return Ok(());
        }
        let temporary = temporary_in(disk, &store.private())?;
        let mut piece = Vec::new();
        for (unit, line) in self.each(|_| true) {
            // Somebody else has written to it.
            if unit_of(&line).as_deref() != Some(unit) {
                return Err(StoreError::Unsteady { path: store.receipts() });
            }
            piece.extend_from_slice(line.strip_suffix(b"\n").unwrap_or(&line));
            piece.push(b'\n');
            if piece.len() >= PIECE {
                temporary.fill(&piece)?;
                piece.clear();
            }
        }
        temporary.fill(&piece)?;
        temporary.replace(&store.receipts())?;
        disk.sync(&store.private())?;
        self.standing = Standing::Written;
        Ok(())
    }

    /// A unit's line.
    fn line_of(&self, unit: &str) -> Option<Cow<'_, [u8]>> {
        if let Some(line) = self.changed.get(unit) {
            return Some(Cow::Borrowed(line));
        }
        read(self.file.as_ref()?, self.place_of(unit)?).map(Cow::Owned)
    }

    fn place_of(&self, unit: &str) -> Option<&Line> {
        let is_it = |n: &u32| *self.lines[*n as usize].unit == *unit;
        self.by_unit.find(self.hasher.hash_one(unit), is_it).map(|n| &self.lines[*n as usize])
    }

    /// The lines that are wanted, and those that take the place of any, by unit.
    fn each(&self, is_wanted: impl Fn(&Line) -> bool) -> impl Iterator<Item = (&str, Cow<'_, [u8]>)> {
        let mut changed = self.changed.iter().map(|(unit, line)| (unit.as_str(), line.as_slice())).peekable();
        let mut lines = self.lines.iter().filter(move |line| is_wanted(line)).peekable();
        std::iter::from_fn(move || {
            let Some(line) = lines.peek() else { return changed.next().map(|(unit, line)| (unit, Cow::Borrowed(line))) };
            match changed.next_if(|(unit, _)| *unit <= &*line.unit) {
                Some((unit, other)) => {
                    lines.next_if(|line| *line.unit == *unit);
                    Some((unit, Cow::Borrowed(other)))
                }
                None => {
                    let line = lines.next()?;
                    let bytes = self.file.as_ref().and_then(|file| read(file, line)).unwrap_or_default();
                    Some((&*line.unit, Cow::Owned(bytes)))
                }
            }
        })
    }
}

/// Receipts of units in order: what stands together in the file is read together.
#[derive(Debug)]
pub struct InOrder<'r> {
    receipts: &'r Receipts,
    /// The piece of the file that was read last, and where it begins.
    piece: Vec<u8>,
    at: u64,
}

impl InOrder<'_> {
    /// A unit's receipt.
    pub fn get(&mut self, unit: &RelPath) -> Option<Receipt> {
        let unit = unit.key();
        if let Some(line) = self.receipts.changed.get(&unit) {
            return parsed(line);
        }
        let line = self.receipts.place_of(&unit)?;
        if self.read(line).is_none() {
            self.at = line.at;
            self.receipts.file.as_ref()?.fill_at(&mut self.piece, line.at, AHEAD.max(line.bytes as usize)).ok()?;
        }
        parsed(self.read(line)?)
    }

    fn read(&self, line: &Line) -> Option<&[u8]> {
        let from = usize::try_from(line.at.checked_sub(self.at)?).ok()?;
        self.piece.get(from..from + line.bytes as usize)
    }
}

/// Adds lines at the end of the file while a run goes on, so that a run that is
/// cut short need not be done again; the end of the run sorts them in.
///
/// # Errors
/// When they cannot be written.
pub fn append(store: &Store, disk: &dyn Disk, lines: &[(String, Vec<u8>)]) -> Result<Vec<Line>, StoreError> {
    let path = store.receipts();
    // What went wrong the last time may have left a part of it.
    let mut at = size_of(&path)?;
    let all: Vec<u8> = lines.iter().flat_map(|(_, line)| line).copied().collect();
    if let Err(error) = disk.append(&path, &all) {
        // Half a line would count as a damaged receipt in the next run.
        if matches!(error, StoreError::Io { .. }) && path.exists() {
            let _ = disk.truncate(&path, at);
        }
        return Err(error);
    }
    // Discovery is over by now.
    let look = Look::new(None);
    let places = lines.iter().filter_map(|(_, line)| {
        let place = look.at(at, line);
        at += line.len() as u64;
        place
    });
    Ok(places.collect())
}

fn size_of(path: &Path) -> Result<u64, StoreError> {
    match path.symlink_metadata() {
        Ok(meta) => Ok(meta.len()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(StoreError::io("read", path)(error)),
    }
}

/// Where each line of a file stands, as far as it has a unit and is as it was
/// written; and the lines that are not.
fn lines_of(file: &File, hasher: &RandomState) -> (Vec<Line>, u64, Standing, Vec<DamagedLine>) {
    let mut reader = BufReader::with_capacity(PIECE, file);
    let (mut lines, mut standing, mut at) = (Vec::new(), Standing::Written, 0);
    let (mut damaged, mut number) = (Vec::new(), 0);
    let (look, mut line) = (Look::new(Some(hasher)), Vec::new());
    // What cannot be read to its end is judged by what there is.
    while reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
        number += 1;
        if line.len() as u64 == LONGEST_LINE && !line.ends_with(b"\n") {
            damaged.push(DamagedLine { line: number, unit: unit_of(&line) });
            let size = file.metadata().map_or(at, |meta| meta.len());
            return (lines, size, Standing::Other, damaged);
        }
        let is_whole = is_as_written(&line);
        if !is_whole && !line.trim_ascii().is_empty() {
            damaged.push(DamagedLine { line: number, unit: unit_of(&line) });
        }
        let found = if is_whole { look.at(at, &line) } else { None };
        if found.is_none() || !line.ends_with(b"\n") {
            standing = Standing::Other;
        }
        lines.extend(found);
        at += line.len() as u64;
        line.clear();
    }
    (lines, at, standing, damaged)
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

/// The unit of a line. Whether the rest of it is a receipt is not looked at.
fn unit_of(line: &[u8]) -> Option<String> {
    let plain = line.strip_prefix(BEGINNING).and_then(|rest| {
        let end = memchr::memchr2(b'"', b'\\', rest).filter(|end| rest[*end] == b'"')?;
        std::str::from_utf8(&rest[..end]).ok()
    });
    plain.map_or_else(|| parsed(line).map(|receipt| receipt.unit), |unit| Some(unit.to_owned()))
}

fn read(file: &File, line: &Line) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    file.fill_at(&mut bytes, line.at, line.bytes as usize).ok()?;
    Some(bytes)
}

/// The receipt that a line is.
fn parsed(line: &[u8]) -> Option<Receipt> {
    // As one text: otherwise each text in it is looked through by itself.
    serde_json::from_str(std::str::from_utf8(line).ok()?).ok()
}

/// The numbers of lines, by unit.
fn by_unit(lines: &[Line], hasher: &RandomState) -> HashTable<u32> {
    let mut numbers = HashTable::with_capacity(lines.len());
    let hash_of = |n: &u32| hasher.hash_one(&*lines[*n as usize].unit);
    for n in (0..lines.len()).filter_map(|n| u32::try_from(n).ok()) {
        numbers.insert_unique(hash_of(&n), n, hash_of);
    }
    numbers
}

/// Sorts lines by unit; of those of one unit the last one stays.
fn in_order(lines: &mut Vec<Line>) {
    lines.reverse();
    lines.sort_by(|a, b| a.unit.cmp(&b.unit));
    lines.dedup_by(|later, first| later.unit == first.unit);
}

#[cfg(test)]
mod tests;
