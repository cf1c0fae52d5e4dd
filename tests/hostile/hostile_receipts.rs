//! Receipts and tombstones that an attacker wrote: a way back leads nowhere but
//! into the source, and one bad path keeps all of it from being gone.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support;

use everlog::commands::prune::Action as Prune;
use everlog::commands::repair::Action as Repair;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use support::forged::resummed;
use support::prune::{self, Last, Run, Seen, Turn, session};
use support::repairing::{self, worn};
use support::tree;
use support::webui::Folder;

const X: &str = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";

/// A repair that is done, with a file `victim` above the source and a folder
/// `door` in it that leads there.
fn repaired() -> Folder {
    let folder = worn();
    repairing::Bench::of(&folder.path(), folder.home()).repair();
    fs::write(folder.home().join("victim"), "x").unwrap();
    fs::write(folder.home().join("webui/victim"), "x").unwrap();
    symlink(folder.home(), folder.path().join("door")).unwrap();
    folder
}

fn change_receipt(path: &Path, change: impl Fn(&mut Value)) {
    let mut receipt: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    change(&mut receipt);
    fs::write(path, receipt.to_string()).unwrap();
}

#[test]
fn a_repair_is_not_undone_outside_its_source() {
    let folder = repaired();
    let bench = repairing::Bench::of(&folder.path(), folder.home());
    let receipt = bench.receipt();
    let good = fs::read(&receipt).unwrap();
    let absolute = folder.home().join("victim").display().to_string();
    for path in ["../victim", "../../victim", "door/victim", "_turn_journal/../../victim", &absolute, "", "."] {
        // Where it were taken for a new file, it would be removed.
        change_receipt(&receipt, |receipt| {
            receipt["files"].as_array_mut().unwrap().insert(0, json!({"path": path, "new_sha256": X, "why": []}));
        });
        let before = tree(folder.home());
        let said = bench.run(Repair::Undo(receipt.clone())).unwrap_err();
        assert!(said.contains("leads out of the folder"), "{path:?}: {said}");
        assert!(tree(folder.home()) == before, "{path:?}: something was touched");
        fs::write(&receipt, &good).unwrap();
    }
    fs::write(receipt.with_file_name("../evil"), "x").unwrap();
    change_receipt(&receipt, |receipt| {
        receipt["files"][0]["old"]["kept"] = json!("../evil");
        receipt["files"][0]["old"]["sha256"] = json!(X);
    });
    let before = tree(folder.home());
    assert!(bench.run(Repair::Undo(receipt.clone())).unwrap_err().contains("leads out"));
    // Nor is one that was cut short brought to its end there.
    change_receipt(&receipt, |receipt| receipt["state"] = json!("applying"));
    let fingerprint = receipt.parent().unwrap().file_name().unwrap().to_str().unwrap();
    assert!(bench.apply(fingerprint).unwrap_err().contains("leads out"));
    fs::write(&receipt, &good).unwrap();
    assert!(tree(folder.home()).len() == before.len());
    bench.run(Repair::Undo(receipt)).unwrap();
}

#[test]
fn a_prune_is_neither_undone_nor_finished_outside_its_source() {
    let folder = Folder::new();
    session(&folder, "aaa", &[Turn::over(Last::Completed, Seen::Answer, Run::Done)]);
    folder.index(&["aaa"]);
    symlink(folder.home(), folder.path().join("door")).unwrap();
    let bench = prune::Bench::of(&folder.path(), folder.home());
    bench.migrate();
    bench.apply();
    let tombstones = bench.dest.join(".everlog/pruned.jsonl");
    let good = fs::read_to_string(&tombstones).unwrap();
    let absolute = folder.home().join("ESCAPED.jsonl").display().to_string();
    let bad = [
        ("file", "../ESCAPED.jsonl"),
        ("file", "_run_journal/../../ESCAPED.jsonl"),
        ("file", "door/ESCAPED.jsonl"),
        ("file", &absolute),
        ("lock", "../../state.lock"),
        ("lock", "door/state.lock"),
        ("log", "../aaa.json.everlog.jsonl"),
        ("prune", "../.."),
    ];
    for (key, value) in bad {
        let change = |line: &str| {
            let mut row: Value = serde_json::from_str(line).unwrap();
            // The others stay good, so that they would be carried out.
            if row.get(key).is_some() || (key == "lock" && row.get("file").is_some()) {
                row[key] = json!(value);
            }
            resummed(row)
        };
        let (first, rest) = good.split_once('\n').unwrap();
        let forged = if key == "prune" { good.lines().map(change).collect() } else { change(first) + rest };
        fs::write(&tombstones, &forged).unwrap();
        let before = tree(folder.home());
        let said = bench.run(Prune::Undo(None)).unwrap_err();
        assert!(said.contains("leads out"), "{key} {value}: {said}");
        assert!(tree(folder.home()) == before, "{key} {value}: something was touched");
        // Without its last line it is one that was cut short.
        let cut: String = forged.lines().filter(|line| !line.contains("progress")).map(|line| format!("{line}\n")).collect();
        fs::write(&tombstones, cut).unwrap();
        // It is said and closed; of the rest nothing is finished either.
        let outside = || tree(folder.home()).into_iter().filter(|(name, _)| !name.starts_with("dest/")).collect::<Vec<_>>();
        let before = outside();
        let (status, _) = bench.run(Prune::Apply).unwrap();
        assert_eq!(status, everlog::report::ExitStatus::Found, "{key} {value}");
        assert!(outside() == before, "{key} {value}: something was touched");
    }
    fs::write(&tombstones, good).unwrap();
    bench.run(Prune::Undo(None)).unwrap();
}

