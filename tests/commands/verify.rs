//! `everlog verify`: what is checked, what is chosen, and what is said of it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use support::bench::{Bench, code, line, lines};
use support::forged::sealed;
use support::{everlog, set_mtime, stderr, stdout};

fn verify(bench: &Bench, more: &[&str]) -> Output {
    everlog(&[&["verify", bench.dest().to_str().unwrap()], more].concat())
}

/// The objects of `--json`: those of logs, and the summary.
fn json(bench: &Bench, more: &[&str]) -> (Vec<Value>, Value, Option<i32>) {
    let done = verify(bench, &[&["--json"], more].concat());
    let mut rows: Vec<Value> = stdout(&done).lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    let summary = rows.pop().unwrap_or_else(|| panic!("{}", stderr(&done)))["summary"].clone();
    (rows, summary, code(&done))
}

fn verdicts(bench: &Bench, more: &[&str]) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    json(bench, more).0.iter().map(|row| (text(&row["session"]), text(&row["verdict"]))).collect()
}

fn pair(session: &str, verdict: &str) -> (String, String) {
    (session.to_owned(), verdict.to_owned())
}

/// Three sessions: `a`, `b` and `sub/c`.
fn three() -> Bench {
    let bench = Bench::new();
    for name in ["a", "b", "sub/c"] {
        bench.conversation(name, &lines(3));
    }
    assert_eq!(code(&bench.migrate(&[])), Some(0));
    bench
}

fn replace_in(path: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(path).unwrap();
    assert!(text.contains(from), "{text}");
    fs::write(path, text.replacen(from, to, 1)).unwrap();
}

/// Puts a true seal after an altered log.
fn sealed_again(path: &Path) {
    let text = fs::read_to_string(path).unwrap();
    let body: Vec<String> = text.lines().filter(|line| !line.contains("\"type\":\"seal\"")).map(str::to_owned).collect();
    fs::write(path, sealed(&body)).unwrap();
}

#[test]
fn sources_and_logs_that_lack_each_other_are_told_apart() {
    let bench = three();
    let source = bench.source();
    let against = ["--source", source.to_str().unwrap()];
    fs::remove_dir_all(source.join("a")).unwrap();
    replace_in(&source.join("b/conversation.jsonl"), "message 1", "message one");
    bench.conversation("new", &lines(1));
    let (rows, summary, exit) = json(&bench, &against);
    let expected = [pair("a", "no_source"), pair("b", "source_changed"), pair("new", "no_log"), pair("sub/c", "same")];
    assert_eq!(verdicts(&bench, &against), expected);
    assert_eq!((exit, summary["exit"].as_u64()), (Some(1), Some(1)));
    assert_eq!((summary["logs"].as_u64(), summary["verdicts"]["no_log"].as_u64()), (Some(3), Some(1)));
    let difference = &rows[1]["differences"][0];
    assert!(difference["file"].as_str().unwrap().ends_with("logs/b/conversation.jsonl"), "{difference}");
    assert_eq!((difference["line"].as_u64(), difference["byte"].as_u64(), difference["log_line"].as_u64()), (Some(2), Some(38), Some(3)));
    // A source that is gone is not a difference, unless one is strict.
    let only = |name| [&against[..], &["--include", name]].concat();
    assert_eq!(code(&verify(&bench, &only("a"))), Some(0));
    assert_eq!(code(&verify(&bench, &[&only("a")[..], &["--strict"]].concat())), Some(1));
    let said = stdout(&verify(&bench, &against));
    assert!(
        said.contains("3 logs checked against their source: 1 the same, 1 without source, 1 with a changed source, 1 without log"),
        "{said}"
    );
}

