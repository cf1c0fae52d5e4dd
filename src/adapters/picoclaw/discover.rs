//! Which files of a folder are picoclaw's, and which of them make one session.
//! Told by content: a name alone settles nothing but what lies beside files
//! that are certain.

use std::collections::{BTreeMap, HashMap};

use crate::adapters::adapter::{Confidence, Found, RETIRED_SUFFIX, Standing, Stray, UnitClaim};
use crate::model::files::{Beside, RelPath};
use crate::model::finding::FindingCode;
use crate::model::folder::{FolderView, ListedKind};

use super::judge::{self, LegacyFile, LinesFile, MetaFile};
use super::layout::{BACKUP, BACKUP_META, LEGACY, LINES, META, RETIRED_LINES, Role, role, sanitised};
use super::promoted::{Copied, Copies, Extent};

/// The files of a folder, by what their names say, without the suffix.
#[derive(Default)]
struct Folder {
    lines: BTreeMap<String, LinesFile>,
    metas: BTreeMap<String, MetaFile>,
    legacy: BTreeMap<String, LegacyFile>,
    backups: BTreeMap<String, LegacyFile>,
    backup_metas: Vec<String>,
    retired: Vec<String>,
    temporaries: Vec<String>,
    databases: Vec<String>,
    /// Links under the name of a whole file.
    links: Vec<String>,
}

