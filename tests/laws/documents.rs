//! The laws of documents, over the logs of all fixtures: each says what its loss
//! list leaves of the session, is valid by the rules of its readers, has the same
//! bytes each time, and without secrets has none.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use everlog::adapters::ALL;
use everlog::export::document::{self, Document, WantedDocument, export_document};
use everlog::export::{self, Export, ExportError, Extension, Wanted};
use everlog::log::LogView;
use everlog::model::export::loss::LossCode;
use everlog::model::ids::Seq;
use everlog::redact::Redactor;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use crate::support;

fn exported(log: &mut LogView<Vec<u8>>, document: &'static dyn Document, redactor: Option<&mut Redactor>) -> Result<Export, ExportError> {
    let node = log.state().head(&log.active()).unwrap_or(Seq::ROOT);
    let wanted = WantedDocument { document, node, head: "branch:main".to_owned(), cwd: None, model: None, title: None };
    export_document(log, None, &wanted, redactor)
}

fn document(id: &str) -> &'static dyn Document {
    document::ALL.iter().copied().find(|document| document.id() == id).unwrap()
}

/// Every fixture's log as a document, with the name of the log.
fn each(id: &str, mut look: impl FnMut(&str, &Export)) -> usize {
    let (mut count, mut wrong) = (0, Vec::new());
    for path in support::golden_logs() {
        let mut log = LogView::open(fs::read(&path).unwrap()).unwrap();
        match exported(&mut log, document(id), None) {
            Ok(export) => {
                count += 1;
                look(&path.display().to_string(), &export);
            }
            Err(ExportError::Empty) => {}
            Err(error) => wrong.push(format!("{}: {error}", path.display())),
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    count
}

#[test]
fn documents_lose_nothing_unsaid_and_have_the_same_bytes_each_time() {
    for kind in document::ALL {
        let mut first = Vec::new();
        let count = each(kind.id(), |_, export| first.push(export.session.files.clone()));
        let mut second = Vec::new();
        each(kind.id(), |_, export| second.push(export.session.files.clone()));
        assert!(first == second, "{}: other bytes the second time", kind.id());
        assert!(count > 50, "{}: the test looks at {count} logs", kind.id());
    }
}

fn keys(value: &Value) -> BTreeSet<&str> {
    value.as_object().unwrap().keys().map(String::as_str).collect()
}

/// The members that version 1.7 knows of each object, those that it demands first.
const TRAJECTORY: (&[&str], &[&str]) = (
    &["schema_version", "agent", "steps"],
    &["session_id", "trajectory_id", "notes", "final_metrics", "continued_trajectory_ref", "extra", "subagent_trajectories"],
);
const AGENT: (&[&str], &[&str]) = (&["name", "version"], &["model_name", "tool_definitions", "extra"]);
const STEP: (&[&str], &[&str]) = (
    &["step_id", "source", "message"],
    &[
        "timestamp",
        "model_name",
        "reasoning_effort",
        "reasoning_content",
        "tool_calls",
        "observation",
        "metrics",
        "extra",
        "llm_call_count",
        "is_copied_context",
    ],
);
const OF_AGENTS_ALONE: &[&str] = &["model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics"];
const CALL: (&[&str], &[&str]) = (&["tool_call_id", "function_name", "arguments"], &["extra"]);
const RESULT: (&[&str], &[&str]) = (&[], &["source_call_id", "content", "subagent_trajectory_ref", "extra"]);
const METRICS: (&[&str], &[&str]) = (
    &[],
    &["prompt_tokens", "completion_tokens", "cached_tokens", "cost_usd", "prompt_token_ids", "completion_token_ids", "logprobs", "extra"],
);
const FINAL_METRICS: (&[&str], &[&str]) =
    (&[], &["total_prompt_tokens", "total_completion_tokens", "total_cached_tokens", "total_cost_usd", "total_steps", "extra"]);
const PICTURES: &[&str] = &["image/jpeg", "image/png", "image/gif", "image/webp"];

fn check_members(value: &Value, (needed, known): (&[&str], &[&str]), what: &str, wrong: &mut Vec<String>) {
    let there = keys(value);
    wrong.extend(needed.iter().filter(|name| !there.contains(*name)).map(|name| format!("{what} has no {name}")));
    let unknown = there.iter().filter(|name| !needed.contains(name) && !known.contains(name));
    wrong.extend(unknown.map(|name| format!("{what} has a member {name}")));
}

fn check_content(content: &Value, files: &BTreeSet<String>, what: &str, wrong: &mut Vec<String>) {
    for part in content.as_array().into_iter().flatten() {
        let is_right = match part["type"].as_str() {
            Some("text") => part["text"].is_string() && keys(part).len() == 2,
            Some("image") => {
                let source = &part["source"];
                keys(part).len() == 2
                    && PICTURES.contains(&source["media_type"].as_str().unwrap())
                    && files.contains(source["path"].as_str().unwrap())
            }
            _ => false,
        };
        if !is_right {
            wrong.push(format!("{what}: {part}"));
        }
    }
    if !content.is_string() && !content.is_array() {
        wrong.push(format!("{what} is {content}"));
    }
}

/// Readers of trajectories know the years from 1 on.
const FIRST_YEAR: jiff::Timestamp = jiff::Timestamp::constant(-62_135_596_800, 0);

/// What a reader of trajectories objects to.
fn problems(export: &Export) -> Vec<String> {
    let mut wrong = Vec::new();
    let trajectory: Value = serde_json::from_slice(&export.session.files[0].1).unwrap();
    let files: BTreeSet<String> = export.session.files[1..].iter().map(|(path, _)| path.to_string()).collect();
    check_members(&trajectory, TRAJECTORY, "the trajectory", &mut wrong);
    check_members(&trajectory["agent"], AGENT, "the agent", &mut wrong);
    check_members(&trajectory["final_metrics"], FINAL_METRICS, "the sums", &mut wrong);
    if trajectory["schema_version"] != "ATIF-v1.7" {
        wrong.push("the version".to_owned());
    }
    for (n, step) in trajectory["steps"].as_array().unwrap().iter().enumerate() {
        let what = format!("step {}", n + 1);
        check_members(step, STEP, &what, &mut wrong);
        check_content(&step["message"], &files, &what, &mut wrong);
        if step["step_id"] != n + 1 {
            wrong.push(format!("{what} is called {}", step["step_id"]));
        }
        let source = step["source"].as_str().unwrap();
        if !["system", "user", "agent"].contains(&source)
            || (source != "agent" && keys(step).iter().any(|key| OF_AGENTS_ALONE.contains(key)))
        {
            wrong.push(format!("{what} is by {source}, with {:?}", keys(step)));
        }
        if step
            .get("timestamp")
            .is_some_and(|time| time.as_str().unwrap().parse::<jiff::Timestamp>().map_or(true, |time| time < FIRST_YEAR))
        {
            wrong.push(format!("{what} is of {}", step["timestamp"]));
        }
        if let Some(metrics) = step.get("metrics") {
            check_members(metrics, METRICS, &what, &mut wrong);
        }
        let mut calls = BTreeSet::new();
        for call in step["tool_calls"].as_array().into_iter().flatten() {
            check_members(call, CALL, &what, &mut wrong);
            if !call["arguments"].is_object() || !calls.insert(call["tool_call_id"].as_str().unwrap()) {
                wrong.push(format!("{what}: {call}"));
            }
        }
        for result in step["observation"]["results"].as_array().into_iter().flatten() {
            check_members(result, RESULT, &what, &mut wrong);
            check_content(&result["content"], &files, &what, &mut wrong);
            if !calls.contains(result["source_call_id"].as_str().unwrap()) {
                wrong.push(format!("{what} observes {}", result["source_call_id"]));
            }
        }
    }
    wrong
}

#[test]
fn trajectories_are_valid_by_the_rules_of_version_1_7() {
    let mut wrong = Vec::new();
    let (mut observed, mut metered) = (0, 0);
    each("atif", |name, export| {
        let text = String::from_utf8_lossy(&export.session.files[0].1);
        observed += text.matches("\"source_call_id\"").count();
        metered += text.matches("\"metrics\"").count();
        wrong.extend(problems(export).into_iter().map(|problem| format!("{name}: {problem}")));
    });
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    assert!(observed > 40 && metered > 100, "the test looks at {observed} results and {metered} metrics");
}

#[test]
fn chat_messages_pair_every_call_with_its_result() {
    let (mut wrong, mut calls, mut sessions) = (Vec::new(), 0, 0);
    each("openai", |name, export| {
        let line = &export.session.files[0].1;
        assert_eq!(line.iter().filter(|byte| **byte == b'\n').count(), 1, "{name}: a session is one line");
        let session: Value = serde_json::from_slice(line).unwrap();
        sessions += 1;
        let mut waiting: BTreeMap<String, usize> = BTreeMap::new();
        for (n, message) in session["messages"].as_array().unwrap().iter().enumerate() {
            let role = message["role"].as_str().unwrap();
            let has_content = message["content"].as_str().is_some_and(|text| !text.trim().is_empty()) || message["content"].is_array();
            if role == "tool" {
                if waiting.remove(message["tool_call_id"].as_str().unwrap()).is_none() {
                    wrong.push(format!("{name}: message {n} answers no call"));
                }
                continue;
            }
            if !waiting.is_empty() || (!has_content && message.get("tool_calls").is_none()) {
                wrong.push(format!("{name}: message {n}: {waiting:?} are open, or it is empty"));
            }
            for call in message["tool_calls"].as_array().into_iter().flatten() {
                calls += 1;
                let arguments: Value = serde_json::from_str(call["function"]["arguments"].as_str().unwrap()).unwrap();
                if role != "assistant" || !arguments.is_object() || call["type"] != "function" {
                    wrong.push(format!("{name}: {call}"));
                }
                waiting.insert(call["id"].as_str().unwrap().to_owned(), n);
            }
        }
        if !waiting.is_empty() {
            wrong.push(format!("{name}: {waiting:?} are never answered"));
        }
    });
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    assert!(sessions > 50 && calls > 40, "the test looks at {sessions} sessions and {calls} calls");
}

/// What a trajectory says must be in the Markdown of the same session.
#[test]
fn markdown_says_every_text_and_every_call() {
    let mut trajectories = BTreeMap::new();
    each("atif", |name, export| {
        trajectories.insert(name.to_owned(), serde_json::from_slice::<Value>(&export.session.files[0].1).unwrap());
    });
    let (mut wrong, mut looked_for) = (Vec::new(), 0);
    each("markdown", |name, export| {
        let markdown = String::from_utf8(export.session.files[0].1.clone()).unwrap();
        let mut look_for = |text: &str| {
            for line in text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("[image")) {
                looked_for += 1;
                if !markdown.contains(line.trim_end()) {
                    wrong.push(format!("{name}: {line}"));
                }
            }
        };
        for step in trajectories[name]["steps"].as_array().unwrap() {
            [&step["message"], &step["reasoning_content"]].into_iter().filter_map(Value::as_str).for_each(&mut look_for);
            for call in step["tool_calls"].as_array().into_iter().flatten() {
                // An id that was made up holds for one document.
                let id = call["tool_call_id"].as_str().filter(|id| !id.starts_with("call_"));
                call["function_name"].as_str().into_iter().chain(id).for_each(&mut look_for);
            }
            let results = step["observation"]["results"].as_array().into_iter().flatten();
            results.filter_map(|result| result["content"].as_str()).for_each(&mut look_for);
        }
    });
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    assert!(looked_for > 1000, "the test looks for {looked_for} lines");
}

const SECRET: &str = "ghp_0123456789abcdefghijABCDEFGHIJ456789";

/// A log in which every text that a person wrote has a secret.
fn with_secrets(log: &[u8]) -> Option<Vec<u8>> {
    let marker = b"\"type\":\"text\",\"text\":\"";
    let (mut out, mut from) = (Vec::new(), 0);
    while let Some(at) = memchr::memmem::find(&log[from..], marker) {
        let end = from + at + marker.len();
        out.extend_from_slice(&log[from..end]);
        out.extend_from_slice(SECRET.as_bytes());
        out.push(b' ');
        from = end;
    }
    out.extend_from_slice(&log[from..]);
    (from > 0).then_some(out)
}

#[test]
fn without_secrets_no_file_of_any_target_has_one() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for path in support::golden_logs() {
        let Some(bytes) = with_secrets(&fs::read(&path).unwrap()) else { continue };
        let Ok(mut log) = LogView::open(bytes) else { continue };
        let node = log.state().head(&log.active()).unwrap_or(Seq::ROOT);
        let redactor = || Redactor::new(&[]).unwrap();
        let mut exports = Vec::new();
        for kind in document::ALL {
            exports.push((kind.id(), exported(&mut log, *kind, Some(&mut redactor()))));
        }
        for target in ALL.iter().copied().filter(|format| format.exporter().is_some()) {
            let head = "branch:main".to_owned();
            let wanted = Wanted { target, node, head, cwd: None, model: None, title: None, folder: None, extension: Extension::Carried };
            exports.push((target.id(), export::export_redacted(&mut log, None, &wanted, Some(&mut redactor()))));
        }
        for (target, export) in exports {
            let export = match export {
                Ok(export) => export,
                Err(ExportError::Empty) => continue,
                Err(error) => {
                    wrong.push(format!("{} to {target}: {error}", path.display()));
                    continue;
                }
            };
            count += 1;
            if export.session.files.iter().any(|(_, bytes)| memchr::memmem::find(bytes, SECRET.as_bytes()).is_some()) {
                wrong.push(format!("{} to {target}: the secret went along", path.display()));
            }
            if !export.losses.iter().any(|(code, _)| code == LossCode::Redacted) {
                wrong.push(format!("{} to {target}: the loss list does not say what was taken out", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong\n{}", wrong.len(), wrong.join("\n"));
    assert!(count > 200, "the test looks at {count} exports");
}
