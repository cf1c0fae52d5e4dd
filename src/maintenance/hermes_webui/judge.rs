//! The audit of a sessions folder: what its program's own audit says, and what
//! that leaves out. Read-only, session by session in byte order of id.

use std::collections::{BTreeMap, BTreeSet};

use crate::adapters::hermes_webui::layout::INDEX;
use crate::model::audit::{AuditItem, Evidence, RepairedBy};
use crate::model::digest::sha256_hex;
use crate::model::finding::{FindingCode, Severity};
use crate::model::location::Location;

use super::document::Document;
use super::folder::{Files, Folder, SessionFile, can_have_sidecar, writer};
use super::rows::{Row, Shown, shown};
use super::state::{self, Sessions, Word};
use super::turns::{Event, Journal};
use super::{index, plan, runs, shrink};

/// One audit in progress.
pub(super) struct Judge<'f, 'e> {
    folder: &'f Folder<'f>,
    evidence: &'e Evidence<'e>,
    pub items: Vec<AuditItem>,
    /// What the sidecars say: their `updated_at`, by file name.
    updated: BTreeMap<&'f str, Option<f64>>,
    /// Messages of each session id that a sidecar claims, by file.
    claimed: BTreeMap<String, Vec<(&'f str, String)>>,
    counts: BTreeMap<&'f str, i64>,
    /// Session ids that sidecars of another name claim, and those sidecars.
    elsewhere: BTreeSet<String>,
    /// What the databases have.
    known: Sessions,
    /// Sessions whose file is gone while the database has them.
    in_database: BTreeSet<String>,
}

/// What a turn is judged by.
#[derive(Clone, Copy)]
struct Seen<'a, 'f> {
    id: &'a str,
    files: &'a Files<'f>,
    live_messages: i64,
    rows: &'a [Row],
    journal: &'a Journal,
    /// Turns whose prompt can be shown again.
    lost: &'a [&'a Event],
}

/// Whether the sidecar waits for a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waits {
    Here,
    No,
}

/// Judges a whole folder.
pub(super) fn judge<'f>(folder: &'f Folder<'f>, evidence: &Evidence<'_>) -> Vec<AuditItem> {
    let mut judge = Judge {
        folder,
        evidence,
        items: Vec::new(),
        updated: BTreeMap::new(),
        claimed: BTreeMap::new(),
        counts: BTreeMap::new(),
        elsewhere: BTreeSet::new(),
        known: Sessions::of(evidence),
        in_database: BTreeSet::new(),
    };
    judge.database();
    for (id, files) in &folder.sessions {
        judge.session(id, files);
    }
    judge.duplicates();
    judge.index();
    judge.items
}

