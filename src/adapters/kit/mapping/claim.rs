//! A record claimed by its table, and written as a payload.

use crate::json::{self, Escapes, Kind, Member};
use crate::model::ids::Seq;
use crate::model::shape::Shapes;
use crate::model::time::{from_epoch, is_log_time};

use super::ext::{AROUND, Ext};
use super::object::has_a_name_twice;
use super::table::{Content, Ids, Leftovers, ParentId, Setting, Table, Target, Vocabulary};

/// What a table claims of a record, key by key, and what it leaves over.
#[derive(Default)]
pub(in crate::adapters) struct Claim<'a> {
    members: Vec<(&'static str, &'a [u8])>,
    nodes: Vec<(&'static str, Seq)>,
    objects: Vec<(&'static str, Vec<u8>)>,
    content: Vec<(&'static str, &'a [u8])>,
    /// Members of objects: the object, the member and the record's own key and value.
    inside: Vec<(&'static str, &'static str, Member<'a>)>,
    ext: Vec<Member<'a>>,
    around: Vec<Member<'a>>,
    absent: Vec<&'static str>,
    absent_around: Vec<&'static str>,
    /// The members of the object that the table opens.
    opened: Vec<Member<'a>>,
    /// The value that later records may share.
    pub first: Option<&'a [u8]>,
    /// The time in the log's form.
    pub ts: Option<&'a str>,
    /// The time in the log's form, where the record gives it in seconds.
    pub seconds: Option<String>,
}

impl Table {
    /// Claims the members of a record of which the table opens nothing. `None` where it does.
    pub(in crate::adapters) fn claim<'a>(&self, record: &[Member<'a>], setting: Setting<'_>, ids: &dyn Ids) -> Option<Claim<'a>> {
        if self.opens().is_some() { None } else { self.claim_opened(record, Vec::new(), setting, ids) }
    }

    /// Claims the members of a record that has no key twice; `inner` are the members of
    /// the object that the table opens. `None` where that is not an object.
    pub(in crate::adapters) fn claim_opened<'a>(
        &self,
        record: &[Member<'a>],
        inner: Vec<Member<'a>>,
        setting: Setting<'_>,
        ids: &dyn Ids,
    ) -> Option<Claim<'a>> {
        // Most records need no more.
        let mut claim = Claim { members: Vec::with_capacity(8), ext: Vec::with_capacity(4), ..Claim::default() };
        let opened = self.opens();
        let mut next = 0;
        for member in record {
            let target = self.row_of(member, &mut next).map(|(_, target)| target);
            if let Some(Target::Open(table)) = target {
                if json::kind_of(member.value) != Kind::Object {
                    return None;
                }
                let mut next = 0;
                for inner in &inner {
                    let target = table.row_of(inner, &mut next).map(|(_, target)| target);
                    if !claim.place(target, *inner, setting, ids) {
                        claim.ext.push(*inner);
                    }
                }
                claim.absent = table.missing(&inner, setting.parent);
            } else if !claim.place(target, *member, setting, ids) {
                match opened {
                    Some(_) => claim.around.push(*member),
                    None => claim.ext.push(*member),
                }
            }
        }
        let has = |key: &str| record.iter().any(|member| member.is(key));
        if opened.is_some_and(|(key, _)| !has(key)) {
            return None;
        }
        let absent =
            self.0.iter().filter(|(key, target)| target.is_always_written(setting.parent) && !has(key)).map(|(key, _)| *key).collect();
        match opened {
            Some(_) => claim.absent_around = absent,
            None => claim.absent = absent,
        }
        claim.opened = inner;
        for (object, name, member) in std::mem::take(&mut claim.inside) {
            if !claim.put_inside(object, name, member.value, setting.writer) {
                if opened.is_some() { claim.around.push(member) } else { claim.ext.push(member) }
            }
        }
        Some(claim)
    }

    fn missing(&self, object: &[Member<'_>], parents: ParentId<'_>) -> Vec<&'static str> {
        let has = |key: &str| object.iter().any(|member| member.is(key));
        self.0.iter().filter(|(key, target)| target.is_always_written(parents) && !has(key)).map(|(key, _)| *key).collect()
    }

    fn key_of_content(&self, name: &str) -> &'static str {
        let inner = self.opens().map(|(_, table)| table);
        let rows = self.0.iter().chain(inner.into_iter().flat_map(|table| table.0));
        rows.into_iter()
            .find_map(|(key, target)| matches!(target, Target::Content(held) if *held == name).then_some(*key))
            .unwrap_or_default()
    }
}

