//! Sessions that were retired: all their files go, or none.

use crate::adapters::adapter::{Adapter, RETIRED_SUFFIX, Standing};
use crate::model::files::RelPath;
use crate::model::folder::ListedKind;
use crate::model::retention::{Due, Goes, Item, Rule, Settled, Share, Stay, StayCode};

use crate::commands::source::{Source, SourceUnit};

/// The retired sessions of a folder.
pub(super) fn items(source: &Source, adapter: &'static dyn Adapter, folder: &RelPath) -> Vec<Item> {
    let is_here = |unit: &&SourceUnit| unit.found.root == *folder && unit.found.adapter.id() == adapter.id();
    source.units.iter().filter(is_here).filter(|unit| unit.found.standing == Standing::Retired).map(|unit| item(unit, source)).collect()
}

fn item(unit: &SourceUnit, source: &Source) -> Item {
    let mut standing = Ok(Settled::OwnWord("it was migrated and retired"));
    let mut shares = Vec::new();
    for file in &unit.found.files {
        match source.listing.get(&file.below(&unit.found.root)) {
            Some(listed) if listed.kind == ListedKind::File => {
                shares.push(Share { file: file.clone(), goes: Goes::Whole, bytes: listed.size, writer: None, lock: None });
            }
            Some(listed) if listed.kind == ListedKind::Folder => {}
            _ => standing = Err(Stay::new(StayCode::Unclear, format!("{file} is no regular file"))),
        }
    }
    Item { rule: Rule::Retired, name: unit.name.to_string(), parts: 1, shares, own_ns: None, due: Due::ByPolicy, standing }
}

/// The path that a file has in its log.
pub(super) fn log_path(unit: &SourceUnit, file: &RelPath) -> RelPath {
    let was = file.as_bytes().strip_suffix(RETIRED_SUFFIX.as_bytes()).map(RelPath::new);
    match was.filter(|was| unit.found.standing == Standing::Retired && unit.found.retires.contains(was)) {
        Some(was) => was,
        None => file.clone(),
    }
}
