//! What picoclaw's decoder makes of JSON: the rules of Go's `encoding/json`
//! for the few types that a session is made of. A text that it takes is a
//! message, however odd; one value of the wrong type anywhere loses it.

mod targets;

use crate::model::json::{self, Dialect, Kind, Member, ScanError};

use super::gotime::GoTime;

/// Deeper nesting is refused.
pub(super) const DEEPEST: usize = 10_000;

/// A string token of the source, quotes included.
pub(super) type Token<'a> = &'a [u8];

/// The token of the empty text, which is also that of a field not given.
pub(super) const EMPTY: Token<'static> = b"\"\"";

/// Why a text is not what it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rejection {
    NotJson(ScanError),
    TooDeep,
    /// A value of another type than its field.
    Type(&'static str),
}

impl Rejection {
    /// Where in the text it shows.
    pub(super) fn at(self) -> usize {
        match self {
            Rejection::NotJson(error) => error.at,
            Rejection::TooDeep | Rejection::Type(_) => 0,
        }
    }

    pub(super) fn because(self) -> String {
        match self {
            Rejection::NotJson(error) => error.to_string(),
            Rejection::TooDeep => "nested more than 10000 deep".to_owned(),
            Rejection::Type(field) => format!("`{field}` has a value of the wrong type"),
        }
    }
}

/// A list as Go decodes one: a second value for it is decoded into the
/// elements that are there, even into those that a shorter value cut off.
#[derive(Debug, Clone)]
pub(super) struct Slots<T> {
    all: Vec<T>,
    len: usize,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Slots { all: Vec::new(), len: 0 }
    }
}

impl<T> Slots<T> {
    pub(super) fn list(&self) -> &[T] {
        &self.all[..self.len]
    }
}

#[derive(Debug, Clone)]
pub(super) struct Message<'a> {
    pub role: Token<'a>,
    pub content: Token<'a>,
    pub model_name: Token<'a>,
    pub created_at: Option<GoTime>,
    pub media: Slots<Token<'a>>,
    pub attachments: Slots<Attachment<'a>>,
    pub reasoning_content: Token<'a>,
    pub system_parts: Slots<Block<'a>>,
    pub tool_calls: Slots<ToolCall<'a>>,
    pub tool_call_id: Token<'a>,
}

#[derive(Debug, Clone)]
pub(super) struct Attachment<'a>(pub [Token<'a>; 5]);

#[derive(Debug, Clone)]
pub(super) struct Block<'a> {
    pub kind: Token<'a>,
    pub text: Token<'a>,
    pub cache_control: Option<Token<'a>>,
}

#[derive(Debug, Clone)]
pub(super) struct ToolCall<'a> {
    pub id: Token<'a>,
    pub kind: Token<'a>,
    /// Name, arguments and signature.
    pub function: Option<[Token<'a>; 3]>,
    pub extra: Option<Extra<'a>>,
}

#[derive(Debug, Clone)]
pub(super) struct Extra<'a> {
    /// Its signature.
    pub google: Option<Token<'a>>,
    pub explanation: Token<'a>,
}

/// A meta file, decoded.
#[derive(Debug, Clone)]
pub(super) struct Meta<'a> {
    pub key: Token<'a>,
    pub summary: Token<'a>,
    pub skip: i64,
    pub count: i64,
    pub created_at: GoTime,
    pub updated_at: GoTime,
    pub scope: Option<&'a [u8]>,
    pub aliases: Slots<Token<'a>>,
}

/// A legacy file around its messages.
#[derive(Debug, Clone)]
pub(super) struct Legacy<'a> {
    pub key: Token<'a>,
    pub summary: Token<'a>,
    pub created: GoTime,
    pub updated: GoTime,
    pub messages: Slots<Message<'a>>,
    depth: Depth,
}

/// Whether a decoded text is as the program's own writer has it: no key twice,
/// none in other letters, so that its members say all there is to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Form {
    #[default]
    Plain,
    Odd,
}

