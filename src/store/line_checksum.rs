//! A checksum at the end of a JSON line. Receipts and tombstones carry one, so
//! that a line with a flipped bit is reported instead of trusted. It guards
//! against damage, not against a forger, who can compute it as well: against
//! those, `verify --root` pins a store from outside.

use sha2::{Digest, Sha256};

/// What comes before the 16 hex digits; `"}` follows them.
const MEMBER: &[u8] = b",\"sum\":\"";

/// How many hex digits of the SHA-256 are kept.
const DIGITS: usize = 16;

/// What a line's checksum says about the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineChecksum {
    /// The line has its checksum, and its bytes are those that were written.
    Intact,
    /// The line has no checksum: an earlier release wrote it.
    Absent,
    /// The line's bytes are not those that were written.
    Wrong,
}

/// Adds a checksum as the last member of a non-empty JSON object. `line` has no
/// line end.
pub fn add(line: &mut Vec<u8>) {
    if line.pop_if(|last| *last == b'}').is_none() {
        return;
    }
    let digits = digits_of(line);
    line.extend_from_slice(MEMBER);
    line.extend_from_slice(&digits);
    line.extend_from_slice(b"\"}");
}

/// Compares a line, given without its line end, with its checksum.
#[must_use]
pub fn check(line: &[u8]) -> LineChecksum {
    let Some(start) = line.len().checked_sub(MEMBER.len() + DIGITS + 2) else { return LineChecksum::Absent };
    let (body, tail) = line.split_at(start);
    let Some(digits) = tail.strip_prefix(MEMBER).and_then(|rest| rest.strip_suffix(b"\"}")) else {
        return LineChecksum::Absent;
    };
    if digits == digits_of(body) { LineChecksum::Intact } else { LineChecksum::Wrong }
}

/// Returns a line, given without its line end, up to its checksum or to its last
/// brace: with that brace it is the same object without a checksum.
#[must_use]
pub fn body(line: &[u8]) -> &[u8] {
    match check(line) {
        LineChecksum::Intact => &line[..line.len() - (MEMBER.len() + DIGITS + 2)],
        LineChecksum::Absent | LineChecksum::Wrong => line.strip_suffix(b"}").unwrap_or(line),
    }
}

fn digits_of(body: &[u8]) -> [u8; DIGITS] {
    const HEX: &[u8; 16] = b"0123456789abcdef";
    let hash = Sha256::digest(body);
    let mut digits = [0; DIGITS];
    for (pair, byte) in digits.chunks_exact_mut(2).zip(hash) {
        pair[0] = HEX[usize::from(byte >> 4)];
        pair[1] = HEX[usize::from(byte & 15)];
    }
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_changed_byte_is_noticed() {
        let mut line = br#"{"unit":"a","n":1}"#.to_vec();
        assert_eq!(check(&line), LineChecksum::Absent);
        add(&mut line);
        assert_eq!(check(&line), LineChecksum::Intact);
        assert!(serde_json::from_slice::<serde_json::Value>(&line).is_ok());
        for at in 0..line.len() {
            let mut other = line.clone();
            other[at] ^= 1;
            assert_ne!(check(&other), LineChecksum::Intact, "byte {at}");
        }
    }
}
