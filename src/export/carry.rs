//! What a target cannot say and still brings along, in one extension member:
//! put there by an export, and taken back from a log of the exported session.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::adapters;
use crate::adapters::exporter::{Exporter, Kinship};
use crate::adapters::format::Format;
use crate::json::{self, Kind, Value};
use crate::log::LogView;
use crate::model::digest::sha256_hex;
use crate::model::event::EventKind;
use crate::model::ids::Seq;
use crate::model::stream::{LogAccess, ReadAt, StreamError};

use super::source::SourceEvent;
use super::understand::understand;

/// So many digits of a hash name a log or a record.
const DIGITS: usize = 16;

/// Which events a record of the export is made of, as indices of the path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Of no event: the export invented it, for this one if for any.
    Invented(Option<usize>),
    /// Of these; the first stands for it.
    Events(Vec<usize>),
}

/// Makes the extension members of a session: `origins` says which events each
/// record is made of, and `read` is what a reader of the target makes of the
/// records without these members.
#[must_use]
pub fn members(
    seal: &str,
    about: &[u8],
    events: &[SourceEvent],
    origins: &[Origin],
    read: &[SourceEvent],
    exporter: &dyn Exporter,
) -> Vec<String> {
    let log = &seal[..seal.len().min(DIGITS)];
    let mut primary: BTreeMap<usize, usize> = BTreeMap::new();
    for (record, origin) in origins.iter().enumerate() {
        if let Origin::Events(of) = origin
            && let Some(first) = of.first()
        {
            primary.entry(*first).or_insert(record);
        }
    }
    let mut members: Vec<String> = Vec::with_capacity(origins.len());
    for (n, (origin, read)) in origins.iter().zip(read).enumerate() {
        let mut member = format!("{{\"log\":\"{log}\"");
        let of = match origin {
            Origin::Invented(_) => {
                member.push_str(",\"ours\":true");
                None
            }
            Origin::Events(of) => of.first().copied(),
        };
        if let Some(event) = of.and_then(|of| events.get(of)) {
            member.push_str(&format!(",\"seq\":{},\"place\":{}", event.seq, of.unwrap_or_default()));
            if primary.get(&of.unwrap_or_default()) == Some(&n) {
                push_difference(event, read, exporter, &mut member);
            } else {
                member.push_str(",\"part\":true");
            }
        }
        member.push_str(&format!(",\"digest\":\"{}\"", digest(read, exporter)));
        if n == 0 {
            member.push_str(&format!(",\"session\":{}", String::from_utf8_lossy(about)));
            push_left_out(events, &primary, &mut member);
        }
        member.push('}');
        members.push(member);
    }
    members
}

/// Appends the events that no record stands for.
fn push_left_out(events: &[SourceEvent], primary: &BTreeMap<usize, usize>, member: &mut String) {
    let mut left_out = events.iter().enumerate().filter(|(n, _)| !primary.contains_key(n)).peekable();
    if left_out.peek().is_none() {
        return;
    }
    member.push_str(",\"events\":[");
    for (at, (n, event)) in left_out.enumerate() {
        if at > 0 {
            member.push(',');
        }
        // The place on the path tells events of one number apart.
        member.push_str(&format!("{{\"place\":{n},\"seq\":{}", event.seq));
        push_ts(event.ts.as_deref(), member);
        member.push_str(&format!(",\"type\":\"{}\",\"payload\":{}}}", event.kind.name(), String::from_utf8_lossy(&event.payload)));
    }
    member.push(']');
}

fn push_ts(ts: Option<&str>, member: &mut String) {
    match ts {
        Some(ts) => member.push_str(&format!(",\"ts\":\"{ts}\"")),
        None => member.push_str(",\"ts\":null"),
    }
}

