//! Sessions of other programs as Gemini CLI's own: a patch log that has each message
//! once, under a name that the program's clean-up does not take.

use serde::Serialize;
use serde_json::value::{RawValue, to_raw_value};

use crate::adapters::exporter::{ExportedSession, Exporter};
use crate::model::digest::sha256_hex;
use crate::model::export::ability::{Abilities, Ability};
use crate::model::export::instant::Instant;
use crate::model::export::transcript::{Answer, Body, CallResult, Entry, Outcome, Piece, Tokens, Transcript, text_of};
use crate::model::files::RelPath;
use crate::runtimes::javascript as js;

use super::layout::{CHATS, PROJECT_ROOT};

/// The exporter of Gemini CLI.
pub(super) struct GeminiCliExporter;

/// The program does not send a prompt to the model that begins like this.
const NOT_SENT: [&str; 4] = ["/", "?", "<session_context>", "<hook_context>"];
/// A character without width, which no trimming takes away.
const NOTHING: char = '\u{200b}';

/// The folder of the projects in the program's own folder.
const PROJECTS: &str = "tmp";

/// So many characters of an id are in the name of a file.
const SHORT_ID: usize = 8;

impl Exporter for GeminiCliExporter {
    fn abilities(&self) -> Abilities {
        Abilities {
            can: &[
                Ability::OwnThinking,
                Ability::Images,
                Ability::ErrorFlags,
                Ability::Usage,
                Ability::Models,
                Ability::Titles,
                Ability::Order,
                Ability::Cwd,
                Ability::Times,
            ],
            needs: &[],
            digits: 3,
        }
    }

    fn counts(&self, tokens: Tokens) -> Tokens {
        Tokens { cache_write: None, ..tokens }
    }

    fn reword(&self, entry: &mut Body) -> bool {
        let text = match entry {
            Body::User(pieces) | Body::Note { pieces, .. } => match pieces.first_mut() {
                Some(Piece::Text(text)) => text,
                Some(Piece::Thinking { .. } | Piece::Image(_) | Piece::Call(_)) | None => return false,
            },
            Body::System(text) | Body::Compaction { summary: text, .. } | Body::BranchSummary(text) => text,
            Body::Answer(_) | Body::Result(_) | Body::Model { .. } | Body::Title(_) => return false,
        };
        let begins = js::trim_start(text.as_bytes());
        if !NOT_SENT.iter().any(|word| begins.starts_with(word.as_bytes())) {
            return false;
        }
        text.insert(0, NOTHING);
        true
    }

    fn marker(&self) -> Option<&'static str> {
        Some(PROJECT_ROOT)
    }

    fn write(&self, session: &Transcript) -> ExportedSession {
        let id = session.seed.uuid();
        let cwd = session.cwd.as_deref().unwrap_or("/");
        let root = format!("{PROJECTS}/{}", slug(cwd));
        let minute = session.created.text(0).get(..16).unwrap_or_default().replace(':', "-");
        // The clean-up deletes by these characters, and finds them in the names of the
        // stubs that the program leaves behind. They are not those of the id.
        let short = &session.seed.derive("file name")[..SHORT_ID];
        let name = format!("{CHATS}session-{minute}-{short}.jsonl");
        let files = vec![
            (RelPath::new(format!("{root}/{PROJECT_ROOT}")), cwd.as_bytes().to_vec()),
            (RelPath::new(format!("{root}/{name}")), lines(session, &id, cwd)),
        ];
        ExportedSession { files, root: RelPath::new(&root), name, go_on: format!("gemini --resume {id}") }
    }
}

/// The name that the program gives to the folder of a project.
fn slug(cwd: &str) -> String {
    let base = cwd.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_lowercase();
    let mut slug = String::new();
    for c in base.chars() {
        match c {
            'a'..='z' | '0'..='9' => slug.push(c),
            _ if slug.ends_with('-') => {}
            _ => slug.push('-'),
        }
    }
    let slug = slug.trim_matches('-');
    if slug.is_empty() { "project".to_owned() } else { slug.to_owned() }
}

/// The first line. It does not say when the session was last written: the program
/// then takes it for new, and its clean-up deletes only what is old.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    session_id: &'a str,
    project_hash: String,
    start_time: String,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<&'a str>,
}

