//! Whether a session begins with the messages of another one. Picoclaw leaves
//! that when it promotes an alias: the history is copied into the session that
//! answers from then on, and stays where it was.

use std::collections::HashMap;
use std::rc::Rc;

use crate::model::files::RelPath;
use crate::model::folder::FolderView;
use crate::model::jsonl::{Lines, Newlines};
use crate::runtimes::go::{Marshal, Time};

use super::layout::{LINES, META};
use super::normal::{Record, Sight};
use super::whole::decode_meta;

/// Longer files are not looked through for copies.
const LARGEST_LOOK: u64 = 64 * 1024 * 1024;

/// What of another session stands at the beginning of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Copied {
    pub messages: usize,
    pub extent: Extent,
}

/// How much of the other session that is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Extent {
    All,
    /// The other one went on by itself.
    Beginning,
}

/// A message as the program would write it, its time apart: the program stamps
/// a copy where the original has none.
#[derive(PartialEq, Eq)]
struct Shown {
    text: Vec<u8>,
    time: Option<Time>,
}

impl Shown {
    fn is_copied_as(&self, copy: &Shown) -> bool {
        self.text == copy.text && (self.time.is_none() || self.time == copy.time)
    }
}

/// Looks for copies in a folder; what many sessions may have copied is read
/// once.
pub(super) struct Copies<'v, 'f> {
    view: &'v FolderView<'f>,
    originals: HashMap<RelPath, Vec<Shown>>,
}

impl<'v, 'f> Copies<'v, 'f> {
    pub(super) fn new(view: &'v FolderView<'f>) -> Self {
        Copies { view, originals: HashMap::new() }
    }

    /// Returns what of the session `from` stands at the beginning of the session `to`.
    pub(super) fn copied(&mut self, from: &RelPath, to: &RelPath) -> Option<Copied> {
        let view = self.view;
        let name = path(to, LINES);
        let original = self.original(from);
        let first = original.first()?;
        let skip = skip_of(view, to);
        let begins = || shown(&view.first_bytes(&name), skip).next().is_some_and(|copy| first.is_copied_as(&copy));
        if view.get(&name)?.size > LARGEST_LOOK || (skip == 0 && !begins()) {
            return None;
        }
        let bytes = view.all_bytes(&name);
        let messages = original.iter().zip(shown(&bytes, skip)).take_while(|(one, copy)| one.is_copied_as(copy)).count();
        let extent = if messages == original.len() { Extent::All } else { Extent::Beginning };
        // Without a time, the first words of two sessions may be the same by chance.
        let is_certain = extent == Extent::All || original[..messages].iter().any(|one| one.time.is_some());
        (messages > 0 && is_certain).then_some(Copied { messages, extent })
    }

    fn original(&mut self, stem: &RelPath) -> &[Shown] {
        let view = self.view;
        self.originals.entry(stem.clone()).or_insert_with(|| {
            let name = path(stem, LINES);
            let is_small = view.get(&name).is_some_and(|entry| entry.size <= LARGEST_LOOK);
            let bytes = if is_small { view.all_bytes(&name) } else { Rc::default() };
            shown(&bytes, skip_of(view, stem)).collect()
        })
    }
}

fn path(stem: &RelPath, suffix: &str) -> Vec<u8> {
    [stem.as_bytes(), suffix.as_bytes()].concat()
}

fn skip_of(view: &FolderView<'_>, stem: &RelPath) -> usize {
    let bytes = view.all_bytes(path(stem, META));
    decode_meta(&bytes).ok().and_then(|meta| usize::try_from(meta.skip).ok()).unwrap_or(0)
}

/// Returns the messages that the program shows of these lines.
fn shown(bytes: &[u8], skip: usize) -> impl Iterator<Item = Shown> {
    let lines = Lines::new(bytes, Newlines::LineFeed).filter(|line| !matches!(line.text, b"" | b"\r"));
    lines.skip(skip).filter_map(|line| {
        let record = Record::decode(line.text).ok().filter(|record| record.sight() == Sight::Shown)?;
        let mut message = record.message;
        let time = message.created_at.take();
        let mut text = Vec::new();
        message.marshal(&mut text);
        Some(Shown { text, time })
    })
}
