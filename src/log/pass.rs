//! The one pass over a log: numbers the lines, checks the seals, follows the
//! heads, and stops at the last good seal where something follows it.

use sha2::{Digest, Sha256};

use crate::json::{self, Dialect};
use crate::model::digest::hex;
use crate::model::event::{EventKind, EventRef, LOG_VERSION, Outcome, Seal, Session};
use crate::model::heads::{Head, HeadKind, HeadName, HeadOp, Repeat};
use crate::model::ids::Seq;
use crate::model::shape::Order;
use crate::model::stream::ReadAt;

use super::decode::decode_line;
use super::fold::State;
use super::index::Index;
use super::problem::{LogProblem, SealState};

/// How many bytes are read at once: most logs fit, and are read only once.
pub(super) const WINDOW: usize = 1024 * 1024;

/// No line of a log is longer. A session must fit into memory to be converted,
/// and its longest line is shorter than this many times over.
const LONGEST_LINE: usize = 4 << 30;

/// Tells whether bytes that have no line end can still be the beginning of a line. A log
/// has no zero bytes: a file that was cut or made by leaving a hole in it has
/// nothing else, and would be read into memory to its end.
pub(super) fn may_be_a_line(bytes: &[u8]) -> bool {
    bytes.len() < LONGEST_LINE && memchr::memchr(0, bytes).is_none()
}

/// A seal that was passed and not yet checked.
struct PendingSeal {
    seal: Seal,
    /// Where its line begins and ends.
    span: (u64, u64),
    line: u64,
    /// Where the last checkpoint before it begins.
    checkpoint: u64,
}

/// The one pass over a log.
pub(super) struct Pass {
    pub index: Index,
    pub hash: Sha256,
    /// All bytes, where they fit into one window.
    pub whole: Vec<u8>,
    /// How many bytes the hash has seen.
    hashed: u64,
    pub until: Option<Seq>,
    pub session: Option<Session>,
    pub outcome: Outcome,
    pub state: State,
    pub files: Vec<Seq>,
    pub shapes: Vec<Order>,
    /// Seals of the current window.
    pending_seals: Vec<PendingSeal>,
    /// Where the first good seal ends, and its hash.
    pub first_seal: Option<(u64, String)>,
    /// Line and hash of the last good seal.
    pub good_seal: Option<(u64, String)>,
    broken_seal: Option<u64>,
    /// More bytes follow that are not a line, or not an event.
    torn: bool,
    /// The line after the last good seal, where the log goes on after it.
    pub after: Option<u64>,
    seals: u32,
    /// Where the last checkpoint begins; 0 where there is none.
    pub last_checkpoint: u64,
    pub unknown_events: bool,
    /// The heads that were added after the first seal, as they came.
    pub forks: Vec<HeadName>,
    /// Whether more than heads was added there.
    pub more_than_forks: bool,
}

