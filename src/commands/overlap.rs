//! Folders that must not be inside each other.

use std::path::Path;

use crate::pipeline::source::Source;

use super::error::CommandError;

/// Refuses a folder to write to that is inside a source, or has it inside.
///
/// # Errors
/// When they overlap.
pub(super) fn refuse_overlap(source: &Source, named: &Path) -> Result<(), CommandError> {
    if source.overlaps(named)? {
        return Err(CommandError::Nested { source: source.root.clone(), dest: named.to_owned() });
    }
    Ok(())
}
