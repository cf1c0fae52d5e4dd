//! Which sources a store is of. Names of sessions are relative to their source,
//! so two sources in one folder could give two sessions one name: the store
//! remembers each source and the folder that its logs are in.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use crate::model::files::RelPath;

use super::disk::{self, Disk};
use super::error::StoreError;
use super::layout::Store;
use super::replace;

/// The version of the file.
const SCHEMA: u32 = 1;

/// One source of a store. The file has its path from the store on, so that both
/// can be moved or checked out together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownSource {
    /// The folder that the names of its sessions are relative to.
    pub path: PathBuf,
    /// The folder of its logs, below the store; empty where they are directly
    /// below it.
    pub folder: RelPath,
}

/// The sources of a store, in the order in which they came.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourceList {
    sources: Vec<KnownSource>,
}

/// The file.
#[derive(Debug, Serialize, Deserialize)]
struct Written {
    schema: u32,
    sources: Vec<WrittenSource>,
}

#[derive(Debug, Serialize, Deserialize)]
struct WrittenSource {
    path: String,
    folder: String,
}

impl SourceList {
    /// Reads the list of a store; one without a list is of no source yet, or was
    /// written before there were lists.
    ///
    /// # Errors
    /// When the file is there and is not a list that this version understands: a
    /// guess could mix two sources.
    pub fn read(store: &Store) -> Result<SourceList, StoreError> {
        let path = store.sources();
        if path.symlink_metadata().is_err() {
            return Ok(SourceList::default());
        }
        let wrong = |what: String| StoreError::io("read", &path)(std::io::Error::new(std::io::ErrorKind::InvalidData, what));
        let written: Written = serde_json::from_slice(&disk::read(&path)?).map_err(|error| wrong(error.to_string()))?;
        if written.schema != SCHEMA {
            return Err(wrong(format!("it is of version {}, and this everlog knows version {SCHEMA}", written.schema)));
        }
        let base = base(store)?;
        let mut sources = Vec::new();
        for source in written.sources {
            let folder = RelPath::from_key(&source.folder);
            if !is_one_name(&folder) {
                return Err(wrong(format!("{folder} is not the name of a folder")));
            }
            let path = RelPath::from_key(&source.path);
            sources.push(KnownSource { path: resolved(&base, Path::new(OsStr::from_bytes(path.as_bytes()))), folder });
        }
        Ok(SourceList { sources })
    }

    /// Writes the list, if it is another than the store has.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn write(&self, store: &Store, disk: &dyn Disk) -> Result<(), StoreError> {
        if SourceList::read(store)? == *self {
            return Ok(());
        }
        disk.create_folders(&store.private())?;
        let base = base(store)?;
        let path = |source: &KnownSource| RelPath::new(from_on(&base, &source.path).as_os_str().as_bytes()).key();
        let sources = self.sources.iter().map(|source| WrittenSource { path: path(source), folder: source.folder.key() }).collect();
        let written = Written { schema: SCHEMA, sources };
        let mut text = serde_json::to_vec_pretty(&written).map_err(|error| StoreError::io("write", &store.sources())(error.into()))?;
        text.push(b'\n');
        replace::put_for(store, disk, &store.sources(), &text)
    }

    /// Returns the sources.
    #[must_use]
    pub fn list(&self) -> &[KnownSource] {
        &self.sources
    }

    /// Returns the source of this path.
    #[must_use]
    pub fn of(&self, path: &Path) -> Option<&KnownSource> {
        self.sources.iter().find(|source| source.path == path)
    }

    /// Returns the source whose logs are directly below the store.
    #[must_use]
    pub fn sole(&self) -> Option<&KnownSource> {
        self.sources.iter().find(|source| source.folder.as_bytes().is_empty())
    }

    /// Remembers a source; one of the same folder has moved, and is replaced.
    pub fn remember(&mut self, source: KnownSource) {
        match self.sources.iter_mut().find(|known| known.folder == source.folder) {
            Some(known) => *known = source,
            None => self.sources.push(source),
        }
    }

    /// Returns the name of a new source's folder: the wanted one, or with a number
    /// where another source has it.
    #[must_use]
    pub fn new_folder(&self, wanted: &OsStr) -> RelPath {
        let bytes = wanted.as_bytes();
        // A name that begins with a dot would be hidden, and one of them is the store's own.
        let shown = &bytes[bytes.iter().take_while(|byte| **byte == b'.').count()..];
        let name = if shown.is_empty() { b"source" } else { shown };
        // Some systems do not tell upper from lower case.
        let taken: BTreeSet<String> = self.sources.iter().map(|source| source.folder.to_string().to_lowercase()).collect();
        let numbered = (2..).map(|n| RelPath::new([name, format!("-{n}").as_bytes()].concat()));
        std::iter::once(RelPath::new(name))
            .chain(numbered)
            .find(|folder| !taken.contains(&folder.to_string().to_lowercase()))
            .unwrap_or_else(|| RelPath::new(name))
    }
}

