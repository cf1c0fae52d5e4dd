//! One log as a page: what is read of it, and handed to `html`.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::Path;

use crate::adapters::format::Format;
use crate::api::{Message, MessageKind, Session};
use crate::html::{DamagedPlace, IndexRow, Original, Page, PageHead, page, searched_text};
use crate::log::restore::file_plan;
use crate::log::{LogView, Projection, Reach, Salvage};
use crate::model::about::About;
use crate::model::digest::sha256_hex;
use crate::model::event::{Damage, EventKind, FileKind};
use crate::model::heads::HeadKind;
use crate::model::ids::Seq;
use crate::model::shown::Shown;
use crate::model::stream::{LogAccess, ReadAt, StreamError};
use crate::pipeline::old_bytes::in_memory;
use crate::redact::{Redactions, Redactor, RemovedFrom};
use crate::store::blobs;
use crate::store::layout::Store;

use super::error::CommandError;
use super::logs::{self, LogFile};

/// So many bytes of original files are part of a page: a browser has to hold
/// them in memory.
const MOST_BYTES: u64 = 200 << 20;

/// A page, and what a report and an index say of it.
pub(super) struct Rendered {
    /// The page.
    pub(super) page: String,
    /// The id of the session.
    pub(super) session: String,
    /// The size of its log.
    pub(super) log_bytes: u64,
    /// Its line in the index, without an address.
    pub(super) row: IndexRow,
    /// What was taken out, where something was asked to be.
    pub(super) redactions: Option<Redactions>,
    /// What a person should look at.
    pub(super) warnings: Vec<String>,
}

/// Makes the page of a log.
pub(super) fn render(log: &LogFile, index: Option<&str>, mut redactor: Option<Redactor>) -> Result<Rendered, CommandError> {
    let (mut view, adapter) = logs::open(&log.path, None)?;
    let stream = |source: StreamError| CommandError::Stream { path: log.path.clone(), source };
    let warnings: Vec<String> =
        logs::seal_warning(view.seal()).iter().map(|warning| warning.trim_start_matches("warning: ").to_owned()).collect();
    let about = About::of_log(&mut view).map_err(stream)?;
    let mut session = Session::of(&view.session, &view.outcome);
    let mut paths = paths(&mut view).map_err(stream)?;
    let compacted = compacted(&mut view, paths.first().map(|(_, _, path)| path.as_slice()).unwrap_or_default()).map_err(stream)?;
    let mut messages = messages(&mut view, &paths).map_err(stream)?;
    let mut damage = damage(&mut view, if redactor.is_some() { Bytes::LeftOut } else { Bytes::Shown }).map_err(stream)?;
    let mut notes = warnings.clone();
    let mut title = about.called().map_or_else(|| session.id.clone(), str::to_owned);
    let mut originals = Vec::new();
    match &mut redactor {
        Some(redactor) => {
            messages = messages.into_iter().filter_map(|message| redactor.message(message)).collect();
            session = redactor.session(session);
            let names = paths.iter_mut().map(|(name, _, _)| name).chain(damage.iter_mut().map(|damage| &mut damage.place));
            for name in names {
                *name = redactor.text(name, RemovedFrom::Session).unwrap_or_else(|| name.clone());
            }
            title = redactor.text(&title, RemovedFrom::Session).unwrap_or(title);
            notes.push("Secrets were taken out of this page, and the original files are not part of it.".to_owned());
        }
        None => originals = self::originals(&mut view, adapter, &log.path, &mut notes),
    }
    let place: HashMap<Seq, usize> = messages.iter().enumerate().map(|(place, message)| (message.seq, place)).collect();
    let heads: Vec<PageHead> = paths
        .into_iter()
        .map(|(name, is_branch, path)| PageHead { name, is_branch, path: path.iter().filter_map(|seq| place.get(seq).copied()).collect() })
        .collect();
    let shown = heads.first().map(|head| head.path.as_slice()).unwrap_or_default();
    let row = IndexRow {
        page: String::new(),
        title: title.clone(),
        format: session.format.clone(),
        cwd: session.cwd.clone(),
        order: about.last.as_deref().map(|last| crate::api::utc(last).unwrap_or_else(|| last.to_owned())).unwrap_or_default(),
        last: about.last,
        messages: shown.len() as u64,
        bytes: view.bytes(),
        branches: about.branches,
        damaged: damage.len() as u64,
        text: messages.iter().map(searched_text).collect::<Vec<_>>().join("\n"),
    };
    let made = Page {
        session: &session,
        title: &title,
        messages: &messages,
        heads: &heads,
        compacted: &compacted,
        damage: &damage,
        originals: &originals,
        notes: &notes,
        index,
    };
    let made = page(&made).map_err(|error| CommandError::Bug(error.to_string()))?;
    let redactions = redactor.map(|redactor| redactor.redactions().clone());
    Ok(Rendered { page: made, session: session.id, log_bytes: view.bytes(), row, redactions, warnings })
}

/// A head's name, whether it is a branch, and what it shows.
type HeadPath = (String, bool, Vec<Seq>);

