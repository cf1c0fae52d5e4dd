//! Records that a database does not have where they belong, looked for everywhere else:
//! in other sessions of it, and in files of the state folder. What is found there
//! changes no verdict; it answers a second question.

use std::collections::HashMap;

use crate::adapters::containment::{FoundIn, Judged};
use crate::model::digest::HalfDigest;

/// Records that are waiting for an answer.
#[derive(Default)]
pub(super) struct Elsewhere {
    waiting: Vec<Judged>,
    /// By their texts, and by what they are printed as where that loses nothing.
    by_text: HashMap<HalfDigest, Vec<usize>>,
    open: usize,
}

impl Elsewhere {
    /// Adds a record that any of these texts would be.
    pub(super) fn add(&mut self, judged: Judged, texts: &[HalfDigest]) {
        let n = self.waiting.len();
        for (at, text) in texts.iter().enumerate() {
            if !texts[..at].contains(text) {
                self.by_text.entry(*text).or_default().push(n);
            }
        }
        self.waiting.push(judged);
        self.open += 1;
    }

    /// Tells whether every record has been found.
    pub(super) fn is_done(&self) -> bool {
        self.open == 0
    }

    /// Tells whether records are looked for that this text would be.
    pub(super) fn wants(&self, text: &HalfDigest) -> bool {
        self.by_text.contains_key(text)
    }

    /// Notes where a text was found, for all records that it is.
    pub(super) fn found(&mut self, text: &HalfDigest, found: FoundIn, place: &str) {
        // The first place is enough, and a text may occur a million times.
        for n in self.by_text.remove(text).into_iter().flatten() {
            let judged = &mut self.waiting[n];
            if judged.found == FoundIn::Nowhere {
                (judged.found, judged.found_in) = (found, Some(place.to_owned()));
                self.open -= 1;
            }
        }
    }

    /// Returns all records, in the order in which they were added.
    pub(super) fn into_judged(self) -> Vec<Judged> {
        self.waiting
    }
}
