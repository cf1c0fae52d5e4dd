//! A transcript as the session manager indexes it: `SessionEntryNavigation`, row by row.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::model::heads::HeadName;
use crate::runtimes::javascript::{Type, Value, lossy, push_string, stringify, to_number, trim};

use super::entry::Kind;
use super::failure::Failure;

/// An id; absent where the program has `null`.
type Id = Option<Vec<u8>>;

/// One event of a transcript.
pub struct Event {
    /// Its text.
    pub text: Vec<u8>,
    /// What it is.
    pub kind: Kind,
    id: Vec<u8>,
    parent: Id,
}

impl Event {
    /// The event as a value.
    pub fn value(&self) -> Value<'_> {
        Value::parse(&self.text).unwrap_or(Value::UNDEFINED)
    }
}

/// An indexed transcript.
#[derive(Default)]
pub struct Tree {
    /// The events, in their order.
    pub events: Vec<Event>,
    by_id: HashMap<Vec<u8>, usize>,
    opaque: HashMap<Vec<u8>, Id>,
    logical: HashMap<Vec<u8>, Id>,
    invalid: HashSet<Vec<u8>>,
    labels: BTreeMap<Vec<u8>, Vec<u8>>,
    leaf: Id,
    append: Id,
    reset: Option<HashSet<Vec<u8>>>,
    /// Where walks over opaque rows ended, as long as nothing was added since.
    ends: std::cell::RefCell<HashMap<Vec<u8>, Id>>,
}

fn id_of(value: Value<'_>) -> Id {
    value.text().map(std::borrow::Cow::into_owned)
}

impl Tree {
    /// Indexes a transcript.
    pub fn open(texts: &[Vec<u8>]) -> Result<Tree, Failure> {
        let mut tree = Tree::default();
        let mut values = Vec::with_capacity(texts.len());
        for text in texts {
            values.push(Value::parse(text).ok_or(Failure::Syntax)?);
        }
        if values.is_empty() {
            return Ok(tree);
        }
        let header = values.iter().find(|value| value.get("type").is("session") && value.get("id").type_of() == Type::String);
        let version = header.and_then(|header| header.get("version").value()).filter(|version| !version.is_null());
        let version = version.map_or(Ok(1.0), to_number).map_err(|_| Failure::Type)?;
        if version < 3.0 {
            return Err(Failure::Legacy);
        }
        for (value, text) in values.into_iter().zip(texts) {
            let [id, parent] = value.get_all(["id", "parentId"]);
            let kind = Kind::of(value);
            tree.events.push(Event { text: text.clone(), kind, id: id_of(id).unwrap_or_default(), parent: id_of(parent) });
            let at = tree.events.len() - 1;
            if kind.is_entry() {
                tree.entry(at, value);
            } else if kind == Kind::Leaf {
                tree.move_leaf(at, value);
            } else if kind == Kind::Linked {
                tree.link(at);
            }
        }
        Ok(tree)
    }

    fn is_after_reset(&self, id: &Id) -> bool {
        matches!((&self.reset, id), (Some(after), Some(id)) if after.contains(id))
    }

    fn note_after_reset(&mut self, id: &[u8], parent: &Id) {
        if self.is_after_reset(parent)
            && let Some(after) = &mut self.reset
        {
            after.insert(id.to_vec());
        }
    }

    fn set_opaque(&mut self, id: Vec<u8>, parent: Id) {
        self.ends.borrow_mut().clear();
        self.opaque.insert(id, parent);
    }

    /// `resolveSessionCanonicalParentId`, which stops at the empty string.
    fn resolve(&self, from: &Id) -> Id {
        let mut at = from.clone();
        let mut way: Vec<Vec<u8>> = Vec::new();
        let mut seen: HashSet<Vec<u8>> = HashSet::new();
        let end = loop {
            let Some(id) = at else { break None };
            if id.is_empty() || self.by_id.contains_key(&id) {
                break Some(id);
            }
            if let Some(end) = self.ends.borrow().get(&id) {
                break end.clone();
            }
            if !seen.insert(id.clone()) {
                break None;
            }
            at = self.opaque.get(&id).cloned().flatten();
            way.push(id);
        };
        let mut ends = self.ends.borrow_mut();
        for id in way {
            ends.insert(id, end.clone());
        }
        end
    }

