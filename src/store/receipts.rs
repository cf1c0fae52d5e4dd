//! Receipts: per unit, which source bytes became which log, and with what
//! verdict. A cache for skipping what has not changed, and evidence; it can be
//! made again from logs and source, but for what is retired.

use serde::{Deserialize, Serialize};

use crate::model::finding::Finding;
use crate::model::folder::{Listed, ListedKind};

use super::error::StoreError;
pub use super::receipt_lines::{InOrder, Line, Receipts, append};

/// One unit's receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The unit's name, as a key.
    pub unit: String,
    /// Its format.
    pub format: String,
    /// The source files as they were.
    pub files: Vec<FileReceipt>,
    /// The log, below the store, as a key.
    pub log: String,
    /// The hash in the log's seal.
    pub log_sha256: String,
    /// The log's size.
    pub log_bytes: u64,
    /// Sizes and counts for reports.
    pub counts: Counts,
    /// What was found.
    pub findings: Vec<Finding>,
    /// Whether a file's time is part of the log.
    #[serde(default)]
    pub uses_file_times: bool,
    /// The hash of what files of the whole folder said of the session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside_sha256: Option<String>,
    /// Whether its content said that it is of this format.
    #[serde(default, skip_serializing_if = "is_false")]
    pub sure: bool,
    /// What of it is retired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retired: Option<Retired>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_false(is: &bool) -> bool {
    !is
}

/// Files that are renamed, or about to be: this is written before the first
/// rename, and taken back after the last file has its name again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retired {
    /// The folder that their paths are below, itself below the source, as a key.
    pub folder: String,
    /// The files as they were proven, under the names that they had.
    pub files: Vec<FileReceipt>,
    /// Files of other sessions that their program takes for the same one, as
    /// they were then; below the same folder.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub beside: Vec<FileReceipt>,
}

/// One source file as it was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileReceipt {
    /// Its path in the session, as a key.
    pub path: String,
    /// Its size.
    pub size: u64,
    /// Its time, in nanoseconds since the epoch.
    pub mtime_ns: i64,
    /// Its permission bits.
    pub mode: u32,
    /// The hash of its bytes, for regular files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
}

/// Sizes and counts of one unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Counts {
    /// Bytes of the source.
    pub source_bytes: u64,
    /// Bytes that could not be rendered from events.
    pub residual_bytes: u64,
    /// Messages of the head that is shown by default.
    pub messages: u64,
    /// Lines of the log.
    pub events: u32,
}

impl FileReceipt {
    /// Whether a file still has the size, time and permissions it had.
    #[must_use]
    pub fn is_as_listed(&self, listed: &Listed) -> bool {
        let is_file = listed.kind == ListedKind::File;
        let same_bytes = listed.kind == ListedKind::Folder || (self.size == listed.size && self.mtime_ns == listed.mtime_ns);
        same_bytes && self.mode == listed.mode && is_file == self.sha256.is_some()
    }
}

impl Receipt {
    /// It as a line of the file.
    ///
    /// # Errors
    /// When it cannot be written as one.
    pub fn line(&self) -> Result<Vec<u8>, StoreError> {
        let mut line = serde_json::to_vec(self).map_err(|error| StoreError::Io {
            doing: "write a receipt for",
            path: self.unit.clone().into(),
            source: error.into(),
        })?;
        line.push(b'\n');
        Ok(line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::files::RelPath;
    use crate::store::disk::{self, Disk, RealDisk};
    use crate::store::layout::Store;

    fn receipt(unit: &str) -> Receipt {
        Receipt {
            unit: unit.to_owned(),
            format: "pi".to_owned(),
            files: Vec::new(),
            log: format!("{unit}.everlog.jsonl"),
            log_sha256: String::new(),
            log_bytes: 0,
            counts: Counts::default(),
            findings: Vec::new(),
            uses_file_times: false,
            beside_sha256: None,
            sure: false,
            retired: None,
        }
    }

    /// What a store with this file of receipts has in it after a save, where
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
            ("an empty line", format!("{a}\n{b}")),
            ("no end of line", whole.trim_end().to_owned()),
        ] {
            assert_eq!(saved(written.as_bytes(), None), whole, "{what}");
        }
        assert_eq!(saved(b"", None), "");
        // Spelt in another way it says the same, and stays.
        let spelt = whole.replace("{\"unit\"", "{ \"unit\"");
        assert_eq!(saved(spelt.as_bytes(), Some(receipt("a"))), spelt);
        assert_eq!(saved(whole.as_bytes(), Some(Receipt { log_bytes: 7, ..receipt("a") })), whole.replacen(":0,", ":7,", 1));
    }

    /// A store with this file of receipts.
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
        let mut added = append(&store, &RealDisk, &[line("c", 1), line("a", 2)]).unwrap();
        added.extend(append(&store, &RealDisk, &[line("b", 3)]).unwrap());
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
        let file =
            |path: &str, size: u64| FileReceipt { path: path.to_owned(), size, mtime_ns: -5, mode: 0o644, sha256: Some("0".repeat(64)) };
        let files = vec![file("a\"b", 1), file("main", 2)];
        let sure = Receipt { files: files.clone(), sure: true, ..receipt("s") };
        let unsure = Receipt { files, ..receipt("u") };
        let (_folder, store) = store_with(&[sure.line().unwrap(), unsure.line().unwrap()].concat());
        let known = Receipts::load(&store);
        let listed = Listed { path: RelPath::new("s/main"), kind: ListedKind::File, size: 2, mtime_ns: -5, mode: 0o600 };
        let knows = |unit: &str, format: &str, file: &str, listed: &Listed| known.knows(&RelPath::new(unit), format, file, listed);
        assert!(knows("s", "pi", "main", &listed));
        assert!(knows("s", "pi", "a\"b", &Listed { size: 1, ..listed.clone() }));
        assert!(!knows("u", "pi", "main", &listed) && !knows("s", "gptme", "main", &listed) && !knows("s", "pi", "a", &listed));
        for other in [
            Listed { size: 1, ..listed.clone() },
            Listed { mtime_ns: -4, ..listed.clone() },
            Listed { kind: ListedKind::Link, ..listed.clone() },
        ] {
            assert!(!knows("s", "pi", "main", &other), "{other:?}");
        }
    }
}
