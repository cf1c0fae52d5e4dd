//! The third stage: a log of which both proofs hold.

use crate::adapters::format::{Check, ReadSummary};
use crate::log::Written;
use crate::model::about::About;
use crate::model::event::SessionKind;
use crate::model::finding::Findings;
use crate::model::stream::StreamError;
use crate::store::replace::Temporary;
use crate::verify::{self, Difference, Proof};

use super::convert::{Converted, convert};
use super::error::ConvertError;
use super::snapshot::Snapshot;
use super::target::Target;

/// A log in a temporary file that rebuilds its source and replays as its program
/// shows it.
#[derive(Debug)]
pub struct Proven<'d> {
    pub(super) temporary: Temporary<'d>,
    pub(super) written: Written,
    pub(super) kind: SessionKind,
    pub(super) summary: ReadSummary,
    pub(super) proof: Proof,
    pub(super) about: About,
    pub(super) findings: Findings,
}

/// Proves a log against the files that it was converted from; the inner error is
/// the first difference.
///
/// # Errors
/// When the log cannot be read.
pub fn prove<'d>(converted: Converted<'d>, snapshot: &Snapshot<'_>) -> Result<Result<Proven<'d>, Difference>, ConvertError> {
    let Converted { temporary, mut log, written, summary, findings } = converted;
    let proven = match verify::prove(&mut log, snapshot.unit.found.adapter, &snapshot.files) {
        // A log that cannot even be rendered is as little proven as one that
        // renders to something else.
        Err(StreamError::Log { seq, what }) => Err(Difference::at_event(format!("event {seq} {what}"), seq)),
        proven => proven?,
    };
    let kind = log.session.kind;
    Ok(match proven {
        Ok(proof) => Ok(Proven { about: About::of_log(&mut log)?, temporary, written, kind, summary, proof, findings }),
        Err(difference) => Err(difference),
    })
}

/// Converts a session without checking single records, and proves the log as a
/// whole. Only a session of which that proof fails is converted again, with a
/// check of each record: most never need one, and it costs as much as the rest.
///
/// # Errors
/// When the session cannot be written, or not be proven either way.
pub fn convert_and_prove<'d>(snapshot: &Snapshot<'_>, target: Target<'d>) -> Result<Proven<'d>, ConvertError> {
    let mut proven = prove(convert(snapshot, target, Check::ByProof)?, snapshot)?;
    if proven.is_err() {
        proven = prove(convert(snapshot, target, Check::EachRecord)?, snapshot)?;
    }
    let mut proven = proven.map_err(|difference| ConvertError::Unproven(Box::new(difference)))?;
    proven.findings.identify(&snapshot.files);
    Ok(proven)
}
