//! `everlog search`: what people said and tools printed, in all sessions.

mod filter;
mod pattern;
mod scan;

use rayon::prelude::*;
use serde::Serialize;
use std::path::PathBuf;

use crate::api::utc;
use crate::report::exit::ExitStatus;
use crate::report::fitted::columns;
use crate::report::printer::{Form, Printer, Talk};
use crate::report::styled::Styled;
use crate::report::terminal::{Terminal, Tint};
use crate::report::text;
use crate::verify::difference::visible;

use super::clock::Clock;
use super::error::CommandError;
use super::sessions::{SessionRow, Sessions, list, short_ids};

use scan::{Enough, Hit, hits};

pub use crate::api::Role;
pub use filter::{Branch, Filter};
pub use pattern::{Case, Pattern, SearchTerms};
pub use scan::PartKind;

/// What to search for, where, and how matches are shown.
#[derive(Debug)]
pub struct SearchJob {
    /// The store, or a folder of logs.
    pub store: PathBuf,
    /// What to search for.
    pub pattern: Pattern,
    /// What of the sessions is searched.
    pub filter: Filter,
    /// Only sessions of this format.
    pub format: Option<String>,
    /// What is printed of matches.
    pub shown: Shown,
    /// In which zone times are shown.
    pub clock: Clock,
    /// What lines are made for.
    pub terminal: Terminal,
}

/// What is printed of matches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// Every line that matches.
    Lines,
    /// How many lines match in each session.
    Counts,
    /// The sessions that have a match.
    Sessions,
}

/// So many sessions are searched before their matches are printed: all cores
/// have work, and only the matches of these are in memory.
const AT_ONCE: usize = 128;

/// A line keeps at least so many columns for its text.
const LEAST: usize = 40;

/// A line that matches, for programs.
#[derive(Debug, Serialize)]
struct LineRow<'a> {
    schema: u32,
    session: &'a str,
    format: &'a str,
    log: String,
    seq: crate::model::ids::Seq,
    ts: Option<&'a str>,
    time: Option<String>,
    role: Role,
    part: PartKind,
    tool: Option<&'a str>,
    line: usize,
    text: &'a str,
    matches: Vec<[usize; 2]>,
    before: &'a [String],
    after: &'a [String],
}

/// A session with matches, for programs.
#[derive(Debug, Serialize)]
struct SessionMatches<'a> {
    schema: u32,
    session: &'a str,
    format: &'a str,
    log: String,
    title: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    count: Option<usize>,
}

/// Runs the command. As with grep, it ends well where something was found, and
/// a session that cannot be read makes it fail.
///
/// # Errors
/// When the store cannot be listed, or has no logs.
pub fn run(job: &SearchJob, out: &Printer) -> Result<ExitStatus, CommandError> {
    let Sessions { rows, mut failed, unread } = list(&job.store)?;
    let short = short_ids(&rows);
    let is_wanted = |row: &SessionRow| {
        job.format.as_ref().is_none_or(|format| row.format == *format)
            && job.filter.since.as_ref().is_none_or(|since| row.order().is_none_or(|time| time >= *since))
    };
    let wanted: Vec<(&SessionRow, &str)> = rows.iter().zip(short).filter(|(row, _)| is_wanted(row)).collect();
    let is_quiet = out.talk() == Talk::Quiet && out.form() == Form::Text;
    let enough = if job.shown == Shown::Sessions || is_quiet { Enough::One } else { Enough::All };
    let (mut lines, mut sessions) = (0, 0_u64);
    for some in wanted.chunks(AT_ONCE) {
        if out.is_closed() || (is_quiet && sessions > 0) {
            break;
        }
        let found: Vec<_> = some.par_iter().map(|(row, _)| hits(row, &job.pattern, &job.filter, enough)).collect();
        for ((row, short), found) in some.iter().zip(found) {
            match found {
                Ok(found) if found.is_empty() => {}
                Ok(found) => {
                    lines += found.len() as u64;
                    sessions += 1;
                    if !is_quiet {
                        session(row, short, &found, job, out);
                    }
                }
                Err(error) => failed.push(error),
            }
        }
    }
    for error in &failed {
        out.complain(&text::error(error, None, error.hint().as_deref()));
    }
    for unread in &unread {
        out.complain(&format!("error: {}\n  at {}", unread.why, visible(&unread.relative.to_string())));
    }
    let searched = text::count(wanted.len() as u64, "session");
    out.say(&match (sessions, job.shown) {
        (0, _) => format!("nothing found in {searched}"),
        (_, Shown::Sessions) => format!("found in {} of {searched}", text::thousands(sessions)),
        (_, Shown::Lines | Shown::Counts) => {
            format!("{} in {} of {searched}", text::count(lines, "line"), text::thousands(sessions))
        }
    });
    Ok(match (failed.is_empty() && unread.is_empty(), sessions > 0) {
        (false, _) => ExitStatus::Failed,
        (true, true) => ExitStatus::Well,
        (true, false) => ExitStatus::Found,
    })
}