#[test]
fn a_prune_that_was_cut_short_fills_no_trash_that_nobody_names() {
    let folder = Folder::new();
    session(&folder, "aaa", &[Turn::over(Last::Completed, Seen::Answer, Run::Done)]);
    folder.index(&["aaa"]);
    let bench = prune::Bench::of(&folder.path(), folder.home());
    bench.migrate();
    bench.apply();
    let tombstones = bench.dest.join(".everlog/pruned.jsonl");
    let elsewhere = folder.home().join("elsewhere/evil");
    let good = fs::read_to_string(&tombstones).unwrap();
    bench.run(Prune::Undo(None)).unwrap();
    let forged = good.lines().filter(|line| !line.contains("progress")).map(|line| {
        let mut row: Value = serde_json::from_str(line).unwrap();
        row["trash"] = json!(elsewhere);
        resummed(row)
    });
    fs::write(&tombstones, forged.collect::<String>()).unwrap();
    bench.run(Prune::Apply).unwrap();
    assert!(!elsewhere.exists());
}

/// The hash of some bytes as tombstones have it.
fn state(bytes: &[u8]) -> Value {
    json!({"bytes": bytes.len(), "sha256": everlog::model::digest::sha256_hex(bytes)})
}

/// Sessions of which nothing may be pruned: one with an open turn, and one whose
/// completed turn is young. Both are in logs, and a third file is in none.
fn nothing_to_prune() -> (Folder, prune::Bench<'static>) {
    let folder = Folder::new();
    session(&folder, "aaa", &[Turn::over(Last::Worker, Seen::Answer, Run::Open)]);
    session(&folder, "bbb", &[Turn { days: 3, ..Turn::over(Last::Completed, Seen::Answer, Run::Done) }]);
    folder.index(&["aaa", "bbb"]);
    let bench = prune::Bench::of(&folder.path(), folder.home());
    bench.migrate();
    fs::write(folder.path().join("notes.txt"), "mine\n").unwrap();
    (folder, bench)
}

/// A tombstone that an attacker wrote, for a file as it is now.
fn forged(folder: &Folder, rule: &str, unit: &str, file: &str, more: Value) -> Value {
    let now = fs::read(folder.path().join(file)).unwrap_or_default();
    let mut stone = json!({
        "prune": "20260101T000000Z-abcdef", "at": "2026-01-01T00:00:00Z", "rule": rule, "source": folder.path().display().to_string(),
        "unit": unit, "bundle": 0, "file": file, "parts": 1, "lines": 1, "old": state(&now), "mode": 384, "mtime_ns": 5,
        "log": format!("{unit}.everlog.jsonl"), "log_sha256": "00", "log_path": file,
    });
    stone.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    stone
}

fn write_forged(bench: &prune::Bench<'_>, stones: &[Value], end: Value) {
    let mut text: String = stones.iter().map(|stone| format!("{stone}\n")).collect();
    text += &format!("{}\n", json!({"prune": stones[0]["prune"], "buried": stones.len()}));
    if !end.is_null() {
        text += &format!("{}\n", json!({"prune": stones[0]["prune"], "progress": end}));
    }
    fs::write(bench.dest.join(".everlog/pruned.jsonl"), text).unwrap();
}

