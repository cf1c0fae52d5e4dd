//! A message of the log back to gptme's record, and to what the program shows.

use crate::json::{self, Kind, Member, Style, Value};
use crate::model::event::EventRef;
use crate::model::shape::{Order, Shapes};
use crate::model::stream::StreamError;
use crate::runtimes::python::datetime::push_isoformat_of;
use crate::runtimes::python::value::is_truthy;

use super::files;
use super::message::ABSENT;
use super::parts::Parts;
use super::wire::TOKENS;

/// Members of one object, rendered one after the other.
struct Object<'o> {
    style: Style,
    out: &'o mut Vec<u8>,
    empty: bool,
}

impl<'o> Object<'o> {
    fn open(style: Style, out: &'o mut Vec<u8>) -> Object<'o> {
        out.push(b'{');
        Object { style, out, empty: true }
    }

    /// Writes a key given in log form; its value goes to the buffer next.
    fn key(&mut self, key: &[u8]) -> &mut Vec<u8> {
        self.before_key();
        self.style.push_string(key, self.out);
        self.style.push_colon(self.out);
        self.out
    }

    fn before_key(&mut self) {
        if !std::mem::take(&mut self.empty) {
            self.style.push_comma(self.out);
        }
    }

    fn named(&mut self, name: &str) -> &mut Vec<u8> {
        self.before_key();
        self.style.push_name(name, self.out);
        self.style.push_colon(self.out);
        self.out
    }

    fn value(&mut self, name: &str, value: Value<'_>) {
        let style = self.style;
        style.push_value(value, self.named(name));
    }

    fn close(self) {
        self.out.push(b'}');
    }
}

/// Renders the record of a message in a file's style.
///
/// # Errors
/// When the message names a shape that the log does not have.
pub(super) fn record(ts: Option<&str>, payload: &[u8], shapes: &Shapes, style: Style, out: &mut Vec<u8>) -> Result<(), String> {
    let parts = Parts::of(Value::trusted(payload));
    let order = shapes.get(parts.shape).ok_or_else(|| format!("names shape {}, which the log does not have", parts.shape))?;
    let mut object = Object::open(style, out);
    for (key, inside) in order.keys() {
        field(&parts, ts, key, inside, &mut object);
    }
    for member in &parts.ext {
        let name = member.name();
        if !order.contains(&name) && name != ABSENT {
            object.key(member.key());
            style.push_value(member.value(), object.out);
        }
    }
    object.close();
    Ok(())
}

fn field(parts: &Parts<'_>, ts: Option<&str>, key: &str, inside: Option<&Order>, object: &mut Object<'_>) {
    let style = object.style;
    if key == "metadata" {
        return metadata(parts, inside, object);
    }
    if let Some(verbatim) = parts.ext(key) {
        return object.value(key, verbatim);
    }
    match key {
        "role" => style.push_value(parts.role, object.key(b"\"role\"")),
        "content" => parts.push_text(style, object.key(b"\"content\"")),
        "timestamp" => {
            if let Some(ts) = ts.filter(|_| !parts.is_absent("timestamp")) {
                let out = object.key(b"\"timestamp\"");
                out.push(b'"');
                out.extend_from_slice(ts.as_bytes());
                out.push(b'"');
            }
        }
        "files" if !parts.files.is_empty() => {
            let out = object.key(b"\"files\"");
            out.push(b'[');
            for (n, file) in parts.files.iter().enumerate() {
                if n > 0 {
                    style.push_comma(out);
                }
                style.push_value(file.name, out);
            }
            out.push(b']');
        }
        "file_hashes" if parts.files.iter().any(|file| file.hash.is_some()) => hashes(parts, object),
        "pinned" if parts.pinned => object.value(key, Value::TRUE),
        "hide" if parts.hidden_from_display => object.value(key, Value::TRUE),
        "ui_only" if parts.hidden_from_model => object.value(key, Value::TRUE),
        "call_id" => {
            if let Some(id) = parts.call_id {
                object.value(key, id);
            }
        }
        _ => {}
    }
}

fn hashes(parts: &Parts<'_>, object: &mut Object<'_>) {
    let style = object.style;
    let mut inner = Object::open(style, object.key(b"\"file_hashes\""));
    for file in &parts.files {
        if let Some(hash) = file.hash {
            style.push_value(hash, inner.key(file.name.text()));
        }
    }
    inner.close();
}

/// Tells whether a value stands in `ext` as a whole, and not member by member.
fn is_whole(value: Value<'_>) -> bool {
    !value.is_object() || value.text().starts_with(b"{\"$raw\":")
}

/// Metadata: canonical facts and what `ext` has of it, in the shape's order.
fn metadata(parts: &Parts<'_>, order: Option<&Order>, object: &mut Object<'_>) {
    let style = object.style;
    let rest = parts.ext("metadata");
    if let Some(whole) = rest.filter(|rest| is_whole(*rest)) {
        return object.value("metadata", whole);
    }
    if rest.is_none() && parts.model.is_none() && parts.usage.is_none() {
        return;
    }
    let rest: Vec<Member<'_>> = rest.map(Value::all_members).unwrap_or_default();
    let usage: Vec<Member<'_>> = parts.usage.map(Value::all_members).unwrap_or_default();
    let count = |ours: &str| usage.iter().find(|member| member.is(ours)).map(|member| member.value());
    let empty = Order::default();
    let order = order.unwrap_or(&empty);
    let flat = TOKENS.iter().any(|(token, _)| order.contains(token));
    let mut inner = Object::open(style, object.key(b"\"metadata\""));
    for (key, inside) in order.keys() {
        let extra = rest.iter().rev().find(|member| member.is(key)).map(|member| member.value());
        let token = TOKENS.iter().find(|(token, _)| *token == key);
        match (key, extra, token) {
            ("usage", extra, _) if !flat => push_usage(extra, &count, inside, &mut inner),
            (_, Some(extra), _) => inner.value(key, extra),
            ("model", None, _) => {
                if let Some(model) = parts.model {
                    inner.value(key, model);
                }
            }
            ("cost", None, _) => {
                if let Some(cost) = count("cost") {
                    inner.value(key, cost);
                }
            }
            (_, None, Some((_, ours))) => {
                if let Some(value) = count(ours) {
                    inner.value(key, value);
                }
            }
            (_, None, None) => {}
        }
    }
    // Whatever the order says, no count is left out.
    for (token, ours) in TOKENS.iter().filter(|(token, _)| flat && !order.contains(token)) {
        if let Some(value) = count(ours) {
            inner.value(token, value);
        }
    }
    for member in &rest {
        if !order.contains(&member.name()) {
            style.push_value(member.value(), inner.key(member.key()));
        }
    }
    inner.close();
}

fn push_usage<'a>(extra: Option<Value<'a>>, count: &dyn Fn(&str) -> Option<Value<'a>>, order: Option<&Order>, metadata: &mut Object<'_>) {
    let style = metadata.style;
    if let Some(whole) = extra.filter(|extra| is_whole(*extra)) {
        return metadata.value("usage", whole);
    }
    if extra.is_none() && TOKENS.iter().all(|(_, ours)| count(ours).is_none()) {
        return;
    }
    let rest: Vec<Member<'_>> = extra.map(Value::all_members).unwrap_or_default();
    let empty = Order::default();
    let order = order.unwrap_or(&empty);
    let mut inner = Object::open(style, metadata.key(b"\"usage\""));
    for (key, _) in order.keys() {
        let own = TOKENS.iter().find(|(token, _)| *token == key).and_then(|(_, ours)| count(ours));
        let extra = rest.iter().rev().find(|member| member.is(key)).map(|member| member.value());
        if let Some(value) = extra.or(own) {
            inner.value(key, value);
        }
    }
    for member in &rest {
        if !order.contains(&member.name()) {
            style.push_value(member.value(), inner.key(member.key()));
        }
    }
    inner.close();
}

