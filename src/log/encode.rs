//! Events to bytes: numbers them, follows heads, sets checkpoints, hashes, and
//! seals. Streams; nothing of the log is held but a buffer and the index.

use sha2::{Digest, Sha256};
use std::io::Write;

use crate::model::digest::hex;
use crate::model::event::{Body, Draft, EventKind, EventRef, Seal, to_log_json};
use crate::model::heads::HeadName;
use crate::model::ids::Seq;
use crate::model::stream::{EventSink, StreamError};

use super::fold::{State, checkpoint};
use super::index::Index;

const BUFFER: usize = 256 * 1024;

/// A checkpoint stands at least this many events after the last one.
const CHECKPOINT_EVERY: usize = 50;

/// Writes one log.
#[derive(Debug)]
pub struct LogWriter<W> {
    out: W,
    buffer: Vec<u8>,
    /// Of what was written; nothing where somebody else seals it.
    hash: Option<Sha256>,
    index: Index,
    state: State,
    since_checkpoint: usize,
    last_checkpoint: u64,
    facts_closed: bool,
}

/// A log that has been written to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Its size.
    pub bytes: u64,
    /// Its number of lines, the seal included.
    pub events: u32,
    /// The hash in its seal.
    pub sha256: String,
}

impl<W: Write> LogWriter<W> {
    /// Returns a log with no line yet.
    pub fn new(out: W) -> Self {
        LogWriter {
            out,
            buffer: Vec::with_capacity(BUFFER + BUFFER / 4),
            hash: Some(Sha256::new()),
            index: Index::new(),
            state: State::default(),
            since_checkpoint: 0,
            last_checkpoint: 0,
            facts_closed: false,
        }
    }

    /// Continues after the end of a sealed log, of which this is the hash of all
    /// bytes, the index of all lines and the state at the end.
    pub(super) fn after(hash: Sha256, index: Index, state: State, out: W) -> Self {
        LogWriter { out, buffer: Vec::new(), hash: Some(hash), index, state, since_checkpoint: 0, last_checkpoint: 0, facts_closed: true }
    }

    /// Writes the seal and hands the file back.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn finish(mut self) -> Result<(W, Written), StreamError> {
        let written = self.seal()?;
        Ok((self.out, written))
    }

    /// Writes a seal.
    pub(super) fn seal(&mut self) -> Result<Written, StreamError> {
        self.flush()?;
        let (payload, sha256) = seal(self.hash.clone().unwrap_or_default(), &self.index, self.last_checkpoint)?;
        self.line(EventKind::Seal, None, None, None, &payload)?;
        self.flush()?;
        Ok(Written { bytes: self.index.end(), events: self.index.last().number(), sha256 })
    }

    /// Hands the file back as it is.
    pub(super) fn into_inner(self) -> W {
        self.out
    }

    fn flush(&mut self) -> Result<(), StreamError> {
        if let Some(hash) = &mut self.hash {
            hash.update(&self.buffer);
        }
        self.out.write_all(&self.buffer).map_err(|source| StreamError::Io { doing: "write the log", source })?;
        self.buffer.clear();
        Ok(())
    }

    fn line(
        &mut self,
        kind: EventKind,
        ts: Option<&str>,
        parent: Option<Seq>,
        repeat: Option<(Seq, Seq)>,
        payload: &[u8],
    ) -> Result<Seq, StreamError> {
        let seq = self.index.next();
        if seq.number() == u32::MAX - 1 {
            return Err(StreamError::TooManyEvents);
        }
        let before = self.buffer.len();
        push_line(&EventRef { seq, ts, kind, parent, payload }, &mut self.buffer);
        let len = (self.buffer.len() - before) as u64;
        self.index.push(kind, parent, repeat, len);
        if self.buffer.len() >= BUFFER {
            self.flush()?;
        }
        Ok(seq)
    }

    fn checkpoint(&mut self, of: Option<&HeadName>) -> Result<(), StreamError> {
        let state = checkpoint(&self.state, of, &self.index)?;
        self.last_checkpoint = self.index.end();
        self.since_checkpoint = 0;
        let payload = json(&state)?;
        self.line(EventKind::Checkpoint, None, None, None, &payload)?;
        Ok(())
    }

    /// Every 50 events, but never so often that checkpoints outgrow the events
    /// they stand between.
    fn checkpoint_is_due(&self) -> bool {
        let is_due = |runs: u32| self.since_checkpoint >= self.state.head_count() + runs as usize;
        !self.facts_closed && self.since_checkpoint >= CHECKPOINT_EVERY && is_due(self.index.run_count(self.state.current_node()))
    }
}

