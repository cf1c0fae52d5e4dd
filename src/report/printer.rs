//! The only user of stdout, stderr and the progress bar. stdout is data,
//! stderr is talk.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;
use std::io::{self, IsTerminal, Write};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::model::event::to_log_json;

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

/// Writes to the terminal.
pub struct Printer {
    form: Form,
    talk: Talk,
    out: Mutex<Box<dyn Write + Send>>,
    closed: AtomicBool,
    /// Why data did not arrive, where somebody waits for it.
    failure: Mutex<Option<io::Error>>,
    progress: Mutex<Option<ProgressBar>>,
}

impl Printer {
    /// A printer to this process's stdout and stderr.
    #[must_use]
    pub fn new(form: Form, talk: Talk) -> Printer {
        Printer::to(Box::new(io::BufWriter::new(io::stdout())), form, talk)
    }

    /// A printer whose data goes elsewhere.
    #[must_use]
    pub fn to(out: Box<dyn Write + Send>, form: Form, talk: Talk) -> Printer {
        let (failure, progress) = (Mutex::new(None), Mutex::new(None));
        Printer { form, talk, out: Mutex::new(out), closed: AtomicBool::new(false), failure, progress }
    }

    /// Which form data has.
    #[must_use]
    pub fn form(&self) -> Form {
        self.form
    }

    /// How much is said.
    #[must_use]
    pub fn talk(&self) -> Talk {
        self.talk
    }

    /// Whether nothing arrives on stdout any more: the rest need not be made.
    #[must_use]
    pub fn is_closed(&self) -> bool {
        self.closed.load(Ordering::Relaxed)
    }

    /// One line of data, as it is.
    pub fn line(&self, line: &[u8]) {
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
    pub fn text(&self, line: &str) {
        if self.form == Form::Text {
            self.line(line.as_bytes());
        }
    }

    /// The closing words for people, on stdout; a quiet run has none.
    pub fn summary(&self, line: &str) {
        if self.talk == Talk::Usual {
            self.text(line);
        }
    }

    /// Talk: what was found, how it went.
    pub fn say(&self, text: &str) {
        if self.talk == Talk::Usual {
            self.talk_line(text);
        }
    }

    /// Talk that even a quiet run does not keep back.
    pub fn complain(&self, text: &str) {
        self.talk_line(text);
    }

    fn talk_line(&self, text: &str) {
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

    /// A progress bar over so many bytes, on a terminal only.
    #[must_use]
    pub fn progress(&self, bytes: u64, sessions: u64) -> Progress<'_> {
        if self.talk == Talk::Usual && io::stderr().is_terminal() {
            let bar = ProgressBar::with_draw_target(Some(bytes), ProgressDrawTarget::stderr());
            let template = "{bar:30} {bytes}/{total_bytes}  {msg}  {bytes_per_sec}  {eta} left";
            bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
            *self.progress.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(bar);
        }
        Progress { printer: self, done: Mutex::new(0), sessions }
    }
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