/// Claims the sessions of a folder.
pub(super) fn discover(view: &FolderView<'_>) -> Found {
    let folder = Folder::look(view);
    let mut found = Found::default();
    if !folder.is_ours() {
        return found;
    }
    let mut units: BTreeMap<String, UnitClaim> = BTreeMap::new();
    folder.claim_jsonl(&mut units);
    folder.claim_legacy(&mut units, &mut found.strays);
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

fn path(stem: &str, suffix: &str) -> RelPath {
    RelPath::new(format!("{stem}{suffix}"))
}

fn messages(count: usize) -> String {
    if count == 1 { "message".to_owned() } else { format!("{count} messages") }
}

fn claim(name: RelPath, confidence: Confidence, standing: Standing) -> UnitClaim {
    UnitClaim {
        name,
        root: RelPath::new(""),
        files: Vec::new(),
        left_out: Vec::new(),
        beside: Beside::default(),
        retires: Vec::new(),
        confidence,
        standing,
    }
}

impl Folder {
    fn look(view: &FolderView<'_>) -> Folder {
        let mut folder = Folder::default();
        for (name, entry) in view.entries().filter(|(name, _)| !name.contains(&b'/')) {
            let Ok(name) = std::str::from_utf8(name) else { continue };
            if entry.kind != ListedKind::File {
                let is_whole_file = entry.kind == ListedKind::Link && role(&RelPath::new(name)) == Role::Legacy;
                folder.links.extend(is_whole_file.then(|| name.to_owned()));
                continue;
            }
            if judge::is_temporary(name) {
                folder.temporaries.push(name.to_owned());
                continue;
            }
            let stem = |suffix: &str| name.strip_suffix(suffix).unwrap_or(name).to_owned();
            match role(&RelPath::new(name)) {
                Role::Lines => {
                    folder.lines.insert(stem(LINES), judge::lines(&view.first_bytes(name), entry.size));
                }
                Role::Meta => {
                    folder.metas.insert(stem(META), judge::meta(view, name, entry.size));
                }
                Role::Legacy => {
                    folder.legacy.insert(stem(LEGACY), judge::legacy(view, name, entry.size));
                }
                Role::Backup => {
                    folder.backups.insert(stem(BACKUP), judge::legacy(view, name, entry.size));
                }
                Role::BackupMeta => folder.backup_metas.push(stem(BACKUP_META)),
                Role::Companion if name.ends_with(RETIRED_LINES) => {
                    if judge::lines(&view.first_bytes(name), entry.size) != LinesFile::Foreign {
                        folder.retired.push(stem(RETIRED_LINES));
                    }
                }
                Role::Companion if name.starts_with("seahorse.db") => folder.databases.push(name.to_owned()),
                Role::Companion => {}
            }
        }
        folder
    }

    /// Whether some file of the folder can be nobody else's.
    fn is_ours(&self) -> bool {
        let is_legacy = |file: &LegacyFile| matches!(file, LegacyFile::Ours { .. });
        let named = |stem: &String| stem.starts_with("agent_") || stem.starts_with("sk_v1_");
        self.metas.values().any(|meta| matches!(meta, MetaFile::Ours { .. }))
            || self.legacy.values().any(is_legacy)
            || self.backups.values().any(is_legacy)
            || self.lines.iter().any(|(stem, file)| *file == LinesFile::Messages && (named(stem) || self.metas.contains_key(stem)))
            || self.retired.iter().any(|stem| named(stem) || self.backup_metas.contains(stem))
    }

    /// Lines, meta files, or both: one session for each name.
    fn claim_jsonl(&self, units: &mut BTreeMap<String, UnitClaim>) {
        let mut stems: Vec<&String> = self.lines.keys().chain(self.metas.keys()).collect();
        stems.sort();
        stems.dedup();
        for stem in stems {
            let (lines, meta) = (self.lines.get(stem), self.metas.get(stem));
            let lines = match (lines, meta) {
                // A meta file with the key of its name says whose the lines are.
                (Some(LinesFile::Foreign), Some(MetaFile::Ours { .. })) => lines,
                (Some(LinesFile::Foreign), Some(meta @ MetaFile::Partial { .. })) if meta.stands_alone(stem) => lines,
                (Some(LinesFile::Foreign), _) => None,
                (Some(LinesFile::Messages | LinesFile::Unclear) | None, _) => lines,
            };
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
            if let Some((key, _)) = meta.and_then(MetaFile::names)
                && !key.is_empty()
                && sanitised(key) != *stem
            {
                let message = format!("its key `{key}` gives another file name: picoclaw lists that key, and opens other files for it");
                unit.left_out.push((path(stem, META), FindingCode::KeyElsewhere, message));
            }
            units.insert(unit.name.to_string(), unit);
        }
    }

    fn jsonl_of(&self, base: &str) -> Option<String> {
        [LINES, META].into_iter().find_map(|suffix| {
            let is_there = if suffix == LINES { self.lines.contains_key(base) } else { self.metas.contains_key(base) };
            is_there.then(|| format!("{base}{suffix}"))
        })
    }

    fn claim_legacy(&self, units: &mut BTreeMap<String, UnitClaim>, strays: &mut Vec<Stray>) {
        let mut by_base: HashMap<String, Vec<&String>> = HashMap::new();
        for (stem, file) in &self.legacy {
            by_base.entry(file.base(stem)).or_default().push(stem);
        }
        for (stem, file) in &self.legacy {
            let name = path(stem, LEGACY);
            let confidence = match file {
                LegacyFile::Ours { .. } => Confidence::Sure,
                LegacyFile::Renamed { .. } | LegacyFile::Broken => Confidence::Likely,
                LegacyFile::Object => {
                    let message =
                        format!("no session, but picoclaw takes every JSON object for one: its next start imports this file as `{stem}`");
                    strays.push(Stray { path: name, code: FindingCode::WouldImport, message });
                    continue;
                }
                LegacyFile::Other => continue,
            };
            let mut unit = claim(name.clone(), confidence, Standing::Live);
            unit.files.push(name.clone());
            unit.retires.push(name.clone());
            let base = file.base(stem);
            if let Some(over) = self.jsonl_of(&base).filter(|_| !matches!(file, LegacyFile::Broken)) {
                let message = format!("lies beside {over}: picoclaw's next start imports this file and overwrites the messages there");
                unit.left_out.push((name.clone(), FindingCode::WouldOverwrite, message));
            }
            if let Some([.., last]) = by_base.get(&base).filter(|all| all.len() > 1).map(Vec::as_slice) {
                let message =
                    format!("{} files are of one session for picoclaw: it takes {last}{LEGACY}, the last by name", by_base[&base].len());
                unit.left_out.push((name, FindingCode::KeyTwice, message));
                unit.beside.canonical = Some(path(last, LEGACY)).filter(|_| *last != stem);
            }
            units.insert(unit.name.to_string(), unit);
        }
    }

    /// Sessions that were retired: nobody else makes such names.
    fn claim_retired(&self, units: &mut BTreeMap<String, UnitClaim>) {
        for stem in &self.retired {
            let file = path(stem, RETIRED_LINES);
            if let Some(live) = self.jsonl_of(stem).and_then(|name| units.get_mut(&name)) {
                live.files.push(file);
                continue;
            }
            let mut unit = claim(path(stem, LINES), Confidence::Sure, Standing::Retired);
            unit.files.push(file);
            unit.retires = vec![path(stem, META), path(stem, LINES)];
            units.insert(unit.name.to_string(), unit);
        }
    }

    /// Backups go to the session that they were imported into, or are all that
    /// is left.
    fn claim_backups(&self, units: &mut BTreeMap<String, UnitClaim>) {
        for (stem, file) in &self.backups {
            let name = path(stem, BACKUP);
            let base = file.base(stem);
            let owners = [self.jsonl_of(&base), self.jsonl_of(stem), Some(format!("{base}{LINES}")), Some(format!("{stem}{LEGACY}"))];
            if let Some(owner) = owners.into_iter().flatten().find(|owner| units.contains_key(owner))
                && let Some(unit) = units.get_mut(&owner)
            {
                unit.files.push(name);
                continue;
            }
            let confidence = match file {
                LegacyFile::Ours { .. } => Confidence::Sure,
                LegacyFile::Renamed { .. } | LegacyFile::Broken | LegacyFile::Object | LegacyFile::Other => Confidence::Likely,
            };
            self.claim_left_over(units, name, confidence);
        }
        for stem in &self.backup_metas {
            let name = path(stem, BACKUP_META);
            let owner = self.jsonl_of(stem).unwrap_or_else(|| format!("{stem}{LINES}"));
            match units.get_mut(&owner) {
                Some(unit) => unit.files.push(name),
                None => self.claim_left_over(units, name, Confidence::Likely),
            }
        }
    }

    /// A `*.migrated` file by itself: picoclaw's backup of a session that is
    /// gone, or a session that was retired; only a store can tell.
    fn claim_left_over(&self, units: &mut BTreeMap<String, UnitClaim>, name: RelPath, confidence: Confidence) {
        let text = name.to_string();
        let was = RelPath::new(text.strip_suffix(RETIRED_SUFFIX).unwrap_or(&text));
        let mut unit = claim(name.clone(), confidence, Standing::PerhapsRetired);
        unit.files.push(name);
        unit.retires.push(was);
        units.insert(text, unit);
    }

    /// Says of each session that it begins with a copy of one of its aliases.
    /// Returns which ones are copied where.
    fn note_copies(&self, view: &FolderView<'_>, units: &mut BTreeMap<String, UnitClaim>) -> Vec<(String, String, Copied)> {
        let mut copies = Copies::new(view);
        let mut found = Vec::new();
        let by_key: HashMap<&str, &String> = self.metas.iter().filter_map(|(stem, meta)| Some((meta.names()?.0, stem))).collect();
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
                unit.beside.promoted_from = Some(path(from, LINES));
            }
            found.push((from.clone(), stem.clone(), copied));
        }
        found
    }

    /// Says of each session that another one answers to its key.
    fn note_aliases(&self, copies: &[(String, String, Copied)], units: &mut BTreeMap<String, UnitClaim>) {
        let mut canonical: HashMap<&str, (&str, &str)> = HashMap::new();
        for (stem, meta) in &self.metas {
            let Some((key, aliases)) = meta.names() else { continue };
            for alias in aliases.iter().filter(|alias| *alias != key) {
                canonical.entry(alias.as_str()).or_insert((key, stem.as_str()));
            }
        }
        for (stem, meta) in &self.metas {
            let Some((key, _)) = meta.names() else { continue };
            // A key without these characters that has files is never looked up.
            let answers = canonical.get(key).filter(|_| key.contains([':', '/', '\\']));
            let opened = answers.map_or_else(|| sanitised(key), |(_, at)| (*at).to_owned());
            let opened = self.jsonl_of(&opened).filter(|name| opened != *stem && units.contains_key(name));
            if let Some(unit) = self.jsonl_of(stem).and_then(|name| units.get_mut(&name)) {
                unit.beside.canonical = opened.map(RelPath::new);
            }
            let Some((other, at)) = answers else { continue };
            let copied = copies.iter().find(|(from, to, _)| from == stem && to == at).map(|(_, _, copied)| copied);
            let there = match copied {
                Some(Copied { messages: 1, extent: Extent::All }) => "its one message stands there too".to_owned(),
                Some(Copied { messages, extent: Extent::All }) => format!("all its {messages} messages stand there too"),
                Some(Copied { messages: 1, extent: Extent::Beginning }) => "its first message stands there too".to_owned(),
                Some(Copied { messages, extent: Extent::Beginning }) => format!("its first {messages} messages stand there too"),
                None => "what was said here may stand there too".to_owned(),
            };
            if let Some(unit) = self.jsonl_of(stem).and_then(|name| units.get_mut(&name)) {
                let message = format!("`{key}` is an alias of `{other}`: picoclaw reads and writes {at}{LINES} for it, and {there}");
                unit.left_out.push((path(stem, META), FindingCode::AliasOfAnother, message));
            }
        }
    }

    /// Temporaries, links and databases. A temporary that is a whole meta file is
    /// carried with its session.
    fn sort_strays(&self, view: &FolderView<'_>, units: &mut BTreeMap<String, UnitClaim>, strays: &mut Vec<Stray>) {
        for name in &self.temporaries {
            let size = view.get(name).map_or(0, |entry| entry.size);
            let file = RelPath::new(name.as_str());
            let owner = match judge::meta(view, name, size) {
                MetaFile::Ours { key, .. } => self.jsonl_of(&sanitised(&key)),
                MetaFile::Partial { .. } | MetaFile::Broken | MetaFile::Foreign => None,
            };
            if let Some(unit) = owner.and_then(|owner| units.get_mut(&owner)) {
                let message = "left by an interrupted write; a complete meta file, which is carried".to_owned();
                unit.left_out.push((file.clone(), FindingCode::TemporaryKept, message));
                unit.files.push(file);
                continue;
            }
            let what = if size == 0 { "empty" } else { "of no session that it names" };
            let message = format!("left by an interrupted write of picoclaw; {what}, and not carried");
            strays.push(Stray { path: file, code: FindingCode::TemporaryLeft, message });
        }
        for name in &self.links {
            let message =
                "a link, which is not followed: picoclaw's next start imports what it leads to, if that is a JSON object".to_owned();
            strays.push(Stray { path: RelPath::new(name.as_str()), code: FindingCode::WouldImport, message });
        }
        for name in &self.databases {
            let message = "a database that picoclaw fills from the sessions again; not carried".to_owned();
            strays.push(Stray { path: RelPath::new(name.as_str()), code: FindingCode::UnknownFile, message });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::folder::{Listed, Listing, Part};

    /// The units of a folder with these files, each with its own files.
    fn units(files: &[(&str, &str)]) -> Vec<(String, Vec<String>)> {
        let listed = |(name, text): &(&str, &str)| Listed {
            path: RelPath::new(*name),
            kind: ListedKind::File,
            size: text.len() as u64,
            mtime_ns: 0,
            mode: 0o644,
        };
        let listing = Listing::new(files.iter().map(listed).collect());
        let peek = |path: &RelPath, _: Part| {
            let text = files.iter().find(|(name, _)| path.as_bytes() == name.as_bytes()).map_or("", |(_, text)| text);
            text.as_bytes().to_vec()
        };
        let root = RelPath::new("");
        let found = discover(&FolderView::new(&listing, &root, &peek));
        let names = |files: &[RelPath]| files.iter().map(ToString::to_string).collect();
        found.units.iter().map(|unit| (unit.name.to_string(), names(&unit.files))).collect()
    }

    const LINE: &str = "{\"role\":\"user\",\"content\":\"a\"}\n";

    #[test]
    fn a_meta_file_beside_lines_is_theirs_whatever_it_says() {
        for meta in [
            r#"{"key":"a:b","summary":"SUM","skip":1}"#,
            r#"{"KEY":"a:b","Summary":"","SKIP":1,"count":2,"created_at":"","updated_at":""}"#,
            r#"{"key":5,"title":"x"}"#,
            "{}",
            "null",
            "{\"key\":",
            "",
        ] {
            let found = units(&[("a_b.jsonl", LINE), ("a_b.meta.json", meta)]);
            assert_eq!(found, [("a_b.jsonl".to_owned(), vec!["a_b.jsonl".to_owned(), "a_b.meta.json".to_owned()])], "{meta}");
        }
    }

    #[test]
    fn a_meta_file_alone_must_say_what_it_is() {
        let with = |meta: &str| units(&[("agent_x.jsonl", LINE), ("a_b.meta.json", meta)]).len();
        assert_eq!(with(r#"{"key":"a:b","summary":"SUM"}"#), 2);
        for other in [r#"{"key":"c:d"}"#, "{}", r#"{"title":"x"}"#, r#"{"key":["a:b"]}"#] {
            assert_eq!(with(other), 1, "{other}");
        }
        assert_eq!(units(&[("a_b.meta.json", r#"{"key":"a:b"}"#)]), []);
    }

    #[test]
    fn a_legacy_file_is_one_in_whatever_letters_its_keys_are() {
        let known = r#"{"key":"a:b","messages":[],"created":"2026-01-01T00:00:00Z","updated":"2026-01-01T00:00:00Z"}"#;
        let is_unit = |text: &str| units(&[("a_b.json", known), ("c_d.json", text)]).iter().any(|(name, _)| name == "c_d.json");
        for text in [
            r#"{"KEY":"c:d","Messages":[{"role":"user","content":"x"}]}"#,
            r#"{"meſſageſ":null,"\u212aey":"c:d"}"#,
            r#"{"key":"x","key":"c:d","summary":"s","messages":[]}"#,
            r#"{"version":2,"key":"c:d","messages":[{"Role":"user","content":"x"}]}"#,
        ] {
            assert!(is_unit(text), "{text}");
        }
        for text in [r#"{"version":2,"key":"c:d","messages":[]}"#, r#"{"messages":[]}"#, r#"{"key":"c:d","messages":{}}"#, "[]"] {
            assert!(!is_unit(text), "{text}");
        }
    }
}
