//! A conversion in progress, which the files of a session add to.

use crate::adapters::kit::conversion::Conversion;
use crate::model::event::Outcome;

use super::list::Messages;

/// One conversion in progress.
pub(super) struct Reader<'a, 's> {
    pub to: Conversion<'a, 's>,
    pub messages: Messages<'a>,
    pub outcome: Outcome,
}
