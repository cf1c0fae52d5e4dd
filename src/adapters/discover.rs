//! Asks every adapter about every folder, and refuses to guess between two.

use rayon::prelude::{IndexedParallelIterator, IntoParallelIterator, ParallelExtend, ParallelIterator};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::adapters::adapter::{Adapter, Claims, Confidence, Found, Standing, Stray, UnitClaim};
use crate::model::files::{Beside, RelPath};
use crate::model::finding::{Finding, FindingCode, Findings};
use crate::model::folder::{FolderView, Known, ListedKind, Listing, Peek};
use crate::model::location::Location;

/// The folder beside the logs that makes a folder a store, and no source.
const STORE: &str = ".everlog";

/// So many folders are asked about in one go.
const FOLDERS_AT_ONCE: usize = 64;

/// One session of a source, with the adapter it belongs to.
#[derive(Debug, Clone)]
pub struct Unit {
    /// Who converts it.
    pub adapter: &'static dyn Adapter,
    /// Its name below the source; empty where the source itself is the unit.
    pub name: RelPath,
    /// The folder that its files' names are relative to, below the source.
    pub root: RelPath,
    /// The numbers of what is below that in the listing.
    pub numbers: Range<usize>,
    /// Its files, relative to `root`.
    pub files: Vec<RelPath>,
    /// Files that lie there and belong to no session, and what they are.
    pub left_out: Vec<(RelPath, FindingCode, String)>,
    /// What is known of it from what lies beside it.
    pub beside: Beside,
    /// The files that `--retire` renames, relative to `root`.
    pub retires: Vec<RelPath>,
    /// How sure its adapter is of it.
    pub confidence: Confidence,
    /// Whether it is to be converted.
    pub standing: Standing,
}

/// Two formats that fit a folder equally well.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tie {
    /// The folder, below the source.
    pub folder: RelPath,
    /// The formats.
    pub formats: Vec<&'static str>,
}

/// What was found in a source.
#[derive(Debug, Default)]
pub struct Discovery {
    /// The sessions, in byte order of name.
    pub units: Vec<Unit>,
    /// Folders that nobody can be sure about.
    pub ties: Vec<Tie>,
    /// What belongs to no session.
    pub findings: Findings,
}

impl Discovery {
    /// Forgets what was found of other files than this one.
    pub fn keep_only(&mut self, file: &RelPath) {
        self.findings.retain(|finding| finding.location.file == file.to_string());
        self.ties.retain(|tie| tie.folder == *file);
    }

    /// Whether anything was recognised, even if it cannot be converted.
    #[must_use]
    pub fn recognised_any(&self) -> bool {
        let unsupported = |finding: &Finding| finding.code == FindingCode::UnsupportedVersion;
        !self.units.is_empty() || !self.ties.is_empty() || self.findings.list().iter().any(unsupported)
    }
}