#[test]
fn a_forged_tombstone_neither_removes_nor_rewrites_anything() {
    const RULES: [&str; 6] = ["turn-journal", "run-journal", "cron-run-log", "event-log", "hidden-lines", "retired"];
    let shards = ["aaa", "bbb"].map(|id| prune::shard(id, 0));
    let files = [
        ("aaa.json", "aaa.json"),
        ("bbb.json", "bbb.json"),
        ("_index.json", "_index.json"),
        ("aaa.json", "notes.txt"),
        ("aaa.json", &shards[0]),
        ("bbb.json", &shards[1]),
        ("aaa.json", "_run_journal/aaa/run-aaa-t0.jsonl"),
        ("bbb.json", "_run_journal/bbb/run-bbb-t0.jsonl"),
    ];
    let mut tried = 0;
    for rule in RULES {
        for (unit, file) in files {
            let (folder, bench) = nothing_to_prune();
            let now = fs::read(folder.path().join(file)).unwrap();
            let cut = json!({"new": state(&now[3..]), "edits": [{"from": 0, "to": 3}]});
            // What looks like the other half of it being done: a file that is not there.
            let gone = forged(&folder, rule, unit, "_run_journal/aaa/never.jsonl", json!({}));
            // Without a log, as `--without-log` leaves it, and with one.
            for more in [
                json!({}),
                json!({"log": null, "log_path": null}),
                cut,
                json!({"new": state(b"evil"), "edits": [{"from": 0, "to": now.len(), "put": "evil"}]}),
            ] {
                let stone = forged(&folder, rule, unit, file, more.clone());
                for stones in [vec![stone.clone()], vec![gone.clone(), stone]] {
                    write_forged(&bench, &stones, Value::Null);
                    let before = tree(&folder.path());
                    let place = format!("{rule} {file} {more} {}", stones.len());
                    let (status, _) = bench.run(Prune::Apply).unwrap_or_else(|error| panic!("{place}: {error}"));
                    assert!(tree(&folder.path()) == before, "{place}: something was touched");
                    assert_eq!(status, everlog::report::ExitStatus::Found, "{place}: nothing was said");
                    let (status, _) = bench.run(Prune::Apply).unwrap();
                    assert_eq!(status, everlog::report::ExitStatus::Well, "{place}: it is not closed");
                    assert!(tree(&folder.path()) == before, "{place}: something was touched");
                    tried += 1;
                }
            }
        }
    }
    support::figure("forged tombstones", tried);
}

#[test]
fn a_forged_tombstone_brings_nothing_back_over_a_live_file_and_nothing_that_was_never_there() {
    let mut tried = 0;
    for rule in ["turn-journal", "run-journal", "hidden-lines", "event-log", "cron-run-log", "retired"] {
        let (folder, bench) = nothing_to_prune();
        // The transcript has gone on since the log was made: what the log has is
        // no longer what the file is.
        let path = folder.path().join("aaa.json");
        let old = fs::read(&path).unwrap();
        let now = String::from_utf8(old.clone()).unwrap().replace("yes aaa-t0", "YES").into_bytes();
        fs::write(&path, &now).unwrap();
        let secret = folder.home().join("secret");
        fs::write(&secret, "secret\n").unwrap();
        let trash = folder.home().join("trash/20260101T000000Z-abcdef");
        fs::create_dir_all(trash.join("_run_journal/aaa")).unwrap();
        symlink(&secret, trash.join("_run_journal/aaa/run-x.jsonl")).unwrap();
        symlink(folder.home(), trash.join("_turn_journal")).unwrap();
        fs::write(trash.join("aaa.json"), "evil").unwrap();
        let whole = json!([{"from": 0, "to": old.len(), "put": String::from_utf8_lossy(&now)}]);
        let run = "_run_journal/aaa/run-x.jsonl";
        let cases = [
            // Over a live transcript: as if prune had rewritten it, or removed it.
            forged(&folder, rule, "aaa.json", "aaa.json", json!({"old": state(&old), "new": state(&now), "edits": whole})),
            forged(&folder, rule, "aaa.json", "aaa.json", json!({"old": state(&old)})),
            forged(
                &folder,
                rule,
                "aaa.json",
                "aaa.json",
                json!({"old": state(b"evil"), "new": state(&now), "log": null, "trash": trash.join("aaa.json")}),
            ),
            // A transcript under a name that it never had.
            forged(&folder, rule, "aaa.json", run, json!({"old": state(&old), "log_path": "aaa.json"})),
            forged(&folder, rule, "aaa.json", "zzz.json", json!({"old": state(&old), "log_path": "aaa.json"})),
            forged(
                &folder,
                rule,
                "bbb.json",
                "zzz/aaa.json",
                json!({"old": state(&old), "log": "aaa.json.everlog.jsonl", "log_path": "aaa.json"}),
            ),
            // Bytes that neither a log nor a trash has: a link to a secret, a file
            // that lies elsewhere than a trash would have it.
            forged(&folder, rule, "aaa.json", run, json!({"old": state(b"secret\n"), "log": null, "trash": trash.join(run)})),
            forged(&folder, rule, "aaa.json", run, json!({"old": state(b"secret\n"), "log": null, "trash": secret})),
            forged(
                &folder,
                rule,
                "aaa.json",
                "_turn_journal/secret",
                json!({"old": state(b"secret\n"), "log": null, "trash": trash.join("_turn_journal/secret")}),
            ),
        ];
        for stone in cases {
            for end in [json!("done"), Value::Null] {
                write_forged(&bench, std::slice::from_ref(&stone), end.clone());
                let before = tree(&folder.path());
                let said = bench.run(Prune::Undo(None));
                let is_well = matches!(&said, Ok((everlog::report::ExitStatus::Well, _)));
                assert!(tree(&folder.path()) == before, "{stone} {end}: something was written");
                assert!(!is_well, "{stone} {end}: it is said to be done");
                tried += 1;
            }
        }
    }
    support::figure("forged tombstones", tried);
}

