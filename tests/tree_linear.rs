//! The time to draw and to replay a log grows with its nodes, not with their
//! square. Alone in its program, so that nobody else is in its caches.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

mod support;

use everlog::commands::replay::{ReplayJob, Salvage, Shape, View};
use everlog::commands::tree::{Nodes, TreeJob};
use everlog::model::heads::HeadName;
use everlog::report::printer::{Form, Printer, Talk};
use everlog::report::terminal::{Colours, Terminal};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};
use support::growth::{at_most, large_log};
use support::stdout;

/// The time that this thread has had a processor, where the system tells: others
/// may be busy on the same machine.
fn busy() -> Duration {
    static BEGAN: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let told = fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = told.and_then(|text| text.split_whitespace().next().and_then(|word| word.parse().ok()));
    nanoseconds.filter(|n| *n > 0).map_or_else(|| BEGAN.get_or_init(Instant::now).elapsed(), Duration::from_nanos)
}

/// The time of one run over all of these logs.
fn time(logs: &[PathBuf], work: impl Fn(&Path)) -> Duration {
    let began = busy();
    logs.iter().for_each(|log| work(log));
    busy() - began
}

#[test]
fn the_time_grows_with_the_nodes_and_not_with_their_square() {
    let scratch = tempfile::TempDir::new().unwrap();
    let written = |name: String, nodes: u32| {
        let path = scratch.path().join(name);
        fs::write(&path, large_log(nodes)).unwrap();
        path
    };
    // Ten small ones together, so that both sides use as much memory: what is
    // measured is the work, not the caches.
    let small: Vec<PathBuf> = (0..10).map(|n| written(format!("{n}.everlog.jsonl"), 20_000)).collect();
    let one = [written("large.everlog.jsonl".to_owned(), 200_000)];
    let silent = |form| Printer::to(Box::new(std::io::sink()), form, Talk::Quiet);
    let draw = |log: &Path, nodes, form| {
        let job = TreeJob { log: log.to_owned(), nodes, terminal: Terminal { columns: 80, colours: Colours::None } };
        everlog::commands::tree::run(&job, &silent(form)).unwrap();
    };
    let show = |log: &Path| {
        let job = ReplayJob {
            log: log.to_owned(),
            head: Some(HeadName::parse("head-50")),
            leaf: None,
            at: None,
            last: None,
            view: View::Whole,
            shape: Shape::Log,
            salvage: Salvage::Hidden,
        };
        everlog::commands::replay::run(&job, &silent(Form::Text)).unwrap();
    };
    type Work<'w> = &'w dyn Fn(&Path);
    let works: [(&str, Work<'_>); 4] = [
        ("tree", &|log| draw(log, Nodes::OfNote, Form::Text)),
        ("tree --all", &|log| draw(log, Nodes::All, Form::Text)),
        ("tree --json", &|log| draw(log, Nodes::OfNote, Form::Json)),
        ("replay --head", &show),
    ];
    for (name, work) in works {
        let taken = at_most(2.0, || time(&small, work), || time(&one, work));
        eprintln!("{name}: for ten logs of 20,000 nodes, and for one of 200,000: {taken:?}");
        assert!(taken.is_ok(), "{name}: {taken:?}");
    }
    let drawn = Command::new(env!("CARGO_BIN_EXE_everlog")).arg("tree").arg(&one[0]).env_remove("COLUMNS").output().unwrap();
    let drawn = stdout(&drawn);
    assert!(drawn.starts_with("pi session: 200,000 nodes, 1,001 heads"), "{}", drawn.lines().next().unwrap());
    // However the branches part, lines are set in only as far as halving goes.
    let deepest = drawn.lines().map(|row| row.matches('│').count()).max().unwrap();
    assert!(deepest <= 18, "{deepest} levels");
}
