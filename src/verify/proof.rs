//! A whole log against a whole session.

use std::collections::{BTreeMap, BTreeSet};

use crate::adapters::format::Format;
use crate::json::{self, Dialect};
use crate::log::LogView;
use crate::log::restore::{FilePlan, file_plan, rebuild};
use crate::model::digest::sha256_hex;
use crate::model::event::{FileKind, Outcome};
use crate::model::fact::Fact;
use crate::model::files::{Entry, Files};
use crate::model::heads::{HeadKind, HeadName};
use crate::model::loaded::LoadOutcome;
use crate::model::location::Location;
use crate::model::stream::{ReadAt, StreamError};

use super::bytes::Compare;
use super::difference::Difference;
use super::messages::{Comparison, HeadComparison};
use super::records::Records;
use super::seal::seal_difference;

/// What was proven.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Proof {
    /// Bytes rebuilt.
    pub bytes: u64,
    /// Messages of the head that is shown by default.
    pub messages: u64,
    /// How many heads there are.
    pub heads: u64,
    /// How many of them were compared message by message: where heads share
    /// long paths, comparing all would take time without end.
    pub heads_compared: u64,
}

/// How many messages of heads other than the one shown by default are compared
/// at least, in whatever session.
const ALWAYS_COMPARED: u64 = 100_000;

/// How many more, for each event of the log.
const COMPARED_PER_EVENT: u64 = 4;

/// A line that is longer is held only once: each proof holds it in a window of
/// its own.
const LONG_LINE: u64 = 16 * 1024 * 1024;

/// Proves that a log rebuilds these files and replays what their program
/// loads. The inner result is the first difference.
///
/// # Errors
/// When the log cannot be read.
pub fn prove<R: ReadAt + Clone + Send>(
    log: &mut LogView<R>,
    adapter: &dyn Format,
    files: &Files,
) -> Result<Result<Proof, Difference>, StreamError> {
    prove_records(log, adapter, files, &mut Records::default())
}

/// Proves a log against its files as [`prove`] does, and notes the records that its
/// events were rendered to, but for large sessions.
///
/// # Errors
/// When the log cannot be read.
pub fn prove_records<'f, R: ReadAt + Clone + Send>(
    log: &mut LogView<R>,
    adapter: &dyn Format,
    files: &'f Files,
    records: &mut Records<'f>,
) -> Result<Result<Proof, Difference>, StreamError> {
    if let Some(difference) = seal_difference(log.seal()) {
        return Ok(Err(difference));
    }
    if !files.is_large() || log.longest_line() > LONG_LINE {
        let bytes = match records_rebuild(log, adapter, files, records)? {
            Ok(bytes) => bytes,
            Err(difference) => return Ok(Err(difference)),
        };
        return Ok(replays(log, adapter, files, records)?.map(|replayed| Proof { bytes, ..replayed }));
    }
    let mut second = log.second();
    // A thread of its own, not one of the pool: a pool's thread that waits
    // takes up another session, which may have to wait for this one's memory.
    let (rebuilt, replayed) = std::thread::scope(|scope| {
        let replay = scope.spawn(|| replays(&mut second, adapter, files, &Records::default()));
        let rebuilt = files_rebuild(log, adapter, files);
        (rebuilt, replay.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let bytes = match rebuilt? {
        Ok(bytes) => bytes,
        Err(difference) => return Ok(Err(difference)),
    };
    Ok(replayed?.map(|replayed| Proof { bytes, ..replayed }))
}

/// Proves that a log rebuilds these files; says how many bytes they have. The
/// inner result is the first difference.
///
/// # Errors
/// When the log cannot be read.
pub fn files_rebuild<R: ReadAt>(log: &mut LogView<R>, adapter: &dyn Format, files: &Files) -> Result<Result<u64, Difference>, StreamError> {
    records_rebuild(log, adapter, files, &mut Records::default())
}

/// Proves that a log rebuilds these files, and notes the records that its events were
/// rendered to.
fn records_rebuild<'f, R: ReadAt>(
    log: &mut LogView<R>,
    adapter: &dyn Format,
    files: &'f Files,
    records: &mut Records<'f>,
) -> Result<Result<u64, Difference>, StreamError> {
    let mut proven = BTreeSet::new();
    let mut bytes = 0;
    for seq in log.files().to_vec() {
        let plan = file_plan(log, seq)?;
        let name = plan.path.to_string();
        let Some(entry) = files.entry(&plan.path) else {
            return Ok(Err(Difference::in_file(only_in_log(&plan), Location::file(name))));
        };
        if let Some(difference) = one_file(log, adapter, &plan, entry, records)? {
            return Ok(Err(difference));
        }
        if let Entry::File(file) | Entry::Rows(file) = entry {
            bytes += file.bytes.len() as u64;
        }
        proven.insert(plan.path);
    }
    match files.iter().find(|(path, _)| !proven.contains(*path)) {
        Some((path, entry)) => Ok(Err(Difference::in_file(only_in_source(entry), Location::file(path.to_string())))),
        None => Ok(Ok(bytes)),
    }
}

/// Said of what is in a log alone.
pub(super) fn only_in_log(plan: &FilePlan) -> &'static str {
    match plan.entry.kind {
        FileKind::Folder => "the log has an empty folder that the source has not",
        FileKind::Rows => "the log has rows of a database that the source has not",
        FileKind::File | FileKind::Link => "the log has a file that the source has not",
    }
}

/// Said of what is in a source alone.
pub(super) fn only_in_source(entry: &Entry) -> &'static str {
    match entry {
        Entry::EmptyFolder => "the source has an empty folder that the log has not",
        Entry::Rows(_) => "the source has rows of a database that the log has not",
        Entry::File(_) | Entry::Link { .. } => "the source has a file that the log has not",
    }
}

