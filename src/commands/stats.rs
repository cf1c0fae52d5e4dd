//! `everlog stats`: how much was said, by which program, model, month and tool,
//! and what it took.

mod tally;

use rayon::prelude::*;
use serde::Serialize;
use std::path::PathBuf;

use crate::report::exit::ExitStatus;
use crate::report::fitted::{FittedLine, columns, fitted};
use crate::report::printer::{Form, Printer};
use crate::report::terminal::{Terminal, Tint};
use crate::report::text::{self, thousands};
use crate::verify::difference::visible;

use super::error::CommandError;
use super::sessions::{Sessions, list};

use tally::{Counts, Tally, count};

/// Of what to count, and in which form.
#[derive(Debug)]
pub struct StatsJob {
    /// The store, or a folder of logs.
    pub store: PathBuf,
    /// Only sessions of this format.
    pub format: Option<String>,
    /// Whether rows are printed as comma-separated values.
    pub table: TableForm,
    /// What the tables are made for.
    pub terminal: Terminal,
}

/// In which form tables are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableForm {
    /// As text, with bars.
    Text,
    /// As comma-separated values, with one line of names.
    Csv,
}

/// A row for programs.
#[derive(Debug, Serialize)]
struct Row<'a> {
    schema: u32,
    by: &'static str,
    key: Option<&'a str>,
    sessions: u64,
    messages: u64,
    turns: u64,
    answers: u64,
    answers_with_usage: u64,
    answers_with_cost: u64,
    input: Option<u64>,
    output: Option<u64>,
    cache_read: Option<u64>,
    cache_write: Option<u64>,
    reasoning: Option<u64>,
    cost: Option<f64>,
    calls: u64,
    failed_calls: u64,
}

/// The names of the columns of comma-separated values: the members of a row.
const CSV: &str = "by,key,sessions,messages,turns,answers,answers_with_usage,answers_with_cost,input,output,cache_read,cache_write,reasoning,cost,calls,failed_calls";

/// The longest bar.
const BAR: usize = 24;

/// Numbers that are left out first where the terminal is narrow.
const LEAST: [&str; 4] = ["CACHED", "TURNS", "SESSIONS", "MESSAGES"];

/// A name has so many columns at most.
const NAME: usize = 36;

/// Runs the command.
///
/// # Errors
/// When the store cannot be listed, or has no logs.
pub fn run(job: &StatsJob, out: &Printer) -> Result<ExitStatus, CommandError> {
    let Sessions { rows, mut failed, unread } = list(&job.store)?;
    let wanted: Vec<_> = rows.iter().filter(|row| job.format.as_ref().is_none_or(|format| row.format == *format)).collect();
    let counted: Vec<Result<Tally, CommandError>> = wanted.par_iter().map(|row| count(row)).collect();
    let mut all = Tally::default();
    for one in counted {
        match one {
            Ok(tally) => all.add(tally),
            Err(error) => failed.push(error),
        }
    }
    let groups = [("program", &all.programs), ("model", &all.models), ("month", &all.months), ("tool", &all.tools)];
    match (out.form(), job.table) {
        (Form::Json, _) => {
            out.object(&row("all", None, &all.all));
            groups.iter().for_each(|(by, group)| group.iter().for_each(|(key, counts)| out.object(&row(by, Some(key), counts))));
        }
        (Form::Text, TableForm::Csv) => {
            out.text(CSV);
            out.text(&csv(&row("all", None, &all.all)));
            groups.iter().for_each(|(by, group)| group.iter().for_each(|(key, counts)| out.text(&csv(&row(by, Some(key), counts)))));
        }
        (Form::Text, TableForm::Text) => {
            for (by, group) in groups {
                table(by, group.iter().map(|(key, counts)| (key.as_str(), counts)).collect(), job.terminal, out);
            }
            closing(&all.all, out);
        }
    }
    for error in &failed {
        out.complain(&text::error(error, None, error.hint().as_deref()));
    }
    for unread in &unread {
        out.complain(&format!("error: {}\n  at {}", unread.why, visible(&unread.relative.to_string())));
    }
    Ok(if failed.is_empty() && unread.is_empty() { ExitStatus::Well } else { ExitStatus::Found })
}

