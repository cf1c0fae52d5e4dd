//! What a call of a tool does. Programs have different names for the same
//! arguments; those that are known here are read alike by all that shows calls.

use crate::json::{self, Kind};

use super::part::{Arguments, ToolCall};

/// Arguments that are a command line.
const COMMANDS: [&str; 3] = ["command", "cmd", "script"];

/// Arguments that name a file or a folder.
const PATHS: [&str; 9] =
    ["file_path", "filePath", "path", "filename", "notebook_path", "notebookPath", "absolute_path", "dir_path", "directory"];

/// Arguments that say what is looked for.
const SOUGHT: [&str; 5] = ["pattern", "query", "q", "regex", "url"];

/// Arguments that say best what a call does where it has none of those above, the
/// best first.
const TELLING: [&str; 12] =
    ["description", "subject", "prompt", "task", "message", "text", "code", "content", "name", "title", "explanation", "result"];

/// Arguments that are lists of what is to be done, and how an element says what.
const LISTS: [&str; 4] = ["todos", "plan", "tasks", "items"];
const OF_A_LIST: [&str; 5] = ["content", "step", "subject", "title", "text"];

/// Pairs of arguments that an edit replaces the first of with the second.
const EDITS: [(&str, &str); 6] = [
    ("old_string", "new_string"),
    ("oldString", "newString"),
    ("oldText", "newText"),
    ("old_str", "new_str"),
    ("old_text", "new_text"),
    ("old_source", "new_source"),
];

/// Arguments that are what a file is to contain.
const CONTENTS: [&str; 3] = ["content", "file_text", "contents"];

/// One argument: its name, and its value as a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Argument {
    /// Empty where the arguments are no object.
    pub(crate) name: String,
    /// A text without its quotes, anything else as its JSON.
    pub(crate) value: String,
}

/// What an edit changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Edit {
    /// A text takes the place of another.
    Replacement { old: String, new: String },
    /// A patch that is written out.
    Patch(String),
}

/// What a call does, in words.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct CallFacts {
    /// The arguments in their order.
    pub(crate) arguments: Vec<Argument>,
    /// The command that it runs.
    pub(crate) command: Option<String>,
    /// The file that it is about.
    pub(crate) path: Option<String>,
    /// What it changes in files.
    pub(crate) edits: Vec<Edit>,
    /// What a list among the arguments says is to be done.
    listed: Option<String>,
}

impl CallFacts {
    /// Reads the arguments of a call.
    pub(crate) fn of(call: &ToolCall) -> CallFacts {
        let Some(given) = &call.arguments else { return CallFacts::default() };
        let json = given.json().filter(|json| json::kind_of(json.as_str().as_bytes()) == Kind::Object);
        let Some(json) = json else {
            let value = match given {
                Arguments::Text(text) => text.as_str().to_owned(),
                Arguments::Json(json) => text_of(json.as_str().as_bytes()),
            };
            let edits = Some(&value).filter(|value| is_patch(value)).cloned().map(Edit::Patch).into_iter().collect();
            return CallFacts { arguments: vec![Argument { name: String::new(), value }], edits, ..CallFacts::default() };
        };
        let object = json.as_str().as_bytes();
        let argument = |member: json::Member<'_>| Argument { name: member.name().into_owned(), value: text_of(member.value) };
        let mut facts = CallFacts { arguments: json::members(object).map(argument).collect(), ..CallFacts::default() };
        facts.path = PATHS.iter().find_map(|name| string(object, name));
        facts.edits = edits(object);
        facts.listed = LISTS.iter().find_map(|name| listed(member(object, name)?));
        let words = COMMANDS.iter().find_map(|name| words(object, name)).unwrap_or_default();
        match words.as_slice() {
            // A patch is handed to its program as an argument.
            [.., patch] if is_patch(patch) => facts.edits.push(Edit::Patch(patch.clone())),
            words => facts.command = command_line(words),
        }
        facts
    }

    /// Returns what a file is to contain, where the call writes one.
    pub(crate) fn contents(&self) -> Option<&str> {
        CONTENTS.iter().find_map(|name| self.value(name))
    }

    /// Returns what the call does: what says it best, else all arguments. It may have
    /// more than one line.
    pub(crate) fn gist(&self) -> String {
        if let Some(command) = &self.command {
            return command.clone();
        }
        if let Some(sought) = SOUGHT.iter().find_map(|name| self.value(name)) {
            return self.path.as_ref().map_or_else(|| sought.to_owned(), |path| format!("{sought} in {path}"));
        }
        let patched = || Some(self.edits.iter().flat_map(patched_files).collect::<Vec<_>>().join(", ")).filter(|files| !files.is_empty());
        let told = || TELLING.iter().find_map(|name| self.value(name)).map(str::to_owned);
        self.path.clone().or_else(patched).or_else(told).or_else(|| self.listed.clone()).unwrap_or_else(|| self.all())
    }

