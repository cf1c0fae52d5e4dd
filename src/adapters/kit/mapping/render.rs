//! A payload back to the record that it was.

use crate::json::{self, Member, Style};
use crate::model::ids::Seq;
use crate::model::shape::{Order, Shapes};
use crate::model::time::to_epoch;

use super::ext::{ABSENT, AROUND, is_source_key, source_key};
use super::table::{Content, Ids, Parents, Table, Target, To};

/// A payload to be rendered.
pub(in crate::adapters) struct Rendered<'r> {
    pub payload: &'r [u8],
    pub ts: Option<&'r str>,
    /// The event above.
    pub parent: Seq,
    /// Whether the record names it.
    pub parents: Parents,
}

impl Table {
    /// Renders a payload as the record that it was. `None` where it names a
    /// shape that the log does not have.
    pub(in crate::adapters) fn render(
        &self,
        event: &Rendered<'_>,
        shapes: &Shapes,
        content: &dyn Content,
        ids: &mut dyn Ids,
        to: To<'_>,
    ) -> Option<()> {
        let given: Vec<Member<'_>> = json::all_members(event.payload);
        self.render_members(event, &given, shapes, content, ids, to)
    }

    /// Renders a payload whose members are known already.
    pub(in crate::adapters) fn render_members(
        &self,
        event: &Rendered<'_>,
        given: &[Member<'_>],
        shapes: &Shapes,
        content: &dyn Content,
        ids: &mut dyn Ids,
        to: To<'_>,
    ) -> Option<()> {
        let To { style, depth, out } = to;
        let get = |name: &str| given.iter().rev().find(|member| member.is(name)).map(|member| member.value);
        let shape = get("shape").and_then(|n| std::str::from_utf8(n).ok()).and_then(|n| n.parse().ok()).unwrap_or(0usize);
        let shaped = if shape == 0 { None } else { Some(shapes.get(shape)?) };
        let ext: Vec<Member<'_>> = get("ext").map(json::all_members).unwrap_or_default();
        let find = |name: &str| ext.iter().find(|member| member.is(name)).map(|member| member.value);
        let around: Vec<Member<'_>> = find(AROUND).map(json::all_members).unwrap_or_default();
        let scope = Scope { event, given, content };
        let opened = self.opens();
        let (outer, inner) = if opened.is_some() { (&around, &ext) } else { (&ext, &around) };
        let mut object = Rendering::open(style, depth, out);
        let keys = Keys { table: self, shaped };
        keys.each(|key, target, inside| match opened.filter(|(open_key, _)| *open_key == key) {
            None => scope.key(target, key, outer, ids, &mut object),
            Some((open_key, table)) => scope.opened(&Keys { table, shaped: inside }, inner, ids, object.key(open_key)),
        });
        scope.rest(&keys, outer, &mut object);
        object.close();
        Some(())
    }
}

/// The keys of an object in order: those of a shape, or of the table itself.
struct Keys<'k> {
    table: &'k Table,
    shaped: Option<&'k Order>,
}

impl<'k> Keys<'k> {
    /// Each key with the place that its value goes to, if it has a place of its own, and the
    /// order of what is inside it.
    fn each(&self, mut f: impl FnMut(&str, Option<&'static Target>, Option<&'k Order>)) {
        match self.shaped {
            Some(order) => order.keys().for_each(|(key, inside)| f(key, self.table.row(key).map(|(_, target)| target), inside)),
            None => self.table.0.iter().for_each(|(key, target)| f(key, Some(target), None)),
        }
    }

    fn contains(&self, key: &str) -> bool {
        self.shaped.map_or_else(|| self.table.row(key).is_some(), |order| order.contains(key))
    }
}

struct Scope<'r> {
    event: &'r Rendered<'r>,
    given: &'r [Member<'r>],
    content: &'r dyn Content,
}