/// Looks through a listing with these adapters.
pub fn discover(listing: &Listing, adapters: &[&'static dyn Adapter], peek: Peek<'_>, known: Option<Known<'_>>) -> Discovery {
    let (of_folders, of_files) = adapters.iter().partition(|adapter| adapter.claims() == Claims::Folders);
    let choice = if adapters.len() == 1 { Choice::Made } else { Choice::Open };
    let taken = Taken { listing, by_place: vec![false; listing.entries().len()], others: HashSet::new() };
    let mut search = Search { listing, of_folders, of_files, choice, peek, known, taken, found: Discovery::default() };
    let mut open = vec![search.asked(RelPath::new(""), 0..listing.entries().len())];
    while let Some(asked) = open.pop() {
        let inside = search.folder(asked);
        // To ask is to read files, and no folder's answer depends on another's.
        let asked = |(n, folder)| search.asked(folder, listing.numbers_below_number(n));
        open.par_extend(inside.into_par_iter().with_max_len(FOLDERS_AT_ONCE).map(asked));
    }
    let mut found = search.found;
    found.units.sort_by(|a, b| a.name.cmp(&b.name));
    found.ties.sort_by(|a, b| a.folder.cmp(&b.folder));
    found
}

/// Whether a claim is about the folder as a whole.
fn is_whole(claim: &UnitClaim) -> bool {
    claim.name.as_bytes().is_empty()
}

/// A folder, and what adapters say of it.
struct Asked {
    folder: RelPath,
    /// The numbers of what is below it.
    numbers: Range<usize>,
    answer: Answer,
}

enum Answer {
    /// It holds logs, and is no source.
    Store,
    /// What is claimed of it, and what is known to belong to no session.
    Found(Vec<Claimed>, Vec<Stray>),
}

/// A claim, and where its files stand in the listing.
struct Claimed {
    adapter: &'static dyn Adapter,
    claim: UnitClaim,
    /// The folder that its files' names are relative to, and what is below it.
    root: RelPath,
    numbers: Range<usize>,
    files: Vec<Place>,
    left_out: Vec<Place>,
}

/// Whether the format was named, or is to be found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    Open,
    Made,
}

struct Search<'s> {
    listing: &'s Listing,
    /// Adapters that may claim a folder as a whole, and those that never do.
    of_folders: Vec<&'static dyn Adapter>,
    of_files: Vec<&'static dyn Adapter>,
    choice: Choice,
    peek: Peek<'s>,
    known: Option<Known<'s>>,
    /// Paths that a session has, or that were said to belong to none.
    taken: Taken<'s>,
    found: Discovery,
}

/// Some of the paths of a listing.
struct Taken<'s> {
    listing: &'s Listing,
    by_place: Vec<bool>,
    /// Paths that the listing lacks.
    others: HashSet<RelPath>,
}

/// A path as a listing has it: by number, where it has it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Place {
    Listed(usize),
    Other(RelPath),
}

impl Taken<'_> {
    /// The places of paths below a folder, which has these numbers.
    fn places<'p>(
        &self,
        folder: &'p RelPath,
        numbers: Range<usize>,
        paths: impl Iterator<Item = &'p RelPath>,
    ) -> impl Iterator<Item = Place> {
        let place = move |path: &RelPath| {
            self.listing.number_of(&numbers, folder, path).map_or_else(|| Place::Other(path.below(folder)), Place::Listed)
        };
        paths.map(place)
    }

    /// Whether nothing of a folder with these numbers is.
    fn has_none_of(&self, numbers: &Range<usize>) -> bool {
        self.others.is_empty() && !self.by_place[numbers.clone()].contains(&true)
    }

    /// Whether the path of this entry is one: the first entry of a path counts.
    fn has_number(&self, n: usize) -> bool {
        let entries = self.listing.entries();
        let before = entries[..n].iter().rev().take_while(|entry| entry.path == entries[n].path).count();
        self.by_place[n - before]
    }

    fn has(&self, place: &Place) -> bool {
        match place {
            Place::Listed(n) => self.by_place[*n],
            Place::Other(path) => self.others.contains(path),
        }
    }

    /// Adds one; says whether it is new.
    fn insert(&mut self, place: Place) -> bool {
        match place {
            Place::Listed(n) => !std::mem::replace(&mut self.by_place[n], true),
            Place::Other(path) => self.others.insert(path),
        }
    }
}

