//! What has no place of its own, beside what has.

use std::borrow::Cow;

use crate::json::{self, Escapes, Member};

/// The `ext` key that names keys which rendering would write and the record
/// has not.
pub(super) const ABSENT: &str = "$absent";

/// The `ext` key of the members around an opened object.
pub(super) const AROUND: &str = "$entry";

/// Members of an object under construction, in log form.
#[derive(Default)]
pub(super) struct Ext(pub Vec<u8>);

impl Ext {
    pub(super) fn key(&mut self, key: &str) {
        if self.0.is_empty() {
            // Room for what most records have.
            self.0.reserve(128);
        }
        self.0.push(if self.0.is_empty() { b'{' } else { b',' });
        json::push_string(key, &mut self.0);
        self.0.push(b':');
    }

    pub(super) fn raw(&mut self, key: &str, value: &[u8]) {
        self.key(key);
        self.0.extend_from_slice(value);
    }

    pub(super) fn named(&mut self, key: &str, value: &[u8], writer: Escapes) {
        self.key(key);
        json::push_carried_value(value, writer, &mut self.0);
    }

    /// A member of the source. Keys that begin with `$` are ours, so one of the
    /// source's gets another `$` in front.
    pub(super) fn carried(&mut self, member: &Member<'_>, writer: Escapes) {
        let name = member.name();
        if name.starts_with('$') {
            self.named(&format!("${name}"), member.value, writer);
        } else {
            self.named(&name, member.value, writer);
        }
    }

    pub(super) fn absent(&mut self, keys: &[&'static str]) {
        if !keys.is_empty() {
            let list: Vec<String> = keys.iter().map(|key| format!("\"{key}\"")).collect();
            self.raw(ABSENT, format!("[{}]", list.join(",")).as_bytes());
        }
    }

    pub(super) fn into_object(mut self) -> Vec<u8> {
        if self.0.is_empty() {
            self.0.push(b'{');
        }
        self.0.push(b'}');
        self.0
    }
}

/// Returns the source's own key of a member of `ext`; `None` where it is ours.
pub(super) fn source_key<'a>(member: &Member<'a>) -> Option<Cow<'a, str>> {
    let name = member.name();
    if !name.starts_with('$') {
        return Some(name);
    }
    name.strip_prefix('$').filter(|rest| rest.starts_with('$')).map(|rest| Cow::Owned(rest.to_owned()))
}

/// Tells whether the source's own key of a member of `ext` is this one.
pub(super) fn is_source_key(member: &Member<'_>, key: &str) -> bool {
    if key.starts_with('$') { source_key(member).is_some_and(|name| name == key) } else { member.is(key) }
}
