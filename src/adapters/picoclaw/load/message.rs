//! A message: what the program takes from its JSON, and the line that it would
//! write for it.

use crate::runtimes::go::{Slice, Text, Time, record};

record! {
    /// One message.
    pub struct Message<'a> {
        role: Text<'a> = "role" Never,
        content: Text<'a> = "content" Never,
        model_name: Text<'a> = "model_name" Empty,
        created_at: Option<Time> = "created_at" Empty,
        media: Slice<Text<'a>> = "media" Empty,
        attachments: Slice<Attachment<'a>> = "attachments" Empty,
        reasoning_content: Text<'a> = "reasoning_content" Empty,
        system_parts: Slice<Block<'a>> = "system_parts" Empty,
        tool_calls: Slice<ToolCall<'a>> = "tool_calls" Empty,
        tool_call_id: Text<'a> = "tool_call_id" Empty,
    }
}

record! {
    struct Attachment<'a> {
        kind: Text<'a> = "type" Empty,
        reference: Text<'a> = "ref" Empty,
        url: Text<'a> = "url" Empty,
        filename: Text<'a> = "filename" Empty,
        content_type: Text<'a> = "content_type" Empty,
    }
}

record! {
    struct Block<'a> {
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
    struct ToolCall<'a> {
        id: Text<'a> = "id" Never,
        kind: Text<'a> = "type" Empty,
        function: Option<Function<'a>> = "function" Empty,
        extra_content: Option<ExtraContent<'a>> = "extra_content" Empty,
    }
}

record! {
    struct Function<'a> {
        name: Text<'a> = "name" Never,
        arguments: Text<'a> = "arguments" Never,
        thought_signature: Text<'a> = "thought_signature" Empty,
    }
}

record! {
    struct ExtraContent<'a> {
        google: Option<Google<'a>> = "google" Empty,
        tool_feedback_explanation: Text<'a> = "tool_feedback_explanation" Empty,
    }
}

record! {
    struct Google<'a> {
        thought_signature: Text<'a> = "thought_signature" Empty,
    }
}

impl Message<'_> {
    /// Tells whether this is a thought without a reply, which no history shows.
    #[must_use]
    pub fn is_thought(&self) -> bool {
        self.role.is("assistant")
            && self.content.is_blank()
            && !self.reasoning_content.is_blank()
            && self.tool_calls.items().is_empty()
            && self.media.items().is_empty()
            && self.attachments.items().is_empty()
            && self.tool_call_id.is_blank()
    }

    /// Takes a time away that says nothing; the program would put its own clock
    /// in its place.
    pub fn forget_zero_time(&mut self) {
        self.created_at = self.created_at.filter(|time| !time.is_zero());
    }
}
