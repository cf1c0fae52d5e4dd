//! Entries that name each other as a tree: where a name leads in a circle, the
//! documented rule decides, and parents come before their children.

use std::borrow::Cow;

use crate::model::map::Map;
use crate::runtimes::javascript as js;

use super::entry::Entry;
use super::schema::TreeSchema;

/// The entry of each id: of equal ids the last one.
pub(in crate::adapters) type ById<'e> = Map<&'e [u8], usize>;

/// Returns the entries by id, as a `Map` filled in file order holds them.
pub(in crate::adapters) fn by_id<'e, S: TreeSchema>(entries: &'e [Entry<'_, S>], is_named: impl Fn(usize) -> bool) -> ById<'e> {
    let nodes = entries.iter().enumerate().filter(|(n, _)| is_named(*n));
    nodes.filter_map(|(n, entry)| entry.id.as_deref().map(|id| (id, n))).collect()
}

/// Returns the entry that an id leads to.
pub(in crate::adapters) fn lookup(by_id: &ById<'_>, id: &[u8]) -> Option<usize> {
    find(by_id, Some(id))
}

/// Returns the entry that an id leads to, where a missing id counts as an id too.
pub(in crate::adapters) fn find(by_id: &ById<'_>, id: Option<&[u8]>) -> Option<usize> {
    let key: Option<Cow<'_, [u8]>> = js::map_key(id);
    key.and_then(|key| by_id.get(key.as_ref()).copied())
}

/// Parents that end at a root, and the entries whose own did not.
#[derive(Debug, Default)]
pub(in crate::adapters) struct Parents {
    pub parents: Vec<Option<usize>>,
    /// Entries from which the walk up never ends in the program.
    pub circular: Vec<bool>,
}

/// Settles on a parent for each entry. One whose walk would run in a circle is
/// put below the nearest earlier entry with that id, or at the root.
pub(in crate::adapters) fn settle<S: TreeSchema>(entries: &[Entry<'_, S>], wanted: Vec<Option<usize>>) -> Parents {
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
        // A parent that comes earlier in the file can never lead back.
        let mut seen: Map<&[u8], usize> = Map::default();
        for (n, entry) in entries.iter().enumerate() {
            if circular[n] {
                let key = entry.parent.as_deref().and_then(|parent| js::map_key(Some(parent)));
                parents[n] = key.and_then(|key| seen.get(key.as_ref()).copied());
            }
            if let Some(id) = entry.id.as_ref().filter(|_| !S::is_header(entry.kind)) {
                seen.insert(id, n);
            }
        }
    }
    Parents { parents, circular }
}

/// Each circle is cut once: where the way up from the leaf closes, or else
/// above its first entry. Says also from which entries a circle is reached.
pub(in crate::adapters) fn cut(wanted: &[Option<usize>], leaf: Option<usize>) -> (Vec<Option<usize>>, Vec<bool>) {
    let mut parents = wanted.to_vec();
    let mut circular = vec![false; wanted.len()];
    // 0 is unknown; other numbers are the walk that passed here.
    let mut passed = vec![0_usize; wanted.len()];
    for (walk, start) in leaf.into_iter().chain(0..wanted.len()).enumerate() {
        let mut way = Vec::new();
        let mut at = Some(start);
        while let Some(node) = at.filter(|node| passed[*node] == 0) {
            passed[node] = walk + 1;
            way.push(node);
            at = wanted[node];
        }
        let closes = at.filter(|node| passed[*node] == walk + 1 && way.contains(node));
        if let Some(first) = closes {
            let from = way.iter().position(|node| *node == first).unwrap_or_default();
            let circle = &way[from..];
            // The leaf's own way goes round once and ends where it closes.
            let cut = if walk == 0 && leaf.is_some() { circle.last() } else { circle.iter().min() };
            if let Some(cut) = cut {
                parents[*cut] = None;
            }
        }
        let leads_round = closes.is_some() || at.is_some_and(|node| circular[node]);
        for node in way {
            circular[node] = leads_round;
        }
    }
    (parents, circular)
}

/// Returns the entries on the walk to `leaf`, first to last.
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

/// For each entry whether it or one above it is marked; parents are settled.
pub(in crate::adapters) fn on_path(parents: &[Option<usize>], is_marked: impl Fn(usize) -> bool) -> Vec<bool> {
    let mut known: Vec<Option<bool>> = vec![None; parents.len()];
    let mut way = Vec::new();
    for start in 0..parents.len() {
        let mut at = Some(start);
        while let Some(node) = at.filter(|node| known[*node].is_none()) {
            way.push(node);
            at = parents[node];
        }
        let mut marked = at.and_then(|node| known[node]).unwrap_or_default();
        while let Some(node) = way.pop() {
            marked |= is_marked(node);
            known[node] = Some(marked);
        }
    }
    known.into_iter().map(Option::unwrap_or_default).collect()
}

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use super::*;
    use crate::adapters::kit::mapping::{Claim, Content, NoContent, Table};
    use crate::adapters::kit::tree::entry;
    use crate::adapters::kit::tree::schema::{Judged, Keys, LineRule, Surroundings};
    use crate::json::{Escapes, Member, Separators, Style};
    use crate::model::event::EventKind;
    use crate::model::ids::Seq;
    use crate::model::jsonl::{Lines, Newlines};

    /// A tree format with keys of its own: nothing here knows `id` or `parentId`.
    #[derive(Debug, Clone, Copy)]
    struct Plain;

    impl TreeSchema for Plain {
        type Kind = bool;
        type Traits = ();
        const KEYS: Keys =
            Keys { id: "uuid", parent: "parentUuid", record_type: "type", time: "at", message: "message", replacement: "new" };
        const STYLE: Style = Style { separators: Separators::Compact, escapes: Escapes::Utf8 };
        const OTHER: bool = false;

        fn line_rule(&self) -> LineRule {
            LineRule::Truthy
        }

        fn judge(&self, members: &[Member<'_>], _: &[Member<'_>]) -> Judged<Plain> {
            Judged { kind: members.iter().any(|member| member.value == b"\"session\""), traits: () }
        }

        fn is_record(&self, _: &[Member<'_>]) -> bool {
            true
        }

        fn is_header(kind: bool) -> bool {
            kind
        }

        fn event_kind(_: bool) -> EventKind {
            EventKind::Custom
        }

        fn table(&self, _: bool) -> Option<&'static Table> {
            None
        }

        fn payload_order(_: EventKind) -> &'static [&'static str] {
            &[]
        }

        fn content() -> &'static dyn Content {
            &NoContent
        }

        fn complete(&self, _: bool, (): &(), _: &mut Claim<'_>, _: &Surroundings<'_>) -> Option<()> {
            None
        }

        fn frame(&self, (): &(), _: &[Member<'_>]) -> (Cow<'static, str>, Cow<'static, str>) {
            (Cow::Borrowed(""), Cow::Borrowed(""))
        }

        fn of_event(&self, _: EventKind, _: Option<Seq>, _: &[Member<'_>]) -> Option<(bool, Plain)> {
            None
        }
    }

    fn settled(ids: &[(&str, &str)]) -> (Vec<Option<usize>>, Vec<bool>) {
        let file: String = ids.iter().map(|(id, parent)| format!("{{\"uuid\":\"{id}\",\"parentUuid\":\"{parent}\"}}\n")).collect();
        let entries: Vec<Entry<'_, Plain>> =
            Lines::new(file.as_bytes(), Newlines::LineFeed).map(|line| entry::read(line, Plain).unwrap()).collect();
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
        // A header is not an entry, whatever its id.
        let header = "s\",\"type\":\"session";
        assert_eq!(settled(&[(header, ""), ("a", "s"), ("s", "a")]).0, [None, None, Some(1)]);
    }
}
