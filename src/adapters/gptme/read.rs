//! A session's files to events: the transcript, the other lists, the event
//! logs, what a load ends in, and how each file is rebuilt.

use std::collections::HashMap;

use crate::adapters::format::{Check, ReadSummary};
use crate::adapters::kit::conversion::Conversion;
use crate::json::Value;
use crate::model::event::{EventKind, Outcome, Session, SessionKind};
use crate::model::files::{Entry, Files, RelPath, SourceFile};
use crate::model::finding::{FindingCode, Findings};
use crate::model::heads::{HeadKind, HeadName, HeadOp};
use crate::model::ids::Seq;
use crate::model::location::Location;
use crate::model::shape::Shapes;
use crate::model::stream::{EventSink, StreamError};
use crate::runtimes::python::datetime::DateTime;

use super::layout::{self, Marker, Role, TRANSCRIPT};
use super::message::{LastShape, Normal};
use super::wire;
use crate::adapters::kit::known::Known;
use crate::adapters::kit::place::Repeats;

/// A line nested this deep makes CPython's parser give up in the transcript…
pub(super) const DEEPEST_MAIN: usize = 992;
/// …and, two calls further down, in the lists that are loaded beside it.
pub(super) const DEEPEST_OTHER: usize = 990;

/// One conversion in progress.
pub(super) struct Reader<'a, 's> {
    pub to: Conversion<'a, 's>,
    pub known: Known<'a>,
    pub repeats: Repeats,
    pub shapes: Shapes,
    /// The shape of each message that is not in the usual one.
    pub shape_of: HashMap<Seq, usize>,
    /// Messages by the program itself, by number: start-up prompts are such.
    pub is_system: Vec<bool>,
    file_times: Vec<String>,
    pub outcome: Outcome,
    pub normal: Normal,
    pub last_shape: LastShape,
}

/// Returns a path in the log's words.
pub(super) fn shown(path: &RelPath) -> String {
    path.to_string()
}

/// Converts a session.
pub(super) fn read(files: &Files, check: Check, events: &mut dyn EventSink, findings: &mut Findings) -> Result<ReadSummary, StreamError> {
    let mut reader = Reader {
        to: Conversion::new(files, check, events, findings),
        known: Known::new(),
        repeats: Repeats::default(),
        shapes: Shapes::new(wire::usual_order()),
        shape_of: HashMap::new(),
        is_system: Vec::new(),
        file_times: Vec::new(),
        outcome: Outcome::default(),
        normal: Normal::default(),
        last_shape: LastShape::default(),
    };
    let roles = reader.roles();
    reader.session()?;
    let lists = reader.lists(&roles)?;
    reader.event_logs(&roles, &lists)?;
    reader.outcome()?;
    reader.to.trailer(reader.shapes.others())
}

/// The messages of each list, by head.
pub(super) type Lists = HashMap<HeadName, Vec<Seq>>;