#[derive(Serialize)]
struct Message<'a> {
    id: String,
    timestamp: String,
    r#type: &'static str,
    content: Vec<Part<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thoughts: Option<[(); 0]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<Counts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none", rename = "everlog")]
    carried: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct Counts {
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cached: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    thoughts: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total: Option<u64>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Part<'a> {
    Text {
        text: &'a str,
    },
    #[serde(rename_all = "camelCase")]
    Thought {
        text: &'a str,
        thought: bool,
        #[serde(skip_serializing_if = "Option::is_none")]
        thought_signature: Option<&'a str>,
    },
    #[serde(rename_all = "camelCase")]
    Image {
        inline_data: Data<'a>,
    },
    #[serde(rename_all = "camelCase")]
    Call {
        function_call: Call<'a>,
    },
    #[serde(rename_all = "camelCase")]
    Response {
        function_response: Response<'a>,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Data<'a> {
    data: &'a str,
    mime_type: &'a str,
}

#[derive(Serialize)]
struct Call<'a> {
    id: &'a str,
    name: &'a str,
    args: Option<Box<RawValue>>,
}

#[derive(Serialize)]
struct Response<'a> {
    id: &'a str,
    name: &'a str,
    response: Said,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Said {
    Output(String),
    Error(String),
}

fn lines(session: &Transcript, id: &str, cwd: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let metadata = Metadata {
        session_id: id,
        project_hash: sha256_hex(cwd.as_bytes()),
        start_time: time(session.created),
        kind: "main",
        summary: session.title.as_deref(),
    };
    push_line(&metadata, &mut out);
    for entry in &session.entries {
        push_line(&message(session, entry), &mut out);
    }
    out
}

fn time(time: Instant) -> String {
    format!("{}Z", time.text(3))
}

/// Our own records are maps with texts as keys, which always have a JSON text.
fn push_line(line: &impl Serialize, out: &mut Vec<u8>) {
    // Node 24 reads a file line by line, and takes these two for the end of one.
    let text = serde_json::to_string(line).unwrap_or_default().replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029");
    out.extend_from_slice(text.as_bytes());
    out.push(b'\n');
}

fn message<'a>(session: &Transcript, entry: &'a Entry) -> Message<'a> {
    let user = |content| Message {
        id: session.seed.uuid_of(&entry.id),
        timestamp: time(entry.time),
        r#type: "user",
        content,
        thoughts: None,
        tokens: None,
        model: None,
        carried: entry.carried.clone().and_then(|member| RawValue::from_string(member).ok()),
    };
    match &entry.body {
        Body::User(pieces) | Body::Note { pieces, .. } => user(pieces.iter().map(part).collect()),
        Body::Answer(answer) => answered_by_model(answer, user(answer.pieces.iter().map(part).collect())),
        Body::Result(result) => user(vec![response(result)]),
        Body::System(text)
        | Body::Compaction { summary: text, .. }
        | Body::BranchSummary(text)
        | Body::Model { model: text, .. }
        | Body::Title(text) => user(vec![Part::Text { text }]),
    }
}

fn answered_by_model<'a>(answer: &'a Answer, message: Message<'a>) -> Message<'a> {
    let tokens = answer.usage.map(|tokens| Counts {
        input: tokens.input,
        output: tokens.output,
        cached: tokens.cache_read,
        thoughts: tokens.reasoning,
        total: tokens.total,
    });
    Message { r#type: "gemini", thoughts: Some([]), tokens, model: answer.model.as_deref(), ..message }
}

/// Calls stand in the content and nowhere else, or the program sends their results
/// twice.
fn part(piece: &Piece) -> Part<'_> {
    match piece {
        Piece::Text(text) => Part::Text { text },
        Piece::Thinking { text, signature } => Part::Thought { text, thought: true, thought_signature: signature.as_deref() },
        Piece::Image(image) => Part::Image { inline_data: Data { data: &image.data, mime_type: &image.media_type } },
        Piece::Call(call) => {
            let args = RawValue::from_string(call.arguments.clone()).or_else(|_| to_raw_value(&call.arguments)).ok();
            Part::Call { function_call: Call { id: &call.id, name: &call.name, args } }
        }
    }
}

fn response(result: &CallResult) -> Part<'_> {
    let text = text_of(&result.pieces);
    let response = match result.outcome {
        Outcome::Done => Said::Output(text),
        Outcome::Failed => Said::Error(text),
    };
    Part::Response { function_response: Response { id: &result.call_id, name: &result.name, response } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_folder_is_named_as_the_program_names_it() {
        assert_eq!(slug("/home/dev/My  Project (2)/"), "my-project-2");
        assert_eq!(slug("/"), "project");
        assert_eq!(slug("/tmp/\u{4e2d}"), "project");
    }

    #[test]
    fn no_character_of_a_text_ends_a_line_for_node() {
        let mut out = Vec::new();
        push_line(&"a\u{2028}b\u{2029}c", &mut out);
        assert_eq!(out, b"\"a\\u2028b\\u2029c\"\n");
    }

    #[test]
    fn a_prompt_that_would_not_be_sent_is_changed_and_no_other() {
        let reworded = |text: &str| {
            let mut body = Body::User(vec![Piece::Text(text.to_owned())]);
            (GeminiCliExporter.reword(&mut body), body)
        };
        let body = |text: &str| Body::User(vec![Piece::Text(text.to_owned())]);
        assert_eq!(reworded(" \u{feff}/etc/hosts is wrong"), (true, body("\u{200b} \u{feff}/etc/hosts is wrong")));
        assert_eq!(reworded("a/b?"), (false, body("a/b?")));
    }
}
