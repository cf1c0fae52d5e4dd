//! Small logs and sources that ask for more than any machine has.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;
use crate::support::campaign;

use std::fs;
use std::time::{Duration, Instant};
use support::bench::{Bench, code, lines};
use support::damage::Seeded;
use support::forged::sealed;
use support::{everlog, figure, stderr, tree};

/// Recipes and sizes that are bombs; `n` chooses how large.
fn bombs(good: &[String], n: u64) -> Vec<(&'static str, Vec<String>)> {
    let sized = |recipe: &str, size: u64| -> Vec<String> {
        let rest = |line: &String| line.replace("\"recipe\":[[2,5]]", &format!("\"recipe\":[{recipe}]"));
        let size = format!("\"size\":{size}");
        let with_size = |line: String| match line.find("\"size\":") {
            Some(at) => {
                let end = at + line[at..].find(',').unwrap();
                format!("{}{size}{}", &line[..at], &line[end..])
            }
            None => line,
        };
        good.iter().map(rest).map(with_size).collect()
    };
    let times = 10_000_000_000_000 / n;
    let long =
        |body: Vec<String>| -> Vec<String> { body.into_iter().map(|line| line.replace("message 0", &"long ".repeat(20_000))).collect() };
    let more = |files: String, count: usize| -> Vec<String> {
        let mut body = good.to_vec();
        for _ in 0..count {
            body.push(format!(
                "{{\"seq\":{},\"type\":\"file\",\"payload\":{}}}",
                body.len() + 1,
                files.replace('#', &body.len().to_string())
            ));
        }
        body
    };
    let damage = |zeros: u64| -> Vec<String> {
        let mut body = good.to_vec();
        body[4] = format!(
            "{{\"seq\":5,\"type\":\"damage\",\"payload\":{{\"file\":\"conversation.jsonl\",\"line\":4,\"offset\":0,\"reason\":\"nul_run\",\"nul\":[[0,{zeros}]]}}}}"
        );
        body
    };
    vec![
        ("a gap over and over", sized(&format!("{{\"gap\":\"x\",\"times\":{times}}}"), times)),
        ("a long gap over and over", sized(&format!("{{\"gap\":\"{}\",\"times\":{times}}}", "x".repeat(500)), times * 500)),
        ("a gap whose length overflows", sized("{\"gap\":\"xx\",\"times\":18446744073709551615}", u64::MAX)),
        ("a long message again and again", long(sized(&vec!["2"; 200_000].join(","), 200_000 * 100_080))),
        ("ranges again and again", long(sized(&vec!["[2,5]"; 200_000].join(","), times))),
        ("ranges of nothing again and again", sized(&vec!["[6,6]"; 400_000].join(","), 1_000)),
        ("snapshots again and again", long(sized(&vec!["{\"snapshot\":5}"; 100_000].join(","), times))),
        (
            "files of no end",
            more(format!("{{\"path\":\"f#\",\"kind\":\"file\",\"size\":{times},\"sha256\":\"00\",\"content\":\"x\"}}"), 50),
        ),
        (
            "an attachment of no end",
            more(format!("{{\"path\":\"f#\",\"kind\":\"file\",\"size\":{times},\"sha256\":\"{0}\",\"blob\":\"{0}\"}}", "0".repeat(64)), 50),
        ),
        ("zero bytes without end", damage(times)),
        ("zero bytes without end, and a size", damage(u64::MAX)),
        ("a size that lies", sized("[2,5]", times)),
    ]
}

#[test]
fn a_bomb_is_refused_before_it_goes_off() {
    let bench = Bench::new();
    bench.conversation("chat", &lines(4));
    bench.migrate(&[]);
    let log = fs::read_to_string(bench.log("chat")).unwrap();
    let good: Vec<String> = log.lines().filter(|line| !line.contains("\"type\":\"seal\"")).map(str::to_owned).collect();
    let (mut random, mut tried) = (Seeded(7), 0);
    for round in 0..campaign::rounds("BOMBS", 20) {
        let n = if round == 0 { 1 } else { 1 + random.below(5_000) as u64 };
        for (what, body) in bombs(&good, n) {
            let store = bench.path("bomb");
            fs::create_dir_all(store.join("back")).unwrap();
            let place = store.join("bomb.everlog.jsonl");
            fs::write(&place, sealed(&body)).unwrap();
            let began = Instant::now();
            let verified = everlog(&["verify", place.to_str().unwrap()]);
            let restored = everlog(&["restore", place.to_str().unwrap(), "-o", store.join("back").to_str().unwrap()]);
            let replayed = everlog(&["diff", place.to_str().unwrap(), bench.log("chat").to_str().unwrap()]);
            assert!(began.elapsed() < Duration::from_secs(90), "{what} ({n}): {:?}", began.elapsed());
            assert_ne!(code(&verified), Some(0), "{what} ({n})");
            assert_ne!(code(&restored), Some(0), "{what} ({n})");
            for done in [&verified, &restored, &replayed] {
                assert!(done.status.code().is_some() && !stderr(done).contains("panicked"), "{what} ({n}): {}", stderr(done));
            }
            assert_eq!(tree(&store.join("back")).len(), 0, "{what} ({n}): something was left");
            fs::remove_dir_all(&store).unwrap();
            tried += 1;
        }
    }
    figure("bombs", tried);
}

