//! What was checked, log by log. A store may have a million: of one that is well
//! only numbers are kept, and the rest is made again when it is to be said.

use std::cmp::Ordering;
use std::ops::Deref;
use std::time::Duration;

use crate::model::event::SessionKind;
use crate::model::files::RelPath;
use crate::pipeline::source::SourceUnit;
use crate::store::layout::LOG_SUFFIX;
use crate::store::receipts::Receipts;

use super::logs::Asked;
use super::verify_job::{Kept, LogToCheck, Verdict, VerifyJob};
use super::verify_row::Checked;

/// The name of a log that could be checked.
pub(super) struct NamedLog<'a> {
    /// Its path below what was asked for, or for an earlier log below the store.
    pub name: RelPath,
    pub kept: Kept,
    /// Its session in the source.
    pub unit: Option<&'a SourceUnit>,
}

impl<'a> NamedLog<'a> {
    /// Everything that there is to know of it before it is looked at.
    pub(super) fn item(&self, job: &VerifyJob, asked: &Asked, receipts: &Receipts) -> LogToCheck<'a> {
        let log = asked.log(&job.logs, self.name.clone());
        match self.kept {
            Kept::Current => {
                let name = asked.name_of(&log);
                let noted = receipts.of_log(&name).map(|receipt| RelPath::from_key(&receipt.unit));
                let key = name.key();
                let unit_name = noted.as_ref().map(ToString::to_string).unwrap_or_else(|| unit_name(&key));
                LogToCheck { log, key, unit_name, kept: self.kept, unit: self.unit, noted }
            }
            Kept::Earlier => {
                let key = self.name.key();
                let unit_name = earlier_unit_name(&key);
                LogToCheck { log, key, unit_name, kept: self.kept, unit: None, noted: None }
            }
        }
    }
}

fn unit_name(key: &str) -> String {
    let name = RelPath::from_key(key).to_string();
    name.strip_suffix(LOG_SUFFIX).unwrap_or(&name).to_owned()
}

/// `.everlog/earlier/a/b.0123456789abcdef.everlog.jsonl` is of `a/b`.
pub(super) fn earlier_unit_name(key: &str) -> String {
    let name = unit_name(key);
    let name = name.strip_prefix(".everlog/earlier/").unwrap_or(&name);
    name.rsplit_once('.').map_or(name, |(unit, _)| unit).to_owned()
}

/// What came of one log.
pub(super) enum LogResult {
    /// It is as it should be, and nothing more is to be said of it.
    Well { kind: Option<SessionKind>, bytes: u64, messages: u64, took: Duration },
    /// Something is to be said of it.
    Other(Box<Checked>),
}

impl LogResult {
    pub(super) fn of(checked: Checked) -> LogResult {
        let says_more = !checked.findings.is_empty() || !checked.differences.is_empty() || checked.more > 0 || checked.error.is_some();
        if checked.verdict == Verdict::Same && !checked.accepted && !says_more {
            LogResult::Well { kind: checked.kind, bytes: checked.bytes, messages: checked.messages, took: checked.took }
        } else {
            LogResult::Other(Box::new(checked))
        }
    }

    pub(super) fn verdict(&self) -> Verdict {
        match self {
            LogResult::Well { .. } => Verdict::Same,
            LogResult::Other(checked) => checked.verdict,
        }
    }
}

/// Everything that was checked, in the order of a report.
pub(super) struct Rows<'a> {
    pub job: &'a VerifyJob,
    pub asked: &'a Asked,
    pub receipts: &'a Receipts,
    /// The logs, and what came of each.
    pub logs: &'a [NamedLog<'a>],
    pub rows: Vec<LogResult>,
    /// What was found besides, in order.
    pub besides: Vec<Checked>,
}

/// One of them.
pub(super) enum ReportedLog<'r> {
    Kept(&'r Checked),
    Made(Box<Checked>),
}

impl Deref for ReportedLog<'_> {
    type Target = Checked;

    fn deref(&self) -> &Checked {
        match self {
            ReportedLog::Kept(checked) => checked,
            ReportedLog::Made(checked) => checked,
        }
    }
}

impl Rows<'_> {
    /// Returns all of them: current logs first, each kind by name.
    pub(super) fn iter(&self) -> impl Iterator<Item = ReportedLog<'_>> {
        let mut logs = self.logs.iter().zip(&self.rows).map(|(log, row)| self.shown(log, row)).peekable();
        let mut besides = self.besides.iter().peekable();
        std::iter::from_fn(move || match (logs.peek(), besides.peek()) {
            (Some(log), Some(other)) if other.order().cmp(&log.order()) == Ordering::Less => besides.next().map(ReportedLog::Kept),
            (None, _) => besides.next().map(ReportedLog::Kept),
            (Some(_), _) => logs.next(),
        })
    }

    fn shown<'r>(&'r self, log: &NamedLog<'_>, row: &'r LogResult) -> ReportedLog<'r> {
        match row {
            LogResult::Other(checked) => ReportedLog::Kept(checked),
            LogResult::Well { kind, bytes, messages, took } => {
                let mut checked = Checked::of(&log.item(self.job, self.asked, self.receipts));
                (checked.kind, checked.bytes, checked.messages, checked.took) = (*kind, *bytes, *messages, *took);
                ReportedLog::Made(Box::new(checked))
            }
        }
    }

    /// Tells whether nothing was checked.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.besides.is_empty()
    }
}
