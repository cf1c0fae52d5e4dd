//! A source as the user names it: a folder of sessions, one session's folder,
//! or one of its files.

use glob::{MatchOptions, Pattern};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::adapters::adapter::Adapter;
use crate::adapters::discover::{Discovery, Unit, discover};
use crate::model::files::RelPath;
use crate::model::finding::FindingCode;
use crate::model::folder::{Known, Listed, Listing, Part};
use crate::store::StoreError;
use crate::store::layout::path_below;
use crate::store::listing;
use crate::store::live::{self, Running};
use crate::store::receipts::Receipts;

/// Which sessions of a source are meant.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    /// Only units whose name matches one of these; all, if there are none.
    pub include: Vec<Pattern>,
    /// No units whose name matches one of these.
    pub exclude: Vec<Pattern>,
    /// Only units with a file written since, in nanoseconds since the epoch.
    pub since_ns: Option<i64>,
    /// The folders in which programs say that they run, by the name of the
    /// variable that says so.
    pub homes: BTreeMap<&'static str, PathBuf>,
}

impl Selection {
    pub(super) fn takes(&self, unit: &SourceUnit, listing: &Listing) -> bool {
        let takes_all = self.include.is_empty() && self.exclude.is_empty();
        (takes_all || self.takes_name(&unit.name.to_string())) && self.takes_files(unit, listing)
    }

    /// Whether a session of this name is meant.
    pub(super) fn takes_name(&self, name: &str) -> bool {
        let options = MatchOptions { require_literal_separator: false, ..MatchOptions::new() };
        let matches = |pattern: &Pattern| pattern.matches_with(name, options);
        (self.include.is_empty() || self.include.iter().any(matches)) && !self.exclude.iter().any(matches)
    }

    /// Whether a session with files of these times is meant.
    pub(super) fn takes_files(&self, unit: &SourceUnit, listing: &Listing) -> bool {
        self.since_ns.is_none() || unit.listed(listing).flatten().any(|entry| self.takes_time(entry.mtime_ns))
    }

    /// Whether something that was written then is meant.
    pub(super) fn takes_time(&self, mtime_ns: i64) -> bool {
        self.since_ns.is_none_or(|since| mtime_ns >= since)
    }
}

/// One session of a source, with the name it has in reports and in a store.
#[derive(Debug, Clone)]
pub struct SourceUnit {
    /// Its name: below the source, or the source's own.
    pub name: RelPath,
    /// What discovery found.
    pub found: Unit,
}

/// The sessions that one has to do with, by the names that reports have of them.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Related {
    /// The one that its program opens when asked for this one's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canonical: Option<String>,
    /// The one whose messages its program copied to its beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promoted_from: Option<String>,
}

impl SourceUnit {
    /// The sessions that it has to do with.
    pub(super) fn related(&self) -> Related {
        let name = |other: &Option<RelPath>| other.as_ref().map(|other| self.reported(other).to_string());
        Related { canonical: name(&self.found.beside.canonical), promoted_from: name(&self.found.beside.promoted_from) }
    }

    /// The listing's entry for each of its files, where there is one.
    pub fn listed<'a>(&'a self, listing: &'a Listing) -> impl Iterator<Item = Option<&'a Listed>> {
        listing.each_below(self.found.numbers.clone(), &self.found.root, &self.found.files)
    }

    /// The name of its own folder or file.
    #[must_use]
    pub fn own_name(&self) -> &[u8] {
        self.name.as_bytes().rsplit(|b| *b == b'/').next().unwrap_or_default()
    }

    /// The files that its program locks while it has the session open.
    pub fn lock_files(&self) -> impl Iterator<Item = &RelPath> {
        self.found.left_out.iter().filter(|(_, code, _)| *code == FindingCode::LockFile).map(|(path, _, _)| path)
    }

    /// Its size on disk.
    #[must_use]
    pub fn bytes(&self, listing: &Listing) -> u64 {
        self.listed(listing).flatten().map(|entry| entry.size).sum()
    }

    /// A file's path as reports have it: below the source, or below the
    /// source's parent where the source is the unit.
    #[must_use]
    pub fn reported(&self, file: &RelPath) -> RelPath {
        file.below(self.reported_folder())
    }

    /// The folder that its files lie in, in the same way.
    #[must_use]
    pub fn reported_folder(&self) -> &RelPath {
        // A source that is itself the unit has a name that its listing lacks.
        if self.found.name.as_bytes().is_empty() { &self.name } else { &self.found.root }
    }
}