#[test]
fn a_session_that_its_program_no_longer_recognises_has_changed() {
    let bench = Bench::new();
    let source = bench.source();
    fs::create_dir_all(&source).unwrap();
    let times = "\"created\":\"2026-01-01T00:00:00Z\",\"updated\":\"2026-01-01T00:00:00Z\"";
    for key in ["a", "b"] {
        let text = format!("{{\"key\":\"{key}\",\"messages\":[{{\"role\":\"user\",\"content\":\"hi\"}}],{times}}}");
        fs::write(source.join(format!("{key}.json")), text).unwrap();
    }
    bench.migrate(&[]);
    let against = ["--source", source.to_str().unwrap()];
    assert_eq!(verdicts(&bench, &against), [pair("a.json", "same"), pair("b.json", "same")]);
    fs::write(source.join("a.json"), "no session at all\n").unwrap();
    let (rows, _, exit) = json(&bench, &against);
    assert_eq!((exit, rows[0]["verdict"].as_str()), (Some(1), Some("source_changed")), "{rows:?}");
    assert_eq!(rows[0]["differences"][0]["file"].as_str(), source.join("a.json").to_str());
    fs::remove_file(source.join("a.json")).unwrap();
    assert_eq!(verdicts(&bench, &against), [pair("a.json", "no_source"), pair("b.json", "same")]);
}

#[test]
fn each_level_sees_what_it_should() {
    let bench = three();
    let level = |level: &str| code(&everlog(&["verify", bench.log("a").to_str().unwrap(), "--level", level])).unwrap();
    let good = fs::read_to_string(bench.log("a")).unwrap();
    assert_eq!([level("seal"), level("restore"), level("full")], [0, 0, 0]);
    // A receipt would tell at every level that a log is another one.
    fs::remove_dir_all(bench.dest().join(".everlog")).unwrap();
    // A byte that no longer has the hash of the seal: every level.
    replace_in(&bench.log("a"), "message 1", "message X");
    assert_eq!([level("seal"), level("restore"), level("full")], [1, 1, 1]);
    // Sealed again: only what rebuilds or replays can tell.
    sealed_again(&bench.log("a"));
    assert_eq!([level("seal"), level("restore"), level("full")], [0, 1, 1]);
    // A checkpoint that lies: only replay asks it.
    fs::write(bench.log("a"), good).unwrap();
    replace_in(&bench.log("a"), "\"heads\":{\"branch:main\":4", "\"heads\":{\"branch:main\":3");
    sealed_again(&bench.log("a"));
    assert_eq!([level("seal"), level("restore"), level("full")], [0, 0, 1]);
    let refused = verify(&bench, &["--level", "everything"]);
    assert_eq!(code(&refused), Some(2));
}

#[test]
fn a_seal_that_names_another_checkpoint_is_broken() {
    let bench = three();
    let log = fs::read_to_string(bench.log("a")).unwrap();
    let at = log.rfind("\"checkpoint\":").unwrap() + "\"checkpoint\":".len();
    fs::write(bench.log("a"), format!("{}9{}", &log[..at], &log[at..])).unwrap();
    for level in ["seal", "full"] {
        let done = verify(&bench, &["--level", level]);
        assert_eq!(code(&done), Some(1), "{level}");
        assert!(stderr(&done).contains("not those that were sealed"), "{}", stderr(&done));
    }
}

#[test]
fn sessions_are_chosen_by_name_time_and_sample() {
    let bench = three();
    let names = |more: &[&str]| verdicts(&bench, more).into_iter().map(|(name, _)| name).collect::<Vec<_>>();
    assert_eq!(names(&["--include", "sub/*"]), ["sub/c"]);
    assert_eq!(names(&["--exclude", "a"]), ["b", "sub/c"]);
    set_mtime(&bench.log("a"), 1_000_000_000_000_000_000);
    assert_eq!(names(&["--since", "2020-01-01"]), ["b", "sub/c"]);
    assert_eq!(names(&["--since", "2200-01-01"]), [""; 0]);
    // With a source its files count too.
    let source = bench.source();
    assert_eq!(names(&["--since", "2020-01-01", "--source", source.to_str().unwrap()]), ["a", "b", "sub/c"]);
    let some = names(&["--sample", "34%"]);
    assert!(!some.is_empty() && some.len() < 3 && some == names(&["--sample", "34%"]), "{some:?}");
    assert_eq!(names(&["--sample", "100%"]).len(), 3);
    for wrong in [["--sample", "34"], ["--include", "nothing-like-it"]] {
        let done = verify(&bench, &wrong);
        assert_eq!(code(&done), Some(2), "{wrong:?}");
        assert!(stderr(&done).contains("error: "), "{}", stderr(&done));
    }
}

