//! Running the binary as somebody who may not read everything, even where the
//! tests run as root, who may.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

/// The user and group that own nothing.
const NOBODY: u32 = 65_534;

/// Runs the binary with some words.
pub type Run = dyn Fn(&[&str]) -> Output;

/// A way to run the binary without root's rights.
pub struct Unprivileged {
    pub run: Box<Run>,
}

/// Makes a way to run the binary without root's rights in a scratch folder,
/// which everyone may then enter. None, with a loud word, where that cannot be
/// done.
pub fn unprivileged(scratch: &Path) -> Option<Unprivileged> {
    let binary = Path::new(env!("CARGO_BIN_EXE_everlog"));
    if fs::metadata("/proc/self").map_or(true, |meta| meta.uid() != 0) {
        return Some(Unprivileged { run: Box::new(super::everlog) });
    }
    open_up(scratch);
    // The one that was built may be in a folder that is root's alone.
    let copy = tempfile::Builder::new().prefix("everlog-bin-").permissions(fs::Permissions::from_mode(0o755)).tempdir().unwrap();
    let program = copy.path().join("everlog");
    fs::copy(binary, &program).unwrap();
    let run = move |words: &[&str]| {
        let _keep = &copy;
        Command::new(&program).args(words).env("NO_COLOR", "1").env("TMPDIR", "/tmp").uid(NOBODY).gid(NOBODY).output().unwrap()
    };
    // A file that nobody may read tells whether it is so.
    let probe = scratch.join("probe");
    fs::write(&probe, "x").unwrap();
    fs::set_permissions(&probe, fs::Permissions::from_mode(0o0)).unwrap();
    let is_refused = Command::new("cat").arg(&probe).uid(NOBODY).gid(NOBODY).output().is_ok_and(|done| !done.status.success());
    fs::remove_file(probe).unwrap();
    if !is_refused || !run(&["formats"]).status.success() {
        super::campaign::missing("no other user to run as: permissions are not tested");
        return None;
    }
    Some(Unprivileged { run: Box::new(run) })
}

/// Lets everyone read what is there.
fn open_up(folder: &Path) {
    fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            open_up(&entry.path());
        } else if kind.is_file() {
            fs::set_permissions(entry.path(), fs::Permissions::from_mode(0o644)).unwrap();
        }
    }
}
