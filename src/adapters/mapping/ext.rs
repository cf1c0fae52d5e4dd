//! What has no place of its own, beside what has.

use crate::model::json::{self, Escapes, Member};

/// The `ext` key that names keys which rendering would write and the record
/// has not.
pub(super) const ABSENT: &str = "$absent";

/// The `ext` key of what stands around an opened object.
pub(super) const AROUND: &str = "$entry";

/// Members of an object under construction, in log form.
#[derive(Default)]
pub(super) struct Ext(pub Vec<u8>);

impl Ext {
    pub(super) fn key(&mut self, key: &str) {
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

    pub(super) fn carried(&mut self, member: &Member<'_>, writer: Escapes) {
        self.named(&member.name(), member.value, writer);
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
