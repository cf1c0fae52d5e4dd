//! Receipts and tombstones that an attacker wrote: a way back leads nowhere but
//! into the source, and one bad path keeps all of it from being gone.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

mod support;

use everlog::commands::prune::Action as Prune;
use everlog::commands::repair::Action as Repair;
use serde_json::{Value, json};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use support::mending::{self, worn};
use support::prune::{self, Last, Run, Seen, Turn, session};
use support::tree;
use support::webui::Folder;

const X: &str = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";

/// A repair that is done, with a file `victim` above the source and a folder
/// `door` in it that leads there.
fn mended() -> Folder {
    let folder = worn();
    mending::Bench::of(&folder.path(), folder.home()).mend();
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
    let folder = mended();
    let bench = mending::Bench::of(&folder.path(), folder.home());
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
            format!("{row}\n")
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
        let before = tree(folder.home());
        let said = bench.run(Prune::Apply).unwrap_err();
        assert!(said.contains("leads out"), "{key} {value}: {said}");
        assert!(tree(folder.home()) == before, "{key} {value}: something was touched");
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
        format!("{row}\n")
    });
    fs::write(&tombstones, forged.collect::<String>()).unwrap();
    bench.run(Prune::Apply).unwrap();
    assert!(!elsewhere.exists());
}
