//! A log by itself: whether it is as it was sealed, rebuilds to the hashes
//! that it records, and can be shown.

use std::collections::BTreeMap;

use crate::adapters::format::Format;
use crate::log::restore::{FilePlan, check_sizes, file_plan, rebuild};
use crate::log::{LogView, Projection, Reach, Salvage};
use crate::model::digest::sha256_hex;
use crate::model::event::{Compaction, Edit, EventKind, EventRef, FileKind, Hide};
use crate::model::files::{Entry, Files, RelPath};
use crate::model::heads::HeadName;
use crate::model::ids::Seq;
use crate::model::shown::{MessageRenderer, Place, Shown};
use crate::model::stream::{LogAccess, ReadAt, StreamError};

use super::bytes::Hash;
use super::difference::Difference;
use super::proof::Proof;
use super::records::Records;
pub use super::seal::seal_difference;

/// How far a log is checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Seal, sequence, references and attachments.
    Seal,
    /// Every file rebuilt, too.
    Restore,
    /// Every head walked and shown, too.
    Full,
}

/// Whether an attachment is there whole, by its hash and size.
pub type Blobs<'a> = &'a dyn Fn(&str, u64) -> bool;

/// Checks a log by itself: seal, references, every file rebuilt to the hash
/// that the log records, every head walked and shown.
///
/// # Errors
/// When the log cannot be read.
pub fn check_log<R: ReadAt>(
    log: &mut LogView<R>,
    adapter: &dyn Format,
    blobs: Blobs<'_>,
) -> Result<Result<Proof, Difference>, StreamError> {
    check_log_to(Level::Full, log, adapter, blobs)
}

/// Checks a log by itself up to this level.
///
/// # Errors
/// When the log cannot be read.
pub fn check_log_to<R: ReadAt>(
    level: Level,
    log: &mut LogView<R>,
    adapter: &dyn Format,
    blobs: Blobs<'_>,
) -> Result<Result<Proof, Difference>, StreamError> {
    if let Some(difference) = seal_difference(log.seal()) {
        return Ok(Err(difference));
    }
    let mut proof = Proof::default();
    if level == Level::Seal
        && let Some(difference) = missing_attachment(log, blobs)?
    {
        return Ok(Err(difference));
    }
    if level >= Level::Restore {
        if let Some(difference) = refused_path(log)? {
            return Ok(Err(difference));
        }
        let mut first = None;
        proof.bytes = files_have_their_hashes(log, adapter, blobs, &mut |difference| {
            first.get_or_insert(difference);
        })?;
        if let Some(difference) = first {
            return Ok(Err(difference));
        }
    }
    if level == Level::Full {
        return Ok(check_heads(log, adapter, &Records::default())?.map(|heads| Proof { bytes: proof.bytes, ..heads }));
    }
    Ok(Ok(proof))
}

/// Returns the first attachment that a log names and that is missing or damaged.
fn missing_attachment<R: ReadAt>(log: &mut LogView<R>, blobs: Blobs<'_>) -> Result<Option<Difference>, StreamError> {
    for seq in log.files().to_vec() {
        let plan = file_plan(log, seq)?;
        let size = plan.entry.size.unwrap_or(0);
        if plan.entry.blob.as_ref().is_some_and(|blob| !blobs(blob, size)) {
            return Ok(Some(attachment_missing(&plan)));
        }
    }
    Ok(None)
}

/// Returns the first path of a log at which nothing can be restored, by the rules that
/// `restore` has: it leads out of the folder, or something stands in its way.
///
/// # Errors
/// When the log cannot be read.
pub fn refused_path<R: ReadAt>(log: &mut LogView<R>) -> Result<Option<Difference>, StreamError> {
    let folder = log.session.own_folder();
    let mut taken: BTreeMap<RelPath, FileKind> = BTreeMap::new();
    for seq in log.files().to_vec() {
        let plan = file_plan(log, seq)?;
        let refused = |why: &str| Ok(Some(Difference::at_event(format!("{} cannot be restored: {why}", plan.path), seq)));
        if !plan.path.below(&folder).stays_inside() {
            return refused("it leads out of the folder");
        }
        let inside = RelPath::new([plan.path.as_bytes(), b"/"].concat());
        let first_inside = taken.range(&inside..).next();
        let holds_some = first_inside.is_some_and(|(path, _)| path.as_bytes().starts_with(inside.as_bytes()));
        let is_taken = holds_some || taken.contains_key(&plan.path);
        if is_taken || plan.path.folders().any(|above| taken.get(&above).is_some_and(|kind| *kind != FileKind::Folder)) {
            return refused("something else of the log stands there, or on the way there");
        }
        taken.insert(plan.path, plan.entry.kind);
    }
    Ok(None)
}

