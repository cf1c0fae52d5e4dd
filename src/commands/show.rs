//! `everlog show`: a conversation for a person to read.

mod conversation;
mod marks;
mod options;
mod redacting;
mod terminal;
mod transcript;

use std::path::PathBuf;

use crate::log::Salvage;
use crate::model::heads::HeadName;
use crate::model::ids::Seq;
use crate::model::stream::StreamError;
use crate::redact::Redactor;
use crate::report::exit::ExitStatus;
use crate::report::printer::Printer;
use crate::report::terminal::Terminal;
use crate::verify::difference::visible;

use super::clock::Clock;
use super::error::CommandError;
use super::replay::{self, Branches, ReplayJob, Shape, View};
use super::{logs, nodes, redactions};

use conversation::{Part, Writer};
pub use options::{Thinking, Tools};
use redacting::RedactingWriter;
use terminal::TerminalWriter;
use transcript::MarkdownWriter;

/// What to show, and how.
#[derive(Debug)]
pub struct ShowJob {
    /// The log.
    pub log: PathBuf,
    /// The head; the one that is shown by default if none is named.
    pub head: Option<HeadName>,
    /// The path to this node instead of a head's.
    pub leaf: Option<String>,
    /// The state after this event.
    pub at: Option<Seq>,
    /// Only so many messages at the end.
    pub last: Option<usize>,
    /// Which branches.
    pub branches: Branches,
    /// How much of calls of tools.
    pub tools: Tools,
    /// Whether what a model thought is shown.
    pub thinking: Thinking,
    /// In which zone times are shown.
    pub clock: Clock,
    /// In which form.
    pub form: ShownAs,
    /// What takes secrets out; nothing where they stay.
    pub redactor: Option<Redactor>,
    /// What the text is made for.
    pub terminal: Terminal,
}

/// In which form a conversation is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ShownAs {
    /// As text for a terminal.
    Text,
    /// As a Markdown document.
    Markdown,
    /// As flat messages, one JSON object per line.
    Messages,
}

/// Runs the command.
///
/// # Errors
/// When the log cannot be read, or has no such head or node.
pub fn run(job: &ShowJob, out: &Printer) -> Result<ExitStatus, CommandError> {
    if job.form == ShownAs::Messages {
        return replay::run(&replay_job(job), out);
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
    let node = nodes::wanted(&mut view, &job.log, job.head.as_ref(), job.leaf.as_deref())?;
    let mut plain: Box<dyn Writer + '_> = match job.form {
        ShownAs::Markdown => Box::new(MarkdownWriter::new(out, &job.clock, job.tools, job.thinking)),
        ShownAs::Text | ShownAs::Messages => Box::new(TerminalWriter::new(out, job.terminal.columns, &job.clock, job.tools, job.thinking)),
    };
    let part = Part { node, last: job.last, branches: job.branches };
    let stream = |source: StreamError| CommandError::Stream { path: job.log.clone(), source };
    match &job.redactor {
        None => conversation::write(&mut view, adapter, part, plain.as_mut()).map_err(stream)?,
        Some(redactor) => {
            let mut writer = RedactingWriter::new(plain, redactor.fresh());
            conversation::write(&mut view, adapter, part, &mut writer).map_err(stream)?;
            redactions::say(&job.log.display().to_string(), writer.redactions(), out);
        }
    }
    Ok(status)
}

/// The messages that are shown, as `everlog replay --json` prints them.
fn replay_job(job: &ShowJob) -> ReplayJob {
    ReplayJob {
        log: job.log.clone(),
        head: job.head.clone(),
        leaf: job.leaf.clone(),
        at: job.at,
        last: job.last,
        branches: job.branches,
        view: View::Whole,
        shape: Shape::Flat,
        salvage: Salvage::Hidden,
        redactor: job.redactor.as_ref().map(Redactor::fresh),
    }
}
