//! A unit's files to events: the sidecar's lists, the backup, the journals,
//! what a load ends in, and how each file is rebuilt.

use std::collections::HashMap;

use crate::adapters::adapter::{Check, ReadSummary};
use crate::adapters::conversion::Conversion;
use crate::adapters::known::Known;
use crate::adapters::place::Repeats;
use crate::model::event::{EventKind, Outcome, Session, SessionKind};
use crate::model::files::{Files, RelPath, SourceFile};
use crate::model::finding::{FindingCode, Findings};
use crate::model::heads::{HeadKind, HeadName, HeadOp};
use crate::model::ids::Seq;
use crate::model::json::{self, Kind};
use crate::model::location::Location;
use crate::model::shape::Shapes;
use crate::model::stream::{EventSink, StreamError};

use super::folder::{deleted_ids, named_ids};
use super::layout::{Role, STORES, Unit};
use super::message::{Prints, is_true};
use super::pytext;
use super::sidecar::{Document, Which};
use super::turns;
use super::wire::{MESSAGE, MESSAGES};

/// One conversion in progress.
pub(super) struct Reader<'a, 's> {
    pub to: Conversion<'a, 's>,
    pub known: Known<'a>,
    pub repeats: Repeats,
    pub shapes: Shapes,
    /// The shape of each message that is not in the usual one.
    pub shape_of: HashMap<Seq, usize>,
    /// Whether rows will be looked for by what tells them apart: only runs do.
    pub wants_prints: bool,
    /// Messages by what tells their rows apart: as stored, and as sent.
    pub by_stored: HashMap<u64, Seq>,
    pub by_sent: HashMap<u64, Seq>,
    /// The session's id as a JSON text, as journals have it.
    pub session: Vec<u8>,
    pub outcome: Outcome,
}

/// Converts a unit.
pub(super) fn read(files: &Files, check: Check, events: &mut dyn EventSink, findings: &mut Findings) -> Result<ReadSummary, StreamError> {
    let unit = Unit::of(files);
    let mut reader = Reader {
        to: Conversion::new(files, check, events, findings),
        known: Known::new(),
        repeats: Repeats::default(),
        shapes: Shapes::new(MESSAGE.order()),
        shape_of: HashMap::new(),
        wants_prints: !unit.runs.is_empty(),
        by_stored: HashMap::new(),
        by_sent: HashMap::new(),
        session: Vec::new(),
        outcome: Outcome::default(),
    };
    match unit.shared {
        Some((path, file, role)) => reader.shared(path, file, role)?,
        None if unit.id.is_empty() => reader.uploads(files)?,
        None => reader.unit(&unit)?,
    }
    reader.to.trailer(reader.shapes.others())
}

