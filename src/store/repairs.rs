//! Repairs on disk: old bytes are kept, new ones staged, and both written down
//! in a receipt before the first name changes, so that a repair that was cut
//! short can be finished or undone.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs::Metadata;
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::model::digest::sha256_hex;
use crate::model::files::RelPath;

use super::disk::{self, Disk, Look, folder_of};
use super::error::StoreError;
use super::inside::inside;
use super::layout::path_below;
use super::listing::mtime_ns;
use super::replace::temporary_in;
use super::whole::look_of;

/// The name of a receipt.
pub const RECEIPT: &str = "receipt.json";

/// How far a repair is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RepairState {
    /// Files are getting their new bytes.
    Applying,
    /// All have them.
    Applied,
    /// Files are getting their old bytes again.
    Undoing,
    /// All have their old bytes again.
    Undone,
}

/// What one repair changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepairReceipt {
    /// The version of this form: 1.
    pub version: u32,
    /// The plan that it carried out.
    pub fingerprint: String,
    /// How far it is.
    pub state: RepairState,
    /// The time that the repair wrote into files, in nanoseconds since the epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stamp_ns: Option<i64>,
    /// The files, in the order of the plan.
    pub files: Vec<RepairedFile>,
}

/// One file of a repair.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepairedFile {
    /// Its path below the source, as a key.
    pub path: String,
    /// What it was; nothing where it is new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub old: Option<OldFile>,
    /// The hash of the bytes that it gets.
    pub new_sha256: String,
    /// Why.
    pub why: Vec<String>,
}

/// A file as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OldFile {
    /// The hash of its bytes.
    pub sha256: String,
    /// Its time, in nanoseconds since the epoch.
    pub mtime_ns: i64,
    /// Its permission bits.
    pub mode: u32,
    /// Where its bytes are kept, below the receipt's folder.
    pub kept: String,
}

/// One file that is to change.
#[derive(Debug, Clone)]
pub struct Planned<'a> {
    /// Its path below the source.
    pub path: &'a RelPath,
    /// What it must still be; nothing where it must not be there.
    pub old_sha256: Option<&'a str>,
    /// The bytes that it is to have.
    pub bytes: &'a [u8],
    /// Why.
    pub why: Vec<String>,
}

/// A repair below a source, with its receipt in a folder of its own.
#[derive(Debug)]
pub struct Repair<'a> {
    /// The disk under both.
    pub disk: &'a dyn Disk,
    /// The source.
    pub root: &'a Path,
    /// Where the old bytes lie.
    folder: PathBuf,
    /// The receipt itself.
    receipt: PathBuf,
}

/// What a file of a repair is now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileState {
    /// What it was before the repair.
    Old,
    /// What the repair made of it.
    New,
    /// Something else.
    Other,
}

