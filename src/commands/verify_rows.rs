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
use super::verify_check::Checked;
use super::verify_job::{LogToCheck, Kept, Verdict, VerifyJob};

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
pub(super) enum Row {
    /// It is as it should be, and nothing more is to be said of it.
    Well { kind: Option<SessionKind>, bytes: u64, messages: u64, took: Duration },
    /// Something is to be said of it.
    Other(Box<Checked>),
}

impl Row {
    pub(super) fn of(checked: Checked) -> Row {
        let says_more = !checked.findings.is_empty() || !checked.differences.is_empty() || checked.more > 0 || checked.error.is_some();
        if checked.verdict == Verdict::Same && !checked.accepted && !says_more {
            Row::Well { kind: checked.kind, bytes: checked.bytes, messages: checked.messages, took: checked.took }
        } else {
            Row::Other(Box::new(checked))
        }
    }

    pub(super) fn verdict(&self) -> Verdict {
        match self {
            Row::Well { .. } => Verdict::Same,
            Row::Other(checked) => checked.verdict,
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
    pub rows: Vec<Row>,
    /// What was found besides, in order.
    pub besides: Vec<Checked>,
}

/// One of them.
pub(super) enum Shown<'r> {
    Kept(&'r Checked),
    Made(Box<Checked>),
}

impl Deref for Shown<'_> {
    type Target = Checked;

    fn deref(&self) -> &Checked {
        match self {
            Shown::Kept(checked) => checked,
            Shown::Made(checked) => checked,
        }
    }
}

impl Rows<'_> {
    /// All of them: current logs first, each kind by name.
    pub(super) fn iter(&self) -> impl Iterator<Item = Shown<'_>> {
        let mut logs = self.logs.iter().zip(&self.rows).map(|(log, row)| self.shown(log, row)).peekable();
        let mut besides = self.besides.iter().peekable();
        std::iter::from_fn(move || match (logs.peek(), besides.peek()) {
            (Some(log), Some(other)) if other.order().cmp(&log.order()) == Ordering::Less => besides.next().map(Shown::Kept),
            (None, _) => besides.next().map(Shown::Kept),
            (Some(_), _) => logs.next(),
        })
    }

    fn shown<'r>(&'r self, log: &NamedLog<'_>, row: &'r Row) -> Shown<'r> {
        match row {
            Row::Other(checked) => Shown::Kept(checked),
            Row::Well { kind, bytes, messages, took } => {
                let mut checked = Checked::of(&log.item(self.job, self.asked, self.receipts));
                (checked.kind, checked.bytes, checked.messages, checked.took) = (*kind, *bytes, *messages, *took);
                Shown::Made(Box::new(checked))
            }
        }
    }

    /// Tells whether nothing was checked.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty() && self.besides.is_empty()
    }
}
