//! A transcript's lines as parsed values, in file order. What does not parse is
//! skipped, as both generations of the program do.

use std::borrow::Cow;

use crate::json::{Dialect, Kind, Member, kind_of, scan_opened, scan_value};
use crate::runtimes::javascript::{Numbers, decode, is_text, is_truthy, member, printed_raw, trim};

use super::keys::{Key, Keys};

/// What kind of entry an object says it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// The header.
    Session,
    /// Moves the active leaf.
    Leaf,
    /// A message.
    Message,
    /// Sets the thinking level.
    ThinkingLevel,
    /// Sets the model.
    Model,
    /// A summary in place of what stands before it.
    Compaction,
    /// A summary of a branch that was left.
    BranchSummary,
    /// A plugin's own data.
    Custom,
    /// A plugin's message.
    CustomMessage,
    /// A name for an entry.
    Label,
    /// A name for the session.
    SessionInfo,
    /// Anything else, or nothing.
    Other,
}

impl Type {
    fn of(value: Option<&[u8]>) -> Type {
        let Some(value) = value.filter(|value| kind_of(value) == Kind::String) else { return Type::Other };
        match &*decode(value) {
            b"session" => Type::Session,
            b"leaf" => Type::Leaf,
            b"message" => Type::Message,
            b"thinking_level_change" => Type::ThinkingLevel,
            b"model_change" => Type::Model,
            b"compaction" => Type::Compaction,
            b"branch_summary" => Type::BranchSummary,
            b"custom" => Type::Custom,
            b"custom_message" => Type::CustomMessage,
            b"label" => Type::Label,
            b"session_info" => Type::SessionInfo,
            _ => Type::Other,
        }
    }

    /// Tells whether entries of this type make up the tree.
    #[must_use]
    pub fn is_canonical(self) -> bool {
        match self {
            Type::Session | Type::Leaf | Type::Other => false,
            Type::Message
            | Type::ThinkingLevel
            | Type::Model
            | Type::Compaction
            | Type::BranchSummary
            | Type::Custom
            | Type::CustomMessage
            | Type::Label
            | Type::SessionInfo => true,
        }
    }
}

/// What a line holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// `null`, on which every look at a member fails.
    Null,
    /// `false`, zero or the empty string.
    Falsy,
    /// Another value without members.
    Scalar,
    /// A list.
    List,
    /// An object.
    Record(Type),
}

/// Where an entry is put.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// It becomes the leaf.
    Active,
    /// It leaves the leaf where it is.
    Side,
}

/// What decides how a message is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Said {
    /// Whose message it is.
    pub role: Role,
    /// What its content is; nothing where it has none.
    pub content: Option<Kind>,
    /// Whether it is written as it stands: a message may be on many branches.
    pub stands: bool,
}

/// The roles that the program minds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The model's.
    Assistant,
    /// A tool's.
    Result,
    /// A hook's, by its older name.
    Hook,
    /// Any other, or none.
    Other,
}

impl Said {
    fn of(message: Option<&[u8]>, members: &[Member<'_>]) -> Said {
        let get = |name: &str| members.iter().rev().find(|member| member.is(name)).map(|member| member.value);
        let role = get("role").filter(|role| kind_of(role) == Kind::String).map(decode);
        let role = match role.as_deref() {
            Some(b"assistant") => Role::Assistant,
            Some(b"toolResult") => Role::Result,
            Some(b"hookMessage") => Role::Hook,
            Some(_) | None => Role::Other,
        };
        let stands = message.is_some_and(|message| matches!(printed_raw(message, Numbers::Kept), Cow::Borrowed(_)));
        Said { role, content: get("content").map(kind_of), stands }
    }
}

/// One parsed line.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    /// The line.
    pub text: &'a [u8],
    /// What it holds.
    pub what: What,
    /// Its `id`.
    pub id: Key,
    /// Its `parentId`.
    pub parent: Key,
    /// Its `appendMode`.
    pub mode: Mode,
    /// Its `message`.
    pub message: Option<&'a [u8]>,
    /// What that says, where it is an object.
    pub said: Said,
}

impl<'a> Row<'a> {
    /// Returns the entry's type; what is not an object has none.
    #[must_use]
    pub fn kind(&self) -> Type {
        match self.what {
            What::Record(kind) => kind,
            What::Null | What::Falsy | What::Scalar | What::List => Type::Other,
        }
    }

