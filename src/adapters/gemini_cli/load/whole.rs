//! Sessions that are one JSON document, as releases before 0.39 wrote them, and
//! checkpoints that a person has saved.

use crate::json::{Kind, elements, kind_of};
use crate::runtimes::javascript::{Type, Value};

use super::classify::{Worth, classify};
use super::patches::Meta;

/// A session that is one document.
pub(super) struct Whole<'a> {
    pub(super) meta: Meta<'a>,
    messages: &'a [u8],
}

impl<'a> Whole<'a> {
    /// The session of a text; nothing where the program loads none.
    pub(super) fn read(text: &'a [u8]) -> Option<Whole<'a>> {
        let document = Value::parse(text).filter(|document| document.type_of() == Type::Object)?;
        let [session, messages] = document.get_all(["sessionId", "messages"]);
        let list = match messages.type_of() {
            Type::Undefined | Type::Null => b"[]",
            Type::Array => messages.token(),
            Type::Boolean | Type::Number | Type::String | Type::Object => return None,
        };
        let whole = Whole { meta: Meta::of(document), messages: list };
        let is_loaded = !session.is_undefined() && elements(list).all(|message| kind_of(message) != Kind::Null);
        // The first that can be resumed is looked for, and one before it may throw.
        (is_loaded && whole.first_resumable(|_| true).is_some()).then_some(whole)
    }

    pub(super) fn messages(&self) -> impl Iterator<Item = Value<'a>> + use<'a> {
        elements(self.messages).map(Value::accepted)
    }

    /// Whether one of these messages can be resumed; nothing where one throws
    /// before that.
    fn first_resumable(&self, is_asked: impl Fn(Value<'a>) -> bool) -> Option<Worth> {
        for message in self.messages().filter(|message| is_asked(*message)) {
            match classify(message) {
                Ok(Worth::Resumable) => return Some(Worth::Resumable),
                Ok(Worth::Shown) => {}
                Err(_) => return None,
            }
        }
        Some(Worth::Shown)
    }

    /// Whether a list of sessions takes it for one that can be resumed.
    pub(super) fn is_resumable(&self) -> bool {
        let is_user = |message: Value<'a>| message.get("type").is("user");
        self.first_resumable(is_user).is_some() && self.first_resumable(|_| true) == Some(Worth::Resumable)
    }
}

/// The history of a checkpoint; empty where there is none.
pub(super) fn checkpoint(text: &[u8]) -> impl Iterator<Item = Value<'_>> {
    let history = match Value::parse(text) {
        Some(list) if list.type_of() == Type::Array => list,
        Some(other) => other.get("history"),
        None => Value::UNDEFINED,
    };
    let list = if history.type_of() == Type::Array { history.token() } else { b"[]" };
    elements(list).map(Value::accepted)
}
