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
    let mut entries = found.entries;
    // Level by level, and the folders of a level at once.
    let mut looked_at = 0;
    loop {
        let folders: Vec<usize> = (looked_at..entries.len()).filter(|n| entries[*n].kind == ListedKind::Folder).collect();
        if folders.is_empty() {
            return Ok(Listing::new(entries));
        }
        looked_at = entries.len();
        let found: Vec<Found> = folders.par_chunks(FOLDERS_AT_ONCE).map(|some| inside(&top, some, &entries)).collect();
        for Found { folders, entries: inside } in found {
            folders.into_iter().for_each(|(n, folder)| entries[n] = folder);
            entries.extend(inside);
        }
    }
}

/// How folders are opened: what has become a link since is not followed.
const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// What was found in some folders.
#[derive(Default)]
struct Found {
    /// The folders themselves, each by its place among those to be looked into.
    folders: Vec<(usize, Listed)>,
    /// What lies in them, in byte order of name in each.
    entries: Vec<Listed>,
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
        found.folders.extend(stat.ok().map(|stat| (n, listed(path.clone(), &stat))));
        if let Err(error) = opened.and_then(|folder| found.read(folder, path)) {
            found.entries.push(unreadable(path.clone(), error));
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
                names.push((entry.file_name().to_owned(), entry.file_type()));
            }
            Ok(())
        });
        names.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        for some in names.chunks(NAMES_TOGETHER) {
            let mut paths = Vec::new();
            let lengths = some.iter().map(|(name, _)| {
                let from = paths.len();
                if !path.as_bytes().is_empty() {
                    paths.extend_from_slice(path.as_bytes());
                    paths.push(b'/');
                }
                paths.extend_from_slice(name.to_bytes());
                paths.len() - from
            });
            let lengths: Vec<usize> = lengths.collect();
            for (path, (name, kind)) in RelPath::each_of(&paths, lengths).zip(some) {
                self.entries.push(match kind {
                    // Looked at when it is open.
                    FileType::Directory => Listed { path, kind: ListedKind::Folder, size: 0, mtime_ns: 0, mode: 0 },
                    _ => match rustix::fs::statat(folder.fd()?, name, AtFlags::SYMLINK_NOFOLLOW) {
                        Ok(stat) => listed(path, &stat),
                        Err(error) => unreadable(path, error),
                    },
                });
            }
        }
        read
    }
}

/// So many names of a folder share the memory of their paths.
const NAMES_TOGETHER: usize = 256;

fn unreadable(path: RelPath, error: Errno) -> Listed {
    let why = std::io::Error::from(error).to_string();
    Listed { path, kind: ListedKind::Unreadable(why.into()), size: 0, mtime_ns: 0, mode: 0 }
}

fn listed(path: RelPath, stat: &Stat) -> Listed {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => ListedKind::File,
        FileType::Directory => ListedKind::Folder,
        FileType::Symlink => ListedKind::Link,
        _ => ListedKind::Special,
    };
    let mtime_ns = number(stat.st_mtime).saturating_mul(1_000_000_000).saturating_add(number(stat.st_mtime_nsec));
    let mode = u32::try_from(number(stat.st_mode)).unwrap_or(0) & 0o7777;
    Listed { path, kind, size: u64::try_from(number(stat.st_size)).unwrap_or(0), mtime_ns, mode }
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
