//! A source as the user names it: a folder of sessions, one session's folder,
//! or one of its files.

use glob::{MatchOptions, Pattern};
use rayon::prelude::*;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::adapters::discover::{Discovery, Unit, discover};
use crate::adapters::format::Format;
use crate::maintenance;
use crate::model::database::Credentials;
use crate::model::files::RelPath;
use crate::model::finding::FindingCode;
use crate::model::folder::{Known, Listed, Listing, Portion};
use crate::model::shard::Shard;
use crate::store::StoreError;
use crate::store::layout::{Store, path_below};
use crate::store::listing;
use crate::store::live::{self, Running};
use crate::store::receipts::Receipts;

use super::databases::{self, DatabasePart};
use super::unclaimed;

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
    /// What becomes of credentials in a database.
    pub credentials: Credentials,
}

impl Selection {
    pub(crate) fn takes(&self, unit: &SourceUnit, listing: &Listing) -> bool {
        (self.takes_every_name() || self.takes_name(&unit.name.to_string())) && self.takes_files(unit, listing)
    }

    /// Whether sessions of all names are meant.
    pub(crate) fn takes_every_name(&self) -> bool {
        self.include.is_empty() && self.exclude.is_empty()
    }

    /// Whether a session of this name is meant.
    pub(crate) fn takes_name(&self, name: &str) -> bool {
        let options = MatchOptions { require_literal_separator: false, ..MatchOptions::new() };
        let matches = |pattern: &Pattern| pattern.matches_with(name, options);
        (self.include.is_empty() || self.include.iter().any(matches)) && !self.exclude.iter().any(matches)
    }

    /// Whether a session with files of these times is meant.
    pub(crate) fn takes_files(&self, unit: &SourceUnit, listing: &Listing) -> bool {
        self.since_ns.is_none() || unit.listed(listing).flatten().any(|entry| self.takes_time(entry.mtime_ns))
    }

    /// Whether something that was written then is meant.
    pub(crate) fn takes_time(&self, mtime_ns: i64) -> bool {
        self.since_ns.is_none_or(|since| mtime_ns >= since)
    }
}

/// One session of a source, with the name it has in reports and in a store.
#[derive(Debug, Clone)]
pub struct SourceUnit {
    /// Its name: below the source, or the source's own; in a store of several
    /// sources with the folder of this source's logs before it.
    pub name: RelPath,
    /// The folder of the source's logs in its store.
    pub place: Arc<RelPath>,
    /// What discovery found.
    pub found: Unit,
    /// The part of a database that it is, where its files are one.
    pub part: Option<Box<DatabasePart>>,
}

/// The sessions that one has to do with, by the names that reports have of them.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct Related {
    /// The session that its program opens when asked for this one's key.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub canonical: Option<String>,
    /// The session whose messages its program copied to its beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub promoted_from: Option<String>,
}

impl SourceUnit {
    /// The sessions that it has to do with.
    pub(crate) fn related(&self) -> Related {
        let name = |other: &Option<RelPath>| other.as_ref().map(|other| self.reported(other).below(&self.place).to_string());
        Related { canonical: name(&self.found.shared_facts().canonical), promoted_from: name(&self.found.shared_facts().promoted_from) }
    }

    /// The same unit with the credentials of its database; nothing where it has none.
    pub(crate) fn with_credentials(&self) -> Option<SourceUnit> {
        let part = self.part.as_ref()?.with_credentials()?;
        Some(SourceUnit { part: Some(Box::new(part)), ..self.clone() })
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
        let bytes = self.listed(listing).flatten().map(|entry| entry.size).sum();
        self.part.as_ref().map_or(bytes, |part| part.share_of(bytes))
    }

    /// A file's path as reports have it: below the source, or below the
    /// source's parent where the source is the unit.
    #[must_use]
    pub fn reported(&self, file: &RelPath) -> RelPath {
        file.below(&self.reported_folder())
    }

    /// Its name, as the source alone has it.
    #[must_use]
    pub fn name_in_source(&self) -> Cow<'_, RelPath> {
        name_without(&self.name, &self.place)
    }

    /// The folder of its files, as reports have it.
    #[must_use]
    pub fn reported_folder(&self) -> Cow<'_, RelPath> {
        // A source that is itself the unit has a name that its listing lacks.
        if self.found.name.as_bytes().is_empty() { self.name_in_source() } else { Cow::Borrowed(&self.found.root) }
    }
}

