//! Which folders hold Gemini CLI's sessions, and which files make one session.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::adapters::format::{Confidence, Found, Standing, Stray, UnitClaim};
use crate::json;
use crate::model::files::{RelPath, SharedFacts, Slice};
use crate::model::finding::FindingCode;
use crate::model::folder::{FolderView, ListedKind};
use crate::runtimes::javascript::is_blank;

use super::fold::{Form, identity};
use super::layout::{
    ACTIVITY, CHATS, OUTPUTS, PROJECT_ROOT, PROJECTS, PROMPTS, RESTORE_POINTS, SHELL, base, is_chat, is_listed, live, of_unreadable, stem,
};
use super::signs;

/// How much it takes to be sure of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signs {
    /// Some file's content has to say so.
    Certain,
    /// Somebody has said so.
    Given,
}

/// Claims the sessions of a project's folder, or of a folder of sessions by
/// itself, and what serves a project or all projects.
pub(super) fn discover(folder: &FolderView<'_>, signs: Signs) -> Found {
    let mut found = Found::default();
    let is_project = folder.beginning(CHATS).next().is_some();
    if is_project {
        Search { folder, signs, prefix: CHATS, found: &mut found }.sessions();
    } else if !is_chats_of_a_project(folder) {
        Search { folder, signs, prefix: "", found: &mut found }.sessions();
    }
    saved_chats(folder, &mut found);
    project(folder, &mut found);
    projects(folder, &mut found);
    found
}

/// A folder of sessions belongs to the project that it lies in.
fn is_chats_of_a_project(folder: &FolderView<'_>) -> bool {
    let path = folder.path().as_bytes();
    let mut parts = path.rsplit(|b| *b == b'/');
    let (own, above) = (parts.next(), parts.next());
    let is_chats = |part: Option<&[u8]>| part.is_some_and(|part| [part, b"/"].concat() == CHATS.as_bytes());
    is_chats(own) || is_chats(above)
}

/// A file that may be a session, and what is known of it.
struct Candidate {
    /// Its path below the folder.
    path: Vec<u8>,
    /// The session's id; none where the program does not load it.
    id: Option<Vec<u8>>,
    /// Whether it is a unit by itself.
    is_alone: bool,
    confidence: Confidence,
}

struct Search<'s, 'f> {
    folder: &'s FolderView<'f>,
    signs: Signs,
    prefix: &'static str,
    found: &'s mut Found,
}

