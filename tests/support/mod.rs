//! What the tests share: the cases on disk, and a conversion in memory.

#![allow(
    dead_code,
    clippy::result_large_err,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stderr,
    clippy::disallowed_methods,
    missing_docs
)]

pub mod bench;
pub mod browser;
pub mod campaign;
pub mod damage;
pub mod dying;
pub mod expected;
pub mod forest;
pub mod forged;
pub mod fuzz_stores;
pub mod fuzzing;
pub mod generated;
pub mod growth;
pub mod pi;
pub mod power;
pub mod prune;
pub mod pty;
pub mod repairing;
pub mod scenarios;
pub mod schema;
pub mod unprivileged;
pub mod watched;
pub mod webui;
pub mod xml;

use everlog::adapters::ALL;
use everlog::adapters::format::{Check, Format, ReadSummary};
use everlog::log::{LogView, LogWriter};
use everlog::model::files::Files;
use everlog::model::finding::Findings;
use everlog::pipeline::snapshot::files_of;
use everlog::pipeline::source::{Selection, Source, SourceUnit};
use everlog::verify::{Difference, Proof, prove};
use expected::Json;
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{Arc, Mutex};
use std::time::{Duration, UNIX_EPOCH};
use tempfile::TempDir;

/// One folder with an `input` and what the real loader made of it.
#[derive(Debug, Clone)]
pub struct Case {
    pub format: String,
    pub name: String,
    pub folder: PathBuf,
    pub expected: Json,
    pub origin: Origin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    Fixture,
    Corpus,
}

impl Case {
    pub fn id(&self) -> String {
        format!("{}/{}", self.format, self.name)
    }

    pub fn is_damaged(&self) -> bool {
        self.expected.get("damaged").is_some_and(|damaged| damaged.0 == b"true")
    }

    /// A copy of the input, with the links and times that the case asks for.
    pub fn copy(&self) -> TempDir {
        let scratch = TempDir::new().unwrap();
        let input = scratch.path().join("input");
        let maker = self.folder.join("make_input.py");
        if maker.is_file() {
            // Too large to be kept.
            let made = scratch.path().join("made");
            assert!(Command::new("python3").arg(maker).arg(&made).status().unwrap().success(), "{} cannot be made", self.id());
            copy_tree(&made, &input);
            fs::remove_dir_all(made).unwrap();
        } else {
            copy_tree(&self.folder.join("input"), &input);
        }
        for link in self.expected.list("links") {
            symlink(link.text("target"), input.join(link.text("file"))).unwrap();
        }
        for time in self.expected.list("mtimes") {
            let ns = String::from_utf8(time.get("mtime_ns").unwrap().0).unwrap();
            set_mtime(&input.join(time.text("file")), ns.parse().unwrap());
        }
        scratch
    }
}

pub fn set_mtime(path: &Path, mtime_ns: i64) {
    let file = fs::File::options().write(true).open(path).unwrap();
    file.set_modified(UNIX_EPOCH + Duration::from_nanos(mtime_ns as u64)).unwrap();
}

/// A fixed time for every file: no result may depend on when the test runs.
pub fn copy_tree(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            copy_tree(&entry.path(), &target);
        } else if kind.is_symlink() {
            symlink(fs::read_link(entry.path()).unwrap(), target).unwrap();
        } else {
            fs::copy(entry.path(), &target).unwrap();
            let mut mode = fs::metadata(&target).unwrap().permissions();
            std::os::unix::fs::PermissionsExt::set_mode(&mut mode, 0o644);
            fs::set_permissions(&target, mode).unwrap();
            set_mtime(&target, 1_700_000_000_000_000_000);
        }
    }
}

fn cases_in(root: &Path, expected: &str, origin: Origin) -> Vec<Case> {
    let mut cases = Vec::new();
    for adapter in ALL {
        let Ok(entries) = fs::read_dir(root.join(adapter.id())) else { continue };
        for entry in entries.flatten() {
            let Ok(text) = fs::read(entry.path().join(expected)) else { continue };
            cases.push(Case {
                format: adapter.id().to_owned(),
                name: entry.file_name().to_string_lossy().into_owned(),
                folder: entry.path(),
                expected: Json(text.trim_ascii().to_vec()),
                origin,
            });
        }
    }
    let wanted = std::env::var("CASE").unwrap_or_default();
    cases.retain(|case| wanted.is_empty() || case.id() == wanted);
    cases.sort_by_key(Case::id);
    cases
}

/// The cases that ship with the project.
pub fn fixtures() -> Vec<Case> {
    let cases = cases_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures"), "expected.json", Origin::Fixture);
    assert!(!cases.is_empty(), "no fixture found");
    cases
}

