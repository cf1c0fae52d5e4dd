//! What becomes of a file of receipts, however it was written.

use crate::model::event::SessionKind;
use crate::store::disk::RealDisk;

use super::*;

fn receipt(unit: &str) -> Receipt {
    Receipt {
        unit: unit.to_owned(),
        format: "flat".to_owned(),
        kind: SessionKind::Session,
        files: Vec::new(),
        log: format!("{unit}.everlog.jsonl"),
        log_sha256: String::new(),
        log_bytes: 0,
        counts: Counts::default(),
        findings: Vec::new(),
        uses_file_times: false,
        beside_sha256: None,
        sure: false,
        about: None,
        blobs: Vec::new(),
        retired: None,
    }
}

/// Returns what a store with this file of receipts has in it after a save, where
/// nothing, or only this, was put.
fn saved(written: &[u8], put: Option<Receipt>) -> String {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path());
    RealDisk.create_folder(&store.private()).unwrap();
    RealDisk.append(&store.receipts(), written).unwrap();
    let mut known = Receipts::load(&store);
    known.iter().for_each(|receipt| assert!(known.get(&RelPath::from_key(&receipt.unit)) == Some(receipt)));
    put.iter().for_each(|receipt| known.put(receipt).unwrap());
    known.save(&store, &RealDisk).unwrap();
    String::from_utf8(disk::read(&store.receipts()).unwrap()).unwrap()
}

#[test]
fn a_file_is_put_in_order_unless_it_is() {
    let line = |unit: &str| String::from_utf8(receipt(unit).line().unwrap()).unwrap();
    let (a, b) = (line("a"), line("b"));
    let whole = a.clone() + &b;
    for (what, written) in [
        ("in order", whole.clone()),
        ("not in order", b.clone() + &a),
        ("one of them twice", whole.clone() + &a),
        ("a line that is none", format!("{a}{{\n{b}")),
        ("a line with another bit", a.clone() + &b + &line("c").replacen("flat", "glat", 1)),
        ("an empty line", format!("{a}\n{b}")),
        ("no end of line", whole.trim_end().to_owned()),
    ] {
        assert_eq!(saved(written.as_bytes(), None), whole, "{what}");
    }
    assert_eq!(saved(b"", None), "");
    // Spelt in another way it says the same, and stays.
    let spelt: String = ["a", "b"].map(|unit| format!("{{ {}\n", &serde_json::to_string(&receipt(unit)).unwrap()[1..])).concat();
    assert_eq!(saved(spelt.as_bytes(), Some(receipt("a"))), spelt);
    let seven = Receipt { log_bytes: 7, ..receipt("a") };
    assert_eq!(saved(whole.as_bytes(), Some(seven.clone())), String::from_utf8(seven.line().unwrap()).unwrap() + &b);
}

#[test]
fn every_flipped_bit_of_a_line_is_noticed() {
    let whole = [receipt("a").line().unwrap(), receipt("b").line().unwrap()].concat();
    for bit in 0..whole.len() * 8 {
        let mut other = whole.clone();
        other[bit / 8] ^= 1 << (bit % 8);
        let (_folder, store) = store_with(&other);
        let known = Receipts::load(&store);
        assert!(!known.damaged().is_empty(), "bit {bit}: {}", String::from_utf8_lossy(&other));
        assert!(known.iter().all(|found| found == receipt(&found.unit)), "bit {bit}");
    }
    let (_folder, store) = store_with(&whole);
    assert!(Receipts::load(&store).damaged().is_empty());
}

/// Returns a store with this file of receipts.
fn store_with(written: &[u8]) -> (tempfile::TempDir, Store) {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::at(folder.path());
    RealDisk.create_folder(&store.private()).unwrap();
    RealDisk.append(&store.receipts(), written).unwrap();
    (folder, store)
}

#[test]
fn of_a_units_lines_the_last_that_is_whole_counts() {
    let retired = Retired { folder: String::new(), files: Vec::new(), beside: Vec::new() };
    let before = Receipt { retired: Some(retired.clone()), ..receipt("b") }.line().unwrap();
    let after = Receipt { log_bytes: 7, retired: Some(retired), ..receipt("b") }.line().unwrap();
    let other = receipt("a").line().unwrap();
    for (cut, is) in [(0, 7), (1, 7), (2, 0), (20, 0)] {
        let (_folder, store) = store_with(&[&before[..], &other, &after[..after.len() - cut]].concat());
        let known = Receipts::load(&store);
        let found: Vec<(String, u64)> = known.retired().map(|(receipt, _)| (receipt.unit, receipt.log_bytes)).collect();
        assert_eq!(found, [("b".to_owned(), is)], "without its last {cut} bytes");
    }
}

