//! What of transcripts is in the database that later versions keep; and logs of
//! scheduled jobs, cut down as OpenClaw itself cuts them when it adds a
//! line: past so many bytes the newest lines are kept.

mod containment;

use crate::adapters::containment::Containment;
use crate::adapters::maintenance::Maintenance;
use crate::json::{self, Dialect, Member, Value};
use crate::model::digest::sha256_hex;
use crate::model::files::RelPath;
use crate::model::folder::{FolderView, ListedKind};
use crate::model::jsonl::{Line, Lines, Newlines};
use crate::model::retention::{Completion, Due, Edit, Prunable, Removal, RetentionContext, Rule, Share, seconds_to_ns};

use crate::adapters::openclaw::discover::is_run_log;
use crate::runtimes::javascript as js;

/// Up to so many bytes a log is left alone.
const MOST_BYTES: u64 = 2_000_000;
/// Of a longer one so many lines are kept.
const KEPT_LINES: usize = 2_000;

/// Retention of OpenClaw run logs.
pub(super) struct OpenClawMaintenance;

impl Maintenance for OpenClawMaintenance {
    fn format(&self) -> &'static str {
        "openclaw"
    }

    fn containment(&self) -> Option<&'static dyn Containment> {
        Some(&containment::TranscriptsInDatabase)
    }

    fn retention_rules(&self) -> &'static [Rule] {
        &[Rule::CronRunLog]
    }

    fn retention(&self, folder: &FolderView<'_>, _: &RetentionContext<'_>) -> Vec<Prunable> {
        items(folder)
    }

    fn can_prune(&self, rule: Rule, path: &str, old: &[u8]) -> bool {
        // Transcripts have names of the same form: only the content tells.
        rule == Rule::CronRunLog && path.ends_with(".jsonl") && !path.contains('/') && is_run_log(old, old.len() as u64)
    }
}

/// Returns the run logs of a folder that have grown too long.
fn items(folder: &FolderView<'_>) -> Vec<Prunable> {
    let is_long = |size: u64| size > MOST_BYTES;
    let files = folder.entries().filter(|(_, entry)| entry.kind == ListedKind::File && is_long(entry.size));
    let logs = files.filter_map(|(path, entry)| Some((std::str::from_utf8(path).ok()?, entry)));
    logs.filter(|(path, entry)| path.ends_with(".jsonl") && !path.contains('/') && is_run_log(&folder.first_bytes(path), entry.size))
        .filter_map(|(path, _)| item(path, &folder.all_bytes(path), folder))
        .collect()
}

fn item(path: &str, bytes: &[u8], folder: &FolderView<'_>) -> Option<Prunable> {
    let lines: Vec<Line<'_>> = Lines::new(bytes, Newlines::LineFeed).filter(|line| !js::is_blank(line.text)).collect();
    let old = lines.get(..lines.len().checked_sub(KEPT_LINES)?)?;
    // A line that says something else than that a run has ended stays.
    let over: Vec<(&Line<'_>, Option<i64>)> = old.iter().filter_map(|line| Some((line, finished(line.text)?))).collect();
    if over.is_empty() {
        return None;
    }
    let cut = |line: &Line<'_>| Edit::cut(line.offset..line.offset + line.text.len() + line.end.len());
    let edits: Vec<Edit> = over.iter().map(|(line, _)| cut(line)).collect();
    let share = Share {
        file: RelPath::new(path),
        bytes: edits.iter().map(|edit| edit.to - edit.from).sum(),
        removal: Removal::Bytes { edits, sha256: sha256_hex(bytes) },
        writer: None,
        lock: None,
    };
    Some(Prunable {
        rule: Rule::CronRunLog,
        name: RelPath::new(path).below(folder.path()).to_string(),
        parts: over.len() as u64,
        shares: vec![share],
        own_ns: over.iter().filter_map(|(_, time)| *time).max(),
        due: Due::ByOwnRule,
        standing: Ok(Completion::By("each is of a run that has ended, and past what OpenClaw itself keeps")),
    })
}

/// Returns when a run was over, where a line says that it is.
fn finished(text: &[u8]) -> Option<Option<i64>> {
    let mut members: Vec<Member<'_>> = Vec::new();
    json::scan_object(text, Dialect::Strict, &mut members).ok()?;
    let get = |key: &str| members.iter().rev().find(|member| member.is(key)).map(Member::value);
    let action = get("action").and_then(Value::as_str)?;
    let ms = get("ts").and_then(Value::parse::<f64>);
    (action == "finished").then(|| ms.and_then(|ms| seconds_to_ns(ms / 1000.0)))
}