    /// `resolveOpaqueAppendParentId`.
    fn known_or_resolved(&self, id: &Id) -> Id {
        match id {
            Some(name) if !self.by_id.contains_key(name) && !self.opaque.contains_key(name) => self.resolve(id),
            _ => id.clone(),
        }
    }

    /// `appendCanonicalNavigationEntry`.
    fn entry(&mut self, at: usize, value: Value<'_>) {
        let Event { kind, id, parent, .. } = &self.events[at];
        let (kind, id, parent) = (*kind, id.clone(), parent.clone());
        let [target, label, mode, parent_value] = value.get_all(["targetId", "label", "appendMode", "parentId"]);
        let target = id_of(target).unwrap_or_default();
        if kind == Kind::Label && !self.by_id.contains_key(&target) {
            let above = self.resolve(&parent);
            self.set_opaque(id, above);
            return;
        }
        let is_side = mode.is("side");
        let leaves_reset = self.reset.is_some() && !is_side && !self.is_after_reset(&parent);
        let goes_on = !is_side && parent == self.append && self.leaf != self.append;
        if leaves_reset || parent_value.is_undefined() || goes_on {
            self.logical.insert(id.clone(), self.leaf.clone());
        }
        self.ends.borrow_mut().clear();
        self.by_id.insert(id.clone(), at);
        if kind == Kind::Reset {
            self.reset = Some(HashSet::from([id.clone()]));
        } else {
            let above = self.logical.get(&id).cloned().unwrap_or(parent);
            self.note_after_reset(&id, &above);
        }
        self.append = Some(id.clone());
        if !is_side {
            self.leaf = Some(id);
        }
        if kind == Kind::Label {
            if label.is_truthy() {
                self.labels.insert(target, label.token().to_vec());
            } else {
                self.labels.remove(&target);
            }
        }
    }

    /// `appendOpaqueNavigationRecord` of a leaf row.
    fn move_leaf(&mut self, at: usize, value: Value<'_>) {
        let (id, parent) = (self.events[at].id.clone(), self.events[at].parent.clone());
        let [target, append] = value.get_all(["targetId", "appendParentId"]);
        let is_known = |id: &Id| {
            id.as_ref().is_none_or(|id| self.by_id.contains_key(id) || (self.opaque.contains_key(id) && !self.invalid.contains(id)))
        };
        let append = if append.is_undefined() { None } else { Some(id_of(append)) };
        let target = id_of(target);
        if !is_known(&target) || !append.as_ref().is_none_or(is_known) {
            let above = self.known_or_resolved(&parent);
            self.invalid.insert(id.clone());
            self.set_opaque(id, above);
            return;
        }
        let leaf = self.resolve(&target);
        let append = append.map_or_else(|| leaf.clone(), |append| self.known_or_resolved(&append));
        let is_refused = self.reset.is_some() && !self.is_after_reset(&leaf);
        let (leaf, append) = if is_refused { (self.leaf.clone(), self.leaf.clone()) } else { (leaf, append) };
        self.set_opaque(id.clone(), leaf.clone());
        self.note_after_reset(&id, &leaf);
        self.leaf = leaf;
        self.append = append;
    }

    /// `appendOpaqueNavigationRecord` of any other row.
    fn link(&mut self, at: usize) {
        let (id, parent) = (self.events[at].id.clone(), self.events[at].parent.clone());
        self.set_opaque(id.clone(), parent.clone());
        self.note_after_reset(&id, &parent);
        self.append = Some(id);
    }

    /// The event at the active leaf.
    pub fn leaf(&self) -> Option<usize> {
        self.leaf.as_ref().and_then(|leaf| self.by_id.get(leaf)).copied()
    }

    /// The entry above one that is found by its id.
    fn above(&self, at: usize) -> Option<usize> {
        let event = &self.events[at];
        let parent = match self.logical.get(&event.id) {
            Some(logical) => logical.clone(),
            None => self.resolve(&event.parent),
        };
        parent.filter(|parent| *parent != event.id).and_then(|parent| self.by_id.get(&parent)).copied()
    }

