//! Records by table: which key of a source record goes where in a payload, and
//! back. One table serves both directions, so that they cannot disagree.
//!
//! What has no place in its table, or not the kind of value that its place
//! takes, stands in `ext` under its own name; keys in another order than the
//! table's make a shape. What even that cannot give back (a key that stands
//! twice) is left to the record's residual.

mod ext;
mod object;
mod render;
mod take;

use crate::model::ids::Seq;
use crate::model::json::{self, Escapes, Kind, Member, Style};
use crate::model::shape::{Order, Shapes};

pub(in crate::adapters) use object::has_a_name_twice;
pub(in crate::adapters) use render::{Parents, Rendered, Rendering};
pub(in crate::adapters) use take::Taken;

/// The keys of one kind of record, in the order of its writer.
pub(in crate::adapters) struct Table(pub &'static [(&'static str, Goes)]);

/// Where the value of a key goes.
pub(in crate::adapters) enum Goes {
    /// Always this JSON text, which need not be stored.
    Constant(&'static str),
    /// A member of the payload.
    To(&'static str, Takes),
    /// A member of the payload, which need not be stored where it has this
    /// JSON text.
    Unless(&'static str, &'static str),
    /// What the surroundings of the record say too, under this name: not
    /// stored where both agree.
    Given(&'static str),
    /// The same, with other words for some texts: theirs and ours.
    Word(&'static str, &'static [(&'static str, &'static str)]),
    /// No place of its own, but one in the order: it stands in `ext`.
    Ext,
    /// The event's time, where it is one in the log's form.
    Time,
    /// The event's time, given as seconds since the epoch.
    Seconds,
    /// The id of the record above.
    Parent,
    /// The id of another record: a member that names its event.
    Node(&'static str),
    /// The adapter puts it into the content, under this name.
    Content(&'static str),
    /// An object whose own keys go to the same payload.
    Open(&'static Table),
    /// An object that becomes one of the payload.
    Object(&'static str, &'static Table),
    /// A list of records, which are events of their own: only a document has
    /// such, and its recipe says what stands in the list.
    List,
}

/// Which values a place takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum Takes {
    Any,
    Text,
    Number,
    Flag,
    /// An object, a list or a text: what holds content.
    Holder,
}

impl Takes {
    fn accepts(self, value: &[u8]) -> bool {
        let kind = json::kind_of(value);
        match self {
            Takes::Any => true,
            Takes::Text => kind == Kind::String,
            Takes::Number => kind == Kind::Number,
            Takes::Flag => matches!(kind, Kind::True | Kind::False),
            Takes::Holder => matches!(kind, Kind::String | Kind::Array | Kind::Object),
        }
    }
}

/// How events and ids of the source stand for each other.
pub(in crate::adapters) trait Ids {
    /// The event of the record with this id (a JSON string).
    fn event(&self, id: &[u8]) -> Option<Seq>;
    /// The id (a JSON string) of an event's record.
    fn id(&mut self, seq: Seq) -> Option<Vec<u8>>;
    /// What the surroundings of the record say under this name, as JSON.
    fn given(&self, _: &str) -> Option<Vec<u8>> {
        None
    }
}

/// Records without ids.
pub(in crate::adapters) struct NoIds;

impl Ids for NoIds {
    fn event(&self, _: &[u8]) -> Option<Seq> {
        None
    }

    fn id(&mut self, _: Seq) -> Option<Vec<u8>> {
        None
    }
}

/// How an adapter's content is written as parts, and back.
pub(in crate::adapters) trait Content {
    /// Writes the list of parts from the values that the table gave to the
    /// content.
    fn encode(&self, values: &[(&'static str, &[u8])], writer: Escapes, out: &mut Vec<u8>) -> Beside;

    /// Writes the value of the key with this name, from the list of parts;
    /// nothing where the content has none. `marked` asks for a mark.
    fn decode(&self, name: &str, parts: &[u8], marked: &dyn Fn(&str) -> bool, to: To<'_>);
}

/// What a list of parts does not say about its content.
#[derive(Default)]
pub(in crate::adapters) struct Beside {
    /// Values that could not be taken: they go to `ext` as they are.
    pub left: Vec<&'static str>,
    /// Forms other than the usual: members of `ext` that begin with `$`.
    pub marks: Vec<&'static str>,
}

/// Where a value is rendered to.
pub(in crate::adapters) struct To<'o> {
    pub style: Style,
    pub depth: usize,
    pub out: &'o mut Vec<u8>,
}

/// Content of records that have none.
pub(in crate::adapters) struct NoContent;

impl Content for NoContent {
    fn encode(&self, _: &[(&'static str, &[u8])], _: Escapes, _: &mut Vec<u8>) -> Beside {
        Beside::default()
    }

    fn decode(&self, _: &str, _: &[u8], _: &dyn Fn(&str) -> bool, _: To<'_>) {}
}

/// What a record is put below, and in which escapes it is written.
#[derive(Clone, Copy)]
pub(in crate::adapters) struct Setting<'p> {
    pub writer: Escapes,
    /// The id of the record above.
    pub parent: ParentId<'p>,
}

/// What a record is expected to say of the one above it.
#[derive(Clone, Copy)]
pub(in crate::adapters) enum ParentId<'p> {
    /// Its id, or `null` at the root.
    Written(Option<&'p [u8]>),
    /// Nothing: what it says all the same is carried.
    Unwritten,
}

impl Table {
    /// The row of a key. Keys mostly stand in the order of the table: it is looked
    /// for behind the row of the key before, `next`, and only then before it.
    fn row_of(&self, member: &Member<'_>, next: &mut usize) -> Option<(usize, &'static Goes)> {
        let (before, behind) = self.0.split_at_checked(*next).unwrap_or((self.0, &[]));
        let is_it = |(known, _): &(&str, Goes)| member.is(known);
        let at = behind.iter().position(is_it).map(|at| at + before.len()).or_else(|| before.iter().position(is_it))?;
        *next = at + 1;
        Some((at, &self.0[at].1))
    }

    fn row(&self, key: &str) -> Option<(usize, &'static Goes)> {
        self.0.iter().position(|(known, _)| *known == key).map(|at| (at, &self.0[at].1))
    }

    fn opens(&self) -> Option<(&'static str, &'static Table)> {
        self.0.iter().find_map(|(key, goes)| goes.opened().map(|table| (*key, table)))
    }

    /// The table's own order.
    pub(in crate::adapters) fn order(&self) -> Order {
        let mut order = Order::default();
        for (key, goes) in self.0 {
            order.push(*key, goes.opened().map(Table::order));
        }
        order
    }

    /// Whether keys stand as this table has them; those of an object that it
    /// opens are not looked at.
    fn keys_are_usual(&self, record: &[Member<'_>]) -> bool {
        let (mut next, mut near) = (0, 0);
        record.iter().all(|member| match self.row_of(member, &mut near) {
            None => {
                next = usize::MAX;
                true
            }
            Some((at, _)) => {
                let in_place = at >= next;
                next = at.saturating_add(1).max(next);
                in_place
            }
        })
    }

    /// Whether a record's keys stand as this table has them.
    fn is_usual(&self, record: &[Member<'_>]) -> bool {
        self.keys_are_usual(record)
            && self.opens().is_none_or(|(key, table)| {
                let opened = record.iter().filter(|member| member.is(key));
                opened.into_iter().all(|member| table.keys_are_usual(&json::all_members(member.value)))
            })
    }

    fn order_of(&self, record: &[Member<'_>]) -> Order {
        let mut order = Order::default();
        for member in record {
            let name = member.name();
            let inside = match self.row(&name) {
                Some((_, Goes::Open(table))) => Some(table.order_of(&json::all_members(member.value))),
                _ => None,
            };
            order.push(name, inside);
        }
        order
    }

    /// The number of the shape that renders this record; 0 where it has none.
    pub(in crate::adapters) fn shape(&self, record: &[Member<'_>], shapes: &mut Shapes) -> usize {
        if self.is_usual(record) {
            return 0;
        }
        let order = self.order_of(record);
        shapes.number_beside(&self.order(), &order).unwrap_or(0)
    }
}

impl Goes {
    /// The table of an object whose members go each their own way.
    fn opened(&self) -> Option<&'static Table> {
        if let Goes::Open(table) = self { Some(table) } else { None }
    }

    /// Whether rendering writes the key though the payload does not name it.
    fn is_always_written(&self, parents: ParentId<'_>) -> bool {
        matches!(self, Goes::Constant(_) | Goes::Given(_) | Goes::Unless(..) | Goes::List)
            || (matches!(self, Goes::Parent) && matches!(parents, ParentId::Written(_)))
    }
}
