//! Which files of a folder are picoclaw's, and which of them make one session.
//! Told by content: a name alone settles nothing but what lies beside files
//! that are certain.

mod aliases;
mod imports;
mod strays;

use std::collections::BTreeMap;

use crate::adapters::format::{Confidence, Found, RETIRED_SUFFIX, Standing, UnitClaim};
use crate::model::files::{RelPath, SharedFacts};
use crate::model::finding::FindingCode;
use crate::model::folder::{FolderView, Listed, ListedKind};

use super::judge::{self, LegacyFile, LinesFile, MetaFile};
use super::layout::{
    BACKUP, BACKUP_META, CARRIED, LEGACY, LINES, META, RETIRED_LINES, Role, key_before_messages, legacy_stem, role, sanitised,
};

/// The files of a folder, by what their names say, without the suffix.
#[derive(Default)]
struct Folder {
    lines: BTreeMap<RelPath, LinesFile>,
    metas: BTreeMap<RelPath, MetaFile>,
    legacy: BTreeMap<RelPath, LegacyFile>,
    backups: BTreeMap<RelPath, LegacyFile>,
    backup_metas: Vec<RelPath>,
    retired: Vec<RelPath>,
    temporaries: Vec<RelPath>,
    /// What exports left beside sessions.
    carried: Vec<RelPath>,
    databases: Vec<RelPath>,
    /// Links under the name of a whole file.
    links: Vec<RelPath>,
}

/// Whose a folder must be for its sessions to be claimed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signs {
    /// Some file of it can be nobody else's.
    Certain,
    /// Somebody has said that it is picoclaw's: messages under a name that a key
    /// could have given are enough, and a session under any name.
    Given,
}

/// Claims the sessions of a folder.
pub(super) fn discover(view: &FolderView<'_>, signs: Signs) -> Found {
    let mut folder = Folder::look(view);
    let mut found = Found::default();
    if !folder.is_ours(view, signs) {
        return found;
    }
    folder.look_into_objects(view);
    let mut units: BTreeMap<RelPath, UnitClaim> = BTreeMap::new();
    folder.claim_jsonl(&mut units);
    folder.claim_legacy(view, &mut units, &mut found.strays);
    folder.claim_retired(&mut units);
    folder.claim_backups(&mut units);
    let copies = folder.note_copies(view, &mut units);
    folder.note_aliases(&copies, &mut units);
    folder.sort_strays(view, &mut units, &mut found.strays);
    found.units = units.into_values().collect();
    for unit in &mut found.units {
        unit.files.sort();
    }
    found
}

/// Returns the lines that the program would import a whole file of this name over.
pub(crate) fn overwritten_by(name: &RelPath, bytes: &[u8], view: &FolderView<'_>) -> Option<RelPath> {
    if role(name.as_bytes()) != Role::Legacy {
        return None;
    }
    let key = judge::decoded_key(bytes)?;
    let base = if key.is_empty() { sanitised(legacy_stem(name.as_bytes())) } else { sanitised(key) };
    let lines = path(&base, LINES);
    view.get(&lines).map(|_| lines)
}

fn path(stem: &RelPath, suffix: &str) -> RelPath {
    RelPath::new([stem.as_bytes(), suffix.as_bytes()].concat())
}

fn claim(name: RelPath, confidence: Confidence, standing: Standing) -> UnitClaim {
    UnitClaim {
        name,
        root: RelPath::new(""),
        files: Vec::new(),
        left_out: Vec::new(),
        shared: SharedFacts::default(),
        retires: Vec::new(),
        confidence,
        standing,
    }
}

impl Folder {
    fn look(view: &FolderView<'_>) -> Folder {
        let mut folder = Folder::default();
        for (name, entry) in view.direct() {
            match &entry.kind {
                ListedKind::File => folder.look_at_file(view, RelPath::new(name), entry),
                ListedKind::Link => folder.look_at_link(RelPath::new(name)),
                ListedKind::Folder | ListedKind::Special | ListedKind::Unreadable(_) => {}
            }
        }
        folder
    }