impl Scope<'_> {
    fn get(&self, name: &str) -> Option<&[u8]> {
        self.given.iter().rev().find(|member| member.is(name)).map(|member| member.value)
    }

    /// Returns the event that a member names.
    fn seq(&self, name: &str) -> Option<Seq> {
        self.get(name).and_then(|n| std::str::from_utf8(n).ok()).and_then(|n| n.parse().ok()).map(Seq::new)
    }

    /// An object that a table opens.
    fn opened(&self, keys: &Keys<'_>, ext: &[Member<'_>], ids: &mut dyn Ids, to: To<'_>) {
        let To { style, depth, out } = to;
        let mut object = Rendering::open(style, depth, out);
        keys.each(|key, target, _| self.key(target, key, ext, ids, &mut object));
        self.rest(keys, ext, &mut object);
        object.close();
    }

    fn key(&self, target: Option<&Target>, key: &str, ext: &[Member<'_>], ids: &mut dyn Ids, object: &mut Rendering<'_>) {
        // Of equal keys the last counts, as every loader has it.
        if let Some(member) = ext.iter().rev().find(|member| is_source_key(member, key)) {
            return object.value(key, member.value);
        }
        let is_absent = ext
            .iter()
            .find(|member| member.is(ABSENT))
            .is_some_and(|list| json::elements(list.value).any(|name| json::unescape(name) == key));
        let Some(target) = target.filter(|_| !is_absent) else { return };
        match target {
            Target::Constant(text) => object.value(key, text.as_bytes()),
            Target::To(name, _) => {
                if let Some(value) = self.get(name) {
                    object.value(key, value);
                }
            }
            Target::NumberText(name) => {
                if let Some(value) = self.get(name) {
                    object.value(key, unquoted(value));
                }
            }
            Target::Unless(name, usual) => object.value(key, self.get(name).unwrap_or(usual.as_bytes())),
            Target::Given(name) => {
                if let Some(value) = ids.given(name) {
                    object.value(key, &value);
                }
            }
            Target::Seconds => {
                if let Some(number) = self.event.ts.and_then(to_epoch) {
                    object.value(key, number.as_bytes());
                }
            }
            Target::Time => {
                if let Some(ts) = self.event.ts {
                    let To { out, .. } = object.key(key);
                    out.push(b'"');
                    out.extend_from_slice(ts.as_bytes());
                    out.push(b'"');
                }
            }
            Target::Word(vocabulary) => {
                if let Some(word) = self.get(vocabulary.source_name) {
                    object.value(key, word);
                } else if let Some(word) = self.get(vocabulary.name) {
                    // Older logs have the source's word in its place.
                    object.value(key, vocabulary.usual(word).unwrap_or(word));
                }
            }
            Target::Parent if self.event.parents == Parents::Unwritten => {}
            Target::Parent if self.event.parent.is_root() => object.value(key, b"null"),
            Target::Parent => {
                let id = ids.id(self.event.parent);
                object.value(key, id.as_deref().unwrap_or(b"null"));
            }
            Target::Node(name) => {
                if let Some(id) = self.seq(name).and_then(|seq| ids.id(seq)) {
                    object.value(key, &id);
                }
            }
            Target::Shared(name, reference) => {
                if let Some(value) = self.get(name) {
                    object.value(key, value);
                } else if let Some(value) = self.seq(reference).and_then(|seq| ids.value(seq, name)) {
                    object.value(key, &value);
                }
            }
            Target::Content(name) => {
                let parts = self.get("content").unwrap_or(b"[]");
                // A key without a value is taken back.
                let mark = object.mark();
                let to = object.key(key);
                let before = to.out.len();
                let wrote = {
                    let marked = |mark: &str| ext.iter().any(|member| member.is(mark));
                    self.content.decode(name, parts, &marked, To { style: to.style, depth: to.depth, out: to.out });
                    to.out.len() > before
                };
                if !wrote {
                    object.back_to(mark);
                }
            }
            Target::Object(name, inner) => {
                if let Some(value) = self.get(name) {
                    inner.render_object(value, object.key(key));
                }
            }
            Target::Inside(holder, name, _) => {
                let members = self.get(holder).map(json::all_members).unwrap_or_default();
                if let Some(member) = members.iter().find(|member| member.is(name)) {
                    object.value(key, member.value);
                }
            }
            Target::Open(_) | Target::Ext | Target::List | Target::Spread(_) | Target::Translated(_) | Target::Total(..) => {}
        }
    }

    fn rest(&self, keys: &Keys<'_>, ext: &[Member<'_>], object: &mut Rendering<'_>) {
        for member in ext {
            if let Some(name) = source_key(member).filter(|name| !keys.contains(name)) {
                object.value(&name, member.value);
            }
        }
    }
}

/// Returns a number that the log has as a text; older logs have the number.
pub(in crate::adapters) fn unquoted(value: &[u8]) -> &[u8] {
    value.strip_prefix(b"\"").and_then(|value| value.strip_suffix(b"\"")).unwrap_or(value)
}

/// Members of one object, rendered one after the other.
pub(in crate::adapters) struct Rendering<'o> {
    style: Style,
    depth: usize,
    out: &'o mut Vec<u8>,
    empty: bool,
}

impl<'o> Rendering<'o> {
    pub(in crate::adapters) fn open(style: Style, depth: usize, out: &'o mut Vec<u8>) -> Rendering<'o> {
        out.push(b'{');
        Rendering { style, depth: depth + 1, out, empty: true }
    }

    fn before_key(&mut self) {
        if !std::mem::take(&mut self.empty) {
            self.style.push_comma(self.out);
        }
        self.style.push_break(self.depth, self.out);
    }

    /// Writes a key; its value goes to what is returned.
    pub(in crate::adapters) fn key(&mut self, name: &str) -> To<'_> {
        self.before_key();
        self.style.push_name(name, self.out);
        self.style.push_colon(self.out);
        To { style: self.style, depth: self.depth, out: self.out }
    }

    /// Writes a key and a value of the log.
    pub(in crate::adapters) fn value(&mut self, name: &str, value: &[u8]) {
        let To { style, depth, out } = self.key(name);
        style.push_value_at(value, depth, out);
    }

    /// Writes a member of the log.
    pub(in crate::adapters) fn member(&mut self, member: &Member<'_>) {
        self.before_key();
        self.style.push_string(member.key, self.out);
        self.style.push_colon(self.out);
        self.style.push_value_at(member.value, self.depth, self.out);
    }

    fn mark(&self) -> (usize, bool) {
        (self.out.len(), self.empty)
    }

    fn back_to(&mut self, (len, empty): (usize, bool)) {
        self.out.truncate(len);
        self.empty = empty;
    }

    pub(in crate::adapters) fn close(self) {
        if !self.empty {
            self.style.push_break(self.depth - 1, self.out);
        }
        self.out.push(b'}');
    }
}