fn row<'a>(by: &'static str, key: Option<&'a str>, counts: &Counts) -> Row<'a> {
    Row {
        schema: 1,
        by,
        key: key.filter(|key| !key.is_empty()),
        sessions: counts.sessions,
        messages: counts.messages,
        turns: counts.turns,
        answers: counts.answers,
        answers_with_usage: counts.with_usage,
        answers_with_cost: counts.with_cost,
        input: counts.input,
        output: counts.output,
        cache_read: counts.cache_read,
        cache_write: counts.cache_write,
        reasoning: counts.reasoning,
        cost: counts.cost,
        calls: counts.calls,
        failed_calls: counts.failed_calls,
    }
}

fn csv(row: &Row<'_>) -> String {
    let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
    let key = row.key.unwrap_or_default();
    let key = if key.contains([',', '"', '\n', '\r']) { format!("\"{}\"", key.replace('"', "\"\"")) } else { key.to_owned() };
    let cells = [
        row.by.to_owned(),
        key,
        row.sessions.to_string(),
        row.messages.to_string(),
        row.turns.to_string(),
        row.answers.to_string(),
        row.answers_with_usage.to_string(),
        row.answers_with_cost.to_string(),
        number(row.input),
        number(row.output),
        number(row.cache_read),
        number(row.cache_write),
        number(row.reasoning),
        row.cost.map(|cost| cost.to_string()).unwrap_or_default(),
        row.calls.to_string(),
        row.failed_calls.to_string(),
    ];
    cells.join(",")
}

/// Prints one table: what is counted by, then numbers, then a bar of how much of
/// the largest row it is.
fn table(by: &str, mut rows: Vec<(&str, &Counts)>, terminal: Terminal, out: &Printer) {
    if rows.is_empty() {
        return;
    }
    let is_tools = by == "tool";
    let size = |counts: &Counts| if is_tools { counts.calls } else { counts.messages };
    // Months stay in their order; of everything else the most comes first.
    if by != "month" {
        rows.sort_by(|a, b| size(b.1).cmp(&size(a.1)).then(a.0.cmp(b.0)));
    }
    let of = |counts: &Counts| match by {
        "tool" => tool_cells(counts),
        // Models have no messages of a person.
        "model" => message_cells(counts).into_iter().filter(|(head, _)| *head != "TURNS").collect(),
        _ => message_cells(counts),
    };
    let heads: Vec<&str> = of(&Counts::default()).into_iter().map(|(head, _)| head).collect();
    let cells: Vec<Vec<String>> = rows.iter().map(|(_, counts)| of(counts).into_iter().map(|(_, cell)| cell).collect()).collect();
    let name = |key: &str| if key.is_empty() { "(not said)".to_owned() } else { fitted(&visible(key), NAME) };
    let widths: Vec<usize> =
        (0..heads.len()).map(|n| cells.iter().map(|row| columns(&row[n])).chain([columns(heads[n])]).max().unwrap_or(0)).collect();
    let first = rows.iter().map(|(key, _)| columns(&name(key))).chain([by.len()]).max().unwrap_or(0);
    let needed = |widths: &[usize]| widths.iter().filter(|width| **width > 0).map(|width| width + 2).sum::<usize>();
    let terminal = terminal.with_room_for(first + needed(&widths));
    let mut widths = widths;
    for least in LEAST {
        if first + needed(&widths) > terminal.columns
            && let Some(at) = heads.iter().position(|head| *head == least)
        {
            widths[at] = 0;
        }
    }
    let first = first.min(terminal.columns.saturating_sub(needed(&widths)).max(by.len()));
    let line = |key: &str, row: &[String], tint: Tint| {
        let mut line = FittedLine::new(terminal);
        let key = fitted(key, first);
        line.push(tint, &format!("{key}{}", " ".repeat(first.saturating_sub(columns(&key)))));
        for (cell, width) in row.iter().zip(&widths).filter(|(_, width)| **width > 0) {
            line.push(if tint == Tint::Guide { tint } else { Tint::Plain }, &format!("  {}{cell}", " ".repeat(width - columns(cell))));
        }
        line
    };
    let titles: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
    out.text(line(&by.to_uppercase(), &titles, Tint::Guide).finish());
    let most = rows.iter().map(|(_, counts)| size(counts)).max().unwrap_or(0);
    for ((key, counts), cells) in rows.iter().zip(&cells) {
        let mut line = line(&name(key), cells, Tint::Role);
        let room = line.left().saturating_sub(2).min(BAR);
        line.push(Tint::Added, format!("  {}", bar(size(counts), most, room)).trim_end());
        out.text(line.finish());
    }
    out.text("");
}

