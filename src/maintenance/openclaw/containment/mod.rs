//! Which records of OpenClaw's transcripts are in the database that later versions
//! keep, by the rules of that database's own import.

mod beside;
mod files;
mod importer;
mod lines;
mod rescue;
mod rows;
mod transcript;

use std::cell::RefCell;

use crate::adapters::containment::{Answer, Containment, NewStore, OldStore, Rescue};
use crate::model::database::{Cell, Query, Tables, TablesError};

use crate::maintenance::elsewhere::Elsewhere;

use files::Named;
use rescue::Rescuer;
use rows::Events;

/// Transcripts in the database.
pub(super) struct TranscriptsInDatabase;

/// The versions of the schema whose tables are known.
const KNOWN_SCHEMAS: std::ops::RangeInclusive<i64> = 4..=23;

impl Containment for TranscriptsInDatabase {
    fn knows(&self, tables: &dyn Tables) -> bool {
        let known = tables.columns("transcript_events");
        ["session_id", "seq", "event_json"].iter().all(|name| known.iter().any(|column| column == name))
    }

    fn database_folder(&self) -> Option<&'static str> {
        Some("agent")
    }

    fn cannot_rescue(&self) -> Option<&'static str> {
        None
    }

    fn judge(&self, old: OldStore<'_>, new: NewStore<'_>, rescue: Rescue, answer: &mut dyn Answer) -> Result<(), TablesError> {
        let OldStore::Files(files) = old else {
            return Err(TablesError("only transcripts in files can be compared with this program's database".to_owned()));
        };
        refuse_unknown_schema(new.tables)?;
        let unread = RefCell::new(Vec::new());
        let events = Events::of(new, &unread);
        let paths = files.paths();
        let named = Named::of(files, &paths);
        let mut elsewhere = Elsewhere::default();
        let mut rescuer = (rescue == Rescue::Wanted).then(Rescuer::default);
        for file in files::transcripts(&paths) {
            let bytes = transcript::read(files, &file);
            let judged = transcript::judge_file(&file, &bytes, &named, events, &mut elsewhere, answer)?;
            if let (Some(rescuer), Some(judged)) = (&mut rescuer, judged) {
                rescuer.take(&file, &judged, answer)?;
            }
        }
        if let Some(rescuer) = rescuer {
            rescuer.finish(answer)?;
        }
        beside::search(events, &mut elsewhere)?;
        elsewhere.into_judged().into_iter().for_each(|judged| answer.judged(judged));
        unread.into_inner().into_iter().for_each(|what| answer.unread(what));
        Ok(())
    }
}

/// Refuses a database of a version whose rows may be elsewhere than where they are
/// looked for: a record would be called missing.
fn refuse_unknown_schema(tables: &dyn Tables) -> Result<(), TablesError> {
    let mut version = None;
    if tables.columns("schema_meta").iter().any(|name| name == "schema_version") {
        let query = Query { table: "schema_meta", columns: &["schema_version"], only: Some(("meta_key", "primary")), order: &[] };
        tables.rows(&query, &mut |cells| {
            if let Cell::Integer(number) = cells[0] {
                version = Some(number);
            }
        })?;
    }
    match version {
        Some(version) if !KNOWN_SCHEMAS.contains(&version) => Err(TablesError(format!(
            "the schema of the database has version {version}, and {} to {} are known",
            KNOWN_SCHEMAS.start(),
            KNOWN_SCHEMAS.end()
        ))),
        Some(_) | None => Ok(()),
    }
}
