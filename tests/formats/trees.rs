//! The tree formats beyond messages: what a log says of leaf, branch, labels,
//! name, model and thinking level is what the real loaders derive; the
//! tutorial's promises; damage that is made for real.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use everlog::adapters::ALL;
use everlog::adapters::format::Format;
use everlog::json;
use everlog::log::{LogView, Projection, Reach, Salvage};
use everlog::model::event::EventKind;
use everlog::model::files::{Entry, Files, RelPath, SourceFile};
use everlog::model::finding::FindingCode;
use everlog::model::ids::Seq;
use everlog::model::stream::LogAccess;
use everlog::pipeline::source::{Selection, Source};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use support::bench::{Bench, code};
use support::expected::{Json, is_same};
use support::{Case, Origin, all_cases, convert_and_prove, everlog, fixtures, sessions, stderr, stdout};

/// What a real loader derived from one file.
struct Derived {
    file: String,
    facts: Json,
    names: Names,
}

/// The names under which it is written down.
#[derive(Clone, Copy)]
struct Names {
    leaf: &'static str,
    branch: &'static str,
    name: &'static str,
    level: &'static str,
}

const OURS: Names = Names { leaf: "leaf", branch: "branch", name: "name", level: "thinking" };
const PI: Names = Names { leaf: "leafId", branch: "branch", name: "sessionName", level: "thinkingLevel" };
const OPENCLAW: Names = Names { leaf: "leafId", branch: "branchIds", name: "sessionName", level: "thinkingLevel" };

fn derived(case: &Case) -> Vec<Derived> {
    if case.origin == Origin::Fixture {
        let plain = |session: &Json| session.get("args").is_none() && session.get("error").is_none();
        let all = case.expected.list("sessions").into_iter().filter(plain);
        return all.map(|facts| Derived { file: facts.text("file"), facts, names: OURS }).collect();
    }
    let expected = Json(fs::read(case.folder.join("expected.json")).unwrap().trim_ascii().to_vec());
    let members = |json: Option<Json>| -> Vec<(String, Json)> {
        json.map(|json| json::members(&json.0).map(|m| (m.name().into_owned(), Json(m.value.to_vec()))).collect()).unwrap_or_default()
    };
    let mut all = Vec::new();
    match case.format.as_str() {
        "pi" => {
            all.extend(members(expected.get("otherFiles")).into_iter().map(|(file, facts)| Derived { file, facts, names: PI }));
            all.push(Derived { file: expected.text("file"), facts: expected, names: PI });
        }
        "openclaw" => {
            for (file, of_file) in members(expected.get("files")) {
                let is_primary = of_file.text("class") == "primary";
                let facts = of_file.get("2026.7.1").filter(|_| is_primary);
                all.extend(facts.map(|facts| Derived { file, facts, names: OPENCLAW }));
            }
        }
        _ => {}
    }
    all.retain(|derived| derived.facts.get("error").is_none());
    all
}

/// The logs of a case by the files that they are of.
fn logs(case: &Case) -> BTreeMap<String, LogView<Vec<u8>>> {
    let scratch = case.copy();
    let mut logs = BTreeMap::new();
    for (unit, files) in sessions(&scratch.path().join("input")) {
        let (converted, _) = convert_and_prove(unit.found.adapter, &files).unwrap_or_else(|d| panic!("{} {}: {d:?}", case.id(), unit.name));
        for file in &unit.found.files {
            logs.insert(file.below(&unit.found.root).to_string(), LogView::open(converted.log.clone()).unwrap());
        }
    }
    logs
}

/// The source's own ids on the way to the active head, first to last.
fn branch_ids(view: &mut LogView<Vec<u8>>) -> Vec<String> {
    let mut ids = Vec::new();
    let mut at = view.state().head(&view.active()).unwrap_or(Seq::ROOT);
    while !at.is_root() {
        let event = view.event(at).unwrap();
        let id = json::members(event.payload).find(|member| member.name() == "source_id");
        ids.extend(id.map(|id| json::unescape(id.value).into_owned()));
        at = event.parent.unwrap();
    }
    ids.reverse();
    ids
}