impl<'a> Claim<'a> {
    fn place(&mut self, target: Option<&'static Target>, member: Member<'a>, setting: Setting<'_>, ids: &dyn Ids) -> bool {
        let value = member.value;
        match target {
            None | Some(Target::Open(_) | Target::Ext | Target::List | Target::Spread(_) | Target::Translated(_) | Target::Total(..)) => {
                false
            }
            Some(Target::Word(vocabulary)) => {
                let fits = json::kind_of(value) == Kind::String && !self.members.iter().any(|(known, _)| *known == vocabulary.name);
                if fits {
                    let (word, is_kept) = vocabulary.translate(value);
                    self.members.push((vocabulary.name, word));
                    if is_kept {
                        self.members.push((vocabulary.source_name, value));
                    }
                }
                fits
            }
            Some(Target::Constant(text)) => value == text.as_bytes(),
            Some(Target::Given(name)) => ids.given(name).is_some_and(|given| given == value),
            Some(Target::Unless(name, usual)) => {
                let fits = !self.members.iter().any(|(known, _)| known == name);
                if fits && value != usual.as_bytes() {
                    self.members.push((name, value));
                }
                fits
            }
            Some(Target::To(name, takes)) => {
                let fits = takes.accepts(value) && !self.members.iter().any(|(known, _)| known == name);
                if fits {
                    self.members.push((name, value));
                }
                fits
            }
            Some(Target::NumberText(name)) => {
                let fits = json::kind_of(value) == Kind::Number;
                if fits {
                    self.objects.push((name, [b"\"", value, b"\""].concat()));
                }
                fits
            }
            Some(Target::Time) => {
                let time = value.strip_prefix(b"\"").and_then(|v| v.strip_suffix(b"\"")).filter(|inner| is_log_time(inner));
                self.ts = self.ts.or(time.and_then(|time| std::str::from_utf8(time).ok()));
                time.is_some()
            }
            Some(Target::Seconds) => {
                let time = from_epoch(value).filter(|_| self.seconds.is_none());
                let fits = time.is_some();
                self.seconds = self.seconds.take().or(time);
                fits
            }
            Some(Target::Parent) => match setting.parent {
                ParentId::Written(id) => id.map_or(value == b"null", |id| id == value),
                ParentId::Unwritten => false,
            },
            Some(Target::Node(name)) => match ids.event(value) {
                Some(seq) if json::kind_of(value) == Kind::String => {
                    self.nodes.push((name, seq));
                    true
                }
                _ => false,
            },
            Some(Target::Shared(name, reference)) => {
                match ids.first_with(value) {
                    Some(seq) => self.nodes.push((reference, seq)),
                    None => {
                        self.members.push((name, value));
                        self.first = Some(value);
                    }
                }
                true
            }
            Some(Target::Content(name)) => {
                self.content.push((name, value));
                true
            }
            Some(Target::Object(name, table)) => {
                let object = table.object(value, setting.writer);
                let fits = object.is_some();
                self.objects.extend(object.map(|object| (*name, object)));
                fits
            }
            Some(Target::Inside(object, name, takes)) => {
                let fits = takes.accepts(value);
                if fits {
                    self.inside.push((object, name, member));
                }
                fits
            }
        }
    }

