//! Only a format's own folders say its name: what is true of one program alone is
//! known in `adapters/<format>` and `maintenance/<format>`, and nowhere else.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use std::fs;
use std::path::{Path, PathBuf};

/// The registries, the examples of the crate's first page, and those of the help.
const MAY_NAME: &[&str] = &["adapters/mod.rs", "maintenance/mod.rs", "lib.rs", "cli/help.rs"];

/// Parts of names that are long and common words all the same.
const COMMON: &[&str] = &["sqlite", "state"];

/// Codes of findings that programs match on, and that keep their spelling.
const CODES: &[&str] = &["StateDbOrphanWebuiRow", "StateDbDeletedWebuiTombstone"];

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The folders of formats: those with a loader.
fn formats() -> Vec<String> {
    let folders = fs::read_dir(src().join("adapters")).unwrap().flatten().filter(|entry| entry.path().join("load.rs").exists());
    folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
}

/// The words that name formats: `hermes` and `webui` of `hermes_webui`. A part of
/// a name that is a common word, such as `code`, names none.
fn words(formats: &[String]) -> Vec<String> {
    let long = formats.iter().flat_map(|format| format.split('_')).filter(|part| part.len() >= 5 && !COMMON.contains(part));
    let short = formats.iter().map(String::as_str).filter(|format| format.len() < 5);
    long.chain(short).map(str::to_owned).collect()
}

/// Whether a line says a word; a short one must stand by itself.
fn says(line: &str, word: &str) -> bool {
    let line = line.to_lowercase();
    let is_apart = |at: usize| {
        let (before, after) = (line[..at].chars().next_back(), line[at + word.len()..].chars().next());
        ![before, after].into_iter().flatten().any(|c| c.is_alphanumeric() || c == '_')
    };
    line.match_indices(word).any(|(at, _)| word.len() >= 5 || is_apart(at))
}

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

#[test]
fn nobody_but_a_format_itself_says_its_name() {
    let (src, formats) = (src(), formats());
    let words = words(&formats);
    assert!(words.iter().any(|word| word == "webui") && words.iter().any(|word| word == "pi"), "{words:?}");
    assert!(says("as pi writes", "pi") && says("Habits::Pi,", "pi") && !says("a pipeline", "pi") && !says("capi_x", "pi"));
    let own: Vec<String> = formats.iter().flat_map(|format| ["adapters", "maintenance"].map(|room| format!("{room}/{format}"))).collect();
    let is_own = |name: &str| own.iter().any(|own| name.strip_prefix(own.as_str()).is_some_and(|rest| rest.starts_with(['/', '.'])));
    let (mut wrong, mut seen) = (Vec::new(), 0);
    for file in rust_files(&src) {
        let name = file.strip_prefix(&src).unwrap().to_str().unwrap().to_owned();
        if is_own(&name) || MAY_NAME.contains(&name.as_str()) {
            continue;
        }
        seen += 1;
        let text = fs::read_to_string(&file).unwrap();
        for (n, line) in text.lines().enumerate() {
            let line = CODES.iter().fold(line.to_owned(), |line, code| line.replace(code, ""));
            for word in words.iter().filter(|word| says(&line, word)) {
                wrong.push(format!("src/{name}:{}: {word}", n + 1));
            }
        }
    }
    assert!(seen > 200, "the test looks at nothing: {seen} files");
    assert!(wrong.is_empty(), "formats are named outside of their folders:\n{}", wrong.join("\n"));
}
