//! One byte, line, event, recipe entry, message field or source line, flipped,
//! deleted, duplicated or reordered, in every fixture: `verify` tells, and where.
//!
//! `MUTATIONS=20` tries twenty times as many; a failure names its seed.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;
use crate::support::campaign;

use everlog::adapters::by_id;
use everlog::model::digest::sha256_hex;
use everlog::model::location::Location;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use support::forged::sealed;
use support::{Case, everlog, fixtures, stderr, stdout, tree};
use tempfile::TempDir;

/// Numbers that follow from a seed.
struct Random(u64);

impl Random {
    fn of(seed: &str) -> Random {
        Random(u64::from_str_radix(&sha256_hex(seed.as_bytes())[..16], 16).unwrap() | 1)
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % end.max(1)
    }
}

fn times() -> usize {
    usize::try_from(campaign::rounds("MUTATIONS", 1)).unwrap()
}

/// Runs a check on every fixture, two at a time, and fails at the end with
/// everything that went wrong.
fn on_every_fixture(check: impl Fn(&Case, &mut Vec<String>) -> usize + Sync) {
    let cases: Vec<Case> = fixtures()
        .into_iter()
        .enumerate()
        .filter(|(n, case)| campaign::is_chosen(campaign::start_of(&case.format), *n))
        .map(|(_, case)| case)
        .collect();
    let (next, tried) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let wrong = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(case) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let mut found = Vec::new();
                    tried.fetch_add(check(case, &mut found), Ordering::Relaxed);
                    wrong.lock().unwrap().extend(found.into_iter().map(|what| format!("{}: {what}", case.id())));
                }
            });
        }
    });
    let wrong = wrong.into_inner().unwrap();
    assert!(wrong.is_empty(), "{} of {} mutations:\n{}", wrong.len(), tried.load(Ordering::Relaxed), wrong.join("\n"));
    assert!(tried.load(Ordering::Relaxed) >= cases.len(), "hardly anything was tried");
    support::figure("mutations reported", tried.into_inner());
}

/// A fixture, migrated.
struct Migrated {
    scratch: TempDir,
}

impl Migrated {
    fn of(case: &Case) -> Migrated {
        let migrated = Migrated { scratch: case.copy() };
        let (source, dest) = (migrated.source(), migrated.dest());
        everlog(&["migrate", source.to_str().unwrap(), "-o", dest.to_str().unwrap(), "-q"]);
        migrated
    }

    fn source(&self) -> PathBuf {
        self.scratch.path().join("input")
    }

    fn dest(&self) -> PathBuf {
        self.scratch.path().join("dest")
    }

    fn logs(&self) -> Vec<PathBuf> {
        let names = tree(&self.dest()).into_keys().filter(|name| name.ends_with(".everlog.jsonl") && !name.starts_with(".everlog/"));
        names.map(|name| self.dest().join(name)).collect()
    }

    /// What `verify --json` says of each log, and its exit code.
    fn verify(&self, more: &[&str]) -> (Vec<Value>, Option<i32>, String) {
        let dest = self.dest();
        let done = everlog(&[&["verify", dest.to_str().unwrap(), "--json"], more].concat());
        let rows = stdout(&done).lines().map(|row| serde_json::from_str(row).unwrap()).collect();
        (rows, done.status.code(), stderr(&done))
    }
}

/// A log with one thing wrong.
struct Mutant {
    what: String,
    bytes: Vec<u8>,
    /// The line where that is.
    line: u64,
    place: Place,
}

/// Where it must be reported.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// At the line, or at the seal, which no longer fits.
    LineOrSeal,
    /// At the line itself.
    Line,
    /// Somewhere: a rebuilt file is another one.
    File,
}

fn line_of(text: &[u8], offset: usize) -> u64 {
    text[..offset].iter().filter(|byte| **byte == b'\n').count() as u64 + 1
}

