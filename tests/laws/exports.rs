//! The laws of export, over the logs of all fixtures and all targets, with no
//! program installed: nothing is lost unsaid, nothing is called lost that is
//! there, the same log gives the same bytes, and what went comes back.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use everlog::adapters::exporter::Kinship;
use everlog::adapters::format::{Check, Format};
use everlog::adapters::{ALL, by_id};
use everlog::export::source::{self, Depth, SourceEvent};
use everlog::export::{self, Export, ExportError, Extension, Wanted, carry};
use everlog::json;
use everlog::log::LogView;
use everlog::model::event::EventKind;
use everlog::model::export::loss::LossCode;
use everlog::model::ids::Seq;
use everlog::{Message, Part, Role};
use rayon::prelude::*;
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

fn memmem(bytes: &[u8], what: &[u8]) -> bool {
    memchr::memmem::find(bytes, what).is_some()
}

/// The losses of events that have nothing of what is said to be lost.
fn unfounded<'e>(export: &'e Export, path: &'e [SourceEvent]) -> impl Iterator<Item = String> + 'e {
    export.losses.iter().flat_map(move |(code, places)| {
        let has = FOUNDED.iter().find(|(founded, _)| *founded == code).map(|(_, has)| *has);
        let is_empty = move |event: &&SourceEvent| places.contains(&event.seq) && has.is_some_and(|has| !has(event));
        path.iter().filter(is_empty).map(move |event| format!("{} of {}", code.name(), event.seq))
    })
}

/// Whether an event has something.
type Has = fn(&SourceEvent) -> bool;

/// Codes that hold only for events that have something, and what that is.
const FOUNDED: &[(LossCode, Has)] = &[
    (LossCode::CostDropped, |event| of_message(event, |message| message.usage.is_some_and(|usage| usage.cost.is_some()))),
    (LossCode::UsageDropped, |event| of_message(event, |message| message.usage.is_some())),
    (LossCode::ModelDropped, |event| of_message(event, |message| message.model.is_some() || message.provider.is_some())),
    (LossCode::StopReasonDropped, |event| of_message(event, |message| message.stop_reason.is_some())),
    (LossCode::ErrorDropped, |event| of_message(event, |message| message.error.is_some())),
    (LossCode::HiddenDropped, |event| of_message(event, |message| !message.hidden_from.is_empty())),
    (LossCode::SystemDropped, |event| of_message(event, |message| message.role == Role::System)),
    (LossCode::SystemAsUser, |event| of_message(event, |message| message.role == Role::System)),
    (LossCode::ErrorFlagLost, |event| has_part(event, |part| matches!(part, Part::ToolResult(result) if result.is_error == Some(true)))),
    (LossCode::FileAsText, |event| has_part(event, |part| matches!(part, Part::File(_)))),
    (LossCode::ImageDropped, |event| has_part(event, |part| matches!(part, Part::Image(_)))),
    (LossCode::ImageMissing, |event| has_part(event, |part| matches!(part, Part::Image(_)))),
    (LossCode::ThinkingDropped, |event| has_part(event, |part| matches!(part, Part::Thinking(_)))),
    (LossCode::SignatureDropped, |event| has_part(event, |part| matches!(part, Part::Thinking(thought) if thought.signature.is_some()))),
    (LossCode::ShellAsText, |event| has_part(event, |part| matches!(part, Part::Shell(_)))),
    (LossCode::ArgumentsWrapped, |event| has_part(event, |part| matches!(part, Part::ToolCall(_)))),
    (LossCode::CallClosed, |event| has_part(event, |part| matches!(part, Part::ToolCall(_)))),
    (LossCode::ResultAsText, |event| has_part(event, |part| matches!(part, Part::ToolResult(_)))),
    (LossCode::ResultRepeated, |event| has_part(event, |part| matches!(part, Part::ToolResult(_)))),
    (LossCode::LabelDropped, |event| event.kind == EventKind::Label),
    (LossCode::SettingDropped, |event| matches!(event.kind, EventKind::ModelChange | EventKind::SettingChange)),
];

fn of_message(event: &SourceEvent, has: impl Fn(&Message) -> bool) -> bool {
    event.message.as_ref().is_some_and(has)
}

/// Whether a message has such a part, by itself or in a result.
fn has_part(event: &SourceEvent, is: impl Fn(&Part) -> bool) -> bool {
    let in_result = |part: &Part| matches!(part, Part::ToolResult(result) if result.content.iter().any(&is));
    of_message(event, |message| message.parts.iter().any(|part| is(part) || in_result(part)))
}

