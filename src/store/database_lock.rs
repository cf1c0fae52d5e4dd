//! The locks by which programs that share a SQLite database agree, held by nobody
//! for longer than a copy takes. They are bytes that a kernel keeps: no file changes.

use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use super::disk;

/// A lock that a reader may hold besides other readers; it ends with this value.
#[derive(Debug)]
pub(super) struct ReaderLock {
    _file: File,
}

/// Bytes of a file that stand for a lock: the first one, and how many.
type Bytes = (i64, i64);

/// In the memory that programs share: who holds it moves pages of the write-ahead log
/// into the database.
const CHECKPOINT: Bytes = (121, 1);

/// In the same file: the first place of a reader. While it is taken, the write-ahead
/// log grows at its end and does not begin anew.
const FIRST_READER: Bytes = (124, 1);

/// In the database: a writer waits here for readers to end.
const PENDING: Bytes = (0x4000_0000, 1);

/// In the database: held by readers, and by a writer while it changes pages.
const SHARED: Bytes = (0x4000_0002, 510);

/// For so long another program is waited for: a transaction takes less, and one that
/// takes more changes nothing in the database before it ends.
const PATIENCE: Duration = Duration::from_secs(2);

impl ReaderLock {
    /// Keeps the pages of a database and the beginning of its write-ahead log as they
    /// are, by the file that its programs share; they go on writing at the log's end.
    /// Nothing where there is no such file, or the lock cannot be had.
    pub(super) fn of_shared_memory(shared: &Path) -> Option<ReaderLock> {
        hold(shared, &[CHECKPOINT, FIRST_READER], &[])
    }

    /// Keeps the pages of a database without a write-ahead log as they are; its programs
    /// wait with what they write.
    pub(super) fn of_database(main: &Path) -> Option<ReaderLock> {
        // Readers that begin must not keep a writer from its turn for ever.
        hold(main, &[PENDING, SHARED], &[PENDING])
    }
}

fn hold(path: &Path, all: &[Bytes], only_to_begin: &[Bytes]) -> Option<ReaderLock> {
    let (file, _) = disk::open_regular(path).ok()?;
    let end = Instant::now() + PATIENCE;
    loop {
        if all.iter().all(|bytes| system::set(&file, *bytes, system::Lock::Reader)) {
            let freed = only_to_begin.iter().all(|bytes| system::set(&file, *bytes, system::Lock::Free));
            return freed.then_some(ReaderLock { _file: file });
        }
        let freed = all.iter().all(|bytes| system::set(&file, *bytes, system::Lock::Free));
        if !freed || Instant::now() > end {
            return None;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[cfg(target_os = "linux")]
mod system {
    use nix::fcntl::{FcntlArg, fcntl};
    use nix::libc;
    use std::fs::File;

    pub(super) enum Lock {
        Reader,
        Free,
    }

    /// Sets a lock of this open file, and not of this process: closing the database
    /// elsewhere would end one of the process.
    pub(super) fn set(file: &File, (start, length): super::Bytes, lock: Lock) -> bool {
        let kind = match lock {
            Lock::Reader => libc::F_RDLCK,
            Lock::Free => libc::F_UNLCK,
        };
        let range = libc::flock {
            l_type: kind as libc::c_short,
            l_whence: libc::SEEK_SET as libc::c_short,
            l_start: start,
            l_len: length,
            l_pid: 0,
        };
        fcntl(file, FcntlArg::F_OFD_SETLK(&range)).is_ok()
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::fs::File;

    pub(super) enum Lock {
        Reader,
        Free,
    }

    /// Nobody is kept from anything: a copy is compared and taken again instead.
    pub(super) fn set(_: &File, _: super::Bytes, _: Lock) -> bool {
        false
    }
}
