//! Paths that logs and receipts name: whoever wrote those may have been
//! somebody else, and none may lead out of its folder.

use std::fs;
use std::path::{Path, PathBuf};

use crate::model::files::RelPath;

use super::error::StoreError;
use super::layout::path_below;

/// Refuses a path that is absolute or climbs.
///
/// # Errors
/// When it does.
pub fn going_down(path: &RelPath) -> Result<(), StoreError> {
    if path.stays_inside() { Ok(()) } else { Err(StoreError::Outside { path: path.to_string() }) }
}

/// Returns where a path lies below a folder. None leads out: none is absolute, none
/// climbs, and no link is passed on the way.
///
/// # Errors
/// When it would.
pub fn inside(folder: &Path, path: &RelPath) -> Result<PathBuf, StoreError> {
    going_down(path)?;
    let full = path_below(folder, path);
    let mut above = full.parent();
    while let Some(between) = above.filter(|between| *between != folder) {
        if fs::symlink_metadata(between).is_ok_and(|meta| meta.is_symlink()) {
            return Err(StoreError::Outside { path: path.to_string() });
        }
        above = between.parent();
    }
    Ok(full)
}
