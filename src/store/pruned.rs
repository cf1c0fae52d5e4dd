//! Tombstones: one line for every file that prune takes something from, written
//! and synced before anything is removed. They say how to finish a prune that was cut
//! short, and what to bring back.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use crate::json;
use crate::model::digest::sha256_hex;
use crate::model::files::RelPath;
use crate::model::retention::{Edit, Rule};

use super::disk::{self, Disk};
use super::error::StoreError;
use super::inside::inside;
use super::layout::Store;
use super::line_checksum::{self, LineChecksum};
use super::repairs;

/// What the next run puts after a line that was cut off: that one is known to
/// say nothing, and any other that cannot be read was damaged.
const CUT_OFF: &[u8] = b" (cut off)";

/// What prune takes from one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tombstone {
    /// The prune that it belongs to.
    pub prune: String,
    /// When, in UTC.
    pub at: String,
    /// By which rule.
    pub rule: Rule,
    /// The folder that paths are below.
    pub source: String,
    /// The unit, as a key.
    pub unit: String,
    /// Which files change together: those with the same number.
    pub bundle: u64,
    /// The file below the source, as a key.
    pub file: String,
    /// How many turns, runs, lines or events go; what stands in several files
    /// is counted with the first.
    pub parts: u64,
    /// How many lines go.
    pub lines: u64,
    /// The earliest and the latest time of what is removed, in nanoseconds since the
    /// epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_ns: Option<i64>,
    /// See `first_ns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_ns: Option<i64>,
    /// The file before.
    pub old: SizeAndHash,
    /// The file after; nothing where it is removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub new: Option<SizeAndHash>,
    /// What is cut out or put in; nothing where the file is removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub edits: Vec<Edit>,
    /// Its permission bits.
    pub mode: u32,
    /// Its user and group.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<(u32, u32)>,
    /// Its time, in nanoseconds since the epoch. It keeps it.
    pub mtime_ns: i64,
    /// The process that its name says wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer: Option<u32>,
    /// A file below the source that its program locks to write this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<String>,
    /// The log that has the old bytes, below the store, as a key; nothing
    /// where it was done without.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log: Option<String>,
    /// The hash in that log's seal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_sha256: Option<String>,
    /// The path in that log, as a key, where it has another name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub log_path: Option<String>,
    /// Where the old file was moved to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trash: Option<String>,
    /// Where the old file is kept until all files of its bundle are done, below
    /// the store's folder for that, as a key. Only for a bundle of several
    /// files of which no log and no trash has the bytes: if such a run is
    /// killed in the middle, they are what puts the session back together.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spare: Option<String>,
}

/// A file's size and hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeAndHash {
    /// Its size.
    pub bytes: u64,
    /// The hash of its bytes.
    pub sha256: String,
}

/// How far a prune is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Progress {
    /// Everything that could go is gone.
    Done,
    /// Everything that could come back is back.
    Undone,
}

/// How one file of a prune fared, where that was not as planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Fate {
    /// It was not touched after all.
    Kept,
    /// It has its old bytes again.
    Back,
}

#[derive(Default, Serialize, Deserialize)]
struct PruneMark {
    prune: String,
    /// So many tombstones are all that it has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    buried: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    fate: Option<Fate>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    progress: Option<Progress>,
}

