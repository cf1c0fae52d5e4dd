//! `everlog ls`: the sessions of a store as a table.

use serde::Serialize;
use std::path::PathBuf;

use crate::model::event::SessionKind;
use crate::report::exit::ExitStatus;
use crate::report::fitted::{FittedLine, columns, fitted};
use crate::report::printer::{Form, Printer};
use crate::report::styled::Styled;
use crate::report::terminal::{Terminal, Tint};
use crate::report::text;
use crate::verify::difference::visible;

use super::error::CommandError;
use super::sessions::{SessionRow, Sessions, list, short_ids};

/// What to list, and how.
#[derive(Debug)]
pub struct LsJob {
    /// The store, or a folder of logs.
    pub store: PathBuf,
    /// What comes first.
    pub sort: Sort,
    /// Only sessions whose last message is not older than this time, in UTC and
    /// without a `Z`.
    pub since: Option<String>,
    /// Only sessions of this format.
    pub format: Option<String>,
    /// Only sessions that worked in this folder or below it.
    pub cwd: Option<String>,
    /// Which sessions, by damage.
    pub damage: Damage,
    /// What the table is made for.
    pub terminal: Terminal,
}

/// What comes first in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sort {
    /// The session with the newest message.
    Time,
    /// The largest log.
    Size,
    /// The session with the most messages.
    Messages,
    /// The first title of the alphabet.
    Title,
}

/// Which sessions are listed, by damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Damage {
    /// All sessions.
    Any,
    /// Only those with findings that somebody should look at.
    Only,
}

/// A row for programs.
#[derive(Debug, Serialize)]
struct Row<'a> {
    schema: u32,
    id: &'a str,
    short_id: &'a str,
    title: Option<&'a str>,
    prompt: Option<&'a str>,
    format: &'a str,
    kind: SessionKind,
    cwd: Option<&'a str>,
    last: Option<&'a str>,
    time: Option<String>,
    messages: u64,
    turns: u64,
    branches: u64,
    bytes: u64,
    findings: usize,
    log: String,
}

/// Runs the command.
///
/// # Errors
/// When the store cannot be listed, or has no logs.
pub fn run(job: &LsJob, out: &Printer) -> Result<ExitStatus, CommandError> {
    let Sessions { rows: all, failed, unread } = list(&job.store)?;
    let short = short_ids(&all);
    let mut rows: Vec<(&SessionRow, &str)> = all.iter().zip(short).collect();
    rows.retain(|(row, _)| is_wanted(row, job));
    match job.sort {
        // The list is in this order already.
        Sort::Time => {}
        Sort::Size => rows.sort_by_key(|(row, _)| std::cmp::Reverse(row.bytes)),
        Sort::Messages => rows.sort_by_key(|(row, _)| std::cmp::Reverse(row.about.messages)),
        Sort::Title => rows.sort_by_cached_key(|(row, _)| row.about.called().unwrap_or_default().to_lowercase()),
    }
    match out.form() {
        Form::Json => rows.iter().for_each(|(row, short)| out.object(&for_programs(row, short))),
        Form::Text if rows.is_empty() => {}
        Form::Text => table(&rows, job.terminal, out),
    }
    for error in &failed {
        out.complain(&text::error(error, None, error.hint().as_deref()));
    }
    for unread in &unread {
        out.complain(&format!("error: {}\n  at {}", unread.why, visible(&unread.relative.to_string())));
    }
    let of_all = if rows.len() == all.len() { String::new() } else { format!(" of {}", text::thousands(all.len() as u64)) };
    let sessions = if all.len() == 1 { "session" } else { "sessions" };
    out.summary(&format!("{}{of_all} {sessions} in {}", text::thousands(rows.len() as u64), visible(&job.store.display().to_string())));
    Ok(if failed.is_empty() && unread.is_empty() { ExitStatus::Well } else { ExitStatus::Found })
}

fn is_wanted(row: &SessionRow, job: &LsJob) -> bool {
    let is_in = |folder: &String| {
        let below = row.about.cwd.as_deref().and_then(|cwd| cwd.strip_prefix(folder.trim_end_matches('/')));
        below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    job.format.as_ref().is_none_or(|format| row.format == *format)
        && job.cwd.as_ref().is_none_or(is_in)
        && job.since.as_ref().is_none_or(|since| row.order().is_some_and(|time| time >= *since))
        && (job.damage == Damage::Any || row.findings > 0)
}

fn for_programs<'a>(row: &'a SessionRow, short: &'a str) -> Row<'a> {
    Row {
        schema: 1,
        id: &row.about.id,
        short_id: short,
        title: row.about.title.as_deref(),
        prompt: row.about.prompt.as_deref(),
        format: &row.format,
        kind: row.kind,
        cwd: row.about.cwd.as_deref(),
        last: row.about.last.as_deref(),
        time: row.about.last.as_deref().and_then(crate::api::utc),
        messages: row.about.messages,
        turns: row.about.turns,
        branches: row.about.branches,
        bytes: row.bytes,
        findings: row.findings,
        log: row.name.to_string(),
    }
}

/// Which side of a column its cells are at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Right,
}

