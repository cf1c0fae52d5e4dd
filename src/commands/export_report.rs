//! What `everlog export` says: a line for each session, and its losses.

use serde::Serialize;

use crate::model::export::loss::{LossCode, Losses};
use crate::model::ids::Seq;
use crate::pipeline::open::LogFile;
use crate::redact::Redactions;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::verify::difference::visible;

/// So many places of a loss are printed.
const PLACES: usize = 5;

/// One session's line in the report.
#[derive(Debug, Serialize)]
pub(super) struct ExportedLog {
    pub(super) log: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) session: Option<String>,
    pub(super) files: Vec<String>,
    pub(super) records: usize,
    pub(super) losses: Vec<Loss>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) redactions: Option<Redactions>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) continue_with: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) receipt: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) error: Option<String>,
}

/// One entry of the loss list.
#[derive(Debug, Serialize)]
pub(super) struct Loss {
    code: &'static str,
    count: usize,
    places: Vec<Seq>,
}

impl ExportedLog {
    pub(super) fn of(log: &LogFile) -> ExportedLog {
        ExportedLog {
            log: log.name.clone(),
            session: None,
            files: Vec::new(),
            records: 0,
            losses: Vec::new(),
            redactions: None,
            continue_with: None,
            receipt: None,
            error: None,
        }
    }
}

/// Returns the losses as the report has them.
pub(super) fn losses(losses: &Losses) -> Vec<Loss> {
    losses.iter().map(|(code, places)| Loss { code: code.name(), count: places.len(), places: places.iter().copied().collect() }).collect()
}

/// Says what a target cannot say of a session.
pub(super) fn print_losses(log: &LogFile, losses: &[Loss], target: &str, out: &Printer) {
    if losses.is_empty() || out.form() == Form::Json {
        return;
    }
    let mut said = format!("note: {target} cannot say everything of {}", visible(&log.name));
    for loss in losses {
        let shown: Vec<String> = loss.places.iter().take(PLACES).map(|seq| format!("#{seq}")).collect();
        let more = loss.places.len().saturating_sub(PLACES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let meaning = LossCode::ALL.iter().find(|code| code.name() == loss.code).map_or("", |code| code.describe());
        said += &format!("\n  [{}] {}: {}{more}\n    {meaning}", loss.code, text::count(loss.count as u64, "event"), shown.join(", "));
    }
    out.say(&said);
}
