//! Where programs keep their sessions on this machine, as the environment tells.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::adapters::format::{DefaultPlace, Format, PlaceBase};
use crate::commands::places::{self, UsualPlace};
use crate::report::printer::Printer;

use super::choices::{Problem, adapters, said};
use super::config::home;

/// Finds the usual places that exist, each folder once, in the order of formats.
fn find(formats: &[&'static dyn Format]) -> Vec<UsualPlace> {
    let mut seen = BTreeSet::new();
    let mut found = Vec::new();
    for format in formats {
        for path in of(format.default_places()) {
            let whole = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
            if path.exists() && seen.insert(whole) {
                found.push(UsualPlace { format: format.id(), path });
            }
        }
    }
    found
}

/// Returns the folders of one program: those of variables that are set, else those of the
/// home folder.
fn of(places: &[DefaultPlace]) -> Vec<PathBuf> {
    let below = |base: PathBuf, folder: &str| if folder.is_empty() { base } else { base.join(folder) };
    let of_variables = places.iter().filter_map(|place| match place.base {
        PlaceBase::Variable(name) => Some(below(home(Path::new(&said(name)?)), place.folder)),
        PlaceBase::Home => None,
    });
    let named: Vec<PathBuf> = of_variables.collect();
    let of_home = places.iter().filter_map(|place| match place.base {
        PlaceBase::Variable(_) => None,
        PlaceBase::Home => Some(below(PathBuf::from(said("HOME")?), place.folder)),
    });
    if named.is_empty() { of_home.collect() } else { named }
}

/// Returns the folder in which a program keeps its sessions: the first of its
/// places that exists, or else the first.
pub(super) fn first(format: &dyn Format) -> Option<PathBuf> {
    let places = of(format.default_places());
    places.iter().find(|place| place.exists()).or(places.first()).cloned()
}

/// Finds the usual places and lists them.
pub(super) fn listed(format: Option<&str>, out: &Printer) -> Result<Vec<UsualPlace>, Problem> {
    let found = find(&adapters(format)?);
    if found.is_empty() {
        let what = "no supported program keeps sessions at its usual place on this machine: name a SOURCE";
        return Err(Problem::Usage(what.to_owned()));
    }
    places::list(&found, out);
    Ok(found)
}

/// Returns the usual places, for `everlog detect`.
pub(super) fn to_look_at(format: Option<&str>, out: &Printer) -> Result<Vec<PathBuf>, Problem> {
    Ok(listed(format, out)?.into_iter().map(|found| found.path).collect())
}
