//! The end of a log without the rest: the seal names the last checkpoint, the
//! checkpoint names the lines of the active path. What is wanted costs what is
//! wanted, whatever the log's length; the seal itself is not checked.

use crate::model::event::{Checkpoint, EventKind, EventRef, Run, Seal};
use crate::model::stream::{ReadAt, StreamError};

use super::decode::decode_line;
use super::pass::{may_be_a_line, session_of};

const WINDOW: u64 = 64 * 1024;

/// A log opened at its end.
#[derive(Debug)]
pub struct LogTail<R> {
    source: R,
    checkpoint: Checkpoint,
}

impl<R: ReadAt> LogTail<R> {
    /// Opens a log at its last checkpoint; `None` where it has no seal at its
    /// end, and the whole log must be read.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn open(source: R) -> Result<Option<Self>, StreamError> {
        let size = source.size().map_err(io)?;
        let first = line_at(&source, 0, size)?.unwrap_or_default();
        if !decode_line(&first).is_ok_and(|event| session_of(event.payload).is_ok()) {
            return Ok(None);
        }
        let Some(last) = lines_before(&source, size, 0)?.next_line()? else { return Ok(None) };
        let Some(seal) = payload_of::<Seal>(&last, EventKind::Seal) else { return Ok(None) };
        let Some(line) = line_at(&source, seal.checkpoint, size)? else { return Ok(None) };
        let Some(checkpoint) = payload_of::<Checkpoint>(&line, EventKind::Checkpoint) else { return Ok(None) };
        // A checkpoint that names bytes which are not there is not believed.
        let is_true = checkpoint.path.iter().all(|Run(_, _, start, end)| start <= end && *end <= size);
        Ok(is_true.then_some(LogTail { source, checkpoint }))
    }

    /// Returns the head whose path the checkpoint holds.
    #[must_use]
    pub fn head(&self) -> &str {
        &self.checkpoint.of
    }

    /// Returns the nodes of that path, as runs.
    #[must_use]
    pub fn path(&self) -> &[Run] {
        &self.checkpoint.path
    }

    /// Tells whether the path alone does not say what is shown, so that the whole log
    /// must be read.
    #[must_use]
    pub fn projects(&self) -> bool {
        self.checkpoint.projects
    }

    /// Returns the lines of the last nodes of the path that `wanted` accepts, oldest
    /// first.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn last_nodes(&self, count: usize, wanted: impl Fn(&EventRef<'_>) -> bool) -> Result<Vec<Vec<u8>>, StreamError> {
        let mut found = Vec::new();
        for Run(_, _, start, end) in self.checkpoint.path.iter().rev() {
            let mut lines = lines_before(&self.source, *end, *start)?;
            while found.len() < count {
                let Some(line) = lines.next_line()? else { break };
                if decode_line(&line).is_ok_and(|event| event.parent.is_some() && wanted(&event)) {
                    found.push(line);
                }
            }
            if found.len() >= count {
                break;
            }
        }
        found.reverse();
        Ok(found)
    }
}

fn io(source: std::io::Error) -> StreamError {
    StreamError::Io { doing: "read the log", source }
}

fn payload_of<T: serde::de::DeserializeOwned>(line: &[u8], kind: EventKind) -> Option<T> {
    let event = decode_line(line).ok().filter(|event| event.kind == kind)?;
    serde_json::from_slice(event.payload).ok()
}

fn line_at<R: ReadAt>(source: &R, start: u64, size: u64) -> Result<Option<Vec<u8>>, StreamError> {
    let left = size.saturating_sub(start);
    let mut window = Vec::new();
    let mut want = WINDOW;
    loop {
        source.fill_at(&mut window, start, want.min(left) as usize).map_err(io)?;
        if let Some(end) = memchr::memchr(b'\n', &window) {
            window.truncate(end);
            return Ok(Some(window));
        }
        if want >= left || !may_be_a_line(&window) {
            return Ok(None);
        }
        want *= 4;
    }
}

/// The lines of a stretch of a log, last to first.
struct Backwards<'a, R> {
    source: &'a R,
    from: u64,
    /// Bytes `read_from..` of the stretch that are not handed out yet.
    read_from: u64,
    pending: Vec<u8>,
}

fn lines_before<R: ReadAt>(source: &R, end: u64, from: u64) -> Result<Backwards<'_, R>, StreamError> {
    Ok(Backwards { source, from, read_from: end, pending: Vec::new() })
}

impl<R: ReadAt> Backwards<'_, R> {
    fn next_line(&mut self) -> Result<Option<Vec<u8>>, StreamError> {
        let mut step = WINDOW;
        loop {
            if let Some(body) = self.pending.strip_suffix(b"\n")
                && let Some(at) = memchr::memrchr(b'\n', body)
            {
                let line = body[at + 1..].to_vec();
                self.pending.truncate(at + 1);
                return Ok(Some(line));
            }
            if self.read_from <= self.from {
                let line = self.pending.strip_suffix(b"\n").map(<[u8]>::to_vec);
                self.pending.clear();
                return Ok(line);
            }
            let len = step.min(self.read_from - self.from);
            let mut chunk = Vec::new();
            self.source.fill_at(&mut chunk, self.read_from - len, len as usize).map_err(io)?;
            self.read_from -= len;
            // Zero bytes are in no line; a file may have nothing else, to its beginning.
            if !may_be_a_line(&chunk) {
                return Ok(None);
            }
            chunk.extend_from_slice(&self.pending);
            self.pending = chunk;
            // A line longer than the step: look further each time, so that its
            // bytes are copied a bounded number of times.
            step *= 4;
        }
    }
}
