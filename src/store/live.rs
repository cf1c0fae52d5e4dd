//! Whether a program runs, by the file in which it says so.

use std::path::{Path, PathBuf};

use super::disk;

/// More than any file with a process number in it needs.
const LARGEST: u64 = 64 * 1024;

/// A process that says it works on a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Running {
    /// Its number.
    pub process: u32,
    /// The file that says so. What else is in it may be secret.
    pub file: PathBuf,
}

/// Looks for a file of this name in a folder and so many above it, and for the
/// process that it names (JSON with a member `pid`) among those that run under
/// this name. Where the system does not tell names, none is known to run.
#[must_use]
pub fn running(folder: &Path, file_name: &str, levels_above: usize, program: &str) -> Option<Running> {
    folder.ancestors().take(levels_above + 1).find_map(|folder| {
        let file = folder.join(file_name);
        let size = std::fs::symlink_metadata(&file).ok().filter(std::fs::Metadata::is_file)?.len();
        let bytes = disk::read(&file).ok().filter(|_| size <= LARGEST)?;
        let said: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
        // In a container every program is the first, and a leftover file says so.
        let process = said.get("pid")?.as_u64().and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 1)?;
        let name = disk::read(Path::new(&format!("/proc/{process}/comm"))).ok()?;
        String::from_utf8_lossy(&name).contains(program).then_some(Running { process, file })
    })
}