/// What the program would show of a message: its own `to_dict`, as it would
/// write it, with files as they are stored.
///
/// # Errors
/// When the message names a shape that the log does not have.
pub(super) fn show(message: &EventRef<'_>, shapes: &Shapes, out: &mut Vec<u8>) -> Result<(), StreamError> {
    let parts = Parts::of(message.value());
    let style = Style::default();
    let order = shapes
        .get(parts.shape)
        .ok_or_else(|| StreamError::log(message.seq, format!("names shape {}, which the log does not have", parts.shape)))?;
    let mut object = Object::open(style, out);
    style.push_value(parts.role, object.key(b"\"role\""));
    parts.push_text(style, object.key(b"\"content\""));
    let time = object.key(b"\"timestamp\"");
    time.push(b'"');
    push_isoformat_of(message.ts.unwrap_or_default(), time);
    time.push(b'"');
    if !parts.files.is_empty() {
        shown_files(&parts, &mut object);
    }
    match parts.ext("file_hashes") {
        Some(hashes) if is_truthy(hashes) => shown_hashes(hashes, &parts, &mut object),
        Some(_) => {}
        None if parts.files.iter().any(|file| file.hash.is_some()) => hashes(&parts, &mut object),
        None => {}
    }
    for (key, shown) in [("pinned", parts.pinned), ("hide", parts.hidden_from_display), ("ui_only", parts.hidden_from_model)] {
        if shown {
            object.value(key, Value::TRUE);
        }
    }
    if let Some(ttl) = parts.ext("ephemeral_ttl").filter(|ttl| ttl.kind() != Kind::Null) {
        object.value("ephemeral_ttl", ttl);
    }
    if let Some(id) = parts.call_id.or_else(|| parts.ext("call_id").filter(|id| is_truthy(*id))) {
        object.value("call_id", id);
    }
    shown_metadata(&parts, order, &mut object);
    object.close();
    Ok(())
}

