//! The files of an export, as they are written below one folder: over nothing
//! that exists, and each with all its bytes or not at all.

use sha2::{Digest, Sha256};
use std::io::Write;

use crate::adapters::exporter::Listing;
use crate::export::document::Document;
use crate::model::digest::{hex, sha256_hex};
use crate::model::files::RelPath;
use crate::pipeline::open::LogFile;
use crate::store::StoreError;
use crate::store::layout::LOG_SUFFIX;
use crate::store::listed::ListedEntry;
use crate::store::restored::{Expected, RestoreFolder, Restoring, Standing};

/// So many digits of a hash name a session whose own name is not to be told.
const DIGITS: usize = 16;

/// Whether the names of files may say what their sessions are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// As the logs.
    OfLogs,
    /// By hashes: logs are often named after home directories.
    Hashed,
}

/// The entry with which a program lists a session that is added now.
pub(super) fn listed_entry(listing: &Listing, now_ms: i64) -> ListedEntry {
    let added = listing.added.iter().map(|name| (*name, now_ms.to_string()));
    let says: Vec<String> = listing.says.iter().cloned().chain(added).map(|(name, value)| format!("\"{name}\": {value}")).collect();
    ListedEntry { path: listing.file.key(), key: listing.key.clone(), entry: format!("{{{}}}", says.join(", ")) }
}

/// So many folders of one name are looked at.
const MOST_FOLDERS: usize = 1000;

/// Takes the folder that is nobody else's: the session's own, or the first of that
/// name and a number of which the marker does not speak of another one.
///
/// # Errors
/// When the disk cannot be read, or all are taken.
pub(super) fn in_own_folder(
    folder: &RestoreFolder<'_>,
    root: &RelPath,
    files: Vec<(RelPath, Vec<u8>)>,
    marker: &str,
) -> Result<Vec<(RelPath, Vec<u8>)>, StoreError> {
    let marker = RelPath::new(marker);
    let Some((_, bytes)) = files.iter().find(|(path, _)| *path == marker.below(root)) else { return Ok(files) };
    let expected = Expected::File { size: bytes.len() as u64, sha256: &sha256_hex(bytes) };
    let mut own = root.clone();
    for number in 1..=MOST_FOLDERS {
        match folder.standing(&marker.below(&own), expected) {
            Ok(Standing::Nothing | Standing::AsExpected) => break,
            Err(StoreError::Exists { .. }) if number < MOST_FOLDERS => {
                own = RelPath::new([root.as_bytes(), format!("-{number}").as_bytes()].concat());
            }
            Err(error) => return Err(error),
        }
    }
    let moved = |path: RelPath| match path.as_bytes().strip_prefix(root.as_bytes()).and_then(|rest| rest.strip_prefix(b"/")) {
        Some(rest) => RelPath::new(rest).below(&own),
        None => path,
    };
    Ok(files.into_iter().map(|(path, bytes)| (moved(path), bytes)).collect())
}

/// Returns those of these files that do not stand there yet.
///
/// # Errors
/// When something else stands where one of them belongs.
pub(super) fn missing<'f>(folder: &RestoreFolder<'_>, files: &'f [(RelPath, Vec<u8>)]) -> Result<Vec<&'f (RelPath, Vec<u8>)>, StoreError> {
    let mut missing = Vec::new();
    for file in files {
        let (path, bytes) = file;
        let expected = Expected::File { size: bytes.len() as u64, sha256: &sha256_hex(bytes) };
        if folder.standing(path, expected)? == Standing::Nothing {
            missing.push(file);
        }
    }
    Ok(missing)
}

/// Writes files that do not stand there yet.
///
/// # Errors
/// When one cannot be written.
pub(super) fn write(folder: &RestoreFolder<'_>, missing: &[&(RelPath, Vec<u8>)]) -> Result<(), StoreError> {
    for (path, bytes) in missing {
        let file = folder.file(path)?;
        file.bytes().write_all(bytes).map_err(StoreError::io("write below", folder.root()))?;
        file.done(None)?;
    }
    Ok(())
}

/// Names the files of a document after its log. What else it has lies in the same
/// folder.
pub(super) fn named(files: Vec<(RelPath, Vec<u8>)>, log: &LogFile, document: &dyn Document, names: Names) -> Vec<(RelPath, Vec<u8>)> {
    let log = log.relative.as_bytes();
    let name = match names {
        Names::OfLogs => log.strip_suffix(LOG_SUFFIX.as_bytes()).unwrap_or(log).to_vec(),
        Names::Hashed => sha256_hex(log).as_bytes()[..DIGITS].to_vec(),
    };
    let folder = RelPath::new(name.iter().rposition(|byte| *byte == b'/').map_or(&[][..], |at| &name[..at]));
    let mut files = files.into_iter();
    let document = files.next().map(|(_, bytes)| (RelPath::new([&name, &b"."[..], document.ending().as_bytes()].concat()), bytes));
    document.into_iter().chain(files.map(|(path, bytes)| (path.below(&folder), bytes))).collect()
}

/// A file that sessions share, a line each.
pub(super) struct SharedFile<'d> {
    path: RelPath,
    file: Restoring<'d>,
    size: u64,
    hash: Sha256,
    /// How many bytes it should have.
    wanted: u64,
}

impl<'d> SharedFile<'d> {
    /// Begins the file; it gets its name with [`SharedFile::done`].
    ///
    /// # Errors
    /// When it cannot be made.
    pub(super) fn new(folder: &RestoreFolder<'d>, name: &str) -> Result<SharedFile<'d>, StoreError> {
        let path = RelPath::new(name);
        Ok(SharedFile { file: folder.file(&path)?, path, size: 0, hash: Sha256::new(), wanted: 0 })
    }

    /// Returns its name.
    pub(super) fn name(&self) -> String {
        self.path.to_string()
    }

    /// Adds the line of one session.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn add(&mut self, line: &[u8], folder: &RestoreFolder<'_>) -> Result<(), StoreError> {
        self.wanted += line.len() as u64;
        self.file.bytes().write_all(line).map_err(StoreError::io("write below", folder.root()))?;
        self.size += line.len() as u64;
        self.hash.update(line);
        Ok(())
    }

    /// Tells whether a line could not be written.
    pub(super) fn is_cut(&self) -> bool {
        self.size < self.wanted
    }

    /// Gives the file its name, unless it stands there with the same bytes.
    ///
    /// # Errors
    /// When something else has that name.
    pub(super) fn done(self, folder: &RestoreFolder<'_>) -> Result<(), StoreError> {
        let sha256 = hex(&self.hash.finalize());
        if folder.standing(&self.path, Expected::File { size: self.size, sha256: &sha256 })? == Standing::Nothing {
            self.file.done(None)?;
        }
        Ok(())
    }
}
