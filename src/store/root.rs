//! The root of a store: one hash over the name and the bytes of every log, the
//! earlier ones included. Whoever keeps it outside the store notices every log
//! that is added, removed, swapped or replaced by an older version.
//!
//! The root is computed from the files themselves and from nothing that a
//! receipt says, and it is what standard tools compute too: the SHA-256 of what
//! `sha256sum -z` prints for all logs in byte order of their paths.

use rayon::prelude::*;
use sha2::{Digest, Sha256};
use std::io::Read;
use std::path::Path;

use crate::model::digest::hex;
use crate::model::files::RelPath;

use super::disk;
use super::error::StoreError;
use super::layout::{LOG_SUFFIX, path_below};
use super::listing;

/// How many bytes of a log are hashed at once.
const CHUNK: usize = 256 * 1024;

/// So many logs are hashed side by side. No more of a store's names are in memory
/// than those of one folder in each folder above it.
const AT_ONCE: usize = 256;

/// Computes the root of the store at a folder, as 64 lower-case hex digits.
///
/// # Errors
/// Returns an I/O error when a folder or a log cannot be read. A root over the
/// readable rest would be the root of a store without the unreadable logs.
pub fn root_of(folder: &Path) -> Result<String, StoreError> {
    let mut root = Root { folder, batch: Vec::new(), hash: Sha256::new() };
    let mut open = vec![logs_in(folder, b"")?.into_iter()];
    while let Some(inside) = open.last_mut() {
        match inside.next() {
            None => drop(open.pop()),
            Some(path) => match path.strip_suffix(b"/") {
                Some(below) => match logs_in(&path_below(folder, &RelPath::new(below)), &path) {
                    Ok(inside) => open.push(inside.into_iter()),
                    // A folder of a run at the same time is gone by now.
                    Err(_) if listing::is_gone(&path_below(folder, &RelPath::new(below))) => {}
                    Err(error) => return Err(error),
                },
                None => root.add(path)?,
            },
        }
    }
    root.hash_batch()?;
    Ok(hex(&root.hash.finalize()))
}

/// Returns the names in a folder of logs and of folders, these with a slash at their end,
/// below a path. In this order what is below them is in byte order of path.
fn logs_in(folder: &Path, below: &[u8]) -> Result<Vec<Vec<u8>>, StoreError> {
    let failed = |error| StoreError::io("read the folder", folder)(error);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(StoreError::io("read the folder", folder))?;
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => names.push([below, name, b"/"].concat()),
            Ok(kind) if kind.is_file() && name.ends_with(LOG_SUFFIX.as_bytes()) => names.push([below, name].concat()),
            Ok(_) => {}
            // A temporary of a run at the same time is gone by now.
            Err(_) if listing::is_gone(&entry.path()) => {}
            Err(error) => return Err(StoreError::io("read", &entry.path())(error)),
        }
    }
    names.sort_unstable();
    Ok(names)
}

/// A root that is being computed, over logs that come in byte order of path.
struct Root<'f> {
    folder: &'f Path,
    batch: Vec<Vec<u8>>,
    hash: Sha256,
}

impl Root<'_> {
    fn add(&mut self, log: Vec<u8>) -> Result<(), StoreError> {
        self.batch.push(log);
        if self.batch.len() < AT_ONCE { Ok(()) } else { self.hash_batch() }
    }

    fn hash_batch(&mut self) -> Result<(), StoreError> {
        let sha256_of = |log: &Vec<u8>| sha256_of(&path_below(self.folder, &RelPath::new(log)));
        let hashes: Vec<String> = self.batch.par_iter().with_max_len(1).map(sha256_of).collect::<Result<_, _>>()?;
        for (log, sha256) in self.batch.drain(..).zip(hashes) {
            // A zero byte ends each pair because no path can contain one: with line
            // ends, one strange name could stand for two logs.
            for part in [sha256.as_bytes(), b"  ", &log, b"\0"] {
                self.hash.update(part);
            }
        }
        Ok(())
    }
}

/// Hashes a log without holding it in memory.
fn sha256_of(path: &Path) -> Result<String, StoreError> {
    let (mut file, meta) = disk::open_regular(path)?;
    let (mut hash, mut chunk) = (Sha256::new(), vec![0; CHUNK.min(meta.len() as usize + 1)]);
    loop {
        match file.read(&mut chunk) {
            Ok(0) => return Ok(hex(&hash.finalize())),
            Ok(read) => hash.update(&chunk[..read]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(StoreError::io("read", path)(error)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::disk::{Disk, RealDisk};

    fn store(logs: &[(&str, &str)]) -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in logs {
            let path = folder.path().join(name);
            RealDisk.create_folders(path.parent().unwrap()).unwrap();
            RealDisk.append(&path, text.as_bytes()).unwrap();
        }
        let root = root_of(folder.path()).unwrap();
        (folder, root)
    }

    #[test]
    fn the_root_is_over_names_and_bytes_of_logs_and_nothing_else() {
        let (a, b) = (("a.everlog.jsonl", "1"), ("d/b.everlog.jsonl", "2"));
        let root = |logs: &[(&str, &str)]| store(logs).1;
        let both = root(&[a, b]);
        // What `sha256sum -z` prints of them in byte order, hashed by `sha256sum`.
        let three = root(&[("a/b.everlog.jsonl", "1"), ("a-b.everlog.jsonl", "2"), ("a.everlog.jsonl", "3")]);
        assert_eq!(three, "8159e1c7c1a9bdedfcf4081e703caac2fecbbb2ccd87083b83b2350b6719100d");
        assert_eq!(both, root(&[b, a]));
        assert_eq!(both, root(&[a, b, (".everlog/receipts.jsonl", "x"), ("notes", "x")]));
        for (what, other) in [
            ("gone", root(&[a])),
            ("swapped", root(&[("a.everlog.jsonl", "2"), ("d/b.everlog.jsonl", "1")])),
            ("other bytes", root(&[a, ("d/b.everlog.jsonl", "3")])),
            ("in another folder", root(&[a, ("d-/b.everlog.jsonl", "2")])),
            ("renamed", root(&[a, ("d/c.everlog.jsonl", "2")])),
            ("an earlier log", root(&[a, b, (".everlog/earlier/a.0.everlog.jsonl", "0")])),
        ] {
            assert_ne!(both, other, "{what}");
        }
    }
}
