//! The flat messages: on every head of every golden log they are what `replay`
//! shows, and their roles and texts are what the real loader returned.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

mod claude_code;
mod codex;
mod gemini_cli;
mod opencode_tree;

use crate::support;

use everlog::{Log, Message, MessageKind, Role, StopReason, View};
use rayon::prelude::*;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use support::expected::Json;
use support::{Case, everlog, fixtures, golden_logs, stderr, stdout};

/// Of a line only this is parsed: no tree of values holds a number like 1e400.
#[derive(serde::Deserialize)]
struct Place {
    seq: u32,
    #[serde(default)]
    index: usize,
}

fn places(lines: &[String]) -> Vec<Place> {
    lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn lines(log: &Path, more: &[&str]) -> Vec<String> {
    let done = everlog(&[&["replay", log.to_str().unwrap()], more].concat());
    assert_eq!(done.status.code(), Some(0), "{} {more:?}: {}", log.display(), stderr(&done));
    stdout(&done).lines().map(str::to_owned).collect()
}

fn read(log: &Log, head: &str, view: View) -> Vec<Message> {
    let head = log.head(head).unwrap();
    log.messages_as(&head, view).unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn flat_messages_are_what_replay_shows_on_every_head() {
    let (heads, messages) = (AtomicUsize::new(0), AtomicUsize::new(0));
    golden_logs().par_iter().for_each(|path| {
        let log = Log::open(path).unwrap();
        for head in log.heads().map(|head| head.to_string()) {
            for (view, more) in [(View::Conversation, &[][..]), (View::Context, &["--context"]), (View::Salvage, &["--salvage"])] {
                let named = [&["--head", head.as_str()], more].concat();
                let (shown, flat) = (lines(path, &named), lines(path, &[&named[..], &["--json"]].concat()));
                let read = read(&log, &head, view);
                let numbers = |lines: &[String]| -> Vec<u32> { places(lines).iter().map(|place| place.seq).collect() };
                let whence = format!("{} {named:?}", path.display());
                assert_eq!(numbers(&flat), numbers(&shown), "{whence}");
                assert_eq!(places(&flat).iter().map(|place| place.index).collect::<Vec<_>>(), (0..flat.len()).collect::<Vec<_>>());
                let ours: Vec<String> = read.iter().map(|message| message.flat(log.session()).to_json().unwrap()).collect();
                assert_eq!(ours, flat, "{whence}");
                messages.fetch_add(read.len(), Ordering::Relaxed);
            }
            heads.fetch_add(1, Ordering::Relaxed);
        }
    });
    assert!(heads.load(Ordering::Relaxed) > 250 && messages.load(Ordering::Relaxed) > 3000, "the test looks at nothing");
    eprintln!("{} heads, {} messages", heads.into_inner(), messages.into_inner());
}

/// What a loader returned, in the words of a flat message; `text` is nothing where
/// it cannot be told from that.
struct Said {
    role: Role,
    text: Option<String>,
    facts: Facts,
}

/// What else a message says.
#[derive(Debug, PartialEq)]
struct Facts {
    model: Option<String>,
    thinking: Option<String>,
    tools: Vec<String>,
    stop_reason: Option<StopReason>,
    output: Option<u64>,
    cost: Option<f64>,
}

impl Facts {
    /// From the words that the five programs have for it.
    fn of_loaded(message: &Json) -> Facts {
        let metadata = message.get("metadata").unwrap_or(Json(b"{}".to_vec()));
        // A value that is too deep for some parsers is there as text.
        let metadata = metadata.get("$json").map_or(metadata, |text| Json(text.as_text().into_bytes()));
        let text = |names: &[&str]| names.iter().find_map(|name| string(&message.get(name)?).filter(|text| !text.is_empty()));
        let number = |value: Option<Json>| std::str::from_utf8(&value?.0).ok()?.parse::<f64>().ok();
        let parts: Vec<Json> = message.list("content").into_iter().filter(|part| part.0.starts_with(b"{")).collect();
        let is = |part: &Json, kinds: &[&str]| kinds.contains(&part.text("type").as_str());
        let thoughts: Vec<String> = parts.iter().filter(|part| is(part, &["thinking"])).map(|part| part.text("thinking")).collect();
        let calls = message
            .list("tool_calls")
            .into_iter()
            .map(|call| of(&call, "function").map_or_else(String::new, |function| function.text("name")));
        let by_parts = parts.iter().filter(|part| is(part, &["toolCall", "tool_use"])).map(|part| part.text("name"));
        let usage = message.get("usage").or_else(|| of(&metadata, "usage"));
        let output = usage.as_ref().and_then(|usage| ["output", "output_tokens", "outputTokens"].iter().find_map(|name| of(usage, name)));
        let cost = usage.as_ref().and_then(|usage| of(&of(usage, "cost")?, "total")).or_else(|| of(&metadata, "cost"));
        Facts {
            model: text(&["model", "model_name", "_usedModel"]).or_else(|| string(&of(&metadata, "model")?)),
            thinking: text(&["reasoning_content", "reasoning"]).or_else(|| Some(thoughts.join("\n")).filter(|_| !thoughts.is_empty())),
            // A call without a name is carried, and is not counted here.
            tools: by_parts.chain(calls).filter(|name| !name.is_empty()).collect(),
            stop_reason: text(&["stopReason", "finish_reason"]).map(|word| match word.as_str() {
                "stop" => StopReason::EndTurn,
                "toolUse" | "tool_calls" => StopReason::ToolUse,
                "error" => StopReason::Error,
                _ => StopReason::Other,
            }),
            output: output.and_then(|count| std::str::from_utf8(&count.0).ok()?.parse().ok()),
            cost: number(cost),
        }
    }

    fn of(message: &Message) -> Facts {
        Facts {
            model: message.model.clone(),
            thinking: message.thinking(),
            tools: message.tool_calls().filter_map(|call| call.name.clone()).collect(),
            stop_reason: message.stop_reason,
            output: message.usage.and_then(|usage| usage.output),
            cost: message.usage.and_then(|usage| usage.cost),
        }
    }
}

/// A member of what may be no object.
fn of(object: &Json, name: &str) -> Option<Json> {
    object.0.starts_with(b"{").then(|| object.get(name)).flatten()
}

fn string(value: &Json) -> Option<String> {
    value.0.starts_with(b"\"").then(|| value.as_text())
}

/// The text of a loader's message, tool results included: some programs keep
/// them as content, and some as parts.
fn said(message: &Json) -> Said {
    let role = match message.text("role").as_str() {
        "user" | "bashExecution" => Role::User,
        "assistant" => Role::Assistant,
        "tool" | "toolResult" => Role::Tool,
        _ => Role::System,
    };
    let content = message.get("content").or_else(|| message.get("summary"));
    let text = match &content {
        Some(text) if text.0.starts_with(b"\"") => string(text),
        Some(list) if list.0.starts_with(b"[") => {
            let parts = message.list("content").into_iter();
            // A part that is not an object, or a text that UTF-8 cannot hold.
            let texts: Option<Vec<String>> = parts
                .filter(|part| part.0.starts_with(b"{") && part.text("type") == "text")
                .map(|part| string(&part.get("text")?))
                .collect();
            texts.map(|texts| texts.join("\n"))
        }
        Some(_) | None => None,
    };
    Said { role, text, facts: Facts::of_loaded(message) }
}

fn all_text(message: &Message) -> String {
    let results = message.tool_results().map(everlog::ToolResult::text);
    let own = Some(message.text()).filter(|_| message.parts.iter().any(|part| matches!(part, everlog::Part::Text(_))));
    own.into_iter().chain(results).collect::<Vec<_>>().join("\n")
}

/// The log of each file of a case.
fn migrated(case: &Case, dest: &Path, input: &Path) -> BTreeMap<String, PathBuf> {
    let done = everlog(&["migrate", input.to_str().unwrap(), "-o", dest.to_str().unwrap(), "--json"]);
    let mut logs = BTreeMap::new();
    for line in stdout(&done).lines() {
        let unit: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{}: {error}", case.id()));
        if let (Some(database), Some(session)) = (unit["database"].as_str(), unit["session"].as_str()) {
            logs.insert(format!("{database} {session}"), dest.join(unit["log"].as_str().unwrap()));
        }
        for file in unit["files"].as_array().into_iter().flatten() {
            logs.insert(file.as_str().unwrap().to_owned(), dest.join(unit["log"].as_str().unwrap()));
        }
    }
    logs
}

#[test]
fn flat_messages_say_what_the_real_loader_returned() {
    let (compared, left_out) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let wrong: Vec<String> = fixtures()
        .par_iter()
        .flat_map(|case| {
            let scratch = case.copy();
            let logs = migrated(case, &scratch.path().join("dest"), &scratch.path().join("input"));
            let mut wrong = Vec::new();
            for session in case.expected.list("sessions") {
                let args: Vec<String> = session.list("args").iter().map(Json::as_text).collect();
                let head = match args.as_slice() {
                    [] => None,
                    [option, name] if option == "--head" => Some(name.as_str()),
                    _ => continue,
                };
                if session.get("error").is_some() || session.get("messages").is_none() {
                    continue;
                }
                let own = session.get("session").map(|own| format!(" {}", own.as_text())).unwrap_or_default();
                let log = Log::open(&logs[&(session.text("file") + &own)]).unwrap();
                let head = head.map_or_else(|| log.active(), |name| log.head(name).unwrap());
                let ours: Vec<Message> = log.messages_as(&head, View::Shown).unwrap().collect::<Result<_, _>>().unwrap();
                let theirs = session.list("messages");
                let compactions = ours.iter().filter(|message| message.kind == MessageKind::Compaction).count();
                if ours.len() != theirs.len() || compactions > 1 {
                    // A program may show one node as two messages, or as none.
                    left_out.fetch_add(1, Ordering::Relaxed);
                    if std::env::var_os("SHOW").is_some() {
                        eprintln!("{} {}: {} shown, {} loaded", case.id(), session.text("file"), ours.len(), theirs.len());
                    }
                    continue;
                }
                for (ours, theirs) in ours.iter().zip(&theirs) {
                    let mut facts = Facts::of(ours);
                    let said = match case.id().split('/').next() {
                        Some("claude-code") => {
                            // The SDK leaves costs out; they have a test of their own.
                            facts.cost = None;
                            claude_code::said(theirs)
                        }
                        Some("codex") => codex::said(theirs),
                        Some("gemini-cli") => gemini_cli::said(theirs),
                        Some("opencode" | "opencode-tree") => opencode_tree::said(theirs),
                        Some("hermes-state-db") => {
                            // The loader strips white space around a text.
                            let own = Some(all_text(ours));
                            let said = said(theirs);
                            let is_stripped = own.as_ref().map(|text| text.trim()) == said.text.as_deref();
                            Said { text: if is_stripped { own } else { said.text }, ..said }
                        }
                        Some(_) | None => said(theirs),
                    };
                    let is_text = said.text.as_ref().is_none_or(|text| *text == all_text(ours));
                    if facts != said.facts {
                        wrong.push(format!("{} event {}: {facts:?}, the loader has {:?}", case.id(), ours.seq, said.facts));
                    }
                    if ours.role != said.role || !is_text {
                        wrong.push(format!(
                            "{} {}: event {} is {} {:?}, the loader has {} {:?}",
                            case.id(),
                            session.text("file"),
                            ours.seq,
                            ours.role,
                            all_text(ours),
                            said.role,
                            said.text
                        ));
                    }
                    compared.fetch_add(1, Ordering::Relaxed);
                }
            }
            wrong
        })
        .collect();
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    eprintln!("{} messages compared, {} sessions left out", compared.load(Ordering::Relaxed), left_out.load(Ordering::Relaxed));
    assert!(compared.load(Ordering::Relaxed) > 700, "the test looks at nothing");
}
