//! Sessions of other programs as gptme's own: a conversation's folder, with its
//! title and its pictures.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use std::collections::BTreeMap;

use crate::adapters::exporter::{CARRIED, ExportedSession, Exporter, Spoken};
use crate::adapters::kit::object::{Object, list, token};
use crate::json::{Escapes, Separators, Style, Value};
use crate::model::digest::sha256_hex;
use crate::model::export::ability::{Abilities, Ability, Need};
use crate::model::export::instant::Instant;
use crate::model::export::transcript::{Answer, Body, CallResult, Entry, Image, Piece, Tokens, Transcript, text_of};
use crate::model::files::RelPath;
use crate::runtimes::python::number::float_json;

use super::layout::TRANSCRIPT;
use super::{spoken, wire};

/// How CPython writes JSON.
const STYLE: Style = Style { separators: Separators::Spaced, escapes: Escapes::Ascii };

/// The exporter of gptme.
pub(super) struct GptmeExporter;

impl Exporter for GptmeExporter {
    fn abilities(&self) -> Abilities {
        Abilities {
            can: &[
                Ability::SystemMessages,
                // That of others would be sent as text, tags and all.
                Ability::OwnThinking,
                Ability::Images,
                Ability::ImageFiles,
                Ability::ResultImages,
                Ability::Usage,
                Ability::Costs,
                Ability::Models,
                Ability::Providers,
                Ability::Titles,
                Ability::Times,
            ],
            needs: &[Need::LeadingSystem, Need::FilledResults],
            digits: 6,
        }
    }

    fn understood(&self, message: Spoken<'_>) -> Option<Vec<u8>> {
        spoken::understood(message)
    }

    fn counts(&self, tokens: Tokens) -> Tokens {
        Tokens { total: None, ..tokens }
    }

    fn reword(&self, entry: &mut Body) -> bool {
        let Body::Answer(answer) = entry else { return false };
        let mut is_altered = false;
        for piece in &mut answer.pieces {
            let (Piece::Text(text) | Piece::Thinking { text, .. }) = piece else { continue };
            if let Some(fitting) = spoken::fitting(text) {
                *text = fitting;
                is_altered = true;
            }
        }
        is_altered
    }

    fn carried<'v>(&self, payload: Value<'v>) -> Option<Value<'v>> {
        payload.first("ext")?.first("metadata")?.first(CARRIED)
    }

    fn write(&self, session: &Transcript) -> ExportedSession {
        let name = format!("{}-everlog-{}", &session.created.text(0)[..10], &session.seed.hex()[..12]);
        let mut pictures = Pictures { folder: format!("{name}/attachments"), root: session.folder.clone(), files: BTreeMap::new() };
        let mut rows = Vec::new();
        for entry in &session.entries {
            if let Some(row) = row(entry, &mut pictures) {
                row.push(STYLE, &mut rows);
                rows.push(b'\n');
            }
        }
        let mut files = vec![(RelPath::new(format!("{name}/{TRANSCRIPT}")), rows)];
        if let Some(title) = &session.title {
            // Another key there would break the listing of all conversations.
            let mut config = b"[chat]\nname = ".to_vec();
            // A string of JSON is one of TOML.
            config.extend_from_slice(&token(title));
            config.push(b'\n');
            files.push((RelPath::new(format!("{name}/config.toml")), config));
        }
        files.extend(pictures.files.into_iter().map(|(path, bytes)| (RelPath::new(path), bytes)));
        ExportedSession { files, root: RelPath::new(&name), go_on: format!("gptme --name {name}"), name }
    }
}

/// The pictures of a conversation: a file each, which messages name.
struct Pictures {
    folder: String,
    /// The folder of all conversations: a relative path would count from where the
    /// program stands.
    root: Option<String>,
    files: BTreeMap<String, Vec<u8>>,
}

impl Pictures {
    /// Adds a picture, and returns the path that names it.
    fn add(&mut self, image: &Image) -> String {
        let bytes = STANDARD.decode(&image.data).unwrap_or_else(|_| image.data.clone().into_bytes());
        let ending = match image.media_type.as_str() {
            "image/jpeg" => "jpg",
            "image/gif" => "gif",
            "image/webp" => "webp",
            _ => "png",
        };
        let path = format!("{}/{}.{ending}", self.folder, &sha256_hex(&bytes)[..16]);
        let full = self.root.as_ref().map_or_else(|| path.clone(), |root| format!("{root}/{path}"));
        self.files.insert(path, bytes);
        full
    }
}

