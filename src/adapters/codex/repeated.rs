//! Repeats that are in the place of a record.

use crate::json::{self, Member};
use crate::model::ids::Seq;
use crate::model::stream::{LogAccess, StreamError};

use super::members::number;

/// The one message of a repeat that is in the place of a record.
pub(super) fn repeated(log: &mut dyn LogAccess, seq: Seq) -> Result<Seq, StreamError> {
    let payload: Vec<Member<'_>> = json::all_members(log.event(seq)?.payload);
    let number = |name: &str| number(&payload, name).and_then(|n| u32::try_from(n).ok()).map(Seq::new);
    match (number("first"), number("last")) {
        (Some(first), Some(last)) if first == last && last < seq => Ok(last),
        _ => Err(StreamError::log(seq, "repeats more than one message, in the place of a record")),
    }
}
