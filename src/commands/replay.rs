//! `everlog replay`: the messages of a head, or of the path to a node.

use std::collections::{HashSet, VecDeque};
use std::path::PathBuf;

use crate::adapters::format::Format;
use crate::api::{Message, MessageKind, Session};
pub use crate::log::Salvage;
use crate::log::{LogTail, Projection, Reach, edited_payload};
use crate::model::event::{EventKind, EventRef, Outcome};
use crate::model::heads::{HeadKind, HeadName};
use crate::model::ids::Seq;
use crate::model::stream::StreamError;
use crate::redact::Redactor;
use crate::report::exit::ExitStatus;
use crate::report::printer::Printer;
use crate::store::disk;
use crate::verify::difference::visible;

use super::error::CommandError;
use super::{logs, nodes, redactions};

/// Which messages, and in which form.
#[derive(Debug)]
pub struct ReplayJob {
    /// The log.
    pub log: PathBuf,
    /// The head; the one that is shown by default if none is named.
    pub head: Option<HeadName>,
    /// The path to this node instead of a head's: the source's own id, or `#`
    /// and a sequence number.
    pub leaf: Option<String>,
    /// The state after this event.
    pub at: Option<Seq>,
    /// Only so many at the end.
    pub last: Option<usize>,
    /// Which branches.
    pub branches: Branches,
    /// Who is looking.
    pub view: View,
    /// The form of a message.
    pub shape: Shape,
    /// Whether what the source's loader would not show is shown too.
    pub salvage: Salvage,
    /// What takes secrets out of flat messages; nothing where they stay.
    pub redactor: Option<Redactor>,
}

/// Which branches are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Branches {
    /// One.
    One,
    /// That one, then what each of the others has besides.
    All,
}

/// Who is looking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// Everything on the path, compacted or not.
    Whole,
    /// What a model would be given.
    Context,
}

/// The form of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shape {
    /// Its line of the log.
    Log,
    /// One flat object with the same members for every program.
    Flat,
    /// What the source program would show.
    Source,
}

/// Runs the command.
///
/// # Errors
/// When the log cannot be read, or has no such head or node.
pub fn run(job: &ReplayJob, out: &Printer) -> Result<ExitStatus, CommandError> {
    if let Some(count) = job.last
        && let Some(status) = last_only(job, count, out)?
    {
        return Ok(status);
    }
    let (mut view, adapter) = logs::open(&job.log, job.at)?;
    if let Some(at) = job.at.filter(|at| at.is_root() || *at > view.last()) {
        return Err(CommandError::NoSuchState { at, last: view.last() });
    }
    let mut status = ExitStatus::Well;
    if let Some(warning) = logs::seal_warning(view.seal()) {
        out.complain(&format!("{warning}\n  at {}", visible(&job.log.display().to_string())));
        status = ExitStatus::Found;
    }
    if job.shape == Shape::Source
        && let Some(error) = failure(&view.outcome, job.head.as_ref(), adapter)
    {
        let (error, log) = (visible(error), visible(&job.log.display().to_string()));
        out.complain(&format!("error: {} fails to load this: {error}\n  at {log}", adapter.id()));
        return Ok(ExitStatus::Found);
    }
    let stream = |source: StreamError| CommandError::Stream { path: job.log.clone(), source };
    let node = nodes::wanted(&mut view, &job.log, job.head.as_ref(), job.leaf.as_deref())?;
    let reach = if job.shape != Shape::Source && job.view == View::Whole { Reach::Path } else { Reach::Shown };
    let mut ends = vec![node];
    if job.branches == Branches::All {
        ends.extend(nodes::other_branches(&view, node).into_iter().map(|(_, end)| end));
    }
    let message_renderer = adapter.message_renderer(view.shapes());
    let mut lines = Lines { out, last: job.last, held: VecDeque::new() };
    let (mut session, mut index) = (Session::of(&view.session, &view.outcome), 0);
    let mut redactor = job.redactor.as_ref().map(Redactor::fresh);
    if let Some(redactor) = &mut redactor {
        session = redactor.session(session);
    }
    let mut seen = HashSet::new();
    for end in ends {
        let mut projection = Projection::of(&mut view, end, reach, job.salvage).map_err(stream)?;
        while let Some(shown) = projection.next_shown(&mut view).map_err(stream)? {
            if out.is_closed() {
                break;
            }
            let is_known = job.branches == Branches::All && !seen.insert(shown.event.seq);
            if is_known || is_left_out(job, &shown.event) {
                continue;
            }
            match (job.shape, shown.edit) {
                (Shape::Source, _) => message_renderer(&shown, &mut |line| lines.push(line)).map_err(stream)?,
                (Shape::Flat, _) => {
                    let Some(message) = Message::of(&shown, index).map_err(stream)? else { continue };
                    index += 1;
                    let seq = shown.event.seq;
                    let message = match &mut redactor {
                        Some(redactor) => redactor.message(message),
                        None => Some(message),
                    };
                    let Some(message) = message else { continue };
                    let line = message.flat(&session).to_json().map_err(|error| stream(StreamError::log(seq, error.to_string())))?;
                    lines.push(line.as_bytes());
                }
                (Shape::Log, _) if !is_printed(shown.event.kind) => {}
                (Shape::Log, Some(edit)) => lines.push(&edited_line(&shown.event, &edit)),
                (Shape::Log, None) => {
                    let seq = shown.event.seq;
                    lines.push(view.line(seq).map_err(stream)?);
                }
            }
        }
    }
    lines.finish();
    if let Some(redactor) = &redactor {
        redactions::say(&job.log.display().to_string(), redactor.redactions(), out);
    }
    Ok(status)
}