    /// Adds a member to an object of the payload; `false` where the payload has no
    /// such object, which may come after the member in the record.
    fn put_inside(&mut self, object: &str, name: &'static str, value: &[u8], writer: Escapes) -> bool {
        let Some((_, out)) = self.objects.iter_mut().find(|(known, _)| *known == object) else { return false };
        if out.pop() != Some(b'}') {
            return false;
        }
        if out.len() > 1 {
            out.push(b',');
        }
        json::push_own_key(name, out);
        json::push_carried_value(value, writer, out);
        out.push(b'}');
        true
    }

    /// Tells whether the object that the table opens has a key twice.
    pub(in crate::adapters) fn opens_a_name_twice(&self) -> bool {
        has_a_name_twice(&self.opened)
    }

    /// Returns the number of the shape that renders this record; 0 where it has none.
    pub(in crate::adapters) fn shape(&self, table: &Table, record: &[Member<'_>], shapes: &mut Shapes) -> usize {
        let inner_is_usual = table.opens().is_none_or(|(_, inner)| inner.keys_are_usual(&self.opened));
        if inner_is_usual && table.keys_are_usual(record) { 0 } else { table.shape(record, shapes) }
    }

    /// Adds a member that the record does not say in these words.
    pub(in crate::adapters) fn say(&mut self, name: &'static str, value: Vec<u8>) {
        self.objects.push((name, value));
    }

    /// Adds a member that every payload has and the record has not.
    pub(in crate::adapters) fn supply(&mut self, name: &'static str, key: &'static str, value: Vec<u8>) {
        self.say(name, value);
        self.absent.push(key);
    }

    /// Says a member in other words than the record, whose own are kept in `ext`.
    pub(in crate::adapters) fn reword(&mut self, name: &'static str, key: &'static [u8], value: &'static [u8]) {
        if let Some((_, said)) = self.members.iter_mut().find(|(known, _)| *known == name) {
            self.ext.push(Member { key, value: std::mem::replace(said, value) });
        }
    }

    /// Gives a member of a vocabulary another word than the one that the source's
    /// stands for; the source's own word is kept beside it.
    pub(in crate::adapters) fn choose(&mut self, vocabulary: &Vocabulary, word: &'static [u8]) {
        let is_kept = self.members.iter().any(|(known, _)| *known == vocabulary.source_name);
        let Some((_, said)) = self.members.iter_mut().find(|(known, _)| *known == vocabulary.name) else { return };
        let usual = vocabulary.usual(std::mem::replace(said, word));
        if let Some(usual) = usual.filter(|_| !is_kept) {
            self.members.push((vocabulary.source_name, usual));
        }
    }

    /// Adds a member that names an event.
    pub(in crate::adapters) fn point(&mut self, name: &'static str, seq: Seq) {
        self.nodes.push((name, seq));
    }

    /// Tells whether a member names an event.
    pub(in crate::adapters) fn points(&self, name: &str) -> bool {
        self.nodes.iter().any(|(known, _)| *known == name)
    }

    /// Returns the value of a member.
    pub(in crate::adapters) fn member(&self, name: &str) -> Option<&'a [u8]> {
        self.members.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    /// Writes the payload: its members in this order, then `ext`, then the
    /// number of its shape. `content` comes where the order names it.
    pub(in crate::adapters) fn push_payload(
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
        let mut open = |name: &'static str, out: &mut Vec<u8>| {
            if !std::mem::take(&mut first) {
                out.push(b',');
            }
            json::push_own_key(name, out);
        };
        let mut left = Leftovers::default();
        for name in order {
            if *name == "content" {
                open(name, out);
                left = content.encode(&self.content, writer, out);
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
        for name in left.values {
            let key = source_keys.key_of_content(name);
            for (_, value) in self.content.iter().filter(|(held, _)| *held == name) {
                ext.named(key, value, writer);
            }
        }
        for mark in left.marks {
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
