//! Names that nobody expects: marks after a transcript's name, bytes that are not
//! UTF-8, another suffix than the program's, hundreds of strangers beside it.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support;

use base64::Engine;
use everlog::adapters::ALL;
use everlog::pipeline::source::{Selection, Source};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use support::bench::{Bench, code, line};
use support::expected::Json;
use support::pi::{header, said};
use support::{everlog, figure, fixtures, stderr, stdout};

const ID: &str = "01a1e17d-f59d-4370-93ec-e2321818cbc6";

fn write(folder: &Path, name: impl AsRef<[u8]>, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.join(OsStr::from_bytes(name.as_ref()));
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, bytes).unwrap();
    path
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// The rows of a report, but for the summary.
fn rows(said: &str) -> Vec<Json> {
    said.lines().map(|line| Json(line.as_bytes().to_vec())).filter(|line| line.get("unit").is_some()).collect()
}

/// The regular files below a folder, by their exact paths.
fn files(folder: &Path) -> BTreeSet<(PathBuf, Vec<u8>)> {
    let mut found = BTreeSet::new();
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        for entry in fs::read_dir(&at).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            } else {
                let bytes = fs::read(entry.path()).unwrap();
                found.insert((entry.path().strip_prefix(folder).unwrap().to_owned(), bytes));
            }
        }
    }
    found
}

/// Migrates, and asserts that all sessions convert and everything comes back;
/// returns the rows.
fn converted(bench: &Bench, what: &str) -> Vec<Json> {
    let migrated = bench.migrate(&["--json"]);
    assert!(matches!(code(&migrated), Some(0 | 1)), "{what}: {}", stderr(&migrated));
    let rows = rows(&stdout(&migrated));
    for row in &rows {
        assert_eq!(row.text("status"), "created", "{what}: {row:?}");
    }
    let back = bench.path("back");
    let restored = everlog(&["restore", text(&bench.dest()), "-o", text(&back)]);
    assert_eq!(code(&restored), Some(0), "{what}: {}", stderr(&restored));
    rows
}

#[test]
fn no_mark_after_a_transcripts_name_makes_its_session_fail() {
    const STAMP: &str = "2026-11-15T23-45-27.333Z";
    let bench = Bench::new();
    let transcript = header().replace("s1", ID) + &said("aaaa0001", "", "one");
    let marks = [
        ".bak",
        ".bak-",
        ".bak-17-1794786429475",
        ".repair.bak",
        ".repair",
        ".repair-1",
        ".x-repair-2026.bak",
        ".compact.0.tmp",
        ".repair.1.2.tmp",
        ".tmp",
        ".lock",
        ".zst",
        ".jsonl",
        ".json",
        ".old",
        "~",
        ".1",
        ".orig",
        " copy",
        ".reset.x",
        ".deleted.x",
        ".bak.x",
        ".imported-12",
        ".imported-x",
        ".corrupt-a.jsonl",
        ".corrupt-a",
        ".checkpoint.x.jsonl",
    ];
    let stamped = [".reset.", ".deleted.", ".bak."].map(|mark| format!("{mark}{STAMP}"));
    let checkpoint = format!(".checkpoint.{ID}.jsonl");
    let marks: Vec<&str> = marks.into_iter().chain(stamped.iter().map(String::as_str)).chain([checkpoint.as_str(), ""]).collect();
    let mut count = 0;
    for one in &marks {
        for two in &marks {
            let folder = bench.source().join(format!("{count}/agents/main/sessions"));
            write(&folder, format!("{ID}.jsonl"), &transcript);
            if !one.is_empty() || !two.is_empty() {
                write(&folder, format!("{ID}.jsonl{one}{two}"), &transcript);
            }
            count += 1;
        }
    }
    let rows = converted(&bench, "marks");
    assert!(rows.len() >= count, "{} of {count}", rows.len());
    for (name, bytes) in files(&bench.path("back")) {
        assert!(bytes == fs::read(bench.source().join(&name)).unwrap(), "{}", name.display());
    }
    figure("generated names", count);
}

