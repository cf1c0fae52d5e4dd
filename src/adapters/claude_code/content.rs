//! The content of a message as parts, and back.

use crate::adapters::kit::mapping::Target::{Constant, Ext, To as Field, Translated};
use crate::adapters::kit::mapping::ValueKind::{Any, Flag, Text};
use crate::adapters::kit::mapping::{Content, Leftovers, Table, To};
use crate::json::{self, Escapes, Kind, Member};

/// Content was one text and not a list of blocks.
const ONE_TEXT: &str = "$text";
/// Content was a list without blocks.
const EMPTY_LIST: &str = "$list";

/// A result's content was one text and not a list of blocks.
const TEXT_FORM: &str = "\"text\"";
/// A result had no content.
const ABSENT_FORM: &str = "\"absent\"";

const TEXT: Table = Table(&[("type", Constant("\"text\"")), ("text", Field("text", Text)), ("citations", Ext)]);
const THINKING: Table =
    Table(&[("type", Constant("\"thinking\"")), ("thinking", Field("text", Text)), ("signature", Field("signature", Text))]);
const TOOL_USE: Table = Table(&[
    ("type", Constant("\"tool_use\"")),
    ("id", Field("id", Text)),
    ("name", Field("name", Text)),
    ("input", Field("arguments", Any)),
    ("caller", Ext),
]);
const TOOL_RESULT: Table = Table(&[
    ("tool_use_id", Field("call_id", Text)),
    ("type", Constant("\"tool_result\"")),
    ("content", Translated("content")),
    ("is_error", Field("is_error", Flag)),
]);
/// An image, with its source opened.
const IMAGE: Table = Table(&[("media_type", Field("media_type", Text)), ("data", Field("data", Text))]);

/// How an image block begins whose source stands in the block.
const IMAGE_FRONT: &[u8] = b"{\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":";

/// Blocks of the Messages API.
pub(super) struct Blocks;

impl Content for Blocks {
    fn encode(&self, values: &[(&'static str, &[u8])], writer: Escapes, out: &mut Vec<u8>) -> Leftovers {
        let mut left = Leftovers::default();
        out.push(b'[');
        match values.last().map(|(_, value)| *value) {
            None => {}
            Some(list) if json::kind_of(list) == Kind::Array => {
                let start = out.len();
                push_parts(list, Holder::Message, writer, out);
                if out.len() == start {
                    left.marks.push(EMPTY_LIST);
                }
            }
            Some(text) if json::kind_of(text) == Kind::String => {
                push_text(text, writer, out);
                left.marks.push(ONE_TEXT);
            }
            Some(_) => left.values.push("content"),
        }
        out.push(b']');
        left
    }

    fn decode(&self, _: &str, parts: &[u8], marked: &dyn Fn(&str) -> bool, to: To<'_>) {
        let To { style, depth, out } = to;
        if marked(ONE_TEXT) {
            return push_one_text(parts, To { style, depth, out });
        }
        if json::elements(parts).next().is_none() && !marked(EMPTY_LIST) {
            return;
        }
        push_blocks(parts, Holder::Message, To { style, depth, out });
    }
}

fn push_text(text: &[u8], writer: Escapes, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"type\":\"text\",\"text\":");
    json::push_carried_string(text, writer, out);
    out.push(b'}');
}

/// The texts of a list of parts as one. An edited log may have several.
fn push_one_text(parts: &[u8], to: To<'_>) {
    let texts: Vec<&[u8]> =
        json::elements(parts).filter_map(|part| json::members(part).find(|member| member.is("text"))).map(|text| text.value).collect();
    match texts.as_slice() {
        [only] => to.style.push_value_at(only, to.depth, to.out),
        several => {
            let joined: String = several.iter().map(|text| json::unescape(text)).collect();
            let mut token = Vec::new();
            json::push_string(&joined, &mut token);
            to.style.push_string(&token, to.out);
        }
    }
}

fn first<'a>(members: &[Member<'a>], name: &str) -> Option<&'a [u8]> {
    members.iter().find(|member| member.is(name)).map(|member| member.value)
}

/// Whose content a block is of.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holder {
    Message,
    /// The result of a tool, which holds no further results.
    Result,
}