/// Compares one file; notes what events were rendered to.
pub(super) fn one_file<'f, R: ReadAt>(
    log: &mut LogView<R>,
    adapter: &dyn Format,
    plan: &FilePlan,
    entry: &'f Entry,
    records: &mut Records<'f>,
) -> Result<Option<Difference>, StreamError> {
    let name = plan.path.to_string();
    let differs = |what: &str| Some(Difference::in_file(what, Location::file(name.clone())));
    match (entry, plan.entry.kind) {
        (Entry::EmptyFolder, FileKind::Folder) => Ok(None),
        (Entry::Link { target }, FileKind::Link) => {
            Ok(if plan.target.as_ref() == Some(target) { None } else { differs("the link leads elsewhere in the log") })
        }
        (Entry::File(file), FileKind::File) | (Entry::Rows(file), FileKind::Rows) => {
            if let Some(blob) = &plan.entry.blob {
                let same = plan.entry.size == Some(file.bytes.len() as u64) && sha256_hex(&file.bytes) == *blob;
                return Ok(if same { None } else { differs("the attachment has other bytes than the log says") });
            }
            let mut sink = Compare::with(&file.bytes, records);
            match rebuild(log, plan, &|holds, style, shapes| adapter.renderer(holds, style, shapes), &mut sink) {
                Ok(()) | Err(StreamError::Differs) => Ok(sink.difference(&name)),
                Err(StreamError::TooLong) => Ok(sink.difference(&name).or_else(|| differs("the rebuilt file is longer than its source"))),
                Err(error) => Err(error),
            }
        }
        _ => Ok(differs("the log has something else at this path than the source")),
    }
}

/// Compares replay and load of every head, as far as that takes no time
/// without end.
fn replays<R: ReadAt>(
    log: &mut LogView<R>,
    adapter: &dyn Format,
    files: &Files,
    records: &Records<'_>,
) -> Result<Result<Proof, Difference>, StreamError> {
    let message_renderer = adapter.message_renderer(log.shapes());
    let mut comparison = Comparison::new(message_renderer.as_ref(), records);
    let mut loader = adapter.loader(files);
    let active = log.active();
    let HeadComparison { outcome, messages, difference, .. } = comparison.head(log, loader.as_mut(), None, &active)?;
    if let Some(difference) = outcome_difference(&outcome, &log.outcome, &active, difference) {
        return Ok(Err(difference));
    }
    let in_source: BTreeSet<HeadName> = loader.heads().into_iter().collect();
    if let Some(difference) = heads_difference(log, &in_source) {
        return Ok(Err(difference));
    }
    let failed = outcome.error.is_some();
    let mut proof = Proof { messages, heads: in_source.len() as u64, ..Proof::default() };
    let mut others: Vec<&HeadName> = in_source.iter().filter(|head| failed || **head != active).collect();
    others.sort_by_cached_key(ToString::to_string);
    proof.heads_compared = proof.heads - others.len() as u64;
    let mut left = budget(log);
    for head in others {
        let compared = comparison.head(log, loader.as_mut(), Some(head), head)?;
        let cost = compared.cost;
        if let Some(difference) = head_difference(compared, &log.outcome, head) {
            return Ok(Err(difference));
        }
        proof.heads_compared += 1;
        match left.checked_sub(cost) {
            Some(rest) => left = rest,
            None => break,
        }
    }
    Ok(Ok(proof))
}

/// Returns a head that only one side has.
pub(super) fn heads_difference<R: ReadAt>(log: &LogView<R>, in_source: &BTreeSet<HeadName>) -> Option<Difference> {
    // A fork was added to the log and is not one of the source's.
    let forks: BTreeSet<&HeadName> = log.forks().iter().collect();
    let in_log: BTreeSet<HeadName> = log.state().heads().map(|(name, _)| name.clone()).filter(|name| !forks.contains(name)).collect();
    let head = in_log.symmetric_difference(in_source).next()?;
    let (has, lacks) = if in_log.contains(head) { ("log", "source") } else { ("source", "log") };
    let node = log.state().head(head).filter(|node| !node.is_root());
    Some(Difference::in_log(format!("the {has} has a head that the {lacks} has not: {head}"), node.map(|node| u64::from(node.number()))))
}

