//! A session's files to events: the transcript, the other lists, the event
//! logs, what a load ends in, and how each file is rebuilt.

use std::collections::{BTreeMap, HashMap};

use crate::adapters::adapter::{Check, ReadSummary};
use crate::model::digest::{residual_digest, sha256_hex};
use crate::model::event::{
    Body, Damage, Draft, EventKind, FileEntry, FileKind, Outcome, Residual, Session, SessionKind, text_or_b64, to_log_json,
};
use crate::model::files::{Entry, Files, RelPath, SourceFile};
use crate::model::finding::{FindingCode, Findings};
use crate::model::heads::{Head, HeadKind, HeadName, HeadOp};
use crate::model::ids::Seq;
use crate::model::json::Style;
use crate::model::location::Location;
use crate::model::recipe::RecipeBuilder;
use crate::model::shape::Shapes;
use crate::model::stream::{EventSink, StreamError};

use super::known::Known;
use super::layout::{self, Marker, Role, TRANSCRIPT};
use super::message::Normal;
use super::place::Repeats;
use super::wire;

/// A line nested this deep makes CPython's parser give up in the transcript…
pub(super) const DEEPEST_MAIN: usize = 992;
/// …and, two calls further down, in the lists that are loaded beside it.
pub(super) const DEEPEST_OTHER: usize = 990;

/// Companions up to this size stand in the log as text.
const LONGEST_CONTENT: usize = 64 * 1024;

/// One conversion in progress.
pub(super) struct Reader<'a, 's> {
    pub files: &'a Files,
    pub check: Check,
    pub events: &'s mut dyn EventSink,
    pub findings: &'s mut Findings,
    pub known: Known<'a>,
    pub repeats: Repeats,
    pub shapes: Shapes,
    /// The shape of each message that is not in the usual one.
    pub shape_of: HashMap<Seq, usize>,
    /// Messages by the program itself, by number: start-up prompts are such.
    pub is_system: Vec<bool>,
    residuals: Vec<Residual>,
    residual_of: HashMap<(Seq, Seq, &'a [u8]), u32>,
    recipes: BTreeMap<&'a RelPath, Rebuilding>,
    file_times: Vec<String>,
    pub summary: ReadSummary,
    pub outcome: Outcome,
    pub normal: Normal,
}

/// How a file with records is rebuilt.
struct Rebuilding {
    holds: &'static str,
    style: Style,
    recipe: RecipeBuilder,
}

/// A path in the log's words.
pub(super) fn shown(path: &RelPath) -> String {
    path.to_string()
}

/// Converts a session.
pub(super) fn read(files: &Files, check: Check, events: &mut dyn EventSink, findings: &mut Findings) -> Result<ReadSummary, StreamError> {
    let mut reader = Reader {
        files,
        check,
        events,
        findings,
        known: Known::new(),
        repeats: Repeats::default(),
        shapes: Shapes::new(wire::usual_order()),
        shape_of: HashMap::new(),
        is_system: Vec::new(),
        residuals: Vec::new(),
        residual_of: HashMap::new(),
        recipes: BTreeMap::new(),
        file_times: Vec::new(),
        summary: ReadSummary::default(),
        outcome: Outcome::default(),
        normal: Normal::default(),
    };
    let roles = reader.roles();
    reader.session()?;
    let lists = reader.lists(&roles)?;
    reader.event_logs(&roles, &lists)?;
    reader.outcome()?;
    reader.trailer()?;
    Ok(reader.summary)
}

/// The messages of each list, by head.
pub(super) type Lists = HashMap<HeadName, Vec<Seq>>;

impl<'a> Reader<'a, '_> {
    fn roles(&self) -> Vec<(&'a RelPath, &'a SourceFile, Role)> {
        let regular = self.files.iter().filter_map(|(path, entry)| match entry {
            Entry::File(file) => Some((path, file, layout::role(path, file))),
            Entry::Link { .. } | Entry::EmptyFolder => None,
        });
        regular.collect()
    }

    fn session(&mut self) -> Result<(), StreamError> {
        let config = layout::config(self.files).unwrap_or_else(|why| {
            let message = format!("not valid TOML, so title and model are unknown: {why}");
            self.findings.add(FindingCode::ConfigInvalid, Location::file("config.toml"), message);
            layout::Config::default()
        });
        let is_there = self.files.file(TRANSCRIPT).is_some();
        if !is_there {
            self.outcome.error = Some("FileNotFoundError".to_owned());
            self.note_lost_transcript();
        }
        self.outcome.model = config.model;
        let kind = if is_there { SessionKind::Session } else { SessionKind::Orphan };
        let session = Session::new(kind, super::ID, self.files.name()).in_folder(self.files.name_bytes());
        let session = Session { title: config.title, cwd: config.cwd, ..session };
        self.put_json(EventKind::Session, &session)?;
        Ok(())
    }

