//! Transcripts of more than 5 MiB, of which the SDK reads only the end.

use crate::runtimes::javascript::{Value, first_line};

const LARGE: usize = 5 << 20;
const BLOCK: usize = 1 << 20;

/// The part of a transcript that is read: all of it, or of a large one what
/// follows the last boundary of a compaction that kept nothing, with it.
pub(super) fn read_part(text: &[u8]) -> &[u8] {
    if text.len() <= LARGE {
        return text;
    }
    let finder = memchr::memmem::FinderRev::new(b"\"compact_boundary\"");
    finder.rfind_iter(text).find_map(|at| boundary(text, at)).map_or(text, |start| &text[start..])
}

/// Where the line begins that is such a boundary, if the one around here is.
fn boundary(text: &[u8], at: usize) -> Option<usize> {
    /// How far into its line the mark may stand.
    const NEAR: usize = 256;
    let near = at.saturating_sub(NEAR);
    let start = match memchr::memrchr(b'\n', &text[near..at]) {
        Some(end) => near + end + 1,
        None => Some(0).filter(|_| near == 0)?,
    };
    let line = first_line(&text[start..]);
    let is_near = at - start < NEAR;
    // It is looked for in blocks of the file, and not across two.
    if !is_near || start / BLOCK != (start + line.len()) / BLOCK {
        return None;
    }
    let solid = line.iter().position(|byte| *byte > b' ')?;
    let [kind, subtype, kept] = Value::parse(&line[solid..])?.get_all(["type", "subtype", "compactMetadata"]);
    let [messages, segment] = kept.get_all(["preservedMessages", "preservedSegment"]);
    let is_boundary = kind.is("system") && subtype.is("compact_boundary");
    (is_boundary && !messages.is_truthy() && !segment.is_truthy()).then_some(start)
}
