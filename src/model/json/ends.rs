//! Where tokens and values end, in texts that were accepted before: nothing is
//! validated again. A stretch of text is looked at as a whole, one bit for each
//! byte: how it goes on does not depend on what is in it, so that no processor
//! has to guess.

use crate::model::stops::{STRETCH, Stops, stretch_at};

const QUOTES: Stops<1> = Stops::at([b'"']);
const BACKSLASHES: Stops<1> = Stops::at([b'\\']);

/// Where the string token that opens at `start` ends, behind its quote.
#[must_use]
#[inline]
pub fn token_end(text: &[u8], start: usize) -> usize {
    closing_quote(text, start).map_or(text.len(), |quote| quote + 1)
}

/// Where the quote stands that closes the string token that opens at `start`,
/// if any does.
#[inline]
fn closing_quote(text: &[u8], start: usize) -> Option<usize> {
    // Keys and most values end near by, and have no escapes.
    const MARKS: Stops<2> = Stops::at([b'"', b'\\']);
    match MARKS.near(text, start + 1) {
        Some(found) if text[found] == b'"' => Some(found),
        Some(_) | None => far_closing_quote(text, start + 1),
    }
}

/// The same from behind the opening quote on, stretch by stretch.
fn far_closing_quote(text: &[u8], from: usize) -> Option<usize> {
    let mut escapes = Escaped::default();
    each_stretch(text, from, |stretch| {
        // In most stretches of a long text there is none that could close it.
        if !QUOTES.is_in_stretch(stretch) {
            escapes.pass(stretch);
            return None;
        }
        let closing = QUOTES.marks_of(stretch) & !escapes.marks(BACKSLASHES.marks_of(stretch));
        (closing != 0).then(|| closing.trailing_zeros() as usize)
    })
}

/// Where the object or array that opens at `start` ends, behind its closer.
#[must_use]
pub(super) fn container_end(text: &[u8], start: usize) -> Option<usize> {
    const OPENERS: Stops<2> = Stops::at([b'{', b'[']);
    const CLOSERS: Stops<2> = Stops::at([b'}', b']']);
    let mut depth = 0;
    let mut strings = Strings::default();
    each_stretch(text, start, |stretch| {
        let outside = strings.outside(stretch)?;
        let (openers, mut closers) = (OPENERS.marks_of(stretch) & outside, CLOSERS.marks_of(stretch) & outside);
        if openers | closers != 0 {
            let closed = closers.count_ones();
            if closed >= depth {
                // It may end in here: closer by closer.
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

/// Which bytes of one stretch after the other stand in no string.
#[derive(Default)]
pub(super) struct Strings {
    escapes: Escaped,
    /// All bits where the stretch before ended in one.
    in_string: u64,
}

impl Strings {
    /// Those of the next stretch, quotes not among them; nothing where it is
    /// inside of one string, as most are.
    #[inline(always)]
    pub(super) fn outside(&mut self, stretch: &[u8; STRETCH]) -> Option<u64> {
        if self.in_string != 0 && !QUOTES.is_in_stretch(stretch) {
            self.escapes.pass(stretch);
            return None;
        }
        let quotes = QUOTES.marks_of(stretch) & !self.escapes.marks(BACKSLASHES.marks_of(stretch));
        let strings = toggled(quotes) ^ self.in_string;
        self.in_string = if strings >> (STRETCH - 1) == 1 { u64::MAX } else { 0 };
        Some(!(strings | quotes))
    }
}

/// Looks at a text stretch by stretch, the last one filled up with NULs, until
/// something is found in one; gives its place in the text.
#[inline(always)]
pub(super) fn each_stretch(text: &[u8], from: usize, mut find: impl FnMut(&[u8; STRETCH]) -> Option<usize>) -> Option<usize> {
    let mut at = from;
    let mut last;
    // Looked at in one place, or what is looked for would not stay in registers.
    while at < text.len() {
        let stretch = match text[at..].first_chunk() {
            Some(stretch) => stretch,
            None => {
                last = stretch_at(text, at);
                &last
            }
        };
        if let Some(found) = find(stretch) {
            return Some(at + found);
        }
        at += STRETCH;
    }
    None
}

/// Where a value of any kind ends.
#[inline]
pub(super) fn value_end(text: &[u8], start: usize) -> Option<usize> {
    match text.get(start)? {
        b'"' => Some(token_end(text, start)),
        b'{' | b'[' => container_end(text, start),
        _ => scalar_end(text, start),
    }
}

/// All bits from each mark up to the next one, the first of two included and
/// the second not.
#[inline(always)]
fn toggled(marks: u64) -> u64 {
    [1, 2, 4, 8, 16, 32].into_iter().fold(marks, |bits, by| bits ^ bits << by)
}

/// Which bytes stand behind a run of backslashes of which the last escapes
/// them: that is every run of odd length.
#[derive(Default)]
struct Escaped {
    /// Whether the first byte of the next stretch does.
    first: bool,
}

impl Escaped {
    /// Sums find the ends of runs: one added to the first bit of a run carries
    /// to the bit behind its last.
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

    /// Passes a stretch in which nothing matters that could be escaped.
    #[inline(always)]
    fn pass(&mut self, stretch: &[u8; STRETCH]) {
        if stretch[STRETCH - 1] == b'\\' {
            self.marks(BACKSLASHES.marks_of(stretch));
        } else {
            self.first = false;
        }
    }
}

/// Where the number or word that begins at `start` ends.
#[must_use]
pub(super) fn scalar_end(text: &[u8], start: usize) -> Option<usize> {
    const BEHIND: Stops<5> = Stops::at([b',', b']', b'}', b':', b'"']).and_blanks();
    let end = BEHIND.near(text, start).unwrap_or_else(|| BEHIND.next(text, start));
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
            let behind = format!("{text},]}}");
            assert_eq!(container_end(behind.as_bytes(), 0), Some(text.len()), "{text}");
            assert_eq!(container_end(&text.as_bytes()[..text.len() - 1], 0), None, "{text}");
        }
        assert_eq!(scalar_end(b"[-1.5e3]", 1), Some(7));
        assert_eq!(scalar_end(b"[]", 1), None);
        assert_eq!(scalar_end(b"null", 0), Some(4));
    }

    /// Slowly, byte by byte: where the first quote stands that is not escaped, and
    /// where all containers are closed.
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

    /// No text with a backslash elsewhere was ever accepted.
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
    fn whole_words_tell_what_single_bytes_tell() {
        let mut seed = 7_u64;
        let mut random = move |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        for round in 0..60_000 {
            // Dense with what matters, or long stretches of what does not.
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