fn shown_files(parts: &Parts<'_>, object: &mut Object<'_>) {
    let style = object.style;
    let out = object.key(b"\"files\"");
    out.push(b'[');
    for (n, file) in parts.files.iter().enumerate() {
        if n > 0 {
            style.push_comma(out);
        }
        match files::normal_token(file.name).filter(|_| !file.is_uri) {
            Some(token) => style.push_string(token.as_slice(), out),
            None => style.push_value(file.name, out),
        }
    }
    out.push(b']');
}

/// Hashes in another form than the usual. Beside files the program makes a
/// dict of them; alone it shows them as they are.
fn shown_hashes(hashes: Value<'_>, parts: &Parts<'_>, object: &mut Object<'_>) {
    let style = object.style;
    if parts.files.is_empty() || !hashes.is_array() {
        return object.value("file_hashes", hashes);
    }
    let mut inner = Object::open(style, object.key(b"\"file_hashes\""));
    for pair in hashes.elements() {
        let two = files::iterated(pair);
        if let [key, value] = two.as_slice() {
            let mut token = Vec::new();
            json::push_string(value, &mut token);
            style.push_string(token.as_slice(), inner.named(key));
        }
    }
    inner.close();
}

/// The metadata as loaded: flat token counts move into `usage`, last.
fn shown_metadata(parts: &Parts<'_>, order: &Order, object: &mut Object<'_>) {
    let inside = order.keys().find(|(key, _)| *key == "metadata").and_then(|(_, inside)| inside);
    let is_token = |member: &Member<'_>| TOKENS.iter().any(|(token, _)| member.is(token));
    let lists_counts = TOKENS.iter().any(|(token, _)| inside.is_some_and(|order| order.contains(token)));
    let has_counts = |rest: Value<'_>| is_whole(rest) || rest.members().any(|member| is_token(&member));
    if !lists_counts && !parts.ext("metadata").is_some_and(has_counts) {
        // No count stands anywhere but in `usage`: it is shown as it was written.
        let before = (object.out.len(), object.empty);
        metadata(parts, inside, object);
        if object.out[before.0..].ends_with(b"{}") {
            object.out.truncate(before.0);
            object.empty = before.1;
        }
        return;
    }
    let mut whole = Vec::new();
    let mut scratch = Object::open(object.style, &mut whole);
    metadata(parts, inside, &mut scratch);
    scratch.close();
    let Some(rendered) = Value::trusted(&whole).members().next().map(|member| member.value()) else { return };
    if !rendered.is_object() || !is_truthy(rendered) {
        return;
    }
    let members: Vec<Member<'_>> = rendered.all_members();
    let out = object.key(b"\"metadata\"");
    if members.iter().any(|member| member.name() == "usage") || !members.iter().any(is_token) {
        return out.extend_from_slice(rendered.text());
    }
    let style = Style::default();
    let mut inner = Object::open(style, out);
    for member in members.iter().filter(|member| !is_token(member)) {
        inner.key(member.key()).extend_from_slice(member.value().text());
    }
    let mut usage = Object::open(style, inner.key(b"\"usage\""));
    for member in members.iter().filter(|member| is_token(member)) {
        usage.key(member.key()).extend_from_slice(member.value().text());
    }
    usage.close();
    inner.close();
}
