//! A message as picoclaw would write it again: Go's `encoding/json`, compact.

use crate::model::json;

use super::decode::{Attachment, Block, EMPTY, Extra, Message, Token, ToolCall};
use super::gotime::GoTime;

/// Writes a message. A time that Go could not write again stands as it would
/// format it.
pub(super) fn message(message: &Message<'_>, out: &mut Vec<u8>) {
    let mut object = Object::open(out);
    object.text("role", message.role);
    object.text("content", message.content);
    object.some_text("model_name", message.model_name);
    if let Some(time) = message.created_at {
        push_time(time, object.key("created_at"));
    }
    object.some_list("media", message.media.list(), |token, out| push_text(token, out));
    object.some_list("attachments", message.attachments.list(), attachment);
    object.some_text("reasoning_content", message.reasoning_content);
    object.some_list("system_parts", message.system_parts.list(), block);
    object.some_list("tool_calls", message.tool_calls.list(), tool_call);
    object.some_text("tool_call_id", message.tool_call_id);
    object.close();
}

fn push_time(time: GoTime, out: &mut Vec<u8>) {
    out.push(b'"');
    time.push(out);
    out.push(b'"');
}

fn attachment(attachment: &Attachment<'_>, out: &mut Vec<u8>) {
    let mut object = Object::open(out);
    for (key, token) in ["type", "ref", "url", "filename", "content_type"].into_iter().zip(attachment.0) {
        object.some_text(key, token);
    }
    object.close();
}

fn block(block: &Block<'_>, out: &mut Vec<u8>) {
    let mut object = Object::open(out);
    object.text("type", block.kind);
    object.text("text", block.text);
    if let Some(kind) = block.cache_control {
        let mut inner = Object::open(object.key("cache_control"));
        inner.text("type", kind);
        inner.close();
    }
    object.close();
}

fn tool_call(call: &ToolCall<'_>, out: &mut Vec<u8>) {
    let mut object = Object::open(out);
    object.text("id", call.id);
    object.some_text("type", call.kind);
    if let Some([name, arguments, signature]) = call.function {
        let mut inner = Object::open(object.key("function"));
        inner.text("name", name);
        inner.text("arguments", arguments);
        inner.some_text("thought_signature", signature);
        inner.close();
    }
    if let Some(Extra { google, explanation }) = &call.extra {
        let mut inner = Object::open(object.key("extra_content"));
        if let Some(signature) = google {
            let mut innermost = Object::open(inner.key("google"));
            innermost.some_text("thought_signature", signature);
            innermost.close();
        }
        inner.some_text("tool_feedback_explanation", explanation);
        inner.close();
    }
    object.close();
}

struct Object<'o> {
    out: &'o mut Vec<u8>,
    empty: bool,
}