    fn look_at_file(&mut self, view: &FolderView<'_>, name: RelPath, entry: &Listed) {
        if judge::is_temporary(name.as_bytes()) {
            return self.temporaries.push(name);
        }
        let size = entry.size;
        let stem = |suffix: &str| RelPath::new(name.as_bytes().strip_suffix(suffix.as_bytes()).unwrap_or(name.as_bytes()));
        let whole_stem = || RelPath::new(legacy_stem(name.as_bytes()));
        // A key that ends in `.meta` gives a legacy session the name of a meta file.
        let is_whole = || key_before_messages(&view.first_bytes(&name)).is_some();
        match role(name.as_bytes()) {
            Role::Lines => {
                self.lines.insert(stem(LINES), judge::lines(view, &name, size));
            }
            Role::Meta if is_whole() => {
                self.legacy.insert(whole_stem(), judge::legacy(view, &name, size));
            }
            Role::Meta => {
                self.metas.insert(stem(META), judge::meta(view, &name, size));
            }
            Role::Legacy => {
                self.legacy.insert(whole_stem(), judge::legacy(view, &name, size));
            }
            Role::Backup => {
                self.backups.insert(whole_stem(), judge::legacy(view, &name, size));
            }
            Role::BackupMeta if is_whole() => {
                self.backups.insert(whole_stem(), judge::legacy(view, &name, size));
            }
            Role::BackupMeta => self.backup_metas.push(stem(BACKUP_META)),
            Role::Companion if name.as_bytes().ends_with(RETIRED_LINES.as_bytes()) => {
                if judge::lines(view, &name, size) != LinesFile::Foreign {
                    self.retired.push(stem(RETIRED_LINES));
                }
            }
            Role::Companion if name.as_bytes().starts_with(b"seahorse.db") => self.databases.push(name),
            Role::Carried => self.carried.push(stem(CARRIED)),
            Role::Companion => {}
        }
    }

    /// A link is never followed: what it leads to is the program's to know.
    fn look_at_link(&mut self, name: RelPath) {
        let stem = |suffix: &str| RelPath::new(name.as_bytes().strip_suffix(suffix.as_bytes()).unwrap_or(name.as_bytes()));
        match role(name.as_bytes()) {
            Role::Legacy => self.links.push(name),
            Role::Meta => {
                self.metas.insert(stem(META), MetaFile::Link);
            }
            Role::Lines => {
                self.lines.insert(stem(LINES), LinesFile::Link);
            }
            Role::Backup | Role::BackupMeta | Role::Carried | Role::Companion => {}
        }
    }

    /// Asks of every other object whether the program would make a session of it.
    fn look_into_objects(&mut self, view: &FolderView<'_>) {
        for (files, suffix) in [(&mut self.legacy, LEGACY), (&mut self.backups, BACKUP)] {
            for (stem, file) in files.iter_mut().filter(|(_, file)| **file == LegacyFile::Object) {
                *file = judge::object(&view.all_bytes(path(stem, suffix)));
            }
        }
    }

    /// Tells whether the sessions here are to be claimed.
    fn is_ours(&self, view: &FolderView<'_>, signs: Signs) -> bool {
        let is_legacy = |(stem, file): (&RelPath, &LegacyFile), suffix: &str| match file {
            LegacyFile::Ours { .. } => true,
            // Under another name it has to be what the program writes, all of it.
            LegacyFile::Renamed { .. } => signs == Signs::Given || judge::is_as_written(&view.all_bytes(path(stem, suffix))),
            LegacyFile::Broken | LegacyFile::Imported { .. } | LegacyFile::Object | LegacyFile::Other => false,
        };
        let named = |stem: &RelPath| stem.as_bytes().starts_with(b"agent_") || stem.as_bytes().starts_with(b"sk_v1_");
        // Nearly every key has a mark that becomes this one in a name.
        let is_enough = |stem: &RelPath| named(stem) || (signs == Signs::Given && stem.as_bytes().contains(&b'_'));
        self.metas.values().any(|meta| matches!(meta, MetaFile::Ours { .. }))
            || self.legacy.iter().any(|file| is_legacy(file, LEGACY))
            || self.backups.iter().any(|file| is_legacy(file, BACKUP))
            || self.lines.iter().any(|(stem, file)| *file == LinesFile::Messages && (is_enough(stem) || self.metas.contains_key(stem)))
            || self.retired.iter().any(|stem| is_enough(stem) || self.backup_metas.contains(stem))
    }

