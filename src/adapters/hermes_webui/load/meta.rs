//! The attributes of a loaded session, as its constructor sets them.

use crate::json::{Kind, Value};
use crate::runtimes::python::convert::int;
use crate::runtimes::python::dumps::{Form, push};
use crate::runtimes::python::number::is_integer;
use crate::runtimes::python::pathlib::Resolved;
use crate::runtimes::python::strings::push_utf8;
use crate::runtimes::python::text::{lower, strip};
use crate::runtimes::python::value::{is_truthy, str_of};

use super::paths::resolved;
use super::sidecar::Session;

/// How an attribute comes from the value of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rule {
    /// As it is; null where it is absent.
    Plain,
    /// As it is; this text where it is absent.
    Default(&'static str),
    /// As it is; where it is absent, set up by the machine's configuration.
    Configured,
    /// As it is if it counts as true, else this.
    Or(&'static str),
    /// As it is if it counts as true, else made up on the spot.
    OrInvented,
    /// True or false.
    Bool,
    /// As it is if it is an object, else this.
    Object(&'static str),
    /// As it is if it is a list, else an empty one.
    List,
    /// Its text, if it counts as true, else null.
    Text,
    /// Its text without blanks around it, if it counts as true, else null.
    Stripped,
    /// Its text in lower case and without blanks around it, else null.
    Lower,
    /// A resolved path, whatever it is.
    Path,
    /// A resolved path if it counts as true, else that of `workspace`.
    PathOrWorkspace,
    /// A resolved path if it counts as true, else null.
    PathOrNull,
    /// A whole number above 0, else null.
    Positive,
}

/// The attributes that are saved before the rows, in that order.
const ATTRIBUTES: [(&str, Rule); 65] = [
    ("session_id", Rule::OrInvented),
    ("title", Rule::Default("\"Untitled\"")),
    ("workspace", Rule::Path),
    ("created_workspace", Rule::PathOrWorkspace),
    ("model", Rule::Configured),
    ("model_provider", Rule::Lower),
    ("model_explicit_pick_signature", Rule::Or("null")),
    ("created_at", Rule::OrInvented),
    ("updated_at", Rule::OrInvented),
    ("pinned", Rule::Bool),
    ("archived", Rule::Bool),
    ("project_id", Rule::Or("null")),
    ("profile", Rule::Plain),
    ("input_tokens", Rule::Or("0")),
    ("output_tokens", Rule::Or("0")),
    ("estimated_cost", Rule::Plain),
    ("cache_read_tokens", Rule::Or("0")),
    ("cache_write_tokens", Rule::Or("0")),
    ("personality", Rule::Plain),
    ("active_stream_id", Rule::Plain),
    ("pending_user_message", Rule::Plain),
    ("pending_attachments", Rule::Or("[]")),
    ("pending_started_at", Rule::Plain),
    ("pending_user_source", Rule::Plain),
    ("compression_anchor_visible_idx", Rule::Plain),
    ("compression_anchor_message_key", Rule::Plain),
    ("compression_anchor_summary", Rule::Plain),
    ("pre_compression_snapshot", Rule::Bool),
    ("context_engine", Rule::Plain),
    ("compression_anchor_engine", Rule::Plain),
    ("compression_anchor_mode", Rule::Plain),
    ("compression_anchor_details", Rule::Object("{}")),
    ("context_engine_state", Rule::Object("{}")),
    ("context_length", Rule::Plain),
    ("threshold_tokens", Rule::Plain),
    ("last_prompt_tokens", Rule::Plain),
    ("post_compression_context_tokens_estimate", Rule::Positive),
    ("compression_recovery", Rule::Object("{}")),
    ("recommended_recovery_action", Rule::Plain),
    ("compression_recovery_source_session_id", Rule::Stripped),
    ("compression_recovery_action", Rule::Stripped),
    ("truncation_watermark", Rule::Plain),
    ("truncation_boundary", Rule::Plain),
    ("clear_generation", Rule::Plain),
    ("intentional_shrink_generation", Rule::Plain),
    ("gateway_routing", Rule::Object("null")),
    ("gateway_routing_history", Rule::List),
    ("llm_title_generated", Rule::Bool),
    ("manual_title", Rule::Bool),
    ("parent_session_id", Rule::Plain),
    ("worktree_path", Rule::PathOrNull),
    ("worktree_branch", Rule::Text),
    ("worktree_repo_root", Rule::PathOrNull),
    ("worktree_created_at", Rule::Plain),
    ("is_cli_session", Rule::Bool),
    ("source_tag", Rule::Plain),
    ("raw_source", Rule::Plain),
    ("session_source", Rule::Plain),
    ("source_label", Rule::Plain),
    ("read_only", Rule::Bool),
    ("enabled_toolsets", Rule::Plain),
    ("composer_draft", Rule::Object("{}")),
    ("process_wakeup_pause", Rule::Object("{}")),
    ("share_token", Rule::Stripped),
    ("share_created_at", Rule::Plain),
];

/// Returns the attributes as a JSON object. Those that the program would invent, or
/// take from its machine, are absent.
#[must_use]
pub fn attributes(session: &Session<'_>) -> String {
    let mut out = b"{".to_vec();
    for (name, rule) in ATTRIBUTES {
        if let Some(value) = attribute(session, name, rule) {
            out.extend_from_slice(if out.len() > 1 { b"," } else { b"" });
            push_utf8(name.as_bytes(), &mut out);
            out.push(b':');
            out.extend_from_slice(&value);
        }
    }
    out.push(b'}');
    String::from_utf8_lossy(&out).into_owned()
}

/// One attribute as JSON.
fn attribute(session: &Session<'_>, name: &str, rule: Rule) -> Option<Vec<u8>> {
    let value = session.get(name);
    let truthy = value.filter(|value| is_truthy(*value));
    let of_kind = |kind: Kind| value.filter(|value| value.kind() == kind);
    let json = |value: Value<'_>| {
        let mut out = Vec::new();
        push(value, Form::Utf8, &mut out);
        out
    };
    let text = |text: &[u8]| {
        let mut out = Vec::new();
        push_utf8(text, &mut out);
        out
    };
    let null = || b"null".to_vec();
    match rule {
        Rule::Plain => Some(value.map_or_else(null, json)),
        Rule::Default(default) => Some(json(value.unwrap_or(Value::trusted(default.as_bytes())))),
        Rule::Configured => value.map(json),
        Rule::Or(default) => Some(json(truthy.unwrap_or(Value::trusted(default.as_bytes())))),
        Rule::OrInvented => truthy.map(json),
        Rule::Bool => Some(truthy.map_or("false", |_| "true").into()),
        Rule::Object(default) => Some(json(of_kind(Kind::Object).unwrap_or(Value::trusted(default.as_bytes())))),
        Rule::List => Some(json(of_kind(Kind::Array).unwrap_or(Value::EMPTY_ARRAY))),
        Rule::Text => Some(truthy.map_or_else(null, |value| text(&str_of(value)))),
        Rule::Stripped => Some(truthy.map_or_else(null, |value| text(strip(&str_of(value))))),
        Rule::Lower => Some(truthy.map_or_else(null, |value| text(&lower(strip(&str_of(value)))))),
        Rule::Path => value.and_then(path).map(|path| text(&path)),
        Rule::PathOrWorkspace => match truthy {
            Some(value) => path(value).map(|path| text(&path)),
            None => attribute(session, "workspace", Rule::Path),
        },
        Rule::PathOrNull => match truthy {
            Some(value) => path(value).map(|path| text(&path)),
            None => Some(null()),
        },
        Rule::Positive => Some(value.and_then(positive).unwrap_or_else(null)),
    }
}

fn path(value: Value<'_>) -> Option<Vec<u8>> {
    match resolved(value)? {
        Resolved::Path(path) => Some(path),
        Resolved::Elsewhere => None,
    }
}

/// Returns a count above 0: an integer or `true` is kept as it is, all else rounded.
fn positive(value: Value<'_>) -> Option<Vec<u8>> {
    let whole = int(value).ok().filter(|whole| whole != "0" && !whole.starts_with('-'))?;
    let is_kept = value.kind() == Kind::True || (value.is_number() && is_integer(value.text()));
    Some(if is_kept { value.text().to_vec() } else { whole.into_bytes() })
}
