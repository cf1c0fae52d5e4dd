//! The packages, built from this build of the program and installed into an
//! empty root; and what other systems' files ask of this repository.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stderr, clippy::disallowed_methods)]

use crate::support;

use serde_yaml_ng::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use support::bench::{Bench, lines};
use support::campaign::missing;
use support::{stderr, stdout};
use tempfile::TempDir;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn run(program: impl AsRef<std::ffi::OsStr>, words: &[&str]) -> Output {
    let done = Command::new(program).args(words).output().unwrap();
    assert!(done.status.success(), "{words:?}: {}{}", stdout(&done), stderr(&done));
    done
}

/// Every file and folder below a folder.
fn below(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        found.insert(entry.path());
        if entry.path().is_dir() {
            found.extend(below(&entry.path()));
        }
    }
    found
}

#[test]
fn the_debian_package_installs_into_an_empty_root_and_leaves_nothing_there() {
    if Command::new("dpkg").arg("--version").output().is_err() || Command::new("python3").arg("--version").output().is_err() {
        return missing("dpkg and python3, which build and install the Debian package");
    }
    let scratch = TempDir::new().unwrap();
    let at = |path: &str| scratch.path().join(path).to_str().unwrap().to_owned();
    let script = root().join("scripts/package");
    let built = run(&script, &["--binary", env!("CARGO_BIN_EXE_everlog"), "-o", &at("out"), "--fast"]);
    assert!(stdout(&built).contains("needs glibc 2."), "{}", stdout(&built));
    let files: Vec<PathBuf> = below(Path::new(&at("out"))).into_iter().collect();
    let [sums, archive, bill, package] = files.as_slice() else { panic!("{files:?}") };
    run("sh", &["-c", &format!("cd {} && sha256sum --check {}", at("out"), sums.display())]);
    assert!(run("tar", &["-tzf", archive.to_str().unwrap()]).stdout.windows(13).any(|name| name == b"/bin/everlog\n"));
    let bill: serde_json::Value = serde_json::from_slice(&fs::read(bill).unwrap()).unwrap();
    assert!(bill["components"].as_array().unwrap().iter().any(|part| part["name"] == "sha2" && part["hashes"][0]["content"].is_string()));

    let target = at("root");
    fs::create_dir_all(scratch.path().join("root/var/lib/dpkg/updates")).unwrap();
    fs::create_dir_all(scratch.path().join("root/var/lib/dpkg/info")).unwrap();
    fs::write(scratch.path().join("root/var/lib/dpkg/status"), "").unwrap();
    let dpkg = |words: &[&str]| {
        let root = format!("--root={target}");
        run("dpkg", &[&[&root, "--force-not-root", "--force-depends", "--no-triggers", "--log=/dev/null"], words].concat())
    };
    dpkg(&["--install", package.to_str().unwrap()]);
    let said = run(at("root/usr/bin/everlog"), &["--version"]);
    assert_eq!(stdout(&said).trim(), concat!("everlog ", env!("CARGO_PKG_VERSION")));
    for file in [
        "share/man/man1/everlog.1.gz",
        "share/man/man1/everlog-migrate.1.gz",
        "share/bash-completion/completions/everlog",
        "share/zsh/vendor-completions/_everlog",
        "share/fish/vendor_completions.d/everlog.fish",
        "lib/systemd/user/everlog-prune.timer",
        "lib/systemd/user/everlog-migrate.service",
        "share/doc/everlog/changelog.gz",
        "share/doc/everlog/copyright",
    ] {
        assert!(scratch.path().join("root/usr").join(file).is_file(), "{file} is not in the package");
    }
    dpkg(&["--purge", "everlog"]);
    let left: Vec<PathBuf> = below(Path::new(&target)).into_iter().filter(|path| !path.starts_with(at("root/var"))).collect();
    assert!(left.is_empty(), "{left:?}");
}

fn yaml(name: &str) -> Value {
    serde_yaml_ng::from_str(&fs::read_to_string(root().join(name)).unwrap()).unwrap()
}

/// Runs a step as a CI system would, with this build in the place of its own.
fn step(command: &str, folder: &Path, env: &[(&str, &str)]) -> Output {
    let bin = Path::new(env!("CARGO_BIN_EXE_everlog")).parent().unwrap();
    let place = folder.join("temp/everlog");
    fs::create_dir_all(&place).unwrap();
    if !place.join("release").exists() {
        std::os::unix::fs::symlink(bin, place.join("release")).unwrap();
    }
    let temp = folder.join("temp");
    let mut shell = Command::new("bash");
    shell.args(["-e", "-c", command]).current_dir(folder).env("RUNNER_TEMP", temp).envs(env.iter().copied());
    shell.output().unwrap()
}

