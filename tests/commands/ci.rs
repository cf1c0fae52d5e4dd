//! What CI systems read, and what `scripts/ci` gives them to run.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use serde_yaml_ng::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use support::bench::{Bench, lines};
use support::xml::{Element, parse};
use support::{everlog, stderr, stdout};

fn script(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/ci").join(name)).unwrap()
}

fn yaml(name: &str) -> Value {
    serde_yaml_ng::from_str(&script(name)).unwrap()
}

/// Runs a command as a CI system would, with everlog on the path.
fn shell(command: &str, folder: &Path, env: &BTreeMap<String, String>) -> Output {
    let bin = Path::new(env!("CARGO_BIN_EXE_everlog")).parent().unwrap();
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    Command::new("sh").args(["-e", "-c", command]).current_dir(folder).envs(env).env("PATH", path).output().unwrap()
}

fn variables(map: &Value) -> BTreeMap<String, String> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    map.as_mapping().unwrap().iter().map(|(name, value)| (text(name), text(value))).collect()
}

/// A repository with logs and kept replays where the scripts look for them.
fn repository() -> Bench {
    let bench = Bench::new();
    bench.conversation("chat", &lines(4));
    bench.conversation("other", &lines(2));
    let (source, logs) = (bench.source(), bench.path("sessions.everlog"));
    everlog(&["migrate", source.to_str().unwrap(), "-o", logs.to_str().unwrap()]);
    everlog(&["replay", logs.to_str().unwrap(), "--all", "--out", bench.path("golden").to_str().unwrap()]);
    bench
}

fn break_log(bench: &Bench) {
    let log = bench.path("sessions.everlog/chat.everlog.jsonl");
    let text = fs::read_to_string(&log).unwrap();
    fs::write(log, text.replace("message 2", "message <&\"X\u{1}")).unwrap();
}

#[test]
fn the_github_workflow_runs_and_annotates() {
    let workflow = yaml("github-actions.yml");
    assert!(workflow["on"].is_sequence());
    let job = &workflow["jobs"]["verify"];
    assert!(job["runs-on"].is_string());
    let steps = job["steps"].as_sequence().unwrap();
    assert!(steps.iter().all(|step| step["uses"].is_string() != step["run"].is_string()), "a step either runs or uses");
    let commands: Vec<&str> = steps.iter().filter_map(|step| step["run"].as_str()).collect();
    let [install, verify] = commands.as_slice() else { panic!("{commands:?}") };
    assert!(install.contains("cargo install"));
    let upload = steps.iter().find(|step| step["with"]["path"].is_string()).unwrap();
    assert_eq!(upload["if"].as_str(), Some("always()"));
    let bench = repository();
    let mut env = variables(&job["env"]);
    env.insert("GITHUB_WORKSPACE".to_owned(), bench.scratch.path().display().to_string());
    env.insert("GITHUB_STEP_SUMMARY".to_owned(), bench.path("summary.md").display().to_string());
    let good = shell(verify, bench.scratch.path(), &env);
    assert_eq!(good.status.code(), Some(0), "{}", stderr(&good));
    assert!(bench.path(upload["with"]["path"].as_str().unwrap()).is_file(), "the report is not where it is kept from");
    break_log(&bench);
    let bad = shell(verify, bench.scratch.path(), &env);
    assert_eq!(bad.status.code(), Some(1));
    assert!(stdout(&bad).contains("::error file=sessions.everlog/chat.everlog.jsonl,line="), "{}", stdout(&bad));
    assert!(fs::read_to_string(bench.path("summary.md")).unwrap().contains("| chat | different |"));
}

