//! Which file of a session is which list, and in what order a load reads them.

use std::collections::BTreeSet;

use crate::model::files::{Entry, Files, SourceFile};
use crate::model::heads::{HeadKind, HeadName};

use super::events::holds_events;
use super::transcript::records;

/// So deep a nesting of the main transcript raises `RecursionError`, which
/// nothing catches. Measured with gptme 0.35.1 on CPython 3.11.7, where
/// `LogManager.load` is called from the top of a module and 991 still parses;
/// each further caller takes one level away.
pub const TOO_DEEP_IN_MAIN: usize = 992;

/// The nesting that raises it in branches, views and the lossless copy, which the
/// constructor reads from two calls further down.
pub const TOO_DEEP_BESIDE: usize = 990;

/// The main transcript.
pub const MAIN: &str = "conversation.jsonl";
/// The full history that a compacted transcript has left.
pub const LOSSLESS: &str = "lossless.jsonl";

/// Files beside the main transcript that hold no messages, or have a name of
/// their own.
const COMPANIONS: [&str; 12] = [
    MAIN,
    LOSSLESS,
    "events.jsonl",
    "conv-checkpoints.jsonl",
    "prompt-queue.jsonl",
    "control.jsonl",
    "progress.jsonl",
    "compaction.jsonl",
    "phase0-shadow.jsonl",
    "lesson-emissions.jsonl",
    "skill-events.jsonl",
    "context-savings.jsonl",
];

/// Returns the main transcript: one file by itself is one, whatever its name.
#[must_use]
pub fn main_file(files: &Files) -> Option<&SourceFile> {
    let alone = || files.lone_file().filter(|(path, _)| path.as_bytes() != b"events.jsonl").map(|(_, file)| file);
    files.file(MAIN).or_else(alone)
}

/// Tells whether the main transcript is a file by itself, under another name.
#[must_use]
pub fn is_alone(files: &Files) -> bool {
    files.file(MAIN).is_none() && main_file(files).is_some()
}

/// Returns every head that has a file.
#[must_use]
pub fn heads(files: &Files) -> Vec<HeadName> {
    let mut found = BTreeSet::new();
    if is_alone(files) {
        return vec![HeadName::main()];
    }
    for (path, entry) in files.iter() {
        let (Entry::File(file), Some(path)) = (entry, path.as_text()) else { continue };
        match path.split('/').collect::<Vec<_>>().as_slice() {
            [MAIN] => found.extend([HeadName::main()]),
            [LOSSLESS] => found.extend([HeadName::new(HeadKind::Backup, "lossless")]),
            ["events.jsonl"] => found.extend([HeadName::new(HeadKind::Events, "main")]),
            [name] if is_stray_transcript(name, file) => found.extend([HeadName::new(HeadKind::Backup, *name)]),
            ["views", name] if name.ends_with(".jsonl") => found.extend([HeadName::new(HeadKind::View, stem(name))]),
            ["branches", name] if name.ends_with(".jsonl") => {
                // A branch file called main is never read: that name is taken.
                found.extend((stem(name) != "main").then(|| HeadName::new(HeadKind::Branch, stem(name))));
                found.extend((*name == "events.jsonl" && holds_events(file)).then(|| HeadName::new(HeadKind::Events, "*")));
            }
            ["branches", name, "events.jsonl"] => found.extend([HeadName::new(HeadKind::Events, *name)]),
            _ => {}
        }
    }
    found.into_iter().collect()
}

/// Returns the file of a head, if it has one.
#[must_use]
pub fn file_of<'f>(files: &'f Files, head: &HeadName) -> Option<&'f SourceFile> {
    let name = head.name.as_str();
    match head.kind {
        HeadKind::Branch if name == "main" => main_file(files),
        HeadKind::Branch => in_folder(files, "branches", name),
        HeadKind::View => in_folder(files, "views", name),
        HeadKind::Backup if is_alone(files) => None,
        HeadKind::Backup if name == "lossless" => files.file(LOSSLESS),
        HeadKind::Backup => files.file(name).filter(|file| is_stray_transcript(name, file)),
        HeadKind::Events => events_file(files, name),
        HeadKind::Context => None,
    }
}

