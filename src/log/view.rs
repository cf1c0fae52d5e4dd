//! A log read through a window: one pass numbers the lines, checks the seal
//! and follows the heads; after that any event is read by its offset.

use sha2::{Digest, Sha256};
use std::fmt;
use std::sync::Arc;

use crate::model::digest::hex;
use crate::model::event::{Checkpoint, EventKind, EventRef, LOG_VERSION, Outcome, Seal, Session};
use crate::model::heads::{Head, HeadName, Repeat};
use crate::model::ids::Seq;
use crate::model::json::{self, Dialect};
use crate::model::shape::Order;
use crate::model::stream::{LogAccess, ReadAt, StreamError};

use super::decode::decode_line;
use super::fold::{PathRuns, State, checkpoint};
use super::index::Index;

const WINDOW: usize = 256 * 1024;

/// How much is read at once when looking back.
const BACK_WINDOW: u64 = 32 * 1024;

/// No real list is longer; in a hostile log repeats could go on for ever.
const LONGEST_PATH: usize = 1 << 27;

/// What is wrong with a log as a whole.
#[derive(Debug)]
pub enum LogProblem {
    /// It could not be read.
    Io(std::io::Error),
    /// It holds nothing, or does not begin with a session event.
    NotALog,
    /// It was written by a newer version.
    Version(u32),
    /// A line is not an event, or not the next one.
    Line {
        /// Which, from 1.
        line: u64,
        /// What is wrong, in words that follow "line 7 …".
        what: String,
    },
}

impl fmt::Display for LogProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LogProblem::Io(_) => f.write_str("the log cannot be read"),
            LogProblem::NotALog => f.write_str("not an everlog log: the first line is no `session` event"),
            LogProblem::Version(found) => write!(f, "log version {found} is newer than this build can read ({LOG_VERSION})"),
            LogProblem::Line { line, what } => write!(f, "line {line} {what}"),
        }
    }
}

impl std::error::Error for LogProblem {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            LogProblem::Io(source) => Some(source),
            LogProblem::NotALog | LogProblem::Version(_) | LogProblem::Line { .. } => None,
        }
    }
}

/// How far a log can be trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SealState {
    /// The last line is a seal, and it is right.
    Good {
        /// The hash that it holds.
        sha256: String,
    },
    /// A good seal, and something behind it.
    Behind {
        /// The line where that begins, from 1.
        line: u64,
    },
    /// A seal whose hash is not that of the bytes before it.
    Broken {
        /// The seal's line, from 1.
        line: u64,
    },
    /// No seal at all, or a last line that was cut off.
    Missing,
}

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
    seals: u32,
    unknown_events: bool,
    /// For reading back and forth: a second window, so that a look back does
    /// not cost the place at which reading goes on.
    back_window: Vec<u8>,
    back_start: u64,
}

impl<R: ReadAt> LogView<R> {
    /// Passes through a log to its end.
    ///
    /// # Errors
    /// When it cannot be read, or is no log that this version understands.
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
            // Behind the last good seal stands what nobody vouches for: the
            // log is what stands before it.
            Some((line, _)) if pass.is_behind(line) => {
                let mut again = Pass::over(&source, until, line)?;
                again.behind = Some(line + 1);
                again.finish(source)
            }
            _ => pass.finish(source),
        }
    }

    /// A second reader of the same log, with a window of its own.
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
            seals: self.seals,
            unknown_events: self.unknown_events,
            back_window: Vec::new(),
            back_start: 0,
        }
    }

    /// Whether the log is sealed.
    #[must_use]
    pub fn seal(&self) -> &SealState {
        &self.seal
    }

    /// Heads and where they stand.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The `file` events, by path.
    #[must_use]
    pub fn files(&self) -> &[Seq] {
        &self.files
    }

    /// The orders of keys besides the usual one.
    #[must_use]
    pub fn shapes(&self) -> &[Order] {
        &self.shapes
    }

    /// Whether the log says more than a conversion could: it was added to after
    /// it was sealed, or by a version that knows more.
    #[must_use]
    pub fn was_extended(&self) -> bool {
        self.seals > 1 || self.unknown_events
    }

    /// Whether an event is a node, to which a head may point.
    #[must_use]
    pub fn is_node(&self, seq: Seq) -> bool {
        self.index.is_node(seq)
    }

    /// Whether the last checkpoint says what the events before it come to.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn last_checkpoint_is_true(&mut self) -> Result<bool, StreamError> {
        let last = (1..=self.index.last().number()).rev().map(Seq::new).find(|seq| self.index.kind(*seq) == EventKind::Checkpoint);
        let Some(last) = last else { return Ok(true) };
        let said = serde_json::from_slice::<Checkpoint>(self.event(last)?.payload).ok();
        let Some(said) = said else { return Ok(false) };
        let of = HeadName::parse(&said.of);
        let true_one = checkpoint(&self.state, &mut PathRuns::default(), Some(&of), &self.index)?;
        Ok(said.heads == true_one.heads && said.path == true_one.path && said.of == true_one.of)
    }

    /// The number of the last event.
    #[must_use]
    pub fn last(&self) -> Seq {
        self.index.last()
    }

    /// The size of all whole lines.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.index.end()
    }

    /// The head that is shown by default.
    #[must_use]
    pub fn active(&self) -> HeadName {
        self.outcome.active.as_deref().map_or_else(HeadName::main, HeadName::parse)
    }

    /// An event's line as it stands in the log, without its `\n`.
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
        self.index.path(node, LONGEST_PATH)
    }
}

