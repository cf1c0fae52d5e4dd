//! A validator for the part of JSON Schema (draft 2020-12) that `docs/schema`
//! uses. It reads values as text, because no tree of values holds a number like
//! `1e400`. A keyword that it does not know is a failure, not a pass.

use everlog::json::{self, Kind};
use everlog::model::time::is_log_time;
use serde_json::Value;
use std::path::Path;

/// The commands that print objects of their own with `--json`. `replay` and `show`
/// print flat messages.
pub const COMMANDS: [&str; 21] = [
    "audit", "contains", "detect", "diff", "explain", "export", "fork", "formats", "html", "ls", "migrate", "prune", "repair", "replay",
    "restore", "search", "stats", "store", "tree", "turns", "verify",
];

/// Fails where a line that a command printed with `--json` is not as its schema
/// says.
pub fn check_lines(words: &[String], stdout: &[u8]) {
    let has = |wanted: &str| words.iter().any(|word| word == wanted);
    let Some(command) = words.iter().find_map(|word| COMMANDS.into_iter().chain(["show"]).find(|command| command == word)) else { return };
    // With --as the lines are the source program's own.
    if !has("--json") || has("--help") || (command == "replay" && has("--as")) {
        return;
    }
    let is_flat = command == "show" || command == "replay" && !has("--all");
    check(if is_flat { "message" } else { command }, stdout);
}

/// Fails where a line is not as this schema says.
pub fn check(name: &str, lines: &[u8]) {
    let schema = Schema::read(&format!("{name}.schema.json"));
    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        let problems = schema.problems(line);
        assert!(problems.is_empty(), "{name}.schema.json: {problems:#?}\n{}", String::from_utf8_lossy(line));
    }
}

/// A schema that has been read.
pub struct Schema(Value);

impl Schema {
    /// Reads a schema of `docs/schema`.
    pub fn read(name: &str) -> Schema {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema").join(name);
        Schema(serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap_or_else(|error| panic!("{name}: {error}")))
    }

    /// Everything that is wrong with a value, each with its place.
    pub fn problems(&self, value: &[u8]) -> Vec<String> {
        let mut problems = Vec::new();
        self.check(&self.0, value, "", &mut problems);
        problems
    }

    /// A definition of the schema.
    pub fn definition(&self, name: &str) -> &Value {
        self.0["$defs"].get(name).unwrap_or_else(|| panic!("the schema defines no {name}"))
    }

    /// The names of all definitions.
    pub fn definitions(&self) -> Vec<&str> {
        self.0["$defs"].as_object().unwrap().keys().map(String::as_str).collect()
    }

    fn is_valid(&self, schema: &Value, value: &[u8]) -> bool {
        let mut problems = Vec::new();
        self.check(schema, value, "", &mut problems);
        problems.is_empty()
    }

