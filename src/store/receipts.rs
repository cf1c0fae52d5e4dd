//! The receipts of a store: a line for each unit, in one file or, where parts of
//! a larger run write them, in one for each part. What a run does not ask for is
//! not kept in memory, only where its line stands.

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::{File, Metadata};
use std::hash::BuildHasher;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::model::files::RelPath;
use crate::model::folder::{Listed, ListedKind};
use crate::model::shard::Shard;
use crate::model::stream::ReadAt;

use super::disk::{self, Disk};
use super::error::StoreError;
use super::layout::{LOG_SUFFIX, Store};
use super::listing::mtime_ns;
pub use super::receipt::{Counts, FileReceipt, Receipt, Retired};
use super::replace::temporary_for;

mod lines;

pub use lines::{DamagedLine, ReceiptLine};
use lines::{FileLines, ListState, Retirement, Revision, in_order, lines_of, parsed, read, unit_of};

/// So much of the file is written in one go.
const PIECE: usize = 256 * 1024;

/// So much is read, where only some of the file's lines may be wanted.
const AHEAD: usize = 64 * 1024;

/// A file that lines are read from, even if another has its name by now.
#[derive(Debug)]
struct ReceiptFile {
    path: PathBuf,
    /// The part of a larger run that writes it, if one does.
    shard: Option<Shard>,
    file: File,
    /// How long it was.
    bytes: u64,
}

/// All receipts of a store, by unit.
#[derive(Debug, Default)]
pub struct Receipts {
    /// The files, in the order of their shards, the one without a shard first.
    parts: Vec<ReceiptFile>,
    /// Whose file is written.
    own: Option<Shard>,
    /// Their lines, in the order of units, and their numbers by unit.
    lines: Vec<ReceiptLine>,
    by_unit: HashTable<u32>,
    /// What the lines say of files whose content said what the session is, hashed.
    sure: Vec<u64>,
    /// Lines that take their places.
    changed: BTreeMap<String, Vec<u8>>,
    /// Whether the file that is written is as it should be.
    standing: ListState,
    /// The lines that are not as they were written.
    damaged: Vec<DamagedLine>,
    /// For units, and for what lines say of files.
    hasher: RandomState,
}

impl Receipts {
    /// Reads them all. A line that cannot be read is as good as none: the unit is
    /// converted again.
    #[must_use]
    pub fn load(store: &Store) -> Receipts {
        let mut known = Receipts { own: store.shard(), ..Receipts::default() };
        let mut in_file_order = ListState::Written;
        for (shard, path) in files_of(store) {
            let Ok((file, _)) = disk::open_regular(&path) else { continue };
            let Ok(part) = u32::try_from(known.parts.len()) else { break };
            let name = path.strip_prefix(store.root()).unwrap_or(&path).display().to_string();
            let FileLines { mut lines, bytes, standing, damaged } = lines_of((part, &name), &file, &known.hasher, &mut known.sure);
            if standing == ListState::Other {
                // Left by a run that was cut short. Of a unit's lines the last one
                // that is whole counts, so all of them are read.
                lines = lines.into_par_iter().filter(|line| read(&file, line).is_some_and(|line| parsed(&line).is_some())).collect();
                in_file_order = ListState::Other;
            }
            if shard == known.own {
                known.standing = standing;
            }
            known.lines.extend(lines);
            known.damaged.extend(damaged);
            known.parts.push(ReceiptFile { path, shard, file, bytes });
        }
        if known.own.is_none() && known.parts.iter().any(|part| part.shard.is_some()) {
            // They all become one file.
            known.standing = ListState::Other;
        }
        if in_file_order == ListState::Other || known.parts.len() > 1 {
            let before = known.lines_of_own();
            in_order(&mut known.lines);
            if known.lines_of_own() != before {
                // Another file has a newer receipt of one of its units.
                known.standing = ListState::Other;
            }
        }
        known.by_unit = by_unit(&known.lines, &known.hasher);
        known
    }

    /// How many lines the file has that is written.
    fn lines_of_own(&self) -> usize {
        self.own_part().map_or(0, |own| self.lines.iter().filter(|line| line.part == own).count())
    }

