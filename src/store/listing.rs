//! What lies in a source folder. Links are never followed.

use rayon::prelude::*;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::ffi::CStr;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::model::files::RelPath;
use crate::model::folder::{FEW_BYTES, FIRST_BYTES, Listed, ListedKind, Listing, Portion};
use crate::model::stream::ReadAt;

use super::disk;
use super::error::StoreError;
use super::layout::path_below;
use super::memory;

/// So many folders are read in one go.
const FOLDERS_AT_ONCE: usize = 64;

/// With so many more to be read, they are shared with other threads.
const FOLDERS_TO_SHARE: usize = 4 * FOLDERS_AT_ONCE;

/// Lists everything below a folder.
///
/// # Errors
/// When the folder itself cannot be read; what cannot be read inside it is
/// listed as such.
pub fn list(root: &Path) -> Result<Listing, StoreError> {
    let failed = |error: Errno| StoreError::io("read the folder", root)(error.into());
    let top = rustix::fs::open(root, FOLDER, Mode::empty()).map_err(failed)?;
    let opened = rustix::fs::openat(&top, ".", FOLDER, Mode::empty()).map_err(failed)?;
    let mut found = ListedEntries::default();
    found.read(&opened, b"").map_err(failed)?;
    let mut folders = std::mem::take(&mut found.folders);
    let mut entries = found.in_order();
    while !folders.is_empty() {
        folders.par_sort_unstable();
        let some = folders.par_chunks(FOLDERS_AT_ONCE).with_max_len(1);
        let inside: Vec<_> = some.map(|some| inside(&top, some)).collect();
        folders.clear();
        entries.reserve_exact(inside.iter().map(|(entries, _)| entries.len()).sum());
        for (mut more, left) in inside {
            entries.append(&mut more);
            folders.extend(left);
        }
    }
    Ok(Listing::new(entries))
}

/// How folders are opened.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// What was found in some folders.
#[derive(Default)]
struct ListedEntries {
    /// What lies there; its paths one after the other, so that they share their
    /// memory.
    states: Vec<EntryState>,
    paths: Vec<u8>,
    lengths: Vec<usize>,
    /// The folders among it, by path: they are looked at when they are open.
    folders: Vec<Vec<u8>>,
    /// How many were found before each of those that were given.
    begun: Vec<usize>,
    /// For names as the system hands them out.
    names: Vec<u8>,
}

/// What stands at a path: what is listed but for the path.
struct EntryState {
    kind: ListedKind,
    size: u64,
    mtime_ns: i64,
    mode: u32,
}

/// Looks into some folders, and those inside. Returns what was found, folder by
/// folder, and the folders that are left to others.
fn inside(top: &OwnedFd, folders: &[Vec<u8>]) -> (Vec<Listed>, Vec<Vec<u8>>) {
    let mut found = ListedEntries { folders: folders.iter().rev().cloned().collect(), ..ListedEntries::default() };
    let mut given = folders.iter().peekable();
    while found.folders.len() <= FOLDERS_TO_SHARE
        && let Some(path) = found.folders.pop()
    {
        if given.next_if(|next| **next == path).is_some() {
            found.begun.push(found.states.len());
        }
        let opened = rustix::fs::openat(top, path.as_slice(), FOLDER | OFlags::NOFOLLOW, Mode::empty());
        let stat = match &opened {
            Ok(folder) => rustix::fs::fstat(folder),
            Err(_) => rustix::fs::statat(top, path.as_slice(), AtFlags::SYMLINK_NOFOLLOW),
        };
        // One that is gone by now is known by its name alone.
        found.add(
            &[&path],
            stat.map_or(EntryState { kind: ListedKind::Folder, size: 0, mtime_ns: 0, mode: 0 }, |stat| EntryState::of(&stat)),
        );
        if let Err(error) = opened.and_then(|folder| found.read(&folder, &path)) {
            found.add(&[&path], EntryState::unreadable(error));
        }
    }
    let left = std::mem::take(&mut found.folders);
    (found.in_order(), left)
}

impl ListedEntries {
    /// Reads the names in an open folder, and looks at what they are.
    fn read(&mut self, folder: &OwnedFd, path: &[u8]) -> Result<(), Errno> {
        let between: &[u8] = if path.is_empty() { b"" } else { b"/" };
        let mut names = std::mem::take(&mut self.names);
        let read = each_name(folder, &mut names, |name, said| {
            if !matches!(name.to_bytes(), b"." | b"..") {
                self.look(folder, &[path, between], name, said);
            }
        });
        self.names = names;
        read
    }

