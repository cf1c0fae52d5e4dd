//! A conversation as a terminal shows it.

use std::collections::HashMap;

use crate::api::{CallFacts, Json, Message, MessageKind, OtherFacts, Part, Role, StopReason, ToolCall, ToolResult};
use crate::commands::calls::{self, DiffLine};
use crate::commands::clock::Clock;
use crate::report::fitted::{columns, fitted};
use crate::report::markdown::rendered;
use crate::report::printer::Printer;
use crate::report::styled::Styled;
use crate::report::terminal::Tint;
use crate::report::text;
use crate::report::wrap::{Breaks, wrapped};
use crate::verify::difference::visible;

use super::conversation::{Files, Writer};
use super::marks::Mark;
use super::options::{Thinking, Tools};

/// Longer lines are hard to read, however wide the terminal is.
const WIDEST: usize = 100;

/// What a message says stands so many columns to the right of who says it.
const INDENT: &str = "  ";

/// So many lines of a diff are shown, unless all of every call is.
const DIFF_LINES: usize = 20;

/// Writes for a terminal, or for a pipe without its colours.
pub(super) struct TerminalWriter<'a> {
    out: &'a Printer,
    /// How wide lines are.
    width: usize,
    clock: &'a Clock,
    tools: Tools,
    thinking: Thinking,
    /// The names of the tools that were called, by the ids of the calls.
    called: HashMap<String, String>,
    /// What the last lines were: some lines belong together.
    last: Last,
}

/// What was written last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Last {
    /// A message, or the title.
    Message,
    /// A call of a tool, or an answer: the next answer belongs to it.
    Call,
    /// A mark: the next one belongs to it.
    Mark,
}

