//! Whole files, and what picoclaw's next start would do to them: it imports each
//! `*.json` that it can decode, in the order of their names, over whatever lines
//! its key has.

use std::collections::{BTreeMap, HashMap};

use crate::adapters::format::{Confidence, Standing, Stray, UnitClaim};
use crate::adapters::picoclaw::judge::{self, LegacyFile};
use crate::adapters::picoclaw::layout::{LEGACY, LINES, META};
use crate::model::files::RelPath;
use crate::model::finding::FindingCode;
use crate::model::folder::FolderView;

use super::{Folder, claim, path};

/// A longer name does not fit the file systems in use.
const LONGEST_NAME: usize = 255;

/// A whole file that stands in the way of something, or has something in its own.
struct Whole<'f> {
    name: RelPath,
    stem: &'f RelPath,
    file: &'f LegacyFile,
    base: RelPath,
}

/// What the program's import comes to in a folder.
struct Import<'f> {
    /// By the name that each file's session has as lines: which files the
    /// program imports, in its order. Only where that matters.
    into: HashMap<&'f RelPath, Vec<&'f RelPath>>,
    /// The first file that ends the import, and why.
    stops: Option<(&'f RelPath, String)>,
}

impl Folder {
    /// Each whole file is a session of its own.
    pub(super) fn claim_legacy(&self, view: &FolderView<'_>, units: &mut BTreeMap<RelPath, UnitClaim>, strays: &mut Vec<Stray>) {
        let mut all: Vec<Whole<'_>> = self
            .legacy
            .iter()
            .filter(|(_, file)| **file != LegacyFile::Other)
            .map(|(stem, file)| Whole { name: path(stem, LEGACY), stem, file, base: file.base(stem) })
            .collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        let mut by_base: HashMap<&RelPath, Vec<&RelPath>> = HashMap::new();
        for whole in &all {
            by_base.entry(&whole.base).or_default().push(&whole.name);
        }
        let import = self.import(view, &all, &by_base);
        for whole in &all {
            let confidence = match whole.file {
                LegacyFile::Ours { .. } => Confidence::Sure,
                LegacyFile::Renamed { .. } | LegacyFile::Broken => Confidence::Likely,
                LegacyFile::Imported { key } => {
                    let key = if key.is_empty() { whole.stem.to_string() } else { key.clone() };
                    let does = format!(
                        "no session, but picoclaw makes one of all that it can decode: its next start imports this file as `{key}`"
                    );
                    let (code, message) = self.danger(whole, &import, &does).unwrap_or((FindingCode::WouldImport, does));
                    strays.push(Stray { path: whole.name.clone(), code, message });
                    continue;
                }
                LegacyFile::Object | LegacyFile::Other => continue,
            };
            let mut unit = claim(whole.name.clone(), confidence, Standing::Live);
            unit.files.push(whole.name.clone());
            unit.retires.push(whole.name.clone());
            if let Some((code, message)) = self.danger(whole, &import, "picoclaw's next start imports this file") {
                unit.left_out.push((whole.name.clone(), code, message));
            }
            if is_never_imported(&whole.name) {
                let message = "its name ends as that of a meta file: picoclaw never imports it, and only its older manager shows it";
                unit.left_out.push((whole.name.clone(), FindingCode::KeyElsewhere, message.to_owned()));
            }
            if let Some(imported @ [.., last]) = import.into.get(&whole.base).map(Vec::as_slice) {
                if imported.len() > 1 && imported.contains(&&whole.name) {
                    let message = format!("{} files are of one session for picoclaw: it takes {last}, the last by name", imported.len());
                    unit.left_out.push((whole.name.clone(), FindingCode::KeyTwice, message));
                }
                unit.shared.canonical = Some((*last).clone()).filter(|last| *last != whole.name);
            }
            units.insert(unit.name.clone(), unit);
        }
        for (base, files) in &by_base {
            let of_one_key = files.iter().copied().cloned().chain(self.jsonl_of(base));
            let of_one_key: Vec<RelPath> = of_one_key.filter(|name| units.contains_key(name)).collect();
            for name in &of_one_key {
                if let Some(unit) = units.get_mut(name) {
                    unit.shared.retires_with = of_one_key.iter().filter(|other| *other != name).cloned().collect();
                }
            }
        }
    }

    /// Looks into those files that meet others: the rest is not read for it.
    fn import<'f>(&self, view: &FolderView<'_>, all: &'f [Whole<'f>], by_base: &HashMap<&RelPath, Vec<&RelPath>>) -> Import<'f> {
        let mut import = Import { into: HashMap::new(), stops: None };
        for whole in all.iter().filter(|whole| !is_never_imported(&whole.name)) {
            let trouble = self.trouble_with(&whole.base);
            let meets_others = by_base[&whole.base].len() > 1 || self.lines.contains_key(&whole.base) || trouble.is_some();
            let is_decodable = || match whole.file {
                LegacyFile::Ours { .. } | LegacyFile::Renamed { .. } => judge::decoded_key(&view.all_bytes(&whole.name)).is_some(),
                LegacyFile::Imported { .. } => true,
                LegacyFile::Broken | LegacyFile::Object | LegacyFile::Other => false,
            };
            if meets_others && is_decodable() {
                import.into.entry(&whole.base).or_default().push(&whole.name);
                if let (None, Some(why)) = (&import.stops, trouble) {
                    import.stops = Some((&whole.name, why));
                }
            }
        }
        import
    }

    /// Says why the program cannot write the session of this name.
    fn trouble_with(&self, base: &RelPath) -> Option<String> {
        if base.as_bytes().len() + META.len() > LONGEST_NAME {
            return Some("its key gives a file name of more than 255 bytes".to_owned());
        }
        self.metas.get(base).filter(|meta| meta.is_unreadable()).map(|_| format!("{base}{META} cannot be read"))
    }

    /// Returns what the import of a file, which `does` begins to say, would do to others.
    fn danger(&self, whole: &Whole<'_>, import: &Import<'_>, does: &str) -> Option<(FindingCode, String)> {
        if !import.into.get(&whole.base).is_some_and(|imported| imported.contains(&&whole.name)) {
            return None;
        }
        let stopped = match &import.stops {
            Some((name, why)) if **name == whole.name => {
                let message = format!(
                    "picoclaw's import of older sessions stops at this file, because {why}: until that is repaired it runs on its older manager, which shows none of what was imported before"
                );
                return Some((FindingCode::ImportStops, message));
            }
            Some((name, _)) if **name < whole.name => format!(", once {name} no longer stops it"),
            Some(_) | None => String::new(),
        };
        let trouble = self.trouble_with(&whole.base).map(|why| {
            (FindingCode::ImportStops, format!("picoclaw's import of older sessions would stop at this file too, because {why}"))
        });
        let over = self.lines.contains_key(&whole.base).then(|| {
            let over = path(&whole.base, LINES);
            (FindingCode::WouldOverwrite, format!("lies beside {over}: {does} and overwrites the messages there{stopped}"))
        });
        trouble.or(over)
    }
}

/// Tells whether the program's import skips a name, whatever is in the file.
fn is_never_imported(name: &RelPath) -> bool {
    name.as_bytes().ends_with(META.as_bytes())
}
