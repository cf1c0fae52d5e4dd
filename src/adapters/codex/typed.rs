//! Which members an item must have, and of which type. Codex skips the whole record of an
//! item that has others.

use uuid::Uuid;

use crate::json::{self, Kind, Member, Value};
use crate::runtimes::rust;

use super::item::Item;
use super::members::{get, members_of, some, text};

/// What a member has to be.
#[derive(Debug, Clone, Copy)]
pub(super) enum Type {
    Text,
    /// Also `null`, or not there.
    MaybeText,
    /// One of these texts.
    Word(&'static [&'static str]),
    MaybeWord(&'static [&'static str]),
    MaybeUnsigned,
    MaybeNumber,
    /// There and not `null`.
    Flag,
    /// Not there, or a flag.
    FlagOrAbsent,
    MaybeFlag,
    Texts,
    MaybeTexts,
    MaybeList,
    List,
    /// There, whatever it is.
    Present,
    Parts(&'static [PartType]),
    MaybeParts(&'static [PartType]),
    /// A text, or a list of parts.
    Output,
    Structure(&'static [(&'static str, Type)]),
    MaybeStructure(&'static [(&'static str, Type)]),
    Uuid,
    MaybeUuid,
    /// Not there, or a UUID.
    UuidOrAbsent,
    MaybeSigned,
    MaybePaths,
    Path,
    /// Not there, or texts.
    TextsOrAbsent,
    MaybeObject,
    /// Not there, or a text.
    TextOrAbsent,
    /// Not there, a text or an object.
    SourceOrAbsent,
    ApprovalPolicy,
    /// An object with one of these types.
    OneOf(&'static [&'static str]),
    /// Not empty where it is there.
    MaybeEffort,
    /// A text or an unsigned number.
    MaybeWindow,
    /// Not there, or a list of objects with these members.
    Structures(&'static [(&'static str, Type)]),
    Unsigned,
    /// The name of an agent.
    Agent,
    /// Not there, or names of agents.
    AgentsOrAbsent,
    /// An object in which each of these is a text where it is there.
    MaybeNames(&'static [&'static str]),
    /// An object whose values are all texts.
    MaybeTextMap,
    MaybeSearch,
    Anything,
}

