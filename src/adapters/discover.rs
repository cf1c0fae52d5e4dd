//! Asks every adapter about every folder, and refuses to guess between two.

use rayon::prelude::{IndexedParallelIterator, IntoParallelIterator, ParallelExtend, ParallelIterator};
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::adapters::format::{Claims, Confidence, Format, Found, RETIRED_SUFFIX, Standing, Stray, UnitClaim};
use crate::model::few::Few;
use crate::model::files::{RelPath, SharedFacts};
use crate::model::finding::{Finding, FindingCode, Findings};
use crate::model::folder::{FolderView, Known, ListedKind, Listing, Peek};
use crate::model::location::Location;

/// The folder beside the logs that makes a folder a store, and no source.
const STORE: &str = ".everlog";

/// So many folders are asked about in one go.
const FOLDERS_AT_ONCE: usize = 64;

/// So many entries are below the folders whose answers are in memory at once, unless
/// one folder has more.
const ENTRIES_AT_ONCE: usize = 32 * 1024;

/// One session of a source, with the adapter it belongs to.
#[derive(Debug, Clone)]
pub struct Unit {
    /// Who converts it.
    pub adapter: &'static dyn Format,
    /// Its name below the source; empty where the source itself is the unit.
    pub name: RelPath,
    /// The folder that its files' names are relative to, below the source.
    pub root: RelPath,
    /// The numbers of what is below that in the listing.
    pub numbers: Range<usize>,
    /// Its files, relative to `root`.
    pub files: Few<RelPath>,
    /// Files that lie there and belong to no session, and what they are.
    pub left_out: Vec<(RelPath, FindingCode, String)>,
    /// What files outside of it say about it. Most sessions have no such thing, and a
    /// folder may have a million.
    pub shared: Option<Box<SharedFacts>>,
    /// The files that `--retire` renames, relative to `root`.
    pub retires: Few<RelPath>,
    /// How sure its adapter is of it.
    pub confidence: Confidence,
    /// Whether it is to be converted.
    pub standing: Standing,
}

