//! Prune between other commands: what each leaves to the next.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use everlog::commands::prune::{Action, Copies};
use everlog::model::retention::{Policy, Rule};
use everlog::report::ExitStatus;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;
use support::prune::{Bench, DAY_NS, Last, Run, Seen, Turn, bytes_of, read, session, shard, turn_line, write_aged};
use support::webui::Folder;
use support::{copy_tree, everlog, set_mtime, stderr, stdout, tree};
use tempfile::TempDir;

/// A source long ago, and its store.
struct Place {
    _scratch: TempDir,
    source: PathBuf,
    dest: PathBuf,
}

impl Place {
    /// A copy of a fixture.
    fn of(name: &str) -> Place {
        let place = Place::empty();
        copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures").join(name).join("input"), &place.source);
        place
    }

    fn empty() -> Place {
        let scratch = TempDir::new().unwrap();
        let (source, dest) = (scratch.path().join("source"), scratch.path().join("dest"));
        fs::create_dir(&source).unwrap();
        Place { _scratch: scratch, source, dest }
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.source.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        set_mtime(&path, 1_700_000_000_000_000_000);
    }

    fn run(&self, command: &str, words: &[&str]) -> Output {
        let (source, dest) = (self.source.display().to_string(), self.dest.display().to_string());
        everlog(&[&[command, &source, "-o", &dest], words].concat())
    }

    fn migrate(&self, words: &[&str]) -> Output {
        let said = self.run("migrate", words);
        assert!(said.status.code() < Some(2), "{}", stderr(&said));
        said
    }

    /// Prunes in the year 2030.
    fn prune(&self, words: &[&str]) -> Output {
        self.run("prune", &[&["--now", "2030-01-01T00:00:00Z"], words].concat())
    }

    fn lose_receipts(&self) {
        fs::remove_file(self.dest.join(".everlog/receipts.jsonl")).unwrap();
    }
}

/// Prune, migrate twice, undo: the only copy must outlive the migrations.
fn comes_back(place: &Place) {
    place.migrate(&[]);
    let before = tree(&place.source);
    place.prune(&["--apply"]);
    assert!(tree(&place.source) != before, "nothing went: {}", stdout(&place.prune(&[])));
    let said = place.migrate(&[]);
    assert_eq!(said.status.code(), Some(0), "{}{}", stdout(&said), stderr(&said));
    place.lose_receipts();
    place.migrate(&[]);
    let back = place.run("prune", &["--undo"]);
    assert_eq!(back.status.code(), Some(0), "{}", stderr(&back));
    assert!(tree(&place.source) == before, "not as before");
    // What is back is in the log again: nothing more is kept for it.
    place.migrate(&[]);
    let kept: Vec<String> = tree(&place.dest).into_keys().filter(|name| name.contains("earlier/")).collect();
    assert_eq!(kept, [""; 0]);
}

#[test]
fn what_was_pruned_outlives_a_new_log_that_has_all_the_messages() {
    let place = Place::empty();
    // Each message stands in the transcript, in an event, and in the checkpoint.
    let messages: Vec<String> = (10..60)
        .map(|n| format!("{{\"role\": \"user\", \"content\": \"m{n}\", \"timestamp\": \"2023-02-10T07:00:{n}.390054\"}}"))
        .collect();
    let event = |n: usize, kind: &str, payload: &str| {
        format!("{{\"seq\": {n}, \"ts\": \"2023-02-10T07:01:00.5+00:00\", \"type\": \"{kind}\", \"payload\": {{{payload}}}}}\n")
    };
    let mut events: String =
        messages.iter().enumerate().map(|(n, text)| event(n + 1, "message_append", &format!("\"message\": {text}"))).collect();
    events += &event(messages.len() + 1, "checkpoint", &format!("\"messages\": [{}]", messages.join(", ")));
    place.write("counting/conversation.jsonl", &(messages.join("\n") + "\n"));
    place.write("counting/events.jsonl", &events);
    comes_back(&place);
}

/// A Hermes session of which each run repeats the transcript when it is done, and
/// says a message that stands nowhere else.
fn with_transcripts(turns: usize) -> Folder {
    let folder = Folder::new();
    session(&folder, "aaa", &vec![Turn::over(Last::Completed, Seen::Answer, Run::Done); turns]);
    folder.index(&["aaa"]);
    for n in 0..turns {
        let name = format!("_run_journal/aaa/run-aaa-t{n}.jsonl");
        let row = |k: usize| format!("{{\"role\":\"user\",\"content\":\"only run {k} says so\",\"timestamp\":1700000000.5}}");
        let rows = (0..=n).map(row).collect::<Vec<_>>().join(",");
        let (first, last) = read(&folder, &name).split_once('\n').map(|(a, b)| (a.to_owned(), b.to_owned())).unwrap();
        let transcript = format!("\"payload\":{{\"session\":{{\"session_id\":\"aaa\",\"messages\":[{rows}]}}}}");
        let last = last.replace("\"payload\":{\"text\":\"x\"}", &transcript);
        write_aged(&folder, &name, &format!("{first}\n{last}"), 99 - u32::try_from(n).unwrap());
    }
    folder
}