/// Whether the program draws the ids anew with every load.
fn has_own_ids(view: &mut LogView<Vec<u8>>) -> bool {
    let session = String::from_utf8(view.event(Seq::new(1)).unwrap().payload.to_vec()).unwrap();
    !session.contains("\"format_version\":\"1\"")
}

#[test]
fn leaf_branch_labels_name_model_and_level_are_those_of_the_real_loaders() {
    let mut compared = BTreeMap::new();
    let mut failures = Vec::new();
    for case in all_cases().iter().filter(|case| ["pi", "openclaw"].contains(&case.format.as_str())) {
        let mut logs = logs(case);
        for Derived { file, facts, names } in derived(case) {
            let Some(view) = logs.get_mut(&file) else { continue };
            let mut check = |what: &'static str, want: String, got: String| {
                *compared.entry(what).or_insert(0) += 1;
                if want != got {
                    failures.push(format!("{} {file}: {what} is {got} and should be {want}", case.id()));
                }
            };
            let text = |key: &str| facts.get(key).filter(|value| value.0.starts_with(b"\"")).map(|value| value.as_text());
            let said = view.outcome.clone();
            let fact = |key: &str| said.facts.get(key).map(|fact| fact.as_str().to_owned());
            if has_own_ids(view) {
                if facts.get(names.leaf).is_some() {
                    check("leaf", format!("{:?}", text(names.leaf)), format!("{:?}", fact("leaf")));
                }
                if facts.get(names.branch).is_some() {
                    let want: Vec<String> = facts.list(names.branch).iter().map(Json::as_text).collect();
                    check("branch", format!("{want:?}"), format!("{:?}", branch_ids(view)));
                }
                if let Some(labels) = facts.get("labels") {
                    let got = fact("labels").unwrap_or_else(|| "{}".to_owned());
                    let is_equal = is_same(&labels.0, got.as_bytes());
                    check(
                        "labels",
                        String::from_utf8_lossy(&labels.0).into_owned(),
                        if is_equal { String::from_utf8_lossy(&labels.0).into_owned() } else { got },
                    );
                }
            }
            if facts.get(names.name).is_some() {
                check("name", format!("{:?}", text(names.name)), format!("{:?}", fact("name")));
            }
            if facts.get(names.level).is_some() {
                check("thinking level", format!("{:?}", text(names.level)), format!("{:?}", fact("thinking_level")));
            }
            if let Some(model) = facts.get("model") {
                let want = match model.0.first() {
                    Some(b'{') => Some(format!("{}/{}", model.text("provider"), model.text("modelId"))),
                    Some(b'"') => Some(model.as_text()),
                    _ => None,
                };
                check("model", format!("{want:?}"), format!("{:?}", said.model));
            }
        }
    }
    assert!(failures.is_empty(), "{} differ:\n{}", failures.len(), failures.join("\n"));
    assert!(compared["branch"] > 80 && compared["labels"] > 60, "{compared:?}");
    eprintln!("compared: {compared:?}");
}

fn fixture(id: &str) -> Case {
    fixtures().into_iter().find(|case| case.id() == id).unwrap()
}

/// The ids of what is shown of a path, and those of everything on it.
fn ids_of(view: &mut LogView<Vec<u8>>, node: Seq, reach: Reach) -> Vec<String> {
    let mut projection = Projection::of(view, node, reach, Salvage::Hidden).unwrap();
    let mut ids = Vec::new();
    while let Some(shown) = projection.next_shown(view).unwrap() {
        if matches!(shown.event.kind, EventKind::Message | EventKind::Compaction) {
            let id = json::members(shown.event.payload).find(|member| member.name() == "source_id").unwrap();
            ids.push(json::unescape(id.value).into_owned());
        }
    }
    ids
}

