//! Rebuilt bytes, compared or hashed as they stream: no second copy is made.

use sha2::{Digest, Sha256};

use crate::log::restore::ByteSink;
use crate::model::digest::hex;
use crate::model::location::Location;
use crate::model::stream::StreamError;

use super::difference::{Difference, WINDOW, window};

/// Compares what comes with what should come.
#[derive(Debug)]
pub struct Compare<'a> {
    expected: &'a [u8],
    at: usize,
    /// Where they part, and the rebuilt side from a little before that on.
    parted: Option<(usize, Vec<u8>)>,
    /// How much of the rebuilt side before the place is kept.
    before: usize,
}

impl<'a> Compare<'a> {
    /// Compares with these bytes.
    #[must_use]
    pub fn with(expected: &'a [u8]) -> Compare<'a> {
        Compare { expected, at: 0, parted: None, before: 0 }
    }

    /// The difference, if there was one or if bytes are missing at the end.
    #[must_use]
    pub fn difference(&self, file: &str) -> Option<Difference> {
        let (at, rebuilt) = match &self.parted {
            Some((at, rebuilt)) => (*at, rebuilt.as_slice()),
            None if self.at < self.expected.len() => (self.at, &b""[..]),
            None => return None,
        };
        // Both sides begin at the same place, so that only what differs does.
        let source = &self.expected[at - self.before..];
        Some(Difference {
            what: "rebuilt file differs from its source".to_owned(),
            location: Location::of_offset(file, self.expected, at),
            source: window(source, self.before),
            log: window(rebuilt, self.before),
        })
    }
}

impl ByteSink for Compare<'_> {
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), StreamError> {
        let rest = &self.expected[self.at..];
        if rest.starts_with(bytes) {
            self.at += bytes.len();
            return Ok(());
        }
        let same = rest.iter().zip(bytes).take_while(|(a, b)| a == b).count();
        self.before = same.min(WINDOW);
        self.parted = Some((self.at + same, bytes[same - self.before..bytes.len().min(same + WINDOW + 1)].to_vec()));
        Err(StreamError::Differs)
    }
}

/// Hashes and counts what comes.
#[derive(Debug, Default)]
pub struct Hash {
    hash: Sha256,
    size: u64,
}

impl Hash {
    /// Size and hash of all that came.
    #[must_use]
    pub fn finish(self) -> (u64, String) {
        (self.size, hex(&self.hash.finalize()))
    }
}

impl ByteSink for Hash {
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), StreamError> {
        self.hash.update(bytes);
        self.size += bytes.len() as u64;
        Ok(())
    }
}
