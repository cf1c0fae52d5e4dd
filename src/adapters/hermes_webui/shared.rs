//! Where the log's facts and the loader's meet.

use crate::model::heads::HeadName;
use crate::model::loaded::{LoadOutcome, Loader};

/// The loader of a session, without the one fact that a log does not repeat:
/// the program's metadata with all its defaults. What of it stands on disk is
/// in the `meta` event, and proven by its file.
pub(super) struct Facts<'f>(pub Box<dyn Loader + 'f>);

impl Loader for Facts<'_> {
    fn heads(&mut self) -> Vec<HeadName> {
        self.0.heads()
    }

    fn load(&mut self, head: Option<&HeadName>, show: &mut dyn FnMut(&[u8])) -> LoadOutcome {
        let mut outcome = self.0.load(head, show);
        outcome.facts.remove("meta");
        outcome
    }
}