/// Rebuilds every file of a log and tells which do not come to the hash that
/// the log records; says how many bytes were rebuilt.
///
/// # Errors
/// When the log cannot be read.
pub fn files_have_their_hashes<R: ReadAt>(
    log: &mut LogView<R>,
    adapter: &dyn Format,
    blobs: Blobs<'_>,
    tell: &mut dyn FnMut(Difference),
) -> Result<u64, StreamError> {
    if log.files().is_empty() {
        tell(Difference::in_log("the log rebuilds no file at all", None));
    }
    if let Err(error) = check_sizes(log) {
        // Nothing is rebuilt of it: that could take hours.
        if let StreamError::OutOfProportion { seq, .. } = error {
            tell(Difference::at_event(error.to_string(), seq));
            return Ok(0);
        }
        return Err(error);
    }
    // One attachment may be named many times; it is read once.
    let mut known: BTreeMap<(String, u64), bool> = BTreeMap::new();
    let mut bytes = 0u64;
    for seq in log.files().to_vec() {
        let plan = file_plan(log, seq)?;
        if !matches!(plan.entry.kind, FileKind::File | FileKind::Rows) {
            continue;
        }
        let mut sink = Hash::default();
        match &plan.entry.blob {
            Some(sha256) => {
                let size = plan.entry.size.unwrap_or(0);
                let is_there = *known.entry((sha256.clone(), size)).or_insert_with(|| blobs(sha256, size));
                if is_there && plan.entry.sha256.as_ref() == Some(sha256) {
                    bytes = bytes.saturating_add(size);
                } else {
                    tell(attachment_missing(&plan));
                }
                continue;
            }
            None => match rebuild(log, &plan, &|holds, style, shapes| adapter.renderer(holds, style, shapes), &mut sink) {
                Err(StreamError::TooLong) => {
                    tell(Difference::at_event(format!("{} rebuilds to more bytes than its log records", plan.path), seq));
                    continue;
                }
                Err(StreamError::TooMuchWork) => {
                    tell(Difference::at_event(format!("{}: {}", plan.path, StreamError::TooMuchWork), seq));
                    continue;
                }
                rebuilt => rebuilt?,
            },
        }
        let (size, sha256) = sink.finish();
        bytes += size;
        if Some(size) != plan.entry.size || Some(&sha256) != plan.entry.sha256.as_ref() {
            let recorded = format!("{} bytes, {}", plan.entry.size.unwrap_or(0), plan.entry.sha256.clone().unwrap_or_default());
            let what = format!("{} does not rebuild to the hash that its log records", plan.path);
            tell(Difference::at_event(what, seq).with_texts(recorded, format!("{size} bytes, {sha256}")));
        }
    }
    Ok(bytes)
}

/// Tells whether the hashes that a log records are those of these files, which it
/// was seen to rebuild, and whether the attachments that it names are there.
///
/// # Errors
/// When the log cannot be read.
pub fn recorded_hashes<R: ReadAt>(log: &mut LogView<R>, files: &Files, blobs: Blobs<'_>) -> Result<Option<Difference>, StreamError> {
    for seq in log.files().to_vec() {
        let plan = file_plan(log, seq)?;
        let Some(Entry::File(file) | Entry::Rows(file)) = files.entry(&plan.path) else { continue };
        let (size, sha256) = (file.bytes.len() as u64, sha256_hex(&file.bytes));
        if Some(size) != plan.entry.size || Some(&sha256) != plan.entry.sha256.as_ref() {
            let recorded = plan.entry.sha256.clone().unwrap_or_default();
            let what = format!("{} has another hash than its log records", plan.path);
            return Ok(Some(Difference::at_event(what, seq).with_texts(sha256, recorded)));
        }
        if plan.entry.blob.as_ref().is_some_and(|blob| !blobs(blob, size)) {
            return Ok(Some(attachment_missing(&plan)));
        }
    }
    Ok(None)
}

