//! Files converted into a log that is kept in memory, or not at all: for commands
//! that compare or examine, and write nothing.

use std::io::Write;

use crate::adapters::format::{Check, Format, ReadSummary};
use crate::log::{LogWriter, Written};
use crate::model::files::Files;
use crate::model::finding::Findings;
use crate::model::stream::StreamError;

/// A sealed log that was built from files.
#[derive(Debug)]
pub struct BuiltLog<W> {
    /// Where its bytes went.
    pub out: W,
    /// Its size and its seal.
    pub written: Written,
    /// What the adapter said of the files.
    pub summary: ReadSummary,
}

/// Converts files into a sealed log; `out` gets its bytes.
///
/// # Errors
/// When the files cannot be converted, or `out` does not take the bytes.
pub fn build_log<W: Write>(
    adapter: &dyn Format,
    files: &Files,
    check: Check,
    out: W,
    findings: &mut Findings,
) -> Result<BuiltLog<W>, StreamError> {
    let mut writer = LogWriter::new(out);
    let summary = adapter.read(files, check, &mut writer, findings)?;
    let (out, written) = writer.finish()?;
    Ok(BuiltLog { out, written, summary })
}
