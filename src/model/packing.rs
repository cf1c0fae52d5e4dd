//! Compressed files whose log holds what is inside of them: how such a file was
//! compressed, so that the same bytes can be made of its content again.

use serde::{Deserialize, Serialize};
use std::io::{Read, Write};

/// How a file was compressed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Packing {
    /// The method.
    pub method: Method,
    /// Its level.
    pub level: i32,
    /// How many bytes the content has.
    pub size: u64,
}

/// A method of compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// One Zstandard frame that says how long its content is, without a checksum.
    Zstd,
}

/// The first bytes of a Zstandard frame.
pub const ZSTD_MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// The level that programs use as a rule.
const USUAL_LEVEL: i32 = 3;

/// So many bytes may come of any compressed file…
const ALWAYS_ALLOWED: u64 = 64 << 20;
/// …and so many times its own besides. Text comes to a tenth or so; more is a file that
/// was made to fill a memory.
const ALLOWED_TIMES: u64 = 1000;

impl Packing {
    /// Finds out how a file with this content was compressed. `None` where this
    /// build would make other bytes of it.
    #[must_use]
    pub fn of(packed: &[u8], plain: &[u8]) -> Option<Packing> {
        let packing = Packing { method: Method::Zstd, level: USUAL_LEVEL, size: plain.len() as u64 };
        packing.pack(plain).is_ok_and(|again| again == packed).then_some(packing)
    }

    /// Compresses a content.
    ///
    /// # Errors
    /// When the library cannot, which only a lack of memory can cause.
    pub fn pack(&self, plain: &[u8]) -> std::io::Result<Vec<u8>> {
        let Method::Zstd = self.method;
        let mut encoder = zstd::stream::write::Encoder::new(Vec::new(), self.level)?;
        // A frame says how long its content is only where the writer knew it.
        encoder.set_pledged_src_size(Some(plain.len() as u64))?;
        encoder.include_contentsize(true)?;
        encoder.include_checksum(false)?;
        encoder.write_all(plain)?;
        encoder.finish()
    }
}

/// Decompresses a file; `None` where it is not intact, or its content would be out of all
/// proportion to it.
#[must_use]
pub fn unpack(packed: &[u8]) -> Option<Vec<u8>> {
    unpack_up_to(packed, (packed.len() as u64).saturating_mul(ALLOWED_TIMES).saturating_add(ALWAYS_ALLOWED))
}

/// Decompresses a text that is never longer than `most`; `None` where it is not intact,
/// or longer.
#[must_use]
pub fn unpack_at_most(packed: &[u8], most: usize) -> Option<Vec<u8>> {
    unpack_up_to(packed, most as u64)
}

fn unpack_up_to(packed: &[u8], allowed: u64) -> Option<Vec<u8>> {
    let decoder = zstd::stream::read::Decoder::with_buffer(packed).ok()?;
    let mut plain = Vec::new();
    decoder.take(allowed.saturating_add(1)).read_to_end(&mut plain).ok()?;
    (plain.len() as u64 <= allowed).then_some(plain)
}

/// Decompresses the first bytes of a file, as far as they go.
#[must_use]
pub fn unpack_first(packed: &[u8], most: usize) -> Vec<u8> {
    let mut plain = Vec::new();
    let Ok(decoder) = zstd::stream::read::Decoder::with_buffer(packed) else { return plain };
    // A file that was cut short gives what was in it so far.
    let _ = decoder.take(most as u64).read_to_end(&mut plain);
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_as_usual_is_packed_again_to_the_same_bytes() {
        let lines = (0..5_000u32).map(|n| format!("{{\"n\":{},\"type\":\"message\"}}\n", n.wrapping_mul(2_654_435_761)));
        let plain = lines.collect::<String>().into_bytes();
        let usual = Packing { method: Method::Zstd, level: USUAL_LEVEL, size: plain.len() as u64 };
        let packed = usual.pack(&plain).unwrap();
        assert_eq!(unpack(&packed).as_deref(), Some(plain.as_slice()));
        assert_eq!(Packing::of(&packed, &plain), Some(usual.clone()));
        let other = Packing { level: 19, ..usual }.pack(&plain).unwrap();
        assert_eq!(Packing::of(&other, &plain), None);
    }

    #[test]
    fn a_frame_that_is_cut_or_a_bomb_is_not_unpacked() {
        let plain = vec![b'a'; 80 << 20];
        let usual = Packing { method: Method::Zstd, level: USUAL_LEVEL, size: plain.len() as u64 };
        let bomb = usual.pack(&plain).unwrap();
        assert_eq!(unpack(&bomb), None);
        assert_eq!(
            (unpack_at_most(&bomb, 80 << 20).map(|plain| plain.len()), unpack_at_most(&bomb, (80 << 20) - 1)),
            (Some(80 << 20), None)
        );
        let packed = usual.pack(b"text").unwrap();
        assert_eq!(unpack(&packed[..packed.len() - 1]), None);
        assert_eq!(unpack_first(&packed, 2), b"te");
    }
}