    fn value(&self, name: &str) -> Option<&str> {
        self.arguments.iter().find(|argument| argument.name == name && !argument.value.is_empty()).map(|argument| argument.value.as_str())
    }

    fn all(&self) -> String {
        let named = |argument: &Argument| {
            if argument.name.is_empty() { argument.value.clone() } else { format!("{}={}", argument.name, argument.value) }
        };
        self.arguments.iter().map(named).collect::<Vec<_>>().join(" ")
    }
}

/// A text without its quotes, anything else as its JSON.
fn text_of(value: &[u8]) -> String {
    if json::kind_of(value) == Kind::String { json::unescape(value).into_owned() } else { json::lossy(value).into_owned() }
}

fn member<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    if json::kind_of(object) != Kind::Object {
        return None;
    }
    json::members(object).find(|member| member.is(name)).map(|member| member.value)
}

fn string(object: &[u8], name: &str) -> Option<String> {
    member(object, name).filter(|value| json::kind_of(value) == Kind::String).map(|value| json::unescape(value).into_owned())
}

/// A command as it was given: one text, or a list of words.
fn words(object: &[u8], name: &str) -> Option<Vec<String>> {
    let value = member(object, name)?;
    match json::kind_of(value) {
        Kind::String => Some(vec![json::unescape(value).into_owned()]),
        Kind::Array => {
            json::elements(value).map(|word| (json::kind_of(word) == Kind::String).then(|| json::unescape(word).into_owned())).collect()
        }
        Kind::Object | Kind::Number | Kind::True | Kind::False | Kind::Null => None,
    }
}

/// What is to be done, as the elements of a list say it.
fn listed(list: &[u8]) -> Option<String> {
    if json::kind_of(list) != Kind::Array {
        return None;
    }
    let steps: Vec<String> = json::elements(list).filter_map(|step| OF_A_LIST.iter().find_map(|name| string(step, name))).collect();
    (!steps.is_empty()).then(|| steps.join("; "))
}

/// What a list of words runs. Programs hand a command line to a shell, which is not
/// what the call is about.
fn command_line(words: &[String]) -> Option<String> {
    match words {
        [] => None,
        [shell, flag, line] if shell.rsplit('/').next().is_some_and(|name| name.ends_with("sh")) && flag.starts_with('-') => {
            Some(line.clone())
        }
        words => Some(words.join(" ")),
    }
}

/// What the arguments of a call change: the call itself, a list of edits, patches.
fn edits(object: &[u8]) -> Vec<Edit> {
    let one = |object: &[u8]| {
        EDITS.iter().find_map(|(old, new)| Some(Edit::Replacement { old: string(object, old)?, new: string(object, new)? }))
    };
    let mut found: Vec<Edit> = one(object).into_iter().collect();
    if let Some(list) = member(object, "edits").filter(|list| json::kind_of(list) == Kind::Array) {
        found.extend(json::elements(list).filter_map(one));
    }
    let texts = json::members(object).filter(|member| json::kind_of(member.value) == Kind::String);
    found.extend(texts.map(|member| json::unescape(member.value).into_owned()).filter(|text| is_patch(text)).map(Edit::Patch));
    found
}

/// Tells whether a text is a patch.
pub(crate) fn is_patch(text: &str) -> bool {
    let start = text.trim_start();
    start.starts_with("diff --git ")
        || start.starts_with("*** Begin Patch")
        || (start.starts_with("--- ") && text.contains("\n+++ ") && text.contains("\n@@"))
}

/// The files that a patch changes.
fn patched_files(edit: &Edit) -> Vec<String> {
    let Edit::Patch(patch) = edit else { return Vec::new() };
    let named = |line: &str| {
        let marks = ["*** Update File: ", "*** Add File: ", "*** Delete File: ", "+++ b/", "+++ "];
        let file = marks.iter().find_map(|mark| line.strip_prefix(mark))?;
        Some(file.split('\t').next().unwrap_or(file).trim().to_owned())
    };
    patch.lines().filter_map(named).collect()
}