impl<'o> Object<'o> {
    fn open(out: &'o mut Vec<u8>) -> Object<'o> {
        out.push(b'{');
        Object { out, empty: true }
    }

    fn key(&mut self, key: &str) -> &mut Vec<u8> {
        if !std::mem::take(&mut self.empty) {
            self.out.push(b',');
        }
        self.out.push(b'"');
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
        self.out
    }

    fn text(&mut self, key: &str, token: Token<'_>) {
        push_text(token, self.key(key));
    }

    fn some_text(&mut self, key: &str, token: Token<'_>) {
        if token != EMPTY {
            self.text(key, token);
        }
    }

    fn some_list<T: Clone>(&mut self, key: &str, list: &[T], push: impl Fn(&T, &mut Vec<u8>)) {
        if list.is_empty() {
            return;
        }
        let out = self.key(key);
        out.push(b'[');
        for (n, element) in list.iter().enumerate() {
            if n > 0 {
                out.push(b',');
            }
            push(element, out);
        }
        out.push(b']');
    }

    fn close(self) {
        self.out.push(b'}');
    }
}

/// Writes a string token as Go writes the text that it reads from it.
pub(super) fn push_text(token: Token<'_>, out: &mut Vec<u8>) {
    if is_settled(token) {
        return out.extend_from_slice(token);
    }
    out.push(b'"');
    push_decoded(&decoded(token), out);
    out.push(b'"');
}

/// Whether Go would write this token as it is: plain characters, and escapes
/// that are its own.
fn is_settled(token: Token<'_>) -> bool {
    const PLAIN: [bool; 256] = {
        let mut table = [true; 256];
        table[b'\\' as usize] = false;
        table[b'<' as usize] = false;
        table[b'>' as usize] = false;
        table[b'&' as usize] = false;
        let mut high = 0x80;
        while high < 256 {
            table[high] = false;
            high += 1;
        }
        table
    };
    let inner = &token[1..token.len() - 1];
    let mut at = 0;
    let mut is_text = false;
    while let Some(found) = inner[at..].iter().position(|b| !PLAIN[*b as usize]) {
        at += found;
        match inner[at] {
            b'\\' => match inner.get(at + 1) {
                Some(b'"' | b'\\' | b'n' | b'r' | b't' | b'b' | b'f') => at += 2,
                Some(b'u') if is_own_escape(&inner[at..]) => at += 6,
                _ => return false,
            },
            b'<' | b'>' | b'&' => return false,
            _ => {
                // Checked once for the whole token: valid, and without the two
                // separators that Go escapes.
                if !is_text {
                    is_text = std::str::from_utf8(inner).is_ok() && memchr::memmem::find(inner, b"\xe2\x80\xa8").is_none();
                    is_text &= memchr::memmem::find(inner, b"\xe2\x80\xa9").is_none();
                    if !is_text {
                        return false;
                    }
                }
                at += inner[at..].iter().take_while(|b| **b >= 0x80).count();
            }
        }
    }
    true
}

/// Whether a `\u` escape is one that Go writes.
pub(super) fn is_own_escape(text: &[u8]) -> bool {
    let Some(digits) = text.get(2..6).and_then(|digits| std::str::from_utf8(digits).ok()) else { return false };
    let Ok(unit) = u32::from_str_radix(digits, 16) else { return false };
    let escapes_it = matches!(unit, 0x3c | 0x3e | 0x26 | 0x2028 | 0x2029) || (unit < 0x20 && !matches!(unit, 8 | 9 | 10 | 12 | 13));
    escapes_it && !digits.bytes().any(|b| b.is_ascii_uppercase())
}

/// A token's text as Go reads it: each byte that is not UTF-8 and each lone
/// surrogate becomes U+FFFD.
pub(super) fn decoded(token: Token<'_>) -> String {
    json::decode_string(mended(token).as_bytes()).unwrap_or_else(|lossy| lossy)
}

/// Bytes as a text, each that is not UTF-8 as U+FFFD.
pub(super) fn mended(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().map(|_| char::REPLACEMENT_CHARACTER));
    }
    text
}

