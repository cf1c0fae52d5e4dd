//! Why a proof failed: everything that differs, as far as anybody wants to
//! read. A proof itself stops at the first difference.

use similar::{Algorithm, DiffOp, capture_diff_slices_deadline};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use crate::adapters::format::{Check, Format};
use crate::json::Value;
use crate::log::LogView;
use crate::log::restore::{ByteSink, FilePlan, file_plan, rebuild};
use crate::model::event::FileKind;
use crate::model::files::{Entry, Files};
use crate::model::finding::Findings;
use crate::model::heads::HeadName;
use crate::model::ids::Seq;
use crate::model::location::Location;
use crate::model::shown::MessageRenderer;
use crate::model::stream::{ReadAt, StreamError};

use super::build::build_log;
use super::difference::{Difference, DifferenceAt, Sides, Window};
use super::messages::{Comparison, Replayed, message_difference};
use super::proof::{budget, head_difference, heads_difference, one_file, only_in_log, only_in_source, outcome_difference};
use super::records::Records;

/// Files up to this size are compared to their end; of larger ones only the
/// first difference is shown.
const COMPARED_TO_THE_END: u64 = 64 * 1024 * 1024;

/// How long two sides are matched before the match may be a coarse one.
const MATCHING: Duration = Duration::from_millis(500);

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Around a difference.
    pub context: usize,
    /// How many differences of one log.
    pub most: usize,
}

/// What differs, and how much more does.
#[derive(Debug, Default)]
pub struct Explained {
    /// What differs.
    pub list: Vec<Difference>,
    /// How many more differences there are that are not listed.
    pub more: u64,
}

impl Explained {
    /// Adds one, if there is room.
    pub fn add(&mut self, difference: Difference, limits: Limits) {
        if self.list.len() < limits.most {
            self.list.push(difference);
        } else {
            self.more += 1;
        }
    }
}

/// Returns the deadline of one match.
pub(super) fn deadline() -> Option<Instant> {
    Instant::now().checked_add(MATCHING)
}

/// Everything in which these files are others than a log rebuilds.
///
/// # Errors
/// When the log cannot be read.
pub fn file_differences<R: ReadAt>(
    log: &mut LogView<R>,
    adapter: &dyn Format,
    files: &Files,
    limits: Limits,
    found: &mut Explained,
) -> Result<(), StreamError> {
    let mut seen = BTreeSet::new();
    for seq in log.files().to_vec() {
        let plan = file_plan(log, seq)?;
        match files.entry(&plan.path) {
            None => {
                let gone = Difference::in_file(only_in_log(&plan), Location::file(plan.path.to_string()));
                found.add(Difference { event: Some(seq), ..gone }, limits);
            }
            Some(entry) => {
                if let Some(difference) = one_file(log, adapter, &plan, entry, &mut Records::default())? {
                    found.add(to_the_end(log, adapter, &plan, entry, difference, limits.context)?, limits);
                }
            }
        }
        seen.insert(plan.path);
    }
    for (path, entry) in files.iter().filter(|(path, _)| !seen.contains(*path)) {
        found.add(Difference::in_file(only_in_source(entry), Location::file(path.to_string())), limits);
    }
    Ok(())
}

/// Rebuilt bytes, as many as are wanted.
struct Collect {
    bytes: Vec<u8>,
    most: u64,
}

impl ByteSink for Collect {
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), StreamError> {
        if self.bytes.len() as u64 + bytes.len() as u64 > self.most {
            return Err(StreamError::TooLong);
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }
}

