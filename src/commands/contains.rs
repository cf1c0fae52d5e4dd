//! `everlog contains`: whether every message of one side is on the other, by
//! what it says, and every damaged piece by its bytes. What people ask before they delete the old folder.

use serde::Serialize;
use std::fmt::Write as _;

use crate::report::differences::Quoting;
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::verify::compare::{Multiset, Spoken, all_spoken, damaged};
use crate::verify::difference::visible;

use super::batch;
use super::compare::{CompareJob, Opened, Side};
use super::error::CommandError;

/// What `--json` says of one message that is missing.
#[derive(Debug, Serialize)]
struct Json<'a> {
    schema: u32,
    missing: &'a str,
    session: &'a str,
    event: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

/// A session, whole: as it is now, and what it had when it was kept before.
#[derive(Default)]
struct Session {
    name: String,
    messages: Vec<Spoken>,
    damaged: Vec<Spoken>,
    /// What is to be said of its logs, and where they are.
    warnings: Vec<(&'static str, String)>,
}

/// How much was asked for, and how much of it is not there.
#[derive(Debug, Default, Serialize)]
struct Totals {
    #[serde(skip)]
    sessions: u64,
    messages: u64,
    contained: u64,
    missing: u64,
    damaged: u64,
    damaged_missing: u64,
    not_compared: u64,
    strays: u64,
}

/// Runs the command.
///
/// # Errors
/// When a side cannot be read.
pub fn run(job: &CompareJob, out: &Printer) -> Result<ExitStatus, CommandError> {
    let (mut a, mut b) = (Side::open(&job.a)?, Side::open(&job.b)?);
    let (asked, given) = (sessions(&mut a, job.jobs), sessions(&mut b, job.jobs));
    let warnings: Vec<_> = asked.iter().chain(&given).flat_map(|session| &session.warnings).collect();
    warnings.iter().for_each(|(warning, place)| out.complain(&format!("{warning}\n  at {}", visible(place))));
    let mut left = Multiset::default();
    for session in &given {
        left.add(&session.messages);
        left.add(&session.damaged);
    }
    let mut totals = Totals { sessions: asked.len() as u64, not_compared: a.unseen(), strays: a.strays, ..Totals::default() };
    for session in &asked {
        let mut lacking = |list: &'_ [Spoken]| list.iter().filter(|piece| !left.take(piece)).cloned().collect::<Vec<_>>();
        let (messages, damaged) = (lacking(&session.messages), lacking(&session.damaged));
        totals.messages += session.messages.len() as u64;
        totals.damaged += session.damaged.len() as u64;
        totals.missing += messages.len() as u64;
        totals.damaged_missing += damaged.len() as u64;
        report(&session.name, &a, (&messages, "message"), job, out);
        report(&session.name, &a, (&damaged, "damaged piece"), job, out);
    }
    totals.contained = totals.messages - totals.missing;
    a.tell_unseen(out);
    let is_all_there = totals.missing + totals.damaged_missing == 0;
    if !is_all_there {
        // What is missing may be in there.
        b.tell_unseen(out);
    }
    if out.form() == Form::Json {
        out.object(&serde_json::json!({ "schema": 1, "summary": totals }));
    }
    out.summary(&summary(&totals));
    let is_well = is_all_there && totals.not_compared == 0 && warnings.is_empty();
    Ok(if is_well { ExitStatus::Well } else { ExitStatus::Found })
}

fn summary(totals: &Totals) -> String {
    let mut text = text::count(totals.messages, "message");
    if totals.damaged > 0 {
        let _ = write!(text, " and {}", text::count(totals.damaged, "damaged piece"));
    }
    let _ = write!(text, " of {} in A, ", text::count(totals.sessions, "session"));
    match totals.missing + totals.damaged_missing {
        0 => text.push_str("all of them in B"),
        missing => {
            let _ = write!(text, "{} of them not in B", text::thousands(missing));
        }
    }
    if totals.not_compared > 0 {
        let _ = write!(text, "; {} in A could not be looked at", text::count(totals.not_compared, "thing"));
    }
    if totals.strays > 0 {
        let _ = write!(text, "; {} in A of no session", text::count(totals.strays, "file"));
    }
    text
}

/// The sessions of a side. One that cannot be read is noted, and keeps no other
/// from being looked at.
fn sessions(side: &mut Side, jobs: usize) -> Vec<Session> {
    let names: Vec<String> = side.names().cloned().collect();
    let read = batch::each(&names, jobs, |name| batch::caught(|| session(side, name), CommandError::Bug));
    let mut sessions = Vec::new();
    for (name, result) in names.iter().zip(read) {
        match result {
            Ok(session) => sessions.push(session),
            Err(error) => side.miss(name, &error),
        }
    }
    sessions
}

fn session(side: &Side, name: &str) -> Result<Session, CommandError> {
    let mut session = Session { name: name.to_owned(), ..Session::default() };
    for opened in side.versions(name) {
        let Opened { mut log, warning, place } = opened?;
        let stream = |source| CommandError::Stream { path: place.clone().into(), source };
        // What two versions have is one thing.
        let messages = all_spoken(&mut log).map_err(stream)?;
        let damaged = damaged(&mut log).map_err(stream)?;
        session.messages.extend(Multiset::of(&session.messages).lacks(messages));
        session.damaged.extend(Multiset::of(&session.damaged).lacks(damaged));
        session.warnings.extend(warning.map(|warning| (warning, place)));
    }
    Ok(session)
}

fn report(session: &str, side: &Side, (lacking, what): (&[Spoken], &str), job: &CompareJob, out: &Printer) {
    let quotes = job.showing.quoting == Quoting::Windows;
    if out.form() == Form::Json {
        for message in lacking {
            let text = Some(message.excerpt.as_str()).filter(|_| quotes);
            let (event, ts) = (message.seq.number(), message.ts.as_deref());
            out.object(&Json { schema: 1, missing: &message.role, session, event, ts, text });
        }
        return;
    }
    if lacking.is_empty() {
        return;
    }
    out.text(&format!(
        "{} has {} that B has not\n  at {}",
        visible(session),
        text::count(lacking.len() as u64, what),
        visible(&side.place(session))
    ));
    for message in lacking.iter().take(job.most) {
        let ts = message.ts.as_deref().map(|ts| format!(" {}", visible(ts))).unwrap_or_default();
        let quoted = if quotes { format!(": {}", visible(&message.excerpt)) } else { String::new() };
        out.text(&format!("  - event {}{ts}, {}{quoted}", message.seq, visible(&message.role)));
    }
    let rest = lacking.len().saturating_sub(job.most) as u64;
    if rest > 0 {
        out.text(&format!("  and {}", text::count(rest, &format!("more {what}"))));
    }
}
