//! What a target shows of an export is what the log shows: a compaction, an edit or
//! a branch must not take something away that the source program would send.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use everlog::Role;
use everlog::adapters::exporter::Kinship;
use everlog::adapters::format::{Check, Format};
use everlog::adapters::{ALL, by_id};
use everlog::export::source::{self, Depth, SourceEvent};
use everlog::export::{self, ExportError, Extension, Wanted};
use everlog::log::LogView;
use everlog::model::export::loss::LossCode;
use everlog::model::ids::Seq;
use std::fs;

use crate::support;

/// The losses by which a text may be another one, or left out.
const EXCUSES: &[LossCode] = &[
    LossCode::TextAltered,
    LossCode::EmptyLeftOut,
    LossCode::HiddenDropped,
    LossCode::ImageMissing,
    LossCode::FileAsText,
    LossCode::ErrorDropped,
];

fn plain(text: &str) -> String {
    text.split_whitespace().collect()
}

fn texts(events: &[SourceEvent]) -> Vec<(Seq, String)> {
    let messages = events.iter().filter_map(|event| event.message.as_ref());
    let said = messages.filter(|message| matches!(message.role, Role::User | Role::Assistant) && message.source_role.is_none());
    said.map(|message| (message.seq, plain(&message.text()))).filter(|(_, text)| !text.is_empty()).collect()
}

#[test]
fn a_target_shows_every_text_that_the_log_shows() {
    let (mut wrong, mut looked_for) = (Vec::new(), 0);
    for path in support::golden_logs() {
        let mut log = LogView::open(fs::read(&path).unwrap()).unwrap();
        let Some(node) = log.state().head(&log.active()) else { continue };
        let mut said = source::read(&mut log, node, Depth::Shown).unwrap().events;
        let format = by_id(&log.session.format);
        if let Some(exporter) = format.and_then(Format::exporter) {
            export::understand(&mut said, exporter, Kinship::Foreign).unwrap();
        }
        let wanted = texts(&said);
        for target in ALL.iter().copied().filter(|format| format.exporter().is_some()) {
            let head = "branch:main".to_owned();
            let asked = Wanted { target, node, head, cwd: None, model: None, title: None, folder: None, extension: Extension::Bare };
            let export = match export::export(&mut log, format, &asked) {
                Ok(export) => export,
                Err(ExportError::Empty) => continue,
                Err(error) => panic!("{} to {}: {error}", path.display(), target.id()),
            };
            let converted = support::convert(target, &export::files_of(&export.session), Check::EachRecord);
            let mut back = LogView::open(converted.log).unwrap();
            let node = back.state().head(&back.active()).unwrap();
            let mut read = source::read(&mut back, node, Depth::Shown).unwrap().events;
            export::understand(&mut read, target.exporter().unwrap(), Kinship::Foreign).unwrap();
            let shown: String = texts(&read).into_iter().map(|(_, text)| text).collect();
            for (seq, text) in &wanted {
                looked_for += 1;
                if !shown.contains(text) && !export.losses.of(*seq).any(|code| EXCUSES.contains(&code)) {
                    wrong.push(format!("{} to {}: #{seq} {text:.60}", path.display(), target.id()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    assert!(looked_for > 1000, "the test looks for {looked_for} texts");
}
