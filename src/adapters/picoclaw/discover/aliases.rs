//! Which session answers to a key, and which ones begin with what another said.

use std::collections::{BTreeMap, HashMap};

use crate::adapters::format::UnitClaim;
use crate::adapters::picoclaw::judge::MetaFile;
use crate::adapters::picoclaw::layout::{LEGACY, LINES, META, sanitised};
use crate::adapters::picoclaw::promoted::{Copied, Copies, Extent};
use crate::model::files::RelPath;
use crate::model::finding::FindingCode;
use crate::model::folder::FolderView;

use super::{Folder, path};

/// What of one session stands at the beginning of another.
pub(super) struct Copy {
    from: RelPath,
    to: RelPath,
    copied: Copied,
}

/// A session that has a key: by its name without a suffix, and the file that the
/// key is known from.
struct Keyed<'f> {
    unit: RelPath,
    stem: &'f RelPath,
    key: &'f str,
    said_in: RelPath,
}

/// What a key has that is not the same as the name of its files.
const SEPARATORS: [char; 3] = [':', '/', '\\'];

fn messages(count: usize) -> String {
    if count == 1 { "message".to_owned() } else { format!("{count} messages") }
}

impl Folder {
    /// Says of each session that it begins with a copy of one of its aliases.
    /// Returns which ones are copied where.
    pub(super) fn note_copies(&self, view: &FolderView<'_>, units: &mut BTreeMap<RelPath, UnitClaim>) -> Vec<Copy> {
        let mut copies = Copies::new(view);
        let mut found = Vec::new();
        let by_key: HashMap<&str, &RelPath> = self.metas.iter().filter_map(|(stem, meta)| Some((meta.names()?.0, stem))).collect();
        // Lines without a meta file have their key in their name only.
        let by_name = |alias: &str| self.lines.get_key_value(&sanitised(alias)).map(|(stem, _)| stem);
        for (stem, meta) in self.metas.iter().filter(|(stem, _)| self.lines.contains_key(*stem)) {
            let Some((_, aliases)) = meta.names() else { continue };
            let copied = aliases.iter().find_map(|alias| {
                let from = by_key.get(alias.as_str()).copied().or_else(|| by_name(alias)).filter(|from| *from != stem)?;
                Some((from, alias, copies.copied(from, stem)?))
            });
            let Some((from, alias, copied)) = copied else { continue };
            if let Some(unit) = self.jsonl_of(stem).and_then(|name| units.get_mut(&name)) {
                let part = match copied.extent {
                    Extent::All => "all",
                    Extent::Beginning => "the first",
                };
                let are = if copied.messages == 1 { "is" } else { "are" };
                let message = format!(
                    "its first {} {are} {part} of {from}{LINES}: picoclaw promoted its alias `{alias}`; both logs keep what was copied",
                    messages(copied.messages)
                );
                unit.left_out.push((path(stem, LINES), FindingCode::PromotedCopy, message));
                unit.shared.promoted_from = Some(path(from, LINES));
            }
            found.push(Copy { from: from.clone(), to: stem.clone(), copied });
        }
        found
    }

    /// Says of each session that another one answers to its key.
    pub(super) fn note_aliases(&self, copies: &[Copy], units: &mut BTreeMap<RelPath, UnitClaim>) {
        // The first meta file that lists a key answers to it, with its own key.
        let mut answers: BTreeMap<&str, &str> = BTreeMap::new();
        let named = || self.metas.values().filter_map(MetaFile::names);
        for (key, aliases) in named() {
            for alias in aliases.iter().filter(|alias| *alias != key) {
                answers.entry(alias.as_str()).or_insert(key);
            }
        }
        for Keyed { unit, stem, key, said_in } in self.keyed(&answers) {
            // A key without these characters that has files is never looked up.
            let other = answers.get(key).copied().filter(|_| key.contains(SEPARATORS));
            let opened = sanitised(other.unwrap_or(key));
            let canonical = self.jsonl_of(&opened).filter(|name| *name != unit && units.contains_key(name));
            let Some(unit) = units.get_mut(&unit) else { continue };
            if other.is_some() || canonical.is_some() {
                unit.shared.canonical = canonical;
            }
            let Some(other) = other else { continue };
            let copied = copies.iter().find(|copy| copy.from == *stem && copy.to == opened).map(|copy| copy.copied);
            let there = match copied {
                Some(Copied { messages: 1, extent: Extent::All }) => "its one message is there, too".to_owned(),
                Some(Copied { messages, extent: Extent::All }) => format!("all its {messages} messages stand there too"),
                Some(Copied { messages: 1, extent: Extent::Beginning }) => "its first message is there, too".to_owned(),
                Some(Copied { messages, extent: Extent::Beginning }) => format!("its first {messages} messages stand there too"),
                None => "what was said here may stand there too".to_owned(),
            };
            let message = format!("`{key}` is an alias of `{other}`: picoclaw reads and writes {opened}{LINES} for it, and {there}");
            unit.left_out.push((said_in, FindingCode::AliasOfAnother, message));
        }
    }

    /// Returns the sessions whose key is known: by their meta file or whole file, or,
    /// for lines alone, because an alias gives their name.
    fn keyed<'f>(&'f self, answers: &BTreeMap<&'f str, &'f str>) -> Vec<Keyed<'f>> {
        // Two aliases may give one name: the later one counts, in whatever run.
        let aliases: BTreeMap<RelPath, &str> = answers.keys().map(|alias| (sanitised(alias), *alias)).collect();
        let mut keyed = Vec::new();
        for (stem, meta) in &self.metas {
            if let (Some((key, _)), Some(unit)) = (meta.names(), self.jsonl_of(stem)) {
                keyed.push(Keyed { unit, stem, key, said_in: path(stem, META) });
            }
        }
        for stem in self.lines.keys().filter(|stem| self.metas.get(*stem).and_then(MetaFile::names).is_none()) {
            if let Some(key) = aliases.get(stem) {
                keyed.push(Keyed { unit: path(stem, LINES), stem, key, said_in: path(stem, LINES) });
            }
        }
        for (stem, file) in &self.legacy {
            // Only where an alias answers: what its own key means was said before.
            if let Some(key) = file.key().filter(|key| answers.contains_key(key) && key.contains(SEPARATORS)) {
                keyed.push(Keyed { unit: path(stem, LEGACY), stem, key, said_in: path(stem, LEGACY) });
            }
        }
        keyed
    }
}
