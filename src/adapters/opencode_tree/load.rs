//! What opencode itself would load: `GET /session/<id>/message` of 1.1.53, which is
//! `Session.messages`. Written again from its behaviour. It shares JavaScript itself
//! ([`crate::runtimes::javascript`]) and nothing else with the rest of this adapter.
//!
//! The files below `message/<session>/` are the messages, in the order of their
//! names. Each is read, and with it all files below `part/<message>/`, by their `id`.
//! A file that is not JSON makes the request fail. The session's own file is not
//! looked at, nor are parts of a message that has no file.
//!
//! Heads: `branch:main`. Facts: none. Error: [`NOT_LOADED`].

use std::collections::BTreeMap;

use crate::model::files::{Entry, Files};
use crate::model::heads::HeadName;
use crate::model::loaded::{LoadOutcome, Loader};
use crate::runtimes::javascript::{Numbers, Value, printed_raw};

/// Some file is not JSON.
const NOT_LOADED: &str = "a file of a message or of a part is not JSON";

/// Returns the loader of one session.
#[must_use]
pub fn loader(files: &Files) -> Box<dyn Loader + '_> {
    Box::new(Storage::of(files))
}

/// The storage as far as it is of one session.
#[derive(Default)]
struct Storage<'f> {
    /// The text of each message by its name.
    messages: BTreeMap<&'f [u8], &'f [u8]>,
    /// The texts of parts in the order of their names, by their message's.
    parts: BTreeMap<&'f [u8], Vec<&'f [u8]>>,
}

impl<'f> Storage<'f> {
    fn of(files: &'f Files) -> Storage<'f> {
        let mut storage = Storage::default();
        for (path, entry) in files.iter() {
            let Entry::File(file) = entry else { continue };
            let steps: Vec<&[u8]> = path.as_bytes().split(|byte| *byte == b'/').collect();
            let [folder, owner, name] = steps[..] else { continue };
            let Some(key) = name.strip_suffix(b".json") else { continue };
            if folder == b"message" {
                storage.messages.insert(key, &file.bytes);
            } else if folder == b"part" {
                storage.parts.entry(owner).or_default().push(&file.bytes);
            }
        }
        storage
    }

    /// Returns every message as one line.
    fn lines(&self) -> Option<Vec<Vec<u8>>> {
        let mut lines = Vec::with_capacity(self.messages.len());
        for (key, text) in &self.messages {
            let info = Value::parse(text)?;
            let mut parts = Vec::new();
            for text in self.parts.get(key).into_iter().flatten() {
                parts.push(Value::parse(text)?);
            }
            parts.sort_by_key(|part| part.get("id").text());
            let mut line = b"{\"info\":".to_vec();
            line.extend_from_slice(&printed_raw(info.token(), Numbers::Printed));
            line.extend_from_slice(b",\"parts\":[");
            for (n, part) in parts.iter().enumerate() {
                if n > 0 {
                    line.push(b',');
                }
                line.extend_from_slice(&printed_raw(part.token(), Numbers::Printed));
            }
            line.extend_from_slice(b"]}");
            lines.push(line);
        }
        Some(lines)
    }
}

impl Loader for Storage<'_> {
    fn heads(&mut self) -> Vec<HeadName> {
        vec![HeadName::main()]
    }

    fn load(&mut self, head: Option<&HeadName>, show: &mut dyn FnMut(&[u8])) -> LoadOutcome {
        LoadOutcome::of_one_list(head, self.lines().ok_or(NOT_LOADED), show)
    }
}

#[cfg(test)]
mod tests;
