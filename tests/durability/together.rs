//! Several programs at once: two migrations, a program that goes on writing,
//! and a check while logs are replaced.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use support::bench::{Bench, code, lines};
use support::scenarios::contents;
use support::{everlog, stderr, stdout, tree};

fn start(source: &Path, dest: &Path) -> Child {
    Command::new(env!("CARGO_BIN_EXE_everlog"))
        .args(["migrate", source.to_str().unwrap(), "-o", dest.to_str().unwrap()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

#[test]
fn of_many_migrations_at_once_one_writes_and_the_others_say_so() {
    let bench = Bench::new();
    for n in 0..40 {
        bench.conversation(&format!("s{n:02}"), &lines(20));
    }
    bench.migrate(&[]);
    let wanted = contents(&bench.dest());
    let mut refused = 0;
    for round in 0..6 {
        let dest = bench.path(&format!("dest-{round}"));
        let children: Vec<Child> = (0..4).map(|_| start(&bench.source(), &dest)).collect();
        let done: Vec<Output> = children.into_iter().map(|child| child.wait_with_output().unwrap()).collect();
        assert!(done.iter().any(|done| code(done) == Some(0)), "nobody got through");
        for done in done.iter().filter(|done| code(done) != Some(0)) {
            assert!(code(done) == Some(2) && stderr(done).contains("another run is writing"), "{}", stderr(done));
            refused += 1;
        }
        assert!(contents(&dest) == wanted, "another end in round {round}");
    }
    assert!(refused > 0, "no two of them met");
    eprintln!("{refused} of 24 migrations were refused");
}

/// A program that appends whole lines, and now and then in two pieces.
fn writer(file: &Path) -> Child {
    let script = r#"
        n=0
        while :; do
            n=$((n+1))
            printf '{"role": "user", "content": "line %d", "timestamp": "2026-01-01T00:00:00"}\n' $n >> "$0"
            if [ $((n % 5)) = 0 ]; then
                printf '{"role": "user", "content": "half ' >> "$0"
                printf '%d", "timestamp": "2026-01-01T00:00:00"}\n' $n >> "$0"
            fi
            sleep 0.03
        done"#;
    Command::new("bash").args(["-c", script]).arg(file).spawn().unwrap()
}

#[test]
fn while_a_program_goes_on_writing_every_log_is_a_state_that_its_file_had() {
    let bench = Bench::new();
    let file = bench.conversation("live", &lines(2)).join("conversation.jsonl");
    bench.conversation("steady", &lines(2));
    let mut child = writer(&file);
    let (began, mut states, mut runs) = (Instant::now(), BTreeSet::new(), 0);
    let mut last = 0;
    while (runs < 8 || states.len() < 3) && began.elapsed() < Duration::from_secs(60) {
        let done = bench.migrate(&[]);
        runs += 1;
        assert!(matches!(code(&done), Some(0 | 1)), "{}{}", stdout(&done), stderr(&done));
        assert!(!stderr(&done).contains("bug"), "{}", stderr(&done));
        if !bench.log("live").exists() {
            continue;
        }
        let back = bench.path(&format!("back-{runs}"));
        let restored = everlog(&["restore", bench.log("live").to_str().unwrap(), "-o", back.to_str().unwrap()]);
        assert_eq!(code(&restored), Some(0), "{}", stderr(&restored));
        let (saved, now) = (fs::read(back.join("live/conversation.jsonl")).unwrap(), fs::read(&file).unwrap());
        assert!(now.starts_with(&saved), "run {runs}: the log holds what the file never was");
        assert!(saved.len() >= last, "run {runs}: the log holds less than before");
        last = saved.len();
        states.insert(saved.len());
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(states.len() >= 3, "only {} states in {runs} runs", states.len());
    assert!(matches!(code(&bench.migrate(&[])), Some(0 | 1)));
    let (source, dest, back) = (bench.source(), bench.dest(), bench.path("back"));
    assert_eq!(code(&everlog(&["restore", bench.log("live").to_str().unwrap(), "-o", back.to_str().unwrap()])), Some(0));
    assert!(fs::read(back.join("live/conversation.jsonl")).unwrap() == fs::read(&file).unwrap(), "the last state is not in the log");
    let verified = everlog(&["verify", dest.to_str().unwrap(), "--source", source.to_str().unwrap()]);
    assert_eq!(code(&verified), Some(0), "{}{}", stdout(&verified), stderr(&verified));
    eprintln!("{} states of a growing file in {runs} runs", states.len());
}

/// Longer than this no file may stay half written for the claim to hold: what
/// was written more than 20 milliseconds ago is taken to be whole.
const HALF_FOR: Duration = Duration::from_millis(15);

/// Writes one file after another anew, each in two pieces, so that at every
/// moment one of them is half there. Says how long each version was.
fn rewrite(files: &[PathBuf], stop: &AtomicBool) -> Vec<Duration> {
    let mut half_for = vec![Duration::MAX];
    let line =
        |word: &str, n: usize| format!("{{\"role\": \"user\", \"content\": \"{word} {n}\", \"timestamp\": \"2026-01-01T00:00:00\"}}\n");
    for (n, file) in (1..).zip(files.iter().cycle()) {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let mut file = fs::File::create(file).unwrap();
        let began = Instant::now();
        file.write_all(line("begin", n).as_bytes()).unwrap();
        std::thread::sleep(HALF_FOR / 2);
        file.write_all(line("end", n).as_bytes()).unwrap();
        half_for.push(began.elapsed());
    }
    half_for
}

#[test]
fn a_file_that_is_written_anew_is_not_taken_half() {
    let bench = Bench::new();
    let whole = lines(2).replace("message 0", "begin 0").replace("message 1", "end 0");
    let files: Vec<PathBuf> = (0..40).map(|n| bench.conversation(&format!("s{n}"), &whole).join("conversation.jsonl")).collect();
    let stop = AtomicBool::new(false);
    let (mut halves, mut versions) = (Vec::new(), BTreeSet::new());
    let half_for = std::thread::scope(|scope| {
        let writer = scope.spawn(|| rewrite(&files, &stop));
        for run in 0..12 {
            // A new destination each time: all of them are read.
            let (dest, back) = (bench.path(&format!("dest-{run}")), bench.path(&format!("back-{run}")));
            let done = start(&bench.source(), &dest).wait_with_output().unwrap();
            everlog(&["restore", dest.to_str().unwrap(), "-o", back.to_str().unwrap()]);
            assert!(matches!(code(&done), Some(0 | 1)), "{}{}", stdout(&done), stderr(&done));
            for (name, (text, _)) in tree(&back) {
                let text = String::from_utf8(text).unwrap();
                let version = |word: &str| text.split(word).nth(1).and_then(|rest| rest.split('"').next()?.parse::<usize>().ok());
                let (begin, end) = (version("begin "), version("end "));
                versions.insert(begin);
                // One that was empty for a moment was half for as long.
                if begin != end {
                    halves.push((name, begin.unwrap_or_default()));
                }
            }
        }
        stop.store(true, Ordering::Relaxed);
        writer.join().unwrap()
    });
    halves.retain(|(_, version)| half_for.get(*version).is_some_and(|half_for| *half_for < HALF_FOR));
    assert_eq!(halves, [], "taken half");
    assert!(versions.len() > 60, "only {} versions", versions.len());
}

#[test]
fn a_check_while_logs_are_replaced_sees_only_whole_logs() {
    let bench = Bench::new();
    let write = |more: u32| {
        for n in 0..20 {
            bench.conversation(&format!("s{n:02}"), &lines(10 + more));
        }
    };
    write(0);
    bench.migrate(&[]);
    let stop = AtomicBool::new(false);
    let (mut checks, dest) = (0, bench.dest());
    std::thread::scope(|scope| {
        let replaced = scope.spawn(|| {
            let mut replaced = 0;
            while !stop.load(Ordering::Relaxed) {
                replaced += 1;
                write(replaced);
                let done = bench.migrate(&[]);
                assert_eq!(code(&done), Some(0), "{}{}", stdout(&done), stderr(&done));
            }
            replaced
        });
        let began = Instant::now();
        while checks < 15 || began.elapsed() < Duration::from_secs(3) {
            let done = everlog(&["verify", dest.to_str().unwrap()]);
            checks += 1;
            if code(&done) != Some(0) {
                stop.store(true, Ordering::Relaxed);
                panic!("check {checks}: {}{}", stdout(&done), stderr(&done));
            }
            assert!(stdout(&done).starts_with("20 logs"), "{}", stdout(&done));
        }
        stop.store(true, Ordering::Relaxed);
        let replaced = replaced.join().unwrap();
        assert!(replaced > 2, "only {replaced} migrations");
        eprintln!("{checks} checks while logs were replaced {replaced} times");
    });
}
