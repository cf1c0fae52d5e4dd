//! `scripts/new-format` makes a format that is registered and, tried in the full
//! campaign, compiles.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support::campaign;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Copies a file or a folder, if it exists.
fn copy(from: &Path, to: &Path) {
    if from.is_dir() {
        fs::create_dir_all(to).unwrap();
        for entry in fs::read_dir(from).unwrap().flatten() {
            copy(&entry.path(), &to.join(entry.file_name()));
        }
    } else if from.is_file() {
        fs::copy(from, to).unwrap();
    }
}

#[test]
fn a_new_format_is_made_by_a_script() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let scratch = tempfile::tempdir().unwrap();
    let place = scratch.path();
    for name in ["src", "benches", "examples", "tests", "scripts", "Cargo.toml", "Cargo.lock", "rustfmt.toml", "README.md"] {
        copy(&root.join(name), &place.join(name));
    }
    let made = Command::new(place.join("scripts/new-format")).arg("my-agent").output().unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let registry = fs::read_to_string(place.join("src/adapters/mod.rs")).unwrap();
    assert!(registry.contains("\nmod my_agent;") && registry.contains("&my_agent::MyAgent"), "{registry}");
    for file in ["mod.rs", "discover.rs", "read.rs", "write.rs", "load.rs", "FORMAT.md"] {
        assert!(place.join("src/adapters/my_agent").join(file).is_file(), "{file}");
    }
    let again = Command::new(place.join("scripts/new-format")).arg("my-agent").output().unwrap();
    assert_eq!(again.status.code(), Some(2), "a second time it must not write over the first");
    if campaign::is_full() {
        // Dependencies are built already where this test was.
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), Into::into);
        let checked = Command::new(env!("CARGO"))
            .args(["check", "--offline", "--locked", "--lib", "--target-dir"])
            .arg(target)
            .current_dir(place)
            .output()
            .unwrap();
        assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
    }
}
