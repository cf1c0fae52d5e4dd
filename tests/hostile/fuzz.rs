//! Fuzzing without instruments, on the stable toolchain: inputs are damaged again
//! and again, and those that lead to something not seen before are damaged
//! further. What must hold: every source is converted and proven, no log makes a
//! reader panic, hang or write without end, no words make a parser panic.
//!
//! `scripts/fuzz SECONDS` runs it for longer. `fuzz/corpus` is replayed first;
//! what fails is made smaller and kept in `fuzz/failures`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use everlog::adapters::{ALL, by_id};
use everlog::log::restore::{ByteSink, file_plan, rebuild};
use everlog::log::{LogTail, LogView, Projection, Reach, Salvage};
use everlog::model::files::{Entry, Files, RelPath, SourceFile};
use everlog::model::stream::StreamError;
use everlog::verify::check_log;
use everlog::{Message, Session};
use support::convert_and_prove;
use support::figure;
use support::forged::sealed;
use support::fuzzing::{Fuzzed, Input, Target, fuzz, seeds_of_logs, seeds_of_sources};
use support::{damage, fuzz_stores};

fn files_of(input: &Input) -> Files {
    let name = input.keys().next().map(String::as_str).unwrap_or_default();
    let mut files = Files::new(if input.len() == 1 { name } else { "unit" });
    for (path, bytes) in input {
        files.insert(RelPath::new(path.as_bytes()), Entry::File(SourceFile { bytes: bytes.clone(), mtime_ns: 1_700_000_000_000_000_000 }));
    }
    files
}

/// Converts and proves; what was found and how many events there are, roughly,
/// says whether this went another way than before.
fn source(format: &'static str, input: &Input) -> Result<String, String> {
    let adapter = by_id(format).ok_or("no such format")?;
    let (converted, proof) = convert_and_prove(adapter, &files_of(input)).map_err(|difference| format!("{difference:?}"))?;
    let mut codes: Vec<String> = converted.findings.into_list().iter().map(|finding| format!("{:?}", finding.code)).collect();
    codes.sort();
    codes.dedup();
    let residual = converted.summary.residual_bytes.checked_ilog2();
    Ok(format!("{codes:?} {:?} {residual:?} {}", proof.messages.checked_ilog2(), proof.heads.min(8)))
}

/// Takes bytes, and no more than a file may have.
struct Bounded(usize);

impl ByteSink for Bounded {
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), StreamError> {
        self.0 += bytes.len();
        assert!(self.0 < 64 << 20, "a small log rebuilds to a file without end");
        Ok(())
    }
}

/// Everything that reads a log, and the salvage reader too.
fn log(input: &Input) -> Result<String, String> {
    let bytes = input.values().next().cloned().unwrap_or_default();
    if let Ok(Some(tail)) = LogTail::open(bytes.clone()) {
        let _ = tail.last_nodes(5, |_| true);
    }
    let mut view = match LogView::open(bytes) {
        Ok(view) => view,
        Err(problem) => return Ok(format!("{problem}").chars().filter(|c| !c.is_ascii_digit()).collect()),
    };
    let Some(adapter) = by_id(&view.session.format) else { return Ok("another format".to_owned()) };
    let verdict = match check_log(&mut view, adapter, &|_, _| false) {
        Ok(Ok(_)) => "good".to_owned(),
        Ok(Err(difference)) => difference.what,
        Err(error) => error.to_string(),
    };
    if let Some(terms) = adapter.turn_terms() {
        let _ = everlog::log::turns::turns(&mut view, &terms);
    }
    for seq in view.files().to_vec() {
        if let Ok(plan) = file_plan(&mut view, seq) {
            let _ = rebuild(&mut view, &plan, &|holds, style, shapes| adapter.renderer(holds, style, shapes), &mut Bounded(0));
        }
    }
    let session = Session::of(&view.session, &view.outcome);
    let nodes: Vec<_> = view.state().heads().map(|(_, node)| node).take(20).collect();
    for node in nodes {
        for (reach, salvage) in [(Reach::Path, Salvage::Shown), (Reach::Shown, Salvage::Hidden), (Reach::Shown, Salvage::Shown)] {
            if let Ok(mut shown) = Projection::of(&mut view, node, reach, salvage) {
                for index in 0..10_000 {
                    let Ok(Some(item)) = shown.next_shown(&mut view) else { break };
                    let Ok(Some(message)) = Message::of(&item, index) else { continue };
                    let flat = message.flat(&session).to_json().map_err(|error| error.to_string())?;
                    serde_json::from_str::<serde::de::IgnoredAny>(&flat).map_err(|error| format!("{error}: {flat}"))?;
                }
            }
        }
    }
    Ok(verdict.chars().filter(|c| !c.is_ascii_digit()).collect())
}

fn text_of(input: &Input) -> String {
    String::from_utf8_lossy(input.values().next().map(Vec::as_slice).unwrap_or_default()).into_owned()
}

/// Which way a number went, roughly.
fn way_of(number: Option<u64>) -> String {
    format!("{:?}", number.map(u64::checked_ilog2))
}

/// Spans and dates as people write them.
fn moment(input: &Input) -> Result<String, String> {
    Ok(way_of(everlog::cli::moment(&text_of(input)).map(i64::unsigned_abs)))
}

