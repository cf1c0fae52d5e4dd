//! The types that members of records have.

use crate::json::Value;

/// Tells whether it is a text.
pub(super) fn is_text(value: Option<Value<'_>>) -> bool {
    value.is_some_and(Value::is_string)
}

/// Tells whether an optional value is a text.
pub(super) fn may_be_text(value: Option<Value<'_>>) -> bool {
    value.is_none_or(|value| value.is_string() || value.is_null())
}

/// Tells whether it is a list of texts.
pub(super) fn is_texts(value: Option<Value<'_>>) -> bool {
    value.is_some_and(|value| value.is_array() && value.elements().all(Value::is_string))
}

/// Tells whether an optional value is one of these words.
pub(super) fn may_be_one_of(value: Option<Value<'_>>, words: &[&str]) -> bool {
    value.is_none_or(|value| value.is_null() || words.iter().any(|word| value.is_str(word)))
}
