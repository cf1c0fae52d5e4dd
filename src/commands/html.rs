//! `everlog html`: sessions as pages, and an index of them.

use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::html::{IndexRow, index};
use crate::model::digest::sha256_hex;
use crate::model::files::RelPath;
use crate::pipeline::batch;
use crate::redact::{Redactions, Redactor};
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::store::disk::Disk;
use crate::store::layout::{LOG_SUFFIX, path_below};
use crate::verify::difference::visible;

use super::error::CommandError;
use super::html_folder::{HtmlFolder, State};
use super::html_session::{Rendered, render};
use super::logs::{self, LogFile};
use super::redactions;

/// Which sessions become pages, and where.
#[derive(Debug)]
pub struct HtmlJob<'a> {
    /// A store, a folder of logs, or one log.
    pub logs: PathBuf,
    /// The folder for the pages; for one log it may be a file.
    pub out: PathBuf,
    /// What takes secrets out; nothing where they stay.
    pub redactor: Option<Redactor>,
    /// How many sessions at once.
    pub jobs: usize,
    /// Set by Ctrl-C.
    pub stop: &'a AtomicBool,
    /// Where changes go.
    pub disk: &'a dyn Disk,
}

/// What became of a session, for programs.
#[derive(Serialize)]
struct Row<'a> {
    schema: u32,
    session: &'a str,
    log: &'a str,
    page: String,
    messages: u64,
    /// The size of the page, and of its log.
    bytes: usize,
    log_bytes: u64,
    state: State,
    #[serde(skip_serializing_if = "Option::is_none")]
    redactions: Option<&'a Redactions>,
}

/// How a run ended, and the page to look at first.
#[derive(Debug)]
pub struct Done {
    /// Whether all went well.
    pub status: ExitStatus,
    /// The index, or the only page.
    pub first: PathBuf,
}

/// The file that a browser opens in a folder.
const INDEX: &str = "index.html";
/// The folder of the pages of sessions.
const SESSIONS: &str = "sessions";
const ENDING: &str = ".html";

/// Runs the command.
///
/// # Errors
/// When nothing could be written at all.
pub fn run(job: &HtmlJob<'_>, out: &Printer) -> Result<Done, CommandError> {
    let is_store = job.logs.is_dir();
    let (found, missing) = logs::find_all(&job.logs)?;
    let is_file = !is_store && job.out.extension().is_some_and(|ending| ending == "html");
    let (root, only) = if is_file {
        let name = job.out.file_name().map(|name| RelPath::new(name.as_encoded_bytes()));
        (job.out.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new(".")), name)
    } else {
        (job.out.as_path(), None)
    };
    let folder = if is_file { HtmlFolder::of_one_file(root, job.disk)? } else { HtmlFolder::open(root, job.disk)? };
    let name_of = |log: &LogFile| only.clone().unwrap_or_else(|| page_name(log, job));
    // No page has its name before all are made, so that a page leads to no other
    // that is missing.
    let interrupted = || CommandError::Interrupted { done: 0, of: found.len() };
    let work = |log: &LogFile| {
        if job.stop.load(Ordering::Relaxed) {
            return Err(interrupted());
        }
        let name = name_of(log);
        let above = if is_store { Some(index_from(&name)) } else { None };
        let rendered = render(log, above.as_deref(), job.redactor.as_ref().map(Redactor::fresh))?;
        let state = folder.prepare(&name, rendered.page.as_bytes())?;
        Ok((name, rendered, state))
    };
    let results = batch::each(&found, job.jobs, |log| batch::caught(|| work(log), CommandError::Bug));
    if job.stop.load(Ordering::Relaxed) {
        return Err(interrupted());
    }
    let (mut status, mut rows, mut changed, mut bytes) = (ExitStatus::Well, Vec::new(), 0u64, (0u64, 0u64));
    for (log, result) in found.iter().zip(results) {
        match result {
            Ok((name, rendered, state)) => {
                changed += u64::from(state == State::Written);
                bytes = (bytes.0 + rendered.page.len() as u64, bytes.1 + rendered.log_bytes);
                status = status.max(report(log, &name, &rendered, state, out));
                rows.push(IndexRow { page: href(&name), ..rendered.row });
            }
            Err(error) => {
                status = status.max(ExitStatus::Found);
                out.complain(&text::error(&error, Some(&log.name), error.hint().as_deref()));
            }
        }
    }
    for log in &missing {
        status = status.max(ExitStatus::Found);
        let place = path_below(&job.logs, &log.relative).display().to_string();
        out.complain(&format!("error: {}; it has no page\n  at {}", log.why, visible(&place)));
    }
    if rows.is_empty() {
        return Ok(Done { status: ExitStatus::Failed, first: job.out.clone() });
    }
    let pages = rows.len() as u64;
    rows.sort_by(|a, b| b.order.cmp(&a.order).then_with(|| a.page.cmp(&b.page)));
    let first = match (&only, is_store) {
        (Some(name), _) => name.clone(),
        (None, false) => found.first().map_or_else(|| RelPath::new(INDEX), |log| page_name(log, job)),
        (None, true) => {
            let page = index(&title(job), &rows).map_err(|error| CommandError::Bug(error.to_string()))?;
            folder.prepare(&RelPath::new(INDEX), page.as_bytes())?;
            RelPath::new(INDEX)
        }
    };
    // Pages of sessions that failed today are not those of sessions that are gone.
    let removed = if is_store && status == ExitStatus::Well { folder.finish_and_remove()? } else { folder.finish()? };
    if out.form() == Form::Json {
        out.object(&serde_json::json!({ "schema": 1, "summary": { "pages": pages, "written": changed, "removed": removed } }));
    }
    let removed = if removed > 0 { format!(", {removed} removed") } else { String::new() };
    let first = path_below(root, &first);
    let size = format!("{}, {} of logs", text::size(bytes.0), text::size(bytes.1));
    out.summary(&format!(
        "{} in {}: {changed} written{removed} ({size})",
        text::count(pages, "page"),
        visible(&first.display().to_string())
    ));
    Ok(Done { status, first })
}

