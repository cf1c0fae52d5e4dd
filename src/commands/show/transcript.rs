//! A conversation as a Markdown document.

use std::collections::HashMap;

use crate::api::{CallFacts, Message, MessageKind, OtherFacts, Part, ToolCall, ToolResult};
use crate::commands::calls::{self, DiffLine};
use crate::commands::clock::Clock;
use crate::export::document::blocks::{self, closed, code};
use crate::report::printer::Printer;

use super::conversation::{Files, Writer};
use super::marks::Mark;
use super::options::{Thinking, Tools};
use super::terminal::is_tools_only;

/// Writes Markdown.
pub(super) struct MarkdownWriter<'a> {
    out: &'a Printer,
    clock: &'a Clock,
    tools: Tools,
    thinking: Thinking,
    called: HashMap<String, String>,
}

impl<'a> MarkdownWriter<'a> {
    pub(super) fn new(out: &'a Printer, clock: &'a Clock, tools: Tools, thinking: Thinking) -> MarkdownWriter<'a> {
        MarkdownWriter { out, clock, tools, thinking, called: HashMap::new() }
    }

    /// Puts a block, and the empty line before it.
    fn block(&self, text: &str) {
        self.out.text("");
        self.out.text(text.trim_end_matches('\n'));
    }

    fn fenced(&self, info: &str, text: &str) {
        self.block(&blocks::fenced(info, text));
    }

    fn part(&mut self, part: &Part, files: &Files) {
        match part {
            Part::Text(text) if text.as_str().trim().is_empty() => {}
            Part::Text(text) => self.block(&closed(text.as_str())),
            Part::Thinking(thinking) => match self.thinking {
                Thinking::Hidden => {}
                Thinking::Dimmed => {
                    let quoted: Vec<String> = thinking.text.as_str().trim().lines().map(|line| format!("> {line}")).collect();
                    self.block(&["> *thinking*".to_owned(), ">".to_owned()].into_iter().chain(quoted).collect::<Vec<_>>().join("\n"));
                }
            },
            Part::Image(media) => self.block(&code(&calls::media("image", media, files.size(media.path.as_deref())))),
            Part::File(media) => self.block(&code(&calls::media("file", media, files.size(media.path.as_deref())))),
            Part::ToolCall(call) => self.call(call),
            Part::ToolResult(result) => self.result(result, files),
            Part::Shell(shell) => self.fenced("console", &format!("$ {}\n{}", shell.command, shell.output)),
            Part::Other(json) => {
                let facts = OtherFacts::of(json);
                match self.tools {
                    Tools::Full => self.fenced("json", json.as_str()),
                    Tools::Short | Tools::None if facts.said.is_empty() => {}
                    Tools::Short | Tools::None => self.block(&code(&calls::one_line(&facts.line()))),
                }
            }
        }
    }

    fn call(&mut self, call: &ToolCall) {
        let name = call.name.as_deref().unwrap_or("tool");
        if let Some(id) = &call.id {
            self.called.insert(id.clone(), name.to_owned());
        }
        let facts = CallFacts::of(call);
        match self.tools {
            Tools::None => return,
            Tools::Short => self.block(&format!("**{}** {}", calls::one_line(name), code(&calls::one_line(&facts.gist())))),
            Tools::Full => {
                self.block(&format!("**{}**", calls::one_line(name)));
                for argument in &facts.arguments {
                    self.fenced(&calls::one_line(&argument.name), &argument.value);
                }
            }
        }
        for edit in &facts.edits {
            let lines = calls::changed(edit).into_iter().map(|line| match line {
                DiffLine::Same(line) => format!(" {line}\n"),
                DiffLine::Removed(line) => format!("-{line}\n"),
                DiffLine::Added(line) => format!("+{line}\n"),
                DiffLine::Heading(line) => format!("{line}\n"),
                DiffLine::Gap => "@@\n".to_owned(),
            });
            self.fenced("diff", &lines.collect::<String>());
        }
    }

    fn result(&mut self, result: &ToolResult, files: &Files) {
        let name = result.name.as_ref().or_else(|| self.called.get(result.call_id.as_ref()?)).map(|name| calls::one_line(name));
        let name = name.unwrap_or_else(|| "tool".to_owned());
        let verb = if result.is_error == Some(true) { "failed" } else { "answered" };
        let answer = result.text();
        match self.tools {
            Tools::None => return,
            Tools::Short => {
                let first = calls::one_line(answer.lines().find(|line| !line.trim().is_empty()).unwrap_or_default());
                let lines = crate::report::text::count(answer.lines().count() as u64, "line");
                self.block(&format!("*{name} {verb}, {lines}:* {}", code(&first)));
            }
            Tools::Full => {
                self.block(&format!("*{name} {verb}:*"));
                self.fenced("", &answer);
            }
        }
        for part in &result.content {
            match part {
                Part::Image(_) | Part::File(_) => self.part(part, files),
                Part::Text(_) | Part::Thinking(_) | Part::ToolCall(_) | Part::ToolResult(_) | Part::Shell(_) | Part::Other(_) => {}
            }
        }
    }
}

impl Writer for MarkdownWriter<'_> {
    fn begin(&mut self, title: &str, facts: &str) {
        let title = calls::one_line(title);
        self.out.text(&format!("# {}", if title.is_empty() { "Conversation" } else { &title }));
        self.block(&calls::one_line(facts));
    }

    fn message(&mut self, message: &Message, files: &Files) {
        if self.tools == Tools::None && is_tools_only(message) {
            message.tool_calls().for_each(|call| self.call(call));
            return;
        }
        let who = match message.kind {
            MessageKind::Message => message.role.name(),
            MessageKind::Compaction => "compaction",
            MessageKind::BranchSummary => "branch summary",
        };
        let time = message.ts.as_deref().map(|ts| format!(", {}", self.clock.shown(ts))).unwrap_or_default();
        self.block(&format!("## {who}{time} (#{})", message.seq));
        if message.kind == MessageKind::Compaction {
            self.block(&format!("*{}*", calls::compacted(&message.raw)));
        }
        message.parts.iter().for_each(|part| self.part(part, files));
        if let Some(error) = message.error.as_ref().filter(|error| **error != message.text()) {
            self.block(&format!("*error:* {}", calls::one_line(error)));
        }
    }

    fn mark(&mut self, mark: &Mark) {
        self.block(&format!("*{}*", calls::one_line(&mark.line())));
    }

    fn is_closed(&self) -> bool {
        self.out.is_closed()
    }
}