fn row(entry: &Entry, pictures: &mut Pictures) -> Option<Object> {
    let no_pieces: &[Piece] = &[];
    let (role, content, pieces) = match &entry.body {
        Body::System(text) | Body::BranchSummary(text) | Body::Compaction { summary: text, .. } => ("system", text.clone(), no_pieces),
        Body::Note { pieces, .. } => ("system", text_of(pieces), pieces.as_slice()),
        Body::User(pieces) => ("user", text_of(pieces), pieces.as_slice()),
        Body::Answer(answer) => ("assistant", content(answer), no_pieces),
        Body::Result(result) => ("system", text_of(&result.pieces), result.pieces.as_slice()),
        // A conversation has no rows for these.
        Body::Model { .. } | Body::Title(_) => return None,
    };
    let mut row = Object::new();
    row.text("role", role);
    row.text("content", &content);
    row.text("timestamp", &timestamp(entry.time));
    let images: Vec<Vec<u8>> =
        pieces.iter().filter_map(|piece| if let Piece::Image(image) = piece { Some(token(&pictures.add(image))) } else { None }).collect();
    if !images.is_empty() {
        row.json("files", list(images));
    }
    let mut metadata = Object::new();
    match &entry.body {
        Body::Result(CallResult { call_id, name, .. }) => {
            row.text("call_id", call_id);
            metadata.text("tool", name);
        }
        Body::Answer(answer) => answer_metadata(answer, &mut metadata),
        Body::System(_)
        | Body::User(_)
        | Body::Note { .. }
        | Body::Compaction { .. }
        | Body::BranchSummary(_)
        | Body::Model { .. }
        | Body::Title(_) => {}
    }
    if let Some(carried) = &entry.carried {
        metadata.json(CARRIED, carried);
    }
    if !metadata.is_empty() {
        row.json("metadata", metadata.finish());
    }
    Some(row)
}

/// `datetime.isoformat()` in UTC.
fn timestamp(time: Instant) -> String {
    let digits = if time.micros().rem_euclid(1_000_000) == 0 { 0 } else { 6 };
    format!("{}+00:00", time.text(digits))
}

/// Returns an answer in one text: thoughts, then what is said, then calls, a line each.
fn content(answer: &Answer) -> String {
    let mut out = String::new();
    for piece in &answer.pieces {
        if let Piece::Thinking { text, signature } = piece {
            let signature = signature.as_ref().map(|signature| format!("\n<!-- think-sig: {signature} -->")).unwrap_or_default();
            out.push_str(&format!("<think>\n{text}{signature}\n</think>\n\n"));
        }
    }
    let mut is_begun = false;
    let mut push_line = |line: &str| {
        if is_begun {
            out.push('\n');
        }
        is_begun = true;
        out.push_str(line);
    };
    let said = text_of(&answer.pieces);
    if !said.is_empty() {
        push_line(&said);
    }
    for call in answer.calls() {
        let mut arguments = Vec::new();
        STYLE.push_literal_at(Value::trusted(call.arguments.as_bytes()), 0, &mut arguments);
        push_line(&format!("@{}({}): {}", call.name, call.id, String::from_utf8_lossy(&arguments)));
    }
    out
}

fn answer_metadata(answer: &Answer, metadata: &mut Object) {
    let both: Vec<&str> = [&answer.provider, &answer.model].into_iter().flatten().map(String::as_str).collect();
    if !both.is_empty() {
        metadata.text("model", &both.join("/"));
    }
    let Some(Tokens { input, output, cache_read, cache_write, reasoning, cost, .. }) = answer.usage else { return };
    let mut usage = Object::new();
    for ((name, _), count) in wire::TOKENS.iter().zip([input, output, cache_read, cache_write, reasoning]) {
        if let Some(count) = count {
            usage.json(name, count.to_string());
        }
    }
    if !usage.is_empty() {
        metadata.json("usage", usage.finish());
    }
    if let Some(cost) = cost {
        metadata.json("cost", float_json(cost));
    }
}
