//! Receipts of sessions that were put where a program looks for them: which files
//! were made, so that exactly these can be taken away again.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::model::digest::sha256_hex;
use crate::model::files::RelPath;

use super::disk::{self, Disk, folder_of};
use super::error::StoreError;
use super::layout::{Store, path_below};
use super::listed::ListedEntry;
use super::open_files::{id_of, kept_open};
use super::replace;
use super::restored::{Expected, RestoreFolder, Standing};
use super::walk;

/// The version of receipts that is written and read.
const VERSION: u32 = 1;
/// More than any receipt has.
const LARGEST: u64 = 16 * 1024 * 1024;
/// The folder of receipts in a store.
const FOLDER: &str = "exports";
/// So many digits of a hash name a receipt.
const DIGITS: usize = 16;

/// What an installation has made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstallReceipt {
    /// The version of the receipt.
    pub everlog_export: u32,
    /// The format of the program.
    pub target: String,
    /// The log that was exported.
    pub log: String,
    /// The session's name in the program.
    pub session: String,
    /// The folder that the paths are below.
    pub folder: PathBuf,
    /// The files that were made.
    pub files: Vec<InstalledFile>,
    /// The entry with which the program lists the session, where it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub listed: Option<ListedEntry>,
}

/// A file that an installation has made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InstalledFile {
    /// Its path, as a key.
    pub path: String,
    /// Its size.
    pub size: u64,
    /// Its hash.
    pub sha256: String,
}

/// Why an installation cannot be taken back.
#[derive(Debug)]
pub enum UninstallError {
    /// The disk.
    Store(StoreError),
    /// The file is not a receipt of an installation.
    NoReceipt {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
    },
    /// The program went on with the session, or somebody changed it.
    WentOn {
        /// The file that is no longer as it was made.
        path: PathBuf,
    },
}

impl From<StoreError> for UninstallError {
    fn from(error: StoreError) -> Self {
        UninstallError::Store(error)
    }
}

impl InstallReceipt {
    /// Makes the receipt for files that are about to be written.
    #[must_use]
    pub fn of(target: &str, log: &str, session: &str, folder: &Path, files: &[&(RelPath, Vec<u8>)]) -> InstallReceipt {
        let file =
            |(path, bytes): &(RelPath, Vec<u8>)| InstalledFile { path: path.key(), size: bytes.len() as u64, sha256: sha256_hex(bytes) };
        InstallReceipt {
            everlog_export: VERSION,
            target: target.to_owned(),
            log: log.to_owned(),
            session: session.to_owned(),
            folder: folder.to_owned(),
            files: files.iter().map(|one| file(one)).collect(),
            listed: None,
        }
    }

    /// Reads a receipt.
    ///
    /// # Errors
    /// When the file is not one.
    pub fn read(path: &Path) -> Result<InstallReceipt, UninstallError> {
        let no_receipt = |why: String| UninstallError::NoReceipt { path: path.to_owned(), why };
        let size = std::fs::metadata(path).map_err(StoreError::io("read", path))?.len();
        if size > LARGEST {
            return Err(no_receipt("it is too large".to_owned()));
        }
        let receipt: InstallReceipt = serde_json::from_slice(&disk::read(path)?).map_err(|error| no_receipt(error.to_string()))?;
        if receipt.everlog_export != VERSION {
            return Err(no_receipt(format!("it is of version {}", receipt.everlog_export)));
        }
        if !receipt.folder.is_absolute() {
            return Err(no_receipt("its folder is not absolute".to_owned()));
        }
        Ok(receipt)
    }

