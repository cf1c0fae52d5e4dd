//! `Session.load`: the whole file as one JSON object, its rows, and what the
//! constructor of a session lets through.

use std::collections::HashMap;

use crate::model::json::{Kind, kind_of};

use super::number::{Unconvertible, integer};
use super::parse::{Failure, check, elements, members};
use super::partial;
use super::paths::resolved;
use super::text::decode;
use super::unit::Found;
use super::value::is_truthy;
use super::write::{Form, push};

/// So deep a nesting raises `RecursionError`. Measured with CPython 3.11.7,
/// `Session.load` being called from the top of a module; each further caller
/// takes one level away.
const TOO_DEEP: usize = 995;

/// A session that loads.
#[derive(Debug)]
pub struct Session<'a> {
    /// The last value of each key, by the key's text.
    values: HashMap<Vec<u8>, &'a [u8]>,
    /// Rows of `messages` that the load leaves out.
    dropped: Vec<usize>,
}

/// How many rows a list of a session has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rows<'a> {
    /// It is a list.
    List(&'a [u8]),
    /// It is some other value, which the program keeps without looking.
    Other(Kind),
}

/// The file as an object; none where it is not one.
fn object(file: Found<'_>) -> Option<&[u8]> {
    match check(file.text()?, TOO_DEEP) {
        Ok(value) => Some(value).filter(|value| value.starts_with(b"{")),
        Err(Failure::Syntax | Failure::Limit) => None,
    }
}

fn last_values(object: &[u8]) -> HashMap<Vec<u8>, &[u8]> {
    members(object).map(|(key, value)| (decode(key).into_owned(), value)).collect()
}

impl<'a> Session<'a> {
    /// The session of a file; none where the load raises.
    #[must_use]
    pub fn load(file: Found<'a>) -> Option<Session<'a>> {
        let mut session = Session { values: last_values(object(file)?), dropped: Vec::new() };
        if let Rows::List(messages) = session.messages() {
            session.dropped = partial::dropped(messages)?;
        }
        session.is_constructed().then_some(session)
    }

    /// Whether the constructor returns. It takes the keys for parameters, makes
    /// paths of four values, and rounds two more.
    fn is_constructed(&self) -> bool {
        let resolves = |value: &[u8]| resolved(value).is_some();
        let is_path = |name: &str| self.get(name).is_none_or(|value| !is_truthy(value) || resolves(value));
        let is_count = |name: &str| self.get(name).is_none_or(|value| integer(value) != Err(Unconvertible::TooLarge));
        self.get("self").is_none()
            && self.get("workspace").is_none_or(resolves)
            && ["created_workspace", "worktree_path", "worktree_repo_root"].into_iter().all(is_path)
            && ["post_compression_context_tokens_estimate", "message_count"].into_iter().all(is_count)
    }

    /// The value of a key, if it is there.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&'a [u8]> {
        self.values.get(name.as_bytes()).copied()
    }

    /// What the program keeps as `messages`.
    #[must_use]
    pub fn messages(&self) -> Rows<'a> {
        match self.get("messages").filter(|value| is_truthy(value)) {
            None => Rows::List(b"[]"),
            Some(value) if kind_of(value) == Kind::Array => Rows::List(value),
            Some(value) => Rows::Other(kind_of(value)),
        }
    }

    /// What it keeps as `context_messages`, if the file has a list of them.
    #[must_use]
    pub fn context(&self) -> Option<&'a [u8]> {
        self.get("context_messages").filter(|value| kind_of(value) == Kind::Array)
    }

    /// Shows the rows of `messages` that the load leaves.
    pub fn show_messages(&self, show: &mut dyn FnMut(&[u8])) {
        if let Rows::List(messages) = self.messages() {
            show_rows(messages, &self.dropped, show);
        }
    }

    /// Shows the rows of `context_messages`, none of which is left out.
    pub fn show_context(&self, show: &mut dyn FnMut(&[u8])) {
        show_rows(self.context().unwrap_or(b"[]"), &[], show);
    }
}

fn show_rows(list: &[u8], dropped: &[usize], show: &mut dyn FnMut(&[u8])) {
    let mut line = Vec::new();
    let mut dropped = dropped.iter().copied().peekable();
    for (index, row) in elements(list).enumerate() {
        if dropped.next_if_eq(&index).is_some() {
            continue;
        }
        line.clear();
        push(row, Form::Line, &mut line);
        show(&line);
    }
}

/// How many rows `messages` has on disk, as the recovery counts them: -1 where
/// there is no such list.
#[must_use]
pub fn rows_on_disk(file: Found<'_>) -> String {
    let list = object(file).and_then(|object| last_values(object).get(b"messages".as_slice()).copied());
    list.filter(|list| kind_of(list) == Kind::Array).map_or("-1".to_owned(), |list| elements(list).count().to_string())
}