#[test]
fn earlier_logs_are_checked_and_counted_apart() {
    let bench = Bench::new();
    let folder = bench.conversation("chat", &lines(5));
    bench.migrate(&[]);
    fs::write(folder.join("conversation.jsonl"), lines(2)).unwrap();
    bench.migrate(&[]);
    let (rows, summary, exit) = json(&bench, &[]);
    assert_eq!((exit, summary["logs"].as_u64(), summary["earlier"].as_u64()), (Some(0), Some(1), Some(1)));
    assert_eq!(
        (rows[1]["kept"].as_str(), rows[1]["session"].as_str(), rows[1]["messages"].as_u64()),
        (Some("earlier"), Some("chat"), Some(5))
    );
    assert!(stdout(&verify(&bench, &[])).contains("; 1 earlier log: 1 the same;"), "{}", stdout(&verify(&bench, &[])));
    let kept = bench.dest().join(rows[1]["log"].as_str().unwrap());
    replace_in(&kept, "message 4", "message X");
    assert_eq!(verdicts(&bench, &[]), [pair("chat", "same"), pair("chat", "differs")]);
    assert_eq!(code(&verify(&bench, &[])), Some(1));
}

#[test]
fn an_earlier_log_that_was_broken_when_it_was_kept_is_no_difference() {
    let bench = Bench::new();
    bench.conversation("chat", &lines(5));
    bench.migrate(&[]);
    replace_in(&bench.log("chat"), "message 4", "message X");
    bench.migrate(&["--rehash"]);
    assert_eq!(verdicts(&bench, &[]), [pair("chat", "same"), pair("chat", "kept_damaged")]);
    assert_eq!((code(&verify(&bench, &[])), code(&verify(&bench, &["--strict"]))), (Some(0), Some(1)));
    // Altered since, it is one.
    let kept = json(&bench, &[]).0[1]["log"].as_str().unwrap().to_owned();
    replace_in(&bench.dest().join(kept), "message X", "message Y");
    assert_eq!(code(&verify(&bench, &[])), Some(1));
}

#[test]
fn what_cannot_be_read_exits_2_and_the_others_are_checked() {
    use std::os::unix::fs::symlink;
    let bench = three();
    replace_in(&bench.log("a"), "\"version\":1", "\"version\":9");
    let junit = bench.path("report.xml");
    let (rows, _, exit) = json(&bench, &["--junit", junit.to_str().unwrap(), "--github"]);
    assert_eq!((exit, rows.len(), rows[0]["verdict"].as_str()), (Some(2), 3, Some("unreadable")));
    assert!(rows[0]["error"].as_str().unwrap().contains("newer") && rows[0]["hint"].as_str().unwrap().contains("upgrade"), "{}", rows[0]);
    let xml = fs::read_to_string(&junit).unwrap();
    assert!(
        xml.contains("failures=\"0\" errors=\"1\"") && xml.contains("<error type=\"unreadable\" message=\"") && xml.contains("newer"),
        "{xml}"
    );
    let annotated = stderr(&verify(&bench, &["--json", "--github"]));
    assert!(annotated.contains("a.everlog.jsonl,title=everlog%3A unreadable::"), "{annotated}");
    // A line that is not an event was read, and is damaged.
    fs::write(bench.log("a"), "{}\n").unwrap();
    assert_eq!(verdicts(&bench, &["--include", "a"]), [pair("a", "damaged")]);
    assert_eq!(code(&verify(&bench, &[])), Some(1));
    fs::remove_file(bench.log("a")).unwrap();
    symlink("nowhere", bench.log("a")).unwrap();
    assert_eq!(code(&everlog(&["verify", bench.log("a").to_str().unwrap()])), Some(2));
}

