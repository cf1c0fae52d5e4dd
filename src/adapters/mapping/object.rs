//! Objects inside a record, and whole documents, as objects of a payload.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::model::json::{self, Escapes, Kind, Member};

use super::ext::{ABSENT, Ext, source_key};
use super::render::Rendering;
use super::{Goes, ParentId, Table, To};

/// The member of a nested object that lists its keys, where they stand in
/// another order than usual.
const ORDER: &str = "order";

impl Table {
    /// An object of the source as one of the payload: its members by this
    /// table, others in an `ext` of its own. `None` where it is no object, or
    /// cannot be given back.
    pub(in crate::adapters) fn object(&self, value: &[u8], writer: Escapes) -> Option<Vec<u8>> {
        if json::kind_of(value) != Kind::Object {
            return None;
        }
        let record: Vec<Member<'_>> = json::all_members(value);
        let mut out = Vec::with_capacity(value.len() + 16);
        self.push_object(&record, &[], writer, &mut out).then_some(out)
    }

    /// The same, with members of our own in front.
    pub(in crate::adapters) fn push_object(
        &self,
        record: &[Member<'_>],
        front: &[(&'static str, &str)],
        writer: Escapes,
        out: &mut Vec<u8>,
    ) -> bool {
        let start = out.len();
        let mut taken: Vec<Option<Cow<'_, [u8]>>> = vec![None; self.0.len()];
        let mut ext = Ext::default();
        let (mut next, mut near, mut usual) = (0, 0, true);
        if has_a_name_twice(record) {
            return false;
        }
        for member in record {
            match self.row_of(member, &mut near) {
                Some((at, goes)) => {
                    usual &= at >= next;
                    next = at.saturating_add(1).max(next);
                    taken[at] = goes.takes_whole(member.value, writer);
                    if taken[at].is_none() {
                        ext.carried(member, writer);
                    }
                }
                None => {
                    next = usize::MAX;
                    ext.carried(member, writer);
                }
            }
        }
        let absent =
            self.0.iter().filter(|(key, goes)| goes.is_always_written(ParentId::Unwritten) && !record.iter().any(|member| member.is(key)));
        ext.absent(&absent.map(|(key, _)| *key).collect::<Vec<_>>());
        out.push(b'{');
        for (name, value) in front {
            member_key(name, start, out);
            out.extend_from_slice(value.as_bytes());
        }
        for ((_, goes), value) in self.0.iter().zip(&taken) {
            let Some(value) = value else { continue };
            if let Goes::To(name, _) = goes {
                member_key(name, start, out);
                json::push_carried_value(value, writer, out);
            } else if let Goes::Object(name, _) = goes {
                member_key(name, start, out);
                out.extend_from_slice(value);
            }
        }
        if !ext.0.is_empty() {
            member_key("ext", start, out);
            out.extend_from_slice(&ext.into_object());
        }
        if !usual {
            member_key(ORDER, start, out);
            out.push(b'[');
            for (n, member) in record.iter().enumerate() {
                if n > 0 {
                    out.push(b',');
                }
                json::push_carried_string(member.key, writer, out);
            }
            out.push(b']');
        }
        out.push(b'}');
        true
    }

    /// The inverse of [`Table::object`].
    pub(in crate::adapters) fn render_object(&self, payload: &[u8], to: To<'_>) {
        self.render_frame(payload, to);
    }

    /// The same for an object whose members are known already.
    pub(in crate::adapters) fn render_opened_object(&self, given: &[Member<'_>], to: To<'_>) {
        self.render_opened_frame(given, to);
    }

    /// The same for a document: its lists are left empty, and where their
    /// records would stand is returned, in order.
    pub(in crate::adapters) fn render_frame(&self, payload: &[u8], to: To<'_>) -> Vec<usize> {
        self.render_opened_frame(&json::all_members(payload), to)
    }

    fn render_opened_frame(&self, given: &[Member<'_>], to: To<'_>) -> Vec<usize> {
        let To { style, depth, out } = to;
        let get = |name: &str| given.iter().find(|member| member.is(name)).map(|member| member.value);
        let ext: Vec<Member<'_>> = get("ext").map(json::all_members).unwrap_or_default();
        let mut lists = Vec::new();
        let mut object = Rendering::open(style, depth, out);
        let order = get(ORDER);
        if ext.is_empty() && order.is_none() {
            self.0.iter().for_each(|(key, goes)| goes.render_into(key, &get, &mut object, &mut lists));
            object.close();
            return lists;
        }
        // By name, because a foreign object may have very many members.
        let named: HashMap<Cow<'_, str>, &Member<'_>> =
            ext.iter().filter_map(|member| source_key(member).map(|name| (name, member))).collect();
        let absent = ext.iter().find(|member| member.name() == ABSENT);
        let absent: Vec<Cow<'_, str>> = absent.map(|list| json::elements(list.value).map(json::unescape).collect()).unwrap_or_default();
        let keys: Vec<Cow<'_, str>> = match order {
            Some(order) => json::elements(order).map(json::unescape).collect(),
            None => self.0.iter().map(|(key, _)| Cow::Borrowed(*key)).collect(),
        };
        for key in &keys {
            if let Some(member) = named.get(key) {
                object.value(key, member.value);
            } else if let Some((_, goes)) = self.row(key).filter(|_| !absent.contains(key)) {
                goes.render_into(key, &get, &mut object, &mut lists);
            }
        }
        let written: HashSet<&Cow<'_, str>> = keys.iter().collect();
        for member in &ext {
            if let Some(name) = source_key(member).filter(|name| !written.contains(name)) {
                object.value(&name, member.value);
            }
        }
        object.close();
        lists
    }
}

/// Whether a key stands twice in an object.
pub(in crate::adapters) fn has_a_name_twice(record: &[Member<'_>]) -> bool {
    const FEW: usize = 12;
    if record.len() <= FEW && !record.iter().any(Member::is_escaped) {
        return record.iter().enumerate().any(|(n, member)| record[..n].iter().any(|before| before.key == member.key));
    }
    let mut names = HashSet::with_capacity(record.len());
    !record.iter().all(|member| names.insert(member.name()))
}

impl Goes {
    /// Writes what an object of the payload has for this key; where a list's
    /// records would stand is noted.
    fn render_into<'v>(&self, key: &str, get: &impl Fn(&str) -> Option<&'v [u8]>, object: &mut Rendering<'_>, lists: &mut Vec<usize>) {
        match self {
            Goes::Constant(text) => object.value(key, text.as_bytes()),
            Goes::To(name, _) => {
                if let Some(value) = get(name) {
                    object.value(key, value);
                }
            }
            Goes::Object(name, table) => {
                if let Some(value) = get(name) {
                    table.render_object(value, object.key(key));
                }
            }
            Goes::List => {
                let To { out, .. } = object.key(key);
                out.push(b'[');
                lists.push(out.len());
                out.push(b']');
            }
            Goes::Unless(name, usual) => object.value(key, get(name).unwrap_or(usual.as_bytes())),
            Goes::Time | Goes::Seconds | Goes::Given(_) | Goes::Ext | Goes::Word(..) => {}
            Goes::Parent | Goes::Node(_) | Goes::Content(_) | Goes::Open(_) => {}
        }
    }

    /// What goes into an object of the payload, where a value has a place of its
    /// own there, all of it: an object as it will stand there, else the value.
    fn takes_whole<'v>(&self, value: &'v [u8], writer: Escapes) -> Option<Cow<'v, [u8]>> {
        let fits = if let Goes::Object(_, table) = self {
            return table.object(value, writer).map(Cow::Owned);
        } else if let Goes::Constant(text) = self {
            value == text.as_bytes()
        } else if let Goes::To(_, takes) = self {
            takes.accepts(value)
        } else {
            matches!(self, Goes::List) && json::kind_of(value) == Kind::Array
        };
        fits.then_some(Cow::Borrowed(value))
    }
}

fn member_key(name: &'static str, start: usize, out: &mut Vec<u8>) {
    if out.len() > start + 1 {
        out.push(b',');
    }
    json::push_own_key(name, out);
}