impl Search<'_> {
    /// Asks adapters about a folder: all of them, unless what the first ones say
    /// leaves nothing for the others.
    fn asked(&self, folder: RelPath, numbers: Range<usize>) -> Asked {
        let view = FolderView::among(self.listing, &folder, numbers.clone(), self.peek).knowing(self.known);
        if view.get(STORE).is_some_and(|entry| entry.kind == ListedKind::Folder) {
            return Asked { numbers, answer: Answer::Store, folder };
        }
        let mut claims = Vec::new();
        let mut strays = Vec::new();
        let mut ask = |adapters: &[&'static dyn Adapter]| {
            for adapter in adapters {
                let Found { units, strays: named } = match self.choice {
                    Choice::Open => adapter.discover(&view),
                    Choice::Made => adapter.discover_chosen(&view),
                };
                claims.extend(units.into_iter().map(|claim| (*adapter, claim)));
                strays.extend(named);
            }
            claims.iter().any(|(_, claim)| self.leaves_nothing(claim, &view))
        };
        if !ask(&self.of_folders) {
            ask(&self.of_files);
        }
        drop(view);
        let claims = claims.into_iter().map(|(adapter, claim)| self.claimed(&folder, &numbers, adapter, claim)).collect();
        Asked { numbers, answer: Answer::Found(claims, strays), folder }
    }

    /// A claim in a folder with these numbers, and where its files stand.
    fn claimed(&self, folder: &RelPath, numbers: &Range<usize>, adapter: &'static dyn Adapter, mut claim: UnitClaim) -> Claimed {
        claim.files.shrink_to_fit();
        claim.left_out.shrink_to_fit();
        let (root, numbers) = if claim.root.as_bytes().is_empty() {
            (folder.clone(), numbers.clone())
        } else {
            let root = claim.root.below(folder);
            let numbers = self.listing.numbers_below(&root);
            (root, numbers)
        };
        let files = self.taken.places(&root, numbers.clone(), claim.files.iter()).collect();
        let left_out = self.taken.places(&root, numbers.clone(), claim.left_out.iter().map(|(path, _, _)| path)).collect();
        Claimed { adapter, claim, root, numbers, files, left_out }
    }

    /// Whether nobody who claims single files could have one beside this claim:
    /// it is as sure as can be of the whole folder, and has all files in it. What
    /// folders above took of this one is known by now.
    fn leaves_nothing(&self, claim: &UnitClaim, view: &FolderView<'_>) -> bool {
        if !is_whole(claim) || claim.confidence != Confidence::Sure || !claim.root.as_bytes().is_empty() {
            return false;
        }
        let named = || claim.files.iter().chain(claim.left_out.iter().map(|(path, _, _)| path));
        let all_free = self.taken.has_none_of(view.numbers());
        let mut own: Vec<&[u8]> = if all_free {
            named().map(RelPath::as_bytes).collect()
        } else {
            let places = named().zip(self.taken.places(view.path(), view.numbers().clone(), named()));
            places.filter(|(_, place)| !self.taken.has(place)).map(|(path, _)| path.as_bytes()).collect()
        };
        own.sort_unstable();
        view.entries().all(|(path, entry)| entry.kind == ListedKind::Folder || own.binary_search(&path).is_ok())
    }

    /// Settles what was said of a folder; gives the folders inside that are still
    /// to be asked about.
    fn folder(&mut self, Asked { folder, numbers, answer }: Asked) -> Vec<(usize, RelPath)> {
        let Answer::Found(claims, strays) = answer else {
            let message = "a folder of everlog logs; not looked into";
            self.found.findings.add(FindingCode::StoreSkipped, Location::file(folder.to_string()), message);
            return Vec::new();
        };
        let whole = self.settle(&folder, claims);
        for Stray { path, code, message } in strays {
            let place = self.taken.places(&folder, numbers.clone(), std::iter::once(&path)).next();
            if place.is_some_and(|place| self.taken.insert(place)) {
                self.found.findings.add(code, Location::file(path.below(&folder).to_string()), message);
            }
        }
        if whole { Vec::new() } else { self.descend(&folder, numbers) }
    }

    /// Gives each file to the adapter that is surest of it; says whether one
    /// took the folder as a whole.
    fn settle(&mut self, folder: &RelPath, mut claims: Vec<Claimed>) -> bool {
        // A folder that is one session leaves nothing for anybody less sure.
        if let Some(surest) =
            claims.iter().map(|claimed| &claimed.claim).filter(|claim| is_whole(claim)).map(|claim| claim.confidence).max()
        {
            claims.retain(|Claimed { claim, .. }| claim.confidence > surest || (is_whole(claim) && claim.confidence == surest));
        }
        claims.sort_by_key(|claimed| std::cmp::Reverse(claimed.claim.confidence));
        let mut owners: HashMap<Place, (&'static str, Confidence)> = HashMap::new();
        let (mut whole, mut to_come) = (false, claims.len());
        for Claimed { adapter, claim, root, numbers, files, left_out } in claims {
            to_come -= 1;
            let other = files.iter().filter_map(|path| owners.get(path)).find(|(id, _)| *id != adapter.id());
            let name = if is_whole(&claim) { folder.clone() } else { claim.name.below(folder) };
            if let Some((id, confidence)) = other {
                if *confidence == claim.confidence {
                    let mut formats = vec![*id, adapter.id()];
                    formats.sort_unstable();
                    self.found.units.retain(|unit| unit.name != name);
                    self.found.ties.push(Tie { folder: name, formats });
                    whole |= is_whole(&claim);
                }
                continue;
            }
            if files.iter().any(|path| self.taken.has(path)) {
                continue;
            }
            whole |= is_whole(&claim);
            for place in left_out {
                self.taken.insert(place);
            }
            if to_come == 0 {
                files.into_iter().for_each(|place| _ = self.taken.insert(place));
            } else {
                owners.extend(files.into_iter().map(|place| (place, (adapter.id(), claim.confidence))));
            }
            self.found.units.push(Unit {
                adapter,
                name,
                root,
                numbers,
                files: claim.files,
                left_out: claim.left_out,
                beside: claim.beside,
                retires: claim.retires,
                confidence: claim.confidence,
                standing: claim.standing,
            });
        }
        for place in owners.into_keys() {
            self.taken.insert(place);
        }
        whole
    }

    /// Goes on with the folders inside, by number and path, and says what else lies
    /// there.
    fn descend(&mut self, folder: &RelPath, numbers: Range<usize>) -> Vec<(usize, RelPath)> {
        let mut inside = Vec::new();
        for (n, entry) in self.listing.direct(numbers, folder) {
            let place = || Location::file(entry.path.to_string());
            let findings = &mut self.found.findings;
            match &entry.kind {
                ListedKind::Folder => inside.push((n, entry.path.clone())),
                _ if self.taken.has_number(n) => {}
                ListedKind::File | ListedKind::Link => {
                    findings.add(FindingCode::UnknownFile, place(), "belongs to no session that is known here");
                }
                ListedKind::Special => findings.add(FindingCode::SpecialFile, place(), "neither a file nor a folder nor a link"),
                ListedKind::Unreadable(why) => findings.add(FindingCode::Unreadable, place(), format!("cannot be read: {why}")),
            }
        }
        // Where there are many folders, most are a session.
        self.found.units.reserve(inside.len());
        inside
    }
}

