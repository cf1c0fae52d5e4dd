//! The lines of a tree-shaped session as entries: spans of what decides their
//! place in the tree.

use std::borrow::Cow;

use crate::model::json::{self, Dialect, Kind, Member};
use crate::model::jsonl::Line;

use super::js;
use super::scan::Manner;
use super::tables::Record;

/// One record that the loader takes.
#[derive(Debug, Clone)]
pub(in crate::adapters) struct Entry<'a> {
    pub line: Line<'a>,
    pub kind: Record,
    /// What its id is looked up by; nothing where nothing can be the same.
    pub id: Option<Cow<'a, [u8]>>,
    /// The id itself, where it is a text.
    pub id_text: Option<Cow<'a, [u8]>>,
    /// The id of the entry above: absent, or what it says.
    pub parent: Option<Cow<'a, [u8]>>,
    /// Its type, where it has none of the known ones.
    pub other_type: Vec<u8>,
    /// Whether its line is UTF-8.
    pub is_utf8: bool,
    /// What it is besides an object.
    pub value: Value,
    /// Whether it says it is a message, and has none.
    pub lacks_message: bool,
    /// Whether it is marked as standing beside the branch.
    pub is_side: bool,
}

/// What the value of a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum Value {
    Object,
    List,
    Null,
    /// A text, a number, `true` or `false`.
    Scalar,
}

impl<'a> Entry<'a> {
    /// The text of its line as the program decodes it.
    pub(in crate::adapters) fn text(&self) -> Cow<'a, [u8]> {
        if self.is_utf8 { Cow::Borrowed(self.line.text) } else { js::decoded(self.line.text) }
    }

    pub(in crate::adapters) fn is_object(&self) -> bool {
        self.value == Value::Object
    }

    /// Whether it has this type, which is none of those with a table.
    pub(in crate::adapters) fn is_other(&self, name: &str) -> bool {
        self.other_type.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) == Some(name.as_bytes())
    }
}

/// Why a line is no entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum NoEntry {
    Blank,
    NotJson {
        at: usize,
        what: &'static str,
    },
    /// `null`, `false`, `0` or `""`.
    Falsy,
}

/// The value of a key; of equal keys the last counts.
pub(in crate::adapters) fn get<'a>(members: &[Member<'a>], key: &str) -> Option<&'a [u8]> {
    members.iter().rev().find(|member| member.is(key)).map(|member| member.value)
}

/// The characters of a string; nothing where the value is none.
pub(in crate::adapters) fn text_of(value: &[u8]) -> Option<String> {
    (json::kind_of(value) == Kind::String).then(|| json::unescape(value).into_owned())
}

/// Hands the members of an entry's line to `f`.
pub(in crate::adapters) fn with_members<R>(entry: &Entry<'_>, f: impl FnOnce(&[Member<'_>]) -> R) -> R {
    f(&members_of(entry, &entry.text()))
}

/// The members of an entry's line, of which this is the text.
pub(in crate::adapters) fn members_of<'t>(entry: &Entry<'_>, text: &'t [u8]) -> Vec<Member<'t>> {
    // It was accepted when it was read.
    if entry.is_object() { json::all_members(text.trim_ascii_start()) } else { Vec::new() }
}

/// The members of an entry's line, and of the message in it.
pub(in crate::adapters) struct Inside<'t> {
    pub members: Vec<Member<'t>>,
    pub of_message: Vec<Member<'t>>,
}

impl<'t> Inside<'t> {
    /// What is in an entry's line, of which this is the text.
    pub(in crate::adapters) fn of(entry: &Entry<'_>, text: &'t [u8]) -> Inside<'t> {
        let mut of_message = Vec::new();
        let object = if entry.is_object() { text.trim_ascii_start() } else { b"{}" };
        Inside { members: json::all_members_opening(object, "message", &mut of_message), of_message }
    }
}

/// A piece of the line, borrowed where the line was UTF-8.
fn kept<'a>(line: &'a [u8], decoded: &Cow<'a, [u8]>, piece: &[u8]) -> Cow<'a, [u8]> {
    match decoded {
        Cow::Borrowed(_) => {
            let from = piece.as_ptr() as usize - line.as_ptr() as usize;
            Cow::Borrowed(&line[from..from + piece.len()])
        }
        Cow::Owned(_) => Cow::Owned(piece.to_vec()),
    }
}

/// Reads one line.
pub(in crate::adapters) fn read(line: Line<'_>, manner: Manner) -> Result<Entry<'_>, NoEntry> {
    if js::is_blank(line.text) {
        return Err(NoEntry::Blank);
    }
    let decoded = js::decoded(line.text);
    // Most lines and messages have no more.
    let (mut members, mut of_message) = (Vec::with_capacity(8), Vec::with_capacity(12));
    if let Err(error) = json::scan_opened(&decoded, Dialect::Strict, "message", &mut members, &mut of_message) {
        return no_object(line, &decoded, error, manner);
    }
    let keep = |piece: &[u8]| kept(line.text, &decoded, piece);
    let entry_type = get(&members, "type").map(canonical).unwrap_or_default();
    let message = get(&members, "message").filter(|message| *message != b"null");
    let role = get(&of_message, "role").map(canonical).unwrap_or_default();
    let id = get(&members, "id");
    let kind = Record::of(&entry_type, &role);
    Ok(Entry {
        line,
        kind,
        other_type: if kind == Record::Whole { entry_type.into_owned() } else { Vec::new() },
        id: js::map_key(id).map(|key| Cow::Owned(key.into_owned())),
        id_text: id.filter(|id| json::kind_of(id) == Kind::String).map(keep),
        parent: get(&members, "parentId").map(keep),
        is_utf8: matches!(decoded, Cow::Borrowed(_)),
        value: Value::Object,
        lacks_message: message.is_none() && entry_type_is_message(kind),
        is_side: get(&members, "appendMode").is_some_and(|mode| canonical(mode).as_ref() == b"\"side\""),
    })
}

fn entry_type_is_message(kind: Record) -> bool {
    matches!(kind, Record::UserMessage | Record::AssistantMessage | Record::ResultMessage)
}

/// A string in its one spelling.
fn canonical(value: &[u8]) -> Cow<'_, [u8]> {
    js::map_key(Some(value)).unwrap_or_default()
}

fn no_object<'a>(line: Line<'a>, decoded: &[u8], error: json::ScanError, manner: Manner) -> Result<Entry<'a>, NoEntry> {
    let start = decoded.iter().take_while(|b| matches!(b, b' ' | b'\t' | b'\r')).count();
    let value = match json::scan_value(&decoded[start..], Dialect::Strict) {
        Ok(scan) if decoded[start + scan.end..].iter().all(|b| matches!(b, b' ' | b'\t' | b'\r')) => &decoded[start..start + scan.end],
        _ => return Err(NoEntry::NotJson { at: error.at, what: error.what }),
    };
    if manner == Manner::Lines && js::is_falsy(value) {
        return Err(NoEntry::Falsy);
    }
    Ok(Entry {
        line,
        kind: Record::Whole,
        other_type: Vec::new(),
        id: Some(Cow::Borrowed(b"")),
        id_text: None,
        parent: None,
        is_utf8: std::str::from_utf8(line.text).is_ok(),
        value: match json::kind_of(value) {
            Kind::Array => Value::List,
            Kind::Null => Value::Null,
            Kind::Object | Kind::String | Kind::Number | Kind::True | Kind::False => Value::Scalar,
        },
        lacks_message: false,
        is_side: false,
    })
}
