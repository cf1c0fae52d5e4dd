//! The two files that serve a whole folder, as far as they name sessions.

use std::collections::BTreeSet;

use crate::model::json::{Kind, kind_of};

use super::number::integer;
use super::parse::{check, elements};
use super::text::{decode, push_json, strip};
use super::unit::Found;
use super::value::{pick, text_or_empty};

/// Deeper than any index goes; the reader gives up somewhere there.
const TOO_DEEP: usize = 995;

fn value(file: Found<'_>) -> Option<&[u8]> {
    check(file.text()?, TOO_DEEP).ok()
}

/// The ids that the index has rows for, as a JSON list in code point order.
#[must_use]
pub fn index_ids(file: Found<'_>) -> Option<String> {
    let rows = value(file).filter(|value| kind_of(value) == Kind::Array).unwrap_or(b"[]");
    let id = |row| {
        let [id] = pick(row, ["session_id"]);
        id.filter(|id| kind_of(id) == Kind::String).map(|id| decode(id).into_owned())
    };
    let ids: BTreeSet<Vec<u8>> = elements(rows).filter(|row| kind_of(row) == Kind::Object).filter_map(id).collect();
    (file != Found::Nothing).then(|| list(&ids))
}

/// The ids that were deleted for good, as a JSON list in code point order.
#[must_use]
pub fn deleted_ids(file: Found<'_>) -> Option<String> {
    let object = value(file).filter(|value| kind_of(value) == Kind::Object).unwrap_or(b"{}");
    let [version, rows] = pick(object, ["version", "ids"]);
    let is_known = version.is_some_and(|version| integer(version).as_deref() == Ok("1"));
    let rows = rows.filter(|rows| is_known && kind_of(rows) == Kind::Array).unwrap_or(b"[]");
    let ids: BTreeSet<Vec<u8>> = elements(rows).map(|id| strip(&text_or_empty(Some(id))).to_vec()).filter(|id| !id.is_empty()).collect();
    (file != Found::Nothing).then(|| list(&ids))
}

fn list(ids: &BTreeSet<Vec<u8>>) -> String {
    let mut out = b"[".to_vec();
    for (at, id) in ids.iter().enumerate() {
        out.extend_from_slice(if at > 0 { b"," } else { b"" });
        push_json(id, &mut out);
    }
    out.push(b']');
    String::from_utf8_lossy(&out).into_owned()
}
