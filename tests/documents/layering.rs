//! Dependencies point one way: json, then runtimes and model, then store,
//! adapters and log, then verify, pipeline, api, export, report, commands, cli.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use std::fs;
use std::path::{Path, PathBuf};

const MAY_USE: &[(&str, &[&str])] = &[
    ("json", &[]),
    ("runtimes", &["json"]),
    ("model", &["json"]),
    ("store", &["json", "model"]),
    ("adapters", &["json", "model", "runtimes"]),
    ("log", &["json", "model"]),
    ("maintenance", &["json", "model", "runtimes", "adapters"]),
    ("verify", &["json", "model", "adapters", "log"]),
    ("pipeline", &["json", "model", "store", "adapters", "log", "maintenance", "verify"]),
    ("report", &["json", "model", "verify"]),
    ("api", &["json", "model", "store", "adapters", "log", "verify", "pipeline"]),
    ("tables", &["model", "store", "log", "api"]),
    ("redact", &["json", "model", "api"]),
    ("export", &["json", "model", "adapters", "log", "verify", "api", "redact"]),
    ("html", &["model", "api"]),
    (
        "commands",
        &[
            "json",
            "model",
            "store",
            "adapters",
            "log",
            "maintenance",
            "verify",
            "pipeline",
            "api",
            "tables",
            "redact",
            "html",
            "export",
            "report",
        ],
    ),
    ("cli", &["json", "model", "store", "adapters", "maintenance", "pipeline", "tables", "redact", "export", "report", "commands"]),
];

fn rust_files(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let path = entry.path();
        if path.is_dir() {
            found.extend(rust_files(&path));
        } else if path.extension().is_some_and(|ext| ext == "rs") {
            found.push(path);
        }
    }
    found
}

/// The roots that a text reaches by `crate::`, with line numbers.
fn roots(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or_default();
        for rest in code.split("crate::").skip(1) {
            let root: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_' || *c == '{').collect();
            found.push((n + 1, root));
        }
    }
    found
}

#[test]
fn every_room_uses_only_what_lies_below_it() {
    let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    let mut seen = 0;
    for (room, below) in MAY_USE {
        for file in rust_files(&src.join(room)) {
            let text = fs::read_to_string(&file).unwrap();
            let name = file.strip_prefix(&src).unwrap().display().to_string();
            for (line, root) in roots(&text) {
                seen += 1;
                if root != *room && !below.contains(&root.as_str()) {
                    wrong.push(format!("src/{name}:{line}: {room} must not use {root}"));
                }
            }
            if text.contains("super::super") {
                wrong.push(format!("src/{name}: climbs with super::super"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(seen > 200, "the test looks at nothing");
}

/// The folders of formats: those with a loader. Others hold what formats share.
fn formats(adapters: &Path) -> Vec<String> {
    let folders = fs::read_dir(adapters).unwrap().flatten().filter(|e| e.path().join("load.rs").exists());
    folders.map(|e| e.file_name().to_string_lossy().into_owned()).collect()
}

#[test]
fn adapters_do_not_know_each_other() {
    let adapters = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/adapters");
    let formats = formats(&adapters);
    assert!(!formats.is_empty(), "the test looks at nothing");
    for format in &formats {
        for file in rust_files(&adapters.join(format)) {
            let text = fs::read_to_string(&file).unwrap();
            for other in formats.iter().filter(|other| *other != format) {
                // `pi` is not a part of `picoclaw`.
                let uses = ["::", ";", ",", "}"].iter().any(|end| text.contains(&format!("adapters::{other}{end}")));
                assert!(!uses, "{} uses {other}", file.display());
            }
        }
    }
}

/// What a language does (`crate::runtimes`) is shared; a format's rules and
/// record types are not.
#[test]
fn a_loader_shares_nothing_with_its_reader() {
    let adapters = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/adapters");
    for folder in formats(&adapters).iter().map(|format| adapters.join(format)) {
        let mut files = rust_files(&folder.join("load"));
        files.push(folder.join("load.rs"));
        for file in files {
            let text = fs::read_to_string(&file).unwrap();
            let reaches =
                text.lines().any(|line| line.contains("crate::adapters") || (file.ends_with("load.rs") && line.starts_with("use super::")));
            assert!(!reaches, "{} reaches out of its own module", file.display());
        }
    }
}
