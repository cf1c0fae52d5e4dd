//! A pager between a command and the terminal.

use std::io;
use std::process::{Child, ChildStdin, Command, Stdio};

/// The pager of someone who names none: it shows colours, leaves a text that
/// fits on the screen there, and ends at once with it.
pub const USUAL: &str = "less";

/// What `less` is told where its user tells it nothing: `F` ends it where the
/// text fits on one screen, `R` lets colours pass and nothing else, `X` keeps
/// the text on the screen.
const LESS: &str = "FRX";

/// A pager that runs.
#[derive(Debug)]
pub struct Pager {
    child: Child,
}

/// What a pager needs to know of the environment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LessOptions {
    /// The user has set `LESS`.
    Set,
    /// Nobody has set it.
    Unset,
}

impl Pager {
    /// Starts a pager; what is written to the second value is shown by it.
    ///
    /// # Errors
    /// When there is no shell to start it with.
    pub fn start(command: &str, less: LessOptions) -> io::Result<(Pager, ChildStdin)> {
        let mut shell = Command::new("sh");
        shell.args(["-c", command]).stdin(Stdio::piped());
        if less == LessOptions::Unset {
            shell.env("LESS", LESS);
        }
        let mut child = shell.spawn()?;
        match child.stdin.take() {
            Some(input) => Ok((Pager { child }, input)),
            None => Err(io::Error::other("the pager has no input")),
        }
    }

    /// Waits until its user has left it.
    ///
    /// # Errors
    /// When it cannot be waited for.
    pub fn wait(mut self) -> io::Result<()> {
        self.child.wait().map(|_| ())
    }
}