/// A text with one byte flipped, deleted, duplicated or swapped with the next.
fn byte_mutant(text: &[u8], kind: usize, random: &mut Random) -> Option<(String, Vec<u8>, usize)> {
    let at = random.below(text.len());
    let mut bytes = text.to_vec();
    let name = ["flipped", "deleted", "duplicated", "swapped"][kind];
    match kind {
        0 => bytes[at] ^= 1 << random.below(8),
        1 => drop(bytes.remove(at)),
        2 => bytes.insert(at, text[at]),
        _ if at + 1 < text.len() => bytes.swap(at, at + 1),
        _ => return None,
    }
    // Of equal neighbours it is the last that is another one then.
    let parts = text.iter().zip(&bytes).take_while(|(a, b)| a == b).count();
    (bytes != text).then(|| (format!("byte {at} {name}"), bytes, parts))
}

/// The same with a line.
fn line_mutant(text: &[u8], kind: usize, random: &mut Random) -> Option<(String, Vec<u8>, usize)> {
    let mut lines: Vec<&[u8]> = text.split_inclusive(|byte| *byte == b'\n').collect();
    let at = random.below(lines.len());
    let name = ["deleted", "duplicated", "swapped"][kind];
    match kind {
        0 => drop(lines.remove(at)),
        1 => lines.insert(at, lines[at]),
        _ if at + 1 < lines.len() => lines.swap(at, at + 1),
        _ => return None,
    }
    let bytes = lines.concat();
    let parts = text.iter().zip(&bytes).take_while(|(a, b)| a == b).count();
    (bytes != text).then(|| (format!("line {} {name}", at + 1), bytes, parts))
}

/// Lines of a log without its seal.
fn body(text: &[u8]) -> Vec<String> {
    let lines: Vec<String> = String::from_utf8(text.to_vec()).unwrap().lines().map(str::to_owned).collect();
    lines[..lines.len() - 1].to_vec()
}

/// One field of one message, changed, and the log sealed again.
fn field_mutant(text: &[u8], random: &mut Random) -> Option<Mutant> {
    let mut lines = body(text);
    let fields = ["\"text\":\"", "\"role\":\"", "\"name\":\""];
    let has = |line: &String| line.contains("\"type\":\"message\"") && !line.contains("\"hidden\":") && line.contains("\"text\":\"");
    let messages: Vec<usize> = (0..lines.len()).filter(|at| has(&lines[*at])).collect();
    let at = *messages.get(random.below(messages.len()))?;
    let field = fields[random.below(2)];
    lines[at] = lines[at].replacen(field, &format!("{field}X"), 1);
    Some(Mutant {
        what: format!("{field} of line {} changed and sealed again", at + 1),
        bytes: sealed(&lines).into_bytes(),
        line: at as u64 + 1,
        place: Place::File,
    })
}

/// One entry of a recipe, changed, and the log sealed again.
fn recipe_mutant(text: &[u8], kind: usize, random: &mut Random) -> Option<Mutant> {
    let mut lines = body(text);
    let files: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].contains("\"recipe\":[")).collect();
    let at = *files.get(random.below(files.len()))?;
    let start = lines[at].find("\"recipe\":")? + "\"recipe\":".len();
    let mut stream = serde_json::Deserializer::from_str(&lines[at][start..]).into_iter::<Value>();
    let mut recipe = stream.next()?.ok()?.as_array()?.clone();
    let end = start + stream.byte_offset();
    let entry = random.below(recipe.len());
    let old = recipe.clone();
    // Only what stands for bytes: where lines end may be said twice.
    let stands_for_bytes = |piece: &Value| piece.is_array() || piece.is_number();
    if !recipe.get(entry).is_some_and(stands_for_bytes) {
        return None;
    }
    match kind {
        0 => drop(recipe.remove(entry)),
        1 => recipe.insert(entry, recipe[entry].clone()),
        2 if entry + 1 < recipe.len() && stands_for_bytes(&recipe[entry + 1]) => recipe.swap(entry, entry + 1),
        _ => {
            let number = recipe[entry].as_array_mut().and_then(|run| run.last_mut())?;
            *number = Value::from(number.as_u64()?.checked_sub(1).filter(|less| *less > 0)?);
        }
    }
    let name = ["deleted", "duplicated", "swapped", "flipped"][kind];
    let new = serde_json::to_string(&recipe).ok().filter(|_| recipe != old)?;
    lines[at].replace_range(start..end, &new);
    Some(Mutant {
        what: format!("recipe entry {entry} of line {} {name}", at + 1),
        bytes: sealed(&lines).into_bytes(),
        line: at as u64 + 1,
        place: Place::File,
    })
}

