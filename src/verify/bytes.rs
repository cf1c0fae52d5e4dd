//! Rebuilt bytes, compared or hashed as they stream: no second copy is made.

use sha2::{Digest, Sha256};

use crate::log::restore::ByteSink;
use crate::model::digest::hex;
use crate::model::ids::Seq;
use crate::model::location::Location;
use crate::model::stream::StreamError;

use super::difference::{Difference, DifferenceAt, Sides, USUAL_CONTEXT, Window};
use super::records::{Occurrence, Records};

/// Compares what comes with what should come.
#[derive(Debug)]
pub struct Compare<'a, 'r> {
    expected: &'a [u8],
    /// Where records are noted that are as they should be.
    records: &'r mut Records<'a>,
    turn: Occurrence,
    at: usize,
    /// The event that bytes come from.
    event: Option<Seq>,
    /// Where they part, and the rebuilt side from a little before that on.
    parted: Option<Window>,
}

impl<'a, 'r> Compare<'a, 'r> {
    /// Compares with these bytes, and notes the records that are in them.
    #[must_use]
    pub fn with(expected: &'a [u8], records: &'r mut Records<'a>) -> Compare<'a, 'r> {
        Compare { expected, records, turn: Occurrence::First, at: 0, event: None, parted: None }
    }

    /// Returns the difference, if there was one or if bytes are missing at the end.
    #[must_use]
    pub fn difference(&self, file: &str) -> Option<Difference> {
        if self.parted.is_none() && self.at >= self.expected.len() {
            return None;
        }
        // What ends early has the same bytes as far as it goes.
        let rebuilt = self.parted.clone().unwrap_or_else(|| Window::around(&self.expected[..self.at], self.at, USUAL_CONTEXT));
        let at = usize::try_from(rebuilt.offset).unwrap_or(usize::MAX).saturating_add(rebuilt.at);
        Some(Difference {
            what: "rebuilt file differs from its source".to_owned(),
            place: DifferenceAt::File(Location::of_offset(file, self.expected, at)),
            event: self.event,
            sides: Sides::Bytes { source: Window::around(self.expected, at, USUAL_CONTEXT), log: rebuilt, more: None },
        })
    }
}

impl ByteSink for Compare<'_, '_> {
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), StreamError> {
        let rest = &self.expected[self.at..];
        if rest.starts_with(bytes) {
            self.at += bytes.len();
            return Ok(());
        }
        let same = rest.iter().zip(bytes).take_while(|(a, b)| a == b).count();
        let mut window = Window::around(bytes, same, USUAL_CONTEXT);
        window.offset += self.at as u64;
        window.of += self.at as u64;
        self.parted = Some(window);
        Err(StreamError::Differs)
    }

    fn record(&mut self, record: &[u8]) -> Result<(), StreamError> {
        let from = self.at;
        self.bytes(record)?;
        let turn = std::mem::replace(&mut self.turn, Occurrence::Further);
        if let Some(event) = self.event {
            self.records.add(event, &self.expected[from..self.at], turn);
        }
        Ok(())
    }

    fn comes_from(&mut self, seq: Seq) {
        self.event = Some(seq);
        self.turn = Occurrence::First;
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