/// The one pass over a log.
struct Pass {
    index: Index,
    hash: Sha256,
    /// How many bytes the hash has seen.
    hashed: u64,
    until: Option<Seq>,
    session: Option<Session>,
    outcome: Outcome,
    state: State,
    files: Vec<Seq>,
    shapes: Vec<Order>,
    /// Seals of the current window, with offset and line, not yet checked.
    pending_seals: Vec<(Seal, u64, u64)>,
    /// Line and hash of the last good seal.
    good_seal: Option<(u64, String)>,
    broken_seal: Option<u64>,
    /// More bytes follow that are no line, or no event.
    torn: bool,
    /// The line behind the last good seal, where the log goes on behind it.
    behind: Option<u64>,
    seals: u32,
    unknown_events: bool,
}

impl Pass {
    /// Passes over the first lines of a log, at most so many. A line that is
    /// no event ends the pass where a good seal stands before it.
    fn over<R: ReadAt>(source: &R, until: Option<Seq>, lines: u64) -> Result<Pass, LogProblem> {
        let mut pass = Pass::new(until);
        let size = source.size().map_err(LogProblem::Io)?;
        let mut window = Vec::new();
        let mut offset = 0;
        let mut want = WINDOW;
        while offset < size && u64::from(pass.index.last().number()) < lines {
            source.fill_at(&mut window, offset, want.min(usize::try_from(size - offset).unwrap_or(want))).map_err(LogProblem::Io)?;
            let Some(end) = memchr::memrchr(b'\n', &window) else {
                if offset + window.len() as u64 >= size || window.is_empty() {
                    pass.torn = true;
                    break;
                }
                want *= 2;
                continue;
            };
            let mut from = 0;
            for to in memchr::memchr_iter(b'\n', &window[..=end]) {
                if u64::from(pass.index.last().number()) >= lines {
                    break;
                }
                if let Err(problem) = pass.line(&window[from..to]) {
                    pass.hash(&window[..from]);
                    if pass.good_seal.is_none() {
                        return Err(problem);
                    }
                    pass.torn = true;
                    return Ok(pass);
                }
                from = to + 1;
            }
            pass.hash(&window[..from]);
            offset += end as u64 + 1;
            want = WINDOW;
        }
        Ok(pass)
    }

    /// Whether anything stands behind this line.
    fn is_behind(&self, line: u64) -> bool {
        self.torn || u64::from(self.index.last().number()) > line
    }

    fn new(until: Option<Seq>) -> Pass {
        Pass {
            index: Index::new(),
            hash: Sha256::new(),
            hashed: 0,
            until,
            session: None,
            outcome: Outcome::default(),
            state: State::default(),
            files: Vec::new(),
            shapes: Vec::new(),
            pending_seals: Vec::new(),
            good_seal: None,
            broken_seal: None,
            torn: false,
            behind: None,
            seals: 0,
            unknown_events: false,
        }
    }

    /// Hashes a window whose lines have been passed, checking the seals in it
    /// on the way.
    fn hash(&mut self, window: &[u8]) {
        let start = self.hashed;
        let mut from = 0;
        for (seal, offset, line) in std::mem::take(&mut self.pending_seals) {
            let to = usize::try_from(offset - start).unwrap_or(window.len()).min(window.len());
            self.hash.update(&window[from..to]);
            from = to;
            let sha256 = hex(&self.hash.clone().finalize());
            if seal.sha256 == sha256 && u64::from(seal.events) + 1 == line {
                self.good_seal = Some((line, sha256));
            } else {
                self.broken_seal = Some(line);
            }
        }
        self.hash.update(&window[from..]);
        self.hashed += window.len() as u64;
    }