/// A span means what its nanoseconds mean.
fn span(input: &Input) -> Result<String, String> {
    let span = everlog::cli::span_ns(&text_of(input));
    match span {
        Some(ns) if ns < 0 || everlog::cli::span_ns(&format!("{ns}ns")) != span => Err(format!("{ns} is not what it means")),
        _ => Ok(way_of(span.map(i64::unsigned_abs))),
    }
}

/// A size means what its bytes mean, in small letters and in large ones.
fn size(input: &Input) -> Result<String, String> {
    let text = text_of(input);
    let size = everlog::cli::size(&text);
    let again = size.map_or(size, |bytes| everlog::cli::size(&format!("{bytes}b")));
    let shouted = everlog::cli::size(&text.to_ascii_uppercase());
    if again == size && shouted == size { Ok(way_of(size)) } else { Err(format!("{size:?}, {again:?} and {shouted:?} differ")) }
}

/// `everlog.toml`: either it is refused, or what it says is what it sets.
fn settings(input: &Input) -> Result<String, String> {
    let bytes = input.values().next().map(Vec::as_slice).unwrap_or_default();
    let way = match everlog::cli::settings(bytes) {
        Ok(settings) => format!("{settings:?}"),
        Err(why) => why.lines().last().unwrap_or_default().to_owned(),
    };
    let is_telling = |c: &char| !c.is_ascii_digit();
    Ok(way.chars().filter(is_telling).take(300).collect())
}

/// Half of the damaged logs are sealed anew, as an attacker would.
fn resealed(input: &mut Input, random: &mut damage::Seeded) {
    if random.below(2) == 0 {
        return;
    }
    for bytes in input.values_mut() {
        let text = String::from_utf8_lossy(bytes).into_owned();
        let mut lines: Vec<String> = text.lines().filter(|line| !line.contains("\"type\":\"seal\"")).map(str::to_owned).collect();
        let (a, b) = (random.below(lines.len()), random.below(lines.len()));
        if !lines.is_empty() {
            match random.below(4) {
                0 => lines.swap(a, b),
                1 => drop(lines.remove(a)),
                2 => lines.insert(a, lines[b].clone()),
                _ => {}
            }
        }
        // The lines are events in a row, or nobody would look further.
        for (n, line) in lines.iter_mut().enumerate() {
            if let Some(rest) = line.strip_prefix("{\"seq\":").and_then(|rest| rest.split_once(',')) {
                *line = format!("{{\"seq\":{},{}", n + 1, rest.1);
            }
        }
        *bytes = sealed(&lines).into_bytes();
    }
}

const MOMENTS: &[&str] =
    &["7d", "12h", "2026-11-01", "2026-11-01T12:00:00Z", "P1Y2M", "-3 weeks", "1e9s", "2026-11-01T12:00[Europe/Berlin]"];
const SPANS: &[&str] = &["0", "90d", "1d 6h", "2w", "90 days", "PT36H", "-3d", "1h 30m ago", "0.5h", "9223372036s"];
const SIZES: &[&str] = &["0", "42", "2GiB", "500 MB", "1.5k", "16777215tib", "18446744073709551615", "9e9", ".5m", "1.", "7 b"];
const SETTINGS: &[&str] = &[
    "",
    "[prune]\nsource = \"~/.hermes/webui/sessions\"\ndest = \"logs\"\nrules = [\"run-journal\", \"turn-journal\"]\nolder-than = \"30d\"\n",
    "[prune]\nkeep-last = 3\nmax-bytes = \"2GiB\"\nidle = \"1h\"\ntrash = \"/trash\"\napply = true # at night\n",
    "prune = { keep-last = 1_000, apply = false }\n",
];

fn of_texts<'a>(name: &'static str, texts: &[&str], run: fn(&Input) -> Result<String, String>) -> Target<'a> {
    let seeds = texts.iter().map(|text| Input::from([("text".to_owned(), text.as_bytes().to_vec())])).collect();
    Target { name, seeds, cost: 1, mutate: Box::new(|_, _| {}), run: Box::new(run) }
}

#[test]
fn no_input_makes_a_reader_panic_and_every_source_is_proven() {
    // Sources that are databases are damaged in tests/hostile/databases.rs.
    let mut targets: Vec<Target<'_>> = ALL
        .iter()
        .filter(|format| format.database().is_none())
        .map(|adapter| {
            let format = adapter.id();
            Target {
                name: format,
                seeds: seeds_of_sources(format),
                cost: 1,
                mutate: Box::new(|_, _| {}),
                run: Box::new(move |input| source(format, input)),
            }
        })
        .collect();
    targets.push(Target { name: "log", seeds: seeds_of_logs(), cost: 1, mutate: Box::new(resealed), run: Box::new(log) });
    targets.extend(fuzz_stores::targets());
    targets.push(of_texts("moment", MOMENTS, moment));
    targets.push(of_texts("span", SPANS, span));
    targets.push(of_texts("size", SIZES, size));
    targets.push(of_texts("settings", SETTINGS, settings));
    let done: Vec<Fuzzed> = fuzz(targets, damage::damaged);
    let failures: Vec<&String> = done.iter().flat_map(|done| &done.failures).collect();
    for done in &done {
        eprintln!("{}: {} inputs replayed, {} tried, {} ways seen", done.name, done.replayed, done.tried, done.ways);
    }
    assert!(failures.is_empty(), "{failures:#?}");
    figure("fuzz executions", done.iter().map(|done| done.replayed + done.tried).sum());
}
