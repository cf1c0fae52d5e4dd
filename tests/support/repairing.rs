//! A workplace for tests of repairs: worn folders, and a repair on any disk.

use super::webui::Folder;
use super::{schema, tree};
use everlog::adapters::ALL;
use everlog::commands::repair::{Action, RepairJob, run};
use everlog::report::ExitStatus;
use everlog::report::printer::{Form, Printer, Talk};
use everlog::store::disk::{Disk, RealDisk};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// A time that is later than every file of every case.
pub const NOW_NS: i64 = 1_794_900_000_000_000_000;

#[derive(Clone, Default)]
struct Shared(Arc<Mutex<Vec<u8>>>);

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

pub struct Bench<'a> {
    pub source: PathBuf,
    pub backups: PathBuf,
    pub now_ns: i64,
    pub disk: &'a dyn Disk,
}

impl<'a> Bench<'a> {
    pub fn of(source: &Path, scratch: &Path) -> Bench<'a> {
        Bench { source: source.to_owned(), backups: scratch.join("backups"), now_ns: NOW_NS, disk: &RealDisk }
    }

    pub fn run(&self, action: Action) -> Result<(ExitStatus, Vec<Value>), String> {
        let job = RepairJob {
            source: self.source.clone(),
            adapters: ALL.to_vec(),
            backups: self.backups.clone(),
            action,
            now_ns: self.now_ns,
            disk: self.disk,
        };
        let said = Shared::default();
        let printer = Printer::to(Box::new(said.clone()), Form::Json, Talk::Quiet);
        let status = run(&job, &printer).map_err(|error| error.to_string())?;
        drop(printer);
        let text = String::from_utf8(said.0.lock().unwrap().clone()).unwrap();
        schema::check("repair", text.as_bytes());
        Ok((status, text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()))
    }

    /// The files of the plan, and its fingerprint.
    pub fn plan(&self) -> (Vec<String>, String) {
        let (_, rows) = self.run(Action::Plan).unwrap();
        let files = rows.iter().filter_map(|row| row["file"].as_str().map(str::to_owned)).collect();
        (files, rows.last().unwrap()["plan"]["fingerprint"].as_str().unwrap().to_owned())
    }

    pub fn apply(&self, fingerprint: &str) -> Result<ExitStatus, String> {
        self.run(Action::Apply(fingerprint.to_owned())).map(|(status, _)| status)
    }

    /// Plans and does it; returns the files that were written.
    pub fn repair(&self) -> Vec<String> {
        let (files, fingerprint) = self.plan();
        if !files.is_empty() {
            self.apply(&fingerprint).unwrap();
        }
        files
    }

    /// The fingerprint of the one plan that was carried out.
    pub fn fingerprint(&self) -> String {
        self.receipt().parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned()
    }

    pub fn receipt(&self) -> PathBuf {
        let folders = fs::read_dir(&self.backups).unwrap().flatten().map(|entry| entry.path());
        folders.map(|folder| folder.join("receipt.json")).find(|path| path.is_file()).expect("no receipt")
    }
}

/// A folder with something of every kind: a shrunken sidecar, one that waits, a
/// backup alone, a list that names what is gone.
pub fn worn() -> Folder {
    let folder = Folder::new();
    folder.wear();
    fs::set_permissions(folder.path().join("aaa.json"), fs::Permissions::from_mode(0o640)).unwrap();
    folder
}

pub const WRITTEN: [&str; 4] = ["aaa.json", "bbb.json", "ccc.json", "_index.json"];

pub fn contents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    tree(folder).into_iter().map(|(name, (bytes, _))| (name, bytes)).collect()
}

pub fn messages(path: &Path) -> Vec<(String, String)> {
    let sidecar: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    let text = |row: &Value, key: &str| row[key].as_str().unwrap_or_default().to_owned();
    sidecar["messages"].as_array().unwrap().iter().map(|row| (text(row, "role"), text(row, "content").chars().take(24).collect())).collect()
}

pub fn said(rows: &[(&str, &str)]) -> Vec<(String, String)> {
    rows.iter().map(|(role, text)| ((*role).to_owned(), (*text).to_owned())).collect()
}

pub const CUT_SHORT: (&str, &str) = ("assistant", "**Response interrupted.*");

/// A database with these sessions, each with one question and one answer.
pub fn database(home: &Path, ids: &[&str]) {
    fs::create_dir_all(home).unwrap();
    let connection = rusqlite::Connection::open(home.join("state.db")).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE sessions (id TEXT, source TEXT, title TEXT, model TEXT, started_at REAL, message_count INTEGER);
             CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, timestamp REAL, active INTEGER)",
        )
        .unwrap();
    for id in ids {
        connection.execute("INSERT INTO sessions VALUES (?1, 'webui', 'T', 'm', 1699990000.5, 2)", [id]).unwrap();
        for (role, text) in [("user", "asked"), ("assistant", "answered")] {
            connection.execute("INSERT INTO messages VALUES (NULL, ?1, ?2, ?3, 1699990001.5, 1)", [id, role, text]).unwrap();
        }
    }
}
