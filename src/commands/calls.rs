//! Calls of tools in words: one line each, and what an edit changes.

use base64::Engine;
use similar::{ChangeTag, TextDiff};

use crate::api::{Arguments, Json, Media, ToolCall};
use crate::json::{self, Kind};
use crate::report::text;

/// Members that say best what a call does, the best first.
const TELLING: [&str; 20] = [
    "command",
    "cmd",
    "file_path",
    "path",
    "filename",
    "notebook_path",
    "absolute_path",
    "dir_path",
    "pattern",
    "query",
    "url",
    "description",
    "prompt",
    "task",
    "message",
    "text",
    "code",
    "content",
    "name",
    "title",
];

/// Members that name a file.
const PATHS: [&str; 6] = ["file_path", "path", "filename", "filePath", "notebook_path", "absolute_path"];

/// Pairs of members that an edit replaces the first of with the second.
const EDITS: [(&str, &str); 5] =
    [("old_string", "new_string"), ("oldText", "newText"), ("old_str", "new_str"), ("old_text", "new_text"), ("old_source", "new_source")];

/// Unchanged lines around a change.
const CONTEXT: usize = 2;

/// Texts of more lines are not compared: all of the old goes, all of the new comes.
const COMPARED: usize = 4_000;

/// One argument: its name, and its value as a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Argument {
    pub name: String,
    pub value: String,
}

/// Returns the arguments of a call, in their order. Arguments that are no
/// object are one without a name.
pub(super) fn arguments(call: &ToolCall) -> Vec<Argument> {
    let Some(given) = &call.arguments else { return Vec::new() };
    let Some(json) = given.json() else {
        let value = match given {
            Arguments::Text(text) => text.as_str().to_owned(),
            Arguments::Json(json) => json.as_str().to_owned(),
        };
        return vec![Argument { name: String::new(), value }];
    };
    let bytes = json.as_str().as_bytes();
    if json::kind_of(bytes) == Kind::Object {
        json::members(bytes).map(|member| Argument { name: member.name().into_owned(), value: text_of(member.value) }).collect()
    } else {
        vec![Argument { name: String::new(), value: text_of(bytes) }]
    }
}

/// A text without its quotes, anything else as its JSON.
fn text_of(value: &[u8]) -> String {
    if json::kind_of(value) == Kind::String { json::unescape(value).into_owned() } else { json::lossy(value).into_owned() }
}

/// Returns what a call does, in one line: the argument that says it best, else
/// all of them.
pub(super) fn summary(arguments: &[Argument]) -> String {
    let telling = TELLING.iter().find_map(|name| arguments.iter().find(|argument| argument.name == *name && !argument.value.is_empty()));
    let words = match telling {
        Some(argument) => argument.value.clone(),
        None => arguments.iter().map(named).collect::<Vec<_>>().join(" "),
    };
    one_line(&words)
}

fn named(argument: &Argument) -> String {
    if argument.name.is_empty() { argument.value.clone() } else { format!("{}={}", argument.name, argument.value) }
}

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

/// What an edit puts in the place of what, in which file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Replacement {
    pub path: Option<String>,
    pub old: String,
    pub new: String,
}

/// Returns what a call replaces, where it is an edit.
pub(super) fn replacements(call: &ToolCall) -> Vec<Replacement> {
    let Some(json) = call.arguments.as_ref().and_then(Arguments::json) else { return Vec::new() };
    let bytes = json.as_str().as_bytes();
    let path = PATHS.iter().find_map(|name| string(bytes, name));
    let one = |object: &[u8]| {
        let path = path.clone();
        EDITS.iter().find_map(|(old, new)| Some(Replacement { old: string(object, old)?, new: string(object, new)?, path: path.clone() }))
    };
    let mut found: Vec<Replacement> = one(bytes).into_iter().collect();
    if json::kind_of(bytes) == Kind::Object {
        let lists = json::members(bytes).filter(|member| member.is("edits") && json::kind_of(member.value) == Kind::Array);
        lists.for_each(|list| found.extend(json::elements(list.value).filter_map(one)));
    }
    found
}

fn string(object: &[u8], name: &str) -> Option<String> {
    if json::kind_of(object) != Kind::Object {
        return None;
    }
    let value = json::members(object).find(|member| member.is(name))?.value;
    (json::kind_of(value) == Kind::String).then(|| json::unescape(value).into_owned())
}

/// A line of a diff.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum DiffLine {
    Same(String),
    Removed(String),
    Added(String),
    /// Unchanged lines that are not shown.
    Gap,
}

/// Returns what changes between two texts, line by line.
pub(super) fn diff(old: &str, new: &str) -> Vec<DiffLine> {
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

    fn argument(name: &str, value: &str) -> Argument {
        Argument { name: name.to_owned(), value: value.to_owned() }
    }

    #[test]
    fn a_call_is_summed_up_by_what_says_most() {
        let say = |arguments: &[(&str, &str)]| summary(&arguments.iter().map(|(name, value)| argument(name, value)).collect::<Vec<_>>());
        assert_eq!(say(&[("timeout", "5"), ("command", "ls\n -la")]), "ls -la");
        assert_eq!(say(&[("a", "1"), ("b", "[2]")]), "a=1 b=[2]");
        assert_eq!(say(&[("", "as it came")]), "as it came");
        assert_eq!(say(&[]), "");
    }

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