/// Returns what each head shows, as `replay` does; the active head comes first.
fn paths<R: ReadAt>(view: &mut LogView<R>) -> Result<Vec<HeadPath>, StreamError> {
    let active = view.active();
    let mut heads: Vec<_> = view.state().heads().map(|(name, node)| (name.clone(), node)).collect();
    heads.sort_by_key(|(name, _)| *name != active);
    let mut paths = Vec::with_capacity(heads.len());
    for (name, node) in heads {
        paths.push((name.to_string(), name.kind == HeadKind::Branch, shown(view, node, Reach::Path)?));
    }
    Ok(paths)
}

fn shown<R: ReadAt>(view: &mut LogView<R>, node: Seq, reach: Reach) -> Result<Vec<Seq>, StreamError> {
    let mut projection = Projection::of(view, node, reach, Salvage::Hidden)?;
    let mut path = Vec::new();
    while let Some(item) = projection.next_item(view)? {
        if MessageKind::of(view.kind(item.seq)).is_some() {
            path.push(item.seq);
        }
    }
    Ok(path)
}

/// Returns the messages of the active head that its program no longer shows,
/// because a compaction took their place.
fn compacted<R: ReadAt>(view: &mut LogView<R>, path: &[Seq]) -> Result<HashSet<Seq>, StreamError> {
    let node = view.state().head(&view.active()).unwrap_or(Seq::ROOT);
    let kept: HashSet<Seq> = shown(view, node, Reach::Shown)?.into_iter().collect();
    Ok(path.iter().copied().filter(|seq| !kept.contains(seq)).collect())
}

/// Reads every message once, in the order of the log.
fn messages<R: ReadAt>(view: &mut LogView<R>, paths: &[HeadPath]) -> Result<Vec<Message>, StreamError> {
    let wanted: BTreeSet<Seq> = paths.iter().flat_map(|(_, _, path)| path.iter().copied()).collect();
    let mut messages = Vec::with_capacity(wanted.len());
    for (index, seq) in wanted.into_iter().enumerate() {
        messages.extend(Message::of(&Shown::plain(view.event(seq)?), index as u64)?);
    }
    Ok(messages)
}

/// Whether damaged bytes are part of a page. Nobody knows what they say.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Bytes {
    Shown,
    LeftOut,
}

/// Returns the damaged places.
fn damage<R: ReadAt>(view: &mut LogView<R>, bytes_are: Bytes) -> Result<Vec<DamagedPlace>, StreamError> {
    let mut places = Vec::new();
    for seq in (1..=view.last().number()).map(Seq::new).filter(|seq| view.kind(*seq) == EventKind::Damage).collect::<Vec<_>>() {
        let Ok(damage) = serde_json::from_slice::<Damage>(view.event(seq)?.payload) else { continue };
        let bytes = damage.bytes();
        let pieces = bytes.as_ref().and_then(|bytes| bytes.pieces()).unwrap_or_default();
        let size = pieces.iter().map(|(bytes, zeros)| bytes.len() as u64 + zeros).sum::<u64>();
        places.push(DamagedPlace {
            place: format!("{}:{}:{}", damage.file, damage.line, damage.offset),
            size: usize::try_from(size).unwrap_or(usize::MAX),
            shown: (bytes_are == Bytes::Shown).then(|| pieces.iter().map(|(bytes, zeros)| piece(bytes, *zeros)).collect()),
            reason: damage.reason,
        });
    }
    Ok(places)
}

/// Damaged bytes as a person reads them: text, or hex digits.
fn piece(bytes: &[u8], zeros: u64) -> String {
    let mut out = match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => {
            let rows = bytes.chunks(16).map(|row| row.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" "));
            rows.collect::<Vec<_>>().join("\n")
        }
    };
    if zeros > 0 {
        out.push_str(&format!("⟨{zeros} zero bytes⟩"));
    }
    out
}

/// Rebuilds the session's files for the page to give back. What cannot be is
/// said in a note.
fn originals<R: ReadAt>(view: &mut LogView<R>, adapter: &dyn Format, path: &Path, notes: &mut Vec<String>) -> Vec<Original> {
    let (mut files, mut left) = (Vec::new(), MOST_BYTES);
    let store = Store::of_log(path);
    for seq in view.files().to_vec() {
        let Ok(plan) = file_plan(view, seq) else {
            notes.push(format!("The file of event {seq} cannot be rebuilt."));
            continue;
        };
        if plan.entry.kind != FileKind::File {
            continue;
        }
        let size = plan.entry.size.unwrap_or(0);
        if size > left {
            notes.push(format!("{} is too large to be part of this page; `everlog restore` gives it back.", plan.path));
            continue;
        }
        let bytes = match (&plan.entry.blob, &store) {
            (Some(blob), Some(store)) => blobs::get(store, blob).ok(),
            (Some(_), None) => None,
            (None, _) => in_memory(view, adapter, &plan).ok(),
        };
        let bytes = bytes.filter(|bytes| plan.entry.sha256.as_ref().is_none_or(|sha256| sha256_hex(bytes) == *sha256));
        match bytes {
            Some(bytes) => {
                left -= size.min(left);
                files.push(Original { path: plan.path.to_string(), sha256: sha256_hex(&bytes), bytes });
            }
            None => notes.push(format!("{} cannot be rebuilt; `everlog verify` says why.", plan.path)),
        }
    }
    files
}
