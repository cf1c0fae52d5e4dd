//! A payload back to the record that it was.

use crate::model::ids::Seq;
use crate::model::json::{self, Member, Style};
use crate::model::shape::{Order, Shapes};
use crate::model::time::to_epoch;

use super::ext::{ABSENT, AROUND, is_source_key, source_key};
use super::{Content, Goes, Ids, Table, To};

/// A payload to be rendered.
pub(in crate::adapters) struct Rendered<'r> {
    pub payload: &'r [u8],
    pub ts: Option<&'r str>,
    /// The event above.
    pub parent: Seq,
    /// Whether the record names it.
    pub parents: Parents,
}

/// Whether the records of a file name the ones above them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::adapters) enum Parents {
    Written,
    Unwritten,
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

    /// The same for a payload whose members are known already.
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
        keys.each(|key, goes, inside| match opened.filter(|(open_key, _)| *open_key == key) {
            None => scope.key(goes, key, outer, ids, &mut object),
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
    /// Each key with where its value goes, if it has a place of its own, and the
    /// order of what is inside it.
    fn each(&self, mut f: impl FnMut(&str, Option<&'static Goes>, Option<&'k Order>)) {
        match self.shaped {
            Some(order) => order.keys().for_each(|(key, inside)| f(key, self.table.row(key).map(|(_, goes)| goes), inside)),
            None => self.table.0.iter().for_each(|(key, goes)| f(key, Some(goes), None)),
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

    /// An object that a table opens.
    fn opened(&self, keys: &Keys<'_>, ext: &[Member<'_>], ids: &mut dyn Ids, to: To<'_>) {
        let To { style, depth, out } = to;
        let mut object = Rendering::open(style, depth, out);
        keys.each(|key, goes, _| self.key(goes, key, ext, ids, &mut object));
        self.rest(keys, ext, &mut object);
        object.close();
    }

    fn key(&self, goes: Option<&Goes>, key: &str, ext: &[Member<'_>], ids: &mut dyn Ids, object: &mut Rendering<'_>) {
        // Of equal keys the last counts, as every loader has it.
        if let Some(member) = ext.iter().rev().find(|member| is_source_key(member, key)) {
            return object.value(key, member.value);
        }
        let is_absent = ext
            .iter()
            .find(|member| member.is(ABSENT))
            .is_some_and(|list| json::elements(list.value).any(|name| json::unescape(name) == key));
        let Some(goes) = goes.filter(|_| !is_absent) else { return };
        match goes {
            Goes::Constant(text) => object.value(key, text.as_bytes()),
            Goes::To(name, _) => {
                if let Some(value) = self.get(name) {
                    object.value(key, value);
                }
            }
            Goes::Unless(name, usual) => object.value(key, self.get(name).unwrap_or(usual.as_bytes())),
            Goes::Given(name) => {
                if let Some(value) = ids.given(name) {
                    object.value(key, &value);
                }
            }
            Goes::Seconds => {
                if let Some(number) = self.event.ts.and_then(to_epoch) {
                    object.value(key, number.as_bytes());
                }
            }
            Goes::Time => {
                if let Some(ts) = self.event.ts {
                    let To { out, .. } = object.key(key);
                    out.push(b'"');
                    out.extend_from_slice(ts.as_bytes());
                    out.push(b'"');
                }
            }
            Goes::Word(name, words) => {
                if let Some(value) = self.get(name) {
                    let word = words.iter().find(|(_, ours)| ours.as_bytes() == value).map(|(theirs, _)| theirs.as_bytes());
                    object.value(key, word.unwrap_or(value));
                }
            }
            Goes::Parent if self.event.parents == Parents::Unwritten => {}
            Goes::Parent if self.event.parent.is_root() => object.value(key, b"null"),
            Goes::Parent => {
                let id = ids.id(self.event.parent);
                object.value(key, id.as_deref().unwrap_or(b"null"));
            }
            Goes::Node(name) => {
                let seq = self.get(name).and_then(|n| std::str::from_utf8(n).ok()).and_then(|n| n.parse().ok()).map(Seq::new);
                if let Some(id) = seq.and_then(|seq| ids.id(seq)) {
                    object.value(key, &id);
                }
            }
            Goes::Content(name) => {
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
            Goes::Object(name, inner) => {
                if let Some(value) = self.get(name) {
                    inner.render_object(value, object.key(key));
                }
            }
            Goes::Open(_) | Goes::Ext | Goes::List => {}
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

/// Members of one object, rendered one behind the other.
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
