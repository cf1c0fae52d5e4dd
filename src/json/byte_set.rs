//! Finding the next byte of a small set. Texts are dense with escapes, so that
//! most searches end within a few dozen bytes: setting one up as `memchr` does
//! would cost more than the search itself. Here a block of bytes becomes a word
//! with one bit for each byte that is in the set, and a walk from match to match
//! takes the bits of that word one after the other.

use wide::u8x16;

/// How many bytes are compared at once.
const BLOCK: usize = 16;

/// How many bytes have their bits in one word.
pub const CHUNK: usize = u64::BITS as usize;

/// A set of bytes to look for.
#[derive(Debug, Clone, Copy)]
pub struct ByteSet<const N: usize> {
    bytes: [u8; N],
    /// All bytes below this one are in the set.
    below: u8,
    non_ascii: bool,
}

impl<const N: usize> ByteSet<N> {
    /// Makes the set of these bytes.
    #[must_use]
    pub const fn of(bytes: [u8; N]) -> ByteSet<N> {
        ByteSet { bytes, below: 0, non_ascii: false }
    }

    /// Adds all bytes below this one.
    #[must_use]
    pub const fn and_below(self, byte: u8) -> ByteSet<N> {
        ByteSet { below: byte, ..self }
    }

    /// Adds the control characters.
    #[must_use]
    pub const fn and_controls(self) -> ByteSet<N> {
        self.and_below(0x20)
    }

    /// Adds white space, and with it all control characters.
    #[must_use]
    pub const fn and_white_space(self) -> ByteSet<N> {
        self.and_below(0x21)
    }

    /// Adds all bytes that are not ASCII.
    #[must_use]
    pub const fn and_non_ascii(self) -> ByteSet<N> {
        ByteSet { non_ascii: true, ..self }
    }

    /// Returns the offset of the first byte of the set at or after `from`, or the
    /// text's length where there is none.
    #[must_use]
    #[inline(always)]
    pub fn next(self, text: &[u8], from: usize) -> usize {
        self.walk(text, from, |_| None)
    }

    /// Walks from match to match: `pass` returns where to continue after one, which
    /// is never before it, or nothing where the walk ends. Returns the offset of the
    /// last match, or the text's length where the walk got so far.
    #[inline(always)]
    pub fn walk(self, text: &[u8], from: usize, mut pass: impl FnMut(usize) -> Option<usize>) -> usize {
        let mut at = from;
        // Keys and most values end near by: a whole chunk pays only after that.
        let mut is_near = true;
        'chunks: while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let (mut marks, len) = match rest.first_chunk() {
                Some(chunk) if !is_near => (self.marks_of(chunk), CHUNK),
                _ => match rest.first_chunk() {
                    Some(block) => (self.marks(block), BLOCK),
                    None => (self.marks_of_tail(text, at), rest.len()),
                },
            };
            is_near = false;
            while marks != 0 {
                let found = at + marks.trailing_zeros() as usize;
                let Some(next) = pass(found) else { return found };
                if next >= at + len {
                    at = next;
                    continue 'chunks;
                }
                marks &= u64::MAX << (next - at);
            }
            at += len;
        }
        text.len()
    }

    /// Tells whether a text holds any byte of the set.
    #[must_use]
    #[inline(always)]
    pub fn is_in(self, text: &[u8]) -> bool {
        self.next(text, 0) < text.len()
    }

    /// Returns the offset of the first byte of the set among the next
    /// few bytes of a text that is long enough: the fast path for what ends near by.
    #[must_use]
    #[inline(always)]
    pub fn near(self, text: &[u8], from: usize) -> Option<usize> {
        let marks = self.marks(text.get(from..)?.first_chunk()?);
        (marks != 0).then(|| from + marks.trailing_zeros() as usize)
    }

    /// Tells whether a chunk holds any byte of the set. Costs less than its bits.
    #[must_use]
    #[inline(always)]
    pub fn is_in_chunk(self, chunk: &[u8; CHUNK]) -> bool {
        let (blocks, _) = chunk.as_chunks();
        let marked = blocks.iter().fold(u8x16::splat(0), |marked, block| marked | self.marked(block));
        marked.to_bitmask() != 0
    }

    /// Returns the bits of the last few bytes of a text, fewer than a block.
    #[inline(always)]
    fn marks_of_tail(self, text: &[u8], from: usize) -> u64 {
        match text.last_chunk() {
            // The bytes before them are compared again; the shift drops their bits.
            Some(block) => self.marks(block) >> (BLOCK - (text.len() - from)),
            None => {
                let tail = &text[from..];
                self.marks(&padded(tail)) & !(u64::MAX << tail.len())
            }
        }
    }

    /// Returns one bit for each byte of a chunk that is in the set; the first byte
    /// has the lowest bit.
    #[inline(always)]
    pub fn marks_of(self, chunk: &[u8; CHUNK]) -> u64 {
        let (blocks, _) = chunk.as_chunks();
        blocks.iter().rev().fold(0, |marks, block| marks << BLOCK | self.marks(block))
    }

    #[inline(always)]
    fn marks(self, block: &[u8; BLOCK]) -> u64 {
        u64::from(self.marked(block).to_bitmask())
    }

    /// Returns a block in which the highest bit of a byte says whether it is in the
    /// set. Bytes that are not ASCII have that bit already.
    #[inline(always)]
    fn marked(self, block: &[u8; BLOCK]) -> u8x16 {
        let block = u8x16::new(*block);
        let mut marked = if self.non_ascii { block } else { u8x16::splat(0) };
        for listed in self.bytes {
            marked |= block.simd_eq(u8x16::splat(listed));
        }
        if self.below > 0 {
            marked |= block.simd_lt(u8x16::splat(self.below));
        }
        marked
    }
}