impl Search<'_, '_> {
    fn sessions(&mut self) {
        let mut paths: Vec<&[u8]> = Vec::new();
        let mut others: Vec<&[u8]> = Vec::new();
        let entries: Vec<(&[u8], &ListedKind)> = if self.prefix.is_empty() {
            self.folder.direct().map(|(path, entry)| (path, &entry.kind)).collect()
        } else {
            self.folder.beginning(self.prefix).map(|(path, entry)| (path, &entry.kind)).collect()
        };
        for (path, kind) in entries {
            let inside = &path[self.prefix.len()..];
            let depth = memchr::memchr_iter(b'/', inside).count();
            let name = base(live(path));
            let is_candidate = stem(name).is_some() && (depth == 0 || (depth == 1 && !self.prefix.is_empty()));
            match kind {
                ListedKind::File if is_candidate && !is_chat(name) => paths.push(path),
                ListedKind::File if of_unreadable(name).is_some() && depth == 0 => others.push(path),
                ListedKind::File | ListedKind::Link | ListedKind::Folder | ListedKind::Special | ListedKind::Unreadable(_) => {}
            }
        }
        let proven: Vec<bool> = paths.iter().map(|path| signs::is_session(&self.folder.first_bytes(path))).collect();
        let is_given = |path: &&[u8]| is_dated(base(live(path))) || self.folder.is_named(path);
        let is_proven = proven.contains(&true) || (self.signs == Signs::Given && paths.iter().any(is_given));
        let headless = |path: &[u8]| is_listed(base(live(path))) && signs::is_headless(&self.folder.first_bytes(path));
        // Where the program's own marks are around it, a name is enough: a torn session
        // may have no content left that tells.
        let is_its_place = !self.prefix.is_empty() && is_project(self.folder);
        let is_dated = |path: &&[u8]| is_dated(base(live(path)));
        let is_left_over =
            (is_its_place && paths.iter().any(is_dated)) || (!self.prefix.is_empty() && paths.iter().any(|path| headless(path)));
        if !is_proven && !is_left_over {
            return;
        }
        let all: HashSet<&[u8]> = paths.iter().copied().collect();
        let mut candidates = Vec::new();
        for (path, proven) in paths.iter().zip(proven) {
            let name = base(live(path));
            let is_nested = memchr::memchr(b'/', &path[self.prefix.len()..]).is_some();
            let is_named = is_listed(name) || (is_nested && name.ends_with(b".jsonl")) || self.folder.is_named(path);
            if !proven && !is_named {
                continue;
            }
            if live(path) != *path && all.contains(live(path)) {
                let message = "a retired session beside one of its own name; the live one counts".to_owned();
                self.found.strays.push(Stray { path: RelPath::new(path), code: FindingCode::RetiredChanged, message });
                continue;
            }
            let confidence = if proven { Confidence::Sure } else { Confidence::Likely };
            candidates.extend(self.candidate(path, confidence));
        }
        let mut companions = if self.prefix.is_empty() { HashMap::new() } else { companions(self.folder) };
        let mut copies: HashMap<&[u8], Vec<&[u8]>> = HashMap::new();
        for other in others {
            copies.entry(of_unreadable(base(live(other))).unwrap_or_default()).or_default().push(other);
        }
        for unit in grouped(candidates) {
            let claim = self.claim(unit, &copies, &mut companions);
            self.found.units.push(claim);
        }
    }

    fn candidate(&mut self, path: &[u8], confidence: Confidence) -> Option<Candidate> {
        let bytes = self.folder.all_bytes(path);
        if is_blank(&bytes) && !self.folder.is_named(path) {
            let message = "a session's file with nothing in it; Gemini CLI deletes it at its next start".to_owned();
            self.found.strays.push(Stray { path: RelPath::new(path), code: FindingCode::NotASession, message });
            return None;
        }
        let known = identity(&bytes);
        let id = known.meta.session_id.text().filter(|_| known.form != Form::Nothing).map(std::borrow::Cow::into_owned);
        let is_nested = memchr::memchr(b'/', &path[self.prefix.len()..]).is_some();
        let is_alone = is_nested || known.meta.kind.is("subagent");
        Some(Candidate { path: path.to_vec(), id, is_alone, confidence })
    }

    /// The name of a unit, by its first file. A log lies in the folder that the
    /// names in it are relative to, and that is the project's: what else belongs
    /// to a session lies beside the folder of sessions.
    fn name_of(&self, file: &RelPath) -> RelPath {
        let inside = &file.as_bytes()[self.prefix.len()..];
        RelPath::new(inside.iter().map(|b| if *b == b'/' { b'.' } else { *b }).collect::<Vec<u8>>())
    }

    fn claim(&self, unit: Vec<Candidate>, copies: &HashMap<&[u8], Vec<&[u8]>>, companions: &mut Companions) -> UnitClaim {
        let mut files: Vec<RelPath> = unit.iter().map(|file| RelPath::new(&file.path)).collect();
        let mut retires: Vec<RelPath> = unit.iter().map(|file| RelPath::new(live(&file.path))).collect();
        retires.sort();
        for file in &unit {
            files.extend(copies.get(base(live(&file.path))).into_iter().flatten().map(RelPath::new));
            files.extend(file.id.as_ref().and_then(|id| companions.remove(&id.to_ascii_lowercase())).into_iter().flatten());
        }
        files.sort();
        files.dedup();
        let is_retired = unit.iter().all(|file| live(&file.path) != file.path.as_slice());
        UnitClaim {
            name: retires.first().map_or_else(|| RelPath::new(""), |first| self.name_of(first)),
            root: RelPath::new(""),
            files,
            left_out: Vec::new(),
            shared: shared_facts(self.folder),
            retires,
            confidence: unit.iter().map(|file| file.confidence).max().unwrap_or(Confidence::Likely),
            standing: if is_retired { Standing::Retired } else { Standing::Live },
        }
    }
}

