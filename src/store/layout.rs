//! Where things lie in a store.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::model::digest::sha256_hex;
use crate::model::files::RelPath;
use crate::model::shard::Shard;

use super::error::StoreError;
use super::walk::{self, real_path};

/// What every log's name ends in.
pub const LOG_SUFFIX: &str = ".everlog.jsonl";

/// The folder for everything in a store that is not a log.
const PRIVATE: &str = ".everlog";

/// The receipts, below the store.
pub const RECEIPTS: &str = ".everlog/receipts.jsonl";

/// What a log's name is while it is being written.
pub(super) const TEMPORARY: &str = ".everlog-tmp";

/// Names longer than this are shortened.
const LONGEST_NAME: usize = 200;
/// What is kept of a long name.
const KEPT_OF_NAME: usize = 180;

/// Returns a path below a folder.
#[must_use]
pub fn path_below(folder: &Path, path: &RelPath) -> PathBuf {
    if path.as_bytes().is_empty() { folder.to_owned() } else { folder.join(OsStr::from_bytes(path.as_bytes())) }
}

/// A folder of logs.
#[derive(Debug, Clone)]
pub struct Store {
    root: PathBuf,
    /// The part of a larger run that writes to it, where it is not one run alone.
    shard: Option<Shard>,
}

impl Store {
    /// Returns the store at this folder, which a person may have named through links:
    /// from there on none is followed.
    pub fn at(root: impl AsRef<Path>) -> Store {
        Store { root: real_path(root.as_ref()), shard: None }
    }

    /// Returns the store as a part of a larger run writes to it: with a lock, receipts and
    /// temporaries of its own.
    #[must_use]
    pub fn for_shard(self, shard: Option<Shard>) -> Store {
        Store { shard, ..self }
    }

    /// Returns the part of a larger run that writes to it, if one does.
    #[must_use]
    pub fn shard(&self) -> Option<Shard> {
        self.shard
    }

    /// Refuses a store in which something else stands where a file or a folder
    /// of ours belongs.
    ///
    /// # Errors
    /// When it does.
    pub fn refuse_planted(&self) -> Result<(), StoreError> {
        [self.private(), self.earlier_folder(), self.blobs()].iter().try_for_each(|folder| walk::is_folder("open", folder).map(|_| ()))?;
        let files = [self.sources(), self.pruned(), self.lock()];
        let receipts = self.receipts_of_parts().into_iter().map(|(_, path)| path).chain([self.receipts()]);
        files.into_iter().chain(receipts).try_for_each(|file| walk::is_file(&file).map(|_| ()))
    }

    /// Returns the folder of the binary companions.
    fn blobs(&self) -> PathBuf {
        self.private().join("blobs")
    }

    /// Returns the store that a log lies in: the nearest folder above with the
    /// store's own folder in it.
    #[must_use]
    pub fn of_log(log: &Path) -> Option<Store> {
        let absolute = std::path::absolute(log).ok()?;
        absolute.ancestors().skip(1).find(|folder| folder.join(PRIVATE).is_dir()).map(Store::at)
    }

    /// Returns the folder itself.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Returns where a unit's log lies, below the store.
    #[must_use]
    pub fn log_name(unit: &RelPath) -> RelPath {
        let bytes = unit.as_bytes();
        let (folder, name) = match memchr::memrchr(b'/', bytes) {
            Some(at) => (&bytes[..=at], &bytes[at + 1..]),
            None => (&b""[..], bytes),
        };
        let mut log = folder.to_vec();
        if name.len() > LONGEST_NAME {
            let mut cut = KEPT_OF_NAME;
            while cut > 0 && name[cut] & 0xc0 == 0x80 {
                cut -= 1;
            }
            log.extend_from_slice(&name[..cut]);
            log.push(b'~');
            log.extend_from_slice(&sha256_hex(name).as_bytes()[..16]);
        } else {
            log.extend_from_slice(name);
        }
        log.extend_from_slice(LOG_SUFFIX.as_bytes());
        RelPath::new(log)
    }

    /// Tells whether a log lies where a unit's log does; both by key.
    #[must_use]
    pub fn is_log_name(unit: &str, log: &str) -> bool {
        if Store::is_log_name_plain(unit) {
            log.strip_suffix(LOG_SUFFIX) == Some(unit)
        } else {
            Store::log_name(&RelPath::from_key(unit)) == RelPath::from_key(log)
        }
    }

    /// Tells whether the name of a unit's log is the unit's key and an ending. Most units
    /// have no name so long that it would be shortened.
    #[must_use]
    pub fn is_log_name_plain(unit: &str) -> bool {
        unit.len() <= LONGEST_NAME && !unit.starts_with('\0')
    }

    /// Returns a path below the store.
    #[must_use]
    pub fn path(&self, relative: &RelPath) -> PathBuf {
        path_below(&self.root, relative)
    }

    /// Returns the folder for what is not a log.
    #[must_use]
    pub fn private(&self) -> PathBuf {
        self.root.join(PRIVATE)
    }

    /// Returns where the findings are that somebody has accepted.
    #[must_use]
    pub fn baseline(&self) -> PathBuf {
        self.private().join("baseline.jsonl")
    }

    /// Returns the sources that the store is of.
    #[must_use]
    pub fn sources(&self) -> PathBuf {
        self.private().join("sources.json")
    }

    /// Returns the receipts of runs that were no part of a larger one.
    #[must_use]
    pub fn receipts(&self) -> PathBuf {
        self.private().join("receipts.jsonl")
    }

