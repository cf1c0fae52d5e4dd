//! A row of `messages` as a message, and the row again. A column that the message
//! does not say is kept in `ext`, as the text of the row has it; a column that is
//! absent there has its usual value.

use crate::adapters::kit::mapping::unquoted;
use crate::adapters::kit::words::{CHAT_STOP_REASONS, COMMON_ROLES};
use crate::json::{self, Value};
use crate::model::event::{EventKind, EventRef};
use crate::model::rows::{RowValue, RowsHeader};
use crate::model::time::{from_epoch, to_epoch};

use super::content::{calls_of, column_of_calls, is_call, list_of, parts_of_list};

/// Columns of a message that `ext` need not say.
const USUAL: &[(&str, RowValue<'static>)] =
    &[("observed", RowValue::Integer(0)), ("active", RowValue::Integer(1)), ("compacted", RowValue::Integer(0))];

/// In `ext`: the content is a list, and not the one text that it usually is.
const IS_LIST: &str = "$list";

/// Why a message is not in the program's view of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hidden {
    /// A summary stands in its place.
    Compacted,
    /// The conversation was taken back to before it.
    Rewound,
    /// It belongs to the program's own review of the conversation.
    Review,
}

impl Hidden {
    fn why(self) -> &'static str {
        match self {
            Hidden::Compacted => "compacted",
            Hidden::Rewound => "rewound",
            Hidden::Review => "review",
        }
    }

    fn of(why: &str) -> Option<Hidden> {
        [Hidden::Compacted, Hidden::Rewound, Hidden::Review].into_iter().find(|hidden| hidden.why() == why)
    }

    /// Returns the columns `active` and `compacted` that say so.
    fn columns(self) -> Option<[i64; 2]> {
        match self {
            Hidden::Compacted => Some([0, 1]),
            Hidden::Rewound => Some([0, 0]),
            Hidden::Review => None,
        }
    }
}

/// The values of a row by their columns.
pub(super) struct Columns<'a> {
    values: Vec<(String, Value<'a>)>,
}

impl<'a> Columns<'a> {
    pub(super) fn of(header: &RowsHeader, row: Value<'a>) -> Columns<'a> {
        let skip = usize::from(header.rowid);
        Columns { values: header.listed().map(str::to_owned).zip(row.elements().skip(skip)).collect() }
    }

    pub(super) fn get(&self, column: &str) -> Option<RowValue<'a>> {
        self.values.iter().find(|(name, _)| name == column).and_then(|(_, value)| RowValue::read(*value))
    }

    /// Returns the text of a column, as JSON and as it is.
    fn text(&self, column: &str) -> Option<(Value<'a>, String)> {
        let value = self.values.iter().find(|(name, _)| name == column)?.1;
        if value.is_string() { Some((value, value.as_str()?.into_owned())) } else { None }
    }
}

/// A message and its time.
pub(super) struct Message {
    pub(super) ts: Option<String>,
    pub(super) payload: Vec<u8>,
}