#[test]
fn a_broken_seal_is_traced_to_its_line() {
    let bench = three();
    replace_in(&bench.log("a"), "message 1", "message X");
    let (rows, ..) = json(&bench, &["--include", "a"]);
    let lines: Vec<Option<u64>> = rows[0]["differences"].as_array().unwrap().iter().map(|found| found["line"].as_u64()).collect();
    let file_line =
        fs::read_to_string(bench.log("a")).unwrap().lines().position(|line| line.contains("\"type\":\"file\"")).unwrap() as u64 + 1;
    let seal_line = fs::read_to_string(bench.log("a")).unwrap().lines().count() as u64;
    assert_eq!(lines, [Some(seal_line), Some(file_line)]);
    let source = bench.source();
    let (rows, ..) = json(&bench, &["--include", "a", "--source", source.to_str().unwrap()]);
    let altered = &rows[0]["differences"][1];
    let log = fs::read_to_string(bench.log("a")).unwrap();
    let byte = log.lines().nth(2).unwrap().find('X').unwrap() as u64 + 1;
    assert_eq!((altered["line"].as_u64(), altered["byte"].as_u64()), (Some(3), Some(byte)));
    assert_eq!(rows[0]["verdict"].as_str(), Some("differs"));
    assert!(altered["detail"].as_str().unwrap().contains("message X"), "{altered}");
}

#[test]
fn differences_are_limited_and_may_be_kept_silent() {
    let bench = Bench::new();
    let folder = bench.conversation("chat", &lines(40));
    bench.migrate(&[]);
    let changed: String = (0..40).map(|n| line("user", &format!("secret {n}"), n)).collect();
    fs::write(folder.join("conversation.jsonl"), format!("{changed}{}", "x".repeat(3_000_000))).unwrap();
    let source = bench.source();
    let against = |more: &[&str]| stderr(&verify(&bench, &[&["--source", source.to_str().unwrap()], more].concat()));
    let said = against(&[]);
    assert!(said.len() < 2_000 && said.contains("secret 0"), "{} bytes", said.len());
    assert!(said.contains("40 more lines in this file differ"), "{said}");
    assert!(!said.contains('\u{1b}'), "colours without a terminal");
    let short = against(&["--context", "4"]);
    assert!(short.len() < said.len() && short.contains("  - …\": \"secre…"), "{short}");
    let silent = against(&["--no-content"]);
    assert!(!silent.contains("secret") && silent.contains("chat/conversation.jsonl:1:30"), "{silent}");
    fs::write(folder.join("stderr.log"), "x").unwrap();
    fs::write(folder.join("tui.log"), "x").unwrap();
    assert!(against(&["--max-diffs", "1"]).contains("and 2 more differences in chat.everlog.jsonl"), "{}", against(&["--max-diffs", "1"]));
}

#[test]
fn findings_count_and_are_annotated_where_one_is_strict() {
    let bench = Bench::new();
    bench.conversation("torn", &format!("{}{{\"role\": \"us", lines(2)));
    bench.migrate(&[]);
    let source = bench.source();
    let strict = ["--source", source.to_str().unwrap(), "--strict", "--github"];
    let done = verify(&bench, &strict);
    assert_eq!((code(&verify(&bench, &strict[..2])), code(&done)), (Some(0), Some(1)));
    assert!(
        stdout(&done).contains("::warning file=")
            && stdout(&done).contains("torn/conversation.jsonl,line=3,col=13,title=everlog%3A torn_tail::"),
        "{}",
        stdout(&done)
    );
    assert!(stderr(&done).contains("torn/conversation.jsonl:3:13"), "{}", stderr(&done));
}