fn in_folder<'f>(files: &'f Files, folder: &str, name: &str) -> Option<&'f SourceFile> {
    let file = files.file(&format!("{folder}/{name}.jsonl"));
    // A file called just `.jsonl` is its own stem.
    file.or_else(|| files.file(&format!("{folder}/{name}")).filter(|_| name == ".jsonl"))
}

fn events_file<'f>(files: &'f Files, name: &str) -> Option<&'f SourceFile> {
    let special = match name {
        "main" => files.file("events.jsonl"),
        "*" => files.file("branches/events.jsonl").filter(|file| holds_events(file)),
        _ => None,
    };
    special.or_else(|| files.file(&format!("branches/{name}/events.jsonl")).filter(|_| !name.contains('/')))
}

/// `Path(name).stem` of a name that ends in `.jsonl`.
fn stem(name: &str) -> &str {
    name.strip_suffix(".jsonl").filter(|stem| !stem.is_empty()).unwrap_or(name)
}

/// Tells whether a file in the session's folder is a transcript that the program has
/// left there, or that a person has.
fn is_stray_transcript(name: &str, file: &SourceFile) -> bool {
    let is_leftover = name
        .strip_prefix("tmp")
        .is_some_and(|random| random.len() == 8 && random.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'));
    if is_leftover {
        // Half a rewrite says nothing that the file it was to replace does not.
        let mut records = records(file, TOO_DEEP_IN_MAIN).peekable();
        return file.bytes.ends_with(b"\n") && records.peek().is_some() && records.all(|record| record.is_ok());
    }
    let is_list = name.ends_with(".jsonl") && !name.contains('/') && !COMPANIONS.contains(&name);
    is_list && records(file, TOO_DEEP_IN_MAIN).next().is_some_and(|record| record.is_ok())
}

/// What a load finds where it expects a transcript.
pub enum TranscriptEntry<'f> {
    /// A file.
    File(&'f SourceFile),
    /// A folder, which cannot be read.
    Folder,
}

/// Returns what `*.jsonl` finds in a folder of the session, in byte order; the program
/// takes them as the disk gives them. Names need not be UTF-8.
fn glob<'f>(files: &'f Files, folder: &[u8]) -> Vec<(&'f [u8], TranscriptEntry<'f>)> {
    let mut found: Vec<(&[u8], TranscriptEntry<'_>)> = Vec::new();
    for (path, entry) in files.iter() {
        let Some(rest) = path.as_bytes().strip_prefix(folder) else { continue };
        let name = rest.split(|b| *b == b'/').next().unwrap_or_default();
        let is_inside = name.len() < rest.len();
        if !name.ends_with(b".jsonl") || found.last().is_some_and(|(last, _)| *last == name) {
            continue;
        }
        match entry {
            _ if is_inside => found.push((name, TranscriptEntry::Folder)),
            Entry::File(file) => found.push((name, TranscriptEntry::File(file))),
            Entry::EmptyFolder => found.push((name, TranscriptEntry::Folder)),
            Entry::Rows(_) | Entry::Link { .. } => {}
        }
    }
    found
}

/// Everything that a load reads as a transcript, in its order, with the nesting
/// that is too deep there.
#[must_use]
pub fn transcripts(files: &Files) -> Vec<(TranscriptEntry<'_>, usize)> {
    let main = main_file(files);
    if is_alone(files) {
        return main.map(|file| (TranscriptEntry::File(file), TOO_DEEP_IN_MAIN)).into_iter().collect();
    }
    // The name of the main branch is taken as soon as there is one.
    let is_read = |(name, _): &(&[u8], _)| main.is_none() || *name != b"main.jsonl";
    let branches = glob(files, b"branches/").into_iter().filter(is_read);
    let lossless = glob(files, b"").into_iter().filter(|(name, _)| *name == LOSSLESS.as_bytes());
    let views = glob(files, b"views/").into_iter();
    let beside = branches.chain(lossless).chain(views).map(|(_, found)| (found, TOO_DEEP_BESIDE));
    main.map(|file| (TranscriptEntry::File(file), TOO_DEEP_IN_MAIN)).into_iter().chain(beside).collect()
}

/// Tells whether a load finds a view of this name.
#[must_use]
pub fn has_view(files: &Files, name: &str) -> bool {
    in_folder(files, "views", name).is_some()
}
