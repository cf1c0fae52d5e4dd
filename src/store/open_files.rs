//! Which files other processes have open, as far as the system tells.

use std::collections::BTreeSet;
use std::fs::{self, Metadata};
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::{Duration, Instant};

use super::disk;

/// What tells a file from all others, whatever its name.
pub type FileId = (u64, u64);

/// Returns the identity of a file.
#[must_use]
pub fn id_of(meta: &Metadata) -> FileId {
    (meta.dev(), meta.ino())
}

/// Returns which of these files another process has open. Processes of other users
/// show theirs to the superuser only. In a user namespace even those of the same
/// user hide their files: every file counts as open then, because it may be.
#[must_use]
pub fn open_elsewhere(files: &BTreeSet<FileId>) -> BTreeSet<FileId> {
    let own = std::process::id().to_string();
    let user = rustix::process::geteuid().as_raw();
    let is_in_namespace = is_in_user_namespace();
    let is_number = |name: &str| name.bytes().all(|b| b.is_ascii_digit());
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let others = processes.filter(|entry| entry.file_name().to_str().is_some_and(|name| is_number(name) && name != own));
    let mut open = BTreeSet::new();
    for process in others {
        let is_hidden = |error: &io::Error| {
            let is_denied = is_in_namespace && error.kind() == ErrorKind::PermissionDenied;
            is_denied && process.metadata().is_ok_and(|meta| meta.uid() == user)
        };
        let handles = fs::read_dir(process.path().join("fd"));
        if handles.as_ref().is_err_and(is_hidden) {
            return files.clone();
        }
        for handle in handles.into_iter().flatten().flatten() {
            match fs::metadata(handle.path()) {
                Ok(meta) if files.contains(&id_of(&meta)) => {
                    open.insert(id_of(&meta));
                }
                // A namespace shows that there is a handle, and not what it is of.
                Err(error) if is_hidden(&error) => return files.clone(),
                // Another file, or one that is closed by now.
                Ok(_) | Err(_) => {}
            }
        }
    }
    open
}

/// Outside of any user namespace each user has its own number, and all have one.
fn is_in_user_namespace() -> bool {
    // `/proc/self` is a link, and no link is followed.
    let map = disk::read(Path::new(&format!("/proc/{}/uid_map", std::process::id()))).unwrap_or_default();
    let map = String::from_utf8_lossy(&map);
    !map.trim().is_empty() && map.split_whitespace().collect::<Vec<_>>() != ["0", "0", "4294967295"]
}

/// How long a file that a program opens only for a moment is waited for.
pub(super) const PATIENCE: Duration = Duration::from_secs(2);
const PAUSE: Duration = Duration::from_millis(10);

/// Returns which of these files other processes have open, and do not close soon.
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