/// Writes one block as a part; a block that no table fits is carried as it is.
fn push_part(block: &[u8], members: &[Member<'_>], holder: Holder, writer: Escapes, out: &mut Vec<u8>) {
    let start = out.len();
    let has_text = |key: &str| first(members, key).is_some_and(|text| json::kind_of(text) == Kind::String);
    let is_part = json::kind_of(block) == Kind::Object
        && match first(members, "type") {
            Some(b"\"text\"") if has_text("text") => TEXT.push_object(members, &[("type", "\"text\"")], writer, out),
            Some(b"\"thinking\"") if has_text("thinking") => THINKING.push_object(members, &[("type", "\"thinking\"")], writer, out),
            Some(b"\"tool_use\"") => TOOL_USE.push_object(members, &[("type", "\"tool_call\"")], writer, out),
            Some(b"\"tool_result\"") if holder == Holder::Message => push_result(members, writer, out),
            Some(b"\"image\"") => push_image(block, members, writer, out),
            _ => false,
        };
    if !is_part {
        out.truncate(start);
        out.extend_from_slice(b"{\"type\":\"other\",\"value\":");
        json::push_carried_value(block, writer, out);
        out.push(b'}');
    }
}

/// Writes a list of blocks as parts, without the brackets.
fn push_parts(list: &[u8], holder: Holder, writer: Escapes, out: &mut Vec<u8>) {
    for (n, (block, members)) in json::opened_elements(list).enumerate() {
        if n > 0 {
            out.push(b',');
        }
        push_part(block, &members, holder, writer, out);
    }
}

/// Writes a result, whose content is a list of parts in the log whatever it was.
fn push_result(members: &[Member<'_>], writer: Escapes, out: &mut Vec<u8>) -> bool {
    const TYPE: (&str, &str) = ("type", "\"tool_result\"");
    let mut parts = b"[".to_vec();
    let form = match first(members, "content") {
        None => return TOOL_RESULT.push_object(members, &[TYPE, ("form", ABSENT_FORM), ("content", "[]")], writer, out),
        Some(text) if json::kind_of(text) == Kind::String => {
            push_text(text, writer, &mut parts);
            Some(("form", TEXT_FORM))
        }
        Some(list) if json::kind_of(list) == Kind::Array => {
            push_parts(list, Holder::Result, writer, &mut parts);
            None
        }
        Some(_) => return false,
    };
    parts.push(b']');
    let front: Vec<(&'static str, &str)> = std::iter::once(TYPE).chain(form).collect();
    TOOL_RESULT.push_object(&with_content(members, &parts), &front, writer, out)
}

/// These members, with another content.
fn with_content<'a>(members: &[Member<'a>], content: &'a [u8]) -> Vec<Member<'a>> {
    members.iter().map(|member| if member.is("content") { Member { value: content, ..*member } } else { *member }).collect()
}

/// An image whose bytes stand in the block, as the program writes it.
fn push_image(block: &[u8], members: &[Member<'_>], writer: Escapes, out: &mut Vec<u8>) -> bool {
    let source: Vec<Member<'_>> = match first(members, "source") {
        Some(source) if json::kind_of(source) == Kind::Object => json::all_members(source),
        _ => return false,
    };
    let is_plain = members.len() == 2 && source.len() == 3 && block.starts_with(IMAGE_FRONT) && source[2].is("data");
    is_plain && IMAGE.push_object(&source[1..], &[("type", "\"image\"")], writer, out)
}

/// Writes one part as the block that it was.
fn push_block(part: &[Member<'_>], holder: Holder, to: To<'_>) {
    let To { style, depth, out } = to;
    let to = To { style, depth, out };
    match first(part, "type") {
        Some(b"\"text\"") => TEXT.render_opened_object(part, to),
        Some(b"\"thinking\"") => THINKING.render_opened_object(part, to),
        Some(b"\"tool_call\"") => TOOL_USE.render_opened_object(part, to),
        Some(b"\"tool_result\"") if holder == Holder::Message => push_result_block(part, to),
        Some(b"\"image\"") => {
            to.out.extend_from_slice(b"{\"type\":\"image\",\"source\":{\"type\":\"base64\",");
            let mut inner = Vec::new();
            IMAGE.render_opened_object(part, To { style, depth, out: &mut inner });
            to.out.extend_from_slice(inner.strip_prefix(b"{").unwrap_or(&inner));
            to.out.push(b'}');
        }
        _ => style.push_value_at(first(part, "value").unwrap_or(b"null"), depth, to.out),
    }
}

/// Writes a list of parts as the blocks that they were.
fn push_blocks(parts: &[u8], holder: Holder, to: To<'_>) {
    let To { style, depth, out } = to;
    out.push(b'[');
    for (n, (_, part)) in json::opened_elements(parts).enumerate() {
        if n > 0 {
            style.push_comma(out);
        }
        push_block(&part, holder, To { style, depth, out });
    }
    out.push(b']');
}

fn push_result_block(part: &[Member<'_>], to: To<'_>) {
    let To { style, depth, out } = to;
    let content = first(part, "content").unwrap_or(b"[]");
    let mut rendered = Vec::new();
    let inner = To { style, depth: depth + 1, out: &mut rendered };
    match first(part, "form") {
        Some(form) if form == ABSENT_FORM.as_bytes() => {
            let part: Vec<Member<'_>> = part.iter().filter(|member| !member.is("content")).copied().collect();
            return TOOL_RESULT.render_opened_object(&part, To { style, depth, out });
        }
        Some(form) if form == TEXT_FORM.as_bytes() => push_one_text(content, inner),
        _ => push_blocks(content, Holder::Result, inner),
    }
    TOOL_RESULT.render_opened_object(&with_content(part, &rendered), To { style, depth, out });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Separators, Style};

    /// One content as parts with their marks, and as content again.
    fn there_and_back(content: &str) -> (String, Vec<&'static str>, String) {
        let (mut parts, mut back) = (Vec::new(), Vec::new());
        let left = Blocks.encode(&[("content", content.as_bytes())], Escapes::Utf8, &mut parts);
        let style = Style { separators: Separators::Compact, escapes: Escapes::Utf8 };
        Blocks.decode("content", &parts, &|mark| left.marks.contains(&mark), To { style, depth: 0, out: &mut back });
        (String::from_utf8(parts).unwrap(), left.marks, String::from_utf8(back).unwrap())
    }

    #[test]
    fn the_form_of_a_results_content_is_kept() {
        let results = [
            // Nothing at all, an empty list, an empty text and a text are four things.
            (r#"[{"tool_use_id":"t","type":"tool_result"}]"#, r#"[{"type":"tool_result","form":"absent","content":[],"call_id":"t"}]"#),
            (r#"[{"tool_use_id":"t","type":"tool_result","content":[]}]"#, r#"[{"type":"tool_result","call_id":"t","content":[]}]"#),
            (
                r#"[{"tool_use_id":"t","type":"tool_result","content":"","is_error":true}]"#,
                r#"[{"type":"tool_result","form":"text","call_id":"t","content":[{"type":"text","text":""}],"is_error":true}]"#,
            ),
            (
                r#"[{"tool_use_id":"t","type":"tool_result","content":[{"type":"text","text":"a"}]}]"#,
                r#"[{"type":"tool_result","call_id":"t","content":[{"type":"text","text":"a"}]}]"#,
            ),
            // In another order of keys.
            (
                r#"[{"type":"tool_result","content":"a","tool_use_id":"t"}]"#,
                r#"[{"type":"tool_result","form":"text","call_id":"t","content":[{"type":"text","text":"a"}],"order":["type","content","tool_use_id"]}]"#,
            ),
            // A value that is neither makes the block one that is carried whole.
            (
                r#"[{"tool_use_id":"t","type":"tool_result","content":null}]"#,
                r#"[{"type":"other","value":{"tool_use_id":"t","type":"tool_result","content":null}}]"#,
            ),
            // A result inside a result is carried whole, or depth would have no end.
            (
                r#"[{"tool_use_id":"t","type":"tool_result","content":[{"tool_use_id":"u","type":"tool_result"}]}]"#,
                r#"[{"type":"tool_result","call_id":"t","content":[{"type":"other","value":{"tool_use_id":"u","type":"tool_result"}}]}]"#,
            ),
        ];
        for (content, parts) in results {
            assert_eq!(there_and_back(content), (parts.to_owned(), vec![], content.to_owned()));
        }
    }

    #[test]
    fn the_form_of_a_messages_content_is_kept() {
        let text = r#"[{"type":"text","text":"a"}]"#;
        assert_eq!(there_and_back(r#""a""#), (text.to_owned(), vec![ONE_TEXT], r#""a""#.to_owned()));
        assert_eq!(there_and_back(text), (text.to_owned(), vec![], text.to_owned()));
        assert_eq!(there_and_back("[]"), ("[]".to_owned(), vec![EMPTY_LIST], "[]".to_owned()));
    }
}