/// Decodes a line, or an element of a list of messages, into a message.
/// `members` are those of the object, where it is one.
pub(super) fn message<'a>(text: &'a [u8], members: &mut Vec<Member<'a>>) -> Result<(Message<'a>, Form), Rejection> {
    members.clear();
    let mut message = Message::default();
    let mut form = Form::Plain;
    match text.iter().find(|b| !is_json_space(**b)) {
        Some(b'{') => {
            let facts = json::scan_object(text, Dialect::Strict, members).map_err(Rejection::NotJson)?;
            if facts.depth > DEEPEST {
                return Err(Rejection::TooDeep);
            }
            fields(members.iter().copied(), &mut message, &mut form)?;
        }
        _ => match whole_value(text)? {
            b"null" => form = Form::Odd,
            _ => return Err(Rejection::Type("message")),
        },
    }
    Ok((message, form))
}

/// The same for an element of a document that was accepted as JSON, with its
/// members.
pub(super) fn accepted_message<'a>(value: &'a [u8], members: &[Member<'a>]) -> Result<(Message<'a>, Form), Rejection> {
    let mut message = Message::default();
    let mut form = Form::Plain;
    match json::kind_of(value) {
        Kind::Object => fields(members.iter().copied(), &mut message, &mut form)?,
        Kind::Null => form = Form::Odd,
        Kind::String | Kind::Number | Kind::Array | Kind::True | Kind::False => return Err(Rejection::Type("message")),
    }
    Ok((message, form))
}

/// Decodes an object of which the members are known.
pub(super) fn meta<'a>(members: &[Member<'a>]) -> Result<Meta<'a>, Rejection> {
    let mut meta = Meta::zero();
    fields(members.iter().copied(), &mut meta, &mut Form::default())?;
    Ok(meta)
}

/// The same for a legacy file.
pub(super) fn legacy<'a>(members: impl Iterator<Item = Member<'a>>, depth: Depth) -> Result<(Legacy<'a>, Form), Rejection> {
    let mut legacy = Legacy { depth, ..Legacy::zero() };
    let mut form = Form::Plain;
    fields(members, &mut legacy, &mut form)?;
    Ok((legacy, form))
}

/// How much of a legacy file is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Depth {
    /// What stands around its messages.
    Frame,
    /// Its messages as well.
    Messages,
}

/// One JSON value that fills a text.
pub(super) fn whole_value(text: &[u8]) -> Result<&[u8], Rejection> {
    let scan = json::scan_value(text, Dialect::Strict).map_err(Rejection::NotJson)?;
    if !text[scan.end..].iter().all(|b| is_json_space(*b)) {
        return Err(Rejection::NotJson(ScanError { at: scan.end, what: "more text behind the end of the value" }));
    }
    if scan.facts.depth > DEEPEST { Err(Rejection::TooDeep) } else { Ok(text[..scan.end].trim_ascii_start()) }
}

pub(super) fn is_json_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// A type that JSON objects are decoded into.
trait Target<'a>: Sized {
    /// The keys of its fields.
    const KEYS: &'static [&'static str];
    fn zero() -> Self;
    fn set(&mut self, field: usize, value: &'a [u8], form: &mut Form) -> Result<(), Rejection>;
}

fn fields<'a, T: Target<'a>>(members: impl Iterator<Item = Member<'a>>, target: &mut T, form: &mut Form) -> Result<(), Rejection> {
    let mut seen = 0_u32;
    for member in members {
        let name = member.name();
        let exact = T::KEYS.iter().position(|key| *key == name);
        let found = exact.or_else(|| T::KEYS.iter().position(|key| is_folded(key, &name)));
        let Some(field) = found else { continue };
        if exact.is_none() || seen & (1 << field) != 0 || memchr::memchr(b'\\', member.key).is_some() {
            *form = Form::Odd;
        }
        seen |= 1 << field;
        target.set(field, member.value, form)?;
    }
    Ok(())
}

