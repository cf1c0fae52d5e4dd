//! Forks: heads that a person adds to a sealed log. Each is a `head`, a
//! checkpoint and a seal after what is there, which stays as it was.

use crate::model::event::{Body, Draft, EventKind};
use crate::model::heads::{Head, HeadKind, HeadName, HeadOp};
use crate::model::ids::Seq;
use crate::model::stream::{EventSink, ReadAt, StreamError};

use super::decode::decode_line;
use super::encode::LogWriter;
use super::pass::WINDOW;
use super::view::LogView;

/// A head that is to stand at a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fork {
    /// Its name.
    pub name: HeadName,
    /// The node.
    pub node: Seq,
}

/// Returns the lines that put forks after the end of a sealed log, one after the
/// other: the same forks on the same log are always the same bytes.
///
/// # Errors
/// When the log has too many events.
pub fn lines<R: ReadAt>(log: &LogView<R>, forks: &[Fork]) -> Result<Vec<u8>, StreamError> {
    let mut writer = LogWriter::after(log.hash().clone(), log.index().clone(), log.state().clone(), Vec::new());
    // What is shown by default stays what it was.
    let active = log.active().to_string();
    for fork in forks {
        let head = Head::to(&fork.name, fork.node, HeadOp::Branch);
        writer.put(Draft { ts: None, parent: None, body: Body::Head(&head) })?;
        writer.close_facts(&active)?;
        writer.seal()?;
    }
    Ok(writer.into_inner())
}

/// Returns the first of `fork-1`, `fork-2` … that no branch is called.
#[must_use]
pub fn free_name<R: ReadAt>(log: &LogView<R>) -> HeadName {
    numbered("fork", 1, |name| log.state().head(name).is_some())
}

/// Returns the first of `stem-from`, `stem-(from+1)` … that is not taken.
pub(super) fn numbered(stem: &str, from: u64, is_taken: impl Fn(&HeadName) -> bool) -> HeadName {
    let mut number = from;
    loop {
        let name = HeadName::new(HeadKind::Branch, format!("{stem}-{number}"));
        if !is_taken(&name) {
            return name;
        }
        number += 1;
    }
}

/// What follows the last good seal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// What a writer leaves that died, which says nothing: so many bytes.
    Unfinished(u64),
    /// Whole events that say something.
    Events,
}

/// Looks at what follows the last good seal.
///
/// # Errors
/// When the log cannot be read.
pub fn rest<R: ReadAt>(log: &LogView<R>) -> Result<Rest, StreamError> {
    let io = |source| StreamError::Io { doing: "read the log", source };
    let source = log.source();
    let size = source.size().map_err(io)?;
    let mut says_something = false;
    let mut line = LineAcrossWindows::default();
    each_window(source, log.bytes(), size, |window| {
        let mut from = 0;
        for to in memchr::memchr_iter(b'\n', window) {
            says_something |= line.take(&window[from..to]).is_some_and(|kind| !is_ours(kind));
            from = to + 1;
        }
        line.add(&window[from..]);
    })
    .map_err(io)?;
    Ok(if says_something { Rest::Events } else { Rest::Unfinished(size.saturating_sub(log.bytes())) })
}

/// Tells whether the bytes from `from` on are whole events that a seal ends, as forks
/// are; the seal itself is not checked.
///
/// # Errors
/// When they cannot be read.
pub fn ends_in_seal<R: ReadAt>(source: &R, from: u64) -> std::io::Result<bool> {
    let size = source.size()?;
    let (mut are_events, mut last) = (true, None);
    let mut line = LineAcrossWindows::default();
    each_window(source, from, size, |window| {
        let mut begin = 0;
        for to in memchr::memchr_iter(b'\n', window) {
            last = line.take(&window[begin..to]);
            are_events &= last.is_some();
            begin = to + 1;
        }
        line.add(&window[begin..]);
    })?;
    Ok(are_events && line.is_empty() && last == Some(EventKind::Seal))
}

/// What a fork consists of.
fn is_ours(kind: EventKind) -> bool {
    matches!(kind, EventKind::Head | EventKind::Checkpoint | EventKind::Seal)
}

fn each_window<R: ReadAt>(source: &R, from: u64, size: u64, mut each: impl FnMut(&[u8])) -> std::io::Result<()> {
    let (mut at, mut window) = (from, Vec::new());
    while at < size {
        let want = usize::try_from(size - at).unwrap_or(WINDOW).min(WINDOW);
        source.fill_at(&mut window, at, want)?;
        if window.is_empty() {
            break;
        }
        each(&window);
        at += window.len() as u64;
    }
    Ok(())
}

/// A line that may begin in one window and end in another.
#[derive(Default)]
struct LineAcrossWindows(Vec<u8>);

impl LineAcrossWindows {
    /// Adds bytes, up to the first zero byte: no event has one, and a hole in a file
    /// may be of any size.
    fn add(&mut self, bytes: &[u8]) {
        if self.0.last() != Some(&0) {
            let end = memchr::memchr(0, bytes).map_or(bytes.len(), |at| at + 1);
            self.0.extend_from_slice(&bytes[..end]);
        }
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Ends the line and says what event it is.
    fn take(&mut self, end: &[u8]) -> Option<EventKind> {
        self.add(end);
        let kind = decode_line(&self.0).ok().map(|event| event.kind);
        self.0.clear();
        kind
    }
}
