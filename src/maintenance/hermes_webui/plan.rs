//! What of a sessions folder can be repaired safely, session by session, and the
//! list of sessions last.

use std::collections::{BTreeMap, BTreeSet};

use crate::adapters::hermes_webui::layout::INDEX;
use crate::json::Value;
use crate::model::audit::{AuditItem, Evidence};
use crate::model::files::RelPath;
use crate::model::finding::FindingCode;
use crate::model::location::Location;
use crate::model::repair::{FileRepair, Reason, Repairs};

use super::document::{Document, is_true};
use super::edit::{compact, float};
use super::folder::{Files, Folder, SessionFile, can_have_sidecar, writer};
use super::fresh::Fresh;
use super::recovery::{self, Prompt};
use super::rows::Row;
use super::state::{self, Rows, Sessions, Word};
use super::turns::{Event, Journal};
use super::{index, runs, shrink};

/// A session of which something was written this lately may still be written.
const QUIET_NS: i64 = 60 * 1_000_000_000;
/// The program itself waits so long before it gives a turn up, in seconds.
const GRACE: f64 = 30.0;

/// Plans the repair of a folder.
pub(super) fn plan(folder: &Folder<'_>, evidence: &Evidence<'_>) -> Repairs {
    let shards = folder.sessions.values().flat_map(|files| &files.turns);
    let runs = |place: &&SessionFile<'_>| writer(place).is_some_and(|pid| (evidence.still_runs)(pid, place.listed.mtime_ns));
    if let Some(place) = shards.into_iter().find(runs) {
        // It may have any session in memory, and write it over what is repaired.
        let message = "the process that writes this journal still runs: nothing here is touched until it ends";
        let left = vec![AuditItem::new(FindingCode::SessionLive, Location::file(place.path), message)];
        return Repairs { changes: Vec::new(), left };
    }
    let known = Sessions::of(evidence);
    let in_database: Vec<String> = known.rows.iter().map(|row| row.id.clone()).collect();
    let mut planner = Planner { folder, evidence, stamp: evidence.stamp_ns as f64 / 1e9, known, repairs: Repairs::default() };
    let ids: BTreeSet<&str> = folder.sessions.keys().copied().chain(in_database.iter().map(String::as_str)).collect();
    let none = Files::default();
    for id in ids {
        planner.session(id, folder.sessions.get(id).unwrap_or(&none));
    }
    planner.index();
    planner.repairs
}

/// Returns what becomes of a sidecar when the turns that it lacks are shown again.
pub(super) fn shown_again(folder: &Folder<'_>, evidence: &Evidence<'_>, files: &Files<'_>, journal: &Journal, sidecar: &[u8]) -> Vec<u8> {
    let stamp = evidence.stamp_ns as f64 / 1e9;
    let planner = Planner { folder, evidence, stamp, known: Sessions::default(), repairs: Repairs::default() };
    let mut repaired = RepairedSidecar { bytes: sidecar.to_vec(), why: Vec::new(), is_held_back: false };
    planner.turns(files, journal, &mut repaired);
    repaired.bytes
}

struct Planner<'f, 'e> {
    folder: &'f Folder<'f>,
    evidence: &'e Evidence<'e>,
    /// The time that goes into files, in seconds.
    stamp: f64,
    known: Sessions,
    repairs: Repairs,
}

/// A sidecar on its way to be repaired.
struct RepairedSidecar {
    bytes: Vec<u8>,
    why: Vec<Reason>,
    /// Whether something waits for a database that cannot be read.
    is_held_back: bool,
}

impl RepairedSidecar {
    fn add(&mut self, code: FindingCode, what: impl Into<String>, bytes: Vec<u8>) {
        self.bytes = bytes;
        self.why.push(Reason { code, what: what.into() });
    }
}

