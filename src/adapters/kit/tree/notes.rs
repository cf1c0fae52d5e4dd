//! Findings about entries besides damage.

use std::collections::HashMap;

use crate::model::files::RelPath;
use crate::model::finding::{FindingCode, Findings};
use crate::model::location::Location;
use crate::runtimes::javascript as js;

use super::entry::Entry;
use super::schema::TreeSchema;

/// Says which ids stand twice.
pub(in crate::adapters) fn repeats<S: TreeSchema>(
    findings: &mut Findings,
    path: &RelPath,
    program: &str,
    entries: &[Entry<'_, S>],
    is_named: &[bool],
) {
    let mut first: HashMap<&[u8], usize> = HashMap::new();
    for (n, entry) in entries.iter().enumerate().filter(|(n, _)| is_named[*n]) {
        let Some(id) = entry.id.as_deref().filter(|_| entry.id_text.is_some()) else { continue };
        let Some(before) = first.insert(id, n).map(|n| &entries[n]) else { continue };
        let place = Location::at(path.to_string(), entry.line.number, 1);
        if before.line.text == entry.line.text {
            findings.add(FindingCode::RepeatedRecord, place, "the same record occurs earlier in this file");
        } else {
            let message =
                format!("its id is that of line {}; {program} takes the last of that id wherever it is named", before.line.number);
            findings.add(FindingCode::RepeatedId, place, message);
        }
    }
}

/// Says where a header names a version that nobody knew when this was written.
pub(in crate::adapters) fn newer_version<S: TreeSchema>(
    findings: &mut Findings,
    path: &RelPath,
    program: &str,
    entries: &[Entry<'_, S>],
    (version, newest): (Option<&str>, f64),
) {
    let header = entries.iter().find(|entry| S::is_header(entry.kind) && entry.id_text.is_some());
    let (Some(header), Some(version)) = (header, version) else { return };
    if js::to_number(version.as_bytes()).is_ok_and(|number| number > newest) {
        let message =
            format!("a session of version {version}, and {program}'s are known up to {newest}; what is new in it is carried as it is");
        findings.add(FindingCode::NewerVersion, Location::at(path.to_string(), header.line.number, 1), message);
    }
}

/// Says which entries are of a type that a program does not know.
pub(in crate::adapters) fn unknown_types<'e, 'a: 'e, S: TreeSchema>(
    findings: &mut Findings,
    path: &RelPath,
    program: &str,
    entries: impl Iterator<Item = &'e Entry<'a, S>>,
) {
    for entry in entries.filter(|entry| !entry.other_type.is_empty()) {
        let named = String::from_utf8_lossy(&entry.other_type);
        let message = format!("{program} does not know the type {named}; carried as it is");
        findings.add(FindingCode::UnknownRecord, Location::at(path.to_string(), entry.line.number, 1), message);
    }
}
