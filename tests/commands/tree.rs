//! `everlog tree`: what it draws, for people and for programs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use everlog::commands::tree::{Nodes, TreeJob};
use everlog::report::printer::{Form, Printer, Stream, Streams, Talk};
use everlog::report::terminal::{Colours, Edge, Terminal};
use serde_json::Value;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::{Arc, Mutex};
use support::bench::{Bench, code, line, lines};
use support::growth::large_log;
use support::pi::{self, entry, header, said};
use support::{everlog, run, stderr, stdout};

/// The tree of a log on a terminal of so many columns; none is unknown.
fn tree(log: &Path, columns: Option<&str>, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_everlog"));
    command.arg("tree").arg(log).args(more).env_remove("COLUMNS").env_remove("NO_COLOR");
    run(command.envs(columns.map(|columns| ("COLUMNS", columns))))
}

/// A session with one of everything that is of note.
fn of_note() -> String {
    let mut text = header();
    text += &entry("model_change", "aaaa0001", "", "\"provider\":\"maker\",\"modelId\":\"model\"");
    for n in 2..8 {
        text += &said(&format!("aaaa000{n}"), &format!("aaaa000{}", n - 1), &format!("words {n}"));
    }
    text += &entry("thinking_level_change", "aaaa0008", "aaaa0007", "\"thinkingLevel\":\"high\"");
    text += &said("aaaa0009", "aaaa0008", "here it parts");
    text += &said("bbbb0001", "aaaa0009", "a first way");
    text += &entry("branch_summary", "bbbb0002", "bbbb0001", "\"fromId\":\"aaaa0009\",\"summary\":\"what was tried\"");
    text += "{\"type\":\"message\",\"id\":\n";
    text += &said("cccc0001", "aaaa0009", "the other way");
    text += &entry("compaction", "cccc0002", "cccc0001", "\"summary\":\"in short\",\"firstKeptEntryId\":\"cccc0001\",\"tokensBefore\":9");
    text += &entry("context_edit", "cccc0003", "cccc0002", "\"targetId\":\"cccc0001\",\"replacement\":null");
    text += &entry("label", "cccc0004", "cccc0003", "\"targetId\":\"aaaa0003\",\"label\":\"look here\"");
    text += &said("cccc0005", "cccc0004", "the end");
    text + "torn"
}

#[test]
fn everything_of_note_is_drawn_and_the_rest_is_counted() {
    let bench = Bench::new();
    pi::write(&bench, &of_note());
    bench.migrate(&[]);
    let log = pi::log(&bench);
    assert_eq!(code(&everlog(&["fork", log.to_str().unwrap(), "--at", "bbbb0001", "--name", "mine"])), Some(0));
    let drawn = tree(&log, None, &[]);
    assert_eq!((code(&drawn), stderr(&drawn)), (Some(0), String::new()));
    let wanted = "\
pi session: 16 nodes, 3 heads, 1 branch point, main is active (s1)
● aaaa0001 model change: maker/model
● aaaa0002 user: words 2
● aaaa0003 user: words 3  [look here]
● 4 messages and 1 other entry, user: words 4 … user: words 7
● aaaa0009 user: here it parts  2 branches
├─○ bbbb0001 user: a first way  ◀ mine (fork)
│ ○ bbbb0002 branch summary: what was tried  ◀ bbbb0002
● cccc0001 user: the other way
● cccc0002 compaction: in short (keeps from cccc0001 on)
● cccc0003 edit: cccc0001 is left out
● cccc0004 label: look here at aaaa0003
● cccc0005 user: the end  ◀ main (active)
2 damaged places:
  2026-11-15T23-14-50-910Z_s1.jsonl:13 not_json
  2026-11-15T23-14-50-910Z_s1.jsonl:19 not_json
";
    assert_eq!(stdout(&drawn), wanted);
    let all = stdout(&tree(&log, None, &["--all"]));
    assert_eq!(all.lines().count(), 1 + 16 + 3, "{all}");
    assert!(all.contains("\n● aaaa0005 user: words 5\n") && all.contains("\n● aaaa0008 setting change: thinking_level = high\n"), "{all}");
}

#[test]
fn lines_end_where_the_terminal_does() {
    let bench = Bench::new();
    let long = "你好 and a long, long tale ".repeat(30);
    let text = header() + &said("aaaa0001", "", &long) + &said("aaaa0002", "aaaa0001", &long) + &said("bbbb0001", "aaaa0001", &long);
    pi::write(&bench, &text);
    bench.migrate(&[]);
    let log = pi::log(&bench);
    for n in 0..9 {
        everlog(&["fork", log.to_str().unwrap(), "--at", "bbbb0001", "--name", &format!("a-name-of-some-length-{n}")]);
    }
    for (asked, columns) in [(None, 80), (Some("40"), 40), (Some("200"), 200), (Some("nonsense"), 80), (Some("0"), 80), (Some("7"), 7)] {
        let drawn = stdout(&tree(&log, asked, &[]));
        for row in drawn.lines() {
            let width = everlog::report::fitted::columns(row);
            assert!(width <= columns, "{asked:?}: {width} columns: {row}");
        }
        let longest = drawn.lines().map(everlog::report::fitted::columns).max().unwrap();
        // A wide character may leave one column free.
        assert!(longest + 1 >= columns, "{asked:?}: nothing fills the line: {drawn}");
    }
    let wide = stdout(&tree(&log, Some("200"), &[]));
    assert!(wide.contains("◀ main (active), a-name-of-some-length-0 (fork)") && wide.contains("and 6 more"), "{wide}");
}