/// Appends what the event has otherwise than a reader of the record says.
fn push_difference(event: &SourceEvent, read: &SourceEvent, exporter: &dyn Exporter, member: &mut String) {
    if event.ts != read.ts {
        push_ts(event.ts.as_deref(), member);
    }
    if event.kind != read.kind {
        member.push_str(&format!(",\"type\":\"{}\"", event.kind.name()));
    }
    let has = own_members(&read.payload, exporter);
    let mut rest = String::new();
    for wanted in Value::trusted(&event.payload).members() {
        let is_there = has.iter().any(|(key, value)| key == wanted.key() && value.as_slice() == wanted.value().text());
        if !is_there {
            let comma = if rest.is_empty() { "" } else { "," };
            rest.push_str(&format!("{comma}{}:{}", String::from_utf8_lossy(wanted.key()), String::from_utf8_lossy(wanted.value().text())));
        }
    }
    if !rest.is_empty() {
        member.push_str(&format!(",\"rest\":{{{rest}}}"));
    }
    let is_wanted = |key: &[u8]| Value::trusted(&event.payload).members().any(|wanted| wanted.key() == key);
    let unset: Vec<String> =
        has.iter().filter(|(key, _)| !is_wanted(key)).map(|(key, _)| String::from_utf8_lossy(key).into_owned()).collect();
    if !unset.is_empty() {
        member.push_str(&format!(",\"unset\":[{}]", unset.join(",")));
    }
}

/// The members of a payload as a reader of the target has them, without the
/// extension member and without the number of the record's key order, which the
/// extension member changes.
fn own_members(payload: &[u8], exporter: &dyn Exporter) -> Vec<(Vec<u8>, Vec<u8>)> {
    let value = Value::trusted(payload);
    let carried = exporter.carried(value).map(|carried| carried.text().to_vec());
    let mut members = Vec::new();
    for member in value.members().filter(|member| !member.is("shape")) {
        let text = match &carried {
            Some(carried) if member.is("ext") => without(member.value(), carried),
            _ => Some(member.value().text().to_vec()),
        };
        members.extend(text.map(|text| (member.key().to_vec(), text)));
    }
    members
}

/// An object without the member that has this text, at whatever depth; nothing
/// where it is left empty.
fn without(value: Value<'_>, carried: &[u8]) -> Option<Vec<u8>> {
    let mut out = vec![b'{'];
    for member in value.members() {
        let inside = member.value();
        let kept = if inside.text() == carried {
            None
        } else if inside.kind() == Kind::Object && memchr::memmem::find(inside.text(), carried).is_some() {
            without(inside, carried)
        } else {
            Some(inside.text().to_vec())
        };
        let Some(kept) = kept else { continue };
        if out.len() > 1 {
            out.push(b',');
        }
        out.extend_from_slice(member.key());
        out.push(b':');
        out.extend_from_slice(&kept);
    }
    out.push(b'}');
    (out.len() > 2).then_some(out)
}

/// What tells whether a record is as it was exported.
fn digest(read: &SourceEvent, exporter: &dyn Exporter) -> String {
    let mut text = Vec::new();
    text.extend_from_slice(read.kind.name().as_bytes());
    text.extend_from_slice(read.ts.as_deref().unwrap_or_default().as_bytes());
    for (key, value) in own_members(&read.payload, exporter) {
        text.extend_from_slice(&key);
        text.extend_from_slice(&json::normal_form(&value));
    }
    sha256_hex(&text)[..DIGITS].to_owned()
}