impl<'f> Judge<'f, '_> {
    fn add(&mut self, item: AuditItem) {
        self.items.push(item);
    }

    /// Sessions that only the database has.
    fn database(&mut self) {
        for (file, why) in self.known.unreadable.clone() {
            let message = format!("the database beside the sessions cannot be read ({why}); nothing is known of what it holds");
            self.add(AuditItem::new(FindingCode::StateDbUnreadable, Location::file(file), message));
        }
        let is_there =
            |id: &str| self.folder.sessions.get(id).is_some_and(|files| files.sidecar.is_some() || files.is_retired || files.is_odd);
        for row in self.known.rows.iter().filter(|row| !is_there(&row.id)).cloned().collect::<Vec<_>>() {
            let has_backup = self.folder.sessions.get(row.id.as_str()).is_some_and(|files| files.backup.is_some());
            let item = |code, message: &str| {
                let item = AuditItem::new(code, Location::file(format!("{}.json", row.id)), message).text("session_id", &row.id);
                item.count("live_messages", -1).count("bak_messages", -1)
            };
            if self.folder.deleted.contains(&row.id) {
                if !has_backup {
                    self.add(item(FindingCode::StateDbDeletedWebuiTombstone, "deleted for good, and still in the database; stays deleted"));
                }
            } else if row.messages == 0 {
                self.add(item(FindingCode::StateDbOrphanWebuiRow, "only a row in the database, without a message: nothing to restore"));
            } else {
                let what = "the session's own file is gone; the database still has its messages";
                let item = item(FindingCode::StateDbMissingSidecar, what);
                self.add(if can_have_sidecar(&row.id) { item.repairable() } else { item });
                self.in_database.insert(row.id);
            }
        }
    }

    fn session(&mut self, id: &'f str, files: &Files<'f>) {
        if files.is_retired && files.sidecar.is_none() {
            return;
        }
        let before = self.items.len();
        let backup = files.backup.map(|place| self.folder.bytes(&place));
        let live = files.sidecar.map(|place| self.folder.bytes(&place)).unwrap_or_default();
        let document = Document::of(&live);
        match (files.sidecar, files.backup) {
            (Some(place), _) => self.live(id, files, place, &document, backup.as_deref()),
            (None, Some(place)) => self.orphan_backup(id, place, backup.as_deref().unwrap_or_default()),
            (None, None) => self.orphan_journals(id, files),
        }
        self.journals(id, files, &document);
        self.temporaries(id, files, &document);
        if files.is_odd {
            // Whoever put a link there knows better where it should lead.
            self.items[before..].iter_mut().for_each(|item| item.repaired_by = RepairedBy::Hand);
        }
    }

    fn live(&mut self, id: &'f str, files: &Files<'f>, place: SessionFile<'f>, live: &Document<'_>, backup: Option<&[u8]>) {
        let backup = backup.map(Document::of);
        let (live_count, bak_count) = (live.count(), backup.as_ref().map_or(-1, Document::count));
        self.updated.insert(id, live.number("updated_at"));
        self.counts.insert(id, live_count);
        if live.fault.is_none() {
            let claimed = live.text("session_id").unwrap_or_else(|| id.to_owned());
            if claimed != id {
                self.elsewhere.extend([claimed.clone(), id.to_owned()]);
            }
            self.claimed.entry(claimed).or_default().push((id, sha256_hex(live.get("messages").map_or(&[], |messages| messages.text()))));
        }
        if let Some(backup) = &backup
            && bak_count > live_count
            && !shrink::is_intended(live, backup)
        {
            let what = if live_count < 0 { "cannot be read".to_owned() } else { format!("has {live_count} messages") };
            let message = format!("the sidecar {what}, its backup has {bak_count}, and nothing says that it was meant to shrink");
            let item = AuditItem::new(FindingCode::ShrunkenLive, Location::file(place.path), message).repairable();
            self.add(item.text("session_id", id).count("live_messages", live_count).count("bak_messages", bak_count));
        } else if let Some((at, why)) = live.fault {
            let message = format!("Hermes WebUI cannot open this session: {why}");
            let item = AuditItem::new(FindingCode::SidecarUnreadable, Location::of_offset(place.path, live.bytes, at), message);
            let is_known = self.known.with_messages(id).is_some();
            self.add(if is_known { item.repairable() } else { item }.text("session_id", id));
        }
        if let (Some(place), Some((at, why))) = (files.backup, backup.as_ref().and_then(|backup| backup.fault)) {
            let bytes = backup.as_ref().map_or(&[][..], |backup| backup.bytes);
            let message = format!("this backup cannot be read: {why}");
            self.add(
                AuditItem::new(FindingCode::BackupUnreadable, Location::of_offset(place.path, bytes, at), message).text("session_id", id),
            );
        }
    }

    fn orphan_backup(&mut self, id: &str, place: SessionFile<'_>, bytes: &[u8]) {
        let backup = Document::of(bytes);
        let count = backup.count();
        let at = |at: usize| Location::of_offset(place.path, bytes, at);
        let item = if count < 0 {
            let (byte, why) = backup.fault.unwrap_or((0, "it holds no list of messages"));
            AuditItem::new(
                FindingCode::MalformedOrphanBackup,
                at(byte),
                format!("a backup without its sidecar, and it cannot be read: {why}"),
            )
        } else if self.folder.deleted.contains(id) {
            let message = "a backup of a session that was deleted for good; stays deleted";
            AuditItem::new(FindingCode::StateDbDeletedWebuiTombstone, Location::file(place.path), message)
        } else {
            let message = format!("the session's own file is gone; this backup has {count} messages");
            let item = AuditItem::new(FindingCode::OrphanBackup, Location::file(place.path), message);
            match state::word_of(self.evidence, id) {
                Word::Known => item.repairable(),
                Word::Unsure => item,
                Word::Deleted => {
                    let message =
                        "a backup without its sidecar, of a session that the database does not know: deleted, or never the agent's";
                    AuditItem::new(FindingCode::OrphanBackupWithoutStateRow, Location::file(place.path), message)
                }
            }
        };
        self.add(item.text("session_id", id).count("live_messages", -1).count("bak_messages", count));
    }

    fn orphan_journals(&mut self, id: &str, files: &Files<'f>) {
        if self.in_database.contains(id) {
            return;
        }
        let Some(first) = files.turns.first().or(files.runs.first()) else { return };
        let place = Location::file(first.path);
        let item = if self.folder.deleted.contains(id) {
            AuditItem::new(FindingCode::OrphanJournal, place, "journals of a session that was deleted for good").matters(Severity::Info)
        } else if files.turns.is_empty() {
            let message = "runs without a session, as side questions leave them";
            AuditItem::new(FindingCode::OrphanJournal, place, message).matters(Severity::Info)
        } else {
            let item = AuditItem::new(FindingCode::OrphanJournal, place, "the session of these journals is gone");
            // A database that knows nothing of it says that it was deleted.
            let journal = Journal::read(files.turns.iter().map(|place| (place.path, self.folder.bytes(place))));
            let has_prompts = can_have_sidecar(id) && journal.prompts().next().is_some();
            if has_prompts && state::word_of(self.evidence, id) == Word::Known { item.repairable() } else { item }
        };
        self.add(item.text("session_id", id));
    }

    fn journals(&mut self, id: &str, files: &Files<'f>, live: &Document<'_>) {
        let journal = Journal::read(files.turns.iter().map(|place| (place.path, self.folder.bytes(place))));
        let pending = live.text("pending_user_message").filter(|prompt| !prompt.is_empty());
        let is_repairable = pending.is_some() && plan::can_be_repaired(live);
        let stream = live.text("active_stream_id").filter(|stream| is_repairable && !stream.is_empty());
        let runs = |place: &SessionFile<'_>| writer(place).is_some_and(|pid| (self.evidence.still_runs)(pid, place.listed.mtime_ns));
        let is_over = plan::is_over(self.evidence, live.number("pending_started_at").filter(|at| *at > 0.0));
        let is_running = pending.is_some() && (!is_over || files.turns.iter().any(runs));
        for bad in &journal.malformed {
            let message = format!("the program cannot use this line of its turn journal: {}", bad.why);
            let place = Location::at(&bad.path, bad.line, bad.byte);
            self.add(AuditItem::new(FindingCode::TurnJournalMalformedEvent, place, message).text("session_id", id));
        }
        let mut is_said = false;
        if !journal.fails {
            for end in journal.collisions() {
                let message = format!("turn {} ends more than once; its reader takes the last end, {}", end.turn, end.event);
                let place = Location::at(&end.path, end.line, 1);
                let item = AuditItem::new(FindingCode::TurnJournalTerminalCollision, place, message);
                self.add(item.text("session_id", id).text("turn_id", &end.turn));
            }
            let rows: Vec<Row> = live.elements("messages").map(Row::of).collect();
            let lost = plan::lost(&journal, live);
            let seen = Seen { id, files, live_messages: live.count(), rows: &rows, journal: &journal, lost: &lost };
            let repaired = stream.as_ref().map(|_| plan::shown_again(self.folder, self.evidence, files, &journal, live.bytes));
            let rows: Vec<Row> =
                repaired.iter().flat_map(|bytes| Document::of(bytes).elements("messages").map(Row::of).collect::<Vec<_>>()).collect();
            let then = Seen { rows: &rows, lost: &[], ..seen };
            for (turn, event) in journal.latest() {
                let waits = if stream.as_ref() == Some(&event.stream) { Waits::Here } else { Waits::No };
                if waits == Waits::Here && is_running {
                    continue;
                }
                if let Some(mut item) = self.turn(&seen, turn, event, waits) {
                    if waits == Waits::Here {
                        // What the repair leaves may still be a turn without an end.
                        let left = self.turn(&then, turn, event, Waits::No);
                        let is_better = left.is_none_or(|left| left.finding.severity < item.finding.severity);
                        item.repaired_by = if is_better { RepairedBy::Everlog } else { RepairedBy::Hand };
                        is_said |= is_better;
                    }
                    self.add(item);
                }
            }
        }
        if let (Some(_), Some(place), false) = (pending, files.sidecar, is_said) {
            let item = if is_running {
                let message = "a turn is running, or began a moment ago";
                AuditItem::new(FindingCode::SessionLive, Location::file(place.path), message)
            } else {
                let message = "a prompt waits in the sidecar for a run that has ended";
                let item = AuditItem::new(FindingCode::StalePendingTurn, Location::file(place.path), message);
                let can_be_asked = state::active_messages(self.evidence, live.text("profile").as_deref(), id).is_some();
                if is_repairable && can_be_asked { item.repairable() } else { item }
            };
            self.add(item.text("session_id", id));
        }
    }

    /// Returns what is left open of one turn.
    fn turn(&self, seen: &Seen<'_, 'f>, turn: &str, event: &Event, waits: Waits) -> Option<AuditItem> {
        let place = Location::at(&event.path, event.line, 1);
        let said = |item: AuditItem| item.text("session_id", seen.id).text("turn_id", turn).text("event", &event.event);
        if event.event == "completed" {
            return None;
        }
        // The program's own rule: what was asked stands in no row.
        let is_missing = !event.content.is_empty() && !seen.rows.iter().any(|row| row.role == "user" && row.plain == event.content);
        if !event.is_end() && is_missing {
            let message = "a prompt was submitted, and the transcript does not have it";
            let item = AuditItem::new(FindingCode::TurnJournalPendingTurn, place, message);
            let is_lost = seen.lost.iter().any(|lost| lost.turn == turn) && !self.has_ended(seen.files, &event.stream);
            let item = if is_lost { item.repairable() } else { item };
            return Some(said(item).count("live_messages", seen.live_messages).count("bak_messages", -1));
        }
        let visible = shown(seen.rows, &event.stream, seen.journal.submitted(turn));
        let (severity, message) = match (event.event.as_str(), visible) {
            // Taken out of the transcript since, or rotated into another one.
            (_, Shown::Nothing) if waits == Waits::No => return None,
            ("interrupted", Shown::Interruption) => (Severity::Info, "this turn was cut short, and the transcript shows it"),
            ("interrupted", Shown::Answer) => (Severity::Info, "this turn was cut short; the transcript shows what came of it"),
            ("interrupted", _) => (Severity::Warn, "this turn was cut short, and the transcript does not show it"),
            (_, Shown::Answer | Shown::Interruption) => return None,
            _ if waits == Waits::No && self.has_ended(seen.files, &event.stream) => return None,
            _ => (Severity::Warn, "this turn never ended: neither its journals nor the transcript have an end of it"),
        };
        let item = AuditItem::new(FindingCode::TurnJournalInterruptedTurn, place, message).matters(severity);
        let marker = if visible == Shown::Interruption { "visible" } else { "none" };
        Some(said(item).text("marker", marker))
    }

    fn has_ended(&self, files: &Files<'f>, stream: &str) -> bool {
        files.run(stream).and_then(|place| runs::end_state(&self.folder.bytes(place))).is_some()
    }

    /// What interrupted writes left, as far as it is whole.
    fn temporaries(&mut self, id: &str, files: &Files<'f>, live: &Document<'_>) {
        for place in &files.temporaries {
            let bytes = self.folder.bytes(place);
            let left = Document::of(&bytes);
            if left.fault.is_some() {
                continue;
            }
            let (count, live_count) = (left.count(), live.count());
            let is_newer = count > live_count || left.number("updated_at") > live.number("updated_at");
            let item = if is_newer {
                let message = "an interrupted write left this; it is newer than the sidecar, which never got it";
                AuditItem::new(FindingCode::TemporaryNewer, Location::file(place.path), message)
            } else {
                let message = "an interrupted write left this; the sidecar is as new";
                AuditItem::new(FindingCode::TemporaryKept, Location::file(place.path), message)
            };
            self.add(item.text("session_id", id).count("live_messages", live_count).count("temporary_messages", count));
        }
    }

    fn duplicates(&mut self) {
        for (id, files) in std::mem::take(&mut self.claimed) {
            let Some(((first, messages), others)) = files.split_first() else { continue };
            for (other, theirs) in others {
                let (code, what) = match theirs == messages {
                    true => (FindingCode::KeyTwice, "the same messages"),
                    false => (FindingCode::DivergentDuplicate, "other messages"),
                };
                let message = format!("claims to be session {id}, as {first}.json does, with {what}; the program lists the longer one");
                self.add(AuditItem::new(code, Location::file(format!("{other}.json")), message).text("session_id", &id));
            }
        }
    }

    fn index(&mut self) {
        if self.folder.is_index_odd {
            let message = "no regular file stands where the list of sessions should be; it is left alone";
            return self.add(AuditItem::new(FindingCode::IndexUnreadable, Location::file(INDEX), message));
        }
        let Some(place) = self.folder.index else {
            if !self.updated.is_empty() {
                let message = "there is no list of the sessions; the program makes a new one when it starts";
                self.add(AuditItem::new(FindingCode::IndexMissing, Location::file(INDEX), message).repairable());
            }
            return;
        };
        let bytes = self.folder.bytes(&place);
        let rows = match index::rows(&bytes) {
            Ok(rows) => rows,
            Err((at, why)) => {
                let message = format!("the list of sessions cannot be read: {why}");
                let item = AuditItem::new(FindingCode::IndexUnreadable, Location::of_offset(place.path, &bytes, at), message);
                self.add(item.repairable());
                Vec::new()
            }
        };
        let mut listed = BTreeSet::new();
        for row in &rows {
            let Some(id) = row.id().filter(|id| listed.insert(id.clone())) else { continue };
            let at = Location::of_offset(place.path, &bytes, row.offset);
            let is_known_elsewhere = self.elsewhere.contains(&id);
            let item = |code, message: &str| {
                let item = AuditItem::new(code, at.clone(), message).text("session_id", &id);
                if is_known_elsewhere { item } else { item.repairable() }
            };
            match self.updated.get(id.as_str()) {
                None if self.folder.deleted.contains(&id) => {}
                None if self.folder.sessions.get(id.as_str()).is_some_and(|files| files.is_odd) => {}
                None => {
                    let mut item = item(FindingCode::IndexMissingFile, "the list names a session whose file is gone");
                    if !self.known.unreadable.is_empty() {
                        // It may bring the file back.
                        item.repaired_by = RepairedBy::Hand;
                    }
                    self.add(item.count("live_messages", -1).count("bak_messages", -1));
                }
                Some(updated) if !index::is_same_time(row.updated_at(), *updated) => {
                    self.add(item(FindingCode::IndexRowStale, "what the list says of this session is of another time than its file"));
                }
                Some(_) => {}
            }
        }
        for (id, count) in self.counts.clone().into_iter().filter(|(id, _)| !listed.contains(*id)) {
            let message = "the list of sessions does not name this one";
            let item = AuditItem::new(FindingCode::IndexMissingEntry, Location::file(format!("{id}.json")), message);
            let item = if count < 0 || self.elsewhere.contains(id) { item } else { item.repairable() };
            self.add(item.text("session_id", id).count("live_messages", count).count("bak_messages", -1));
        }
    }
}
