//! What gptme 0.35.1 itself would show: its loader, written again from its
//! behaviour. It owns the rules of `LogManager.load` and `recover_messages`,
//! odd ones included, and shares nothing with the rest of this adapter but the
//! language that the program is written in (`crate::runtimes::python`), so that
//! the two cannot be wrong together.

mod attachments;
mod events;
mod lists;
mod paths;
mod record;
mod skim;
mod transcript;

use crate::model::files::{Files, SourceFile};
use crate::model::heads::{HeadKind, HeadName};
use crate::model::loaded::{LoadOutcome, Loader};
use crate::runtimes::python::exception::Exception;
use crate::runtimes::python::text::strip_str;

use lists::{TOO_DEEP_BESIDE, TOO_DEEP_IN_MAIN, TranscriptEntry};
use transcript::AfterReading;

/// gptme's loader for these files.
#[must_use]
pub fn loader(files: &Files) -> Box<dyn Loader + '_> {
    Box::new(Loading { files })
}

/// Every list is a file of its own, so there is nothing to keep between them.
struct Loading<'f> {
    files: &'f Files,
}

impl Loader for Loading<'_> {
    fn heads(&mut self) -> Vec<HeadName> {
        heads(self.files)
    }

    fn load(&mut self, head: Option<&HeadName>, show: &mut dyn FnMut(&[u8])) -> LoadOutcome {
        load(self.files, head, show)
    }
}

/// Returns every head that the program could be asked for, in byte order.
fn heads(files: &Files) -> Vec<HeadName> {
    lists::heads(files)
}

/// Returns what the program would show: for `None` its default load, for a head the
/// list of that name.
fn load(files: &Files, head: Option<&HeadName>, show: &mut dyn FnMut(&[u8])) -> LoadOutcome {
    match head {
        None => load_default(files, show),
        Some(head) => LoadOutcome { error: load_head(files, head, show).err().map(named), ..LoadOutcome::default() },
    }
}

fn named(exception: Exception) -> String {
    exception.name().to_owned()
}

fn load_default(files: &Files, show: &mut dyn FnMut(&[u8])) -> LoadOutcome {
    let (view, marker_error) = match restored_view(files) {
        Ok(view) => (view, None),
        Err(exception) => (None, Some(exception)),
    };
    let active = view.unwrap_or_else(HeadName::main);
    let error = if lists::main_file(files).is_none() { Some(Exception::FileNotFound) } else { session_error(files).or(marker_error) };
    if error.is_none()
        && let Some(file) = lists::file_of(files, &active)
    {
        transcript::show(file, AfterReading::Snapshot(files), show);
    }
    let fails = |head: HeadName| {
        let exception = lists::file_of(files, &head).and_then(events::exception)?;
        Some((head.to_string(), named(exception)))
    };
    LoadOutcome {
        active: Some(active),
        model: model(files),
        error: error.map(named),
        failures: heads(files).into_iter().filter(|head| head.kind == HeadKind::Events).filter_map(fails).collect(),
        ..LoadOutcome::default()
    }
}

fn load_head(files: &Files, head: &HeadName, show: &mut dyn FnMut(&[u8])) -> Result<(), Exception> {
    let file = lists::file_of(files, head);
    if head.kind == HeadKind::Events {
        // Without a log, nothing is recovered and nothing is wrong.
        return file.map_or(Ok(()), |file| events::show(file, show));
    }
    let file = file.ok_or(Exception::FileNotFound)?;
    // A stray transcript is not read by the load, which therefore does nothing
    // to its attachments.
    let is_stray = head.kind == HeadKind::Backup && head.name != "lossless";
    let then = if is_stray { AfterReading::Nothing } else { AfterReading::Snapshot(files) };
    let too_deep = if is_stray || *head == HeadName::main() { TOO_DEEP_IN_MAIN } else { TOO_DEEP_BESIDE };
    if let Some(exception) = transcript::exception(file, too_deep, then) {
        return Err(exception);
    }
    transcript::show(file, then, show);
    Ok(())
}

/// Says why the session cannot be loaded, whichever of its lists is wanted.
fn session_error(files: &Files) -> Option<Exception> {
    // The program takes such a path for that of a file, and looks in the folder
    // above.
    if files.name().ends_with(".jsonl") && !lists::is_alone(files) {
        return Some(Exception::FileNotFound);
    }
    lists::transcripts(files).into_iter().find_map(|(found, too_deep)| match found {
        TranscriptEntry::File(file) => transcript::exception(file, too_deep, AfterReading::Snapshot(files)),
        TranscriptEntry::Folder => Some(Exception::IsADirectory),
    })
}

/// Returns the view that `views/.current` names, if it is one that the load has found.
fn restored_view(files: &Files) -> Result<Option<HeadName>, Exception> {
    let Some(marker) = files.file("views/.current") else { return Ok(None) };
    let text = std::str::from_utf8(&marker.bytes).map_err(|_| Exception::UnicodeDecode)?;
    // Read in text mode, where every line end is one `\n`.
    let text = text.replace("\r\n", "\n").replace('\r', "\n");
    let name = strip_str(&text);
    let is_view = !name.is_empty() && !name.contains(['/', '\\']) && lists::has_view(files, name);
    Ok(is_view.then(|| HeadName::new(HeadKind::View, name)))
}

/// Returns the model that the session is set to.
fn model(files: &Files) -> Option<String> {
    let SourceFile { bytes, .. } = files.file("config.toml")?;
    // Python's parser takes no byte order mark.
    let text = std::str::from_utf8(bytes).ok().filter(|text| !text.starts_with('\u{feff}'))?;
    let table: toml::Table = toml::from_str(text).ok()?;
    table.get("chat")?.as_table()?.get("model")?.as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests;