#[test]
fn a_forged_tombstone_does_not_make_a_loss_look_like_a_prune() {
    for rule in ["turn-journal", "run-journal", "hidden-lines", "event-log", "cron-run-log", "retired"] {
        let (folder, bench) = nothing_to_prune();
        let path = folder.path().join("aaa.json");
        let old = fs::read_to_string(&path).unwrap();
        let at = old.find("yes aaa-t0").unwrap();
        let new = old.replace("yes aaa-t0", "");
        let edits = json!([{"from": at, "to": at + "yes aaa-t0".len()}]);
        let stone = forged(&folder, rule, "aaa.json", "aaa.json", json!({"new": state(new.as_bytes()), "edits": edits}));
        write_forged(&bench, &[stone], json!("done"));
        fs::write(&path, new).unwrap();
        assert_eq!(bench.migrate(), everlog::report::ExitStatus::Found, "{rule}: a message is gone, and nothing is said");
    }
}

#[test]
fn a_link_in_the_place_of_the_spare_files_leads_nowhere() {
    let folder = Folder::new();
    let spread = Turn { shards: [0, 1, 1, 2], ..Turn::over(Last::Completed, Seen::Answer, Run::Done) };
    session(&folder, "aaa", &[spread]);
    folder.index(&["aaa"]);
    let bench = prune::Bench { copies: everlog::commands::prune::Copies::GivenUp, ..prune::Bench::of(&folder.path(), folder.home()) };
    let victims = folder.home().join("victims");
    fs::create_dir_all(&victims).unwrap();
    fs::create_dir_all(bench.dest.join(".everlog")).unwrap();
    ["20260101T000000Z-abcdef.0-0", "mine.txt"].iter().for_each(|name| fs::write(victims.join(name), "mine").unwrap());
    symlink(&victims, bench.dest.join(".everlog/unfinished")).unwrap();
    let (before, sessions) = (tree(&victims), tree(&folder.path()));
    let (status, _) = bench.run(Prune::Apply).unwrap();
    assert_eq!(status, everlog::report::ExitStatus::Found);
    assert!(tree(&victims) == before && tree(&folder.path()) == sessions);
    // In a folder of our own only what has such a name is removed.
    fs::remove_file(bench.dest.join(".everlog/unfinished")).unwrap();
    fs::rename(&victims, bench.dest.join(".everlog/unfinished")).unwrap();
    bench.run(Prune::Apply).unwrap();
    let left: Vec<String> = tree(&bench.dest.join(".everlog/unfinished")).into_keys().collect();
    assert_eq!(left, ["mine.txt"]);
}