impl Unit {
    /// What files outside of it say about it.
    #[must_use]
    pub fn shared_facts(&self) -> &SharedFacts {
        static NOTHING: SharedFacts = SharedFacts { slices: Vec::new(), canonical: None, promoted_from: None, retires_with: Vec::new() };
        self.shared.as_deref().unwrap_or(&NOTHING)
    }
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

/// Looks through a listing with these adapters; where there is only one, `named` is
/// the file that somebody said is a session of it.
pub fn discover(
    listing: &Listing,
    adapters: &[&'static dyn Format],
    peek: Peek<'_>,
    known: Option<Known<'_>>,
    named: Option<&RelPath>,
) -> Discovery {
    let (of_folders, of_files) = adapters.iter().partition(|adapter| adapter.claims() == Claims::Folders);
    let choice = if adapters.len() == 1 { Choice::Made } else { Choice::Open };
    let named = named.filter(|_| choice == Choice::Made);
    let assigned = AssignedFiles { listing, by_place: vec![false; listing.entries().len()], others: HashSet::new() };
    let mut search = Search { listing, of_folders, of_files, choice, peek, known, named, assigned, found: Discovery::default() };
    let mut open = vec![search.asked(RelPath::new(""), 0..listing.entries().len())];
    let mut to_ask: Vec<(usize, RelPath)> = Vec::new();
    loop {
        while let Some(asked) = open.pop() {
            to_ask.extend(search.folder(asked));
        }
        // Answers take more memory than what is kept of them, and a folder may have a
        // million sessions below it: as many folders at once as have some entries.
        let mut entries = 0;
        let first = to_ask.iter().rposition(|(n, _)| {
            entries += listing.numbers_below_number(*n).len();
            entries >= ENTRIES_AT_ONCE
        });
        let some = to_ask.split_off(first.unwrap_or_default());
        if some.is_empty() {
            break;
        }
        // To ask is to read files, and no folder's answer depends on another's.
        let asked = |(n, folder)| search.asked(folder, listing.numbers_below_number(n));
        open.par_extend(some.into_par_iter().with_max_len(FOLDERS_AT_ONCE).map(asked));
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

/// Claims the file that somebody named as a session of one format, where its name
/// and its content say nothing of the kind: it is a session by itself.
fn claim_named(view: &FolderView<'_>, found: &Found) -> Option<UnitClaim> {
    let file = RelPath::new(view.named_file()?);
    let is_claimed = found.units.iter().any(|unit| unit.root.as_bytes().is_empty() && unit.files.contains(&file));
    let is_something_else = found.strays.iter().any(|stray| stray.path == file);
    (!is_claimed && !is_something_else).then(|| UnitClaim {
        name: file.clone(),
        root: RelPath::new(""),
        files: vec![file.clone()],
        left_out: Vec::new(),
        shared: SharedFacts::default(),
        retires: vec![file],
        confidence: Confidence::Likely,
        standing: Standing::Live,
    })
}

/// Settles which claims stand beside one that is about the folder as a whole. That
/// one has its main files, unless somebody is surer of them; of everything else in
/// the folder it gives up what another adapter is sure of.
fn settle_whole(claims: &mut Vec<Claimed>) {
    let whole = claims.iter().filter(|claimed| is_whole(&claimed.claim));
    let Some(surest) = whole.map(|claimed| claimed.claim.confidence).max() else { return };
    claims.retain(|Claimed { claim, .. }| !is_whole(claim) || claim.confidence == surest);
    let (mut whole, others): (Vec<Claimed>, Vec<Claimed>) =
        std::mem::take(claims).into_iter().partition(|claimed| is_whole(&claimed.claim));
    let of_whole: HashSet<PathInListing> = whole.iter().flat_map(|claimed| claimed.files.iter().cloned()).collect();
    for other in others {
        let contested: HashSet<PathInListing> = other.files.iter().filter(|place| of_whole.contains(place)).cloned().collect();
        let is_main = |place: &PathInListing| whole.iter().any(|claimed| claimed.main_files().any(|main| main == place));
        let is_undisputed = contested.is_empty()
            || other.claim.confidence > surest
            || (other.claim.confidence == Confidence::Sure && !contested.iter().any(is_main));
        if !is_undisputed {
            continue;
        }
        if !contested.is_empty() && !contested.iter().any(is_main) {
            whole.iter_mut().for_each(|claimed| claimed.give_up(&contested));
        }
        claims.push(other);
    }
    claims.append(&mut whole);
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
    adapter: &'static dyn Format,
    claim: UnitClaim,
    /// The folder that its files' names are relative to, and what is below it.
    root: RelPath,
    numbers: Range<usize>,
    files: Vec<PathInListing>,
    left_out: Vec<PathInListing>,
}

impl Claimed {
    /// The files that the session cannot be without.
    fn main_files(&self) -> impl Iterator<Item = &PathInListing> {
        let is_main = |path: &RelPath| {
            let live = path.as_bytes().strip_suffix(RETIRED_SUFFIX.as_bytes()).unwrap_or(path.as_bytes());
            self.claim.retires.iter().any(|main| main.as_bytes() == live)
        };
        self.files.iter().zip(&self.claim.files).filter(move |(_, path)| is_main(path)).map(|(place, _)| place)
    }

    /// Leaves these files to somebody else.
    fn give_up(&mut self, places: &HashSet<PathInListing>) {
        let keeps: Vec<bool> = self.files.iter().map(|place| !places.contains(place)).collect();
        let mut kept = keeps.iter();
        self.files.retain(|_| kept.next().copied().unwrap_or(true));
        let mut kept = keeps.iter();
        self.claim.files.retain(|_| kept.next().copied().unwrap_or(true));
    }
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
    of_folders: Vec<&'static dyn Format>,
    of_files: Vec<&'static dyn Format>,
    choice: Choice,
    peek: Peek<'s>,
    known: Option<Known<'s>>,
    named: Option<&'s RelPath>,
    /// Paths that a session has, or that were said to belong to none.
    assigned: AssignedFiles<'s>,
    found: Discovery,
}

/// Some of the paths of a listing.
struct AssignedFiles<'s> {
    listing: &'s Listing,
    by_place: Vec<bool>,
    /// Paths that the listing lacks.
    others: HashSet<RelPath>,
}

/// A path as a listing has it: by number, where it has it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum PathInListing {
    Listed(usize),
    Other(RelPath),
}

impl AssignedFiles<'_> {
    /// The places of paths below a folder, which has these numbers.
    fn places<'p>(
        &self,
        folder: &'p RelPath,
        numbers: Range<usize>,
        paths: impl Iterator<Item = &'p RelPath>,
    ) -> impl Iterator<Item = PathInListing> {
        let place = move |path: &RelPath| {
            self.listing.number_of(&numbers, folder, path).map_or_else(|| PathInListing::Other(path.below(folder)), PathInListing::Listed)
        };
        paths.map(place)
    }

