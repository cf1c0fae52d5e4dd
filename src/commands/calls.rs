//! Calls of tools in words: one line each, and what an edit changes.

use base64::Engine;
use similar::{ChangeTag, TextDiff};

use crate::api::{Edit, Json, Media, PatchLine, patch_lines};
use crate::json;
use crate::report::text;

/// Unchanged lines around a change.
const CONTEXT: usize = 2;

/// Texts of more lines are not compared: all of the old goes, all of the new comes.
const COMPARED: usize = 4_000;

/// So much of a text can a line show.
const LINE: usize = 500;

/// The beginning of a text with every line end as a space.
pub(super) fn one_line(text: &str) -> String {
    let beginning: String = text.chars().take(LINE).collect();
    beginning.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns what a compaction does, by the payload of its event.
pub(super) fn compacted(raw: &Json) -> String {
    let payload = raw.as_str().as_bytes();
    let number = |name: &str| {
        let value = json::members(payload).find(|member| member.is(name))?.value;
        std::str::from_utf8(value).ok()?.parse::<u64>().ok()
    };
    let kept = number("first_kept").map(|kept| format!("; messages from #{kept} on are kept")).unwrap_or_default();
    let tokens = number("tokens_before").map(|tokens| format!("; there were {} tokens", text::thousands(tokens))).unwrap_or_default();
    format!("━━ for the model, this takes the place of what is above{kept}{tokens} ━━")
}

/// A line of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DiffLine {
    Same(String),
    Removed(String),
    Added(String),
    /// Which file or place the next lines are of.
    Heading(String),
    /// Unchanged lines that are not shown.
    Gap,
}

/// Returns what an edit changes, line by line.
pub(super) fn changed(edit: &Edit) -> Vec<DiffLine> {
    match edit {
        Edit::Replacement { old, new } => diff(old, new),
        Edit::Patch(patch) => patch_lines(patch)
            .map(|line| match line {
                PatchLine::Same(line) => DiffLine::Same(line.to_owned()),
                PatchLine::Removed(line) => DiffLine::Removed(line.to_owned()),
                PatchLine::Added(line) => DiffLine::Added(line.to_owned()),
                PatchLine::Heading(line) => DiffLine::Heading(line.to_owned()),
            })
            .collect(),
    }
}

/// Returns what changes between two texts, line by line.
fn diff(old: &str, new: &str) -> Vec<DiffLine> {
    let removed = |text: &str| text.lines().map(|line| DiffLine::Removed(line.to_owned())).collect::<Vec<_>>();
    let added = |text: &str| text.lines().map(|line| DiffLine::Added(line.to_owned())).collect::<Vec<_>>();
    if old.lines().count().max(new.lines().count()) > COMPARED {
        return [removed(old), added(new)].concat();
    }
    let diff = TextDiff::from_lines(old, new);
    let mut lines = Vec::new();
    for (n, group) in diff.grouped_ops(CONTEXT).iter().enumerate() {
        if n > 0 {
            lines.push(DiffLine::Gap);
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let line = change.value().trim_end_matches(['\n', '\r']).to_owned();
            lines.push(match change.tag() {
                ChangeTag::Equal => DiffLine::Same(line),
                ChangeTag::Delete => DiffLine::Removed(line),
                ChangeTag::Insert => DiffLine::Added(line),
            });
        }
    }
    lines
}

/// Returns what a picture or file is, in one line: its type, its name, and its
/// size where that is known.
pub(super) fn media(kind: &str, media: &Media, size_in_log: Option<u64>) -> String {
    let has_bytes = |uri: &&String| uri.starts_with("data:");
    let encoded = media.data.as_deref().or_else(|| media.uri.as_ref().filter(has_bytes)?.split_once(',').map(|(_, data)| data));
    let bytes = encoded.and_then(|data| base64::engine::general_purpose::STANDARD.decode(data).ok());
    let size = bytes.as_ref().map(|bytes| bytes.len() as u64).or(size_in_log);
    let pixels = bytes.as_deref().and_then(pixels).map(|(width, height)| format!("{width} × {height}"));
    let name = media.name.as_ref().or(media.path.as_ref()).or_else(|| media.uri.as_ref().filter(|uri| !has_bytes(uri)));
    let words = [media.media_type.clone(), name.cloned(), pixels, size.map(text::size)];
    let words: Vec<String> = words.into_iter().flatten().collect();
    one_line(&if words.is_empty() { format!("[{kind}]") } else { format!("[{kind}: {}]", words.join(", ")) })
}

/// Width and height of a PNG or GIF picture, which begin with them.
fn pixels(bytes: &[u8]) -> Option<(u32, u32)> {
    let at = |range: std::ops::Range<usize>| bytes.get(range);
    if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        let number = |range| at(range).and_then(|digits| digits.try_into().ok()).map(u32::from_be_bytes);
        return Some((number(16..20)?, number(20..24)?));
    }
    if bytes.starts_with(b"GIF8") {
        let number = |range| at(range).and_then(|digits| digits.try_into().ok()).map(u16::from_le_bytes).map(u32::from);
        return Some((number(6..8)?, number(8..10)?));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_shows_changes_with_lines_around_them() {
        let old: String = (0..9).map(|n| format!("line {n}\n")).collect();
        let new = old.replace("line 1\n", "").replace("line 8", "last");
        let shown: Vec<String> = diff(&old, &new)
            .into_iter()
            .map(|line| match line {
                DiffLine::Same(line) => format!(" {line}"),
                DiffLine::Removed(line) => format!("-{line}"),
                DiffLine::Added(line) => format!("+{line}"),
                DiffLine::Heading(line) => line,
                DiffLine::Gap => "…".to_owned(),
            })
            .collect();
        assert_eq!(shown, [" line 0", "-line 1", " line 2", " line 3", "…", " line 6", " line 7", "-line 8", "+last"]);
        assert_eq!(diff("same", "same"), []);
    }

    #[test]
    fn pictures_have_their_size() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\x40\0\0\0\xf0";
        let data = base64::engine::general_purpose::STANDARD.encode(png);
        let inline = Media { media_type: Some("image/png".to_owned()), data: Some(data.clone()), ..Media::default() };
        assert_eq!(media("image", &inline, None), "[image: image/png, 320 × 240, 24 B]");
        let by_address = Media { uri: Some(format!("data:image/png;base64,{data}")), ..Media::default() };
        assert_eq!(media("image", &by_address, None), "[image: 320 × 240, 24 B]");
        let file = Media { path: Some("a/b.txt".to_owned()), ..Media::default() };
        assert_eq!(media("file", &file, Some(1_200)), "[file: a/b.txt, 1.2 KB]");
        assert_eq!(media("file", &Media::default(), None), "[file]");
    }
}