    /// `getBranch`: from the root to an entry.
    pub fn branch(&self, leaf: Option<usize>) -> Vec<usize> {
        let mut seen = HashSet::new();
        let mut path = Vec::new();
        let mut at = leaf;
        while let Some(entry) = at.filter(|entry| seen.insert(*entry)) {
            path.push(entry);
            at = self.above(entry);
        }
        path.reverse();
        path
    }

    /// The entry that a compaction or a reset keeps first, if it can be any.
    pub fn first_kept(&self, boundary: usize) -> Option<usize> {
        let named = id_of(self.events[boundary].value().get("firstKeptEntryId"))?;
        if let Some(entry) = self.by_id.get(&named) {
            return Some(*entry);
        }
        if !self.opaque.contains_key(&named) {
            return None;
        }
        if let Some(found) = self.resolve(&Some(named.clone())) {
            return self.by_id.get(&found).copied();
        }
        let found = self.below_boundary(boundary, &named).or_else(|| self.first_below(&named));
        found.and_then(|id| self.by_id.get(&id).copied()).or_else(|| self.above(boundary))
    }

    /// The entry passed last on the way from a boundary up to a row that is not a boundary.
    fn below_boundary(&self, boundary: usize, row: &[u8]) -> Id {
        let mut seen = HashSet::new();
        let mut last = None;
        let mut at = self.above(boundary).map(|above| self.events[above].id.clone());
        while let Some(id) = at.filter(|id| !id.is_empty() && seen.insert(id.clone())) {
            if id == row {
                return last;
            }
            at = match self.by_id.get(&id) {
                Some(entry) => {
                    last = Some(id);
                    self.events[*entry].parent.clone()
                }
                None => self.opaque.get(&id).cloned().flatten(),
            };
        }
        None
    }

    /// The first entry below a row with nothing but such rows between.
    fn first_below(&self, row: &[u8]) -> Id {
        let mut tried: HashSet<&[u8]> = HashSet::new();
        let held = self.events.iter().enumerate().filter(|(at, event)| self.by_id.get(&event.id) == Some(at));
        for (_, event) in held {
            let mut at = event.parent.as_deref();
            while let Some(id) = at.filter(|id| self.opaque.contains_key(*id)) {
                if id == row {
                    return Some(event.id.clone());
                }
                // What was passed before led nowhere, or round.
                if !tried.insert(id) {
                    break;
                }
                at = self.opaque.get(id).and_then(Option::as_deref);
            }
        }
        None
    }

    /// The entries that no other stands below, by their names, but for the active leaf.
    pub fn other_leaves(&self) -> BTreeMap<String, usize> {
        let held: Vec<usize> = (0..self.events.len()).filter(|at| self.by_id.get(&self.events[*at].id) == Some(at)).collect();
        let above: HashSet<usize> = held.iter().filter_map(|at| self.above(*at)).chain(self.leaf()).collect();
        let name = |at: usize| lossy(&self.events[at].id);
        // Of names that look alike the first entry has it.
        let leaves = held.iter().rev().filter(|at| self.events[**at].kind.is_entry() && !above.contains(at));
        leaves.map(|at| (name(*at), *at)).filter(|(name, _)| *name != HeadName::main().name).collect()
    }

    /// What the program knows of the session besides its messages.
    pub fn facts(&self) -> BTreeMap<String, String> {
        let mut facts = BTreeMap::new();
        if let Some(leaf) = self.leaf() {
            facts.insert("leaf".to_owned(), lossy(&self.events[leaf].id));
        }
        let is_named = |event: &&Event| event.kind == Kind::SessionInfo;
        let name =
            self.events.iter().rev().find(is_named).and_then(|event| event.value().get("name").text().map(|name| lossy(trim(&name))));
        facts.extend(name.filter(|name| !name.is_empty()).map(|name| ("name".to_owned(), name)));
        if !self.labels.is_empty() {
            let mut json = b"{".to_vec();
            for (target, label) in &self.labels {
                if json.len() > 1 {
                    json.push(b',');
                }
                push_string(target, &mut json);
                json.push(b':');
                json.extend_from_slice(&stringify(label.as_slice()));
            }
            json.push(b'}');
            facts.insert("labels".to_owned(), String::from_utf8(json).unwrap_or_default());
        }
        facts
    }
}
