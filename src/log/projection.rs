//! Which nodes of a path are shown. A path holds everything that was ever put on it;
//! the nodes `hide`, `compaction` and `edit` on it decide which of that is shown, and
//! how.

use foldhash::fast::FixedState;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::json::{Member, Value};
use crate::model::event::{Compaction, Edit, EventKind, EventRef, Hide};
use crate::model::ids::Seq;
use crate::model::shown::{Place, Shown};
use crate::model::stream::{LogAccess, ReadAt, StreamError};

use super::decode::decode_line;
use super::index::Path;
use super::view::LogView;

/// How much of a path is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Everything that no `hide` took away, compacted and edited or not. Where
    /// salvage is shown, a `hide` takes nothing away.
    Path,
    /// What the source program shows: the last compaction rules, edits count.
    Shown,
}

/// Whether what the source's loader would not show is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Salvage {
    /// It is not.
    Hidden,
    /// It is, also where it stands beside the path, or was hidden on it.
    Shown,
}

/// One of the nodes that are shown. What is shown of it depends on these members
/// alone, so that equal ones need to be rendered only once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ProjectedNode {
    /// The node.
    pub seq: Seq,
    /// Where it stands.
    pub place: Place,
    /// The edit that replaces something of it.
    pub edit: Option<Seq>,
}

/// The nodes that are shown of one path, in order, read one by one.
#[derive(Debug)]
pub struct Projection {
    path: Vec<Seq>,
    /// The places of the path that are still to be shown, last first.
    stretches: Vec<Range<usize>>,
    /// The place of the last compaction, which decides what is shown before it.
    ruling: Option<usize>,
    /// For each target its last edit; `None` where that leaves the target out.
    edits: HashMap<Seq, Option<Seq>, FixedState>,
    salvage: Salvage,
    /// Salvaged messages beside the path that are still to come, last first.
    beside: Vec<Seq>,
    edit_line: Vec<u8>,
}

impl Projection {
    /// Returns what is shown of the path to `node`.
    ///
    /// # Errors
    /// When the log cannot be read, or a node that rules cannot be understood.
    pub fn of<R: ReadAt>(log: &mut LogView<R>, node: Seq, reach: Reach, salvage: Salvage) -> Result<Projection, StreamError> {
        let path = log.path_and_repeats(node)?;
        let hidden = match salvage {
            Salvage::Hidden => hidden(log, &path)?,
            Salvage::Shown => 0,
        };
        let ruling = match reach {
            Reach::Path => None,
            Reach::Shown => path.nodes.iter().rposition(|seq| log.kind(*seq) == EventKind::Compaction),
        };
        // Last first, like what stands beside the path: both are taken from
        // their ends.
        let mut stretches = Vec::with_capacity(3);
        stretches.push(ruling.map_or(0, |at| at + 1)..path.nodes.len());
        if let Some(at) = ruling {
            stretches.extend([kept_from(log, &path, at)?..at, at..at + 1]);
        }
        for stretch in &mut stretches {
            stretch.start = stretch.start.max(hidden);
        }
        let mut projection = Projection {
            path: path.nodes,
            stretches,
            ruling,
            edits: HashMap::default(),
            salvage,
            beside: Vec::new(),
            edit_line: Vec::new(),
        };
        if reach == Reach::Shown {
            projection.edits = projection.edits_among_shown(log)?;
        }
        if salvage == Salvage::Shown {
            projection.beside = beside(log, &projection.path)?;
        }
        Ok(projection)
    }

    /// Returns how many nodes the path has, shown or not.
    #[must_use]
    pub fn path_len(&self) -> usize {
        self.path.len()
    }

    /// Returns the next item.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn next_shown<'a, R: ReadAt>(&'a mut self, log: &'a mut LogView<R>) -> Result<Option<Shown<'a>>, StreamError> {
        match self.next_item(log)? {
            Some(item) => Ok(Some(self.read(item, log)?)),
            None => Ok(None),
        }
    }

    /// Returns the next item by name: all that decides what is shown of it.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn next_item<R: ReadAt>(&mut self, log: &mut LogView<R>) -> Result<Option<ProjectedNode>, StreamError> {
        let next = self.advance(log)?;
        Ok(next.map(|(seq, place)| ProjectedNode { seq, place, edit: self.edits.get(&seq).copied().flatten() }))
    }

    /// Reads an item.
    ///
    /// # Errors
    /// When the log cannot be read.
    pub fn read<'a, R: ReadAt>(&'a mut self, item: ProjectedNode, log: &'a mut LogView<R>) -> Result<Shown<'a>, StreamError> {
        let edit = match item.edit {
            Some(edit) => {
                log.copy_line(edit, &mut self.edit_line)?;
                Some(decode_line(&self.edit_line).map_err(|what| StreamError::log(edit, what))?)
            }
            None => None,
        };
        Ok(Shown { event: log.event(item.seq)?, place: item.place, edit, record: None })
    }

    fn advance<R: ReadAt>(&mut self, log: &mut LogView<R>) -> Result<Option<(Seq, Place)>, StreamError> {
        while let Some(stretch) = self.stretches.last_mut() {
            if stretch.start >= stretch.end {
                self.stretches.pop();
                continue;
            }
            let at = stretch.start;
            let seq = self.path[at];
            let (kind, place) = (log.kind(seq), self.place(at, log.kind(seq)));
            // The ruling compaction stands before what is older than it.
            if place != Place::Compaction
                && let Some(beside) = self.beside.pop_if(|beside| *beside < seq)
            {
                return Ok(Some((beside, Place::Plain)));
            }
            if let Some(stretch) = self.stretches.last_mut() {
                stretch.start += 1;
            }
            let is_rule = matches!(kind, EventKind::Edit | EventKind::Hide);
            if is_rule || self.edits.get(&seq) == Some(&None) {
                continue;
            }
            if kind == EventKind::Message && self.salvage == Salvage::Hidden && log.event(seq)?.is_hidden_from("loader") {
                continue;
            }
            return Ok(Some((seq, place)));
        }
        Ok(self.beside.pop().map(|seq| (seq, Place::Plain)))
    }

    fn place(&self, at: usize, kind: EventKind) -> Place {
        match self.ruling {
            Some(ruling) if at == ruling => Place::Compaction,
            Some(ruling) if at < ruling && kind == EventKind::Compaction => Place::OlderCompaction,
            Some(ruling) if at < ruling => Place::Kept,
            Some(_) | None => Place::Plain,
        }
    }

    fn edits_among_shown<R: ReadAt>(&self, log: &mut LogView<R>) -> Result<HashMap<Seq, Option<Seq>, FixedState>, StreamError> {
        let mut edits = HashMap::default();
        for at in self.stretches.iter().rev().flat_map(Clone::clone) {
            let seq = self.path[at];
            if log.kind(seq) == EventKind::Edit {
                let edit: Edit = payload(log, seq)?;
                edits.insert(edit.target, edit.replacement.map(|_| seq));
            }
        }
        Ok(edits)
    }
}

