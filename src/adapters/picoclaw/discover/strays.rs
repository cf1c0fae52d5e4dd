//! What belongs to no session: temporaries, links and databases. A temporary that
//! holds something complete is carried, with its session or by itself.

use std::collections::BTreeMap;

use crate::adapters::format::{Confidence, Standing, Stray, UnitClaim};
use crate::adapters::picoclaw::judge::{self, LegacyFile, LinesFile, MetaFile};
use crate::adapters::picoclaw::layout::{LEGACY, sanitised};
use crate::model::files::RelPath;
use crate::model::finding::FindingCode;
use crate::model::folder::FolderView;

use super::{Folder, claim, path};

/// Something complete in a temporary.
struct Complete {
    what: &'static str,
    /// The sessions that it may be of, the likeliest first.
    owners: Vec<RelPath>,
}

impl Folder {
    /// Says what each is, and gives temporaries that are complete to a session.
    pub(super) fn sort_strays(&self, view: &FolderView<'_>, units: &mut BTreeMap<RelPath, UnitClaim>, strays: &mut Vec<Stray>) {
        for file in &self.temporaries {
            let size = view.get(file).map_or(0, |entry| entry.size);
            let Some(Complete { what, owners }) = self.complete(view, file, size) else {
                let what = if size == 0 { "empty" } else { "nothing complete is in it" };
                let message = format!("left by an interrupted write of picoclaw; {what}, and not carried");
                strays.push(Stray { path: file.clone(), code: FindingCode::TemporaryLeft, message });
                continue;
            };
            let owner = owners.into_iter().find(|owner| units.contains_key(owner));
            let (name, whose) = match owner {
                Some(owner) => (owner, "carried"),
                None => {
                    units.insert(file.clone(), claim(file.clone(), Confidence::Likely, Standing::Live));
                    (file.clone(), "carried by itself, because no session here is known to be its")
                }
            };
            if let Some(unit) = units.get_mut(&name) {
                let message = format!("left by an interrupted write; {what}, which is {whose}");
                unit.left_out.push((file.clone(), FindingCode::TemporaryKept, message));
                unit.files.push(file.clone());
            }
        }
        for name in &self.links {
            let message =
                "a link, which is not followed: picoclaw's next start imports what it leads to, if that is a JSON object".to_owned();
            strays.push(Stray { path: name.clone(), code: FindingCode::WouldImport, message });
        }
        for name in &self.databases {
            let message = "a database that picoclaw fills from the sessions again; not carried".to_owned();
            strays.push(Stray { path: name.clone(), code: FindingCode::UnknownFile, message });
        }
    }

    /// Returns what of value a temporary holds.
    fn complete(&self, view: &FolderView<'_>, file: &RelPath, size: u64) -> Option<Complete> {
        if judge::lines(view, file, size) == LinesFile::Messages {
            // Which lines the program was about to replace only an old name says.
            let stem = file.as_bytes().strip_suffix(b".jsonl.tmp").map(RelPath::new);
            return Some(Complete { what: "complete messages", owners: stem.and_then(|stem| self.jsonl_of(&stem)).into_iter().collect() });
        }
        if let MetaFile::Ours { key, .. } = judge::meta(view, file, size) {
            return Some(Complete { what: "a complete meta file", owners: self.jsonl_of(&sanitised(key)).into_iter().collect() });
        }
        let legacy = judge::legacy(view, file, size);
        let (LegacyFile::Ours { key } | LegacyFile::Renamed { key }) = &legacy else { return None };
        judge::decoded_key(&view.all_bytes(file))?;
        let base = legacy.base(file);
        let whole = [RelPath::new(key.as_bytes()), base.clone()].map(|stem| path(&stem, LEGACY));
        Some(Complete { what: "a complete session", owners: whole.into_iter().chain(self.jsonl_of(&base)).collect() })
    }
}
