//! Taking things out of journals that somebody may have open, and putting them
//! back. A file is replaced as a whole, under its program's own lock; whoever
//! still writes into the old one then is waited for, and what it wrote is
//! carried over.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::model::digest::sha256_hex;
use crate::model::files::RelPath;
use crate::model::retention::edited;
use crate::model::stream::ReadAt;

use super::disk::{self, Disk, Look, folder_of};
use super::error::StoreError;
use super::inside::{going_down, inside};
use super::layout::Store;
use super::lock::FileLock;
use super::open_files::{FileId, PATIENCE, id_of, kept_open, open_elsewhere};
use super::pruned::{Tombstone, written_since};
use super::repairs;
use super::whole::{self, look_of};

/// How long whoever has an old file open is waited for.
const WRITER_PATIENCE: Duration = Duration::from_secs(10);
/// How often an old file is looked at before it is taken to hold still.
const LOOKS: u32 = 5;
const PAUSE: Duration = Duration::from_millis(10);

/// Files below a source.
#[derive(Debug, Clone, Copy)]
pub struct Pruner<'a> {
    /// The disk under them.
    pub disk: &'a dyn Disk,
    /// The source.
    pub root: &'a Path,
    /// The store that has the tombstones.
    pub store: &'a Store,
}

/// A file that is held while it is looked at and replaced.
struct Held {
    path: PathBuf,
    lock: FileLock,
    bytes: Vec<u8>,
    id: FileId,
    look: Look,
}

impl Held {
    /// Holds what stands at a path; nothing where nothing does.
    fn take(path: PathBuf) -> Result<Option<Held>, StoreError> {
        let (file, meta) = match disk::open_regular(&path) {
            Ok(opened) => opened,
            Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let lock = lock(file, &path)?;
        let mut bytes = Vec::new();
        lock.file().read_to_end(&mut bytes).map_err(StoreError::io("read", &path))?;
        let look =
            Look { mode: meta.mode() & 0o7777, owner: Some((meta.uid(), meta.gid())), mtime_ns: Some(super::listing::mtime_ns(&meta)) };
        Ok(Some(Held { path, lock, bytes, id: id_of(&meta), look }))
    }

    /// Tells whether it still has its name, and nobody wrote after what was read.
    fn is_still(&self) -> bool {
        let has_name = std::fs::symlink_metadata(&self.path).is_ok_and(|meta| id_of(&meta) == self.id);
        has_name && self.lock.file().size().is_ok_and(|size| size == self.bytes.len() as u64)
    }
}

/// Takes a lock that its program takes only for a moment.
fn lock(mut file: File, path: &Path) -> Result<FileLock, StoreError> {
    let until = Instant::now() + PATIENCE;
    loop {
        file = match FileLock::take(file) {
            Ok(lock) => return Ok(lock),
            Err((file, TryLockError::WouldBlock)) if Instant::now() < until => file,
            Err((_, TryLockError::WouldBlock)) => return Err(StoreError::Held { path: path.to_owned() }),
            Err((_, TryLockError::Error(source))) => return Err(StoreError::Io { doing: "lock", path: path.to_owned(), source }),
        };
        std::thread::sleep(PAUSE);
    }
}

/// A file and what becomes of it: other bytes, or nothing.
struct PlannedFile {
    held: Held,
    new: Option<Vec<u8>>,
    look: Look,
    /// Where the old file gets another name before this one is changed: in the
    /// trash, and among the spare files.
    kept: Vec<PathBuf>,
}

/// A file that has lost its name, and may still be written to.
struct Leaving {
    path: PathBuf,
    lock: FileLock,
    id: FileId,
    seen: u64,
}

/// Changes that are made together, with the locks that they need.
struct Bundle {
    changes: Vec<PlannedFile>,
    /// What comes back where nothing stands: its path, its bytes and its look.
    missing: Vec<(PathBuf, Vec<u8>, Look)>,
    locks: Vec<FileLock>,
}

impl Bundle {
    fn ids(&self) -> impl Iterator<Item = FileId> {
        self.changes.iter().map(|change| change.held.id)
    }
}

/// How it went.
#[derive(Debug)]
#[must_use]
pub struct Carried {
    /// Each bundle.
    pub bundles: Vec<Result<(), StoreError>>,
    /// Those who had the old files open: whether all have closed them.
    pub writers: Result<(), StoreError>,
}

impl Pruner<'_> {
    fn path_of(&self, stone: &Tombstone) -> Result<PathBuf, StoreError> {
        inside(self.root, &stone.path())
    }

