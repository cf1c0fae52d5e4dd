//! The manifest: which file holds the rows of which sessions, and what they were made
//! from. It is written last, so that what it names is there.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::plan::PartitionBy;
use super::schema::{TableName, VERSION};

/// The name of the manifest. Engines skip names that begin like this.
pub const NAME: &str = "_everlog.jsonl";

/// The name of the file that a writer locks.
pub const LOCK: &str = "_everlog.lock";

/// The first line of a manifest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// The version of the tables.
    pub everlog_tables: u32,
    /// What they are split by.
    pub partition_by: Vec<String>,
    /// How many part files each table has.
    pub parts: usize,
    /// How many rows each table has.
    pub rows: BTreeMap<String, u64>,
}

/// Each further line: one part file of each table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PartLine {
    /// Its name, with the folder that it is in below that of each table.
    pub part: String,
    /// The hash of what it was made from.
    pub made_from: String,
    /// Its files, in the order of tables.
    pub files: Vec<FileLine>,
    /// Its sessions, in the order of their rows.
    pub sessions: Vec<SessionLine>,
}

/// One file of a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileLine {
    /// How many rows it has.
    pub rows: u64,
    /// Its size.
    pub bytes: u64,
    /// The hash of its bytes.
    pub sha256: String,
}

/// One session of a part.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionLine {
    /// Its log below the store, as a key.
    pub log: String,
    /// The hash that stands for its log.
    pub log_sha256: String,
    /// The hash of what its rows depend on besides.
    pub made_from: String,
    /// How many rows it has in each table, in the order of tables.
    pub rows: Vec<u64>,
}

impl Header {
    /// Returns the header for these parts.
    #[must_use]
    pub fn of(by: &[PartitionBy], parts: &[PartLine]) -> Header {
        let rows = |n: usize| parts.iter().filter_map(|part| part.files.get(n)).map(|file| file.rows).sum();
        Header {
            everlog_tables: VERSION,
            partition_by: by.iter().map(|by| by.name().to_owned()).collect(),
            parts: parts.len(),
            rows: TableName::ALL.iter().enumerate().map(|(n, table)| (table.name().to_owned(), rows(n))).collect(),
        }
    }
}

/// A manifest that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// Its first line.
    pub header: Header,
    /// Its other lines.
    pub parts: Vec<PartLine>,
}

impl Manifest {
    /// Reads one; says why not where it is not one.
    ///
    /// # Errors
    /// With what is wrong with it.
    pub fn read(text: &[u8]) -> Result<Manifest, String> {
        let mut lines = text.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty());
        let wrong = |n: usize, error: serde_json::Error| format!("line {} is not one of a manifest: {error}", n + 1);
        let (n, first) = lines.next().ok_or("it is empty")?;
        let header: Header = serde_json::from_slice(first).map_err(|error| wrong(n, error))?;
        if header.everlog_tables != VERSION {
            return Err(format!("it is of version {} of the tables; this everlog knows {VERSION}", header.everlog_tables));
        }
        let tables = TableName::ALL.len();
        let mut parts = Vec::new();
        for (n, line) in lines {
            let part: PartLine = serde_json::from_slice(line).map_err(|error| wrong(n, error))?;
            // It becomes a path.
            let is_inside = part.part.split('/').all(|name| !name.is_empty() && !name.starts_with('.')) && !part.part.contains('\0');
            if !is_inside || part.files.len() != tables || part.sessions.iter().any(|session| session.rows.len() != tables) {
                return Err(format!("line {} is not one of a manifest", n + 1));
            }
            parts.push(part);
        }
        if header.parts != parts.len() {
            return Err(format!("it has {} parts, and says {}", parts.len(), header.parts));
        }
        Ok(Manifest { header, parts })
    }

    /// It as the bytes of its file.
    ///
    /// # Errors
    /// When it cannot be written as JSON, which none causes.
    pub fn bytes(&self) -> serde_json::Result<Vec<u8>> {
        let mut bytes = serde_json::to_vec(&self.header)?;
        bytes.push(b'\n');
        for part in &self.parts {
            serde_json::to_writer(&mut bytes, part)?;
            bytes.push(b'\n');
        }
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> Manifest {
        let file = FileLine { rows: 2, bytes: 7, sha256: "00".to_owned() };
        let session = SessionLine { log: "a".to_owned(), log_sha256: "11".to_owned(), made_from: "22".to_owned(), rows: vec![2; 5] };
        let part =
            PartLine { part: "month=2026-01/part-0".to_owned(), made_from: "33".to_owned(), files: vec![file; 5], sessions: vec![session] };
        Manifest { header: Header::of(&[PartitionBy::Month], std::slice::from_ref(&part)), parts: vec![part] }
    }

    #[test]
    fn a_manifest_is_read_as_it_was_written() {
        let bytes = manifest().bytes().unwrap();
        assert_eq!(Manifest::read(&bytes), Ok(manifest()));
        assert_eq!(manifest().header.rows.get("usage"), Some(&2));
    }

    #[test]
    fn what_is_no_manifest_is_refused() {
        let text = String::from_utf8(manifest().bytes().unwrap()).unwrap();
        for wrong in [
            String::new(),
            "{}".to_owned(),
            text.replace("\"everlog_tables\":1", "\"everlog_tables\":99"),
            text.replace("month=2026-01/", "../"),
            text.replace("month=2026-01/", "/"),
            text.replace("\"parts\":1", "\"parts\":2"),
            text.replace("\"rows\":[2,", "\"rows\":["),
            text.trim_end().trim_end_matches('}').to_owned(),
        ] {
            assert!(Manifest::read(wrong.as_bytes()).is_err(), "{wrong}");
        }
    }
}