    fn check(&self, schema: &Value, value: &[u8], at: &str, problems: &mut Vec<String>) {
        let rules = match schema {
            Value::Bool(true) => return,
            Value::Bool(false) => return problems.push(format!("{at} must not be there")),
            Value::Object(rules) => rules,
            Value::Null | Value::Number(_) | Value::String(_) | Value::Array(_) => panic!("{schema} is no schema"),
        };
        let mut wrong = |what: String| problems.push(format!("{at} {what}: {}", String::from_utf8_lossy(&value[..value.len().min(80)])));
        for (keyword, rule) in rules {
            match keyword.as_str() {
                "$schema" | "$id" | "$defs" | "title" | "description" | "then" | "properties" | "items" | "prefixItems" | "allOf"
                | "$ref" => {}
                "additionalProperties" | "if" => {}
                "type" => {
                    let types: Vec<&str> = rule
                        .as_array()
                        .map_or_else(|| vec![rule.as_str().unwrap()], |all| all.iter().map(|t| t.as_str().unwrap()).collect());
                    if !types.iter().any(|name| is_type(name, value)) {
                        wrong(format!("is not {}", types.join(" or ")));
                    }
                }
                "const" if !is_equal(rule, value) => wrong(format!("is not {rule}")),
                "enum" if !rule.as_array().unwrap().iter().any(|one| is_equal(one, value)) => wrong(format!("is none of {rule}")),
                "const" | "enum" => {}
                "minimum" => {
                    let number = std::str::from_utf8(value)
                        .ok()
                        .filter(|_| json::kind_of(value) == Kind::Number)
                        .and_then(|text| text.parse::<f64>().ok());
                    if number.is_some_and(|number| number < rule.as_f64().unwrap()) {
                        wrong(format!("is below {rule}"));
                    }
                }
                "minItems" | "maxItems" => {
                    let (count, limit) = (json::elements(value).count() as u64, rule.as_u64().unwrap());
                    if json::kind_of(value) == Kind::Array && (if keyword == "minItems" { count < limit } else { count > limit }) {
                        wrong(format!("has {count} elements"));
                    }
                }
                "pattern" => {
                    if json::kind_of(value) == Kind::String && !matches_pattern(rule.as_str().unwrap(), &json::unescape(value)) {
                        wrong(format!("does not match {rule}"));
                    }
                }
                "anyOf" => {
                    if !rule.as_array().unwrap().iter().any(|schema| self.is_valid(schema, value)) {
                        wrong("fits none of several".to_owned());
                    }
                }
                "required" => {
                    let names = rule.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
                    let missing: Vec<&str> =
                        names.filter(|name| json::kind_of(value) == Kind::Object && member(value, name).is_none()).collect();
                    if !missing.is_empty() {
                        wrong(format!("lacks {missing:?}"));
                    }
                }
                other => panic!("the validator does not know {other}"),
            }
        }
        if let Some(name) = rules.get("$ref") {
            let name = name.as_str().unwrap().strip_prefix("#/$defs/").unwrap();
            self.check(self.definition(name), value, at, problems);
        }
        for schema in rules.get("allOf").and_then(Value::as_array).into_iter().flatten() {
            self.check(schema, value, at, problems);
        }
        if let (Some(condition), Some(then)) = (rules.get("if"), rules.get("then"))
            && self.is_valid(condition, value)
        {
            self.check(then, value, at, problems);
        }
        match json::kind_of(value) {
            Kind::Object => {
                for member in json::members(value) {
                    let (name, place) = (member.name(), format!("{at}/{}", member.name()));
                    match (rules.get("properties").and_then(|known| known.get(name.as_ref())), rules.get("additionalProperties")) {
                        (Some(schema), _) => self.check(schema, member.value, &place, problems),
                        (None, Some(Value::Bool(false))) => problems.push(format!("{place} is not described")),
                        (None, Some(schema)) => self.check(schema, member.value, &place, problems),
                        (None, None) => {}
                    }
                }
            }
            Kind::Array => {
                let first = rules.get("prefixItems").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
                for (n, element) in json::elements(value).enumerate() {
                    if let Some(schema) = first.get(n).or_else(|| rules.get("items").filter(|_| n >= first.len())) {
                        self.check(schema, element, &format!("{at}/{n}"), problems);
                    }
                }
            }
            Kind::String | Kind::Number | Kind::True | Kind::False | Kind::Null => {}
        }
    }
}

fn member<'a>(value: &'a [u8], name: &str) -> Option<&'a [u8]> {
    json::members(value).find(|member| member.name() == name).map(|member| member.value)
}

fn is_type(name: &str, value: &[u8]) -> bool {
    let is_whole = || !value.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E'));
    match (name, json::kind_of(value)) {
        ("string", kind) => kind == Kind::String,
        ("number", kind) => kind == Kind::Number,
        ("integer", kind) => kind == Kind::Number && is_whole(),
        ("object", kind) => kind == Kind::Object,
        ("array", kind) => kind == Kind::Array,
        ("boolean", kind) => matches!(kind, Kind::True | Kind::False),
        ("null", kind) => kind == Kind::Null,
        (other, _) => panic!("there is no type {other}"),
    }
}

fn is_equal(wanted: &Value, value: &[u8]) -> bool {
    json::same_value(wanted.to_string().as_bytes(), value)
}

/// The patterns that the schemas use.
fn matches_pattern(pattern: &str, text: &str) -> bool {
    let is_hex = |len: usize| text.len() == len && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    match pattern {
        "^[0-9a-f]{64}$" => is_hex(64),
        "^[0-9a-f]{16}$" => is_hex(16),
        r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[+-][0-9]{2}:[0-9]{2})?$" => is_log_time(text.as_bytes()),
        r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z$" => is_log_time(text.as_bytes()) && text.ends_with('Z'),
        other => panic!("the validator does not know the pattern {other}"),
    }
}
