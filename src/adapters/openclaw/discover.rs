//! Which files of an OpenClaw folder belong together.

use std::collections::{BTreeMap, HashSet};

use crate::adapters::format::{Confidence, Found, RETIRED_SUFFIX, Standing, Stray, UnitClaim};
use crate::adapters::kit::entries::signs::{self, HostSigns, Looks};
use crate::json::{self, Dialect, Kind, Member};
use crate::model::files::{RelPath, SharedFacts, Slice};
use crate::model::finding::FindingCode;
use crate::model::folder::{FolderView, Listed, ListedKind};
use crate::model::jsonl::{Lines, Newlines};
use crate::runtimes::javascript as js;

use super::names::{self, Name};

const STORE: &str = "sessions.json";
const PROMPTS: &str = "skills-prompts/";

const KEPT_TEMPORARY: &str = "left by an interrupted write; it holds a complete document and is carried";
const LEFT_TEMPORARY: &str = "left by an interrupted write; not carried";

/// How OpenClaw's files are told from those of others that hold entries.
const SIGNS: HostSigns = HostSigns {
    entries: &[b"\"customType\":\"openclaw", b"\"customType\":\"model-snapshot\"", b"\"provider\":\"openclaw\""],
    store: (STORE, b"\"sessionId\""),
    archives: &[b".jsonl.reset.", b".jsonl.deleted.", b".jsonl.imported-"],
    folders: (b"sessions", b"agents"),
};

/// Claims the units of a folder.
pub(super) fn discover(folder: &FolderView<'_>) -> Found {
    let mut found = Found::default();
    let files = folder.direct().filter(|(_, entry)| entry.kind == ListedKind::File);
    let direct: Vec<(String, &Listed)> = files.filter_map(|(name, entry)| Some((names::as_text(name)?, entry))).collect();
    databases(folder, &direct, &mut found);
    if signs::is_hosted(folder, &SIGNS) {
        sessions(folder, &direct, &mut found);
        return found;
    }
    jobs(folder, &direct, &mut found);
    for (name, entry) in direct {
        let path = names::path_of(&name);
        let is_ours =
            || is_run_log(&folder.first_bytes(&path), entry.size) || signs::look_at(folder, &path, entry.size, &SIGNS) == Looks::Hosted;
        if name.ends_with(".jsonl") && is_ours() {
            found.units.push(unit(&name, vec![path.clone()]));
        }
    }
    found
}

fn unit(name: &str, files: Vec<RelPath>) -> UnitClaim {
    UnitClaim {
        name: names::path_of(name),
        root: RelPath::new(""),
        retires: vec![names::path_of(name)],
        files,
        left_out: Vec::new(),
        shared: SharedFacts::default(),
        confidence: Confidence::Sure,
        standing: Standing::Live,
    }
}

/// Databases are named, with the version of their schema, and not converted.
fn databases(folder: &FolderView<'_>, direct: &[(String, &Listed)], found: &mut Found) {
    for (name, _) in direct.iter().filter(|(name, _)| name.ends_with(".sqlite") && name.starts_with("openclaw")) {
        let path = names::path_of(name);
        if let Some(version) = names::database_version(&folder.first_bytes(&path)) {
            let message = format!("an OpenClaw database, schema {version}, without sessions that are known here");
            found.strays.push(Stray { path, code: FindingCode::UnsupportedVersion, message });
        }
    }
}

/// The job list, its states and its copies are one unit.
fn jobs(folder: &FolderView<'_>, direct: &[(String, &Listed)], found: &mut Found) {
    const LIVE: &str = "jobs.json";
    let moved = format!("{LIVE}{RETIRED_SUFFIX}");
    let is_jobs = |name: &str| folder.has_file(name) && memchr::memmem::find(&folder.first_bytes(name), b"\"jobs\"").is_some();
    let own = direct.iter().map(|(name, _)| name.as_str()).filter(|name| names::judge(name) == Name::Jobs);
    let files: Vec<RelPath> = own.clone().map(RelPath::new).collect();
    // What is left of them under their names would be a list of its own.
    let retires = own.map(|name| RelPath::new(name.strip_suffix(RETIRED_SUFFIX).unwrap_or(name))).collect();
    if is_jobs(LIVE) {
        found.units.push(UnitClaim { retires, ..unit(LIVE, files) });
    } else if is_jobs(&moved) {
        // OpenClaw renames it so when it moves its jobs into a database.
        found.units.push(UnitClaim { standing: Standing::PerhapsRetired, retires, ..unit(&moved, files) });
    }
}

