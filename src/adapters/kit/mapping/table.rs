//! The tables themselves: the keys of one kind of record, where the value of each
//! goes, and what a table asks of the adapter around it.

use std::borrow::Cow;

use crate::json::{self, Escapes, Kind, Member, Style, Value};
use crate::model::ids::Seq;
use crate::model::shape::{Order, Shapes};

/// The keys of one kind of record, in the order of its writer.
pub(in crate::adapters) struct Table(pub &'static [(&'static str, Target)]);

/// Where the value of a key goes.
pub(in crate::adapters) enum Target {
    /// Always this JSON text, which need not be stored.
    Constant(&'static str),
    /// A member of the payload.
    To(&'static str, ValueKind),
    /// A member of the payload, which need not be stored where it has this
    /// JSON text.
    Unless(&'static str, &'static str),
    /// What the surroundings of the record say too, under this name: not
    /// stored where both agree. An object inside a record has such only where the
    /// adapter says what agrees ([`Table::push_object_given`]).
    Given(&'static str),
    /// A member of the payload that is a text there, and a number in the record.
    NumberText(&'static str),
    /// An object of the payload whose member `total` is beside it, as a fact of its
    /// own: the total's name, the object's, and its table.
    Total(&'static str, &'static str, &'static Table),
    /// A member of the payload whose texts are said in the vocabulary of the log.
    Word(&'static Vocabulary),
    /// No place of its own, but one in the order: it goes to `ext`.
    Ext,
    /// The event's time, where it is one in the log's form.
    Time,
    /// The event's time, given as seconds since the epoch.
    Seconds,
    /// The id of the record above.
    Parent,
    /// The id of another record: a member that names its event.
    Node(&'static str),
    /// A value that may be repeated: a member of this name where it comes first, and
    /// later one of the second name, which names the event that has it.
    Shared(&'static str, &'static str),
    /// The adapter puts it into the content, under this name.
    Content(&'static str),
    /// An object whose own keys go to the same payload.
    Open(&'static Table),
    /// An object that becomes one of the payload.
    Object(&'static str, &'static Table),
    /// A member of the object that the payload has under the first name, where
    /// another key of the record gives that object; else it goes to `ext`.
    Inside(&'static str, &'static str, ValueKind),
    /// An object with these keys, all of them and in this order, whose members become
    /// members of the object around it. Only objects inside a record have such.
    Spread(&'static Table),
    /// A member of an object of the payload that the adapter has translated: it is
    /// taken and rendered as it is. Only objects inside a record have such.
    Translated(&'static str),
    /// A list of records, which are events of their own: only a document has
    /// such, and its recipe names the records of the list.
    List,
}

/// The words of a source for something that a log says in words of its own, so that
/// they mean the same in every format.
pub(in crate::adapters) struct Vocabulary {
    /// The member that has the log's word.
    pub name: &'static str,
    /// The member that has the source's own word, where the log's word does not say it.
    pub source_name: &'static str,
    /// The source's words and the log's, as JSON. Of several words for one, the
    /// first is the usual one.
    pub words: &'static [(&'static str, &'static str)],
    /// The log's word for all others, as JSON.
    pub other: &'static str,
}

impl Vocabulary {
    /// Returns the log's word for one of the source, and whether that one must be kept beside it.
    pub(in crate::adapters) fn translate(&self, source: &[u8]) -> (&'static [u8], bool) {
        let written: Cow<'_, [u8]> = match source.contains(&b'\\') {
            true => Cow::Owned(format!("\"{}\"", json::unescape(source)).into_bytes()),
            false => Cow::Borrowed(source),
        };
        let known = self.words.iter().find(|(theirs, _)| theirs.as_bytes() == written.as_ref());
        let word = known.map_or(self.other, |(_, ours)| ours).as_bytes();
        (word, self.usual(word) != Some(source))
    }

    /// Appends the log's word for one of the source as a member, and the source's own
    /// where it must be kept. The source's word is JSON as a log carries it.
    pub(in crate::adapters) fn push(&self, source: &[u8], out: &mut Vec<u8>) {
        let (word, is_kept) = self.translate(source);
        json::push_own_key(self.name, out);
        out.extend_from_slice(word);
        if is_kept {
            out.push(b',');
            json::push_own_key(self.source_name, out);
            out.extend_from_slice(source);
        }
    }

    /// Returns the source's word that a payload says.
    pub(in crate::adapters) fn source_word<'p>(&self, payload: Value<'p>) -> Option<&'p [u8]> {
        if let Some(word) = payload.first(self.source_name) {
            return Some(word.text());
        }
        let word = payload.first(self.name)?.text();
        Some(self.usual(word).unwrap_or(word))
    }

    /// Returns the source's usual word for one of the log.
    pub(super) fn usual(&self, word: &[u8]) -> Option<&'static [u8]> {
        self.words.iter().find(|(_, ours)| ours.as_bytes() == word).map(|(theirs, _)| theirs.as_bytes())
    }
}

/// Which values a place takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum ValueKind {
    Any,
    Text,
    Number,
    Flag,
    /// An object, a list or a text: what holds content.
    Holder,
}

impl ValueKind {
    pub(super) fn accepts(self, value: &[u8]) -> bool {
        let kind = json::kind_of(value);
        match self {
            ValueKind::Any => true,
            ValueKind::Text => kind == Kind::String,
            ValueKind::Number => kind == Kind::Number,
            ValueKind::Flag => matches!(kind, Kind::True | Kind::False),
            ValueKind::Holder => matches!(kind, Kind::String | Kind::Array | Kind::Object),
        }
    }
}

/// How events and ids of the source stand for each other.
pub(in crate::adapters) trait Ids {
    /// Returns the event of the record with this id (a JSON string).
    fn event(&self, id: &[u8]) -> Option<Seq>;
    /// Returns the id (a JSON string) of an event's record.
    fn id(&mut self, seq: Seq) -> Option<Vec<u8>>;
    /// Returns the first event that has this value, where it is to be stored once.
    fn first_with(&self, _: &[u8]) -> Option<Seq> {
        None
    }
    /// Returns the value that an event has under this name.
    fn value(&mut self, _: Seq, _: &str) -> Option<Vec<u8>> {
        None
    }
    /// Returns what the surroundings of the record say under this name, as JSON.
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
    fn encode(&self, values: &[(&'static str, &[u8])], writer: Escapes, out: &mut Vec<u8>) -> Leftovers;

    /// Writes the value of the key with this name, from the list of parts;
    /// nothing where the content has none. `marked` asks for a mark.
    fn decode(&self, name: &str, parts: &[u8], marked: &dyn Fn(&str) -> bool, to: To<'_>);
}

/// What a list of parts does not say about its content.
#[derive(Default)]
pub(in crate::adapters) struct Leftovers {
    /// Values that could not be taken: they go to `ext` as they are.
    pub values: Vec<&'static str>,
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
    fn encode(&self, _: &[(&'static str, &[u8])], _: Escapes, _: &mut Vec<u8>) -> Leftovers {
        Leftovers::default()
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

/// Whether the records of a file name the ones above them.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(in crate::adapters) enum Parents {
    Written,
    Unwritten,
}

impl Table {
    /// Returns the row of a key. Keys mostly stand in the order of the table: it is looked
    /// for after the row of the previous key, `next`, and only then before it.
    pub(super) fn row_of(&self, member: &Member<'_>, next: &mut usize) -> Option<(usize, &'static Target)> {
        let (before, after) = self.0.split_at_checked(*next).unwrap_or((self.0, &[]));
        let is_it = |(known, _): &(&str, Target)| member.is(known);
        let at = after.iter().position(is_it).map(|at| at + before.len()).or_else(|| before.iter().position(is_it))?;
        *next = at + 1;
        Some((at, &self.0[at].1))
    }

    pub(super) fn row(&self, key: &str) -> Option<(usize, &'static Target)> {
        self.0.iter().position(|(known, _)| *known == key).map(|at| (at, &self.0[at].1))
    }

    pub(super) fn opens(&self) -> Option<(&'static str, &'static Table)> {
        self.0.iter().find_map(|(key, target)| target.opened().map(|table| (*key, table)))
    }

    /// Returns the table's own order.
    pub(in crate::adapters) fn order(&self) -> Order {
        let mut order = Order::default();
        for (key, target) in self.0 {
            order.push(*key, target.opened().map(Table::order));
        }
        order
    }

    /// Tells whether keys stand as this table has them; those of an object that it
    /// opens are not looked at.
    pub(super) fn keys_are_usual(&self, record: &[Member<'_>]) -> bool {
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

    /// Tells whether a record's keys stand as this table has them.
    pub(super) fn is_usual(&self, record: &[Member<'_>]) -> bool {
        self.keys_are_usual(record)
            && self.opens().is_none_or(|(key, table)| {
                let opened = record.iter().filter(|member| member.is(key));
                opened.into_iter().all(|member| table.keys_are_usual(&json::all_members(member.value)))
            })
    }

    pub(super) fn order_of(&self, record: &[Member<'_>]) -> Order {
        let mut order = Order::default();
        for member in record {
            let name = member.name();
            let inside = match self.row(&name) {
                Some((_, Target::Open(table))) => Some(table.order_of(&json::all_members(member.value))),
                _ => None,
            };
            order.push(name, inside);
        }
        order
    }

    /// Returns the number of the shape that renders this record; 0 where it has none.
    pub(in crate::adapters) fn shape(&self, record: &[Member<'_>], shapes: &mut Shapes) -> usize {
        if self.is_usual(record) {
            return 0;
        }
        let order = self.order_of(record);
        shapes.number_beside(&self.order(), &order).unwrap_or(0)
    }
}

impl Target {
    /// Returns the table of an object whose members go each their own way.
    pub(super) fn opened(&self) -> Option<&'static Table> {
        if let Target::Open(table) = self { Some(table) } else { None }
    }

    /// Tells whether rendering writes the key though the payload does not name it.
    pub(super) fn is_always_written(&self, parents: ParentId<'_>) -> bool {
        matches!(self, Target::Constant(_) | Target::Given(_) | Target::Unless(..) | Target::List)
            || (matches!(self, Target::Parent) && matches!(parents, ParentId::Written(_)))
    }
}
