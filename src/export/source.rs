//! What is exported: the path of one head, read from a log. A log of a session
//! that was exported before gives what that session was made of.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::api::{Message, Session};
use crate::log::{LogView, Projection, Reach, Salvage, edited_payload};
use crate::model::event::{EventKind, EventRef};
use crate::model::export::loss::{LossCode, Losses};
use crate::model::heads::HeadKind;
use crate::model::ids::Seq;
use crate::model::shown::Shown;
use crate::model::stream::{LogAccess, ReadAt, StreamError};

/// One event of the path that is exported.
#[derive(Debug, Clone)]
pub struct SourceEvent {
    /// Its number in the log.
    pub seq: Seq,
    /// What kind it is.
    pub kind: EventKind,
    /// Its time, as the log has it.
    pub ts: Option<String>,
    /// Its payload, as the log has it.
    pub payload: Vec<u8>,
    /// What is shown of it, where it shows a message.
    pub message: Option<Message>,
    /// The format that it comes from, where that is another than its log's.
    pub format: Option<Rc<str>>,
}

/// How much of a path a target can say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Depth {
    /// All of it, with the summaries of what they replaced.
    Everything,
    /// What is left after compactions.
    Shown,
}

/// The path of a head, and what of the log is not on it.
#[derive(Debug)]
pub struct SourcePath {
    /// What the log is of.
    pub session: Session,
    /// The payload of its first event.
    pub about: Vec<u8>,
    /// The hash that names the log: that of its first seal.
    pub seal: String,
    /// The events of the path, in order.
    pub events: Vec<SourceEvent>,
    /// What is lost because it is not on the path.
    pub losses: Losses,
}

/// Reads the path to a node.
///
/// # Errors
/// When the log cannot be read.
pub fn read<R: ReadAt>(log: &mut LogView<R>, node: Seq, depth: Depth) -> Result<SourcePath, StreamError> {
    let has_edits = all(log).any(|seq| log.kind(seq) == EventKind::Edit);
    // Edits are part of what is shown, never of the path as a whole.
    let reach = if depth == Depth::Everything && !has_edits { Reach::Path } else { Reach::Shown };
    let on_path: BTreeSet<Seq> = log.path(node)?.into_iter().collect();
    let mut projection = Projection::of(log, node, reach, Salvage::Hidden)?;
    let (mut events, mut losses) = (Vec::new(), Losses::default());
    while let Some(shown) = projection.next_shown(log)? {
        if shown.edit.is_some() {
            losses.add(LossCode::EditApplied, shown.event.seq);
        }
        events.push(SourceEvent::of(&shown, events.len())?);
    }
    note_left_out(log, &on_path, &events, &mut losses)?;
    let session = Session::of(&log.session, &log.outcome);
    Ok(SourcePath { session, about: log.event(Seq::new(1))?.payload.to_vec(), seal: first_seal(log)?, events, losses })
}

/// Declares what is in the log and not on the path that is exported.
fn note_left_out<R: ReadAt>(
    log: &mut LogView<R>,
    on_path: &BTreeSet<Seq>,
    events: &[SourceEvent],
    losses: &mut Losses,
) -> Result<(), StreamError> {
    let exported: BTreeSet<Seq> = events.iter().map(|event| event.seq).collect();
    let on_branches = nodes_of_branches(log);
    for seq in all(log) {
        let kind = log.kind(seq);
        let is_summary = kind == EventKind::Compaction || kind == EventKind::BranchSummary;
        if matches!(kind, EventKind::Turn | EventKind::Run | EventKind::Damage) {
            losses.add(LossCode::JournalsLeftOut, seq);
        } else if (kind == EventKind::Message || is_summary) && !exported.contains(&seq) {
            let code = if log.event(seq)?.is_hidden_from("loader") {
                LossCode::SalvageLeftOut
            } else if on_path.contains(&seq) {
                LossCode::BeforeCompactionDropped
            } else if on_branches.contains(&seq) {
                LossCode::BranchesDropped
            } else {
                LossCode::ContextLeftOut
            };
            losses.add(code, seq);
        }
    }
    Ok(())
}

fn all<R: ReadAt>(log: &LogView<R>) -> impl Iterator<Item = Seq> + use<R> {
    (1..=log.last_followed().number()).map(Seq::new)
}

/// The nodes on the walks from all branches to the root; each is visited once.
fn nodes_of_branches<R: ReadAt>(log: &LogView<R>) -> BTreeSet<Seq> {
    let mut nodes = BTreeSet::new();
    for (_, head) in log.state().heads().filter(|(name, _)| name.kind == HeadKind::Branch) {
        let mut node = head;
        while !node.is_root() && nodes.insert(node) {
            node = log.parent(node);
        }
    }
    nodes
}

/// The hash of a log's first seal: forks come after it and do not change it.
fn first_seal<R: ReadAt>(log: &mut LogView<R>) -> Result<String, StreamError> {
    let seal = (1..=log.last().number()).map(Seq::new).find(|seq| log.kind(*seq) == EventKind::Seal);
    let Some(seal) = seal else { return Ok("unsealed".to_owned()) };
    let hash = log.event(seal)?.value().first("sha256").and_then(|hash| hash.as_str().map(Cow::into_owned));
    Ok(hash.unwrap_or_default())
}

impl SourceEvent {
    fn of(shown: &Shown<'_>, index: usize) -> Result<SourceEvent, StreamError> {
        let event = &shown.event;
        let payload = shown.edit.map_or_else(|| event.payload.to_vec(), |edit| edited_payload(event, &edit));
        let message = Message::of(shown, index as u64)?;
        Ok(SourceEvent { seq: event.seq, kind: event.kind, ts: event.ts.map(str::to_owned), payload, message, format: None })
    }

    /// An event that is known by its payload alone.
    ///
    /// # Errors
    /// When the payload is not valid JSON.
    pub fn from_payload(seq: Seq, kind: EventKind, ts: Option<String>, payload: Vec<u8>) -> Result<SourceEvent, StreamError> {
        let event = EventRef { seq, ts: ts.as_deref(), kind, parent: None, payload: &payload };
        let message = Message::of(&Shown::plain(event), 0)?;
        Ok(SourceEvent { seq, kind, ts, message, payload, format: None })
    }
}