/// Returns a difference of bytes with as much context as is wanted, and with a count
/// of the lines after it that differ too.
fn to_the_end<R: ReadAt>(
    log: &mut LogView<R>,
    adapter: &dyn Format,
    plan: &FilePlan,
    entry: &Entry,
    difference: Difference,
    context: usize,
) -> Result<Difference, StreamError> {
    let (Sides::Bytes { log: window, .. }, Entry::File(file) | Entry::Rows(file)) = (&difference.sides, entry) else {
        return Ok(difference);
    };
    if !matches!(plan.entry.kind, FileKind::File | FileKind::Rows) {
        return Ok(difference);
    }
    if file.bytes.len() as u64 > COMPARED_TO_THE_END {
        return Ok(difference);
    }
    let at = usize::try_from(window.offset).unwrap_or(usize::MAX).saturating_add(window.at);
    let mut rebuilt = Collect { bytes: Vec::new(), most: COMPARED_TO_THE_END };
    match rebuild(log, plan, &|holds, style, shapes| adapter.renderer(holds, style, shapes), &mut rebuilt) {
        // What cannot be rebuilt to its end is compared as far as it goes.
        Ok(()) | Err(StreamError::TooLong | StreamError::Log { .. }) => {}
        Err(error) => return Err(error),
    }
    let more = Some(lines_that_differ(&file.bytes, &rebuilt.bytes).saturating_sub(1));
    let (source, log) = (Window::around(&file.bytes, at, context), Window::around(&rebuilt.bytes, at, context));
    Ok(Difference { sides: Sides::Bytes { source, log, more }, ..difference })
}

/// In how many lines two texts differ.
fn lines_that_differ(source: &[u8], rebuilt: &[u8]) -> u64 {
    let lines = |text| -> Vec<&[u8]> { <[u8]>::split_inclusive(text, |byte| *byte == b'\n').collect() };
    let ops = capture_diff_slices_deadline(Algorithm::Myers, &lines(source), &lines(rebuilt), deadline());
    let changed = ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. }));
    changed.map(|op| op.old_range().len().max(op.new_range().len()) as u64).sum()
}

/// Everything in which the replay of a log is other than what the source
/// program shows.
///
/// # Errors
/// When the log cannot be read.
pub fn replay_differences<R: ReadAt>(
    log: &mut LogView<R>,
    adapter: &dyn Format,
    files: &Files,
    limits: Limits,
    found: &mut Explained,
) -> Result<(), StreamError> {
    let (message_renderer, records) = (adapter.message_renderer(log.shapes()), Records::default());
    let mut comparison = Comparison::new(message_renderer.as_ref(), &records);
    let mut loader = adapter.loader(files);
    let active = log.active();
    let compared = comparison.head(log, loader.as_mut(), None, &active)?;
    let before = found.list.len();
    if compared.outcome.error.is_none() && log.outcome.error.is_none() {
        let mut loaded = Vec::new();
        loader.load(None, &mut |message| loaded.push(message.to_vec()));
        messages_of_head(log, message_renderer.as_ref(), &active, &loaded, limits, found)?;
    }
    if let Some(difference) = outcome_difference(&compared.outcome, &log.outcome, &active, None) {
        found.add(difference, limits);
    }
    let in_source: BTreeSet<HeadName> = loader.heads().into_iter().collect();
    if let Some(difference) = heads_difference(log, &in_source) {
        found.add(difference, limits);
    }
    // Heads share their messages: what differs in one differs in all.
    if found.list.len() > before {
        return Ok(());
    }
    let mut left = budget(log);
    for head in in_source.iter().filter(|head| **head != active) {
        let compared = comparison.head(log, loader.as_mut(), Some(head), head)?;
        let cost = compared.cost;
        if let Some(difference) = head_difference(compared, &log.outcome, head) {
            found.add(difference, limits);
        }
        let Some(rest) = left.checked_sub(cost) else { break };
        left = rest;
    }
    Ok(())
}