fn mutants(text: &[u8], random: &mut Random) -> Vec<Mutant> {
    let mut list = Vec::new();
    for _ in 0..2 * times() {
        for kind in 0..4 {
            if let Some((what, bytes, at)) = byte_mutant(text, kind, random) {
                list.push(Mutant { what, bytes, line: line_of(text, at.min(text.len())), place: Place::LineOrSeal });
            }
            list.extend(recipe_mutant(text, kind, random));
        }
        for kind in 0..3 {
            if let Some((what, bytes, at)) = line_mutant(text, kind, random) {
                list.push(Mutant { what, line: line_of(text, at.min(text.len())), bytes, place: Place::Line });
            }
        }
        list.extend(field_mutant(text, random));
    }
    list
}

/// Whether a mutant is reported, and at its place.
fn is_reported(mutant: &Mutant, row: &Value, lines: u64) -> bool {
    let first = row["differences"][0]["line"].as_u64();
    let at = |line: Option<u64>, wanted: u64| line == Some(wanted) || line == Some(wanted + 1);
    match (row["verdict"].as_str().unwrap_or_default(), mutant.place) {
        ("unreadable", Place::LineOrSeal) => mutant.line == 1,
        // A log without its seal has nobody who says where it ended.
        ("differs", Place::Line) => at(first, mutant.line) || (first.is_none() && mutant.line >= lines),
        ("damaged", Place::Line) => at(first, mutant.line),
        ("differs", Place::LineOrSeal) => first.is_none_or(|line| line + 1 >= lines) || at(first, mutant.line),
        // A node that was changed into something else is missed where it is named.
        ("damaged", Place::LineOrSeal) => first.is_some_and(|line| line >= mutant.line),
        ("differs" | "damaged", Place::File) => first.is_some(),
        _ => false,
    }
}

#[test]
fn a_log_with_anything_changed_is_reported_there() {
    on_every_fixture(|case, wrong| {
        let migrated = Migrated::of(case);
        let logs = migrated.logs();
        let mut random = Random::of(&case.id());
        let mut all = Vec::new();
        for n in 0..logs.len().min(2 * times()) {
            let log = if logs.len() <= 2 * times() { &logs[n] } else { &logs[random.below(logs.len())] };
            let text = fs::read(log).unwrap();
            let lines = line_of(&text, text.len()) - 1;
            all.extend(mutants(&text, &mut random).into_iter().map(|mutant| (log.clone(), lines, mutant)));
        }
        for (n, (_, _, mutant)) in all.iter().enumerate() {
            fs::write(migrated.dest().join(format!("mutant-{n:04}.everlog.jsonl")), &mutant.bytes).unwrap();
        }
        let (rows, exit, said) = migrated.verify(&["--include", "mutant-*"]);
        if !all.is_empty() && !matches!(exit, Some(1 | 2)) {
            wrong.push(format!("exit {exit:?}: {said}"));
        }
        for (n, (log, lines, mutant)) in all.iter().enumerate() {
            let name = format!("mutant-{n:04}");
            let row = rows.iter().find(|row| row["session"] == name.as_str()).unwrap_or(&Value::Null);
            if !is_reported(mutant, row, *lines) {
                wrong.push(format!("{} in line {} of {}: {row}", mutant.what, mutant.line, log.display()));
            }
        }
        all.len()
    });
}

