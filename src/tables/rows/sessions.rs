//! A session as a row.

use std::fs::File;
use std::sync::Arc;

use crate::api::{Message, MessageKind, Role, Session, utc};
use crate::log::{LogView, SealState};
use crate::model::finding::Severity;
use crate::tables::cell::{Cell, Row};
use crate::tables::schema::TableName;

use super::common::{Common, Subject, word};

/// What the messages of a session come to.
#[derive(Debug, Default)]
pub(super) struct MessageCounts {
    shown: u64,
    turns: u64,
    all: u64,
    /// The places and the times of the first and the last message that has one.
    first: Option<(u32, String)>,
    last: Option<(u32, String)>,
}

impl MessageCounts {
    pub(super) fn note(&mut self, message: &Message) {
        self.all += u64::from(message.kind == MessageKind::Message);
    }

    /// Notes that it stands here on the branch that is shown.
    pub(super) fn note_place(&mut self, message: &Message, place: u32) {
        let is_message = message.kind == MessageKind::Message;
        self.shown += u64::from(is_message);
        self.turns += u64::from(is_message && message.role == Role::User);
        if let Some(ts) = &message.ts {
            // A log need not have messages in the order in which they are shown.
            if self.first.as_ref().is_none_or(|(first, _)| place < *first) {
                self.first = Some((place, ts.clone()));
            }
            if self.last.as_ref().is_none_or(|(last, _)| place > *last) {
                self.last = Some((place, ts.clone()));
            }
        }
    }
}

pub(super) fn row(
    view: &LogView<Arc<File>>,
    session: &Session,
    said: &MessageCounts,
    subject: &Subject,
    sha256: &str,
    common: &Common,
) -> Row {
    let time = |at: &Option<(u32, String)>| at.as_ref().map(|(_, ts)| ts.clone());
    let (started, ended) = (time(&said.first), time(&said.last));
    let moment = |ts: &Option<String>| Cell::time(ts.as_deref().and_then(utc).as_deref());
    let warned = subject.findings.iter().filter(|finding| finding.severity >= Severity::Warn).count();
    let count = |count: u64| Cell::Integer(i64::try_from(count).unwrap_or(i64::MAX));
    let mut row = common.row(TableName::Sessions);
    row.extend([
        word(&session.kind),
        Cell::text(session.format_version.as_deref()),
        Cell::text(session.title.as_deref()),
        Cell::text(session.cwd.as_deref()),
        Cell::text(session.model.as_deref()),
        Cell::text(session.parent.as_deref()),
        Cell::text(session.created.as_deref()),
        Cell::text(session.summary.as_deref()),
        Cell::text(session.error.as_deref()),
        Cell::text(started.as_deref()),
        moment(&started),
        Cell::text(ended.as_deref()),
        moment(&ended),
        count(said.shown),
        count(said.turns),
        count(said.all),
        count(view.state().head_count() as u64),
        count(view.bytes()),
        Cell::Text(sha256.to_owned()),
        Cell::Flag(matches!(view.seal(), SealState::Good { .. })),
        count(warned as u64),
    ]);
    row
}
