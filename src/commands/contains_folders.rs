//! The folders that `contains` reads when NEW is a database: the old store, and the
//! folder that the program keeps its database and files in.

use std::path::{Path, PathBuf};

use crate::adapters::containment::{StateFolder, StoreFiles};
use crate::model::database::TablesError;
use crate::model::files::{Entry, RelPath};
use crate::model::folder::ListedKind;
use crate::store::layout::path_below;
use crate::store::{StoreError, listing, snapshot};

/// The files of a folder.
pub(super) struct Folder {
    root: PathBuf,
    paths: Vec<RelPath>,
}

impl Folder {
    /// Lists a folder.
    pub(super) fn of(root: &Path) -> Result<Folder, StoreError> {
        Ok(Folder { root: root.to_owned(), paths: files_of(root)? })
    }

    /// Tells whether a file's name ends like this.
    pub(super) fn has(&self, suffix: &str) -> bool {
        self.paths.iter().any(|path| path.as_bytes().ends_with(suffix.as_bytes()))
    }
}

impl StoreFiles for Folder {
    fn paths(&self) -> Vec<RelPath> {
        self.paths.clone()
    }

    fn read(&self, path: &RelPath) -> Result<Vec<u8>, TablesError> {
        read(&self.root, path)
    }
}

fn files_of(root: &Path) -> Result<Vec<RelPath>, StoreError> {
    let listing = listing::list(root)?;
    let files = listing.entries().iter().filter(|entry| entry.kind == ListedKind::File);
    Ok(files.map(|entry| entry.path.clone()).collect())
}

/// Reads one file of a folder, unchanged while it is read. No link is followed.
fn read(root: &Path, path: &RelPath) -> Result<Vec<u8>, TablesError> {
    let files = snapshot::take(root, b"", std::slice::from_ref(path)).map_err(|error| TablesError(error.to_string()))?;
    match files.entry(path) {
        Some(Entry::File(file)) => Ok(file.bytes.clone()),
        Some(Entry::Link { .. } | Entry::EmptyFolder | Entry::Rows(_)) | None => Err(TablesError("not a regular file".to_owned())),
    }
}

/// The folder around a database, without what is looked for in it and what is written
/// of it: a file is not proof of itself.
pub(super) struct State {
    root: PathBuf,
    without: Vec<PathBuf>,
}

impl State {
    /// Finds the state folder of a database; `own` is the name of the folder in it that
    /// the database has to itself.
    pub(super) fn around(database: &Path, own: Option<&str>, without: &[&Path]) -> State {
        let folder = match database.parent() {
            Some(parent) if !parent.as_os_str().is_empty() => parent,
            Some(_) | None => Path::new("."),
        };
        let above = folder.parent().filter(|_| own.is_some() && folder.file_name() == own.map(std::ffi::OsStr::new));
        State { root: above.unwrap_or(folder).to_owned(), without: without.iter().map(|path| (*path).to_owned()).collect() }
    }

    fn is_without(&self, path: &Path) -> bool {
        self.without.iter().any(|without| path.starts_with(without))
    }
}

impl StateFolder for State {
    fn files(&self, folder: &str) -> Vec<RelPath> {
        let root = self.root.join(folder);
        let is_folder = std::fs::symlink_metadata(&root).is_ok_and(|meta| meta.is_dir());
        // What cannot be listed holds nothing that could be shown to anybody.
        let paths = if is_folder { files_of(&root).unwrap_or_default() } else { Vec::new() };
        let below = paths.iter().filter(|path| !self.is_without(&path_below(&root, path)));
        below.map(|path| RelPath::new([folder.as_bytes(), b"/", path.as_bytes()].concat())).collect()
    }

    fn read(&self, path: &RelPath) -> Option<Vec<u8>> {
        let is_there = path.stays_inside() && !self.is_without(&path_below(&self.root, path));
        is_there.then(|| read(&self.root, path).ok()).flatten()
    }
}
