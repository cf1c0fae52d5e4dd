//! The members of a record's objects, as the loader looks them up.

use crate::json::{self, Kind, Member};

/// The value of a key; of equal keys the last counts.
pub(super) fn get<'a>(members: &[Member<'a>], key: &str) -> Option<&'a [u8]> {
    members.iter().rev().find(|member| member.is(key)).map(|member| member.value)
}

/// The value of a key, where it is there and not `null`.
pub(super) fn some<'a>(members: &[Member<'a>], key: &str) -> Option<&'a [u8]> {
    get(members, key).filter(|value| json::kind_of(value) != Kind::Null)
}

/// The unsigned number under a key.
pub(super) fn number(members: &[Member<'_>], key: &str) -> Option<u64> {
    get(members, key).and_then(|n| std::str::from_utf8(n).ok()?.parse().ok())
}

/// The text under a key.
pub(super) fn text(members: &[Member<'_>], key: &str) -> Option<String> {
    get(members, key).filter(|value| json::kind_of(value) == Kind::String).map(|value| json::unescape(value).into_owned())
}

/// The members of the object under a key; none where it is not an object.
pub(super) fn inside<'a>(members: &[Member<'a>], key: &str) -> Vec<Member<'a>> {
    get(members, key).map(members_of).unwrap_or_default()
}

/// The members of a value; none where it is not an object.
pub(super) fn members_of(value: &[u8]) -> Vec<Member<'_>> {
    if json::kind_of(value) == Kind::Object { json::all_members(value) } else { Vec::new() }
}