/// Returns the payload of a node with the members that an edit puts into it.
#[must_use]
pub fn edited_payload(event: &EventRef<'_>, edit: &EventRef<'_>) -> Vec<u8> {
    let mut left: Vec<Member<'_>> = edit.value().first("replacement").map(Value::all_members).unwrap_or_default();
    let mut payload = b"{".to_vec();
    let mut push = |member: Member<'_>| {
        if payload.last() != Some(&b'{') {
            payload.push(b',');
        }
        payload.extend_from_slice(member.key());
        payload.push(b':');
        payload.extend_from_slice(member.value().text());
    };
    for member in event.value().members() {
        match left.iter().position(|new| new.exact_name() == member.exact_name()) {
            Some(at) => push(left.remove(at)),
            None => push(member),
        }
    }
    left.into_iter().for_each(push);
    payload.push(b'}');
    payload
}

/// Returns how many places at the beginning of a path are hidden.
fn hidden<R: ReadAt>(log: &mut LogView<R>, path: &Path) -> Result<usize, StreamError> {
    let mut up_to: HashSet<Seq, FixedState> = HashSet::default();
    for seq in &path.nodes {
        if log.kind(*seq) == EventKind::Hide {
            up_to.insert(payload::<Hide, R>(log, *seq)?.up_to);
        }
    }
    if up_to.is_empty() {
        return Ok(0);
    }
    // Inside a repeat a message stands once more, and is not the node that was
    // named. Repeats stand last to first.
    let is_own = |at: usize| {
        let next = path.repeats.partition_point(|repeat| repeat.places.start > at);
        !path.repeats.get(next).is_some_and(|repeat| repeat.places.contains(&at))
    };
    let last_node = (0..path.nodes.len()).rev().find(|at| up_to.contains(&path.nodes[*at]) && is_own(*at)).map_or(0, |at| at + 1);
    let last_repeat = path.repeats.iter().filter(|repeat| up_to.contains(&repeat.seq)).map(|repeat| repeat.places.end).max();
    Ok(last_node.max(last_repeat.unwrap_or(0)))
}

/// Returns the first place before a compaction, at `at`, that it keeps.
fn kept_from<R: ReadAt>(log: &mut LogView<R>, path: &Path, at: usize) -> Result<usize, StreamError> {
    let Some(first_kept) = payload::<Compaction, R>(log, path.nodes[at])?.first_kept else { return Ok(at) };
    let node = path.nodes[..at].iter().position(|seq| *seq == first_kept);
    let repeat = path.repeats.iter().filter(|repeat| repeat.seq == first_kept).map(|repeat| repeat.places.start).min();
    Ok([node, repeat].into_iter().flatten().min().unwrap_or(at).min(at))
}

/// Messages that the loader would not show and that stand beside a path, last
/// first.
fn beside<R: ReadAt>(log: &mut LogView<R>, path: &[Seq]) -> Result<Vec<Seq>, StreamError> {
    let on_path: HashSet<Seq, FixedState> = path.iter().copied().collect();
    let mut beside = Vec::new();
    for seq in (1..=log.last_followed().number()).map(Seq::new) {
        if log.kind(seq) == EventKind::Message && !on_path.contains(&seq) && log.event(seq)?.is_hidden_from("loader") {
            beside.push(seq);
        }
    }
    beside.reverse();
    Ok(beside)
}

fn payload<T: serde::de::DeserializeOwned, R: ReadAt>(log: &mut LogView<R>, seq: Seq) -> Result<T, StreamError> {
    let event = log.event(seq)?;
    serde_json::from_slice(event.payload).map_err(|error| StreamError::log(seq, format!("has a payload that cannot be read: {error}")))
}

#[cfg(test)]
mod tests;
