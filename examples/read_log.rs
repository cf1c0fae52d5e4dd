//! Prints what was said in a log, and what it took.
//!
//! ```text
//! cargo run --example read_log -- examples/logs/two-branches.jsonl.everlog.jsonl
//! ```

use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use everlog::{Log, MessageKind};

const USAGE: &str = "usage: read_log LOG";

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let Err(error) = run(&words, &mut std::io::stdout().lock()) else { return ExitCode::SUCCESS };
    let _ = writeln!(std::io::stderr(), "error: {error}");
    ExitCode::from(2)
}

/// Prints the messages of a log's active head.
///
/// # Errors
/// When the words are wrong, or the log cannot be read.
pub fn run(words: &[String], out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let [path] = words else { return Err(USAGE.into()) };
    let log = Log::open(path)?;
    let session = log.session();
    writeln!(out, "session {} of {}", session.id, session.format)?;
    if !log.is_intact() {
        writeln!(out, "this log is not as it was sealed")?;
    }
    let (mut tokens, mut cost) = (0, None);
    for message in log.messages(&log.active())? {
        let message = message?;
        let who = match message.kind {
            MessageKind::Message => message.role.name(),
            MessageKind::Compaction => "compaction",
            MessageKind::BranchSummary => "branch summary",
        };
        writeln!(out, "\n{who}, {}", message.ts.as_deref().unwrap_or("at an unknown time"))?;
        for line in message.text().lines() {
            writeln!(out, "  {line}")?;
        }
        for call in message.tool_calls() {
            let arguments = call.arguments.as_ref().and_then(everlog::Arguments::json).map(|json| json.to_string());
            writeln!(out, "  -> {} {}", call.name.as_deref().unwrap_or("a tool"), arguments.unwrap_or_default())?;
        }
        for result in message.tool_results() {
            writeln!(out, "  <- {}", result.text().lines().next().unwrap_or_default())?;
        }
        if let Some(usage) = message.usage {
            tokens += usage.output.unwrap_or_default();
            // A cost that no message has stays unknown.
            cost = usage.cost.map_or(cost, |more| Some(cost.unwrap_or(0.0) + more));
        }
    }
    let cost = cost.map_or_else(|| "an unknown cost".to_owned(), |cost| format!("a cost of {cost}"));
    writeln!(out, "\n{tokens} tokens written, at {cost}")?;
    Ok(())
}
