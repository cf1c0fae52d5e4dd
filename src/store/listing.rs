//! What lies in a source folder. Links are never followed.

use rayon::prelude::*;
use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::model::files::RelPath;
use crate::model::folder::{FEW_BYTES, FIRST_BYTES, Listed, ListedKind, Listing, Part};
use crate::model::stream::ReadAt;

use super::disk;
use super::error::StoreError;
use super::layout::path_below;

/// So many folders are read in one go.
const FOLDERS_AT_ONCE: usize = 64;

/// Lists everything below a folder.
///
/// # Errors
/// When the folder itself cannot be read; what cannot be read inside it is
/// listed as such.
pub fn list(root: &Path) -> Result<Listing, StoreError> {
    let failed = |error: Errno| StoreError::io("read the folder", root)(error.into());
    let top = rustix::fs::open(root, FOLDER, Mode::empty()).map_err(failed)?;
    let mut found = Found::default();
    let opened = rustix::fs::openat(&top, ".", FOLDER, Mode::empty()).map_err(failed)?;
    found.read(opened, &RelPath::new("")).map_err(failed)?;
    let mut entries: Vec<Listed> = found.entries().collect();
    // Level by level, and the folders of a level at once.
    let mut looked_at = 0;
    loop {
        let folders: Vec<usize> = (looked_at..entries.len()).filter(|n| entries[*n].kind == ListedKind::Folder).collect();
        if folders.is_empty() {
            return Ok(Listing::new(entries));
        }
        looked_at = entries.len();
        let found: Vec<Found> = folders.par_chunks(FOLDERS_AT_ONCE).map(|some| inside(&top, some, &entries)).collect();
        entries.reserve_exact(found.iter().map(|found| found.inside.len()).sum());
        for mut found in found {
            found.folders.drain(..).for_each(|(n, folder)| entries[n] = folder);
            entries.extend(found.entries());
        }
    }
}

/// How folders are opened.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// What was found in some folders.
#[derive(Default)]
struct Found {
    /// The folders themselves, each by its place among those to be looked into.
    folders: Vec<(usize, Listed)>,
    /// What lies in them, in byte order of name in each; its paths one behind the
    /// other, so that they share their memory.
    inside: Vec<State>,
    paths: Vec<u8>,
    lengths: Vec<usize>,
}

/// What stands at a path: what is listed but for the path.
struct State {
    kind: ListedKind,
    size: u64,
    mtime_ns: i64,
    mode: u32,
}

/// Looks into some folders.
fn inside(top: &OwnedFd, folders: &[usize], entries: &[Listed]) -> Found {
    let mut found = Found::default();
    for &n in folders {
        let path = &entries[n].path;
        let opened = rustix::fs::openat(top, path.as_bytes(), FOLDER | OFlags::NOFOLLOW, Mode::empty());
        let stat = match &opened {
            Ok(folder) => rustix::fs::fstat(folder),
            Err(_) => rustix::fs::statat(top, path.as_bytes(), AtFlags::SYMLINK_NOFOLLOW),
        };
        // Its name alone has told what it is so far.
        found.folders.extend(stat.ok().map(|stat| (n, State::of(&stat).at(path.clone()))));
        if let Err(error) = opened.and_then(|folder| found.read(folder, path)) {
            found.add(&[path.as_bytes()], State::unreadable(error));
        }
    }
    found
}

impl Found {
    /// Reads the names in an open folder, and looks at what is no folder.
    fn read(&mut self, folder: OwnedFd, path: &RelPath) -> Result<(), Errno> {
        let mut names = Vec::new();
        let mut folder = Dir::new(folder)?;
        let read = folder.by_ref().try_for_each(|entry| {
            let entry = entry?;
            if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
                names.push(entry);
            }
            Ok(())
        });
        names.sort_unstable_by(|a, b| a.file_name().cmp(b.file_name()));
        let between: &[u8] = if path.as_bytes().is_empty() { b"" } else { b"/" };
        for entry in names {
            let name = entry.file_name();
            let state = if entry.file_type() == FileType::Directory {
                // Looked at when it is open.
                State { kind: ListedKind::Folder, size: 0, mtime_ns: 0, mode: 0 }
            } else {
                let stat = rustix::fs::statat(folder.fd()?, name, AtFlags::SYMLINK_NOFOLLOW);
                stat.map_or_else(State::unreadable, |stat| State::of(&stat))
            };
            self.add(&[path.as_bytes(), between, name.to_bytes()], state);
        }
        read
    }

    fn add(&mut self, path: &[&[u8]], state: State) {
        path.iter().for_each(|part| self.paths.extend_from_slice(part));
        self.lengths.push(path.iter().map(|part| part.len()).sum());
        self.inside.push(state);
    }

    fn entries(self) -> impl Iterator<Item = Listed> {
        RelPath::each_of(&self.paths, self.lengths).zip(self.inside).map(|(path, state)| state.at(path))
    }
}

impl State {
    fn unreadable(error: Errno) -> State {
        let why = std::io::Error::from(error).to_string();
        State { kind: ListedKind::Unreadable(why.into()), size: 0, mtime_ns: 0, mode: 0 }
    }

    fn of(stat: &Stat) -> State {
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
        State { kind, size: u64::try_from(number(stat.st_size)).unwrap_or(0), mtime_ns, mode }
    }

    fn at(self, path: RelPath) -> Listed {
        Listed { path, kind: self.kind, size: self.size, mtime_ns: self.mtime_ns, mode: self.mode }
    }
}

/// A number of a file's state, which has another type on each system.
fn number(value: impl TryInto<i64>) -> i64 {
    value.try_into().unwrap_or(0)
}

/// When a file was last written, in nanoseconds since the epoch.
#[must_use]
pub fn mtime_ns(meta: &fs::Metadata) -> i64 {
    meta.mtime().saturating_mul(1_000_000_000).saturating_add(meta.mtime_nsec())
}

/// The bytes of a file from an offset on; none where they cannot be read.
#[must_use]
pub fn bytes_from(root: &Path, path: &RelPath, offset: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Ok((file, meta)) = disk::open_regular(&path_below(root, path)) {
        let want = usize::try_from(meta.len().saturating_sub(offset)).unwrap_or(usize::MAX);
        // What cannot be read to the end is judged by what there is.
        let _ = file.fill_at(&mut bytes, offset, want);
    }
    bytes
}

/// A part of a file; nothing where it cannot be read.
#[must_use]
pub fn part_of(root: &Path, path: &RelPath, part: Part) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Ok((file, meta)) = disk::open_regular(&path_below(root, path)) {
        let size = usize::try_from(meta.len()).unwrap_or(usize::MAX);
        // What cannot be read to the end is judged by what there is.
        let mut read = |want: usize| {
            let _ = file.fill_at(&mut bytes, 0, want.min(size));
            memchr::memchr(b'\n', &bytes).is_some()
        };
        let _ = match part {
            Part::Whole => read(size),
            Part::Beginning => read(FEW_BYTES) || size < FEW_BYTES || read(FIRST_BYTES),
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
        let listing = list(root).unwrap();
        let names: Vec<String> = listing.entries().iter().map(|entry| entry.path.to_string()).collect();
        let all =
            ["a", "a-b", "a-b/\u{e9}", "a.txt", "a/f", "a/link", "a/x", "a/x/y", "a/x/y/f", "b", "empty", "empty.sock"].map(str::to_owned);
        assert_eq!(names, all);
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
        assert!(list(&root.join("nowhere")).is_err() && list(&root.join("a.txt")).is_err());
    }
}
