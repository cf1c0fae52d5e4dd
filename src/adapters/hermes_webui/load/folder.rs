//! The two files that serve a whole folder, as far as they name sessions.

use std::collections::BTreeSet;

use crate::json::Value;
use crate::runtimes::python::convert::int;
use crate::runtimes::python::loads::check;
use crate::runtimes::python::strings::push_utf8;
use crate::runtimes::python::text::strip;
use crate::runtimes::python::value::{pick, str_or_empty};
use crate::runtimes::wtf8::decode;

use super::unit::PathContent;

/// Deeper than any index goes; the reader gives up somewhere there.
const TOO_DEEP: usize = 995;

fn value(file: PathContent<'_>) -> Option<Value<'_>> {
    check(file.text()?, TOO_DEEP).ok()
}

/// Returns the ids that the index has rows for, as a JSON list in code point order.
#[must_use]
pub fn index_ids(file: PathContent<'_>) -> Option<String> {
    let rows = value(file).filter(|value| value.is_array()).unwrap_or(Value::EMPTY_ARRAY);
    let id = |row: Value<'_>| row.get("session_id").filter(|id| id.is_string()).map(|id| decode(id.text()).into_owned());
    let ids: BTreeSet<Vec<u8>> = rows.elements().filter(|row| row.is_object()).filter_map(id).collect();
    (file != PathContent::Nothing).then(|| list(&ids))
}

/// Returns the ids that were deleted for good, as a JSON list in code point order.
#[must_use]
pub fn deleted_ids(file: PathContent<'_>) -> Option<String> {
    let object = value(file).filter(|value| value.is_object()).unwrap_or(Value::EMPTY_OBJECT);
    let [version, rows] = pick(object, ["version", "ids"]);
    let is_known = version.is_some_and(|version| int(version).as_deref() == Ok("1"));
    let rows = rows.filter(|rows| is_known && rows.is_array()).unwrap_or(Value::EMPTY_ARRAY);
    let ids: BTreeSet<Vec<u8>> = rows.elements().map(|id| strip(&str_or_empty(Some(id))).to_vec()).filter(|id| !id.is_empty()).collect();
    (file != PathContent::Nothing).then(|| list(&ids))
}

fn list(ids: &BTreeSet<Vec<u8>>) -> String {
    let mut out = b"[".to_vec();
    for (at, id) in ids.iter().enumerate() {
        out.extend_from_slice(if at > 0 { b"," } else { b"" });
        push_utf8(id, &mut out);
    }
    out.push(b']');
    String::from_utf8_lossy(&out).into_owned()
}