    /// Whether nothing of a folder with these numbers is.
    fn has_none_of(&self, numbers: &Range<usize>) -> bool {
        self.others.is_empty() && !self.by_place[numbers.clone()].contains(&true)
    }

    /// Whether everything in a folder with these numbers is, other folders aside.
    fn has_all_of(&self, numbers: &Range<usize>) -> bool {
        let entries = &self.listing.entries()[numbers.clone()];
        entries.iter().zip(numbers.clone()).all(|(entry, n)| entry.kind == ListedKind::Folder || self.has_number(n))
    }

    /// Whether the path of this entry is one: the first entry of a path counts.
    fn has_number(&self, n: usize) -> bool {
        let entries = self.listing.entries();
        let before = entries[..n].iter().rev().take_while(|entry| entry.path == entries[n].path).count();
        self.by_place[n - before]
    }

    fn has(&self, place: &PathInListing) -> bool {
        match place {
            PathInListing::Listed(n) => self.by_place[*n],
            PathInListing::Other(path) => self.others.contains(path),
        }
    }

    /// Adds one; says whether it is new.
    fn insert(&mut self, place: PathInListing) -> bool {
        match place {
            PathInListing::Listed(n) => !std::mem::replace(&mut self.by_place[n], true),
            PathInListing::Other(path) => self.others.insert(path),
        }
    }
}