/// The fixtures, and the larger corpus where it lies beside the project.
pub fn all_cases() -> Vec<Case> {
    let mut cases = fixtures();
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    if corpus.is_dir() {
        cases.extend(cases_in(&corpus, "truth.json", Origin::Corpus));
    } else {
        campaign::missing("the corpus is not beside the project: only fixtures are tested");
    }
    cases
}

/// The sessions of a folder, with their bytes.
pub fn sessions(input: &Path) -> Vec<(SourceUnit, Files)> {
    let source = Source::open(input, ALL, &Selection::default()).unwrap();
    source.units.iter().map(|unit| (unit.clone(), files_of(unit, &source.folder_of(unit)).unwrap())).collect()
}

/// A conversion in memory.
pub struct Converted {
    pub log: Vec<u8>,
    pub findings: Findings,
    pub summary: ReadSummary,
}

pub fn convert(adapter: &dyn Format, files: &Files, check: Check) -> Converted {
    let mut findings = Findings::default();
    let mut writer = LogWriter::new(Vec::new());
    let summary = adapter.read(files, check, &mut writer, &mut findings).unwrap();
    let (log, _) = writer.finish().unwrap();
    Converted { log, findings, summary }
}

pub fn proof(adapter: &dyn Format, files: &Files, log: &[u8]) -> Result<Proof, Difference> {
    let mut view = LogView::open(log.to_vec()).unwrap();
    prove(&mut view, adapter, files).unwrap()
}

/// Converts as `migrate` does: optimistically, and with checks if that fails.
pub fn convert_and_prove(adapter: &dyn Format, files: &Files) -> Result<(Converted, Proof), Difference> {
    let quick = convert(adapter, files, Check::ByProof);
    if let Ok(proven) = proof(adapter, files, &quick.log) {
        return Ok((quick, proven));
    }
    let checked = convert(adapter, files, Check::EachRecord);
    proof(adapter, files, &checked.log).map(|proven| (checked, proven))
}

/// What a printer in this process says.
#[derive(Clone, Default)]
pub struct Said(Arc<Mutex<Vec<u8>>>);

impl Said {
    pub fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl Write for Said {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }
    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Says what a test counted, and writes it down for `scripts/reliability` where
/// that asks for it.
pub fn figure(name: &str, number: usize) {
    eprintln!("figure: {name} {number}");
    if let Some(path) = std::env::var_os("FIGURES") {
        let mut file = fs::File::options().create(true).append(true).open(path).unwrap();
        // In one piece: other tests write there too.
        file.write_all(format!("{name}\t{number}\n").as_bytes()).unwrap();
    }
}

/// Runs the binary.
pub fn everlog(words: &[&str]) -> Output {
    run(Command::new(env!("CARGO_BIN_EXE_everlog")).args(words).env("NO_COLOR", "1"))
}

/// Runs a command of the binary. Each line that it prints with `--json` must be as
/// `docs/schema` describes it.
pub fn run(command: &mut Command) -> Output {
    let done = command.output().unwrap();
    let words: Vec<String> = command.get_args().map(|word| word.to_string_lossy().into_owned()).collect();
    schema::check_lines(&words, &done.stdout);
    done
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Every file and link below a folder, with its bytes and its time.
pub fn tree(folder: &Path) -> std::collections::BTreeMap<String, (Vec<u8>, i128)> {
    let mut found = std::collections::BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(at) = open.pop() {
        let Ok(entries) = fs::read_dir(&at) else { continue };
        for entry in entries.flatten() {
            let name = entry.path().strip_prefix(folder).unwrap().to_string_lossy().into_owned();
            let meta = fs::symlink_metadata(entry.path()).unwrap();
            if meta.is_dir() {
                open.push(entry.path());
            } else if meta.is_symlink() {
                let target = fs::read_link(entry.path()).unwrap();
                found.insert(name, (target.as_os_str().as_encoded_bytes().to_vec(), 0));
            } else {
                let time = meta.modified().unwrap().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i128;
                found.insert(name, (fs::read(entry.path()).unwrap(), time));
            }
        }
    }
    found
}

/// Every golden log of the fixtures.
pub fn golden_logs() -> Vec<PathBuf> {
    // A folder of other logs that the laws are to hold for, too.
    if let Some(folder) = std::env::var_os("LOGS").map(PathBuf::from) {
        return tree(&folder).into_keys().filter(|name| name.ends_with(".everlog.jsonl")).map(|name| folder.join(name)).collect();
    }
    let mut logs = Vec::new();
    for case in fixtures() {
        let golden = case.folder.join("golden");
        logs.extend(tree(&golden).into_keys().filter(|name| name.ends_with(".everlog.jsonl")).map(|name| golden.join(name)));
    }
    assert!(logs.len() > 200, "the golden logs are not there");
    logs
}