/// Returns what is shown of messages: the head of each column, and its cell.
fn message_cells(counts: &Counts) -> Vec<(&'static str, String)> {
    let number = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), thousands);
    let cached = match (counts.cache_read, counts.cache_write) {
        (None, None) => None,
        (read, write) => Some(read.unwrap_or(0).saturating_add(write.unwrap_or(0))),
    };
    vec![
        ("SESSIONS", thousands(counts.sessions)),
        ("MESSAGES", thousands(counts.messages)),
        ("TURNS", thousands(counts.turns)),
        ("TOKENS IN", number(counts.input)),
        ("CACHED", number(cached)),
        ("OUT", number(counts.output)),
        ("COST", counts.cost.map_or_else(|| "-".to_owned(), money)),
    ]
}

/// Returns what is shown of calls of a tool.
fn tool_cells(counts: &Counts) -> Vec<(&'static str, String)> {
    vec![("SESSIONS", thousands(counts.sessions)), ("CALLS", thousands(counts.calls)), ("FAILED", thousands(counts.failed_calls))]
}

/// Returns a cost to the cent; a small one to a hundredth of it.
fn money(cost: f64) -> String {
    if cost.abs() < 1.0 { format!("{cost:.4}") } else { format!("{cost:.2}") }
}

/// Returns a bar of so many columns at most, to an eighth of a column.
fn bar(size: u64, most: u64, room: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if most == 0 || size == 0 || room == 0 {
        return String::new();
    }
    // Something is never drawn as nothing.
    let eighths = ((size as f64 / most as f64) * (room * 8) as f64).round().max(1.0) as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// Says all together, and what is not known.
fn closing(all: &Counts, out: &Printer) {
    let sessions = text::count(all.sessions, "session");
    out.summary(&format!("{sessions}, {}, {} of a person", text::count(all.messages, "message"), thousands(all.turns)));
    let (answers, tokens, cost) = (text::count(all.answers, "answer"), thousands(all.with_usage), thousands(all.with_cost));
    out.summary(&format!("tokens are known of {tokens} of {answers}, cost of {cost}; nothing is guessed"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_long_as_what_they_stand_for() {
        assert_eq!(bar(8, 8, 3), "███");
        assert_eq!(bar(4, 8, 3), "█▌");
        assert_eq!(bar(1, 1_000_000, 3), "▏");
        assert_eq!([bar(0, 8, 3), bar(0, 0, 3), bar(8, 8, 0)], [""; 3]);
    }

    #[test]
    fn values_with_commas_are_quoted() {
        let counts = Counts { cost: Some(0.5), ..Counts::default() };
        assert!(csv(&row("model", Some("a,\"b\""), &counts)).starts_with("model,\"a,\"\"b\"\"\",0,"));
        assert_eq!(csv(&row("all", None, &counts)).split(',').count(), CSV.split(',').count());
    }
}
