//! A quick look at a line: most cannot raise whatever they say, and a load has
//! to know that of every line before it shows the first message.

use memchr::memmem::Finder;

/// Tells lines that raise nothing from those that have to be read.
pub struct Skim {
    too_deep: usize,
    /// The only year with a day that has no next one.
    last_year: Finder<'static>,
    hashes: Finder<'static>,
    /// Either could be written in escapes.
    escape: Finder<'static>,
}

impl Skim {
    /// Returns a look that minds this depth.
    #[must_use]
    pub fn new(too_deep: usize) -> Skim {
        Skim { too_deep, last_year: Finder::new("9999"), hashes: Finder::new("file_hashes"), escape: Finder::new("\\u00") }
    }

    /// Tells whether the line must be read to know that it raises nothing.
    #[must_use]
    pub fn may_raise(&self, line: &[u8]) -> bool {
        (line.len() >= self.too_deep && openers(line) >= self.too_deep)
            || self.last_year.find(line).is_some()
            || self.hashes.find(line).is_some()
            || self.escape.find_iter(line).any(|at| matches!(line.get(at + 4), Some(b'3' | b'5'..=b'7')))
    }
}

/// Returns how many containers could be opened here. Short blocks, so that the sum of
/// one fits into a byte and many bytes are counted at a time.
fn openers(line: &[u8]) -> usize {
    let in_block = |block: &[u8]| block.iter().fold(0_u8, |sum, &b| sum + u8::from(b | 0x20 == b'{'));
    line.chunks(255).map(|block| usize::from(in_block(block))).sum()
}
