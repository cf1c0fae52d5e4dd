//! The fifth stage: a settled log is handed to the group commit of its store.

use crate::model::finding::Finding;
use crate::store::commit::{Committer, Pending};
use crate::store::receipts::Receipt;

use super::error::ConvertError;
use super::settle::{LogChange, Settled};

/// A session whose log is in the store, or will be once its group is committed.
#[derive(Debug)]
pub struct Committed {
    /// What the report and the next run need to know.
    pub receipt: Receipt,
    /// What the new log is to the existing one.
    pub change: LogChange,
    /// Findings that only this run can see.
    pub notes: Vec<Finding>,
    /// Whether the group commit appends the receipt.
    pub(super) is_pending: bool,
}

/// Hands a settled log to the committer of its store; without one, in a dry run,
/// nothing is written. Where the log in the store is this one already, only its
/// receipt is left to be saved.
///
/// # Errors
/// When its receipt cannot be written as a line.
pub fn commit(settled: Settled, committer: Option<&Committer<'_>>) -> Result<Committed, ConvertError> {
    let Settled { receipt, change, ready, superseded, notes } = settled;
    let is_pending = match (ready, committer) {
        (Some(ready), Some(committer)) => {
            let (unit, line) = (receipt.unit.clone(), receipt.line()?);
            committer.add(Pending { unit, receipt: line, log_bytes: receipt.log_bytes, ready, superseded });
            true
        }
        (Some(_), None) | (None, _) => false,
    };
    Ok(Committed { receipt, change, notes, is_pending })
}
