//! Which files are sessions of pi: by their first records, and by what the
//! folder around them is.

use std::cell::OnceCell;

use crate::adapters::format::{Confidence, Found, RETIRED_SUFFIX, Standing, Stray, UnitClaim};
use crate::adapters::kit::entries::signs::{self, HostSigns, Looks};
use crate::model::files::{RelPath, SharedFacts};
use crate::model::finding::FindingCode;
use crate::model::folder::{FolderView, ListedKind};

const SUFFIX: &[u8] = b".jsonl";

/// OpenClaw embeds pi's session manager and writes the same records; its own files
/// and folders say so.
const OTHERS: HostSigns = HostSigns {
    entries: &[b"\"customType\":\"openclaw", b"\"customType\":\"model-snapshot\"", b"\"provider\":\"openclaw\""],
    store: ("sessions.json", b"\"sessionId\""),
    archives: &[b".jsonl.reset.", b".jsonl.deleted.", b".jsonl.imported-"],
    folders: (b"sessions", b"agents"),
};

/// Claims every session file of a folder.
pub(super) fn discover(folder: &FolderView<'_>) -> Found {
    let mut found = Found::default();
    if signs::is_hosted(folder, &OTHERS) {
        return found;
    }
    let is_ours = OnceCell::new();
    for (name, entry) in folder.direct().filter(|(_, entry)| entry.kind == ListedKind::File) {
        let (live_name, standing) = match name.strip_suffix(RETIRED_SUFFIX.as_bytes()) {
            Some(live) => (live, Standing::Retired),
            None => (name, Standing::Live),
        };
        if !live_name.ends_with(SUFFIX) {
            continue;
        }
        if standing == Standing::Retired && folder.has_file(live_name) {
            stray(&mut found, name, FindingCode::RetiredChanged, signs::RETIRED_TWIN);
            continue;
        }
        let claim = |confidence| unit(name, live_name, confidence, standing);
        match signs::look_at(folder, name, entry.size, &OTHERS) {
            Looks::Session(confidence) => found.units.push(claim(confidence)),
            Looks::Writes => found.units.push(claim(Confidence::Sure)),
            Looks::Damaged(Some(confidence)) => found.units.push(claim(confidence)),
            // What says nothing itself belongs to pi where its name does, or where
            // its neighbours do. Of a damaged session some lines may still be JSON
            // without being entries. A file that cannot be read says nothing, either,
            // and is named as such.
            Looks::Damaged(None) | Looks::Foreign if is_named_by_pi(live_name) && !folder.first_bytes(name).is_empty() => {
                found.units.push(claim(Confidence::Likely));
            }
            Looks::Damaged(None) | Looks::Blank => {
                if *is_ours.get_or_init(|| holds_sessions(folder)) {
                    found.units.push(claim(Confidence::Likely));
                }
            }
            Looks::Capture => {
                let message = "captured output of `pi --mode json`: it begins like a session and is not one";
                stray(&mut found, name, FindingCode::NotASession, message);
            }
            Looks::Hosted | Looks::Foreign => {}
        }
    }
    found
}

fn stray(found: &mut Found, name: &[u8], code: FindingCode, message: &str) {
    found.strays.push(Stray { path: RelPath::new(name), code, message: message.to_owned() });
}

fn unit(name: &[u8], live_name: &[u8], confidence: Confidence, standing: Standing) -> UnitClaim {
    UnitClaim {
        name: RelPath::new(live_name),
        root: RelPath::new(""),
        files: vec![RelPath::new(name)],
        left_out: Vec::new(),
        shared: SharedFacts::default(),
        retires: vec![RelPath::new(live_name)],
        confidence,
        standing,
    }
}

/// Tells whether some file of a folder is a session of pi.
fn holds_sessions(folder: &FolderView<'_>) -> bool {
    let mut files = folder.direct().filter(|(name, entry)| entry.kind == ListedKind::File && name.ends_with(SUFFIX));
    files.any(|(name, entry)| matches!(signs::look_at(folder, name, entry.size, &OTHERS), Looks::Session(_)))
}

/// Tells whether a name is one that pi gives: a time and an id, as in
/// `2026-11-15T23-14-50-910Z_01a1e17d-f59d-4370-93ec-e2321818cbc6.jsonl`.
fn is_named_by_pi(name: &[u8]) -> bool {
    const TIME: &[u8] = b"0000-00-00T00-00-00-000Z_";
    let is_right = |(byte, wanted): (&u8, &u8)| if *wanted == b'0' { byte.is_ascii_digit() } else { byte == wanted };
    name.len() > TIME.len() + SUFFIX.len() && name.iter().zip(TIME).all(is_right)
}
