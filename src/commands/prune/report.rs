//! A plan, a case and an outcome as people and programs read them.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::model::files::RelPath;
use crate::model::retention::{Removal, Rule, StayCode};
use crate::pipeline::source::Source;
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::verify::difference::visible;

use super::job::{Action, PruneJob};
use super::judged::{Judged, Plan};
use super::tally::Tally;

/// One item as programs read it.
#[derive(Serialize)]
struct ItemReport<'a> {
    rule: Rule,
    item: &'a str,
    files: Vec<String>,
    /// The exact paths of all files in the same order, where one is not UTF-8.
    #[serde(skip_serializing_if = "Option::is_none")]
    files_b64: Option<Vec<String>>,
    parts: u64,
    bytes: u64,
    goes: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<StayCode>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
}

fn item_report(judged: &Judged) -> ItemReport<'_> {
    let stay = judged.stays();
    let is_inexact = judged.files().any(|file| file.as_text().is_none());
    let in_b64 = || judged.files().map(|file| file.to_b64()).collect();
    ItemReport {
        rule: judged.item.rule,
        item: &judged.item.name,
        files: judged.files().map(|file| file.to_string()).collect(),
        files_b64: is_inexact.then(in_b64),
        parts: judged.item.parts,
        bytes: judged.bytes(),
        goes: stay.is_none(),
        code: stay.map(|stay| stay.code),
        why: stay.map(|stay| stay.why.as_str()),
    }
}

