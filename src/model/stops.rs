//! Where the next byte of a small set stands. Texts are dense with escapes, so
//! that most searches end within a few dozen bytes: to set one up as `memchr`
//! does would cost more than the search itself. Here a block of bytes becomes a
//! word with one bit for each byte that is in the set, and who goes from stop to
//! stop takes the bits of that word one after the other.

use wide::u8x16;

/// As many bytes as are compared at once.
const BLOCK: usize = 16;

/// As many bytes as have their bits in one word.
pub const STRETCH: usize = u64::BITS as usize;

/// A set of bytes to stop at.
#[derive(Debug, Clone, Copy)]
pub struct Stops<const N: usize> {
    bytes: [u8; N],
    /// All bytes below this one.
    below: u8,
    beyond_ascii: bool,
}

impl<const N: usize> Stops<N> {
    /// Stops at these bytes.
    #[must_use]
    pub const fn at(bytes: [u8; N]) -> Stops<N> {
        Stops { bytes, below: 0, beyond_ascii: false }
    }

    /// Stops at all bytes below this one too.
    #[must_use]
    pub const fn and_below(self, byte: u8) -> Stops<N> {
        Stops { below: byte, ..self }
    }

    /// Stops at control characters too.
    #[must_use]
    pub const fn and_controls(self) -> Stops<N> {
        self.and_below(0x20)
    }

    /// Stops at blanks too, and at control characters, most of which are some.
    #[must_use]
    pub const fn and_blanks(self) -> Stops<N> {
        self.and_below(0x21)
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
        self.walk(text, from, |_| None)
    }

    /// Goes from stop to stop: `pass` says where to go on behind one, which is
    /// never before it, or that this is the end of the way. Gives the place of the
    /// last stop, or the text's length where the way went so far.
    #[inline(always)]
    pub fn walk(self, text: &[u8], from: usize, mut pass: impl FnMut(usize) -> Option<usize>) -> usize {
        let mut at = from;
        // Keys and most values end near by; only then longer stretches pay.
        let mut is_near = true;
        'stretches: while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let (mut marks, len) = match rest.first_chunk() {
                Some(stretch) if !is_near => (self.marks_of(stretch), STRETCH),
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
                    continue 'stretches;
                }
                marks &= u64::MAX << (next - at);
            }
            at += len;
        }
        text.len()
    }

    /// Whether any of these bytes stands in a text.
    #[must_use]
    #[inline(always)]
    pub fn is_in(self, text: &[u8]) -> bool {
        self.next(text, 0) < text.len()
    }

    /// Where the first of these bytes stands among the next few of a text, where
    /// there are as many: the short way for what ends near by.
    #[must_use]
    #[inline(always)]
    pub fn near(self, text: &[u8], from: usize) -> Option<usize> {
        let marks = self.marks(text.get(from..)?.first_chunk()?);
        (marks != 0).then(|| from + marks.trailing_zeros() as usize)
    }

    /// Whether any of these bytes stands in a stretch. Costs less than its bits.
    #[must_use]
    #[inline(always)]
    pub fn is_in_stretch(self, stretch: &[u8; STRETCH]) -> bool {
        let (blocks, _) = stretch.as_chunks();
        let marked = blocks.iter().fold(u8x16::splat(0), |marked, block| marked | self.marked(block));
        marked.to_bitmask() != 0
    }

    /// The bits of the last few bytes of a text, fewer than a block.
    #[inline(always)]
    fn marks_of_tail(self, text: &[u8], from: usize) -> u64 {
        match text.last_chunk() {
            // Looked at again are those before, which no longer count.
            Some(block) => self.marks(block) >> (BLOCK - (text.len() - from)),
            None => {
                let tail = &text[from..];
                self.marks(&filled_up(tail)) & !(u64::MAX << tail.len())
            }
        }
    }

    /// One bit for each byte of a stretch that is in the set; the first is the
    /// lowest.
    #[inline(always)]
    pub fn marks_of(self, stretch: &[u8; STRETCH]) -> u64 {
        let (blocks, _) = stretch.as_chunks();
        blocks.iter().rev().fold(0, |marks, block| marks << BLOCK | self.marks(block))
    }

    #[inline(always)]
    fn marks(self, block: &[u8; BLOCK]) -> u64 {
        u64::from(self.marked(block).to_bitmask())
    }

    /// The bytes of a block that are in the set: the highest bit of each counts,
    /// which is set in all beyond ASCII.
    #[inline(always)]
    fn marked(self, block: &[u8; BLOCK]) -> u8x16 {
        let block = u8x16::new(*block);
        let mut marked = if self.beyond_ascii { block } else { u8x16::splat(0) };
        for listed in self.bytes {
            marked |= block.simd_eq(u8x16::splat(listed));
        }
        if self.below > 0 {
            marked |= block.simd_lt(u8x16::splat(self.below));
        }
        marked
    }
}

