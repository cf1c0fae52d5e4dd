//! `everlog ls`: the table, the rows for programs, and where they come from.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use everlog::report::fitted::columns;
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use support::bench::{Bench, code, line, lines};
use support::{all_cases, everlog, run, stderr, stdout};

/// The list of a store on a terminal of so many columns.
fn ls(store: &Path, width: usize, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_everlog"));
    run(command.arg("ls").arg(store).args(more).env("COLUMNS", width.to_string()).env_remove("EVERLOG_STORE"))
}

fn rows(done: &Output) -> Vec<Value> {
    stdout(done).lines().map(|row| serde_json::from_str(row).unwrap()).collect()
}

/// The ids of the sessions that are listed, in order.
fn ids(store: &Path, more: &[&str]) -> Vec<String> {
    let done = ls(store, 80, &[more, &["--json"]].concat());
    assert_eq!(code(&done), Some(0), "{}", stderr(&done));
    rows(&done).iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_table_is_as_wide_as_the_terminal() {
    let bench = Bench::with_tour();
    bench.migrate(&[]);
    let shown = |width| stdout(&ls(&bench.dest(), width, &[])).replace(bench.dest().to_str().unwrap(), "STORE");
    let wide = "\
LAST MESSAGE      PROGRAM  MSGS  TURNS     SIZE     ID          TITLE
2026-03-09 17:32  gptme       4      2   4.1 KB     2026-03-09  What to sow in March
2026-03-05 20:04  gptme       5      3   7.5 KB  Y  2026-03-05  Toast for Ilse
2026-03-02 09:17  gptme      13      2  11.4 KB     2026-03-02  Leap day in the tide table
3 sessions in STORE
";
    assert_eq!(shown(130), wide);
    let narrow = shown(72);
    assert!(narrow.contains("2026-03-09 17:32  gptme       4   4.1 KB     2026-03-09  What to sow in…\n"), "{narrow}");
    for width in [1, 20, 40, 72, 80, 200] {
        let text = shown(width);
        assert!(text.lines().filter(|line| !line.ends_with("STORE")).all(|line| columns(line) <= width), "{width}:\n{text}");
    }
}

#[test]
fn rows_for_programs_count_what_replay_shows() {
    let mut compared = 0;
    for case in all_cases()
        .into_iter()
        .filter(|case| ["tour", "forked", "torn", "damaged", "tools", "branches"].iter().any(|name| case.id().ends_with(name)))
    {
        let bench = Bench::new();
        support::copy_tree(&case.folder.join("input"), &bench.source());
        bench.migrate(&["--allow-live"]);
        for row in rows(&ls(&bench.dest(), 80, &["--json"])) {
            let log = bench.dest().join(row["log"].as_str().unwrap());
            assert_eq!(fs::metadata(&log).unwrap().len(), row["bytes"].as_u64().unwrap());
            let replay = everlog(&["replay", log.to_str().unwrap(), "--json"]);
            let messages: Vec<Value> = rows(&replay).into_iter().filter(|message| message["type"] == "message").collect();
            assert_eq!(row["messages"], messages.len(), "{}: {row}", case.id());
            let last = messages.iter().rev().find(|message| !message["ts"].is_null()).map_or(&Value::Null, |message| &message["ts"]);
            assert_eq!(&row["last"], last, "{}: {row}", case.id());
            let sources = ["session", "format"].map(|member| messages.first().map(|message| message[member].clone()));
            assert!(messages.is_empty() || sources == [Some(row["id"].clone()), Some(row["format"].clone())], "{}: {row}", case.id());
            compared += 1;
        }
    }
    assert!(compared >= 8, "the test looks at {compared} sessions");
}

#[test]
fn sessions_are_sorted_and_chosen() {
    let bench = Bench::with_tour();
    bench.conversation("torn", &format!("{}garbage\n{}", line("user", "old words", 5), line("assistant", "yes", 6)));
    bench.migrate(&[]);
    let first = |more: &[&str]| ids(&bench.dest(), more).first().map(|id| id[..4.min(id.len())].to_owned() + &id[id.len() - 3..]);
    assert_eq!(ids(&bench.dest(), &[]).last().map(String::as_str), Some("torn"), "the oldest comes last");
    assert_eq!(ids(&bench.dest(), &["--sort", "title"])[0], ids(&bench.dest(), &["--sort", "messages"])[0]);
    assert_eq!(ids(&bench.dest(), &["--sort", "title"])[1], "torn");
    assert_eq!(ids(&bench.dest(), &["--sort", "size"]).last().map(String::as_str), Some("torn"));
    assert_eq!(ids(&bench.dest(), &["--damaged"]), ["torn"]);
    assert_eq!(ids(&bench.dest(), &["--since", "2026-03-05"]).len(), 2);
    assert_eq!(ids(&bench.dest(), &["--format", "gptme"]).len(), 4);
    assert_eq!(ids(&bench.dest(), &["--format", "pi"]), [""; 0]);
    assert_eq!(first(&["--since", "2030-01-01"]), None);
    let none = ls(&bench.dest(), 80, &["--since", "2030-01-01"]);
    assert!(stdout(&none).starts_with("0 of 4 sessions in "), "{}", stdout(&none));
    assert_eq!(code(&ls(&bench.dest(), 80, &["--format", "nosuch"])), Some(2));
    let marked = stdout(&ls(&bench.dest(), 130, &[]));
    assert!(marked.lines().any(|line| line.contains("  !  torn ")), "{marked}");
}

#[test]
fn a_folder_is_matched_with_folders_below_it() {
    let bench = Bench::new();
    support::copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/pi/tour/input"), &bench.source());
    bench.migrate(&[]);
    for (folder, count) in [("/home/ada/loom", 1), ("/home/ada/", 1), ("/home/ada/lo", 0), ("/home/ada/loom/weft", 0)] {
        assert_eq!(ids(&bench.dest(), &["--cwd", folder]).len(), count, "{folder}");
    }
}

#[test]
fn a_fork_is_seen_at_once() {
    let bench = Bench::new();
    bench.conversation("chat", &lines(3));
    bench.migrate(&[]);
    assert_eq!(rows(&ls(&bench.dest(), 80, &["--json"]))[0]["branches"], 1);
    assert_eq!(code(&everlog(&["fork", bench.log("chat").to_str().unwrap(), "--leaf", "main"])), Some(0));
    let forked = rows(&ls(&bench.dest(), 80, &["--json"]));
    assert_eq!((&forked[0]["branches"], &forked[0]["messages"]), (&Value::from(2), &Value::from(3)));
    assert_eq!(forked[0]["bytes"], fs::metadata(bench.log("chat")).unwrap().len());
}

#[test]
fn receipts_are_not_needed_and_may_be_older() {
    let bench = Bench::with_tour();
    bench.conversation("torn", &format!("{}garbage\n", lines(2)));
    bench.migrate(&[]);
    let whole = stdout(&ls(&bench.dest(), 120, &[]));
    let receipts = bench.dest().join(".everlog/receipts.jsonl");
    let text = fs::read_to_string(&receipts).unwrap();
    assert_eq!(text.matches(",\"about\":{").count(), 4, "every receipt has what lists show");
    // Receipts as older releases wrote them: without that, and without a sum.
    let older: String = text
        .lines()
        .map(|line| {
            let (before, rest) = line.split_once(",\"about\":{").unwrap();
            format!("{before}{}}}\n", rest.split_once('}').unwrap().1.split(",\"sum\"").next().unwrap().trim_end_matches('}'))
        })
        .collect();
    fs::write(&receipts, older).unwrap();
    assert_eq!(stdout(&ls(&bench.dest(), 120, &[])), whole);
    assert!(stdout(&bench.migrate(&[])).contains("4 unchanged"), "older receipts count");
    fs::remove_file(&receipts).unwrap();
    assert_eq!(stdout(&ls(&bench.dest(), 120, &[])), whole);
    // A folder of logs is as good as a store.
    fs::remove_dir_all(bench.dest().join(".everlog")).unwrap();
    assert_eq!(stdout(&ls(&bench.dest(), 120, &[])), whole);
}

#[test]
fn a_list_is_made_from_receipts_and_not_from_logs() {
    let bench = Bench::new();
    bench.conversation("chat", &lines(3));
    bench.migrate(&[]);
    // The same size, and no log any more: only a receipt can say what it was.
    let bytes = fs::metadata(bench.log("chat")).unwrap().len();
    fs::write(bench.log("chat"), vec![b'x'; usize::try_from(bytes).unwrap()]).unwrap();
    assert_eq!(ids(&bench.dest(), &[]), ["chat"]);
}

#[test]
fn a_log_that_cannot_be_read_does_not_hide_the_others() {
    let bench = Bench::with_tour();
    bench.migrate(&[]);
    fs::write(bench.log("strange"), "no log\n").unwrap();
    let done = ls(&bench.dest(), 80, &[]);
    assert_eq!(code(&done), Some(1));
    assert!(stdout(&done).contains("\n3 sessions in "), "{}", stdout(&done));
    assert!(stderr(&done).starts_with("error: ") && stderr(&done).contains("strange.everlog.jsonl"), "{}", stderr(&done));
}

#[test]
fn wide_characters_are_aligned_and_controls_are_seen() {
    let bench = Bench::new();
    bench.conversation("会话一", &line("user", "你好，世界：请列出所有会话并按时间排序，谢谢", 3));
    bench.conversation("plain-one", &line("user", "hello\\u001b[31m there", 2));
    bench.conversation("emoji-🙂", &line("user", "🙂🙂🙂 smile", 1));
    bench.migrate(&[]);
    let text = stdout(&ls(&bench.dest(), 70, &[]));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5, "{text}");
    let title_at = |line: &str, title: &str| columns(&line[..line.find(title).unwrap_or_else(|| panic!("{title}: {text}"))]);
    let at = title_at(lines[0], "TITLE");
    assert_eq!([title_at(lines[1], "你好"), title_at(lines[2], "hello"), title_at(lines[3], "🙂🙂🙂")], [at; 3], "{text}");
    assert!(lines[2].contains("hello\\u{1b}"), "{text}");
    assert!(lines[..4].iter().all(|line| columns(line) <= 70), "{text}");
}

#[test]
fn what_is_no_store_is_said_with_a_hint() {
    let bench = Bench::with_tour();
    let source = ls(&bench.source(), 80, &[]);
    assert_eq!(code(&source), Some(2));
    let said = stderr(&source);
    assert!(said.contains("it is 3 sessions of gptme") && said.contains("everlog migrate"), "{said}");
    fs::create_dir(bench.path("empty")).unwrap();
    let empty = ls(&bench.path("empty"), 80, &[]);
    assert_eq!(code(&empty), Some(2));
    assert!(stderr(&empty).contains("no log found at"), "{}", stderr(&empty));
}
