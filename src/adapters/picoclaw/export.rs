//! Sessions of other programs as picoclaw's own: lines, a meta file that lists
//! them, and a companion for what neither can keep.

use crate::adapters::exporter::{ExportedSession, Exporter, Spoken};
use crate::adapters::kit::chat;
use crate::adapters::kit::object::{Object, list, token};
use crate::json::Value;
use crate::model::export::ability::{Abilities, Ability, Need};
use crate::model::export::instant::Instant;
use crate::model::export::transcript::{Answer, Body, Entry, Piece, Transcript};
use crate::model::files::RelPath;

use super::layout::{CARRIED, LINES, META};
use super::wire;

/// The program summarises what is above so many messages.
const MOST: usize = 20;

/// A line of so many bytes keeps the program from reading any of them.
const LONGEST_LINE: usize = 10 * 1024 * 1024;

/// The exporter of picoclaw.
pub(super) struct PicoclawExporter;

impl Exporter for PicoclawExporter {
    fn abilities(&self) -> Abilities {
        Abilities {
            can: &[Ability::Thinking, Ability::Images, Ability::Models, Ability::Summary, Ability::Times],
            needs: &[Need::SingleAnswers, Need::SpokenAnswers],
            digits: 9,
        }
    }

    fn understood(&self, message: Spoken<'_>) -> Option<Vec<u8>> {
        understood(message.payload)
    }

    fn sends_summary(&self) -> bool {
        true
    }

    fn longest_record(&self) -> Option<usize> {
        Some(LONGEST_LINE)
    }

    fn prunes_above(&self) -> Option<usize> {
        Some(MOST)
    }

    /// The program keeps no member that it does not know.
    fn carried<'v>(&self, _payload: Value<'v>) -> Option<Value<'v>> {
        None
    }

    fn carried_beside<'v>(&self, payload: Value<'v>) -> Option<Value<'v>> {
        payload.first("file")?.as_str().filter(|file| file.ends_with(CARRIED))?;
        payload.first("value")
    }

    fn write(&self, session: &Transcript) -> ExportedSession {
        let key = format!("sk_v1_{}", session.seed.hex());
        let mut lines = Vec::new();
        for entry in &session.entries {
            if let Some(line) = line(entry) {
                line.push(wire::LINES, &mut lines);
                lines.push(b'\n');
            }
        }
        let mut meta = Object::new();
        meta.text("key", &key);
        meta.text("summary", session.summary.as_deref().unwrap_or_default());
        meta.json("skip", "0");
        meta.json("count", session.entries.len().to_string());
        meta.text("created_at", &timestamp(session.created));
        meta.text("updated_at", &timestamp(session.entries.last().map_or(session.created, |entry| entry.time)));
        let mut whole = Vec::new();
        meta.push(wire::WHOLE, &mut whole);
        let mut files = vec![(RelPath::new(format!("{key}{META}")), whole), (RelPath::new(format!("{key}{LINES}")), lines)];
        files.extend(companion(session).map(|bytes| (RelPath::new(format!("{key}{CARRIED}")), bytes)));
        ExportedSession { files, root: RelPath::new(""), go_on: format!("picoclaw agent --session {key}"), name: format!("{key}{LINES}") }
    }
}

/// Returns what each line cannot keep, by its number; nothing where all is bare.
fn companion(session: &Transcript) -> Option<Vec<u8>> {
    let mut records = Object::new();
    for (n, carried) in session.entries.iter().enumerate().filter_map(|(n, entry)| Some((n, entry.carried.as_ref()?))) {
        records.json(&(n + 1).to_string(), carried);
    }
    (!records.is_empty()).then(|| {
        let mut out = records.finish();
        out.push(b'\n');
        out
    })
}

fn line(entry: &Entry) -> Option<Object> {
    let (role, content, pieces) = chat::said(&entry.body)?;
    let mut line = Object::new();
    line.text("role", role);
    line.text("content", &content);
    if let Body::Answer(Answer { model: Some(model), .. }) = &entry.body {
        line.text("model_name", model);
    }
    line.text("created_at", &timestamp(entry.time));
    let address = |piece: &Piece| match piece {
        Piece::Image(image) => Some(token(&format!("data:{};base64,{}", image.media_type, image.data))),
        Piece::Text(_) | Piece::Thinking { .. } | Piece::Call(_) => None,
    };
    let media: Vec<Vec<u8>> = pieces.iter().filter_map(address).collect();
    if !media.is_empty() {
        line.json("media", list(media));
    }
    match &entry.body {
        Body::Answer(answer) => push_answer(answer, &mut line),
        Body::Result(result) => line.text("tool_call_id", &result.call_id),
        Body::User(_)
        | Body::Note { .. }
        | Body::System(_)
        | Body::BranchSummary(_)
        | Body::Compaction { .. }
        | Body::Model { .. }
        | Body::Title(_) => {}
    }
    Some(line)
}

fn push_answer(answer: &Answer, line: &mut Object) {
    let thinking = chat::thinking(answer);
    if !thinking.is_empty() {
        line.text("reasoning_content", &thinking);
    }
    if let Some(calls) = chat::calls(answer, &["id"]) {
        line.json("tool_calls", calls);
    }
}

/// `time.RFC3339Nano` in UTC.
fn timestamp(time: Instant) -> String {
    let text = time.text(9);
    format!("{}Z", text.trim_end_matches('0').trim_end_matches('.'))
}

/// Returns a message whose pictures are files to the log: their addresses hold them.
fn understood(payload: Value<'_>) -> Option<Vec<u8>> {
    let content = payload.first("content")?;
    let is_picture = |part: Value<'_>| {
        let [kind, uri] = part.get_each(["type", "uri"]);
        kind.is_some_and(|kind| kind.is_str("file")) && uri.and_then(Value::as_str).is_some_and(|uri| uri.starts_with("data:image/"))
    };
    if !content.elements().any(is_picture) {
        return None;
    }
    let parts = content.elements().map(|part| match part.first("uri").filter(|_| is_picture(part)) {
        Some(uri) => {
            let mut picture = Object::new();
            picture.text("type", "image");
            picture.json("uri", uri.text());
            picture.finish()
        }
        None => part.text().to_vec(),
    });
    let parts = list(parts);
    let mut out = Object::new();
    for member in payload.members() {
        let value = if member.is("content") { parts.as_slice() } else { member.value().text() };
        out.json(&member.name(), value);
    }
    Some(out.finish())
}