/// Gives back the events that an exported session is made of: a record that is
/// as it was exported is the event that it came from, whatever the target could
/// say of it; one that was changed since, or is new, is as it is. What came from
/// another format is shown as that one's program understands it, on its way to the
/// format `target`. `beside` is what stands beside the session, where its records
/// keep nothing.
///
/// # Errors
/// When a member that an export wrote is not valid.
pub fn originals(
    path: Vec<SourceEvent>,
    exporter: &dyn Exporter,
    target: &str,
    beside: &[Vec<u8>],
) -> Result<Vec<SourceEvent>, StreamError> {
    // The events with their places on the path that they had, and those that are new
    // with what they follow.
    let mut events: Vec<(usize, SourceEvent)> = Vec::with_capacity(path.len());
    let mut left_out: Vec<(usize, SourceEvent)> = Vec::new();
    let mut format: Option<Rc<str>> = None;
    let mut new: Vec<(Option<usize>, SourceEvent)> = Vec::new();
    let mut changed: Vec<(usize, SourceEvent)> = Vec::new();
    let mut last = None;
    let mut beside = Beside::of(beside);
    if let Some(first) = beside.members.first() {
        left_out.extend(left_out_events(Value::trusted(first))?);
        format = format_of(Value::trusted(first));
    }
    for event in path {
        let own = exporter.carried(Value::trusted(&event.payload)).map(unwrapped);
        if let Some(own) = &own {
            left_out.extend(left_out_events(Value::trusted(own))?);
            format = format_of(Value::trusted(own)).or(format);
        }
        let Some(member) = own.or_else(|| beside.next(&digest(&event, exporter))) else {
            new.push((last, event));
            continue;
        };
        let member = Value::trusted(&member);
        let is_unchanged = member.first("digest").is_some_and(|kept| kept.is_str(&digest(&event, exporter)));
        let [seq, place, part] = member.get_each(["seq", "place", "part"]);
        let (seq, place) = (seq.and_then(Value::parse).map(Seq::new), place.and_then(Value::parse));
        last = last.max(place);
        match (is_unchanged, seq, place) {
            (true, Some(seq), Some(place)) if part.is_none() => events.push((place, original(&event, seq, member, exporter)?)),
            // Ours, or a part of an event that another record stands for.
            (true, _, _) => {}
            (false, _, Some(place)) => changed.push((place, event)),
            (false, _, None) => new.push((last, event)),
        }
    }
    let records: BTreeSet<usize> = events.iter().chain(&changed).map(|(place, _)| *place).collect();
    events.append(&mut left_out);
    let events = understood(events, format, target)?;
    // What is new was said before the next record, and after what the target could
    // not say in front of that.
    let after = |last: Option<usize>| {
        let next = records.range(last.map_or(0, |last| last.saturating_add(1))..).next();
        next.map_or(usize::MAX, |next| *next)
    };
    let mut all: Vec<((usize, Rank), SourceEvent)> = Vec::with_capacity(events.len() + new.len() + changed.len());
    all.extend(new.into_iter().map(|(last, event)| ((after(last), Rank::New), event)));
    all.extend(events.into_iter().map(|(place, event)| ((place, Rank::Original), event)));
    all.extend(changed.into_iter().map(|(place, event)| ((place, Rank::Changed), event)));
    all.sort_by_key(|(place, _)| *place);
    Ok(all.into_iter().map(|(_, event)| event).collect())
}

/// The events of another format, in the order that they had, as its program
/// understands them on their way to the target.
fn understood(
    mut events: Vec<(usize, SourceEvent)>,
    format: Option<Rc<str>>,
    target: &str,
) -> Result<Vec<(usize, SourceEvent)>, StreamError> {
    events.sort_by_key(|(place, _)| *place);
    let (places, mut originals): (Vec<usize>, Vec<SourceEvent>) = events.into_iter().unzip();
    if let Some(exporter) = format.as_deref().and_then(adapters::by_id).and_then(Format::exporter) {
        understand(&mut originals, exporter, Kinship::of(format.as_deref().unwrap_or_default(), target))?;
    }
    for event in &mut originals {
        event.format.clone_from(&format);
    }
    Ok(places.into_iter().zip(originals).collect())
}

/// In which order events of one place come back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    New,
    Original,
    Changed,
}

/// Reads what an export put beside a session whose records keep nothing.
///
/// # Errors
/// When the log cannot be read.
pub fn beside<R: ReadAt>(log: &mut LogView<R>, exporter: &dyn Exporter) -> Result<Vec<Vec<u8>>, StreamError> {
    let mut members = Vec::new();
    for seq in (1..=log.last_followed().number()).map(Seq::new) {
        if log.kind(seq) == EventKind::Meta
            && let Some(member) = exporter.carried_beside(log.event(seq)?.value())
        {
            members.push(unwrapped(member));
        }
    }
    Ok(members)
}

