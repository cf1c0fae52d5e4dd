//! Files of the program's folder that serve all threads: the prompts that were typed, and
//! the names of threads. They are facts of their own, and no session's messages.

use std::collections::BTreeMap;

use crate::adapters::format::{Check, ReadSummary};
use crate::adapters::kit::conversion::Conversion;
use crate::json::{self, Dialect, Member};
use crate::model::event::{EventKind, Outcome, Session, SessionKind};
use crate::model::files::{Entry, Files, RelPath};
use crate::model::finding::FindingCode;
use crate::model::heads::{HeadName, HeadOp};
use crate::model::ids::Seq;
use crate::model::jsonl::{Lines, Newlines};
use crate::model::loaded::{LoadOutcome, Loader};
use crate::model::location::Location;
use crate::model::recipe::RecipeBuilder;
use crate::model::stream::{LogAccess, RecordRenderer, RecordSink, StreamError};
use crate::runtimes::rust;

use super::lay::no_record_between;
use super::members::{get, text};
use super::message::{LINES, draft_whole};
use super::names::{ID, base, live};

/// What such a file holds, in its recipe's words.
const HOLDS_LINES: &str = "lines";

/// The names of threads.
pub(super) const NAMES: &str = "session_index.jsonl";
/// The prompts that were typed.
pub(super) const PROMPTS: &str = "history.jsonl";
/// The prompts that a person typed, as the first version keeps them.
pub(super) const FIRST_PROMPTS: &str = "history.json";

/// The files of a unit that serve all threads.
pub(super) fn files_of(files: &Files) -> Vec<(&RelPath, &[u8])> {
    let mut found = Vec::new();
    for (path, entry) in files.iter() {
        if let Entry::File(file) = entry
            && is_of_home(path.as_bytes())
        {
            found.push((path, file.bytes.as_slice()));
        }
    }
    found
}

/// Whether a file serves all threads, by its name.
pub(super) fn is_of_home(path: &[u8]) -> bool {
    [NAMES, PROMPTS, FIRST_PROMPTS].iter().any(|name| base(live(path)) == name.as_bytes())
}

/// The name that the program has given a thread.
pub(super) fn title(files: &Files, id: &str) -> Option<String> {
    let slice = files.shared_facts().slices.iter().find(|slice| slice.file.as_bytes() == NAMES.as_bytes() && slice.key == id)?;
    rust::parse(&slice.text)?.as_str().map(|name| name.into_owned()).filter(|name| !name.is_empty())
}

/// The last name of each thread, as JSON, in a list of them.
pub(super) fn names_in(bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let lines = Lines::new(bytes, Newlines::LineFeed).filter_map(|line| {
        let members = rust::parse(line.text)?.all_members();
        let name = get(&members, "thread_name").filter(|name| name.starts_with(b"\""))?;
        Some((text(&members, "id")?, name.to_vec()))
    });
    lines.collect()
}

/// Converts such a unit.
pub(super) fn read<'a>(
    files: &'a Files,
    of_home: &[(&'a RelPath, &'a [u8])],
    mut to: Conversion<'a, '_>,
) -> Result<ReadSummary, StreamError> {
    let is_names = of_home.iter().any(|(path, _)| base(live(path.as_bytes())) == NAMES.as_bytes());
    let kind = if is_names { SessionKind::Index } else { SessionKind::Store };
    let name = String::from_utf8_lossy(live(files.name_bytes())).into_owned();
    to.put_json(EventKind::Session, &Session::new(kind, ID, name))?;
    for (path, bytes) in of_home {
        if base(live(path.as_bytes())) != FIRST_PROMPTS.as_bytes() {
            lines(&mut to, path, bytes)?;
        }
    }
    to.put_head(&HeadName::main(), Seq::ROOT, HeadOp::Branch)?;
    to.put_json(EventKind::Outcome, &Outcome { active: Some(HeadName::main().to_string()), ..Outcome::default() })?;
    to.events.close_facts(&HeadName::main().to_string())?;
    to.trailer(&[])
}

fn lines<'a>(to: &mut Conversion<'a, '_>, path: &'a RelPath, bytes: &'a [u8]) -> Result<(), StreamError> {
    let mut recipe = RecipeBuilder::default();
    for line in Lines::new(bytes, Newlines::LineFeed) {
        let whole = &bytes[line.offset..line.offset + line.text.len() + line.end.len()];
        if rust::is_blank(line.text) && std::str::from_utf8(whole).is_ok() {
            recipe.gap(&String::from_utf8_lossy(whole));
            continue;
        }
        let mut members: Vec<Member<'_>> = Vec::new();
        if json::scan_object(line.text, Dialect::Strict, &mut members).is_err() || std::str::from_utf8(line.text).is_err() {
            to.findings.add(
                FindingCode::NotJson,
                Location::at(path.to_string(), line.number, 1),
                "a line that is not a JSON object; kept as damage",
            );
            let seq = to.put_damage(path, line.number, line.offset, "not_json", whole)?;
            recipe.events(seq, seq, |end, next| no_record_between(to.events, end, next));
            continue;
        }
        recipe.line_end(&String::from_utf8_lossy(line.end));
        let payload = draft_whole(line.text, &[]);
        let seq = to.put(EventKind::Custom, None, None, &payload)?;
        let rendered = rendered(&payload);
        if to.check == Check::EachRecord && rendered != line.text {
            let count = to.residual((seq, seq), &rendered, line.text);
            recipe.residual(count);
        } else {
            recipe.events(seq, seq, |end, next| no_record_between(to.events, end, next));
        }
    }
    to.rebuilt(path, HOLDS_LINES, None, recipe);
    Ok(())
}

fn rendered(payload: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    LINES.push_value(get(&json::all_members(payload), "record").unwrap_or(b"null"), &mut out);
    out
}

/// The renderer of such files.
pub(super) fn renderer(holds: &str) -> Option<Box<dyn RecordRenderer>> {
    (holds == HOLDS_LINES).then(|| Box::new(Records) as Box<dyn RecordRenderer>)
}

struct Records;

impl RecordRenderer for Records {
    fn render(&mut self, log: &mut dyn LogAccess, seq: Seq, out: &mut dyn RecordSink) -> Result<(), StreamError> {
        if log.kind(seq) != EventKind::Custom {
            return Ok(());
        }
        let record = rendered(log.event(seq)?.payload);
        out.record(&record)
    }

    fn render_own(&mut self, _: &mut dyn LogAccess, _: &[u8], _: &mut dyn RecordSink) -> Result<(), StreamError> {
        Err(StreamError::log(Seq::ROOT, "does not know a piece of this recipe"))
    }
}

/// The loader of such files: the program shows no message of them.
pub(super) struct NoMessages;

impl Loader for NoMessages {
    fn heads(&mut self) -> Vec<HeadName> {
        vec![HeadName::main()]
    }

    fn load(&mut self, head: Option<&HeadName>, _: &mut dyn FnMut(&[u8])) -> LoadOutcome {
        LoadOutcome { active: head.is_none().then(HeadName::main), ..LoadOutcome::default() }
    }
}