impl Pass {
    /// Passes over the first lines of a log, at most so many. A line that is not an
    /// event ends the pass where a good seal stands before it, and is an error
    /// elsewhere.
    pub(super) fn over<R: ReadAt>(source: &R, until: Option<Seq>, lines: u64) -> Result<Pass, LogProblem> {
        let mut pass = Pass::new(until);
        let size = source.size().map_err(LogProblem::Io)?;
        let mut window = Vec::new();
        let mut offset = 0;
        let mut want = WINDOW;
        while offset < size && u64::from(pass.index.last().number()) < lines {
            source.fill_at(&mut window, offset, want.min(usize::try_from(size - offset).unwrap_or(want))).map_err(LogProblem::Io)?;
            let Some(end) = memchr::memrchr(b'\n', &window) else {
                if offset + window.len() as u64 >= size || window.is_empty() || !may_be_a_line(&window) {
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
        if window.len() as u64 == size {
            pass.whole = window;
        }
        Ok(pass)
    }

    /// Tells whether anything follows this line.
    pub(super) fn is_followed(&self, line: u64) -> bool {
        self.torn || u64::from(self.index.last().number()) > line
    }

    fn new(until: Option<Seq>) -> Pass {
        Pass {
            index: Index::new(),
            hash: Sha256::new(),
            whole: Vec::new(),
            hashed: 0,
            until,
            session: None,
            outcome: Outcome::default(),
            state: State::default(),
            files: Vec::new(),
            shapes: Vec::new(),
            pending_seals: Vec::new(),
            first_seal: None,
            good_seal: None,
            broken_seal: None,
            torn: false,
            after: None,
            seals: 0,
            last_checkpoint: 0,
            unknown_events: false,
            forks: Vec::new(),
            more_than_forks: false,
        }
    }

    /// Hashes a window whose lines have been passed, checking the seals in it
    /// on the way.
    fn hash(&mut self, window: &[u8]) {
        let start = self.hashed;
        let mut from = 0;
        for PendingSeal { seal, span, line, checkpoint } in std::mem::take(&mut self.pending_seals) {
            let to = usize::try_from(span.0 - start).unwrap_or(window.len()).min(window.len());
            self.hash.update(&window[from..to]);
            from = to;
            let sha256 = hex(&self.hash.clone().finalize());
            if seal.sha256 == sha256 && u64::from(seal.events) + 1 == line && seal.checkpoint == checkpoint {
                self.first_seal.get_or_insert_with(|| (span.1, sha256.clone()));
                self.good_seal = Some((line, sha256));
            } else {
                self.broken_seal = Some(line);
            }
        }
        self.hash.update(&window[from..]);
        self.hashed += window.len() as u64;
    }

    /// Returns how far the log can be trusted.
    pub(super) fn seal_state(&self) -> SealState {
        if let Some(line) = self.after {
            return SealState::Followed { line };
        }
        let last = u64::from(self.index.last().number());
        match (&self.good_seal, self.broken_seal) {
            (Some((line, sha256)), _) if *line == last && !self.torn => SealState::Good { sha256: sha256.clone() },
            (Some((line, _)), _) => SealState::Followed { line: line + 1 },
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
        if let Some(parent) = event.parent {
            if parent >= event.seq {
                return Err(problem("has a parent that does not stand before it"));
            }
            if !parent.is_root() && !self.index.is_node(parent) {
                return Err(problem("has a parent that is not a node"));
            }
        }
        if self.seals > 0 && !matches!(event.kind, EventKind::Head | EventKind::Checkpoint | EventKind::Seal) {
            self.more_than_forks = true;
        }
        let repeat = self.note(&event, line.len() as u64 + 1).map_err(|what| problem(&what))?;
        if event.parent.is_some() && self.follows(event.seq) {
            self.state.node(event.seq, event.kind);
        }
        self.index.push(event.kind, event.parent, repeat, line.len() as u64 + 1);
        Ok(())
    }

    /// Tells whether heads are followed as far as this event.
    fn follows(&self, seq: Seq) -> bool {
        self.until.is_none_or(|until| seq <= until)
    }

    /// Takes what the log itself needs to know from an event; returns the run of
    /// a repeat. Heads move only as far as they are followed.
    fn note(&mut self, event: &EventRef<'_>, len: u64) -> Result<Option<(Seq, Seq)>, String> {
        if event.kind == EventKind::Repeat {
            let run: Repeat = parse(event.payload)?;
            if run.last >= event.seq {
                return Err("repeats what does not stand before it".to_owned());
            }
            return Ok(Some((run.first, run.last)));
        } else if event.kind == EventKind::Head {
            let head: Head = parse(event.payload)?;
            if head.node >= event.seq {
                return Err("moves a head to a node that does not stand before it".to_owned());
            }
            if self.follows(event.seq) {
                if self.seals > 0 {
                    self.note_fork(&head, event);
                }
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
        } else if event.kind == EventKind::Checkpoint {
            self.last_checkpoint = self.index.end();
        } else if event.kind == EventKind::Seal {
            self.seals += 1;
            let start = self.index.end();
            let line = u64::from(event.seq.number());
            let checkpoint = self.last_checkpoint;
            self.pending_seals.push(PendingSeal { seal: parse(event.payload)?, span: (start, start + len), line, checkpoint });
        }
        Ok(None)
    }

    /// A head after the first seal is a fork, if it is a new branch and
    /// nothing else.
    fn note_fork(&mut self, head: &Head, event: &EventRef<'_>) {
        let name = head.head_name();
        let is_new = head.kind == HeadKind::Branch && self.state.head(&name).is_none();
        if is_new && event.ts.is_none() && *head == Head::to(&name, head.node, HeadOp::Branch) {
            self.forks.push(name);
        } else {
            self.more_than_forks = true;
        }
    }
}

fn parse<'a, T: serde::Deserialize<'a>>(payload: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(payload).map_err(|error| format!("has a payload that cannot be read: {error}"))
}

/// Returns the session event's payload, of a version that we know.
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
    // The table is read before the seal is seen: it is validated.
    let payload = json::validate(payload, Dialect::Strict).ok()?.value;
    payload.first("orders")?.elements().map(Order::from_json).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_stands_below_a_node_and_a_repeat_after_what_it_repeats() {
        let opened = |third: &str| {
            let session = r#"{"seq":1,"type":"session","payload":{"version":1,"kind":"session","format":"none","id":"s"}}"#;
            let message = r#"{"seq":2,"type":"message","parent":0,"payload":{}}"#;
            let text = format!("{session}\n{message}\n{third}\n");
            Pass::over(&text.into_bytes(), None, u64::MAX).map(|_| ()).map_err(|problem| problem.to_string())
        };
        let refused = |third: &str| opened(third).unwrap_err();
        assert_eq!(opened(r#"{"seq":3,"type":"hologram","parent":2,"payload":{}}"#), Ok(()));
        assert_eq!(opened(r#"{"seq":3,"type":"repeat","parent":2,"payload":{"first":2,"last":2}}"#), Ok(()));
        assert_eq!(refused(r#"{"seq":3,"type":"message","parent":1,"payload":{}}"#), "line 3 has a parent that is not a node");
        assert_eq!(refused(r#"{"seq":3,"type":"label","parent":3,"payload":{}}"#), "line 3 has a parent that does not stand before it");
        let ahead = r#"{"seq":3,"type":"repeat","parent":2,"payload":{"first":2,"last":3}}"#;
        assert_eq!(refused(ahead), "line 3 repeats what does not stand before it");
    }
}
