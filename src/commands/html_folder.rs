//! A folder of pages. It has a list of the pages that were made there, with
//! their hashes: only what is in the list and still has its hash is replaced or
//! removed, so that nothing of anybody else's ever is.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::model::digest::sha256_hex;
use crate::model::files::RelPath;
use crate::store::StoreError;
use crate::store::disk::{self, Disk};
use crate::store::inside::inside;
use crate::store::lock::FileLock;
use crate::store::replace::{Prepared, Ready, put, sweep, temporary_in};

use super::error::CommandError;

/// The list's name in its folder. Its lines are those of `sha256sum`.
const LIST: &str = ".everlog-html";

/// What a page was before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum State {
    /// It was not there, or another one was.
    Written,
    /// It was there with the same bytes.
    Unchanged,
}

/// Whether a folder has a list of its pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Listing {
    Kept,
    Nothing,
}

/// A folder of pages that is being written.
pub(super) struct HtmlFolder<'d> {
    root: PathBuf,
    disk: &'d dyn Disk,
    /// Held until all pages have their names: a second run would sweep away what
    /// this one has prepared.
    _lock: Option<FileLock>,
    listing: Listing,
    /// The hashes that a page may have where it may be replaced.
    own: BTreeSet<(String, String)>,
    new: Mutex<New<'d>>,
}

struct New<'d> {
    /// The hash of each page that the folder is to have.
    pages: BTreeMap<String, String>,
    prepared: Prepared<'d>,
}

impl<'d> New<'d> {
    fn on(disk: &'d dyn Disk) -> Mutex<Self> {
        Mutex::new(New { pages: BTreeMap::new(), prepared: Prepared::new(disk) })
    }
}

impl<'d> HtmlFolder<'d> {
    /// Opens or makes a folder of pages.
    pub(super) fn open(root: &Path, disk: &'d dyn Disk) -> Result<Self, CommandError> {
        disk.create_folders(root)?;
        let lock = FileLock::of_folder(root)?;
        sweep(disk, root)?;
        let list = root.join(LIST);
        let own = if list.symlink_metadata().is_ok() { lines(&disk::read(&list)?) } else { BTreeSet::new() };
        Ok(HtmlFolder { root: root.to_owned(), disk, _lock: lock, listing: Listing::Kept, own, new: New::on(disk) })
    }

    /// Returns a folder that one page is put into, and no list: it is a person's own.
    pub(super) fn of_one_file(root: &Path, disk: &'d dyn Disk) -> Result<Self, CommandError> {
        disk.create_folders(root)?;
        Ok(HtmlFolder { root: root.to_owned(), disk, _lock: None, listing: Listing::Nothing, own: BTreeSet::new(), new: New::on(disk) })
    }

    /// Writes a page beside its name, which it only gets once all are written.
    pub(super) fn prepare(&self, name: &RelPath, bytes: &[u8]) -> Result<State, CommandError> {
        let (key, sha256) = (name.key(), sha256_hex(bytes));
        let to = inside(&self.root, name)?;
        let state = match to.symlink_metadata() {
            Err(_) => State::Written,
            Ok(meta) if !meta.is_file() => return Err(StoreError::Exists { path: to }.into()),
            Ok(_) => {
                let now = sha256_hex(&disk::read(&to)?);
                if now == sha256 {
                    State::Unchanged
                } else if self.own.contains(&(key.clone(), now)) {
                    State::Written
                } else {
                    return Err(StoreError::Exists { path: to }.into());
                }
            }
        };
        let ready = match state {
            // Equal bytes are not written again: a second run must not touch mtimes.
            State::Unchanged => None,
            State::Written => {
                let folder = to.parent().unwrap_or(&self.root);
                self.disk.create_folders(folder)?;
                let temporary = temporary_in(self.disk, folder)?;
                temporary.fill(bytes)?;
                Some(Ready { from: temporary.keep(), to, keep_as: None })
            }
        };
        let mut new = self.new.lock().unwrap_or_else(PoisonError::into_inner);
        new.pages.insert(key, sha256);
        ready.into_iter().for_each(|one| new.prepared.push(one));
        Ok(state)
    }

    /// Gives all pages their names, and keeps those of earlier runs.
    pub(super) fn finish(self) -> Result<u64, CommandError> {
        self.end(|_| false)
    }

    /// Gives all pages their names, and removes those of earlier runs that this
    /// one did not make; says how many they are.
    pub(super) fn finish_and_remove(self) -> Result<u64, CommandError> {
        self.end(|_| true)
    }

    fn end(self, is_removed: impl Fn(&str) -> bool) -> Result<u64, CommandError> {
        let New { pages, prepared } = self.new.into_inner().unwrap_or_else(PoisonError::into_inner);
        let list = self.root.join(LIST);
        let of_now = || pages.iter().map(|(path, sha256)| (path.clone(), sha256.clone()));
        let earlier: BTreeSet<(String, String)> = self.own.iter().filter(|(path, _)| !pages.contains_key(path)).cloned().collect();
        let is_new = self.own != earlier.iter().cloned().chain(of_now()).collect();
        // Old and new hashes are both listed while pages change: whenever this
        // is cut short, the next run knows them as its own.
        if self.listing == Listing::Kept && is_new {
            put(self.disk, &list, &listed(self.own.iter().cloned().chain(of_now())))?;
        }
        prepared.commit(&self.root)?;
        let (mut kept, mut removed) = (BTreeSet::new(), 0);
        for (path, sha256) in earlier {
            let name = RelPath::from_key(&path);
            let is_own = |full: &PathBuf| disk::read(full).is_ok_and(|bytes| sha256_hex(&bytes) == sha256);
            match inside(&self.root, &name).ok().filter(is_own) {
                Some(full) if is_removed(&path) => {
                    self.disk.remove(&full)?;
                    removed += 1;
                }
                Some(_) => {
                    kept.insert((path, sha256));
                }
                None => {}
            }
        }
        if self.listing == Listing::Kept {
            let last: BTreeSet<(String, String)> = kept.into_iter().chain(of_now()).collect();
            if is_new || last != self.own {
                put(self.disk, &list, &listed(last.into_iter()))?;
            }
        }
        Ok(removed)
    }
}

fn listed(pages: impl Iterator<Item = (String, String)>) -> Vec<u8> {
    let pages: BTreeSet<(String, String)> = pages.collect();
    pages.iter().map(|(path, sha256)| format!("{sha256}  {path}\n")).collect::<String>().into_bytes()
}

fn lines(list: &[u8]) -> BTreeSet<(String, String)> {
    let list = String::from_utf8_lossy(list);
    list.lines().filter_map(|line| line.split_once("  ")).map(|(sha256, path)| (path.to_owned(), sha256.to_owned())).collect()
}