/// Fewer bytes than a block, and NULs behind them. Nearly all keys are as short:
/// two words that overlap are put together faster than bytes are copied.
#[inline(always)]
fn filled_up(tail: &[u8]) -> [u8; BLOCK] {
    let mut block = [0; BLOCK];
    if let (Some(first), Some(last)) = (tail.first_chunk::<8>(), tail.last_chunk()) {
        let behind = u64::from_le_bytes(*last).checked_shr(8 * (BLOCK - tail.len()) as u32).unwrap_or(0);
        block[..8].copy_from_slice(first);
        block[8..].copy_from_slice(&behind.to_le_bytes());
    } else if let (Some(first), Some(last)) = (tail.first_chunk::<4>(), tail.last_chunk()) {
        let behind = u32::from_le_bytes(*last).checked_shr(8 * (8 - tail.len()) as u32).unwrap_or(0);
        block[..4].copy_from_slice(first);
        block[4..8].copy_from_slice(&behind.to_le_bytes());
    } else {
        tail.iter().zip(&mut block).for_each(|(byte, place)| *place = *byte);
    }
    block
}

/// The bytes that stand here; NULs behind the end of the text.
#[inline(always)]
pub fn stretch_at(text: &[u8], at: usize) -> [u8; STRETCH] {
    let rest = text.get(at..).unwrap_or_default();
    rest.first_chunk().copied().unwrap_or_else(|| {
        let mut stretch = [0; STRETCH];
        stretch[..rest.len()].copy_from_slice(rest);
        stretch
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_bytes_are_filled_up_with_nothing() {
        let bytes: Vec<u8> = (1..BLOCK as u8).collect();
        for len in 0..BLOCK {
            let block = filled_up(&bytes[..len]);
            assert_eq!((&block[..len], block[len..].iter().any(|byte| *byte != 0)), (&bytes[..len], false), "{len}");
        }
    }

    #[test]
    fn the_first_byte_of_the_set_is_found_wherever_it_stands() {
        let sets = [Stops::at([b'"', b'\\']), Stops::at([b'\\', 0x7f]).and_controls(), Stops::at([b'<', 0xff]).and_beyond_ascii()];
        for stops in sets {
            for byte in 0..=u8::MAX {
                for len in [0, 1, 7, 8, 9, 15, 16, 17, 40, 64, 65, 79, 80, 81, 150] {
                    for at in 0..len {
                        // One more behind it: the first must win.
                        let mut text = vec![b' '; len];
                        text[at] = byte;
                        text[len - 1] = b'\\';
                        let slowly = (0..len).find(|from| stops.next(&text[*from..=*from], 0) == 0).unwrap_or(len);
                        assert_eq!(stops.next(&text, 0), slowly, "{byte:#x} at {at} of {len} in {stops:?}");
                        assert!(stops.next(&text, at + 1) > at);
                        assert_eq!(stops.is_in(&text), slowly < len, "{byte:#x} at {at} of {len} in {stops:?}");
                        assert_eq!(
                            stops.near(&text, 0),
                            Some(slowly).filter(|at| *at < BLOCK && len >= BLOCK),
                            "{byte:#x} at {at} of {len}"
                        );
                        if let Some(stretch) = text.first_chunk() {
                            assert_eq!(stops.is_in_stretch(stretch), slowly < STRETCH, "{byte:#x} at {at} of {len} in {stops:?}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn a_walk_takes_every_stop_that_is_not_passed_over() {
        let stops = Stops::at([b'x']);
        for len in 0..200 {
            for step in [1, 2, 3, 17, 70] {
                let text = vec![b'x'; len];
                let mut seen = Vec::new();
                let end = stops.walk(&text, len.min(2), |at| {
                    seen.push(at);
                    Some(at + step)
                });
                assert_eq!(end, len);
                assert_eq!(seen, (len.min(2)..len).step_by(step).collect::<Vec<_>>(), "{len} by {step}");
            }
        }
        assert_eq!(stops.walk(b"x..x", 0, |at| (at == 0).then_some(1)), 3);
        // Behind the end stands nothing, not even a control.
        let controls = Stops::at([b'"']).and_controls();
        assert_eq!(
            (0..80).map(|len| controls.walk(&vec![b' '; len], 0, |at| panic!("a stop at {at} of {len}"))).sum::<usize>(),
            80 * 79 / 2
        );
    }
}
