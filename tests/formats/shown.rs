//! Every session of every fixture can be read: `show` renders it at any width,
//! and leaves no message and no word out that `replay` has.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support::golden_logs;

use everlog::commands::clock::Clock;
use everlog::commands::replay::{self, Branches, ReplayJob, Salvage, Shape, View};
use everlog::commands::show::{self, ShowJob, ShownAs, Thinking, Tools};
use everlog::report::fitted::columns;
use everlog::report::printer::{Form, Printer, Talk};
use everlog::report::terminal::{Edge, Terminal};
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// What a command prints.
fn printed(form: Form, run: impl FnOnce(&Printer)) -> String {
    let kept = Kept::default();
    let out = Printer::to(Box::new(kept.clone()), form, Talk::Quiet);
    run(&out);
    out.finish().unwrap();
    let bytes = kept.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

fn job(log: &Path, form: ShownAs, columns: usize) -> ShowJob {
    ShowJob {
        log: log.to_owned(),
        head: None,
        leaf: None,
        at: None,
        last: None,
        branches: Branches::All,
        tools: Tools::Full,
        thinking: Thinking::Dimmed,
        clock: Clock::Source,
        form,
        terminal: Terminal { columns, edge: Edge::Hard },
        redactor: None,
    }
}

fn shown(job: &ShowJob) -> String {
    printed(Form::Text, |out| {
        show::run(job, out).unwrap_or_else(|error| panic!("{}: {error}", job.log.display()));
    })
}

/// All messages of all branches, as `replay --json` prints them.
fn messages(log: &Path) -> Vec<Value> {
    let job = ReplayJob {
        log: log.to_owned(),
        head: None,
        leaf: None,
        at: None,
        last: None,
        branches: Branches::All,
        view: View::Whole,
        shape: Shape::Flat,
        salvage: Salvage::Hidden,
        redactor: None,
    };
    let lines = printed(Form::Json, |out| {
        replay::run(&job, out).unwrap();
    });
    lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A text without what laying it out may change: white space, and the lines
/// before quotes.
fn pressed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !"│┊>".contains(*c)).collect()
}

/// The words of a message that a reader must find.
fn words(message: &Value) -> Vec<String> {
    let mut texts = vec![message["text"].clone(), message["thinking"].clone(), message["shell"]["command"].clone()];
    texts.extend(message["tool_results"].as_array().unwrap().iter().map(|result| result["text"].clone()));
    texts.extend(message["tool_calls"].as_array().unwrap().iter().map(|call| call["name"].clone()));
    let texts: Vec<&str> = texts.iter().filter_map(Value::as_str).collect();
    let words = texts.iter().flat_map(|text| text.split(|c: char| !c.is_alphanumeric()));
    words.filter(|word| word.chars().count() >= 4).map(str::to_owned).collect()
}

#[test]
fn show_has_every_message_and_every_word_that_replay_has() {
    let (mut sessions, mut compared, mut wrong) = (0, 0, Vec::new());
    for log in golden_logs() {
        let (text, markdown) = (shown(&job(&log, ShownAs::Text, 80)), shown(&job(&log, ShownAs::Markdown, 80)));
        let (pressed_text, pressed_markdown) = (pressed(&text), pressed(&markdown));
        sessions += 1;
        for message in messages(&log) {
            compared += 1;
            let seq = format!("#{}", message["seq"]);
            let has_seq = |line: &str| line.split(|c: char| c.is_whitespace() || "()".contains(c)).any(|word| word == seq);
            if !text.lines().any(has_seq) || !markdown.lines().any(has_seq) {
                wrong.push(format!("{}: {seq} is missing", log.display()));
            }
            for word in words(&message) {
                if !pressed_text.contains(&word) || !pressed_markdown.contains(&word) {
                    wrong.push(format!("{}: {seq} lacks {word:?}", log.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(sessions > 100 && compared > 500, "the test looks at {compared} messages of {sessions} sessions");
}

#[test]
fn no_line_is_wider_than_its_terminal() {
    for log in golden_logs() {
        for width in [30, 77] {
            let text = shown(&job(&log, ShownAs::Text, width));
            let wide = text.lines().find(|line| columns(line) > width);
            assert_eq!(wide, None, "{} at {width}", log.display());
        }
    }
}

#[test]
fn flat_messages_are_those_of_replay() {
    let log = golden_logs().into_iter().find(|log| log.to_string_lossy().contains("gptme/tour")).unwrap();
    let by_show: Vec<Value> = shown(&job(&log, ShownAs::Messages, 80)).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(by_show, messages(&log));
    assert!(!by_show.is_empty());
}
