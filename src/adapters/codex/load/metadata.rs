//! What the program notes beside an item: of which turn it is, and where in its own
//! records it belongs. A record with a note of another shape is skipped.

use crate::json::Value;
use crate::runtimes::rust::{is_float, unsigned};

use super::types::{is_text, may_be_one_of, may_be_text};

/// The members of a structure: under their names, or as a list in this order. A number
/// with a point is a structure too, with no member of any name: so the program's library
/// hands on such numbers.
pub(super) fn members<'a, const N: usize>(value: Value<'a>, names: [&'static str; N]) -> Option<[Option<Value<'a>>; N]> {
    if value.is_object() {
        return Some(value.get_each(names));
    }
    let mut found = [None; N];
    if is_float(value) {
        return Some(found);
    }
    for (at, element) in value.is_array().then(|| value.elements())?.enumerate() {
        *found.get_mut(at)? = Some(element);
    }
    Some(found)
}

fn may_be<'a>(value: Option<Value<'a>>, is_right: impl Fn(Value<'a>) -> bool) -> bool {
    value.is_none_or(|value| value.is_null() || is_right(value))
}

fn is_flag(value: Value<'_>) -> bool {
    matches!(value.text(), b"true" | b"false")
}

/// Tells whether a value can say of which turn an item is.
pub(super) fn is_of_turn(value: Value<'_>) -> bool {
    let names = ["turn_id", "create_time", "content_item_kinds", "content_item_metadata"];
    let fits = |[turn, time, _, _]: [Option<Value<'_>>; 4]| may_be_text(turn) && may_be(time, Value::is_number);
    value.is_null() || members(value, names).is_some_and(fits)
}

/// Tells whether a value can say where a record belongs.
pub(super) fn is_of_record(value: Value<'_>) -> bool {
    let names = [
        "history_sequence",
        "sampled_through_sequence",
        "retained_source",
        "client_authored",
        "user_input_order",
        "mcp_attribution",
        "fallback_token_limit_override",
    ];
    let fits = |[sequence, sampled, source, authored, order, _, limit]: [Option<Value<'_>>; 7]| {
        [sequence, sampled, order, limit].into_iter().all(|number| may_be(number, |number| unsigned(number).is_some()))
            && may_be(source, is_source)
            && authored.is_none_or(is_flag)
    };
    value.is_null() || members(value, names).is_some_and(fits)
}

/// Tells whether it names the message that a record keeps.
fn is_source(value: Value<'_>) -> bool {
    let is_id = |id: Value<'_>| {
        members(id, ["message_id", "turn_id", "role"]).is_some_and(|[message, turn, role]| {
            is_text(message) && is_text(turn) && is_text(role) && may_be_one_of(role, &["user", "assistant"])
        })
    };
    let fits =
        |[id, revision, complete]: [Option<Value<'_>>; 3]| id.is_some_and(is_id) && is_text(revision) && complete.is_some_and(is_flag);
    members(value, ["id", "revision", "complete"]).is_some_and(fits)
}
