//! What a conversation's folder may contain: the files that gptme itself writes
//! there. Anything else that lies in it belongs to somebody else.

use std::collections::HashSet;

use crate::adapters::format::RETIRED_SUFFIX;
use crate::json::{self, Dialect};
use crate::model::folder::{FolderView, ListedKind};
use crate::model::jsonl::{Lines, Newlines, decoded};
use crate::runtimes::python::text::strip;

use crate::adapters::gptme::layout::{TRANSCRIPT, is_temporary};
use crate::adapters::gptme::wire::Record;

const EVENTS: &str = "events.jsonl";
const SETTINGS: &str = "config.toml";
const WORKSPACE: &str = "workspace";

/// Files that gptme writes directly into a conversation's folder, besides the
/// transcript and the settings.
const FILES: [&str; 20] = [
    EVENTS,
    "lossless.jsonl",
    "conv-checkpoints.jsonl",
    "config.toml.orig",
    "model_selection_trace.json",
    "compaction.jsonl",
    "phase0-shadow.jsonl",
    "phase0-shadow.jsonl.1",
    "lesson-emissions.jsonl",
    "skill-events.jsonl",
    "context-savings.jsonl",
    "RESUME.md",
    "prompt-queue.jsonl",
    "prompt-queue-closed",
    "control.jsonl",
    "progress.jsonl",
    "subagent-meta.json",
    "stderr.log",
    "shell-pgids",
    "tui.log",
];

const LOCKS: [&str; 7] =
    [".lock", ".events.jsonl.lock", ".config.lock", ".prompt-queue.lock", ".control.lock", ".compaction.jsonl.lock", ".subagent-meta.lock"];

/// The event types that the program writes.
const EVENT_TYPES: [&str; 4] = ["message_append", "message_edit", "undo", "checkpoint"];

/// What a path below a conversation's folder is to the conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Belongs {
    /// One of its files.
    Own,
    Lock,
    /// What an interrupted write left.
    Temporary,
    /// A file of somebody else, or of another session.
    Not,
}

/// A conversation's folder, and what was found out about it once for all files.
pub(super) struct Contents<'f> {
    folder: &'f FolderView<'f>,
    /// Whether the agent's working folder is one that gptme made inside this one.
    has_workspace: bool,
    /// Folders below this one in which another conversation begins.
    others: Vec<&'f [u8]>,
    /// The folders in this one in which something other than folders lies.
    filled: HashSet<&'f [u8]>,
}

impl<'f> Contents<'f> {
    pub(super) fn of(folder: &'f FolderView<'f>) -> Contents<'f> {
        let is_folder = folder.get(WORKSPACE).is_some_and(|entry| entry.kind == ListedKind::Folder);
        let others = folder.entries().filter_map(|(path, _)| begins_another(path)).collect();
        let files = folder.entries().filter(|(_, entry)| entry.kind != ListedKind::Folder);
        let filled = files.filter_map(|(path, _)| divided(path).map(|(first, _)| first)).collect();
        Contents { folder, has_workspace: is_folder && settings_name_own_workspace(folder), others, filled }
    }

    /// Whose a file or link is.
    pub(super) fn judge(&self, path: &[u8]) -> Belongs {
        let is_inside = |other: &&[u8]| path.strip_prefix(*other).is_some_and(|rest| rest.starts_with(b"/"));
        if self.others.iter().any(is_inside) {
            return Belongs::Not;
        }
        let Some((first, rest)) = divided(path) else { return self.judge_direct(path) };
        let name = last(rest);
        let own_if = |is_own: bool| if is_own { Belongs::Own } else { Belongs::Not };
        match first {
            b"branches" | b"views" if is_lock(name) => Belongs::Lock,
            b"branches" | b"views" if is_other_temporary(name) => Belongs::Temporary,
            b"branches" => own_if(name.ends_with(b".jsonl") || is_temporary_name(name)),
            b"views" => own_if(!rest.contains(&b'/') && (name.ends_with(b".jsonl") || name == b".current" || is_temporary_name(name))),
            b"files" => own_if(is_named_by_hash(rest)),
            b"attachments" => own_if(!rest.contains(&b'/')),
            b"tool-outputs" => own_if(rest.iter().filter(|b| **b == b'/').count() <= 1),
            b"workspace" => own_if(self.has_workspace),
            _ if self.is_copied_branch(first) => match rest {
                b"events.jsonl" => Belongs::Own,
                _ if is_lock(rest) => Belongs::Lock,
                _ if is_other_temporary(rest) => Belongs::Temporary,
                _ => Belongs::Not,
            },
            _ => Belongs::Not,
        }
    }

    /// Whose a file or link directly in the folder is.
    fn judge_direct(&self, name: &[u8]) -> Belongs {
        let is_named = |names: &[&str]| names.iter().any(|known| known.as_bytes() == name);
        if is_lock(name) {
            return Belongs::Lock;
        }
        if is_temporary_name(name) || is_other_temporary(name) {
            return Belongs::Temporary;
        }
        let is_link = || self.folder.get(name).is_some_and(|entry| entry.kind == ListedKind::Link);
        let is_retired = || name.strip_suffix(RETIRED_SUFFIX.as_bytes()) == Some(TRANSCRIPT.as_bytes());
        let is_own = is_named(&[TRANSCRIPT])
            || is_named(&FILES)
            || is_retired()
            || (is_named(&[WORKSPACE]) && is_link())
            || (is_named(&[SETTINGS]) && is_settings(self.folder))
            || (name.ends_with(b".jsonl") && self.is_copied_list(name));
        if is_own { Belongs::Own } else { Belongs::Not }
    }

    /// Tells whether a list of messages in the folder itself was copied there from
    /// `branches/`, as a fork of a branch does.
    fn is_copied_list(&self, name: &[u8]) -> bool {
        let has_original = self.folder.has_file([b"branches/", name].concat());
        has_original || (self.folder.has_file(name) && is_message_list(self.folder, name))
    }

    /// Tells whether a folder was copied along with the list of the same name.
    fn is_copied_branch(&self, name: &[u8]) -> bool {
        let list = [name, b".jsonl"].concat();
        let is_list = self.folder.has_file(&list) && self.judge_direct(&list) == Belongs::Own;
        is_list && is_event_log(self.folder, &[name, b"/events.jsonl"].concat())
    }

    /// Tells whether a folder is one that gptme makes, or nothing at all lies below it:
    /// then there is nobody else's file to take with it.
    pub(super) fn is_own_folder(&self, path: &[u8]) -> bool {
        let first = divided(path).map_or(path, |(first, _)| first);
        let is_known = [&b"branches"[..], b"views", b"files", b"attachments", b"tool-outputs", b"workspace"].contains(&first);
        let is_inside = |other: &&[u8]| path.strip_prefix(*other).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"));
        (is_known || !self.filled.contains(first)) && !self.others.iter().any(is_inside)
    }
}

