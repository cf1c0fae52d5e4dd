//! `everlog formats`: what this build converts.

use serde::Serialize;

use crate::adapters::ALL;
use crate::export::document;
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};

#[derive(Debug, Serialize)]
struct FormatLine {
    format: &'static str,
    describes: &'static str,
    /// Whether sessions can be exported to it.
    exports: bool,
}

/// A kind of document that sessions can be exported as.
#[derive(Debug, Serialize)]
struct DocumentLine {
    document: &'static str,
    describes: &'static str,
}

/// Runs the command.
#[must_use]
pub fn run(out: &Printer) -> ExitStatus {
    for adapter in ALL {
        match out.form() {
            Form::Json => {
                out.object(&FormatLine { format: adapter.id(), describes: adapter.describe(), exports: adapter.exporter().is_some() })
            }
            Form::Text => out.text(&format!("{:10} {}", adapter.id(), adapter.describe())),
        }
    }
    // People see them in the help of `everlog export`.
    if out.form() == Form::Json {
        document::ALL.iter().for_each(|one| out.object(&DocumentLine { document: one.id(), describes: one.describes() }));
    }
    ExitStatus::Well
}