/// Pads fewer bytes than a block with NULs. Nearly all keys are so short: joining
/// two overlapping words is faster than copying bytes.
#[inline(always)]
fn padded(tail: &[u8]) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    if let (Some(first), Some(last)) = (tail.first_chunk::<8>(), tail.last_chunk()) {
        let after = u64::from_le_bytes(*last).checked_shr(8 * (BLOCK - tail.len()) as u32).unwrap_or(0);
        block[..8].copy_from_slice(first);
        block[8..].copy_from_slice(&after.to_le_bytes());
    } else if let (Some(first), Some(last)) = (tail.first_chunk::<4>(), tail.last_chunk()) {
        let after = u32::from_le_bytes(*last).checked_shr(8 * (8 - tail.len()) as u32).unwrap_or(0);
        block[..4].copy_from_slice(first);
        block[4..8].copy_from_slice(&after.to_le_bytes());
    } else {
        tail.iter().zip(&mut block).for_each(|(byte, place)| *place = *byte);
    }
    block
}

/// Returns the chunk at this offset, padded with NULs after the end of the text.
#[inline(always)]
pub fn chunk_at(text: &[u8], at: usize) -> [u8; CHUNK] {
    let rest = text.get(at..).unwrap_or_default();
    rest.first_chunk().copied().unwrap_or_else(|| {
        let mut chunk = [0; CHUNK];
        chunk[..rest.len()].copy_from_slice(rest);
        chunk
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_bytes_are_padded_with_nuls() {
        let bytes: Vec<u8> = (1..BLOCK as u8).collect();
        for len in 0..BLOCK {
            let block = padded(&bytes[..len]);
            assert_eq!((&block[..len], block[len..].iter().any(|byte| *byte != 0)), (&bytes[..len], false), "{len}");
        }
    }

    #[test]
    fn the_first_byte_of_the_set_is_found_wherever_it_is() {
        let sets = [ByteSet::of([b'"', b'\\']), ByteSet::of([b'\\', 0x7f]).and_controls(), ByteSet::of([b'<', 0xff]).and_non_ascii()];
        for set in sets {
            for byte in 0..=u8::MAX {
                for len in [0, 1, 7, 8, 9, 15, 16, 17, 40, 64, 65, 79, 80, 81, 150] {
                    for at in 0..len {
                        // One more follows: the first must win.
                        let mut text = vec![b' '; len];
                        text[at] = byte;
                        text[len - 1] = b'\\';
                        let slowly = (0..len).find(|from| set.next(&text[*from..=*from], 0) == 0).unwrap_or(len);
                        assert_eq!(set.next(&text, 0), slowly, "{byte:#x} at {at} of {len} in {set:?}");
                        assert!(set.next(&text, at + 1) > at);
                        assert_eq!(set.is_in(&text), slowly < len, "{byte:#x} at {at} of {len} in {set:?}");
                        assert_eq!(set.near(&text, 0), Some(slowly).filter(|at| *at < BLOCK && len >= BLOCK), "{byte:#x} at {at} of {len}");
                        if let Some(chunk) = text.first_chunk() {
                            assert_eq!(set.is_in_chunk(chunk), slowly < CHUNK, "{byte:#x} at {at} of {len} in {set:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_walk_takes_every_match_that_is_not_skipped() {
        let set = ByteSet::of([b'x']);
        for len in 0..200 {
            for step in [1, 2, 3, 17, 70] {
                let text = vec![b'x'; len];
                let mut seen = Vec::new();
                let end = set.walk(&text, len.min(2), |at| {
                    seen.push(at);
                    Some(at + step)
                });
                assert_eq!(end, len);
                assert_eq!(seen, (len.min(2)..len).step_by(step).collect::<Vec<_>>(), "{len} by {step}");
            }
        }
        assert_eq!(set.walk(b"x..x", 0, |at| (at == 0).then_some(1)), 3);
        // After the end there is nothing, not even a control.
        let controls = ByteSet::of([b'"']).and_controls();
        assert_eq!(
            (0..80).map(|len| controls.walk(&vec![b' '; len], 0, |at| panic!("a match at {at} of {len}"))).sum::<usize>(),
            80 * 79 / 2
        );
    }
}
