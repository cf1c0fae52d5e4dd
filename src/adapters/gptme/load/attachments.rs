//! What loading does to `file_hashes`: the program looks at the attachments of
//! each message before it shows any. No file outside the session exists here,
//! so nothing is added, but the look itself can change the value or raise.

use std::borrow::Cow;

use crate::json::{Kind, Value};
use crate::model::files::{Entry, Files};
use crate::runtimes::python::dict::Dict;
use crate::runtimes::python::exception::Exception;
use crate::runtimes::python::pathlib::{normal, suffix};
use crate::runtimes::python::value::{is_truthy, str_of};

use super::paths::{Reference, references};
use super::record::Message;

/// No file name on the usual systems is longer.
const LONGEST_NAME: usize = 255;

/// The `file_hashes` that a loaded message has.
#[derive(Debug, Clone)]
pub struct Hashes<'a>(Option<Cow<'a, [u8]>>);

impl<'a> Hashes<'a> {
    /// As the line has them.
    #[must_use]
    pub fn as_read(message: &Message<'a>) -> Hashes<'a> {
        Hashes(message.file_hashes().map(|hashes| Cow::Borrowed(hashes.text())))
    }

    /// As `_store_message_files` leaves them.
    ///
    /// # Errors
    /// As it raises.
    pub fn after_snapshot(message: &Message<'a>, session: &Files) -> Result<Hashes<'a>, Exception> {
        let (Some(files), Some(value)) = (message.files(), message.file_hashes()) else { return Ok(Hashes::as_read(message)) };
        // The usual case: an object of strings, at which nothing can go wrong.
        let dict = Dict::of(value)?;
        if dict.texts().any(|(_, hash)| !hash.is_string() && is_truthy(hash)) {
            look_for_copies(files, &dict, session)?;
        }
        match value.kind() {
            Kind::Object => Ok(Hashes::as_read(message)),
            Kind::String | Kind::Array | Kind::Number | Kind::True | Kind::False | Kind::Null => {
                Ok(Hashes(Some(Cow::Owned(dict.to_json()))))
            }
        }
    }

    /// Returns the value.
    #[must_use]
    pub fn value(&self) -> Option<Value<'_>> {
        self.0.as_deref().map(Value::trusted)
    }
}

/// A hash that is no string names a copy together with a suffix; if there is no
/// such copy, the program goes on to use it as a path, and cannot.
fn look_for_copies(files: Value<'_>, hashes: &Dict<'_>, session: &Files) -> Result<(), Exception> {
    for reference in references(files) {
        let Reference::Path(path) = reference else { continue };
        let Some(hash) = hashes.get(&path).filter(|hash| !hash.is_string() && is_truthy(*hash)) else { continue };
        let suffix = suffix(&path);
        let name = [str_of(hash).as_ref(), suffix].concat();
        let is_too_long = name.split(|b| *b == b'/').any(|part| part.len() > LONGEST_NAME);
        // A name that is too long is an OSError, which is caught.
        if !suffix.is_empty() && !is_too_long && !exists(session, &name) {
            return Err(Exception::Type);
        }
    }
    Ok(())
}

/// Tells whether anything stands at this place below `files/`.
fn exists(session: &Files, name: &[u8]) -> bool {
    let wanted = normal(&[b"files/", name].concat());
    session.iter().any(|(path, entry)| match entry {
        Entry::File(_) | Entry::Rows(_) | Entry::EmptyFolder | Entry::Link { .. } => {
            path.as_bytes().strip_prefix(wanted.as_slice()).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
        }
    })
}