    /// Writes the receipt, before the first of its files: a run that is cut short
    /// afterwards can be taken back, or run again. A receipt that is there already
    /// is that of such a run, and stays: it names all that was made.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, path: &Path, disk: &dyn Disk) -> Result<(), StoreError> {
        if path.exists() {
            return Ok(());
        }
        disk.create_folders(folder_of(path))?;
        replace::sweep_one(disk, folder_of(path))?;
        let mut text = serde_json::to_vec_pretty(self).map_err(|error| StoreError::io("write", path)(error.into()))?;
        text.push(b'\n');
        replace::put(disk, path, &text)
    }

    /// Takes away the files that were made, and then the receipt. A copy of each is
    /// kept beside the receipt: a receipt may be forged, and nobody must lose a file by
    /// it. A run that was cut short is gone on with: a file that is gone is taken away
    /// already.
    ///
    /// # Errors
    /// When a file is not as it was made, or a program has it open: then nothing
    /// is removed.
    pub fn undo(&self, receipt: &Path, disk: &dyn Disk) -> Result<Vec<RelPath>, UninstallError> {
        let mut made = Vec::new();
        let mut hashes = Vec::new();
        let copies = copies_of(receipt);
        if walk::is_folder("open", &copies).unwrap_or(false) {
            replace::sweep_one(disk, &copies)?;
        }
        if walk::is_folder("open", &self.folder).unwrap_or(false) {
            let folder = RestoreFolder::at(&self.folder, disk)?;
            for file in &self.files {
                let path = RelPath::from_key(&file.path);
                match folder.standing(&path, Expected::File { size: file.size, sha256: &file.sha256 }) {
                    Ok(Standing::AsExpected) => {
                        made.push(path);
                        hashes.push(file.sha256.as_str());
                    }
                    Ok(Standing::Nothing) => {}
                    Err(StoreError::Exists { path }) => return Err(UninstallError::WentOn { path }),
                    Err(error) => return Err(error.into()),
                }
            }
            let places: Vec<PathBuf> = made.iter().map(|path| path_below(folder.root(), path)).collect();
            for place in &places {
                let id = std::fs::symlink_metadata(place).map(|meta| id_of(&meta)).map_err(StoreError::io("look at", place))?;
                if !kept_open(BTreeSet::from([id])).is_empty() {
                    return Err(StoreError::Held { path: place.clone() }.into());
                }
            }
            if let Some(listed) = &self.listed {
                listed.remove(&folder, disk).map_err(went_on)?;
            }
            for (place, hash) in places.iter().zip(hashes) {
                disk.create_folders(&copies)?;
                replace::put(disk, &copies.join(hash), &disk::read(place)?)?;
            }
            places.iter().try_for_each(|place| folder.discard(place))?;
            let folders: BTreeSet<&Path> = places.iter().map(|place| folder_of(place)).collect();
            folders.into_iter().try_for_each(|folder| disk.sync(folder))?;
        }
        disk.remove(receipt)?;
        disk.sync(folder_of(receipt))?;
        Ok(made)
    }
}

/// Returns the folder that keeps what was taken away by a receipt, each file under its
/// hash.
#[must_use]
pub fn copies_of(receipt: &Path) -> PathBuf {
    receipt.with_extension("taken-back")
}

fn went_on(error: StoreError) -> UninstallError {
    if let StoreError::Changed { path } = error { UninstallError::WentOn { path } } else { error.into() }
}

/// Returns where the receipt of an installation belongs: in the store of its log,
/// or beside a log that is in none. The same files in the same folder have the
/// same receipt.
#[must_use]
pub fn receipt_of(log: &Path, folder: &Path, target: &str, files: &[(RelPath, Vec<u8>)]) -> PathBuf {
    let mut text = format!("{target}\n{}\n", folder.display());
    for (path, bytes) in files {
        text += &format!("{} {}\n", path.key(), sha256_hex(bytes));
    }
    let name = format!("{target}-{}.json", &sha256_hex(text.as_bytes())[..DIGITS]);
    match Store::of_log(log) {
        Some(store) => store.private().join(FOLDER).join(name),
        None => {
            let mut beside = log.file_name().map(ToOwned::to_owned).unwrap_or_default();
            beside.push(format!(".{name}"));
            log.with_file_name(beside)
        }
    }
}
