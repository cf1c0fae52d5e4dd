//! A whole transcript file: lines as Python's text mode gives them, read one by
//! one, and shown or only tried.

use crate::model::files::{Files, SourceFile};
use crate::runtimes::python::datetime::DateTime;
use crate::runtimes::python::exception::Exception;
use crate::runtimes::python::text::text_lines;

use super::attachments::Hashes;
use super::record::{Message, Reader, Refusal, Writer};
use super::skim::Skim;

/// Returns what the loader makes of each line; where `too_deep` containers stand in each
/// other, the interpreter's stack is used up.
pub fn records(file: &SourceFile, too_deep: usize) -> impl Iterator<Item = Result<Message<'_>, Refusal>> {
    let mut reader = Reader::new(too_deep);
    text_lines(&file.bytes).map(move |line| reader.read(line))
}

/// What happens to a list after its reading.
#[derive(Clone, Copy)]
pub enum AfterReading<'a> {
    /// Its attachments are looked for in this session.
    Snapshot(&'a Files),
    /// Nothing: the program does not load this file by itself.
    Nothing,
}

impl AfterReading<'_> {
    fn hashes<'a>(self, message: &Message<'a>) -> Result<Hashes<'a>, Exception> {
        match self {
            AfterReading::Snapshot(session) => Hashes::after_snapshot(message, session),
            AfterReading::Nothing => Ok(Hashes::as_read(message)),
        }
    }
}

/// Returns what loading this file raises, if anything: all lines are read before the
/// attachments of the first are looked for.
#[must_use]
pub fn exception(file: &SourceFile, too_deep: usize, then: AfterReading<'_>) -> Option<Exception> {
    let skim = Skim::new(too_deep);
    let mut reader = Reader::new(too_deep);
    let mut later = None;
    for line in text_lines(&file.bytes).filter(|line| skim.may_raise(line)) {
        match reader.read(line) {
            Ok(message) if later.is_none() => later = then.hashes(&message).err(),
            Ok(_) | Err(Refusal::Skipped) => {}
            Err(Refusal::Raises(exception)) => return Some(exception),
        }
    }
    later
}

/// Shows every message of a file that raises nothing.
pub fn show(file: &SourceFile, then: AfterReading<'_>, show: &mut dyn FnMut(&[u8])) {
    let written = DateTime::of_mtime(file.mtime_ns);
    let mut writer = Writer::default();
    for message in records(file, usize::MAX).flatten() {
        if let Ok(hashes) = then.hashes(&message) {
            show(writer.write(&message, hashes.value(), &written));
        }
    }
}
