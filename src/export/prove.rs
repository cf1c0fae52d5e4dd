//! The proof of an export: the target's reader converts the files, its loader
//! confirms what the reader says, and what they show is compared with the log.

use std::collections::{BTreeMap, BTreeSet};

use crate::adapters::exporter::{ExportedSession, Kinship};
use crate::adapters::format::{Check, Format};
use crate::log::{LogView, Projection, Reach, Salvage};
use crate::model::event::EventKind;
use crate::model::export::loss::{Aspect, LossCode, Losses};
use crate::model::files::{Entry, Files, RelPath, SourceFile};
use crate::model::finding::Findings;
use crate::model::ids::Seq;
use crate::verify::{build_log, prove};

use super::carry::Origin;
use super::error::ExportError;
use super::facts::differing;
use super::source::SourceEvent;
use super::understand::understand;
use super::wanted::Wanted;

/// Reads exported files as the target does, and gives the one event that it makes
/// of each of their records.
///
/// # Errors
/// When the target's loader shows something else, or there are not as many
/// events as records.
pub fn read_back(target: &dyn Format, session: &ExportedSession, records: usize) -> Result<Vec<SourceEvent>, ExportError> {
    let unproven = |what: String| ExportError::Unproven { seq: None, what };
    let files = files_of(session);
    let mut findings = Findings::default();
    let built = build_log(target, &files, Check::EachRecord, Vec::new(), &mut findings)?;
    let mut log = LogView::open(built.out).map_err(|problem| unproven(problem.to_string()))?;
    if let Err(difference) = prove(&mut log, target, &files)? {
        return Err(unproven(difference.what));
    }
    if let Some(error) = &log.outcome.error {
        return Err(unproven(format!("{} fails to load it: {error}", target.id())));
    }
    let node = log.state().head(&log.active()).unwrap_or(Seq::ROOT);
    let mut read = Vec::with_capacity(records);
    // A record that says the same as an earlier one is a repeat of it in the log.
    let mut path = Projection::of(&mut log, node, Reach::Path, Salvage::Hidden)?;
    while let Some(shown) = path.next_shown(&mut log)? {
        let event = &shown.event;
        let (kind, ts, payload) = (event.kind, event.ts.map(str::to_owned), event.payload.to_vec());
        read.push(SourceEvent::from_payload(event.seq, kind, ts, payload)?);
    }
    if read.len() != records {
        return Err(unproven(format!("{} reads {} of {records} records", target.id(), read.len())));
    }
    if let Some(exporter) = target.exporter() {
        understand(&mut read, exporter, Kinship::SameFormat)?;
    }
    Ok(read)
}

/// The files of an export, as its target's reader takes them.
#[must_use]
pub fn files_of(session: &ExportedSession) -> Files {
    let mut files = Files::new(session.name.as_bytes());
    let root = session.root.as_bytes();
    for (path, bytes) in &session.files {
        let below = path.as_bytes().strip_prefix(root).map(|rest| rest.strip_prefix(b"/").unwrap_or(rest));
        let below = below.unwrap_or(path.as_bytes());
        files.insert(RelPath::new(below), Entry::File(SourceFile { bytes: bytes.clone(), mtime_ns: 0 }));
    }
    files
}

/// Checks that two readings of an export show the same.
///
/// # Errors
/// When they do not.
pub fn same(bare: &[SourceEvent], extended: &[SourceEvent]) -> Result<(), ExportError> {
    for (a, b) in bare.iter().zip(extended) {
        if let Some(aspect) = differing(&[a], &[b]).first() {
            return Err(ExportError::Unproven { seq: None, what: format!("the extension changes {aspect:?} of record {}", a.seq) });
        }
    }
    Ok(())
}

/// Compares what was read with the events that it was made of. What differs must
/// have been declared; what was declared and does not differ is struck.
///
/// # Errors
/// When something differs that was not declared.
pub fn settle_losses(
    events: &[SourceEvent],
    origins: &[Origin],
    read: &[SourceEvent],
    losses: &mut Losses,
    wanted: &Wanted,
) -> Result<(), ExportError> {
    let mut differences: BTreeMap<Seq, BTreeSet<Aspect>> = BTreeMap::new();
    for (before, after) in groups(events.len(), origins) {
        let (before, after): (Vec<&SourceEvent>, Vec<&SourceEvent>) =
            (before.iter().map(|at| &events[*at]).collect(), after.iter().map(|at| &read[*at]).collect());
        let mut aspects = if after.is_empty() { BTreeSet::from([Aspect::Presence]) } else { differing(&before, &after) };
        if wanted.model.is_some() {
            aspects.remove(&Aspect::Model);
        }
        let declared: BTreeSet<LossCode> = before.iter().flat_map(|event| losses.of(event.seq)).collect();
        let covered: BTreeSet<Aspect> = declared.iter().flat_map(|code| code.aspects()).copied().collect();
        let is_message = |event: &&&SourceEvent| event.message.is_some() || event.kind == EventKind::Message;
        if let Some(missing) = aspects.iter().find(|aspect| !covered.contains(aspect)) {
            let seq = before.iter().find(is_message).or(before.first()).map(|event| event.seq);
            return Err(ExportError::Unproven { seq, what: format!("{missing:?} differs, and no loss says so") });
        }
        for event in before {
            differences.entry(event.seq).or_default().extend(aspects.iter().copied());
        }
    }
    losses.retain(|code, seq| {
        code.aspects().is_empty() || differences.get(&seq).is_some_and(|found| code.aspects().iter().any(|aspect| found.contains(aspect)))
    });
    Ok(())
}

/// Events and the records that were made of them, together where one is made of
/// several or several of one.
fn groups(events: usize, origins: &[Origin]) -> Vec<(Vec<usize>, Vec<usize>)> {
    // Events that are joined form one group, named by the first of them.
    let mut group: Vec<usize> = (0..events).collect();
    for origin in origins {
        if let Origin::Events(of) = origin
            && let Some(first) = of.first()
        {
            let name = group[*first];
            for one in of {
                let old = group[*one];
                if old != name {
                    group.iter_mut().filter(|of| **of == old).for_each(|of| *of = name);
                }
            }
        }
    }
    let mut found: BTreeMap<usize, (Vec<usize>, Vec<usize>)> = BTreeMap::new();
    for (at, name) in group.iter().enumerate() {
        found.entry(*name).or_default().0.push(at);
    }
    for (record, origin) in origins.iter().enumerate() {
        let of = match origin {
            Origin::Invented(of) => *of,
            Origin::Events(of) => of.first().copied(),
        };
        if let Some(of) = of {
            found.entry(group[of]).or_default().1.push(record);
        }
    }
    found.into_values().collect()
}
