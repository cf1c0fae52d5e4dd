//! One chat file: as it is loaded, and as a list of sessions sees it.

use crate::model::files::SourceFile;
use crate::runtimes::javascript::{Value, to_time};

use super::patches::{self, Listed, Loaded, Meta};
use super::whole::Whole;

/// A chat file that the program loads.
pub(super) enum Chat<'f> {
    Patches { meta: Meta<'f>, messages: Loaded<'f> },
    Whole(Whole<'f>),
}

impl<'f> Chat<'f> {
    /// The chat in a file; nothing where the program loads none.
    pub(super) fn load(text: &'f [u8]) -> Option<Chat<'f>> {
        let mut messages = Loaded::default();
        let meta = patches::read(text, &mut messages);
        if meta.session.is_truthy() && meta.project.is_truthy() {
            return Some(Chat::Patches { meta, messages });
        }
        Whole::read(text).map(Chat::Whole)
    }

    pub(super) fn each(&self, look: &mut dyn FnMut(Value<'f>)) {
        match self {
            Chat::Patches { messages, .. } => messages.messages().for_each(look),
            Chat::Whole(whole) => whole.messages().for_each(look),
        }
    }

    fn meta(&self) -> &Meta<'f> {
        match self {
            Chat::Patches { meta, .. } => meta,
            Chat::Whole(whole) => &whole.meta,
        }
    }

    /// Whether `--resume` would offer it.
    pub(super) fn is_offered(&self, text: &'f [u8]) -> bool {
        let meta = self.meta();
        let is_resumable = || match self {
            Chat::Patches { .. } => {
                let mut listed = Listed::default();
                patches::read(text, &mut listed);
                listed.is_resumable()
            }
            Chat::Whole(whole) => whole.is_resumable(),
        };
        meta.session.is_truthy() && !meta.kind.is("subagent") && is_resumable()
    }

    /// When it was last written to, in milliseconds; nothing where that is no
    /// date. A patch log that does not say so counts as written now.
    pub(super) fn updated(&self, file: &SourceFile) -> Option<i64> {
        let meta = self.meta();
        let time = |value: Value<'_>| to_time(value.defined()).ok().flatten();
        match self {
            _ if meta.updated.is_truthy() => time(meta.updated),
            Chat::Patches { .. } => Some(i64::MAX),
            Chat::Whole(_) if meta.start.is_truthy() => time(meta.start),
            Chat::Whole(_) => Some(file.mtime_ns / 1_000_000),
        }
    }
}