/// A type of part, with its members.
pub(super) type PartType = (&'static str, &'static [(&'static str, Type)]);

const DETAILS: Type = Type::MaybeWord(&["auto", "low", "high", "original"]);
const TEXT: &[(&str, Type)] = &[("text", Type::Text)];
const INPUT_TEXT: PartType = ("input_text", TEXT);
const OUTPUT_TEXT: PartType = ("output_text", &[("text", Type::Text), ("annotations", Type::MaybeList), ("logprobs", Type::MaybeList)]);
const IMAGE: PartType = ("input_image", &[("image_url", Type::Text), ("detail", DETAILS)]);
const AUDIO: PartType = ("input_audio", &[("audio_url", Type::Text)]);
const ENCRYPTED: PartType = ("encrypted_content", &[("encrypted_content", Type::Text)]);

const ACTION: &[(&str, Type)] = &[
    ("type", Type::Word(&["exec"])),
    ("command", Type::Texts),
    ("timeout_ms", Type::MaybeUnsigned),
    ("working_directory", Type::MaybeText),
    ("env", Type::MaybeTextMap),
    ("user", Type::MaybeText),
];

/// What is searched for, by the type of the action; an action of another type has no
/// members.
const SEARCHES: &[PartType] = &[
    ("search", &[("query", Type::MaybeText), ("queries", Type::MaybeTexts)]),
    ("open_page", &[("url", Type::MaybeText)]),
    ("find_in_page", &[("url", Type::MaybeText), ("pattern", Type::MaybeText)]),
];

/// The key of the metadata that an item carries for its writer alone.
pub(super) const PASSTHROUGH: &str = "internal_chat_message_metadata_passthrough";
/// In the order in which a list gives them.
const OF_TURN: &[(&str, Type)] = &[
    ("turn_id", Type::MaybeText),
    ("create_time", Type::MaybeNumber),
    ("content_item_kinds", Type::Anything),
    ("content_item_metadata", Type::Anything),
];
const KEPT_MESSAGE: &[(&str, Type)] = &[("message_id", Type::Text), ("turn_id", Type::Text), ("role", Type::Word(&["user", "assistant"]))];
const KEPT: &[(&str, Type)] = &[("id", Type::Structure(KEPT_MESSAGE)), ("revision", Type::Text), ("complete", Type::Flag)];
/// The metadata of a record, in the order in which a list gives them.
const OF_RECORD: &[(&str, Type)] = &[
    ("history_sequence", Type::MaybeUnsigned),
    ("sampled_through_sequence", Type::MaybeUnsigned),
    ("retained_source", Type::MaybeStructure(KEPT)),
    ("client_authored", Type::FlagOrAbsent),
    ("user_input_order", Type::MaybeUnsigned),
    ("mcp_attribution", Type::Anything),
    ("fallback_token_limit_override", Type::MaybeUnsigned),
];

const AGENTS: Type = Type::MaybeWord(&["v1", "v2", "disabled"]);

/// The payload of a header; how its history is kept is judged by the whole file.
pub(super) const HEADER: &[(&str, Type)] = &[
    ("id", Type::Uuid),
    ("session_id", Type::UuidOrAbsent),
    ("timestamp", Type::Text),
    ("cwd", Type::Text),
    ("originator", Type::Text),
    ("cli_version", Type::Text),
    ("source", Type::SourceOrAbsent),
    ("model_provider", Type::MaybeText),
    ("thread_source", Type::MaybeText),
    ("agent_nickname", Type::MaybeText),
    ("agent_role", Type::MaybeText),
    ("agent_path", Type::MaybeText),
    ("memory_mode", Type::MaybeText),
    ("forked_from_id", Type::MaybeUuid),
    ("parent_thread_id", Type::MaybeUuid),
    ("forked_from_ordinal_exclusive", Type::MaybeUnsigned),
    ("account_scoped", Type::FlagOrAbsent),
    ("runtime_workspace_roots", Type::MaybePaths),
    ("base_instructions", Type::MaybeStructure(&[("text", Type::Text), ("provenance", Type::Anything)])),
    ("git", Type::MaybeNames(&["commit_hash", "branch", "repository_url"])),
    ("context_window", Type::MaybeStructure(&[("window_id", Type::Text)])),
    ("multi_agent_version", AGENTS),
    ("dynamic_tools", Type::MaybeList),
    (
        "history_base",
        Type::MaybeStructure(&[("thread_id", Type::Uuid), ("end_ordinal_exclusive", Type::Unsigned), ("end_byte_offset", Type::Unsigned)]),
    ),
];

/// The event of a prompt.
pub(super) const USER_EVENT: &[(&str, Type)] = &[
    ("message", Type::Text),
    ("client_id", Type::MaybeText),
    ("images", Type::MaybeTexts),
    ("audio", Type::MaybeTexts),
    ("local_images", Type::TextsOrAbsent),
    ("local_audio", Type::TextsOrAbsent),
    (
        "text_elements",
        Type::Structures(&[
            ("byte_range", Type::Structure(&[("start", Type::Unsigned), ("end", Type::Unsigned)])),
            ("placeholder", Type::MaybeText),
        ]),
    ),
];

/// The event at the beginning of a turn.
pub(super) const TURN_STARTED: &[(&str, Type)] = &[
    ("turn_id", Type::Text),
    ("started_at", Type::MaybeSigned),
    ("model_context_window", Type::MaybeSigned),
    ("collaboration_mode_kind", Type::TextOrAbsent),
    ("root_turn_id", Type::MaybeText),
    ("trace_id", Type::MaybeText),
    ("turn_attribution", Type::MaybeObject),
];

/// The settings of a turn.
pub(super) const TURN_CONTEXT: &[(&str, Type)] = &[
    ("turn_id", Type::MaybeText),
    ("root_turn_id", Type::MaybeText),
    ("cwd", Type::Path),
    ("approval_policy", Type::ApprovalPolicy),
    ("sandbox_policy", Type::OneOf(&["danger-full-access", "read-only", "workspace-write", "external-sandbox"])),
    ("model", Type::Text),
    ("summary", Type::MaybeWord(&["auto", "concise", "detailed", "none"])),
    ("effort", Type::MaybeEffort),
    ("comp_hash", Type::MaybeText),
    ("multi_agent_version", AGENTS),
    ("realtime_active", Type::MaybeFlag),
    ("disabled_plugin_ids", Type::MaybeTexts),
];

/// A compaction besides its list and what that says of it.
pub(super) const COMPACTION: &[(&str, Type)] = &[
    ("message", Type::Text),
    ("window_number", Type::MaybeUnsigned),
    ("first_window_id", Type::MaybeText),
    ("previous_window_id", Type::MaybeText),
    ("window_id", Type::MaybeWindow),
    ("compaction_response_id", Type::MaybeText),
    ("retained_context", Type::MaybeObject),
    ("latest_token_usage_record", Type::MaybeObject),
    ("resume_metadata", Type::MaybeObject),
];

/// What a message between agents has to have.
pub(super) const BETWEEN_AGENTS: &[(&str, Type)] = &[
    ("author", Type::Agent),
    ("recipient", Type::Agent),
    ("other_recipients", Type::AgentsOrAbsent),
    ("content", Type::Text),
    ("trigger_turn", Type::Flag),
    ("id", Type::MaybeText),
    ("encrypted_content", Type::MaybeText),
    (PASSTHROUGH, Type::MaybeStructure(OF_TURN)),
];

/// The members of an item besides its type, its id and its metadata.
fn members_of_item(item: Item) -> &'static [(&'static str, Type)] {
    use Type::{MaybeText, Text};
    match item {
        Item::Message => &[
            ("role", Text),
            ("content", Type::Parts(&[INPUT_TEXT, OUTPUT_TEXT, IMAGE, AUDIO])),
            ("phase", Type::MaybeWord(&["commentary", "final_answer"])),
            ("status", MaybeText),
        ],
        Item::Reasoning => &[
            ("summary", Type::Parts(&[("summary_text", TEXT)])),
            ("content", Type::MaybeParts(&[("reasoning_text", TEXT), ("text", TEXT)])),
            ("encrypted_content", MaybeText),
        ],
        Item::FunctionCall => &[("name", Text), ("arguments", Text), ("call_id", Text), ("namespace", MaybeText), ("status", MaybeText)],
        Item::FunctionOutput => &[("output", Type::Output), ("call_id", MaybeText), ("name", MaybeText), ("namespace", MaybeText)],
        Item::CustomCall => &[("call_id", Text), ("name", Text), ("input", Text), ("status", MaybeText), ("namespace", MaybeText)],
        Item::CustomOutput => &[("call_id", Text), ("output", Type::Output), ("name", MaybeText)],
        Item::ShellCall => &[
            ("status", Type::Word(&["completed", "in_progress", "incomplete"])),
            ("action", Type::Structure(ACTION)),
            ("call_id", MaybeText),
        ],
        Item::SearchCall => &[("execution", Text), ("arguments", Type::Present), ("call_id", MaybeText), ("status", MaybeText)],
        Item::SearchOutput => &[("status", Text), ("execution", Text), ("tools", Type::List), ("call_id", MaybeText)],
        Item::WebSearch => &[("status", MaybeText), ("action", Type::MaybeSearch)],
        Item::ImageGeneration => &[("status", Text), ("result", Text), ("revised_prompt", MaybeText)],
        Item::Compaction => &[("encrypted_content", Text)],
        Item::ContextCompaction => &[("encrypted_content", MaybeText)],
        Item::AgentMessage => &[("author", Text), ("recipient", Text), ("content", Type::Parts(&[INPUT_TEXT, ENCRYPTED]))],
        Item::AdditionalTools => &[("role", Text), ("tools", Type::List)],
        // Neither is handed on.
        Item::GhostSnapshot | Item::Unknown => &[],
    }
}

/// Whether it is an output that has a text without anything in it.
pub(super) fn has_empty_text(item: &[Member<'_>]) -> bool {
    let is_empty = |part: &[u8]| get(&members_of(part), "text") == Some(b"\"\"");
    get(item, "output").is_some_and(|output| json::kind_of(output) == Kind::Array && json::elements(output).any(is_empty))
}

/// Whether an item has the members of its type.
pub(super) fn is_item(item: Item, members: &[Member<'_>]) -> bool {
    let about = some(members, PASSTHROUGH);
    matches!(item, Item::Unknown | Item::GhostSnapshot)
        || (is_right(members, "id", Type::MaybeText)
            && about.is_none_or(|about| is_structure(about, OF_TURN))
            && has(members, members_of_item(item)))
}

/// Whether the metadata of a record are of their types.
pub(super) fn is_metadata(value: &[u8]) -> bool {
    json::kind_of(value) == Kind::Null || is_structure(value, OF_RECORD)
}

/// Whether members are all of these types.
pub(super) fn has(members: &[Member<'_>], types: &[(&'static str, Type)]) -> bool {
    types.iter().all(|(key, wanted)| is_right(members, key, *wanted))
}

fn is_right(members: &[Member<'_>], key: &str, wanted: Type) -> bool {
    is_of_type(get(members, key), wanted)
}

fn is_of_type(value: Option<&[u8]>, wanted: Type) -> bool {
    let given = value.filter(|value| json::kind_of(value) != Kind::Null);
    let maybe = |is_right: &dyn Fn(&[u8]) -> bool| given.is_none_or(is_right);
    let there = |is_right: &dyn Fn(&[u8]) -> bool| given.is_some_and(is_right);
    let is_text = |value: &[u8]| json::kind_of(value) == Kind::String;
    let is_word = |value: &[u8], words: &[&str]| is_text(value) && words.contains(&json::unescape(value).as_ref());
    let is_list = |value: &[u8]| json::kind_of(value) == Kind::Array;
    let is_texts = |value: &[u8]| is_list(value) && json::elements(value).all(is_text);
    let is_object = |value: &[u8]| json::kind_of(value) == Kind::Object;
    let is_path = |value: &[u8]| is_text(value) && json::unescape(value).starts_with('/');
    let is_flag = |value: &[u8]| matches!(json::kind_of(value), Kind::True | Kind::False);
    match wanted {
        Type::Text => there(&is_text),
        Type::MaybeText => maybe(&is_text),
        Type::Word(words) => there(&|value| is_word(value, words)),
        Type::MaybeWord(words) => maybe(&|value| is_word(value, words)),
        Type::MaybeUnsigned => maybe(&is_unsigned),
        Type::MaybeNumber => maybe(&|value| json::kind_of(value) == Kind::Number),
        Type::Flag => there(&is_flag),
        Type::MaybeFlag => maybe(&is_flag),
        Type::FlagOrAbsent => value.is_none_or(is_flag),
        Type::Texts => there(&is_texts),
        Type::MaybeTexts => maybe(&is_texts),
        Type::MaybeList => maybe(&is_list),
        Type::List => there(&is_list),
        Type::Present => value.is_some(),
        Type::Parts(types) => there(&|list| are_parts(list, types)),
        Type::MaybeParts(types) => maybe(&|list| are_parts(list, types)),
        Type::Output => there(&|output| is_text(output) || are_parts(output, &[INPUT_TEXT, IMAGE, AUDIO, ENCRYPTED])),
        Type::Structure(types) => there(&|object| is_structure(object, types)),
        Type::MaybeStructure(types) => maybe(&|object| is_structure(object, types)),
        Type::MaybeTextMap => maybe(&|map| {
            json::kind_of(map) == Kind::Object
                && members_of(map).iter().all(|member| get(&members_of(map), &member.name()).is_some_and(is_text))
        }),
        Type::MaybeSearch => maybe(&is_search),
        Type::Uuid => there(&is_uuid),
        Type::MaybeUuid => maybe(&is_uuid),
        Type::UuidOrAbsent => value.is_none_or(is_uuid),
        Type::MaybeSigned => maybe(&is_signed),
        Type::Path => there(&is_path),
        Type::MaybePaths => maybe(&|list| is_list(list) && json::elements(list).all(is_path)),
        Type::TextsOrAbsent => value.is_none_or(is_texts),
        Type::MaybeObject => maybe(&is_object),
        Type::TextOrAbsent => value.is_none_or(is_text),
        Type::SourceOrAbsent => value.is_none_or(|source| is_text(source) || is_object(source)),
        Type::ApprovalPolicy => there(&|policy| is_object(policy) || is_word(policy, &["never", "on-request", "on-failure", "untrusted"])),
        Type::OneOf(types) => there(&|object| get(&members_of(object), "type").is_some_and(|name| is_word(name, types))),
        Type::MaybeEffort => maybe(&|effort| is_text(effort) && effort != b"\"\""),
        Type::MaybeWindow => maybe(&|window| is_text(window) || is_unsigned(window)),
        Type::Structures(types) => {
            value.is_none_or(|list| is_list(list) && json::elements(list).all(|element| has(&members_of(element), types)))
        }
        Type::Agent => there(&is_agent),
        Type::AgentsOrAbsent => value.is_none_or(|list| is_list(list) && json::elements(list).all(is_agent)),
        Type::MaybeNames(keys) => {
            maybe(&|object| is_object(object) && keys.iter().all(|key| is_right(&members_of(object), key, Type::MaybeText)))
        }
        Type::Unsigned => there(&is_unsigned),
        Type::Anything => true,
    }
}

/// Whether a value is an integer that is not negative.
pub(super) fn is_unsigned(value: &[u8]) -> bool {
    rust::unsigned(Value::trusted(value)).is_some()
}

fn is_signed(value: &[u8]) -> bool {
    std::str::from_utf8(value).is_ok_and(|number| number.parse::<i64>().is_ok())
}

/// Whether a value names an agent: `/root`, or one below it as `/root/helper/its_helper`.
fn is_agent(value: &[u8]) -> bool {
    if json::kind_of(value) != Kind::String {
        return false;
    }
    let name = json::unescape(value);
    let mut parts = name.split('/');
    let is_below =
        |part: &str| !part.is_empty() && part != "root" && part.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'));
    name == "/morpheus" || (parts.next() == Some("") && parts.next() == Some("root") && parts.all(is_below))
}

fn is_uuid(value: &[u8]) -> bool {
    json::kind_of(value) == Kind::String && Uuid::try_parse(&json::unescape(value)).is_ok()
}

/// Whether the metadata of a compaction's list are there for each of its items.
pub(super) fn are_of_items(metadata: &[u8], items: Option<&[u8]>) -> bool {
    let count = |list: &[u8]| if json::kind_of(list) == Kind::Array { Some(json::elements(list).count()) } else { None };
    count(metadata).is_some()
        && count(metadata) == items.and_then(count)
        && json::elements(metadata).all(|about| is_structure(about, OF_RECORD))
}

/// Whether a value is a structure of these members. Their library also takes a list in
/// this order, and a number with a point for a structure without any of them.
fn is_structure(value: &[u8], types: &[(&'static str, Type)]) -> bool {
    match json::kind_of(value) {
        Kind::Object => has(&members_of(value), types),
        Kind::Array => {
            let mut given = json::elements(value);
            types.iter().all(|(_, wanted)| is_of_type(given.next(), *wanted)) && given.next().is_none()
        }
        Kind::Number => rust::is_float(Value::trusted(value)) && has(&[], types),
        Kind::String | Kind::True | Kind::False | Kind::Null => false,
    }
}

fn are_parts(list: &[u8], types: &[PartType]) -> bool {
    let is_part = |part: &[u8]| {
        let members = members_of(part);
        let name = text(&members, "type");
        types.iter().find(|(known, _)| Some(*known) == name.as_deref()).is_some_and(|(_, types)| has(&members, types))
    };
    json::kind_of(list) == Kind::Array && json::elements(list).all(is_part)
}

fn is_search(action: &[u8]) -> bool {
    let members = members_of(action);
    let Some(name) = text(&members, "type") else { return false };
    SEARCHES.iter().find(|(known, _)| *known == name).is_none_or(|(_, types)| has(&members, types))
}
