//! The only user of stdout, stderr and the progress bar. stdout is data,
//! stderr is talk.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::model::event::to_log_json;

use super::exit::ExitStatus;
use super::styled::{Styled, escaped_json};
use super::terminal::Colours;
use super::text::count;

/// How many findings are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Listing {
    /// Some of each code, and none that an earlier run has reported.
    Grouped,
    /// Every one.
    All,
}

/// How the line of an error begins.
const ERROR: &str = "error:";

/// How much is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Talk {
    /// Findings, errors, a summary, a progress bar on a terminal.
    Usual,
    /// Errors only.
    Quiet,
}

/// Which form data has on stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Lines for people.
    Text,
    /// One JSON object per line.
    Json,
}

/// What a stream leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// A file or a pipe, which receives data byte for byte.
    Data,
    /// A terminal, which would obey control characters in data.
    Terminal(Colours),
}

/// Whether a progress bar may be drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bar {
    /// Where stderr is a terminal.
    OnTerminal,
    /// Nowhere.
    Hidden,
}

/// Where a printer writes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Streams {
    /// Where data goes.
    pub stdout: Stream,
    /// Where talk goes.
    pub stderr: Stream,
    /// Whether progress is drawn.
    pub bar: Bar,
}

impl Streams {
    /// Two pipes.
    pub const DATA: Streams = Streams { stdout: Stream::Data, stderr: Stream::Data, bar: Bar::Hidden };
}

/// What was said, or would have been said by a run that is not quiet.
#[derive(Debug, Default)]
struct Withheld {
    /// Whether anything at all was printed on stderr.
    has_complained: bool,
    /// Whether a line began with `error:`.
    has_errors: bool,
    /// How many texts were not printed, and the first of them.
    said: u64,
    first: Option<String>,
    /// The last line of the summary.
    summary: Option<String>,
}

/// The single way to stdout and stderr. Text for people is escaped on every
/// stream; data is escaped only where a terminal would obey it.
pub struct Printer {
    form: Form,
    talk: Talk,
    streams: Streams,
    listing: Listing,
    /// What a quiet run did not print, for the one line that says why it failed.
    withheld: Mutex<Withheld>,
    out: Mutex<Box<dyn Write + Send>>,
    closed: AtomicBool,
    /// Why data did not arrive, where somebody waits for it.
    failure: Mutex<Option<io::Error>>,
    progress: Mutex<Option<ProgressBar>>,
}

impl Printer {
    /// Returns a printer to this process's stdout and stderr.
    #[must_use]
    pub fn new(form: Form, talk: Talk, streams: Streams) -> Printer {
        Printer::to(Box::new(io::BufWriter::new(io::stdout())), form, talk).on(streams)
    }

    /// Returns a printer whose data goes elsewhere, as if to a pipe.
    #[must_use]
    pub fn to(out: Box<dyn Write + Send>, form: Form, talk: Talk) -> Printer {
        let (failure, progress) = (Mutex::new(None), Mutex::new(None));
        Printer {
            form,
            talk,
            streams: Streams::DATA,
            listing: Listing::Grouped,
            withheld: Mutex::default(),
            out: Mutex::new(out),
            closed: AtomicBool::new(false),
            failure,
            progress,
        }
    }

    /// Returns the same printer, with data and talk made for these streams.
    #[must_use]
    pub fn on(mut self, streams: Streams) -> Printer {
        self.streams = streams;
        self
    }

    /// Returns the same printer, with so many findings listed.
    #[must_use]
    pub fn with_listing(mut self, listing: Listing) -> Printer {
        self.listing = listing;
        self
    }

    /// Returns how many findings are listed.
    #[must_use]
    pub fn listing(&self) -> Listing {
        self.listing
    }

    /// Returns which form data has.
    #[must_use]
    pub fn form(&self) -> Form {
        self.form
    }

    /// Returns how much is said.
    #[must_use]
    pub fn talk(&self) -> Talk {
        self.talk
    }

    /// Tells whether nothing arrives on stdout any more: the rest need not be made.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// One line of JSON: byte for byte, or on a terminal the same JSON value
    /// without characters that the terminal would obey.
    pub fn line(&self, line: &[u8]) {
        match self.streams.stdout {
            Stream::Data => self.write(line),
            Stream::Terminal(_) => self.write(escaped_json(line).as_bytes()),
        }
    }

    fn write(&self, line: &[u8]) {
        if self.is_closed() {
            return;
        }
        let mut out = self.out.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let written = out.write_all(line).and_then(|()| out.write_all(b"\n"));
        self.note(written);
    }

    /// One object of data.
    pub fn object<T: Serialize>(&self, object: &T) {
        if let Ok(json) = to_log_json(object) {
            self.line(&json);
        }
    }

    /// One line for people, on stdout, where data is for people.
    pub fn text(&self, line: impl Into<Styled>) {
        if self.form == Form::Text {
            self.write(line.into().render(colours(self.streams.stdout)).as_bytes());
        }
    }

    /// A document of our own, such as the manual, on stdout in whatever form.
    pub fn document(&self, text: &str) {
        self.write(Styled::from(text).render(Colours::None).as_bytes());
    }