/// Tells whether a file is the log of a scheduled job.
pub(crate) fn is_run_log(first: &[u8], size: u64) -> bool {
    let whole = first.len() as u64 == size;
    let lines = Lines::new(first, Newlines::LineFeed).filter(|line| !js::is_blank(line.text) && (whole || !line.end.is_empty()));
    let mut members = Vec::new();
    lines.take(8).any(|line| {
        let text = js::decode_utf8(line.text).into_owned();
        let mut own = Vec::new();
        json::scan_object(&text, Dialect::Strict, &mut own).is_ok() && {
            members.clear();
            members.extend(own.iter().map(|member| member.name().into_owned()));
            ["ts", "jobId", "action"].iter().all(|key| members.iter().any(|known| known == key))
        }
    })
}

fn sessions(folder: &FolderView<'_>, direct: &[(String, &Listed)], found: &mut Found) {
    let mut slices = slices(folder, direct);
    let all: HashSet<&str> = direct.iter().map(|(name, _)| name.as_str()).collect();
    let has = |name: &str| all.contains(name);
    let mut units: BTreeMap<String, UnitClaim> = BTreeMap::new();
    let mut joins: Vec<(String, &str)> = Vec::new();
    for (name, entry) in direct {
        let (name, path) = (name.as_str(), names::path_of(name));
        let (live, standing) = name.strip_suffix(RETIRED_SUFFIX).map_or((name, Standing::Live), |live| (live, Standing::Retired));
        if standing == Standing::Retired && has(live) {
            stray(found, name, FindingCode::RetiredChanged, signs::RETIRED_TWIN);
            continue;
        }
        match names::judge(live) {
            Name::Transcript if is_transcript(folder, &path, entry.size) => {
                let shared = SharedFacts { slices: slices.remove(live).unwrap_or_default(), ..SharedFacts::default() };
                let claim = UnitClaim { shared, standing, ..unit(live, vec![path]) };
                units.insert(live.to_owned(), claim);
            }
            Name::CopyOf(own) | Name::ShortenedFrom(own) => joins.push((names::original(live, own), name)),
            Name::TraceOf(own) => joins.push((own, name)),
            Name::Store => {
                units.insert(live.to_owned(), UnitClaim { standing, ..unit(live, vec![path]) });
            }
            Name::Lock => stray(found, name, FindingCode::LockFile, "a lock of OpenClaw; it belongs to no session"),
            Name::Unfinished(own) if is_complete(&folder.all_bytes(&path)) => joins.push((own.to_owned(), name)),
            Name::Unfinished(_) => stray(found, name, FindingCode::TemporaryLeft, LEFT_TEMPORARY),
            Name::Temporary => temporary(folder, name, &mut units, found),
            Name::Transcript | Name::Jobs | Name::Other => {}
        }
    }
    for (own, name) in joins {
        // A trace may outlive its session under the archive's name.
        let archive = format!("{own}.");
        let home = if units.contains_key(&own) { Some(own.clone()) } else { units.keys().find(|unit| unit.starts_with(&archive)).cloned() };
        match home.and_then(|home| units.get_mut(&home)) {
            Some(claim) => {
                claim.files.push(names::path_of(name));
                if matches!(names::judge(name), Name::Unfinished(_)) {
                    claim.left_out.push((names::path_of(name), FindingCode::TemporaryKept, KEPT_TEMPORARY.to_owned()));
                }
            }
            // Its session is there and cannot be read now. A log of the rest would
            // be an orphan for good once it can.
            None if has(&own) && folder.first_bytes(names::path_of(&own)).is_empty() => {
                let message = format!("belongs to the session {own}, which cannot be read; it is converted together with it");
                found.strays.push(Stray { path: names::path_of(name), code: FindingCode::Unreadable, message });
            }
            None => {
                units.insert(name.to_owned(), unit(name, vec![names::path_of(name)]));
            }
        }
    }
    if let Some(store) = units.get_mut(STORE) {
        let prompts = folder.beginning(PROMPTS).filter(|(_, entry)| entry.kind == ListedKind::File);
        store.files.extend(prompts.map(|(path, _)| RelPath::new(path)));
    }
    for mut claim in units.into_values() {
        claim.files.sort();
        found.units.push(claim);
    }
}

