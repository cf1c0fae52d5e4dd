//! No command answers for a folder as if it had looked at what it did not look
//! at: files that cannot be read, links, damaged files, databases.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use serde_json::Value;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use support::bench::{Bench, code, line, lines};
use support::unprivileged::{Run, Unprivileged, unprivileged};
use support::webui::Folder;
use support::{everlog, pi, repairing, stderr, stdout};

fn contains(a: &Path, b: &Path) -> (Option<i32>, String) {
    let done = everlog(&["contains", a.to_str().unwrap(), b.to_str().unwrap()]);
    (code(&done), stdout(&done) + &stderr(&done))
}

fn source(bench: &Bench, folder: &str, session: &str, text: &str) -> PathBuf {
    let path = bench.path(folder).join(session);
    fs::create_dir_all(&path).unwrap();
    fs::write(path.join("conversation.jsonl"), text).unwrap();
    bench.path(folder)
}

/// A folder of pi sessions, migrated, to which something is added afterwards.
fn pi_folder() -> Bench {
    let bench = Bench::new();
    fs::create_dir_all(bench.source()).unwrap();
    fs::write(bench.source().join(pi::NAME), pi::two_ways()).unwrap();
    assert_eq!(code(&bench.migrate(&[])), Some(0));
    bench
}

/// Runs every command that answers for a folder. Each must name the file with
/// this code, and exit with 1.
fn all_name(bench: &Bench, file: &str, finding: &str, run: &Run) {
    let (source, dest, dry) = (bench.source(), bench.dest(), bench.path("dry"));
    let (source, dest, dry) = (source.to_str().unwrap(), dest.to_str().unwrap(), dry.to_str().unwrap());
    for words in [
        &["contains", source, dest][..],
        &["diff", source, dest],
        &["verify", dest, "--source", source, "--strict"],
        &["audit", source],
        &["detect", source],
        &["migrate", source, "-o", dry, "--dry-run"],
    ] {
        let done = run(words);
        let said = stdout(&done) + &stderr(&done);
        assert_eq!(code(&done), Some(1), "{words:?}: {said}");
        assert!(said.contains(file), "{words:?} does not name {file}: {said}");
        let json = stdout(&run(&[words, &["--json"]].concat()));
        assert!(json.contains(file), "{words:?}: {json}");
        // `verify` has a verdict for it.
        assert!(json.contains(finding) || words[0] == "verify", "{words:?} does not say {finding}: {json}");
    }
}