impl<'a> Reader<'a, '_> {
    fn unit(&mut self, unit: &Unit<'a>) -> Result<(), StreamError> {
        let sidecar = unit.sidecar.map(|(path, file)| Document::of(path, file));
        self.begin(unit, sidecar.as_ref())?;
        match &sidecar {
            Some(sidecar) => self.document(sidecar, Which::Sidecar)?,
            None => self.to.put_head(&HeadName::main(), Seq::ROOT, HeadOp::Branch)?,
        }
        if let Some((path, file)) = unit.backup {
            let backup = Document::of(path, file);
            self.fact("live_messages", sidecar.as_ref().map_or(-1, |sidecar| sidecar.count).to_string());
            self.fact("bak_messages", backup.count.to_string());
            self.document(&backup, Which::Backup)?;
        }
        for (path, file) in &unit.turns {
            self.journal(path, file, EventKind::Turn)?;
        }
        if !unit.runs.is_empty() {
            // What only a run's journal has hangs beside every head.
            self.to.put_head(&HeadName::new(HeadKind::Branch, ""), Seq::ROOT, HeadOp::Switch)?;
        }
        for (path, file) in &unit.runs {
            self.journal(path, file, EventKind::Run)?;
        }
        self.turn_facts(unit)?;
        self.end()
    }

    fn begin(&mut self, unit: &Unit<'a>, sidecar: Option<&Document<'a>>) -> Result<(), StreamError> {
        let get = |key: &str| sidecar.and_then(|sidecar| sidecar.get(key));
        let text =
            |key: &str| get(key).filter(|value| json::kind_of(value) == Kind::String).map(|value| json::unescape(value).into_owned());
        let kind = match sidecar {
            Some(_) => SessionKind::Session,
            None => {
                self.fails("no sidecar");
                let message = "the session's own file is missing; what its backup and journals hold is kept";
                self.to.findings.add(FindingCode::SidecarMissing, Location::file(format!("{}.json", unit.id)), message);
                SessionKind::Orphan
            }
        };
        let session = Session::new(kind, super::ID, unit.id);
        let session = Session {
            title: text("title"),
            cwd: text("workspace"),
            created: get("created_at").and_then(crate::model::time::from_epoch),
            parent_session: text("parent_session_id"),
            ..session
        };
        json::push_string(unit.id, &mut self.session);
        self.to.put_json(EventKind::Session, &session)?;
        if let Some(sidecar) = sidecar {
            match sidecar.fault() {
                Some((place, why)) => {
                    self.fails("sidecar cannot be read");
                    let message = format!("Hermes WebUI cannot open this session: {why}");
                    self.to.findings.add(FindingCode::LoaderFails, place, message);
                }
                None => self.facts_of(sidecar),
            }
        }
        Ok(())
    }

    pub(super) fn fails(&mut self, error: &str) {
        self.outcome.error.get_or_insert_with(|| error.to_owned());
    }

    pub(super) fn fact(&mut self, name: &str, value: impl Into<String>) {
        self.outcome.facts.insert(name.to_owned(), value.into());
    }

    fn facts_of(&mut self, sidecar: &Document<'a>) {
        let text = |key: &str| sidecar.get(key).filter(|value| json::kind_of(value) != Kind::Null).map(pytext::shown);
        self.outcome.model = text("model");
        self.outcome.summary = text("compression_anchor_summary").filter(|summary| !summary.is_empty());
        // A session without a title is given one, one without a name for it is not.
        if let Some(title) = text("title").or(sidecar.get("title").is_none().then(|| "Untitled".to_owned())) {
            self.fact("title", title);
        }
        let odd = sidecar.get(MESSAGES).filter(|rows| json::kind_of(rows) != Kind::Array && is_true(Some(rows)));
        if let Some(odd) = odd {
            let kind = match json::kind_of(odd) {
                Kind::Object => "object",
                Kind::String => "string",
                Kind::True => "true",
                Kind::Number | Kind::Array | Kind::False | Kind::Null => "number",
            };
            self.fact("messages_kind", kind);
        }
        let calls = sidecar.get("tool_calls").filter(|calls| json::kind_of(calls) == Kind::Array);
        let calls = calls.map_or(0, |calls| json::elements(calls).count());
        if calls > 0 {
            self.fact("tool_calls", calls.to_string());
        }
    }

    fn turn_facts(&mut self, unit: &Unit<'a>) -> Result<(), StreamError> {
        let view = turns::View::of(&unit.turns);
        for (path, line, turn) in &view.collisions {
            let message = format!("turn {} ends twice; its reader takes the later one", pytext::readable(turn));
            self.to.findings.add(FindingCode::TurnJournalTerminalCollision, Location::at(path.to_string(), *line, 1), message);
        }
        for (name, value) in view.facts() {
            self.fact(name, value);
        }
        for (name, value) in turns::run_facts(&unit.runs) {
            self.fact(name, value);
        }
        Ok(())
    }

    /// What was uploaded to a session: companions, and nothing else.
    fn uploads(&mut self, files: &Files) -> Result<(), StreamError> {
        self.to.put_json(EventKind::Session, &Session::new(SessionKind::Store, super::ID, files.name()))?;
        self.to.put_head(&HeadName::main(), Seq::ROOT, HeadOp::Branch)?;
        self.end()
    }

    /// A file that serves the whole folder: no messages, only what it says.
    fn shared(&mut self, path: &'a RelPath, file: &'a SourceFile, role: Role) -> Result<(), StreamError> {
        let kind = if role == Role::Index { SessionKind::Index } else { SessionKind::Store };
        self.to.put_json(EventKind::Session, &Session::new(kind, super::ID, path.to_string()))?;
        self.to.put_head(&HeadName::main(), Seq::ROOT, HeadOp::Branch)?;
        if role == Role::Index {
            self.index(path, file)?;
            self.fact("index_ids", named_ids(&file.bytes));
        } else {
            self.store(path, file)?;
            if path.as_bytes() == STORES[0].as_bytes() {
                self.fact("deleted_ids", deleted_ids(&file.bytes));
            }
        }
        self.end()
    }

    fn end(&mut self) -> Result<(), StreamError> {
        let active = HeadName::main().to_string();
        self.outcome.active = Some(active.clone());
        let outcome = std::mem::take(&mut self.outcome);
        self.to.put_json(EventKind::Outcome, &outcome)?;
        self.to.events.close_facts(&active)
    }

    /// Notes a message by what tells its row apart.
    pub(super) fn note_prints(&mut self, prints: Prints, seq: Seq) {
        self.by_stored.entry(prints.stored).or_insert(seq);
        self.by_sent.entry(prints.sent).or_insert(seq);
    }
}
