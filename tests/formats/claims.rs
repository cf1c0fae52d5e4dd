//! Where one session ends and the next begins: a session takes the files that its
//! own program writes, and nothing else that happens to lie in its folder.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support;

use everlog::adapters::ALL;
use everlog::pipeline::source::{Selection, Source};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use support::bench::{Bench, code, line};
use support::pi::{header, said};
use support::{fixtures, stderr, stdout, tree};

/// The ways in which a transcript can lie where no conversation is.
fn strays() -> [(&'static str, Vec<u8>); 4] {
    [
        ("empty", Vec::new()),
        ("blank lines", b"\n\n".to_vec()),
        ("nothing but zeros", vec![0; 512]),
        ("one message", line("user", "hello", 1).into_bytes()),
    ]
}

/// The sessions of a folder: format and files by name.
fn units(folder: &Path) -> BTreeMap<String, (&'static str, BTreeSet<String>)> {
    let source = Source::open(folder, ALL, &Selection::default()).unwrap();
    let files = |unit: &everlog::pipeline::source::SourceUnit| {
        unit.found.files.iter().map(|file| file.below(&unit.found.root).to_string()).collect()
    };
    source.units.iter().map(|unit| (unit.name.to_string(), (unit.found.adapter.id(), files(unit)))).collect()
}

fn write(folder: &Path, name: &str, bytes: impl AsRef<[u8]>) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, bytes).unwrap();
}

#[test]
fn a_stray_transcript_changes_no_other_session() {
    for case in fixtures() {
        let scratch = case.copy();
        let input = scratch.path().join("input");
        if input.join("conversation.jsonl").exists() {
            continue;
        }
        let before = units(&input);
        for (what, bytes) in strays() {
            write(&input, "conversation.jsonl", &bytes);
            let mut after = units(&input);
            let stray: Vec<String> =
                after.iter().filter(|(_, (_, files))| files.contains("conversation.jsonl")).map(|(name, _)| name.clone()).collect();
            assert_eq!(stray.len(), 1, "{}: {what}", case.id());
            let (_, files) = after.remove(&stray[0]).unwrap();
            assert_eq!(files, BTreeSet::from(["conversation.jsonl".to_owned()]), "{}: {what}", case.id());
            assert_eq!(after, before, "{}: {what}", case.id());
        }
    }
}