#[test]
fn the_tutorials_four_promises_hold_on_the_log() {
    let mut logs = logs(&fixture("pi/tutorial"));
    let view = logs.get_mut("two-branches.jsonl").unwrap();
    // The active branch is recovered.
    assert_eq!(branch_ids(view), ["m1", "k1", "m2", "m3", "n1", "k2", "n2", "c1", "n3"]);
    // A model change sets the model, and is not a message on any branch.
    assert_eq!(view.outcome.model.as_deref(), Some("example-2"));
    let changes: Vec<EventKind> = ["k1", "k2"].map(|id| view.node_of_source(id).unwrap().unwrap()).map(|seq| view.kind(seq)).to_vec();
    assert_eq!(changes, [EventKind::ModelChange, EventKind::ModelChange]);
    let old = view.node_of_source("x1").unwrap().unwrap();
    let active = view.state().head(&view.active()).unwrap();
    // An old branch stays readable after a fork.
    assert_eq!(ids_of(view, old, Reach::Shown), ["m1", "m2", "m3", "m4"]);
    // A compaction changes what is shown, and nothing else.
    assert_eq!(ids_of(view, active, Reach::Shown), ["c1", "n2", "n3"]);
    assert_eq!(ids_of(view, active, Reach::Path), ["m1", "m2", "m3", "n1", "n2", "c1", "n3"]);
}

#[test]
fn what_is_not_converted_is_named() {
    let said = |case: &str| {
        let scratch = fixture(case).copy();
        let source = Source::open(&scratch.path().join("input"), ALL, &Selection::default()).unwrap();
        let found: Vec<(FindingCode, String)> = source
            .discovery
            .findings
            .list()
            .iter()
            .map(|finding| (finding.code, format!("{:?} {}", finding.location, finding.message)))
            .collect();
        found
    };
    let databases = said("openclaw/databases");
    for (file, version) in [("openclaw-agent.sqlite", "schema 23"), ("openclaw.sqlite", "schema 19")] {
        let is_said = |(code, text): &(FindingCode, String)| {
            *code == FindingCode::UnsupportedVersion && text.contains(file) && text.contains(version)
        };
        assert!(databases.iter().any(is_said), "{databases:?}");
    }
    let harness = said("pi/harness");
    // The fourth version of the agent core's files is converted, so nothing is said of it.
    assert!(!harness.iter().any(|(_, text)| text.contains("core4.jsonl")), "{harness:?}");
    assert!(harness.iter().any(|(code, text)| *code == FindingCode::NotASession && text.contains("captured.jsonl")), "{harness:?}");
    let archives = said("openclaw/archives");
    assert_eq!(archives.iter().filter(|(code, _)| *code == FindingCode::LockFile).count(), 2, "{archives:?}");
    assert_eq!(archives.iter().filter(|(code, _)| *code == FindingCode::TemporaryLeft).count(), 2, "{archives:?}");
}

#[test]
fn versions_and_types_that_nobody_knows_yet_are_said() {
    let bench = Bench::new();
    let newer = |version: &str| support::pi::header().replace("\"version\":3", version);
    let unknown = support::pi::entry("leaf", "aaaa0002", "aaaa0001", "\"targetId\":\"aaaa0001\"");
    for (folder, text) in [
        ("agent/sessions/--w--", newer("\"version\":7") + &support::pi::said("aaaa0001", "", "one") + &unknown),
        ("agents/main/sessions", newer("\"version\":99") + &support::pi::said("aaaa0001", "", "one")),
    ] {
        let name = if folder.starts_with("agents") { "d95950a8-32ac-435b-b1d4-d23b9111f0b1.jsonl" } else { support::pi::NAME };
        let home = bench.path(if folder.starts_with("agents") { "openclaw" } else { "pi" });
        fs::create_dir_all(home.join(folder)).unwrap();
        fs::write(home.join(folder).join(name), text).unwrap();
        if folder.starts_with("agents") {
            fs::write(home.join(folder).join("sessions.json"), "{}").unwrap();
        }
        let done = everlog(&["audit", home.to_str().unwrap(), "--json"]);
        assert_eq!(done.status.code(), Some(1), "{}", stdout(&done));
        assert!(stdout(&done).contains("\"newer_version\""), "{}", stdout(&done));
        assert_eq!(stdout(&done).contains("\"unknown_record\""), !folder.starts_with("agents"), "{}", stdout(&done));
    }
}

