//! Hashes as text.

use sha2::{Digest, Sha256};

/// Lower-case hex digits.
#[must_use]
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]).map(|nibble| char::from(DIGITS[usize::from(nibble)])).collect()
}

/// Returns the SHA-256 of some bytes.
#[must_use]
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// The first half of the SHA-256 of some bytes: enough to tell the records of any
/// store apart, at a quarter of the memory of its text.
pub type HalfDigest = [u8; 16];

/// Returns the first half of the SHA-256 of some bytes.
#[must_use]
pub fn half_digest(bytes: &[u8]) -> HalfDigest {
    let mut half = HalfDigest::default();
    half.iter_mut().zip(Sha256::digest(bytes)).for_each(|(to, from)| *to = from);
    half
}

/// Returns what a residual remembers of the rendering that it stands in for.
#[must_use]
pub fn residual_digest(rendered: &[u8]) -> String {
    hex(&Sha256::digest(rendered)[..8])
}

/// Returns the SHA-256 of everything that a reader gives, in hex; little of it is in
/// memory at once.
///
/// # Errors
/// When it cannot be read.
pub fn sha256_of(mut reader: impl std::io::Read) -> std::io::Result<String> {
    let mut hash = Sha256::new();
    let mut piece = vec![0; 256 * 1024];
    loop {
        match reader.read(&mut piece)? {
            0 => return Ok(hex(&hash.finalize())),
            read => hash.update(&piece[..read]),
        }
    }
}
