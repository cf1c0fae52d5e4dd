//! Transcripts of more than 5 MiB, of which the SDK reads only the end.

use crate::runtimes::javascript::{Value, lines};

const LARGE: usize = 5 << 20;
const BLOCK: usize = 1 << 20;
/// How far into its line the mark may begin.
const NEAR: usize = 256;
/// A line that the end of a block cuts is looked at only where it begins so, however
/// far in the mark is…
const CUT: &[u8] = b"{\"type\":\"system\"";
/// …or where fewer than so many bytes of it are in the block, and it ends in the next.
const FEW: usize = b"{\"type\":\"attribution-snapshot\"".len();

/// The part of a transcript that is read: all of it, or of a large one what
/// follows the last boundary of a compaction that kept nothing, with it.
pub(super) fn read_part(text: &[u8]) -> &[u8] {
    if text.len() <= LARGE {
        return text;
    }
    let finder = memchr::memmem::Finder::new(b"\"compact_boundary\"");
    let is_start = |(start, line): &(usize, &[u8])| {
        // What has no end is not looked at.
        start + line.len() < text.len() && finder.find(line).is_some_and(|at| is_looked_at(*start, line, at)) && is_boundary(line)
    };
    lines(text).filter(is_start).last().map_or(text, |(start, _)| &text[start..])
}

/// Whether the SDK looks at a line with the mark: it reads the file block by block.
fn is_looked_at(start: usize, line: &[u8], mark: usize) -> bool {
    let end = start + line.len();
    let block_end = (start / BLOCK + 1) * BLOCK;
    let is_whole = end < block_end || (block_end - start < FEW && end < block_end + BLOCK);
    if is_whole { mark < NEAR } else { line.starts_with(CUT) }
}

fn is_boundary(line: &[u8]) -> bool {
    let Some(record) = Value::parse(line) else { return false };
    let [kind, subtype, kept] = record.get_all(["type", "subtype", "compactMetadata"]);
    let [messages, segment] = kept.get_all(["preservedMessages", "preservedSegment"]);
    kind.is("system") && subtype.is("compact_boundary") && !messages.is_truthy() && !segment.is_truthy()
}
