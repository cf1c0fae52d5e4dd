//! The logs of a store as tables need them: what their rows depend on, from receipts
//! where these know it, so that no log is read whose rows are there already.

use rayon::prelude::*;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::api::utc;
use crate::model::about::About;
use crate::model::digest::sha256_hex;
use crate::model::files::RelPath;
use crate::model::finding::Finding;
use crate::report::exit::ExitStatus;
use crate::report::printer::Printer;
use crate::report::text;
use crate::store::receipts::{Receipt, Receipts};
use crate::tables::plan::PlannedSession;
use crate::tables::rows::{Subject, log_hash};
use crate::verify::difference::visible;

use super::error::CommandError;
use super::logs::{self, Asked, LogFile, Unread};

/// The logs of a store.
#[derive(Debug)]
pub(super) struct Listing {
    /// What is known of each.
    pub entries: Vec<PlannedSession>,
    /// Where each is, and the unit of its receipt.
    places: Vec<(PathBuf, Option<RelPath>)>,
    receipts: Receipts,
    failed: Vec<CommandError>,
    unread: Vec<Unread>,
    /// Logs that are not as they were sealed, and what is wrong with each: their rows
    /// are made of what can be read.
    doubtful: Vec<(String, &'static str)>,
}

/// What a receipt knows of a log.
struct Known {
    unit: RelPath,
    format: String,
    log_bytes: u64,
    log_sha256: String,
    findings: String,
    about: Option<About>,
}

impl Known {
    fn of(receipt: Receipt) -> Known {
        Known {
            unit: RelPath::from_key(&receipt.unit),
            findings: digest(&receipt.findings),
            format: receipt.format,
            log_bytes: receipt.log_bytes,
            log_sha256: receipt.log_sha256,
            about: receipt.about,
        }
    }
}

/// Returns the hash of findings; empty where there are none.
fn digest(findings: &[Finding]) -> String {
    let text = serde_json::to_vec(findings).unwrap_or_default();
    if findings.is_empty() { String::new() } else { sha256_hex(&text) }
}

/// Lists the logs of a store, or of a folder of logs.
///
/// # Errors
/// When the folder cannot be listed, or has no logs.
pub(super) fn list(folder: &Path) -> Result<Listing, CommandError> {
    let asked = Asked::of(folder);
    let mut looked = logs::look(folder)?;
    if looked.logs.is_empty() && looked.unread.is_empty() {
        return Err(CommandError::NoLogs { path: folder.to_owned() });
    }
    let receipts = asked.store.as_ref().map(Receipts::load).unwrap_or_default();
    looked.unread.extend(logs::gone(folder, &asked, &receipts, looked.logs.iter().map(|log| asked.name_of(log)), &looked.unread));
    let known: HashMap<RelPath, Known> = receipts.iter().map(|receipt| (RelPath::from_key(&receipt.log), Known::of(receipt))).collect();
    let entries: Vec<_> = looked
        .logs
        .into_par_iter()
        .map(|log| {
            let name = asked.name_of(&log);
            let known = known.get(&name);
            let (entry, warning) = entry(&log, &name, known)?;
            Ok((entry, log.path, known.map(|known| known.unit.clone()), warning.map(|warning| (log.name, warning))))
        })
        .collect();
    let mut listing =
        Listing { entries: Vec::new(), places: Vec::new(), receipts, failed: Vec::new(), unread: looked.unread, doubtful: Vec::new() };
    for one in entries {
        match one {
            Ok((entry, path, unit, doubtful)) => {
                listing.doubtful.extend(doubtful);
                listing.entries.push(entry);
                listing.places.push((path, unit));
            }
            Err(error) => listing.failed.push(error),
        }
    }
    Ok(listing)
}

/// What is known of a log, and what is wrong with its seal.
fn entry(log: &LogFile, name: &RelPath, known: Option<&Known>) -> Result<(PlannedSession, Option<&'static str>), CommandError> {
    let findings = known.map(|known| known.findings.clone()).unwrap_or_default();
    let is_of_receipt = |known: &&Known| log.bytes == Some(known.log_bytes);
    if let Some(known) = known.filter(is_of_receipt)
        && let Some(about) = &known.about
    {
        let session = PlannedSession {
            log: name.key(),
            sha256: known.log_sha256.clone(),
            findings,
            format: known.format.clone(),
            last: last(about),
            bytes: known.log_bytes,
        };
        return Ok((session, None));
    }
    let mut view = logs::open_any(&log.path, None)?;
    let about = About::of_log(&mut view).map_err(|source| CommandError::Stream { path: log.path.clone(), source })?;
    let session = PlannedSession {
        log: name.key(),
        sha256: log_hash(&log.path)?,
        findings,
        format: view.session.format.clone(),
        last: last(&about),
        bytes: view.bytes(),
    };
    Ok((session, logs::seal_warning(view.seal())))
}

/// Returns the time of the last message in UTC; one without a zone counts as UTC.
fn last(about: &About) -> Option<String> {
    let last = about.last.as_deref()?;
    Some(utc(last).unwrap_or_else(|| last.to_owned()).trim_end_matches('Z').to_owned())
}

impl Listing {
    /// Returns what is needed to make the rows of a log.
    pub(super) fn subject(&self, n: usize) -> Subject {
        let (path, unit) = &self.places[n];
        let receipt = unit.as_ref().and_then(|unit| self.receipts.get(unit));
        // A migration may have written another receipt meanwhile: these are the
        // findings that the plan is made with, or none.
        let findings = receipt.map(|receipt| receipt.findings).filter(|findings| digest(findings) == self.entries[n].findings);
        Subject {
            path: path.clone(),
            log: self.entries[n].log.clone(),
            month: self.entries[n].month().map(str::to_owned),
            findings: findings.unwrap_or_default(),
        }
    }

    /// Says which logs cannot be listed; returns how many.
    pub(super) fn complain(&self, out: &Printer) -> usize {
        for error in &self.failed {
            out.complain(&text::error(error, None, error.hint().as_deref()));
        }
        for unread in &self.unread {
            out.complain(&format!("error: {}\n  at {}", unread.why, visible(&unread.relative.to_string())));
        }
        for (log, warning) in &self.doubtful {
            out.complain(&format!("{warning}\n  at {}", visible(log)));
        }
        self.failed.len() + self.unread.len()
    }

    /// How it ends where so many logs have no rows: not well either where rows are
    /// those of a log that lost its end.
    pub(super) fn status(&self, failed: u64) -> ExitStatus {
        if failed == 0 && self.doubtful.is_empty() { ExitStatus::Well } else { ExitStatus::Found }
    }
}
