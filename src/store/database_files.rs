//! Where the databases of a folder lie.

use std::fs;
use std::path::{Path, PathBuf};

/// Looks for a database in a folder and so many above it. A link is not one.
#[must_use]
pub fn find(folder: &Path, name: &str, levels_above: usize) -> Option<PathBuf> {
    let is_file = |path: &PathBuf| fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file());
    folder.ancestors().take(levels_above + 1).map(|folder| folder.join(name)).find(is_file)
}

/// Looks for databases of this name in the folders of a folder, which lies in
/// this one or in one of so many above it; each with its own folder's name.
#[must_use]
pub fn find_in_each(folder: &Path, inside: &str, name: &str, levels_above: usize) -> Vec<(String, PathBuf)> {
    let found = folder.ancestors().take(levels_above + 1).map(|folder| each_in(&folder.join(inside), name));
    found.into_iter().find(|found| !found.is_empty()).unwrap_or_default()
}

fn each_in(folder: &Path, name: &str) -> Vec<(String, PathBuf)> {
    let is_folder = |path: &Path| fs::symlink_metadata(path).is_ok_and(|meta| meta.is_dir());
    let entries = is_folder(folder).then(|| fs::read_dir(folder)).and_then(Result::ok);
    let folders = entries.into_iter().flatten().flatten().filter(|entry| is_folder(&entry.path()));
    let mut found: Vec<(String, PathBuf)> =
        folders.filter_map(|entry| Some((entry.file_name().into_string().ok()?, find(&entry.path(), name, 0)?))).collect();
    found.sort();
    found
}