#[test]
fn github_gets_paths_from_the_top_of_the_repository_and_a_summary() {
    let bench = three();
    replace_in(&bench.log("sub/c"), "\"seq\":3,", "\"seq\":4,");
    let summary = bench.path("summary.md");
    fs::write(&summary, "before\n").unwrap();
    let done = Command::new(env!("CARGO_BIN_EXE_everlog"))
        .args(["verify", "logs.everlog", "--github"])
        .current_dir(bench.scratch.path())
        .env("GITHUB_WORKSPACE", bench.scratch.path())
        .env("GITHUB_STEP_SUMMARY", &summary)
        .output()
        .unwrap();
    let annotations: Vec<String> = stdout(&done).lines().filter(|line| line.starts_with("::")).map(str::to_owned).collect();
    assert_eq!(annotations, ["::error file=logs.everlog/sub/c.everlog.jsonl,line=3,col=1,title=everlog%3A damaged::line 3 has seq 4"]);
    let written = fs::read_to_string(&summary).unwrap();
    assert!(written.starts_with("before\n### everlog verify\n\n3 logs checked alone: 2 the same, 1 damaged"), "{written}");
    assert!(written.contains("| sub/c | damaged | line 3 has seq 4 | logs.everlog/sub/c.everlog.jsonl:3:1 |"), "{written}");
}

#[test]
fn a_state_that_never_was_is_refused_with_the_ones_that_were() {
    let bench = three();
    let log = bench.log("a");
    for at in ["0", "999999"] {
        let done = everlog(&["replay", log.to_str().unwrap(), "--at", at]);
        assert_eq!((code(&done), stdout(&done)), (Some(2), String::new()));
        assert!(stderr(&done).contains(&format!("no state after event {at}: its events are 1 to ")), "{}", stderr(&done));
    }
    assert_eq!(stdout(&everlog(&["replay", log.to_str().unwrap(), "--at", "2"])).lines().count(), 1);
}

#[test]
fn a_log_that_was_written_and_is_gone_is_missed() {
    use std::os::unix::fs::symlink;
    let bench = three();
    let (log, aside) = (bench.log("sub/c"), bench.path("aside"));
    fs::rename(&log, &aside).unwrap();
    let gone = [pair("a", "same"), pair("b", "same"), pair("sub/c", "log_gone")];
    assert_eq!(verdicts(&bench, &[]), gone);
    let source = bench.source();
    assert_eq!(verdicts(&bench, &["--source", source.to_str().unwrap()]), gone);
    let junit = bench.path("report.xml");
    let done = verify(&bench, &["--github", "--junit", junit.to_str().unwrap()]);
    assert_eq!(code(&done), Some(1));
    assert!(stdout(&done).contains("2 logs checked alone: 2 the same, 1 gone"), "{}", stdout(&done));
    assert!(stdout(&done).contains("sub/c.everlog.jsonl,title=everlog%3A gone::a log was written here"), "{}", stdout(&done));
    assert!(stderr(&done).contains(&format!("and is gone\n  at {}\nhint: ", log.display())), "{}", stderr(&done));
    assert!(fs::read_to_string(&junit).unwrap().contains("<failure type=\"log_gone\""));
    // Something else in its place is not a log.
    fs::create_dir(&log).unwrap();
    assert_eq!(verdicts(&bench, &[]), gone);
    fs::remove_dir(&log).unwrap();
    symlink(&aside, &log).unwrap();
    assert_eq!(verdicts(&bench, &[]), gone);
    fs::remove_file(&log).unwrap();
    assert!(Command::new("mkfifo").arg(&log).status().unwrap().success());
    assert_eq!(verdicts(&bench, &[]), gone);
    // Nobody who asks for others is told.
    assert_eq!(verdicts(&bench, &["--exclude", "sub/*"]), gone[..2]);
    assert_eq!(code(&everlog(&["verify", bench.log("a").to_str().unwrap()])), Some(0));
    ["a", "b"].iter().for_each(|name| fs::remove_file(bench.log(name)).unwrap());
    assert_eq!(json(&bench, &[]).1["verdicts"]["log_gone"].as_u64(), Some(3));
}

