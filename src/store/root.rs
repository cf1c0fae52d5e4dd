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
use crate::model::folder::ListedKind;

use super::disk;
use super::error::StoreError;
use super::layout::{LOG_SUFFIX, path_below};
use super::listing;

/// How many bytes of a log are hashed at once.
const CHUNK: usize = 256 * 1024;

/// Computes the root of the store at a folder, as 64 lower-case hex digits.
///
/// # Errors
/// Returns an I/O error when a folder or a log cannot be read. A root over the
/// readable rest would be the root of a store without the unreadable logs.
pub fn root_of(folder: &Path) -> Result<String, StoreError> {
    let listing = listing::list(folder)?;
    let mut logs: Vec<&RelPath> = Vec::new();
    for entry in listing.entries() {
        match &entry.kind {
            // Sorted already: a listing is in byte order of path.
            ListedKind::File if is_log(&entry.path) => logs.push(&entry.path),
            // A temporary of a run at the same time is gone by now.
            ListedKind::Unreadable(why) if !listing::is_gone(&path_below(folder, &entry.path)) => {
                return Err(StoreError::io("read", &path_below(folder, &entry.path))(std::io::Error::other(why.to_string())));
            }
            ListedKind::File | ListedKind::Folder | ListedKind::Link | ListedKind::Special | ListedKind::Unreadable(_) => {}
        }
    }
    logs.sort();
    let hashes: Vec<String> = logs.par_iter().with_max_len(1).map(|log| sha256_of(&path_below(folder, log))).collect::<Result<_, _>>()?;
    Ok(root_over(logs.iter().zip(&hashes).map(|(log, sha256)| (log.as_bytes(), sha256.as_str()))))
}

/// Tells whether a path has the name of a log.
#[must_use]
pub fn is_log(path: &RelPath) -> bool {
    path.as_bytes().ends_with(LOG_SUFFIX.as_bytes())
}

/// Hashes pairs of path and hash, which must come in byte order of path.
fn root_over<'p>(pairs: impl Iterator<Item = (&'p [u8], &'p str)>) -> String {
    let mut root = Sha256::new();
    for (path, sha256) in pairs {
        // A zero byte ends each pair because no path can contain one: with line
        // ends, one strange name could stand for two logs.
        for part in [sha256.as_bytes(), b"  ", path, b"\0"] {
            root.update(part);
        }
    }
    hex(&root.finalize())
}

/// Hashes a log without holding it in memory.
fn sha256_of(path: &Path) -> Result<String, StoreError> {
    let (mut file, _) = disk::open_regular(path)?;
    let (mut hash, mut chunk) = (Sha256::new(), vec![0; CHUNK]);
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
        assert_eq!(both, root(&[b, a]));
        assert_eq!(both, root(&[a, b, (".everlog/receipts.jsonl", "x"), ("notes", "x")]));
        for (what, other) in [
            ("gone", root(&[a])),
            ("swapped", root(&[("a.everlog.jsonl", "2"), ("d/b.everlog.jsonl", "1")])),
            ("other bytes", root(&[a, ("d/b.everlog.jsonl", "3")])),
            ("renamed", root(&[a, ("d/c.everlog.jsonl", "2")])),
            ("an earlier log", root(&[a, b, (".everlog/earlier/a.0.everlog.jsonl", "0")])),
        ] {
            assert_ne!(both, other, "{what}");
        }
    }
}