    /// Refuses tombstones of which one names a file outside the source, a log
    /// outside its store, or a folder outside the trash.
    ///
    /// # Errors
    /// At the first that does.
    pub fn refuse_outside<S: Borrow<Tombstone>>(&self, stones: &[S]) -> Result<(), StoreError> {
        for stone in stones.iter().map(Borrow::borrow) {
            stone.spare_path(self.store)?;
            self.path_of(stone)?;
            going_down(&RelPath::new(stone.prune.as_str()))?;
            stone.lock.as_ref().map(|lock| inside(self.root, &RelPath::from_key(lock))).transpose()?;
            stone.log.as_ref().map(|log| going_down(&RelPath::from_key(log))).transpose()?;
        }
        Ok(())
    }

    /// Carries out what tombstones say, those of each bundle together or not at
    /// all. What has been done already is skipped.
    pub fn carry_out(&self, bundles: &[Vec<&Tombstone>]) -> Carried {
        self.make_all(bundles.iter().map(|stones| self.prepare(stones)).collect())
    }

    /// Makes what was prepared, but for what a program has open.
    fn make_all(&self, prepared: Vec<Result<Bundle, StoreError>>) -> Carried {
        let open = kept_open(prepared.iter().flatten().flat_map(Bundle::ids).collect());
        let mut leaving = Vec::new();
        let make = |bundle: Result<Bundle, StoreError>| {
            let bundle = bundle?;
            match bundle.changes.iter().find(|change| open.contains(&change.held.id)) {
                Some(change) => Err(StoreError::Held { path: change.held.path.clone() }),
                None => self.make(bundle, &mut leaving),
            }
        };
        let bundles = prepared.into_iter().map(make).collect();
        Carried { bundles, writers: self.see_off(leaving) }
    }

    /// Takes the locks that programs take to write these files.
    fn locks_of(&self, stones: &[&Tombstone]) -> Result<Vec<FileLock>, StoreError> {
        let mut locks = Vec::new();
        for path in stones.iter().filter_map(|stone| stone.lock.as_ref()).collect::<BTreeSet<_>>() {
            let path = inside(self.root, &RelPath::from_key(path))?;
            if let Ok((file, _)) = disk::open_regular(&path) {
                locks.push(lock(file, &path)?);
            }
        }
        Ok(locks)
    }

    fn prepare(&self, stones: &[&Tombstone]) -> Result<Bundle, StoreError> {
        let locks = self.locks_of(stones)?;
        let mut changes = Vec::new();
        for stone in stones {
            changes.extend(self.change(stone)?);
        }
        Ok(Bundle { changes, missing: Vec::new(), locks })
    }

    /// Returns what a tombstone changes; nothing where that is done.
    fn change(&self, stone: &Tombstone) -> Result<Option<PlannedFile>, StoreError> {
        let path = self.path_of(stone)?;
        let changed = || StoreError::Changed { path: path.clone() };
        let Some(held) = Held::take(path.clone())? else {
            return if stone.new.is_none() { Ok(None) } else { Err(changed()) };
        };
        let sha256 = sha256_hex(&held.bytes);
        if stone.new.as_ref().is_some_and(|new| new.sha256 == sha256) {
            return Ok(None);
        }
        if sha256 != stone.old.sha256 || !held.is_still() {
            return Err(changed());
        }
        let new = match &stone.new {
            None => None,
            Some(new) => Some(edited(&held.bytes, &stone.edits).filter(|bytes| sha256_hex(bytes) == new.sha256).ok_or_else(changed)?),
        };
        let kept = stone.trash.as_ref().map(PathBuf::from).into_iter().chain(stone.spare_path(self.store)?).collect();
        Ok(Some(PlannedFile { look: held.look, held, new, kept }))
    }

    /// Makes all changes of a bundle, none if one of them cannot be prepared.
    fn make(&self, bundle: Bundle, leaving: &mut Vec<Leaving>) -> Result<(), StoreError> {
        let mut staged: Vec<Option<PathBuf>> = Vec::new();
        let mut coming: Vec<Option<PathBuf>> = Vec::new();
        let ready = self.stage_changes(&bundle, &mut staged).and_then(|()| self.stage_missing(&bundle, &mut coming));
        let still = || bundle.changes.iter().find(|change| !change.held.is_still());
        let ready = ready.and_then(|()| still().map_or(Ok(()), |change| Err(StoreError::Changed { path: change.held.path.clone() })));
        let mut folders = BTreeSet::new();
        if let Err(error) = ready.and_then(|()| self.place_missing(&bundle, &mut coming, &mut folders)) {
            self.discard(staged.into_iter().chain(coming));
            return Err(error);
        }
        let mut staged = staged.into_iter();
        for (n, (change, new)) in bundle.changes.into_iter().zip(staged.by_ref()).enumerate() {
            let Held { path, lock, bytes, id, .. } = change.held;
            let done = match &new {
                Some(new) => self.disk.rename(new, &path),
                None => self.disk.remove(&path),
            };
            if let Err(error) = done {
                self.discard(std::iter::once(new).chain(staged));
                if n == 0 {
                    self.take_away(&bundle.missing);
                }
                return Err(error);
            }
            folders.insert(folder_of(&path).to_owned());
            leaving.push(Leaving { path, lock, id, seen: bytes.len() as u64 });
        }
        folders.iter().try_for_each(|folder| self.disk.sync(folder))?;
        drop(bundle.locks);
        Ok(())
    }

