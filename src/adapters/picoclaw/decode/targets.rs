//! The types that a session is made of: their keys in the order of their
//! fields, and what a value does to each.

use crate::model::json::{self, Kind};

use super::{
    Attachment, Block, Depth, EMPTY, Extra, Form, GoTime, Legacy, Message, Meta, Rejection, Slots, Target, Token, ToolCall, integer, list,
    object, pointer, text, time,
};

impl Default for Message<'_> {
    fn default() -> Self {
        Message {
            role: EMPTY,
            content: EMPTY,
            model_name: EMPTY,
            created_at: None,
            media: Slots::default(),
            attachments: Slots::default(),
            reasoning_content: EMPTY,
            system_parts: Slots::default(),
            tool_calls: Slots::default(),
            tool_call_id: EMPTY,
        }
    }
}

impl<'a> Target<'a> for Message<'a> {
    const KEYS: &'static [&'static str] = &[
        "role",
        "content",
        "model_name",
        "created_at",
        "media",
        "attachments",
        "reasoning_content",
        "system_parts",
        "tool_calls",
        "tool_call_id",
    ];

    fn zero() -> Self {
        Message::default()
    }

    fn set(&mut self, field: usize, value: &'a [u8], form: &mut Form) -> Result<(), Rejection> {
        match field {
            0 => text(value, &mut self.role, "role"),
            1 => text(value, &mut self.content, "content"),
            2 => text(value, &mut self.model_name, "model_name"),
            3 => {
                let is_given = json::kind_of(value) != Kind::Null;
                self.created_at = is_given.then(|| GoTime::parse(value).ok_or(Rejection::Type("created_at"))).transpose()?;
                Ok(())
            }
            4 => list(value, &mut self.media, "media", &|| EMPTY, &mut |element, slot| text(element, slot, "media")),
            5 => list(value, &mut self.attachments, "attachments", &Attachment::zero, &mut |element, slot| {
                object(element, slot, "attachments", form)
            }),
            6 => text(value, &mut self.reasoning_content, "reasoning_content"),
            7 => list(value, &mut self.system_parts, "system_parts", &Block::zero, &mut |element, slot| {
                object(element, slot, "system_parts", form)
            }),
            8 => list(value, &mut self.tool_calls, "tool_calls", &ToolCall::zero, &mut |element, slot| {
                object(element, slot, "tool_calls", form)
            }),
            _ => text(value, &mut self.tool_call_id, "tool_call_id"),
        }
    }
}

impl<'a> Target<'a> for Attachment<'a> {
    const KEYS: &'static [&'static str] = &["type", "ref", "url", "filename", "content_type"];

    fn zero() -> Self {
        Attachment([EMPTY; 5])
    }

    fn set(&mut self, field: usize, value: &'a [u8], _: &mut Form) -> Result<(), Rejection> {
        text(value, &mut self.0[field], "attachments")
    }
}

impl<'a> Target<'a> for Block<'a> {
    const KEYS: &'static [&'static str] = &["type", "text", "cache_control"];

    fn zero() -> Self {
        Block { kind: EMPTY, text: EMPTY, cache_control: None }
    }

    fn set(&mut self, field: usize, value: &'a [u8], form: &mut Form) -> Result<(), Rejection> {
        match field {
            0 => text(value, &mut self.kind, "system_parts"),
            1 => text(value, &mut self.text, "system_parts"),
            _ => {
                let mut inner = self.cache_control.map(|kind| CacheControl([kind]));
                pointer(value, &mut inner, "cache_control", form)?;
                self.cache_control = inner.map(|inner| inner.0[0]);
                Ok(())
            }
        }
    }
}

struct CacheControl<'a>([Token<'a>; 1]);

impl<'a> Target<'a> for CacheControl<'a> {
    const KEYS: &'static [&'static str] = &["type"];

    fn zero() -> Self {
        CacheControl([EMPTY])
    }

    fn set(&mut self, field: usize, value: &'a [u8], _: &mut Form) -> Result<(), Rejection> {
        text(value, &mut self.0[field], "cache_control")
    }
}

