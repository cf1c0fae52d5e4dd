//! `bufio.Scanner` with its default split function.

/// The error of a scanner whose buffer is too small for a line.
pub const TOKEN_TOO_LONG: &str = "bufio.Scanner: token too long";

/// A line does not fit into the scanner's buffer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenTooLong;

/// The lines of a text as `bufio.ScanLines` splits it, without their `\n` and
/// one `\r` before it.
#[derive(Debug, Clone)]
pub struct ScanLines<'a> {
    rest: &'a [u8],
    buffer: usize,
}

impl<'a> ScanLines<'a> {
    /// Scans a text with a buffer that may grow to so many bytes. A line as long
    /// as that, its `\r` counted and its `\n` not, no longer fits.
    #[must_use]
    pub fn new(text: &'a [u8], buffer: usize) -> ScanLines<'a> {
        ScanLines { rest: text, buffer }
    }
}

impl<'a> Iterator for ScanLines<'a> {
    type Item = Result<&'a [u8], TokenTooLong>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let len = memchr::memchr(b'\n', self.rest).unwrap_or(self.rest.len());
        if len >= self.buffer {
            self.rest = b"";
            return Some(Err(TokenTooLong));
        }
        let (line, after) = self.rest.split_at(len);
        self.rest = after.get(1..).unwrap_or_default();
        Some(Ok(line.strip_suffix(b"\r").unwrap_or(line)))
    }
}