    fn stage_changes(&self, bundle: &Bundle, staged: &mut Vec<Option<PathBuf>>) -> Result<(), StoreError> {
        bundle.changes.iter().try_for_each(|change| {
            change.kept.iter().try_for_each(|place| self.keep(&change.held, place))?;
            let folder = folder_of(&change.held.path);
            let one = change.new.as_ref().map(|new| whole::stage(self.disk, folder, new, change.look));
            staged.push(one.transpose()?);
            Ok(())
        })
    }

    fn stage_missing(&self, bundle: &Bundle, coming: &mut Vec<Option<PathBuf>>) -> Result<(), StoreError> {
        bundle.missing.iter().try_for_each(|(path, bytes, look)| {
            self.disk.create_folders(folder_of(path))?;
            coming.push(Some(whole::stage(self.disk, folder_of(path), bytes, *look)?));
            Ok(())
        })
    }

    /// Gives what was missing its names; none, where one is refused.
    fn place_missing(&self, bundle: &Bundle, coming: &mut [Option<PathBuf>], folders: &mut BTreeSet<PathBuf>) -> Result<(), StoreError> {
        for (n, (path, ..)) in bundle.missing.iter().enumerate() {
            let done = coming[n].as_ref().map_or(Ok(()), |staged| self.disk.rename_new(staged, path));
            if let Err(error) = done {
                self.take_away(&bundle.missing[..n]);
                return Err(error);
            }
            coming[n] = None;
            folders.insert(folder_of(path).to_owned());
        }
        Ok(())
    }

    /// Removes what was given its name and is not to have it, unless somebody has
    /// written to it since.
    fn take_away(&self, placed: &[(PathBuf, Vec<u8>, Look)]) {
        for (path, bytes, _) in placed {
            if disk::read(path).is_ok_and(|now| now == *bytes) {
                // What is left is seen, and said.
                let _ = self.disk.remove(path);
            }
        }
    }

    /// Removes what was to take the place of files and does not.
    fn discard(&self, staged: impl IntoIterator<Item = Option<PathBuf>>) {
        for path in staged.into_iter().flatten() {
            // What is left is swept by the next run.
            let _ = self.disk.remove(&path);
        }
    }

    /// Gives an old file a second name in the trash, or a copy where that lies
    /// on another disk.
    fn keep(&self, held: &Held, trash: &Path) -> Result<(), StoreError> {
        let folder = folder_of(trash);
        self.disk.create_folders(folder)?;
        match self.disk.link(&held.path, trash) {
            Ok(()) => {}
            // Kept by a run that was cut short; or something else has the name.
            Err(StoreError::Exists { .. }) if disk::read(trash)? == held.bytes => {}
            Err(error @ StoreError::Exists { .. }) => return Err(error),
            Err(_) => {
                let staged = whole::stage(self.disk, folder, &held.bytes, held.look)?;
                self.disk.rename(&staged, trash)?;
            }
        }
        self.disk.sync(folder)
    }

