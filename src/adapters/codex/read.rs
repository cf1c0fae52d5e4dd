//! A unit's files to events: the rollouts of one thread, oldest first, each record
//! once, and the heads that show what a load comes to.

use crate::adapters::format::{Check, ReadSummary};
use crate::adapters::kit::conversion::Conversion;
use crate::model::event::{EventKind, Outcome, Session, SessionKind, SessionUsage};
use crate::model::files::{Entry, Files, RelPath};
use crate::model::finding::{FindingCode, Findings};
use crate::model::heads::{HeadKind, HeadName, HeadOp};
use crate::model::ids::Seq;
use crate::model::location::Location;
use crate::model::packing::{self, Packing};
use crate::model::stream::{EventSink, StreamError};

use super::lay::Layer;
use super::members::{inside, members_of, number, text};
use super::names::{self, Form, ID};
use super::prepare::{Prepared, Rollout, Standing};
use super::record::Record;
use super::scan::{self, PROGRAM, Scan};
use super::{document, home};

/// A rollout that is no longer in its plain form.
struct Cold<'a> {
    path: &'a RelPath,
    packed: &'a [u8],
    plain: Option<Vec<u8>>,
}

/// Converts a unit.
pub(super) fn read(files: &Files, check: Check, events: &mut dyn EventSink, findings: &mut Findings) -> Result<ReadSummary, StreamError> {
    let of_home = home::files_of(files);
    if !of_home.is_empty() {
        return home::read(files, &of_home, Conversion::new(files, check, events, findings));
    }
    let regular: Vec<(&RelPath, &[u8])> = files
        .iter()
        .filter_map(|(path, entry)| match entry {
            Entry::File(file) => Some((path, file.bytes.as_slice())),
            Entry::Link { .. } | Entry::EmptyFolder | Entry::Rows(_) => None,
        })
        .collect();
    if let [(path, bytes)] = regular.as_slice()
        && document::is_document(bytes)
    {
        return document::read(files, path, bytes, Conversion::new(files, check, events, findings));
    }
    let cold: Vec<Cold<'_>> = regular
        .iter()
        .filter(|(path, bytes)| {
            names::parse(path.as_bytes()).is_some_and(|name| name.form == Form::Cold) || bytes.starts_with(&packing::ZSTD_MAGIC)
        })
        .map(|(path, bytes)| Cold { path, packed: bytes, plain: packing::unpack(bytes) })
        .collect();
    let mut rollouts = Vec::new();
    for (path, bytes) in &regular {
        let text = match cold.iter().find(|cold| cold.path == *path) {
            None => Some(*bytes),
            Some(cold) => cold.plain.as_deref(),
        };
        if text.is_none() {
            findings.add(FindingCode::NotJson, Location::of_path(path), "cannot be decompressed; kept as it is");
        }
        rollouts.push((*path, text));
    }
    thread(files, &rollouts, &cold, Conversion::new(files, check, events, findings))
}

/// Converts the rollouts of one thread.
fn thread<'a>(
    files: &'a Files,
    rollouts: &[(&'a RelPath, Option<&'a [u8]>)],
    cold: &'a [Cold<'a>],
    mut to: Conversion<'a, '_>,
) -> Result<ReadSummary, StreamError> {
    let mut prepared = Prepared::new(files, rollouts, to.findings);
    let session = session(files, &prepared);
    to.put_json(EventKind::Session, &session)?;
    let main = prepared.main();
    let outcome = outcome(&prepared, main, to.findings);
    let mut layer = Layer::new(to);
    for n in prepared.order() {
        let is_shown = outcome.error.is_none() && !prepared.is_on_server(n);
        let head = match prepared.standing(n) {
            Standing::Main if is_shown => Some(HeadName::main()),
            Standing::Main => Some(HeadName::new(HeadKind::Backup, UNLOADED)),
            Standing::Earlier => Some(HeadName::new(HeadKind::Backup, &*prepared.rollouts[n].id)),
            Standing::Shadowed | Standing::Foreign => None,
        };
        layer.rollout(&mut prepared, n, head)?;
    }
    if let Some(main) = main.filter(|_| outcome.error.is_none()) {
        layer.contexts(&mut prepared, main)?;
        layer.finish(&mut prepared, main)?;
    } else {
        layer.to.put_head(&HeadName::main(), Seq::ROOT, HeadOp::Branch)?;
    }
    let Layer { mut to, shapes, .. } = layer;
    for cold in cold {
        pack(&mut to, cold);
    }
    to.put_json(EventKind::Outcome, &outcome)?;
    to.events.close_facts(&HeadName::main().to_string())?;
    to.trailer(shapes.others())
}

