//! Records by table: which key of a source record goes where in a payload, and
//! back. One table serves both directions, so that they cannot disagree.
//!
//! What has no place in its table, or not the kind of value that its place
//! takes, stands in `ext` under its own name; keys in another order than the
//! table's make a shape. What even that cannot give back (a key that stands
//! twice) is left to the record's residual.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use crate::model::ids::Seq;
use crate::model::json::{self, Escapes, Kind, Member, Style};
use crate::model::shape::{Order, Shapes};
use crate::model::time::{from_epoch, is_log_time, to_epoch};

/// The keys of one kind of record, in the order of its writer.
pub(super) struct Table(pub &'static [(&'static str, Goes)]);

/// Where the value of a key goes.
pub(super) enum Goes {
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
pub(super) enum Takes {
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

/// The `ext` key that names keys which rendering would write and the record
/// has not.
const ABSENT: &str = "$absent";

/// The `ext` key of what stands around an opened object.
const AROUND: &str = "$entry";

/// The member of a nested object that lists its keys, where they stand in
/// another order than usual.
const ORDER: &str = "order";

/// How events and ids of the source stand for each other.
pub(super) trait Ids {
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
pub(super) struct NoIds;

impl Ids for NoIds {
    fn event(&self, _: &[u8]) -> Option<Seq> {
        None
    }

