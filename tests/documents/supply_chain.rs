//! What is built in: licences, sources, versions, reasons. From what cargo knows,
//! offline where it knows enough; `deny.toml` is the policy.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap()
}

/// What cargo says of everything that is built in, on whatever platform. What it
/// has never needed for this one it has not got on a fresh machine, and must get
/// first; where it cannot, this platform is what can be looked at.
fn packages() -> Vec<Value> {
    let version = Command::new("rustc").arg("-vV").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).unwrap();
    let mut said = String::new();
    for more in [&["--offline"][..], &[], &["--offline", "--filter-platform", host]] {
        let done = Command::new(env!("CARGO"))
            .args(["metadata", "--locked", "--format-version", "1"])
            .args(more)
            .current_dir(root())
            .output()
            .unwrap();
        if done.status.success() {
            let metadata: Value = serde_json::from_slice(&done.stdout).unwrap();
            return metadata["packages"].as_array().unwrap().clone();
        }
        said = String::from_utf8_lossy(&done.stderr).into_owned();
        eprintln!("cargo metadata {}: {said}", more.join(" "));
    }
    panic!("{said}");
}

fn policy() -> toml::Table {
    text("deny.toml").parse().unwrap()
}

/// Whether an expression can be satisfied with what is allowed.
fn is_allowed(expression: &str, allowed: &BTreeSet<&str>) -> bool {
    let expression = expression.replace(['(', ')'], " ");
    expression
        .split(" AND ")
        .all(|part| part.split(" OR ").flat_map(|part| part.split('/')).any(|licence| allowed.contains(licence.trim())))
}

#[test]
fn every_licence_is_allowed_and_every_crate_comes_from_the_registry() {
    let policy = policy();
    let allowed: BTreeSet<&str> = policy["licenses"]["allow"].as_array().unwrap().iter().map(|licence| licence.as_str().unwrap()).collect();
    let exceptions = policy["licenses"]["exceptions"].as_array().unwrap();
    for (expression, verdict) in
        [("MIT OR LGPL-3.0", true), ("GPL-3.0", false), ("MIT AND GPL-3.0", false), ("(MIT OR GPL-2.0) AND Zlib", true)]
    {
        assert_eq!(is_allowed(expression, &allowed), verdict, "{expression}");
    }
    for package in packages() {
        let name = package["name"].as_str().unwrap();
        let licence = package["license"].as_str().unwrap_or("none");
        let mut allowed = allowed.clone();
        let of_it = exceptions.iter().filter(|one| one["crate"].as_str() == Some(name));
        allowed.extend(of_it.flat_map(|one| one["allow"].as_array().unwrap()).map(|licence| licence.as_str().unwrap()));
        assert!(is_allowed(licence, &allowed), "{name}: {licence}");
        let source = package["source"].as_str();
        let is_ours = name == "everlog" && source.is_none();
        assert!(is_ours || source == Some("registry+https://github.com/rust-lang/crates.io-index"), "{name} comes from {source:?}");
    }
}

#[test]
fn the_lock_file_pins_everything_by_its_hash() {
    let lock: toml::Table = text("Cargo.lock").parse().unwrap();
    for package in lock["package"].as_array().unwrap() {
        let name = package["name"].as_str().unwrap();
        assert!(name == "everlog" || package.get("checksum").is_some(), "{name} has no checksum");
    }
    for script in ["scripts/check", "scripts/fuzz", "scripts/reliability"] {
        for line in text(script).lines().filter(|line| line.contains("cargo test") || line.contains("cargo clippy")) {
            assert!(line.contains("--locked"), "{script}: {line}");
        }
    }
}

#[test]
fn no_crate_is_there_twice_without_a_reason() {
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in packages() {
        versions.entry(package["name"].as_str().unwrap().to_owned()).or_default().insert(package["version"].to_string());
    }
    let twice: BTreeSet<String> = versions.into_iter().filter(|(_, versions)| versions.len() > 1).map(|(name, _)| name).collect();
    let policy = policy();
    let skipped: BTreeSet<String> =
        policy["bans"]["skip"].as_array().unwrap().iter().map(|skip| skip["crate"].as_str().unwrap().to_owned()).collect();
    assert_eq!(twice, skipped, "deny.toml and the lock file do not agree on what is there twice");
}

/// The names that `Cargo.toml` asks for, with what it says of each.
fn direct() -> Vec<(String, toml::Value)> {
    let manifest: toml::Table = text("Cargo.toml").parse().unwrap();
    ["dependencies", "dev-dependencies"].iter().flat_map(|kind| manifest[*kind].as_table().unwrap().clone()).collect()
}

/// All the code, in one string.
fn code() -> String {
    let mut all = String::new();
    let mut open = vec![root().join("src"), root().join("tests"), root().join("benches")];
    while let Some(folder) = open.pop() {
        for entry in fs::read_dir(folder).unwrap().flatten() {
            if entry.file_type().unwrap().is_dir() {
                open.push(entry.path());
            } else if entry.path().extension().is_some_and(|ending| ending == "rs") {
                all.push_str(&fs::read_to_string(entry.path()).unwrap());
            }
        }
    }
    all
}

#[test]
fn every_dependency_has_its_reason_is_used_and_names_its_version() {
    let (contributing, code) = (text("CONTRIBUTING.md"), code());
    let table = contributing.split("## Dependencies").nth(1).expect("CONTRIBUTING has no section on dependencies");
    let named: BTreeSet<&str> = table
        .lines()
        .filter(|line| line.starts_with("| ") && !line.starts_with("| crate"))
        .filter_map(|line| line.split('|').nth(1))
        .flat_map(|names| names.split(','))
        .filter_map(|name| name.split_whitespace().next())
        .collect();
    let mut asked = BTreeSet::new();
    for (name, what) in direct() {
        let version = what.as_str().or_else(|| what.get("version").and_then(toml::Value::as_str)).unwrap_or("*");
        assert!(version.starts_with(|c: char| c.is_ascii_digit()), "{name} = {version:?}");
        assert!(code.contains(&format!("{}::", name.replace('-', "_"))), "{name} is not used");
        asked.insert(name);
    }
    assert_eq!(named, asked.iter().map(String::as_str).collect(), "the table in CONTRIBUTING.md and Cargo.toml do not agree");
}

#[test]
fn no_unsafe_code_is_written_here() {
    let manifest: toml::Table = text("Cargo.toml").parse().unwrap();
    assert_eq!(manifest["lints"]["rust"]["unsafe_code"].as_str(), Some("forbid"));
}
