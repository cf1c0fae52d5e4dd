//! Files that serve a whole folder are no session: a load of one shows nothing.

use crate::model::heads::HeadName;
use crate::model::loaded::{LoadOutcome, Loader};

/// The loader of what is no session.
pub(super) struct NoSession;

impl Loader for NoSession {
    fn heads(&mut self) -> Vec<HeadName> {
        vec![HeadName::main()]
    }

    fn load(&mut self, head: Option<&HeadName>, _: &mut dyn FnMut(&[u8])) -> LoadOutcome {
        LoadOutcome { active: head.is_none().then(HeadName::main), ..LoadOutcome::default() }
    }
}