#[test]
fn with_its_source_a_byte_that_changed_in_a_log_is_found_exactly() {
    on_every_fixture(|case, wrong| {
        let migrated = Migrated::of(case);
        let logs = migrated.logs();
        let mut random = Random::of(&format!("{} exactly", case.id()));
        let source = migrated.source();
        let mut tried = 0;
        for kind in 0..times().max(2) {
            let log = &logs[random.below(logs.len())];
            let text = fs::read(log).unwrap();
            let Some((what, bytes, at)) = byte_mutant(&text, kind % 4, &mut random) else { continue };
            fs::write(log, &bytes).unwrap();
            let (rows, exit, said) = migrated.verify(&["--source", source.to_str().unwrap()]);
            fs::write(log, &text).unwrap();
            tried += 1;
            let line = line_of(&text, at);
            let lines = line_of(&text, text.len()) - 1;
            let places: Vec<u64> = rows
                .iter()
                .flat_map(|row| row["differences"].as_array().cloned().unwrap_or_default())
                .filter_map(|difference| difference["line"].as_u64())
                .collect();
            // The seal's own line is not part of what it seals.
            let is_found = places.iter().any(|place| *place == line || *place == line + 1) || line >= lines || exit == Some(2);
            if !matches!(exit, Some(1 | 2)) || !is_found {
                wrong.push(format!("{what} in line {line} of {}: exit {exit:?}, reported at {places:?}\n{said}", log.display()));
            }
        }
        tried
    });
}

#[test]
fn a_source_with_anything_changed_is_reported_there() {
    on_every_fixture(|case, wrong| {
        // A database has no lines; tests/hostile/databases.rs damages its bytes.
        if by_id(&case.format).is_some_and(|format| format.database().is_some()) {
            return 0;
        }
        let migrated = Migrated::of(case);
        let mut random = Random::of(&format!("{} source", case.id()));
        let files: Vec<PathBuf> = recorded_files(&migrated);
        let source = migrated.source();
        let (clean, exit, said) = migrated.verify(&["--source", source.to_str().unwrap()]);
        if exit != Some(0) {
            wrong.push(format!("exit {exit:?} before anything changed: {said} {clean:?}"));
            return 0;
        }
        let mut tried = 0;
        for n in 0..2 * times() {
            let Some(file) = files.get(random.below(files.len())) else { continue };
            let text = fs::read(file).unwrap();
            let kind = (n + random.below(7)) % 7;
            let mutant = if kind < 4 { byte_mutant(&text, kind, &mut random) } else { line_mutant(&text, kind - 4, &mut random) };
            let Some((what, bytes, at)) = mutant else { continue };
            fs::write(file, &bytes).unwrap();
            let (rows, exit, said) = migrated.verify(&["--source", source.to_str().unwrap()]);
            fs::write(file, &text).unwrap();
            tried += 1;
            let expected = Location::of_offset("", &bytes, at);
            if exit != Some(1) || !is_told(&rows, file, &expected) {
                wrong.push(format!("{what} in {} (at {expected}): exit {exit:?}\n{said}", file.display()));
            }
        }
        tried
    });
}

/// The files of a source that some log rebuilds.
fn recorded_files(migrated: &Migrated) -> Vec<PathBuf> {
    let back = migrated.scratch.path().join("back");
    everlog(&["restore", migrated.dest().to_str().unwrap(), "-o", back.to_str().unwrap(), "-q"]);
    let names = tree(&back).into_iter().filter(|(_, (bytes, _))| !bytes.is_empty()).map(|(name, _)| migrated.source().join(name));
    names.filter(|path| fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file())).collect()
}

/// Whether some difference is in this file and at this place, or, where a
/// session is another one now, in this file.
fn is_told(rows: &[Value], file: &Path, expected: &Location) -> bool {
    let differences = rows.iter().flat_map(|row| row["differences"].as_array().cloned().unwrap_or_default());
    let mut of_file = differences.filter(|difference| difference["file"].as_str().is_some_and(|name| Path::new(name) == file));
    of_file.any(|difference| {
        let place = (difference["line"].as_u64(), difference["byte"].as_u64());
        place == (expected.line, expected.byte) || place == (None, None)
    })
}
