//! A log read through a window: one pass numbers the lines, checks the seal
//! and follows the heads; after that any event is read by its offset.

use sha2::{Digest, Sha256};
use std::io::Write;
use std::sync::Arc;

use crate::model::event::{Checkpoint, EventKind, EventRef, Outcome, Session};
use crate::model::heads::HeadName;
use crate::model::ids::Seq;
use crate::model::shape::Order;
use crate::model::stream::{LogAccess, ReadAt, StreamError};

use super::decode::decode_line;
use super::encode::{Written, push_line, seal};
use super::fold::{State, checkpoint};
use super::index::{Index, Path};
use super::pass::{Pass, WINDOW};
use super::problem::{LogProblem, SealState};

/// How much is read at once when looking back.
const BACK_WINDOW: u64 = 32 * 1024;

/// No real list is longer; in a hostile log repeats could go on for ever.
const LONGEST_PATH: usize = 1 << 27;

/// A log that was passed through once.
#[derive(Debug)]
pub struct LogView<R> {
    source: R,
    index: Arc<Index>,
    window: Vec<u8>,
    window_start: u64,
    /// What the log is of.
    pub session: Session,
    /// What a load by the source program ends in, where the log says so.
    pub outcome: Outcome,
    state: State,
    files: Vec<Seq>,
    shapes: Vec<Order>,
    seal: SealState,
    first_seal: Option<(u64, String)>,
    forks: Vec<HeadName>,
    more_than_forks: bool,
    unknown_events: bool,
    /// Of all bytes up to the end, so that a log can be gone on with.
    hash: Sha256,
    /// Where the last checkpoint begins; 0 where there is none.
    last_checkpoint: u64,
    until: Option<Seq>,
    /// For reading back and forth: a second window, so that a look back does
    /// not cost the place at which reading goes on.
    back_window: Vec<u8>,
    back_start: u64,
}

impl<R: ReadAt> LogView<R> {
    /// Passes through a log to its end.
    ///
    /// # Errors
    /// When it cannot be read, or is not a log that this version understands.
    pub fn open(source: R) -> Result<Self, LogProblem> {
        LogView::open_until(source, None)
    }

    /// Passes through a log, following heads only up to `until`.
    ///
    /// # Errors
    /// As [`LogView::open`].
    pub fn open_until(source: R, until: Option<Seq>) -> Result<Self, LogProblem> {
        let pass = Pass::over(&source, until, u64::MAX)?;
        match pass.good_seal {
            // After the last good seal stands what no seal covers: the
            // log is what stands before it.
            Some((line, _)) if pass.is_followed(line) => {
                let mut again = Pass::over(&source, until, line)?;
                again.after = Some(line + 1);
                LogView::after(again, source)
            }
            _ => LogView::after(pass, source),
        }
    }

    /// Returns the view that a pass over `source` has made possible.
    fn after(pass: Pass, source: R) -> Result<Self, LogProblem> {
        let seal = pass.seal_state();
        let session = pass.session.ok_or(LogProblem::NotALog)?;
        Ok(LogView {
            source,
            index: Arc::new(pass.index),
            window: pass.whole,
            window_start: 0,
            session,
            outcome: pass.outcome,
            state: pass.state,
            files: pass.files,
            shapes: pass.shapes,
            seal,
            first_seal: pass.first_seal,
            forks: pass.forks,
            more_than_forks: pass.more_than_forks,
            unknown_events: pass.unknown_events,
            hash: pass.hash,
            last_checkpoint: pass.last_checkpoint,
            until: pass.until,
            back_window: Vec::new(),
            back_start: 0,
        })
    }

