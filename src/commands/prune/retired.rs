//! Sessions that were retired: all their files go, or none.

use std::collections::BTreeMap;

use crate::adapters::format::{Format, RETIRED_SUFFIX, Standing};
use crate::model::files::{Files, RelPath};
use crate::model::finding::Finding;
use crate::model::folder::{FolderView, ListedKind, Listing, Portion};
use crate::model::retention::{Completion, Due, Prunable, Removal, Rule, Share, Stay, StayCode};
use crate::store::receipts::Receipt;
use crate::store::{listing, snapshot};

use crate::commands::audit::of_files;
use crate::pipeline::retired::{WHO_RENAMED, is_by_log_alone};
use crate::pipeline::source::{Source, SourceUnit};

/// Returns the retired sessions of a folder.
pub(super) fn items(source: &Source, adapter: &'static dyn Format, folder: &RelPath) -> Vec<Prunable> {
    let is_here = |unit: &&SourceUnit| unit.found.root == *folder && unit.found.adapter.id() == adapter.id();
    source.units.iter().filter(is_here).filter(|unit| unit.found.standing == Standing::Retired).map(|unit| item(unit, source)).collect()
}

fn item(unit: &SourceUnit, source: &Source) -> Prunable {
    let mut standing = match is_by_log_alone(unit) {
        false => Ok(Completion::OwnWord("it was migrated and retired")),
        true => Err(Stay::new(StayCode::Unclear, WHO_RENAMED)),
    };
    let mut shares = Vec::new();
    for file in &unit.found.files {
        match source.listing.get(&file.below(&unit.found.root)) {
            Some(listed) if listed.kind == ListedKind::File => {
                shares.push(Share { file: file.clone(), removal: Removal::Whole, bytes: listed.size, writer: None, lock: None });
            }
            Some(listed) if listed.kind == ListedKind::Folder => {}
            _ => standing = Err(Stay::new(StayCode::Unclear, format!("{file} is not a regular file"))),
        }
    }
    Prunable { rule: Rule::Retired, name: unit.name.to_string(), parts: 1, shares, own_ns: None, due: Due::ByPolicy, standing }
}

/// Returns the path that a file has in its log.
pub(super) fn log_path(unit: &SourceUnit, file: &RelPath) -> RelPath {
    let was = file.as_bytes().strip_suffix(RETIRED_SUFFIX.as_bytes()).map(RelPath::new);
    match was.filter(|was| unit.found.standing == Standing::Retired && unit.found.retires.contains(was)) {
        Some(was) => was,
        None => file.clone(),
    }
}

/// Returns how a session whose files are not those of its log gets one that has them.
pub(super) fn way_to_a_log(unit: &SourceUnit) -> &'static str {
    match unit.found.standing == Standing::Retired {
        true => "`everlog migrate --unretire` gives it its name back, and then `everlog migrate` brings it up to date",
        false => "`everlog migrate` brings it up to date",
    }
}

/// Returns what converting a retired session found: as its receipt has it, or looked for
/// under the names that its files had. Nothing for a session that is live.
pub(super) fn findings(unit: &SourceUnit, source: &Source, receipt: Option<&Receipt>) -> Option<Vec<Finding>> {
    if unit.found.standing != Standing::Retired {
        return None;
    }
    if let Some(receipt) = receipt.filter(|receipt| receipt.retired.is_some()) {
        return Some(receipt.findings.clone());
    }
    Some(of_files(unit, || {
        let now = snapshot::take(&source.folder_of(unit), unit.own_name(), &unit.found.files)?;
        let mut files = Files::new(unit.own_name());
        now.iter().for_each(|(path, entry)| files.insert(log_path(unit, path), entry.clone()));
        Ok(files.with_shared_facts(unit.found.shared_facts().clone()))
    }))
}

/// A folder as it was before sessions in it were retired: an audit of it as it is
/// would not see them.
pub(super) struct AsItWas {
    listing: Listing,
    /// What was renamed: its name then, and its name now, below the source.
    renamed: BTreeMap<RelPath, RelPath>,
}

impl AsItWas {
    /// Nothing where nothing there was retired.
    pub fn of(source: &Source, folder: &RelPath) -> Option<AsItWas> {
        let retired = source.units.iter().filter(|unit| unit.found.root == *folder && unit.found.standing == Standing::Retired);
        let names = retired.flat_map(|unit| unit.found.files.iter().map(|now| (log_path(unit, now).below(folder), now.below(folder))));
        let renamed: BTreeMap<RelPath, RelPath> = names.filter(|(was, now)| was != now).collect();
        let was: BTreeMap<&RelPath, &RelPath> = renamed.iter().map(|(was, now)| (now, was)).collect();
        let mut entries = source.listing.entries().to_vec();
        for listed in &mut entries {
            if let Some(was) = was.get(&listed.path) {
                listed.path = (*was).clone();
            }
        }
        (!renamed.is_empty()).then(|| AsItWas { listing: Listing::new(entries), renamed })
    }

    /// Shows it.
    pub fn show<R>(&self, source: &Source, folder: &RelPath, look: impl FnOnce(&FolderView<'_>) -> R) -> R {
        let peek = |path: &RelPath, part: Portion| listing::part_of(&source.root, self.renamed.get(path).unwrap_or(path), part);
        look(&FolderView::new(&self.listing, folder, &peek))
    }
}
