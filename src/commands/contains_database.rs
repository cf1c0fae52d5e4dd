//! Whether the messages of a database are among those of logs or sessions. A
//! database has no shape of its own in a log, so messages are compared by their
//! role and text, white space aside.

use std::collections::{HashMap, HashSet};

use crate::model::database::DatabaseMessage;
use crate::pipeline::batch;
use crate::report::differences::Quoting;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::verify::compare::each_text;
use crate::verify::difference::visible;

use super::compare::{CompareJob, DatabaseOf, Side};
use super::error::CommandError;

/// How long an excerpt is, in characters.
const EXCERPT: usize = 60;

/// How many messages databases have, and how many of them were not found.
#[derive(Debug, Default)]
pub(super) struct DatabaseMessages {
    pub messages: u64,
    pub missing: u64,
}

/// Texts that can still be taken, by role.
type Texts = HashMap<(String, String), u64>;

/// Returns the databases that are asked for: all that is in the databases of a
/// side, and of those outside of it what belongs to the sessions of the side.
pub(super) fn asked_for(side: &mut Side, sessions: &HashSet<&str>) -> Vec<DatabaseOf> {
    let mut outside = side.outside_databases();
    outside.iter_mut().for_each(|database| database.messages.retain(|message| sessions.contains(message.session.as_str())));
    outside.retain(|database| !database.messages.is_empty());
    std::mem::take(&mut side.databases).into_iter().chain(outside).collect()
}

/// Looks for the messages of databases in a side's sessions and databases.
pub(super) fn compare(asked: &[DatabaseOf], b: &Side, job: &CompareJob, out: &Printer) -> DatabaseMessages {
    let mut compared = DatabaseMessages::default();
    // A session that cannot be read is reported by who asked for the sessions.
    let mut there = Texts::new();
    let names: Vec<String> = b.names().cloned().collect();
    let read = batch::each(&names, job.jobs, |name| batch::caught(|| texts(b, name), CommandError::Bug).unwrap_or_default());
    read.into_iter().flatten().for_each(|key| *there.entry(key).or_default() += 1);
    for message in b.databases.iter().flat_map(|database| &database.messages) {
        *there.entry(keys(message).next().unwrap_or_default()).or_default() += 1;
    }
    for database in asked {
        let missing: Vec<&DatabaseMessage> = database.messages.iter().filter(|message| !take(&mut there, message)).collect();
        compared.messages += database.messages.len() as u64;
        compared.missing += missing.len() as u64;
        report(database, &missing, job, out);
    }
    compared
}

/// Returns the messages of a session, in all its versions: one that two versions have
/// is one message.
fn texts(side: &Side, name: &str) -> Result<Vec<(String, String)>, CommandError> {
    let mut all = Texts::new();
    for opened in side.versions(name) {
        let mut opened = opened?;
        let stream = |source| CommandError::Stream { path: opened.place.clone().into(), source };
        let mut own = Texts::new();
        each_text(&mut opened.log, &mut |role, text| *own.entry((role.to_owned(), squeezed(&text))).or_default() += 1).map_err(stream)?;
        for (key, count) in own {
            let most = all.entry(key).or_default();
            *most = count.max(*most);
        }
    }
    Ok(all.into_iter().flat_map(|(key, count)| std::iter::repeat_n(key, usize::try_from(count).unwrap_or(usize::MAX))).collect())
}

/// Returns a text without white space: programs join the parts of a message in
/// different ways.
fn squeezed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

fn keys(message: &DatabaseMessage) -> impl Iterator<Item = (String, String)> {
    message.texts.iter().map(|text| (message.role.clone(), squeezed(text)))
}

fn take(there: &mut Texts, message: &DatabaseMessage) -> bool {
    for key in keys(message) {
        if let Some(left) = there.get_mut(&key).filter(|left| **left > 0) {
            *left -= 1;
            return true;
        }
    }
    false
}

fn report(database: &DatabaseOf, missing: &[&DatabaseMessage], job: &CompareJob, out: &Printer) {
    let quotes = job.showing.quoting == Quoting::Windows;
    let excerpt =
        |message: &DatabaseMessage| message.texts.first().map(|text| text.chars().take(EXCERPT).collect::<String>()).unwrap_or_default();
    if out.form() == Form::Json {
        for message in missing {
            let text = Some(excerpt(message)).filter(|_| quotes);
            let row = serde_json::json!({
                "schema": 1, "missing": message.role, "session": message.session, "database": database.place, "text": text,
            });
            out.object(&row);
        }
        return;
    }
    if missing.is_empty() {
        return;
    }
    let count = text::count(missing.len() as u64, "message");
    out.text(&format!("a database has {count} that B has not\n  at {}", visible(&database.place)));
    for message in missing.iter().take(job.most) {
        let quoted = if quotes { format!(": {}", visible(&excerpt(message))) } else { String::new() };
        out.text(&format!("  - session {}, {}{quoted}", visible(&message.session), visible(&message.role)));
    }
    let rest = missing.len().saturating_sub(job.most) as u64;
    if rest > 0 {
        out.text(&format!("  and {}", text::count(rest, "more message")));
    }
}
