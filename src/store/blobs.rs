//! Binary companions, stored once by their hash.

use crate::model::digest::sha256_hex;

use super::disk::{self, Disk};
use super::error::StoreError;
use super::layout::Store;

/// Stores bytes under their hash, unless they are there already. Not synced:
/// the commit of the log that names them does that.
///
/// # Errors
/// When they cannot be written.
pub fn put(store: &Store, disk: &dyn Disk, sha256: &str, bytes: &[u8]) -> Result<(), StoreError> {
    let path = store.blob(sha256);
    if path.exists() && disk::read(&path).is_ok_and(|there| there == bytes) {
        return Ok(());
    }
    let folder = path.parent().unwrap_or(store.root());
    disk.create_folders(folder)?;
    let temporary = super::replace::temporary_in(disk, folder)?;
    temporary.fill(bytes)?;
    temporary.replace(&path)?;
    disk.sync(folder)
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
    let bytes = disk::read(&store.blob(sha256)).map_err(|_| missing())?;
    if sha256_hex(&bytes) == sha256 { Ok(bytes) } else { Err(missing()) }
}
