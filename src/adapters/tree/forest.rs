//! Entries that name each other as a tree: where a name leads in a circle, the
//! documented rule decides, and parents come before their children.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::model::json::{self, Kind};
use crate::model::map::Map;

use super::entry::{Entry, get, with_members};
use super::js;
use super::tables::Record;

/// How entries say what stands above them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum Lineage {
    /// By id.
    ById,
    /// Not at all: it is the line before (version 1).
    ByLine,
}

/// Which entry an id stands for: of equal ids the last one.
pub(in crate::adapters) type ById<'e> = Map<&'e [u8], usize>;

/// The entries by id, as a `Map` filled in file order holds them.
pub(in crate::adapters) fn by_id<'e>(entries: &'e [Entry<'_>], is_named: impl Fn(usize) -> bool) -> ById<'e> {
    let nodes = entries.iter().enumerate().filter(|(n, _)| is_named(*n));
    nodes.filter_map(|(n, entry)| entry.id.as_deref().map(|id| (id, n))).collect()
}

/// The entry that an id leads to.
pub(in crate::adapters) fn lookup(by_id: &ById<'_>, id: &[u8]) -> Option<usize> {
    find(by_id, Some(id))
}

/// The same, where there may be no id; that, too, is one.
pub(in crate::adapters) fn find(by_id: &ById<'_>, id: Option<&[u8]>) -> Option<usize> {
    let key: Option<Cow<'_, [u8]>> = js::map_key(id);
    key.and_then(|key| by_id.get(key.as_ref()).copied())
}

/// Parents that end at a root, and the entries whose own did not.
#[derive(Debug, Default)]
pub(in crate::adapters) struct Settled {
    pub parents: Vec<Option<usize>>,
    /// Entries from which the walk up never ends in the program.
    pub circular: Vec<bool>,
}

/// Settles on a parent for each entry. One whose walk would run in a circle is
/// put below the nearest earlier entry with that id, or at the root.
pub(in crate::adapters) fn settle(entries: &[Entry<'_>], wanted: Vec<Option<usize>>) -> Settled {
    let mut circular = vec![false; wanted.len()];
    let mut done = vec![false; wanted.len()];
    for start in 0..wanted.len() {
        let mut walk = Vec::new();
        let mut on_walk = Map::default();
        let mut at = Some(start);
        let ends = loop {
            let Some(node) = at else { break true };
            if done[node] {
                break !circular[node];
            }
            if on_walk.insert(node, ()).is_some() {
                break false;
            }
            walk.push(node);
            at = wanted[node];
        };
        for node in walk {
            done[node] = true;
            circular[node] = !ends;
        }
    }
    let mut parents = wanted;
    if circular.contains(&true) {
        // A parent that stands earlier in the file can never lead back.
        let mut seen: Map<&[u8], usize> = Map::default();
        for (n, entry) in entries.iter().enumerate() {
            if circular[n] {
                let key = entry.parent.as_deref().and_then(|parent| js::map_key(Some(parent)));
                parents[n] = key.and_then(|key| seen.get(key.as_ref()).copied());
            }
            if let Some(id) = entry.id.as_ref().filter(|_| entry.kind != Record::Header) {
                seen.insert(id, n);
            }
        }
    }
    Settled { parents, circular }
}

/// The entries on the walk to `leaf`, first to last.
pub(in crate::adapters) fn path(parents: &[Option<usize>], leaf: Option<usize>) -> Vec<usize> {
    let mut path = Vec::new();
    let mut at = leaf;
    while let Some(node) = at {
        path.push(node);
        at = parents[node];
    }
    path.reverse();
    path
}

/// A compaction of version 1 names the first kept record by its number among
/// all that could be read.
pub(in crate::adapters) fn kept_by_number(entries: &[Entry<'_>]) -> HashMap<usize, usize> {
    let compactions = entries.iter().enumerate().filter(|(_, entry)| entry.kind == Record::Compaction);
    let kept = compactions.filter_map(|(n, entry)| {
        let index = with_members(entry, |members| {
            get(members, "firstKeptEntryIndex").filter(|index| json::kind_of(index) == Kind::Number).map(js::number)
        })?;
        let kept = index as usize;
        (index >= 0.0 && kept as f64 == index && kept < n && entries[kept].kind != Record::Header).then_some((n, kept))
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::tree::entry;
    use crate::model::jsonl::{Lines, Newlines};

    fn settled(ids: &[(&str, &str)]) -> (Vec<Option<usize>>, Vec<bool>) {
        let file: String = ids.iter().map(|(id, parent)| format!("{{\"id\":\"{id}\",\"parentId\":\"{parent}\"}}\n")).collect();
        let entries: Vec<Entry<'_>> = Lines::new(file.as_bytes(), Newlines::LineFeed)
            .map(|line| entry::read(line, crate::adapters::tree::scan::Manner::Lines).unwrap())
            .collect();
        let by_id = by_id(&entries, |_| true);
        let wanted = entries.iter().map(|entry| lookup(&by_id, entry.parent.as_deref().unwrap())).collect();
        let settled = settle(&entries, wanted);
        (settled.parents, settled.circular)
    }

    #[test]
    fn a_circle_is_cut_where_the_file_says_so_first() {
        // b comes back as the parent of its own ancestor.
        let (parents, circular) = settled(&[("a", ""), ("b", "a"), ("c", "b"), ("b", "c"), ("d", "b")]);
        assert_eq!(circular, [false, false, true, true, true]);
        assert_eq!(parents, [None, Some(0), Some(1), Some(2), Some(3)]);
        assert_eq!(settled(&[("a", "a")]).0, [None]);
        // A header is no entry, whatever its id.
        let header = "s\",\"type\":\"session";
        assert_eq!(settled(&[(header, ""), ("a", "s"), ("s", "a")]).0, [None, None, Some(1)]);
    }
}
