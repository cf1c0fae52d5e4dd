//! How many messages a loader would show: the session manager of 2026.7.1, and
//! those before it, which were pi's.

use std::collections::HashMap;

use crate::adapters::kit::entries::context::{self, Lineage};
use crate::adapters::kit::entries::records::Record;
use crate::adapters::kit::entries::schema::{Entry, Scan};
use crate::adapters::kit::tree::entry::{get, with_members};
use crate::adapters::kit::tree::forest;
use crate::runtimes::javascript as js;

use super::place::Judged;

/// What an older loader would show.
pub(super) struct Older {
    /// So many messages.
    pub messages: usize,
    /// And today's so many.
    pub today: usize,
}

/// Returns what an older loader would show, where that is another number of messages
/// than today's.
pub(super) fn older_shows(scan: &Scan<'_>, judged: &Judged) -> Option<Older> {
    let entries = &scan.entries;
    let today = shown(entries, &forest::path(&judged.placed.parents, judged.leaf), &judged.placed.first_kept);
    let older = if judged.has_header { by_last_line(scan, judged) } else { 0 };
    (older != today).then_some(Older { messages: older, today })
}

/// The last line is the leaf, and only what names its parent hangs on.
fn by_last_line(scan: &Scan<'_>, judged: &Judged) -> usize {
    let entries = &scan.entries;
    // It asks a line that is `null` for its type, and fails.
    if entries.iter().any(|entry| entry.line.text.trim_ascii() == b"null") {
        return 0;
    }
    if judged.lineage == Lineage::ByLine {
        return shown(entries, &forest::path(&judged.placed.parents, judged.leaf), &judged.placed.first_kept);
    }
    let by_id = forest::by_id(entries, |n| entries[n].kind != Record::Header);
    let parent = |entry: &Entry<'_>| {
        let named = entry.parent.as_deref().filter(|parent| js::is_truthy(parent) && entry.kind != Record::Header)?;
        forest::lookup(&by_id, named)
    };
    let settled = forest::settle(entries, entries.iter().map(parent).collect());
    let leaf = entries.iter().rposition(|entry| entry.kind != Record::Header);
    // A circle never ends there.
    if leaf.is_some_and(|leaf| settled.circular[leaf]) {
        return 0;
    }
    shown(entries, &forest::path(&settled.parents, leaf), &HashMap::new())
}

fn shown(entries: &[Entry<'_>], path: &[usize], kept_by_number: &HashMap<usize, usize>) -> usize {
    let Some(at) = path.iter().rposition(|n| entries[*n].kind == Record::Compaction) else {
        return path.iter().filter(|n| is_shown(&entries[**n])).count();
    };
    let compaction = &entries[path[at]];
    let kept = with_members(compaction, |members| {
        let first = get(members, "firstKeptEntryId").and_then(|id| js::map_key(Some(id)).map(std::borrow::Cow::into_owned));
        path[..at].iter().position(|n| match kept_by_number.get(&path[at]) {
            Some(first) => n == first,
            None => first.is_some() && entries[*n].id.as_deref() == first.as_deref(),
        })
    });
    let count = |nodes: &[usize]| nodes.iter().filter(|n| is_shown(&entries[**n])).count();
    1 + kept.map_or(0, |kept| count(&path[kept..at])) + count(&path[at + 1..])
}

fn is_shown(entry: &Entry<'_>) -> bool {
    let is_message = entry.kind.is_message() || entry.kind == Record::CustomMessage;
    is_message || context::is_told_summary(entry)
}
