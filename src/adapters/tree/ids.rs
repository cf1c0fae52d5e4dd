//! Ids of entries while a session is read: which events they name, and back.

use crate::adapters::mapping::Ids;
use crate::model::ids::Seq;
use crate::model::json;
use crate::model::map::Map;

use super::forest;
use super::read::{File, Seen, USUAL};

/// Ids while a file is read: those of entries that are in the log.
pub(super) struct FileIds<'f, 'a> {
    pub file: &'f File<'a, 'f>,
    pub seen: Seen,
    pub repeat_of: &'f Map<Seq, Seq>,
}

/// The message of an event that is one, or repeats one; else the event.
pub(super) fn underlying(seq: Seq, repeat_of: &Map<Seq, Seq>) -> Seq {
    repeat_of.get(&seq).copied().unwrap_or(seq)
}

impl Ids for FileIds<'_, '_> {
    fn event(&self, id: &[u8]) -> Option<Seq> {
        // What is told once more names what is told with it.
        let n = forest::lookup(&self.file.by_id, id).filter(|_| self.seen != Seen::Retold)?;
        let is_spelled_alike = self.file.scan.entries[n].id_text.as_deref() == Some(id);
        Some(underlying(self.file.seqs[n], self.repeat_of)).filter(|seq| !seq.is_root() && is_spelled_alike)
    }

    fn id(&mut self, _: Seq) -> Option<Vec<u8>> {
        None
    }
}

/// Ids while a record is rendered for its proof: those of events that were put.
pub(super) struct KnownIds<'f> {
    pub id_of: &'f Map<Seq, Vec<u8>>,
}

impl Ids for KnownIds<'_> {
    fn event(&self, _: &[u8]) -> Option<Seq> {
        None
    }

    fn id(&mut self, seq: Seq) -> Option<Vec<u8>> {
        let mut id = Vec::new();
        json::push_carried_string(self.id_of.get(&seq)?, USUAL.escapes, &mut id);
        Some(id)
    }
}