#[test]
fn names_that_are_not_utf8_are_converted_in_every_format() {
    let pi = header() + &said("aaaa0001", "", "one");
    let said_once = "{\"role\":\"user\",\"content\":\"hi\"}\n";
    let meta = "{\"key\":\"agent:main\",\"summary\":\"\",\"skip\":0,\"count\":1,\"created_at\":\"2026-01-01T00:00:00Z\",\"updated_at\":\"2026-01-01T00:00:00Z\"}";
    let sidecar = |id: &str| format!(r#"{{"session_id": "{id}", "title": "t", "workspace": "/w", "messages": []}}"#);
    type Files = Vec<(Vec<u8>, String)>;
    let sources: [(&str, Files); 5] = [
        (
            "gptme",
            vec![
                (b"ch\xffat/conversation.jsonl".to_vec(), line("user", "x", 1)),
                (b"ch\xffat/branches/a\xfe.jsonl".to_vec(), line("user", "x", 1)),
            ],
        ),
        ("pi", vec![(b"2026\xff.jsonl".to_vec(), pi.clone()), (b"2026\xfe.jsonl".to_vec(), pi.clone())]),
        (
            "openclaw",
            vec![
                (b"agents/main/sessions/a\xff.jsonl".to_vec(), pi.clone()),
                (b"agents/main/sessions/a\xfe.jsonl".to_vec(), pi.clone()),
                (b"agents/main/sessions/a\xff.jsonl.bak".to_vec(), pi.clone()),
            ],
        ),
        ("picoclaw", vec![(b"agent_\xff.jsonl".to_vec(), said_once.to_owned()), (b"agent_\xff.meta.json".to_vec(), meta.to_owned())]),
        ("hermes-webui", vec![(b"ab.json".to_vec(), sidecar("ab")), (b"c\xffd.json".to_vec(), sidecar("cd"))]),
    ];
    for (format, own) in sources {
        let bench = Bench::new();
        for (name, bytes) in &own {
            write(&bench.source(), name, bytes);
        }
        let rows = converted(&bench, format);
        assert!(rows.iter().all(|row| row.text("format") == format), "{rows:?}");
        assert_eq!(files(&bench.path("back")), files(&bench.source()), "{format}");
        // Every path can be had exactly from the report.
        let mut exact = BTreeSet::new();
        for row in &rows {
            let list = if row.get("files_b64").is_some() { row.list("files_b64") } else { Vec::new() };
            exact.extend(list.iter().map(|b64| base64::engine::general_purpose::STANDARD.decode(b64.as_text()).unwrap()));
            if row.get("files_b64").is_none() {
                exact.extend(row.list("files").iter().map(|name| name.as_text().into_bytes()));
            }
        }
        assert_eq!(exact, own.iter().map(|(name, _)| name.clone()).collect(), "{format}");
    }
}

#[test]
fn what_belongs_to_no_session_is_named_exactly() {
    let bench = Bench::new();
    write(&bench.source(), "chat/conversation.jsonl", line("user", "x", 1));
    write(&bench.source(), b"no\xfftes.txt", "x");
    let migrated = bench.migrate(&["--json"]);
    // `bm//dGVzLnR4dA==` is base64 of the name.
    assert!(stdout(&migrated).contains("\"path_b64\":\"bm//dGVzLnR4dA==\""), "{}", stdout(&migrated));
}

#[test]
fn a_file_named_with_its_format_is_taken_whatever_its_suffix() {
    let pi = header() + &said("aaaa0001", "", "one") + &said("aaaa0002", "aaaa0001", "two");
    let legacy = r#"{"key":"agent:main:x","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"yes"}],"created":"2026-01-01T00:00:00Z","updated":"2026-01-01T00:00:00Z"}"#;
    let lines = "{\"role\":\"user\",\"content\":\"hi\"}\n{\"role\":\"assistant\",\"content\":\"yes\"}\n";
    let sidecar = r#"{"session_id": "ab", "title": "t", "workspace": "/w", "messages": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]}"#;
    let gptme = line("user", "a", 1) + &line("assistant", "b", 2);
    let mut count = 0;
    for (format, bytes) in
        [("gptme", gptme.as_str()), ("pi", &pi), ("openclaw", &pi), ("picoclaw", legacy), ("picoclaw", lines), ("hermes-webui", sidecar)]
    {
        for name in
            ["session.txt", "session", "session.jsonl.old", "my session (1).bak2", "x.json.save", "x.jsonl", "x.json", "caf\u{e9}.log"]
        {
            let bench = Bench::new();
            let file = write(&bench.source(), name, bytes);
            let (dest, back) = (bench.dest(), bench.path("back"));
            let migrated = everlog(&["migrate", text(&file), "--format", format, "-o", text(&dest), "--json"]);
            let rows = rows(&stdout(&migrated));
            assert!(matches!(code(&migrated), Some(0 | 1)) && rows.len() == 1, "{format} {name}: {}", stderr(&migrated));
            assert_eq!((rows[0].text("status"), rows[0].text("format")), ("created".to_owned(), format.to_owned()), "{name}: {rows:?}");
            let is_known = matches!((format, name), ("picoclaw", "x.jsonl" | "x.json"));
            let messages = String::from_utf8(rows[0].get("messages").unwrap().0).unwrap();
            assert!(messages == "2" || is_known, "{format} {name}: {rows:?}");
            let restored = everlog(&["restore", text(&dest), "-o", text(&back)]);
            assert_eq!(code(&restored), Some(0), "{format} {name}: {}", stderr(&restored));
            assert_eq!(files(&back), files(&bench.source()), "{format} {name}");
            count += 1;
        }
    }
    figure("generated names", count);
}

#[test]
fn legacy_files_under_other_names_are_picoclaws_by_their_content() {
    let legacy = r#"{"key":"agent:main:x","messages":[{"role":"user","content":"hi"}],"created":"2026-01-01T00:00:00Z","updated":"2026-01-01T00:00:00Z"}"#;
    let short = r#"{"key":"agent:main:x","messages":[{"role":"user","content":"hi"}]}"#;
    for (what, bytes, words) in
        [("all that it writes", legacy, &[][..]), ("less, and the format is given", short, &["--format", "picoclaw"])]
    {
        let bench = Bench::new();
        write(&bench.source(), "backup of monday.json", bytes);
        let migrated = bench.migrate(&[&["--json"], words].concat());
        let rows = rows(&stdout(&migrated));
        assert_eq!(rows.len(), 1, "{what}: {}", stderr(&migrated));
        assert_eq!((rows[0].text("format"), rows[0].text("status")), ("picoclaw".to_owned(), "created".to_owned()), "{what}");
    }
}

#[test]
fn files_without_a_single_record_are_carried_as_damaged_sessions() {
    let transcript = header().replace("s1", ID) + &said("aaaa0001", "", "one");
    let utf16 = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    let utf16_be = |text: &str| [vec![0xfe, 0xff], text.encode_utf16().flat_map(u16::to_be_bytes).collect()].concat();
    let damage = [
        ("zeros", vec![0; 4096]),
        ("UTF-16", utf16(&transcript)),
        ("UTF-16 with a mark", utf16_be(&transcript)),
        ("a first line that was cut off", transcript.as_bytes()[..40].to_vec()),
        ("garbage", b"\x89PNG\r\n\x1a\n\x00\x01".to_vec()),
    ];
    for (what, bytes) in &damage {
        for (format, name) in
            [("pi", "--home--/2026-11-15T23-14-50-910Z_s1.jsonl".to_owned()), ("openclaw", format!("agents/main/sessions/{ID}.jsonl"))]
        {
            let bench = Bench::new();
            write(&bench.source(), &name, bytes);
            let rows = converted(&bench, what);
            assert_eq!(rows.iter().map(|row| row.text("format")).collect::<Vec<_>>(), [format], "{what}");
            assert_eq!(files(&bench.path("back")), files(&bench.source()), "{what}");
        }
        // A neighbour says whose a file is that has another name.
        let bench = Bench::new();
        write(&bench.source(), "a.jsonl", &transcript);
        write(&bench.source(), "b.jsonl", bytes);
        let rows = converted(&bench, what);
        assert_eq!(rows.iter().map(|row| row.text("format")).collect::<Vec<_>>(), ["pi", "pi"], "{what}");
    }
}

#[test]
fn a_folders_format_does_not_change_when_many_files_are_added() {
    let units = |folder: &Path| -> BTreeSet<(String, &'static str)> {
        let source = Source::open(folder, ALL, &Selection::default()).unwrap();
        source.units.iter().map(|unit| (unit.name.to_string(), unit.found.adapter.id())).collect()
    };
    let crowd = |folder: &Path| {
        for n in 0..300 {
            write(folder, format!("!{n}.txt"), "x");
            write(folder, format!("!/{n}/x"), "x");
        }
    };
    // A few cases of each format: each folder of them gets all these files.
    for case in fixtures().into_iter().step_by(7) {
        let scratch = case.copy();
        let input = scratch.path().join("input");
        let before = units(&input);
        let mut folders = vec![input.clone()];
        while let Some(folder) = folders.pop() {
            folders.extend(
                fs::read_dir(&folder).unwrap().flatten().filter(|entry| entry.file_type().unwrap().is_dir()).map(|entry| entry.path()),
            );
            crowd(&folder);
        }
        assert_eq!(units(&input), before, "{}", case.id());
    }
    // The one file that shows whose the folder is comes last.
    let bench = Bench::new();
    let transcript = header().replace("s1", ID) + &said("aaaa0001", "", "one");
    for n in 0..300 {
        write(&bench.source(), format!("{n:04}.jsonl"), header() + &said("aaaa0001", "", "one"));
    }
    write(&bench.source(), "zz.jsonl", "");
    assert!(units(&bench.source()).iter().all(|(_, format)| *format == "pi"));
    assert_eq!(units(&bench.source()).len(), 301);
    write(&bench.source(), format!("f{}.jsonl", &ID[1..]), transcript.replace(ID, &format!("f{}", &ID[1..])));
    assert!(units(&bench.source()).iter().all(|(_, format)| *format == "openclaw"));
}
