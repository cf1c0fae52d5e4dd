//! Logs that an attacker made: nothing is written outside the target, nothing
//! grows without end, nothing panics, and what they cost is what they are.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use std::fs;
use std::path::Path;
use std::time::Instant;
use support::bench::{Bench, code, lines};
use support::forged::sealed;
use support::{everlog, figure, stderr, stdout, tree};

struct Forgery {
    bench: Bench,
    good: Vec<String>,
}

impl Forgery {
    fn new() -> Forgery {
        let bench = Bench::new();
        bench.conversation("chat", &lines(4));
        bench.migrate(&[]);
        let log = fs::read_to_string(bench.log("chat")).unwrap();
        let good = log.lines().filter(|line| !line.contains("\"type\":\"seal\"")).map(str::to_owned).collect();
        Forgery { bench, good }
    }

    /// The good log with more `file` events.
    fn with_files(&self, files: &[String]) -> Vec<String> {
        let mut body = self.good.clone();
        for file in files {
            body.push(format!("{{\"seq\":{},\"type\":\"file\",\"payload\":{file}}}", body.len() + 1));
        }
        body
    }

    /// Restores a forged log into a folder that is not empty around it, and says
    /// which files that left.
    fn restore(&self, name: &str, body: &[String]) -> (Option<i32>, Vec<String>, String) {
        let place = self.bench.path(name);
        fs::create_dir_all(place.join("outer/back")).unwrap();
        fs::create_dir_all(place.join("elsewhere")).unwrap();
        let log = place.join("forged.everlog.jsonl");
        fs::write(&log, sealed(body)).unwrap();
        let before = tree(&place);
        let back = place.join("outer/back");
        let done = everlog(&["restore", log.to_str().unwrap(), "-o", back.to_str().unwrap()]);
        assert!(!stderr(&done).contains("panicked") && !stderr(&done).contains("a bug"), "{name}: {}", stderr(&done));
        for (file, content) in tree(&place) {
            assert!(file.starts_with("outer/back/") || before.get(&file) == Some(&content), "{name}: {file} was written");
        }
        let left = tree(&back).into_keys().collect();
        // What cannot be restored must not be said to be as it should.
        let verified = everlog(&["verify", log.to_str().unwrap()]);
        assert_eq!(code(&verified) == Some(0), code(&done) == Some(0), "{name}: {}", stderr(&verified));
        (code(&done), left, stderr(&done))
    }
}

const HASH_OF_X: &str = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";

fn file(path: &str) -> String {
    format!("{{\"path\":\"{path}\",\"kind\":\"file\",\"size\":1,\"sha256\":\"{HASH_OF_X}\",\"content\":\"x\"}}")
}

#[test]
fn no_path_of_a_log_leads_out_of_the_folder() {
    let forgery = Forgery::new();
    let bad = [
        "../evil",
        "../../evil",
        "/tmp/everlog-evil",
        "a/../../evil",
        "./../evil",
        "a//b",
        ".",
        "..",
        "",
        "a/./b",
        "a/",
        "\\u0000",
        "a\\u0000b",
    ];
    for (n, path) in bad.iter().enumerate() {
        let (code, left, said) = forgery.restore(&format!("bad-{n}"), &forgery.with_files(&[file(path)]));
        assert_eq!(code, Some(2), "{path:?}: {said}");
        assert_eq!(left, Vec::<String>::new(), "{path:?}: half a session was left");
    }
    assert!(!Path::new("/tmp/everlog-evil").exists());
    // What leads out elsewhere is only an odd name here.
    for (n, path) in ["C:\\\\evil", "c:evil", "\\\\\\\\server\\\\share", "~", "~/evil", "$HOME", "...", "-rf"].iter().enumerate() {
        let (code, left, said) = forgery.restore(&format!("odd-{n}"), &forgery.with_files(&[file(path)]));
        assert_eq!(code, Some(0), "{path:?}: {said}");
        assert_eq!(left.len(), 2, "{path:?}: {left:?}");
    }
    figure("hostile logs", bad.len() + 8);
}

#[test]
fn no_link_of_a_log_is_a_way_out() {
    let forgery = Forgery::new();
    let link = |path: &str, target: &str| format!("{{\"path\":\"{path}\",\"kind\":\"link\",\"target\":\"{target}\"}}");
    let cases = [
        vec![link("door", "../../../elsewhere"), file("door/evil")],
        vec![link("door", "/tmp"), file("door/everlog-evil")],
        vec![link("door", "."), file("door/evil")],
        vec![link("a", "b"), link("b", "a"), file("a/evil")],
        vec![link("door", "../../../elsewhere/evil"), file("door")],
        vec![file("x"), file("x")],
        vec![file("x"), file("x/y")],
    ];
    for (n, files) in cases.iter().enumerate() {
        let (code, _, said) = forgery.restore(&format!("link-{n}"), &forgery.with_files(files));
        assert_eq!(code, Some(2), "{files:?}: {said}");
    }
    assert!(!Path::new("/tmp/everlog-evil").exists());
    figure("hostile logs", cases.len());
}

