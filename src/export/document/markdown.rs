//! A conversation as a Markdown document that holds every call and every result
//! in full.

use crate::adapters::exporter::{ExportedSession, Exporter};
use crate::model::export::ability::{Abilities, Ability};
use crate::model::export::transcript::{Answer, Body, CallResult, Clock, Entry, Outcome, Piece, Transcript, text_of};
use crate::model::files::RelPath;

use super::blocks::{closed, code, fenced};
use super::kind::{DOCUMENT, Document};
use super::said::Said;

/// Markdown.
pub(super) struct Markdown;

impl Exporter for Markdown {
    fn abilities(&self) -> Abilities {
        Abilities {
            can: &[
                Ability::SystemMessages,
                Ability::Notes,
                Ability::Thinking,
                Ability::ErrorFlags,
                Ability::Models,
                Ability::Providers,
                Ability::Errors,
                Ability::Compactions,
                Ability::BranchSummaries,
                Ability::Titles,
                Ability::Order,
                Ability::Cwd,
                Ability::Times,
            ],
            needs: &[],
            digits: 9,
        }
    }

    fn write(&self, session: &Transcript) -> ExportedSession {
        let title = session.title.as_deref().map(one_line).filter(|title| !title.is_empty());
        let mut blocks = vec![format!("# {}", title.unwrap_or_else(|| "Conversation".to_owned()))];
        let folder = session.cwd.as_deref().map(|cwd| format!(", in {}", code(&one_line(cwd)))).unwrap_or_default();
        blocks.push(format!("*{} session {}{folder}*", session.source, code(&one_line(&session.id))));
        session.entries.iter().for_each(|entry| push_entry(entry, &mut blocks));
        let mut document = blocks.join("\n\n");
        document.push('\n');
        ExportedSession {
            files: vec![(RelPath::new(DOCUMENT), document.into_bytes())],
            root: RelPath::new(""),
            name: DOCUMENT.to_owned(),
            go_on: String::new(),
        }
    }
}

impl Document for Markdown {
    fn id(&self) -> &'static str {
        "markdown"
    }

    fn describes(&self) -> &'static str {
        "Markdown documents for people to read"
    }

    fn ending(&self) -> &'static str {
        "md"
    }

    /// Nobody reads a conversation out of Markdown: it says what the transcript
    /// says, of which a test finds every word in it.
    fn read(&self, _session: &ExportedSession, written: &Transcript) -> Result<Vec<Said>, String> {
        Ok(written.entries.iter().map(Said::of).collect())
    }
}

fn push_entry(entry: &Entry, blocks: &mut Vec<String>) {
    let time = if entry.clock == Clock::Said { format!(" · {}Z", entry.time.shortest()) } else { String::new() };
    let mut begin = |who: &str| blocks.push(format!("## {}{time}", one_line(who)));
    match &entry.body {
        Body::System(text) => {
            begin("system");
            blocks.push(closed(text));
        }
        Body::User(pieces) => {
            begin("user");
            push_pieces(pieces, blocks);
        }
        Body::Note { kind, pieces } => {
            begin(&format!("system ({kind})"));
            push_pieces(pieces, blocks);
        }
        Body::Answer(answer) => {
            begin(&format!("assistant{}", by(answer)));
            push_pieces(&answer.pieces, blocks);
            blocks.extend(answer.error.as_ref().map(|error| format!("*error:*\n\n{}", fenced("", error))));
        }
        Body::Result(result) => blocks.push(answered(result, &time)),
        Body::Compaction { summary, .. } => {
            begin("summary of what was said before");
            blocks.push(closed(summary));
        }
        Body::BranchSummary(summary) => {
            begin("summary of another branch");
            blocks.push(closed(summary));
        }
        // Its abilities leave these out.
        Body::Model { .. } | Body::Title(_) => {}
    }
}

/// The model of an answer and its provider.
fn by(answer: &Answer) -> String {
    let words: Vec<&str> = [&answer.model, &answer.provider].into_iter().flatten().map(String::as_str).collect();
    if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
}

fn push_pieces(pieces: &[Piece], blocks: &mut Vec<String>) {
    for piece in pieces {
        match piece {
            Piece::Text(text) => blocks.push(closed(text)),
            Piece::Thinking { text, .. } => {
                let quoted: Vec<String> = text.lines().map(|line| format!("> {line}")).collect();
                blocks.push(format!("> *thinking*\n>\n{}", quoted.join("\n")));
            }
            Piece::Call(call) => {
                blocks.push(format!("**{}** {}\n\n{}", one_line(&call.name), code(&call.id), fenced("json", &call.arguments)));
            }
            // Its abilities leave pictures out.
            Piece::Image(_) => {}
        }
    }
}

fn answered(result: &CallResult, time: &str) -> String {
    let verb = if result.outcome == Outcome::Failed { "failed" } else { "answered" };
    format!("*{} {verb}:* {}{time}\n\n{}", one_line(&result.name), code(&result.call_id), fenced("", &text_of(&result.pieces)))
}

/// A text on one line, so that it cannot begin a block of its own.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