    /// Looks at what has a name in an open folder, unless that is said to be a
    /// folder, too: not every filesystem says what its names are.
    fn look(&mut self, folder: &OwnedFd, before: &[&[u8]; 2], name: &CStr, said: FileType) {
        let path = [before[0], before[1], name.to_bytes()];
        if said == FileType::Directory {
            return self.folders.push(path.concat());
        }
        let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW);
        let state = stat.map_or_else(EntryState::unreadable, |stat| EntryState::of(&stat));
        if state.kind == ListedKind::Folder { self.folders.push(path.concat()) } else { self.add(&path, state) }
    }

    fn add(&mut self, path: &[&[u8]], state: EntryState) {
        path.iter().for_each(|part| self.paths.extend_from_slice(part));
        self.lengths.push(path.iter().map(|part| part.len()).sum());
        self.states.push(state);
    }

    /// Returns what was found: what is in one of the given folders, in byte order of path,
    /// after what is in those before it. That is the order of all, but for names
    /// like `a-b`, which comes before `a/x`.
    fn in_order(self) -> Vec<Listed> {
        let paths = RelPath::each_of(&self.paths, self.lengths);
        let mut entries: Vec<Listed> = paths.zip(self.states).map(|(path, state)| state.at(path)).collect();
        // Of one path what was found first stays first.
        let mut ends = self.begun.iter().skip(1).copied().chain([entries.len()]);
        for from in &self.begun {
            entries[*from..ends.next().unwrap_or(*from)].sort_by(|a, b| a.path.cmp(&b.path));
        }
        entries
    }
}

/// Hands on the names in an open folder, each with what it is said to be. Where
/// not all of them can be read, those that were have been handed on.
#[cfg(target_os = "linux")]
fn each_name(folder: &OwnedFd, buffer: &mut Vec<u8>, mut hand_on: impl FnMut(&CStr, FileType)) -> Result<(), Errno> {
    /// Many names of the greatest length.
    const AT_ONCE: usize = 32 * 1024;
    buffer.reserve(AT_ONCE);
    let mut names = rustix::fs::RawDir::new(folder, buffer.spare_capacity_mut());
    while let Some(entry) = names.next() {
        let entry = entry?;
        hand_on(entry.file_name(), entry.file_type());
    }
    Ok(())
}

/// Hands on each name of a folder, where the system has no call of its own for that.
#[cfg(not(target_os = "linux"))]
fn each_name(folder: &OwnedFd, _: &mut Vec<u8>, mut hand_on: impl FnMut(&CStr, FileType)) -> Result<(), Errno> {
    for entry in rustix::fs::Dir::read_from(folder)? {
        let entry = entry?;
        hand_on(entry.file_name(), entry.file_type());
    }
    Ok(())
}

impl EntryState {
    fn unreadable(error: Errno) -> EntryState {
        let why = std::io::Error::from(error).to_string();
        EntryState { kind: ListedKind::Unreadable(why.into()), size: 0, mtime_ns: 0, mode: 0 }
    }

    fn of(stat: &Stat) -> EntryState {
        let kind = FileType::from_raw_mode(stat.st_mode);
        let kind = if kind.is_file() {
            ListedKind::File
        } else if kind.is_dir() {
            ListedKind::Folder
        } else if kind.is_symlink() {
            ListedKind::Link
        } else {
            ListedKind::Special
        };
        let mtime_ns = number(stat.st_mtime).saturating_mul(1_000_000_000).saturating_add(number(stat.st_mtime_nsec));
        let mode = u32::try_from(number(stat.st_mode)).unwrap_or(0) & 0o7777;
        EntryState { kind, size: u64::try_from(number(stat.st_size)).unwrap_or(0), mtime_ns, mode }
    }

    fn at(self, path: RelPath) -> Listed {
        Listed { path, kind: self.kind, size: self.size, mtime_ns: self.mtime_ns, mode: self.mode }
    }
}

/// Returns a number of a file's state, which has another type on each system.
fn number(value: impl TryInto<i64>) -> i64 {
    value.try_into().unwrap_or(0)
}

/// Returns when a file was last written, in nanoseconds since the epoch.
#[must_use]
pub fn mtime_ns(meta: &fs::Metadata) -> i64 {
    meta.mtime().saturating_mul(1_000_000_000).saturating_add(meta.mtime_nsec())
}

/// Tells whether nothing has a path any more. What may not be looked at is there.
#[must_use]
pub fn is_gone(path: &Path) -> bool {
    path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound)
}

/// Returns the bytes of a file from an offset on; none where they cannot be read.
#[must_use]
pub fn bytes_from(root: &Path, path: &RelPath, offset: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Ok((file, meta)) = disk::open_regular(&path_below(root, path)) {
        let rest = meta.len().saturating_sub(offset);
        let want = if memory::fits(rest).is_ok() { usize::try_from(rest).unwrap_or(usize::MAX) } else { FIRST_BYTES };
        // What cannot be read to the end is judged by what there is.
        let _ = file.fill_at(&mut bytes, offset, want);
    }
    bytes
}

