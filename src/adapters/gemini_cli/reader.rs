//! The state of one conversion, which the readers of each kind of file share.

use crate::adapters::kit::conversion::Conversion;
use crate::model::event::Outcome;

use super::messages::Messages;

/// One conversion in progress.
pub(super) struct Reader<'a, 's> {
    pub to: Conversion<'a, 's>,
    pub messages: Messages<'a>,
    pub outcome: Outcome,
}