/// Returns the first part of a path and the rest, where there are two.
fn divided(path: &[u8]) -> Option<(&[u8], &[u8])> {
    memchr::memchr(b'/', path).map(|at| (&path[..at], &path[at + 1..]))
}

fn last(path: &[u8]) -> &[u8] {
    memchr::memrchr(b'/', path).map_or(path, |at| &path[at + 1..])
}

/// Returns the folder that a path makes a conversation of its own, if it does. Directly in
/// `branches` and `views` a file of that name is a list.
fn begins_another(path: &[u8]) -> Option<&[u8]> {
    let at = memchr::memrchr(b'/', path)?;
    let (folder, name) = (&path[..at], &path[at + 1..]);
    let name = name.strip_suffix(RETIRED_SUFFIX.as_bytes()).unwrap_or(name);
    (name == TRANSCRIPT.as_bytes() && folder != b"branches" && folder != b"views").then_some(folder)
}

pub(super) fn is_lock(name: &[u8]) -> bool {
    LOCKS.iter().any(|lock| lock.as_bytes() == name)
}

fn is_temporary_name(name: &[u8]) -> bool {
    std::str::from_utf8(name).is_ok_and(is_temporary)
}

/// Tells whether a name is that of a temporary of another file than a list.
fn is_other_temporary(name: &[u8]) -> bool {
    let between = |start: &str, end: &str| {
        name.len() > start.len() + end.len() && name.starts_with(start.as_bytes()) && name.ends_with(end.as_bytes())
    };
    between(".events.jsonl.", ".tmp")
        || between(".model_selection_trace.json.", ".tmp")
        || between(".subagent-meta-", ".tmp")
        || (between("tmp", ".toml.tmp") && is_temporary_name(&name[..name.len() - ".toml.tmp".len()]))
}

/// Tells whether a name is the one that gptme gives to the copy of an attachment: 16
/// digits of its hash, and the suffix that it had.
fn is_named_by_hash(name: &[u8]) -> bool {
    const DIGITS: usize = 16;
    let (hash, suffix) = name.split_at(name.len().min(DIGITS));
    hash.len() == DIGITS
        && hash.iter().all(u8::is_ascii_hexdigit)
        && (suffix.is_empty() || suffix.starts_with(b"."))
        && !suffix.contains(&b'/')
}

/// Tells whether the settings are a conversation's: many programs have a file of that
/// name, and some keep secrets in it.
pub(super) fn is_settings(folder: &FolderView<'_>) -> bool {
    const BEGINNING: &[u8] = b"[chat]";
    if folder.is_known(crate::adapters::gptme::ID, SETTINGS) {
        return true;
    }
    let bytes = folder.all_bytes(SETTINGS);
    let has = |word: &[u8]| memchr::memmem::find(&bytes, word).is_some();
    let is_cut_off = || BEGINNING.starts_with(bytes.trim_ascii());
    let has_table = || {
        let table = std::str::from_utf8(&bytes).ok().and_then(|text| text.parse::<toml::Table>().ok());
        table.is_some_and(|table| table.contains_key("chat"))
    };
    has(BEGINNING) || has(b"[env]") || is_cut_off() || has_table()
}