impl<'a> TerminalWriter<'a> {
    pub(super) fn new(out: &'a Printer, columns: usize, clock: &'a Clock, tools: Tools, thinking: Thinking) -> TerminalWriter<'a> {
        let width = columns.clamp(20, WIDEST);
        TerminalWriter { out, width, clock, tools, thinking, called: HashMap::new(), last: Last::Message }
    }

    /// The columns that what is said may have.
    fn room(&self) -> usize {
        self.width - INDENT.len()
    }

    fn put(&self, lines: Vec<Styled>) {
        for line in lines {
            let mut whole = if line.is_empty() { Styled::new() } else { Styled::from(INDENT) };
            whole.append(line);
            self.out.text(whole);
        }
    }

    fn put_wrapped(&self, tint: Tint, words: &str) {
        self.put(wrapped(&Styled::of(tint, words), self.room(), Breaks::Words));
    }

    fn head(&self, message: &Message) {
        let (tint, word) = match (message.kind, message.role) {
            (MessageKind::Compaction, _) => (Tint::Mark, "compaction"),
            (MessageKind::BranchSummary, _) => (Tint::Mark, "branch summary"),
            (MessageKind::Message, Role::User) => (Tint::Person, "user"),
            (MessageKind::Message, Role::Assistant) => (Tint::Model, "assistant"),
            (MessageKind::Message, Role::Tool) => (Tint::Program, "tool"),
            (MessageKind::Message, Role::System) => (Tint::Program, "system"),
        };
        let mut line = Styled::of(tint, word);
        let source_role = message.source_role.as_ref().map(|role| format!("({role})"));
        let time = message.ts.as_deref().map(|ts| self.clock.shown(ts));
        let model = message.model.clone().filter(|_| message.role == Role::Assistant);
        let hidden = (!message.hidden_from.is_empty()).then(|| format!("(hidden from {})", message.hidden_from.join(", ")));
        let words = [source_role, message.name.clone(), time, Some(format!("#{}", message.seq)), model, hidden];
        for word in words.into_iter().flatten() {
            line.push(Tint::Guide, &format!("  {}", visible(&word)));
        }
        wrapped(&line, self.width, Breaks::Words).into_iter().for_each(|line| self.out.text(line));
        if message.kind == MessageKind::Compaction {
            self.put_wrapped(Tint::Mark, &calls::compacted(&message.raw));
        }
    }

    fn part(&mut self, part: &Part, files: &Files) {
        match part {
            Part::Text(text) if text.as_str().trim().is_empty() => {}
            Part::Text(text) => self.put(rendered(text.as_str(), self.room())),
            Part::Thinking(thinking) => self.thought(thinking.text.as_str()),
            Part::Image(media) => self.put_wrapped(Tint::Mark, &calls::media("image", media, files.size(media.path.as_deref()))),
            Part::File(media) => self.put_wrapped(Tint::Mark, &calls::media("file", media, files.size(media.path.as_deref()))),
            Part::ToolCall(call) => self.call(call),
            Part::ToolResult(result) => self.result(result, None, files),
            Part::Shell(shell) => {
                self.put(wrapped(&Styled::of(Tint::Strong, format!("$ {}", shell.command)), self.room(), Breaks::Anywhere));
                self.output(shell.output.as_str());
                if let Some(code) = shell.exit_code.filter(|code| *code != 0) {
                    self.put_wrapped(Tint::Damage, &format!("exit code {code}"));
                }
            }
            Part::Other(json) => self.other(json),
        }
    }

    /// Shows a part of no known kind: all of it, or what there is to read in it.
    fn other(&self, json: &Json) {
        let facts = OtherFacts::of(json);
        let shown = match self.tools {
            Tools::Full => json.as_str().to_owned(),
            Tools::Short | Tools::None if facts.said.is_empty() => return,
            Tools::Short | Tools::None => fitted(&visible(&calls::one_line(&format!("· {}", facts.line()))), self.room()),
        };
        self.put(wrapped(&Styled::of(Tint::Guide, shown), self.room(), Breaks::Anywhere));
    }

    fn thought(&self, thought: &str) {
        let characters = text::thousands(thought.trim().chars().count() as u64);
        match self.thinking {
            _ if thought.trim().is_empty() => self.put_wrapped(Tint::Guide, "(thinking that its provider keeps to itself)"),
            Thinking::Hidden => self.put_wrapped(Tint::Guide, &format!("(thinking, {characters} characters)")),
            Thinking::Dimmed => {
                let lines = wrapped(&Styled::of(Tint::Guide, thought.trim_end()), self.room() - 2, Breaks::Words);
                let bar = |line: Styled| {
                    let mut whole = Styled::of(Tint::Guide, "┊ ");
                    whole.append(line);
                    whole
                };
                self.put(lines.into_iter().map(bar).collect());
            }
        }
    }

    fn call(&mut self, call: &ToolCall) {
        let name = call.name.as_deref().unwrap_or("tool");
        if let Some(id) = &call.id {
            self.called.insert(id.clone(), name.to_owned());
        }
        if self.tools == Tools::None {
            return;
        }
        self.last = Last::Call;
        let facts = CallFacts::of(call);
        let mut line = Styled::of(Tint::Guide, "→ ");
        line.push(Tint::Id, &visible(name));
        match self.tools {
            Tools::Full if facts.edits.is_empty() => {
                self.put(vec![line]);
                for argument in &facts.arguments {
                    self.argument(&argument.name, &argument.value);
                }
            }
            Tools::Full | Tools::Short | Tools::None => {
                let room = self.room().saturating_sub(columns(&line.plain()) + 2);
                line.push(Tint::Guide, "  ");
                line.push(Tint::Plain, &fitted(&visible(&calls::one_line(&facts.gist())), room));
                self.put(vec![line]);
            }
        }
        for edit in &facts.edits {
            self.diff(&calls::changed(edit));
        }
    }

    fn argument(&self, name: &str, value: &str) {
        let name = if name.is_empty() { String::new() } else { format!("{}: ", visible(name)) };
        if !value.trim_end().contains('\n') {
            let mut line = Styled::of(Tint::Guide, format!("  {name}"));
            line.push(Tint::Plain, value.trim_end());
            return self.put(wrapped(&line, self.room(), Breaks::Anywhere));
        }
        self.put_wrapped(Tint::Guide, &format!("  {name}"));
        self.indented(Tint::Code, value);
    }

    fn indented(&self, tint: Tint, text: &str) {
        let lines = wrapped(&Styled::of(tint, text.trim_end_matches('\n')), self.room() - 4, Breaks::Anywhere);
        let indent = |line: Styled| {
            let mut whole = Styled::from("    ");
            whole.append(line);
            whole
        };
        self.put(lines.into_iter().map(indent).collect());
    }

    fn diff(&self, lines: &[DiffLine]) {
        let shown = if self.tools == Tools::Full { lines.len() } else { DIFF_LINES };
        for line in lines.iter().take(shown) {
            let (tint, line) = match line {
                DiffLine::Same(line) => (Tint::Guide, format!("  {line}")),
                DiffLine::Removed(line) => (Tint::Removed, format!("- {line}")),
                DiffLine::Added(line) => (Tint::Added, format!("+ {line}")),
                DiffLine::Heading(line) => (Tint::Mark, line.clone()),
                DiffLine::Gap => (Tint::Guide, "…".to_owned()),
            };
            self.indented(tint, &line);
        }
        if lines.len() > shown {
            self.indented(Tint::Guide, &format!("… {} more (--tools full)", text::count((lines.len() - shown) as u64, "line")));
        }
    }

    /// Shows what a tool answered: in one line, with the number of its message
    /// where that is nothing else.
    fn result(&mut self, result: &ToolResult, seq: Option<&str>, files: &Files) {
        if self.tools == Tools::None {
            return;
        }
        self.last = Last::Call;
        let name = result.name.as_ref().or_else(|| self.called.get(result.call_id.as_ref()?));
        let answer = result.text();
        let failed = result.is_error == Some(true);
        let tint = if failed { Tint::Damage } else { Tint::Guide };
        let mut line = Styled::of(Tint::Guide, "← ");
        if let Some(name) = name {
            line.push(Tint::Id, &format!("{}  ", visible(name)));
        }
        if failed {
            line.push(Tint::Damage, "failed: ");
        }
        let seq = seq.map(|seq| format!("  {seq}")).unwrap_or_default();
        if self.tools == Tools::Full {
            line.push(Tint::Guide, seq.trim_start());
            self.put(vec![line]);
            self.output(&answer);
        } else {
            let count = answer.lines().count() as u64;
            let size =
                if count > 1 { format!("{}, {}: ", text::count(count, "line"), text::size(answer.len() as u64)) } else { String::new() };
            let room = self.room().saturating_sub(columns(&line.plain()) + columns(&seq));
            let first = answer.lines().find(|line| !line.trim().is_empty()).unwrap_or("(nothing)");
            line.push(tint, &fitted(&visible(&format!("{size}{}", calls::one_line(first))), room));
            line.push(Tint::Guide, &seq);
            self.put(vec![line]);
        }
        for part in &result.content {
            match part {
                Part::Image(_) | Part::File(_) => self.part(part, files),
                Part::Text(_) | Part::Thinking(_) | Part::ToolCall(_) | Part::ToolResult(_) | Part::Shell(_) | Part::Other(_) => {}
            }
        }
    }

    /// Shows what a tool or a command printed: all of it, or how it begins.
    fn output(&self, output: &str) {
        let lines = output.lines().count();
        let shown = if self.tools == Tools::Full { lines } else { DIFF_LINES };
        for line in output.lines().take(shown) {
            self.indented(Tint::Guide, line);
        }
        if lines > shown {
            self.indented(Tint::Guide, &format!("… {} more (--tools full)", text::count((lines - shown) as u64, "line")));
        }
    }

    /// Says how a message ended, where it did not end well.
    fn end(&self, message: &Message) {
        if let Some(error) = message.error.as_ref().filter(|error| **error != message.text()) {
            self.put_wrapped(Tint::Damage, &format!("✗ error: {error}"));
        }
        let word = message.source_stop_reason.as_deref().unwrap_or_default();
        match message.stop_reason {
            Some(StopReason::Aborted) => self.put_wrapped(Tint::Damage, &format!("✗ interrupted ({word})")),
            Some(StopReason::Error) if message.error.is_none() => self.put_wrapped(Tint::Damage, &format!("✗ failed ({word})")),
            Some(StopReason::MaxTokens) => self.put_wrapped(Tint::Damage, &format!("✗ cut off at its longest length ({word})")),
            Some(StopReason::Error | StopReason::EndTurn | StopReason::ToolUse | StopReason::Other) | None => {}
        }
    }
}