impl Search<'_> {
    /// Asks adapters about a folder: all of them, unless what the first ones say
    /// leaves nothing for the others.
    fn asked(&self, folder: RelPath, numbers: Range<usize>) -> Asked {
        let view = FolderView::among(self.listing, &folder, numbers.clone(), self.peek).knowing(self.known).naming(self.named);
        if view.get(STORE).is_some_and(|entry| entry.kind == ListedKind::Folder) {
            return Asked { numbers, answer: Answer::Store, folder };
        }
        let mut claims = Vec::new();
        let mut strays = Vec::new();
        let mut ask = |adapters: &[&'static dyn Format]| {
            for adapter in adapters {
                let mut found = match self.choice {
                    Choice::Open => adapter.discover(&view),
                    Choice::Made => adapter.discover_chosen(&view),
                };
                found.units.extend(claim_named(&view, &found));
                claims.extend(found.units.into_iter().map(|claim| (*adapter, claim)));
                strays.extend(found.strays);
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
    fn claimed(&self, folder: &RelPath, numbers: &Range<usize>, adapter: &'static dyn Format, mut claim: UnitClaim) -> Claimed {
        claim.files.shrink_to_fit();
        claim.left_out.shrink_to_fit();
        let (root, numbers) = if claim.root.as_bytes().is_empty() {
            (folder.clone(), numbers.clone())
        } else {
            let root = claim.root.below(folder);
            let numbers = self.listing.numbers_below(&root);
            (root, numbers)
        };
        let files = self.assigned.places(&root, numbers.clone(), claim.files.iter()).collect();
        let left_out = self.assigned.places(&root, numbers.clone(), claim.left_out.iter().map(|(path, _, _)| path)).collect();
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
        let all_free = self.assigned.has_none_of(view.numbers());
        let mut own: Vec<&[u8]> = if all_free {
            named().map(RelPath::as_bytes).collect()
        } else {
            let places = named().zip(self.assigned.places(view.path(), view.numbers().clone(), named()));
            places.filter(|(_, place)| !self.assigned.has(place)).map(|(path, _)| path.as_bytes()).collect()
        };
        own.sort_unstable();
        view.entries().all(|(path, entry)| entry.kind == ListedKind::Folder || own.binary_search(&path).is_ok())
    }

    /// Settles what was said of a folder; gives the folders inside that are still
    /// to be asked about.
    fn folder(&mut self, Asked { folder, numbers, answer }: Asked) -> Vec<(usize, RelPath)> {
        let Answer::Found(claims, strays) = answer else {
            let message = "a folder of everlog logs; not looked into";
            self.found.findings.add(FindingCode::StoreSkipped, Location::of_path(&folder), message);
            return Vec::new();
        };
        self.settle(&folder, claims);
        for Stray { path, code, message } in strays {
            let place = self.assigned.places(&folder, numbers.clone(), std::iter::once(&path)).next();
            if place.is_some_and(|place| self.assigned.insert(place)) {
                self.found.findings.add(code, Location::of_path(&path.below(&folder)), message);
            }
        }
        self.descend(&folder, numbers)
    }

    /// Gives each file to the adapter that is surest of it.
    fn settle(&mut self, folder: &RelPath, mut claims: Vec<Claimed>) {
        settle_whole(&mut claims);
        claims.sort_by_key(|claimed| std::cmp::Reverse(claimed.claim.confidence));
        let mut owners: HashMap<PathInListing, (&'static str, Confidence)> = HashMap::new();
        let mut to_come = claims.len();
        for Claimed { adapter, claim, root, numbers, files, left_out } in claims {
            to_come -= 1;
            let other = files.iter().filter_map(|path| owners.get(path)).find(|(id, _)| *id != adapter.id());
            let name = if is_whole(&claim) { folder.clone() } else { self.shared(claim.name.below(folder), &files) };
            if let Some((id, confidence)) = other {
                if *confidence == claim.confidence {
                    let mut formats = vec![*id, adapter.id()];
                    formats.sort_unstable();
                    self.found.units.retain(|unit| unit.name != name);
                    self.found.ties.push(Tie { folder: name, formats });
                }
                continue;
            }
            if files.iter().any(|path| self.assigned.has(path)) {
                continue;
            }
            let paths = self.shared_files(claim.files, &files, &root);
            let retires = claim.retires.into_iter().map(|path| paths.iter().find(|own| **own == path).cloned().unwrap_or(path)).collect();
            for place in left_out {
                self.assigned.insert(place);
            }
            if to_come == 0 {
                files.into_iter().for_each(|place| _ = self.assigned.insert(place));
            } else {
                owners.extend(files.into_iter().map(|place| (place, (adapter.id(), claim.confidence))));
            }
            self.found.units.push(Unit {
                adapter,
                name,
                root,
                numbers,
                files: paths.into(),
                left_out: claim.left_out,
                shared: (claim.shared != SharedFacts::default()).then(|| Box::new(claim.shared)),
                retires,
                confidence: claim.confidence,
                standing: claim.standing,
            });
        }
        for place in owners.into_keys() {
            self.assigned.insert(place);
        }
    }

    /// A session's files by the bytes that the listing has: a folder may have a
    /// million sessions, and adapters make names of their own.
    fn shared_files(&self, files: Vec<RelPath>, places: &[PathInListing], root: &RelPath) -> Vec<RelPath> {
        let skip = if root.as_bytes().is_empty() { 0 } else { root.as_bytes().len() + 1 };
        let shared = |(path, place): (RelPath, &PathInListing)| match place {
            PathInListing::Listed(n) => self.listing.entries().get(*n).map_or(path, |entry| entry.path.from_byte(skip)),
            PathInListing::Other(_) => path,
        };
        files.into_iter().zip(places).map(shared).collect()
    }

    /// A session's name by the bytes that the listing has, where a file of the session
    /// has that name.
    fn shared(&self, name: RelPath, places: &[PathInListing]) -> RelPath {
        let path = |place: &PathInListing| match place {
            PathInListing::Listed(n) => self.listing.entries().get(*n).map(|entry| &entry.path),
            PathInListing::Other(_) => None,
        };
        places.iter().filter_map(path).find(|path| **path == name).cloned().unwrap_or(name)
    }

    /// Goes on with the folders inside, by number and path, and says what else lies
    /// there.
    fn descend(&mut self, folder: &RelPath, numbers: Range<usize>) -> Vec<(usize, RelPath)> {
        let mut inside = Vec::new();
        for (n, entry) in self.listing.direct(numbers, folder) {
            let place = || Location::of_path(&entry.path);
            let findings = &mut self.found.findings;
            match &entry.kind {
                // A folder whose files a session above has leaves nothing to ask about.
                ListedKind::Folder if self.assigned.has_all_of(&self.listing.numbers_below_number(n)) => {}
                ListedKind::Folder => inside.push((n, entry.path.clone())),
                _ if self.assigned.has_number(n) => {}
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