/// Tells whether the settings say that the agent works in a folder inside this one.
fn settings_name_own_workspace(folder: &FolderView<'_>) -> bool {
    let bytes = folder.all_bytes(SETTINGS);
    let table = std::str::from_utf8(&bytes).ok().and_then(|text| text.parse::<toml::Table>().ok());
    let chat = table.as_ref().and_then(|table| table.get("chat")).and_then(toml::Value::as_table);
    let Some(named) = chat.and_then(|chat| chat.get(WORKSPACE)).and_then(toml::Value::as_str) else { return false };
    let own = last(folder.path().as_bytes());
    let ends_so = || {
        let parent = named.strip_suffix("/workspace").map(|parent| last(parent.as_bytes()));
        parent.is_some_and(|parent| !own.is_empty() && parent == own)
    };
    named == "@log" || ends_so()
}

/// Tells whether a file's first record is a message with a time, as all lists besides
/// the transcript have had since there are any.
pub(super) fn is_message_list(folder: &FolderView<'_>, path: &[u8]) -> bool {
    let first = folder.first_bytes(path);
    let is_whole = folder.get(path).is_some_and(|entry| first.len() as u64 >= entry.size);
    let first = if is_whole || memchr::memchr2(b'\n', b'\r', first.trim_ascii_start()).is_some() { first } else { folder.all_bytes(path) };
    let mut lines = Lines::new(&first, Newlines::Universal).filter(|line| !strip(line.text).is_empty());
    lines.next().is_some_and(|line| {
        let text = decoded(strip(line.text));
        let mut members = Vec::new();
        Record::parse(text.as_bytes(), &mut members).is_ok() && {
            members.clear();
            json::scan_object(text.as_bytes(), Dialect::Python, &mut members).is_ok()
                && members.iter().any(|member| member.name() == "timestamp")
        }
    })
}

/// Tells whether a file holds events as gptme writes them.
pub(super) fn is_event_log(folder: &FolderView<'_>, path: &[u8]) -> bool {
    folder.has_file(path)
        && Lines::new(&folder.first_bytes(path), Newlines::LineFeed).take(64).any(|line| {
            let mut members = Vec::new();
            let Ok(_) = json::scan_object(line.text.trim_ascii(), Dialect::Python, &mut members) else { return false };
            let has = |name: &str| members.iter().any(|member| member.name() == name);
            let kind = members.iter().find(|member| member.name() == "type").map(|member| member.value().to_str());
            has("seq") && has("ts") && has("payload") && kind.is_some_and(|kind| EVENT_TYPES.contains(&kind.as_ref()))
        })
}

/// What lies beside a transcript that says nothing itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Evidence {
    /// A file that gptme writes for every conversation: the folder is its own.
    Program,
    /// Lists of gptme's messages, which somebody may have put there.
    Lists,
    /// Nothing that is certainly gptme's.
    None,
}

/// Tells whether a path is the transcript, or a list of messages beside it.
pub(super) fn is_list_name(path: &[u8]) -> bool {
    let is_below = |folder: &[u8]| path.starts_with(folder) && (path.ends_with(b".jsonl") || last(path) == b".current");
    path.starts_with(TRANSCRIPT.as_bytes()) || path == b"lossless.jsonl" || is_below(b"branches/") || is_below(b"views/")
}

/// Looks at what lies beside a transcript that says nothing itself.
pub(super) fn evidence(folder: &FolderView<'_>) -> Evidence {
    let is_list = |path: &[u8], kind: &ListedKind| *kind == ListedKind::File && path.ends_with(b".jsonl") && is_message_list(folder, path);
    let has_list = |start: &'static str| folder.beginning(start).any(|(path, entry)| is_list(path, &entry.kind));
    let has_settings = || folder.get(SETTINGS).is_some_and(|entry| entry.kind == ListedKind::File && entry.size > 0) && is_settings(folder);
    let has_lossless = || folder.get("lossless.jsonl").is_some_and(|entry| is_list(b"lossless.jsonl", &entry.kind));
    if is_event_log(folder, EVENTS.as_bytes()) || has_settings() {
        Evidence::Program
    } else if has_lossless() || has_list("branches/") || has_list("views/") {
        Evidence::Lists
    } else {
        Evidence::None
    }
}

/// Tells whether a leftover holds a whole document: lines of JSON to the last
/// newline, one JSON value, or TOML.
pub(super) fn is_complete(bytes: &[u8]) -> bool {
    if bytes.is_empty() {
        return false;
    }
    let is_json = |text: &[u8]| json::validate(text, Dialect::Python).is_ok();
    let lines_of_json = || {
        bytes.ends_with(b"\n")
            && Lines::new(bytes, Newlines::Universal).filter(|line| !strip(line.text).is_empty()).all(|line| is_json(strip(line.text)))
    };
    let is_toml = || std::str::from_utf8(bytes).is_ok_and(|text| text.contains('[') && text.parse::<toml::Table>().is_ok());
    is_json(bytes) || lines_of_json() || is_toml()
}