    /// Lines, meta files, or both: one session for each name.
    fn claim_jsonl(&self, units: &mut BTreeMap<RelPath, UnitClaim>) {
        let mut stems: Vec<&RelPath> = self.lines.keys().chain(self.metas.keys()).collect();
        stems.sort();
        stems.dedup();
        for stem in stems {
            let (lines, meta) = (self.lines.get(stem), self.metas.get(stem));
            let lines = lines.filter(|lines| match (lines, meta) {
                // A meta file with the key of its name says whose the lines are,
                // and one that was cut off beside them is hardly another's.
                (LinesFile::Foreign | LinesFile::Link, Some(MetaFile::Ours { .. })) => true,
                (LinesFile::Foreign | LinesFile::Link, Some(meta @ MetaFile::Partial { .. })) => meta.stands_alone(stem),
                (LinesFile::Foreign, Some(MetaFile::Null | MetaFile::Broken)) => true,
                (LinesFile::Foreign | LinesFile::Link, _) => false,
                (LinesFile::Messages | LinesFile::Unclear, _) => true,
            });
            // Beside lines the program reads whatever has this name.
            let meta = meta.filter(|meta| lines.is_some() || meta.stands_alone(stem));
            let suffix = if lines.is_some() { LINES } else { META };
            if lines.is_none() && meta.is_none() {
                continue;
            }
            let sure = matches!(meta, Some(MetaFile::Ours { .. }));
            let mut unit = claim(path(stem, suffix), if sure { Confidence::Sure } else { Confidence::Likely }, Standing::Live);
            // The meta file goes first: lines alone are not listed.
            for (suffix, is_there) in [(META, meta.is_some()), (LINES, lines.is_some())] {
                if is_there {
                    unit.files.push(path(stem, suffix));
                    unit.retires.push(path(stem, suffix));
                }
            }
            if self.carried.contains(stem) {
                unit.files.push(path(stem, CARRIED));
            }
            if lines == Some(&LinesFile::Link) {
                let message = "a link, which is carried and not followed: the messages that picoclaw reads there are not in the log";
                unit.left_out.push((path(stem, LINES), FindingCode::Unreadable, message.to_owned()));
            }
            if let Some((key, _)) = meta.and_then(MetaFile::names)
                && !key.is_empty()
                && sanitised(key) != *stem
            {
                let message = format!("its key `{key}` gives another file name: picoclaw lists that key, and opens other files for it");
                unit.left_out.push((path(stem, META), FindingCode::KeyElsewhere, message));
            }
            units.insert(unit.name.clone(), unit);
        }
    }

    fn jsonl_of(&self, base: &RelPath) -> Option<RelPath> {
        [LINES, META].into_iter().find_map(|suffix| {
            let is_there = if suffix == LINES { self.lines.contains_key(base) } else { self.metas.contains_key(base) };
            is_there.then(|| path(base, suffix))
        })
    }

    /// Sessions that were retired: nobody else makes such names.
    fn claim_retired(&self, units: &mut BTreeMap<RelPath, UnitClaim>) {
        for stem in &self.retired {
            let file = path(stem, RETIRED_LINES);
            if let Some(live) = self.jsonl_of(stem).and_then(|name| units.get_mut(&name)) {
                live.files.push(file);
                continue;
            }
            let mut unit = claim(path(stem, LINES), Confidence::Sure, Standing::Retired);
            unit.files.push(file);
            unit.retires = vec![path(stem, META), path(stem, LINES)];
            units.insert(unit.name.clone(), unit);
        }
    }

    /// Backups go to the session that they were imported into, or are all that
    /// is left.
    fn claim_backups(&self, units: &mut BTreeMap<RelPath, UnitClaim>) {
        for (stem, file) in &self.backups {
            let name = path(stem, BACKUP);
            let base = file.base(stem);
            let owners = [self.jsonl_of(&base), self.jsonl_of(stem), Some(path(&base, LINES)), Some(path(stem, LEGACY))];
            if let Some(owner) = owners.into_iter().flatten().find(|owner| units.contains_key(owner))
                && let Some(unit) = units.get_mut(&owner)
            {
                unit.files.push(name);
                continue;
            }
            let is_ours = matches!(file, LegacyFile::Ours { .. });
            self.claim_left_over(units, name, if is_ours { Confidence::Sure } else { Confidence::Likely });
        }
        for stem in &self.backup_metas {
            let name = path(stem, BACKUP_META);
            let owner = self.jsonl_of(stem).unwrap_or_else(|| path(stem, LINES));
            match units.get_mut(&owner) {
                Some(unit) => unit.files.push(name),
                None => self.claim_left_over(units, name, Confidence::Likely),
            }
        }
    }

    /// A `*.migrated` file by itself: picoclaw's backup of a session that is
    /// gone, or a session that was retired; only a store can tell.
    fn claim_left_over(&self, units: &mut BTreeMap<RelPath, UnitClaim>, name: RelPath, confidence: Confidence) {
        let was = name.as_bytes().strip_suffix(RETIRED_SUFFIX.as_bytes()).unwrap_or(name.as_bytes());
        let mut unit = claim(name.clone(), confidence, Standing::PerhapsRetired);
        unit.files.push(name.clone());
        unit.retires.push(RelPath::new(was));
        units.insert(name, unit);
    }
}

#[cfg(test)]
mod tests;