#[test]
fn only_what_was_asked_for_is_judged() {
    let bench = three();
    bench.conversation("sub/d", &lines(1));
    bench.migrate(&[]);
    let (source, kept) = (bench.source(), bench.path("golden"));
    let (source, kept) = (source.to_str().unwrap(), kept.to_str().unwrap());
    let keep = |logs: &Path| everlog(&["replay", logs.to_str().unwrap(), "--all", "--out", kept]);
    keep(&bench.dest());
    let rows = |logs: &Path, more: &[&str]| {
        let done = everlog(&[&["verify", logs.to_str().unwrap(), "--json"], more].concat());
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let rows = stdout(&done).lines().map(|row| serde_json::from_str::<Value>(row).unwrap()).collect::<Vec<_>>();
        rows.iter().filter(|row| row["summary"].is_null()).map(|row| (text(&row["log"]), text(&row["verdict"]))).collect::<Vec<_>>()
    };
    let (c, d) = ("sub/c.everlog.jsonl", "sub/d.everlog.jsonl");
    let part = bench.dest().join("sub");
    for against in [["--source", source], ["--golden", kept]] {
        assert_eq!(rows(&bench.log("sub/c"), &against), [pair(c, "same")], "{against:?}");
        assert_eq!(rows(&part, &against), [pair(c, "same"), pair(d, "same")], "{against:?}");
    }
    // A source may be the same part.
    let same_part = bench.source().join("sub");
    assert_eq!(rows(&part, &["--source", same_part.to_str().unwrap()]), [pair(c, "same"), pair(d, "same")]);
    // Replays of a part are kept under the names that they have in the whole.
    assert!(stdout(&keep(&part)).contains("2 replays kept") && stdout(&keep(&part)).contains("0 written, 2 unchanged"));
    assert!(!stderr(&keep(&part)).contains("has no log"), "{}", stderr(&keep(&part)));
    fs::remove_file(bench.log("sub/d")).unwrap();
    assert_eq!(rows(&part, &["--source", source, "--golden", kept]), [pair(c, "same"), pair(d, "log_gone")]);
}

#[test]
fn a_session_that_only_the_source_has_is_told_of_whatever_is_chosen() {
    let bench = three();
    bench.conversation("new", &lines(1));
    let source = bench.source();
    let against = ["--source", source.to_str().unwrap()];
    assert_eq!(verdicts(&bench, &[&against[..], &["--include", "new"]].concat()), [pair("new", "no_log")]);
    assert_eq!(code(&verify(&bench, &[&against[..], &["--include", "neither"]].concat())), Some(2));
    fs::remove_dir_all(bench.dest()).unwrap();
    fs::create_dir(bench.dest()).unwrap();
    assert_eq!(code(&verify(&bench, &[])), Some(2));
    let (rows, summary, exit) = json(&bench, &against);
    assert_eq!((rows.len(), summary["verdicts"]["no_log"].as_u64(), exit), (4, Some(4), Some(1)));
}

