//! Which files other processes have open, as far as the system tells.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::time::{Duration, Instant};

/// What tells a file from all others, whatever its name.
pub type FileId = (u64, u64);

/// The identity of a file.
#[must_use]
pub fn id_of(meta: &Metadata) -> FileId {
    (meta.dev(), meta.ino())
}

/// Which of these files another process has open. Processes of other users
/// show theirs to the superuser only. Where a process of this very user hides its
/// files, as in a user namespace, every file counts as open: it may be.
#[must_use]
pub fn open_elsewhere(files: &BTreeSet<FileId>) -> BTreeSet<FileId> {
    let own = std::process::id().to_string();
    let user = rustix::process::geteuid().as_raw();
    let is_number = |name: &str| name.bytes().all(|b| b.is_ascii_digit());
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let others = processes.filter(|entry| entry.file_name().to_str().is_some_and(|name| is_number(name) && name != own));
    let mut open = BTreeSet::new();
    for process in others {
        match fs::read_dir(process.path().join("fd")) {
            Ok(handles) => {
                let metas = handles.flatten().filter_map(|handle| fs::metadata(handle.path()).ok());
                open.extend(metas.map(|meta| id_of(&meta)).filter(|id| files.contains(id)));
            }
            Err(error) if error.kind() == ErrorKind::PermissionDenied => {
                if process.metadata().is_ok_and(|meta| meta.uid() == user) {
                    return files.clone();
                }
            }
            // It is gone by now.
            Err(_) => {}
        }
    }
    open
}

/// How long a file that a program opens only for a moment is waited for.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(10);

/// Which of these files other processes have open, and do not close soon.
#[must_use]
pub fn kept_open(files: BTreeSet<FileId>) -> BTreeSet<FileId> {
    let mut open = files;
    let until = Instant::now() + PATIENCE;
    while !open.is_empty() {
        open = open_elsewhere(&open);
        if Instant::now() > until {
            break;
        }
        if !open.is_empty() {
            std::thread::sleep(PAUSE);
        }
    }
    open
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_file_is_seen_as_long_as_another_process_has_it_open() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let id = id_of(&file.as_file().metadata().unwrap());
        let asked = BTreeSet::from([id]);
        let is_open = || open_elsewhere(&asked).contains(&id);
        let mut child = Command::new("sleep").arg("60").stdin(Stdio::from(file.reopen().unwrap())).spawn().unwrap();
        assert!(is_open());
        child.kill().unwrap();
        child.wait().unwrap();
        // Other tests start children too, which for a moment hold our handles.
        let gone = (0..500).any(|_| {
            std::thread::sleep(std::time::Duration::from_millis(5));
            !is_open()
        });
        assert!(gone);
    }
}
