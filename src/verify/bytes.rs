//! Rebuilt bytes, compared or hashed as they stream: no second copy is made.

use sha2::{Digest, Sha256};

use crate::log::restore::ByteSink;
use crate::model::digest::hex;
use crate::model::location::Location;
use crate::model::stream::StreamError;

use super::difference::{Difference, window};

/// Compares what comes with what should come.
#[derive(Debug)]
pub struct Compare<'a> {
    expected: &'a [u8],
    at: usize,
    /// Where they part, and the piece of the rebuilt side that did.
    parted: Option<(usize, Vec<u8>)>,
}

impl<'a> Compare<'a> {
    /// Compares with these bytes.
    #[must_use]
    pub fn with(expected: &'a [u8]) -> Compare<'a> {
        Compare { expected, at: 0, parted: None }
    }

    /// The difference, if there was one or if bytes are missing at the end.
    #[must_use]
    pub fn difference(&self, file: &str) -> Option<Difference> {
        let (at, rebuilt) = match &self.parted {
            Some((at, rebuilt)) => (*at, rebuilt.as_slice()),
            None if self.at < self.expected.len() => (self.at, &b""[..]),
            None => return None,
        };
        Some(Difference {
            what: "rebuilt file differs from its source".to_owned(),
            location: Location::of_offset(file, self.expected, at),
            source: window(self.expected, at),
            log: window(rebuilt, 40),
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
        let from = same.saturating_sub(40);
        self.parted = Some((self.at + same, bytes[from..bytes.len().min(same + 40)].to_vec()));
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
