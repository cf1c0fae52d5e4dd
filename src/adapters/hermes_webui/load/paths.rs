//! Paths that a session names.

use crate::json::Value;
use crate::runtimes::python::pathlib::{self, Resolved};
use crate::runtimes::wtf8::decode;

/// Returns what a stored path becomes; none where the constructor of a session raises,
/// as it does for what is not a string.
pub fn resolved(value: Value<'_>) -> Option<Resolved> {
    if value.is_string() { pathlib::resolved(&decode(value.text())) } else { None }
}