impl Planner<'_, '_> {
    fn session(&mut self, id: &str, files: &Files<'_>) {
        if files.is_odd || !can_have_sidecar(id) || (files.is_retired && files.sidecar.is_none()) {
            return;
        }
        let live = files.sidecar.map(|place| self.folder.bytes(&place));
        let mut repaired = RepairedSidecar { bytes: live.clone().unwrap_or_default(), why: Vec::new(), is_held_back: false };
        let journal = Journal::read(files.turns.iter().map(|place| (place.path, self.folder.bytes(place))));
        self.restore(id, files, live.as_deref(), &journal, &mut repaired);
        self.turns(files, &journal, &mut repaired);
        if repaired.is_held_back {
            let message = "not repaired: the database beside the sessions cannot be read, and may know better";
            let place = Location::file(format!("{id}.json"));
            self.repairs.left.push(AuditItem::new(FindingCode::StateDbUnreadable, place, message).text("session_id", id));
        }
        if repaired.why.is_empty() {
            return;
        }
        if let Some(place) = files.all().find(|place| self.is_fresh(place)) {
            let message = "written less than a minute ago: left alone until it holds still";
            self.repairs.left.push(AuditItem::new(FindingCode::SessionLive, Location::file(place.path), message).text("session_id", id));
            return;
        }
        let path = RelPath::new(format!("{id}.json"));
        self.repairs.changes.push(FileRepair { path, bytes: repaired.bytes, why: repaired.why });
    }

    /// A time in the future says nothing about now.
    fn is_fresh(&self, place: &SessionFile<'_>) -> bool {
        (0..QUIET_NS).contains(&(self.evidence.now_ns - place.listed.mtime_ns))
    }

    /// Brings back a sidecar that is gone, unreadable or shrunken: from its
    /// backup, else from the database, else from its journals.
    fn restore(&self, id: &str, files: &Files<'_>, live: Option<&[u8]>, journal: &Journal, repaired: &mut RepairedSidecar) {
        let sidecar = live.map(Document::of);
        let is_readable = sidecar.as_ref().is_some_and(|sidecar| sidecar.fault.is_none());
        if sidecar.is_none() && self.folder.deleted.contains(id) {
            return;
        }
        if let Some(place) = files.backup {
            let bytes = self.folder.bytes(&place);
            let backup = Document::of(&bytes);
            let count = backup.count();
            match &sidecar {
                Some(sidecar) if count > sidecar.count() && !shrink::is_intended(sidecar, &backup) => {
                    let what = format!("put back its backup, which has {count} messages instead of {}", sidecar.count().max(0));
                    return repaired.add(FindingCode::ShrunkenLive, what, bytes);
                }
                None if count >= 0 => match state::word_of(self.evidence, id) {
                    Word::Known => {
                        return repaired.add(FindingCode::OrphanBackup, format!("put back its backup, which has {count} messages"), bytes);
                    }
                    Word::Unsure => repaired.is_held_back = true,
                    Word::Deleted => {}
                },
                _ => {}
            }
        }
        if is_readable {
            return;
        }
        let code = if sidecar.is_some() { FindingCode::SidecarUnreadable } else { FindingCode::StateDbMissingSidecar };
        if let Some(row) = self.known.with_messages(id) {
            let tables = self.evidence.tables_of(row.profile.as_deref());
            if let Some(Ok(messages)) = tables.map(|tables| state::messages(tables, id, Rows::All)) {
                let what = format!("make it again from the {} messages that the database has of it", messages.len());
                repaired.add(code, what, Fresh::of(row, &messages).text());
            }
            return;
        }
        // A database that knows nothing of a session says that it was deleted.
        if sidecar.is_none() && files.backup.is_none() && journal.prompts().next().is_some() {
            match state::word_of(self.evidence, id) {
                Word::Known => self.journals_alone(id, files, journal, repaired),
                Word::Unsure => repaired.is_held_back = true,
                Word::Deleted => {}
            }
        }
    }

    /// Every prompt that the journals have, with what its run put out.
    fn journals_alone(&self, id: &str, files: &Files<'_>, journal: &Journal, repaired: &mut RepairedSidecar) {
        let submitted: Vec<&Event> = journal.prompts().collect();
        let (Some(first), Some(last)) = (submitted.first(), submitted.last()) else { return };
        let fresh = Fresh {
            id: id.to_owned(),
            created_at: float(first.created_at),
            updated_at: float(last.created_at),
            origin: "_recovered_from_turn_journal",
            ..Fresh::default()
        };
        let mut bytes = fresh.text();
        for event in &submitted {
            bytes = self.shown_again(&bytes, files, &prompt_of(event));
        }
        let what = format!("make it again from the {} prompts that its turn journal has, and what came of them", submitted.len());
        repaired.add(FindingCode::OrphanJournal, what, bytes);
    }