fn attachment_missing(plan: &FilePlan) -> Difference {
    Difference::at_event(format!("the attachment {} is missing or damaged", plan.path), plan.seq)
}

/// Checks that every head stands on a node, that the last checkpoint is true,
/// and that everything can be walked and shown. What events are known to be
/// rendered to is not rendered for it.
///
/// # Errors
/// When the log cannot be read.
pub fn check_heads<R: ReadAt>(
    log: &mut LogView<R>,
    adapter: &dyn Format,
    records: &Records<'_>,
) -> Result<Result<Proof, Difference>, StreamError> {
    let message_renderer = adapter.message_renderer(log.shapes());
    let active = log.active();
    let heads: Vec<(HeadName, Seq)> = log.state().heads().map(|(name, node)| (name.clone(), node)).collect();
    if log.outcome.error.is_none() && !heads.iter().any(|(head, _)| *head == active) {
        return Ok(Err(Difference::in_log(format!("the log shows {active} by default and has no such head"), None)));
    }
    if let Some((head, node)) = heads.iter().find(|(_, node)| !node.is_root() && !log.is_node(*node)) {
        return Ok(Err(Difference::at_event(format!("{head} points to event {node}, which is not a node"), *node)));
    }
    if let Some(seq) = log.false_checkpoint()? {
        return Ok(Err(Difference::at_event("the last checkpoint does not say what the events before it come to", seq)));
    }
    log.check_repeats()?;
    let messages = everything_shown(log, &message_renderer, &active, records)?;
    Ok(Ok(Proof { messages, heads: heads.len() as u64, ..Proof::default() }))
}

/// Shows the default head as its program would, and counts the messages; then
/// every other node, which must be possible too.
fn everything_shown<R: ReadAt>(
    log: &mut LogView<R>,
    message_renderer: &MessageRenderer,
    active: &HeadName,
    records: &Records<'_>,
) -> Result<u64, StreamError> {
    let mut messages = 0;
    let mut is_shown = vec![false; log.last().index() + 1];
    let node = log.state().head(active).unwrap_or(Seq::ROOT);
    let mut projection = Projection::of(log, node, Reach::Shown, Salvage::Hidden)?;
    while let Some(shown) = projection.next_shown(log)? {
        is_shown[shown.event.seq.index()] = true;
        message_renderer(&Shown { record: records.of(shown.event.seq), ..shown }, &mut |_| messages += 1)?;
    }
    for seq in (1..=log.last().number()).map(Seq::new).filter(|seq| !is_shown[seq.index()]) {
        if !log.is_node(seq) || log.kind(seq) == EventKind::Repeat {
            continue;
        }
        let event = log.event(seq)?;
        if event.kind == EventKind::Edit {
            readable::<Edit>(&event)?;
        } else if event.kind == EventKind::Hide {
            readable::<Hide>(&event)?;
        } else if event.kind == EventKind::Compaction {
            readable::<Compaction>(&event)?;
            message_renderer(&Shown { place: Place::Compaction, ..Shown::plain(event) }, &mut |_| {})?;
        } else {
            message_renderer(&Shown { record: records.of(seq), ..Shown::plain(event) }, &mut |_| {})?;
        }
    }
    Ok(messages)
}

fn readable<T: serde::de::DeserializeOwned>(event: &EventRef<'_>) -> Result<(), StreamError> {
    let read: Result<T, _> = serde_json::from_slice(event.payload);
    read.map(|_| ()).map_err(|error| StreamError::log(event.seq, format!("has a payload that cannot be read: {error}")))
}
