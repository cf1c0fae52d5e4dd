//! `everlog replay`: the messages of a head.

use std::path::PathBuf;

use crate::log::LogTail;
use crate::model::event::EventKind;
use crate::model::heads::{HeadKind, HeadName};
use crate::model::ids::Seq;
use crate::model::stream::{LogAccess, StreamError};
use crate::report::exit::ExitStatus;
use crate::report::printer::Printer;
use crate::store::disk;

use super::error::CommandError;
use super::logs::{self, is_hidden_from};

/// Which messages, and in which form.
#[derive(Debug)]
pub struct ReplayJob {
    /// The log.
    pub log: PathBuf,
    /// The head; the one that is shown by default if none is named.
    pub head: Option<HeadName>,
    /// The state after this event.
    pub at: Option<Seq>,
    /// Only so many at the end.
    pub last: Option<usize>,
    /// Who is looking.
    pub view: View,
    /// The form of a message.
    pub shape: Shape,
    /// Whether what the source's loader would not show is shown.
    pub salvage: Salvage,
}

/// Who is looking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// Everything on the path.
    Whole,
    /// What a model would be given.
    Context,
}

/// The form of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Its line of the log.
    Log,
    /// What the source program would show.
    Source,
}

/// Whether what the source's loader would not show is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Salvage {
    /// It is not.
    Hidden,
    /// It is.
    Shown,
}

/// Runs the command.
///
/// # Errors
/// When the log cannot be read, or has no such head.
pub fn run(job: &ReplayJob, out: &Printer) -> Result<ExitStatus, CommandError> {
    if let Some(count) = job.last
        && job.head.is_none()
        && job.at.is_none()
        && job.shape == Shape::Log
        && let Some(status) = last_only(job, count, out)?
    {
        return Ok(status);
    }
    let (mut view, adapter) = logs::open(&job.log, job.at)?;
    let mut status = ExitStatus::Well;
    if let Some(warning) = logs::seal_warning(view.seal()) {
        out.complain(&format!("{warning}\n  at {}", job.log.display()));
        status = ExitStatus::Found;
    }
    let head = job.head.clone().unwrap_or_else(|| view.active());
    if job.shape == Shape::Source
        && let Some(error) = failure(&view.outcome, job.head.as_ref())
    {
        out.complain(&format!("error: {} fails to load this: {error}\n  at {}", adapter.id(), job.log.display()));
        return Ok(ExitStatus::Found);
    }
    let Some(node) = view.state().head(&head) else {
        let known = view.state().heads().map(|(name, _)| name.to_string()).collect();
        return Err(CommandError::NoSuchHead { head: head.to_string(), known });
    };
    let stream = |source: StreamError| CommandError::Stream { path: job.log.clone(), source };
    let shower = adapter.shower(view.shapes());
    let mut shown = Vec::new();
    for seq in view.path(node).map_err(stream)? {
        let event = view.event(seq).map_err(stream)?;
        if event.kind == EventKind::Message && !is_left_out(job, &event) {
            shown.push(seq);
        }
    }
    let skip = job.last.map_or(0, |last| shown.len().saturating_sub(last));
    let mut line = Vec::new();
    for seq in shown.into_iter().skip(skip) {
        if out.is_closed() {
            break;
        }
        match job.shape {
            Shape::Log => out.line(view.line(seq).map_err(stream)?),
            Shape::Source => {
                line.clear();
                let event = view.event(seq).map_err(stream)?;
                shower(&event, &mut line).map_err(stream)?;
                out.line(&line);
            }
        }
    }
    Ok(status)
}

fn is_left_out(job: &ReplayJob, event: &crate::model::event::EventRef<'_>) -> bool {
    (job.salvage == Salvage::Hidden && is_hidden_from(event, "loader")) || (job.view == View::Context && is_hidden_from(event, "model"))
}

/// Why the source program would not show this head, or its default.
fn failure<'a>(outcome: &'a crate::model::event::Outcome, asked: Option<&HeadName>) -> Option<&'a String> {
    match asked {
        Some(head) if head.kind == HeadKind::Events => outcome.failures.get(&head.to_string()),
        // A lost transcript does not keep its branches from loading.
        Some(head) if *head != HeadName::main() => outcome.error.as_ref().filter(|error| *error != "FileNotFoundError"),
        Some(_) | None => outcome.error.as_ref(),
    }
}

/// The last messages through the last checkpoint, whatever the log's length.
fn last_only(job: &ReplayJob, count: usize, out: &Printer) -> Result<Option<ExitStatus>, CommandError> {
    let stream = |source: StreamError| CommandError::Stream { path: job.log.clone(), source };
    let Some(tail) = LogTail::open(disk::open(&job.log)?).map_err(stream)? else { return Ok(None) };
    let wanted = |line: &[u8]| crate::log::decode_line(line).is_ok_and(|event| !is_left_out(job, &event));
    for line in tail.last_messages(count, wanted).map_err(stream)? {
        out.line(&line);
    }
    out.say("note: read through the last checkpoint; the seal was not checked");
    Ok(Some(ExitStatus::Well))
}
