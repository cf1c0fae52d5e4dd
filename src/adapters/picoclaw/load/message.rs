//! A message: what the program takes from its JSON, and the line that it would
//! write for it.

use super::cursor::{Cursor, Refused};
use super::encode::{Encode, Members};
use super::fill::{Fill, Slice, members};
use super::moment::Moment;
use super::text::Text;

/// One message.
#[derive(Debug, Default)]
pub struct Message<'a> {
    role: Text<'a>,
    content: Text<'a>,
    model_name: Text<'a>,
    created_at: Option<Moment>,
    media: Slice<Text<'a>>,
    attachments: Slice<Attachment<'a>>,
    reasoning_content: Text<'a>,
    system_parts: Slice<Block<'a>>,
    tool_calls: Slice<ToolCall<'a>>,
    tool_call_id: Text<'a>,
}

#[derive(Debug, Default)]
struct Attachment<'a> {
    kind: Text<'a>,
    reference: Text<'a>,
    url: Text<'a>,
    filename: Text<'a>,
    content_type: Text<'a>,
}

#[derive(Debug, Default)]
struct Block<'a> {
    kind: Text<'a>,
    text: Text<'a>,
    cache_control: Option<CacheControl<'a>>,
}

#[derive(Debug, Default)]
struct CacheControl<'a> {
    kind: Text<'a>,
}

#[derive(Debug, Default)]
struct ToolCall<'a> {
    id: Text<'a>,
    kind: Text<'a>,
    function: Option<Function<'a>>,
    extra_content: Option<ExtraContent<'a>>,
}

#[derive(Debug, Default)]
struct Function<'a> {
    name: Text<'a>,
    arguments: Text<'a>,
    thought_signature: Text<'a>,
}

#[derive(Debug, Default)]
struct ExtraContent<'a> {
    google: Option<Google<'a>>,
    tool_feedback_explanation: Text<'a>,
}

#[derive(Debug, Default)]
struct Google<'a> {
    thought_signature: Text<'a>,
}

impl Message<'_> {
    /// Whether this is a thought without a reply, which no history shows.
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
        self.created_at = self.created_at.filter(|moment| !moment.is_zero());
    }
}

impl<'a> Fill<'a> for Message<'a> {
    fn fill(&mut self, from: &mut Cursor<'a>) -> Result<(), Refused> {
        members(from, |key, from| match key {
            "role" => self.role.fill(from),
            "content" => self.content.fill(from),
            "model_name" => self.model_name.fill(from),
            "created_at" => self.created_at.fill(from),
            "media" => self.media.fill(from),
            "attachments" => self.attachments.fill(from),
            "reasoning_content" => self.reasoning_content.fill(from),
            "system_parts" => self.system_parts.fill(from),
            "tool_calls" => self.tool_calls.fill(from),
            "tool_call_id" => self.tool_call_id.fill(from),
            _ => from.skip().map(|_| ()),
        })
    }
}

impl Encode for Message<'_> {
    fn push(&self, out: &mut Vec<u8>) {
        let mut object = Members::open(out);
        object.always("role", &self.role).always("content", &self.content).filled("model_name", &self.model_name);
        object.present("created_at", self.created_at.as_ref());
        object.list("media", self.media.items()).list("attachments", self.attachments.items());
        object.filled("reasoning_content", &self.reasoning_content).list("system_parts", self.system_parts.items());
        object.list("tool_calls", self.tool_calls.items()).filled("tool_call_id", &self.tool_call_id);
        object.close();
    }
}

impl<'a> Fill<'a> for Attachment<'a> {
    fn fill(&mut self, from: &mut Cursor<'a>) -> Result<(), Refused> {
        members(from, |key, from| match key {
            "type" => self.kind.fill(from),
            "ref" => self.reference.fill(from),
            "url" => self.url.fill(from),
            "filename" => self.filename.fill(from),
            "content_type" => self.content_type.fill(from),
            _ => from.skip().map(|_| ()),
        })
    }
}