fn push_decoded(text: &str, out: &mut Vec<u8>) {
    for c in text.chars() {
        match c {
            '"' => out.extend_from_slice(b"\\\""),
            '\\' => out.extend_from_slice(b"\\\\"),
            '\n' => out.extend_from_slice(b"\\n"),
            '\r' => out.extend_from_slice(b"\\r"),
            '\t' => out.extend_from_slice(b"\\t"),
            '\u{8}' => out.extend_from_slice(b"\\b"),
            '\u{c}' => out.extend_from_slice(b"\\f"),
            '\u{0}'..='\u{1f}' | '<' | '>' | '&' | '\u{2028}' | '\u{2029}' => {
                out.extend_from_slice(format!("\\u{:04x}", u32::from(c)).as_bytes());
            }
            other => out.extend_from_slice(other.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::picoclaw::decode;

    fn again(line: &[u8]) -> String {
        let mut out = Vec::new();
        message(&decode::message(line, &mut Vec::new()).unwrap().0, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn messages_are_written_as_go_would_write_them_again() {
        for (read, written) in [
            (&b"null"[..], r#"{"role":"","content":""}"#),
            (b"{}", r#"{"role":"","content":""}"#),
            (
                br#"{"ROLE":"user","Content":"a","attachment\u017f":[{"URL":"x"}]}"#,
                r#"{"role":"user","content":"a","attachments":[{"url":"x"}]}"#,
            ),
            (br#"{"content":"a","content":"b","content":null}"#, r#"{"role":"","content":"b"}"#),
            (br#"{"media":["a","b"],"media":[null]}"#, r#"{"role":"","content":"","media":["a"]}"#),
            // A third value finds what the second cut off.
            (br#"{"media":["a","b"],"media":[null],"media":[null,null]}"#, r#"{"role":"","content":"","media":["a","b"]}"#),
            (br#"{"media":["a"],"media":[],"media":[null]}"#, r#"{"role":"","content":"","media":[""]}"#),
            (
                br#"{"tool_calls":[{"id":"1","function":{"name":"n"}}],"tool_calls":[{"id":"2","function":{"arguments":"{}"}}]}"#,
                r#"{"role":"","content":"","tool_calls":[{"id":"2","function":{"name":"n","arguments":"{}"}}]}"#,
            ),
            (
                br#"{"content":"<\u003C\u2028\/\ufffd\u00e9\ud800\ud83d\ude00"}"#,
                "{\"role\":\"\",\"content\":\"\\u003c\\u003c\\u2028/\u{fffd}é\u{fffd}😀\"}",
            ),
            (b"{\"content\":\"\xe4\xbd\xff\"}", "{\"role\":\"\",\"content\":\"\u{fffd}\u{fffd}\u{fffd}\"}"),
            (br#"{"created_at":"2026-01-02T03:04:05.120+00:00"}"#, r#"{"role":"","content":"","created_at":"2026-01-02T03:04:05.12Z"}"#),
            (
                br#"{"x":1e999,"tool_calls":[{"id":"","extra_content":{}}]}"#,
                r#"{"role":"","content":"","tool_calls":[{"id":"","extra_content":{}}]}"#,
            ),
        ] {
            assert_eq!(again(read), written, "{}", String::from_utf8_lossy(read));
        }
        for bad in [
            &b"[]"[..],
            b"\"a\"",
            b"\xef\xbb\xbf{}",
            b"{\"content\":5}",
            b"{\"content\":[]}",
            b"{} {}",
            b"{\"content\":\"\t\"}",
            b"{\"tool_calls\":[{\"function\":{\"arguments\":{}}}]}",
            b"{\"created_at\":\"2026-01-02T03:04:05\"}",
            b"{\"media\":\"x\"}",
        ] {
            assert!(decode::message(bad, &mut Vec::new()).is_err(), "{}", String::from_utf8_lossy(bad));
        }
    }

    #[test]
    fn nesting_counts_as_go_counts_it() {
        let deep = |n: usize| format!("{{\"x\":{}1{}}}", "[".repeat(n), "]".repeat(n));
        assert!(decode::message(deep(9_999).as_bytes(), &mut Vec::new()).is_ok());
        assert!(decode::message(deep(10_000).as_bytes(), &mut Vec::new()).is_err());
    }

    #[test]
    fn reasoning_alone_is_a_thought() {
        let is_thought = |line: &str| decode::message(line.as_bytes(), &mut Vec::new()).unwrap().0.is_thought();
        assert!(is_thought("{\"role\":\"assistant\",\"content\":\" \u{3000}\\n\",\"reasoning_content\":\"x\",\"system_parts\":[{}]}"));
        for not in [
            r#"{"role":"Assistant","reasoning_content":"x"}"#,
            r#"{"role":"assistant","reasoning_content":" "}"#,
            "{\"role\":\"assistant\",\"content\":\"\u{200b}\",\"reasoning_content\":\"x\"}",
            r#"{"role":"assistant","reasoning_content":"x","media":[""]}"#,
            r#"{"role":"assistant","reasoning_content":"x","tool_call_id":"c"}"#,
        ] {
            assert!(!is_thought(not), "{not}");
        }
    }
}
