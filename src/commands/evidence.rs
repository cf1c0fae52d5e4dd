//! What lies outside a folder of sessions and matters to it, fetched.

use std::collections::BTreeMap;
use std::path::Path;

use crate::adapters::format::Format;
use crate::maintenance;
use crate::model::audit::{Database, Evidence};
use crate::model::database::Tables;
use crate::model::files::RelPath;
use crate::model::folder::{FolderView, Listing, Peek, Portion};
use crate::store::StoreError;
use crate::store::database::{self, DatabaseCopy};
use crate::store::layout::path_below;
use crate::store::{listing, processes};

use crate::pipeline::source::Source;

/// The time, and the time that a repair writes into files, both in nanoseconds
/// since the epoch.
#[derive(Debug, Clone, Copy)]
pub(super) struct Clock {
    pub now_ns: i64,
    pub stamp_ns: i64,
}

/// Returns the folders of a source that one adapter has sessions in.
pub(super) fn folders(source: &Source) -> Vec<(&'static dyn Format, RelPath)> {
    let mut found = BTreeMap::new();
    for unit in &source.units {
        found.entry((unit.found.root.clone(), unit.found.adapter.id())).or_insert(unit.found.adapter);
    }
    found.into_iter().map(|((root, _), adapter)| (adapter, root)).collect()
}

/// Tells whether the process with this number runs, and can have written a file at
/// this time (in nanoseconds since the epoch).
pub(super) fn writer_runs(process: u32, wrote_ns: i64) -> bool {
    let programs: Vec<&str> = maintenance::ALL.iter().flat_map(|maintenance| maintenance.writer_programs()).copied().collect();
    processes::still_runs(process, wrote_ns, &programs)
}

/// Shows a folder of a source to its adapter, with all that belongs to it.
pub(super) fn with<R>(
    source: &Source,
    adapter: &'static dyn Format,
    folder: &RelPath,
    clock: Clock,
    look: impl FnOnce(&FolderView<'_>, &Evidence<'_>) -> R,
) -> R {
    let peek = |path: &RelPath, part: Portion| listing::part_of(&source.root, path, part);
    let world = World { listing: &source.listing, peek: &peek, still_runs: &writer_runs };
    within(&world, source, adapter, folder, clock, look)
}

/// What an adapter sees of a source.
pub(super) struct World<'w> {
    pub listing: &'w Listing,
    pub peek: Peek<'w>,
    /// As [`writer_runs`].
    pub still_runs: &'w dyn Fn(u32, i64) -> bool,
}

/// Shows a folder as it is in some world: as it is now, or as it was.
pub(super) fn within<R>(
    world: &World<'_>,
    source: &Source,
    adapter: &'static dyn Format,
    folder: &RelPath,
    clock: Clock,
    look: impl FnOnce(&FolderView<'_>, &Evidence<'_>) -> R,
) -> R {
    let view = FolderView::new(world.listing, folder, world.peek);
    let beside = path_below(&source.root, folder);
    let rule = maintenance::of(adapter.id()).audited_database();
    let path = rule.and_then(|rule| database::find(&beside, rule.name, rule.levels_above));
    let copy = path.as_ref().map(|path| DatabaseCopy::of(path));
    let of_profiles: Vec<(String, String, Result<DatabaseCopy, StoreError>)> = rule
        .into_iter()
        .filter(|rule| !rule.profiles.is_empty())
        .flat_map(|rule| database::find_in_each(&beside, rule.profiles, rule.name, rule.levels_above))
        .map(|(profile, path)| (profile, seen_from(&beside, &path), DatabaseCopy::of(&path)))
        .collect();
    let evidence = Evidence {
        database: copy.as_ref().map_or(Database::None, opened),
        place: path.as_ref().map(|path| seen_from(&beside, path)).unwrap_or_default(),
        profiles: of_profiles.iter().map(|(profile, place, copy)| (profile.clone(), place.clone(), opened(copy))).collect(),
        now_ns: clock.now_ns,
        stamp_ns: clock.stamp_ns,
        still_runs: world.still_runs,
    };
    look(&view, &evidence)
}

fn opened(copy: &Result<DatabaseCopy, StoreError>) -> Database<'_> {
    match copy {
        Ok(copy) => Database::Copy(copy as &dyn Tables),
        Err(error) => {
            let cause = std::error::Error::source(error).map(|cause| format!(": {cause}")).unwrap_or_default();
            Database::Unreadable { why: format!("{error}{cause}") }
        }
    }
}

/// Returns a path as it is seen from a folder: `../` for each level up.
fn seen_from(folder: &Path, path: &Path) -> String {
    let above = folder.ancestors().enumerate();
    let found = above.filter_map(|(levels, above)| Some((levels, path.strip_prefix(above).ok()?))).next();
    found.map_or_else(|| path.display().to_string(), |(levels, rest)| format!("{}{}", "../".repeat(levels), rest.display()))
}

/// Returns a file that is seen from a folder, as it is seen from the source.
pub(super) fn seen_from_source(file: &str, folder: &RelPath) -> String {
    let (mut file, mut folder) = (file, folder.as_bytes());
    while let Some(rest) = file.strip_prefix("../").filter(|_| !folder.is_empty()) {
        folder = &folder[..memchr::memrchr(b'/', folder).unwrap_or(0)];
        file = rest;
    }
    RelPath::new(file.as_bytes()).below(&RelPath::new(folder)).to_string()
}
