//! What picoclaw itself would show: its loaders, written again from their
//! behaviour. It owns the rules of `JSONLStore.GetHistory` and of the older
//! session manager, odd ones included, and shares nothing with the rest of this
//! adapter but what Go does (`runtimes::go`), so that the two cannot be wrong
//! together.
//!
//! Messages are shown in the very bytes that the program would write for them.

mod history;
mod legacy;
mod message;
mod meta;

use std::collections::BTreeMap;

use crate::model::files::{Entry, Files};
use crate::model::heads::{HeadKind, HeadName};
use crate::model::loaded::{LoadOutcome, Loader};
use crate::runtimes::go::{self, Invalid, TOKEN_TOO_LONG, TokenTooLong, UNEXPECTED_END, unmarshal};

use legacy::Legacy;
use meta::Meta;

const BAD_META: &str = "memory: decode meta";
const BAD_LINES: &str = "memory: scan jsonl";
const BAD_LEGACY: &str = "legacy file cannot be decoded";
const NO_FILE: &str = "no session file";

/// Returns the loader of one session.
#[must_use]
pub fn loader(files: &Files) -> Box<dyn Loader + '_> {
    Box::new(Session::new(files))
}

/// Where the program would look for the messages.
enum MessagesIn<'f> {
    /// In a file of lines, beside which another says what of it counts; either
    /// may be missing.
    Lines { lines: &'f [u8], meta: Option<Result<Meta<'f>, Unread>> },
    /// In one whole file, whose name may have to serve as the key.
    Whole { name: &'f [u8], file: &'f [u8] },
    /// Nowhere: only what was set aside is left.
    Nowhere,
}

/// A file beside a history that the program cannot read, and what it says then.
struct Unread(String);

struct Session<'f> {
    place: MessagesIn<'f>,
    /// The whole files that were set aside once their messages had moved on, by
    /// the name of their head.
    backups: BTreeMap<String, &'f [u8]>,
}

impl<'f> Session<'f> {
    fn new(files: &'f Files) -> Session<'f> {
        let mut backups = BTreeMap::new();
        let (mut lines, mut meta, mut whole) = (None, None, None);
        for (path, entry) in files.iter() {
            let name = path.as_bytes();
            let bytes = match entry {
                Entry::File(file) => Some(file.bytes.as_slice()),
                // A link leads out of what there is: nothing is found there.
                Entry::Rows(_) | Entry::Link { .. } | Entry::EmptyFolder => None,
            };
            let is_older = bytes.is_some_and(legacy::is_begun);
            if name.ends_with(b".meta.json.migrated") && !is_older {
                // Nothing reads these.
            } else if name.ends_with(b".json.migrated") {
                backups.extend(bytes.map(|bytes| (path.key(), bytes)));
            } else if name.ends_with(b".jsonl") {
                lines = Some(bytes);
            } else if name.ends_with(b".meta.json") && !is_older {
                meta = Some(bytes);
            } else if let Some(stem) = name.strip_suffix(b".json") {
                whole = bytes.map(|file| MessagesIn::Whole { name: stem, file });
            }
        }
        let place = if lines.is_some() || meta.is_some() {
            MessagesIn::Lines { lines: lines.flatten().unwrap_or_default(), meta: meta.flatten().map(read_meta) }
        } else {
            whole.or_else(|| alone(files)).unwrap_or(MessagesIn::Nowhere)
        };
        Session { place, backups }
    }

    fn load_default(&self, show: &mut dyn FnMut(&[u8])) -> LoadOutcome {
        let loaded = match &self.place {
            MessagesIn::Lines { lines, meta } => load_lines(lines, meta.as_ref(), show),
            MessagesIn::Whole { name, file } => load_whole(name, file, show),
            MessagesIn::Nowhere => LoadOutcome { error: Some(NO_FILE.to_owned()), ..LoadOutcome::default() },
        };
        LoadOutcome { active: Some(HeadName::main()), ..loaded }
    }
}

impl Loader for Session<'_> {
    fn heads(&mut self) -> Vec<HeadName> {
        let backups = self.backups.keys().map(|name| HeadName::new(HeadKind::Backup, name));
        std::iter::once(HeadName::main()).chain(backups).collect()
    }

    fn load(&mut self, head: Option<&HeadName>, show: &mut dyn FnMut(&[u8])) -> LoadOutcome {
        let Some(head) = head else { return self.load_default(show) };
        let backup = Some(&head.name).filter(|_| head.kind == HeadKind::Backup).and_then(|name| self.backups.get(name));
        let error = match backup {
            Some(file) => load_whole(b"", file, show).error,
            None if *head == HeadName::main() => self.load_default(show).error,
            None => Some(NO_FILE.to_owned()),
        };
        LoadOutcome { error, ..LoadOutcome::default() }
    }
}

/// Returns a file by itself whose name is not one of the program's: a person said that it is a
/// session.
fn alone(files: &Files) -> Option<MessagesIn<'_>> {
    const OWN: [&[u8]; 6] = [b".json", b".jsonl", b".json.migrated", b".jsonl.migrated", b".jsonl.tmp", b".meta.json.tmp"];
    let (path, file) = files.lone_file()?;
    let name = path.as_bytes();
    let is_temporary = name.starts_with(b".tmp-") || (name.starts_with(b"session-") && name.ends_with(b".tmp"));
    if is_temporary || OWN.iter().any(|end| name.ends_with(end)) {
        return None;
    }
    if legacy::is_begun(&file.bytes) {
        let name = name.strip_suffix(b".migrated").unwrap_or(name);
        return Some(MessagesIn::Whole { name, file: &file.bytes });
    }
    Some(MessagesIn::Lines { lines: &file.bytes, meta: None })
}

fn read_meta(text: &[u8]) -> Result<Meta<'_>, Unread> {
    let cause = |Invalid| if go::ends_too_soon(text) { format!("{BAD_META}: {UNEXPECTED_END}") } else { BAD_META.to_owned() };
    unmarshal(text).map_err(|invalid| Unread(cause(invalid)))
}

fn load_lines(lines: &[u8], meta: Option<&Result<Meta<'_>, Unread>>, show: &mut dyn FnMut(&[u8])) -> LoadOutcome {
    let meta = match meta {
        Some(Err(Unread(why))) => return LoadOutcome { error: Some(why.clone()), ..LoadOutcome::default() },
        Some(Ok(meta)) => Some(meta),
        None => None,
    };
    let error =
        history::show(lines, meta.map_or(0, |meta| meta.skip), show).err().map(|TokenTooLong| format!("{BAD_LINES}: {TOKEN_TOO_LONG}"));
    let summary = meta.filter(|_| error.is_none()).and_then(|meta| meta.summary.non_empty());
    LoadOutcome { summary, error, facts: meta.map(Meta::facts).unwrap_or_default(), ..LoadOutcome::default() }
}

fn load_whole(name: &[u8], file: &[u8], show: &mut dyn FnMut(&[u8])) -> LoadOutcome {
    let decoded = unmarshal::<Legacy<'_>>(file).and_then(|legacy| legacy.show(show).map(|()| legacy));
    match decoded {
        Ok(legacy) => LoadOutcome { summary: legacy.summary.non_empty(), facts: legacy.facts(name), ..LoadOutcome::default() },
        Err(Invalid) => LoadOutcome { error: Some(BAD_LEGACY.to_owned()), ..LoadOutcome::default() },
    }
}

#[cfg(test)]
mod tests;
