//! What `migrate` says: one line per session for programs, a summary for people.

use serde::Serialize;
use std::collections::BTreeSet;

use crate::model::finding::{Finding, FindingCode, Severity};
use crate::pipeline::source::{Source, SourceUnit};
use crate::pipeline::target::Mode;
use crate::report::findings::{FindingList, Listing, session_likelihood};
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::verify::difference::visible;

use super::baseline::Baseline;
use super::kinds::Kinds;
use super::migrate_job::{MigrateJob, Sources};
use super::migrate_unit::{Proven, Reports, Rest, Status, UnitReport};

/// The closing object of the report.
#[derive(Debug, Serialize)]
struct Summary {
    summary: Totals,
}

#[derive(Debug, Default, Serialize)]
struct Totals {
    #[serde(flatten)]
    units: Kinds,
    proven_now: u64,
    unchanged_since_proven: u64,
    files: u64,
    created: u64,
    changed: u64,
    unchanged: u64,
    failed: u64,
    skipped: u64,
    messages: u64,
    source_bytes: u64,
    log_bytes: u64,
    residual_bytes: u64,
    dry_run: bool,
    /// Which part of a larger run it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    shard: Option<String>,
    /// The root of the store after this run.
    #[serde(skip_serializing_if = "Option::is_none")]
    root: Option<String>,
    accepted: u64,
    reported_before: u64,
    findings: Vec<Finding>,
    /// What this run proved, and what earlier ones did.
    #[serde(skip)]
    now: Sizes,
    #[serde(skip)]
    earlier: Sizes,
}

/// How much was proven. Messages are those of the branch that a program shows.
#[derive(Debug, Default)]
struct Sizes {
    source_bytes: u64,
    messages: u64,
}

/// Turns findings that the store's baseline accepts into notes, and returns
/// what belongs to no session in the same way.
pub(super) fn settle_accepted(source: &Source, reports: &mut Reports, baseline: &Baseline) -> Beyond {
    let mut acceptance = baseline.acceptance();
    for (n, report) in reports.iter_mut().filter(|(_, report)| !report.findings().is_empty()) {
        let Some(unit) = source.units.get(n) else { continue };
        let session = unit.name.key();
        let accepted =
            report.findings_mut().iter_mut().filter_map(|finding| acceptance.settle(&session, finding).then_some(1 + finding.more));
        let accepted: u64 = accepted.sum();
        if accepted > 0 {
            report.rest().accepted = accepted;
        }
    }
    let mut beyond = Beyond { findings: source.discovery.findings.list().to_vec(), accepted: 0 };
    for finding in &mut beyond.findings {
        beyond.accepted += if acceptance.settle("", finding) { 1 + finding.more } else { 0 };
    }
    beyond
}

/// What was found and belongs to no session.
pub(super) struct Beyond {
    pub(super) findings: Vec<Finding>,
    accepted: u64,
}

pub(super) fn report_all(
    source: &Source,
    reports: &Reports,
    (beyond, root): (&Beyond, Option<String>),
    job: &MigrateJob<'_>,
    out: &Printer,
) {
    let mut totals = Totals {
        dry_run: job.mode == Mode::DryRun,
        shard: job.shard.map(|shard| shard.to_string()),
        accepted: beyond.accepted,
        root,
        findings: beyond.findings.clone(),
        ..Totals::default()
    };
    let mut list = FindingList::default();
    for (n, report) in reports.iter() {
        let Some(unit) = source.units.get(n) else { continue };
        totals.units.add(report.kind);
        totals.files += unit.found.files.len() as u64;
        let (count, sizes) = match report.proven {
            Proven::Now => (Some(&mut totals.proven_now), &mut totals.now),
            Proven::Earlier => (Some(&mut totals.unchanged_since_proven), &mut totals.earlier),
            Proven::Not => (None, &mut totals.earlier),
        };
        if let Some(count) = count {
            *count += 1;
            sizes.source_bytes += report.source_bytes;
            sizes.messages += report.messages;
        }
        *match report.status {
            Status::Created => &mut totals.created,
            Status::Changed => &mut totals.changed,
            Status::Unchanged => &mut totals.unchanged,
            Status::Failed => &mut totals.failed,
            Status::Skipped => &mut totals.skipped,
        } += 1;
        totals.messages += report.messages;
        totals.source_bytes += report.source_bytes;
        totals.log_bytes += report.log_bytes;
        let rest = report.rest.as_deref();
        totals.residual_bytes += rest.map_or(0, |rest| rest.residual_bytes);
        if out.form() == Form::Json {
            out.object(&report.line(unit));
        }
        totals.accepted += rest.map_or(0, |rest| rest.accepted);
        for (k, finding) in (0..).zip(report.findings()).filter(|(_, finding)| finding.severity >= Severity::Warn) {
            let is_repeated = rest.is_some_and(|rest| rest.repeated.contains(&k));
            totals.reported_before += if is_repeated { 1 + finding.more } else { 0 };
            if !is_repeated || out.listing() == Listing::All {
                let inside = if finding.code.is_of_log() { String::new() } else { unit.reported_folder().to_string() };
                list.add(finding, &inside);
            }
        }
        if let Some(Rest { error: Some(error), hint, .. }) = report.rest.as_deref() {
            let hint = hint.map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
            out.complain(&format!("error: {}\n  at {}{hint}", visible(error), visible(&unit.name.to_string())));
        }
    }
    for tie in &source.discovery.ties {
        out.complain(&format!(
            "error: two formats fit equally well: {}\n  at {}\nhint: choose with `--format {}`",
            tie.formats.join(", "),
            visible(&tie.folder.to_string()),
            tie.formats[0]
        ));
    }
    beyond.findings.iter().filter(|finding| finding.severity >= Severity::Warn).for_each(|finding| list.add(finding, ""));
    list.say(out);
    summarise(&totals, source, reports, job, out);
    if out.form() == Form::Json {
        out.object(&Summary { summary: totals });
    }
}