/// Says what became of one session.
fn report(log: &LogFile, name: &RelPath, rendered: &Rendered, state: State, out: &Printer) -> ExitStatus {
    if out.form() == Form::Json {
        out.object(&Row {
            schema: 1,
            session: &rendered.session,
            log: &log.name,
            page: name.to_string(),
            messages: rendered.row.messages,
            bytes: rendered.page.len(),
            log_bytes: rendered.log_bytes,
            state,
            redactions: rendered.redactions.as_ref(),
        });
    }
    if let Some(redactions) = &rendered.redactions {
        redactions::say(&log.name, redactions, out);
    }
    for warning in &rendered.warnings {
        out.complain(&format!("warning: {}\n  at {}", visible(warning), visible(&log.name)));
    }
    if rendered.warnings.is_empty() { ExitStatus::Well } else { ExitStatus::Found }
}

/// Returns what the index is called: as its store, which could be named after a person.
fn title(job: &HtmlJob<'_>) -> String {
    let name = job.logs.file_name().filter(|_| job.redactor.is_none()).map(|name| name.to_string_lossy().into_owned());
    name.unwrap_or_else(|| "Sessions".to_owned())
}

/// Returns the name of a log's page. Logs are often named after home directories, so
/// where those are taken out a page is named after the hash of its log's name.
fn page_name(log: &LogFile, job: &HtmlJob<'_>) -> RelPath {
    let log = log.relative.as_bytes();
    let name = match job.redactor {
        Some(_) => sha256_hex(log).as_bytes()[..16].to_vec(),
        None => log.strip_suffix(LOG_SUFFIX.as_bytes()).unwrap_or(log).to_vec(),
    };
    let name = RelPath::new([name.as_slice(), ENDING.as_bytes()].concat());
    if job.logs.is_dir() { name.below(&RelPath::new(SESSIONS)) } else { name }
}

/// Returns the address of the index, seen from a page.
fn index_from(page: &RelPath) -> String {
    let depth = page.as_bytes().iter().filter(|byte| **byte == b'/').count();
    "../".repeat(depth) + INDEX
}

/// Returns the address of a page, seen from the index.
fn href(page: &RelPath) -> String {
    let mut out = String::new();
    for byte in page.as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/._-~".contains(byte) {
            out.push(char::from(*byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_pages_are_safe_in_a_link() {
        assert_eq!(href(&RelPath::new("sessions/a b#c?é:%.html")), "sessions/a%20b%23c%3F%C3%A9%3A%25.html");
        assert_eq!(index_from(&RelPath::new("sessions/a/b.html")), "../../index.html");
    }
}
