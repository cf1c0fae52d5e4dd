//! Files of the agent core's harness since its fourth version: the header is of
//! another kind, and each line is one write or a list of writes. The coding agent
//! does not open them.

use crate::adapters::kit::entries::schema::{Entry, Scan};
use crate::adapters::kit::tree::entry::{self, Value, get, text_of, with_members};
use crate::adapters::kit::tree::forest::{self, ById};
use crate::adapters::kit::tree::scan::Piece;
use crate::json::{self, Kind};
use crate::model::event::Session;
use crate::model::files::RelPath;
use crate::model::finding::{FindingCode, Findings};
use crate::model::jsonl::Line;
use crate::model::location::Location;
use crate::runtimes::javascript as js;

use super::schema::SCHEMA;

/// The newest version of the harness that is known.
const NEWEST: f64 = 4.0;

/// The value that says where a branch ends.
const TIP: &str = "pi.branch.tip";

/// Returns the version that a file's first record names, where that is such a header.
pub(super) fn version(entries: &[Entry<'_>]) -> Option<Vec<u8>> {
    let header = entries.first().filter(|entry| entry.is_object())?;
    with_members(header, |members| {
        let is_header = get(members, "kind").and_then(text_of).as_deref() == Some("header");
        let version = get(members, "v").or_else(|| get(members, "version"));
        version.filter(|version| is_header && json::kind_of(version) == Kind::Number && js::number(version) >= NEWEST).map(<[u8]>::to_vec)
    })
}

/// Takes lines that are lists of writes to pieces: each write is an entry.
pub(super) fn split_commits<'a>(scan: &mut Scan<'a>, bytes: &'a [u8]) {
    if version(&scan.entries).is_none() {
        return;
    }
    let old: Vec<Entry<'a>> = std::mem::take(&mut scan.entries);
    for piece in std::mem::take(&mut scan.pieces) {
        match piece {
            Piece::Entry(n, end) => match writes(&old[n], bytes) {
                Some((before, writes)) => {
                    scan.pieces.push(Piece::Gap(before, 1));
                    for (write, after) in writes {
                        scan.pieces.push(Piece::Entry(scan.entries.len(), after));
                        scan.entries.push(write);
                    }
                }
                None => {
                    scan.pieces.push(Piece::Entry(scan.entries.len(), end));
                    scan.entries.push(old[n].clone());
                }
            },
            piece @ (Piece::Gap(..) | Piece::Damage { .. } | Piece::Salvaged(..)) => scan.pieces.push(piece),
        }
    }
}

/// A write, and the bytes up to the next.
type Write<'a> = (Entry<'a>, &'a [u8]);

/// Returns the writes of a line that is a list of nothing else, and the bytes before the
/// first.
fn writes<'a>(entry: &Entry<'a>, bytes: &'a [u8]) -> Option<(&'a [u8], Vec<Write<'a>>)> {
    if entry.value != Value::List || !entry.is_utf8 {
        return None;
    }
    let line = entry.line;
    let list = line.text.trim_ascii();
    let offset = |piece: &[u8]| piece.as_ptr() as usize - bytes.as_ptr() as usize;
    let spans: Vec<(usize, usize)> = json::elements(list).map(|write| (offset(write), offset(write) + write.len())).collect();
    let first = spans.first()?.0;
    let line_end = line.offset + line.text.len() + line.end.len();
    let mut writes = Vec::new();
    for (n, (start, end)) in spans.iter().enumerate() {
        let after = &bytes[*end..spans.get(n + 1).map_or(line_end, |next| next.0)];
        let write = Line { text: &bytes[*start..*end], offset: *start, end: after, ..line };
        writes.push((entry::read(write, SCHEMA).ok().filter(Entry::is_object)?, after));
    }
    Some((&bytes[line.offset..first], writes))
}

/// Returns the entry at which the main branch ends: the last that a write says, else the
/// last one of all.
pub(super) fn tip(entries: &[Entry<'_>], by_id: &ById<'_>) -> Option<usize> {
    let named = entries.iter().rev().find_map(|entry| {
        with_members(entry, |members| {
            let is = |key: &str, wanted: &str| get(members, key).and_then(text_of).as_deref() == Some(wanted);
            let is_tip = is("kind", "value") && is("op", "set") && is("namespace", TIP);
            get(members, "value").filter(|_| is_tip).and_then(|id| forest::lookup(by_id, id))
        })
    });
    let is_entry = |entry: &Entry<'_>| with_members(entry, |members| get(members, "kind").and_then(text_of).as_deref() == Some("entry"));
    named.or_else(|| entries.iter().rposition(is_entry))
}

/// Returns what the header says of a session.
pub(super) fn described(session: Session, entries: &[Entry<'_>]) -> Session {
    let (Some(version), Some(header)) = (version(entries), entries.first()) else { return session };
    with_members(header, |members| {
        let field = |key: &str| get(members, key).and_then(text_of);
        let milliseconds =
            get(members, "createdAt").and_then(|value| std::str::from_utf8(value).ok()).and_then(|text| text.parse::<i64>().ok());
        Session {
            id: field("id").unwrap_or_else(|| session.id.clone()),
            cwd: field("cwd"),
            created: milliseconds.and_then(|ms| crate::model::time::from_epoch((ms / 1000).to_string().as_bytes())),
            parent_session: field("parentSessionId").or_else(|| field("legacyParentSessionPath")),
            format_version: Some(format!("harness {}", String::from_utf8_lossy(&version))),
            ..session.clone()
        }
    })
}

/// Says where a header names a version that nobody knew when this was written.
pub(super) fn note_newer(findings: &mut Findings, path: &RelPath, entries: &[Entry<'_>]) {
    let Some(version) = version(entries).filter(|version| js::number(version) > NEWEST) else { return };
    let named = String::from_utf8_lossy(&version);
    let message = format!(
        "a session of pi's agent core of version {named}, and they are known up to {NEWEST}; what is new in it is carried as it is"
    );
    findings.add(FindingCode::NewerVersion, Location::at(path.to_string(), 1, 1), message);
}
