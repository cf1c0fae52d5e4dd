//! A conversation without its secrets, on its way to another writer.

use crate::api::Message;
use crate::redact::{Redactions, Redactor, RemovedFrom};
use crate::report::terminal::Tint;

use super::conversation::{Files, Writer};
use super::marks::Mark;

/// Takes secrets out of everything before another writer gets it.
pub(super) struct RedactingWriter<'w> {
    to: Box<dyn Writer + 'w>,
    redactor: Redactor,
}

impl<'w> RedactingWriter<'w> {
    /// Returns a writer that hands on what it gets, redacted.
    pub(super) fn new(to: Box<dyn Writer + 'w>, redactor: Redactor) -> Self {
        RedactingWriter { to, redactor }
    }

    /// Returns what was taken out so far.
    pub(super) fn redactions(&self) -> &Redactions {
        self.redactor.redactions()
    }

    fn text(&mut self, text: &str) -> String {
        self.redactor.text(text, RemovedFrom::Session).unwrap_or_else(|| text.to_owned())
    }
}

impl Writer for RedactingWriter<'_> {
    fn begin(&mut self, title: &str, facts: &str) {
        let (title, facts) = (self.text(title), self.text(facts));
        self.to.begin(&title, &facts);
    }

    fn message(&mut self, message: &Message, files: &Files) {
        match self.redactor.message(message.clone()) {
            Some(message) => self.to.message(&message, files),
            None => self.to.mark(&Mark::of(Tint::Damage, format!("✗ message #{} is left out: it cannot be looked into", message.seq))),
        }
    }

    fn mark(&mut self, mark: &Mark) {
        // A cut-off record may end within a key, which no rule would know.
        let mark = Mark { tint: mark.tint, words: self.text(&mark.words), quoted: None };
        self.to.mark(&mark);
    }

    fn is_closed(&self) -> bool {
        self.to.is_closed()
    }
}
