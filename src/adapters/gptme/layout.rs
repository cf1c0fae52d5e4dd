//! Which file of a session is what.

use crate::json::{self, Dialect};
use crate::model::files::{Entry, Files, RelPath, SourceFile};
use crate::model::heads::{HeadKind, HeadName};
use crate::model::jsonl::{Lines, Newlines};
use crate::runtimes::python::text::{strip, strip_bytes, strip_str};

use super::wire::Record;

/// The id of this format.
pub(super) const ID: &str = "gptme";

/// What the program itself shows, and the rest is copies or evidence.
pub(crate) const TRANSCRIPT: &str = "conversation.jsonl";

/// JSON Lines in a session's folder that hold no messages.
const COMPANIONS: [&str; 10] = [
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

/// What a file of a session is read as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Role {
    /// A list of messages: this head.
    Messages(HeadName),
    /// An event log: this head.
    Events(HeadName),
    /// An event log where a branch should be (0.32): this head, and a branch
    /// that the loader finds empty.
    MisplacedEvents(HeadName),
    /// A file without records that we understand.
    Companion,
}

/// Returns what a regular file is, by its path and, where the path leaves it open, by
/// its first records.
pub(crate) fn role(path: &RelPath, file: &SourceFile) -> Role {
    let Some(path) = path.as_text() else { return Role::Companion };
    let head = |kind, name: &str| HeadName::new(kind, name);
    match path.split('/').collect::<Vec<_>>().as_slice() {
        [TRANSCRIPT] => Role::Messages(HeadName::main()),
        ["lossless.jsonl"] => Role::Messages(head(HeadKind::Backup, "lossless")),
        ["events.jsonl"] => Role::Events(head(HeadKind::Events, "main")),
        ["branches", "events.jsonl"] if holds_events(&file.bytes) => Role::MisplacedEvents(head(HeadKind::Events, "*")),
        // A branch of this name would hide the conversation; the loader does
        // not look at it.
        ["branches", "main.jsonl"] => Role::Companion,
        ["branches", name] => stem(name).map_or(Role::Companion, |stem| Role::Messages(head(HeadKind::Branch, stem))),
        ["views", name] => stem(name).map_or(Role::Companion, |stem| Role::Messages(head(HeadKind::View, stem))),
        ["branches", branch, "events.jsonl"] => Role::Events(head(HeadKind::Events, branch)),
        [name] if is_stray_list(name, &file.bytes) => Role::Messages(head(HeadKind::Backup, name)),
        _ => Role::Companion,
    }
}

/// Returns the path of the transcript. A session of one file was named by a person as the
/// transcript of one, whatever its name is.
pub(crate) fn transcript(files: &Files) -> Option<&RelPath> {
    let named = files.iter().find(|(path, entry)| path.as_bytes() == TRANSCRIPT.as_bytes() && matches!(entry, Entry::File(_)));
    let lone = || files.lone_file().filter(|(path, _)| path.as_bytes() != b"events.jsonl").map(|(path, _)| path);
    named.map(|(path, _)| path).or_else(lone)
}

/// Returns a file's name without `.jsonl`, as `pathlib` gives it: a name that is
/// nothing but the suffix keeps it.
fn stem(name: &str) -> Option<&str> {
    let stem = name.strip_suffix(".jsonl")?;
    Some(if stem.is_empty() { name } else { stem })
}

/// Tells whether a file's first JSON object is an event. Lines are taken as those of
/// an event log are: what is not UTF-8 is skipped.
fn holds_events(bytes: &[u8]) -> bool {
    let mut members = Vec::new();
    let first = Lines::new(bytes, Newlines::LineFeed)
        .map(|line| strip_bytes(line.text))
        .find(|text| std::str::from_utf8(text).is_ok() && json::scan_object(text, Dialect::Python, &mut Vec::new()).is_ok());
    first.is_some_and(|text| json::scan_object(text, Dialect::Python, &mut members).is_ok())
        && ["seq", "payload"].iter().all(|key| members.iter().any(|member| member.name() == *key))
}

/// A temporary of the program's atomic writes: `tmp` and eight characters.
pub(crate) fn is_temporary(name: &str) -> bool {
    name.strip_prefix("tmp").is_some_and(|rest| rest.len() == 8 && rest.bytes().all(|b| matches!(b, b'a'..=b'z' | b'0'..=b'9' | b'_')))
}

/// Tells whether a file in the session's folder is a list of messages that the
/// loader does not look at: left by a fork from a branch, or by a crash. A
/// temporary counts only when it is complete.
fn is_stray_list(name: &str, bytes: &[u8]) -> bool {
    let temporary = is_temporary(name);
    if COMPANIONS.contains(&name) || !(temporary || name.ends_with(".jsonl")) {
        return false;
    }
    let mut records = Lines::new(bytes, Newlines::Universal).filter(|line| !strip(line.text).is_empty());
    let accepted = |text: &[u8]| {
        let text = String::from_utf8_lossy(strip(text));
        Record::parse(text.as_bytes(), &mut Vec::new()).is_ok()
    };
    let Some(first) = records.next() else { return false };
    accepted(first.text) && (!temporary || (bytes.ends_with(b"\n") && records.all(|line| accepted(line.text))))
}

