//! What Hermes WebUI itself would show: `Session.load` and the readers of its
//! journals, written again from their behaviour, odd rules included. Shares
//! nothing with the rest of this adapter but the language that the program is
//! written in (`crate::runtimes::python`), so that the two cannot be wrong
//! together.
//!
//! What the program would invent (a time, an id) or take from its machine (a
//! home folder, a default model) is absent; names are in byte order, and no
//! other file exists.

mod folder;
mod journal;
mod lines;
mod meta;
mod partial;
mod paths;
mod runs;
mod sidecar;
mod unit;

use std::collections::BTreeMap;

use crate::json::{Kind, Value};
use crate::model::files::Files;
use crate::model::heads::{HeadKind, HeadName};
use crate::model::loaded::{LoadOutcome, Loader};
use crate::runtimes::python::dumps::{Form, push};
use crate::runtimes::wtf8;

use sidecar::{Rows, Session, rows_on_disk};
use unit::{PathContent, Unit};

const NO_SIDECAR: &str = "no sidecar";
const BAD_ID: &str = "bad session id";
const SIDECAR_UNREADABLE: &str = "sidecar cannot be read";
const BACKUP_UNREADABLE: &str = "backup cannot be read";
const JOURNAL_UNREADABLE: &str = "turn journal cannot be read";
const TURNS_UNDERIVABLE: &str = "turn states cannot be derived";
const NO_SUCH_LIST: &str = "no such list";

/// Returns the loader of one session's files, or of a file that serves its folder.
#[must_use]
pub fn loader(files: &Files) -> Box<dyn Loader + '_> {
    let unit = Unit::of(files);
    let main = match (unit.id, unit.sidecar) {
        (None, _) => Err(None),
        (Some(_), PathContent::Nothing) => Err(Some(NO_SIDECAR)),
        (Some(_), PathContent::Bytes(_) | PathContent::Folder) if !unit.has_safe_id() => Err(Some(BAD_ID)),
        (Some(_), PathContent::Bytes(_) | PathContent::Folder) => Session::load(unit.sidecar).ok_or(Some(SIDECAR_UNREADABLE)),
    };
    // A backup is only ever counted or put in the sidecar's place; what it shows
    // is what it would show there.
    let backup = match unit.backup {
        PathContent::Nothing => None,
        PathContent::Bytes(_) | PathContent::Folder => Some(Session::load(unit.backup)),
    };
    Box::new(Hermes { unit, main, backup })
}

struct Hermes<'a> {
    unit: Unit<'a>,
    /// The sidecar's session, or why there is none; a folder's own file has
    /// neither.
    main: Result<Session<'a>, Option<&'static str>>,
    /// The backup's session, where there is a backup and it loads.
    backup: Option<Option<Session<'a>>>,
}

/// One of the two lists of a session.
enum List {
    Messages,
    Context,
}

fn context_head() -> HeadName {
    HeadName::new(HeadKind::Context, "main")
}

fn backup_head() -> HeadName {
    HeadName::new(HeadKind::Backup, "bak")
}

fn backup_context_head() -> HeadName {
    HeadName::new(HeadKind::Backup, "bak-context")
}

impl Loader for Hermes<'_> {
    fn heads(&mut self) -> Vec<HeadName> {
        let has_context = |session: &Session<'_>| session.context().is_some();
        let mut heads = vec![HeadName::main()];
        heads.extend(self.main.as_ref().is_ok_and(has_context).then(context_head));
        if let Some(backup) = &self.backup {
            heads.push(backup_head());
            heads.extend(backup.as_ref().is_some_and(has_context).then(backup_context_head));
        }
        heads
    }

    fn load(&mut self, head: Option<&HeadName>, show: &mut dyn FnMut(&[u8])) -> LoadOutcome {
        match head {
            None => self.load_default(show),
            Some(head) => LoadOutcome { error: self.show_list(head, show).map(str::to_owned), ..LoadOutcome::default() },
        }
    }
}