impl<'a> Target<'a> for ToolCall<'a> {
    const KEYS: &'static [&'static str] = &["id", "type", "function", "extra_content"];

    fn zero() -> Self {
        ToolCall { id: EMPTY, kind: EMPTY, function: None, extra: None }
    }

    fn set(&mut self, field: usize, value: &'a [u8], form: &mut Form) -> Result<(), Rejection> {
        match field {
            0 => text(value, &mut self.id, "tool_calls"),
            1 => text(value, &mut self.kind, "tool_calls"),
            2 => {
                let mut inner = self.function.map(Function);
                pointer(value, &mut inner, "function", form)?;
                self.function = inner.map(|inner| inner.0);
                Ok(())
            }
            _ => pointer(value, &mut self.extra, "extra_content", form),
        }
    }
}

struct Function<'a>([Token<'a>; 3]);

impl<'a> Target<'a> for Function<'a> {
    const KEYS: &'static [&'static str] = &["name", "arguments", "thought_signature"];

    fn zero() -> Self {
        Function([EMPTY; 3])
    }

    fn set(&mut self, field: usize, value: &'a [u8], _: &mut Form) -> Result<(), Rejection> {
        text(value, &mut self.0[field], "function")
    }
}

impl<'a> Target<'a> for Extra<'a> {
    const KEYS: &'static [&'static str] = &["google", "tool_feedback_explanation"];

    fn zero() -> Self {
        Extra { google: None, explanation: EMPTY }
    }

    fn set(&mut self, field: usize, value: &'a [u8], form: &mut Form) -> Result<(), Rejection> {
        match field {
            0 => {
                let mut inner = self.google.map(|signature| Google([signature]));
                pointer(value, &mut inner, "google", form)?;
                self.google = inner.map(|inner| inner.0[0]);
                Ok(())
            }
            _ => text(value, &mut self.explanation, "extra_content"),
        }
    }
}

struct Google<'a>([Token<'a>; 1]);

impl<'a> Target<'a> for Google<'a> {
    const KEYS: &'static [&'static str] = &["thought_signature"];

    fn zero() -> Self {
        Google([EMPTY])
    }

    fn set(&mut self, field: usize, value: &'a [u8], _: &mut Form) -> Result<(), Rejection> {
        text(value, &mut self.0[field], "google")
    }
}

impl<'a> Target<'a> for Meta<'a> {
    const KEYS: &'static [&'static str] = &["key", "summary", "skip", "count", "created_at", "updated_at", "scope", "aliases"];

    fn zero() -> Self {
        Meta {
            key: EMPTY,
            summary: EMPTY,
            skip: 0,
            count: 0,
            created_at: GoTime::ZERO,
            updated_at: GoTime::ZERO,
            scope: None,
            aliases: Slots::default(),
        }
    }

    fn set(&mut self, field: usize, value: &'a [u8], _: &mut Form) -> Result<(), Rejection> {
        match field {
            0 => text(value, &mut self.key, "key"),
            1 => text(value, &mut self.summary, "summary"),
            2 => integer(value, &mut self.skip, "skip"),
            3 => integer(value, &mut self.count, "count"),
            4 => time(value, &mut self.created_at, "created_at"),
            5 => time(value, &mut self.updated_at, "updated_at"),
            6 => {
                self.scope = Some(value);
                Ok(())
            }
            _ => list(value, &mut self.aliases, "aliases", &|| EMPTY, &mut |element, slot| text(element, slot, "aliases")),
        }
    }
}

impl<'a> Target<'a> for Legacy<'a> {
    const KEYS: &'static [&'static str] = &["key", "messages", "summary", "created", "updated"];

    fn zero() -> Self {
        Legacy { key: EMPTY, summary: EMPTY, created: GoTime::ZERO, updated: GoTime::ZERO, messages: Slots::default(), depth: Depth::Frame }
    }

    fn set(&mut self, field: usize, value: &'a [u8], form: &mut Form) -> Result<(), Rejection> {
        match field {
            0 => text(value, &mut self.key, "key"),
            1 if self.depth == Depth::Frame => match json::kind_of(value) {
                Kind::Array | Kind::Null => Ok(()),
                Kind::String | Kind::Number | Kind::Object | Kind::True | Kind::False => Err(Rejection::Type("messages")),
            },
            1 => {
                list(value, &mut self.messages, "messages", &Message::default, &mut |element, slot| object(element, slot, "messages", form))
            }
            2 => text(value, &mut self.summary, "summary"),
            3 => time(value, &mut self.created, "created"),
            _ => time(value, &mut self.updated, "updated"),
        }
    }
}