/// Returns the message that a row is; nothing where it has no id or no role, or a column of
/// a name that `ext` cannot have.
pub(super) fn message(columns: &Columns<'_>, hidden: Option<Hidden>) -> Option<Message> {
    let RowValue::Integer(id) = columns.get("id")? else { return None };
    let (role, role_text) = columns.text("role")?;
    if columns.values.iter().any(|(name, _)| name.starts_with('$')) {
        return None;
    }
    let mut said = vec!["id", "role"];
    let mut ext: Vec<u8> = Vec::new();
    let is_answer = role_text == "tool";
    let mut parts: Vec<Vec<u8>> = Vec::new();
    if let Some((reasoning, _)) = columns.text("reasoning") {
        parts.push([b"{\"type\":\"thinking\",\"text\":", reasoning.text(), b"}"].concat());
        said.push("reasoning");
    }
    let content = columns.text("content");
    let list = content.as_ref().and_then(|(_, text)| parts_of_list(text));
    let is_list = list.is_some();
    let content = match (&content, list) {
        (Some(_), Some(list)) => Some(list),
        (Some((text, _)), None) => Some(vec![[b"{\"type\":\"text\",\"text\":", text.text(), b"}"].concat()]),
        (None, _) if matches!(columns.get("content"), Some(RowValue::Null)) => None,
        (None, _) => {
            push_ext(&mut ext, "content", columns);
            None
        }
    };
    said.push("content");
    match (is_answer, content) {
        (true, content) => {
            let mut part = b"{\"type\":\"tool_result\"".to_vec();
            for (column, member) in [("tool_call_id", ",\"call_id\":"), ("tool_name", ",\"name\":")] {
                if let Some((value, _)) = columns.text(column) {
                    part.extend_from_slice(member.as_bytes());
                    part.extend_from_slice(value.text());
                    said.push(column);
                }
            }
            part.extend_from_slice(b",\"content\":[");
            part.extend(content.iter().flatten().cloned().collect::<Vec<_>>().join(&b','));
            part.extend_from_slice(if content.is_some() { b"]}" } else { b"],\"form\":\"absent\"}" });
            parts.push(part);
        }
        (false, Some(content)) => parts.extend(content),
        (false, None) => {}
    }
    if is_list {
        push_own(&mut ext, IS_LIST);
    }
    if let Some(calls) = columns.text("tool_calls").and_then(|(_, text)| calls_of(&text)).filter(|calls| !calls.is_empty()) {
        parts.extend(calls);
        said.push("tool_calls");
    }
    let mut payload = b"{".to_vec();
    COMMON_ROLES.push(role.text(), &mut payload);
    payload.extend_from_slice(b",\"content\":[");
    payload.extend(parts.join(&b','));
    payload.extend_from_slice(format!("],\"source_id\":\"{id}\"").as_bytes());
    if let Some((reason, _)) = columns.text("finish_reason") {
        payload.push(b',');
        CHAT_STOP_REASONS.push(reason.text(), &mut payload);
        said.push("finish_reason");
    }
    if let Some(hidden) = hidden {
        payload.extend_from_slice(format!(",\"hidden\":{{\"from\":[\"loader\"],\"why\":\"{}\"}}", hidden.why()).as_bytes());
        let state = ["active", "compacted"].map(|column| columns.get(column));
        if hidden.columns().is_some_and(|columns| state == columns.map(|number| Some(RowValue::Integer(number)))) {
            said.extend(["active", "compacted"]);
        }
    }
    let ts = columns.get("timestamp").and_then(|value| time_of(&value));
    if ts.is_some() {
        said.push("timestamp");
    }
    let is_of_ext = |name: &str| !said.contains(&name) && hidden_usual(hidden, name).as_ref() != columns.get(name).as_ref();
    for (name, _) in columns.values.iter().filter(|(name, _)| is_of_ext(name)) {
        push_ext(&mut ext, name, columns);
    }
    if !ext.is_empty() {
        payload.extend_from_slice(b",\"ext\":{");
        payload.extend_from_slice(&ext);
        payload.push(b'}');
    }
    payload.push(b'}');
    Some(Message { ts, payload })
}

fn push_ext(ext: &mut Vec<u8>, column: &str, columns: &Columns<'_>) {
    let Some((_, value)) = columns.values.iter().find(|(name, _)| name == column) else { return };
    if !ext.is_empty() {
        ext.push(b',');
    }
    json::push_string(column, ext);
    ext.push(b':');
    ext.extend_from_slice(value.text());
}

fn push_own(ext: &mut Vec<u8>, name: &str) {
    if !ext.is_empty() {
        ext.push(b',');
    }
    json::push_string(name, ext);
    ext.extend_from_slice(b":true");
}

/// Returns what a column has where nothing says another value.
fn hidden_usual(hidden: Option<Hidden>, column: &str) -> Option<RowValue<'static>> {
    let state = hidden.and_then(Hidden::columns).unwrap_or([1, 0]);
    match column {
        "active" => Some(RowValue::Integer(state[0])),
        "compacted" => Some(RowValue::Integer(state[1])),
        _ => Some(USUAL.iter().find(|(name, _)| *name == column).map_or(RowValue::Null, |(_, value)| value.clone())),
    }
}

/// Returns a time that its text gives back to the bit.
fn time_of(value: &RowValue<'_>) -> Option<String> {
    let RowValue::Real(seconds) = value else { return None };
    let ts = from_epoch(format!("{seconds:?}").as_bytes())?;
    (seconds_of(&ts).map(f64::to_bits) == Some(seconds.to_bits())).then_some(ts)
}