#[test]
fn the_gitlab_job_runs_and_reports() {
    let job = &yaml("gitlab-ci.yml")["everlog"];
    assert!(job["image"].is_string() && job["before_script"][0].as_str().unwrap().contains("cargo install"));
    let bench = repository();
    let script = job["script"].as_sequence().unwrap();
    let run = || {
        let command: Vec<&str> = script.iter().map(|line| line.as_str().unwrap()).collect();
        shell(&command.join("\n"), bench.scratch.path(), &variables(&job["variables"]))
    };
    assert_eq!(run().status.code(), Some(0), "{}", stderr(&run()));
    break_log(&bench);
    assert_eq!(run().status.code(), Some(1));
    assert_eq!(job["artifacts"]["when"].as_str(), Some("always"));
    let report = fs::read_to_string(bench.path(job["artifacts"]["reports"]["junit"].as_str().unwrap())).unwrap();
    assert!(report.contains("<failure "), "{report}");
}

#[test]
fn the_hook_refuses_a_staged_log_that_is_not_as_it_was_sealed() {
    let bench = repository();
    let folder = bench.scratch.path();
    let git = |words: &[&str]| {
        let bin = Path::new(env!("CARGO_BIN_EXE_everlog")).parent().unwrap();
        let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
        let who = ["-c", "user.name=t", "-c", "user.email=t@example.org"];
        Command::new("git").args(who).args(words).current_dir(folder).env("PATH", path).output().unwrap()
    };
    assert!(git(&["init", "-q"]).status.success(), "git is needed for its hook");
    let hook = folder.join(".git/hooks/pre-commit");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::copy(Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/ci/pre-commit"), &hook).unwrap();
    git(&["add", "sessions.everlog"]);
    let first = git(&["commit", "-q", "-m", "logs"]);
    assert!(first.status.success(), "{}", stderr(&first));
    break_log(&bench);
    // What is not staged is not looked at.
    fs::write(folder.join("notes.txt"), "x").unwrap();
    git(&["add", "notes.txt"]);
    assert!(git(&["commit", "-q", "-m", "notes"]).status.success());
    git(&["add", "sessions.everlog"]);
    let refused = git(&["commit", "-q", "-m", "altered"]);
    assert!(!refused.status.success());
    assert!(stderr(&refused).contains("not those that were sealed"), "{}", stderr(&refused));
}

/// The rules of the schemas in use: what Jenkins publishes, and the stricter
/// one that many validators have.
fn follows_the_schema(suites: &Element) {
    assert_eq!((suites.name.as_str(), suites.attributes.len()), ("testsuites", 0));
    for (n, suite) in suites.children.iter().enumerate() {
        assert_eq!(suite.name, "testsuite");
        suite.has_only(&["id", "package", "name", "timestamp", "hostname", "tests", "failures", "errors", "skipped", "time"]);
        let number = |name: &str| suite.attributes[name].parse::<usize>().unwrap();
        assert_eq!(number("id"), n);
        suite.attributes["time"].parse::<f64>().unwrap();
        let stamp = &suite.attributes["timestamp"];
        assert!(stamp.len() == 19 && everlog::model::time::is_log_time(stamp.as_bytes()), "{stamp}");
        let names: Vec<&str> = suite.children.iter().map(|child| child.name.as_str()).collect();
        let [first, cases @ .., out, err] = names.as_slice() else { panic!("{names:?}") };
        assert_eq!((*first, *out, *err), ("properties", "system-out", "system-err"));
        assert!(cases.iter().all(|name| *name == "testcase"), "{names:?}");
        let cases: Vec<&Element> = suite.children.iter().filter(|child| child.name == "testcase").collect();
        let with = |name: &str| cases.iter().filter(|case| case.children.iter().any(|child| child.name == name)).count();
        assert_eq!(
            (number("tests"), number("failures"), number("errors"), number("skipped")),
            (cases.len(), with("failure"), with("error"), 0)
        );
        for case in cases {
            case.has_only(&["name", "classname", "time"]);
            case.attributes["time"].parse::<f64>().unwrap();
            assert!(case.children.len() <= 1);
            case.children.iter().for_each(|child| child.has_only(&["type", "message"]));
        }
    }
}

#[test]
fn a_junit_report_follows_the_schema_whatever_it_holds() {
    let bench = repository();
    let report = bench.path("report.xml");
    let logs = bench.path("sessions.everlog");
    let check = || {
        let source = bench.source();
        let words = ["verify", logs.to_str().unwrap(), "--source", source.to_str().unwrap(), "--junit", report.to_str().unwrap()];
        everlog(&words);
        let text = fs::read_to_string(&report).unwrap();
        let suites = parse(&text).unwrap_or_else(|wrong| panic!("{wrong}\n{text}"));
        follows_the_schema(&suites);
        suites
    };
    assert_eq!(check().children[0].attributes["failures"], "0");
    break_log(&bench);
    bench.conversation("odd <&\"'> ]]> name", &lines(1));
    let newer = fs::read_to_string(logs.join("other.everlog.jsonl")).unwrap().replace("\"version\":1", "\"version\":9");
    fs::write(logs.join("other.everlog.jsonl"), newer).unwrap();
    let suite = check().children.remove(0);
    assert_eq!([&suite.attributes["tests"], &suite.attributes["failures"], &suite.attributes["errors"]], ["3", "2", "1"]);
    let odd = suite.children.iter().find(|case| case.attributes.get("name").is_some_and(|name| name.starts_with("odd"))).unwrap();
    assert_eq!(odd.attributes["name"], "odd <&\"'> ]]> name.everlog.jsonl");
}

#[test]
fn what_a_strict_run_fails_for_is_in_every_report() {
    let bench = Bench::new();
    bench.conversation("chat", &lines(4));
    bench.conversation("torn", &format!("{}{{\"role\": \"us", lines(2)));
    bench.conversation("gone \u{1b}[2J", &lines(2));
    bench.migrate(&[]);
    // An earlier log that was broken when it was kept.
    let log = fs::read_to_string(bench.log("chat")).unwrap();
    fs::write(bench.log("chat"), log.replace("message 3", "message X")).unwrap();
    bench.migrate(&["--rehash"]);
    fs::remove_dir_all(bench.source().join("gone \u{1b}[2J")).unwrap();
    let (source, dest, report, summary) = (bench.source(), bench.dest(), bench.path("report.xml"), bench.path("summary.md"));
    let run = |more: &[&str]| {
        let _ = fs::remove_file(&summary);
        let words =
            ["verify", dest.to_str().unwrap(), "--source", source.to_str().unwrap(), "--github", "--junit", report.to_str().unwrap()];
        let done =
            Command::new(env!("CARGO_BIN_EXE_everlog")).args(words).args(more).env("GITHUB_STEP_SUMMARY", &summary).output().unwrap();
        let suite = parse(&fs::read_to_string(&report).unwrap()).unwrap().children.remove(0);
        let rows = fs::read_to_string(&summary).unwrap().lines().filter(|line| line.starts_with("| ")).count();
        let annotations = stdout(&done).lines().filter(|line| line.starts_with("::")).count();
        (done.status.code(), suite.attributes["failures"].clone(), annotations, rows, done)
    };
    let (exit, failures, annotations, rows, _) = run(&[]);
    assert_eq!((exit, failures.as_str(), annotations, rows), (Some(0), "0", 0, 0));
    let (exit, failures, annotations, rows, done) = run(&["--strict"]);
    assert_eq!((exit, failures.as_str(), annotations >= 4, rows), (Some(1), "4", true, 2 + 4), "{}", stdout(&done));
    let said = stdout(&done) + &fs::read_to_string(&summary).unwrap();
    assert!(said.contains("title=everlog%3A without source::the source no longer has this session"), "{said}");
    assert!(said.contains("title=everlog%3A as damaged as when kept::") && said.contains("| torn\u{20}|"), "{said}");
    assert!(!said.contains('\u{1b}'), "{said:?}");
}