/// Returns the folder of the store as sources are named: absolute, and without links.
fn base(store: &Store) -> Result<PathBuf, StoreError> {
    std::fs::canonicalize(store.root()).map_err(StoreError::io("find", store.root()))
}

/// Returns the path that leads from a folder to another one; both are absolute.
fn from_on(folder: &Path, to: &Path) -> PathBuf {
    let shared = folder.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = folder.components().skip(shared).map(|_| Component::ParentDir);
    up.chain(to.components().skip(shared)).collect()
}

/// Returns where a path leads from a folder on.
fn resolved(folder: &Path, path: &Path) -> PathBuf {
    let mut full = PathBuf::new();
    for part in folder.join(path).components() {
        match part {
            Component::ParentDir => {
                full.pop();
            }
            Component::CurDir => {}
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => full.push(part),
        }
    }
    full
}

/// Tells whether a folder is empty or one plain name: a list that somebody has
/// changed must not lead out of the store.
fn is_one_name(folder: &RelPath) -> bool {
    let name = folder.as_bytes();
    !name.contains(&b'/') && !name.starts_with(b".")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::disk::RealDisk;

    fn known(path: &str, folder: &str) -> KnownSource {
        KnownSource { path: PathBuf::from(path), folder: RelPath::new(folder) }
    }

    #[test]
    fn a_list_comes_back_as_it_was_written_and_a_strange_one_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::at(folder.path().join("store"));
        RealDisk.create_folders(&store.private()).unwrap();
        assert_eq!(SourceList::read(&store).unwrap(), SourceList::default());
        let mut list = SourceList::default();
        list.remember(KnownSource { path: PathBuf::from(OsStr::from_bytes(b"/home/\xff")), folder: RelPath::new("a") });
        list.remember(known("/b", "b"));
        list.remember(KnownSource { path: store.root().with_file_name("sessions"), folder: RelPath::new("c") });
        list.write(&store, &RealDisk).unwrap();
        assert_eq!(SourceList::read(&store).unwrap(), list);
        let text = String::from_utf8(disk::read(&store.sources()).unwrap()).unwrap();
        assert!(text.contains("\"path\": \"../sessions\""), "{text}");
        for strange in ["{}", "{\"schema\":2,\"sources\":[]}", "{\"schema\":1,\"sources\":[{\"path\":\"/a\",\"folder\":\"../a\"}]}"] {
            replace::put(&RealDisk, &store.sources(), strange.as_bytes()).unwrap();
            assert!(SourceList::read(&store).is_err(), "{strange}");
        }
    }

    #[test]
    fn folders_of_sources_are_visible_and_never_the_same() {
        let mut list = SourceList::default();
        assert_eq!(list.new_folder(OsStr::new(".agent")).to_string(), "agent");
        assert_eq!(list.new_folder(OsStr::new("...")).to_string(), "source");
        list.remember(known("/a/Logs", "Logs"));
        assert_eq!(list.new_folder(OsStr::new("logs")).to_string(), "logs-2");
        list.remember(known("/elsewhere", "Logs"));
        assert_eq!(list.list(), [known("/elsewhere", "Logs")]);
    }
}