/// The messages of one head that differ, matched so that one which is missing
/// does not make all after it differ.
fn messages_of_head<R: ReadAt>(
    log: &mut LogView<R>,
    message_renderer: &MessageRenderer,
    head: &HeadName,
    loaded: &[Vec<u8>],
    limits: Limits,
    found: &mut Explained,
) -> Result<(), StreamError> {
    let node = log.state().head(head).unwrap_or(Seq::ROOT);
    let mut replayed = Vec::new();
    let mut lines = Replayed::of(log, message_renderer, node)?;
    while let Some(line) = lines.next_line(|seq, line| (seq, line.to_vec()))? {
        replayed.push(line);
    }
    let head = head.to_string();
    let shown: Vec<&[u8]> = loaded.iter().map(Vec::as_slice).collect();
    let given: Vec<&[u8]> = replayed.iter().map(|(_, line)| line.as_slice()).collect();
    let same = |loaded: &[u8], replayed: &[u8]| Value::trusted(loaded).is_same_as(Value::trusted(replayed));
    for op in capture_diff_slices_deadline(Algorithm::Myers, &keys(&shown), &keys(&given), deadline()) {
        let (old, new) = (op.old_range(), op.new_range());
        for n in 0..old.len().max(new.len()) {
            let (old, new) = (Some(old.start + n).filter(|at| old.contains(at)), Some(new.start + n).filter(|at| new.contains(at)));
            match (old, new) {
                (Some(old), Some(new)) if same(shown[old], given[new]) => {}
                (Some(old), Some(new)) => {
                    found.add(message_difference(&head, old + 1, shown[old], (replayed[new].0, given[new])), limits);
                }
                (Some(old), None) => {
                    let what = format!("message {} of {head} is in the source and not in the log", old + 1);
                    let line = replayed.get(op.new_range().start).map(|(seq, _)| u64::from(seq.number()));
                    found.add(Difference::in_log(what, line), limits);
                }
                (None, Some(new)) => {
                    let what = format!("message {} of {head} is in the log and not in the source", new + 1);
                    found.add(Difference::at_event(what, replayed[new].0), limits);
                }
                (None, None) => {}
            }
        }
    }
    Ok(())
}

/// Returns what makes values match: they are equal, however they are spelt.
fn keys(values: &[&[u8]]) -> Vec<Vec<u8>> {
    values.iter().map(|value| Value::trusted(value).normal_form()).collect()
}

/// Tells whether a conversion of these files gives this log, up to its first seal:
/// what follows that are forks. `None` where that cannot be told, because
/// the log has times of files in it, which copies of them do not keep.
///
/// # Errors
/// When the files cannot be converted.
pub fn is_conversion<R: ReadAt>(log: &LogView<R>, adapter: &dyn Format, files: &Files) -> Result<Option<bool>, StreamError> {
    let mut has_times = false;
    // A session may have been converted in either way.
    for check in [Check::ByProof, Check::EachRecord] {
        let built = build_log(adapter, files, check, std::io::sink(), &mut Findings::default())?;
        has_times |= built.summary.uses_file_times;
        if log.began_as(built.written.bytes, &built.written.sha256) {
            return Ok(Some(true));
        }
    }
    Ok(if has_times { None } else { Some(false) })
}

/// Returns where a log whose bytes are not those that were sealed first differs from
/// what its source gives today. Nothing where that cannot be told.
#[must_use]
pub fn altered_line(bytes: &[u8], adapter: &dyn Format, files: &Files, context: usize) -> Option<Difference> {
    if files.total_bytes() > COMPARED_TO_THE_END {
        return None;
    }
    // A session may have been converted in either way: the better match counts.
    let fresh = [Check::ByProof, Check::EachRecord]
        .into_iter()
        .filter_map(|check| build_log(adapter, files, check, Vec::new(), &mut Findings::default()).ok())
        .map(|built| built.out);
    let parted = |fresh: &[u8]| fresh.iter().zip(bytes).take_while(|(a, b)| a == b).count();
    let fresh = fresh.max_by_key(|fresh| parted(fresh))?;
    let at = parted(&fresh);
    if at == fresh.len() || at == bytes.len() {
        return None;
    }
    let location = Location::of_offset("log", bytes, at);
    Some(Difference {
        what: "the log was altered: a conversion of its source gives another line".to_owned(),
        place: DifferenceAt::Log(location.line.zip(location.byte)),
        event: None,
        sides: Sides::Bytes { source: Window::around(&fresh, at, context), log: Window::around(bytes, at, context), more: None },
    })
}
