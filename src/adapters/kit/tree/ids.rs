//! Ids of entries while a session is read: which events they name, and back.

use crate::adapters::kit::mapping::Ids;
use crate::json::{self, Escapes};
use crate::model::ids::Seq;
use crate::model::map::Map;

use super::file::File;
use super::forest;
use super::schema::{Pass, TreeSchema};

/// Ids while a file is read: those of entries that are in the log.
pub(super) struct FileIds<'f, 'a, S: TreeSchema> {
    pub file: &'f File<'a, 'f, S>,
    pub pass: Pass,
    pub repeat_of: &'f Map<Seq, Seq>,
    pub first_with: &'f Map<&'a [u8], Seq>,
}

/// Returns the message of an event that is one, or repeats one; else the event.
pub(super) fn underlying(seq: Seq, repeat_of: &Map<Seq, Seq>) -> Seq {
    repeat_of.get(&seq).copied().unwrap_or(seq)
}

impl<S: TreeSchema> Ids for FileIds<'_, '_, S> {
    fn event(&self, id: &[u8]) -> Option<Seq> {
        // An entry that is retold names those that are retold with it.
        let n = forest::lookup(&self.file.by_id, id).filter(|_| self.pass != Pass::Retold)?;
        let is_spelled_alike = self.file.scan.entries[n].id_text.as_deref() == Some(id);
        Some(underlying(self.file.seqs[n], self.repeat_of)).filter(|seq| !seq.is_root() && is_spelled_alike)
    }

    fn id(&mut self, _: Seq) -> Option<Vec<u8>> {
        None
    }

    fn first_with(&self, value: &[u8]) -> Option<Seq> {
        self.first_with.get(value).copied().filter(|_| self.pass == Pass::InTree || self.pass == Pass::BesideTree)
    }
}

/// Ids while a record is rendered for its proof: those of events that were put.
pub(super) struct KnownIds<'f, 'a> {
    pub value_of: &'f Map<Seq, &'a [u8]>,
    pub writer: Escapes,
    pub id_of: &'f Map<Seq, Vec<u8>>,
}

impl Ids for KnownIds<'_, '_> {
    fn event(&self, _: &[u8]) -> Option<Seq> {
        None
    }

    fn id(&mut self, seq: Seq) -> Option<Vec<u8>> {
        let mut id = Vec::new();
        json::push_carried_string(self.id_of.get(&seq)?, self.writer, &mut id);
        Some(id)
    }

    fn value(&mut self, seq: Seq, _: &str) -> Option<Vec<u8>> {
        let mut value = Vec::new();
        json::push_carried_value(self.value_of.get(&seq)?, self.writer, &mut value);
        Some(value)
    }
}
