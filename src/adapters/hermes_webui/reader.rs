//! A conversion in progress, which the parts of a unit add to.

use std::collections::HashMap;

use crate::adapters::kit::conversion::Conversion;
use crate::adapters::kit::known::Known;
use crate::adapters::kit::place::Repeats;
use crate::model::event::Outcome;
use crate::model::ids::Seq;
use crate::model::shape::Shapes;

use super::message::Prints;

/// One conversion in progress.
pub(super) struct Reader<'a, 's> {
    pub to: Conversion<'a, 's>,
    pub known: Known<'a>,
    pub repeats: Repeats,
    pub shapes: Shapes,
    /// The shape of each message that is not in the usual one.
    pub shape_of: HashMap<Seq, usize>,
    /// Whether rows will be looked for by what tells them apart: only runs do.
    pub wants_prints: bool,
    /// Messages by what tells their rows apart: as stored, and as sent.
    pub by_stored: HashMap<u64, Seq>,
    pub by_sent: HashMap<u64, Seq>,
    /// The session's id as a JSON text, as journals have it.
    pub session: Vec<u8>,
    pub outcome: Outcome,
}

impl Reader<'_, '_> {
    /// Notes a message by what tells its row apart.
    pub(super) fn note_prints(&mut self, prints: Prints, seq: Seq) {
        self.by_stored.entry(prints.stored).or_insert(seq);
        self.by_sent.entry(prints.sent).or_insert(seq);
    }
}