/// The columns before the title.
const COLUMNS: [(&str, Side, Tint); 7] = [
    ("LAST MESSAGE", Side::Left, Tint::Guide),
    ("PROGRAM", Side::Left, Tint::Role),
    ("MSGS", Side::Right, Tint::Plain),
    ("TURNS", Side::Right, Tint::Plain),
    ("SIZE", Side::Right, Tint::Plain),
    ("", Side::Left, Tint::Damage),
    ("ID", Side::Left, Tint::Id),
];

/// The column of the ids.
const ID: usize = COLUMNS.len() - 1;

/// What is left out first where the terminal is narrow: turns, size, messages.
const LEAST: [usize; 3] = [3, 4, 2];

/// A title keeps at least so many columns where ids are longer than most.
const TITLE: usize = 12;

/// An id of so many columns is never cut: a part of it would not name its session.
const SHORT_ID: usize = 24;

/// Prints the table. The title comes last, and takes the room that is left.
fn table(rows: &[(&SessionRow, &str)], terminal: Terminal, out: &Printer) {
    let heads = COLUMNS.map(|(head, _, _)| head.to_owned());
    let mut widths: [usize; COLUMNS.len()] = std::array::from_fn(|n| columns(&heads[n]));
    // The cells are made twice, because those of a million rows take more memory than
    // all else that is known of these.
    for (row, short) in rows {
        cells(row, short).iter().zip(&mut widths).for_each(|(cell, width)| *width = columns(cell).max(*width));
    }
    let needed = |widths: &[usize; COLUMNS.len()]| -> usize {
        let others = widths[..ID].iter().filter(|width| **width > 0).map(|width| width + 2);
        others.sum::<usize>() + widths[ID].min(SHORT_ID) + 2 + TITLE
    };
    let terminal = terminal.with_room_for(needed(&widths));
    for column in LEAST {
        if needed(&widths) > terminal.columns {
            widths[column] = 0;
        }
    }
    let id = widths[ID].min(SHORT_ID);
    widths[ID] = widths[ID].min(id + terminal.columns.saturating_sub(needed(&widths)));
    out.text(line(&heads, "TITLE", &widths, terminal, |_| Tint::Guide));
    for (row, short) in rows {
        let words: Vec<&str> = row.about.called().unwrap_or_default().split_whitespace().collect();
        out.text(line(&cells(row, short), &visible(&words.join(" ")), &widths, terminal, |(_, _, tint)| tint));
    }
}

fn cells(row: &SessionRow, short: &str) -> [String; COLUMNS.len()] {
    // The day and the minute, as the source has them.
    let time = row.about.last.as_deref().and_then(|last| last.get(..16)).unwrap_or("-").replace('T', " ");
    let marks = [(row.findings > 0).then_some('!'), (row.about.branches > 1).then_some('Y')].into_iter().flatten().collect();
    let program = if row.kind.is_session() { row.format.clone().into_owned() } else { format!("{} ({})", row.format, row.kind.words().0) };
    let (messages, turns) = (text::thousands(row.about.messages), text::thousands(row.about.turns));
    [visible(&time), visible(&program), messages, turns, text::size(row.bytes), marks, visible(short)]
}

fn line(
    cells: &[String; COLUMNS.len()],
    title: &str,
    widths: &[usize; COLUMNS.len()],
    terminal: Terminal,
    tint: impl Fn((&'static str, Side, Tint)) -> Tint,
) -> Styled {
    let mut line = FittedLine::new(terminal);
    for ((column, cell), width) in COLUMNS.into_iter().zip(cells).zip(widths).filter(|(_, width)| **width > 0) {
        let shown = fitted(cell, *width);
        let pad = " ".repeat(width.saturating_sub(columns(&shown)));
        let padded = match column.1 {
            Side::Right => format!("{pad}{shown}  "),
            Side::Left if title.is_empty() && column.0 == COLUMNS[ID].0 => shown,
            Side::Left => format!("{shown}{pad}  "),
        };
        line.push(tint(column), &padded);
    }
    line.push(Tint::Plain, title);
    line.finish()
}
