//! Reading the messages of a path, one by one.

use std::fs::File;
use std::iter::FusedIterator;
use std::path::PathBuf;
use std::sync::Arc;

use crate::log::{LogView, Projection, Reach, Salvage};
use crate::model::ids::Seq;
use crate::model::stream::StreamError;

use super::error::Error;
use super::message::Message;

/// Which of the messages on a path are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum View {
    /// Everything that was said, also what a compaction replaced. Messages are
    /// as they were said, and compactions stand where they were made.
    #[default]
    Conversation,
    /// What the source program shows: the last compaction and what it keeps come
    /// first, and edits count.
    Shown,
    /// What a model would be given: as [`View::Shown`], without messages that are
    /// hidden from models.
    Context,
    /// Everything, also what was hidden, and messages that were salvaged from
    /// damage and that the source program would not show.
    Salvage,
}

/// The messages of a path, read from the log one by one.
///
/// Memory does not grow with their number. After an error there are no more.
#[derive(Debug)]
pub struct Messages {
    log: LogView<Arc<File>>,
    path: PathBuf,
    projection: Projection,
    view: View,
    next: u64,
    has_failed: bool,
}

impl Messages {
    pub(super) fn new(mut log: LogView<Arc<File>>, path: PathBuf, node: Seq, view: View) -> Result<Messages, Error> {
        let (reach, salvage) = match view {
            View::Conversation => (Reach::Path, Salvage::Hidden),
            View::Shown | View::Context => (Reach::Shown, Salvage::Hidden),
            View::Salvage => (Reach::Path, Salvage::Shown),
        };
        match Projection::of(&mut log, node, reach, salvage) {
            Ok(projection) => Ok(Messages { log, path, projection, view, next: 0, has_failed: false }),
            Err(source) => Err(Error::Read { path, source }),
        }
    }

    fn read_next(&mut self) -> Result<Option<Message>, StreamError> {
        while let Some(shown) = self.projection.next_shown(&mut self.log)? {
            if self.view == View::Context && shown.event.is_hidden_from("model") {
                continue;
            }
            if let Some(message) = Message::of(&shown, self.next)? {
                self.next += 1;
                return Ok(Some(message));
            }
        }
        Ok(None)
    }
}

impl Iterator for Messages {
    type Item = Result<Message, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_failed {
            return None;
        }
        self.read_next().transpose().map(|read| {
            self.has_failed = read.is_err();
            read.map_err(|source| Error::Read { path: self.path.clone(), source })
        })
    }
}

impl FusedIterator for Messages {}