    fn note_lost_transcript(&mut self) {
        let is_link = matches!(self.files.entry(&RelPath::new(TRANSCRIPT)), Some(Entry::Link { .. }));
        let what = if is_link {
            "a link, which is not followed: migrate the folder that it leads to"
        } else {
            "the conversation's file is missing"
        };
        let has_events = self.files.file("events.jsonl").is_some();
        let how = if has_events { "; its event log still holds messages: `everlog replay --head events:main` shows them" } else { "" };
        self.findings.add(FindingCode::TranscriptLost, Location::file(TRANSCRIPT), format!("{what}{how}"));
    }

    fn lists(&mut self, roles: &[(&'a RelPath, &'a SourceFile, Role)]) -> Result<Lists, StreamError> {
        let mut lists = Lists::new();
        let main_first = roles.iter().filter(|(path, _, _)| path.as_text() == Some(TRANSCRIPT));
        for (path, file, role) in main_first.chain(roles.iter().filter(|(path, _, _)| path.as_text() != Some(TRANSCRIPT))) {
            match role {
                Role::Messages(head) => {
                    let messages = self.transcript(path, file, head)?;
                    lists.insert(head.clone(), messages);
                }
                // The loader makes an empty branch of it.
                Role::MisplacedEvents(_) => self.put_head(&HeadName::new(HeadKind::Branch, "events"), Seq::ROOT, HeadOp::Branch)?,
                Role::Events(_) | Role::Companion => {}
            }
        }
        Ok(lists)
    }

    fn event_logs(&mut self, roles: &[(&'a RelPath, &'a SourceFile, Role)], lists: &Lists) -> Result<(), StreamError> {
        for (path, file, role) in roles {
            match role {
                Role::Events(head) => self.event_log(path, file, head, lists)?,
                Role::MisplacedEvents(head) => {
                    let message = "gptme 0.32 wrote the events of all branches here; later versions take it for an empty branch";
                    self.findings.add(FindingCode::MisplacedEvents, Location::file(shown(path)), message);
                    self.event_log(path, file, head, lists)?;
                }
                Role::Messages(_) | Role::Companion => {}
            }
        }
        Ok(())
    }

    fn outcome(&mut self) -> Result<(), StreamError> {
        if layout::looks_elsewhere(self.files) {
            self.outcome.error = Some("FileNotFoundError".to_owned());
            let message = "gptme cannot load a conversation whose folder name ends in .jsonl";
            self.findings.add(FindingCode::LoaderFails, Location::file(TRANSCRIPT), message);
        }
        if let Some(folder) = layout::folder_in_place_of_a_list(self.files) {
            self.fails(Location::file(folder), "IsADirectoryError");
        }
        let marker = layout::active_view(self.files);
        if marker == Marker::Undecodable {
            self.fails(Location::file("views/.current"), "UnicodeDecodeError");
        }
        let has_events = self.files.file("events.jsonl").is_some();
        let active = match marker {
            Marker::View(view) => HeadName::new(HeadKind::View, view),
            Marker::Missing(named) => {
                let message = format!("the active view `{named}` is missing; gptme shows the whole conversation");
                self.findings.add(FindingCode::ViewMissing, Location::file("views/.current"), message);
                HeadName::main()
            }
            Marker::Absent if self.files.file(TRANSCRIPT).is_none() && has_events => HeadName::new(HeadKind::Events, "main"),
            Marker::Absent | Marker::Undecodable => HeadName::main(),
        };
        let active = active.to_string();
        self.outcome.active = Some(active.clone());
        if let Some(queue) = self.files.file("prompt-queue.jsonl").filter(|queue| !queue.bytes.trim_ascii().is_empty()) {
            let count = queue.bytes.split(|b| *b == b'\n').filter(|line| !line.trim_ascii().is_empty()).count();
            let message = format!("{count} queued prompts are not yet part of the conversation");
            self.findings.add(FindingCode::PromptsPending, Location::file("prompt-queue.jsonl"), message);
        }
        let outcome = std::mem::take(&mut self.outcome);
        self.put_json(EventKind::Outcome, &outcome)?;
        self.events.close_facts(&active)
    }

    /// The program cannot load this session, because of this place.
    pub(super) fn fails(&mut self, place: Location, error: &str) {
        let message = format!("gptme fails to load the whole conversation because of this: {error}");
        self.findings.add(FindingCode::LoaderFails, place, message);
        self.outcome.error.get_or_insert_with(|| error.to_owned());
    }

    /// Shapes, residuals, and one line per file.
    fn trailer(&mut self) -> Result<(), StreamError> {
        if !self.shapes.others().is_empty() {
            let mut payload = b"{\"orders\":[".to_vec();
            for (n, order) in self.shapes.others().iter().enumerate() {
                if n > 0 {
                    payload.push(b',');
                }
                order.push_json(&mut payload);
            }
            payload.extend_from_slice(b"]}");
            self.events.put(Draft { ts: None, parent: None, body: Body::Json(EventKind::Shapes, &payload) })?;
        }
        let mut first_residual = Seq::ROOT;
        for residual in std::mem::take(&mut self.residuals) {
            let seq = self.put_json(EventKind::Residual, &residual)?;
            if first_residual.is_root() {
                first_residual = seq;
            }
        }
        let files = self.files;
        for (path, entry) in files.iter() {
            let entry = self.file_entry(path, entry, first_residual)?;
            self.put_json(EventKind::File, &entry)?;
        }
        Ok(())
    }

