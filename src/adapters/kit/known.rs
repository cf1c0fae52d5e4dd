//! Which messages are in the log already: by the bytes of their record, and
//! by their normal form. Found by hash, so finding repeats takes linear time.

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use std::hash::BuildHasher;

use crate::json::Escapes;
use crate::model::ids::Seq;

/// The messages of one session, each stored once.
#[derive(Debug)]
pub(in crate::adapters) struct Known<'a> {
    messages: Vec<Entry<'a>>,
    by_record: HashTable<u32>,
    by_normal: HashTable<u32>,
    hasher: RandomState,
}

#[derive(Debug)]
struct Entry<'a> {
    /// The record of the first occurrence, and its hash.
    record: &'a [u8],
    hash: RecordHash,
    /// The normal form, hashed: collisions are excluded by the proof.
    normal: u64,
    seq: Seq,
    /// How the file that it was read from escapes.
    escapes: Escapes,
    /// 0, or for a record without a time of its own the number of the file
    /// time that it took: equal bytes are then not enough.
    file_time: u32,
}

impl<'a> Known<'a> {
    pub(in crate::adapters) fn new() -> Known<'a> {
        Known { messages: Vec::new(), by_record: HashTable::new(), by_normal: HashTable::new(), hasher: RandomState::default() }
    }

    /// Returns the hash that a record is looked up by.
    pub(in crate::adapters) fn hash(&self, record: &[u8]) -> RecordHash {
        RecordHash(self.hasher.hash_one(record))
    }

    /// Returns the message that a record with these bytes is, in a file with this time.
    pub(in crate::adapters) fn by_record(&self, record: &[u8], file_time: u32) -> Option<Seq> {
        self.by_hash(self.hash(record), record, file_time)
    }

    /// Returns the message that a record is, where its hash is known already.
    pub(in crate::adapters) fn by_hash(&self, hash: RecordHash, record: &[u8], file_time: u32) -> Option<Seq> {
        let found = self.by_record.find(hash.0, |&at| {
            let entry = &self.messages[at as usize];
            entry.record == record && (entry.file_time == 0 || entry.file_time == file_time)
        });
        found.map(|&at| self.messages[at as usize].seq)
    }

    /// Returns the message with this normal form, or the hash to add it under.
    pub(in crate::adapters) fn by_normal(&self, ts: &str, payload: &[u8]) -> Result<Seq, NormalHash> {
        let hash = self.hasher.hash_one((ts, payload));
        let found = self.by_normal.find(hash, |&at| self.messages[at as usize].normal == hash);
        found.map(|&at| self.messages[at as usize].seq).ok_or(NormalHash(hash))
    }

    /// Returns the record that a message was first read from, how its file escapes, and
    /// the number of the file time that it took.
    pub(in crate::adapters) fn origin(&self, seq: Seq) -> Option<(&'a [u8], Escapes, u32)> {
        let at = self.messages.binary_search_by_key(&seq, |entry| entry.seq).ok()?;
        let entry = &self.messages[at];
        Some((entry.record, entry.escapes, entry.file_time))
    }

    /// Notes a message that was put into the log.
    pub(in crate::adapters) fn add(&mut self, origin: Origin<'a>, normal: NormalHash, seq: Seq) {
        let Origin { record, hash, escapes, file_time } = origin;
        let at = self.messages.len() as u32;
        self.messages.push(Entry { record, hash, normal: normal.0, seq, escapes, file_time });
        let messages = &self.messages;
        self.by_record.insert_unique(hash.0, at, |&at| messages[at as usize].hash.0);
        self.by_normal.insert_unique(normal.0, at, |&at| messages[at as usize].normal);
    }
}

/// The hash of a record's bytes.
#[derive(Debug, Clone, Copy)]
pub(in crate::adapters) struct RecordHash(u64);

/// The hash of a normal form that is not in the log.
#[derive(Debug, Clone, Copy)]
pub(in crate::adapters) struct NormalHash(u64);

/// Where a new message comes from.
#[derive(Debug, Clone, Copy)]
pub(in crate::adapters) struct Origin<'a> {
    /// The bytes of its record.
    pub record: &'a [u8],
    /// Their hash.
    pub hash: RecordHash,
    /// How its file escapes.
    pub escapes: Escapes,
    /// 0, or the number of the file time that it takes.
    pub file_time: u32,
}