/// Returns a part of a file; nothing where it cannot be read.
#[must_use]
pub fn part_of(root: &Path, path: &RelPath, part: Portion) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Ok((file, meta)) = disk::open_regular(&path_below(root, path)) {
        // Of one that does not fit into memory only the beginning is looked at; its
        // session fails when it is read.
        let size = if memory::fits(meta.len()).is_ok() { usize::try_from(meta.len()).unwrap_or(usize::MAX) } else { FIRST_BYTES };
        // What cannot be read to the end is judged by what there is.
        let mut read = |want: usize| {
            let _ = file.fill_at(&mut bytes, 0, want.min(size));
            memchr::memchr(b'\n', &bytes).is_some()
        };
        let _ = match part {
            Portion::Whole => read(size),
            Portion::Beginning => read(FEW_BYTES) || size < FEW_BYTES || read(FIRST_BYTES),
        };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::disk::{Disk, RealDisk};
    use std::os::unix::fs::FileTypeExt;

    #[test]
    fn everything_is_listed_as_the_system_has_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for name in ["a", "a/x", "a-b", "a/x/y", "empty"] {
            RealDisk.create_folder(&root.join(name)).unwrap();
        }
        for (name, text) in [("a/x/y/f", "1"), ("a/f", "22"), ("a.txt", "333"), ("a-b/\u{e9}", "")] {
            RealDisk.append(&root.join(name), text.as_bytes()).unwrap();
        }
        RealDisk.symlink(Path::new("nowhere"), &root.join("a/link")).unwrap();
        RealDisk.symlink(Path::new("a"), &root.join("b")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(root.join("empty.sock")).unwrap();
        is_listed_as_it_is(root);
        let listing = list(root).unwrap();
        let names: Vec<String> = listing.entries().iter().map(|entry| entry.path.to_string()).collect();
        let all =
            ["a", "a-b", "a-b/\u{e9}", "a.txt", "a/f", "a/link", "a/x", "a/x/y", "a/x/y/f", "b", "empty", "empty.sock"].map(str::to_owned);
        assert_eq!(names, all);
        assert!(list(&root.join("nowhere")).is_err() && list(&root.join("a.txt")).is_err());
    }

    /// Compares a listing with what the system says of each path, and with how
    /// many there are.
    fn is_listed_as_it_is(root: &Path) {
        let listing = list(root).unwrap();
        for entry in listing.entries() {
            let meta = path_below(root, &entry.path).symlink_metadata().unwrap();
            let kind = match meta.file_type() {
                kind if kind.is_file() => ListedKind::File,
                kind if kind.is_dir() => ListedKind::Folder,
                kind if kind.is_symlink() => ListedKind::Link,
                kind => {
                    assert!(kind.is_socket());
                    ListedKind::Special
                }
            };
            let is = (&entry.kind, entry.size, entry.mtime_ns, entry.mode);
            assert_eq!(is, (&kind, meta.len(), mtime_ns(&meta), meta.mode() & 0o7777), "{}", entry.path);
        }
        assert!(listing.entries().is_sorted_by(|a, b| a.path < b.path));
        let mut open = vec![root.to_owned()];
        let mut count = 0;
        while let Some(folder) = open.pop() {
            for entry in std::fs::read_dir(folder).unwrap().flatten() {
                count += 1;
                open.extend(entry.file_type().unwrap().is_dir().then(|| entry.path()));
            }
        }
        assert_eq!(listing.entries().len(), count);
    }

    #[test]
    fn what_no_name_tells_is_looked_at() {
        let folder = tempfile::tempdir().unwrap();
        RealDisk.create_folder(&folder.path().join("inside")).unwrap();
        RealDisk.append(&folder.path().join("file"), b"1").unwrap();
        let opened = rustix::fs::open(folder.path(), FOLDER, Mode::empty()).unwrap();
        for said in [FileType::Unknown, FileType::Directory] {
            let mut found = ListedEntries::default();
            found.look(&opened, &[b"a", b"/"], c"inside", said);
            found.look(&opened, &[b"a", b"/"], c"file", FileType::Unknown);
            assert_eq!(found.folders, [b"a/inside"], "{said:?}");
            let listed = found.in_order();
            assert_eq!(listed.iter().map(|entry| (entry.path.to_string(), entry.size)).collect::<Vec<_>>(), [("a/file".to_owned(), 1)]);
        }
    }

    #[test]
    fn folders_are_shared_between_threads_and_none_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        // Many at once below one, which is below one, and some of those deep.
        for n in 0..FOLDERS_TO_SHARE + 2 * FOLDERS_AT_ONCE {
            let inside = folder.path().join(format!("only/one/{n}"));
            let deep = (0..n % 7).fold(inside, |deep, level| deep.join(level.to_string()));
            RealDisk.create_folders(&deep).unwrap();
            RealDisk.append(&deep.join("f"), b"1").unwrap();
        }
        is_listed_as_it_is(folder.path());
    }
}