#[test]
fn an_export_loses_nothing_unsaid_and_comes_back_as_it_was() {
    let judged: Vec<(Vec<String>, Vec<&str>)> = sources().into_par_iter().map(judged).collect();
    let wrong: Vec<&String> = judged.iter().flat_map(|(wrong, _)| wrong).collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for target in judged.iter().flat_map(|(_, targets)| targets) {
        *counts.entry(target).or_default() += 1;
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.iter().map(|wrong| wrong.as_str()).collect::<Vec<_>>().join("\n"));
    assert!(counts.values().all(|count| *count > 50) && !counts.is_empty(), "{counts:?}");
}

/// What is wrong with the exports of a log, and the targets that it can go to.
fn judged(mut source: Source) -> (Vec<String>, Vec<&'static str>) {
    let (mut wrong, mut done) = (Vec::new(), Vec::new());
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
        done.push(target.id());
        let again = exported(&mut source, target, Extension::Carried).unwrap();
        if again.session.files != export.session.files {
            wrong.push(format!("{place}: other bytes the second time"));
        }
        let bare = exported(&mut source, target, Extension::Bare).unwrap();
        let has_member = |export: &Export| {
            export.session.files.iter().any(|(_, bytes)| [&b"digest\":"[..], b"digest\\\":"].iter().any(|key| memmem(bytes, key)))
        };
        if has_member(&bare) || !has_member(&export) || bare.losses != export.losses {
            wrong.push(format!("{place}: the bare export is not the other one without its extension members"));
        }
        let is_possible = |code: &LossCode| export::may_lose(target.exporter().unwrap(), *code);
        wrong.extend(
            export
                .losses
                .iter()
                .map(|(code, _)| code)
                .filter(|code| !is_possible(code))
                .map(|code| format!("{place}: {} is lost", code.name())),
        );
        let depth = if target.exporter().unwrap().abilities().can(everlog::model::export::ability::Ability::Compactions) {
            Depth::Everything
        } else {
            Depth::Shown
        };
        let mut path = source::read(&mut source.log, source.node, depth).unwrap().events;
        let format = &source.log.session.format;
        if let Some(exporter) = by_id(format).and_then(Format::exporter) {
            export::understand(&mut path, exporter, Kinship::of(format, target.id())).unwrap();
        }
        wrong.extend(unfounded(&export, &path).map(|what| format!("{place}: {what}")));
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
    (wrong, done)
}

/// A message that nothing was exported for.
fn new_message(seq: u32) -> SourceEvent {
    let payload = b"{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"And then?\"}]}".to_vec();
    SourceEvent::from_payload(Seq::new(seq), EventKind::Message, None, payload).unwrap()
}

/// What was said since stands where it was said: after what the target could not say
/// at that place, and before the next thing that it could.
#[test]
fn what_was_said_since_comes_back_in_its_place() {
    let mut tours = sources();
    tours.retain(|source| source.path.to_string_lossy().contains("/tour/"));
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for mut source in tours {
        for target in targets() {
            let export = match exported(&mut source, target, Extension::Carried) {
                Ok(export) => export,
                Err(ExportError::Empty) => continue,
                Err(error) => panic!("{} to {}: {error}", source.path.display(), target.id()),
            };
            let converted = support::convert(target, &export::files_of(&export.session), Check::EachRecord);
            let mut log = LogView::open(converted.log).unwrap();
            let node = log.state().head(&log.active()).unwrap();
            let mut read = source::read(&mut log, node, Depth::Everything).unwrap().events;
            read.insert(0, new_message(1_000_001));
            read.push(new_message(1_000_002));
            let path = back(target, &export);
            let both = carry::originals(
                read,
                target.exporter().unwrap(),
                target.id(),
                &carry::beside(&mut log, target.exporter().unwrap()).unwrap(),
            )
            .unwrap();
            let is_new = |event: &SourceEvent| event.seq.number() > 1_000_000;
            assert!(both.last().is_some_and(is_new), "{} to {}", source.path.display(), target.id());
            let kept: Vec<_> = both.iter().filter(|event| !is_new(event)).collect();
            assert!(kept.len() == path.len() && kept.iter().zip(&path).all(|(a, b)| is_same(a, b)), "{}", source.path.display());
            let first = both.iter().position(is_new).unwrap();
            let is_prompt = |event: &SourceEvent| event.message.as_ref().is_some_and(|message| message.role == Role::User);
            assert!(!both[..first].iter().any(is_prompt), "{} to {}", source.path.display(), target.id());
            *counts.entry(target.id()).or_default() += 1;
        }
    }
    assert!(counts.values().all(|count| *count >= 5) && !counts.is_empty(), "{counts:?}");
}