    /// Tells whether it can serve as a transcript's header.
    #[must_use]
    pub fn is_header(&self) -> bool {
        self.kind() == Type::Session && self.id.is_string()
    }

    /// Tells whether it has a message that can be asked for its role.
    #[must_use]
    pub fn has_message(&self) -> bool {
        self.message.is_some_and(|message| kind_of(message) != Kind::Null)
    }

    /// Returns a member of the object.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<&'a [u8]> {
        member(self.text, name)
    }
}

/// A file as parsed.
#[derive(Debug, Default)]
pub struct Rows<'a> {
    /// The values in file order.
    pub rows: Vec<Row<'a>>,
    /// Their ids.
    pub keys: Keys<'a>,
    /// Whether the file holds more than white space.
    pub has_text: bool,
}

impl<'a> Rows<'a> {
    /// Parses a file.
    #[must_use]
    pub fn parse(bytes: &'a [u8]) -> Rows<'a> {
        let content = trim(bytes);
        let mut parsed = Rows { has_text: !content.is_empty(), ..Rows::default() };
        let mut members = Members::default();
        for line in lines(content) {
            parsed.rows.extend(row(line, &mut members, &mut parsed.keys));
        }
        parsed
    }

    /// Tells whether this is true of the first value of a file.
    pub fn first(bytes: &'a [u8], is: impl Fn(&Row<'a>) -> bool) -> bool {
        let (mut members, mut keys) = (Members::default(), Keys::default());
        let first = lines(trim(bytes)).find_map(|line| row(line, &mut members, &mut keys));
        first.is_some_and(|row| is(&row))
    }

    /// Returns the row at this place.
    #[must_use]
    pub fn at(&self, place: u32) -> Option<&Row<'a>> {
        self.rows.get(place as usize)
    }
}

/// The members of a line, and of the message in it.
#[derive(Default)]
struct Members<'a> {
    own: Vec<Member<'a>>,
    of_message: Vec<Member<'a>>,
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest.take()?;
        let Some(end) = memchr::memchr(b'\n', text) else { return Some(text) };
        rest = text.get(end + 1..);
        text.get(..end)
    })
}

fn row<'a>(line: &'a [u8], members: &mut Members<'a>, keys: &mut Keys<'a>) -> Option<Row<'a>> {
    let line = unblanked(line);
    if line.first() == Some(&b'{') { object(line, members, keys) } else { bare(line) }
}

/// Returns a line without the white space that JSON allows around a value.
fn unblanked(line: &[u8]) -> &[u8] {
    let is_text = |b: &u8| !matches!(b, b' ' | b'\t' | b'\r');
    let start = line.iter().position(is_text).unwrap_or(line.len());
    let end = line.iter().rposition(is_text).map_or(start, |last| last + 1);
    line.get(start..end).unwrap_or_default()
}

fn object<'a>(line: &'a [u8], members: &mut Members<'a>, keys: &mut Keys<'a>) -> Option<Row<'a>> {
    scan_opened(line, Dialect::Strict, "message", &mut members.own, &mut members.of_message).ok()?;
    let (mut kind, mut id, mut parent, mut mode, mut message) = (None, None, None, None, None);
    for member in &members.own {
        let place = match &*member.name() {
            "type" => &mut kind,
            "id" => &mut id,
            "parentId" => &mut parent,
            "appendMode" => &mut mode,
            "message" => &mut message,
            _ => continue,
        };
        *place = Some(member.value);
    }
    Some(Row {
        text: line,
        what: What::Record(Type::of(kind)),
        id: keys.of(id),
        parent: keys.of(parent),
        mode: if mode.is_some_and(|mode| is_text(mode, "side")) { Mode::Side } else { Mode::Active },
        message,
        said: Said::of(message, &members.of_message),
    })
}

/// Returns a line that holds no object.
fn bare(line: &[u8]) -> Option<Row<'_>> {
    let scan = scan_value(line, Dialect::Strict).ok().filter(|scan| scan.end == line.len())?;
    let value = line.get(..scan.end)?;
    let what = match kind_of(value) {
        Kind::Null => What::Null,
        Kind::Array => What::List,
        Kind::String | Kind::Number | Kind::Object | Kind::True | Kind::False => {
            if is_truthy(value) {
                What::Scalar
            } else {
                What::Falsy
            }
        }
    };
    Some(Row { text: value, what, id: Key::ABSENT, parent: Key::ABSENT, mode: Mode::Active, message: None, said: Said::of(None, &[]) })
}
