//! Old damage: reported once, accepted in a baseline that Git can review, and
//! never a cover for new damage. What a quiet run says, and how findings look.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support::bench::{Bench, code, line, lines};
use crate::support::{copy_tree, everlog, fixtures, stderr, stdout};

use std::fs;
use std::path::PathBuf;
use std::process::Output;

/// A conversation with two broken lines in it.
fn damaged(bench: &Bench) -> PathBuf {
    let text = format!("{}{{\"role\": broken\n{}not JSON at all\n{}", lines(2), line("user", "between", 3), line("user", "after", 4));
    bench.conversation("chat", &text).join("conversation.jsonl")
}

fn audit(bench: &Bench, more: &[&str]) -> Output {
    everlog(&[&["audit", bench.source().to_str().unwrap()], more].concat())
}

fn baseline(bench: &Bench) -> PathBuf {
    bench.dest().join(".everlog/baseline.jsonl")
}

#[test]
fn findings_are_reported_once_and_then_counted() {
    let bench = Bench::new();
    let file = damaged(&bench);
    let first = bench.migrate(&[]);
    assert_eq!(code(&first), Some(1));
    assert!(stderr(&first).contains("[not_json]") && stderr(&first).contains("conversation.jsonl:3"), "{}", stderr(&first));
    let again = bench.migrate(&[]);
    assert_eq!((code(&again), stderr(&again).as_str()), (Some(1), ""));
    assert!(stdout(&again).contains("2 findings (2 reported before; `--all-findings` lists them)"), "{}", stdout(&again));
    assert_eq!(stderr(&bench.migrate(&["--all-findings"])).matches("[not_json]").count(), 2);
    // More messages change the session and not the old findings.
    fs::write(&file, format!("{}{}", fs::read_to_string(&file).unwrap(), line("user", "more", 5))).unwrap();
    let grown = bench.migrate(&[]);
    assert_eq!((code(&grown), stderr(&grown).as_str()), (Some(1), ""), "{}", stdout(&grown));
    // New damage is reported, and only that.
    fs::write(&file, format!("{}broken anew\n", fs::read_to_string(&file).unwrap())).unwrap();
    let worse = bench.migrate(&[]);
    assert_eq!(stderr(&worse).matches("[not_json]").count(), 1, "{}", stderr(&worse));
    assert!(stderr(&worse).contains("conversation.jsonl:8"), "{}", stderr(&worse));
}

#[test]
fn accepted_damage_is_a_note_and_new_damage_still_fails() {
    let bench = Bench::new();
    let file = damaged(&bench);
    // Without a store there is nothing to accept anything in.
    assert_eq!(code(&audit(&bench, &["--accept"])), Some(2));
    assert_eq!(code(&bench.migrate(&[])), Some(1));
    let strict = || everlog(&["verify", bench.dest().to_str().unwrap(), "--strict"]);
    assert_eq!(code(&strict()), Some(1));
    let accepted = audit(&bench, &["--accept"]);
    assert_eq!(code(&accepted), Some(0), "{}{}", stdout(&accepted), stderr(&accepted));
    assert!(stdout(&accepted).contains("2 findings accepted in "), "{}", stdout(&accepted));
    let kept = fs::read_to_string(baseline(&bench)).unwrap();
    assert_eq!(kept.lines().count(), 2, "{kept}");
    assert!(kept.lines().all(|line| line.contains("\"not_json\"") && line.contains("\"digest\"")), "{kept}");
    let well = |what: &str| {
        let migrated = bench.migrate(&[]);
        assert_eq!((code(&migrated), stderr(&migrated).as_str()), (Some(0), ""), "{what}: {}", stdout(&migrated));
        assert_eq!(code(&audit(&bench, &[])), Some(0), "{what}");
        assert_eq!(code(&strict()), Some(0), "{what}: {}", stderr(&strict()));
    };
    well("accepted");
    // Messages before and after the damage move it and leave it what it is.
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, format!("{}{text}{}", line("user", "before", 0), line("user", "more", 5))).unwrap();
    well("grown");
    // Accepting again changes nothing: Git would show no difference.
    audit(&bench, &["--accept"]);
    assert_eq!(fs::read_to_string(baseline(&bench)).unwrap(), kept);
    // The same damage a second time is new damage, and so is other damage.
    let text = fs::read_to_string(&file).unwrap();
    for more in ["not JSON at all\n", "something else\n"] {
        fs::write(&file, format!("{text}{more}")).unwrap();
        assert_eq!(code(&bench.migrate(&[])), Some(1), "{more}");
        assert_eq!(code(&audit(&bench, &[])), Some(1), "{more}");
        assert_eq!(code(&strict()), Some(1), "{more}");
    }
    // What is repaired is no longer accepted after the next audit of everything.
    fs::write(&file, lines(3)).unwrap();
    audit(&bench, &["--accept"]);
    assert!(!fs::read_to_string(baseline(&bench)).unwrap().contains("not_json"));
}

