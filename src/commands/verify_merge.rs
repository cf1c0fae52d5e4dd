//! `everlog verify --merge-reports`: the reports of all parts of a larger run as
//! one, lines in the order that a single run gives them, and its exit code.

use serde::Deserialize;
use serde_json::value::RawValue;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::model::shard::Shard;
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::store::StoreError;
use crate::store::disk;
use crate::verify::difference::visible;

use super::error::CommandError;
use super::kinds::Kinds;
use super::verify_job::{Kept, VERDICTS, Verdict};
use super::verify_report::{SCHEMA, hint, note};
use super::verify_totals::{Closing, Totals, in_words};

/// No line of a report is longer.
const LONGEST_LINE: u64 = 128 * 1024 * 1024;

/// So much of each report is read in one go: there may be a thousand of them.
const PIECE: usize = 16 * 1024;

/// What is needed of a line to put it in order and to say what it is about.
#[derive(Debug, Deserialize)]
struct ReportRow {
    log: String,
    kept: Kept,
    verdict: Verdict,
    differences: Vec<Difference>,
    more_differences: u64,
    #[serde(default)]
    error: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Difference {
    what: String,
    file: String,
    #[serde(default)]
    line: Option<u64>,
    #[serde(default)]
    byte: Option<u64>,
    #[serde(default)]
    detail: String,
}

/// One line of a report.
enum ReportLine {
    /// About a log.
    Row(Box<RawValue>, ReportRow),
    /// The last one.
    Closing(Box<Closing>),
}

/// A report, line by line.
struct Report<'p> {
    path: &'p Path,
    lines: BufReader<File>,
}