/// Whether a folder is a project's: it has the program's mark, or the name that older
/// releases gave, a hash.
fn is_project(folder: &FolderView<'_>) -> bool {
    let name = base(folder.path().as_bytes());
    folder.has_file(PROJECT_ROOT) || (name.len() == 64 && name.iter().all(u8::is_ascii_hexdigit))
}

/// Whether a name is one that the program gives: `session-` and a date. Other
/// programs have files called `session-…`, too.
fn is_dated(name: &[u8]) -> bool {
    const FORM: &[u8] = b"session-0000-00-00";
    let fits = |(byte, wanted): (&u8, &u8)| if *wanted == b'0' { byte.is_ascii_digit() } else { byte == wanted };
    name.len() > FORM.len() && name.iter().zip(FORM).all(fits)
}

/// Files of one session id are one unit. One that the program does not load goes
/// with the file of its name and the other ending.
fn grouped(candidates: Vec<Candidate>) -> Vec<Vec<Candidate>> {
    let mut units: Vec<Vec<Candidate>> = Vec::new();
    let mut by_id: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
    let (named, nameless): (Vec<Candidate>, Vec<Candidate>) = candidates.into_iter().partition(|file| file.id.is_some());
    for file in named {
        let known = file.id.as_ref().filter(|_| !file.is_alone).and_then(|id| by_id.get(id)).copied();
        match known {
            Some(at) => units[at].push(file),
            None => {
                if let Some(id) = file.id.clone().filter(|_| !file.is_alone) {
                    by_id.insert(id, units.len());
                }
                units.push(vec![file]);
            }
        }
    }
    let stem_of = |file: &Candidate| stem(live(&file.path)).unwrap_or_default().to_vec();
    let mut by_stem: HashMap<Vec<u8>, usize> =
        units.iter().enumerate().flat_map(|(n, unit)| unit.iter().map(move |file| (stem_of(file), n))).collect();
    for file in nameless {
        match by_stem.get(&stem_of(&file)) {
            Some(at) => units[*at].push(file),
            None => {
                by_stem.insert(stem_of(&file), units.len());
                units.push(vec![file]);
            }
        }
    }
    units
}

/// The project's own folder, as a file beside the sessions says it.
fn shared_facts(folder: &FolderView<'_>) -> SharedFacts {
    if !folder.has_file(PROJECT_ROOT) {
        return SharedFacts::default();
    }
    let mut text = Vec::new();
    json::push_string(&String::from_utf8_lossy(&folder.all_bytes(PROJECT_ROOT)), &mut text);
    SharedFacts { slices: vec![Slice { file: RelPath::new(PROJECT_ROOT), key: String::new(), text }], ..SharedFacts::default() }
}

/// Files beside a folder of sessions, by the id of the session that they are of,
/// in small letters.
type Companions = HashMap<Vec<u8>, Vec<RelPath>>;

/// What else of sessions lies in their project's folder.
fn companions(folder: &FolderView<'_>) -> Companions {
    let mut found = Companions::new();
    for (path, _) in folder.entries().filter(|(_, entry)| matches!(entry.kind, ListedKind::File | ListedKind::Link)) {
        let mut parts = path.splitn(3, |b| *b == b'/');
        let (Some(first), Some(second)) = (parts.next(), parts.next()) else { continue };
        let third = parts.next();
        let id = if [first, b"/"].concat() == OUTPUTS.as_bytes() {
            second.strip_prefix(b"session-").filter(|_| third.is_some())
        } else if [first, b"/"].concat() == ACTIVITY.as_bytes() {
            second.strip_prefix(b"session-").and_then(|name| name.strip_suffix(b".jsonl")).filter(|_| third.is_none())
        } else {
            Some(first).filter(|_| third.is_some() && [&b"plans"[..], b"tasks", b"tracker"].contains(&second))
        };
        if let Some(id) = id {
            found.entry(id.to_ascii_lowercase()).or_default().push(RelPath::new(path));
        }
    }
    found
}

