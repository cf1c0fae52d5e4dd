//! Which sessions go into which part file. The answer depends on nothing but the
//! sessions themselves, so that two stores with the same logs have the same tables,
//! however they came to be; and one session that changes moves few others.

use std::collections::BTreeSet;

use crate::model::digest::sha256_hex;

use super::schema::{TableName, VERSION};

/// A part is of so many bytes of logs on average, and of four times as many at most.
const PART_BYTES: u64 = 64 * 1024 * 1024;

/// What the tables are split by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PartitionBy {
    /// The month of the last message.
    Month,
    /// The format of the session's program.
    Format,
}

impl PartitionBy {
    /// All of them.
    pub const ALL: [PartitionBy; 2] = [PartitionBy::Month, PartitionBy::Format];

    /// Returns the name of the column.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            PartitionBy::Month => "month",
            PartitionBy::Format => "format",
        }
    }
}

/// What engines take for null in the name of a folder.
const NULL: &str = "__HIVE_DEFAULT_PARTITION__";

/// One session, as far as planning needs it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedSession {
    /// The log's name below its store, as a key.
    pub log: String,
    /// The hash that stands for the log.
    pub sha256: String,
    /// The hash of its findings.
    pub findings: String,
    /// Its format.
    pub format: String,
    /// The time of its last message in UTC.
    pub last: Option<String>,
    /// The size of its log.
    pub bytes: u64,
}

impl PlannedSession {
    /// Returns the month of its last message.
    #[must_use]
    pub fn month(&self) -> Option<&str> {
        let month = self.last.as_deref()?.get(..7)?;
        let is_right = month.bytes().enumerate().all(|(n, byte)| if n == 4 { byte == b'-' } else { byte.is_ascii_digit() });
        is_right.then_some(month)
    }

    /// Returns the folder of its rows below that of a table; empty, or with a slash after it.
    fn folder(&self, by: &[PartitionBy]) -> String {
        let value = |by: &PartitionBy| match by {
            PartitionBy::Month => self.month().unwrap_or(NULL),
            // It comes from a log, and becomes the name of a folder.
            PartitionBy::Format if is_name(&self.format) => &self.format,
            PartitionBy::Format => NULL,
        };
        by.iter().map(|by| format!("{}={}/", by.name(), value(by))).collect()
    }

    /// Returns what its rows depend on.
    #[must_use]
    pub fn identity(&self) -> String {
        let month = self.month().unwrap_or_default();
        sha256_hex([&self.log, "\n", &self.sha256, "\n", &self.findings, "\n", month].concat().as_bytes())
    }
}

fn is_name(format: &str) -> bool {
    !format.is_empty() && format.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

/// The sessions of one part file of each table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartFile {
    /// The folder and the name of its files below the folder of each table.
    pub name: String,
    /// The numbers of its sessions, in the order of their rows.
    pub sessions: Vec<usize>,
}

impl PartFile {
    /// Returns where its rows of one table are.
    #[must_use]
    pub fn file(&self, table: TableName) -> String {
        file_of(&self.name, table)
    }
}

/// Returns where the rows of a part are, of one table.
#[must_use]
pub fn file_of(part: &str, table: TableName) -> String {
    format!("{}/{part}.parquet", table.name())
}

/// Returns what a part is made from.
#[must_use]
pub fn identity<'a>(entries: impl Iterator<Item = &'a PlannedSession>) -> String {
    let each: Vec<String> = entries.map(PlannedSession::identity).collect();
    sha256_hex(format!("everlog tables {VERSION}\n{}", each.join("\n")).as_bytes())
}

