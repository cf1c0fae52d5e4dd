//! Binary companions, stored once by their hash.

use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::Read;

use crate::model::digest::{hex, sha256_hex};
use crate::model::stream::{ReadAt, StreamError};

use super::disk::{self, Disk};
use super::error::StoreError;
use super::layout::Store;

/// Stores bytes under their hash, unless they are there already. Not synced:
/// the commit of the log that names them does that.
///
/// # Errors
/// When they cannot be written, or something else than a file stands there.
pub fn put(store: &Store, disk: &dyn Disk, sha256: &str, bytes: &[u8]) -> Result<(), StoreError> {
    let path = store.blob(sha256);
    match disk::open(&path) {
        Ok(file) if has_bytes(&file, bytes) => return Ok(()),
        // A damaged one is replaced.
        Ok(_) => {}
        Err(StoreError::Io { .. }) => {}
        Err(error) => return Err(error),
    }
    let folder = path.parent().unwrap_or(store.root());
    disk.create_folders(folder)?;
    let temporary = super::replace::temporary_for(store, disk, folder)?;
    temporary.fill(bytes)?;
    temporary.replace(&path)?;
    disk.sync(folder)
}

/// Tells whether a file has these bytes. One of another size is not read.
fn has_bytes(mut file: &File, bytes: &[u8]) -> bool {
    let mut there = Vec::new();
    file.size().is_ok_and(|size| size == bytes.len() as u64) && file.read_to_end(&mut there).is_ok() && there == bytes
}

/// A blob that is open, of the right size.
#[derive(Debug)]
pub struct OpenBlob {
    file: File,
    size: u64,
}

/// Opens a blob that should have this size.
///
/// # Errors
/// When it is missing, or has another size: then nothing of it is read.
pub fn open(store: &Store, sha256: &str, size: u64) -> Result<OpenBlob, StoreError> {
    let missing = || StoreError::Blob { sha256: sha256.to_owned() };
    if sha256.len() != 64 || !sha256.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(missing());
    }
    let file = match disk::open(&store.blob(sha256)) {
        Err(StoreError::Io { .. }) => return Err(missing()),
        opened => opened?,
    };
    if file.size().is_ok_and(|there| there == size) { Ok(OpenBlob { file, size }) } else { Err(missing()) }
}

impl OpenBlob {
    /// Hands its bytes on, piece by piece; whoever takes them checks their hash.
    ///
    /// # Errors
    /// When they cannot be read, or not taken.
    pub fn copy(mut self, take: &mut dyn FnMut(&[u8]) -> Result<(), StreamError>) -> Result<(), StreamError> {
        let mut buffer = vec![0; usize::try_from(self.size.min(256 * 1024)).unwrap_or(0)];
        let mut left = self.size;
        while left > 0 {
            let want = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
            let read = self.file.read(&mut buffer[..want]).map_err(|source| StreamError::Io { doing: "read an attachment", source })?;
            if read == 0 {
                break;
            }
            take(&buffer[..read])?;
            left -= read as u64;
        }
        Ok(())
    }
}

/// Tells whether a blob is there, has this size, and the bytes that its name says.
#[must_use]
pub fn is_intact(store: &Store, sha256: &str, size: u64) -> bool {
    let Ok(blob) = open(store, sha256, size) else { return false };
    let mut hash = Sha256::new();
    let read = blob.copy(&mut |bytes| {
        hash.update(bytes);
        Ok(())
    });
    read.is_ok() && hex(&hash.finalize()) == sha256
}

/// Reads the bytes of a blob, and makes sure that they are the right ones.
///
/// # Errors
/// When they are missing or damaged.
pub fn get(store: &Store, sha256: &str) -> Result<Vec<u8>, StoreError> {
    let missing = || StoreError::Blob { sha256: sha256.to_owned() };
    if sha256.len() != 64 || !sha256.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(missing());
    }
    let bytes = match disk::read(&store.blob(sha256)) {
        Err(StoreError::Io { .. }) => return Err(missing()),
        read => read?,
    };
    if sha256_hex(&bytes) == sha256 { Ok(bytes) } else { Err(missing()) }
}