/// The text of a member. A log carries a value with a member `$raw`, which may be
/// one of its own, as a text in another `$raw`; and a target may keep it as a text.
fn unwrapped(member: Value<'_>) -> Vec<u8> {
    let text = member.first(json::RAW_KEY).or_else(|| member.is_string().then_some(member));
    text.map_or_else(|| member.text().to_vec(), |text| text.to_str().into_owned().into_bytes())
}

/// The format that a session came from.
fn format_of(member: Value<'_>) -> Option<Rc<str>> {
    Some(Rc::from(&*member.first("session")?.first("format")?.to_str()))
}

/// The members that stand beside a session, by the records that they were made for.
struct Beside<'m> {
    members: &'m [Vec<u8>],
    by_digest: BTreeSet<(String, usize)>,
    /// Those before it are of records that are past.
    next: usize,
}

impl Beside<'_> {
    fn of(members: &[Vec<u8>]) -> Beside<'_> {
        let digest = |member: &Vec<u8>| Value::trusted(member).first("digest").map(|digest| digest.to_str().into_owned());
        let by_digest = members.iter().enumerate().filter_map(|(n, member)| Some((digest(member)?, n))).collect();
        Beside { members, by_digest, next: 0 }
    }

    /// The next one of a record that is as it was.
    fn next(&mut self, digest: &str) -> Option<Vec<u8>> {
        let (_, at) = self.by_digest.range((digest.to_owned(), self.next)..).next().filter(|(found, _)| found == digest)?;
        self.next = at + 1;
        Some(self.members[*at].clone())
    }
}

/// The events that no record stands for, with their places on the path.
fn left_out_events(member: Value<'_>) -> Result<Vec<(usize, SourceEvent)>, StreamError> {
    let mut events = Vec::new();
    for one in member.first("events").into_iter().flat_map(Value::elements) {
        let [place, seq, ts, kind, payload] = one.get_each(["place", "seq", "ts", "type", "payload"]);
        let place = place.and_then(Value::parse);
        let (Some(place), Some(seq), Some(kind), Some(payload)) = (place, seq.and_then(Value::parse).map(Seq::new), kind, payload) else {
            continue;
        };
        let ts = ts.filter(|ts| ts.is_string()).map(|ts| ts.to_str().into_owned());
        let kind = EventKind::from_name(kind.to_str().as_bytes());
        events.push((place, SourceEvent::from_payload(seq, kind, ts, payload.text().to_vec())?));
    }
    Ok(events)
}

fn original(event: &SourceEvent, seq: Seq, member: Value<'_>, exporter: &dyn Exporter) -> Result<SourceEvent, StreamError> {
    let [ts, kind, rest, unset] = member.get_each(["ts", "type", "rest", "unset"]);
    let ts = match ts {
        Some(ts) => ts.is_string().then(|| ts.to_str().into_owned()),
        None => event.ts.clone(),
    };
    let kind = kind.map_or(event.kind, |kind| EventKind::from_name(kind.to_str().as_bytes()));
    let unset: Vec<&[u8]> = unset.into_iter().flat_map(Value::elements).map(Value::text).collect();
    let mut members = own_members(&event.payload, exporter);
    members.retain(|(key, _)| !unset.contains(&key.as_slice()));
    for wanted in rest.into_iter().flat_map(Value::members) {
        match members.iter_mut().find(|(key, _)| key == wanted.key()) {
            Some((_, value)) => *value = wanted.value().text().to_vec(),
            None => members.push((wanted.key().to_vec(), wanted.value().text().to_vec())),
        }
    }
    let mut payload = vec![b'{'];
    for (at, (key, value)) in members.iter().enumerate() {
        if at > 0 {
            payload.push(b',');
        }
        payload.extend_from_slice(key);
        payload.push(b':');
        payload.extend_from_slice(value);
    }
    payload.push(b'}');
    SourceEvent::from_payload(seq, kind, ts, payload)
}
