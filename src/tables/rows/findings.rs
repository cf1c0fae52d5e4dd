//! What a receipt says was found.

use crate::model::finding::Finding;
use crate::tables::cell::Cell;
use crate::tables::error::TableError;
use crate::tables::schema::TableName;

use super::common::{Common, RowSink, word};

pub(super) fn rows(findings: &[Finding], common: &Common, sink: &mut dyn RowSink) -> Result<(), TableError> {
    for finding in findings {
        let mut row = common.row(TableName::Findings);
        row.extend([
            word(&finding.code),
            word(&finding.severity),
            Cell::Text(finding.location.file.clone()),
            Cell::count(finding.location.line),
            Cell::count(finding.location.byte),
            Cell::Text(finding.message.clone()),
            Cell::count(Some(finding.more.min(i64::MAX as u64))),
            Cell::text(finding.digest.as_deref()),
        ]);
        sink.row(TableName::Findings, row)?;
    }
    Ok(())
}