    /// The place of the file that is written, in the list of files.
    fn own_part(&self) -> Option<u32> {
        self.parts.iter().position(|part| part.shard == self.own).and_then(|place| u32::try_from(place).ok())
    }

    /// How many units have a receipt, those aside that were put and not saved.
    #[must_use]
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Tells whether no unit has one.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// Tells whether the store has no file of receipts that can be read.
    #[must_use]
    pub fn are_absent(&self) -> bool {
        self.parts.is_empty()
    }

    /// Returns the lines that are not as they were written.
    #[must_use]
    pub fn damaged(&self) -> &[DamagedLine] {
        &self.damaged
    }

    /// Returns those of them that the run at hand has to report: of a part of a
    /// larger run those of its own file, and those of its sessions that no other
    /// file has a receipt of.
    pub fn damaged_of_own(&self) -> impl Iterator<Item = &DamagedLine> {
        let own_file = self.own_part().and_then(|own| self.parts.get(own as usize));
        self.damaged.iter().filter(move |damaged| {
            let Some(own) = self.own else { return true };
            let part = self.parts.iter().find(|part| part.path.ends_with(&damaged.file));
            // What another part appends at this moment may be there by half.
            let is_beside = part.and_then(|part| part.shard).is_some_and(|shard| own.is_beside(shard));
            let is_own_file = own_file.is_some_and(|own| own.path.ends_with(&damaged.file));
            let is_lost = match &damaged.unit {
                Some(unit) => self.place_of(unit).is_none() && own.takes(&Store::log_name(&RelPath::from_key(unit)).to_string()),
                None => own.is_first(),
            };
            is_own_file || (!is_beside && is_lost)
        })
    }

    /// Whether the files are still those that were read; for a part of a larger run
    /// it does not matter what the parts beside it write.
    #[must_use]
    pub fn are_those_of(&self, store: &Store) -> bool {
        let state = |meta: Metadata| (meta.ino(), meta.len(), mtime_ns(&meta));
        let is_of_others = |shard: Option<Shard>| self.own.zip(shard).is_some_and(|(own, shard)| own.is_beside(shard));
        let now = files_of(store).into_iter().filter(|(shard, _)| !is_of_others(*shard));
        let now = now.filter_map(|(_, path)| path.metadata().ok().map(|meta| (path, Some(state(meta)))));
        let then = self.parts.iter().filter(|part| !is_of_others(part.shard)).map(|part| {
            let state = part.file.metadata().ok().map(state).filter(|(_, bytes, _)| *bytes == part.bytes);
            (part.path.clone(), state)
        });
        now.eq(then)
    }

    /// A unit's receipt.
    #[must_use]
    pub fn get(&self, unit: &RelPath) -> Option<Receipt> {
        parsed(&self.line_of(&unit.key())?)
    }

    /// The receipt of the unit that has a log of this name, below the store.
    #[must_use]
    pub fn of_log(&self, log: &RelPath) -> Option<Receipt> {
        let key = log.key();
        let unit = key.strip_suffix(LOG_SUFFIX)?;
        let usual = self.line_of(unit).and_then(|line| parsed(&line));
        // A long name of a unit, or one that is not text, is another in its log's.
        usual.filter(|receipt| receipt.log == key).or_else(|| {
            let others = self.lines.iter().filter(|line| !Store::is_log_name_plain(&line.unit)).map(|line| &*line.unit);
            let changed = self.changed.keys().map(String::as_str).filter(|unit| !Store::is_log_name_plain(unit));
            let mut found = others.chain(changed).filter_map(|unit| parsed(&self.line_of(unit)?));
            found.find(|receipt| receipt.log == key)
        })
    }

    /// Tells whether a unit below a folder has a receipt that was read.
    #[must_use]
    pub fn has_units_below(&self, folder: &RelPath) -> bool {
        let start = format!("{}/", folder.key());
        self.lines.iter().any(|line| line.unit.starts_with(&start))
    }

    /// When the file was written that has a unit's receipt, in nanoseconds since the
    /// epoch.
    #[must_use]
    pub fn written_ns(&self, unit: &RelPath) -> Option<i64> {
        let part = self.parts.get(self.place_of(&unit.key())?.part as usize)?;
        part.path.symlink_metadata().map(|meta| mtime_ns(&meta)).ok()
    }

