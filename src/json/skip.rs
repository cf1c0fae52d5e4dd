//! The ends of tokens and values in text that was validated before: nothing is
//! checked again, and a text that is not valid ends early. A chunk of text is
//! looked at as a whole, one bit for each byte, so that the work does not depend
//! on the bytes and no processor has to predict a branch.

use super::byte_set::{ByteSet, CHUNK, chunk_at};

const QUOTES: ByteSet<1> = ByteSet::of([b'"']);
const BACKSLASHES: ByteSet<1> = ByteSet::of([b'\\']);

/// Returns the end of the string token that opens at `start`, after its closing
/// quote; the text's length where nothing closes it.
#[must_use]
#[inline]
pub fn token_end(text: &[u8], start: usize) -> usize {
    closing_quote(text, start).map_or(text.len(), |quote| quote + 1)
}

/// Returns the offset of the quote that closes the string token that opens at
/// `start`, if any does.
#[inline]
fn closing_quote(text: &[u8], start: usize) -> Option<usize> {
    // Keys and most values end near by, and have no escapes.
    const MARKS: ByteSet<2> = ByteSet::of([b'"', b'\\']);
    match MARKS.near(text, start + 1) {
        Some(found) if text[found] == b'"' => Some(found),
        Some(_) | None => far_closing_quote(text, start + 1),
    }
}

/// Finds the closing quote of a long string chunk by chunk; `from` is the first
/// byte after the opening quote.
fn far_closing_quote(text: &[u8], from: usize) -> Option<usize> {
    let mut escapes = Escaped::default();
    each_chunk(text, from, |chunk| {
        // Most chunks of a long text have no quote that could close it.
        if !QUOTES.is_in_chunk(chunk) {
            escapes.skip(chunk);
            return None;
        }
        let closing = QUOTES.marks_of(chunk) & !escapes.marks(BACKSLASHES.marks_of(chunk));
        (closing != 0).then(|| closing.trailing_zeros() as usize)
    })
}

/// Returns the end of the object or array that opens at `start`, after its
/// closing bracket.
#[must_use]
pub(super) fn container_end(text: &[u8], start: usize) -> Option<usize> {
    const OPENERS: ByteSet<2> = ByteSet::of([b'{', b'[']);
    const CLOSERS: ByteSet<2> = ByteSet::of([b'}', b']']);
    let mut depth = 0;
    let mut strings = Strings::default();
    each_chunk(text, start, |chunk| {
        let outside = strings.outside(chunk)?;
        let (openers, mut closers) = (OPENERS.marks_of(chunk) & outside, CLOSERS.marks_of(chunk) & outside);
        if openers | closers != 0 {
            let closed = closers.count_ones();
            if closed >= depth {
                // It may end in this chunk: look at each closing bracket.
                for passed in 0..closed {
                    let closer = closers.trailing_zeros();
                    if depth + (openers & ((1 << closer) - 1)).count_ones() <= passed + 1 {
                        return Some(closer as usize + 1);
                    }
                    closers &= closers - 1;
                }
            }
            depth = depth + openers.count_ones() - closed;
        }
        None
    })
}

/// Tells which bytes of one chunk after the other are outside of strings.
#[derive(Default)]
pub(super) struct Strings {
    escapes: Escaped,
    /// All bits, where the previous chunk ended inside of a string.
    in_string: u64,
}

impl Strings {
    /// Returns the bytes of the next chunk that are outside of strings, without the
    /// quotes; nothing where the whole chunk is inside of one string, as most are.
    #[inline(always)]
    pub(super) fn outside(&mut self, chunk: &[u8; CHUNK]) -> Option<u64> {
        if self.in_string != 0 && !QUOTES.is_in_chunk(chunk) {
            self.escapes.skip(chunk);
            return None;
        }
        let quotes = QUOTES.marks_of(chunk) & !self.escapes.marks(BACKSLASHES.marks_of(chunk));
        let strings = toggled(quotes) ^ self.in_string;
        self.in_string = if strings >> (CHUNK - 1) == 1 { u64::MAX } else { 0 };
        Some(!(strings | quotes))
    }
}

/// Hands a text to `find` chunk by chunk, the last one padded with NULs, until
/// `find` returns an offset in its chunk; returns that offset in the text.
#[inline(always)]
pub(super) fn each_chunk(text: &[u8], from: usize, mut find: impl FnMut(&[u8; CHUNK]) -> Option<usize>) -> Option<usize> {
    let mut at = from;
    let mut last;
    // `find` is called in one place only, or its state would not stay in registers.
    while at < text.len() {
        let chunk = match text[at..].first_chunk() {
            Some(chunk) => chunk,
            None => {
                last = chunk_at(text, at);
                &last
            }
        };
        if let Some(found) = find(chunk) {
            return Some(at + found);
        }
        at += CHUNK;
    }
    None
}

/// Returns the end of the value of any kind that starts at `start`.
#[inline]
pub(super) fn value_end(text: &[u8], start: usize) -> Option<usize> {
    match text.get(start)? {
        b'"' => Some(token_end(text, start)),
        b'{' | b'[' => container_end(text, start),
        _ => scalar_end(text, start),
    }
}