    fn id(&mut self, _: Seq) -> Option<Vec<u8>> {
        None
    }
}

/// How an adapter's content is written as parts, and back.
pub(super) trait Content {
    /// Writes the list of parts from the values that the table gave to the
    /// content.
    fn encode(&self, values: &[(&'static str, &[u8])], writer: Escapes, out: &mut Vec<u8>) -> Beside;

    /// Writes the value of the key with this name, from the list of parts;
    /// nothing where the content has none. `marked` asks for a mark.
    fn decode(&self, name: &str, parts: &[u8], marked: &dyn Fn(&str) -> bool, to: To<'_>);
}

/// What a list of parts does not say about its content.
#[derive(Default)]
pub(super) struct Beside {
    /// Values that could not be taken: they go to `ext` as they are.
    pub left: Vec<&'static str>,
    /// Forms other than the usual: members of `ext` that begin with `$`.
    pub marks: Vec<&'static str>,
}

/// Where a value is rendered to.
pub(super) struct To<'o> {
    pub style: Style,
    pub depth: usize,
    pub out: &'o mut Vec<u8>,
}

/// Content of records that have none.
pub(super) struct NoContent;

impl Content for NoContent {
    fn encode(&self, _: &[(&'static str, &[u8])], _: Escapes, _: &mut Vec<u8>) -> Beside {
        Beside::default()
    }

    fn decode(&self, _: &str, _: &[u8], _: &dyn Fn(&str) -> bool, _: To<'_>) {}
}

/// A record taken apart by its table.
#[derive(Default)]
pub(super) struct Taken<'a> {
    members: Vec<(&'static str, &'a [u8])>,
    nodes: Vec<(&'static str, Seq)>,
    objects: Vec<(&'static str, Vec<u8>)>,
    content: Vec<(&'static str, &'a [u8])>,
    ext: Vec<Member<'a>>,
    around: Vec<Member<'a>>,
    absent: Vec<&'static str>,
    absent_around: Vec<&'static str>,
    /// The time in the log's form.
    pub ts: Option<&'a str>,
    /// The same, where the record says it in seconds.
    pub seconds: Option<String>,
}

/// What a record is put below, and in which escapes it is written.
#[derive(Clone, Copy)]
pub(super) struct Setting<'p> {
    pub writer: Escapes,
    /// The id of the record above.
    pub parent: ParentId<'p>,
}

/// What a record is expected to say of the one above it.
#[derive(Clone, Copy)]
pub(super) enum ParentId<'p> {
    /// Its id, or `null` at the root.
    Written(Option<&'p [u8]>),
    /// Nothing: what it says all the same is carried.
    Unwritten,
}

impl Table {
    fn row(&self, key: &str) -> Option<(usize, &'static Goes)> {
        self.0.iter().position(|(known, _)| *known == key).map(|at| (at, &self.0[at].1))
    }

    fn opens(&self) -> Option<(&'static str, &'static Table)> {
        self.0.iter().find_map(|(key, goes)| match goes {
            Goes::Open(table) => Some((*key, *table)),
            _ => None,
        })
    }

    /// The table's own order.
    pub(super) fn order(&self) -> Order {
        let inside = |goes: &Goes| match goes {
            Goes::Open(table) => Some(table.order()),
            _ => None,
        };
        let mut order = Order::default();
        for (key, goes) in self.0 {
            order.push(*key, inside(goes));
        }
        order
    }

    /// Takes a record apart. `None` where an object that the table opens is
    /// none.
    pub(super) fn take<'a>(&self, record: &[Member<'a>], setting: Setting<'_>, ids: &dyn Ids) -> Option<Taken<'a>> {
        let mut taken = Taken::default();
        let opened = self.opens();
        for member in record {
            let goes = self.row(&member.name()).map(|(_, goes)| goes);
            if let Some(Goes::Open(table)) = goes {
                if json::kind_of(member.value) != Kind::Object {
                    return None;
                }
                for inner in json::members(member.value) {
                    let goes = table.row(&inner.name()).map(|(_, goes)| goes);
                    if !taken.place(goes, inner, setting, ids) {
                        taken.ext.push(inner);
                    }
                }
                taken.absent = table.missing(member.value, setting.parent);
            } else if !taken.place(goes, *member, setting, ids) {
                match opened {
                    Some(_) => taken.around.push(*member),
                    None => taken.ext.push(*member),
                }
            }
        }
        let has = |key: &str| record.iter().any(|member| member.name() == key);
        if opened.is_some_and(|(key, _)| !has(key)) {
            return None;
        }
        let absent = self.0.iter().filter(|(key, goes)| goes.is_always_written(setting.parent) && !has(key)).map(|(key, _)| *key).collect();
        match opened {
            Some(_) => taken.absent_around = absent,
            None => taken.absent = absent,
        }
        Some(taken)
    }

    fn missing(&self, object: &[u8], parents: ParentId<'_>) -> Vec<&'static str> {
        let has = |key: &str| json::members(object).any(|member| member.name() == key);
        self.0.iter().filter(|(key, goes)| goes.is_always_written(parents) && !has(key)).map(|(key, _)| *key).collect()
    }

    /// Whether a record's keys stand as this table has them.
    fn is_usual(&self, record: &[Member<'_>]) -> bool {
        let mut next = 0;
        record.iter().all(|member| match self.row(&member.name()) {
            None => {
                next = usize::MAX;
                true
            }
            Some((at, goes)) => {
                let in_place = at >= next;
                next = at.saturating_add(1).max(next);
                in_place
                    && match goes {
                        Goes::Open(table) => table.is_usual(&json::members(member.value).collect::<Vec<_>>()),
                        _ => true,
                    }
            }
        })
    }

    fn order_of(&self, record: &[Member<'_>]) -> Order {
        let mut order = Order::default();
        for member in record {
            let name = member.name();
            let inside = match self.row(&name) {
                Some((_, Goes::Open(table))) => Some(table.order_of(&json::members(member.value).collect::<Vec<_>>())),
                _ => None,
            };
            order.push(name, inside);
        }
        order
    }

    /// The number of the shape that renders this record; 0 where it has none.
    pub(super) fn shape(&self, record: &[Member<'_>], shapes: &mut Shapes) -> usize {
        if self.is_usual(record) {
            return 0;
        }
        let order = self.order_of(record);
        shapes.number_beside(&self.order(), &order).unwrap_or(0)
    }
}

impl Goes {
    /// Whether rendering writes the key though the payload does not name it.
    fn is_always_written(&self, parents: ParentId<'_>) -> bool {
        match self {
            Goes::Constant(_) | Goes::Given(_) | Goes::Unless(..) | Goes::List => true,
            Goes::Parent => matches!(parents, ParentId::Written(_)),
            _ => false,
        }
    }
}

impl<'a> Taken<'a> {
    fn place(&mut self, goes: Option<&'static Goes>, member: Member<'a>, setting: Setting<'_>, ids: &dyn Ids) -> bool {
        let value = member.value;
        match goes {
            None | Some(Goes::Open(_) | Goes::Ext | Goes::List) => false,
            Some(Goes::Word(name, words)) => {
                // A word of ours in the source's mouth could not be told back.
                let fits = json::kind_of(value) == Kind::String
                    && !words.iter().any(|(_, ours)| ours.as_bytes() == value)
                    && !self.members.iter().any(|(known, _)| known == name);
                if fits {
                    let word = words.iter().find(|(theirs, _)| theirs.as_bytes() == value).map(|(_, ours)| ours.as_bytes());
                    self.members.push((name, word.unwrap_or(value)));
                }
                fits
            }
            Some(Goes::Constant(text)) => value == text.as_bytes(),
            Some(Goes::Given(name)) => ids.given(name).is_some_and(|given| given == value),
            Some(Goes::Unless(name, usual)) => {
                let fits = !self.members.iter().any(|(known, _)| known == name);
                if fits && value != usual.as_bytes() {
                    self.members.push((name, value));
                }
                fits
            }
            Some(Goes::To(name, takes)) => {
                let fits = takes.accepts(value) && !self.members.iter().any(|(known, _)| known == name);
                if fits {
                    self.members.push((name, value));
                }
                fits
            }
            Some(Goes::Time) => {
                let time = value.strip_prefix(b"\"").and_then(|v| v.strip_suffix(b"\"")).filter(|inner| is_log_time(inner));
                self.ts = self.ts.or(time.and_then(|time| std::str::from_utf8(time).ok()));
                time.is_some()
            }
            Some(Goes::Seconds) => {
                let time = from_epoch(value).filter(|_| self.seconds.is_none());
                let fits = time.is_some();
                self.seconds = self.seconds.take().or(time);
                fits
            }
            Some(Goes::Parent) => match setting.parent {
                ParentId::Written(id) => id.map_or(value == b"null", |id| id == value),
                ParentId::Unwritten => false,
            },
            Some(Goes::Node(name)) => match ids.event(value) {
                Some(seq) if json::kind_of(value) == Kind::String => {
                    self.nodes.push((name, seq));
                    true
                }
                _ => false,
            },
            Some(Goes::Content(name)) => {
                self.content.push((name, value));
                true
            }
            Some(Goes::Object(name, table)) => {
                let object = table.object(value, setting.writer);
                let fits = object.is_some();
                self.objects.extend(object.map(|object| (*name, object)));
                fits
            }
        }
    }

    /// Adds a member that the record does not say in these words.
    pub(super) fn say(&mut self, name: &'static str, value: Vec<u8>) {
        self.objects.push((name, value));
    }

    /// Adds a member that every payload has and the record has not.
    pub(super) fn supply(&mut self, name: &'static str, key: &'static str, value: Vec<u8>) {
        self.say(name, value);
        self.absent.push(key);
    }

    /// Says a member in other words than the record, whose own stand in `ext`.
    pub(super) fn reword(&mut self, name: &'static str, key: &'static [u8], value: &'static [u8]) {
        if let Some((_, said)) = self.members.iter_mut().find(|(known, _)| *known == name) {
            self.ext.push(Member { key, value: std::mem::replace(said, value) });
        }
    }

    /// Adds a member that names an event.
    pub(super) fn point(&mut self, name: &'static str, seq: Seq) {
        self.nodes.push((name, seq));
    }

    /// Whether a member names an event.
    pub(super) fn points(&self, name: &str) -> bool {
        self.nodes.iter().any(|(known, _)| *known == name)
    }

    /// The value of a member.
    pub(super) fn member(&self, name: &str) -> Option<&'a [u8]> {
        self.members.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    /// Writes the payload: its members in this order, then `ext`, then the
    /// number of its shape. `content` stands where the order names it.
    pub(super) fn push_payload(
        &mut self,
        order: &[&'static str],
        content: &dyn Content,
        source_keys: &Table,
        shape: usize,
        writer: Escapes,
        out: &mut Vec<u8>,
    ) {
        out.push(b'{');
        let mut first = true;
        let mut open = |name: &str, out: &mut Vec<u8>| {
            if !std::mem::take(&mut first) {
                out.push(b',');
            }
            json::push_string(name, out);
            out.push(b':');
        };
        let mut beside = Beside::default();
        for name in order {
            if *name == "content" {
                open(name, out);
                beside = content.encode(&self.content, writer, out);
            } else if let Some((_, value)) = self.members.iter().find(|(known, _)| known == name) {
                open(name, out);
                json::push_carried_value(value, writer, out);
            } else if let Some((_, seq)) = self.nodes.iter().find(|(known, _)| known == name) {
                open(name, out);
                out.extend_from_slice(seq.to_string().as_bytes());
            } else if let Some((_, object)) = self.objects.iter().find(|(known, _)| known == name) {
                open(name, out);
                out.extend_from_slice(object);
            }
        }
        let mut ext = Ext::default();
        for member in &self.ext {
            ext.carried(member, writer);
        }
        for name in beside.left {
            let key = source_keys.key_of_content(name);
            for (_, value) in self.content.iter().filter(|(held, _)| *held == name) {
                ext.named(key, value, writer);
            }
        }
        for mark in beside.marks {
            ext.raw(mark, b"true");
        }
        ext.absent(&self.absent);
        if !self.around.is_empty() || !self.absent_around.is_empty() {
            let mut around = Ext::default();
            for member in &self.around {
                around.carried(member, writer);
            }
            around.absent(&self.absent_around);
            ext.raw(AROUND, &around.into_object());
        }
        if !ext.0.is_empty() {
            open("ext", out);
            out.extend_from_slice(&ext.into_object());
        }
        if shape > 0 {
            open("shape", out);
            out.extend_from_slice(shape.to_string().as_bytes());
        }
        out.push(b'}');
    }
}

impl Table {
    fn key_of_content(&self, name: &str) -> &'static str {
        let inner = self.opens().map(|(_, table)| table);
        let rows = self.0.iter().chain(inner.into_iter().flat_map(|table| table.0));
        rows.into_iter().find_map(|(key, goes)| matches!(goes, Goes::Content(held) if *held == name).then_some(*key)).unwrap_or_default()
    }

    /// An object of the source as one of the payload: its members by this
    /// table, others in an `ext` of its own. `None` where it is no object, or
    /// cannot be given back.
    pub(super) fn object(&self, value: &[u8], writer: Escapes) -> Option<Vec<u8>> {
        if json::kind_of(value) != Kind::Object {
            return None;
        }
        let record: Vec<Member<'_>> = json::members(value).collect();
        let mut out = Vec::with_capacity(value.len() + 16);
        self.push_object(&record, &[], writer, &mut out).then_some(out)
    }

    /// The same, with members of our own in front.
    pub(super) fn push_object(&self, record: &[Member<'_>], front: &[(&str, &str)], writer: Escapes, out: &mut Vec<u8>) -> bool {
        let start = out.len();
        let mut taken: Vec<Option<&[u8]>> = vec![None; self.0.len()];
        let mut ext = Ext::default();
        let (mut next, mut usual) = (0, true);
        if has_a_name_twice(record) {
            return false;
        }
        for member in record {
            match self.row(&member.name()) {
                Some((at, goes)) => {
                    usual &= at >= next;
                    next = at.saturating_add(1).max(next);
                    match goes {
                        Goes::Constant(text) if member.value == text.as_bytes() => taken[at] = Some(member.value),
                        Goes::To(_, takes) if takes.accepts(member.value) => taken[at] = Some(member.value),
                        Goes::Object(_, table) if table.object(member.value, writer).is_some() => taken[at] = Some(member.value),
                        Goes::List if json::kind_of(member.value) == Kind::Array => taken[at] = Some(member.value),
                        _ => ext.carried(member, writer),
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
            .filter(|(key, goes)| goes.is_always_written(ParentId::Unwritten) && !record.iter().any(|member| member.name() == *key));
        ext.absent(&absent.map(|(key, _)| *key).collect::<Vec<_>>());
        out.push(b'{');
        for (name, value) in front {
            member_key(name, start, out);
            out.extend_from_slice(value.as_bytes());
        }
        for ((_, goes), value) in self.0.iter().zip(&taken) {
            let Some(value) = value else { continue };
            match goes {
                Goes::To(name, _) => {
                    member_key(name, start, out);
                    json::push_carried_value(value, writer, out);
                }
                Goes::Object(name, table) => {
                    member_key(name, start, out);
                    out.extend_from_slice(&table.object(value, writer).unwrap_or_default());
                }
                _ => {}
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
    pub(super) fn render_object(&self, payload: &[u8], to: To<'_>) {
        self.render_frame(payload, to);
    }

    /// The same for a document: its lists are left empty, and where their
    /// records would stand is returned, in order.
    pub(super) fn render_frame(&self, payload: &[u8], to: To<'_>) -> Vec<usize> {
        let To { style, depth, out } = to;
        let given: Vec<Member<'_>> = json::members(payload).collect();
        let get = |name: &str| given.iter().find(|member| member.name() == name).map(|member| member.value);
        let ext: Vec<Member<'_>> = get("ext").map(|ext| json::members(ext).collect()).unwrap_or_default();
        // By name, because a foreign object may have very many members.
        let named: HashMap<Cow<'_, str>, &Member<'_>> = ext.iter().map(|member| (member.name(), member)).collect();
        let absent: Vec<Cow<'_, str>> =
            named.get(ABSENT).map(|list| json::elements(list.value).map(json::unescape).collect()).unwrap_or_default();
        let order: Option<Vec<Cow<'_, str>>> = get(ORDER).map(|order| json::elements(order).map(json::unescape).collect());
        let keys = order.unwrap_or_else(|| self.0.iter().map(|(key, _)| Cow::Borrowed(*key)).collect());
        let mut lists = Vec::new();
        let mut object = Rendering::open(style, depth, out);
        for key in &keys {
            if let Some(member) = named.get(key) {
                object.member(member);
                continue;
            }
            let Some((_, goes)) = self.row(key).filter(|_| !absent.contains(key)) else { continue };
            match goes {
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
        let written: HashSet<&Cow<'_, str>> = keys.iter().collect();
        for member in ext.iter().filter(|member| !written.contains(&member.name()) && member.name() != ABSENT) {
            object.member(member);
        }
        object.close();
        lists
    }
}

fn has_a_name_twice(record: &[Member<'_>]) -> bool {
    const FEW: usize = 12;
    if record.len() <= FEW {
        return record.iter().enumerate().any(|(n, member)| record[..n].iter().any(|before| before.name() == member.name()));
    }
    let mut names = HashSet::with_capacity(record.len());
    !record.iter().all(|member| names.insert(member.name()))
}

fn member_key(name: &str, start: usize, out: &mut Vec<u8>) {
    if out.len() > start + 1 {
        out.push(b',');
    }
    json::push_string(name, out);
    out.push(b':');
}

/// A payload to be rendered.
pub(super) struct Rendered<'r> {
    pub payload: &'r [u8],
    pub ts: Option<&'r str>,
    /// The event above.
    pub parent: Seq,
    /// Whether the record names it.
    pub parents: Parents,
}

/// Whether the records of a file name the ones above them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Parents {
    Written,
    Unwritten,
}

impl Table {
    /// Renders a payload as the record that it was. `None` where it names a
    /// shape that the log does not have.
    pub(super) fn render(
        &self,
        event: &Rendered<'_>,
        shapes: &Shapes,
        content: &dyn Content,
        ids: &mut dyn Ids,
        style: Style,
        depth: usize,
        out: &mut Vec<u8>,
    ) -> Option<()> {
        let given: Vec<Member<'_>> = json::members(event.payload).collect();
        let get = |name: &str| given.iter().rev().find(|member| member.name() == name).map(|member| member.value);
        let shape = get("shape").and_then(|n| std::str::from_utf8(n).ok()).and_then(|n| n.parse().ok()).unwrap_or(0usize);
        let order = if shape == 0 { None } else { Some(shapes.get(shape)?) };
        let ext: Vec<Member<'_>> = get("ext").map(|ext| json::members(ext).collect()).unwrap_or_default();
        let find = |name: &str| ext.iter().find(|member| member.name() == name).map(|member| member.value);
        let around: Vec<Member<'_>> = find(AROUND).map(|around| json::members(around).collect()).unwrap_or_default();
        let scope = Scope { event, given: &given, content };
        let opened = self.opens();
        let (outer, inner) = if opened.is_some() { (&around, &ext) } else { (&ext, &around) };
        let mut object = Rendering::open(style, depth, out);
        let usual = order.is_none().then(|| self.order());
        let order = order.or(usual.as_ref())?;
        for (key, inside) in order.keys() {
            if let Some((open_key, table)) = opened.filter(|(open_key, _)| *open_key == key) {
                let To { style, depth, out } = object.key(open_key);
                let mut nested = Rendering::open(style, depth, out);
                let own = inside.is_none().then(|| table.order());
                let keys = inside.or(own.as_ref())?;
                for (key, _) in keys.keys() {
                    scope.key(table, key, inner, ids, &mut nested);
                }
                scope.rest(keys, inner, &mut nested);
                nested.close();
            } else {
                scope.key(self, key, outer, ids, &mut object);
            }
        }
        scope.rest(order, outer, &mut object);
        object.close();
        Some(())
    }
}

struct Scope<'r> {
    event: &'r Rendered<'r>,
    given: &'r [Member<'r>],
    content: &'r dyn Content,
}

impl Scope<'_> {
    fn get(&self, name: &str) -> Option<&[u8]> {
        self.given.iter().rev().find(|member| member.name() == name).map(|member| member.value)
    }

    fn key(&self, table: &Table, key: &str, ext: &[Member<'_>], ids: &mut dyn Ids, object: &mut Rendering<'_>) {
        if let Some(member) = ext.iter().find(|member| member.name() == key) {
            return object.member(member);
        }
        let is_absent = ext
            .iter()
            .find(|member| member.name() == ABSENT)
            .is_some_and(|list| json::elements(list.value).any(|name| json::unescape(name) == key));
        let Some((_, goes)) = table.row(key).filter(|_| !is_absent) else { return };
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
                    let marked = |mark: &str| ext.iter().any(|member| member.name() == mark);
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

    fn rest(&self, order: &Order, ext: &[Member<'_>], object: &mut Rendering<'_>) {
        for member in ext {
            let name = member.name();
            // No program of ours has keys that begin with `$`; a record that
            // has one is kept as a residual.
            if !order.contains(&name) && !name.starts_with('$') {
                object.member(member);
            }
        }
    }
}

/// Members of one object, rendered one behind the other.
pub(super) struct Rendering<'o> {
    style: Style,
    depth: usize,
    out: &'o mut Vec<u8>,
    empty: bool,
}

impl<'o> Rendering<'o> {
    pub(super) fn open(style: Style, depth: usize, out: &'o mut Vec<u8>) -> Rendering<'o> {
        out.push(b'{');
        Rendering { style, depth: depth + 1, out, empty: true }
    }

    fn before_key(&mut self) {
        if !std::mem::take(&mut self.empty) {
            self.out.extend_from_slice(self.style.comma());
        }
        self.style.push_break(self.depth, self.out);
    }

    /// Writes a key; its value goes to what is returned.
    pub(super) fn key(&mut self, name: &str) -> To<'_> {
        self.before_key();
        let mut key = Vec::with_capacity(name.len() + 2);
        json::push_string(name, &mut key);
        self.style.push_string(&key, self.out);
        self.out.extend_from_slice(self.style.colon());
        To { style: self.style, depth: self.depth, out: self.out }
    }

    /// Writes a key and a value of the log.
    pub(super) fn value(&mut self, name: &str, value: &[u8]) {
        let To { style, depth, out } = self.key(name);
        style.push_value_at(value, depth, out);
    }

    /// Writes a member of the log.
    pub(super) fn member(&mut self, member: &Member<'_>) {
        self.before_key();
        self.style.push_string(member.key, self.out);
        self.out.extend_from_slice(self.style.colon());
        self.style.push_value_at(member.value, self.depth, self.out);
    }

    fn mark(&self) -> (usize, bool) {
        (self.out.len(), self.empty)
    }

    fn back_to(&mut self, (len, empty): (usize, bool)) {
        self.out.truncate(len);
        self.empty = empty;
    }

    pub(super) fn close(self) {
        if !self.empty {
            self.style.push_break(self.depth - 1, self.out);
        }
        self.out.push(b'}');
    }
}

/// Members of an object under construction, in log form.
#[derive(Default)]
struct Ext(Vec<u8>);

impl Ext {
    fn key(&mut self, key: &str) {
        self.0.push(if self.0.is_empty() { b'{' } else { b',' });
        json::push_string(key, &mut self.0);
        self.0.push(b':');
    }

    fn raw(&mut self, key: &str, value: &[u8]) {
        self.key(key);
        self.0.extend_from_slice(value);
    }

    fn named(&mut self, key: &str, value: &[u8], writer: Escapes) {
        self.key(key);
        json::push_carried_value(value, writer, &mut self.0);
    }

    fn carried(&mut self, member: &Member<'_>, writer: Escapes) {
        self.named(&member.name(), member.value, writer);
    }

    fn absent(&mut self, keys: &[&'static str]) {
        if !keys.is_empty() {
            let list: Vec<String> = keys.iter().map(|key| format!("\"{key}\"")).collect();
            self.raw(ABSENT, format!("[{}]", list.join(",")).as_bytes());
        }
    }

    fn into_object(mut self) -> Vec<u8> {
        if self.0.is_empty() {
            self.0.push(b'{');
        }
        self.0.push(b'}');
        self.0
    }
}