#[test]
fn a_baseline_makes_every_damaged_fixture_exit_0() {
    let mut accepted = 0;
    for case in fixtures() {
        let bench = Bench::new();
        copy_tree(&case.folder.join("input"), &bench.source());
        let first = bench.migrate(&["--allow-live"]);
        // What could not be converted at all cannot be accepted.
        if code(&first) != Some(1) || stdout(&first).contains(" 1 failed") || stderr(&first).contains("error: ") {
            continue;
        }
        let accepting = audit(&bench, &["--accept"]);
        let again = bench.migrate(&["--allow-live"]);
        assert_eq!(code(&again), Some(0), "{}: {}{}{}", case.id(), stdout(&accepting), stdout(&again), stderr(&again));
        accepted += 1;
    }
    assert!(accepted > 10, "only {accepted} fixtures have damage");
}

#[test]
fn a_part_that_is_accepted_leaves_the_rest_accepted() {
    let bench = Bench::new();
    damaged(&bench);
    bench.conversation("other", "also broken\n");
    bench.migrate(&[]);
    audit(&bench, &["--accept", "--include", "chat"]);
    assert_eq!(code(&bench.migrate(&[])), Some(1), "what was not accepted still counts");
    audit(&bench, &["--accept", "--include", "other"]);
    assert_eq!(code(&bench.migrate(&[])), Some(0), "{}", fs::read_to_string(baseline(&bench)).unwrap());
}

#[test]
fn a_quiet_run_that_fails_says_why_in_one_line() {
    let bench = Bench::new();
    damaged(&bench);
    bench.conversation("good", &lines(2));
    bench.migrate(&[]);
    fs::write(bench.source().join("good/conversation.jsonl"), lines(3)).unwrap();
    let (source, dest) = (bench.source(), bench.dest());
    let (source, dest) = (source.to_str().unwrap(), dest.to_str().unwrap());
    let again = bench.path("again");
    for words in [
        &["detect", source][..],
        &["migrate", source, "-o", again.to_str().unwrap()],
        &["audit", source, "-o", again.to_str().unwrap()],
        &["verify", dest, "--strict"],
        &["verify", dest, "--source", source],
        &["diff", source, dest],
        &["contains", source, dest],
    ] {
        for more in [&["--quiet"][..], &["--quiet", "--json"]] {
            let done = everlog(&[words, more].concat());
            assert_eq!(code(&done), Some(1), "{words:?}: {}{}", stdout(&done), stderr(&done));
            assert!(!stderr(&done).trim().is_empty(), "{words:?} {more:?} fails without a word");
        }
    }
    let quiet = everlog(&["migrate", source, "-o", bench.path("third").to_str().unwrap(), "--quiet"]);
    assert_eq!(stderr(&quiet).lines().count(), 1, "{}", stderr(&quiet));
    assert!(stderr(&quiet).starts_with("exit 1: 2 findings were not printed; the first is: warning: "), "{}", stderr(&quiet));
}

#[test]
fn detect_shows_programs_and_counts_its_warnings() {
    let bench = Bench::new();
    bench.conversation("good", &lines(2));
    fs::create_dir_all(bench.source().join(".git/objects")).unwrap();
    for name in ["a.png", ".git/HEAD", ".git/objects/x", ".DS_Store", "lost.jsonl.old"] {
        fs::write(bench.source().join(name), "x").unwrap();
    }
    let done = everlog(&["detect", bench.source().to_str().unwrap()]);
    assert_eq!(code(&done), Some(0), "{}", stderr(&done));
    assert!(stdout(&done).contains("program") && stdout(&done).contains("gptme                  1"), "{}", stdout(&done));
    let said = stderr(&done);
    assert!(said.find("lost.jsonl.old").unwrap() < said.find("a.png").unwrap(), "{said}");
    assert!(said.contains("3 files of other tools"), "{said}");
    std::os::unix::net::UnixListener::bind(bench.source().join("socket")).unwrap();
    let done = everlog(&["detect", bench.source().to_str().unwrap()]);
    assert!(stderr(&done).contains("[special_file]") && code(&done) == Some(1), "{}", stderr(&done));
}

#[test]
fn summaries_say_what_is_true() {
    let bench = Bench::with_tour();
    let dry = bench.migrate(&["--dry-run"]);
    assert!(stdout(&dry).contains("of logs would go to ") && !bench.dest().exists(), "{}", stdout(&dry));
    let none = bench.migrate(&["--include", "no-such-session"]);
    assert!(!stdout(&none).contains("()"), "{}", stdout(&none));
    let unknown = everlog(&["detect", bench.source().to_str().unwrap(), "--format", "no-such"]);
    assert!(stderr(&unknown).contains("gptme, ") && code(&unknown) == Some(2), "{}", stderr(&unknown));
}