fn summarise(totals: &Totals, source: &Source, reports: &Reports, job: &MigrateJob<'_>, out: &Printer) {
    let units = reports.iter().filter_map(|(n, _)| source.units.get(n));
    let formats: BTreeSet<&str> = units.map(|unit| unit.found.adapter.id()).collect();
    let formats: Vec<&str> = formats.into_iter().collect();
    let part = totals.shard.as_ref().map(|shard| format!("part {shard}: ")).unwrap_or_default();
    let would = if totals.dry_run { " (dry run: nothing was written)" } else { "" };
    let formats = if formats.is_empty() { String::new() } else { format!(" ({})", formats.join(", ")) };
    out.summary(&format!(
        "{part}{}{formats}: {} created, {} changed, {} unchanged, {} skipped, {} failed{would}",
        totals.units.text(),
        totals.created,
        totals.changed,
        totals.unchanged,
        totals.skipped,
        totals.failed
    ));
    say_proven(totals, job, out);
    let retired = reports.iter().filter_map(|(_, report)| report.rest.as_ref()).map(|rest| rest.retired.len() as u64).sum();
    let count_at = |severity| {
        reports
            .iter()
            .flat_map(|(_, report)| report.findings())
            .chain(&totals.findings)
            .filter(|finding| finding.severity == severity)
            .map(|finding| 1 + finding.more)
            .sum::<u64>()
    };
    say_unknown(totals, out);
    say_related(source, reports, out);
    let more_infos: u64 = reports.iter().map(|(_, report)| report.infos).sum();
    let (infos, warnings, errors) = (count_at(Severity::Info) + more_infos, count_at(Severity::Warn), count_at(Severity::Error));
    let before = if totals.reported_before == 0 || out.listing() == Listing::All {
        String::new()
    } else {
        format!(" ({} reported before; `--all-findings` lists them)", text::thousands(totals.reported_before))
    };
    let accepted = if totals.accepted == 0 { String::new() } else { format!(" ({} accepted)", text::thousands(totals.accepted)) };
    out.summary(&format!(
        "{}{before}, {}{accepted}; {}",
        text::count(warnings + errors, "finding"),
        text::count(infos, "note"),
        match (job.sources, retired) {
            (Sources::Retire, retired) => format!("{} renamed to *.migrated", text::count(retired, "file")),
            (Sources::Stay | Sources::Unretire, _) => "the source is unchanged".to_owned(),
        }
    ));
}

/// Says what this run proved, and what it saw of the rest.
fn say_proven(totals: &Totals, job: &MigrateJob<'_>, out: &Printer) {
    let unchanged = match totals.unchanged_since_proven {
        0 => String::new(),
        count => format!(", {} unchanged since they were proven", text::thousands(count)),
    };
    let now = &totals.now;
    let proof = match totals.proven_now {
        0 => String::new(),
        _ => format!(
            ": {} of source rebuild byte for byte and {} replay as their program shows them",
            text::size(now.source_bytes),
            text::count(now.messages, "message")
        ),
    };
    let dest = visible(&job.dest.display().to_string());
    let place = if totals.dry_run { "would go to" } else { "in" };
    let logs = format!("; {} of logs {place} {dest}", text::size(totals.log_bytes));
    out.summary(&format!("{} proven now{unchanged}{proof}{logs}", text::thousands(totals.proven_now)));
    if totals.unchanged_since_proven > 0 {
        out.summary(&format!(
            "of the unchanged ({}, {}) names, sizes, times and permissions of files were compared, and sizes and seals of logs; \
             `--rehash` proves them again",
            text::size(totals.earlier.source_bytes),
            text::count(totals.earlier.messages, "message")
        ));
    }
    if let Some(root) = &totals.root {
        out.summary(&format!("root {root}"));
    }
}

/// So many names are listed in a line of the summary.
const NAMED: usize = 3;

/// Names files that belong to no session: what is left behind is said.
fn say_unknown(totals: &Totals, out: &Printer) {
    let mut unknown: Vec<&Finding> = totals.findings.iter().filter(|finding| finding.code == FindingCode::UnknownFile).collect();
    // Somebody who looks for a lost session must not have to search for it.
    unknown.sort_by_key(|finding| session_likelihood(&finding.location.file));
    let count = unknown.iter().map(|finding| 1 + finding.more).sum::<u64>();
    if count > 0 {
        let names: Vec<String> = unknown.iter().take(NAMED).map(|finding| visible(&finding.location.file)).collect();
        let more = if count > names.len() as u64 { " … (`everlog detect` names more)" } else { "" };
        let belong = if count == 1 { "belongs to no session and was" } else { "belong to no session and were" };
        out.summary(&format!("{} {belong} left out: {}{more}", text::count(count, "file"), names.join(", ")));
    }
}

/// Names sessions that share their key or their messages with another one.
fn say_related(source: &Source, reports: &Reports, out: &Printer) {
    let is_related = |report: &UnitReport| report.rest.as_ref().is_some_and(|rest| rest.is_related);
    let related: Vec<&SourceUnit> =
        reports.iter().filter(|(_, report)| is_related(report)).filter_map(|(n, _)| source.units.get(n)).collect();
    if !related.is_empty() {
        let names: Vec<String> = related.iter().take(NAMED).map(|unit| visible(&unit.name.to_string())).collect();
        let more = if related.len() > names.len() { " …" } else { "" };
        let count = text::count(related.len() as u64, "session");
        out.summary(&format!("{count} with an alias, copy or key elsewhere (`everlog detect` says where): {}{more}", names.join(", ")));
    }
}