/// Returns a session's name without the folder of its source's logs.
pub(crate) fn name_without<'n>(name: &'n RelPath, place: &RelPath) -> Cow<'n, RelPath> {
    let rest = name.as_bytes().strip_prefix(place.as_bytes()).and_then(|rest| rest.strip_prefix(b"/"));
    match rest {
        Some(rest) if !place.as_bytes().is_empty() => Cow::Owned(RelPath::new(rest)),
        Some(_) | None => Cow::Borrowed(name),
    }
}

/// A source that was looked through.
#[derive(Debug)]
pub struct Source {
    /// The folder that paths are relative to.
    pub root: PathBuf,
    /// The folder as it was named: links in that path may lead elsewhere.
    named: PathBuf,
    /// What the folder holds.
    pub listing: Listing,
    /// The sessions that are meant.
    pub units: Vec<SourceUnit>,
    /// The folder that the names of its sessions are relative to: the source, or
    /// the folder around it where it is one session itself.
    pub named_from: PathBuf,
    /// The folder of its logs, below their store; empty where they are directly
    /// below it.
    pub place: RelPath,
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
    place: RelPath,
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
        Ok(ListedSource { root, named, listing, place: RelPath::new(""), only_file })
    }

    /// The folder that paths are relative to.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Says where the source's logs are in a store of several sources.
    #[must_use]
    pub fn with_logs_in(self, place: RelPath) -> ListedSource {
        ListedSource { place, ..self }
    }

    /// Looks through it; receipts may say of some files what they are, by size
    /// and time.
    #[must_use]
    pub fn discover(self, adapters: &[&'static dyn Format], selection: &Selection, receipts: Option<&Receipts>) -> Source {
        let ListedSource { root, named, listing, place, only_file } = self;
        let peek = |path: &RelPath, part: Portion| listing::part_of(&root, path, part);
        let own = RelPath::new(root.file_name().map(|name| name.as_bytes().to_vec()).unwrap_or_default());
        let known = |folder: &RelPath, format: &str, file: &str, listed: &Listed| {
            let unit = if folder.as_bytes().is_empty() { &own } else { folder };
            receipts.is_some_and(|receipts| receipts.knows(&unit.below(&place), format, file, listed))
        };
        let mut discovery = discover(&listing, adapters, &peek, receipts.map(|_| &known as Known<'_>), only_file.as_ref());
        let mut found = std::mem::take(&mut discovery.units);
        let of_databases = databases::take_sessions(&root, &mut found, selection.credentials, &mut discovery.findings);
        let shared_place = Arc::new(place.clone());
        let unit_of = |found: Unit, part: Option<Box<DatabasePart>>| {
            let name = if found.name.as_bytes().is_empty() { &own } else { &found.name };
            SourceUnit { name: name.below(&place), place: Arc::clone(&shared_place), found, part }
        };
        let mut units = each_in_place_of(found, |found| unit_of(found, None));
        if !of_databases.is_empty() {
            units.extend(of_databases.into_iter().map(|(found, part)| unit_of(found, Some(part))));
            units.sort_by(|a, b| a.found.name.cmp(&b.found.name));
        }
        name_apart(&mut units);
        if let Some(file) = &only_file {
            // Its neighbours are not what was asked for.
            units.retain(|unit| unit.found.files.iter().any(|own| own.below(&unit.found.root) == *file));
            discovery.keep_only(file);
        }
        let is_itself = |unit: &SourceUnit| unit.found.name.as_bytes().is_empty();
        let around = root.parent().filter(|_| !units.is_empty() && units.iter().all(is_itself));
        let named_from = around.unwrap_or(&root).to_owned();
        unclaimed::look_again(&root, &listing, &mut discovery);
        let recognised = units.len();
        units.retain(|unit| selection.takes(unit, &listing));
        Source { root, named, listing, units, named_from, place, only_file, selection: selection.clone(), recognised, discovery }
    }
}

/// So many items are given back to the system in one go.
const PIECE: usize = 16 * 1024;

/// Makes another item of each. Of a million sessions both lists together would be
/// the most that a run holds at any time, so the first one goes as the second grows.
fn each_in_place_of<A, B>(mut items: Vec<A>, into: impl Fn(A) -> B) -> Vec<B> {
    let mut made = Vec::with_capacity(items.len());
    while let Some(item) = items.pop() {
        made.push(into(item));
        if items.len().is_multiple_of(PIECE) {
            items.shrink_to_fit();
        }
    }
    made.reverse();
    made
}

/// Gives the session that the source itself is another name where a session
/// inside has the source's own: two sessions never share a log.
fn name_apart(units: &mut [SourceUnit]) {
    if units.iter().all(|unit| !unit.found.name.as_bytes().is_empty()) {
        return;
    }
    let names: BTreeSet<RelPath> =
        units.iter().filter(|unit| !unit.found.name.as_bytes().is_empty()).map(|unit| unit.name.clone()).collect();
    for unit in units.iter_mut().filter(|unit| unit.found.name.as_bytes().is_empty()) {
        while names.contains(&unit.name) {
            unit.name = RelPath::new([unit.name.as_bytes(), b"~"].concat());
        }
    }
}

impl Source {
    /// Looks through a source.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(path: &Path, adapters: &[&'static dyn Format], selection: &Selection) -> Result<Source, StoreError> {
        Ok(ListedSource::list(path)?.discover(adapters, selection, None))
    }

    /// Looks through a source whose logs are in this folder of their store.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open_with_logs_in(
        place: &RelPath,
        path: &Path,
        adapters: &[&'static dyn Format],
        selection: &Selection,
    ) -> Result<Source, StoreError> {
        Ok(ListedSource::list(path)?.with_logs_in(place.clone()).discover(adapters, selection, None))
    }

    /// Keeps what falls to a part of a larger run: its sessions, and for the first
    /// part what belongs to no session.
    pub(crate) fn keep_shard(&mut self, shard: Shard) {
        self.units.retain(|unit| shard.takes(&Store::log_name(&unit.name).to_string()));
        if !shard.is_first() {
            self.discovery.findings.retain(|_| false);
            self.discovery.ties.clear();
        }
    }

    /// Tells whether a session of this name in their store is of this source.
    #[must_use]
    pub fn has_logs_at(&self, unit: &RelPath) -> bool {
        self.place.as_bytes().is_empty() || unit.folders().any(|folder| folder == self.place)
    }

    /// The sizes of its sessions on disk, in their order.
    #[must_use]
    pub fn sizes(&self) -> Vec<u64> {
        self.units.par_iter().map(|unit| unit.bytes(&self.listing)).collect()
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
            let Some(rule) = maintenance::of(unit.found.adapter.id()).process_file() else { continue };
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

    /// The sessions that a process says it has open, by their units' names.
    #[must_use]
    pub fn open_sessions(&self) -> BTreeMap<RelPath, Running> {
        let mut by_place: BTreeMap<PathBuf, BTreeMap<String, Running>> = BTreeMap::new();
        let mut found = BTreeMap::new();
        for unit in &self.units {
            let Some(rule) = maintenance::of(unit.found.adapter.id()).open_marks() else { continue };
            let folder = self.folder_of(unit);
            let above = folder.ancestors().take(rule.levels_above + 1);
            let places = above.chain(self.selection.homes.get(rule.home).map(PathBuf::as_path)).map(|place| place.join(rule.folder));
            let Some(id) = unit.own_name().split(|byte| *byte == b'.').next().and_then(|id| std::str::from_utf8(id).ok()) else { continue };
            for place in places {
                let read = || live::open_sessions(&place, rule.session, rule.started).into_iter().collect();
                if let Some(running) = by_place.entry(place.clone()).or_insert_with(read).get(id) {
                    found.insert(unit.name.clone(), running.clone());
                }
            }
        }
        found
    }

    /// Tells whether a folder is inside the source, or has it inside: a log must
    /// not become a source of the next run, nor a source be written to.
    ///
    /// # Errors
    /// When the folder's place cannot be found.
    pub fn overlaps(&self, folder: &Path) -> Result<bool, StoreError> {
        let mut real = std::path::absolute(folder).map_err(StoreError::io("find", folder))?;
        // The part of it that exists may be a link to elsewhere.
        let mut rest = Vec::new();
        while !real.exists() {
            match (real.file_name(), real.parent()) {
                (Some(name), Some(parent)) => {
                    rest.push(name.to_owned());
                    real = parent.to_owned();
                }
                _ => break,
            }
        }
        let mut real = std::fs::canonicalize(&real).unwrap_or(real);
        real.extend(rest.into_iter().rev());
        Ok(real.starts_with(&self.root) || self.root.starts_with(&real))
    }

    /// The folder of a unit's files.
    #[must_use]
    pub fn folder_of(&self, unit: &SourceUnit) -> PathBuf {
        path_below(&self.root, &unit.found.root)
    }
}