impl<'a> Reader<'a, '_> {
    fn roles(&self) -> Vec<(&'a RelPath, &'a SourceFile, Role)> {
        let transcript = layout::transcript(self.to.files);
        let regular = self.to.files.iter().filter_map(|(path, entry)| match entry {
            Entry::File(file) if Some(path) == transcript => Some((path, file, Role::Messages(HeadName::main()))),
            Entry::File(file) => Some((path, file, layout::role(path, file))),
            Entry::Rows(_) | Entry::Link { .. } | Entry::EmptyFolder => None,
        });
        regular.collect()
    }

    fn session(&mut self) -> Result<(), StreamError> {
        let config = layout::config(self.to.files).unwrap_or_else(|why| {
            let message = format!("not valid TOML, so title and model are unknown: {why}");
            self.to.findings.add(FindingCode::ConfigInvalid, Location::file("config.toml"), message);
            layout::Config::default()
        });
        let is_there = layout::transcript(self.to.files).is_some();
        if !is_there {
            self.outcome.error = Some("FileNotFoundError".to_owned());
            self.note_lost_transcript();
        }
        self.outcome.model = config.model;
        let kind = if is_there { SessionKind::Session } else { SessionKind::Orphan };
        let session = Session::new(kind, layout::ID, self.to.files.name());
        // A transcript that was named by itself lies in nobody's folder.
        let is_folder = layout::transcript(self.to.files).is_none_or(|path| path.as_bytes() == TRANSCRIPT.as_bytes());
        let session = if is_folder { session.in_folder(self.to.files.name_bytes()) } else { session };
        let session = Session { title: config.title, cwd: config.cwd, ..session };
        self.to.put_json(EventKind::Session, &session)?;
        Ok(())
    }

    fn note_lost_transcript(&mut self) {
        let is_link = matches!(self.to.files.entry(&RelPath::new(TRANSCRIPT)), Some(Entry::Link { .. }));
        let what = if is_link {
            "a link, which is not followed: migrate the folder that it leads to"
        } else {
            "the conversation's file is missing"
        };
        let has_events = self.to.files.file("events.jsonl").is_some();
        let how = if has_events { "; its event log still holds messages: `everlog replay --head events:main` shows them" } else { "" };
        self.to.findings.add(FindingCode::TranscriptLost, Location::file(TRANSCRIPT), format!("{what}{how}"));
    }

    fn lists(&mut self, roles: &[(&'a RelPath, &'a SourceFile, Role)]) -> Result<Lists, StreamError> {
        let mut lists = Lists::new();
        let transcript = layout::transcript(self.to.files);
        let main_first = roles.iter().filter(|(path, _, _)| Some(*path) == transcript);
        for (path, file, role) in main_first.chain(roles.iter().filter(|(path, _, _)| Some(*path) != transcript)) {
            match role {
                Role::Messages(head) => {
                    let messages = self.transcript(path, file, head)?;
                    lists.insert(head.clone(), messages);
                }
                // The loader makes an empty branch of it.
                Role::MisplacedEvents(_) => self.to.put_head(&HeadName::new(HeadKind::Branch, "events"), Seq::ROOT, HeadOp::Branch)?,
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
                    self.to.findings.add(FindingCode::MisplacedEvents, Location::file(shown(path)), message);
                    self.event_log(path, file, head, lists)?;
                }
                Role::Messages(_) | Role::Companion => {}
            }
        }
        Ok(())
    }

    fn outcome(&mut self) -> Result<(), StreamError> {
        if layout::looks_elsewhere(self.to.files) {
            self.outcome.error = Some("FileNotFoundError".to_owned());
            let message = "gptme cannot load a conversation whose folder name ends in .jsonl";
            self.to.findings.add(FindingCode::LoaderFails, Location::file(TRANSCRIPT), message);
        }
        if let Some(folder) = layout::folder_in_place_of_a_list(self.to.files) {
            self.fails(Location::file(folder), "IsADirectoryError");
        }
        let marker = layout::active_view(self.to.files);
        if marker == Marker::Undecodable {
            self.fails(Location::file("views/.current"), "UnicodeDecodeError");
        }
        let has_events = self.to.files.file("events.jsonl").is_some();
        let active = match marker {
            Marker::View(view) => HeadName::new(HeadKind::View, view),
            Marker::Missing(named) => {
                let message = format!("the active view `{named}` is missing; gptme shows the whole conversation");
                self.to.findings.add(FindingCode::ViewMissing, Location::file("views/.current"), message);
                HeadName::main()
            }
            Marker::Absent if layout::transcript(self.to.files).is_none() && has_events => HeadName::new(HeadKind::Events, "main"),
            Marker::Absent | Marker::Undecodable => HeadName::main(),
        };
        let active = active.to_string();
        self.outcome.active = Some(active.clone());
        if let Some(queue) = self.to.files.file("prompt-queue.jsonl").filter(|queue| !queue.bytes.trim_ascii().is_empty()) {
            let count = queue.bytes.split(|b| *b == b'\n').filter(|line| !line.trim_ascii().is_empty()).count();
            let message = format!("{count} queued prompts are not yet part of the conversation");
            self.to.findings.add(FindingCode::PromptsPending, Location::file("prompt-queue.jsonl"), message);
        }
        let outcome = std::mem::take(&mut self.outcome);
        self.to.put_json(EventKind::Outcome, &outcome)?;
        self.to.events.close_facts(&active)
    }

    /// The program cannot load this session, because of this place.
    pub(super) fn fails(&mut self, place: Location, error: &str) {
        let message = format!("gptme fails to load the whole conversation because of this: {error}");
        self.to.findings.add(FindingCode::LoaderFails, place, message);
        self.outcome.error.get_or_insert_with(|| error.to_owned());
    }

    /// Returns a file's time as the loader would give it to a record without one, and
    /// its number, from 1.
    pub(super) fn file_time(&mut self, file: &SourceFile) -> (String, u32) {
        let text = DateTime::of_mtime(file.mtime_ns).isoformat();
        let at = self.file_times.iter().position(|known| *known == text).unwrap_or_else(|| {
            self.file_times.push(text.clone());
            self.file_times.len() - 1
        });
        (text, at as u32 + 1)
    }

    /// Returns the text of a file time by its number.
    pub(super) fn file_time_text(&self, number: u32) -> &str {
        number.checked_sub(1).and_then(|at| self.file_times.get(at as usize)).map_or("", String::as_str)
    }

    pub(super) fn mark_role(&mut self, message: Seq, role: Value<'_>) {
        self.is_system.resize(message.index() + 1, false);
        self.is_system[message.index()] = role.text() == b"\"system\"";
    }
}