#[test]
fn an_undo_of_a_repair_obeys_no_forged_receipt() {
    let folder = repaired();
    let bench = repairing::Bench::of(&folder.path(), folder.home());
    let receipt = bench.receipt();
    let good = fs::read(&receipt).unwrap();
    let hash = |path: &Path| everlog::model::digest::sha256_hex(&fs::read(path).unwrap());
    let source = folder.path();
    fs::write(source.join("notes.txt"), "mine").unwrap();
    let evil = receipt.with_file_name("old-0001-evil");
    fs::write(&evil, "{\"evil\":1}").unwrap();
    // A session that nothing is wrong with.
    let name = "zzz.json";
    let transcript = source.join(name);
    fs::write(&transcript, r#"{"session_id":"zzz","title":"t","messages":[{"role":"user","content":"mine"}]}"#).unwrap();
    let old = json!({"sha256": hash(&evil), "mtime_ns": 1, "mode": 0o666, "kept": "old-0001-evil"});
    let why: Value = serde_json::from_slice::<Value>(&good).unwrap()["files"][0]["why"].clone();
    let forged = [
        json!([{"path": "notes.txt", "new_sha256": hash(&source.join("notes.txt")), "why": ["x: y"]}]),
        json!([{"path": "notes.txt", "new_sha256": hash(&source.join("notes.txt")), "why": why}]),
        json!([{"path": name, "old": old, "new_sha256": hash(&transcript), "why": ["x: y"]}]),
        json!([{"path": name, "old": old, "new_sha256": hash(&transcript), "why": why}]),
        json!([{"path": name, "new_sha256": hash(&transcript), "why": why}]),
    ];
    for files in forged {
        change_receipt(&receipt, |receipt| receipt["files"] = files.clone());
        let before = tree(&source);
        let said = bench.run(Repair::Undo(receipt.clone())).unwrap_err();
        assert!(said.contains("was not written by everlog"), "{files}: {said}");
        assert!(tree(&source) == before, "{files}: something was touched");
        // Nor does a receipt of an earlier release, without its time, say more.
        change_receipt(&receipt, |receipt| drop(receipt.as_object_mut().unwrap().remove("stamp_ns")));
        assert!(bench.run(Repair::Undo(receipt.clone())).is_err(), "{files}");
        assert!(tree(&source) == before, "{files}: something was touched");
        fs::write(&receipt, &good).unwrap();
    }
    bench.run(Repair::Undo(receipt)).unwrap();
}

#[test]
fn a_tombstone_without_its_checksum_gives_no_file_away() {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    let folder = Folder::new();
    session(&folder, "aaa", &[Turn::over(Last::Completed, Seen::Answer, Run::Done)]);
    folder.index(&["aaa"]);
    let bench = prune::Bench::of(&folder.path(), folder.home());
    bench.migrate();
    let journals = || {
        let all = tree(&folder.path()).into_keys().filter(|name| name.contains("_journal/"));
        all.map(|name| folder.path().join(name)).filter(|path| path.is_file()).collect::<Vec<_>>()
    };
    journals().iter().for_each(|path| fs::set_permissions(path, fs::Permissions::from_mode(0o640)).unwrap());
    let before = journals();
    bench.apply();
    let tombstones = bench.dest.join(".everlog/pruned.jsonl");
    let good = fs::read_to_string(&tombstones).unwrap();
    assert!(good.lines().all(|line| line.contains(",\"sum\":\"")), "{good}");
    // A changed line that keeps its checksum is damage.
    fs::write(&tombstones, good.replace("\"mode\":416", "\"mode\":511")).unwrap();
    let _ = bench.run(Prune::Undo(None));
    assert!(journals().iter().all(|path| fs::metadata(path).unwrap().mode() & 0o777 != 0o777));
    // One without any says nothing of who may read the file.
    let without = good.lines().map(|line| {
        let body = format!("{}}}\n", &line[..line.rfind(",\"sum\":\"").unwrap()]);
        body.replace("\"mode\":416", "\"mode\":511")
    });
    fs::write(&tombstones, without.collect::<String>()).unwrap();
    bench.run(Prune::Undo(None)).unwrap();
    assert_eq!(journals(), before);
    let gone: Vec<_> =
        good.lines().filter_map(|line| serde_json::from_str::<Value>(line).unwrap()["file"].as_str().map(str::to_owned)).collect();
    for path in before.iter().filter(|path| gone.iter().any(|file| path.ends_with(file))) {
        let meta = fs::metadata(path).unwrap();
        assert_eq!((meta.mode() & 0o777, meta.uid()), (0o600, fs::metadata(folder.path()).unwrap().uid()), "{}", path.display());
    }
}
