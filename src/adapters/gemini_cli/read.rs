//! A unit's files to events: the file that the program would resume, the other
//! files of the same session, and what a load ends in.

use crate::adapters::format::{Check, ReadSummary};
use crate::adapters::kit::conversion::Conversion;
use crate::adapters::kit::members;
use crate::json;
use crate::model::event::{EventKind, Outcome, Session, SessionKind};
use crate::model::files::{Entry, Files, RelPath, SourceFile};
use crate::model::finding::{FindingCode, Findings};
use crate::model::heads::{HeadKind, HeadName, HeadOp};
use crate::model::ids::Seq;
use crate::model::location::Location;
use crate::model::stream::{EventSink, StreamError};
use crate::runtimes::javascript::{Value, is_blank};

use super::choose::{Candidate, chosen};
use super::fold::{Form, survey};
use super::layout::{self, Role, base, live, role};
use super::message::RecordKind;
use super::messages::Messages;
use super::reader::Reader;
use super::whole::{CHAT, SESSION};

/// What the program says of a file that it does not load.
const NOT_LOADED: &str = "no conversation can be loaded";

/// Converts a unit.
pub(super) fn read(files: &Files, check: Check, events: &mut dyn EventSink, findings: &mut Findings) -> Result<ReadSummary, StreamError> {
    let regular = regular(files);
    let is_chat = regular.iter().any(|(_, _, role)| *role == Role::Chat);
    let messages = Messages::new(if is_chat { RecordKind::Turn } else { RecordKind::Message });
    let mut reader = Reader { to: Conversion::new(files, check, events, findings), messages, outcome: Outcome::default() };
    if let Some((path, file, _)) = regular.iter().find(|(_, _, role)| *role == Role::Chat) {
        reader.chat(path, &file.bytes)?;
    } else if regular.iter().any(|(_, _, role)| *role == Role::Session) {
        reader.session(&regular)?;
    } else {
        reader.project(&regular)?;
    }
    reader.finish()
}

/// The regular files of a unit, and what each is.
fn regular(files: &Files) -> Vec<(&RelPath, &SourceFile, Role)> {
    let is_lone = files.lone_file().is_some();
    let role_of = |path: &RelPath| match role(path.as_bytes()) {
        // A person has named this file as a session.
        Role::Companion if is_lone && !is_project_file(path.as_bytes()) => Role::Session,
        role @ (Role::Session | Role::Chat | Role::Companion) => role,
    };
    let mut found = Vec::new();
    for (path, entry) in files.iter() {
        match entry {
            Entry::File(file) => found.push((path, file, role_of(path))),
            Entry::Rows(_) | Entry::Link { .. } | Entry::EmptyFolder => {}
        }
    }
    found
}

/// Tells whether a unit is of a project, and no session.
pub(super) fn is_of_project(files: &Files) -> bool {
    !regular(files).iter().any(|(_, _, role)| matches!(role, Role::Session | Role::Chat))
}

fn is_project_file(path: &[u8]) -> bool {
    let name = live(path);
    [layout::PROMPTS, layout::PROJECTS, layout::PROJECT_ROOT, layout::SHELL].iter().any(|known| name.starts_with(known.as_bytes()))
}