#[test]
fn what_neither_files_nor_messages_need_cannot_be_forged_beside_the_source() {
    let bench = Bench::with_tour();
    bench.migrate(&[]);
    let source = bench.source();
    let name = "2026-03-05-writing-gentle-finch";
    let against = ["--source", source.to_str().unwrap(), "--include", name];
    let good = fs::read_to_string(bench.log(name)).unwrap();
    // A fork after the first seal is ours.
    let forked = everlog(&["fork", bench.log(name).to_str().unwrap(), "--at", "#2", "--name", "mine"]);
    assert_eq!(code(&forked), Some(0), "{}", stderr(&forked));
    assert_ne!(fs::read_to_string(bench.log(name)).unwrap(), good);
    assert_eq!(verdicts(&bench, &against), [pair(name, "same")]);
    let receipts = bench.dest().join(".everlog/receipts.jsonl");
    let noted = fs::read(&receipts).unwrap();
    fs::remove_file(&receipts).unwrap();
    assert_eq!(verdicts(&bench, &against), [pair(name, "same")]);
    fs::write(bench.log(name), &good).unwrap();
    // As long as before: checkpoints know where lines begin.
    let title = good.find("\"title\":\"").unwrap() + "\"title\":\"".len();
    fs::write(bench.log(name), format!("{}~{}", &good[..title], &good[title + 1..])).unwrap();
    sealed_again(&bench.log(name));
    for receipt in [false, true] {
        if receipt {
            fs::write(&receipts, &noted).unwrap();
        }
        let (rows, _, exit) = json(&bench, &against);
        assert_eq!((exit, rows[0]["verdict"].as_str()), (Some(1), Some("differs")), "{rows:?}");
        let found = &rows[0]["differences"][0];
        assert_eq!((found["line"].as_u64(), found["byte"].as_u64()), (Some(1), Some(title as u64 + 1)), "{found}");
    }
    // An older receipt beside a log that the source gives is not a difference.
    fs::write(bench.log(name), &good).unwrap();
    let other = String::from_utf8(noted).unwrap().replace("\"log_sha256\":\"", "\"log_sha256\":\"0");
    fs::write(&receipts, support::forged::summed(&other)).unwrap();
    assert_eq!(verdicts(&bench, &against), [pair(name, "same")]);
}

#[test]
fn logs_without_their_store_are_not_called_complete() {
    let bench = Bench::with_tour();
    bench.migrate(&[]);
    let store = bench.dest();
    let said = stdout(&everlog(&["verify", store.to_str().unwrap()]));
    let root = said[said.find("root ").unwrap() + 5..][..64].to_owned();
    fs::remove_dir_all(store.join(".everlog")).unwrap();
    let pinned = everlog(&["verify", store.to_str().unwrap(), "--root", &root]);
    assert_eq!(code(&pinned), Some(0), "{}{}", stdout(&pinned), stderr(&pinned));
    fs::remove_file(bench.log("2026-03-09-sowing-early-robin")).unwrap();
    let blind = everlog(&["verify", store.to_str().unwrap()]);
    assert_eq!(code(&blind), Some(1), "{}", stdout(&blind));
    assert!(stderr(&blind).contains("nothing says which other logs there should be"), "{}", stderr(&blind));
    assert_eq!(code(&everlog(&["verify", store.to_str().unwrap(), "--root", &root])), Some(1));
    // One log by itself is all that was asked for.
    let one = everlog(&["verify", bench.log("2026-03-05-writing-gentle-finch").to_str().unwrap()]);
    assert_eq!(code(&one), Some(0), "{}", stderr(&one));
}

#[test]
fn a_folder_of_the_source_that_cannot_be_read_is_not_gone() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    bench.conversation("chat", &lines(2));
    let closed = bench.conversation("closed", &lines(2));
    bench.migrate(&[]);
    let Some(nobody) = support::unprivileged::unprivileged(bench.scratch.path()) else { return };
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
    let done = (nobody.run)(&["verify", bench.dest().to_str().unwrap(), "--source", bench.source().to_str().unwrap()]);
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).unwrap();
    let said = stdout(&done) + &stderr(&done);
    assert_eq!(code(&done), Some(2), "{said}");
    assert!(!said.contains("no longer has this session") && said.contains("closed"), "{said}");
}

#[test]
fn a_source_whose_only_session_cannot_be_read_is_named() {
    use std::os::unix::fs::PermissionsExt;
    let bench = Bench::new();
    let folder = bench.source().join("--home-ada--");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("2026-03-08T10-14-00-711Z_0197c0de-003d-7a1e-8b0b-5e5510900061.jsonl");
    fs::write(&file, "{}\n").unwrap();
    let Some(nobody) = support::unprivileged::unprivileged(bench.scratch.path()) else { return };
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    for command in ["migrate", "audit"] {
        let done = (nobody.run)(&[command, bench.source().to_str().unwrap()]);
        assert_ne!(code(&done), Some(0));
        assert!(stderr(&done).contains("5e5510900061.jsonl") && stderr(&done).contains("cannot be read"), "{command}: {}", stderr(&done));
    }
}
