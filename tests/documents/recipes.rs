//! The recipes for flat messages give the right answers on every fixture.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, clippy::print_stderr)]

use crate::support;

use everlog::{Log, Message};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{copy_tree, golden_logs};
use tempfile::TempDir;

/// The code blocks of the page, each with its language.
fn recipes() -> Vec<(String, String)> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/src/howto/flat-messages.md");
    let text = fs::read_to_string(page).unwrap();
    let blocks = text.split("```").skip(1).step_by(2);
    blocks.map(|block| block.split_once('\n').unwrap()).map(|(language, code)| (language.to_owned(), code.trim_end().to_owned())).collect()
}

/// The one recipe in this language that has this word.
fn recipe(language: &str, word: &str) -> String {
    let mut found = recipes().into_iter().filter(|(of, code)| of == language && code.contains(word));
    let (one, None) = (found.next().unwrap_or_else(|| panic!("no recipe has {word}")), found.next()) else {
        panic!("two recipes have {word}")
    };
    one.1
}

/// Runs a program with `everlog` on its path; nothing where it is not installed.
fn output(program: &str, words: &[&str], folder: &Path) -> Option<String> {
    let own = PathBuf::from(env!("CARGO_BIN_EXE_everlog"));
    let path = format!("{}:{}", own.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let done = Command::new(program).args(words).current_dir(folder).env("PATH", path).env("LC_ALL", "C.UTF-8").output().ok()?;
    assert!(done.status.success(), "{words:?}: {}", String::from_utf8_lossy(&done.stderr));
    Some(String::from_utf8(done.stdout).unwrap())
}

fn has(program: &str, words: &[&str]) -> bool {
    Command::new(program).args(words).output().is_ok_and(|done| done.status.success())
}

fn messages(log: &Path) -> Vec<Message> {
    let log = Log::open(log).unwrap();
    log.messages(&log.active()).unwrap().collect::<Result<_, _>>().unwrap()
}

#[test]
fn the_jq_recipes_are_right_on_every_fixture() {
    if !has("jq", &["--version"]) {
        support::campaign::missing("jq is not installed: the recipes for it are not tried");
        return;
    }
    let (said, tools, cost) = (recipe("sh", "select(.text"), recipe("sh", "uniq -c"), recipe("sh", "add"));
    // Of each fixture its largest log: every recipe starts several programs.
    let mut logs: BTreeMap<PathBuf, PathBuf> = BTreeMap::new();
    let size = |log: &Path| fs::metadata(log).unwrap().len();
    for log in golden_logs() {
        let case = log.ancestors().find(|folder| folder.ends_with("golden")).unwrap().to_owned();
        let largest = logs.entry(case).or_insert_with(|| log.clone());
        if size(&log) > size(largest) {
            *largest = log;
        }
    }
    let logs: Vec<PathBuf> = logs.into_values().collect();
    let counted = logs.par_iter().map(|log| {
        let run = |recipe: &str| {
            let quoted = format!("'{}'", log.to_str().unwrap().replace('\'', r"'\''"));
            output("sh", &["-c", &recipe.replace("LOG", &quoted)], Path::new("/")).unwrap()
        };
        let messages = messages(log);
        let lines: Vec<String> = messages
            .iter()
            .filter(|message| !message.text().is_empty())
            .map(|message| format!("{}: {}\n", message.role, message.text()))
            .collect();
        assert_eq!(run(&said), lines.concat(), "{}", log.display());
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        for call in messages.iter().flat_map(Message::tool_calls) {
            *names.entry(call.name.clone().unwrap_or_else(|| "null".to_owned())).or_default() += 1;
        }
        let printed: BTreeMap<String, usize> = run(&tools)
            .lines()
            .map(|line| {
                let (count, name) = line.trim_start().split_once(' ').unwrap();
                (name.to_owned(), count.parse().unwrap())
            })
            .collect();
        assert_eq!(printed, names, "{}", log.display());
        let costs: Vec<f64> = messages.iter().filter_map(|message| message.usage?.cost).collect();
        let sum: Option<f64> = serde_json::from_str(&run(&cost)).unwrap();
        assert!(sum.is_some() != costs.is_empty() && (sum.unwrap_or(0.0) - costs.iter().sum::<f64>()).abs() < 1e-9, "{}", log.display());
        lines.len()
    });
    assert!(counted.sum::<usize>() > 400, "the test looks at nothing");
}

#[test]
fn the_table_recipes_count_the_messages_of_a_store() {
    let scratch = TempDir::new().unwrap();
    let store = scratch.path().join("STORE");
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for (n, log) in golden_logs().iter().enumerate() {
        fs::create_dir_all(store.join(format!("{n:03}"))).unwrap();
        fs::copy(log, store.join(format!("{n:03}")).join(log.file_name().unwrap())).unwrap();
        for message in messages(log) {
            let format = Log::open(log).unwrap().session().format.clone();
            *counts.entry((format, message.role.to_string())).or_default() += 1;
        }
    }
    // Logs that were kept for safety are not read again.
    copy_tree(&store.join("000"), &store.join(".everlog/earlier"));
    let wanted: String = counts.iter().map(|((format, role), count)| format!("{format} {role} {count}\n")).collect();
    let spaced = |text: &str| text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ") + "\n").collect::<String>();
    output("sh", &["-c", &recipe("sh", "find STORE")], scratch.path()).unwrap();
    if !has("python3", &["--version"]) {
        support::campaign::missing("python3 is not installed: the recipe for it is not tried");
        return;
    }
    assert_eq!(output("python3", &["-c", &recipe("python", "collections")], scratch.path()).unwrap(), wanted);
    // Neither is in Debian's archive or small: where they are installed, they are tried.
    if has("python3", &["-c", "import pandas"]) {
        let printed = output("python3", &["-c", &recipe("python", "pandas")], scratch.path()).unwrap();
        let numbers =
            |text: &str| -> Vec<String> { text.lines().filter_map(|line| Some(line.split_whitespace().last()?.to_owned())).collect() };
        assert_eq!(numbers(&printed), numbers(&wanted));
    } else {
        eprintln!("pandas is not installed: the recipe for it is not tried");
    }
    if has("duckdb", &["--version"]) {
        let printed =
            output("duckdb", &["-noheader", "-list", "-separator", " ", "-c", &recipe("sql", "read_json")], scratch.path()).unwrap();
        assert_eq!(spaced(&printed), wanted);
    } else {
        eprintln!("duckdb is not installed: the recipe for it is not tried");
    }
}
