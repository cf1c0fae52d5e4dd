//! The laws of export, over the logs of all fixtures and all targets, with no
//! program installed: nothing is lost unsaid, nothing is called lost that is
//! there, the same log gives the same bytes, and what went comes back.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use everlog::adapters::format::{Check, Format};
use everlog::adapters::{ALL, by_id};
use everlog::export::source::{self, Depth, SourceEvent};
use everlog::export::{self, Export, ExportError, Extension, Wanted};
use everlog::json;
use everlog::log::LogView;
use everlog::model::ids::Seq;
use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use crate::support;

struct Source {
    path: PathBuf,
    log: LogView<Vec<u8>>,
    node: Seq,
}

fn sources() -> Vec<Source> {
    let wanted = std::env::var("LOG").unwrap_or_default();
    let logs = support::golden_logs().into_iter().filter(|path| path.to_string_lossy().contains(&wanted));
    logs.map(|path| {
        let log = LogView::open(fs::read(&path).unwrap()).unwrap();
        let node = log.state().head(&log.active()).unwrap_or(Seq::ROOT);
        Source { path, log, node }
    })
    .collect()
}

fn targets() -> impl Iterator<Item = &'static dyn Format> {
    let wanted = std::env::var("TARGET").unwrap_or_default();
    ALL.iter().copied().filter(move |format| format.exporter().is_some() && (wanted.is_empty() || format.id() == wanted))
}

fn exported(source: &mut Source, target: &'static dyn Format, extension: Extension) -> Result<Export, ExportError> {
    let head = "branch:main".to_owned();
    let wanted = Wanted { target, node: source.node, head, cwd: None, model: None, title: None, folder: None, extension };
    let format = by_id(&source.log.session.format);
    export::export(&mut source.log, format, &wanted)
}

/// Converts an export, and gives the events that it was made of.
fn back(target: &dyn Format, export: &Export) -> Vec<SourceEvent> {
    let converted = support::convert(target, &export::files_of(&export.session), Check::EachRecord);
    let mut log = LogView::open(converted.log).unwrap();
    let node = log.state().head(&log.active()).unwrap();
    export::originals(&mut log, target, node).unwrap()
}

fn is_same(a: &SourceEvent, b: &SourceEvent) -> bool {
    // The number of a key order holds for its own log alone.
    let plain = |event: &SourceEvent| {
        let members = json::all_members(&event.payload);
        members.iter().filter(|m| !m.is("shape")).map(|m| (m.name().into_owned(), json::normal_form(m.value))).collect::<BTreeMap<_, _>>()
    };
    (a.seq, a.kind, &a.ts) == (b.seq, b.kind, &b.ts) && plain(a) == plain(b)
}

#[test]
fn an_export_loses_nothing_unsaid_and_comes_back_as_it_was() {
    let mut wrong = Vec::new();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for mut source in sources() {
        for target in targets() {
            let place = format!("{} to {}", source.path.display(), target.id());
            let export = match exported(&mut source, target, Extension::Carried) {
                Ok(export) => export,
                Err(ExportError::Empty) => continue,
                Err(error) => {
                    wrong.push(format!("{place}: {error}"));
                    continue;
                }
            };
            *counts.entry(target.id()).or_default() += 1;
            let again = exported(&mut source, target, Extension::Carried).unwrap();
            if again.session.files != export.session.files {
                wrong.push(format!("{place}: other bytes the second time"));
            }
            let depth = if target.exporter().unwrap().abilities().can(everlog::model::export::ability::Ability::Compactions) {
                Depth::Everything
            } else {
                Depth::Shown
            };
            let path = source::read(&mut source.log, source.node, depth).unwrap().events;
            let back = back(target, &export);
            let first = path.iter().zip(&back).position(|(a, b)| !is_same(a, b));
            if first.is_some() || path.len() != back.len() {
                let said = |events: &[SourceEvent]| {
                    first
                        .and_then(|n| events.get(n))
                        .map(|e| format!("{} {:?} {:?} {}", e.seq, e.kind, e.ts, String::from_utf8_lossy(&e.payload)))
                };
                wrong.push(format!("{place}: {} events came back as {}\n  {:?}\n  {:?}", path.len(), back.len(), said(&path), said(&back)));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    assert!(counts.values().all(|count| *count > 50) && !counts.is_empty(), "{counts:?}");
}
