//! The first stage: a session's files, read.

use std::path::Path;

use crate::model::files::Files;
use crate::model::finding::Findings;
use crate::model::folder::Listing;
use crate::model::location::Location;
use crate::store::{StoreError, snapshot};

use super::source::{Source, SourceUnit};

/// A session whose files are in memory, all as they were at one moment.
#[derive(Debug)]
pub struct Snapshot<'a> {
    /// The session.
    pub unit: &'a SourceUnit,
    /// Its files.
    pub files: Files,
    /// What its source holds.
    pub(super) listing: &'a Listing,
}

/// Reads the files of a session.
///
/// # Errors
/// When a file cannot be read, or changes each time it is read.
pub fn snapshot<'a>(unit: &'a SourceUnit, source: &'a Source) -> Result<Snapshot<'a>, StoreError> {
    let files = files_of(unit, &source.folder_of(unit))?;
    Ok(Snapshot { unit, files, listing: &source.listing })
}

/// Reads the files of a session in this folder, with the facts that files outside
/// of it have about it.
///
/// # Errors
/// When a file cannot be read, or changes each time it is read.
pub fn files_of(unit: &SourceUnit, folder: &Path) -> Result<Files, StoreError> {
    let files = match &unit.part {
        Some(part) => part.files_of(folder, unit.own_name())?,
        None => snapshot::take(folder, unit.own_name(), &unit.found.files)?,
    };
    Ok(files.with_shared_facts(unit.found.shared_facts().clone()))
}

/// Returns findings about files in a session's folder that belong to no session.
pub(crate) fn left_out(unit: &SourceUnit) -> Findings {
    let mut findings = Findings::default();
    for (path, code, message) in &unit.found.left_out {
        findings.add(*code, Location::of_path(path), message.clone());
    }
    findings
}
