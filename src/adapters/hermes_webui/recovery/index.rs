//! The sidebar's list of sessions.

use crate::model::json::{self, Dialect, Kind, Member};

use super::document::{get, number, string};

/// One row as it stands in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a> {
    /// Where it begins in the file.
    pub offset: usize,
    pub bytes: &'a [u8],
}

impl<'a> Row<'a> {
    fn members(&self) -> Vec<Member<'a>> {
        if json::kind_of(self.bytes) == Kind::Object { json::members(self.bytes).collect() } else { Vec::new() }
    }

    /// Which session it is about.
    pub(super) fn id(&self) -> Option<String> {
        get(&self.members(), "session_id").and_then(string)
    }

    pub(super) fn updated_at(&self) -> Option<f64> {
        get(&self.members(), "updated_at").and_then(number)
    }
}

/// The rows of a list, or where and why it is none.
pub(super) fn rows(bytes: &[u8]) -> Result<Vec<Row<'_>>, (usize, &'static str)> {
    if let Err(error) = std::str::from_utf8(bytes) {
        return Err((error.valid_up_to(), "not UTF-8"));
    }
    let scan = json::scan_value(bytes, Dialect::Python).map_err(|error| (error.at, error.what))?;
    if !bytes[scan.end..].trim_ascii().is_empty() {
        return Err((scan.end, "more text behind the end of the list"));
    }
    let list = bytes.trim_ascii();
    if json::kind_of(list) != Kind::Array {
        return Err((0, "it is no list"));
    }
    let offset = |row: &[u8]| row.as_ptr() as usize - bytes.as_ptr() as usize;
    Ok(json::elements(list).map(|row| Row { offset: offset(row), bytes: row }).collect())
}