impl PruneMark {
    /// Tells whether it says anything: a damaged tombstone may look like one that
    /// does not.
    fn is_one(&self) -> bool {
        self.buried.is_some() || self.progress.is_some() || (self.file.is_some() && self.fate.is_some())
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum PruneRecord<'s> {
    Stone(&'s Tombstone),
    Mark(PruneMark),
}

/// One prune: its tombstones and how far it is.
#[derive(Debug, Clone, Default)]
pub struct Prune {
    /// Its name.
    pub name: String,
    /// Its files, but for those that were kept or are back.
    pub files: Vec<Tombstone>,
    /// How far it is; nothing where it was cut short.
    pub progress: Option<Progress>,
}

/// All prunes that a store knows of, the oldest first.
#[derive(Debug, Default)]
pub struct Pruned {
    prunes: Vec<Prune>,
    /// The file was cut off in the middle of a line.
    is_torn: bool,
    /// The lines that were damaged, counted from one.
    damaged: Vec<usize>,
}

/// What lines say of whether a prune took something.
#[derive(Debug, Default)]
struct Signs {
    /// All its tombstones were written.
    is_buried: bool,
    /// It went on after that.
    has_begun: bool,
    /// It was cut off while they were.
    is_cut_off: bool,
}

/// Prunes while their lines are read.
#[derive(Debug, Default)]
struct Reading {
    prunes: Vec<Prune>,
    signs: Vec<Signs>,
    place: BTreeMap<String, usize>,
}

impl Reading {
    fn stone(&mut self, stone: Tombstone) {
        let at = *self.place.entry(stone.prune.clone()).or_insert_with(|| {
            self.prunes.push(Prune { name: stone.prune.clone(), ..Prune::default() });
            self.signs.push(Signs::default());
            self.prunes.len() - 1
        });
        self.prunes[at].files.push(stone);
    }

    fn mark(&mut self, mark: &PruneMark) {
        let Some(at) = self.place.get(&mark.prune).copied() else { return };
        let (prune, signs) = (&mut self.prunes[at], &mut self.signs[at]);
        signs.is_buried |= mark.buried == Some(prune.files.len());
        signs.has_begun |= mark.progress.is_some() || mark.fate.is_some();
        prune.progress = mark.progress.or(prune.progress);
        if mark.fate.is_some() {
            prune.files.retain(|stone| mark.file.as_ref() != Some(&stone.file));
        }
    }

    /// Settles what prunes took of which not every tombstone can be read. Nothing
    /// more of them is removed: part of a plan is another plan.
    fn settled(mut self) -> Vec<Prune> {
        let surely = self.prunes.iter().zip(&self.signs).filter(|(_, signs)| signs.is_buried || signs.has_begun);
        let others: BTreeSet<(String, String)> =
            surely.flat_map(|(prune, _)| &prune.files).map(|stone| (stone.source.clone(), stone.file.clone())).collect();
        for (prune, signs) in self.prunes.iter_mut().zip(&self.signs).filter(|(_, signs)| !signs.is_buried) {
            if !signs.has_begun {
                let is_its_own = |stone: &Tombstone| !others.contains(&(stone.source.clone(), stone.file.clone()));
                prune.files.retain(|stone| !signs.is_cut_off && is_its_own(stone) && is_seen_gone(stone));
            }
            let end = if prune.files.is_empty() { Progress::Undone } else { Progress::Done };
            prune.progress = prune.progress.or(Some(end));
        }
        self.prunes
    }
}

/// Reads a tombstone. One without a checksum is of an earlier release, or of
/// somebody else: `doubt` checks what it says of bytes and names, but nothing
/// can check whose its file was. Such a file comes back for its folder's owner
/// only.
fn stone_of(line: &[u8]) -> Option<Tombstone> {
    let stone = serde_json::from_slice::<Tombstone>(line).ok()?;
    match line_checksum::check(line) {
        LineChecksum::Intact => Some(stone),
        LineChecksum::Absent if has_no_checksum(line) => Some(Tombstone { mode: stone.mode & 0o600, owner: None, ..stone }),
        LineChecksum::Absent | LineChecksum::Wrong => None,
    }
}

/// Reads a line that says how a prune went on.
fn mark_of(line: &[u8]) -> Option<PruneMark> {
    let is_intact = match line_checksum::check(line) {
        LineChecksum::Intact => true,
        LineChecksum::Absent => has_no_checksum(line),
        LineChecksum::Wrong => false,
    };
    serde_json::from_slice::<PruneMark>(line).ok().filter(|mark| is_intact && mark.is_one())
}

/// Tells whether a line has no checksum anywhere: one that stands elsewhere than at the
/// end was moved there.
fn has_no_checksum(line: &[u8]) -> bool {
    json::members(line).all(|member| !member.is("sum"))
}

/// Tells whether a file is seen to be what its tombstone makes of it.
fn is_seen_gone(stone: &Tombstone) -> bool {
    let root = Path::new(&stone.source);
    let Ok(path) = inside(root, &stone.path()) else { return false };
    match repairs::current(&path) {
        Ok(None) => stone.new.is_none() && root.is_dir(),
        Ok(Some((now, _))) => stone.new.is_some() && written_since(stone, &now).is_some(),
        Err(_) => false,
    }
}

impl Pruned {
    /// Reads them. A prune whose tombstones were never all written took nothing;
    /// one that went on, or whose files are seen to be gone, lost a line since.
    ///
    /// # Errors
    /// When there is something that cannot be read: that is not as if nothing
    /// had been pruned.
    pub fn read(store: &Store) -> Result<Pruned, StoreError> {
        let bytes = match disk::read(&store.pruned()) {
            Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Vec::new(),
            read => read?,
        };
        let is_torn = !bytes.is_empty() && !bytes.ends_with(b"\n");
        let (mut reading, mut damaged) = (Reading::default(), Vec::new());
        let last = memchr::memchr_iter(b'\n', &bytes).count() + 1;
        for (number, line) in (1..).zip(bytes.split(|b| *b == b'\n')).filter(|(_, line)| !line.is_empty()) {
            if let Some(stone) = stone_of(line) {
                reading.stone(stone);
            } else if let Some(mark) = mark_of(line) {
                reading.mark(&mark);
            } else if number == last || line.ends_with(CUT_OFF) {
                reading.signs.iter_mut().last().into_iter().for_each(|signs| signs.is_cut_off = true);
            } else {
                damaged.push(number);
            }
        }
        Ok(Pruned { prunes: reading.settled(), is_torn, damaged })
    }

    /// Returns the lines that were damaged, counted from one: what they said is lost.
    #[must_use]
    pub fn damaged(&self) -> &[usize] {
        &self.damaged
    }

    /// Returns all of them.
    #[must_use]
    pub fn prunes(&self) -> &[Prune] {
        &self.prunes
    }

    /// Returns those of a source that were cut short. One run prunes one source: what
    /// names several was not written by everlog.
    pub fn unfinished<'p>(&'p self, source: &'p str) -> impl Iterator<Item = &'p Prune> {
        let is_of_source = move |prune: &&Prune| !prune.files.is_empty() && prune.files.iter().all(|stone| stone.source == source);
        self.prunes.iter().filter(|prune| prune.progress.is_none()).filter(is_of_source)
    }

    /// Removes the spare files of prunes that have come to their end.
    ///
    /// # Errors
    /// When one cannot be removed.
    pub fn sweep_spares(store: &Store, disk: &dyn Disk) -> Result<(), StoreError> {
        // Only in a folder of our own, and only what has a name that we give: a link
        // in its place must not lead us to other people's files.
        let folder = store.private().join(SPARES);
        if !folder.symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            return Ok(());
        }
        let entries = std::fs::read_dir(&folder).map_err(StoreError::io("list", &folder))?;
        let pruned = Pruned::read(store)?;
        let unfinished = pruned.prunes.iter().filter(|prune| prune.progress.is_none()).flat_map(|prune| &prune.files);
        let needed: BTreeSet<&[u8]> = unfinished.filter_map(|stone| stone.spare.as_deref()).map(str::as_bytes).collect();
        let ours = entries.flatten().filter(|entry| is_spare_name(&entry.file_name().to_string_lossy()));
        let files = ours.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()));
        let mut names: Vec<_> = files.map(|entry| entry.file_name()).collect();
        names.retain(|name| !needed.contains(name.as_encoded_bytes()));
        names.iter().try_for_each(|name| disk.remove(&folder.join(name)))
    }

    /// Tells whether something went from a source and is not back.
    #[must_use]
    pub fn knows(&self, source: &Path) -> bool {
        self.files().any(|stone| stone.source == source.to_string_lossy())
    }

    /// Returns every file that something was taken from and not brought back.
    pub fn files(&self) -> impl Iterator<Item = &Tombstone> {
        self.prunes.iter().filter(|prune| prune.progress != Some(Progress::Undone)).flat_map(|prune| &prune.files)
    }

    /// Tells whether something that went from a file can be brought back from the log
    /// with this name and this hash in its seal, and was not yet.
    #[must_use]
    pub fn needs(&self, log: &RelPath, seal: &str) -> bool {
        let log = log.key();
        self.files().any(|stone| stone.log.as_ref() == Some(&log) && stone.log_sha256.as_deref() == Some(seal))
    }

    /// Writes tombstones, safe from a power cut.
    ///
    /// # Errors
    /// When it cannot.
    pub fn append_tombstones(&mut self, store: &Store, disk: &dyn Disk, stones: &[Tombstone]) -> Result<(), StoreError> {
        let mut of_prune: BTreeMap<&str, usize> = BTreeMap::new();
        for stone in stones {
            *of_prune.entry(&stone.prune).or_default() += 1;
        }
        let marks =
            of_prune.into_iter().map(|(prune, count)| PruneMark { prune: prune.to_owned(), buried: Some(count), ..PruneMark::default() });
        let lines: Vec<PruneRecord<'_>> = stones.iter().map(PruneRecord::Stone).chain(marks.map(PruneRecord::Mark)).collect();
        self.append(store, disk, &lines)
    }

    /// Says how far a prune is.
    ///
    /// # Errors
    /// When it cannot.
    pub fn mark(&mut self, store: &Store, disk: &dyn Disk, prune: &str, progress: Progress) -> Result<(), StoreError> {
        self.append(store, disk, &[PruneMark { prune: prune.to_owned(), progress: Some(progress), ..PruneMark::default() }])
    }

    /// Says that files of a prune are not as their tombstones say.
    ///
    /// # Errors
    /// When it cannot.
    pub fn note(&mut self, store: &Store, disk: &dyn Disk, stones: &[&Tombstone], fate: Fate) -> Result<(), StoreError> {
        let mark = |stone: &&Tombstone| PruneMark {
            prune: stone.prune.clone(),
            file: Some(stone.file.clone()),
            fate: Some(fate),
            ..PruneMark::default()
        };
        let marks: Vec<PruneMark> = stones.iter().map(mark).collect();
        if marks.is_empty() { Ok(()) } else { self.append(store, disk, &marks) }
    }

    fn append<T: Serialize>(&mut self, store: &Store, disk: &dyn Disk, lines: &[T]) -> Result<(), StoreError> {
        let path = store.pruned();
        let mut bytes = Vec::new();
        if self.is_torn {
            bytes.extend_from_slice(CUT_OFF);
            bytes.push(b'\n');
        }
        for line in lines {
            let mut line = serde_json::to_vec(line).map_err(|error| StoreError::io("write", &path)(error.into()))?;
            line_checksum::add(&mut line);
            bytes.extend_from_slice(&line);
            bytes.push(b'\n');
        }
        disk.create_folders(&store.private())?;
        disk.append(&path, &bytes)?;
        disk.sync(&path)?;
        disk.sync(&store.private())?;
        self.is_torn = false;
        Ok(())
    }
}