#[test]
fn messages_that_only_a_pruned_run_had_are_no_loss_to_warn_of() {
    for copies in [Copies::InLogs, Copies::GivenUp] {
        let folder = with_transcripts(3);
        let bench = Bench { copies, ..Bench::of(&folder.path(), folder.home()) };
        assert_eq!(bench.migrate(), ExitStatus::Well);
        bench.apply();
        assert!(!folder.path().join("_run_journal/aaa/run-aaa-t0.jsonl").exists());
        assert_eq!(bench.migrate(), ExitStatus::Well, "they were pruned: {copies:?}");
        // What goes otherwise is a loss, even beside many that were pruned.
        folder.write("aaa.json", &read(&folder, "aaa.json").replace("yes aaa-t2", "no"));
        assert_eq!(bench.migrate(), ExitStatus::Found);
    }
}

#[test]
fn one_prune_after_another_with_turns_between_them_is_no_loss() {
    let folder = Folder::new();
    let over = Turn::over(Last::Completed, Seen::Answer, Run::Done);
    session(&folder, "aaa", &[over.clone(), Turn::over(Last::Worker, Seen::Answer, Run::Open), over]);
    folder.index(&["aaa"]);
    let bench = Bench::of(&folder.path(), folder.home());
    let journal = shard("aaa", 0);
    bench.migrate();
    bench.apply();
    assert_eq!(bench.migrate(), ExitStatus::Well);
    // The open turn ends, another one comes, and both are pruned.
    let late: String = ["submitted", "completed"].map(|event| turn_line("aaa", "aaa-t7", event, 1_700_087_100)).concat();
    let end = turn_line("aaa", "aaa-t1", "completed", 1_700_087_000);
    write_aged(&folder, &journal, &format!("{}{end}{late}", read(&folder, &journal)), 95);
    bench.migrate();
    let bench = Bench { now_ns: bench.now_ns + DAY_NS, ..bench };
    assert!(bench.going().contains(&"aaa-t1".to_owned()), "{:?}", bench.plan());
    bench.apply();
    assert_eq!(bench.migrate(), ExitStatus::Well);
}

#[test]
fn a_log_whose_nodes_have_other_numbers_is_no_other_log() {
    let folder = with_transcripts(4);
    let bench = Bench::of(&folder.path(), folder.home());
    let bench = Bench { policy: Policy { keep_last: 1, ..bench.policy }, rules: vec![Rule::RunJournal], ..bench };
    bench.migrate();
    let before = bytes_of(&folder.path());
    bench.apply();
    assert_eq!(bench.migrate(), ExitStatus::Well);
    bench.run(Action::Undo(None)).unwrap();
    assert!(bytes_of(&folder.path()) == before);
    assert_eq!(bench.migrate(), ExitStatus::Well);
    assert!(bytes_of(&bench.dest.join(".everlog/earlier")).is_empty(), "what is whole again needs no other log");
}

#[test]
fn a_loss_is_told_at_the_place_of_its_log() {
    let place = Place::empty();
    let line = |n: u32| format!("{{\"role\":\"user\",\"content\":\"m{n}\",\"created_at\":\"2023-01-01T00:00:0{n}Z\"}}\n");
    let meta = "{\n  \"key\": \"cli:9\",\n  \"summary\": \"\",\n  \"skip\": 0,\n  \"count\": 2,\n  \"created_at\": \"2023-01-01T00:00:00Z\",\n  \"updated_at\": \"2023-01-01T00:00:09Z\"\n}";
    place.write("work/sessions/cli_9.meta.json", meta);
    place.write("work/sessions/cli_9.jsonl", &format!("{}{}", line(1), line(2)));
    place.migrate(&[]);
    place.write("work/sessions/cli_9.jsonl", &line(1));
    let said = stderr(&place.migrate(&[]));
    assert!(said.contains("no longer has 1 message"), "{said}");
    assert!(said.contains("  at work/sessions/cli_9.jsonl.everlog.jsonl\n"), "{said}");
}

