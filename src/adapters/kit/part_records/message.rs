//! A message's own object as a payload of the log, and back.

use std::borrow::Cow;

use crate::adapters::kit::mapping::{
    self, Claim, Content, Leftovers, NoContent, NoIds, ParentId, Parents, Rendered, Setting, has_a_name_twice, last_of_each,
};
use crate::json::{self, Escapes, Kind, Member, Style};
use crate::model::ids::Seq;
use crate::model::shape::Shapes;
use crate::runtimes::javascript::{decode_utf8, is_truthy, parse_date, to_iso_string};

use super::schema::{MESSAGE, MESSAGE_ORDER, WRITER};

/// The member of `ext` that holds a message's file where that is no object.
const VALUE: &str = "$value";
/// The key of the member that a payload has beside the event's time.
const COMPLETED_KEY: &[u8] = b"\"completed\"";
/// The last millisecond of the year 9999, after which a log has no times.
const LAST_MS: u64 = 253_402_300_799_999;

/// A payload, and the time beside it.
#[derive(Debug, Default)]
pub(in crate::adapters) struct Normal {
    pub ts: Option<String>,
    pub payload: Vec<u8>,
}

/// The list of parts, which stand in files of their own.
struct Parts<'p>(&'p [u8]);

impl Content for Parts<'_> {
    fn encode(&self, _: &[(&'static str, &[u8])], _: Escapes, out: &mut Vec<u8>) -> Leftovers {
        out.extend_from_slice(self.0);
        Leftovers::default()
    }

    fn decode(&self, _: &str, _: &[u8], _: &dyn Fn(&str) -> bool, _: mapping::To<'_>) {}
}

/// What a message says of itself that its parts say too, as JSON strings.
#[derive(Debug, Clone, Copy, Default)]
pub(in crate::adapters) struct Owner<'p> {
    pub session: Option<&'p [u8]>,
    pub message: Option<&'p [u8]>,
}

impl<'p> Owner<'p> {
    /// Finds the ids in a payload.
    pub(in crate::adapters) fn of_payload(payload: &'p [u8]) -> Owner<'p> {
        Owner { session: member(payload, "session"), message: member(payload, "source_id") }
    }

    /// Finds the ids in a message's object.
    pub(in crate::adapters) fn of_record(record: &'p [u8]) -> Owner<'p> {
        let text = |name: &str| member(record, name).filter(|value| json::kind_of(value) == Kind::String);
        Owner { session: text("sessionID"), message: text("id") }
    }
}

/// Returns the value of a member; of equal keys the last. `None` where the value
/// is no object.
pub(in crate::adapters) fn member<'p>(value: &'p [u8], name: &str) -> Option<&'p [u8]> {
    let members = (json::kind_of(value) == Kind::Object).then(|| json::members(value))?;
    members.filter(|member| member.is(name)).last().map(|member| member.value)
}

/// Makes the payload of a message; `parts` is the list of its parts in the log's
/// form, and `hidden` says why the program's loader does not see it, if it does not.
pub(in crate::adapters) fn normal(record: &[u8], parts: &[u8], hidden: Option<&str>, shapes: &mut Shapes) -> Normal {
    let record = decode_utf8(record);
    if json::kind_of(&record) != Kind::Object {
        return Normal { ts: None, payload: of_value(&record, parts) };
    }
    let all = json::all_members(&record);
    let members: Cow<'_, [Member<'_>]> = if has_a_name_twice(&all) { last_of_each(&all).into() } else { all.into() };
    let time = members.iter().find(|member| member.is("time")).and_then(|member| Time::of(member.value));
    let claimed: Vec<Member<'_>> = members.iter().filter_map(|member| in_place_of_time(*member, time.as_ref())).collect();
    let setting = Setting { writer: WRITER, parent: ParentId::Unwritten };
    // No object is opened, so it can always be claimed.
    let Some(mut claim) = MESSAGE.claim(&claimed, setting, &NoIds) else { return Normal::default() };
    say_role(&mut claim, &members);
    if let Some(error) = members.iter().find(|member| member.is("error") && is_truthy(json::Value::trusted(member.value))) {
        claim.say("error", error_text(error.value));
        // A model that was cut off by an error gives no reason of its own.
        if !members.iter().any(|member| member.is("finish")) {
            claim.supply("stop_reason", "finish", if is_abort(error.value) { b"\"aborted\"".to_vec() } else { b"\"error\"".to_vec() });
        }
    }
    if let Some(why) = hidden {
        claim.say("hidden", hidden_for(why));
    }
    // The time has a place in the record's order, wherever its value goes.
    let shape = claim.shape(&MESSAGE, &members, shapes);
    let mut payload = Vec::new();
    claim.push_payload(MESSAGE_ORDER, &Parts(parts), &MESSAGE, shape, WRITER, &mut payload);
    Normal { ts: time.map(|time| time.created), payload }
}

/// The error by which the program says that its person stopped the model.
const ABORTED: &str = "MessageAbortedError";

fn is_abort(error: &[u8]) -> bool {
    member(error, "name").is_some_and(|name| json::kind_of(name) == Kind::String && json::unescape(name) == ABORTED)
}

