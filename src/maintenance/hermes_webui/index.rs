//! The sidebar's list of sessions: what it says, and what it should say.

use std::collections::{BTreeMap, BTreeSet};

use crate::json::{self, Dialect, Escapes, Member, Separators, Style, Value};
use crate::runtimes::python::text::strip_str;

use super::document::{Document, get, is_true, number, string, text_of};
use super::edit::{compact, float, object, quoted};

/// One row as it stands in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Row<'a> {
    /// Where it begins in the file.
    pub offset: usize,
    pub value: Value<'a>,
}

impl<'a> Row<'a> {
    fn members(&self) -> Vec<Member<'a>> {
        self.value.all_members()
    }

    /// Returns which session it is about.
    pub(super) fn id(&self) -> Option<String> {
        get(&self.members(), "session_id").and_then(string)
    }

    pub(super) fn updated_at(&self) -> Option<f64> {
        get(&self.members(), "updated_at").and_then(number)
    }
}

/// Tells whether a row is of the time of its sidecar; what has none is of no time.
pub(super) fn is_same_time(row: Option<f64>, sidecar: Option<f64>) -> bool {
    row.unwrap_or(0.0).total_cmp(&sidecar.unwrap_or(0.0)).is_eq()
}

/// Returns the rows of a list, or where and why it is not one.
pub(super) fn rows(bytes: &[u8]) -> Result<Vec<Row<'_>>, (usize, &'static str)> {
    if let Err(error) = std::str::from_utf8(bytes) {
        return Err((error.valid_up_to(), "not UTF-8"));
    }
    let scan = json::scan_value(bytes, Dialect::Python).map_err(|error| (error.at, error.what))?;
    if !bytes[scan.end..].trim_ascii().is_empty() {
        return Err((scan.end, "more text after the end of the list"));
    }
    if !scan.value.is_array() {
        return Err((0, "it is not a list"));
    }
    Ok(scan.value.elements().map(|row| Row { offset: row.span_in(bytes).start, value: row }).collect())
}

/// What a row takes over from the sidecar, and what stands there where the
/// sidecar has nothing. Of those in brackets only what says something.
const TAKEN: [(&str, &str); 51] = [
    ("session_id", ""),
    ("title", "\"Untitled\""),
    ("workspace", "\"\""),
    ("model", "null"),
    ("model_provider", "null"),
    ("message_count", ""),
    ("created_at", "0"),
    ("updated_at", "0"),
    ("last_message_at", ""),
    ("pinned", "false"),
    ("archived", "false"),
    ("project_id", "null"),
    ("profile", "null"),
    ("input_tokens", "0"),
    ("output_tokens", "0"),
    ("estimated_cost", "null"),
    ("cache_read_tokens", "0"),
    ("cache_write_tokens", "0"),
    ("cache_hit_percent", ""),
    ("personality", "null"),
    ("compression_anchor_visible_idx", "null"),
    ("compression_anchor_message_key", "null"),
    ("compression_anchor_summary", "null"),
    ("pre_compression_snapshot", "false"),
    ("context_engine", "null"),
    ("compression_anchor_engine", "null"),
    ("compression_anchor_mode", "null"),
    ("compression_anchor_details", "{}"),
    ("context_engine_state", "{}"),
    ("context_length", "null"),
    ("threshold_tokens", "null"),
    ("last_prompt_tokens", "null"),
    ("post_compression_context_tokens_estimate", "null"),
    ("compression_recovery", "{}"),
    ("recommended_recovery_action", "null"),
    ("gateway_routing", "null"),
    ("gateway_routing_history", "[]"),
    ("manual_title", "false"),
    ("[lineage]", ""),
    ("user_message_count", ""),
    ("active_stream_id", "null"),
    ("pending_user_message", "null"),
    ("has_pending_user_message", ""),
    ("is_cli_session", "false"),
    ("source_tag", "null"),
    ("raw_source", "null"),
    ("session_source", "null"),
    ("source_label", "null"),
    ("read_only", "false"),
    ("enabled_toolsets", "null"),
    ("[rest]", ""),
];

/// Returns the row of a session, as a compact JSON text.
pub(super) fn row(id: &str, sidecar: &Document<'_>) -> Vec<u8> {
    let is_pending = sidecar.says("pending_user_message");
    let value = |key: &str, other: &str| sidecar.get(key).map_or_else(|| other.as_bytes().to_vec(), compact);
    let mut members: Vec<(&str, Vec<u8>)> = Vec::new();
    for (key, other) in TAKEN {
        let text = match key {
            "session_id" => quoted(&sidecar.text("session_id").unwrap_or_else(|| id.to_owned())),
            "model_provider" => sidecar.text(key).map_or_else(|| b"null".to_vec(), |provider| quoted(strip_str(&provider.to_lowercase()))),
            "message_count" => sidecar.count().max(i64::from(is_pending)).to_string().into_bytes(),
            "last_message_at" => last_message_at(sidecar),
            "cache_hit_percent" => cache_hits(sidecar),
            "user_message_count" => sidecar.elements("messages").filter(|row| is_by_user(*row)).count().to_string().into_bytes(),
            "has_pending_user_message" => is_pending.to_string().into_bytes(),
            "[lineage]" => {
                lineage(sidecar, &mut members);
                continue;
            }
            "[rest]" => {
                let objects = ["composer_draft", "process_wakeup_pause"];
                members.extend(objects.map(|key| (key, object_of(sidecar, key))));
                members.extend(["share_token", "share_created_at"].map(|key| (key, value(key, "null"))));
                members.push(("is_streaming", b"false".to_vec()));
                continue;
            }
            _ => value(key, other),
        };
        members.push((key, text));
    }
    object(&members)
}

