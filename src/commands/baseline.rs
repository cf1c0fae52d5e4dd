//! The baseline of a store: findings that somebody has looked at and accepted.
//! They are reported as notes and no longer make a run exit with 1; every other
//! finding still does. One sorted line each, so that Git shows what was added.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::Read;

use crate::model::event::to_log_json;
use crate::model::finding::{Finding, FindingCode, Severity};
use crate::store::disk::{self, Disk};
use crate::store::layout::Store;
use crate::store::{StoreError, replace};

/// What makes a finding the same one in a later run: not its line number, which
/// any edit above it changes, but the bytes that are damaged.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Key {
    /// The session; empty where the finding belongs to none.
    session: String,
    file: String,
    code: FindingCode,
    digest: String,
}

/// One line of the baseline.
#[derive(Debug, Serialize, Deserialize)]
struct AcceptedFinding {
    #[serde(flatten)]
    key: Key,
    /// How many findings of this key are accepted: one more is new damage.
    count: u64,
    /// What was accepted, for whoever reviews it.
    message: String,
}

/// The accepted findings of a store.
#[derive(Debug, Default)]
pub(super) struct Baseline {
    lines: BTreeMap<Key, (u64, String)>,
}

/// Findings of one run that are compared with a baseline: each accepted one
/// uses up a place in it.
pub(super) struct Acceptance<'b> {
    baseline: &'b Baseline,
    used: BTreeMap<Key, u64>,
}

impl Key {
    fn of(session: &str, finding: &Finding) -> Key {
        Key { session: session.to_owned(), file: finding.location.file.clone(), code: finding.code, digest: finding.identity() }
    }
}

impl Baseline {
    /// Reads the baseline of a store; it is empty where there is none.
    ///
    /// # Errors
    /// When there is one and it cannot be read. A line that is not one of ours
    /// accepts nothing.
    pub(super) fn read(store: &Store) -> Result<Baseline, StoreError> {
        let path = store.baseline();
        let mut baseline = Baseline::default();
        if !path.exists() {
            return Ok(baseline);
        }
        // A pipe under this name would keep a plain read waiting for ever.
        let (mut file, _) = disk::open_regular(&path)?;
        let mut text = Vec::new();
        file.read_to_end(&mut text).map_err(StoreError::io("read", &path))?;
        for line in text.split(|byte| *byte == b'\n') {
            if let Ok(AcceptedFinding { key, count, message }) = serde_json::from_slice(line) {
                baseline.lines.insert(key, (count, message));
            }
        }
        Ok(baseline)
    }

    /// Accepts a finding.
    pub(super) fn accept(&mut self, session: &str, finding: &Finding) {
        let entry = self.lines.entry(Key::of(session, finding)).or_insert_with(|| (0, finding.message.clone()));
        entry.0 += 1 + finding.more;
    }

    /// Takes in what another baseline accepts and this one does not.
    pub(super) fn keep(&mut self, other: Baseline) {
        for (key, entry) in other.lines {
            self.lines.entry(key).or_insert(entry);
        }
    }

    /// Returns how many findings are accepted.
    pub(super) fn count(&self) -> u64 {
        self.lines.values().map(|(count, _)| count).sum()
    }

    /// Replaces the store's baseline with this one.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn write(&self, store: &Store, disk: &dyn Disk) -> Result<(), StoreError> {
        let mut text = Vec::new();
        for (key, (count, message)) in &self.lines {
            let line = AcceptedFinding { key: key.clone(), count: *count, message: message.clone() };
            if let Ok(json) = to_log_json(&line) {
                text.extend_from_slice(&json);
                text.push(b'\n');
            }
        }
        disk.create_folders(&store.private())?;
        replace::put(disk, &store.baseline(), &text)
    }

    /// Begins to compare the findings of a run.
    pub(super) fn acceptance(&self) -> Acceptance<'_> {
        Acceptance { baseline: self, used: BTreeMap::new() }
    }
}

impl Acceptance<'_> {
    /// Turns a finding into a note where it is accepted; says whether it did.
    pub(super) fn settle(&mut self, session: &str, finding: &mut Finding) -> bool {
        if finding.severity < Severity::Warn || self.baseline.lines.is_empty() {
            return false;
        }
        let key = Key::of(session, finding);
        let Some((count, _)) = self.baseline.lines.get(&key) else { return false };
        let used = self.used.entry(key).or_default();
        *used += 1 + finding.more;
        if *used > *count {
            return false;
        }
        finding.severity = Severity::Info;
        true
    }
}
