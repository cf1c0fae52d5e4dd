//! Asks every adapter about every folder, and refuses to guess between two.

use std::collections::HashSet;

use crate::adapters::adapter::{Adapter, Confidence, Standing, UnitClaim};
use crate::model::files::RelPath;
use crate::model::finding::{FindingCode, Findings};
use crate::model::folder::{FolderView, Listed, ListedKind, Listing, Peek};
use crate::model::location::Location;

/// The folder beside the logs that makes a folder a store, and no source.
const STORE: &str = ".everlog";

/// One session of a source, with the adapter it belongs to.
#[derive(Debug, Clone)]
pub struct Unit {
    /// Who converts it.
    pub adapter: &'static dyn Adapter,
    /// Its name below the source; empty where the source itself is the unit.
    pub name: RelPath,
    /// The folder that its files' names are relative to, below the source.
    pub root: RelPath,
    /// Its files, relative to `root`.
    pub files: Vec<RelPath>,
    /// Files that lie there and belong to no session, and what they are.
    pub left_out: Vec<(RelPath, FindingCode, String)>,
    /// The files that `--retire` renames, relative to `root`.
    pub retires: Vec<RelPath>,
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

/// Looks through a listing with these adapters.
pub fn discover(listing: &Listing, adapters: &[&'static dyn Adapter], peek: Peek<'_>) -> Discovery {
    let mut found = Discovery::default();
    let mut open = vec![RelPath::new("")];
    let mut taken = HashSet::new();
    while let Some(folder) = open.pop() {
        let store = RelPath::new(STORE).below(&folder);
        if listing.get(&store).is_some_and(|entry| entry.kind == ListedKind::Folder) {
            let message = "a folder of everlog logs; not looked into";
            found.findings.add(FindingCode::StoreSkipped, Location::file(folder.to_string()), message);
            continue;
        }
        let before = found.units.len();
        let view = FolderView::new(listing, &folder, peek).without(&taken);
        let whole = claim(&view, &folder, adapters, &mut found);
        for unit in &found.units[before..] {
            let left_out = unit.left_out.iter().map(|(path, _, _)| path);
            taken.extend(unit.files.iter().chain(left_out).map(|path| path.below(&unit.root)));
        }
        if !whole {
            descend(listing, &folder, &taken, &mut open, &mut found);
        }
    }
    found.units.sort_by(|a, b| a.name.cmp(&b.name));
    found.ties.sort_by(|a, b| a.folder.cmp(&b.folder));
    found
}

/// Lets the adapters claim a folder; says whether one took it as a whole.
fn claim(view: &FolderView<'_>, folder: &RelPath, adapters: &[&'static dyn Adapter], found: &mut Discovery) -> bool {
    let mut claims: Vec<(&'static dyn Adapter, UnitClaim)> = Vec::new();
    for adapter in adapters {
        claims.extend(adapter.discover(view).into_iter().map(|claim| (*adapter, claim)));
    }
    let best = claims.iter().map(|(_, claim)| claim.confidence).max().unwrap_or(Confidence::Likely);
    claims.retain(|(_, claim)| claim.confidence == best);
    let mut formats: Vec<&'static str> = claims.iter().map(|(adapter, _)| adapter.id()).collect();
    formats.dedup();
    if formats.len() > 1 {
        found.ties.push(Tie { folder: folder.clone(), formats });
        return true;
    }
    let whole = claims.iter().any(|(_, claim)| claim.name.as_bytes().is_empty());
    for (adapter, claim) in claims {
        let is_folder = claim.name.as_bytes().is_empty();
        found.units.push(Unit {
            adapter,
            name: if is_folder { folder.clone() } else { claim.name.below(folder) },
            root: if claim.root.as_bytes().is_empty() { folder.clone() } else { claim.root.below(folder) },
            files: claim.files,
            left_out: claim.left_out,
            retires: claim.retires,
            standing: claim.standing,
        });
    }
    whole
}

/// Goes on with the folders inside, and says what else lies there.
fn descend(listing: &Listing, folder: &RelPath, taken: &HashSet<RelPath>, open: &mut Vec<RelPath>, found: &mut Discovery) {
    let skip = if folder.as_bytes().is_empty() { 0 } else { folder.as_bytes().len() + 1 };
    let direct = |entry: &&Listed| !entry.path.as_bytes()[skip..].contains(&b'/');
    let mut stray = Vec::new();
    for entry in listing.below(folder).iter().filter(direct) {
        let place = Location::file(entry.path.to_string());
        match &entry.kind {
            ListedKind::Folder => open.push(entry.path.clone()),
            ListedKind::File | ListedKind::Link if taken.contains(&entry.path) => {}
            ListedKind::File | ListedKind::Link => {
                stray.push((FindingCode::UnknownFile, place, "belongs to no session that is known here".to_owned()))
            }
            ListedKind::Special => stray.push((FindingCode::SpecialFile, place, "neither a file nor a folder nor a link".to_owned())),
            ListedKind::Unreadable(why) => stray.push((FindingCode::Unreadable, place, format!("cannot be read: {why}"))),
        }
    }
    for (code, place, message) in stray {
        found.findings.add(code, place, message);
    }
}