/// `2 turns and 1 run`.
fn parts_text(parts: &BTreeMap<Rule, u64>) -> String {
    let mut words: Vec<String> = Vec::new();
    for (rule, count) in parts.iter().filter(|(_, count)| **count > 0) {
        words.push(text::count(*count, rule.part()));
    }
    match words.split_last() {
        None => "nothing".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

/// `; 2 turns and 1 run stay`, where something does.
fn stay_text(parts: &BTreeMap<Rule, u64>) -> String {
    match parts.values().sum::<u64>() {
        0 => String::new(),
        1 => format!("; {} stays", parts_text(parts)),
        _ => format!("; {} stay", parts_text(parts)),
    }
}

/// Returns the command that brings back what just went, or that there is none.
fn way_back(names: &[String], tally: &Tally, source: &Source, job: &PruneJob<'_>) -> String {
    if tally.lost >= tally.files {
        return "it cannot be brought back".to_owned();
    }
    let but = match tally.lost {
        0 => String::new(),
        lost => format!("{} cannot be brought back, the rest goes ", text::count(lost, "file")),
    };
    // A file that was named may be gone itself.
    let named = if source.only_file.is_some() { &source.root } else { &job.source };
    let [source, dest] = [named, &job.dest].map(|path| text::shell_word(&path.display().to_string()));
    // The last one first: an earlier one may have left the file that it changed.
    let undo = |name: &String| format!("everlog prune {source} -o {dest} --undo={}", text::shell_word(name));
    format!("{but}back with: {}", names.iter().rev().map(undo).collect::<Vec<_>>().join(", then "))
}

/// Says how many files go for good, where any do.
pub(super) fn warn_of_loss(files: usize, out: &Printer) {
    if files > 0 {
        out.complain(&format!("warning: no log has {}: what goes of that cannot be brought back", text::count(files as u64, "file")));
    }
}

/// Prints a plan, or says whether one is overdue.
pub(super) fn plan(plan: &Plan, cut_short: usize, job: &PruneJob<'_>, out: &Printer) -> ExitStatus {
    let (goes, stays) = (plan.removed_amount(), plan.stays());
    let bytes: u64 = plan.removals().map(Judged::bytes).sum();
    if cut_short > 0 {
        out.complain("note: a prune was cut short; `--apply` takes back what is half done and plans anew");
    }
    let is_check = job.action == Action::Check;
    if !is_check && job.trash.is_none() {
        warn_of_loss(plan.removals().flat_map(|judged| &judged.given_up).collect::<BTreeSet<_>>().len(), out);
    }
    let (parts, stay) = (parts_text(&goes.parts), stay_text(&stays.parts));
    if out.form() == Form::Json {
        if !is_check {
            plan.items.iter().for_each(|judged| out.object(&item_report(judged)));
        }
        out.object(&serde_json::json!({ "summary": {
            "goes": goes.items, "parts": goes.parts, "stays": stays.items, "stays_parts": stays.parts, "bytes": bytes, "unfinished": cut_short
        } }));
    } else if is_check {
        let unfinished = if cut_short > 0 { "a prune that was cut short is to be finished; " } else { "" };
        out.summary(&format!("{unfinished}{parts} overdue: {}{stay}", text::size(bytes)));
    } else {
        print_goes(plan, out);
        print_stays(plan, out);
        let source = text::shell_word(&job.source.display().to_string());
        let how = if goes.items > 0 { format!("\nto do it: everlog prune {source} --apply, with the same options") } else { String::new() };
        let would = format!("{parts} would go: {}{stay}", text::size(bytes));
        out.summary(&format!("{would}; nothing was changed{how}"));
    }
    if is_check && (goes.items > 0 || cut_short > 0) { ExitStatus::Found } else { ExitStatus::Well }
}

/// Prints what is removed, file by file.
fn print_goes(plan: &Plan, out: &Printer) {
    let mut files: BTreeMap<RelPath, (Rule, u64, u64, &Removal)> = BTreeMap::new();
    for judged in plan.removals() {
        for (share, file) in judged.item.shares.iter().zip(judged.files()) {
            let entry = files.entry(file).or_insert((judged.item.rule, 0, 0, &share.removal));
            entry.1 += judged.item.parts;
            entry.2 += share.bytes;
        }
    }
    for (file, (rule, parts, bytes, removal)) in files {
        let what = match removal {
            Removal::Whole => "the whole file".to_owned(),
            // Nothing is cut out of it.
            Removal::Bytes { edits, .. } if edits.iter().all(|edit| !edit.put.is_empty()) => "its numbers are rewritten".to_owned(),
            Removal::Bytes { .. } => text::count(parts, rule.part()),
        };
        out.text(&format!("goes   {}  {what}, {} ({})", visible(&file.to_string()), text::size(bytes), rule.word()));
    }
}

/// What stays, by file and reason.
fn print_stays(plan: &Plan, out: &Printer) {
    let mut groups: BTreeMap<(String, StayCode, Rule), (u64, &str)> = BTreeMap::new();
    for judged in &plan.items {
        let Some(stay) = judged.stays() else { continue };
        let files = judged.files().map(|file| file.to_string()).collect::<Vec<_>>().join(", ");
        let entry = groups.entry((files, stay.code, judged.item.rule)).or_insert((0, &stay.why));
        entry.0 += judged.item.parts;
    }
    for ((files, code, rule), (parts, why)) in groups {
        let (files, why) = (visible(&files), visible(why));
        out.text(&format!("stays  {files}  {}: {why} ({})", text::count(parts, rule.part()), code.word()));
    }
}

/// Prints the whole case of what is in one file.
pub(super) fn explain(plan: &Plan, below: Option<&RelPath>, file: &Path, out: &Printer) -> ExitStatus {
    let is_meant = |judged: &&Judged| judged.files().any(|file| Some(&file) == below);
    let mut count = 0;
    for judged in plan.items.iter().filter(is_meant) {
        count += 1;
        if out.form() == Form::Json {
            let checks: Vec<_> = judged
                .checks
                .iter()
                .map(|check| match &check.against {
                    None => serde_json::json!({ "about": check.about, "passed": true, "why": check.speaks }),
                    Some(stay) => serde_json::json!({ "about": check.about, "passed": false, "code": stay.code, "why": stay.why }),
                })
                .collect();
            out.object(&serde_json::json!({ "case": item_report(judged), "checks": checks }));
            continue;
        }
        let verdict = if judged.stays().is_none() { "goes" } else { "stays" };
        let (rule, size) = (judged.item.rule, text::size(judged.bytes()));
        out.text(&format!("{verdict}  {} {} ({}, {size})", rule.part(), visible(&judged.item.name), rule.word()));
        for check in &judged.checks {
            match &check.against {
                None => out.text(&format!("  yes  {}: {}", check.about, visible(&check.speaks))),
                Some(stay) => out.text(&format!("  no   {}: {} ({})", check.about, visible(&stay.why), stay.code.word())),
            }
        }
    }
    if count == 0 {
        out.summary(&format!("no rule is about {}: it stays", visible(&file.display().to_string())));
    }
    ExitStatus::Well
}

/// Says what stays after all: what has the same reason once, with its count.
fn complain_of_kept(tally: &Tally, out: &Printer) {
    const NAMED: usize = 3;
    let mut groups: BTreeMap<(StayCode, &str), Vec<&str>> = BTreeMap::new();
    for (file, stay) in &tally.kept {
        groups.entry((stay.code, &stay.why)).or_default().push(file);
    }
    for ((code, why), files) in groups {
        let named = files.iter().take(NAMED).map(|file| visible(file)).collect::<Vec<_>>().join(", ");
        let places = match files.len() {
            1 => named,
            all if all <= NAMED => format!("{all} files: {named}"),
            all => format!("{all} files: {named} and {} more", all - NAMED),
        };
        out.complain(&format!("warning: not pruned: {} ({})\n  at {places}", visible(why), code.word()));
    }
}

/// Prints what was done: one line, and what did not go as planned.
pub(super) fn applied(tally: &Tally, source: &Source, job: &PruneJob<'_>, out: &Printer) -> ExitStatus {
    complain_of_kept(tally, out);
    for error in &tally.failed {
        out.complain(&text::error(error, None, error.hint().as_deref()));
    }
    if out.form() == Form::Json {
        let (goes, stays, kept) = (&tally.removed, &tally.stays, tally.kept.len());
        out.object(&serde_json::json!({ "pruned": {
            "prune": tally.names.last(), "prunes": tally.names, "goes": goes.items, "parts": goes.parts, "stays": stays.items, "stays_parts": stays.parts,
            "files": tally.files, "bytes": tally.bytes, "kept": kept
        } }));
    }
    let (parts, stays) = (parts_text(&tally.removed.parts), stay_text(&tally.stays.parts));
    match tally.names.as_slice() {
        [] => out.summary(&format!("nothing to prune{stays}")),
        // Said even by a quiet run: something is gone.
        names => {
            let (files, size) = (text::count(tally.files, "file"), text::size(tally.bytes));
            out.text(&format!("{parts} pruned from {files}: {size}{stays}; {}", way_back(names, tally, source, job)));
        }
    }
    if tally.kept.is_empty() && tally.failed.is_empty() { ExitStatus::Well } else { ExitStatus::Found }
}