#[test]
fn a_larger_loss_is_not_the_loss_that_was_accepted() {
    let bench = Bench::with_tour();
    let otter = bench.source().join("2026-03-02-fixing-brave-otter/conversation.jsonl");
    let text = fs::read_to_string(&otter).unwrap();
    let kept: String = text.lines().take(3).map(|line| format!("{line}\n")).collect();
    fs::write(&otter, &kept).unwrap();
    assert_eq!(code(&bench.migrate(&[])), Some(1));
    let accepted = audit(&bench, &["--accept"]);
    assert_eq!(code(&accepted), Some(0), "{}{}", stdout(&accepted), stderr(&accepted));
    assert_eq!(code(&bench.migrate(&[])), Some(0));
    // More messages on both sides are not a new loss.
    let said = audit(&bench, &["--json"]);
    assert!(stdout(&said).contains("events_disagree"), "{}", stdout(&said));
    // The store is of the cut transcript: only the event log tells how much is gone.
    fs::write(&otter, "").unwrap();
    fs::remove_dir_all(bench.dest().join(".everlog/earlier")).unwrap_or_default();
    fs::remove_file(bench.log("2026-03-02-fixing-brave-otter")).unwrap();
    let worse = bench.migrate(&[]);
    assert_eq!(code(&worse), Some(1), "{}{}", stdout(&worse), stderr(&worse));
    assert!(stderr(&worse).contains("[events_disagree]"), "{}", stderr(&worse));
}

#[test]
fn what_is_accepted_was_shown() {
    let bench = Bench::new();
    bench.conversation("chat", &lines(4));
    bench.migrate(&[]);
    bench.conversation("chat", &lines(2));
    assert_eq!(code(&bench.migrate(&[])), Some(1));
    let shown = audit(&bench, &[]);
    assert_eq!(code(&shown), Some(1), "{}", stdout(&shown));
    let said = stdout(&shown) + &stderr(&shown);
    assert!(said.contains("0 errors, 1 warning,") && said.contains("[source_shrunk]"), "{said}");
    let accepted = audit(&bench, &["--accept"]);
    assert!(stdout(&accepted).contains("1 finding accepted"), "{}", stdout(&accepted));
    assert_eq!(code(&bench.migrate(&[])), Some(0));
    assert_eq!(code(&audit(&bench, &[])), Some(0));
}

#[test]
fn a_session_that_cannot_be_read_is_not_accepted() {
    let bench = Bench::new();
    bench.conversation("chat", &lines(2));
    let other = bench.conversation("other", &lines(2));
    let Some(nobody) = crate::support::unprivileged::unprivileged(bench.scratch.path()) else { return };
    bench.migrate(&[]);
    let open = |mode: u32| {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(other.join("conversation.jsonl"), fs::Permissions::from_mode(mode)).unwrap();
    };
    let words = |command: &'static [&'static str]| -> Vec<String> {
        let [source, dest] = [bench.source(), bench.dest()].map(|path| path.to_str().unwrap().to_owned());
        command.iter().map(|word| word.replace("SOURCE", &source).replace("DEST", &dest)).collect()
    };
    let run = |command: &'static [&'static str]| {
        let words = words(command);
        (nobody.run)(&words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    assert!(std::process::Command::new("chown").args(["-R", "65534", bench.dest().to_str().unwrap()]).status().unwrap().success());
    open(0o000);
    let accepted = run(&["audit", "SOURCE", "-o", "DEST", "--accept"]);
    let migrated = run(&["migrate", "SOURCE", "-o", "DEST"]);
    open(0o644);
    assert_eq!(code(&migrated), Some(1), "{}{}", stdout(&migrated), stderr(&migrated));
    assert_eq!(code(&accepted), Some(1), "{}{}", stdout(&accepted), stderr(&accepted));
}

#[test]
fn an_accepted_link_is_a_note_for_verify_too() {
    let bench = Bench::new();
    bench.conversation("chat", &lines(2));
    let outside = bench.path("outside.jsonl");
    fs::write(&outside, lines(1)).unwrap();
    std::os::unix::fs::symlink(&outside, bench.source().join("link.jsonl")).unwrap();
    assert_eq!(code(&bench.migrate(&[])), Some(1));
    assert_eq!(code(&audit(&bench, &["--accept"])), Some(0));
    assert_eq!(code(&bench.migrate(&[])), Some(0));
    let strict = everlog(&["verify", bench.dest().to_str().unwrap(), "--source", bench.source().to_str().unwrap(), "--strict"]);
    assert_eq!(code(&strict), Some(0), "{}{}", stdout(&strict), stderr(&strict));
    assert!(!stderr(&strict).contains("error:"), "{}", stderr(&strict));
}
