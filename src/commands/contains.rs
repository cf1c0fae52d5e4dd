//! `everlog contains`: whether every message of one side is on the other, by
//! what it says. What people ask before they delete the old folder.

use serde::Serialize;

use crate::report::differences::Quoting;
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::verify::compare::{Multiset, Spoken, all_spoken};
use crate::verify::difference::visible;

use super::batch;
use super::compare::{CompareJob, Side};
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

/// A session's name, its messages, and what is to be said of its log.
type Session = (String, Vec<Spoken>, Option<&'static str>);

/// Runs the command.
///
/// # Errors
/// When a side cannot be read.
pub fn run(job: &CompareJob, out: &Printer) -> Result<ExitStatus, CommandError> {
    let (a, b) = (Side::open(&job.a)?, Side::open(&job.b)?);
    let (asked, given) = (messages(&a, job.jobs)?, messages(&b, job.jobs)?);
    let mut is_doubtful = false;
    for (side, sessions) in [(&a, &asked), (&b, &given)] {
        for (name, _, warning) in sessions {
            if let Some(warning) = warning {
                is_doubtful = true;
                out.complain(&format!("{warning}\n  at {}", visible(&side.place(name))));
            }
        }
    }
    let mut left = Multiset::default();
    given.iter().for_each(|(_, list, _)| left.add(list));
    let (mut all, mut missing) = (0, 0);
    for (session, list, _) in &asked {
        let lacking: Vec<&Spoken> = list.iter().filter(|message| !left.take(message)).collect();
        all += list.len() as u64;
        missing += lacking.len() as u64;
        report(session, &a, &lacking, job, out);
    }
    let contained = all - missing;
    if out.form() == Form::Json {
        out.object(&serde_json::json!({ "schema": 1, "summary": { "messages": all, "contained": contained, "missing": missing } }));
    }
    let sessions = text::count(asked.len() as u64, "session");
    out.summary(&match missing {
        0 => format!("{} of {sessions} in A, all of them in B", text::count(all, "message")),
        missing => format!("{} of {sessions} in A, {} of them not in B", text::count(all, "message"), text::thousands(missing)),
    });
    Ok(if missing == 0 && !is_doubtful { ExitStatus::Well } else { ExitStatus::Found })
}

fn messages(side: &Side, jobs: usize) -> Result<Vec<Session>, CommandError> {
    let names: Vec<String> = side.names().cloned().collect();
    let one = |name: &String| {
        let (mut log, warning) = side.log(name)?;
        let list = all_spoken(&mut log).map_err(|source| CommandError::Stream { path: side.place(name).into(), source })?;
        Ok((name.clone(), list, warning))
    };
    batch::each(&names, jobs, |name| batch::caught(|| one(name), CommandError::Bug)).into_iter().collect()
}

fn report(session: &str, side: &Side, lacking: &[&Spoken], job: &CompareJob, out: &Printer) {
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
        text::count(lacking.len() as u64, "message"),
        visible(&side.place(session))
    ));
    for message in lacking.iter().take(job.most) {
        let ts = message.ts.as_deref().map(|ts| format!(" {}", visible(ts))).unwrap_or_default();
        let quoted = if quotes { format!(": {}", visible(&message.excerpt)) } else { String::new() };
        out.text(&format!("  - event {}{ts}, {}{quoted}", message.seq, visible(&message.role)));
    }
    let rest = lacking.len().saturating_sub(job.most) as u64;
    if rest > 0 {
        out.text(&format!("  and {}", text::count(rest, "more message")));
    }
}