/// Claims saved chats: each is a unit by itself.
fn saved_chats(folder: &FolderView<'_>, found: &mut Found) {
    let is_project = !found.units.is_empty() || folder.has_file(PROJECT_ROOT);
    for (path, entry) in folder.direct().filter(|(_, entry)| entry.kind == ListedKind::File) {
        let own = live(path);
        if !is_chat(own) {
            continue;
        }
        let looks = signs::is_chat(&folder.first_bytes(path));
        let is_one = looks || (is_project && entry.size > 0);
        if !is_one || (own != path && folder.has_file(own)) {
            continue;
        }
        found.units.push(UnitClaim {
            name: RelPath::new(own),
            root: RelPath::new(""),
            files: vec![RelPath::new(path)],
            left_out: Vec::new(),
            shared: shared_facts(folder),
            retires: vec![RelPath::new(own)],
            confidence: if looks { Confidence::Sure } else { Confidence::Likely },
            standing: if own == path { Standing::Live } else { Standing::Retired },
        });
    }
}

/// Claims what a project keeps besides sessions, as one unit.
fn project(folder: &FolderView<'_>, found: &mut Found) {
    let has_prompts = folder.has_file(PROMPTS) && signs::is_prompts(&folder.first_bytes(PROMPTS));
    let has_sessions = !found.units.is_empty();
    let is_marked = has_sessions && folder.has_file(PROJECT_ROOT);
    if !has_prompts && !is_marked {
        return;
    }
    let claimed: HashSet<RelPath> = found.units.iter().flat_map(|unit| unit.files.iter().cloned()).collect();
    let mut files = Vec::new();
    for (path, _) in folder.direct().filter(|(_, entry)| entry.kind == ListedKind::File) {
        let is_prompts = path.strip_prefix(PROMPTS.as_bytes()).is_some_and(|rest| rest.is_empty() || rest.ends_with(b".bak"));
        let is_own = is_prompts || path == PROJECT_ROOT.as_bytes() || path == SHELL.as_bytes() || path.ends_with(b".output");
        if is_own {
            files.push(RelPath::new(path));
        }
    }
    for start in [OUTPUTS, RESTORE_POINTS, ACTIVITY] {
        let inside = folder.beginning(start).filter(|(_, entry)| entry.kind == ListedKind::File).map(|(path, _)| RelPath::new(path));
        files.extend(inside.filter(|path| !claimed.contains(path)));
    }
    files.sort();
    let name = if folder.has_file(PROMPTS) { PROMPTS } else { PROJECT_ROOT };
    found.units.push(shared(name, files));
}

/// Claims the list of all projects, and the marks of their folders elsewhere.
fn projects(folder: &FolderView<'_>, found: &mut Found) {
    let has_project = || {
        folder.beginning("tmp/").any(|(path, _)| {
            let mut parts = path.split(|b| *b == b'/').skip(2);
            parts.next().is_some_and(|part| part == PROJECT_ROOT.as_bytes() || [part, b"/"].concat() == CHATS.as_bytes())
        })
    };
    if !folder.has_file(PROJECTS) || !has_project() || !signs::is_projects(&folder.all_bytes(PROJECTS)) {
        return;
    }
    let marks = folder.beginning("history/").filter(|(path, entry)| {
        let mut parts = path.split(|b| *b == b'/').skip(2);
        entry.kind == ListedKind::File && parts.next() == Some(PROJECT_ROOT.as_bytes()) && parts.next().is_none()
    });
    let mut files: Vec<RelPath> = marks.map(|(path, _)| RelPath::new(path)).collect();
    files.push(RelPath::new(PROJECTS));
    files.sort();
    found.units.push(shared(PROJECTS, files));
}

/// A unit that is not a session.
fn shared(name: &str, files: Vec<RelPath>) -> UnitClaim {
    UnitClaim {
        name: RelPath::new(name),
        root: RelPath::new(""),
        files,
        left_out: Vec::new(),
        shared: SharedFacts::default(),
        retires: Vec::new(),
        confidence: Confidence::Sure,
        standing: Standing::Live,
    }
}