/// Prints what was found in one session.
fn session(row: &SessionRow, short: &str, found: &[Hit], job: &SearchJob, out: &Printer) {
    let count = (job.shown == Shown::Counts).then_some(found.len());
    match (job.shown, out.form()) {
        (Shown::Lines, Form::Json) => found.iter().for_each(|hit| out.object(&line_row(row, hit))),
        (Shown::Lines, Form::Text) => {
            for hit in found {
                let line = hit_line(short, hit, job);
                hit.before.iter().for_each(|before| out.text(near(before)));
                out.text(line);
                hit.after.iter().for_each(|after| out.text(near(after)));
                if job.filter.context > 0 {
                    out.text(Styled::of(Tint::Guide, "--"));
                }
            }
        }
        (Shown::Counts | Shown::Sessions, Form::Json) => out.object(&SessionMatches {
            schema: 1,
            session: &row.about.id,
            format: &row.format,
            log: row.name.to_string(),
            title: row.about.called(),
            count,
        }),
        (Shown::Counts | Shown::Sessions, Form::Text) => {
            let mut line = Styled::of(Tint::Id, visible(short));
            line.push(Tint::Guide, &count.map(|count| format!(": {count}")).unwrap_or_default());
            if count.is_none() {
                line.push(Tint::Plain, &format!("  {}", visible(row.about.called().unwrap_or_default())));
            }
            out.text(line);
        }
    }
}

fn line_row<'a>(row: &'a SessionRow, hit: &'a Hit) -> LineRow<'a> {
    LineRow {
        schema: 1,
        session: &row.about.id,
        format: &row.format,
        log: row.name.to_string(),
        seq: hit.seq,
        ts: hit.ts.as_deref(),
        time: hit.ts.as_deref().and_then(utc),
        role: hit.role,
        part: hit.part,
        tool: hit.tool.as_deref(),
        line: hit.line,
        text: &hit.text,
        matches: hit.matches.iter().map(|at| [at.start, at.end]).collect(),
        before: &hit.before,
        after: &hit.after,
    }
}

fn near(line: &str) -> Styled {
    Styled::of(Tint::Guide, format!("    {}", visible(line)))
}

/// `session, time, role #7: …what was said around the match…`
fn hit_line(short: &str, hit: &Hit, job: &SearchJob) -> Styled {
    let mut line = Styled::of(Tint::Id, visible(short));
    if let Some(ts) = &hit.ts {
        let time = job.clock.shown(ts);
        line.push(Tint::Guide, &visible(&format!(", {}", time.get(..16).unwrap_or(&time))));
    }
    let role = match (hit.part, &hit.tool) {
        (PartKind::Call | PartKind::Result, Some(tool)) => format!("{} {}", hit.role, visible(tool)),
        (PartKind::Thinking, _) => format!("{} (thinking)", hit.role),
        (PartKind::Summary, _) => "summary".to_owned(),
        (PartKind::Text | PartKind::Call | PartKind::Result | PartKind::Shell, _) => hit.role.to_string(),
    };
    line.push(Tint::Guide, ", ");
    line.push(Tint::Role, &role);
    line.push(Tint::Guide, &format!(" #{}: ", hit.seq));
    let room = job.terminal.columns.saturating_sub(columns(&line.plain())).max(LEAST);
    line.append(around(hit, room));
    line
}

/// Returns the text of a line around its first match, in so many columns, with matches
/// marked.
fn around(hit: &Hit, room: usize) -> Styled {
    let first = hit.matches.first().cloned().unwrap_or(0..0);
    // What is before and after the match shares what room it leaves.
    let left = room.saturating_sub(columns(&visible(&hit.text[first.clone()])) + 2);
    let (before, after) = (hit.text[..first.start].trim_start(), hit.text[first.end..].trim_end());
    let need_after = columns(&visible(after)).min(left / 2);
    let before = last_columns(before, left - need_after);
    let from = first.start - before.len();
    let to = first.end + first_columns(after, left - columns(&visible(before)).min(left)).len();
    let mut line = Styled::new();
    if !hit.text[..from].trim_start().is_empty() {
        line.push(Tint::Guide, "…");
    }
    let mut at = from;
    for found in hit.matches.iter().filter(|found| found.start < to) {
        let end = found.end.min(to);
        line.push(Tint::Plain, &spaced(&hit.text[at..found.start]));
        line.push(Tint::Match, &spaced(&hit.text[found.start..end]));
        at = end;
    }
    line.push(Tint::Plain, &spaced(&hit.text[at..to]));
    if !hit.text[to..].trim_end().is_empty() {
        line.push(Tint::Guide, "…");
    }
    line
}

/// Returns a text that is safe to show, with its line ends and tabulators as spaces.
fn spaced(text: &str) -> String {
    visible(&text.replace(['\n', '\t'], " "))
}

fn width(c: char) -> usize {
    columns(&visible(c.encode_utf8(&mut [0; 4])))
}

/// As much of the end of a text as fits into so many columns.
fn last_columns(text: &str, room: usize) -> &str {
    let mut used = 0;
    let cut = text.char_indices().rev().find(|(_, c)| {
        used += width(*c);
        used > room
    });
    cut.map_or(text, |(at, c)| &text[at + c.len_utf8()..])
}

/// As much of the beginning of a text as fits into so many columns.
fn first_columns(text: &str, room: usize) -> &str {
    let mut used = 0;
    let cut = text.char_indices().find(|(_, c)| {
        used += width(*c);
        used > room
    });
    cut.map_or(text, |(at, _)| &text[..at])
}
