//! Which files are sessions of pi: by their first records, and by what the
//! folder around them is.

use crate::adapters::adapter::{Confidence, Found, RETIRED_SUFFIX, Standing, Stray, UnitClaim};
use crate::adapters::tree::signs::{self, Looks};
use crate::model::files::{Beside, RelPath};
use crate::model::finding::FindingCode;
use crate::model::folder::{FolderView, ListedKind};

/// Claims every session file of a folder.
pub(super) fn discover(folder: &FolderView<'_>) -> Found {
    let mut found = Found::default();
    // OpenClaw writes the same records; its folders say so.
    if signs::is_openclaw(folder) {
        return found;
    }
    for (path, entry) in folder.direct().filter(|(_, entry)| entry.kind == ListedKind::File) {
        let Ok(name) = std::str::from_utf8(path) else { continue };
        let (live_name, standing) = match name.strip_suffix(RETIRED_SUFFIX) {
            Some(live) => (live, Standing::Retired),
            None => (name, Standing::Live),
        };
        if !live_name.ends_with(".jsonl") {
            continue;
        }
        if standing == Standing::Retired && folder.has_file(live_name) {
            let message = signs::RETIRED_TWIN.to_owned();
            found.strays.push(Stray { path: RelPath::new(path), code: FindingCode::RetiredChanged, message });
            continue;
        }
        let path = RelPath::new(path);
        match signs::look_at(folder, name, entry.size) {
            Looks::Session(confidence) => found.units.push(UnitClaim {
                name: RelPath::new(live_name),
                root: RelPath::new(""),
                files: vec![path],
                left_out: Vec::new(),
                beside: Beside::default(),
                retires: vec![RelPath::new(live_name)],
                confidence,
                standing,
            }),
            Looks::Capture => found.strays.push(Stray {
                path,
                code: FindingCode::NotASession,
                message: "captured output of `pi --mode json`: it begins like a session and is none".to_owned(),
            }),
            Looks::HarnessFour => found.strays.push(Stray {
                path,
                code: FindingCode::UnsupportedVersion,
                message: "a session of pi's agent core, version 4, which is not converted yet".to_owned(),
            }),
            Looks::Blank => blank(folder, path, name, &mut found),
            Looks::OpenClaw | Looks::Foreign => {}
        }
    }
    found
}

/// A blank file belongs to pi where all its neighbours do.
fn blank(folder: &FolderView<'_>, path: RelPath, name: &str, found: &mut Found) {
    let is_session = |path: &[u8]| {
        let name = std::str::from_utf8(path).unwrap_or_default();
        let size = folder.get(name).map_or(0, |entry| entry.size);
        !name.contains('/') && name.ends_with(".jsonl") && matches!(signs::look_at(folder, name, size), Looks::Session(_))
    };
    if folder.entries().take(64).any(|(path, entry)| entry.kind == ListedKind::File && is_session(path)) {
        found.units.push(UnitClaim {
            name: RelPath::new(name),
            root: RelPath::new(""),
            files: vec![path.clone()],
            left_out: Vec::new(),
            beside: Beside::default(),
            retires: vec![path],
            confidence: Confidence::Likely,
            standing: Standing::Live,
        });
    }
}