/// A line of a patch, for its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatchLine<'a> {
    /// It stays.
    Same(&'a str),
    /// It goes.
    Removed(&'a str),
    /// It comes.
    Added(&'a str),
    /// It says which file or place the next lines are of.
    Heading(&'a str),
}

/// Returns the lines of a patch without those that only frame it.
pub(crate) fn patch_lines(patch: &str) -> impl Iterator<Item = PatchLine<'_>> {
    let is_frame = |line: &&str| !matches!(line.trim_end(), "*** Begin Patch" | "*** End Patch");
    // Outside of a hunk `---` and `+++` name files.
    let mut is_hunk = false;
    patch.trim_start().lines().filter(is_frame).map(move |line| {
        if line.starts_with("diff --git ") {
            is_hunk = false;
        }
        let is_place = line.starts_with("@@") || line.starts_with("*** ");
        is_hunk |= is_place;
        match line.as_bytes().first() {
            _ if is_place || !is_hunk => PatchLine::Heading(line),
            Some(b'+') => PatchLine::Added(&line[1..]),
            Some(b'-') => PatchLine::Removed(&line[1..]),
            Some(b' ') => PatchLine::Same(&line[1..]),
            _ => PatchLine::Same(line),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{Message, Part};
    use crate::model::event::{EventKind, EventRef};
    use crate::model::ids::Seq;
    use crate::model::shown::Shown;

    fn facts(arguments: &str) -> CallFacts {
        let payload = format!(r#"{{"role":"assistant","content":[{{"type":"tool_call","name":"t","arguments":{arguments}}}]}}"#);
        let event = EventRef { seq: Seq::new(1), ts: None, kind: EventKind::Message, parent: None, payload: payload.as_bytes() };
        let message = Message::of(&Shown::plain(event), 0).unwrap().unwrap();
        let Some(Part::ToolCall(call)) = message.parts.first() else { panic!("{payload}") };
        CallFacts::of(call)
    }

    #[test]
    fn a_call_is_summed_up_by_what_says_most() {
        for (arguments, gist) in [
            (r#"{"timeout":5,"command":"ls -la"}"#, "ls -la"),
            (r#"{"command":["bash","-lc","make test"],"timeout_ms":5}"#, "make test"),
            (r#"{"cmd":["git","log","-1"]}"#, "git log -1"),
            (r#"{"content":"x","filePath":"a/b.txt"}"#, "a/b.txt"),
            (r#"{"path":"src","pattern":"fn main"}"#, "fn main in src"),
            (r#"{"todos":[{"content":"one","status":"done"},{"content":"two"}]}"#, "one; two"),
            (r#"{"a":1,"b":[2]}"#, "a=1 b=[2]"),
            (r#""as it came""#, "as it came"),
            (r#""{\"cmd\":\"ls\"}""#, "ls"),
            ("{}", ""),
        ] {
            assert_eq!(facts(arguments).gist(), gist, "{arguments}");
        }
    }

    #[test]
    fn edits_are_known_under_the_names_of_all_programs() {
        let replaced = Edit::Replacement { old: "a".to_owned(), new: "b".to_owned() };
        for (old, new) in EDITS {
            assert_eq!(facts(&format!(r#"{{"{old}":"a","{new}":"b"}}"#)).edits, std::slice::from_ref(&replaced), "{old}");
            assert_eq!(facts(&format!(r#"{{"edits":[{{"{old}":"a","{new}":"b"}},{{"{old}":"a","{new}":"b"}}]}}"#)).edits.len(), 2, "{old}");
        }
        let patch = "*** Begin Patch\n*** Update File: x.md\n@@\n-a\n+b\n*** End Patch";
        let text = serde_json::to_string(patch).unwrap();
        for arguments in [
            text.clone(),
            format!(r#"{{"patchText":{text}}}"#),
            format!(r#"{{"input":{text}}}"#),
            format!(r#"{{"command":["apply_patch",{text}]}}"#),
        ] {
            let facts = facts(&arguments);
            assert_eq!((facts.edits.as_slice(), facts.gist().as_str()), (&[Edit::Patch(patch.to_owned())][..], "x.md"), "{arguments}");
        }
        assert_eq!(facts(r#"{"text":"--- a list\n- of things"}"#).edits, []);
    }

    #[test]
    fn lines_of_a_patch_are_told_apart() {
        use PatchLine::{Added, Heading, Removed, Same};
        let lines: Vec<_> = patch_lines("*** Begin Patch\n*** Update File: x\n@@ fn a\n b\n-- c\n+++ d\n\n*** End Patch").collect();
        assert_eq!(lines, [Heading("*** Update File: x"), Heading("@@ fn a"), Same("b"), Removed("- c"), Added("++ d"), Same("")]);
        let lines: Vec<_> = patch_lines("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-é\n+e\n").collect();
        assert_eq!(lines, [Heading("--- a/x"), Heading("+++ b/x"), Heading("@@ -1 +1 @@"), Removed("é"), Added("e")]);
    }
}