fn stray(found: &mut Found, name: &str, code: FindingCode, message: &str) {
    found.strays.push(Stray { path: names::path_of(name), code, message: message.to_owned() });
}

/// In a folder of sessions a file by that name is a transcript unless its
/// content says otherwise.
fn is_transcript(folder: &FolderView<'_>, path: &RelPath, size: u64) -> bool {
    match signs::look_at(folder, path, size, &SIGNS) {
        // All lines may be damaged.
        Looks::Session(_) | Looks::Hosted | Looks::Blank | Looks::Damaged(_) => true,
        Looks::Capture | Looks::Writes => false,
        Looks::Foreign => path.as_bytes().ends_with(b".jsonl") && memchr::memmem::find(&folder.first_bytes(path), b"\"type\"").is_some(),
    }
}

/// Tells whether every line of a transcript is there to its end.
fn is_complete(bytes: &[u8]) -> bool {
    let is_object = |text: &[u8]| json::scan_object(text, Dialect::Strict, &mut Vec::new()).is_ok();
    bytes.ends_with(b"\n") && Lines::new(bytes, Newlines::LineFeed).all(|line| is_object(line.text))
}

/// A temporary of the store that holds a complete document goes with the store.
fn temporary(folder: &FolderView<'_>, name: &str, units: &mut BTreeMap<String, UnitClaim>, found: &mut Found) {
    let is_complete = name.starts_with("sessions.json.")
        && json::scan_object(&folder.all_bytes(names::path_of(name)), Dialect::Strict, &mut Vec::new()).is_ok();
    match units.get_mut(STORE).filter(|_| is_complete) {
        Some(store) => {
            store.left_out.push((names::path_of(name), FindingCode::TemporaryKept, KEPT_TEMPORARY.to_owned()));
            store.files.push(names::path_of(name));
        }
        None => stray(found, name, FindingCode::TemporaryLeft, LEFT_TEMPORARY),
    }
}

/// Returns the store's entries by the transcript they are of.
fn slices(folder: &FolderView<'_>, direct: &[(String, &Listed)]) -> BTreeMap<String, Vec<Slice>> {
    let mut slices: BTreeMap<String, Vec<Slice>> = BTreeMap::new();
    let store = folder.all_bytes(STORE);
    let mut members: Vec<Member<'_>> = Vec::new();
    if json::scan_object(&store, Dialect::Strict, &mut members).is_err() {
        return slices;
    }
    let names: HashSet<&str> = direct.iter().map(|(name, _)| name.as_str()).collect();
    for member in members.iter().filter(|member| json::kind_of(member.value) == Kind::Object) {
        let field = |key: &str| {
            let value = json::members(member.value).filter(|inner| inner.name() == key).last()?.value;
            (json::kind_of(value) == Kind::String).then(|| json::unescape(value).into_owned())
        };
        let named = field("sessionFile").and_then(|file| file.rsplit(['/', '\\']).next().map(str::to_owned));
        let by_id = field("sessionId").map(|id| format!("{id}.jsonl"));
        let home = named.into_iter().chain(by_id).find(|name| names.contains(name.as_str()));
        if let Some(home) = home {
            let slice = Slice { file: RelPath::new(STORE), key: member.name().into_owned(), text: member.value.to_vec() };
            slices.entry(home).or_default().push(slice);
        }
    }
    slices
}