#[test]
fn the_github_action_builds_from_its_own_checkout_and_fails_on_a_broken_log() {
    let action = yaml("action.yml");
    assert_eq!(action["runs"]["using"].as_str(), Some("composite"));
    let steps: Vec<&str> = action["runs"]["steps"].as_sequence().unwrap().iter().map(|step| step["run"].as_str().unwrap()).collect();
    let [build, verify] = steps.as_slice() else { panic!("{steps:?}") };
    assert!(build.contains("$GITHUB_ACTION_PATH/Cargo.toml") && !build.contains("cargo install"));
    let bench = Bench::new();
    bench.conversation("chat", &lines(4));
    bench.migrate(&[]);
    let store = bench.dest();
    let workspace = bench.scratch.path().to_str().unwrap();
    let junit = bench.path("report.xml");
    let env = [
        ("STORE", store.to_str().unwrap()),
        ("ARGUMENTS", "--strict --max-diffs 3"),
        ("JUNIT", junit.to_str().unwrap()),
        ("GITHUB_WORKSPACE", workspace),
    ];
    let good = step(verify, bench.scratch.path(), &env);
    assert_eq!(good.status.code(), Some(0), "{}{}", stdout(&good), stderr(&good));
    assert!(junit.is_file());
    let log = bench.log("chat");
    fs::write(&log, fs::read_to_string(&log).unwrap().replace("message 2", "message x")).unwrap();
    let bad = step(verify, bench.scratch.path(), &env);
    assert_eq!(bad.status.code(), Some(1), "{}", stderr(&bad));
    assert!(stdout(&bad).contains("::error file="), "{}", stdout(&bad));
}

#[test]
fn the_pre_commit_hook_and_the_workflows_run_commands_that_exist() {
    let hooks = yaml(".pre-commit-hooks.yaml");
    let hook = &hooks[0];
    let words: Vec<&str> = hook["entry"].as_str().unwrap().split(' ').collect();
    assert_eq!((words[0], hook["language"].as_str()), ("everlog", Some("rust")));
    let bench = Bench::new();
    bench.conversation("chat", &lines(2));
    bench.migrate(&[]);
    let done = Command::new(env!("CARGO_BIN_EXE_everlog")).args(&words[1..]).arg(bench.dest()).output().unwrap();
    assert_eq!(done.status.code(), Some(0), "{}", stderr(&done));
    for (name, job) in [("ci", "linux"), ("ci", "others"), ("release", "packages")] {
        let workflow = yaml(&format!(".github/workflows/{name}.yml"));
        let steps = workflow["jobs"][job]["steps"].as_sequence().unwrap().clone();
        for word in steps.iter().filter_map(|step| step["run"].as_str()).flat_map(|run| run.split_whitespace()) {
            let is_script = word.starts_with("scripts/") || word.starts_with(".ci/");
            assert!(!is_script || root().join(word).is_file(), "{name}: {word} is not a script of this repository");
        }
    }
}

#[test]
fn nothing_invents_an_address_for_this_project() {
    let address = fs::read_to_string(root().join("packaging/address")).unwrap();
    let is_set = address.lines().any(|line| !line.is_empty() && !line.starts_with('#'));
    let files = ["README.md", "docs/src/install.md", "scripts/ci/github-actions.yml", "scripts/ci/gitlab-ci.yml", "Cargo.toml"];
    for file in files {
        let text = fs::read_to_string(root().join(file)).unwrap();
        let invented = text.contains("/everlog.git") || text.contains("github.com/everlog") || text.contains("repository = ");
        assert!(is_set || !invented, "{file} names an address, and packaging/address names none");
    }
}

#[test]
fn cargo_packs_what_builds_the_program_and_nothing_that_it_refuses() {
    let list = Command::new(env!("CARGO"))
        .args(["package", "--list", "--allow-dirty", "--offline"])
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    assert!(list.status.success(), "{}", String::from_utf8_lossy(&list.stderr));
    let names = String::from_utf8(list.stdout).unwrap();
    // What some system has no names with, Cargo packs for none.
    let refused: Vec<&str> = names.lines().filter(|name| name.contains([':', '"', '<', '>', '|', '?', '*', '\\'])).collect();
    assert!(refused.is_empty(), "{refused:?}");
    for needed in ["src/main.rs", "src/log/FORMAT.md", "docs/src/reference/findings.md", "LICENSE", "README.md", "Cargo.lock"] {
        assert!(names.lines().any(|name| name == needed), "{needed}");
    }
    assert!(names.lines().any(|name| name.starts_with("fixtures/gptme/tour/input/")), "the README's first command");
}