/// Says how a file is compressed. One that would come out otherwise is kept as it is,
/// beside the log.
fn pack(to: &mut Conversion<'_, '_>, cold: &Cold<'_>) {
    let Some(plain) = &cold.plain else { return };
    match Packing::of(cold.packed, plain) {
        Some(packing) => to.packed(cold.path, packing),
        None => {
            to.kept_as_it_is(cold.path);
            to.summary.residual_bytes += cold.packed.len() as u64;
        }
    }
}

fn session(files: &Files, prepared: &Prepared<'_>) -> Session {
    let own: Vec<&Rollout<'_>> = prepared.own().collect();
    let first = own.first().map(|rollout| &rollout.scan.header);
    let name = own.first().and_then(|rollout| names::parse(rollout.path?.as_bytes())).map(|name| name.thread.to_owned());
    let id = first.and_then(|header| header.id.clone()).or(name).unwrap_or_else(|| files.name().to_owned());
    Session {
        above: own.first().and_then(|rollout| names::above(rollout.path?)),
        title: home::title(files, &id),
        cwd: first.and_then(|header| header.cwd.clone()),
        format_version: first.and_then(|header| header.version.clone()),
        created: first.and_then(|header| header.timestamp.clone()),
        parent_session: first.and_then(|header| header.parent.as_deref().map(str::to_owned)),
        ..Session::new(SessionKind::Session, ID, id)
    }
}

fn outcome(prepared: &Prepared<'_>, main: Option<usize>, findings: &mut Findings) -> Outcome {
    let error = match main {
        None => Some(scan::EMPTY.to_owned()),
        Some(main) => prepared.refusal(main),
    };
    if let (Some(error), Some(path)) = (&error, main.and_then(|main| prepared.rollouts[main].path)) {
        findings.add(FindingCode::LoaderFails, Location::of_path(path), format!("{PROGRAM} refuses this session: {error}"));
    }
    let usage = main.and_then(|main| usage(&prepared.rollouts[main].scan));
    Outcome { active: Some(HeadName::main().to_string()), error, usage, ..Outcome::default() }
}

/// What a thread took: the last of the counts that its rollout has. The program counts
/// on from it when it resumes the thread.
fn usage(scan: &Scan<'_>) -> Option<SessionUsage> {
    let payloads = |record: Record| {
        let lines = scan.records.iter().rev().filter(move |line| line.record == record);
        lines.map(|line| inside(&members_of(line.text.trim_ascii_start()), "payload"))
    };
    let counts = payloads(Record::Other).find_map(|event| {
        let counts = inside(&inside(&event, "info"), "total_token_usage");
        (text(&event, "type").as_deref() == Some("token_count") && !counts.is_empty()).then_some(counts)
    });
    let counts = counts.unwrap_or_default();
    let usage = SessionUsage {
        model: payloads(Record::TurnContext).find_map(|settings| text(&settings, "model")),
        input: number(&counts, "input_tokens"),
        output: number(&counts, "output_tokens"),
        reasoning: number(&counts, "reasoning_output_tokens"),
        cache_read: number(&counts, "cached_input_tokens"),
        cache_write: number(&counts, "cache_write_input_tokens"),
        total: number(&counts, "total_tokens"),
        cost: None,
    };
    usage.if_any()
}

/// The head of what can be read of a session that Codex does not load.
const UNLOADED: &str = "unloaded";