    /// Seals a log that has no seal, and reads the seal back: its hash is of the
    /// bytes that were read, so that nothing else can have been proven.
    ///
    /// # Errors
    /// When the seal cannot be written or read, or the log is not whole.
    pub fn seal_with(mut self, mut out: impl Write) -> Result<(Self, Written), StreamError> {
        let seq = self.index.next();
        let start = self.index.end();
        let (payload, sha256) = seal(self.hash.clone(), &self.index, self.last_checkpoint)?;
        let mut line = Vec::with_capacity(payload.len() + 64);
        push_line(&EventRef { seq, ts: None, kind: EventKind::Seal, parent: None, payload: &payload }, &mut line);
        out.write_all(&line).map_err(|source| StreamError::Io { doing: "write the log", source })?;
        let mut back = Vec::new();
        self.source.fill_at(&mut back, start, line.len() + 1).map_err(|source| StreamError::Io { doing: "read the log", source })?;
        if back != line || self.seal != SealState::Missing {
            return Err(StreamError::log(seq, "is not the seal that was written"));
        }
        Arc::make_mut(&mut self.index).push(EventKind::Seal, None, None, line.len() as u64);
        if self.window_start == 0 && self.window.len() as u64 == start {
            self.window.extend_from_slice(&back);
        }
        self.hash.update(&back);
        let bytes = self.index.end();
        self.first_seal = Some((bytes, sha256.clone()));
        self.seal = SealState::Good { sha256: sha256.clone() };
        let events = self.index.last().number();
        Ok((self, Written { bytes, events, sha256 }))
    }

    /// Returns a second reader of the same log, with a window of its own.
    #[must_use]
    pub fn second(&self) -> LogView<R>
    where
        R: Clone,
    {
        LogView {
            source: self.source.clone(),
            index: Arc::clone(&self.index),
            window: Vec::new(),
            window_start: 0,
            session: self.session.clone(),
            outcome: self.outcome.clone(),
            state: self.state.clone(),
            files: self.files.clone(),
            shapes: self.shapes.clone(),
            seal: self.seal.clone(),
            first_seal: self.first_seal.clone(),
            forks: self.forks.clone(),
            more_than_forks: self.more_than_forks,
            unknown_events: self.unknown_events,
            hash: self.hash.clone(),
            last_checkpoint: self.last_checkpoint,
            until: self.until,
            back_window: Vec::new(),
            back_start: 0,
        }
    }

    /// Tells whether the log is sealed.
    #[must_use]
    pub fn seal(&self) -> &SealState {
        &self.seal
    }

    /// Heads and where they stand.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// Returns the `file` events, by path.
    #[must_use]
    pub fn files(&self) -> &[Seq] {
        &self.files
    }

    /// Returns the orders of keys besides the usual one.
    #[must_use]
    pub fn shapes(&self) -> &[Order] {
        &self.shapes
    }

    /// Tells whether the log says more than a conversion could, forks aside: something
    /// else was added after it was sealed, or by a version that knows more.
    #[must_use]
    pub fn was_extended(&self) -> bool {
        self.more_than_forks || self.unknown_events
    }

    /// Returns the heads that were added after the log was sealed, in that order.
    #[must_use]
    pub fn forks(&self) -> &[HeadName] {
        &self.forks
    }

    /// Tells whether the log as it was sealed first had this size and hash: it is
    /// that one, with or without forks.
    #[must_use]
    pub fn began_as(&self, bytes: u64, sha256: &str) -> bool {
        self.first_seal.as_ref().is_some_and(|(end, first)| *end == bytes && first == sha256)
    }

    pub(super) fn index(&self) -> &Index {
        &self.index
    }

    /// Returns the hash of all bytes up to the end, not yet closed.
    pub(super) fn hash(&self) -> &Sha256 {
        &self.hash
    }

    /// Returns the bytes themselves, with what follows the end.
    pub(super) fn source(&self) -> &R {
        &self.source
    }

    /// Returns the first and the last message that a repeat stands for.
    #[must_use]
    pub fn repeat(&self, seq: Seq) -> Option<(Seq, Seq)> {
        self.index.repeat(seq)
    }

    /// Tells whether an event is a node, to which a head may point.
    #[must_use]
    pub fn is_node(&self, seq: Seq) -> bool {
        self.index.is_node(seq)
    }

    /// Checks that every repeat names messages that stand below each other, so
    /// that every path can be walked.
    ///
    /// # Errors
    /// With the first that does not.
    pub fn check_repeats(&self) -> Result<(), StreamError> {
        self.index.check_repeats()
    }

