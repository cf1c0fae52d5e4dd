//! `everlog migrate` of several sources into one store, one source after another.

use serde_json::json;
use std::sync::atomic::Ordering;

use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::verify::difference::visible;

use super::error::CommandError;
use super::migrate::run;
use super::migrate_job::{MigrateJob, Requirement};

/// Runs `migrate` for each source. One that cannot be converted is reported, and
/// the others go on.
///
/// # Errors
/// When the run is interrupted.
pub fn run_each(jobs: &[MigrateJob<'_>], out: &Printer) -> Result<ExitStatus, CommandError> {
    let mut status = ExitStatus::Well;
    for job in jobs {
        let source = job.source.display().to_string();
        match out.form() {
            Form::Json => out.object(&json!({ "source": source })),
            Form::Text => out.summary(&format!("source {}", visible(&source))),
        }
        let done = match run(job, out) {
            Err(CommandError::NothingRecognised { .. }) if job.requirement == Requirement::Optional => {
                out.summary("no session is there yet");
                ExitStatus::Well
            }
            Err(error) if job.stop.load(Ordering::Relaxed) => return Err(error),
            Err(error) => {
                out.complain(&text::error(&error, None, error.hint().as_deref()));
                ExitStatus::Failed
            }
            Ok(done) => done,
        };
        status = status.max(done);
        if job.stop.load(Ordering::Relaxed) {
            break;
        }
    }
    Ok(status)
}