    /// The closing words for people, on stdout; a quiet run has none.
    pub fn summary(&self, line: impl Into<Styled>) {
        match self.talk {
            Talk::Usual => self.text(line),
            Talk::Quiet => self.withheld().summary = line.into().plain().lines().next().map(str::to_owned),
        }
    }

    /// Talk: what was found, how it went.
    pub fn say(&self, text: impl Into<Styled>) {
        let text = text.into();
        match self.talk {
            Talk::Usual => self.talk_line(text),
            Talk::Quiet => {
                let mut withheld = self.withheld();
                withheld.has_errors |= text.plain().starts_with(ERROR);
                withheld.said += 1;
                withheld.first.get_or_insert_with(|| text.plain());
            }
        }
    }

    /// Talk that even a quiet run does not keep back.
    pub fn complain(&self, text: impl Into<Styled>) {
        self.talk_line(text);
    }

    fn withheld(&self) -> MutexGuard<'_, Withheld> {
        self.withheld.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Settles what a run exits with, and says why on stderr where a quiet run
    /// would fail without a word. What was called an error is never a success.
    pub fn settle(&self, status: ExitStatus) -> ExitStatus {
        let status = if self.withheld().has_errors { status.max(ExitStatus::Found) } else { status };
        let withheld = std::mem::take(&mut *self.withheld());
        if status == ExitStatus::Well || self.talk == Talk::Usual || withheld.has_complained {
            return status;
        }
        let first = withheld.first.map(|first| first.lines().map(str::trim).collect::<Vec<_>>().join(" "));
        let why = match (first, withheld.said, withheld.summary) {
            (Some(first), 1, _) => first,
            (Some(first), said, _) => format!("{} were not printed; the first is: {first}", count(said, "finding")),
            (None, _, Some(summary)) => summary,
            (None, _, None) => "something differs, failed or was found; run it without `--quiet`".to_owned(),
        };
        self.talk_line(&format!("exit {}: {why}", status as u8));
        status
    }

    fn talk_line(&self, text: impl Into<Styled>) {
        let text = text.into();
        {
            let mut withheld = self.withheld();
            withheld.has_complained = true;
            withheld.has_errors |= text.plain().starts_with(ERROR);
        }
        let text = text.render(colours(self.streams.stderr));
        // Data that came first is seen first.
        self.flush();
        let print = || {
            let mut err = io::stderr().lock();
            // There is nowhere to complain that complaining failed.
            let _ = err.write_all(text.as_bytes()).and_then(|()| err.write_all(b"\n"));
        };
        match self.progress.lock().unwrap_or_else(std::sync::PoisonError::into_inner).as_ref() {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Hands on what has been printed so far.
    pub fn flush(&self) {
        let flushed = self.out.lock().unwrap_or_else(std::sync::PoisonError::into_inner).flush();
        self.note(flushed);
    }

    /// Hands on the rest, and says whether all data arrived.
    ///
    /// # Errors
    /// When some did not: a full disk, say.
    pub fn finish(&self) -> io::Result<()> {
        self.flush();
        self.failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take().map_or(Ok(()), Err)
    }

    fn note(&self, done: io::Result<()>) {
        let Err(error) = done else { return };
        self.closed.store(true, Ordering::Relaxed);
        // A reader that went away (`| head`) has what it wanted.
        if error.kind() != io::ErrorKind::BrokenPipe {
            self.failure.lock().unwrap_or_else(std::sync::PoisonError::into_inner).get_or_insert(error);
        }
    }

    /// Returns a progress bar over so many bytes, on a terminal only.
    #[must_use]
    pub fn progress(&self, bytes: u64, sessions: u64) -> Progress<'_> {
        if self.talk == Talk::Usual && self.streams.bar == Bar::OnTerminal && self.streams.stderr != Stream::Data {
            let bar = ProgressBar::with_draw_target(Some(bytes), ProgressDrawTarget::stderr());
            let template = "{bar:30} {bytes}/{total_bytes}  {msg}  {bytes_per_sec}  {eta} left";
            bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
            *self.progress.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(bar);
        }
        Progress { printer: self, done: Mutex::new(0), sessions }
    }
}

fn colours(stream: Stream) -> Colours {
    match stream {
        Stream::Data => Colours::None,
        Stream::Terminal(colours) => colours,
    }
}

/// Lets the message of a panic pass through the same escapes: it may quote a
/// piece of a session.
pub fn escape_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let text = Styled::from(&panic.to_string()).render(Colours::None);
        // There is nowhere to complain that complaining failed.
        let _ = io::stderr().lock().write_all(format!("{text}\n").as_bytes());
    }));
}

impl Drop for Printer {
    fn drop(&mut self) {
        self.flush();
    }
}

/// A progress bar while it is shown.
pub struct Progress<'p> {
    printer: &'p Printer,
    done: Mutex<u64>,
    sessions: u64,
}

impl Progress<'_> {
    /// A session of so many bytes is done.
    pub fn session_done(&self, bytes: u64) {
        let mut done = self.done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *done += 1;
        if let Some(bar) = self.printer.progress.lock().unwrap_or_else(std::sync::PoisonError::into_inner).as_ref() {
            bar.inc(bytes);
            bar.set_message(format!("{}/{} sessions", *done, self.sessions));
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        if let Some(bar) = self.printer.progress.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take() {
            bar.finish_and_clear();
        }
    }
}