    fn seal_state(&self) -> SealState {
        if let Some(line) = self.behind {
            return SealState::Behind { line };
        }
        let last = u64::from(self.index.last().number());
        match (&self.good_seal, self.broken_seal) {
            (Some((line, sha256)), _) if *line == last && !self.torn => SealState::Good { sha256: sha256.clone() },
            (Some((line, _)), _) => SealState::Behind { line: line + 1 },
            (None, Some(line)) => SealState::Broken { line },
            (None, None) => SealState::Missing,
        }
    }

    fn line(&mut self, line: &[u8]) -> Result<(), LogProblem> {
        let number = u64::from(self.index.next().number());
        let problem = |what: &str| LogProblem::Line { line: number, what: what.to_owned() };
        let event = match decode_line(line) {
            Ok(event) => event,
            Err(_) if number == 1 => return Err(LogProblem::NotALog),
            Err(what) => return Err(problem(what)),
        };
        if u64::from(event.seq.number()) != number {
            return Err(problem(&format!("has seq {}", event.seq)));
        }
        if (number == 1) != (event.kind == EventKind::Session) {
            return Err(if number == 1 { LogProblem::NotALog } else { problem("is a second session event") });
        }
        if number == 1 {
            self.session = Some(session_of(event.payload)?);
        }
        if event.parent.is_some_and(|parent| parent >= event.seq) {
            return Err(problem("has a parent that does not stand before it"));
        }
        let repeat = self.note(&event, number).map_err(|what| problem(&what))?;
        if event.kind.moves_current_head() && self.follows(event.seq) {
            self.state.node(event.seq);
        }
        self.index.push(event.kind, event.parent, repeat, line.len() as u64 + 1);
        Ok(())
    }

    /// Whether heads are followed as far as this event.
    fn follows(&self, seq: Seq) -> bool {
        self.until.is_none_or(|until| seq <= until)
    }

    /// Takes what the log itself needs to know from an event; returns the run of
    /// a repeat. Heads move only as far as they are followed.
    fn note(&mut self, event: &EventRef<'_>, line: u64) -> Result<Option<(Seq, Seq)>, String> {
        if event.kind == EventKind::Repeat {
            let run: Repeat = parse(event.payload)?;
            return Ok(Some((run.first, run.last)));
        } else if event.kind == EventKind::Head {
            let head: Head = parse(event.payload)?;
            if head.node >= event.seq {
                return Err("moves a head to a node that does not stand before it".to_owned());
            }
            if self.follows(event.seq) {
                self.state.head_moved(&head);
            }
        } else if event.kind == EventKind::Outcome {
            self.outcome = parse(event.payload)?;
        } else if event.kind == EventKind::File {
            self.files.push(event.seq);
        } else if event.kind == EventKind::Shapes {
            self.shapes = orders(event.payload).ok_or("lists shapes that are none")?;
        } else if event.kind == EventKind::Unknown {
            self.unknown_events = true;
        } else if event.kind == EventKind::Seal {
            self.seals += 1;
            self.pending_seals.push((parse(event.payload)?, self.index.end(), line));
        }
        Ok(None)
    }

    fn finish<R: ReadAt>(self, source: R) -> Result<LogView<R>, LogProblem> {
        let seal = self.seal_state();
        let session = self.session.ok_or(LogProblem::NotALog)?;
        Ok(LogView {
            source,
            index: Arc::new(self.index),
            window: Vec::new(),
            window_start: 0,
            session,
            outcome: self.outcome,
            state: self.state,
            files: self.files,
            shapes: self.shapes,
            seal,
            seals: self.seals,
            unknown_events: self.unknown_events,
            back_window: Vec::new(),
            back_start: 0,
        })
    }
}

fn parse<'a, T: serde::Deserialize<'a>>(payload: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(payload).map_err(|error| format!("has a payload that cannot be read: {error}"))
}

/// The session event's payload, of a version that we know.
pub(super) fn session_of(payload: &[u8]) -> Result<Session, LogProblem> {
    #[derive(serde::Deserialize)]
    struct Version {
        version: u32,
    }
    let Version { version } = parse(payload).map_err(|_| LogProblem::NotALog)?;
    if version != LOG_VERSION {
        return Err(LogProblem::Version(version));
    }
    parse(payload).map_err(|what| LogProblem::Line { line: 1, what })
}

fn orders(payload: &[u8]) -> Option<Vec<Order>> {
    let mut members = Vec::new();
    json::scan_object(payload, Dialect::Strict, &mut members).ok()?;
    let list = members.iter().find(|member| member.name() == "orders")?;
    json::elements(list.value).map(Order::from_json).collect()
}
