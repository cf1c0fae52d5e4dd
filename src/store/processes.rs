//! Whether the process that wrote a file still runs.

use std::path::Path;

use super::disk;

/// Clock ticks in a second, as `/proc` counts them everywhere.
const TICKS: i64 = 100;
/// Processes and files are not timed by the same clock.
const SLACK_NS: i64 = 2_000_000_000;

/// Tells whether the process with this number runs, is of a program whose command
/// line holds one of these words, and can have written a file at this time (in
/// nanoseconds since the epoch). What the system does not tell counts for yes.
#[must_use]
pub fn still_runs(process: u32, wrote_ns: i64, words: &[&str]) -> bool {
    let Some(pid) = i32::try_from(process).ok().and_then(rustix::process::Pid::from_raw) else { return false };
    match rustix::process::test_kill_process(pid) {
        Ok(()) | Err(rustix::io::Errno::PERM) => {}
        Err(_) => return false,
    }
    let about = |name: &str| disk::read(Path::new(&format!("/proc/{process}/{name}"))).ok();
    if let Some(line) = about("cmdline") {
        let line = String::from_utf8_lossy(&line).to_lowercase();
        if !words.iter().any(|word| line.contains(word)) {
            return false;
        }
    }
    // A number is given again: a process that began later wrote nothing then.
    about("stat").and_then(|stat| began_ns(&stat)).is_none_or(|began| began <= wrote_ns.saturating_add(SLACK_NS))
}

/// Returns when the process with this number began, in clock ticks since the system was
/// started; nothing where no such process runs.
#[must_use]
pub fn began_ticks(process: u32) -> Option<i64> {
    disk::read(Path::new(&format!("/proc/{process}/stat"))).ok().and_then(|stat| ticks(&stat))
}

fn ticks(stat: &[u8]) -> Option<i64> {
    // The name stands in brackets, and may hold anything.
    String::from_utf8_lossy(stat).rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

fn began_ns(stat: &[u8]) -> Option<i64> {
    let ticks = ticks(stat)?;
    let system = disk::read(Path::new("/proc/stat")).ok()?;
    let booted: i64 = String::from_utf8_lossy(&system).lines().find_map(|line| line.strip_prefix("btime ")?.trim().parse().ok())?;
    Some(booted * 1_000_000_000 + ticks * (1_000_000_000 / TICKS))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::Command;
    use std::time::{SystemTime, UNIX_EPOCH};

    #[test]
    fn a_writer_runs_until_it_ends_and_others_with_its_number_are_not_it() {
        let mut child = Command::new("sleep").arg0("python3").arg("60").spawn().unwrap();
        // For a moment a new process has no words yet.
        let line = format!("/proc/{}/cmdline", child.id());
        while disk::read(Path::new(&line)).is_ok_and(|line| line.is_empty()) {
            std::thread::yield_now();
        }
        let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos()).unwrap();
        let runs = |wrote, words: &[&str]| still_runs(child.id(), wrote, words);
        assert!(runs(now, &["python"]));
        assert!(!runs(now, &["perl"]), "another program has its number");
        assert!(!runs(now - 3_600_000_000_000, &["python"]), "it began after the file was written");
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(!still_runs(child.id(), now, &["python"]));
        assert!(!still_runs(0, now, &["python"]) && !still_runs(u32::MAX, now, &["python"]));
    }
}