#[test]
fn a_file_that_may_not_be_read_is_named_by_every_command() {
    let bench = pi_folder();
    let Some(Unprivileged { run }) = unprivileged(bench.scratch.path()) else { return };
    for name in ["2026-11-16T00-00-00-000Z_s2.jsonl", "sessions.json", "notes.txt"] {
        let path = bench.source().join(name);
        fs::write(&path, pi::two_ways()).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o0)).unwrap();
        all_name(&bench, name, "unreadable", &*run);
        fs::remove_file(path).unwrap();
    }
    // Nor a folder.
    let folder = bench.source().join("more");
    fs::create_dir(&folder).unwrap();
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o0)).unwrap();
    all_name(&bench, "more", "unreadable", &*run);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    // And a folder of logs that may not be read hides none of them.
    let hidden = bench.dest().join("more");
    fs::create_dir(&hidden).unwrap();
    fs::set_permissions(&hidden, fs::Permissions::from_mode(0o0)).unwrap();
    let done = run(&["verify", bench.dest().to_str().unwrap()]);
    assert_eq!(code(&done), Some(2), "{}", stdout(&done));
    let done = run(&["contains", bench.dest().to_str().unwrap(), bench.source().to_str().unwrap()]);
    assert_eq!(code(&done), Some(1), "{}", stdout(&done));
    fs::set_permissions(&hidden, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_link_to_a_session_elsewhere_is_named_by_every_command() {
    let bench = pi_folder();
    let elsewhere = source(&bench, "elsewhere", "chat", &lines(2));
    fs::write(elsewhere.join("s3.jsonl"), pi::two_ways()).unwrap();
    for target in [elsewhere.join("chat"), elsewhere.join("s3.jsonl"), elsewhere] {
        let link = bench.source().join("linked");
        symlink(&target, &link).unwrap();
        all_name(&bench, "linked", "link_skipped", &everlog);
        fs::remove_file(link).unwrap();
    }
    // A link to what is looked at anyway hides nothing, nor does one to nothing.
    symlink(bench.source().join(pi::NAME), bench.source().join("latest")).unwrap();
    symlink(bench.path("nowhere"), bench.source().join("dangling")).unwrap();
    let (exit, said) = contains(&bench.source(), &bench.dest());
    assert!(exit == Some(0) && said.contains("2 files in A of no session"), "{said}");
}

#[test]
fn a_link_in_place_of_a_sessions_file_is_not_compared() {
    let bench = Bench::new();
    let folder = bench.conversation("chat", &lines(2));
    fs::create_dir(folder.join("branches")).unwrap();
    fs::write(bench.path("other.jsonl"), lines(3)).unwrap();
    symlink(bench.path("other.jsonl"), folder.join("branches/other.jsonl")).unwrap();
    bench.migrate(&[]);
    let (exit, said) = contains(&bench.source(), &bench.dest());
    assert!(exit == Some(1) && said.contains("branches/other.jsonl") && said.contains("not compared"), "{said}");
}

#[test]
fn a_session_that_is_damaged_all_over_is_compared_or_named() {
    let utf_16: Vec<u8> = pi::two_ways().encode_utf16().flat_map(u16::to_le_bytes).collect();
    for (what, bytes) in [
        ("zero bytes", vec![0; 5_000]),
        ("another encoding", utf_16),
        ("a torn line", b"{\"type\":\"sess".to_vec()),
        ("noise", vec![0xfe; 300]),
    ] {
        for folder in [".", "inside"] {
            let bench = pi_folder();
            fs::create_dir_all(bench.source().join(folder)).unwrap();
            fs::write(bench.source().join(folder).join("2026-11-16T00-00-00-000Z_s2.jsonl"), &bytes).unwrap();
            let (exit, said) = contains(&bench.source(), &bench.dest());
            assert!(exit == Some(1) && said.contains("_s2.jsonl"), "{what} in {folder}: {said}");
            // Once a log has it, all of it is there.
            let migrated = bench.migrate(&["--json"]);
            if stdout(&migrated).contains("_s2.jsonl.everlog.jsonl") {
                assert_eq!(contains(&bench.source(), &bench.dest()).0, Some(0), "{what} in {folder}");
            } else {
                all_name(&bench, "_s2.jsonl", "perhaps_session", &everlog);
            }
        }
    }
    // What is valid JSON is another program's file.
    let bench = pi_folder();
    fs::write(bench.source().join("package.json"), "{\"name\": \"x\"}").unwrap();
    fs::write(bench.source().join("metrics.jsonl"), "{\"n\": 1}\n{\"n\": 2}\n").unwrap();
    assert_eq!(contains(&bench.source(), &bench.dest()).0, Some(0));
    assert_eq!(code(&bench.migrate(&[])), Some(0));
}

#[test]
fn messages_that_only_a_database_has_are_missing() {
    let folder = Folder::new();
    folder.sidecar("aaa.json", "aaa", &["asked", "answered"], "");
    let scratch = tempfile::TempDir::new().unwrap();
    let (home, dest) = (folder.home().to_owned(), scratch.path().join("dest"));
    let migrated = everlog(&["migrate", home.to_str().unwrap(), "-o", dest.to_str().unwrap()]);
    assert_eq!(code(&migrated), Some(0), "{}", stderr(&migrated));
    assert_eq!(contains(&home, &dest).0, Some(0), "{}", contains(&home, &dest).1);
    // What the sidecar has, the database may have too, in its own form.
    repairing::database(&home, &[]);
    let database = rusqlite::Connection::open(home.join("state.db")).unwrap();
    let add = |role: &str, text: &str| {
        database.execute("INSERT INTO messages VALUES (NULL, 'aaa', ?1, ?2, 1699990001.5, 1)", [role, text]).unwrap();
    };
    for (role, text) in said_in(&folder.path().join("aaa.json")) {
        add(&role, &format!("{text}\n"));
    }
    let (exit, said) = contains(&home, &dest);
    assert!(exit == Some(0) && said.contains("2 messages in databases, all of them in B"), "{said}");
    add("user", "only the database knows");
    database.execute("INSERT INTO messages VALUES (NULL, 'telegram-7', 'user', 'put away', 1.5, 0)", []).unwrap();
    let (exit, said) = contains(&home, &dest);
    assert_eq!(exit, Some(1), "{said}");
    assert!(
        said.contains("a database has 2 messages that B has not") && said.contains("session aaa, user: only the database knows"),
        "{said}"
    );
    assert!(said.contains("session telegram-7, user: put away") && said.contains("state.db"), "{said}");
    let json = stdout(&everlog(&["contains", home.to_str().unwrap(), dest.to_str().unwrap(), "--json"]));
    let rows: Vec<Value> = json.lines().map(|row| serde_json::from_str(row).unwrap()).collect();
    assert_eq!(rows.iter().filter(|row| row["database"].is_string()).count(), 2);
    assert_eq!(rows.last().unwrap()["summary"]["database_missing"], 2);
    // Of the folder below, only its own sessions are asked for: the program shows
    // what the database has of them.
    let (exit, said) = contains(&folder.path(), &dest);
    assert!(exit == Some(1) && said.contains("a database has 1 message that B has not") && !said.contains("telegram-7"), "{said}");
    // `diff` compares sessions, and says so.
    let done = everlog(&["diff", home.to_str().unwrap(), dest.to_str().unwrap()]);
    assert!(code(&done) == Some(1) && stderr(&done).contains("state.db"), "{}", stderr(&done));
    // A database that nobody knows, and one that cannot be read.
    drop(database);
    fs::rename(home.join("state.db"), home.join("other.db")).unwrap();
    let (exit, said) = contains(&home, &dest);
    assert!(exit == Some(1) && said.contains("other.db") && said.contains("not known here"), "{said}");
    fs::write(home.join("state.db"), [b"SQLite format 3\0".as_slice(), &[7; 4_000]].concat()).unwrap();
    let (exit, said) = contains(&home, &dest);
    assert!(exit == Some(1) && said.contains("cannot read the database"), "{said}");
}

/// Role and text of the messages of a sidecar.
fn said_in(sidecar: &Path) -> Vec<(String, String)> {
    let document: Value = serde_json::from_slice(&fs::read(sidecar).unwrap()).unwrap();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap().to_owned();
    document["messages"].as_array().unwrap().iter().map(|row| (text(row, "role"), text(row, "content"))).collect()
}

#[test]
fn the_session_that_is_missing_is_blamed_and_no_other() {
    let bench = Bench::new();
    let hello = line("user", "hello", 1);
    let a = source(&bench, "a", "alpha", &(hello.clone() + &line("user", "only in alpha", 2)));
    source(&bench, "a", "beta", &(hello.clone() + &line("user", "in beta", 3)));
    let b = source(&bench, "b", "beta", &(hello.clone() + &line("user", "in beta", 3)));
    let (exit, said) = contains(&a, &b);
    assert_eq!(exit, Some(1));
    assert!(said.contains("session alpha is missing entirely\n"), "{said}");
    assert!(!said.contains("beta has") && said.contains("alpha has 2 messages that B has not"), "{said}");
    assert!(said.contains("2 of them not in B; 1 session missing entirely"), "{said}");
    // Under another name it is found by what it says.
    fs::rename(b.join("beta"), b.join("renamed")).unwrap();
    let (exit, said) = contains(&a, &b);
    assert!(exit == Some(1) && said.contains("session alpha is missing entirely") && !said.contains("beta has"), "{said}");
    let json = stdout(&everlog(&["contains", a.to_str().unwrap(), b.to_str().unwrap(), "--json"]));
    let first: Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(
        (first["missing"].as_str(), first["session"].as_str(), first["messages"].as_u64()),
        (Some("session"), Some("alpha"), Some(2))
    );
    // Something of it is there: then it is not missing entirely.
    source(&bench, "b", "alpha", &hello);
    let (_, said) = contains(&a, &b);
    assert!(said.contains("alpha has 1 message that B has not") && !said.contains("entirely"), "{said}");
}

#[test]
fn a_log_that_is_not_a_file_is_not_compared() {
    let bench = Bench::new();
    bench.conversation("a", &lines(2));
    bench.migrate(&[]);
    fs::write(bench.path("b.everlog.jsonl"), fs::read(bench.log("a")).unwrap()).unwrap();
    symlink(bench.path("b.everlog.jsonl"), bench.log("b")).unwrap();
    let (exit, said) = contains(&bench.dest(), &bench.source());
    assert!(exit == Some(1) && said.contains("b.everlog.jsonl") && said.contains("not compared"), "{said}");
}
