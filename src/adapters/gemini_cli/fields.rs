//! Members of objects, and lists, as the readers and writers of content use them.

use crate::adapters::kit::mapping::To;
use crate::json::{self, Kind};

pub(super) use crate::adapters::kit::mapping::last_of_each;

/// The value of a member of a part.
pub(super) fn member<'p>(part: &'p [u8], name: &str) -> Option<&'p [u8]> {
    if json::kind_of(part) != Kind::Object {
        return None;
    }
    json::members(part).find(|member| member.is(name)).map(|member| member.value)
}

/// Tells whether a part has this type.
pub(super) fn is_type(part: &[u8], name: &str) -> bool {
    member(part, "type").is_some_and(|kind| json::unescape(kind) == name)
}

/// Renders a list, one item after the other.
pub(super) fn push_list<T>(items: &[T], to: To<'_>, mut each: impl FnMut(&T, To<'_>)) {
    let To { style, depth, out } = to;
    out.push(b'[');
    for (n, item) in items.iter().enumerate() {
        if n > 0 {
            style.push_comma(out);
        }
        style.push_break(depth + 1, out);
        each(item, To { style, depth: depth + 1, out });
    }
    if !items.is_empty() {
        style.push_break(depth, out);
    }
    out.push(b']');
}
