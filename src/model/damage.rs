//! Bytes that a source program's loader rejects, as a log keeps them: long runs of
//! zero bytes are counted, because a power cut leaves many and a log needs six bytes
//! to write one of them.

use serde::{Deserialize, Serialize};

use super::text_or_bytes::bytes_of;

/// The payload of `damage`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Damage {
    /// The file, relative to the session.
    pub file: String,
    /// The line where it begins, from 1.
    pub line: u64,
    /// The offset of its first byte in the file.
    pub offset: u64,
    /// Why the loader rejects it.
    pub reason: String,
    /// Its runs of zero bytes: where in it each begins, and how long it is. They
    /// are counted because a log needs six bytes to write one of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nul: Vec<(u64, u64)>,
    /// The bytes without those runs, where they are UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
    /// The bytes without those runs in base64, where they are not UTF-8.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub b64: Option<String>,
}

/// From so many zero bytes on, a run of them is counted.
const COUNTED_RUN: usize = 8;

/// The bytes of a damage: its runs of zero bytes, as counts, and what else it has.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DamagedBytes {
    /// Where in the damage each run begins, and how long it is.
    pub nul: Vec<(u64, u64)>,
    /// The bytes without those runs.
    pub rest: Vec<u8>,
}

impl DamagedBytes {
    /// Counts the runs in these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> DamagedBytes {
        let (mut nul, mut rest) = (Vec::new(), Vec::new());
        let mut at = 0;
        while let Some(start) = memchr::memchr(0, &bytes[at..]).map(|found| at + found) {
            let len = bytes[start..].iter().take_while(|byte| **byte == 0).count();
            if len >= COUNTED_RUN {
                nul.push((start as u64, len as u64));
                rest.extend_from_slice(&bytes[at..start]);
            } else {
                rest.extend_from_slice(&bytes[at..start + len]);
            }
            at = start + len;
        }
        rest.extend_from_slice(&bytes[at..]);
        DamagedBytes { nul, rest }
    }

    /// Returns the pieces in order: bytes, and after them so many zero bytes. `None`
    /// where a run does not follow the one before it.
    #[must_use]
    pub fn pieces(&self) -> Option<Vec<(&[u8], u64)>> {
        let mut pieces = Vec::with_capacity(self.nul.len() + 1);
        let (mut at, mut rest) = (0u64, self.rest.as_slice());
        for (start, len) in &self.nul {
            let (before, after) = rest.split_at_checked(usize::try_from(start.checked_sub(at)?).ok()?)?;
            pieces.push((before, *len));
            rest = after;
            at = start.checked_add(*len)?;
        }
        pieces.push((rest, 0));
        Some(pieces)
    }
}

impl Damage {
    /// Returns its bytes, whichever way a log has them; `None` where it has none.
    #[must_use]
    pub fn bytes(&self) -> Option<DamagedBytes> {
        match (bytes_of(self.text.as_deref(), self.b64.as_deref()), self.nul.is_empty()) {
            // As older logs have it: runs written out.
            (Some(bytes), true) => Some(DamagedBytes::of(&bytes)),
            (Some(rest), false) => Some(DamagedBytes { nul: self.nul.clone(), rest }),
            (None, false) if self.text.is_none() && self.b64.is_none() => Some(DamagedBytes { nul: self.nul.clone(), rest: Vec::new() }),
            (None, _) => None,
        }
    }
}