#[cfg(test)]
mod tests {
    use super::{FindingCode, Known, ListedKind, Listing, RelPath, discover};
    use crate::adapters::ALL;
    use crate::model::folder::{Listed, Part};
    use std::sync::Mutex;

    /// What is found in some files.
    struct Found {
        /// The sessions, each with its format.
        units: Vec<(String, &'static str)>,
        /// What belongs to no session, and what it is.
        findings: Vec<(String, FindingCode)>,
        /// The files that were read.
        read: Vec<String>,
    }

    /// Looks through these files; one that ends in `@` is a link.
    fn found(files: &[(&str, &str)]) -> Found {
        found_knowing(files, None)
    }

    /// The same, where something is known already.
    fn found_knowing(files: &[(&str, &str)], known: Option<Known<'_>>) -> Found {
        let mut listed = Vec::new();
        for (name, text) in files {
            let kind = if text.ends_with('@') { ListedKind::Link } else { ListedKind::File };
            let entry = |path: RelPath, kind: ListedKind| Listed { path, kind, size: text.len() as u64, mtime_ns: 0, mode: 0o644 };
            listed.extend(RelPath::new(*name).folders().map(|folder| entry(folder, ListedKind::Folder)));
            listed.push(entry(RelPath::new(*name), kind));
        }
        let mut listed = Listing::new(listed).entries().to_vec();
        listed.dedup_by(|a, b| a.path == b.path);
        let read = Mutex::new(Vec::new());
        let peek = |path: &RelPath, _: Part| {
            read.lock().unwrap().push(path.to_string());
            files.iter().find(|(name, _)| *name == path.to_string()).map_or(Vec::new(), |(_, text)| text.as_bytes().to_vec())
        };
        let found = discover(&Listing::new(listed), ALL, &peek, known);
        let mut read = read.into_inner().unwrap();
        read.sort();
        Found {
            units: found.units.iter().map(|unit| (unit.name.to_string(), unit.adapter.id())).collect(),
            findings: found.findings.list().iter().map(|finding| (finding.location.file.clone(), finding.code)).collect(),
            read,
        }
    }