fn object_of(sidecar: &Document<'_>, key: &str) -> Vec<u8> {
    sidecar.get(key).filter(|value| value.is_object()).map_or_else(|| b"{}".to_vec(), compact)
}

/// Where a session comes from, as far as it comes from somewhere.
fn lineage(sidecar: &Document<'_>, members: &mut Vec<(&str, Vec<u8>)>) {
    let value = |key: &str| sidecar.get(key).map_or_else(|| b"null".to_vec(), compact);
    if sidecar.says("parent_session_id") {
        members.push(("parent_session_id", value("parent_session_id")));
    }
    let workspace = if sidecar.says("created_workspace") { "created_workspace" } else { "workspace" };
    members.push(("created_workspace", value(workspace)));
    let recovery = ["compression_recovery_source_session_id", "compression_recovery_action"];
    if recovery.iter().any(|key| sidecar.says(key)) {
        members.extend(recovery.map(|key| (key, value(key))));
    }
    if sidecar.says("worktree_path") {
        members.extend(["worktree_path", "worktree_branch", "worktree_repo_root", "worktree_created_at"].map(|key| (key, value(key))));
    }
}

fn is_by_user(row: Value<'_>) -> bool {
    row.members().any(|member| member.is("role") && member.value().text() == b"\"user\"")
}

/// Returns when something was last said: tools and what has no text do not count.
fn last_message_at(sidecar: &Document<'_>) -> Vec<u8> {
    if sidecar.says("pending_user_message") && sidecar.says("pending_started_at") {
        return sidecar.get("pending_started_at").map(compact).unwrap_or_default();
    }
    let rows: Vec<Value<'_>> = sidecar.elements("messages").collect();
    let last = rows.iter().rev().filter(|row| row.is_object()).find_map(|row| {
        let members: Vec<_> = row.all_members();
        let role = get(&members, "role").map(text_of).unwrap_or_default();
        let has_text = get(&members, "content").map(text_of).is_some_and(|text| !strip_str(&text).is_empty());
        if role == "tool" || (role == "assistant" && is_true(get(&members, "_partial")) && !has_text) {
            return None;
        }
        let at = get(&members, "_ts").filter(|at| is_true(Some(*at))).or_else(|| get(&members, "timestamp"))?;
        number(at).filter(|at| *at != 0.0)
    });
    last.map_or_else(|| sidecar.get("updated_at").map_or_else(|| b"0".to_vec(), compact), float)
}

/// Returns how much of the prompt came from the cache, in percent.
fn cache_hits(sidecar: &Document<'_>) -> Vec<u8> {
    let count = |key: &str| sidecar.number(key).map_or(0.0, f64::trunc);
    let (read, prompt) = (count("cache_read_tokens"), count("input_tokens"));
    if read <= 0.0 || prompt <= 0.0 {
        return b"null".to_vec();
    }
    format!("{}", (read / prompt * 100.0).round_ties_even().min(100.0)).into_bytes()
}

/// What the list is to become: new rows by session, and which of the old ones
/// are to go.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    pub rows: BTreeMap<String, Vec<u8>>,
    pub gone: Vec<String>,
}

/// Returns the list with other rows: those that do not change stay as they stand, and
/// all are sorted anew, the latest first.
pub(super) fn rebuilt(old: &[Row<'_>], mut wanted: Wanted) -> Vec<u8> {
    let style = Style { separators: Separators::Indented, escapes: Escapes::Utf8 };
    let render = |row: &[u8]| {
        let mut text = Vec::new();
        style.push_value_at(row, 1, &mut text);
        text
    };
    let mut rows: Vec<(f64, Vec<u8>)> = Vec::new();
    let mut seen = BTreeSet::new();
    for row in old {
        let id = row.id();
        // Of two rows of a session the first counts.
        if id.as_ref().is_some_and(|id| wanted.gone.contains(id) || !seen.insert(id.clone())) {
            continue;
        }
        let new = id.and_then(|id| wanted.rows.remove(&id)).map(|row| render(&row));
        let text = new.unwrap_or_else(|| row.value.text().to_vec());
        rows.push((updated_at(&text), text));
    }
    rows.extend(wanted.rows.values().map(|row| (updated_at(row), render(row))));
    rows.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    if rows.is_empty() {
        return b"[]".to_vec();
    }
    let texts: Vec<Vec<u8>> = rows.into_iter().map(|(_, text)| text).collect();
    [&b"[\n  "[..], &texts.join(&b",\n  "[..]), b"\n]"].concat()
}

fn updated_at(row: &[u8]) -> f64 {
    Row { offset: 0, value: Value::trusted(row) }.updated_at().unwrap_or(0.0)
}
