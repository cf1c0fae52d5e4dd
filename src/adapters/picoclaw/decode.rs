//! What picoclaw's decoder makes of JSON: the types that a session is made of.
//! A text that it takes is a message, however odd; one value of the wrong type
//! anywhere loses it.

use crate::json::{self, Dialect, Kind, Member, Value};
use crate::runtimes::go::{
    Accepted, Decode, KeyForm, MAX_DEPTH, Raw, Record, Rejection, Slice, Source, Text, Time, decode_members, is_space, record, whole_value,
};

/// The token of the empty text, which is also that of a field not given.
pub(super) const EMPTY: &[u8] = b"\"\"";

record! {
    pub(super) struct Message<'a> {
        pub role: Text<'a> = "role" Never,
        pub content: Text<'a> = "content" Never,
        pub model_name: Text<'a> = "model_name" Empty,
        pub created_at: Option<Time> = "created_at" Empty,
        pub media: Slice<Text<'a>> = "media" Empty,
        pub attachments: Slice<Attachment<'a>> = "attachments" Empty,
        pub reasoning_content: Text<'a> = "reasoning_content" Empty,
        pub system_parts: Slice<SystemPart<'a>> = "system_parts" Empty,
        pub tool_calls: Slice<ToolCall<'a>> = "tool_calls" Empty,
        pub tool_call_id: Text<'a> = "tool_call_id" Empty,
    }
}

record! {
    pub(super) struct Attachment<'a> {
        kind: Text<'a> = "type" Empty,
        reference: Text<'a> = "ref" Empty,
        url: Text<'a> = "url" Empty,
        filename: Text<'a> = "filename" Empty,
        content_type: Text<'a> = "content_type" Empty,
    }
}

record! {
    pub(super) struct SystemPart<'a> {
        kind: Text<'a> = "type" Never,
        text: Text<'a> = "text" Never,
        cache_control: Option<CacheControl<'a>> = "cache_control" Empty,
    }
}

record! {
    struct CacheControl<'a> {
        kind: Text<'a> = "type" Never,
    }
}

record! {
    pub(super) struct ToolCall<'a> {
        id: Text<'a> = "id" Never,
        kind: Text<'a> = "type" Empty,
        function: Option<Function<'a>> = "function" Empty,
        extra_content: Option<Extra<'a>> = "extra_content" Empty,
    }
}

record! {
    struct Function<'a> {
        name: Text<'a> = "name" Never,
        arguments: Text<'a> = "arguments" Never,
        signature: Text<'a> = "thought_signature" Empty,
    }
}

record! {
    struct Extra<'a> {
        google: Option<Google<'a>> = "google" Empty,
        explanation: Text<'a> = "tool_feedback_explanation" Empty,
    }
}

record! {
    struct Google<'a> {
        signature: Text<'a> = "thought_signature" Empty,
    }
}

record! {
    /// A meta file, decoded.
    pub(super) struct Meta<'a> {
        pub key: Text<'a> = "key",
        pub summary: Text<'a> = "summary",
        pub skip: i64 = "skip",
        pub count: i64 = "count",
        pub created_at: Time = "created_at",
        pub updated_at: Time = "updated_at",
        pub scope: Raw<'a> = "scope",
        pub aliases: Slice<Text<'a>> = "aliases",
    }
}

/// A legacy file around its messages.
#[derive(Debug, Clone)]
pub(super) struct Legacy<'a> {
    pub key: Text<'a>,
    pub summary: Text<'a>,
    pub created: Time,
    pub updated: Time,
    pub messages: Slice<Message<'a>>,
    depth: Depth,
}

/// How much of a legacy file is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// What stands around its messages.
    Frame,
    /// Its messages as well.
    Messages,
}

impl<'a> Record<'a, Accepted<'a>> for Legacy<'a> {
    const KEYS: &'static [&'static str] = &["key", "messages", "summary", "created", "updated"];

    fn decode_field(&mut self, field: usize, from: &mut Accepted<'a>) -> Result<(), Rejection> {
        let decoded = match field {
            0 => self.key.decode(from),
            1 => match (self.depth, from.kind()) {
                (Depth::Messages, _) => self.messages.decode(from),
                (Depth::Frame, Kind::Array | Kind::Null) => Ok(()),
                (Depth::Frame, Kind::String | Kind::Number | Kind::Object | Kind::True | Kind::False) => Err(from.wrong_type()),
            },
            2 => self.summary.decode(from),
            3 => self.created.decode(from),
            _ => self.updated.decode(from),
        };
        decoded.map_err(|error| Accepted::in_field(error, <Self as Record<'a, Accepted<'a>>>::KEYS[field]))
    }
}