/// Returns how many messages of heads other than the default are compared.
pub(super) fn budget<R: ReadAt>(log: &LogView<R>) -> u64 {
    COMPARED_PER_EVENT * u64::from(log.last().number()) + ALWAYS_COMPARED
}

/// Returns where the default load ends otherwise than the log says.
pub(super) fn outcome_difference(
    outcome: &LoadOutcome,
    said: &Outcome,
    active: &HeadName,
    messages: Option<Difference>,
) -> Option<Difference> {
    let says = |what: &str, source: String, log: String| Some(Difference::in_log(what, None).with_texts(source, log));
    if outcome.error != said.error {
        return says("the load ends otherwise", format!("{:?}", outcome.error), format!("{:?}", said.error));
    }
    if outcome.error.is_none() {
        if messages.is_some() {
            return messages;
        }
        if outcome.active.as_ref() != Some(active) {
            return says("another head is shown", format!("{:?}", outcome.active), active.to_string());
        }
        if outcome.summary != said.summary {
            return says("the summary differs", format!("{:?}", outcome.summary), format!("{:?}", said.summary));
        }
    }
    // Branches that fail are compared one by one.
    let is_other = |name: &String| !name.starts_with("branch:");
    let failing = |failures: &BTreeMap<String, String>| -> BTreeMap<String, String> {
        failures.iter().filter(|(name, _)| is_other(name)).map(|(name, why)| (name.clone(), why.clone())).collect()
    };
    if outcome.model != said.model || failing(&outcome.failures) != failing(&said.failures) {
        let (source, log) = (format!("{:?} {:?}", outcome.model, outcome.failures), format!("{:?} {:?}", said.model, said.failures));
        return says("model or unreadable heads differ", source, log);
    }
    let differs = |name: &String| !is_same_fact(outcome.facts.get(name), said.facts.get(name));
    let name = outcome.facts.keys().chain(said.facts.keys()).find(|name| differs(name))?;
    let (derived, told) = (outcome.facts.get(name), said.facts.get(name).map(Fact::as_str));
    says(&format!("the fact `{name}` differs"), format!("{derived:?}"), format!("{told:?}"))
}

/// Tells whether a fact is the same on both sides; lists, maps and numbers may be
/// spelt differently.
fn is_same_fact(source: Option<&String>, log: Option<&Fact>) -> bool {
    // A derived value that is any JSON may be a string: then the log has a text.
    if let (Some(source), Some(Fact::Text(text))) = (source, log)
        && serde_json::from_str::<String>(source).is_ok_and(|source| source == *text)
    {
        return true;
    }
    let log = log.map(Fact::as_str);
    let may_be_json = |text: &str| text.starts_with(['{', '[', '-']) || text.starts_with(|c: char| c.is_ascii_digit());
    match (source, log) {
        (Some(source), Some(log)) => source == log || (may_be_json(source) && may_be_json(log) && is_same_json(source, log)),
        (None, None) => true,
        (Some(_), None) | (None, Some(_)) => false,
    }
}

/// Tells whether two texts are valid JSON of the same value.
fn is_same_json(source: &str, log: &str) -> bool {
    let [source, log] = [source, log].map(|text| json::validate(text.as_bytes(), Dialect::Python).ok());
    source.zip(log).is_some_and(|(source, log)| source.value.is_same_as(log.value))
}

/// Returns where a head by itself is otherwise than the log says.
pub(super) fn head_difference(compared: HeadComparison, said: &Outcome, head: &HeadName) -> Option<Difference> {
    let said_of_head = said.failures.get(&head.to_string());
    let Some(error) = compared.outcome.error else {
        let unfounded = said_of_head.filter(|_| head.kind == HeadKind::Branch).map(|why| {
            Difference::in_log(format!("{head} loads, and the log says that it fails"), None).with_texts("it loads", why.clone())
        });
        return unfounded.or(compared.difference);
    };
    let said = match head.kind {
        // An event log fails alone, and so does a branch of a tree.
        HeadKind::Events | HeadKind::Branch if said_of_head == Some(&error) => return None,
        HeadKind::Events => said_of_head,
        // A list that fails makes the whole session fail, with the error of
        // whichever of them the program reads first.
        HeadKind::Branch | HeadKind::View | HeadKind::Context if said.error.is_some() => return None,
        HeadKind::Branch | HeadKind::View | HeadKind::Context => None,
        // The program loads no backup by itself.
        HeadKind::Backup => return None,
    };
    Some(Difference::in_log(format!("{head} fails to load otherwise"), None).with_texts(error, format!("{said:?}")))
}
