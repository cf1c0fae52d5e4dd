//! Converts a folder of sessions into logs, and says what became of each.
//!
//! ```text
//! cargo run --example convert_folder -- examples/sessions /tmp/logs
//! ```

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use everlog::{ConvertOptions, Severity, Source, convert};

const USAGE: &str = "usage: convert_folder SOURCE DEST";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Err(error) = run(&words, &mut std::io::stdout().lock()) else { return ExitCode::SUCCESS };
    let _ = writeln!(std::io::stderr(), "error: {error}");
    let hint = error.downcast_ref::<everlog::Error>().and_then(everlog::Error::hint);
    let _ = hint.map(|hint| writeln!(std::io::stderr(), "hint: {hint}"));
    ExitCode::from(2)
}

/// Converts the sessions of a folder.
///
/// # Errors
/// When the words are wrong, nothing could be done, or a session has no log.
pub fn run(words: &[String], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let [from, dest] = words else { return Err(USAGE.into()) };
    let source = Source::open(from)?;
    for (folder, formats) in source.undecided() {
        writeln!(out, "{folder}: could be {}; not converted", formats.join(" or "))?;
    }
    if source.sessions().next().is_none() {
        return Err(format!("{from} has no session that everlog knows").into());
    }
    let mut shown = 0;
    let done = convert(source, dest, &ConvertOptions::new(), |progress| {
        // Often enough to see that it goes on; a closure may print, too.
        shown = progress.bytes * 100 / progress.all_bytes.max(1);
    })?;
    writeln!(out, "{shown} % done")?;
    for session in &done.sessions {
        match &session.error {
            Some(error) => writeln!(out, "{}: {error}", session.name)?,
            None => writeln!(out, "{}: {:?}, {} messages", session.name, session.status, session.messages)?,
        }
        for finding in session.findings.iter().filter(|finding| finding.severity >= Severity::Warn) {
            writeln!(out, "  {}: {}", finding.location, finding.message)?;
        }
    }
    if done.is_complete() { Ok(()) } else { Err("not every session has a log".into()) }
}
