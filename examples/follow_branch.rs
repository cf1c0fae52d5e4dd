//! Lists the branches of a log, or follows one of them from where it leaves the
//! branch that the session's program shows.
//!
//! ```text
//! cargo run --example follow_branch -- examples/logs/two-branches.jsonl.everlog.jsonl
//! cargo run --example follow_branch -- examples/logs/two-branches.jsonl.everlog.jsonl x1
//! ```

use std::collections::BTreeSet;
use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use everlog::{Log, Seq};

const USAGE: &str = "usage: follow_branch LOG [HEAD]";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Err(error) = run(&words, &mut std::io::stdout().lock()) else { return ExitCode::SUCCESS };
    let _ = writeln!(std::io::stderr(), "error: {error}");
    let hint = error.downcast_ref::<everlog::Error>().and_then(everlog::Error::hint);
    let _ = hint.map(|hint| writeln!(std::io::stderr(), "hint: {hint}"));
    ExitCode::from(2)
}

/// Lists the heads of a log, or prints the messages that only one of them has.
///
/// # Errors
/// When the words are wrong, the log cannot be read, or it has no such head.
pub fn run(words: &[String], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let (path, name) = match words {
        [path] => (path, None),
        [path, name] => (path, Some(name)),
        _ => return Err(USAGE.into()),
    };
    let log = Log::open(path)?;
    let Some(name) = name else {
        for head in log.heads() {
            let mark = if head.is_active() { "*" } else { " " };
            writeln!(out, "{mark} {head}: {} messages", log.messages(&head)?.count())?;
        }
        return Ok(());
    };
    let head = log.head(name)?;
    // Branches share their beginnings, and a message is the same one wherever it
    // is shown: its number says so.
    let active: BTreeSet<Seq> = log.messages(&log.active())?.map(|message| Ok(message?.seq)).collect::<Result<_, everlog::Error>>()?;
    let mut shared = 0;
    for message in log.messages(&head)? {
        let message = message?;
        if active.contains(&message.seq) {
            shared += 1;
            continue;
        }
        writeln!(out, "#{} {}: {}", message.seq, message.role, message.text())?;
    }
    writeln!(out, "{head} shares {shared} messages with {}", log.active())?;
    Ok(())
}