#[test]
fn every_session_carries_its_entry_of_the_store() {
    let mut logs = logs(&fixture("openclaw/store"));
    let mut metas = |file: &str| {
        let view = logs.get_mut(&format!("agents/main/sessions/{file}")).unwrap();
        let events: Vec<Seq> = (1..=view.last().number()).map(Seq::new).filter(|seq| view.kind(*seq) == EventKind::Meta).collect();
        let payloads: Vec<String> =
            events.iter().map(|seq| String::from_utf8(view.event(*seq).unwrap().payload.to_vec()).unwrap()).collect();
        payloads.into_iter().filter(|payload| payload.starts_with("{\"store\":")).collect::<Vec<_>>()
    };
    let rich = metas("5e550010-0c1a-4b2b-9c3c-000000000010.jsonl");
    assert_eq!(rich.len(), 2, "{rich:?}");
    assert!(rich[0].contains("\"key\":\"agent:main:main\"") && rich[0].contains("Mørk kaffe"));
    assert!(rich[1].contains("\"key\":\"agent:main:same-file\""));
    let by_id = metas("5e550011-0c1a-4b2b-9c3c-000000000011.jsonl");
    assert!(by_id.len() == 1 && by_id[0].contains("agent:main:by-id"), "{by_id:?}");
}

/// A session of one file.
fn one_file(name: &str, bytes: Vec<u8>) -> Files {
    let mut files = Files::new(name);
    files.insert(RelPath::new(name), Entry::File(SourceFile { bytes, mtime_ns: 0 }));
    files
}

/// Sound transcripts, and who reads them.
fn sound() -> Vec<(&'static dyn Format, Vec<Vec<u8>>)> {
    let mut sound = Vec::new();
    for id in ["pi/tour", "pi/branches", "pi/compactions", "openclaw/tour", "openclaw/inject", "pi/v2"] {
        let scratch = fixture(id).copy();
        for (unit, files) in sessions(&scratch.path().join("input")) {
            for (path, entry) in
                files.iter().filter(|(path, _)| path.to_string().ends_with(".jsonl") && !path.to_string().contains("trajectory"))
            {
                let Entry::File(file) = entry else { panic!("{path}") };
                let lines = file.bytes.strip_suffix(b"\n").unwrap().split(|b| *b == b'\n').map(<[u8]>::to_vec).collect();
                sound.push((unit.found.adapter, lines));
            }
        }
    }
    sound
}

/// What `replay --salvage` shows, as the log has it.
fn salvaged(log: &[u8]) -> String {
    let mut view = LogView::open(log.to_vec()).unwrap();
    let node = view.state().head(&view.active()).unwrap_or(Seq::ROOT);
    let mut projection = Projection::of(&mut view, node, Reach::Path, Salvage::Shown).unwrap();
    let mut text = String::new();
    while let Some(shown) = projection.next_shown(&mut view).unwrap() {
        text.push_str(std::str::from_utf8(shown.event.payload).unwrap());
        text.push('\n');
    }
    text
}

/// How the lines `at` and `at + 1` are damaged together, what of them is whole
/// afterwards, and which finding says so.
type DamageKind = fn(&[u8], &[u8]) -> (Vec<u8>, [bool; 2], FindingCode);

const DAMAGES: [(&str, DamageKind); 6] = [
    ("the first is torn, the second glued to it", |a, b| ([&a[..a.len() * 2 / 3], b].concat(), [false, true], FindingCode::FusedLine)),
    ("two on one line", |a, b| ([a, b].concat(), [true, true], FindingCode::Salvaged)),
    ("zeros before the second, on the line of the first", |a, b| ([a, &[0; 12], b].concat(), [true, true], FindingCode::NulRun)),
    ("a block of zeros in the first", |a, b| {
        let mut torn = a.to_vec();
        let middle = torn.len() / 2;
        torn[middle..middle + 9].fill(0);
        ([&torn, b].concat(), [false, true], FindingCode::FusedLine)
    }),
    ("the second inside the first", |a, b| ([&a[..a.len() / 2], b, &a[a.len() / 2..]].concat(), [false, true], FindingCode::FusedLine)),
    ("the second inside the first, each with its newline", |a, b| {
        ([&a[..a.len() / 2], b, b"\n", &a[a.len() / 2..]].concat(), [false, true], FindingCode::FusedLine)
    }),
];

