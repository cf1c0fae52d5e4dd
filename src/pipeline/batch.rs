//! The loop over sessions: in parallel, the largest first, and never more
//! bytes in memory at once than the largest session has.

use rayon::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use super::error::ConvertError;

/// Small sessions may go together up to this size.
const ALWAYS_ALLOWED: u64 = 32 * 1024 * 1024;

/// How many bytes of sessions are in memory.
#[derive(Debug)]
struct Budget {
    left: Mutex<Left>,
    freed: Condvar,
}

#[derive(Debug)]
struct Left {
    bytes: u64,
    /// How many wait for more.
    waiting: usize,
}

impl Budget {
    fn take(&self, bytes: u64) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        while left.bytes < bytes {
            left.waiting += 1;
            left = self.freed.wait(left).unwrap_or_else(PoisonError::into_inner);
            left.waiting -= 1;
        }
        left.bytes -= bytes;
    }

    fn give_back(&self, bytes: u64) {
        let mut left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        left.bytes += bytes;
        // To wake nobody is a call into the system too.
        if left.waiting > 0 {
            self.freed.notify_all();
        }
    }
}

/// Runs `work` on every item, `jobs` at a time; results in the order of items.
pub fn each<T: Sync, R: Send>(items: &[T], jobs: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    if items.is_empty() {
        return Vec::new();
    }
    // One item at a time, so that large items do not wait for each other.
    let run = || items.par_iter().with_max_len(1).map(&work).collect();
    match rayon::ThreadPoolBuilder::new().num_threads(jobs).build() {
        Ok(pool) => pool.install(run),
        // The system gives no more threads: the existing ones do the work.
        Err(_) => run(),
    }
}

/// Runs `work` on every item, the largest first, and never on more bytes at once
/// than the largest item has: each item is in memory while it is worked on.
pub fn by_size<T: Sync, R: Send>(items: &[T], bytes_of: impl Fn(&T) -> u64, jobs: usize, work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let mut order: Vec<(usize, u64)> = items.iter().map(bytes_of).enumerate().collect();
    order.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
    let largest = order.first().map_or(0, |(_, bytes)| *bytes);
    let budget = Budget { left: Mutex::new(Left { bytes: largest.max(ALWAYS_ALLOWED), waiting: 0 }), freed: Condvar::new() };
    let mut results = each(&order, jobs, |&(n, bytes)| {
        budget.take(bytes);
        let done = work(&items[n]);
        budget.give_back(bytes);
        (n, done)
    });
    results.sort_by_key(|(n, _)| *n);
    results.into_iter().map(|(_, done)| done).collect()
}

/// Keeps a panic with its session: a bug there must not stop the others.
///
/// # Errors
/// As `work`, or with what the panic said.
pub fn caught<R, E>(work: impl FnOnce() -> Result<R, E>, bug: impl FnOnce(String) -> E) -> Result<R, E> {
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let what = panic.downcast_ref::<&str>().map(ToString::to_string).or_else(|| panic.downcast_ref::<String>().cloned());
        Err(bug(what.unwrap_or_default()))
    })
}

/// Runs `work` on every item, as [`by_size`] does; items come with their size.
/// Results are missing for those that were not begun because `stop` was set. A
/// panic stays with its item.
pub fn run<T: Sync, R: Send>(
    items: &[(T, u64)],
    jobs: usize,
    stop: &AtomicBool,
    work: impl Fn(&T, u64) -> Result<R, ConvertError> + Sync,
) -> Vec<Option<Result<R, ConvertError>>> {
    let one = |(item, bytes): &(T, u64)| {
        let is_begun = !stop.load(Ordering::Relaxed);
        is_begun.then(|| caught(|| work(item, *bytes), ConvertError::Bug))
    };
    by_size(items, |(_, bytes)| *bytes, jobs, one)
}
