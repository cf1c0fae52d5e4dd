//! Nodes as a person names them: by the source's own id, the beginning of one,
//! or `#` and a number.

use std::path::Path;

use crate::log::LogView;
use crate::model::heads::{HeadKind, HeadName};
use crate::model::ids::Seq;
use crate::model::stream::{LogAccess, ReadAt, StreamError};

use super::error::CommandError;

/// So much of an id must be given at least.
const SHORTEST: usize = 4;

/// Returns the node whose path is shown: one by its id, or the end of a head,
/// of the one that is shown by default if none is named.
///
/// # Errors
/// When there is no such node or head, or the log at `path` cannot be read.
pub(super) fn wanted<R: ReadAt>(
    view: &mut LogView<R>,
    path: &Path,
    head: Option<&HeadName>,
    leaf: Option<&str>,
) -> Result<Seq, CommandError> {
    if let Some(leaf) = leaf {
        return named(view, path, leaf);
    }
    let head = head.cloned().unwrap_or_else(|| view.active());
    view.state().head(&head).ok_or_else(|| {
        let known = view.state().heads().map(|(name, _)| name.to_string()).collect();
        CommandError::NoSuchHead { head: head.to_string(), known }
    })
}

/// Returns the branches besides the one that ends at `node`, and their ends.
pub(super) fn other_branches<R: ReadAt>(view: &LogView<R>, node: Seq) -> Vec<(HeadName, Seq)> {
    let heads = view.state().heads().filter(|(name, end)| name.kind == HeadKind::Branch && *end != node);
    heads.map(|(name, end)| (name.clone(), end)).collect()
}

/// Returns the node with this id.
///
/// # Errors
/// When there is none, or several, or the log at `path` cannot be read.
pub(super) fn named<R: ReadAt>(view: &mut LogView<R>, path: &Path, id: &str) -> Result<Seq, CommandError> {
    let stream = |source: StreamError| CommandError::Stream { path: path.to_owned(), source };
    let none = || CommandError::NoSuchNode { leaf: id.to_owned() };
    if let Some(number) = id.strip_prefix('#').and_then(|number| number.parse().ok()).map(Seq::new) {
        return Some(number).filter(|seq| *seq <= view.last_followed() && view.is_node(*seq)).ok_or_else(none);
    }
    if let Some(exact) = view.node_of_source(id).map_err(stream)? {
        return Ok(exact);
    }
    if id.len() < SHORTEST {
        return Err(none());
    }
    let mut found: Option<(String, Seq)> = None;
    for seq in (1..=view.last_followed().number()).map(Seq::new) {
        if !view.is_node(seq) {
            continue;
        }
        let event = view.event(seq).map_err(stream)?;
        let Some(whole) = event.source_id().filter(|whole| whole.starts_with(id)) else { continue };
        match &mut found {
            Some((first, node)) if *first != whole => {
                return Err(CommandError::Ambiguous { id: id.to_owned(), nodes: [*node, seq] });
            }
            // Of equal ids the last counts.
            Some((_, node)) => *node = seq,
            None => found = Some((whole.into_owned(), seq)),
        }
    }
    found.map(|(_, node)| node).ok_or_else(none)
}

/// Returns the node with this id, or where a head of this name stands.
///
/// # Errors
/// As [`named`].
pub(super) fn named_or_head<R: ReadAt>(view: &mut LogView<R>, path: &Path, id: &str) -> Result<Seq, CommandError> {
    let Some(head) = view.state().head(&HeadName::parse(id)) else { return named(view, path, id) };
    let by_id = view.node_of_source(id).map_err(|source| CommandError::Stream { path: path.to_owned(), source })?;
    match by_id {
        Some(node) if node != head => Err(CommandError::Ambiguous { id: id.to_owned(), nodes: [node, head] }),
        Some(_) | None => Ok(head),
    }
}