    fn shown_again(&self, sidecar: &[u8], files: &Files<'_>, prompt: &Prompt) -> Vec<u8> {
        let run = files.run(&prompt.stream).map(|place| self.folder.bytes(place));
        recovery::recovered(&Document::of(sidecar), prompt, run.as_deref(), self.stamp)
    }

    /// Ends the waiting for a turn that has ended, and shows prompts that only a
    /// journal has.
    fn turns(&self, files: &Files<'_>, journal: &Journal, repaired: &mut RepairedSidecar) {
        let bytes = repaired.bytes.clone();
        let sidecar = Document::of(&bytes);
        if sidecar.fault.is_some() {
            return;
        }
        let code =
            |prompt: &Prompt| match journal.events.iter().rev().find(|event| !prompt.stream.is_empty() && event.stream == prompt.stream) {
                Some(event) if event.event == "submitted" => FindingCode::TurnJournalPendingTurn,
                Some(_) => FindingCode::TurnJournalInterruptedTurn,
                None => FindingCode::StalePendingTurn,
            };
        if let Some(prompt) = Prompt::waiting(&sidecar).filter(|prompt| can_be_repaired(&sidecar) && is_over(self.evidence, prompt.at)) {
            let id = sidecar.text("session_id").unwrap_or_default();
            let Some(messages) = state::active_messages(self.evidence, sidecar.text("profile").as_deref(), &id) else {
                // It may have the answer that would be said to be missing.
                repaired.is_held_back = true;
                return;
            };
            match recovery::merged(&sidecar, &prompt, &messages, self.stamp) {
                Some(bytes) => {
                    repaired.add(code(&prompt), "take over what the database has of the turn it waits for, and wait no more", bytes)
                }
                None => {
                    let what = "show the prompt it waits for, what came of it, and that it was cut short; and wait no more";
                    repaired.add(code(&prompt), what, self.shown_again(&bytes, files, &prompt));
                }
            }
        }
        for event in lost(journal, &Document::of(&repaired.bytes.clone())) {
            if files.run(&event.stream).and_then(|place| runs::end_state(&self.folder.bytes(place))).is_none() {
                let bytes = self.shown_again(&repaired.bytes, files, &prompt_of(event));
                let what = format!("show the prompt of turn {}, which only the journal has, and that it was cut short", event.turn);
                repaired.add(FindingCode::TurnJournalPendingTurn, what, bytes);
            }
        }
    }

