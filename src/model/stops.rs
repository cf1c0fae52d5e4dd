//! Where the next byte of a small set stands. Texts are dense with escapes, so
//! that most searches end within a few dozen bytes: to set one up as `memchr`
//! does would cost more than the search itself.

/// As many bytes as compilers compare at once everywhere.
const BLOCK: usize = 16;

/// 1 in every byte of a word.
const ONES: u64 = 0x0101_0101_0101_0101;

/// The highest bit of every byte of a word.
const HIGHS: u64 = ONES << 7;

/// A set of bytes to stop at.
#[derive(Debug, Clone, Copy)]
pub struct Stops<const N: usize> {
    bytes: [u8; N],
    /// All bytes below this one; at most 0x80.
    below: u8,
    beyond_ascii: bool,
}

impl<const N: usize> Stops<N> {
    /// Stops at these bytes.
    #[must_use]
    pub const fn at(bytes: [u8; N]) -> Stops<N> {
        Stops { bytes, below: 0, beyond_ascii: false }
    }

    /// Stops at control characters too.
    #[must_use]
    pub const fn and_controls(self) -> Stops<N> {
        Stops { below: 0x20, ..self }
    }

    /// Stops at what is not ASCII too.
    #[must_use]
    pub const fn and_beyond_ascii(self) -> Stops<N> {
        Stops { beyond_ascii: true, ..self }
    }

    /// Where the first of these bytes stands, from here on; the text's length
    /// where there is none.
    #[must_use]
    #[inline(always)]
    pub fn next(self, text: &[u8], from: usize) -> usize {
        let (blocks, tail) = text.get(from..).unwrap_or_default().as_chunks::<BLOCK>();
        let mut at = from;
        for block in blocks {
            if self.is_any_in(block) {
                return at + self.first_in(block);
            }
            at += BLOCK;
        }
        let is_one = |byte: &u8| self.bytes.contains(byte) || *byte < self.below || (self.beyond_ascii && !byte.is_ascii());
        tail.iter().position(is_one).map_or(text.len(), |found| at + found)
    }

    /// Whether any of these bytes stands in a text. Where none is expected this
    /// is faster than to look for the first: longer stretches are compared.
    #[must_use]
    #[inline(always)]
    pub fn is_in(self, text: &[u8]) -> bool {
        let (stretches, tail) = text.as_chunks::<{ 4 * BLOCK }>();
        stretches.iter().any(|stretch| self.is_any_in(stretch)) || self.next(tail, 0) < tail.len()
    }

    /// Folds without a way out, one kind after the other: so compilers compare
    /// all bytes of a block at once.
    #[inline(always)]
    fn is_any_in<const LEN: usize>(self, block: &[u8; LEN]) -> bool {
        let mut found = is_any(block, |byte| byte < self.below);
        for listed in self.bytes {
            found |= is_any(block, |byte| byte == listed);
        }
        found | (self.beyond_ascii && is_any(block, |byte| byte >= 0x80))
    }

    /// The place of the first such byte in a block that has one.
    #[inline(always)]
    fn first_in(self, block: &[u8; BLOCK]) -> usize {
        let (words, _) = block.as_chunks::<8>();
        let (mut at, mut marks) = (0, 0);
        for word in words {
            marks = self.marks(u64::from_le_bytes(*word));
            if marks != 0 {
                break;
            }
            at += 8;
        }
        at + (marks.trailing_zeros() / 8) as usize
    }

    /// Sets the highest bit of each byte that is in the set. Above the first one
    /// a borrow may set others, so that only the lowest bit can be trusted.
    #[inline(always)]
    fn marks(self, word: u64) -> u64 {
        let below = |word: u64, limit: u8| word.wrapping_sub(ONES * u64::from(limit)) & !word & HIGHS;
        let listed = self.bytes.iter().fold(0, |marks, &byte| marks | below(word ^ (ONES * u64::from(byte)), 1));
        let beyond = if self.beyond_ascii { word & HIGHS } else { 0 };
        listed | below(word, self.below) | beyond
    }
}

#[inline(always)]
fn is_any(block: &[u8], is_one: impl Fn(u8) -> bool) -> bool {
    block.iter().fold(false, |found, &byte| found | is_one(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_byte_of_the_set_is_found_wherever_it_stands() {
        let sets = [Stops::at([b'"', b'\\']), Stops::at([b'\\', 0x7f]).and_controls(), Stops::at([b'<', 0xff]).and_beyond_ascii()];
        for stops in sets {
            for byte in 0..=u8::MAX {
                for len in [0, 1, 7, 8, 9, 15, 16, 17, 40, 64, 65, 150] {
                    for at in 0..len {
                        // One more behind it: the first must win.
                        let mut text = vec![b' '; len];
                        text[at] = byte;
                        text[len - 1] = b'\\';
                        let slowly = (0..len).find(|from| stops.next(&text[*from..=*from], 0) == 0).unwrap_or(len);
                        assert_eq!(stops.next(&text, 0), slowly, "{byte:#x} at {at} of {len} in {stops:?}");
                        assert!(stops.next(&text, at + 1) > at);
                        assert_eq!(stops.is_in(&text), slowly < len, "{byte:#x} at {at} of {len} in {stops:?}");
                    }
                }
            }
        }
    }
}
