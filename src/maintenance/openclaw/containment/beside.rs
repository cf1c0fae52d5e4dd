//! The second answer: what other sessions of the database, and files of the state
//! folder, hold of records that are not where they belong.

use crate::adapters::containment::FoundIn;
use crate::model::database::TablesError;
use crate::model::digest::half_digest;
use crate::model::packing;
use crate::runtimes::javascript::{Value, lines, stringify, trim};

use crate::maintenance::elsewhere::Elsewhere;

use super::rows::Events;

/// The folders of the state folder that hold transcripts, or copies of them.
const FOLDERS: [&str; 2] = ["sessions", "session-sqlite-import-archive"];

/// Looks for records everywhere.
pub(super) fn search(events: Events<'_>, elsewhere: &mut Elsewhere) -> Result<(), TablesError> {
    if elsewhere.is_done() {
        return Ok(());
    }
    let mut note = |session: &str, found: FoundIn, text: &[u8]| offer(elsewhere, text, found, &|| format!("session {session}"));
    events.live(None, &mut |session, text| note(session, FoundIn::Database, text))?;
    events.archived(None, &mut |session, text| note(session, FoundIn::Database, text))?;
    events.cold(None, &mut |session, found, text| note(session, found, text))?;
    for folder in FOLDERS {
        for path in events.store.state.files(folder) {
            let is_packed = path.as_bytes().ends_with(b".zst");
            // Cold archives were read with the database.
            let is_cold = is_packed && path.as_bytes().starts_with(b"sessions/cold/");
            if elsewhere.is_done() || is_cold {
                continue;
            }
            let Some(bytes) = events.store.state.read(&path) else { continue };
            let text = if is_packed { packing::unpack(&bytes) } else { Some(bytes) };
            for (number, (_, line)) in (1_u64..).zip(lines(&text.unwrap_or_default())) {
                offer(elsewhere, trim(line), FoundIn::StateFolder, &|| format!("{path}:{number}"));
            }
        }
    }
    Ok(())
}

/// Notes that a text was found, as it is or as JavaScript prints it.
fn offer(elsewhere: &mut Elsewhere, text: &[u8], found: FoundIn, place: &dyn Fn() -> String) {
    let as_it_is = half_digest(text);
    if elsewhere.wants(&as_it_is) {
        return elsewhere.found(&as_it_is, found, &place());
    }
    if let Some(value) = Value::parse(text).filter(|_| std::str::from_utf8(text).is_ok()) {
        let printed = half_digest(&stringify(value.token()));
        if elsewhere.wants(&printed) {
            elsewhere.found(&printed, found, &place());
        }
    }
}
