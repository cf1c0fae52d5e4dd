//! How much memory there is: a session that does not fit into it must fail by
//! itself, and not end the process with all others.

use rustix::process::{Resource, getrlimit};
use std::path::Path;

use super::disk;

/// A session takes so many times its own size while it is converted and proven.
const TIMES: u64 = 2;

/// Returns how many bytes of memory this process can still get, as far as the system
/// tells; nothing where it does not.
#[must_use]
pub fn free() -> Option<u64> {
    [of_machine(), of_group(), of_process()].into_iter().flatten().min()
}

/// Returns how many bytes of memory a session of this size may take while it is converted
/// and proven.
#[must_use]
pub fn needed(bytes: u64) -> u64 {
    bytes.saturating_mul(TIMES)
}

/// Tells whether a session of this size fits into memory; if not, how much there is.
///
/// # Errors
/// How much there is, where that is not enough.
pub fn fits(bytes: u64) -> Result<(), u64> {
    // What is small is not worth the question.
    if bytes < SMALL {
        return Ok(());
    }
    match free() {
        Some(free) if needed(bytes) > free => Err(free),
        Some(_) | None => Ok(()),
    }
}

/// Below this size memory is not asked for.
const SMALL: u64 = 16 << 20;

fn text_of(path: &str) -> Option<String> {
    disk::read(Path::new(path)).ok().and_then(|bytes| String::from_utf8(bytes).ok())
}

/// Returns what the system says of this process. Not by way of `/proc/self`, which is a
/// link.
fn own(name: &str) -> Option<String> {
    text_of(&format!("/proc/{}/{name}", std::process::id()))
}

/// Returns what the machine has left.
fn of_machine() -> Option<u64> {
    let table = text_of("/proc/meminfo")?;
    let line = table.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// Returns what the group of processes that we are in may still take. Memory that only
/// caches files can be had back, so the limit itself counts for that part.
fn of_group() -> Option<u64> {
    let group = own("cgroup")?;
    let path = group.lines().find_map(|line| line.strip_prefix("0::"))?.trim_end();
    let folder = format!("/sys/fs/cgroup{}", path.trim_end_matches('/'));
    let number = |name: &str| text_of(&format!("{folder}/{name}"))?.trim().parse::<u64>().ok();
    let stat = text_of(&format!("{folder}/memory.stat")).unwrap_or_default();
    let cached = stat.lines().find_map(|line| line.strip_prefix("file ")?.trim().parse::<u64>().ok()).unwrap_or(0);
    Some(number("memory.max")?.saturating_sub(number("memory.current")?.saturating_sub(cached)))
}

/// Returns what the limit of this process leaves (`ulimit -v`).
fn of_process() -> Option<u64> {
    let limit = getrlimit(Resource::As).current?;
    let pages: u64 = own("statm")?.split(' ').next()?.parse().ok()?;
    Some(limit.saturating_sub(pages.saturating_mul(rustix::param::page_size() as u64)))
}