#[test]
fn in_no_case_is_what_was_pruned_a_loss() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let folders = |path: &Path| -> Vec<String> {
        let entries = fs::read_dir(path).unwrap().map(|entry| entry.unwrap());
        entries.filter(|entry| entry.path().is_dir()).map(|entry| entry.file_name().into_string().unwrap()).collect()
    };
    let cases = folders(&fixtures).into_iter().flat_map(|format| {
        let cases = folders(&fixtures.join(&format)).into_iter();
        cases.map(move |case| format!("{format}/{case}"))
    });
    let mut pruned = 0;
    for name in cases.filter(|name| fixtures.join(name).join("input").is_dir()) {
        let place = Place::of(&name);
        let first = place.run("migrate", &[]).status.code();
        let before = tree(&place.source);
        place.prune(&["--apply"]);
        if tree(&place.source) == before {
            continue;
        }
        pruned += 1;
        let said = place.run("migrate", &["--json"]);
        assert_eq!(said.status.code(), first, "{name}: {}", stderr(&said));
        assert!(!stdout(&said).contains("source_shrunk"), "{name}: {}", stdout(&said));
        let back = place.run("prune", &["--undo"]);
        assert_eq!(back.status.code(), Some(0), "{name}: {}", stderr(&back));
        assert!(tree(&place.source) == before, "{name} is not as before");
        place.run("migrate", &[]);
        let kept: Vec<String> = tree(&place.dest).into_keys().filter(|name| name.contains("earlier/")).collect();
        assert_eq!(kept, [""; 0], "{name}");
    }
    assert!(pruned > 3, "{pruned} cases of which something went");
}

#[test]
fn hidden_lines_that_are_repeated_further_down_come_back() {
    comes_back(&Place::of("picoclaw/repeats"));
}

#[test]
fn what_was_wrong_with_a_session_still_is_after_it_was_retired() {
    for name in ["hermes-webui/torn_journals", "gptme/torn", "picoclaw/torn"] {
        for receipts in ["there", "lost"] {
            let place = Place::of(name);
            let wrong = everlog(&["audit", &place.source.display().to_string()]);
            assert_eq!(wrong.status.code(), Some(1), "{name}");
            place.migrate(&["--retire"]);
            if receipts == "lost" {
                place.lose_receipts();
            }
            let before = tree(&place.source);
            let retired = before.keys().find(|name| name.ends_with(".migrated")).unwrap();
            let said = stdout(&place.prune(&[]));
            assert!(said.contains("(audit_findings)"), "{name}, receipts {receipts}: {said}");
            let file = place.source.join(retired).display().to_string();
            let case = stdout(&place.prune(&["--explain", &file]));
            assert!(!case.contains("nothing was found"), "{name}, receipts {receipts}: {case}");
        }
    }
}

#[test]
fn a_turn_that_never_ended_keeps_its_session_though_it_was_retired() {
    let place = Place::of("hermes-webui/torn_journals");
    place.migrate(&["--retire"]);
    let before = tree(&place.source);
    let said = place.prune(&["--apply"]);
    assert_eq!(said.status.code(), Some(0), "{}", stderr(&said));
    assert!(tree(&place.source) == before, "{}", stdout(&said));
}

#[test]
fn a_source_whose_last_session_was_pruned_is_no_mistake() {
    let place = Place::of("gptme/tour");
    place.migrate(&["--retire"]);
    place.prune(&["--apply"]);
    for (command, words) in
        [("prune", &[][..]), ("prune", &["--check"]), ("prune", &["--apply"]), ("migrate", &[]), ("migrate", &["--retire"])]
    {
        let said = place.run(command, words);
        assert_eq!(said.status.code(), Some(0), "{command} {words:?}: {}", stderr(&said));
        assert!(stdout(&said).contains("no session is left in"), "{command} {words:?}: {}", stdout(&said));
    }
    // Another source that has none is.
    let other = Place { dest: place.dest.clone(), ..Place::empty() };
    assert_eq!(other.run("prune", &[]).status.code(), Some(2));
    assert_eq!(other.run("migrate", &[]).status.code(), Some(2));
    assert_eq!(place.run("prune", &["--undo"]).status.code(), Some(0));
}

#[test]
fn a_file_that_nobody_knows_who_renamed_stays() {
    let place = Place::of("picoclaw/legacy");
    place.migrate(&[]);
    let old: Vec<String> = tree(&place.source).into_keys().filter(|name| name.ends_with(".json")).collect();
    for name in &old {
        fs::rename(place.source.join(name), place.source.join(format!("{name}.migrated"))).unwrap();
    }
    place.lose_receipts();
    let before = tree(&place.source);
    let said = stdout(&place.prune(&["--apply"]));
    assert!(tree(&place.source) == before, "{said}");
    let said = stdout(&place.prune(&[]));
    assert!(said.contains("nobody can say who renamed it"), "{said}");
}