#[test]
fn nothing_in_a_log_reaches_the_terminal_raw() {
    let bench = Bench::new();
    let evil = "\\u001b[31mred\\u0007\\u009b\\nnext";
    let text = header()
        + &said("aaaa0001", "", evil)
        + &said("b\\u001b[2J", "aaaa0001", evil)
        + &said("cccc0001", "aaaa0001", evil)
        + &entry("label", "cccc0002", "cccc0001", &format!("\"targetId\":\"aaaa0001\",\"label\":\"{evil}\""))
        + &entry("model_change", "cccc0003", "cccc0002", &format!("\"provider\":\"{evil}\",\"modelId\":\"{evil}\""));
    pi::write(&bench, &text.replace("\"role\":\"user\"", "\"role\":\"\\u001b[1mx\""));
    bench.migrate(&[]);
    for more in [&[][..], &["--all"], &["--json"]] {
        let drawn = stdout(&tree(&pi::log(&bench), Some("300"), more));
        let raw = drawn.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(raw, None, "{more:?}: {drawn:?}");
        assert!(drawn.contains("red"), "{more:?}: {drawn}");
    }
    assert!(stdout(&tree(&pi::log(&bench), Some("300"), &[])).contains("\\u{1b}[31mred\\u{7}\\u{9b}\\nnext"));
}

#[test]
fn programs_get_one_object_per_node() {
    let bench = Bench::new();
    pi::write(&bench, &of_note());
    bench.migrate(&[]);
    let done = tree(&pi::log(&bench), None, &["--json"]);
    assert_eq!(code(&done), Some(0));
    let rows: Vec<Value> = stdout(&done).lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    assert_eq!(rows.len(), 16);
    let numbers: Vec<u64> = rows.iter().map(|row| row["seq"].as_u64().unwrap()).collect();
    assert!(numbers.is_sorted());
    let by_id = |id: &str| rows.iter().find(|row| row["id"] == id).unwrap_or_else(|| panic!("{id} is missing"));
    let labelled = by_id("aaaa0003");
    assert_eq!((&labelled["kind"], &labelled["role"], &labelled["text"]), (&"message".into(), &"user".into(), &"words 3".into()));
    assert_eq!(labelled["labels"], serde_json::json!(["look here"]));
    assert_eq!(labelled["parent"], by_id("aaaa0002")["seq"]);
    assert!(labelled.get("heads").is_none());
    assert_eq!(by_id("cccc0005")["heads"], serde_json::json!(["branch:main"]));
    assert_eq!(by_id("cccc0005")["active"], true);
    assert_eq!((&by_id("cccc0002")["kind"], by_id("cccc0002").get("role")), (&"compaction".into(), None));
    assert_eq!(by_id("bbbb0002")["heads"], serde_json::json!(["branch:bbbb0002"]));
}

#[test]
fn ids_are_shown_so_that_they_can_be_typed() {
    let bench = Bench::new();
    // Two that begin alike, one that does not, one twice, one like a number.
    let (alike, other, own) = ("01a1e17d-f59d-7370", "01a1e17d-0000-1111", "99999999-aaaa-bbbb");
    let text = header()
        + &said(alike, "", "a")
        + &said(other, alike, "b")
        + &said(own, other, "c")
        + &said("twice", own, "d")
        + &said("twice", "twice", "e")
        + &said("#3", "twice", "f");
    pi::write(&bench, &text);
    bench.migrate(&[]);
    let log = pi::log(&bench);
    let all = stdout(&tree(&log, None, &["--all"]));
    let mut checked = 0;
    for row in all.lines().skip(1) {
        let mut words = row.split_whitespace().skip(1);
        let (id, text) = (words.next().unwrap(), words.nth(1).unwrap());
        let path = stdout(&everlog(&["replay", log.to_str().unwrap(), "--leaf", id]));
        let last: Value = serde_json::from_str(path.lines().last().unwrap_or_else(|| panic!("{id} finds nothing: {all}"))).unwrap();
        assert_eq!(last["payload"]["content"][0]["text"], text, "{id}: {all}");
        checked += 1;
    }
    assert_eq!(checked, 6, "{all}");
    assert!(all.contains("● 99999999 user: c") && all.contains(" twice user: e"), "{all}");
}