impl<'a> Reader<'a, '_> {
    fn finish(mut self) -> Result<ReadSummary, StreamError> {
        let outcome = Outcome { active: Some(HeadName::main().to_string()), ..std::mem::take(&mut self.outcome) };
        self.to.put_json(EventKind::Outcome, &outcome)?;
        self.to.events.close_facts(&HeadName::main().to_string())?;
        self.to.trailer(self.messages.shapes.others())
    }

    fn put_session(&mut self, session: Session) -> Result<(), StreamError> {
        let cwd = self.to.files.shared_facts().slices.iter().find(|slice| slice.file.as_bytes() == layout::PROJECT_ROOT.as_bytes());
        let cwd = cwd.and_then(|slice| Value::parse(&slice.text)).and_then(Value::lossy);
        self.to.put_json(EventKind::Session, &Session { cwd, ..session })?;
        Ok(())
    }

    /// The files of one session.
    fn session(&mut self, regular: &[(&'a RelPath, &'a SourceFile, Role)]) -> Result<(), StreamError> {
        let sessions: Vec<(&'a RelPath, &'a SourceFile)> =
            regular.iter().filter(|(_, _, role)| *role == Role::Session).map(|(path, file, _)| (*path, *file)).collect();
        let candidates: Vec<Candidate<'a>> =
            sessions.iter().map(|(path, file)| Candidate { path, file, survey: survey(&file.bytes) }).collect();
        let (main, uses_time) = chosen(&candidates);
        self.to.summary.uses_file_times |= uses_time;
        let Some(main) = candidates.get(main) else { return Ok(()) };
        let meta = main.survey.meta;
        let id = meta.session_id.lossy().or_else(|| meta.session_id.defined().map(json::lossy).map(std::borrow::Cow::into_owned));
        let name = String::from_utf8_lossy(base(live(main.path.as_bytes()))).into_owned();
        let session = Session {
            title: meta.summary.lossy().filter(|title| !title.is_empty()),
            created: meta.created.lossy(),
            parent_session: parent_of(main.path.as_bytes()),
            ..Session::new(SessionKind::Session, layout::ID, id.unwrap_or(name))
        };
        self.put_session(session)?;
        self.file(main, Some(HeadName::main()))?;
        self.end_of_load(main);
        let has_listed = candidates.iter().any(|other| other.is_listed());
        for other in candidates.iter().filter(|other| other.path != main.path) {
            let is_shown = other.survey.form != Form::Nothing && (other.is_listed() || !has_listed) && other.is_session_name();
            let name = RelPath::new(base(other.path.as_bytes())).key();
            self.file(other, is_shown.then(|| HeadName::new(HeadKind::Backup, name)))?;
        }
        Ok(())
    }

    fn file(&mut self, file: &Candidate<'a>, head: Option<HeadName>) -> Result<(), StreamError> {
        let (path, bytes) = (file.path, file.file.bytes.as_slice());
        if file.survey.form == Form::Lines {
            return self.records(path, bytes, head);
        }
        // An object that the program cannot make a session of is read as one all
        // the same; one line of it is a record.
        let is_one_object = Value::parse(bytes).is_some_and(|value| !value.get("sessionId").is_undefined());
        if is_one_object && self.document(path, bytes, head.clone(), &SESSION)?.is_some() {
            return Ok(());
        }
        let begins_as_document = bytes.trim_ascii_start().starts_with(b"{\n") || bytes.trim_ascii_start().starts_with(b"{\r");
        if begins_as_document { self.broken_file(path, bytes, head) } else { self.records(path, bytes, head) }
    }

    /// What the load of a session ends in.
    fn end_of_load(&mut self, main: &Candidate<'a>) {
        if main.survey.form == Form::Nothing {
            let message = "Gemini CLI cannot load this file, and deletes it at its next start in this project";
            self.to.findings.add(FindingCode::LoaderFails, Location::file(main.path.to_string()), message);
            self.outcome.error = Some(NOT_LOADED.to_owned());
        }
    }

    /// A saved chat.
    fn chat(&mut self, path: &'a RelPath, bytes: &'a [u8]) -> Result<(), StreamError> {
        self.put_session(Session::new(SessionKind::Session, layout::ID, layout::tag(path.as_bytes())))?;
        let main = Some(HeadName::main());
        if self.bare_list(path, bytes, main.clone())?.is_some() || self.document(path, bytes, main.clone(), &CHAT)?.is_some() {
            return Ok(());
        }
        self.broken_file(path, bytes, main)
    }

    /// Files of a project, or of all projects.
    fn project(&mut self, regular: &[(&'a RelPath, &'a SourceFile, Role)]) -> Result<(), StreamError> {
        let list = regular.iter().find(|(path, _, _)| live(path.as_bytes()) == layout::PROJECTS.as_bytes());
        let kind = if list.is_some() { SessionKind::Index } else { SessionKind::Store };
        let name = String::from_utf8_lossy(base(live(self.to.files.name_bytes()))).into_owned();
        self.put_session(Session::new(kind, layout::ID, name))?;
        if let Some((path, file, _)) = list.filter(|(_, file, _)| !is_blank(&file.bytes)) {
            members::read(&mut self.to, path, &file.bytes, "Gemini CLI")?;
        }
        for (path, file, _) in regular.iter().filter(|(path, _, _)| base(path.as_bytes()).starts_with(layout::PROMPTS.as_bytes())) {
            self.prompts(path, &file.bytes)?;
        }
        self.to.put_head(&HeadName::main(), Seq::ROOT, HeadOp::Branch)
    }
}

/// The session that a subagent's file is of, by the folder that it lies in.
fn parent_of(path: &[u8]) -> Option<String> {
    let inside = path.strip_prefix(layout::CHATS.as_bytes())?;
    let at = memchr::memchr(b'/', inside)?;
    Some(String::from_utf8_lossy(&inside[..at]).into_owned())
}