#[test]
fn a_sparse_file_fails_its_own_session_and_no_other() {
    let bench = Bench::new();
    bench.conversation("small", &lines(4));
    bench.conversation("sparse", &lines(4));
    let file = fs::File::options().write(true).open(bench.path("logs/sparse/conversation.jsonl")).unwrap();
    file.set_len(100 << 30).unwrap();
    let (source, dest) = (bench.path("logs"), bench.path("sparse-dest"));
    let began = Instant::now();
    let done = everlog(&["migrate", source.to_str().unwrap(), "-o", dest.to_str().unwrap()]);
    assert_eq!(code(&done), Some(1), "{}", stderr(&done));
    assert!(stderr(&done).contains("is too large") && began.elapsed() < Duration::from_secs(60), "{}", stderr(&done));
    assert!(dest.join("small.everlog.jsonl").is_file() && !dest.join("sparse.everlog.jsonl").exists());
    figure("bombs", 1);
}

#[test]
fn a_run_of_zero_bytes_costs_a_count() {
    let bench = Bench::new();
    let zeros = 8 << 20;
    bench.conversation("chat", &format!("{}{}", lines(2), "\0".repeat(zeros)));
    bench.conversation("middle", &format!("{}{{\"role\": \"us{}\n{}", lines(2), "\0".repeat(zeros), lines(1)));
    let (source, dest, back) = (bench.path("logs"), bench.path("zero-dest"), bench.path("zero-back"));
    let done = everlog(&["migrate", source.to_str().unwrap(), "-o", dest.to_str().unwrap()]);
    assert!(stderr(&done).contains("zero bytes") || code(&done) == Some(1), "{}", stderr(&done));
    for name in ["chat", "middle"] {
        let log = fs::metadata(dest.join(format!("{name}.everlog.jsonl"))).unwrap().len();
        assert!(log < 10_000, "{name}: a log of {log} bytes");
    }
    let verified = everlog(&["verify", dest.to_str().unwrap(), "--source", source.to_str().unwrap()]);
    assert_eq!(code(&verified), Some(0), "{}", stderr(&verified));
    assert_eq!(code(&everlog(&["restore", dest.to_str().unwrap(), "-o", back.to_str().unwrap()])), Some(0));
    let bytes = |folder: &std::path::Path| -> Vec<Vec<u8>> { tree(folder).into_values().map(|(bytes, _)| bytes).collect() };
    assert!(bytes(&back) == bytes(&source), "not byte for byte");
}

/// Runs everlog with little memory; `ulimit` counts in KiB.
fn with_little_memory(words: &[&str]) -> std::process::Output {
    let mut shell = std::process::Command::new("sh");
    shell.args(["-c", "ulimit -v 1500000; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_everlog")]).args(words);
    shell.output().unwrap()
}

#[test]
fn holes_in_a_store_are_not_read_into_memory() {
    for name in ["chat.everlog.jsonl", ".everlog/receipts.jsonl"] {
        let bench = Bench::new();
        bench.conversation("chat", &lines(4));
        bench.conversation("other", &lines(3));
        bench.migrate(&[]);
        let place = bench.dest().join(name);
        fs::File::options().write(true).open(&place).unwrap().set_len(1700 << 20).unwrap();
        let (source, dest, back) = (bench.source(), bench.dest(), bench.path("back"));
        let (source, dest, back) = (source.to_str().unwrap(), dest.to_str().unwrap(), back.to_str().unwrap());
        let log = bench.log("chat");
        let commands: &[&[&str]] = &[
            &["verify", dest],
            &["restore", dest, "-o", back],
            &["replay", log.to_str().unwrap()],
            &["replay", log.to_str().unwrap(), "--last", "1"],
            &["tree", log.to_str().unwrap()],
            &["contains", source, dest],
            &["prune", source, "-o", dest],
            &["migrate", source, "-o", dest],
        ];
        for words in commands {
            let began = Instant::now();
            let done = with_little_memory(words);
            assert!(code(&done).is_some(), "{name}: {words:?} was killed: {}", stderr(&done));
            assert!(began.elapsed() < Duration::from_secs(180), "{name}: {words:?} took {:?}", began.elapsed());
            figure("bombs", 1);
        }
        let verified = with_little_memory(&["verify", dest, "--source", source]);
        assert_eq!(code(&verified), Some(0), "{name}: migrate repairs the store: {}", stderr(&verified));
    }
}

#[test]
fn repeats_that_multiply_are_not_compared_one_by_one() {
    let bench = Bench::new();
    bench.conversation("chat", &lines(1));
    bench.migrate(&[]);
    let log = fs::read_to_string(bench.log("chat")).unwrap();
    let mut body = vec![log.lines().next().unwrap().to_owned()];
    for seq in 2..2002 {
        let parent = if seq == 2 { 0 } else { seq - 1 };
        let payload = format!("{{\"role\":\"user\",\"content\":[{{\"type\":\"text\",\"text\":\"message {seq}\"}}]}}");
        body.push(format!("{{\"seq\":{seq},\"type\":\"message\",\"parent\":{parent},\"payload\":{payload}}}"));
    }
    let last = body.len();
    for seq in last + 1..last + 2001 {
        body.push(format!("{{\"seq\":{seq},\"type\":\"repeat\",\"parent\":{},\"payload\":{{\"first\":2,\"last\":{last}}}}}", seq - 1));
    }
    body.push(format!("{{\"seq\":{},\"type\":\"outcome\",\"payload\":{{\"active\":\"branch:main\"}}}}", body.len() + 1));
    let place = bench.path("bomb.everlog.jsonl");
    fs::write(&place, sealed(&body)).unwrap();
    for command in ["contains", "diff"] {
        let began = Instant::now();
        let done = with_little_memory(&[command, place.to_str().unwrap(), place.to_str().unwrap()]);
        assert_ne!(code(&done), Some(0), "{command}: {}", stderr(&done));
        assert!(stderr(&done).contains("so often that they cannot be compared"), "{command}: {}", stderr(&done));
        assert!(began.elapsed() < Duration::from_secs(30), "{command}: {:?}", began.elapsed());
        figure("bombs", 1);
    }
}