fn seconds_of(ts: &str) -> Option<f64> {
    to_epoch(ts)?.parse().ok()
}

/// Returns the row of a message, in the columns of its table.
pub(super) fn row(event: &EventRef<'_>, header: &RowsHeader) -> Option<Vec<u8>> {
    if event.kind != EventKind::Message {
        return None;
    }
    let said = MessageColumns::of(event);
    let mut out = vec![b'['];
    for column in header.listed() {
        if out.len() > 1 {
            out.push(b',');
        }
        said.push_column(column, &mut out);
    }
    out.push(b']');
    Some(out)
}

/// A message as its columns see it.
pub(super) struct MessageColumns<'a> {
    ts: Option<&'a str>,
    payload: Value<'a>,
    hidden: Option<Hidden>,
    parts: Vec<Value<'a>>,
    ext: Option<Value<'a>>,
}

impl<'a> MessageColumns<'a> {
    pub(super) fn of(event: &EventRef<'a>) -> MessageColumns<'a> {
        let payload = event.value();
        let hidden = payload.first("hidden").and_then(|hidden| hidden.first("why")?.as_str()).and_then(|why| Hidden::of(&why));
        let parts = payload.first("content").map(|list| list.elements().collect()).unwrap_or_default();
        MessageColumns { ts: event.ts, payload, hidden, parts, ext: payload.first("ext") }
    }

    /// Appends the value of a column.
    pub(super) fn push_column(&self, column: &str, out: &mut Vec<u8>) {
        if let Some(kept) = self.ext.and_then(|ext| ext.first(column)) {
            return out.extend_from_slice(kept.text());
        }
        let value = match column {
            "id" => self.payload.first("source_id").map(|id| unquoted(id.text()).to_vec()),
            "role" => COMMON_ROLES.source_word(self.payload).map(<[u8]>::to_vec),
            "finish_reason" => CHAT_STOP_REASONS.source_word(self.payload).map(<[u8]>::to_vec),
            "timestamp" => self.ts.and_then(seconds_of).map(|seconds| RowValue::Real(seconds).to_json()),
            "reasoning" => self.part("thinking").and_then(|part| part.first("text")).map(|text| text.text().to_vec()),
            "tool_call_id" => self.part("tool_result").and_then(|part| part.first("call_id")).map(|id| id.text().to_vec()),
            "tool_name" => self.part("tool_result").and_then(|part| part.first("name")).map(|name| name.text().to_vec()),
            "tool_calls" => self.calls(),
            "content" => self.content(),
            _ => None,
        };
        match value {
            Some(value) => out.extend_from_slice(&value),
            None => hidden_usual(self.hidden, column).unwrap_or(RowValue::Null).push(out),
        }
    }

    fn part(&self, kind: &str) -> Option<Value<'a>> {
        self.parts.iter().copied().find(|part| part.first("type").is_some_and(|one| one.is_str(kind)))
    }

    fn calls(&self) -> Option<Vec<u8>> {
        let calls: Vec<Value<'_>> = self.parts.iter().copied().filter(|part| is_call(*part)).collect();
        if calls.is_empty() {
            return None;
        }
        column_of_calls(&calls).map(|text| quoted(&text))
    }

    fn content(&self) -> Option<Vec<u8>> {
        let result = self.part("tool_result");
        let parts: Vec<Value<'_>> = match result {
            Some(result) if result.first("form").is_some_and(|form| form.is_str("absent")) => return None,
            Some(result) => result.first("content").map(|list| list.elements().collect()).unwrap_or_default(),
            None => {
                let is_content = |part: &Value<'_>| !is_call(*part) && !part.first("type").is_some_and(|kind| kind.is_str("thinking"));
                self.parts.iter().copied().filter(is_content).collect()
            }
        };
        if self.ext.is_some_and(|ext| ext.first(IS_LIST).is_some()) {
            return list_of(&parts).map(|text| quoted(&text));
        }
        parts.first().and_then(|part| part.first("text")).map(|text| text.text().to_vec())
    }
}

fn quoted(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    json::push_string(text, &mut out);
    out
}
