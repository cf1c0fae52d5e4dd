//! Files of the first two generations, which are shown as they are: a document
//! of the TypeScript program, and lines without envelopes.

use crate::json::{Kind, Value};
use crate::runtimes::javascript::{self, Numbers};
use crate::runtimes::rust::{is_blank, lines, parse, printed};

use super::lineage::NOT_UTF8;

/// The program cannot parse its document.
pub(super) const NOT_A_DOCUMENT: &str = "the rollout is not a document with items";

/// What a file of an early generation is.
enum Early<'a> {
    /// The items of a document.
    Document(javascript::Value<'a>),
    /// The lines after a header.
    Bare(&'a [u8]),
}

impl<'a> Early<'a> {
    fn of(text: &'a [u8]) -> Option<Early<'a>> {
        let (start, first) = lines(text).find(|(_, line)| !is_blank(line))?;
        let document = || javascript::Value::parse(text).map(|document| Early::Document(document.get("items")));
        let Some(header) = parse(first) else {
            // A document has many lines, of which the first is an open brace.
            return (first.trim_ascii() == b"{").then(document)?;
        };
        if header.get("session").is_some() && header.get("items").is_some() {
            return document();
        }
        let is_header =
            header.get("type").is_none() && ["id", "timestamp"].iter().all(|name| header.get(name).is_some_and(Value::is_string));
        is_header.then(|| Early::Bare(text.get(start + first.len()..).unwrap_or_default()))
    }
}

/// Tells whether a file is of an early generation.
pub(super) fn is_early(text: &[u8]) -> bool {
    Early::of(text).is_some()
}

/// Shows the items of a file of an early generation.
pub(super) fn show(text: &[u8], show: &mut dyn FnMut(&[u8])) -> Result<(), &'static str> {
    match Early::of(text) {
        Some(Early::Document(items)) => {
            let items = items.value().filter(|items| items.kind() == Kind::Array).ok_or(NOT_A_DOCUMENT)?;
            items.elements().for_each(|item| show(&javascript::printed_raw(item, Numbers::Printed)));
            Ok(())
        }
        Some(Early::Bare(rest)) => show_bare(rest, show),
        None => Err(NOT_A_DOCUMENT),
    }
}

fn show_bare(rest: &[u8], show: &mut dyn FnMut(&[u8])) -> Result<(), &'static str> {
    if std::str::from_utf8(rest).is_err() {
        return Err(NOT_UTF8);
    }
    let records = || lines(rest).filter_map(|(_, line)| parse(line)).filter(|value| value.is_object());
    if is_left(rest) {
        return Ok(());
    }
    records().filter(|record| record.get("record_type").is_none()).for_each(|item| show(&printed(item)));
    Ok(())
}

/// Tells whether nothing is shown of a file of lines: it is not UTF-8, or release 0.8
/// wrote it.
pub(super) fn shows_nothing(text: &[u8]) -> bool {
    matches!(Early::of(text), Some(Early::Bare(rest)) if std::str::from_utf8(rest).is_err() || is_left(rest))
}

/// Tells whether release 0.8 wrote the lines: it left the history to the server, and
/// sends nothing of it.
fn is_left(rest: &[u8]) -> bool {
    let records = lines(rest).filter_map(|(_, line)| parse(line)).filter(|value| value.is_object());
    records.into_iter().any(|record| record.get("previous_response_id").is_some() && record.get("record_type").is_some())
}