/// Which nodes a person is shown as lines of the log.
fn is_printed(kind: EventKind) -> bool {
    MessageKind::of(kind).is_some()
}

fn is_left_out(job: &ReplayJob, event: &EventRef<'_>) -> bool {
    job.view == View::Context && event.is_hidden_from("model")
}

/// Returns a line of the log with what an edit puts into its payload.
fn edited_line(event: &EventRef<'_>, edit: &EventRef<'_>) -> Vec<u8> {
    let mut line = format!("{{\"seq\":{}", event.seq).into_bytes();
    if let Some(ts) = event.ts {
        line.extend_from_slice(format!(",\"ts\":\"{ts}\"").as_bytes());
    }
    line.extend_from_slice(format!(",\"type\":\"{}\"", event.kind.name()).as_bytes());
    if let Some(parent) = event.parent {
        line.extend_from_slice(format!(",\"parent\":{parent}").as_bytes());
    }
    line.extend_from_slice(b",\"payload\":");
    line.extend_from_slice(&edited_payload(event, edit));
    line.push(b'}');
    line
}

/// Lines on their way out: all of them, or the last so many.
struct Lines<'o> {
    out: &'o Printer,
    last: Option<usize>,
    held: VecDeque<Vec<u8>>,
}

impl Lines<'_> {
    fn push(&mut self, line: &[u8]) {
        let Some(last) = self.last else { return self.out.line(line) };
        self.held.push_back(line.to_vec());
        if self.held.len() > last {
            self.held.pop_front();
        }
    }

    fn finish(self) {
        self.held.iter().take_while(|_| !self.out.is_closed()).for_each(|line| self.out.line(line));
    }
}

/// Says why the source program would not show this head, or its default.
fn failure<'a>(outcome: &'a Outcome, asked: Option<&HeadName>, adapter: &dyn Format) -> Option<&'a String> {
    match asked {
        // An event log fails alone, and no program loads a backup by itself.
        Some(head) if matches!(head.kind, HeadKind::Events | HeadKind::Backup) => outcome.failures.get(&head.to_string()),
        Some(head) if *head != HeadName::main() => {
            // A lost transcript does not keep its branches from loading, nor
            // does an active branch that fails alone.
            let is_alone = outcome.failures.contains_key(&HeadName::main().to_string());
            let of_all = outcome.error.as_ref().filter(|error| !adapter.spares_branches(error) && !is_alone);
            outcome.failures.get(&head.to_string()).or(of_all)
        }
        Some(_) | None => outcome.error.as_ref(),
    }
}

/// Prints the last messages through the last checkpoint, whatever the log's length;
/// `None` where that does not say what is shown.
fn last_only(job: &ReplayJob, count: usize, out: &Printer) -> Result<Option<ExitStatus>, CommandError> {
    let is_default = job.head.is_none() && job.leaf.is_none() && job.at.is_none();
    if !is_default || job.shape != Shape::Log || job.salvage == Salvage::Shown {
        return Ok(None);
    }
    let stream = |source: StreamError| CommandError::Stream { path: job.log.clone(), source };
    let Some(tail) = LogTail::open(disk::open(&job.log)?).map_err(stream)? else { return Ok(None) };
    if tail.projects() {
        return Ok(None);
    }
    let wanted = |event: &EventRef<'_>| is_printed(event.kind) && !event.is_hidden_from("loader") && !is_left_out(job, event);
    for line in tail.last_nodes(count, wanted).map_err(stream)? {
        out.line(&line);
    }
    out.say("note: read through the last checkpoint; the seal was not checked");
    Ok(Some(ExitStatus::Well))
}