/// Whether a key is this name in other letters. Of the letters beyond ASCII
/// two fold to one of ours.
pub(super) fn is_folded(name: &str, key: &str) -> bool {
    let fold = |c: char| match c {
        'ſ' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    };
    key.len() >= name.len() && name.chars().eq(key.chars().map(fold))
}

fn object<'a, T: Target<'a>>(value: &'a [u8], target: &mut T, what: &'static str, form: &mut Form) -> Result<(), Rejection> {
    match json::kind_of(value) {
        Kind::Null => Ok(()),
        Kind::Object => fields(json::members(value), target, form),
        Kind::String | Kind::Number | Kind::Array | Kind::True | Kind::False => Err(Rejection::Type(what)),
    }
}

fn pointer<'a, T: Target<'a>>(value: &'a [u8], target: &mut Option<T>, what: &'static str, form: &mut Form) -> Result<(), Rejection> {
    if json::kind_of(value) == Kind::Null {
        *target = None;
        return Ok(());
    }
    object(value, target.get_or_insert_with(T::zero), what, form)
}

fn text<'a>(value: &'a [u8], target: &mut Token<'a>, what: &'static str) -> Result<(), Rejection> {
    match json::kind_of(value) {
        Kind::Null => Ok(()),
        Kind::String => {
            *target = value;
            Ok(())
        }
        Kind::Number | Kind::Object | Kind::Array | Kind::True | Kind::False => Err(Rejection::Type(what)),
    }
}

fn integer(value: &[u8], target: &mut i64, what: &'static str) -> Result<(), Rejection> {
    if json::kind_of(value) == Kind::Null {
        return Ok(());
    }
    let number = std::str::from_utf8(value).ok().filter(|_| json::kind_of(value) == Kind::Number).and_then(|text| text.parse().ok());
    *target = number.ok_or(Rejection::Type(what))?;
    Ok(())
}

fn time(value: &[u8], target: &mut GoTime, what: &'static str) -> Result<(), Rejection> {
    if json::kind_of(value) != Kind::Null {
        *target = GoTime::parse(value).ok_or(Rejection::Type(what))?;
    }
    Ok(())
}

/// Decodes a value into an element.
type Set<'a, 's, T> = &'s mut dyn FnMut(&'a [u8], &mut T) -> Result<(), Rejection>;

fn list<'a, T: Clone>(
    value: &'a [u8],
    target: &mut Slots<T>,
    what: &'static str,
    zero: &dyn Fn() -> T,
    set: Set<'a, '_, T>,
) -> Result<(), Rejection> {
    match json::kind_of(value) {
        Kind::Null => *target = Slots::default(),
        Kind::Array => {
            target.len = 0;
            for element in json::elements(value) {
                if target.len == target.all.len() {
                    target.all.push(zero());
                }
                set(element, &mut target.all[target.len])?;
                target.len += 1;
            }
            if target.len == 0 {
                *target = Slots::default();
            }
        }
        Kind::String | Kind::Number | Kind::Object | Kind::True | Kind::False => return Err(Rejection::Type(what)),
    }
    Ok(())
}

impl Message<'_> {
    /// Takes away a time that is none, for which the program puts that of the
    /// load where it reads a whole file. Says whether there was one.
    pub(super) fn forget_zero_time(&mut self) -> bool {
        self.created_at.take_if(|time| time.is_zero()).is_some()
    }

    /// Whether the program leaves this message out: reasoning and nothing else.
    pub(super) fn is_thought(&self) -> bool {
        self.reasoning_content != EMPTY
            && json::unescape(self.role) == "assistant"
            && is_blank(self.content)
            && !is_blank(self.reasoning_content)
            && self.tool_calls.list().is_empty()
            && self.media.list().is_empty()
            && self.attachments.list().is_empty()
            && is_blank(self.tool_call_id)
    }
}

fn is_blank(token: Token<'_>) -> bool {
    token == EMPTY || json::unescape(token).chars().all(char::is_whitespace)
}
