//! What a part says that is of no known kind, in a line.

use crate::json::{self, Kind};

use super::json::Json;

/// A value of so many hexadecimal digits or more is a hash, which nobody reads.
const HASH: usize = 20;

/// How deep members are looked into.
const DEEPEST: usize = 3;

/// A part of no known kind: what its source calls it, and what there is to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OtherFacts {
    /// The source's own word for it; empty where it has none.
    pub(crate) kind: String,
    /// Its members without ids, hashes and what is empty; nothing where these are all
    /// it has.
    pub(crate) said: String,
}

impl OtherFacts {
    /// Reads a part as the log carries it.
    pub(crate) fn of(part: &Json) -> OtherFacts {
        let part = part.as_str().as_bytes();
        // What was carried whole stands in `value`; a type of a newer version is itself.
        let value = json::members(part).find(|member| member.is("value")).map_or(part, |member| member.value);
        if json::kind_of(value) != Kind::Object {
            return OtherFacts { kind: String::new(), said: json::lossy(value).into_owned() };
        }
        let kind = json::members(value).find(|member| member.is("type") && json::kind_of(member.value) == Kind::String);
        let mut said = Vec::new();
        for member in json::members(value).filter(|member| !member.is("type")) {
            push_said(&member.name(), member.value, DEEPEST, &mut said);
        }
        OtherFacts { kind: kind.map(|kind| json::unescape(kind.value).into_owned()).unwrap_or_default(), said: said.join("  ") }
    }

    /// Returns all of it in one text.
    pub(crate) fn line(&self) -> String {
        [self.kind.as_str(), self.said.as_str()].iter().filter(|words| !words.is_empty()).copied().collect::<Vec<_>>().join("  ")
    }
}

fn push_said(name: &str, value: &[u8], depth: usize, said: &mut Vec<String>) {
    match json::kind_of(value) {
        _ if is_id(name) => {}
        Kind::String => {
            let text = json::unescape(value);
            if !text.trim().is_empty() && !is_hash(&text) {
                said.push(format!("{name}={text}"));
            }
        }
        Kind::Number if value == b"0" => {}
        Kind::Number | Kind::True => said.push(format!("{name}={}", json::lossy(value))),
        Kind::False | Kind::Null => {}
        Kind::Object if depth > 1 => {
            json::members(value).for_each(|member| push_said(&format!("{name}.{}", member.name()), member.value, depth - 1, said));
        }
        Kind::Array if json::elements(value).next().is_none() => {}
        Kind::Array | Kind::Object => said.push(format!("{name}={}", json::lossy(value))),
    }
}

/// Whether a member is an id, or a time that nobody set: of bookkeeping.
fn is_id(name: &str) -> bool {
    let last = name.rsplit('.').next().unwrap_or(name);
    last == "id" || last.ends_with("ID") || last.ends_with("Id") || last.ends_with("_id")
}

fn is_hash(text: &str) -> bool {
    text.len() >= HASH && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_hashes_are_nothing_to_read() {
        let facts = |part: &str| OtherFacts::of(&Json::of(part.as_bytes()));
        let start = facts(
            r#"{"type":"other","value":{"id":"prt_1","sessionID":"s","messageID":"m","type":"step-start","snapshot":"0123456789abcdef0123"}}"#,
        );
        assert_eq!((start.kind.as_str(), start.said.as_str()), ("step-start", ""));
        let finish = facts(
            r#"{"type":"other","value":{"id":"p","type":"step-finish","reason":"stop","cost":0,"tokens":{"input":12,"cache":{"read":0}}}}"#,
        );
        assert_eq!(finish.line(), "step-finish  reason=stop  tokens.input=12");
        let search = facts(
            r#"{"type":"other","value":{"type":"web_search_call","action":{"type":"search","query":"loom \"x\""},"files":["a"],"none":[]}}"#,
        );
        assert_eq!(search.said, "action.type=search  action.query=loom \"x\"  files=[\"a\"]");
        assert_eq!(facts(r#"{"type":"other","value":[1,"a"]}"#).line(), r#"[1,"a"]"#);
        assert_eq!(facts(r#"{"type":"hologram","data":"x"}"#).line(), "hologram  data=x");
    }
}