    /// Returns the receipts that the run at hand writes.
    #[must_use]
    pub fn own_receipts(&self) -> PathBuf {
        self.shard.map_or_else(|| self.receipts(), |shard| self.receipts_of(shard))
    }

    /// Returns the receipts of a part of a larger run.
    #[must_use]
    pub fn receipts_of(&self, shard: Shard) -> PathBuf {
        self.private().join(format!("receipts-{}.jsonl", shard.in_names()))
    }

    /// Returns the parts of larger runs that have receipts, and where, in the order of parts.
    #[must_use]
    pub fn receipts_of_parts(&self) -> Vec<(Shard, PathBuf)> {
        self.files_of_parts("receipts-", ".jsonl")
    }

    /// Tells whether there are receipts of any kind.
    #[must_use]
    pub fn has_receipts(&self) -> bool {
        self.receipts().is_file() || !self.receipts_of_parts().is_empty()
    }

    /// Returns the files of parts of larger runs whose names begin and end like this.
    fn files_of_parts(&self, before: &str, after: &str) -> Vec<(Shard, PathBuf)> {
        let entries = std::fs::read_dir(self.private()).into_iter().flatten().flatten();
        let part = |entry: std::fs::DirEntry| {
            let name = entry.file_name();
            let shard = Shard::from_name(name.to_str()?.strip_prefix(before)?.strip_suffix(after)?)?;
            Some((shard, entry.path()))
        };
        let mut found: Vec<(Shard, PathBuf)> = entries.filter_map(part).collect();
        found.sort();
        found
    }

    /// Returns what was pruned.
    #[must_use]
    pub fn pruned(&self) -> PathBuf {
        self.private().join("pruned.jsonl")
    }

    /// Returns the lock of the one writer; parts of a larger run share it.
    #[must_use]
    pub fn lock(&self) -> PathBuf {
        self.private().join("lock")
    }

    /// Returns the lock of a part of a larger run.
    #[must_use]
    pub fn lock_of(&self, shard: Shard) -> PathBuf {
        self.private().join(format!("lock-{}", shard.in_names()))
    }

    /// Returns the parts of larger runs that have a lock, held or not, and where.
    #[must_use]
    pub fn locks_of_parts(&self) -> Vec<(Shard, PathBuf)> {
        self.files_of_parts("lock-", "")
    }

    /// Returns the lock of what parts of a larger run write one after another.
    #[must_use]
    pub fn shared_lock(&self) -> PathBuf {
        self.private().join("lock-shared")
    }

    /// Returns the folder of the logs that held more than those that took their places.
    #[must_use]
    pub fn earlier_folder(&self) -> PathBuf {
        self.private().join("earlier")
    }

    /// Tells whether names that differ only in case are one here, as they are on some
    /// systems: then the lock has them all.
    #[must_use]
    pub fn folds_case(&self) -> bool {
        self.private().join("LOCK").exists()
    }

    /// Returns where a log is kept that held more than the one that took its place.
    #[must_use]
    pub fn earlier(&self, log: &RelPath, sha256: &str) -> PathBuf {
        let name = [
            log.as_bytes().strip_suffix(LOG_SUFFIX.as_bytes()).unwrap_or(log.as_bytes()),
            b".",
            &sha256.as_bytes()[..sha256.len().min(16)],
        ]
        .concat();
        let name = [&name[..], LOG_SUFFIX.as_bytes()].concat();
        path_below(&self.earlier_folder(), &RelPath::new(name))
    }

    /// Returns the folder that holds a log's earlier versions, and what their names
    /// begin with.
    #[must_use]
    pub fn earlier_prefix(&self, log: &RelPath) -> (PathBuf, Vec<u8>) {
        let sample = self.earlier(log, "");
        let folder = sample.parent().map(Path::to_owned).unwrap_or_default();
        let name = log.as_bytes().rsplit(|b| *b == b'/').next().unwrap_or_default();
        (folder, [name.strip_suffix(LOG_SUFFIX.as_bytes()).unwrap_or(name), b"."].concat())
    }

    /// Returns where a blob lies.
    #[must_use]
    pub fn blob(&self, sha256: &str) -> PathBuf {
        self.blobs().join(sha256.get(..2).unwrap_or("00")).join(sha256)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_is_named_for_its_unit() {
        let name = |unit: &str| Store::log_name(&RelPath::new(unit)).to_string();
        assert_eq!(name("my-chat"), "my-chat.everlog.jsonl");
        assert_eq!(name("a/b/telegram_42.jsonl"), "a/b/telegram_42.jsonl.everlog.jsonl");
        let long = name(&format!("a/{}", "é".repeat(150)));
        assert!(long.starts_with(&format!("a/{}~", "é".repeat(90))), "{long}");
        assert_eq!(long.len(), 2 + 180 + 1 + 16 + LOG_SUFFIX.len());
        assert_ne!(name(&"x".repeat(201)), name(&"x".repeat(202)));
        let units = ["my-chat".to_owned(), "a/b".to_owned(), "x".repeat(200), "x".repeat(201), format!("a/{}", "x".repeat(200))];
        let keys = units.iter().map(RelPath::new).chain([RelPath::new(b"\xff"), RelPath::new([0xff; 201])]);
        for unit in keys {
            let log = Store::log_name(&unit).key();
            assert!(Store::is_log_name(&unit.key(), &log), "{unit}");
            assert!(!Store::is_log_name(&unit.key(), &format!("{log}x")) && !Store::is_log_name("b", &log), "{unit}");
        }
    }
}