#[test]
fn what_is_added_to_the_file_is_sorted_in() {
    let line = |unit: &str, log_bytes: u64| (unit.to_owned(), Receipt { log_bytes, ..receipt(unit) }.line().unwrap());
    let (_folder, store) = store_with(&line("b", 0).1);
    let mut known = Receipts::load(&store);
    let mut added = known.append(&store, &RealDisk, vec![line("c", 1), line("a", 2)]).unwrap();
    added.extend(known.append(&store, &RealDisk, vec![line("b", 3)]).unwrap());
    assert!(!known.are_those_of(&store));
    known.take_in(&store, added).unwrap();
    known.put(&Receipt { log_bytes: 4, ..receipt("c") }).unwrap();
    known.save(&store, &RealDisk).unwrap();
    let saved = disk::read(&store.receipts()).unwrap();
    assert_eq!(saved, [line("a", 2).1, line("b", 3).1, line("c", 4).1].concat());
    // And nothing more is to be written.
    let before = store.receipts().metadata().unwrap();
    known.save(&store, &RealDisk).unwrap();
    Receipts::load(&store).save(&store, &RealDisk).unwrap();
    let after = store.receipts().metadata().unwrap();
    assert_eq!(std::os::unix::fs::MetadataExt::ino(&before), std::os::unix::fs::MetadataExt::ino(&after));
    assert!(Receipts::load(&store).are_those_of(&store));
}

#[test]
fn in_order_or_not_each_unit_has_its_own_receipt() {
    let numbered = |n: u64| Receipt { log_bytes: n, ..receipt(&format!("u{n:03}")) };
    // Longer than what is read in one go, among many that are short.
    let long = Receipt { log_sha256: "f".repeat(200_000), ..numbered(500) };
    let receipts: Vec<Receipt> = (0..500).map(numbered).chain([long]).chain((501..1_000).map(numbered)).collect();
    let lines: Vec<Vec<u8>> = receipts.iter().map(|receipt| receipt.line().unwrap()).collect();
    let (_folder, store) = store_with(&lines.concat());
    let mut known = Receipts::load(&store);
    let changed = Receipt { log_bytes: 7_000, ..numbered(70) };
    known.put(&changed).unwrap();
    let is = |n: usize| Some(if n == 70 { &changed } else { &receipts[n] });
    let unit = |n: usize| RelPath::new(format!("u{n:03}"));
    let mut asked = known.in_order();
    for n in (0..1_000).chain([998, 3, 500, 70, 499]) {
        assert_eq!(asked.get(&unit(n)).as_ref(), is(n), "u{n:03}");
    }
    assert_eq!(asked.get(&unit(1_000)), None);
    assert_eq!(Receipts::default().in_order().get(&unit(0)), None);
}

#[test]
fn a_file_is_known_by_its_size_and_time_where_its_session_was_sure() {
    let file = |path: &str, size: u64| FileReceipt { path: path.to_owned(), size, mtime_ns: -5, mode: 0o644, sha256: Some("0".repeat(64)) };
    let files = vec![file("a\"b", 1), file("main", 2)];
    let sure = Receipt { files: files.clone(), sure: true, ..receipt("s") };
    let unsure = Receipt { files, ..receipt("u") };
    let (_folder, store) = store_with(&[sure.line().unwrap(), unsure.line().unwrap()].concat());
    let known = Receipts::load(&store);
    let listed = Listed { path: RelPath::new("s/main"), kind: ListedKind::File, size: 2, mtime_ns: -5, mode: 0o600 };
    let knows = |unit: &str, format: &str, file: &str, listed: &Listed| known.knows(&RelPath::new(unit), format, file, listed);
    assert!(knows("s", "flat", "main", &listed));
    assert!(knows("s", "flat", "a\"b", &Listed { size: 1, ..listed.clone() }));
    assert!(!knows("u", "flat", "main", &listed) && !knows("s", "tree", "main", &listed) && !knows("s", "flat", "a", &listed));
    for other in [
        Listed { size: 1, ..listed.clone() },
        Listed { mtime_ns: -4, ..listed.clone() },
        Listed { kind: ListedKind::Link, ..listed.clone() },
    ] {
        assert!(!knows("s", "flat", "main", &other), "{other:?}");
    }
}