/// Sets all bits from each mark up to the next one, the first of two included and
/// the second not.
#[inline(always)]
fn toggled(marks: u64) -> u64 {
    [1, 2, 4, 8, 16, 32].into_iter().fold(marks, |bits, by| bits ^ bits << by)
}

/// Tells which bytes are escaped: those after a run of backslashes of odd length.
#[derive(Default)]
struct Escaped {
    /// Whether the first byte of the next chunk is escaped.
    first: bool,
}

impl Escaped {
    /// Returns the escaped bytes of the next chunk. Sums find the ends of runs: one
    /// added to the first bit of a run carries to the bit after its last.
    #[inline(always)]
    fn marks(&mut self, backslashes: u64) -> u64 {
        const EVEN: u64 = u64::MAX / 3;
        let first = u64::from(self.first);
        let runs = backslashes & !first;
        let starts = runs & !(runs << 1);
        let from_even = runs.wrapping_add(starts & EVEN) & !runs;
        let (sum, goes_on) = runs.overflowing_add(starts & !EVEN);
        let from_odd = sum & !runs;
        self.first = goes_on;
        from_even & !EVEN | from_odd & EVEN | first
    }

    /// Skips a chunk in which nothing matters that could be escaped.
    #[inline(always)]
    fn skip(&mut self, chunk: &[u8; CHUNK]) {
        if chunk[CHUNK - 1] == b'\\' {
            self.marks(BACKSLASHES.marks_of(chunk));
        } else {
            self.first = false;
        }
    }
}

/// Returns the end of the number or word that starts at `start`.
#[must_use]
pub(super) fn scalar_end(text: &[u8], start: usize) -> Option<usize> {
    const AFTER: ByteSet<5> = ByteSet::of([b',', b']', b'}', b':', b'"']).and_white_space();
    let end = AFTER.near(text, start).unwrap_or_else(|| AFTER.next(text, start));
    (end > start).then_some(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_ends_at_the_first_quote_that_is_not_escaped() {
        for len in 0..150 {
            for backslashes in 0..6 {
                let text = format!("\"{}{}\" \"", "x".repeat(len), "\\".repeat(backslashes));
                let escaped = backslashes % 2 == 1;
                assert_eq!(token_end(text.as_bytes(), 0), if escaped { text.len() } else { text.len() - 2 }, "{text}");
            }
        }
    }

    #[test]
    fn a_container_ends_where_all_in_it_are_closed() {
        for text in [r#"{}"#, r#"[[],{"a":[1,{"b":"]}\\"}]},"\"]"]"#, r#"{"}\"":{"[":"{"}}"#] {
            let followed = format!("{text},]}}");
            assert_eq!(container_end(followed.as_bytes(), 0), Some(text.len()), "{text}");
            assert_eq!(container_end(&text.as_bytes()[..text.len() - 1], 0), None, "{text}");
        }
        assert_eq!(scalar_end(b"[-1.5e3]", 1), Some(7));
        assert_eq!(scalar_end(b"[]", 1), None);
        assert_eq!(scalar_end(b"null", 0), Some(4));
    }

    /// Finds, byte by byte, the first quote that is not escaped and the place where
    /// all containers are closed.
    fn slowly(text: &[u8]) -> (Option<usize>, Option<usize>) {
        let (mut depth, mut in_string, mut quote, mut end, mut at) = (0, false, None, None, 0);
        while let Some(byte) = text.get(at) {
            match byte {
                b'\\' => at += 1,
                b'"' => {
                    in_string = !in_string;
                    quote = quote.or(Some(at).filter(|at| *at > 0));
                }
                b'{' | b'[' if !in_string => depth += 1,
                b'}' | b']' if !in_string => {
                    depth -= 1;
                    end = end.or(Some(at + 1).filter(|_| depth == 0));
                }
                _ => {}
            }
            at += 1;
        }
        (quote, end)
    }

    /// Replaces backslashes outside of strings, which no valid text has.
    fn only_escape_in_strings(text: &mut [u8]) {
        let (mut in_string, mut at) = (false, 0);
        while let Some(byte) = text.get_mut(at) {
            match byte {
                b'"' => in_string = !in_string,
                b'\\' if in_string => at += 1,
                b'\\' => *byte = b'x',
                _ => {}
            }
            at += 1;
        }
    }

    #[test]
    fn chunks_tell_what_single_bytes_tell() {
        let mut seed = 7_u64;
        let mut random = move |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        for round in 0..60_000 {
            // Dense with what matters, or mostly what does not.
            let letters: &[u8] = if round % 2 == 0 { b"\"\\\\{}[]x" } else { b"\"\\{}[]xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx" };
            let len = random(300);
            let mut text: Vec<u8> = std::iter::repeat_with(|| letters[random(letters.len())]).take(len).collect();
            text.insert(0, b'"');
            assert_eq!(closing_quote(&text, 0), slowly(&text).0, "{}", text.escape_ascii());
            text[0] = b'[';
            only_escape_in_strings(&mut text);
            let (_, end) = slowly(&text);
            assert_eq!(container_end(&text, 0), end, "{}", text.escape_ascii());
        }
    }
}