/// Groups sessions into parts: by what tables are split by, then by program and time,
/// so that row groups of one part are of few of both.
#[must_use]
pub fn parts(entries: &[PlannedSession], by: &[PartitionBy]) -> Vec<PartFile> {
    let mut order: Vec<(String, usize)> = entries.iter().enumerate().map(|(n, entry)| (entry.folder(by), n)).collect();
    order.sort_by(|(folder, n), (other_folder, other)| {
        let key = |n: usize| (&entries[n].format, &entries[n].last, &entries[n].log);
        folder.cmp(other_folder).then_with(|| key(*n).cmp(&key(*other)))
    });
    let mut parts: Vec<PartFile> = Vec::new();
    let mut names = BTreeSet::new();
    let mut bytes = 0_u64;
    let mut ends = true;
    let mut before: Option<(&str, &str)> = None;
    for (folder, n) in &order {
        let entry = &entries[*n];
        let belongs = (folder.as_str(), entry.format.as_str());
        if ends || before != Some(belongs) || bytes.saturating_add(entry.bytes) > PART_BYTES * 4 {
            let name = format!("{folder}part-{}", &sha256_hex(entry.log.as_bytes())[..16]);
            names.insert(name.clone());
            parts.push(PartFile { name, sessions: Vec::new() });
            bytes = 0;
        }
        if let Some(part) = parts.last_mut() {
            part.sessions.push(*n);
        }
        bytes = bytes.saturating_add(entry.bytes);
        ends = is_end(entry);
        before = Some(belongs);
    }
    debug_assert_eq!(names.len(), parts.len());
    parts
}

/// Tells whether a part ends after this session: its own name and size decide, so that a
/// session that comes or goes moves no end but its own.
fn is_end(entry: &PlannedSession) -> bool {
    let hash = sha256_hex(entry.log.as_bytes());
    let lot = hash.get(16..32).and_then(|digits| u64::from_str_radix(digits, 16).ok()).unwrap_or(0);
    u128::from(lot) * u128::from(PART_BYTES) < u128::from(entry.bytes) << 64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(n: usize) -> PlannedSession {
        PlannedSession {
            log: format!("s{n}.everlog.jsonl"),
            sha256: String::new(),
            findings: String::new(),
            format: ["one", "two"][n % 2].to_owned(),
            last: (!n.is_multiple_of(7)).then(|| format!("2026-{:02}-01T00:00:00", 1 + n % 12)),
            bytes: 1_000_000,
        }
    }

    fn logs(entries: &[PlannedSession], parts: &[PartFile]) -> Vec<(String, Vec<String>)> {
        parts.iter().map(|part| (part.name.clone(), part.sessions.iter().map(|n| entries[*n].log.clone()).collect())).collect()
    }

    #[test]
    fn parts_do_not_depend_on_the_order_of_sessions() {
        let entries: Vec<PlannedSession> = (0..500).map(entry).collect();
        let mut turned = entries.clone();
        turned.reverse();
        assert_eq!(logs(&entries, &parts(&entries, &[])), logs(&turned, &parts(&turned, &[])));
        let sizes: Vec<usize> = parts(&entries, &[]).iter().map(|part| part.sessions.len()).collect();
        assert_eq!(sizes.iter().sum::<usize>(), 500);
        assert!(sizes.len() > 4 && sizes.iter().all(|size| *size <= 268), "{sizes:?}");
    }

    #[test]
    fn a_session_that_comes_changes_at_most_two_parts() {
        let entries: Vec<PlannedSession> = (0..500).map(entry).collect();
        let before = logs(&entries, &parts(&entries, &[]));
        for extra in 500..520 {
            let more: Vec<PlannedSession> = entries.iter().cloned().chain([entry(extra)]).collect();
            let after = logs(&more, &parts(&more, &[]));
            let new = after.iter().filter(|part| !before.contains(part)).count();
            assert!((1..=2).contains(&new), "{new} parts are new");
        }
    }

    #[test]
    fn folders_say_what_tables_are_split_by() {
        let entries: Vec<PlannedSession> = (0..8).map(entry).collect();
        let by = [PartitionBy::Month, PartitionBy::Format];
        for part in parts(&entries, &by) {
            let first = &entries[part.sessions[0]];
            let folder = format!("month={}/format={}/part-", first.month().unwrap_or("__HIVE_DEFAULT_PARTITION__"), first.format);
            assert!(part.name.starts_with(&folder), "{}", part.name);
            assert!(part.sessions.iter().all(|n| entries[*n].month() == first.month() && entries[*n].format == first.format));
        }
    }
}