    /// The list: rows of what was repaired or is missing, and none of what is
    /// gone.
    fn index(&mut self) {
        if self.folder.is_index_odd {
            return;
        }
        let bytes = self.folder.index.map(|place| self.folder.bytes(&place));
        let rows = bytes.as_deref().map(index::rows);
        let mut why = Vec::new();
        let mut reason = |code, what: String| why.push(Reason { code, what });
        let old = match rows {
            Some(Ok(rows)) => rows,
            Some(Err(_)) => {
                reason(FindingCode::IndexUnreadable, "make it again: it cannot be read".to_owned());
                Vec::new()
            }
            None => {
                reason(FindingCode::IndexMissing, "make it: there is none".to_owned());
                Vec::new()
            }
        };
        let listed: BTreeMap<String, Option<f64>> = old.iter().rev().filter_map(|row| Some((row.id()?, row.updated_at()))).collect();
        let mut wanted = index::Wanted::default();
        // Names that a row may have: those of files, and those that files claim.
        let mut there = BTreeSet::new();
        let changed: BTreeMap<&str, &FileRepair> = self.repairs.changes.iter().filter_map(|change| Some((stem(change)?, change))).collect();
        let on_disk = self.folder.sessions.iter().filter(|(_, files)| files.sidecar.is_some() || files.is_odd).map(|(id, _)| *id);
        for id in on_disk.chain(changed.keys().copied()).collect::<BTreeSet<&str>>() {
            there.insert(id.to_owned());
            let place = self.folder.sessions.get(id).and_then(|files| files.sidecar);
            let bytes = match (changed.get(id), place) {
                (Some(change), _) => change.bytes.clone(),
                (None, Some(place)) => self.folder.bytes(&place),
                (None, None) => continue,
            };
            let sidecar = Document::of(&bytes);
            if sidecar.fault.is_some() {
                continue;
            }
            let claimed = sidecar.text("session_id").unwrap_or_else(|| id.to_owned());
            if claimed != id {
                // The program would list it under a name that is not a file's.
                there.insert(claimed);
                continue;
            }
            match listed.get(id) {
                Some(row) if index::is_same_time(*row, sidecar.number("updated_at")) && !changed.contains_key(id) => continue,
                Some(_) => reason(FindingCode::IndexRowStale, format!("say of {id} what its file says")),
                None => reason(FindingCode::IndexMissingEntry, format!("name {id}")),
            }
            wanted.rows.insert(id.to_owned(), index::row(id, &sidecar));
        }
        // A database that cannot be read may bring back what is gone.
        let is_gone = |id: &&String| !there.contains(*id) && !self.folder.deleted.contains(*id) && self.known.unreadable.is_empty();
        wanted.gone = listed.keys().filter(is_gone).cloned().collect();
        for id in &wanted.gone {
            reason(FindingCode::IndexMissingFile, format!("no longer name {id}, whose file is gone"));
        }
        if why.is_empty() || there.is_empty() {
            return;
        }
        if let Some(place) = self.folder.index.filter(|place| self.is_fresh(place)) {
            let message = "written less than a minute ago: left alone until it holds still";
            return self.repairs.left.push(AuditItem::new(FindingCode::SessionLive, Location::file(place.path), message));
        }
        let bytes = index::rebuilt(&old, wanted);
        self.repairs.changes.push(FileRepair { path: RelPath::new(INDEX), bytes, why });
    }
}

/// Returns the session that a changed file is of.
fn stem(change: &FileRepair) -> Option<&str> {
    change.path.as_text()?.strip_suffix(".json")
}

fn prompt_of(event: &Event) -> Prompt {
    Prompt {
        content: event.raw_content.clone().filter(|value| Value::trusted(value).is_string()).unwrap_or_else(|| b"\"\"".to_vec()),
        attachments: event.attachments.as_deref().map(Value::trusted).filter(|list| is_true(Some(*list))).map(compact),
        source: None,
        at: Some(event.created_at).filter(|at| *at > 0.0),
        stream: event.stream.clone(),
    }
}

/// Tells whether a turn that began at this time can have been given up by now.
pub(super) fn is_over(evidence: &Evidence<'_>, began: Option<f64>) -> bool {
    let age = evidence.now_ns as f64 / 1e9 - began.unwrap_or(0.0);
    !(0.0..GRACE).contains(&age)
}

/// Tells whether rows may be added to a sidecar: to a list, and to none that was
/// rotated away and goes on elsewhere.
pub(super) fn can_be_repaired(sidecar: &Document<'_>) -> bool {
    !sidecar.says("pre_compression_snapshot") && sidecar.count() >= 0
}

/// Prompts that a journal has and the transcript lacks, as far as nobody can
/// have taken them out of it: nothing was ever cut, cleared or compressed, and
/// nothing was said later.
pub(super) fn lost<'j>(journal: &'j Journal, sidecar: &Document<'_>) -> Vec<&'j Event> {
    let marks = ["truncation_watermark", "truncation_boundary", "clear_generation", "intentional_shrink_generation"];
    let is_marked = |key: &str| sidecar.get(key).is_some_and(|value| !value.is_null());
    if journal.fails || sidecar.fault.is_some() || !can_be_repaired(sidecar) || marks.into_iter().any(is_marked) {
        return Vec::new();
    }
    let rows: Vec<Row> = sidecar.elements("messages").map(Row::of).collect();
    let newest = rows.iter().filter_map(|row| row.at).fold(f64::NEG_INFINITY, f64::max);
    let has = |event: &Event| rows.iter().any(|row| row.role == "user" && row.plain == event.content);
    let is_lost = |event: &&Event| event.event == "submitted" && !event.content.is_empty() && !has(event) && event.created_at > newest;
    let mut lost: Vec<&Event> = journal.latest().into_values().filter(is_lost).collect();
    lost.sort_by(|a, b| a.created_at.total_cmp(&b.created_at));
    lost
}
