//! A disk that dies, and one on which single steps fail.

use super::watched::{Step, Watch, Watched};
use everlog::store::StoreError;
use everlog::store::disk::{Disk, RealDisk};
use std::sync::atomic::{AtomicUsize, Ordering};

/// A disk that does so many steps and then none any more.
pub type DyingDisk = Watched<Dying>;

#[derive(Debug)]
pub struct Dying {
    steps: AtomicUsize,
    alive_for: usize,
}

impl DyingDisk {
    pub fn after(alive_for: usize) -> DyingDisk {
        Watched(Dying { steps: AtomicUsize::new(0), alive_for })
    }

    pub fn steps(&self) -> usize {
        self.0.steps.load(Ordering::SeqCst)
    }

    pub fn survived(&self) -> bool {
        self.steps() <= self.0.alive_for
    }
}

impl Watch for Dying {
    fn before(&self, step: &Step<'_>) -> Result<(), StoreError> {
        let number = self.steps.fetch_add(1, Ordering::SeqCst);
        if number < self.alive_for {
            return Ok(());
        }
        if number == self.alive_for {
            // Death comes in the middle of the bytes.
            let half = |bytes: &[u8]| bytes[..bytes.len() / 2].to_vec();
            if let Step::Write { path, file, bytes } = step {
                let _ = RealDisk.write(path, file, &half(bytes));
            } else if let Step::Append { path, bytes } = step {
                let _ = RealDisk.append(path, &half(bytes));
            } else if let Step::Extend { path, at, bytes } = step {
                let _ = RealDisk.extend(path, *at, &half(bytes));
            }
        }
        Err(step.refused(std::io::Error::other("the machine has died")))
    }
}

/// A disk on which the step with this number fails, and no other.
pub type FailingDisk = Watched<Failing>;

#[derive(Debug)]
pub struct Failing {
    steps: AtomicUsize,
    at: usize,
    errno: i32,
}

impl FailingDisk {
    pub fn at(at: usize, errno: i32) -> FailingDisk {
        Watched(Failing { steps: AtomicUsize::new(0), at, errno })
    }

    pub fn has_failed(&self) -> bool {
        self.0.steps.load(Ordering::SeqCst) > self.0.at
    }
}

impl Watch for Failing {
    fn before(&self, step: &Step<'_>) -> Result<(), StoreError> {
        if self.steps.fetch_add(1, Ordering::SeqCst) == self.at {
            return Err(step.refused(std::io::Error::from_raw_os_error(self.errno)));
        }
        Ok(())
    }
}