#[test]
fn a_transcript_in_a_home_folder_takes_no_secret_and_no_other_program() {
    const SECRET: &str = "-----BEGIN PRIVATE KEY-----";
    let secrets = [
        ".ssh/id_ed25519",
        ".env",
        "notes.txt",
        "id_rsa",
        "config.toml",
        "files/passwords.txt",
        "attachments/keys/id_rsa",
        "branches/id_rsa",
        "views/notes.md",
        "workspace/.env",
        "workspace/src/key.pem",
        "tool-outputs/a/b/c/key.pem",
        "history.jsonl",
    ];
    let id = "01a1e17d-f59d-4370-93ec-e2321818cbc6";
    for (what, bytes) in strays() {
        let bench = Bench::new();
        let source = bench.source();
        write(&source, "conversation.jsonl", &bytes);
        for name in secrets {
            write(&source, name, format!("{SECRET} {name}\n"));
        }
        write(&source, "gptme/chat/conversation.jsonl", line("user", "below", 2));
        write(&source, "branches/chat/conversation.jsonl", line("user", "below a folder of branches", 2));
        write(&source, ".pi/2026-11-15T23-14-50-910Z_s1.jsonl", header() + &said("aaaa0001", "", "one"));
        write(&source, &format!("agents/main/sessions/{id}.jsonl"), header().replace("s1", id) + &said("aaaa0001", "", "one"));
        write(&source, "workspace/sessions/agent_main_main.jsonl", "{\"role\":\"user\",\"content\":\"hi\"}\n");
        write(&source, "webui/sessions/ab.json", r#"{"session_id": "ab", "title": "t", "workspace": "/w", "messages": []}"#);

        let found: BTreeMap<String, &str> = units(&source).into_iter().map(|(name, (format, _))| (name, format)).collect();
        let wanted = [
            (".pi/2026-11-15T23-14-50-910Z_s1.jsonl", "pi"),
            (&format!("agents/main/sessions/{id}.jsonl"), "openclaw"),
            ("branches/chat", "gptme"),
            ("gptme/chat", "gptme"),
            ("logs", "gptme"),
            ("webui/sessions/ab.json", "hermes-webui"),
            ("workspace/sessions/agent_main_main.jsonl", "picoclaw"),
        ];
        assert_eq!(found, wanted.into_iter().map(|(name, format)| (name.to_owned(), format)).collect(), "{what}");

        let migrated = bench.migrate(&["--json"]);
        assert!(matches!(code(&migrated), Some(0 | 1)), "{what}: {}", stderr(&migrated));
        for (name, (bytes, _)) in tree(&bench.dest()) {
            assert!(!String::from_utf8_lossy(&bytes).contains(SECRET), "{what}: {name} holds a secret");
        }
        // Nothing is skipped in silence.
        let said = stdout(&migrated);
        for name in secrets {
            assert!(said.contains(&format!("\"{name}\"")), "{what}: {name} is not named in {said}");
        }
    }
}

#[test]
fn a_conversation_takes_everything_that_its_program_writes() {
    let bench = Bench::new();
    let own = [
        "conversation.jsonl",
        "events.jsonl",
        "lossless.jsonl",
        "conv-checkpoints.jsonl",
        "config.toml",
        "config.toml.orig",
        "model_selection_trace.json",
        "compaction.jsonl",
        "phase0-shadow.jsonl",
        "phase0-shadow.jsonl.1",
        "lesson-emissions.jsonl",
        "skill-events.jsonl",
        "context-savings.jsonl",
        "RESUME.md",
        "prompt-queue.jsonl",
        "prompt-queue-closed",
        "control.jsonl",
        "progress.jsonl",
        "subagent-meta.json",
        "stderr.log",
        "shell-pgids",
        "tui.log",
        "branches/alt.jsonl",
        "branches/feature/x.jsonl",
        "branches/alt/events.jsonl",
        "views/compacted-001.jsonl",
        "views/.current",
        "files/0123456789abcdef.txt",
        "files/0123456789abcdef",
        "attachments/picture.png",
        "tool-outputs/shell/20260601_110056-afc677f4.txt",
    ];
    for name in own {
        write(&bench.source(), &format!("chat/{name}"), if name.ends_with(".toml") { "[chat]\n".to_owned() } else { line("user", "x", 1) });
    }
    // Copied here by a fork from a branch.
    write(&bench.source(), "chat/alt.jsonl", line("user", "x", 1));
    write(&bench.source(), "chat/alt/events.jsonl", "{\"seq\": 1, \"ts\": \"t\", \"type\": \"undo\", \"payload\": {}}\n");
    let found = units(&bench.source());
    let wanted = own.into_iter().chain(["alt.jsonl", "alt/events.jsonl"]).map(|name| format!("chat/{name}")).collect();
    assert_eq!(found, BTreeMap::from([("chat".to_owned(), ("gptme", wanted))]));
}

#[test]
fn a_workspace_inside_a_conversation_is_its_own_where_its_settings_say_so() {
    for (settings, is_own) in [("[chat]\nworkspace = \"@log\"\n", true), ("[chat]\nworkspace = \"/home/me/project\"\n", false)] {
        let bench = Bench::new();
        write(&bench.source(), "chat/conversation.jsonl", line("user", "x", 1));
        write(&bench.source(), "chat/config.toml", settings);
        write(&bench.source(), "chat/workspace/src/main.py", "print()\n");
        let (_, files) = units(&bench.source()).remove("chat").unwrap();
        assert_eq!(files.contains("chat/workspace/src/main.py"), is_own, "{settings}");
    }
}

#[test]
fn a_transcript_at_the_top_and_a_session_named_like_its_folder_are_two() {
    let bench = Bench::new();
    write(&bench.source(), "conversation.jsonl", line("user", "at the top", 1));
    write(&bench.source(), "logs/conversation.jsonl", line("user", "below", 1));
    assert_eq!(units(&bench.source()).len(), 2);
    let migrated = bench.migrate(&[]);
    assert_eq!(code(&migrated), Some(0), "{}", stderr(&migrated));
    let logs: Vec<String> = tree(&bench.dest()).into_iter().map(|(_, (bytes, _))| String::from_utf8_lossy(&bytes).into_owned()).collect();
    for text in ["at the top", "below"] {
        assert!(logs.iter().any(|log| log.contains(text)), "{text}");
    }
}

/// A name that only OpenClaw gives, on a file that is not OpenClaw's.
#[test]
fn the_name_of_an_archive_alone_makes_no_folder_openclaws() {
    for name in ["notes.jsonl.reset.2026-01-01T00-00-00.000Z", "notes.jsonl.deleted.2026-01-01T00-00-00.000Z", "x.jsonl.imported-1"] {
        for content in ["", "just notes\n", "{\"a\":1}\n", &[header().as_str(), &said("aaaa0001", "null", "hi")].concat()] {
            let bench = Bench::new();
            write(
                &bench.source(),
                "2026-01-01T00-00-00-000Z_0f1e2d3c-aaaa-4bbb-8ccc-0123456789a3.jsonl",
                header() + &said("aaaa0001", "null", "hi"),
            );
            let before = units(&bench.source());
            assert!(before.values().all(|(format, _)| *format == "pi") && before.len() == 1, "{before:?}");
            write(&bench.source(), name, content);
            assert_eq!(units(&bench.source()), before, "{name}: {content:?}");
        }
    }
}

#[test]
fn a_damaged_session_with_the_name_that_pi_gives_is_carried_whatever_its_lines_are() {
    let torn = said("aaaa0001", "null", "hello there")[10..].to_owned();
    for lines in [format!("{{}}\n{torn}"), format!("{torn}{torn}0\n"), format!("{{\"a\":1}}\n{{\"b\":2}}\n{torn}")] {
        let bench = Bench::new();
        let name = "2026-01-01T00-00-00-000Z_0f1e2d3c-aaaa-4bbb-8ccc-0123456789a3.jsonl";
        write(&bench.source(), name, &lines);
        let found = units(&bench.source());
        assert_eq!(found.get(name).map(|(format, _)| *format), Some("pi"), "{lines}");
        let done = bench.migrate(&[]);
        assert_eq!(code(&done), Some(1), "{}", stderr(&done));
    }
}

#[test]
fn lists_beside_an_empty_transcript_are_its_own_and_other_files_are_not() {
    let bench = Bench::new();
    let folder = bench.source().join("chat");
    write(&folder, "conversation.jsonl", "");
    write(&folder, "branches/other.jsonl", line("user", "hello", 1));
    write(&folder, "views/short.jsonl", line("user", "hello", 1));
    for stranger in ["attachments/secret.pem", "tool-outputs/shell/1.txt", "files/0123456789abcdef.bin"] {
        write(&folder, stranger, "secret");
    }
    let found = units(&bench.source());
    let files: Vec<&String> = found.values().flat_map(|(_, files)| files).collect();
    assert_eq!(files, ["chat/branches/other.jsonl", "chat/conversation.jsonl", "chat/views/short.jsonl"]);
}