/// Decodes a line, or an element of a list of messages, into a message.
/// `members` are those of the object, where it is one.
pub(super) fn message<'a>(text: &'a [u8], members: &mut Vec<Member<'a>>) -> Result<(Message<'a>, KeyForm), Rejection> {
    members.clear();
    if text.iter().find(|byte| !is_space(**byte)) != Some(&b'{') {
        return accepted_message(whole_value(text)?, &[]);
    }
    let scan = json::validate_object(text, Dialect::Strict, members).map_err(Rejection::NotJson)?;
    if scan.facts.depth > MAX_DEPTH {
        return Err(Rejection::TooDeep);
    }
    accepted_message(scan.value, members)
}

/// Decodes a value into a message; `members` are those of the object, where it is
/// one.
pub(super) fn accepted_message<'a>(value: Value<'a>, members: &[Member<'a>]) -> Result<(Message<'a>, KeyForm), Rejection> {
    let mut message = Message::default();
    let mut from = Accepted::new(value);
    match from.kind() {
        Kind::Object => decode_members(members.iter().copied(), &mut message, &mut from)?,
        Kind::Null => from.form = KeyForm::Odd,
        Kind::String | Kind::Number | Kind::Array | Kind::True | Kind::False => return Err(Rejection::wrong_type("message")),
    }
    Ok((message, from.form))
}

/// Decodes an object of which the members are known.
pub(super) fn meta<'a>(members: &[Member<'a>]) -> Result<Meta<'a>, Rejection> {
    let mut meta = Meta::default();
    decode_members(members.iter().copied(), &mut meta, &mut Accepted::new(Value::EMPTY_OBJECT))?;
    Ok(meta)
}

/// Decodes the members of a legacy file.
pub(super) fn legacy<'a>(members: impl Iterator<Item = Member<'a>>, depth: Depth) -> Result<(Legacy<'a>, KeyForm), Rejection> {
    let mut legacy = Legacy {
        key: Text::default(),
        summary: Text::default(),
        created: Time::default(),
        updated: Time::default(),
        messages: Slice::default(),
        depth,
    };
    let mut from = Accepted::new(Value::EMPTY_OBJECT);
    decode_members(members, &mut legacy, &mut from)?;
    Ok((legacy, from.form))
}

impl Message<'_> {
    /// Removes a zero time, for which the program puts that of the
    /// load where it reads a whole file. Says whether there was one.
    pub(super) fn forget_zero_time(&mut self) -> bool {
        self.created_at.take_if(|time| time.is_zero()).is_some()
    }

    /// Tells whether the program leaves this message out: reasoning and nothing else.
    pub(super) fn is_thought(&self) -> bool {
        !self.reasoning_content.is_empty()
            && self.role.is("assistant")
            && self.content.is_blank()
            && !self.reasoning_content.is_blank()
            && self.tool_calls.items().is_empty()
            && self.media.items().is_empty()
            && self.attachments.items().is_empty()
            && self.tool_call_id.is_blank()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtimes::go::Marshal;

    fn again(line: &[u8]) -> String {
        let mut out = Vec::new();
        message(line, &mut Vec::new()).unwrap().0.marshal(&mut out);
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
            assert!(message(bad, &mut Vec::new()).is_err(), "{}", String::from_utf8_lossy(bad));
        }
    }

    #[test]
    fn nesting_counts_as_go_counts_it() {
        let deep = |n: usize| format!("{{\"x\":{}1{}}}", "[".repeat(n), "]".repeat(n));
        assert!(message(deep(9_999).as_bytes(), &mut Vec::new()).is_ok());
        assert!(message(deep(10_000).as_bytes(), &mut Vec::new()).is_err());
    }

    #[test]
    fn reasoning_alone_is_a_thought() {
        let is_thought = |line: &str| message(line.as_bytes(), &mut Vec::new()).unwrap().0.is_thought();
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