    fn file_entry(&mut self, path: &'a RelPath, entry: &Entry, first_residual: Seq) -> Result<FileEntry, StreamError> {
        let (text, b64) = text_or_b64(path.as_bytes());
        let mut line = FileEntry {
            path: text,
            path_b64: b64,
            kind: FileKind::Folder,
            target: None,
            target_b64: None,
            size: None,
            sha256: None,
            holds: None,
            style: None,
            recipe: None,
            content: None,
            blob: None,
        };
        match entry {
            Entry::EmptyFolder => {}
            Entry::Link { target } => {
                line.kind = FileKind::Link;
                (line.target, line.target_b64) = text_or_b64(target);
            }
            Entry::File(file) => {
                line.kind = FileKind::File;
                line.size = Some(file.bytes.len() as u64);
                let sha256 = sha256_hex(&file.bytes);
                line.sha256 = Some(sha256.clone());
                self.summary.hashes.insert(path.clone(), sha256.clone());
                if let Some(rebuilding) = self.recipes.remove(path) {
                    line.holds = Some(rebuilding.holds.to_owned());
                    if rebuilding.style != Style::default() {
                        line.style = Some(raw_json(&rebuilding.style)?);
                    }
                    line.recipe =
                        Some(serde_json::value::RawValue::from_string(rebuilding.recipe.finish(first_residual)).map_err(not_json)?);
                } else {
                    match std::str::from_utf8(&file.bytes) {
                        Ok(text) if text.len() <= LONGEST_CONTENT => line.content = Some(text.to_owned()),
                        _ => {
                            line.blob = Some(sha256);
                            self.summary.blobs.push(path.clone());
                        }
                    }
                }
            }
        }
        Ok(line)
    }

    pub(super) fn put_json<T: serde::Serialize>(&mut self, kind: EventKind, payload: &T) -> Result<Seq, StreamError> {
        let payload = to_log_json(payload).map_err(not_json)?;
        self.events.put(Draft { ts: None, parent: None, body: Body::Json(kind, &payload) })
    }

    pub(super) fn put_head(&mut self, head: &HeadName, node: Seq, op: HeadOp) -> Result<(), StreamError> {
        let head = Head::to(head, node, op);
        self.events.put(Draft { ts: None, parent: None, body: Body::Head(&head) })?;
        Ok(())
    }

    /// Puts bytes that the loader rejects.
    pub(super) fn put_damage(&mut self, path: &RelPath, line: u64, offset: usize, reason: &str, bytes: &[u8]) -> Result<Seq, StreamError> {
        let (text, b64) = text_or_b64(bytes);
        let damage = Damage { file: shown(path), line, offset: offset as u64, reason: reason.to_owned(), text, b64 };
        self.put_json(EventKind::Damage, &damage)
    }

    /// The count of the residual that keeps a record which `rendered` is not.
    pub(super) fn residual(&mut self, of: (Seq, Seq), rendered: &[u8], record: &'a [u8]) -> u32 {
        let residuals = &mut self.residuals;
        let summary = &mut self.summary;
        *self.residual_of.entry((of.0, of.1, record)).or_insert_with(|| {
            let (text, b64) = text_or_b64(record);
            residuals.push(Residual { of, digest: residual_digest(rendered), text, b64 });
            summary.residual_bytes += record.len() as u64;
            residuals.len() as u32 - 1
        })
    }

    /// Notes how a file is rebuilt.
    pub(super) fn rebuilt(&mut self, path: &'a RelPath, holds: &'static str, style: Style, recipe: RecipeBuilder) {
        self.recipes.insert(path, Rebuilding { holds, style, recipe });
    }

    /// A file's time as the loader would give it to a record without one, and
    /// its number, from 1.
    pub(super) fn file_time(&mut self, file: &SourceFile) -> (String, u32) {
        let text = super::time::Stamp::of_file(file.mtime_ns).isoformat();
        let at = self.file_times.iter().position(|known| *known == text).unwrap_or_else(|| {
            self.file_times.push(text.clone());
            self.file_times.len() - 1
        });
        (text, at as u32 + 1)
    }

    /// The text of a file time by its number.
    pub(super) fn file_time_text(&self, number: u32) -> &str {
        number.checked_sub(1).and_then(|at| self.file_times.get(at as usize)).map_or("", String::as_str)
    }

    pub(super) fn mark_role(&mut self, message: Seq, role: &[u8]) {
        self.is_system.resize(message.index() + 1, false);
        self.is_system[message.index()] = role == b"\"system\"";
    }
}

fn raw_json<T: serde::Serialize>(value: &T) -> Result<Box<serde_json::value::RawValue>, StreamError> {
    serde_json::value::to_raw_value(value).map_err(not_json)
}

fn not_json(error: serde_json::Error) -> StreamError {
    StreamError::Io { doing: "write the log", source: error.into() }
}
