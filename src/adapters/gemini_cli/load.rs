//! What Gemini CLI itself would load: `loadConversationRecord(file).messages` of
//! 0.61.0 on Node 20, and `Logger.loadCheckpoint(tag).history` for a checkpoint.
//! Written again from its behaviour. It shares JavaScript itself
//! ([`crate::runtimes::javascript`]) and nothing else with the rest of this
//! adapter.
//!
//! The files of a session are found by their names, in whatever folder: the chat
//! files of one session id (`session-*.jsonl`, `session-*.json`), or the one file
//! of a subagent (any other `.jsonl` or `.json`), or one `checkpoint-*.json`.
//! What lies in a folder of logs, tool outputs, plans or tasks is not looked at.
//! Of several chat files the one is loaded that `--resume` would take.
//!
//! Heads: `branch:main`, and for every other chat file that loads a backup with
//! the name of the file. Facts: none. Error: [`NOT_LOADED`].

mod chat;
mod classify;
mod patches;
mod whole;

use std::collections::BTreeMap;

use crate::model::files::{Entry, Files, RelPath, SourceFile};
use crate::model::heads::{HeadKind, HeadName};
use crate::model::loaded::{LoadOutcome, Loader, NO_SUCH_HEAD};
use crate::runtimes::javascript::{Numbers, Value, printed_raw};

use chat::Chat;

/// The program finds no session in the file.
const NOT_LOADED: &str = "no conversation can be loaded";

/// The loader of one session.
#[must_use]
pub fn loader(files: &Files) -> Box<dyn Loader + '_> {
    Box::new(Session::new(files))
}

/// What is loaded by default, and the other files of the session.
struct Session<'f> {
    main: Option<Main<'f>>,
    backups: BTreeMap<String, Chat<'f>>,
}

enum Main<'f> {
    Chat(Chat<'f>),
    Checkpoint(&'f [u8]),
}

/// A file by the name that it has in its folder.
#[derive(Clone, Copy)]
struct Named<'f> {
    name: &'f [u8],
    file: &'f SourceFile,
}

/// The folders whose files are not chats.
const OTHER_FOLDERS: [&[u8]; 7] = [b"logs", b"tool-outputs", b"plans", b"tasks", b"tracker", b"checkpoints", b"memory"];

impl<'f> Named<'f> {
    /// A file that may be a chat, by its name and its folders.
    fn of(path: &'f RelPath, entry: &'f Entry) -> Option<Named<'f>> {
        let mut parts = path.as_bytes().rsplit(|byte| *byte == b'/');
        let name = parts.next().unwrap_or_default();
        let is_chat = (name.ends_with(b".json") || name.ends_with(b".jsonl")) && !parts.any(|part| OTHER_FOLDERS.contains(&part));
        match entry {
            Entry::File(file) if is_chat => Some(Named { name, file }),
            Entry::File(_) | Entry::Rows(_) | Entry::Link { .. } | Entry::EmptyFolder => None,
        }
    }
}

/// The files of the session that may be chats, in the order of their names.
fn named(files: &Files) -> Vec<Named<'_>> {
    let mut all: Vec<Named<'_>> = files.iter().filter_map(|(path, entry)| Named::of(path, entry)).collect();
    if all.is_empty() {
        // A person said that this file is a chat.
        all.extend(files.lone_file().map(|(path, file)| Named { name: path.as_bytes(), file }));
    }
    if all.iter().any(|named| named.name.starts_with(b"session-")) {
        all.retain(|named| named.name.starts_with(b"session-"));
    }
    all.sort_by_key(|named| named.name);
    all
}

impl<'f> Session<'f> {
    fn new(files: &'f Files) -> Session<'f> {
        let all = named(files);
        if let [Named { name, file }] = all[..]
            && name.starts_with(b"checkpoint-")
        {
            return Session { main: Some(Main::Checkpoint(&file.bytes)), backups: BTreeMap::new() };
        }
        let mut chats: Vec<(Named<'f>, Chat<'f>)> = all.iter().filter_map(|named| Some((*named, Chat::load(&named.file.bytes)?))).collect();
        let main = chosen(&chats).map(|at| Main::Chat(chats.remove(at).1));
        let backups = chats.into_iter().map(|(named, chat)| (RelPath::new(named.name).key(), chat)).collect();
        Session { main, backups }
    }

    fn load_head(&self, head: &HeadName, show: &mut dyn FnMut(&[u8])) -> Result<(), &'static str> {
        let mut print = |message: Value<'_>| show(&printed_raw(message.token(), Numbers::Printed));
        if head.kind == HeadKind::Backup {
            self.backups.get(&head.name).ok_or(NO_SUCH_HEAD)?.each(&mut print);
            return Ok(());
        }
        if *head != HeadName::main() {
            return Err(NO_SUCH_HEAD);
        }
        match self.main.as_ref().ok_or(NOT_LOADED)? {
            Main::Chat(chat) => chat.each(&mut print),
            Main::Checkpoint(text) => whole::checkpoint(text).for_each(print),
        }
        Ok(())
    }
}

/// Which of the chats `--resume` takes: of those that it offers the one last
/// written to, of equal ones the first; where it offers none, of all.
fn chosen(chats: &[(Named<'_>, Chat<'_>)]) -> Option<usize> {
    let is_offered = |(named, chat): &(Named<'_>, Chat<'_>)| chats.len() > 1 && chat.is_offered(&named.file.bytes);
    let offered: Vec<usize> = (0..chats.len()).filter(|at| is_offered(&chats[*at])).collect();
    let asked = if offered.is_empty() { (0..chats.len()).collect() } else { offered };
    let updated = |at: usize| chats[at].1.updated(chats[at].0.file);
    // A date that cannot be read is neither earlier nor later than another.
    asked.into_iter().reduce(|best, at| match (updated(best), updated(at)) {
        (Some(known), Some(new)) if new > known => at,
        (Some(_) | None, Some(_) | None) => best,
    })
}

impl Loader for Session<'_> {
    fn heads(&mut self) -> Vec<HeadName> {
        let backups = self.backups.keys().map(|name| HeadName::new(HeadKind::Backup, name));
        std::iter::once(HeadName::main()).chain(backups).collect()
    }

    fn load(&mut self, head: Option<&HeadName>, show: &mut dyn FnMut(&[u8])) -> LoadOutcome {
        let main = HeadName::main();
        let error = self.load_head(head.unwrap_or(&main), show).err().map(str::to_owned);
        LoadOutcome { active: head.is_none().then_some(main), error, ..LoadOutcome::default() }
    }
}

#[cfg(test)]
mod tests;