impl Hermes<'_> {
    /// Returns the list that a head stands for, or why there is none to show.
    fn list(&self, head: &HeadName) -> Result<(&Session<'_>, List), Option<&'static str>> {
        if *head == HeadName::main() {
            return self.main.as_ref().map(|session| (session, List::Messages)).map_err(|error| *error);
        }
        let backup = self.backup.as_ref();
        if let Some(backup) = backup.filter(|_| *head == backup_head()) {
            return backup.as_ref().map(|session| (session, List::Messages)).ok_or(Some(BACKUP_UNREADABLE));
        }
        let of_context = match head {
            _ if *head == context_head() => self.main.as_ref().ok(),
            _ if *head == backup_context_head() => backup.and_then(Option::as_ref),
            _ => None,
        };
        of_context.filter(|session| session.context().is_some()).map(|session| (session, List::Context)).ok_or(Some(NO_SUCH_LIST))
    }

    /// Shows one list, or says why it cannot be shown.
    fn show_list(&self, head: &HeadName, show: &mut dyn FnMut(&[u8])) -> Option<&'static str> {
        match self.list(head) {
            Ok((session, List::Messages)) => session.show_messages(show),
            Ok((session, List::Context)) => session.show_context(show),
            Err(error) => return error,
        }
        None
    }

    fn load_default(&self, show: &mut dyn FnMut(&[u8])) -> LoadOutcome {
        let error = self.show_list(&HeadName::main(), show).map(str::to_owned);
        let mut facts = Facts::default();
        let session = self.main.as_ref().ok();
        if let Some(session) = session {
            facts.add_session(session);
        }
        facts.add_journals(&self.unit);
        facts.add_counts(&self.unit);
        facts.put("index_ids", folder::index_ids(self.unit.index));
        facts.put("deleted_ids", folder::deleted_ids(self.unit.tombstones));
        let unreadable = matches!(self.backup, Some(None)).then(|| (backup_head().to_string(), BACKUP_UNREADABLE.to_owned()));
        LoadOutcome {
            active: Some(HeadName::main()),
            model: session.and_then(|session| session.get("model")).and_then(words),
            summary: session.and_then(|session| session.get("compression_anchor_summary")).and_then(words).filter(|text| !text.is_empty()),
            error,
            failures: unreadable.into_iter().collect(),
            facts: facts.0,
        }
    }
}

/// Returns a value as words: a string's own text, nothing for null, else JSON.
fn words(value: Value<'_>) -> Option<String> {
    match value.kind() {
        Kind::String => Some(wtf8::readable(&wtf8::decode(value.text()))),
        Kind::Null => None,
        Kind::Object | Kind::Array | Kind::Number | Kind::True | Kind::False => {
            let mut out = Vec::new();
            push(value, Form::Utf8, &mut out);
            Some(String::from_utf8_lossy(&out).into_owned())
        }
    }
}

#[derive(Default)]
struct Facts(BTreeMap<String, String>);

impl Facts {
    fn put(&mut self, name: &str, value: Option<String>) {
        self.0.extend(value.map(|value| (name.to_owned(), value)));
    }

    fn add_session(&mut self, session: &Session<'_>) {
        self.put("title", session.get("title").map_or(Some("Untitled".to_owned()), words));
        self.put("meta", Some(meta::attributes(session)));
        let calls = session.get("tool_calls").filter(|calls| calls.is_array());
        let calls = calls.map(|calls| calls.elements().count()).filter(|count| *count > 0);
        self.put("tool_calls", calls.map(|count| count.to_string()));
        self.put(
            "messages_kind",
            match session.messages() {
                Rows::List(_) => None,
                Rows::Other(kind) => Some(format!("{kind:?}").to_lowercase()),
            },
        );
    }

    fn add_journals(&mut self, unit: &Unit<'_>) {
        if !unit.turns.is_empty() {
            let journal = unit.has_journal_id().then(|| journal::read(&unit.turns)).flatten();
            match journal {
                None => self.put("journal_error", Some(JOURNAL_UNREADABLE.to_owned())),
                Some(journal) => {
                    let count = |count: usize| (count > 0).then(|| count.to_string());
                    self.put("journal_events", count(journal.count()));
                    self.put("journal_malformed", count(journal.malformed));
                    match journal.turns() {
                        None => self.put("journal_error", Some(TURNS_UNDERIVABLE.to_owned())),
                        Some(turns) => {
                            self.put("turns", turns.states);
                            self.put("turn_collisions", turns.collisions);
                        }
                    }
                }
            }
        }
        if unit.has_journal_id() {
            let runs = runs::summarise(&unit.runs);
            self.put("runs", runs.summaries);
            self.put("run_errors", runs.failures);
        }
    }

    fn add_counts(&mut self, unit: &Unit<'_>) {
        if unit.backup != PathContent::Nothing {
            self.put("live_messages", Some(rows_on_disk(unit.sidecar)));
            self.put("bak_messages", Some(rows_on_disk(unit.backup)));
        }
    }
}

#[cfg(test)]
mod tests;