#[test]
fn repeats_and_lists_without_ids_are_drawn_too() {
    let bench = Bench::new();
    let folder = bench.conversation("chat", &lines(6));
    fs::create_dir(folder.join("branches")).unwrap();
    let edited = lines(6).replace("message 2", "another");
    fs::write(folder.join("branches/alt.jsonl"), edited).unwrap();
    fs::write(folder.join("branches/bare.jsonl"), "").unwrap();
    bench.migrate(&[]);
    let drawn = stdout(&tree(&bench.log("chat"), None, &[]));
    let wanted = "\
gptme session: 8 nodes, 3 heads, 1 branch point, main is active (chat)
○ before the first entry  ◀ bare
● #2 user: message 0
● #3 user: message 1  2 branches
├─○ #9 user: another
│ ○ #10 repeat: #5 to #7, user: message 5  ◀ alt
● 3 messages, user: message 2 … user: message 4
● #7 user: message 5  ◀ main (active)
";
    assert_eq!(drawn, wanted);
    // A run that ends in what is repeated counts what that stands for.
    fs::write(folder.join("branches/alt.jsonl"), lines(6).replace("message 2", "another") + &line("user", "behind", 59)).unwrap();
    bench.migrate(&[]);
    let drawn = stdout(&tree(&bench.log("chat"), None, &[]));
    assert!(drawn.contains("├─○ 4 messages, user: another … user: message 5\n│ ○ #11 user: behind  ◀ alt\n"), "{drawn}");
}

/// Where lines go that a test wants to look at.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Vec<u8>>>);

impl Write for Kept {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn colours_change_nothing_but_colours() {
    let bench = Bench::new();
    pi::write(&bench, &of_note());
    bench.migrate(&[]);
    let drawn = |colours| {
        let kept = Kept::default();
        let job = TreeJob { log: pi::log(&bench), nodes: Nodes::OfNote, terminal: Terminal { columns: 60, edge: Edge::Hard } };
        let streams = Streams { stdout: Stream::Terminal(colours), ..Streams::DATA };
        everlog::commands::tree::run(&job, &Printer::to(Box::new(kept.clone()), Form::Text, Talk::Usual).on(streams)).unwrap();
        String::from_utf8(kept.0.lock().unwrap().clone()).unwrap()
    };
    let (plain, coloured) = (drawn(Colours::None), drawn(Colours::Shown));
    assert!(!plain.contains('\u{1b}') && coloured.contains("\u{1b}[1;32m"));
    let mut without = String::new();
    for (n, piece) in coloured.split("\u{1b}[").enumerate() {
        without.push_str(if n == 0 { piece } else { piece.split_once('m').unwrap().1 });
    }
    assert_eq!(without, plain);
    // A pipe is not a terminal.
    assert!(!stdout(&tree(&pi::log(&bench), None, &[])).contains('\u{1b}'));
}

#[test]
fn a_log_that_is_not_whole_is_drawn_and_said_to_be_none() {
    let bench = Bench::new();
    bench.conversation("chat", &lines(3));
    bench.migrate(&[]);
    let log = bench.log("chat");
    let good = fs::read_to_string(&log).unwrap();
    fs::write(&log, good.replace("message 1", "message X")).unwrap();
    let drawn = tree(&log, None, &[]);
    assert_eq!(code(&drawn), Some(1));
    assert!(stderr(&drawn).contains("altered since it was sealed") && stdout(&drawn).contains("3 nodes"), "{}", stdout(&drawn));
    fs::write(&log, "nothing of the kind\n").unwrap();
    assert_eq!(code(&tree(&log, None, &[])), Some(2));
    assert_eq!(code(&everlog(&["tree", "/nowhere"])), Some(2));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let bench = Bench::new();
    let log = bench.path("large.everlog.jsonl");
    fs::write(&log, large_log(20_000)).unwrap();
    for more in [&["--all"][..], &["--json"]] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_everlog"))
            .arg("tree")
            .arg(&log)
            .args(more)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(child.stdout.take());
        let done = child.wait_with_output().unwrap();
        assert_eq!((code(&done), stderr(&done)), (Some(0), String::new()), "{more:?}");
    }
}

#[test]
fn a_drawing_of_200_000_nodes_stays_narrow() {
    let bench = Bench::new();
    let log = bench.path("large.everlog.jsonl");
    fs::write(&log, large_log(200_000)).unwrap();
    let drawn = stdout(&everlog(&["tree", log.to_str().unwrap()]));
    assert!(drawn.starts_with("pi session: 200,000 nodes, 1,001 heads"), "{}", drawn.lines().next().unwrap());
    // Branches are nested by halves, so depth grows with the logarithm.
    let deepest = drawn.lines().map(|row| row.matches('│').count()).max().unwrap();
    assert!(deepest <= 18, "{deepest} levels");
}