    /// Waits until nobody has the old files open any more. What was written into
    /// them since they were read goes to where it should have gone.
    fn see_off(&self, mut leaving: Vec<Leaving>) -> Result<(), StoreError> {
        // A writer that waits for the lock must get it to write at all.
        for old in &leaving {
            old.lock.release();
        }
        let ids: BTreeSet<FileId> = leaving.iter().map(|old| old.id).collect();
        let until = Instant::now() + WRITER_PATIENCE;
        let mut quiet = 0;
        while quiet < LOOKS && !leaving.is_empty() {
            // First who has them open, then what they hold: the other way round
            // the last words of a writer would be missed.
            let open = open_elsewhere(&ids);
            quiet += 1;
            for old in &mut leaving {
                if self.carry_over(old)? > 0 || open.contains(&old.id) {
                    quiet = 0;
                }
            }
            if let Some(old) = leaving.iter().find(|old| open.contains(&old.id)).filter(|_| Instant::now() > until) {
                return Err(StoreError::Held { path: old.path.clone() });
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// Adds what was written into an old file to the one that has its name now.
    fn carry_over(&self, old: &mut Leaving) -> Result<u64, StoreError> {
        let size = old.lock.file().size().map_err(StoreError::io("read", &old.path))?;
        if size <= old.seen {
            return Ok(0);
        }
        let mut late = Vec::new();
        let len = usize::try_from(size - old.seen).unwrap_or(usize::MAX);
        old.lock.file().fill_at(&mut late, old.seen, len).map_err(StoreError::io("read", &old.path))?;
        self.disk.append(&old.path, &late)?;
        self.disk.sync(&old.path)?;
        self.disk.sync(folder_of(&old.path))?;
        old.seen = size;
        Ok(late.len() as u64)
    }

    /// Gives files their old bytes again, all or none of each bundle. What was
    /// written after the new bytes since stays after the old ones, on lines of
    /// its own. A bundle stays as it is where one of its files is no longer what
    /// prune made of it, or a program has it locked or open.
    pub fn put_back(&self, bundles: Vec<Vec<(&Tombstone, Vec<u8>)>>) -> Carried {
        self.make_all(bundles.into_iter().map(|files| self.prepare_back(files)).collect())
    }

    fn prepare_back(&self, files: Vec<(&Tombstone, Vec<u8>)>) -> Result<Bundle, StoreError> {
        let stones: Vec<&Tombstone> = files.iter().map(|(stone, _)| *stone).collect();
        let mut bundle = Bundle { changes: Vec::new(), missing: Vec::new(), locks: self.locks_of(&stones)? };
        for (stone, old) in files {
            let path = self.path_of(stone)?;
            let look = |with: Look| Look { mode: stone.mode & 0o777, mtime_ns: Some(stone.mtime_ns), ..with };
            match Held::take(path.clone())? {
                None if stone.new.is_none() => {
                    let like_folder = look_of(&path, None);
                    let owner = stone.owner.or(like_folder.owner);
                    bundle.missing.push((path, old, look(Look { owner, ..like_folder })));
                }
                None => return Err(StoreError::Changed { path }),
                // Put back by an undo that was cut short, and perhaps written on.
                Some(held) if held.bytes.starts_with(&old) => {}
                Some(held) => {
                    let rest = written_since(stone, &held.bytes).ok_or_else(|| StoreError::Changed { path: path.clone() })?;
                    let new = with_appended(&old, &held.bytes[..held.bytes.len() - rest.len()], rest);
                    let look = if rest.is_empty() { look(held.look) } else { Look { mtime_ns: None, ..held.look } };
                    bundle.changes.push(PlannedFile { held, new: Some(new), look, kept: Vec::new() });
                }
            }
        }
        Ok(bundle)
    }

    /// Tells whether files stand here as a prune has left them, or were written on:
    /// then this may be its source, wherever it was then.
    #[must_use]
    pub fn stand_here(&self, stones: &[Tombstone]) -> bool {
        stones.iter().all(|stone| {
            let Ok(path) = self.path_of(stone) else { return false };
            match (disk::read(&path), &stone.new) {
                // An undo that was cut short has brought some back.
                (Ok(now), _) => written_since(stone, &now).is_some() || has_come_back(stone, &now),
                (Err(_), Some(_)) => false,
                (Err(_), None) => folder_of(&path).is_dir(),
            }
        })
    }

    /// Tells whether a file has its old bytes, perhaps with more after them.
    #[must_use]
    pub fn is_back(&self, stone: &Tombstone) -> bool {
        let now = self.path_of(stone).and_then(|path| repairs::current(&path));
        matches!(now, Ok(Some((now, _))) if has_come_back(stone, &now))
    }

    /// Tells whether a file has its old bytes, and makes sure that they survive a power
    /// cut.
    #[must_use]
    pub fn is_back_for_good(&self, stone: &Tombstone) -> bool {
        self.is_back(stone) && self.path_of(stone).and_then(|path| self.disk.sync(folder_of(&path))).is_ok()
    }

    /// Removes what a prune that was cut short has left beside its files.
    ///
    /// # Errors
    /// When something cannot be removed.
    pub fn sweep<S: Borrow<Tombstone>>(&self, stones: &[S]) -> Result<(), StoreError> {
        let mut folders = BTreeSet::new();
        for stone in stones.iter().map(Borrow::borrow) {
            folders.insert(folder_of(&self.path_of(stone)?).to_owned());
        }
        folders.iter().try_for_each(|folder| super::replace::sweep_one(self.disk, folder))
    }
}

/// Tells whether a file begins with its old bytes.
fn has_come_back(stone: &Tombstone, now: &[u8]) -> bool {
    let old = usize::try_from(stone.old.bytes).ok().and_then(|bytes| now.get(..bytes));
    old.is_some_and(|old| sha256_hex(old) == stone.old.sha256)
}

/// Old bytes with what was written since after them: on a line of its own,
/// unless it goes on with a line that prune left at the end.
fn with_appended(old: &[u8], left: &[u8], rest: &[u8]) -> Vec<u8> {
    let is_whole = |bytes: &[u8]| bytes.is_empty() || bytes.ends_with(b"\n");
    let between: &[u8] = if !rest.is_empty() && is_whole(left) && !is_whole(old) { b"\n" } else { b"" };
    [old, between, rest].concat()
}
