//! The hot paths by themselves: `cargo bench`. What a change comes to as a
//! whole, `scripts/bench` says.

#![allow(clippy::unwrap_used, clippy::expect_used)]

use divan::counter::BytesCount;
use divan::{Bencher, black_box};

use everlog::adapters::by_id;
use everlog::adapters::format::Check;
use everlog::json::{self, Dialect, Escapes, Separators, Style};
use everlog::log::{LogView, LogWriter};
use everlog::model::files::{Entry, Files, RelPath, SourceFile};
use everlog::model::finding::Findings;
use everlog::verify::prove;

fn main() {
    divan::main();
}

/// What assistants say: short lines, quotes, some letters beyond ASCII.
fn text() -> String {
    let line = "    print(f\"{tide:>8}\\tpath\")  # naïve, and so on\n";
    let prose = "The harbour table reads well when the boat is at the bridge. ";
    format!("{}{}", line.repeat(20), prose.repeat(10))
}

fn python(text: &str) -> String {
    let mut token = Vec::new();
    json::push_string(text, &mut token);
    let mut out = Vec::new();
    Style::default().push_string(&token, &mut out);
    String::from_utf8(out).unwrap()
}

fn session() -> Files {
    let line = |n: usize, role: &str| {
        format!(
            "{{\"role\": \"{role}\", \"content\": {}, \"timestamp\": \"2026-01-01T00:{:02}:{:02}\"}}\n",
            python(&format!("{n} {}", text())),
            n / 60 % 60,
            n % 60
        )
    };
    let lines: String = (0..400).map(|n| line(n, if n % 2 == 0 { "user" } else { "assistant" })).collect();
    let mut files = Files::new("bench");
    files.insert(RelPath::new("conversation.jsonl"), Entry::File(SourceFile { bytes: lines.into_bytes(), mtime_ns: 0 }));
    files
}

#[divan::bench]
fn scan_a_record(bencher: Bencher) {
    let record = format!("{{\"role\": \"user\", \"content\": {}}}", python(&text()));
    bencher
        .counter(BytesCount::of_str(&record))
        .bench_local(|| json::scan_object(black_box(record.as_bytes()), Dialect::Python, &mut Vec::new()).unwrap());
}

#[divan::bench(args = [Escapes::Ascii, Escapes::Utf8, Escapes::Go])]
fn carry_and_render_a_string(bencher: Bencher, escapes: Escapes) {
    let style = Style { separators: Separators::Compact, escapes };
    let (mut token, mut source) = (Vec::new(), Vec::new());
    json::push_string(&text(), &mut token);
    style.push_string(&token, &mut source);
    let (mut log, mut back) = (Vec::new(), Vec::new());
    bencher.counter(BytesCount::of_slice(&source)).bench_local(|| {
        log.clear();
        back.clear();
        json::push_carried_string(black_box(&source), escapes, &mut log);
        style.push_string(&log, &mut back);
        assert_eq!(back.len(), source.len());
    });
}

#[divan::bench]
fn convert_a_session(bencher: Bencher) {
    let (gptme, files) = (by_id("gptme").unwrap(), session());
    bencher.counter(BytesCount::new(files.total_bytes())).bench_local(|| {
        let mut writer = LogWriter::new(Vec::new());
        gptme.read(black_box(&files), Check::ByProof, &mut writer, &mut Findings::default()).unwrap();
        writer.finish().unwrap()
    });
}

#[divan::bench]
fn prove_a_session(bencher: Bencher) {
    let (gptme, files) = (by_id("gptme").unwrap(), session());
    let mut writer = LogWriter::new(Vec::new());
    gptme.read(&files, Check::ByProof, &mut writer, &mut Findings::default()).unwrap();
    let (log, _) = writer.finish().unwrap();
    let mut view = LogView::open(log).unwrap();
    bencher.counter(BytesCount::new(files.total_bytes())).bench_local(|| prove(&mut view, gptme, black_box(&files)).unwrap().unwrap());
}
