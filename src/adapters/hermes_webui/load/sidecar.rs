//! `Session.load`: the whole file as one JSON object, its rows, and what the
//! constructor of a session lets through.

use std::collections::HashMap;

use crate::json::{Kind, Value};
use crate::runtimes::python::convert::int;
use crate::runtimes::python::dumps::{Form, Writer};
use crate::runtimes::python::exception::Exception;
use crate::runtimes::python::loads::check;
use crate::runtimes::python::value::is_truthy;
use crate::runtimes::wtf8::decode;

use super::partial;
use super::paths::resolved;
use super::unit::PathContent;

/// So deep a nesting raises `RecursionError`. Measured with CPython 3.11.7,
/// `Session.load` being called from the top of a module; each further caller
/// takes one level away.
const TOO_DEEP: usize = 995;

/// A session that loads.
#[derive(Debug)]
pub struct Session<'a> {
    /// The last value of each key, by the key's text.
    values: HashMap<Vec<u8>, Value<'a>>,
    /// Rows of `messages` that the load leaves out.
    dropped: Vec<usize>,
}

/// How many rows a list of a session has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows<'a> {
    /// It is a list.
    List(Value<'a>),
    /// It is some other value, which the program keeps without looking.
    Other(Kind),
}

/// Returns the file as an object; none where it is not one.
fn object(file: PathContent<'_>) -> Option<Value<'_>> {
    check(file.text()?, TOO_DEEP).ok().filter(|value| value.is_object())
}

fn last_values(object: Value<'_>) -> HashMap<Vec<u8>, Value<'_>> {
    object.members().map(|member| (decode(member.key()).into_owned(), member.value())).collect()
}

impl<'a> Session<'a> {
    /// Returns the session of a file; none where the load raises.
    #[must_use]
    pub fn load(file: PathContent<'a>) -> Option<Session<'a>> {
        let mut session = Session { values: last_values(object(file)?), dropped: Vec::new() };
        if let Rows::List(messages) = session.messages() {
            session.dropped = partial::dropped(messages)?;
        }
        session.is_constructed().then_some(session)
    }

    /// Tells whether the constructor returns. It takes the keys for parameters, makes
    /// paths of four values, and rounds two more.
    fn is_constructed(&self) -> bool {
        let resolves = |value: Value<'_>| resolved(value).is_some();
        let is_path = |name: &str| self.get(name).is_none_or(|value| !is_truthy(value) || resolves(value));
        let is_count = |name: &str| self.get(name).is_none_or(|value| int(value) != Err(Exception::Overflow));
        self.get("self").is_none()
            && self.get("workspace").is_none_or(resolves)
            && ["created_workspace", "worktree_path", "worktree_repo_root"].into_iter().all(is_path)
            && ["post_compression_context_tokens_estimate", "message_count"].into_iter().all(is_count)
    }

    /// Returns the value of a key, if it is there.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<Value<'a>> {
        self.values.get(name.as_bytes()).copied()
    }

    /// Returns what the program keeps as `messages`.
    #[must_use]
    pub fn messages(&self) -> Rows<'a> {
        match self.get("messages").filter(|value| is_truthy(*value)) {
            None => Rows::List(Value::EMPTY_ARRAY),
            Some(value) if value.is_array() => Rows::List(value),
            Some(value) => Rows::Other(value.kind()),
        }
    }

    /// Returns what it keeps as `context_messages`, if the file has a list of them.
    #[must_use]
    pub fn context(&self) -> Option<Value<'a>> {
        self.get("context_messages").filter(|value| value.is_array())
    }

    /// Shows the rows of `messages` that the load leaves.
    pub fn show_messages(&self, show: &mut dyn FnMut(&[u8])) {
        if let Rows::List(messages) = self.messages() {
            show_rows(messages, &self.dropped, show);
        }
    }

    /// Shows the rows of `context_messages`, none of which is left out.
    pub fn show_context(&self, show: &mut dyn FnMut(&[u8])) {
        show_rows(self.context().unwrap_or(Value::EMPTY_ARRAY), &[], show);
    }
}

fn show_rows(list: Value<'_>, dropped: &[usize], show: &mut dyn FnMut(&[u8])) {
    let mut line = Vec::new();
    let mut writer = Writer::default();
    let mut dropped = dropped.iter().copied().peekable();
    for (index, row) in list.elements().enumerate() {
        if dropped.next_if_eq(&index).is_some() {
            continue;
        }
        line.clear();
        writer.push(row, Form::Tokens, &mut line);
        show(&line);
    }
}

/// Returns how many rows `messages` has on disk, as the recovery counts them: -1 where
/// there is no such list.
#[must_use]
pub fn rows_on_disk(file: PathContent<'_>) -> String {
    let list = object(file).and_then(|object| last_values(object).get(b"messages".as_slice()).copied());
    list.filter(|list| list.is_array()).map_or("-1".to_owned(), |list| list.elements().count().to_string())
}