/// What the marker of the active view says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Marker {
    /// There is none.
    Absent,
    /// It names this view.
    View(String),
    /// It names none that is there.
    Missing(String),
    /// It cannot be decoded, and the load fails.
    Undecodable,
}

/// Reads the marker of the active view.
pub(crate) fn active_view(files: &Files) -> Marker {
    let Some(marker) = files.file("views/.current") else { return Marker::Absent };
    let Ok(text) = std::str::from_utf8(&marker.bytes) else { return Marker::Undecodable };
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let name = strip_str(&text).to_owned();
    let path = RelPath::new(format!("views/{name}.jsonl"));
    let names_a_view = !name.is_empty() && !name.contains(['/', '\\']) && matches!(files.entry(&path), Some(Entry::File(_)));
    if names_a_view { Marker::View(name) } else { Marker::Missing(name) }
}

/// Tells whether a folder stands where the program would open a branch or a view.
pub(crate) fn folder_in_place_of_a_list(files: &Files) -> Option<String> {
    files.iter().find_map(|(path, entry)| {
        let parts: Vec<&str> = path.as_text()?.split('/').collect();
        let (["branches" | "views", name] | ["branches" | "views", name, ..]) = parts.as_slice() else { return None };
        let is_folder = parts.len() > 2 || *entry == Entry::EmptyFolder;
        (is_folder && name.ends_with(".jsonl")).then(|| format!("{}/{name}", parts[0]))
    })
}

/// Tells whether the program, asked for this session, looks in the parent folder
/// instead.
pub(crate) fn looks_elsewhere(files: &Files) -> bool {
    let is_folder = transcript(files).is_none_or(|path| path.as_bytes() == TRANSCRIPT.as_bytes());
    is_folder && files.name().ends_with(".jsonl")
}

/// What `config.toml` says about a session.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Config {
    pub title: Option<String>,
    pub model: Option<String>,
    pub cwd: Option<String>,
}

/// Reads `config.toml`; an error says why it cannot be read.
pub(crate) fn config(files: &Files) -> Result<Config, String> {
    let Some(file) = files.file("config.toml") else { return Ok(Config::default()) };
    let text = std::str::from_utf8(&file.bytes).map_err(|_| "not UTF-8".to_owned())?;
    if text.starts_with('\u{feff}') {
        return Err("it begins with a byte order mark, which Python's parser does not take".to_owned());
    }
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| error.message().to_owned())?;
    let chat = table.get("chat").and_then(toml::Value::as_table);
    let field = |name: &str| chat.and_then(|chat| chat.get(name)).and_then(toml::Value::as_str).map(str::to_owned);
    Ok(Config { title: field("name"), model: field("model"), cwd: field("workspace") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_config_with_a_byte_order_mark_is_none_to_python() {
        let config_of = |text: &str| {
            let mut files = Files::new("chat");
            files.insert(RelPath::new("config.toml"), Entry::File(SourceFile { bytes: text.as_bytes().to_vec(), mtime_ns: 0 }));
            config(&files)
        };
        assert_eq!(config_of("[chat]\nmodel = \"m\"\n").unwrap_or_default().model.as_deref(), Some("m"));
        assert!(config_of("\u{feff}[chat]\nmodel = \"m\"\n").is_err_and(|why| why.contains("byte order mark")));
    }

    fn role_of(path: &str, bytes: &[u8]) -> Role {
        role(&RelPath::new(path), &SourceFile { bytes: bytes.to_vec(), mtime_ns: 0 })
    }

    #[test]
    fn each_file_has_its_role() {
        let message = b"{\"role\": \"user\", \"content\": \"x\"}\n";
        let event = b"garbage\n{\"seq\": 1, \"ts\": \"t\", \"type\": \"undo\", \"payload\": {}}\n";
        let messages = |text: &str| Role::Messages(HeadName::parse(text));
        assert_eq!(role_of("conversation.jsonl", b""), messages("main"));
        assert_eq!(role_of("branches/v1.2 test.jsonl", b""), messages("v1.2 test"));
        assert_eq!(role_of("branches/events.jsonl", event), Role::MisplacedEvents(HeadName::parse("events:*")));
        assert_eq!(role_of("branches/events.jsonl", message), messages("events"));
        assert_eq!(role_of("branches/alt/events.jsonl", event), Role::Events(HeadName::parse("events:alt")));
        assert_eq!(role_of("views/c.jsonl", b""), messages("view:c"));
        assert_eq!(role_of("alt.jsonl", message), messages("backup:alt.jsonl"));
        assert_eq!(role_of("tmpab12cd34", message), messages("backup:tmpab12cd34"));
        assert_eq!(role_of("tmpab12cd34", &message[..20]), Role::Companion);
        assert_eq!(role_of("alt/events.jsonl", event), Role::Companion);
        assert_eq!(role_of("config.toml", b""), Role::Companion);
    }
}
