//! What is to be said of entries besides damage.

use std::collections::HashMap;

use crate::model::files::RelPath;
use crate::model::finding::{FindingCode, Findings};
use crate::model::location::Location;

use super::entry::Entry;
use super::js;
use super::tables::Record;

/// Says which ids stand twice.
pub(in crate::adapters) fn repeats(findings: &mut Findings, path: &RelPath, program: &str, entries: &[Entry<'_>], is_named: &[bool]) {
    let mut first: HashMap<&[u8], usize> = HashMap::new();
    for (n, entry) in entries.iter().enumerate().filter(|(n, _)| is_named[*n]) {
        let Some(id) = entry.id.as_deref().filter(|_| entry.id_text.is_some()) else { continue };
        let Some(before) = first.insert(id, n).map(|n| &entries[n]) else { continue };
        let place = Location::at(path.to_string(), entry.line.number, 1);
        if before.line.text == entry.line.text {
            findings.add(FindingCode::RepeatedRecord, place, "the same record stands earlier in this file");
        } else {
            let message =
                format!("its id is that of line {}; {program} takes the last of that id wherever it is named", before.line.number);
            findings.add(FindingCode::RepeatedId, place, message);
        }
    }
}

/// The newest version of these sessions that is known: pi's and OpenClaw's.
const NEWEST: f64 = 3.0;

/// Says where a header names a version that nobody knew when this was written.
pub(in crate::adapters) fn newer_version(
    findings: &mut Findings,
    path: &RelPath,
    program: &str,
    entries: &[Entry<'_>],
    version: Option<&str>,
) {
    let header = entries.iter().find(|entry| entry.kind == Record::Header && entry.id_text.is_some());
    let (Some(header), Some(version)) = (header, version) else { return };
    if js::number_of(version.as_bytes()).is_ok_and(|number| number > NEWEST) {
        let message =
            format!("a session of version {version}, and {program}'s are known up to {NEWEST}; what is new in it is carried as it is");
        findings.add(FindingCode::NewerVersion, Location::at(path.to_string(), header.line.number, 1), message);
    }
}

/// Says which entries are of a type that a program does not know.
pub(in crate::adapters) fn unknown_types<'e, 'a: 'e>(
    findings: &mut Findings,
    path: &RelPath,
    program: &str,
    entries: impl Iterator<Item = &'e Entry<'a>>,
) {
    for entry in entries.filter(|entry| !entry.other_type.is_empty()) {
        let named = String::from_utf8_lossy(&entry.other_type);
        let message = format!("{program} does not know the type {named}; carried as it is");
        findings.add(FindingCode::UnknownRecord, Location::at(path.to_string(), entry.line.number, 1), message);
    }
}
