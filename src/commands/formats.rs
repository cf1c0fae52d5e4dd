//! `everlog formats`: what this build converts.

use serde::Serialize;

use crate::adapters::ALL;
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};

#[derive(Debug, Serialize)]
struct FormatLine {
    format: &'static str,
    describes: &'static str,
}

/// Runs the command.
#[must_use]
pub fn run(out: &Printer) -> ExitStatus {
    for adapter in ALL {
        match out.form() {
            Form::Json => out.object(&FormatLine { format: adapter.id(), describes: adapter.describe() }),
            Form::Text => out.text(&format!("{:10} {}", adapter.id(), adapter.describe())),
        }
    }
    ExitStatus::Well
}
