//! A session's files as bytes, all of one moment.

use std::fs::{self, File};
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::model::files::{Entry, Files, LARGE, RelPath, SourceFile};

use super::disk;
use super::error::StoreError;
use super::layout::path_below;
use super::listing::mtime_ns;
use super::memory;

/// How often a file that changes is read again.
const ATTEMPTS: u32 = 4;

/// So much more is read of a file than it had when it was opened: one that grows
/// is read again, and one that never ends must not fill the memory.
const GROWTH: u64 = 64 << 20;

/// A file that has not been written for this long is taken to hold still.
const QUIET: Duration = Duration::from_millis(20);

/// What tells one state of a file from another.
#[derive(Debug, PartialEq, Eq)]
struct Identity {
    size: u64,
    mtime_ns: i64,
    inode: u64,
}

impl Identity {
    fn is_fresh(&self) -> bool {
        let written = UNIX_EPOCH + Duration::from_nanos(u64::try_from(self.mtime_ns).unwrap_or(0));
        // A time in the future says nothing about now.
        SystemTime::now().duration_since(written).is_ok_and(|age| age < QUIET)
    }

    fn of(meta: &fs::Metadata) -> Identity {
        Identity { size: meta.len(), mtime_ns: mtime_ns(meta), inode: meta.ino() }
    }
}

/// Reads a session's files; `name` is the session's own.
///
/// # Errors
/// When a file cannot be read, or changes each time it is.
pub fn take(root: &Path, name: &[u8], paths: &[RelPath]) -> Result<Files, StoreError> {
    refuse_what_does_not_fit(root, paths)?;
    let mut pause = Duration::from_millis(10);
    for _ in 0..ATTEMPTS {
        let mut files = Files::new(name);
        let mut before = Vec::with_capacity(paths.len());
        for path in paths {
            let (entry, identity) = read(&path_below(root, path))?;
            before.push(identity);
            files.insert(path.clone(), entry);
        }
        // A file that is being rewritten in place can look whole, or empty, for
        // a moment: one that was written just now is given time to change.
        if before.iter().any(Identity::is_fresh) {
            std::thread::sleep(QUIET);
        }
        // A program that writes several files writes them one after the other:
        // all must still be what they were when the last one had been read.
        match paths.iter().zip(&before).find(|(path, identity)| !is_still(&path_below(root, path), identity)) {
            None => return Ok(files),
            Some(_) => std::thread::sleep(pause),
        }
        pause *= 3;
    }
    let unsteady = paths.first().map(|path| path_below(root, path)).unwrap_or_else(|| root.to_owned());
    Err(StoreError::Unsteady { path: unsteady })
}

/// Refuses a session that is larger than the memory that there is: a sparse file
/// can be larger than any disk.
fn refuse_what_does_not_fit(root: &Path, paths: &[RelPath]) -> Result<(), StoreError> {
    let sizes = paths.iter().filter_map(|path| {
        let full = path_below(root, path);
        let size = fs::symlink_metadata(&full).ok().filter(fs::Metadata::is_file)?.len();
        Some((size, full))
    });
    let (mut bytes, mut largest) = (0u64, (0, root.to_owned()));
    for (size, path) in sizes {
        bytes = bytes.saturating_add(size);
        if size > largest.0 {
            largest = (size, path);
        }
    }
    memory::fits(bytes).map_err(|free| StoreError::NoMemory { path: largest.1, bytes, free })
}

fn is_still(path: &Path, identity: &Identity) -> bool {
    fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir() || Identity::of(&meta) == *identity)
}

fn read(path: &Path) -> Result<(Entry, Identity), StoreError> {
    let meta = fs::symlink_metadata(path).map_err(StoreError::io("read", path))?;
    let identity = Identity::of(&meta);
    let entry = if meta.is_dir() {
        Entry::EmptyFolder
    } else if meta.is_symlink() {
        let target = fs::read_link(path).map_err(StoreError::io("read the link", path))?;
        Entry::Link { target: target.as_os_str().as_bytes().to_vec() }
    } else {
        let (mut file, meta) = disk::open_regular(path)?;
        let size = usize::try_from(meta.len()).unwrap_or(0);
        let bytes = match read_by_two(&file, size) {
            Some(bytes) => bytes,
            None => {
                let mut bytes = Vec::new();
                disk::reserve(&mut bytes, size as u64).map_err(StoreError::io("read", path))?;
                // It may grow while it is read, but not without end.
                let mut file = file.by_ref().take((size as u64).saturating_add(GROWTH));
                file.read_to_end(&mut bytes).map_err(StoreError::io("read", path))?;
                bytes
            }
        };
        return Ok((Entry::File(SourceFile { bytes, mtime_ns: mtime_ns(&meta) }), Identity::of(&meta)));
    };
    Ok((entry, identity))
}

/// Returns a large file as two threads read it, each one half: what takes time is that
/// memory is handed out. Nothing where that fails, or is not worth it.
fn read_by_two(file: &File, size: usize) -> Option<Vec<u8>> {
    if (size as u64) < LARGE {
        return None;
    }
    let mut bytes = Vec::new();
    disk::reserve(&mut bytes, size as u64).ok()?;
    bytes.resize(size, 0);
    let (first, second) = bytes.split_at_mut(size / 2);
    let middle = first.len() as u64;
    let is_whole = std::thread::scope(|scope| {
        let second = std::thread::Builder::new().spawn_scoped(scope, move || file.read_exact_at(second, middle).is_ok());
        file.read_exact_at(first, 0).is_ok() && second.is_ok_and(|read| read.join().unwrap_or(false))
    });
    is_whole.then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::disk::{Disk, RealDisk};

    const LARGE: usize = super::LARGE as usize;

    #[test]
    fn a_file_of_whatever_size_is_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        for size in [0, 1, LARGE - 1, LARGE, LARGE + 1, 3 * LARGE + 7] {
            let path = folder.path().join(size.to_string());
            // No two places look alike.
            let bytes: Vec<u8> = (0u32..).flat_map(u32::to_le_bytes).take(size).collect();
            RealDisk.append(&path, &bytes).unwrap();
            let (entry, identity) = read(&path).unwrap();
            assert!(matches!(entry, Entry::File(file) if file.bytes == bytes), "{size}");
            assert!(is_still(&path, &identity));
        }
    }

    #[test]
    fn a_file_that_is_shorter_than_it_was_is_not_read_by_two() {
        let named = tempfile::NamedTempFile::new().unwrap();
        RealDisk.append(named.path(), &vec![b'x'; LARGE]).unwrap();
        let file = named.as_file();
        assert!(read_by_two(file, LARGE).is_some());
        for size in [LARGE + 1, 2 * LARGE, 2 * LARGE + 1, 3 * LARGE] {
            assert!(read_by_two(file, size).is_none(), "{size}");
        }
    }
}