/// A source that was looked through.
#[derive(Debug)]
pub struct Source {
    /// The folder that paths are relative to.
    pub root: PathBuf,
    /// The same as it was named: links on the way there lead elsewhere.
    named: PathBuf,
    /// What lies there.
    pub listing: Listing,
    /// The sessions that are meant.
    pub units: Vec<SourceUnit>,
    /// The one file that was named, where it was not a folder.
    pub only_file: Option<RelPath>,
    /// What was asked for of it.
    pub selection: Selection,
    /// How many sessions there are, meant or not.
    pub recognised: usize,
    /// What else was found.
    pub discovery: Discovery,
}

/// A source that was listed, and nothing in it looked into.
#[derive(Debug)]
pub struct ListedSource {
    root: PathBuf,
    named: PathBuf,
    listing: Listing,
    only_file: Option<RelPath>,
}

impl ListedSource {
    /// Lists a source.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn list(path: &Path) -> Result<ListedSource, StoreError> {
        let whole = std::fs::canonicalize(path).map_err(StoreError::io("find", path))?;
        let only_file = whole.is_file().then(|| RelPath::new(whole.file_name().map(|name| name.as_bytes().to_vec()).unwrap_or_default()));
        let root = match (&only_file, whole.parent()) {
            (Some(_), Some(parent)) => parent.to_owned(),
            _ => whole,
        };
        let named = match (&only_file, path.parent()) {
            (Some(_), Some(parent)) => parent,
            _ => path,
        };
        let named = std::path::absolute(named).unwrap_or_else(|_| root.clone());
        let listing = listing::list(&root)?;
        Ok(ListedSource { root, named, listing, only_file })
    }

    /// Looks through it; receipts may say of some files what they are, by size
    /// and time.
    #[must_use]
    pub fn discover(self, adapters: &[&'static dyn Adapter], selection: &Selection, receipts: Option<&Receipts>) -> Source {
        let ListedSource { root, named, listing, only_file } = self;
        let peek = |path: &RelPath, part: Part| listing::part_of(&root, path, part);
        let own = RelPath::new(root.file_name().map(|name| name.as_bytes().to_vec()).unwrap_or_default());
        let known = |folder: &RelPath, format: &str, file: &str, listed: &Listed| {
            let unit = if folder.as_bytes().is_empty() { &own } else { folder };
            receipts.is_some_and(|receipts| receipts.knows(unit, format, file, listed))
        };
        let mut discovery = discover(&listing, adapters, &peek, receipts.map(|_| &known as Known<'_>));
        let mut units: Vec<SourceUnit> = std::mem::take(&mut discovery.units)
            .into_iter()
            .map(|found| {
                let name = if found.name.as_bytes().is_empty() { own.clone() } else { found.name.clone() };
                SourceUnit { name, found }
            })
            .collect();
        if let Some(file) = &only_file {
            // Its neighbours are not what was asked for.
            units.retain(|unit| unit.found.files.iter().any(|own| own.below(&unit.found.root) == *file));
            discovery.keep_only(file);
        }
        let recognised = units.len();
        units.retain(|unit| selection.takes(unit, &listing));
        Source { root, named, listing, units, only_file, selection: selection.clone(), recognised, discovery }
    }
}

impl Source {
    /// Looks through a source.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(path: &Path, adapters: &[&'static dyn Adapter], selection: &Selection) -> Result<Source, StoreError> {
        Ok(ListedSource::list(path)?.discover(adapters, selection, None))
    }

    /// Whether a lock that is held could be one of its sessions'.
    #[must_use]
    pub fn has_lock_files(&self) -> bool {
        self.units.iter().any(|unit| unit.lock_files().next().is_some())
    }

    /// The programs that work on folders of this source, by folder.
    #[must_use]
    pub fn running(&self) -> BTreeMap<RelPath, Running> {
        let mut found = BTreeMap::new();
        let mut looked_at = BTreeSet::new();
        for unit in &self.units {
            let Some(rule) = unit.found.adapter.pid_file() else { continue };
            let above = |folder: &Path| live::running(folder, rule.name, rule.levels_above, rule.program);
            let at_home = || self.selection.homes.get(rule.home).and_then(|home| live::running(home, rule.name, 0, rule.program));
            if looked_at.insert((unit.found.adapter.id(), &unit.found.root))
                && let Some(running) =
                    above(&self.folder_of(unit)).or_else(|| above(&path_below(&self.named, &unit.found.root))).or_else(at_home)
            {
                found.insert(unit.found.root.clone(), running);
            }
        }
        found
    }

    /// Where a unit's files lie.
    #[must_use]
    pub fn folder_of(&self, unit: &SourceUnit) -> PathBuf {
        path_below(&self.root, &unit.found.root)
    }
}
