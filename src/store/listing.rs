//! What lies in a source folder. Links are never followed.

use rayon::prelude::*;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::model::files::RelPath;
use crate::model::folder::{FEW_BYTES, FIRST_BYTES, Listed, ListedKind, Listing, Part};
use crate::model::stream::ReadAt;

use super::disk;
use super::error::StoreError;
use super::layout::path_below;

/// Lists everything below a folder.
///
/// # Errors
/// When the folder itself cannot be read; what cannot be read inside it is
/// listed as such.
pub fn list(root: &Path) -> Result<Listing, StoreError> {
    let mut entries = Vec::new();
    read_folder(root, &RelPath::new(""), &mut entries).map_err(StoreError::io("read the folder", root))?;
    let mut folders: Vec<RelPath> = folders_in(&entries);
    // Level by level, and the folders of a level at once.
    while !folders.is_empty() {
        let found: Vec<Vec<Listed>> = folders
            .par_iter()
            .map(|folder| {
                let mut inside = Vec::new();
                if let Err(error) = read_folder(&path_below(root, folder), folder, &mut inside) {
                    inside.push(unreadable(folder.clone(), &error));
                }
                inside
            })
            .collect();
        folders = found.iter().flat_map(|inside| folders_in(inside)).collect();
        entries.extend(found.into_iter().flatten());
    }
    Ok(Listing::new(entries))
}

fn folders_in(entries: &[Listed]) -> Vec<RelPath> {
    entries.iter().filter(|entry| entry.kind == ListedKind::Folder).map(|entry| entry.path.clone()).collect()
}

fn unreadable(path: RelPath, error: &std::io::Error) -> Listed {
    Listed { path, kind: ListedKind::Unreadable(error.to_string()), size: 0, mtime_ns: 0, mode: 0 }
}

fn read_folder(path: &Path, relative: &RelPath, out: &mut Vec<Listed>) -> std::io::Result<()> {
    for entry in fs::read_dir(path)? {
        let entry = entry?;
        let name = RelPath::new(entry.file_name().as_bytes()).below(relative);
        match entry.metadata() {
            Ok(meta) => out.push(listed(name, &meta)),
            Err(error) => out.push(unreadable(name, &error)),
        }
    }
    Ok(())
}

fn listed(path: RelPath, meta: &fs::Metadata) -> Listed {
    let kind = meta.file_type();
    let kind = if kind.is_file() {
        ListedKind::File
    } else if kind.is_dir() {
        ListedKind::Folder
    } else if kind.is_symlink() {
        ListedKind::Link
    } else {
        ListedKind::Special
    };
    Listed { path, kind, size: meta.len(), mtime_ns: mtime_ns(meta), mode: meta.mode() & 0o7777 }
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