/// The folder of spare files, in the store's private folder.
const SPARES: &str = "unfinished";

/// Returns the name of a spare file: of a prune, and a bundle and a file in it.
#[must_use]
pub fn spare_name(prune: &str, bundle: u64, file: usize) -> String {
    format!("{prune}.{bundle}-{file}")
}

fn is_spare_name(name: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let numbers = name.rsplit_once('.').and_then(|(_, numbers)| numbers.split_once('-'));
    numbers.is_some_and(|(bundle, file)| is_number(bundle) && is_number(file))
}

impl Tombstone {
    /// Returns where the old file is kept until its bundle is done.
    ///
    /// # Errors
    /// When the name leads out of the folder for such files.
    pub fn spare_path(&self, store: &Store) -> Result<Option<PathBuf>, StoreError> {
        let name = self.spare.as_deref().map(RelPath::from_key);
        name.map(|name| inside(&store.private(), &name.below(&RelPath::new(SPARES)))).transpose()
    }

    /// Returns its file, below the source.
    #[must_use]
    pub fn path(&self) -> RelPath {
        RelPath::from_key(&self.file)
    }
}

/// Returns what a program wrote after the bytes that prune left; nothing where it did
/// something else with them.
pub(super) fn written_since<'b>(stone: &Tombstone, now: &'b [u8]) -> Option<&'b [u8]> {
    let (left, sha256) = match &stone.new {
        Some(SizeAndHash { bytes, sha256 }) => (usize::try_from(*bytes).ok()?, sha256.clone()),
        // Only journals go on after their end.
        None if stone.rule == Rule::Retired => return None,
        None => (0, sha256_hex(b"")),
    };
    (sha256_hex(now.get(..left)?) == sha256).then(|| &now[left..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::disk::RealDisk;

    fn stone(prune: &str, file: &str) -> Tombstone {
        let text = format!(
            "{{\"prune\":\"{prune}\",\"at\":\"\",\"rule\":\"run-journal\",\"source\":\"/s\",\"unit\":\"u\",\"bundle\":0,\"file\":\"{file}\",\"parts\":1,\"lines\":2,\
             \"old\":{{\"bytes\":3,\"sha256\":\"x\"}},\"mode\":384,\"mtime_ns\":5}}"
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn a_line_that_was_cut_off_is_no_tombstone_and_spoils_no_other() {
        let scratch = tempfile::TempDir::new().unwrap();
        let store = Store::at(scratch.path());
        let mut pruned = Pruned::read(&store).unwrap();
        pruned.append_tombstones(&store, &RealDisk, &[stone("p", "a"), stone("p", "b")]).unwrap();
        RealDisk.append(&store.pruned(), b"{\"prune\":\"q\",\"at").unwrap();
        let mut pruned = Pruned::read(&store).unwrap();
        assert_eq!(pruned.unfinished("/s").map(|prune| prune.files.len()).collect::<Vec<_>>(), [2]);
        assert_eq!(pruned.unfinished("/other").count(), 0);
        pruned.note(&store, &RealDisk, &[&stone("p", "a")], Fate::Kept).unwrap();
        pruned.mark(&store, &RealDisk, "p", Progress::Done).unwrap();
        let pruned = Pruned::read(&store).unwrap();
        assert_eq!(pruned.files().map(|stone| stone.file.as_str()).collect::<Vec<_>>(), ["b"]);
        assert_eq!(pruned.unfinished("/s").count(), 0);
    }
}