    /// Returns the last checkpoint, where it does not say what the events before it
    /// come to.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn false_checkpoint(&mut self) -> Result<Option<Seq>, StreamError> {
        let last = (1..=self.index.last().number()).rev().map(Seq::new).find(|seq| self.index.kind(*seq) == EventKind::Checkpoint);
        let Some(last) = last else { return Ok(None) };
        let said = serde_json::from_slice::<Checkpoint>(self.event(last)?.payload).ok();
        let Some(said) = said else { return Ok(Some(last)) };
        let of = HeadName::parse(&said.of);
        // Counted before it is made: in a hostile log it could be far longer.
        if said.path.len() != self.index.run_count(self.state.head(&of).unwrap_or(Seq::ROOT)) as usize {
            return Ok(Some(last));
        }
        let true_one = checkpoint(&self.state, Some(&of), &self.index)?;
        Ok((Checkpoint { current: None, ..said } != Checkpoint { current: None, ..true_one }).then_some(last))
    }

    /// Returns the number of the last event.
    #[must_use]
    pub fn last(&self) -> Seq {
        self.index.last()
    }

    /// Returns the number of the last event up to which the log was followed.
    #[must_use]
    pub fn last_followed(&self) -> Seq {
        self.until.map_or(self.last(), |until| until.min(self.last()))
    }

    pub(super) fn path_and_repeats(&self, node: Seq) -> Result<Path, StreamError> {
        self.index.path(node, LONGEST_PATH)
    }

    /// Returns the last node that the source knows by this id.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn node_of_source(&mut self, source_id: &str) -> Result<Option<Seq>, StreamError> {
        let mut found = None;
        for seq in (1..=self.last_followed().number()).map(Seq::new) {
            if self.is_node(seq) && self.event(seq)?.source_id().is_some_and(|id| id == source_id) {
                found = Some(seq);
            }
        }
        Ok(found)
    }

    /// Copies an event's line without losing the place at which reading goes on.
    ///
    /// # Errors
    /// When there is no such event, or it cannot be read.
    pub fn copy_line(&self, seq: Seq, line: &mut Vec<u8>) -> Result<(), StreamError> {
        let (start, end) = self.index.span(seq).ok_or_else(|| StreamError::log(seq, "is not in the log"))?;
        let len = usize::try_from(end - start - 1).map_err(|_| StreamError::TooLong)?;
        self.source.fill_at(line, start, len).map_err(|source| StreamError::Io { doing: "read the log", source })
    }

    /// Returns how many bytes the line of an event has; none where there is none.
    #[must_use]
    pub fn line_bytes(&self, seq: Seq) -> u64 {
        self.index.span(seq).map_or(0, |(start, end)| end.saturating_sub(start))
    }

    /// Returns the length of the longest line.
    #[must_use]
    pub fn longest_line(&self) -> u64 {
        let spans = (1..=self.last().number()).filter_map(|number| self.index.span(Seq::new(number)));
        spans.map(|(start, end)| end - start).max().unwrap_or(0)
    }

    /// Returns the size of all whole lines.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.index.end()
    }

    /// Returns the head that is shown by default.
    #[must_use]
    pub fn active(&self) -> HeadName {
        self.outcome.active.as_deref().map_or_else(HeadName::main, HeadName::parse)
    }

    /// Returns an event's line as it stands in the log, without its `\n`.
    ///
    /// # Errors
    /// When there is no such event, or it cannot be read.
    pub fn line(&mut self, seq: Seq) -> Result<&[u8], StreamError> {
        let (start, end) = self.index.span(seq).ok_or_else(|| StreamError::log(seq, "is not in the log"))?;
        let io = |source| StreamError::Io { doing: "read the log", source };
        let holds = |window: &[u8], from: u64| start >= from && end <= from + window.len() as u64;
        if !holds(&self.window, self.window_start) && start < self.window_start && !self.window.is_empty() {
            if !holds(&self.back_window, self.back_start) {
                let len =
                    usize::try_from((self.index.end() - start).min(BACK_WINDOW).max(end - start)).map_err(|_| StreamError::TooLong)?;
                self.source.fill_at(&mut self.back_window, start, len).map_err(io)?;
                self.back_start = start;
            }
            let (from, to) = ((start - self.back_start) as usize, (end - self.back_start) as usize - 1);
            return self.back_window.get(from..to).ok_or_else(|| StreamError::log(seq, "was cut off while reading"));
        }
        if !holds(&self.window, self.window_start) {
            let len = usize::try_from((self.index.end() - start).min(WINDOW as u64).max(end - start)).map_err(|_| StreamError::TooLong)?;
            self.source.fill_at(&mut self.window, start, len).map_err(io)?;
            self.window_start = start;
        }
        let from = (start - self.window_start) as usize;
        let to = (end - self.window_start) as usize - 1;
        self.window.get(from..to).ok_or_else(|| StreamError::log(seq, "was cut off while reading"))
    }
}