    /// Receipts of units that are asked for in order.
    #[must_use]
    pub fn in_order(&self) -> InOrder<'_> {
        InOrder { receipts: self, piece: Vec::new(), part: 0, at: 0 }
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
        listed.kind == ListedKind::File && line.is_some_and(|line| line.sure_of(&self.sure).contains(&hash))
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
        self.standing = ListState::Other;
        let line = self.as_written(&unit, line);
        self.changed.insert(unit, line);
    }

    /// A unit's new line as the file that is written has it.
    fn as_written(&self, unit: &str, line: Vec<u8>) -> Vec<u8> {
        if self.own.is_none() {
            return line;
        }
        let changed = self.changed.get(unit).map(|line| Revision::of(line));
        let now = changed.or_else(|| self.place_of(unit).map(|line| line.revision));
        now.unwrap_or_default().next().stamp(&line)
    }

    /// Adds lines at the end of the file while a run goes on, so that a run that is
    /// cut short need not be done again; the end of the run sorts them in.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn append(&self, store: &Store, disk: &dyn Disk, lines: Vec<(String, Vec<u8>)>) -> Result<Vec<ReceiptLine>, StoreError> {
        let as_written = |(unit, line): (String, Vec<u8>)| {
            let line = self.as_written(&unit, line);
            (unit, line)
        };
        let lines: Vec<(String, Vec<u8>)> = lines.into_iter().map(as_written).collect();
        let path = store.own_receipts();
        // What went wrong the last time may have left a part of it.
        let at = size_of(&path)?;
        let all: Vec<u8> = lines.iter().flat_map(|(_, line)| line).copied().collect();
        if let Err(error) = disk.append(&path, &all) {
            // Half a line would count as a damaged receipt in the next run.
            if matches!(error, StoreError::Io { .. }) && path.exists() {
                let _ = disk.truncate(&path, at);
            }
            return Err(error);
        }
        Ok(lines::places_of(&lines, at))
    }

    /// Takes in what was added to the file since.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn take_in(&mut self, store: &Store, added: Vec<ReceiptLine>) -> Result<(), StoreError> {
        if added.is_empty() {
            return Ok(());
        }
        let part = match self.own_part() {
            Some(part) => part,
            None => {
                let path = store.own_receipts();
                self.parts.push(ReceiptFile { file: disk::open(&path)?, path, shard: self.own, bytes: 0 });
                self.own_part().unwrap_or_default()
            }
        };
        self.standing = ListState::Other;
        self.lines.extend(added.into_iter().map(|line| ReceiptLine { part, ..line }));
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

    /// Writes them as one file, sorted, if that changes anything; a part of a larger
    /// run writes those of its own file.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn save(&mut self, store: &Store, disk: &dyn Disk) -> Result<(), StoreError> {
        // Nothing is written that is there: a second run must not touch mtimes.
        if self.standing == ListState::Written {
            return Ok(());
        }
        let path = store.own_receipts();
        let own = self.own_part();
        let temporary = temporary_for(store, disk, &store.private())?;
        let mut piece = Vec::new();
        for (unit, line) in self.each(|line| self.own.is_none() || Some(line.part) == own) {
            // Somebody else has written to it.
            if unit_of(&line).as_deref() != Some(unit) {
                return Err(StoreError::Unsteady { path });
            }
            match self.own {
                // What parts have counted ends with their files.
                None if Revision::of(&line) > Revision::default() => piece.extend_from_slice(&Revision::default().stamp(&line)),
                None | Some(_) => {
                    piece.extend_from_slice(line.strip_suffix(b"\n").unwrap_or(&line));
                    piece.push(b'\n');
                }
            }
            if piece.len() >= PIECE {
                temporary.fill(&piece)?;
                piece.clear();
            }
        }
        temporary.fill(&piece)?;
        temporary.replace(&path)?;
        disk.sync(&store.private())?;
        self.standing = ListState::Written;
        Ok(())
    }

    /// Makes one file of those that parts of larger runs have written, and removes
    /// these. Cut short, what is left of them says the same. The store must be
    /// locked, and not for a part.
    ///
    /// # Errors
    /// When the file cannot be written, or another one not removed.
    pub fn compact(&mut self, store: &Store, disk: &dyn Disk) -> Result<(), StoreError> {
        let of_parts = store.receipts_of_parts().into_iter().chain(store.locks_of_parts()).map(|(_, path)| path);
        // The lock of all parts goes first: as long as one of the others is left, a run
        // that was cut short is finished by the next one.
        let files: Vec<PathBuf> = [store.shared_lock()].into_iter().filter(|path| path.is_file()).chain(of_parts).collect();
        if files.is_empty() {
            return Ok(());
        }
        self.save(store, disk)?;
        // Nobody waits for these locks: who takes one has a share in the store's first.
        files.iter().try_for_each(|file| disk.remove(file))?;
        disk.sync(&store.private())?;
        *self = Receipts::load(store);
        Ok(())
    }

    /// A unit's line.
    fn line_of(&self, unit: &str) -> Option<Cow<'_, [u8]>> {
        if let Some(line) = self.changed.get(unit) {
            return Some(Cow::Borrowed(line));
        }
        self.read(self.place_of(unit)?).map(Cow::Owned)
    }

    fn read(&self, line: &ReceiptLine) -> Option<Vec<u8>> {
        read(&self.parts.get(line.part as usize)?.file, line)
    }

    fn place_of(&self, unit: &str) -> Option<&ReceiptLine> {
        let is_it = |n: &u32| *self.lines[*n as usize].unit == *unit;
        self.by_unit.find(self.hasher.hash_one(unit), is_it).map(|n| &self.lines[*n as usize])
    }

    /// The lines that are wanted, and those that take the place of any, by unit.
    fn each(&self, is_wanted: impl Fn(&ReceiptLine) -> bool) -> impl Iterator<Item = (&str, Cow<'_, [u8]>)> {
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
                    Some((&*line.unit, Cow::Owned(self.read(line).unwrap_or_default())))
                }
            }
        })
    }
}