impl<W: Write> EventSink for LogWriter<W> {
    fn put(&mut self, event: Draft<'_>) -> Result<Seq, StreamError> {
        let seq = match event.body {
            Body::Json(kind, payload) => {
                let seq = self.line(kind, event.ts, event.parent, None, payload)?;
                if event.parent.is_some() {
                    self.state.node(seq, kind);
                }
                seq
            }
            Body::Repeat(repeat) => {
                let payload = json(repeat)?;
                let seq = self.line(EventKind::Repeat, event.ts, event.parent, Some((repeat.first, repeat.last)), &payload)?;
                self.state.node(seq, EventKind::Repeat);
                seq
            }
            Body::Head(head) => {
                let payload = json(head)?;
                let seq = self.line(EventKind::Head, event.ts, None, None, &payload)?;
                self.state.head_moved(head);
                seq
            }
        };
        self.since_checkpoint += 1;
        if self.checkpoint_is_due() {
            self.checkpoint(None)?;
        }
        Ok(seq)
    }

    fn next(&self) -> Seq {
        self.index.next()
    }

    fn kind(&self, seq: Seq) -> EventKind {
        self.index.kind(seq)
    }

    fn parent(&self, seq: Seq) -> Seq {
        self.index.parent(seq)
    }

    fn close_facts(&mut self, active: &str) -> Result<(), StreamError> {
        self.facts_closed = true;
        self.checkpoint(Some(&HeadName::parse(active)))
    }
}

/// A log on its way, which whoever reads it back seals.
#[derive(Debug)]
pub struct UnsealedLog<W>(LogWriter<W>);

impl<W: Write> UnsealedLog<W> {
    /// Returns a log with no line yet.
    pub fn new(out: W) -> Self {
        UnsealedLog(LogWriter { hash: None, ..LogWriter::new(out) })
    }

    /// Returns where its events go.
    pub fn events(&mut self) -> &mut dyn EventSink {
        &mut self.0
    }

    /// Writes what is not yet written.
    ///
    /// # Errors
    /// When the log cannot be written.
    pub fn close(mut self) -> Result<(), StreamError> {
        self.0.flush()
    }
}

/// Returns the payload of a seal after these events, and the hash in it.
pub(super) fn seal(hash: Sha256, index: &Index, checkpoint: u64) -> Result<(Vec<u8>, String), StreamError> {
    let sha256 = hex(&hash.finalize());
    let payload = json(&Seal { events: index.last().number(), checkpoint, sha256: sha256.clone() })?;
    Ok((payload, sha256))
}

/// One line of a log.
pub(super) fn push_line(event: &EventRef<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"seq\":");
    push_number(event.seq.number(), out);
    if let Some(ts) = event.ts {
        out.extend_from_slice(b",\"ts\":\"");
        out.extend_from_slice(ts.as_bytes());
        out.push(b'"');
    }
    out.extend_from_slice(b",\"type\":\"");
    out.extend_from_slice(event.kind.name().as_bytes());
    out.push(b'"');
    if let Some(parent) = event.parent {
        out.extend_from_slice(b",\"parent\":");
        push_number(parent.number(), out);
    }
    out.extend_from_slice(b",\"payload\":");
    out.extend_from_slice(event.payload);
    out.extend_from_slice(b"}\n");
}

fn json<T: serde::Serialize>(payload: &T) -> Result<Vec<u8>, StreamError> {
    to_log_json(payload).map_err(|error| StreamError::Io { doing: "write the log", source: error.into() })
}

fn push_number(number: u32, out: &mut Vec<u8>) {
    let mut digits = [0; 10];
    let mut at = digits.len();
    let mut rest = number;
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    out.extend_from_slice(&digits[at..]);
}
