//! The loop over sessions: in parallel, the largest first, and never more
//! bytes in memory at once than the largest session has.

use rayon::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};

use super::convert::ConvertError;

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
    // One item at a time, so that large ones do not wait behind each other.
    let run = || items.par_iter().with_max_len(1).map(&work).collect();
    match rayon::ThreadPoolBuilder::new().num_threads(jobs).build() {
        Ok(pool) => pool.install(run),
        // No threads to be had: the ones there are will do.
        Err(_) => run(),
    }
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

/// Runs `work` on every item, `jobs` at a time. Items come with their size;
/// results come back in the order of the items, and are missing for those that
/// were not begun because `stop` was set. A panic stays with its item.
pub fn run<T: Sync, R: Send>(
    items: &[(T, u64)],
    jobs: usize,
    stop: &AtomicBool,
    work: impl Fn(&T, u64) -> Result<R, ConvertError> + Sync,
) -> Vec<Option<Result<R, ConvertError>>> {
    let largest = items.iter().map(|(_, bytes)| *bytes).max().unwrap_or(0);
    let budget = Budget { left: Mutex::new(Left { bytes: largest.max(ALWAYS_ALLOWED), waiting: 0 }), freed: Condvar::new() };
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by_key(|&n| std::cmp::Reverse(items[n].1));
    let one = |&n: &usize| {
        if stop.load(Ordering::Relaxed) {
            return (n, None);
        }
        let (item, bytes) = &items[n];
        budget.take(*bytes);
        let done = caught(|| work(item, *bytes), ConvertError::Bug);
        budget.give_back(*bytes);
        (n, Some(done))
    };
    let mut results = each(&order, jobs, one);
    results.sort_by_key(|(n, _)| *n);
    results.into_iter().map(|(_, done)| done).collect()
}
