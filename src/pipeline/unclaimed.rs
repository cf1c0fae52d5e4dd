//! Files of a source that belong to no session although they may hold one:
//! they cannot be read, are links that lead out of the source, or are too
//! damaged for any format to recognise. Discovery calls them unknown, which
//! is informational; here they become warnings, so that no command answers for
//! a folder as if it had looked at them.

use std::path::Path;

use crate::adapters::discover::Discovery;
use crate::json::{self, Dialect};
use crate::model::files::RelPath;
use crate::model::finding::{Finding, FindingCode};
use crate::model::folder::{Listed, ListedKind, Listing, Portion};
use crate::store::layout::path_below;
use crate::store::{disk, listing};

/// Looks again at every file that belongs to no session, and replaces the
/// findings of those that may hold one.
pub(crate) fn look_again(root: &Path, listing: &Listing, discovery: &mut Discovery) {
    for finding in discovery.findings.each_mut().filter(|finding| finding.code == FindingCode::UnknownFile) {
        let Some(entry) = entry_of(listing, finding) else { continue };
        let path = path_below(root, &entry.path);
        let judged = match &entry.kind {
            ListedKind::File => judge_file(root, entry),
            ListedKind::Link => {
                leads_out(root, &path).map(|to| (FindingCode::LinkSkipped, format!("a link to {to}, which is not looked at")))
            }
            ListedKind::Folder | ListedKind::Special | ListedKind::Unreadable(_) => None,
        };
        if let Some((code, message)) = judged {
            (finding.code, finding.severity, finding.message) = (code, code.severity(), message);
        }
    }
}

/// Returns the entry that a finding is about. A name that is not UTF-8 is compared as it
/// is shown.
fn entry_of<'l>(listing: &'l Listing, finding: &Finding) -> Option<&'l Listed> {
    let shown = &finding.location.file;
    let by_name = listing.get(&RelPath::new(shown.as_bytes()));
    by_name.or_else(|| listing.entries().iter().find(|entry| entry.path.as_text().is_none() && entry.path.to_string() == *shown))
}

fn judge_file(root: &Path, entry: &Listed) -> Option<(FindingCode, String)> {
    if let Err(error) = disk::open_regular(&path_below(root, &entry.path)) {
        let cause = std::error::Error::source(&error).map(|cause| format!(": {cause}")).unwrap_or_default();
        return Some((FindingCode::Unreadable, format!("cannot be read{cause}")));
    }
    let is_damaged = entry.size > 0 && is_damaged(entry, &listing::part_of(root, &entry.path, Portion::Beginning));
    is_damaged.then(|| {
        let what = "has the name of a session, and no line of it can be read: it may be a damaged session";
        (FindingCode::PerhapsSession, what.to_owned())
    })
}

/// Tells whether a file that is named like a list of records or a document holds
/// nothing of the kind. A file that is valid JSON is another program's.
fn is_damaged(entry: &Listed, first: &[u8]) -> bool {
    let is_whole = first.len() as u64 >= entry.size;
    let is_binary = || memchr::memchr(0, first).is_some() || std::str::from_utf8(first).is_err_and(|error| error.error_len().is_some());
    if entry.path.as_bytes().ends_with(b".jsonl") {
        let ends_a_line = memchr::memchr(b'\n', first).is_some();
        let is_json = |line: &[u8]| json::scan_value(line.trim_ascii(), Dialect::Python).is_ok();
        // A first line longer than what was read says nothing.
        let is_conclusive = is_whole || ends_a_line || is_binary();
        let has_text = !first.trim_ascii().is_empty();
        return has_text && is_conclusive && !first.split(|b| *b == b'\n').any(|line| !line.trim_ascii().is_empty() && is_json(line));
    }
    entry.path.as_bytes().ends_with(b".json") && is_binary()
}

/// Returns where a link leads to, if that is a folder or a file with content outside of
/// the source. What it leads to inside is looked at under its own name, and a
/// folder around the source is a loop, not a place where sessions were put.
pub(crate) fn leads_out(root: &Path, link: &Path) -> Option<String> {
    let target = std::fs::canonicalize(link).ok()?;
    let meta = std::fs::metadata(&target).ok()?;
    let may_hold_messages = meta.is_dir() || (meta.is_file() && meta.len() > 0);
    let root = std::fs::canonicalize(root).unwrap_or_else(|_| root.to_owned());
    (may_hold_messages && !target.starts_with(&root) && !root.starts_with(&target)).then(|| target.display().to_string())
}
