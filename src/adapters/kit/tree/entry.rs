//! The lines of a tree-shaped session as entries: spans of what decides their
//! place in the tree.

use std::borrow::Cow;

use crate::json::{self, Dialect, Kind, Member};
use crate::model::jsonl::Line;
use crate::runtimes::javascript as js;

use super::schema::{Judged, LineRule, TreeSchema};

/// One record that the loader takes.
#[derive(Debug, Clone)]
pub(in crate::adapters) struct Entry<'a, S: TreeSchema> {
    pub line: Line<'a>,
    pub kind: S::Kind,
    /// What the format's own rules need of it besides its place.
    pub traits: S::Traits,
    /// The key that its id is looked up by; none where no id can equal it.
    pub id: Option<Cow<'a, [u8]>>,
    /// The id itself, where it is a text.
    pub id_text: Option<Cow<'a, [u8]>>,
    /// The id of the entry above: absent, or what it says.
    pub parent: Option<Cow<'a, [u8]>>,
    /// Its type, where it has none of the known ones.
    pub other_type: Vec<u8>,
    /// Whether its line is UTF-8.
    pub is_utf8: bool,
    /// What the value of its line is.
    pub value: Value,
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

impl<'a, S: TreeSchema> Entry<'a, S> {
    /// Returns the text of its line as the program decodes it.
    pub(in crate::adapters) fn text(&self) -> Cow<'a, [u8]> {
        if self.is_utf8 { Cow::Borrowed(self.line.text) } else { js::decode_utf8(self.line.text) }
    }

    pub(in crate::adapters) fn is_object(&self) -> bool {
        self.value == Value::Object
    }

    /// Tells whether it has this type, which is not one of those with a table.
    pub(in crate::adapters) fn is_other(&self, name: &str) -> bool {
        self.other_type.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\"")) == Some(name.as_bytes())
    }
}

/// Why a line is not an entry.
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

/// Returns the value of a key; of equal keys the last counts.
pub(in crate::adapters) fn get<'a>(members: &[Member<'a>], key: &str) -> Option<&'a [u8]> {
    members.iter().rev().find(|member| member.is(key)).map(|member| member.value)
}

/// Returns the characters of a string; nothing where the value is not one.
pub(in crate::adapters) fn text_of(value: &[u8]) -> Option<String> {
    (json::kind_of(value) == Kind::String).then(|| json::unescape(value).into_owned())
}

/// Hands the members of an entry's line to `f`.
pub(in crate::adapters) fn with_members<S: TreeSchema, R>(entry: &Entry<'_, S>, f: impl FnOnce(&[Member<'_>]) -> R) -> R {
    f(&members_of(entry, &entry.text()))
}

/// Returns the members of an entry's line, of which this is the text.
pub(in crate::adapters) fn members_of<'t, S: TreeSchema>(entry: &Entry<'_, S>, text: &'t [u8]) -> Vec<Member<'t>> {
    // It was accepted when it was read.
    if entry.is_object() { json::all_members(text.trim_ascii_start()) } else { Vec::new() }
}

/// The members of an entry's line, and of the message in it.
pub(in crate::adapters) struct Inside<'t> {
    pub members: Vec<Member<'t>>,
    pub of_message: Vec<Member<'t>>,
}

impl<'t> Inside<'t> {
    /// Returns what is in an entry's line, of which this is the text.
    pub(in crate::adapters) fn of<S: TreeSchema>(entry: &Entry<'_, S>, text: &'t [u8]) -> Inside<'t> {
        let mut of_message = Vec::new();
        let object = if entry.is_object() { text.trim_ascii_start() } else { b"{}" };
        Inside { members: json::all_members_opening(object, S::opened(entry.kind), &mut of_message), of_message }
    }
}

/// Returns a piece of the line, borrowed where the line was UTF-8.
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
///
/// # Errors
/// Where the loader does not take the line.
pub(in crate::adapters) fn read<S: TreeSchema>(line: Line<'_>, schema: S) -> Result<Entry<'_, S>, NoEntry> {
    if js::is_blank(line.text) {
        return Err(NoEntry::Blank);
    }
    let decoded = js::decode_utf8(line.text);
    // Most lines and messages have no more.
    let (mut members, mut of_message) = (Vec::with_capacity(8), Vec::with_capacity(12));
    if let Err(error) = json::scan_opened(&decoded, Dialect::Strict, S::KEYS.message, &mut members, &mut of_message) {
        return other_value(line, &decoded, error, schema);
    }
    let keep = |piece: &[u8]| kept(line.text, &decoded, piece);
    let id = get(&members, S::KEYS.id);
    let Judged { kind, traits } = schema.judge(&members, &of_message);
    let other_type = || get(&members, S::KEYS.record_type).map(canonical).unwrap_or_default().into_owned();
    Ok(Entry {
        line,
        kind,
        traits,
        other_type: if kind == S::OTHER { other_type() } else { Vec::new() },
        id: js::map_key(id).map(|key| Cow::Owned(key.into_owned())),
        id_text: id.filter(|id| json::kind_of(id) == Kind::String).map(keep),
        parent: get(&members, S::KEYS.parent).map(keep),
        is_utf8: matches!(decoded, Cow::Borrowed(_)),
        value: Value::Object,
    })
}

/// Returns a value in its one spelling: equal values of a scalar have equal bytes.
pub(in crate::adapters) fn canonical(value: &[u8]) -> Cow<'_, [u8]> {
    js::map_key(Some(value)).unwrap_or_default()
}

/// Returns a line that is JSON and not an object.
fn other_value<'a, S: TreeSchema>(line: Line<'a>, decoded: &[u8], error: json::ScanError, schema: S) -> Result<Entry<'a, S>, NoEntry> {
    let start = decoded.iter().take_while(|b| matches!(b, b' ' | b'\t' | b'\r')).count();
    let value = match json::scan_value(&decoded[start..], Dialect::Strict) {
        Ok(scan) if decoded[start + scan.end..].iter().all(|b| matches!(b, b' ' | b'\t' | b'\r')) => &decoded[start..start + scan.end],
        _ => return Err(NoEntry::NotJson { at: error.at, what: error.what }),
    };
    if schema.line_rule() == LineRule::Truthy && !js::is_truthy(value) {
        return Err(NoEntry::Falsy);
    }
    Ok(Entry {
        line,
        kind: S::OTHER,
        traits: S::Traits::default(),
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
    })
}