#[test]
fn complete_records_come_back_from_lines_that_are_really_damaged() {
    let mut count = 0;
    for (adapter, lines) in sound() {
        for at in 1..lines.len() - 1 {
            for (what, damage) in DAMAGES {
                let (hurt, is_whole, finding) = damage(&lines[at], &lines[at + 1]);
                let mut bytes = lines[..at].join(&b'\n');
                bytes.push(b'\n');
                bytes.extend_from_slice(&hurt);
                bytes.push(b'\n');
                bytes.extend(lines[at + 2..].iter().flat_map(|line| [line.as_slice(), b"\n"].concat()));
                let files = one_file("hurt.jsonl", bytes);
                let name = format!("{} line {at}, {what}", adapter.id());
                // Proven: every byte is restored, and replay is what the program shows.
                let (converted, _) = convert_and_prove(adapter, &files).unwrap_or_else(|d| panic!("{name}: {d:?}"));
                let said = converted.findings.list().iter().find(|found| found.code == finding);
                let place =
                    said.unwrap_or_else(|| panic!("{name}: no {finding:?} in {:?}", converted.findings.list())).location.to_string();
                assert!(place.starts_with(&format!("hurt.jsonl:{}:", at + 1)), "{name}: {place}");
                let shown = salvaged(&converted.log);
                for (line, is_whole) in lines[at..at + 2].iter().zip(is_whole) {
                    let line = Json(line.clone());
                    if is_whole && line.text("type") == "message" {
                        let id = format!("\"source_id\":{}", String::from_utf8_lossy(&line.get("id").unwrap().0));
                        assert!(shown.contains(&id), "{name}: {id} is not in {shown}");
                        count += 1;
                    }
                }
            }
        }
    }
    assert!(count > 200, "{count}");
    eprintln!("{count} messages salvaged");
}

#[test]
fn the_commands_salvage_restore_and_say_where() {
    let bench = Bench::new();
    let (_, lines) = sound().swap_remove(0);
    let folder = bench.source().join("--home-ada-loom--");
    fs::create_dir_all(&folder).unwrap();
    let mut bytes = lines[..5].join(&b'\n');
    bytes.push(b'\n');
    bytes.extend([&lines[5][..30], &lines[6], b"\n"].concat());
    fs::write(folder.join("hurt.jsonl"), &bytes).unwrap();
    let done = bench.migrate(&[]);
    assert_eq!(code(&done), Some(1));
    let said = stderr(&done);
    assert!(said.contains("--home-ada-loom--/hurt.jsonl:6:1") && said.contains("--home-ada-loom--/hurt.jsonl:6:31"), "{said}");
    let log = bench.log("--home-ada-loom--/hurt.jsonl");
    let replay = |more: &[&str]| stdout(&everlog(&[&["replay", log.to_str().unwrap()], more].concat())).lines().count();
    assert_eq!(replay(&["--salvage"]), replay(&[]) + 1);
    let back = bench.path("back");
    assert_eq!(code(&everlog(&["restore", bench.dest().to_str().unwrap(), "-o", back.to_str().unwrap()])), Some(0));
    assert_eq!(fs::read(back.join("--home-ada-loom--/hurt.jsonl")).unwrap(), bytes);
}

#[test]
fn facts_of_the_format_documents_are_in_the_fixtures() {
    for format in ["pi", "openclaw"] {
        let document = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("src/adapters/{format}/FORMAT.md"))).unwrap();
        for case in fixtures().iter().filter(|case| case.format == format) {
            assert!(document.contains(&format!("`{}`", case.name)), "{format}/FORMAT.md does not name {}", case.name);
        }
    }
}