/// Receipts of units in order: what stands together in the file is read together.
#[derive(Debug)]
pub struct InOrder<'r> {
    receipts: &'r Receipts,
    /// The piece of a file that was read last, which file it is of, and where it
    /// begins.
    piece: Vec<u8>,
    part: u32,
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
            (self.part, self.at) = (line.part, line.at);
            // The next unit's line may be in any of several files.
            let ahead = if self.receipts.parts.len() > 1 && self.receipts.own.is_none() { 0 } else { AHEAD };
            let file = &self.receipts.parts.get(line.part as usize)?.file;
            file.fill_at(&mut self.piece, line.at, ahead.max(line.bytes as usize)).ok()?;
        }
        parsed(self.read(line)?)
    }

    fn read(&self, line: &ReceiptLine) -> Option<&[u8]> {
        if line.part != self.part {
            return None;
        }
        let from = usize::try_from(line.at.checked_sub(self.at)?).ok()?;
        self.piece.get(from..from + line.bytes as usize)
    }
}

/// The files of receipts that a store may have: the one of runs that are no part,
/// then those of parts.
fn files_of(store: &Store) -> Vec<(Option<Shard>, PathBuf)> {
    let parts = store.receipts_of_parts().into_iter().map(|(shard, path)| (Some(shard), path));
    std::iter::once((None, store.receipts())).chain(parts).collect()
}

fn size_of(path: &Path) -> Result<u64, StoreError> {
    match path.symlink_metadata() {
        Ok(meta) => Ok(meta.len()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(0),
        Err(error) => Err(StoreError::io("read", path)(error)),
    }
}

/// The numbers of lines, by unit.
fn by_unit(lines: &[ReceiptLine], hasher: &RandomState) -> HashTable<u32> {
    let mut numbers = HashTable::with_capacity(lines.len());
    let hash_of = |n: &u32| hasher.hash_one(&*lines[*n as usize].unit);
    for n in (0..lines.len()).filter_map(|n| u32::try_from(n).ok()) {
        numbers.insert_unique(hash_of(&n), n, hash_of);
    }
    numbers
}

#[cfg(test)]
mod tests;
