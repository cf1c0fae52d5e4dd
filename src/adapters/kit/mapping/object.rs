//! Objects inside a record, and whole documents, as objects of a payload.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::json::{self, Escapes, Kind, Member};

use super::ext::{ABSENT, Ext, source_key};
use super::render::Rendering;
use super::table::{ParentId, Table, Target, To};

/// The member of a nested object that lists its keys, where they stand in
/// another order than usual.
const ORDER: &str = "order";

/// The member of a sum's parts that is told beside them.
const TOTAL: &str = "total";
const QUOTED_TOTAL: &[u8] = b"\"total\"";

impl Table {
    /// Returns an object of the source as one of the payload: its members by this
    /// table, others in an `ext` of its own. `None` where it is not an object, or
    /// cannot be given back.
    pub(in crate::adapters) fn object(&self, value: &[u8], writer: Escapes) -> Option<Vec<u8>> {
        if json::kind_of(value) != Kind::Object {
            return None;
        }
        let record: Vec<Member<'_>> = json::all_members(value);
        let mut out = Vec::with_capacity(value.len() + 16);
        self.push_object(&record, &[], writer, &mut out).then_some(out)
    }

    /// Appends an object of the source as one of the payload, with members of our own
    /// before its own. `false` where it cannot be given back.
    pub(in crate::adapters) fn push_object(
        &self,
        record: &[Member<'_>],
        front: &[(&'static str, &str)],
        writer: Escapes,
        out: &mut Vec<u8>,
    ) -> bool {
        self.push_object_given(record, front, &|_, _| false, writer, out)
    }

    /// Does what [`Table::push_object`] does, where the surroundings of the object say
    /// some of its values too: `is_given` tells whether they say this value under this
    /// name. To render it, these values are among the members that are known already.
    pub(in crate::adapters) fn push_object_given(
        &self,
        record: &[Member<'_>],
        front: &[(&'static str, &str)],
        is_given: &dyn Fn(&str, &[u8]) -> bool,
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
                Some((at, target)) => {
                    usual &= at >= next;
                    next = at.saturating_add(1).max(next);
                    taken[at] = target.takes_whole(member.value, is_given, writer);
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
        let absent = self
            .0
            .iter()
            .filter(|(key, target)| target.is_always_written(ParentId::Unwritten) && !record.iter().any(|member| member.is(key)));
        ext.absent(&absent.map(|(key, _)| *key).collect::<Vec<_>>());
        out.push(b'{');
        for (name, value) in front {
            member_key(name, start, out);
            out.extend_from_slice(value.as_bytes());
        }
        for ((_, target), value) in self.0.iter().zip(&taken) {
            let Some(value) = value else { continue };
            if let Target::To(name, _) = target {
                member_key(name, start, out);
                json::push_carried_value(value, writer, out);
            } else if let Target::Object(name, _) | Target::Translated(name) = target {
                member_key(name, start, out);
                out.extend_from_slice(value);
            } else if let Target::Spread(table) = target {
                for (member, (_, target)) in json::members(value).zip(table.0) {
                    if let Target::To(name, _) = target {
                        member_key(name, start, out);
                        json::push_carried_value(member.value, writer, out);
                    }
                }
            } else if let Target::Total(total, parts, _) = target {
                let members = json::all_members(value);
                if let Some(member) = members.iter().find(|member| member.is(TOTAL)) {
                    member_key(total, start, out);
                    out.extend_from_slice(member.value);
                }
                member_key(parts, start, out);
                push_members(members.iter().filter(|member| !member.is(TOTAL)), out);
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

    /// Renders an object of the payload whose members are known already.
    pub(in crate::adapters) fn render_opened_object(&self, given: &[Member<'_>], to: To<'_>) {
        self.render_opened_frame(given, to);
    }

    /// Renders a document: its lists are left empty, and the places where their
    /// records would go are returned, in order.
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
            self.0.iter().for_each(|(key, target)| target.render_into(key, &get, &mut object, &mut lists));
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
            } else if let Some((_, target)) = self.row(key).filter(|_| !absent.contains(key)) {
                target.render_into(key, &get, &mut object, &mut lists);
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

impl Table {
    /// Tells whether an object has the keys of this table, all of them and in this order,
    /// with values that their places take.
    fn is_spread_by(&self, value: &[u8]) -> bool {
        if json::kind_of(value) != Kind::Object {
            return false;
        }
        let members = json::all_members(value);
        let fits = |(member, (key, target)): (&Member<'_>, &(&str, Target))| {
            member.is(key) && matches!(target, Target::To(_, takes) if takes.accepts(member.value))
        };
        members.len() == self.0.len() && members.iter().zip(self.0).all(fits)
    }
}

/// Returns the members of an object as `JSON.parse` has them: each name once, where it
/// stood first, with the value that it has last.
pub(in crate::adapters) fn last_of_each<'a>(members: &[Member<'a>]) -> Vec<Member<'a>> {
    let mut found: Vec<Member<'a>> = Vec::with_capacity(members.len());
    let mut at: HashMap<Cow<'_, str>, usize> = HashMap::new();
    for member in members {
        match at.get(&member.name()) {
            Some(place) => found[*place].value = member.value,
            None => {
                at.insert(member.name(), found.len());
                found.push(*member);
            }
        }
    }
    found
}

/// Tells whether an object has a key twice.
pub(in crate::adapters) fn has_a_name_twice(record: &[Member<'_>]) -> bool {
    const FEW: usize = 12;
    if record.len() <= FEW && !record.iter().any(Member::is_escaped) {
        return record.iter().enumerate().any(|(n, member)| record[..n].iter().any(|before| before.key == member.key));
    }
    let mut names = HashSet::with_capacity(record.len());
    !record.iter().all(|member| names.insert(member.name()))
}

impl Target {
    /// Writes what an object of the payload has for this key; where a list's
    /// records would stand is noted.
    fn render_into<'v>(&self, key: &str, get: &impl Fn(&str) -> Option<&'v [u8]>, object: &mut Rendering<'_>, lists: &mut Vec<usize>) {
        match self {
            Target::Constant(text) => object.value(key, text.as_bytes()),
            Target::To(name, _) => {
                if let Some(value) = get(name) {
                    object.value(key, value);
                }
            }
            Target::Object(name, table) => {
                if let Some(value) = get(name) {
                    table.render_object(value, object.key(key));
                }
            }
            Target::Total(total, parts, table) => match (get(parts), get(total)) {
                (Some(parts), total) => {
                    let total = total.map(|value| Member { key: QUOTED_TOTAL, value });
                    let members: Vec<Member<'_>> = json::all_members(parts).into_iter().chain(total).collect();
                    table.render_opened_object(&members, object.key(key));
                }
                // Older logs have the object with its total.
                (None, Some(whole)) => table.render_object(whole, object.key(key)),
                (None, None) => {}
            },
            Target::List => {
                let To { out, .. } = object.key(key);
                out.push(b'[');
                lists.push(out.len());
                out.push(b']');
            }
            Target::Unless(name, usual) => object.value(key, get(name).unwrap_or(usual.as_bytes())),
            Target::Translated(name) => {
                if let Some(value) = get(name) {
                    object.key(key).out.extend_from_slice(value);
                }
            }
            Target::Given(name) => {
                if let Some(value) = get(name) {
                    object.value(key, value);
                }
            }
            Target::Spread(table) => {
                let first = table.0.iter().find_map(|(_, target)| if let Target::To(name, _) = target { get(name) } else { None });
                if first.is_some() {
                    let To { style, depth, out } = object.key(key);
                    let mut inner = Rendering::open(style, depth, out);
                    table.0.iter().for_each(|(key, target)| target.render_into(key, get, &mut inner, lists));
                    inner.close();
                }
            }
            Target::Time | Target::Inside(..) | Target::Seconds | Target::Ext | Target::Word(_) | Target::NumberText(_) => {}
            Target::Parent | Target::Node(_) | Target::Shared(..) | Target::Content(_) | Target::Open(_) => {}
        }
    }

    /// Returns what goes into an object of the payload, where a value has a place of its
    /// own there, all of it: an object as it will stand there, else the value.
    fn takes_whole<'v>(&self, value: &'v [u8], is_given: &dyn Fn(&str, &[u8]) -> bool, writer: Escapes) -> Option<Cow<'v, [u8]>> {
        let fits = if let Target::Object(_, table) | Target::Total(_, _, table) = self {
            return table.object(value, writer).map(Cow::Owned);
        } else if let Target::Given(name) = self {
            is_given(name, value)
        } else if let Target::Spread(table) = self {
            table.is_spread_by(value)
        } else if let Target::Constant(text) = self {
            value == text.as_bytes()
        } else if let Target::To(_, takes) = self {
            takes.accepts(value)
        } else {
            matches!(self, Target::List | Target::Translated(_)) && json::kind_of(value) == Kind::Array
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

fn push_members<'m>(members: impl Iterator<Item = &'m Member<'m>>, out: &mut Vec<u8>) {
    out.push(b'{');
    for (n, member) in members.enumerate() {
        if n > 0 {
            out.push(b',');
        }
        out.extend_from_slice(member.key);
        out.push(b':');
        out.extend_from_slice(member.value);
    }
    out.push(b'}');
}
