//! Whether a program runs, and which sessions it has open, by the files in which
//! it says so.

use std::path::{Path, PathBuf};

use super::{disk, processes};

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
        let said = said_in(&file)?;
        // In a container every program is the first, and a leftover file says so.
        let process = said.get("pid")?.as_u64().and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid > 1)?;
        let name = disk::read(Path::new(&format!("/proc/{process}/comm"))).ok()?;
        String::from_utf8_lossy(&name).contains(program).then_some(Running { process, file })
    })
}

/// Returns the JSON in a file, where it is as small as such a file is.
fn said_in(file: &Path) -> Option<serde_json::Value> {
    let size = std::fs::symlink_metadata(file).ok().filter(std::fs::Metadata::is_file)?.len();
    let bytes = disk::read(file).ok().filter(|_| size <= LARGEST)?;
    serde_json::from_slice(&bytes).ok()
}

/// Returns the sessions that processes have open, by their ids: `marks` is a folder of
/// files named by process numbers, with a member `session` for the session and one
/// for the clock tick at which the process began. Without a process that began
/// then, a file was left by one that was killed.
#[must_use]
pub fn open_sessions(marks: &Path, session: &str, started: &str) -> Vec<(String, Running)> {
    let names = std::fs::read_dir(marks).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let mut numbers: Vec<u32> = names.filter_map(|name| name.to_str()?.strip_suffix(".json")?.parse().ok()).collect();
    numbers.sort_unstable();
    let open = |process: u32| {
        let file = marks.join(format!("{process}.json"));
        let said = said_in(&file)?;
        let began = said.get(started).and_then(|tick| tick.as_i64().or_else(|| tick.as_str()?.parse().ok()))?;
        let is_it = processes::began_ticks(process) == Some(began);
        is_it.then(|| Some((said.get(session)?.as_str()?.to_owned(), Running { process, file })))?
    };
    numbers.into_iter().filter_map(open).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::disk::Disk;

    #[test]
    fn a_mark_counts_while_the_process_runs_that_wrote_it() {
        let marks = tempfile::tempdir().unwrap();
        let own = std::process::id();
        let began = processes::began_ticks(own).unwrap();
        let write = |name: String, text: String| {
            let mut file = disk::RealDisk.create_private(&marks.path().join(name)).unwrap();
            std::io::Write::write_all(&mut file, text.as_bytes()).unwrap();
        };
        write(format!("{own}.json"), format!("{{\"sessionId\":\"mine\",\"procStart\":\"{began}\"}}"));
        write("1.json".to_owned(), "{\"sessionId\":\"of another\",\"procStart\":\"7\"}".to_owned());
        write(format!("{own}.key"), "{\"sessionId\":\"secret\"}".to_owned());
        let found = || open_sessions(marks.path(), "sessionId", "procStart");
        assert_eq!(found(), [("mine".to_owned(), Running { process: own, file: marks.path().join(format!("{own}.json")) })]);
        assert!(open_sessions(marks.path(), "sessionId", "missing").is_empty());
        assert!(open_sessions(&marks.path().join("no"), "sessionId", "procStart").is_empty());
    }
}
