//! Private stays private: where only its owner may read a source, nobody else
//! may read anything that is made of it, at no step of any command, and whatever
//! the umask. A process has one umask: the test runs in a process of
//! its own.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use everlog::store::StoreError;
use rustix::fs::Mode;
use rustix::process::umask;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use support::scenarios::{SCENARIOS, Stage};
use support::watched::{Step, Watch, Watched};

/// Notes everything that others may read or write after a step.
#[derive(Debug, Default)]
struct Onlooker {
    seen: Mutex<Vec<String>>,
    looks: Mutex<usize>,
}

/// The permissions that others than the owner have.
fn open_to_others(path: &Path) -> u32 {
    fs::symlink_metadata(path).map_or(0, |meta| if meta.is_symlink() { 0 } else { meta.permissions().mode() & 0o077 })
}

impl Watch for Onlooker {
    fn before(&self, _step: &Step<'_>) -> Result<(), StoreError> {
        Ok(())
    }

    fn after(&self, step: &Step<'_>) {
        *self.looks.lock().unwrap() += 1;
        if open_to_others(step.path()) != 0 {
            self.seen.lock().unwrap().push(format!("{step:?}"));
        }
    }
}

fn everything_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    let mut next = 0;
    while let Some(path) = found.get(next).cloned() {
        next += 1;
        if path.is_dir() && !path.is_symlink() {
            found.extend(fs::read_dir(&path).unwrap().flatten().map(|entry| entry.path()));
        }
    }
    found
}

/// The test that runs in the child process.
const IN_THE_CHILD: &str = "modes::with_a_umask_of_its_own";

#[test]
fn at_no_step_is_anything_open_to_others_that_was_not() {
    let this = std::env::current_exe().unwrap();
    let done = std::process::Command::new(this).args(["--exact", IN_THE_CHILD, "--ignored", "--nocapture"]).output().unwrap();
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && said.contains("1 passed"), "{said}{}", String::from_utf8_lossy(&done.stderr));
}

#[test]
#[ignore = "changes the umask of the process: the test above runs it"]
fn with_a_umask_of_its_own() {
    let mut looks = 0;
    for scenario in SCENARIOS {
        umask(Mode::from_raw_mode(0o077));
        let stage = Stage::new();
        let at = stage.set(scenario);
        umask(Mode::from_raw_mode(0));
        let disk = Watched(Onlooker::default());
        (scenario.run)(at, &disk).unwrap();
        let seen = disk.0.seen.into_inner().unwrap();
        assert_eq!(seen, Vec::<String>::new(), "{}", scenario.name);
        let left: Vec<PathBuf> = everything_below(at).into_iter().filter(|path| open_to_others(path) != 0).collect();
        assert_eq!(left, Vec::<PathBuf>::new(), "{}", scenario.name);
        looks += disk.0.looks.into_inner().unwrap();
    }
    assert!(looks > 300, "only {looks} steps were looked at");
    eprintln!("{looks} steps looked at");
}
