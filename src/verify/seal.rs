//! A log's seal, as a difference.

use crate::log::SealState;

use super::difference::Difference;

/// Returns what is wrong with a seal.
#[must_use]
pub fn seal_difference(seal: &SealState) -> Option<Difference> {
    let (what, line) = match seal {
        SealState::Good { .. } => return None,
        SealState::Followed { line } => ("something follows the log's last good seal", Some(*line)),
        SealState::Broken { line } => ("the log's bytes are not those that were sealed", Some(*line)),
        SealState::Missing => ("the log has no seal: it is incomplete", None),
    };
    Some(Difference::in_log(what, line))
}
