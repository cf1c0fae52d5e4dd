//! `dict(value)` for any value: an object is copied, a list is read as pairs.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::HashMap;

use crate::json::{Kind, Value};
use crate::runtimes::wtf8::{codes, decode, push_code};

use super::exception::Exception;
use super::number::{Number, float_json};
use super::strings::push_ascii;

/// A key, which JSON's objects limit to strings and lists of pairs do not.
#[derive(Debug, Clone, PartialEq)]
enum Key {
    Text(Vec<u8>),
    /// A number or a boolean, and the token that it was.
    Number(Number, Vec<u8>),
    Null,
}

/// A `dict`: the place of a key is that of its first mention, its value that of
/// the last.
#[derive(Debug, Clone, Default)]
pub struct Dict<'a> {
    entries: Vec<(Key, Cow<'a, [u8]>)>,
    texts: HashMap<Vec<u8>, usize>,
}

impl<'a> Dict<'a> {
    /// Copies an object.
    #[must_use]
    pub fn of_object(object: impl Into<Value<'a>>) -> Dict<'a> {
        let mut dict = Dict::default();
        for member in object.into().members() {
            dict.set(Key::Text(decode(member.key()).into_owned()), Cow::Borrowed(member.value().text()));
        }
        dict
    }

    /// `dict(value)`.
    ///
    /// # Errors
    /// As Python raises for what is neither an object nor a list of pairs.
    pub fn of(value: impl Into<Value<'a>>) -> Result<Dict<'a>, Exception> {
        let value = value.into();
        match value.kind() {
            Kind::Object => Ok(Dict::of_object(value)),
            // No character is a pair.
            Kind::String if value.text().len() > 2 => Err(Exception::Value),
            Kind::String => Ok(Dict::default()),
            Kind::Array => {
                let mut dict = Dict::default();
                for element in value.elements() {
                    let [key, value] = pair(element)?;
                    dict.set(Key::of(Value::trusted(&key))?, value);
                }
                Ok(dict)
            }
            Kind::Number | Kind::True | Kind::False | Kind::Null => Err(Exception::Type),
        }
    }

    fn set(&mut self, key: Key, value: Cow<'a, [u8]>) {
        let known = match &key {
            Key::Text(text) => self.texts.get(text).copied(),
            Key::Number(..) | Key::Null => self.entries.iter().position(|(other, _)| key.equals(other)),
        };
        match known.and_then(|at| self.entries.get_mut(at)) {
            Some(entry) => entry.1 = value,
            None => {
                if let Key::Text(text) = &key {
                    self.texts.insert(text.clone(), self.entries.len());
                }
                self.entries.push((key, value));
            }
        }
    }

    /// Tells whether it has no entries.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns how many entries it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns the value of a string key.
    #[must_use]
    pub fn get(&self, key: &[u8]) -> Option<Value<'_>> {
        self.texts.get(key).and_then(|at| self.entries.get(*at)).map(|(_, value)| Value::trusted(value))
    }

    /// Returns the entries whose keys are strings.
    pub fn texts(&self) -> impl Iterator<Item = (&[u8], Value<'_>)> {
        self.entries.iter().filter_map(|(key, value)| match key {
            Key::Text(text) => Some((text.as_slice(), Value::trusted(value))),
            Key::Number(..) | Key::Null => None,
        })
    }

    /// Tells whether all keys are strings.
    #[must_use]
    pub fn has_only_text_keys(&self) -> bool {
        self.texts.len() == self.entries.len()
    }

    /// Returns its text as JSON, keys as `json.dumps` turns them into strings.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        let mut out = vec![b'{'];
        for (at, (key, value)) in self.entries.iter().enumerate() {
            out.extend_from_slice(if at == 0 { b"" } else { b", " });
            key.push_json(&mut out);
            out.extend_from_slice(b": ");
            out.extend_from_slice(value);
        }
        out.push(b'}');
        out
    }
}

impl Key {
    fn of(value: Value<'_>) -> Result<Key, Exception> {
        match value.kind() {
            Kind::String => Ok(Key::Text(decode(value.text()).into_owned())),
            Kind::Null => Ok(Key::Null),
            Kind::Number | Kind::True | Kind::False => {
                Number::of(value).map(|number| Key::Number(number, value.text().to_vec())).ok_or(Exception::Type)
            }
            // Neither can be hashed.
            Kind::Object | Kind::Array => Err(Exception::Type),
        }
    }

    fn equals(&self, other: &Key) -> bool {
        match (self, other) {
            // All NaNs are one object, and an object is the same key as itself.
            (Key::Number(a, token), Key::Number(b, other)) => a.order(b) == Some(Ordering::Equal) || (token == b"NaN" && other == b"NaN"),
            (Key::Null, Key::Null) => true,
            _ => false,
        }
    }

    fn push_json(&self, out: &mut Vec<u8>) {
        match self {
            Key::Text(text) => push_ascii(text, out),
            Key::Null => out.extend_from_slice(b"\"null\""),
            Key::Number(number, token) => {
                out.push(b'"');
                match (number, token.as_slice()) {
                    (_, b"true" | b"false") => out.extend_from_slice(token),
                    (Number::Float(float), _) => out.extend_from_slice(float_json(*float).as_bytes()),
                    (Number::Int(..), _) => number.push_repr(out),
                }
                out.push(b'"');
            }
        }
    }
}

/// Returns the two values of what `dict()` takes for a pair: a list of two, an object
/// of two keys, or a string of two characters.
fn pair(value: Value<'_>) -> Result<[Cow<'_, [u8]>; 2], Exception> {
    let parts: Vec<Cow<'_, [u8]>> = match value.kind() {
        Kind::Array => value.elements().map(|element| Cow::Borrowed(element.text())).collect(),
        Kind::Object => Dict::of_object(value).texts().map(|(key, _)| Cow::Owned(token(key))).collect(),
        Kind::String => codes(&decode(value.text())).map(|code| Cow::Owned(character(code))).collect(),
        Kind::Number | Kind::True | Kind::False | Kind::Null => return Err(Exception::Type),
    };
    parts.try_into().map_err(|_| Exception::Value)
}

fn token(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    push_ascii(text, &mut out);
    out
}

/// One character as a string token.
fn character(code: u32) -> Vec<u8> {
    let mut text = Vec::new();
    push_code(code, &mut text);
    token(&text)
}