impl<'p> Report<'p> {
    fn open(path: &'p Path) -> Result<Report<'p>, CommandError> {
        let (file, _) = disk::open_regular(path)?;
        Ok(Report { path, lines: BufReader::with_capacity(PIECE, file) })
    }

    fn wrong(&self, what: impl Into<String>) -> CommandError {
        CommandError::NotAReport { path: self.path.to_owned(), what: what.into() }
    }

    /// Returns the next line; nothing at the end.
    fn next(&mut self) -> Result<Option<ReportLine>, CommandError> {
        let mut text = String::new();
        let read = self.lines.by_ref().take(LONGEST_LINE).read_line(&mut text);
        if read.map_err(StoreError::io("read", self.path))? == 0 {
            return Ok(None);
        }
        if !text.ends_with('\n') {
            return Err(self.wrong("it ends in the middle of a line"));
        }
        if let Ok(closing) = serde_json::from_str::<Closing>(&text) {
            return Ok(Some(ReportLine::Closing(Box::new(closing))));
        }
        let row = serde_json::from_str(&text).and_then(|row| Ok((serde_json::from_str(&text)?, row)));
        row.map(|(raw, row)| Some(ReportLine::Row(raw, row)))
            .map_err(|error| self.wrong(format!("a line of it is something else: {error}")))
    }
}

/// Runs the command.
///
/// # Errors
/// When a report cannot be read, is not whole, or when they are not the reports of
/// all parts of one larger run: half of a proof must not pass for all of it.
pub fn run(reports: &[PathBuf], out: &Printer) -> Result<ExitStatus, CommandError> {
    let closings = reports.iter().map(|path| Ok((path.as_path(), closing_of(path)?))).collect::<Result<Vec<_>, CommandError>>()?;
    let parts = closings.len();
    let totals = merged(closings)?;
    each_row(reports, |raw, row| {
        if out.form() == Form::Json {
            out.object(&raw);
        }
        say(row, out);
    })?;
    let status = match totals.exit {
        0 => ExitStatus::Well,
        1 => ExitStatus::Found,
        _ => ExitStatus::Failed,
    };
    say_totals(&totals, parts, out);
    if out.form() == Form::Json {
        out.object(&Closing { schema: SCHEMA, summary: totals });
    }
    Ok(status)
}

/// Reads a report to its end, and makes sure that it is whole.
fn closing_of(path: &Path) -> Result<Totals, CommandError> {
    let mut report = Report::open(path)?;
    let (mut rows, mut closing) = (0, None);
    while let Some(line) = report.next()? {
        if closing.is_some() {
            return Err(report.wrong("it goes on after its last line"));
        }
        match line {
            ReportLine::Row(_, _) => rows += 1,
            ReportLine::Closing(one) => closing = Some(one),
        }
    }
    let Some(closing) = closing else { return Err(report.wrong("its last line is missing: that run was cut short")) };
    if closing.schema != SCHEMA {
        return Err(report.wrong(format!("it is of version {}, and this everlog knows version {SCHEMA}", closing.schema)));
    }
    let counted: u64 = closing.summary.verdicts.values().sum();
    if counted != rows {
        return Err(report.wrong(format!("its last line counts {counted} lines, and it has {rows}")));
    }
    Ok(closing.summary)
}

/// One sum of all parts' sums.
fn merged(closings: Vec<(&Path, Totals)>) -> Result<Totals, CommandError> {
    let mut parts: BTreeMap<u32, &Path> = BTreeMap::new();
    let mut of = None;
    let mut all: Option<Totals> = None;
    for (path, totals) in closings {
        let wrong = |what: String| CommandError::NotAReport { path: path.to_owned(), what };
        let shard: Option<Shard> = totals.shard.as_deref().and_then(|shard| shard.parse().ok());
        let Some(shard) = shard else { return Err(wrong("it is not of a part: `verify --shard K/N --json` makes one".to_owned())) };
        if *of.get_or_insert(shard.of()) != shard.of() {
            return Err(wrong(format!("it is of part {shard}, and the one before is of {} parts", of.unwrap_or_default())));
        }
        if let Some(other) = parts.insert(shard.number(), path) {
            return Err(wrong(format!("it is of part {shard}, and so is {}", other.display())));
        }
        all = Some(match all {
            None => Totals { shard: None, ..totals },
            Some(sum) if sum.level != totals.level => {
                return Err(wrong(format!("it was checked by `--level {}`, and others by `--level {}`", totals.level, sum.level)));
            }
            Some(sum) => sum_of(sum, totals),
        });
    }
    let missing = (1..=of.unwrap_or_default()).find(|number| !parts.contains_key(number));
    match (all, missing, parts.values().next()) {
        (_, Some(number), Some(path)) => {
            let of = of.unwrap_or_default();
            Err(CommandError::NotAReport {
                path: path.to_path_buf(),
                what: format!("the report of part {number}/{of} is missing beside it"),
            })
        }
        (Some(all), None, _) => Ok(all),
        (None, _, _) | (Some(_), Some(_), None) => Err(CommandError::Bug("no reports were merged".to_owned())),
    }
}

fn sum_of(sum: Totals, more: Totals) -> Totals {
    let mut units: Kinds = sum.units;
    units.add_all(more.units);
    let mut verdicts = sum.verdicts;
    more.verdicts.into_iter().for_each(|(verdict, count)| *verdicts.entry(verdict).or_default() += count);
    Totals {
        level: sum.level,
        units,
        logs: sum.logs + more.logs,
        earlier: sum.earlier + more.earlier,
        bytes: sum.bytes + more.bytes,
        messages: sum.messages + more.messages,
        findings: sum.findings + more.findings,
        verdicts,
        shard: None,
        // The first part alone has it.
        root: sum.root.or(more.root),
        exit: sum.exit.max(more.exit),
    }
}

/// Calls `take` for every line of all reports: current logs first, each kind by
/// name, as one run sorts them. One line of each report is in memory.
fn each_row(reports: &[PathBuf], mut take: impl FnMut(&RawValue, &ReportRow)) -> Result<(), CommandError> {
    let mut open = Vec::with_capacity(reports.len());
    let (mut next, mut rows) = (BinaryHeap::new(), BTreeMap::new());
    for (n, path) in reports.iter().enumerate() {
        open.push(Report::open(path)?);
        advance(n, &mut open[n], &mut next, &mut rows)?;
    }
    while let Some(Reverse((_, _, n))) = next.pop() {
        if let Some((raw, row)) = rows.remove(&n) {
            take(&raw, &row);
        }
        advance(n, &mut open[n], &mut next, &mut rows)?;
    }
    Ok(())
}

/// The place of a line among all lines, and the report that it is of.
type Next = BinaryHeap<Reverse<(Kept, String, usize)>>;

fn advance(
    n: usize,
    report: &mut Report<'_>,
    next: &mut Next,
    rows: &mut BTreeMap<usize, (Box<RawValue>, ReportRow)>,
) -> Result<(), CommandError> {
    if let Some(ReportLine::Row(raw, row)) = report.next()? {
        next.push(Reverse((row.kept, row.log.clone(), n)));
        rows.insert(n, (raw, row));
    }
    Ok(())
}

/// What a person reads of one log: nothing, where all is well.
fn say(row: &ReportRow, out: &Printer) {
    if let Some(what) = note(row.verdict) {
        out.say(&format!("note: {what}\n  at {}", visible(&row.log)));
    }
    let at = |one: &Difference| {
        let numbers = [one.line, one.byte].into_iter().flatten().map(|number| format!(":{number}")).collect::<String>();
        format!("{}{numbers}", visible(&one.file))
    };
    let is_well = row.verdict.exit() == ExitStatus::Well;
    let word = if is_well { "warning" } else { "error" };
    let mut parts: Vec<String> = row.error.iter().map(|error| format!("error: {}\n  at {}", visible(error), visible(&row.log))).collect();
    if row.verdict != Verdict::KeptDamaged {
        let lines = |text: &str| text.lines().map(visible).collect::<Vec<_>>().join("\n");
        let detail = |one: &Difference| if one.detail.is_empty() { String::new() } else { format!("\n{}", lines(&one.detail)) };
        parts.extend(row.differences.iter().map(|one| format!("{word}: {}\n  at {}{}", visible(&one.what), at(one), detail(one))));
    }
    if row.more_differences > 0 {
        parts.push(format!("and {} in {}", text::count(row.more_differences, "more difference"), visible(&row.log)));
    }
    if parts.is_empty() {
        return;
    }
    parts.extend(hint(row.verdict).map(|hint| format!("hint: {hint}")));
    let text = parts.join("\n");
    if is_well { out.say(&text) } else { out.complain(&text) }
}

fn say_totals(totals: &Totals, parts: usize, out: &Printer) {
    let count = |verdict: Verdict| totals.verdicts.get(&verdict).copied().unwrap_or_default();
    let counts = VERDICTS.into_iter().map(|verdict| (verdict, count(verdict)));
    let named = counts.filter(|(verdict, count)| *count > 0 || *verdict == Verdict::Same);
    let named: Vec<String> = named.map(|(verdict, count)| in_words(verdict, count)).collect();
    let of = if totals.units.are_sessions() { String::new() } else { format!(" ({})", totals.units.text()) };
    let mut line =
        format!("{}{of} checked in {}: {}", text::count(totals.logs, "log"), text::count(parts as u64, "part"), named.join(", "));
    if totals.earlier > 0 {
        line.push_str(&format!("; {} among them", text::count(totals.earlier, "earlier log")));
    }
    if totals.level != "seal" {
        line.push_str(&format!("; {} rebuilt", text::size(totals.bytes)));
    }
    if let Some(root) = &totals.root {
        line.push_str(&format!("; root {root}"));
    }
    out.summary(&line);
}
