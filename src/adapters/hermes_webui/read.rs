//! A unit's files to events: the sidecar's lists, the backup, the journals,
//! what a load ends in, and how each file is rebuilt.

use serde_json::Number;
use std::collections::HashMap;

use crate::adapters::format::{Check, ReadSummary};
use crate::adapters::kit::conversion::Conversion;
use crate::adapters::kit::known::Known;
use crate::adapters::kit::place::Repeats;
use crate::json::{self, Kind, Value};
use crate::model::event::{EventKind, Outcome, Session, SessionKind, SessionUsage};
use crate::model::fact::Fact;
use crate::model::files::{Files, RelPath, SourceFile};
use crate::model::finding::{FindingCode, Findings};
use crate::model::heads::{HeadKind, HeadName, HeadOp};
use crate::model::ids::Seq;
use crate::model::location::Location;
use crate::model::shape::Shapes;
use crate::model::stream::{EventSink, StreamError};
use crate::runtimes::python::dumps::{Form, push};
use crate::runtimes::python::value::is_truthy;
use crate::runtimes::wtf8::{decode, readable};

use super::folder::{deleted_ids, named_ids};
use super::layout::{ID, Role, SESSION_KEYS, STORES, Unit};
use super::reader::Reader;
use super::sidecar::{Document, Which};
use super::turns;
use super::wire::{MESSAGE, MESSAGES};

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
            self.fact("live_messages", Fact::Json(sidecar.as_ref().map_or(-1, |sidecar| sidecar.count).to_string()));
            self.fact("bak_messages", Fact::Json(backup.count.to_string()));
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
        let text = |key: &str| get(key).and_then(|value| value.as_str()).map(|text| text.into_owned());
        let kind = match sidecar {
            Some(sidecar) if sidecar.fault().is_none() && !SESSION_KEYS.iter().any(|key| sidecar.get(key).is_some()) => {
                let message = "an object of somebody else under the name of a session: Hermes WebUI lists it, and shows no message";
                let at = unit.sidecar.map_or_else(|| format!("{}.json", unit.id), |(path, _)| path.to_string());
                self.to.findings.add(FindingCode::NotASession, Location::file(at), message);
                SessionKind::Orphan
            }
            Some(_) => SessionKind::Session,
            None => {
                self.fails("no sidecar");
                let message = "the session's own file is missing; what its backup and journals hold is kept";
                self.to.findings.add(FindingCode::SidecarMissing, Location::file(format!("{}.json", unit.id)), message);
                SessionKind::Orphan
            }
        };
        let session = Session::new(kind, ID, unit.id);
        let session = Session {
            title: text("title"),
            cwd: text("workspace"),
            created: get("created_at").and_then(|time| crate::model::time::from_epoch(time.text())),
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

    pub(super) fn fact(&mut self, name: &str, value: impl Into<Fact>) {
        self.outcome.facts.insert(name.to_owned(), value.into());
    }

    fn facts_of(&mut self, sidecar: &Document<'a>) {
        let text = |key: &str| sidecar.get(key).filter(|value| !value.is_null()).map(shown);
        self.outcome.model = text("model");
        let count = |key: &str| sidecar.get(key).and_then(|count| std::str::from_utf8(count.text()).ok()?.parse().ok());
        let usage = SessionUsage {
            input: count("input_tokens"),
            output: count("output_tokens"),
            cache_read: count("cache_read_tokens"),
            cache_write: count("cache_write_tokens"),
            // An estimate of nothing is what the program writes of a model whose price
            // it does not know.
            cost: sidecar
                .get("estimated_cost")
                .and_then(|cost| serde_json::from_slice::<Number>(cost.text()).ok())
                .filter(|cost| cost.as_f64() > Some(0.0)),
            ..SessionUsage::default()
        };
        self.outcome.usage = usage.if_any();
        self.outcome.summary = text("compression_anchor_summary").filter(|summary| !summary.is_empty());
        // A session without a title is given one, one without a name for it is not.
        if let Some(title) = text("title").or(sidecar.get("title").is_none().then(|| "Untitled".to_owned())) {
            self.fact("title", title);
        }
        let odd = sidecar.get(MESSAGES).filter(|rows| !rows.is_array() && is_truthy(*rows));
        if let Some(odd) = odd {
            let kind = match odd.kind() {
                Kind::Object => "object",
                Kind::String => "string",
                Kind::True => "true",
                Kind::Number | Kind::Array | Kind::False | Kind::Null => "number",
            };
            self.fact("messages_kind", kind);
        }
        let calls = sidecar.get("tool_calls").filter(|calls| calls.is_array());
        let calls = calls.map_or(0, |calls| calls.elements().count());
        if calls > 0 {
            self.fact("tool_calls", Fact::Json(calls.to_string()));
        }
    }

    fn turn_facts(&mut self, unit: &Unit<'a>) -> Result<(), StreamError> {
        let view = turns::View::of(&unit.turns);
        for (path, line, turn) in &view.collisions {
            let message = format!("turn {} ends twice; its reader takes the later one", readable(turn));
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
        self.to.put_json(EventKind::Session, &Session::new(SessionKind::Store, ID, files.name()))?;
        self.to.put_head(&HeadName::main(), Seq::ROOT, HeadOp::Branch)?;
        self.end()
    }

    /// A file that serves the whole folder: no messages, only what it says.
    fn shared(&mut self, path: &'a RelPath, file: &'a SourceFile, role: Role) -> Result<(), StreamError> {
        let kind = if role == Role::Index { SessionKind::Index } else { SessionKind::Store };
        self.to.put_json(EventKind::Session, &Session::new(kind, ID, path.to_string()))?;
        self.to.put_head(&HeadName::main(), Seq::ROOT, HeadOp::Branch)?;
        if role == Role::Index {
            self.index(path, file)?;
            self.fact("index_ids", Fact::Json(named_ids(&file.bytes)));
        } else {
            self.store(path, file)?;
            if path.as_bytes() == STORES[0].as_bytes() {
                self.fact("deleted_ids", Fact::Json(deleted_ids(&file.bytes)));
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
}

/// Returns a text, or any other value as JSON.
fn shown(value: Value<'_>) -> String {
    if value.is_string() {
        return readable(&decode(value.text()));
    }
    let mut out = Vec::new();
    push(value, Form::Utf8, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}
