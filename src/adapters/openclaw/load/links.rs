//! Links through rows that the program carries without knowing them: each names
//! a parent, and whoever stands on one is taken along to the first entry that
//! is known.

use super::keys::Key;
#[cfg(test)]
use super::keys::Keys;

/// No shortcut, or one from before the links were changed.
const STALE: u32 = 0;

/// Links by key, which may still change while a file is read.
///
/// A walk leaves shortcuts to where it ended, so that the next is short. They
/// stay right as long as rows only go on from an end; a link that is replaced,
/// or an entry that takes the id of such a row, outdates them all.
#[derive(Debug, Default)]
pub struct Links {
    parents: Vec<Key>,
    is_entry: Vec<bool>,
    shortcuts: Vec<(Key, u32)>,
    epoch: u32,
    marks: Vec<u32>,
    walk: u32,
    trail: Vec<Key>,
}

impl Links {
    /// No links yet, among so many keys.
    #[must_use]
    pub fn new(places: usize) -> Links {
        Links {
            parents: vec![Key::ABSENT; places],
            is_entry: vec![false; places],
            shortcuts: vec![(Key::ABSENT, STALE); places],
            epoch: STALE + 1,
            marks: vec![0; places],
            walk: 0,
            trail: Vec::new(),
        }
    }

    /// Returns the parent that a carried row names: `ABSENT` where no row has this id.
    #[must_use]
    pub fn parent(&self, id: Key) -> Key {
        self.parents.get(id.place()).copied().unwrap_or(Key::ABSENT)
    }

    /// Tells whether a carried row has this id.
    #[must_use]
    pub fn holds(&self, id: Key) -> bool {
        self.parent(id) != Key::ABSENT
    }

    /// Tells whether an entry has this id.
    #[must_use]
    pub fn is_entry(&self, id: Key) -> bool {
        self.is_entry.get(id.place()).copied().unwrap_or(false)
    }

    /// Puts a carried row below a parent.
    pub fn set(&mut self, id: Key, parent: Key) {
        if self.holds(id) && self.parent(id) != parent {
            self.epoch += 1;
        }
        if let Some(place) = self.parents.get_mut(id.place()) {
            *place = parent;
        }
    }

    /// Makes an id that of an entry.
    pub fn set_entry(&mut self, id: Key) {
        if self.holds(id) && !self.is_entry(id) {
            self.epoch += 1;
        }
        if let Some(place) = self.is_entry.get_mut(id.place()) {
            *place = true;
        }
    }

    /// Returns the first entry from here upwards; `EMPTY` where a row names the empty
    /// string, `NULL` where the walk ends otherwise or goes round.
    pub fn resolve(&mut self, from: Key) -> Key {
        if !from.is_name() {
            return if from == Key::EMPTY { from } else { Key::NULL };
        }
        self.walk += 1;
        self.trail.clear();
        let mut at = from;
        let (end, found) = loop {
            if !at.is_name() {
                break (at, if at == Key::EMPTY { at } else { Key::NULL });
            }
            if self.is_entry(at) {
                break (at, at);
            }
            let (Some(mark), Some((shortcut, epoch))) = (self.marks.get_mut(at.place()), self.shortcuts.get(at.place())) else {
                break (at, Key::NULL);
            };
            if std::mem::replace(mark, self.walk) == self.walk {
                break (Key::NULL, Key::NULL);
            }
            let next = if *epoch == self.epoch { *shortcut } else { self.parent(at) };
            if next == Key::ABSENT {
                break (at, Key::NULL);
            }
            self.trail.push(at);
            at = next;
        };
        for passed in self.trail.drain(..) {
            if let Some(shortcut) = self.shortcuts.get_mut(passed.place()) {
                *shortcut = (end, self.epoch);
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn some<const N: usize>() -> ([Key; N], Links) {
        let mut keys = Keys::default();
        let found = std::array::from_fn(|_| keys.invent());
        (found, Links::new(keys.places()))
    }

    #[test]
    fn a_walk_ends_at_an_entry_at_nothing_or_in_a_circle() {
        let ([a, b, c, entry], mut links) = some();
        links.set(a, b);
        assert_eq!(links.resolve(a), Key::NULL);
        links.set(b, entry);
        assert_eq!(links.resolve(a), Key::NULL);
        links.set_entry(entry);
        assert_eq!(links.resolve(a), entry);
        links.set(b, c);
        assert_eq!(links.resolve(a), Key::NULL);
        links.set(c, Key::EMPTY);
        assert_eq!(links.resolve(a), Key::EMPTY);
        links.set(c, a);
        assert_eq!(links.resolve(b), Key::NULL);
        links.set_entry(c);
        assert_eq!(links.resolve(a), c);
        assert_eq!(links.resolve(c), c);
    }

    #[test]
    fn a_long_chain_is_walked_once() {
        const LONG: usize = 300_000;
        let mut keys = Keys::default();
        let rows: Vec<Key> = (0..LONG).map(|_| keys.invent()).collect();
        let mut links = Links::new(keys.places());
        links.set_entry(rows[0]);
        for pair in rows.windows(2) {
            links.set(pair[1], pair[0]);
            assert_eq!(links.resolve(pair[1]), rows[0]);
        }
        // And the other way round, where every end is passed later.
        let mut links = Links::new(keys.places());
        for pair in rows.windows(2) {
            links.set(pair[0], pair[1]);
            assert_eq!(links.resolve(rows[0]), Key::NULL);
        }
    }
}