/// What failed, as a JSON string: the error's message, else its name; `true` where it
/// has neither.
fn error_text(error: &[u8]) -> Vec<u8> {
    let is_said = |text: &&[u8]| json::kind_of(text) == Kind::String && *text != b"\"\"";
    let message = member(error, "data").and_then(|data| member(data, "message")).filter(is_said);
    let own = || member(error, "message").filter(is_said).or_else(|| member(error, "name").filter(is_said));
    match message.or_else(own).or_else(|| Some(error).filter(is_said)) {
        Some(text) => {
            let mut out = Vec::new();
            json::push_carried_value(text, WRITER, &mut out);
            out
        }
        None => b"true".to_vec(),
    }
}

/// What a message says that the program's loader does not see.
fn hidden_for(why: &str) -> Vec<u8> {
    let mut out = b"{\"from\":[\"loader\"],\"why\":".to_vec();
    json::push_string(why, &mut out);
    out.push(b'}');
    out
}

/// Makes the message of which only these parts are left; the ids are JSON strings.
pub(in crate::adapters) fn without_record(role: &str, parts: &[u8], owner: Owner<'_>, why: &str) -> Normal {
    let mut payload = format!("{{\"role\":\"{role}\",\"content\":").into_bytes();
    payload.extend_from_slice(parts);
    payload.extend_from_slice(b",\"source_id\":");
    payload.extend_from_slice(owner.message.unwrap_or(b"\"\""));
    if let Some(session) = owner.session {
        payload.extend_from_slice(b",\"session\":");
        json::push_carried_value(session, WRITER, &mut payload);
    }
    payload.extend_from_slice(b",\"hidden\":");
    payload.extend_from_slice(&hidden_for(why));
    payload.push(b'}');
    Normal { ts: None, payload }
}

/// Returns what is claimed in the place of a member: of the time only when the
/// message was completed, because when it was made is the time of the event.
fn in_place_of_time<'a>(member: Member<'a>, time: Option<&Time<'a>>) -> Option<Member<'a>> {
    match time.filter(|_| member.is("time")) {
        Some(time) => time.completed.map(|value| Member { key: member.key, value }),
        None => Some(member),
    }
}

/// The payload of a message whose file is JSON and no object.
fn of_value(record: &[u8], parts: &[u8]) -> Vec<u8> {
    let mut payload = b"{\"role\":\"system\",\"content\":".to_vec();
    payload.extend_from_slice(parts);
    payload.extend_from_slice(b",\"ext\":{\"$value\":");
    json::push_carried_value(record, WRITER, &mut payload);
    payload.extend_from_slice(b"}}");
    payload
}

/// Makes sure that there is a role.
fn say_role(claim: &mut Claim<'_>, members: &[Member<'_>]) {
    match claim.member("role") {
        Some(_) => {}
        None if members.iter().any(|member| member.is("role")) => claim.say("role", b"\"system\"".to_vec()),
        None => claim.supply("role", "role", b"\"system\"".to_vec()),
    }
}

/// When a message was made and completed.
struct Time<'a> {
    created: String,
    completed: Option<&'a [u8]>,
}

impl<'a> Time<'a> {
    /// Reads `{created, completed?}` as the program writes it; `None` where it is
    /// anything else.
    fn of(value: &'a [u8]) -> Option<Time<'a>> {
        if json::kind_of(value) != Kind::Object {
            return None;
        }
        let members = json::all_members(value);
        let (created, completed) = match members.as_slice() {
            [created] if created.is("created") => (created, None),
            [created, completed] if created.is("created") && completed.is("completed") => (created, Some(completed.value)),
            _ => return None,
        };
        let digits = std::str::from_utf8(created.value).ok()?;
        let ms: u64 = digits.parse().ok().filter(|ms| *ms <= LAST_MS)?;
        let is_number = |value: &[u8]| json::kind_of(value) == Kind::Number;
        let is_plain = ms.to_string() == digits && completed.is_none_or(is_number);
        let created = to_iso_string(i64::try_from(ms).ok()?)?;
        is_plain.then_some(Time { created, completed })
    }
}

/// Renders a message's object as it was. `None` where it names a shape that the log
/// does not list.
pub(in crate::adapters) fn render(payload: &[u8], ts: Option<&str>, shapes: &Shapes, style: Style, out: &mut Vec<u8>) -> Option<()> {
    if let Some(value) = member(payload, "ext").and_then(|ext| member(ext, VALUE)) {
        style.push_value(value, out);
        return Some(());
    }
    let mut given = json::all_members(payload);
    let mut time = Vec::new();
    if let Some(ms) = ts.and_then(parse_date) {
        time.extend_from_slice(format!("{{\"created\":{ms}").as_bytes());
        if let Some(completed) = given.iter().find(|member| member.key == COMPLETED_KEY) {
            time.extend_from_slice(b",\"completed\":");
            time.extend_from_slice(completed.value);
        }
        time.push(b'}');
        // The last of equal members is rendered.
        given.push(Member { key: COMPLETED_KEY, value: &time });
    }
    let event = Rendered { payload, ts, parent: Seq::ROOT, parents: Parents::Unwritten };
    MESSAGE.render_members(&event, &given, shapes, &NoContent, &mut NoIds, mapping::To { style, depth: 0, out })
}