impl<R: ReadAt> LogAccess for LogView<R> {
    fn event(&mut self, seq: Seq) -> Result<EventRef<'_>, StreamError> {
        decode_line(self.line(seq)?).map_err(|what| StreamError::log(seq, what))
    }

    fn kind(&self, seq: Seq) -> EventKind {
        self.index.kind(seq)
    }

    fn parent(&self, seq: Seq) -> Seq {
        self.index.parent(seq)
    }

    fn path(&mut self, node: Seq) -> Result<Vec<Seq>, StreamError> {
        self.path_and_repeats(node).map(|path| path.nodes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::{LogWriter, UnsealedLog};
    use crate::model::event::{Body, Draft};
    use crate::model::stream::EventSink;

    fn fill(events: &mut dyn EventSink) {
        let session = br#"{"version":1,"kind":"session","format":"none","id":"s"}"#;
        events.put(Draft { ts: None, parent: None, body: Body::Json(EventKind::Session, session) }).unwrap();
        for _ in 0..200 {
            let parent = Some(Seq::ROOT);
            events.put(Draft { ts: None, parent, body: Body::Json(EventKind::Message, b"{\"role\":\"user\"}") }).unwrap();
        }
        events.close_facts("main").unwrap();
    }

    #[test]
    fn who_reads_a_log_back_seals_it_as_its_writer_would() {
        let mut whole = LogWriter::new(Vec::new());
        fill(&mut whole);
        let (bytes, written) = whole.finish().unwrap();
        let file = tempfile::tempfile().unwrap();
        let mut unsealed = UnsealedLog::new(&file);
        fill(unsealed.events());
        unsealed.close().unwrap();
        let (mut sealed, again) = LogView::open(&file).unwrap().seal_with(&file).unwrap();
        assert_eq!(again, written);
        let mut back = Vec::new();
        file.fill_at(&mut back, 0, bytes.len() + 1).unwrap();
        assert_eq!(String::from_utf8(back), String::from_utf8(bytes));
        // What was sealed can be gone on with as if it had just been opened.
        let opened = LogView::open(&file).unwrap();
        assert_eq!((sealed.seal(), sealed.last(), sealed.bytes()), (opened.seal(), opened.last(), opened.bytes()));
        assert_eq!(sealed.hash().clone().finalize(), opened.hash().clone().finalize());
        assert!(sealed.began_as(written.bytes, &written.sha256));
        let last = sealed.last();
        assert_eq!(sealed.event(last).unwrap().kind, EventKind::Seal);
    }

    #[test]
    fn a_seal_that_cannot_be_read_back_is_none() {
        let file = tempfile::tempfile().unwrap();
        let mut unsealed = UnsealedLog::new(&file);
        fill(unsealed.events());
        unsealed.close().unwrap();
        assert!(LogView::open(&file).unwrap().seal_with(std::io::sink()).is_err());
        // A line that was cut off stands where the seal should.
        (&file).write_all(b"{\"seq\":").unwrap();
        assert!(LogView::open(&file).unwrap().seal_with(&file).is_err());
    }
}
