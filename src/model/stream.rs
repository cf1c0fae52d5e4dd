//! The seams between adapters and the log: an adapter puts events into a sink
//! and renders records out of a log that it reads event by event.

use std::fmt;

use super::event::{Draft, EventKind, EventRef};
use super::ids::Seq;

/// Takes the events of one session in order.
pub trait EventSink {
    /// Writes an event and says which number it got.
    ///
    /// # Errors
    /// When the log cannot be written.
    fn put(&mut self, event: Draft<'_>) -> Result<Seq, StreamError>;

    /// Returns the number that the next event will get.
    fn next(&self) -> Seq;

    /// Returns what an event that was put says.
    fn kind(&self, seq: Seq) -> EventKind;

    /// Returns the node above one that was put; root for what is not a node.
    fn parent(&self, seq: Seq) -> Seq;

    /// Starts the closing part: puts the last checkpoint, for this head. No
    /// facts may follow.
    ///
    /// # Errors
    /// When the log cannot be written.
    fn close_facts(&mut self, active: &str) -> Result<(), StreamError>;
}

/// Reads the events of one log by number.
pub trait LogAccess {
    /// Returns the event with this number.
    ///
    /// # Errors
    /// When there is none, or it cannot be read.
    fn event(&mut self, seq: Seq) -> Result<EventRef<'_>, StreamError>;

    /// Returns what an event says; `Unknown` where there is none.
    fn kind(&self, seq: Seq) -> EventKind;

    /// Returns the node above; root for what is not a node.
    fn parent(&self, seq: Seq) -> Seq;

    /// Returns the nodes on the walk to `node`, repeats expanded, first to last.
    ///
    /// # Errors
    /// When a repeat does not name a path.
    fn path(&mut self, node: Seq) -> Result<Vec<Seq>, StreamError>;
}

/// Bytes that can be read anywhere: a file, or memory.
pub trait ReadAt {
    /// Returns how many bytes there are.
    ///
    /// # Errors
    /// When the file cannot be asked.
    fn size(&self) -> std::io::Result<u64>;

    /// Reads as many bytes as there are from `offset` on, up to the buffer's
    /// length, and says how many.
    ///
    /// # Errors
    /// When the file cannot be read.
    fn read_some_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize>;

    /// Fills a buffer from `offset` on, as far as there are bytes.
    ///
    /// # Errors
    /// When the file cannot be read.
    fn fill_at(&self, buffer: &mut Vec<u8>, offset: u64, len: usize) -> std::io::Result<()> {
        // To run out of memory here would end the process.
        let more = len.saturating_sub(buffer.len());
        buffer.try_reserve(more).map_err(|_| std::io::Error::from(std::io::ErrorKind::OutOfMemory))?;
        buffer.resize(len, 0);
        let mut have = 0;
        while have < len {
            match self.read_some_at(&mut buffer[have..], offset + have as u64)? {
                0 => break,
                more => have += more,
            }
        }
        buffer.truncate(have);
        Ok(())
    }
}

impl<T: ReadAt + ?Sized> ReadAt for &T {
    fn size(&self) -> std::io::Result<u64> {
        (**self).size()
    }

    fn read_some_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        (**self).read_some_at(buffer, offset)
    }
}

impl<T: ReadAt + ?Sized> ReadAt for std::sync::Arc<T> {
    fn size(&self) -> std::io::Result<u64> {
        (**self).size()
    }

    fn read_some_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        (**self).read_some_at(buffer, offset)
    }
}

impl ReadAt for Vec<u8> {
    fn size(&self) -> std::io::Result<u64> {
        Ok(self.len() as u64)
    }

    fn read_some_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(self.len());
        let len = buffer.len().min(self.len() - from);
        buffer[..len].copy_from_slice(&self[from..from + len]);
        Ok(len)
    }
}

/// Takes the records of one file in order.
pub trait RecordSink {
    /// Returns how many bytes the file may still take: a record that is longer need
    /// not be rendered to its end.
    fn room(&self) -> u64;

    /// Takes one record; the sink adds the line end.
    ///
    /// # Errors
    /// When the file is complete or cannot be written.
    fn record(&mut self, record: &[u8]) -> Result<(), StreamError>;

    /// Takes bytes that are not a whole record: nothing is added.
    ///
    /// # Errors
    /// As for a record.
    fn text(&mut self, text: &[u8]) -> Result<(), StreamError>;
}

/// Renders the records of one file from the events they became.
pub trait RecordRenderer {
    /// Looks at one event of a piece; gives each record to the sink as soon as
    /// its last event has come.
    ///
    /// # Errors
    /// When the event cannot be what this file is made of.
    fn render(&mut self, log: &mut dyn LogAccess, seq: Seq, out: &mut dyn RecordSink) -> Result<(), StreamError>;

    /// Renders a piece that only the adapter understands.
    ///
    /// # Errors
    /// When it does not understand it.
    fn render_own(&mut self, log: &mut dyn LogAccess, piece: &[u8], out: &mut dyn RecordSink) -> Result<(), StreamError>;
}

/// Why a log could not be written, read or rendered.
#[derive(Debug)]
#[non_exhaustive]
pub enum StreamError {
    /// The disk failed us.
    Io {
        /// What was being done.
        doing: &'static str,
        /// Why it failed.
        source: std::io::Error,
    },
    /// The log is not what it should be.
    Log {
        /// Which event.
        seq: Seq,
        /// What is wrong with it.
        what: String,
    },
    /// A rebuilt file grew past the size that its log records.
    TooLong,
    /// The files of a log would be out of all proportion to it.
    OutOfProportion {
        /// The `file` event with which they are.
        seq: Seq,
        /// How many bytes its log records for files up to there.
        bytes: u64,
        /// How many the log itself has.
        log: u64,
    },
    /// A recipe looks at more than its file could be made of.
    TooMuchWork,
    /// A rebuilt file differs from what it is compared with; the sink knows where.
    Differs,
    /// More events than a log can number.
    TooManyEvents,
}

impl StreamError {
    /// Returns a log fault at an event.
    pub fn log(seq: Seq, what: impl Into<String>) -> StreamError {
        StreamError::Log { seq, what: what.into() }
    }
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StreamError::Io { doing, .. } => write!(f, "cannot {doing}"),
            StreamError::Log { seq, what } if seq.is_root() => write!(f, "the log {what}"),
            StreamError::Log { seq, what } => write!(f, "event {seq} {what}"),
            StreamError::TooLong => f.write_str("the rebuilt file is longer than its log says"),
            StreamError::OutOfProportion { seq, bytes, log } => {
                write!(f, "event {seq} asks for files of {bytes} bytes, which is out of all proportion to a log of {log} bytes")
            }
            StreamError::TooMuchWork => f.write_str("a recipe looks at more events than its file could be made of"),
            StreamError::Differs => f.write_str("the rebuilt file differs from its source"),
            StreamError::TooManyEvents => f.write_str("the session has more events than a log can number"),
        }
    }
}

impl std::error::Error for StreamError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            StreamError::Io { source, .. } => Some(source),
            StreamError::Log { .. }
            | StreamError::OutOfProportion { .. }
            | StreamError::TooMuchWork
            | StreamError::TooLong
            | StreamError::Differs
            | StreamError::TooManyEvents => None,
        }
    }
}