impl Encode for Attachment<'_> {
    fn push(&self, out: &mut Vec<u8>) {
        let mut object = Members::open(out);
        object.filled("type", &self.kind).filled("ref", &self.reference).filled("url", &self.url);
        object.filled("filename", &self.filename).filled("content_type", &self.content_type);
        object.close();
    }
}

impl<'a> Fill<'a> for Block<'a> {
    fn fill(&mut self, from: &mut Cursor<'a>) -> Result<(), Refused> {
        members(from, |key, from| match key {
            "type" => self.kind.fill(from),
            "text" => self.text.fill(from),
            "cache_control" => self.cache_control.fill(from),
            _ => from.skip().map(|_| ()),
        })
    }
}

impl Encode for Block<'_> {
    fn push(&self, out: &mut Vec<u8>) {
        let mut object = Members::open(out);
        object.always("type", &self.kind).always("text", &self.text);
        object.present("cache_control", self.cache_control.as_ref());
        object.close();
    }
}

impl<'a> Fill<'a> for CacheControl<'a> {
    fn fill(&mut self, from: &mut Cursor<'a>) -> Result<(), Refused> {
        members(from, |key, from| match key {
            "type" => self.kind.fill(from),
            _ => from.skip().map(|_| ()),
        })
    }
}

impl Encode for CacheControl<'_> {
    fn push(&self, out: &mut Vec<u8>) {
        let mut object = Members::open(out);
        object.always("type", &self.kind);
        object.close();
    }
}

impl<'a> Fill<'a> for ToolCall<'a> {
    fn fill(&mut self, from: &mut Cursor<'a>) -> Result<(), Refused> {
        members(from, |key, from| match key {
            "id" => self.id.fill(from),
            "type" => self.kind.fill(from),
            "function" => self.function.fill(from),
            "extra_content" => self.extra_content.fill(from),
            _ => from.skip().map(|_| ()),
        })
    }
}

impl Encode for ToolCall<'_> {
    fn push(&self, out: &mut Vec<u8>) {
        let mut object = Members::open(out);
        object.always("id", &self.id).filled("type", &self.kind);
        object.present("function", self.function.as_ref()).present("extra_content", self.extra_content.as_ref());
        object.close();
    }
}

impl<'a> Fill<'a> for Function<'a> {
    fn fill(&mut self, from: &mut Cursor<'a>) -> Result<(), Refused> {
        members(from, |key, from| match key {
            "name" => self.name.fill(from),
            "arguments" => self.arguments.fill(from),
            "thought_signature" => self.thought_signature.fill(from),
            _ => from.skip().map(|_| ()),
        })
    }
}

impl Encode for Function<'_> {
    fn push(&self, out: &mut Vec<u8>) {
        let mut object = Members::open(out);
        object.always("name", &self.name).always("arguments", &self.arguments);
        object.filled("thought_signature", &self.thought_signature);
        object.close();
    }
}

impl<'a> Fill<'a> for ExtraContent<'a> {
    fn fill(&mut self, from: &mut Cursor<'a>) -> Result<(), Refused> {
        members(from, |key, from| match key {
            "google" => self.google.fill(from),
            "tool_feedback_explanation" => self.tool_feedback_explanation.fill(from),
            _ => from.skip().map(|_| ()),
        })
    }
}

impl Encode for ExtraContent<'_> {
    fn push(&self, out: &mut Vec<u8>) {
        let mut object = Members::open(out);
        object.present("google", self.google.as_ref());
        object.filled("tool_feedback_explanation", &self.tool_feedback_explanation);
        object.close();
    }
}

impl<'a> Fill<'a> for Google<'a> {
    fn fill(&mut self, from: &mut Cursor<'a>) -> Result<(), Refused> {
        members(from, |key, from| match key {
            "thought_signature" => self.thought_signature.fill(from),
            _ => from.skip().map(|_| ()),
        })
    }
}

impl Encode for Google<'_> {
    fn push(&self, out: &mut Vec<u8>) {
        let mut object = Members::open(out);
        object.filled("thought_signature", &self.thought_signature);
        object.close();
    }
}
