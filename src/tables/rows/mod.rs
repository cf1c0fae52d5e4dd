//! The rows of one session, read from its log once and in its order. Memory grows
//! with the number of messages by a few bytes each, and never with what they say.

mod calls;
mod common;
mod findings;
mod messages;
mod sessions;
mod usage;

use foldhash::fast::FixedState;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use crate::api::{Message, MessageKind, Session};
use crate::log::{LogView, Projection, Reach, Salvage, SealState};
use crate::model::digest::sha256_of;
use crate::model::event::EventKind;
use crate::model::ids::Seq;
use crate::model::shown::Shown;
use crate::model::stream::{LogAccess, StreamError};
use crate::store::{StoreError, disk};

use super::cell::Cell;
use super::error::TableError;
use super::schema::TableName;

use common::Common;
pub use common::{RowSink, Subject};

/// Where messages stand on the branch that is shown.
#[derive(Debug, Default)]
struct Places {
    first: HashMap<Seq, u32, FixedState>,
    /// The further places of messages that a program shows more than once.
    further: HashMap<Seq, Vec<u32>, FixedState>,
}

/// Makes the rows of a session, and returns the hash of its log: the one in its seal,
/// or of all its bytes where it has no good seal.
///
/// # Errors
/// When the log cannot be read, or a row not be written. Some of its rows may have
/// been written by then.
pub fn rows_of(subject: &Subject, sink: &mut dyn RowSink) -> Result<String, TableError> {
    let file = Arc::new(disk::open(&subject.path)?);
    let mut view = LogView::open(Arc::clone(&file)).map_err(|source| TableError::Log { path: subject.path.clone(), source })?;
    let sha256 = hash_of(&view, &subject.path)?;
    let stream = |source: StreamError| TableError::Stream { path: subject.path.clone(), source };
    let session = Session::of(&view.session, &view.outcome);
    let shared = |text: &str| Cell::Shared(text.into());
    let common = Common {
        format: shared(&session.format),
        month: subject.month.as_deref().map_or(Cell::Null, shared),
        log: shared(&subject.log),
        session: shared(&session.id),
    };
    let places = places(&mut view).map_err(stream)?;
    let mut said = sessions::MessageCounts::default();
    let mut calls = calls::Calls::default();
    let mut usage = usage::Answers::default();
    for seq in (1..=view.last().number()).map(Seq::new) {
        if !is_message(view.kind(seq)) {
            continue;
        }
        let event = view.event(seq).map_err(stream)?;
        let place = places.first.get(&seq).copied();
        if place.is_none() && event.is_hidden_from("loader") {
            continue;
        }
        let Some(message) = Message::of(&Shown::plain(event), place.unwrap_or(0).into()).map_err(stream)? else { continue };
        said.note(&message);
        calls.note(&message, place, &common, sink)?;
        usage.note(&message, place);
        sink.row(TableName::Messages, messages::row(&message, place, &session, &common))?;
        let further = places.further.get(&seq).into_iter().flatten().copied();
        for place in place.into_iter().chain(further.clone()) {
            said.note_place(&message, place);
        }
        for place in further {
            sink.row(TableName::Messages, messages::row(&message, Some(place), &session, &common))?;
        }
    }
    calls.close(&common, sink)?;
    usage.close(&common, sink)?;
    findings::rows(&subject.findings, &common, sink)?;
    sink.row(TableName::Sessions, sessions::row(&view, &session, &said, subject, &sha256, &common))?;
    Ok(sha256)
}

/// Returns the hash that stands for a log: what changes when it does.
///
/// # Errors
/// When the log cannot be read.
pub fn log_hash(path: &Path) -> Result<String, TableError> {
    let file = Arc::new(disk::open(path)?);
    let view = LogView::open(file).map_err(|source| TableError::Log { path: path.to_owned(), source })?;
    hash_of(&view, path)
}

fn hash_of(view: &LogView<Arc<File>>, path: &Path) -> Result<String, TableError> {
    match view.seal() {
        SealState::Good { sha256 } => Ok(sha256.clone()),
        SealState::Followed { .. } | SealState::Broken { .. } | SealState::Missing => {
            Ok(sha256_of(disk::open(path)?).map_err(StoreError::io("read", path))?)
        }
    }
}

fn is_message(kind: EventKind) -> bool {
    MessageKind::of(kind).is_some()
}

fn places(view: &mut LogView<Arc<File>>) -> Result<Places, StreamError> {
    let node = view.state().head(&view.active()).unwrap_or(Seq::ROOT);
    let mut projection = Projection::of(view, node, Reach::Path, Salvage::Hidden)?;
    let mut places = Places::default();
    let mut next = 0;
    while let Some(shown) = projection.next_shown(view)? {
        if is_message(shown.event.kind) {
            match places.first.entry(shown.event.seq) {
                Entry::Vacant(first) => {
                    first.insert(next);
                }
                Entry::Occupied(_) => places.further.entry(shown.event.seq).or_default().push(next),
            }
            next += 1;
        }
    }
    Ok(places)
}