#[test]
fn files_stop_at_the_size_that_their_log_records() {
    let forgery = Forgery::new();
    let with = |recipe: &str| -> Vec<String> {
        forgery.good.iter().map(|line| line.replace("\"recipe\":[[2,5]]", &format!("\"recipe\":[{recipe}]"))).collect()
    };
    let bomb = "QUFB".repeat(2_000_000);
    let cases = [
        ("a gap a billion times", with("{\"gap\":\"xxxxxxxx\",\"times\":1000000000}")),
        ("ranges over and over", with(&vec!["[2,5]"; 200_000].join(","))),
        ("residuals of residuals", with("{\"residual\":9},{\"residual\":8},{\"residual\":7}")),
        ("a range that runs backwards", with("[5,2]")),
        ("a number beyond all", with("18446744073709551615")),
        ("a negative number", with("-1")),
        (
            "bytes by the million",
            forgery.with_files(&[format!(
                "{{\"path\":\"b\",\"kind\":\"file\",\"size\":1,\"sha256\":\"{HASH_OF_X}\",\"content_b64\":\"{bomb}\"}}"
            )]),
        ),
        (
            "text longer than its size",
            forgery.with_files(&[format!(
                "{{\"path\":\"b\",\"kind\":\"file\",\"size\":1,\"sha256\":\"{HASH_OF_X}\",\"content\":\"{bomb}\"}}"
            )]),
        ),
        ("a size beyond all", forgery.with_files(&[file("b").replace("\"size\":1", "\"size\":18446744073709551615")])),
    ];
    for (n, (what, body)) in cases.iter().enumerate() {
        let began = Instant::now();
        let (code, left, said) = forgery.restore(&format!("size-{n}"), body);
        assert_eq!(code, Some(2), "{what}: {said}");
        assert_eq!(left, Vec::<String>::new(), "{what}");
        assert!(began.elapsed().as_secs() < 120, "{what}: {:?}", began.elapsed());
    }
    figure("hostile logs", cases.len());
}

#[test]
fn a_log_of_a_hundred_thousand_heads_is_read_by_every_command() {
    let forgery = Forgery::new();
    let with_heads = |count: usize| {
        let mut body: Vec<String> = forgery.good[..5].to_vec();
        for n in 0..count {
            body.push(format!(
                "{{\"seq\":{},\"type\":\"head\",\"payload\":{{\"kind\":\"branch\",\"name\":\"h{n}\",\"node\":{},\"op\":\"branch\"}}}}",
                n + 6,
                2 + n % 4
            ));
        }
        body.push(format!("{{\"seq\":{},\"type\":\"outcome\",\"payload\":{{\"active\":\"branch:main\"}}}}", count + 6));
        let log = forgery.bench.path(&format!("heads-{count}.everlog.jsonl"));
        fs::write(&log, sealed(&body)).unwrap();
        log
    };
    let log = with_heads(100_000);
    for words in [&["verify"][..], &["tree"], &["replay"], &["turns"]] {
        let done = everlog(&[words, &[log.to_str().unwrap()]].concat());
        assert!(matches!(code(&done), Some(0..=2)) && !stderr(&done).contains("panicked"), "{words:?}: {}", stderr(&done));
    }
}

#[test]
fn nothing_that_a_log_says_reaches_the_terminal_raw() {
    let forgery = Forgery::new();
    let evil = "\\u001b]0;owned\\u0007\\u001b[2J\\u009b31m\\u202e\\u0000\\r";
    let body: Vec<String> = forgery
        .good
        .iter()
        .map(|line| line.replace("message 2", evil).replace("\"id\":\"chat\"", &format!("\"id\":\"{evil}\",\"title\":\"{evil}\"")))
        .collect();
    let log = forgery.bench.path("evil.everlog.jsonl");
    fs::write(&log, sealed(&body)).unwrap();
    for words in [&["verify"][..], &["tree"], &["tree", "--all"], &["replay"], &["turns"]] {
        let done = everlog(&[words, &[log.to_str().unwrap()]].concat());
        for said in [stdout(&done), stderr(&done)] {
            let raw = said.chars().find(|c| c.is_control() && *c != '\n' && *c != '\t');
            assert_eq!(raw, None, "{words:?}: {said:?}");
        }
    }
}