    const SAID: &str = "{\"role\": \"user\", \"content\": \"a\", \"timestamp\": \"2026-11-15T10:00:00\"}\n";
    const PI: &str = "{\"type\":\"session\",\"version\":3,\"id\":\"s1\",\"timestamp\":\"2026-11-15T10:00:00.000Z\",\"cwd\":\"/w\"}\n";
    const SIDECAR: &str = r#"{"session_id": "ab", "title": "t", "workspace": "/w", "messages": []}"#;

    #[test]
    fn where_one_is_sure_of_the_whole_folder_nobody_else_reads_in_it() {
        let Found { units, read, .. } = found(&[
            ("chat/conversation.jsonl", SAID),
            ("chat/events.jsonl", "{}\n"),
            ("chat/inside/session.jsonl", PI),
            ("chat/.lock", ""),
            ("chat/ab.json", SIDECAR),
        ]);
        assert_eq!(units, [("chat".to_owned(), "gptme")]);
        assert_eq!(read, ["chat/conversation.jsonl"]);
    }

    #[test]
    fn a_session_that_is_known_for_sure_is_not_looked_into() {
        let files = [("a/conversation.jsonl", SAID), ("b/conversation.jsonl", SAID), ("c/conversation.jsonl", SAID)];
        let known = |folder: &RelPath, format: &str, file: &str, listed: &Listed| {
            let is_b = folder.as_bytes() == b"b" && listed.size == SAID.len() as u64;
            (is_b && (format, file) == ("gptme", "conversation.jsonl")) || folder.as_bytes() == b"c" && format != "gptme"
        };
        let Found { units, read, .. } = found_knowing(&files, Some(&known));
        assert_eq!(units, found(&files).units);
        assert_eq!(read, ["a/conversation.jsonl", "c/conversation.jsonl"]);
    }

    #[test]
    fn where_nobody_is_sure_of_the_whole_folder_its_files_are_asked_about() {
        let Found { units, .. } = found(&[("chat/conversation.jsonl", ""), ("chat/session.jsonl", PI)]);
        assert_eq!(units, [("chat/session.jsonl".to_owned(), "pi")]);
    }

    #[test]
    fn where_a_folder_above_has_files_of_this_one_the_rest_is_asked_about() {
        let Found { units, findings, .. } = found(&[
            ("sessions.json", r#"{"main": {"sessionId": "s1"}}"#),
            ("skills-prompts/conversation.jsonl", SAID),
            ("skills-prompts/ab.json", SIDECAR),
            ("skills-prompts/_index.tmp.7", "elsewhere@"),
        ]);
        assert_eq!(units, [("sessions.json".to_owned(), "openclaw")]);
        assert_eq!(findings, [("skills-prompts/_index.tmp.7".to_owned(), FindingCode::TemporaryLeft)]);
    }
}