#[test]
fn of_the_receipts_of_several_parts_the_one_that_was_written_with_the_others_known_counts() {
    let line = |unit: &str, log_bytes: u64| (unit.to_owned(), Receipt { log_bytes, ..receipt(unit) }.line().unwrap());
    let (folder, alone) = store_with(&[line("a", 0).1, line("b", 0).1, line("c", 0).1].concat());
    let part = |number, of| Store::at(folder.path()).for_shard(Shard::new(number, of));
    let write = |store: &Store, unit: &str, log_bytes: u64| {
        let mut known = Receipts::load(store);
        known.put(&Receipt { log_bytes, ..receipt(unit) }).unwrap();
        known.save(store, &RealDisk).unwrap();
    };
    // Whichever number of parts writes, and in whichever order the files are read.
    for (log_bytes, store) in (1..).zip([part(2, 3), part(1, 2), part(2, 3), part(5, 9), part(1, 2)]) {
        write(&store, "b", log_bytes);
        for reader in [&alone, &store, &part(3, 3)] {
            let known = Receipts::load(reader);
            let found: Vec<(String, u64)> = known.iter().map(|receipt| (receipt.unit, receipt.log_bytes)).collect();
            assert_eq!(found, [("a".to_owned(), 0), ("b".to_owned(), log_bytes), ("c".to_owned(), 0)], "{log_bytes}");
        }
    }
    // Appended and not sorted in, as a run leaves it that was cut short.
    let known = Receipts::load(&part(2, 3));
    known.append(&part(2, 3), &RealDisk, vec![line("b", 8), line("d", 8)]).unwrap();
    assert_eq!(Receipts::load(&alone).get(&RelPath::new("b")).unwrap().log_bytes, 8);
    // A part has one line of each unit that it has written, and a single run all of
    // them, as it would have written them itself.
    let mut known = Receipts::load(&part(2, 3));
    known.save(&part(2, 3), &RealDisk).unwrap();
    let text = String::from_utf8(disk::read(&alone.receipts_of(Shard::new(2, 3).unwrap())).unwrap()).unwrap();
    let revisions: Vec<&str> = text.lines().map(|line| line.split("\"revision\":").nth(1).unwrap().split(',').next().unwrap()).collect();
    assert_eq!(revisions, ["6", "1"]);
    Receipts::load(&alone).compact(&alone, &RealDisk).unwrap();
    let saved = disk::read(&alone.receipts()).unwrap();
    assert_eq!(saved, [line("a", 0).1, line("b", 8).1, line("c", 0).1, line("d", 8).1].concat());
    assert!(alone.receipts_of_parts().is_empty());
}

#[test]
fn what_is_left_of_a_compaction_that_was_cut_short_says_the_same() {
    let line = |unit: &str, log_bytes: u64| Receipt { log_bytes, ..receipt(unit) }.line().unwrap();
    let (folder, alone) = store_with(&line("a", 0));
    for (number, unit) in [(1, "a"), (2, "b")] {
        let store = Store::at(folder.path()).for_shard(Shard::new(number, 2));
        let mut known = Receipts::load(&store);
        known.put(&Receipt { log_bytes: 7, ..receipt(unit) }).unwrap();
        known.save(&store, &RealDisk).unwrap();
    }
    let parts: Vec<PathBuf> = alone.receipts_of_parts().into_iter().map(|(_, path)| path).collect();
    let kept: Vec<Vec<u8>> = parts.iter().map(|path| disk::read(path).unwrap()).collect();
    Receipts::load(&alone).compact(&alone, &RealDisk).unwrap();
    let whole = disk::read(&alone.receipts()).unwrap();
    assert_eq!(whole, [line("a", 7), line("b", 7)].concat());
    for (path, bytes) in parts.iter().zip(&kept) {
        RealDisk.append(path, bytes).unwrap();
        let found: Vec<u64> = Receipts::load(&alone).iter().map(|receipt| receipt.log_bytes).collect();
        assert_eq!(found, [7, 7], "with {}", path.display());
    }
    Receipts::load(&alone).compact(&alone, &RealDisk).unwrap();
    assert_eq!(disk::read(&alone.receipts()).unwrap(), whole);
}