/// Whether a message is nothing but answers of tools.
fn is_answers(message: &Message) -> bool {
    let is_answer = |part: &Part| matches!(part, Part::ToolResult(_));
    let ends_well = message.error.is_none();
    !message.parts.is_empty() && message.parts.iter().all(is_answer) && ends_well
}

/// Whether a message says nothing at all.
fn is_empty(message: &Message) -> bool {
    let is_blank = |part: &Part| matches!(part, Part::Text(text) if text.as_str().trim().is_empty());
    message.error.is_none() && message.parts.iter().all(is_blank)
}

/// Whether there is nothing in a message but calls and answers of tools.
pub(super) fn is_tools_only(message: &Message) -> bool {
    let is_tool = |part: &Part| match part {
        Part::ToolCall(_) | Part::ToolResult(_) => true,
        Part::Text(text) => text.as_str().trim().is_empty(),
        Part::Thinking(_) | Part::Image(_) | Part::File(_) | Part::Shell(_) | Part::Other(_) => false,
    };
    message.error.is_none()
        && (message.tool_calls().next().is_some() || message.tool_results().next().is_some())
        && message.parts.iter().all(is_tool)
}

impl Writer for TerminalWriter<'_> {
    fn begin(&mut self, title: &str, facts: &str) {
        if !title.trim().is_empty() {
            wrapped(&Styled::of(Tint::Strong, title.trim()), self.width, Breaks::Words).into_iter().for_each(|line| self.out.text(line));
        }
        wrapped(&Styled::of(Tint::Guide, facts), self.width, Breaks::Words).into_iter().for_each(|line| self.out.text(line));
    }

    fn message(&mut self, message: &Message, files: &Files) {
        if self.tools == Tools::None && is_tools_only(message) {
            message.tool_calls().for_each(|call| self.call(call));
            return;
        }
        if is_answers(message) {
            if self.last != Last::Call {
                self.out.text("");
            }
            let seq = format!("#{}", message.seq);
            message.tool_results().for_each(|result| self.result(result, Some(&seq), files));
            return;
        }
        self.last = Last::Message;
        self.out.text("");
        self.head(message);
        // Some programs say what a compaction kept in the message after it.
        if is_empty(message) && message.kind == MessageKind::Message {
            self.put_wrapped(Tint::Guide, "(nothing)");
        }
        for part in &message.parts {
            self.part(part, files);
        }
        self.end(message);
    }

    fn mark(&mut self, mark: &Mark) {
        if self.last != Last::Mark {
            self.out.text("");
        }
        self.last = Last::Mark;
        wrapped(&Styled::of(mark.tint, mark.line()), self.width, Breaks::Words).into_iter().for_each(|line| self.out.text(line));
    }

    fn is_closed(&self) -> bool {
        self.out.is_closed()
    }
}