/// Returns a regular file's bytes, time and mode; nothing where there is none.
///
/// # Errors
/// When it cannot be read.
pub fn current(path: &Path) -> Result<Option<(Vec<u8>, Metadata)>, StoreError> {
    match disk::open_regular(path) {
        Ok((mut file, meta)) => {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes).map_err(StoreError::io("read", path))?;
            Ok(Some((bytes, meta)))
        }
        Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns a file's time, in nanoseconds since the epoch.
#[must_use]
pub fn time_of(meta: &Metadata) -> i64 {
    mtime_ns(meta)
}

impl<'a> Repair<'a> {
    /// Returns the repair whose receipt lies in a folder under its usual name.
    pub fn in_folder(disk: &'a dyn Disk, root: &'a Path, folder: &Path) -> Repair<'a> {
        Repair { disk, root, folder: folder.to_owned(), receipt: folder.join(RECEIPT) }
    }

    /// Returns the repair with this receipt, whatever its name. Its old bytes lie beside
    /// it.
    pub fn of_receipt(disk: &'a dyn Disk, root: &'a Path, receipt: &Path) -> Repair<'a> {
        Repair { disk, root, folder: folder_of(receipt).to_owned(), receipt: receipt.to_owned() }
    }

    /// Returns where the old bytes lie.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Tells what each file of a receipt is now.
    ///
    /// # Errors
    /// When one leads elsewhere or cannot be read.
    pub fn states(&self, receipt: &RepairReceipt) -> Result<Vec<FileState>, StoreError> {
        receipt.files.iter().map(|file| self.state_of(file, &self.target(file)?)).collect()
    }

    /// Returns the receipt that is there.
    ///
    /// # Errors
    /// When there is one that cannot be read, or that names files elsewhere.
    pub fn receipt(&self) -> Result<Option<RepairReceipt>, StoreError> {
        let Some((bytes, _)) = current(&self.receipt)? else { return Ok(None) };
        let receipt: RepairReceipt =
            serde_json::from_slice(&bytes).map_err(|error| StoreError::io("read the receipt", &self.receipt)(error.into()))?;
        for file in &receipt.files {
            self.target(file)?;
            file.old.as_ref().map(|old| self.kept(old)).transpose()?;
        }
        Ok(Some(receipt))
    }

    /// Returns where a file of a receipt lies.
    fn target(&self, file: &RepairedFile) -> Result<PathBuf, StoreError> {
        inside(self.root, &RelPath::from_key(&file.path))
    }

    /// Reads the bytes that a file had before the repair.
    ///
    /// # Errors
    /// When they are not those that were kept.
    pub fn old_bytes(&self, old: &OldFile) -> Result<Vec<u8>, StoreError> {
        is_still(&self.kept(old)?, &old.sha256)
    }

    /// Returns where its old bytes are kept.
    fn kept(&self, old: &OldFile) -> Result<PathBuf, StoreError> {
        inside(&self.folder, &RelPath::new(old.kept.as_str()))
    }

    /// Keeps the old bytes, stages the new ones, and writes the receipt. No
    /// file of the source changes yet.
    ///
    /// # Errors
    /// When a file is no longer what the plan says, or nothing can be written.
    pub fn prepare(&self, fingerprint: &str, stamp_ns: i64, planned: &[Planned<'_>]) -> Result<RepairReceipt, StoreError> {
        self.disk.create_folders(&self.folder)?;
        let mut files = Vec::new();
        for (n, file) in planned.iter().enumerate() {
            let target = path_below(self.root, file.path);
            let now = current(&target)?;
            let sha256 = now.as_ref().map(|(bytes, _)| sha256_hex(bytes));
            if sha256.as_deref() != file.old_sha256 {
                return Err(StoreError::Changed { path: target });
            }
            let name = file.path.as_bytes().rsplit(|b| *b == b'/').next().map(String::from_utf8_lossy).unwrap_or_default();
            let kept = format!("old-{:04}-{name}", n + 1);
            let old = match (&now, sha256) {
                (Some((bytes, meta)), Some(sha256)) => {
                    let private = Look { mode: 0o600, owner: None, mtime_ns: Some(mtime_ns(meta)) };
                    self.write(bytes, private, &self.folder.join(&kept))?;
                    Some(OldFile { sha256, mtime_ns: mtime_ns(meta), mode: meta.mode() & 0o7777, kept })
                }
                _ => None,
            };
            self.write(file.bytes, look_of(&target, now.as_ref().map(|(_, meta)| meta)), &self.staged(n))?;
            files.push(RepairedFile { path: file.path.key(), old, new_sha256: sha256_hex(file.bytes), why: file.why.clone() });
        }
        self.disk.sync(&self.folder)?;
        let receipt = RepairReceipt {
            version: 1,
            fingerprint: fingerprint.to_owned(),
            state: RepairState::Applying,
            stamp_ns: Some(stamp_ns),
            files,
        };
        self.save(&receipt)?;
        Ok(receipt)
    }

    /// Gives every file its staged bytes. One that has them already is passed
    /// over, so that this can be done again.
    ///
    /// # Errors
    /// At the first file that is neither what it was nor what it is to be.
    pub fn carry_out(&self, receipt: &mut RepairReceipt) -> Result<(), StoreError> {
        let mut folders = BTreeSet::new();
        for (n, file) in receipt.files.iter().enumerate() {
            let target = self.target(file)?;
            folders.insert(folder_of(&target).to_owned());
            match self.state_of(file, &target)? {
                FileState::New => {}
                FileState::Old => {
                    // A receipt that was found may have been written by somebody else:
                    // what goes into the source is what it says, and a way back exists.
                    let staged = self.staged(n);
                    is_still(&staged, &file.new_sha256)?;
                    file.old.as_ref().map(|old| is_still(&self.kept(old)?, &old.sha256).map(drop)).transpose()?;
                    self.publish(&staged, &target, Over::of(file.old.as_ref()))?;
                }
                FileState::Other => return Err(StoreError::Changed { path: target }),
            }
        }
        folders.iter().try_for_each(|folder| self.disk.sync(folder))?;
        receipt.state = RepairState::Applied;
        self.save(receipt)
    }

    /// Puts the old bytes back, and takes away what is new; the repaired bytes
    /// are kept beside the receipt. A file that has its old bytes already is
    /// skipped, so that this can be done again.
    ///
    /// # Errors
    /// Before anything is done, if a file is neither what it was nor what the
    /// repair made of it, or its old bytes are not those that were kept; or when
    /// the disk fails.
    pub fn undo(&self, receipt: &mut RepairReceipt) -> Result<(), StoreError> {
        let targets = receipt.files.iter().map(|file| self.target(file)).collect::<Result<Vec<PathBuf>, StoreError>>()?;
        let states = self.states(receipt)?;
        if let Some((_, target)) = states.iter().zip(&targets).find(|(state, _)| **state == FileState::Other) {
            return Err(StoreError::Changed { path: target.clone() });
        }
        for (file, _) in receipt.files.iter().zip(&states).filter(|(_, state)| **state == FileState::New) {
            file.old.as_ref().map(|old| is_still(&self.kept(old)?, &old.sha256).map(drop)).transpose()?;
        }
        if states.contains(&FileState::New) && receipt.state != RepairState::Undoing {
            // From here on this is no longer a repair that is done.
            receipt.state = RepairState::Undoing;
            self.save(receipt)?;
        }
        let mut folders = BTreeSet::new();
        for (n, ((file, target), state)) in receipt.files.iter().zip(&targets).zip(&states).enumerate().rev() {
            if *state == FileState::Old {
                continue;
            }
            folders.insert(folder_of(target).to_owned());
            let repaired = is_still(target, &file.new_sha256)?;
            let private = Look { mode: 0o600, owner: None, mtime_ns: None };
            self.write(&repaired, private, &self.folder.join(format!("undone-{:04}", n + 1)))?;
            // The copy has a safe name before the source changes: after a power cut
            // nothing else would have the repaired bytes.
            self.disk.sync(&self.folder)?;
            match &file.old {
                None => self.disk.remove(target)?,
                Some(old) => {
                    let kept = self.kept(old)?;
                    let bytes = is_still(&kept, &old.sha256)?;
                    let now = current(target)?;
                    let look = Look {
                        mode: old.mode & 0o777,
                        mtime_ns: Some(old.mtime_ns),
                        ..look_of(target, now.as_ref().map(|(_, meta)| meta))
                    };
                    let back = self.folder.join("back");
                    self.write(&bytes, look, &back)?;
                    self.publish(&back, target, Over::TheOldOne)?;
                }
            }
        }
        folders.iter().try_for_each(|folder| self.disk.sync(folder))?;
        receipt.state = RepairState::Undone;
        self.save(receipt)
    }

    fn staged(&self, n: usize) -> PathBuf {
        self.folder.join(format!("new-{:04}", n + 1))
    }

    fn state_of(&self, file: &RepairedFile, target: &Path) -> Result<FileState, StoreError> {
        let now = current(target)?.map(|(bytes, _)| sha256_hex(&bytes));
        if now.as_ref() == Some(&file.new_sha256) {
            return Ok(FileState::New);
        }
        if now.as_ref() == file.old.as_ref().map(|old| &old.sha256) {
            return Ok(FileState::Old);
        }
        Ok(FileState::Other)
    }

    /// Writes a file under a name, all of it or none.
    fn write(&self, bytes: &[u8], look: Look, path: &Path) -> Result<(), StoreError> {
        let temporary = temporary_in(self.disk, folder_of(path))?;
        temporary.fill(bytes)?;
        temporary.dress(look)?;
        temporary.replace(path)
    }

    /// Gives a file of the receipt's folder its name in the source.
    fn publish(&self, from: &Path, to: &Path, over: Over) -> Result<(), StoreError> {
        match self.rename(from, to, over) {
            Err(StoreError::Io { source, .. }) if source.kind() == io::ErrorKind::CrossesDevices => {}
            done => return done,
        }
        // The receipts lie on another disk: a copy beside the target, then.
        let (bytes, meta) = current(from)?.ok_or_else(|| StoreError::Changed { path: from.to_owned() })?;
        let look = Look { mode: meta.mode() & 0o7777, owner: Some((meta.uid(), meta.gid())), mtime_ns: Some(mtime_ns(&meta)) };
        let staged = folder_of(to).join(format!(".{}.everlog-tmp", sha256_hex(&bytes)));
        self.write(&bytes, look, &staged)?;
        self.rename(&staged, to, over)
    }

    fn rename(&self, from: &Path, to: &Path, over: Over) -> Result<(), StoreError> {
        match over {
            Over::Nothing => self.disk.rename_new(from, to),
            Over::TheOldOne => self.disk.rename(from, to),
        }
    }

    fn save(&self, receipt: &RepairReceipt) -> Result<(), StoreError> {
        let mut bytes = serde_json::to_vec_pretty(receipt).map_err(|error| StoreError::io("write", &self.receipt)(error.into()))?;
        bytes.push(b'\n');
        self.write(&bytes, Look { mode: 0o600, owner: None, mtime_ns: None }, &self.receipt)?;
        self.disk.sync(&self.folder)
    }
}

/// Reads a file that must have this hash.
fn is_still(path: &Path, sha256: &str) -> Result<Vec<u8>, StoreError> {
    let now = current(path)?.map(|(bytes, _)| bytes).filter(|bytes| sha256_hex(bytes) == sha256);
    now.ok_or_else(|| StoreError::Changed { path: path.to_owned() })
}

/// What a file takes the place of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Over {
    Nothing,
    TheOldOne,
}

impl Over {
    fn of(old: Option<&OldFile>) -> Over {
        if old.is_some() { Over::TheOldOne } else { Over::Nothing }
    }
}
