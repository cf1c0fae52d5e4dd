//! `everlog turns`: what each turn of a session came to.

use std::path::Path;

use crate::log::turns::{SettledBy, Turn, turns};
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::verify::difference::visible;

use super::error::CommandError;
use super::logs;

/// So much of a prompt is shown to people.
const LONGEST_PROMPT: usize = 60;

/// Runs the command.
///
/// # Errors
/// When the log cannot be read.
pub fn run(log: &Path, out: &Printer) -> Result<ExitStatus, CommandError> {
    let (mut view, adapter) = logs::open(log, None)?;
    let mut status = ExitStatus::Well;
    if let Some(warning) = logs::seal_warning(view.seal()) {
        out.complain(&format!("{warning}\n  at {}", log.display()));
        status = ExitStatus::Found;
    }
    let stream = |source| CommandError::Stream { path: log.to_owned(), source };
    let found = adapter.turn_terms().map_or(Ok(Vec::new()), |terms| turns(&mut view, &terms)).map_err(stream)?;
    for turn in &found {
        match out.form() {
            Form::Json => out.object(turn),
            Form::Text => out.text(&shown(turn)),
        }
    }
    let open = found.iter().filter(|turn| turn.settled == SettledBy::Open).count() as u64;
    out.say(&format!("{}, {open} not settled", text::count(found.len() as u64, "turn")));
    Ok(status)
}

/// Returns a turn in two to four lines.
fn shown(turn: &Turn) -> String {
    let by = match turn.settled {
        SettledBy::Journal => "by its journal",
        SettledBy::Run => "by its run",
        SettledBy::Session => "by the session",
        SettledBy::Open => "not settled",
    };
    let end = turn.end.as_deref().filter(|end| *end != turn.state).map(|end| format!(" -> {end}")).unwrap_or_default();
    let reason = turn.reason.as_ref().map(|reason| format!(" ({reason})")).unwrap_or_default();
    let id = turn.turn.as_deref().unwrap_or("(no id)");
    let mut lines = visible(&format!("{id}  {}{end}{reason}, {by}", turn.state));
    let mut add = |line: String| lines.push_str(&format!("\n  {}", visible(&line)));
    if let Some(prompt) = &turn.prompt {
        let cut: String = prompt.chars().take(LONGEST_PROMPT).collect();
        let more = if cut.len() < prompt.len() { "…" } else { "" };
        add(format!("asked: {cut}{more}"));
    }
    let times: Vec<String> = turn.times.iter().map(|(state, ts)| format!("{state} {}", ts.as_deref().unwrap_or("?"))).collect();
    add(times.join(", "));
    if let Some(run) = &turn.run {
        let tools = if run.tools.is_empty() { String::new() } else { format!(", tools {}", run.tools.join(" ")) };
        let end = run.end.as_deref().unwrap_or("just stops");
        add(format!("run: {}, {end}, {} of text{tools}", text::count(run.events, "event"), text::size(run.text.len() as u64)));
    }
    if !turn.missing.is_empty() {
        add(format!("missing: {}", turn.missing.join(", ")));
    }
    lines
}
