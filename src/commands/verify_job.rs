//! What `everlog verify` was asked to do, and what it can say of a log.

use serde::{Deserialize, Serialize};
use std::path::PathBuf;

use crate::model::files::RelPath;
use crate::model::shard::Shard;
use crate::pipeline::source::{Selection, SourceUnit};
use crate::report::differences::Showing;
use crate::report::exit::ExitStatus;
use crate::verify::Level;

use super::logs::LogFile;
use super::sample::Sample;

/// What to verify, and how strictly.
#[derive(Debug)]
pub struct VerifyJob {
    /// A store, or one log.
    pub logs: PathBuf,
    /// The source to compare with.
    pub source: Option<PathBuf>,
    /// The replays to compare with.
    pub golden: Option<PathBuf>,
    /// Which sessions.
    pub selection: Selection,
    /// Which part of them.
    pub sample: Option<Sample>,
    /// Which part of them, where other parts are checked elsewhere.
    pub shard: Option<Shard>,
    /// How far each is checked.
    pub level: Level,
    /// The root that the store must have: 64 lower-case hex digits.
    pub root: Option<String>,
    /// Whether findings count.
    pub strictness: Strictness,
    /// How differences are shown.
    pub showing: Showing,
    /// How many differences of one log are shown.
    pub most: usize,
    /// A JUnit report to write.
    pub junit: Option<PathBuf>,
    /// Annotations.
    pub annotations: Annotations,
    /// The time: `YYYY-MM-DDTHH:MM:SS`, in UTC.
    pub timestamp: String,
    /// How many sessions at once.
    pub jobs: usize,
}

impl VerifyJob {
    /// Tells whether a log is meant as far as parts go: by its name below the store.
    pub(super) fn takes(&self, log: &str) -> bool {
        self.shard.is_none_or(|shard| shard.takes(log))
    }

    /// Tells whether this run is the one that looks at what belongs to no log.
    pub(super) fn looks_at_the_rest(&self) -> bool {
        self.shard.is_none_or(Shard::is_first)
    }
}

/// Whether findings count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strictness {
    /// Only differences do.
    Differences,
    /// Findings at `warn` or above do too, and logs without a source.
    Findings,
}

/// Annotations on stdout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Annotations {
    /// None.
    None,
    /// As GitHub Actions reads them.
    GitHub {
        /// The folder that files are named from.
        workspace: PathBuf,
        /// The file that a summary is added to.
        summary: Option<PathBuf>,
    },
}

/// How one log fares. The names are stable: programs match on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// As it should be.
    Same,
    /// The source has no such session (any more); the log is good by itself.
    NoSource,
    /// An earlier log that was not whole when it was kept, and is unchanged.
    KeptDamaged,
    /// The log is not as it was sealed, or does not come to what it should.
    Differs,
    /// Lines of the log are not events, or do not fit together.
    Damaged,
    /// The log is good by itself, and its source has other bytes.
    SourceChanged,
    /// A log was written, and no log has its name any more.
    LogGone,
    /// The log is good by itself, and another one than its receipt names.
    OtherLog,
    /// A log in a store that has no receipt of it.
    NoReceipt,
    /// Receipts are missing, or not as they were written.
    ReceiptDamaged,
    /// The store's root is not the one that was asked for.
    RootDiffers,
    /// The source has a session without a log.
    NoLog,
    /// The source has something that is recognised and cannot be converted.
    NotConverted,
    /// The replay is not the one that was kept.
    GoldenChanged,
    /// No replay was kept of this session.
    GoldenMissing,
    /// A replay was kept of a session that has no log.
    GoldenLeft,
    /// The log could not be read.
    Unreadable,
}

/// All verdicts, in the order in which they are counted.
pub(super) const VERDICTS: [Verdict; 17] = [
    Verdict::Same,
    Verdict::NoSource,
    Verdict::KeptDamaged,
    Verdict::Differs,
    Verdict::Damaged,
    Verdict::SourceChanged,
    Verdict::LogGone,
    Verdict::OtherLog,
    Verdict::NoReceipt,
    Verdict::ReceiptDamaged,
    Verdict::RootDiffers,
    Verdict::NoLog,
    Verdict::NotConverted,
    Verdict::GoldenChanged,
    Verdict::GoldenMissing,
    Verdict::GoldenLeft,
    Verdict::Unreadable,
];

impl Verdict {
    /// Tells whether a receipt says something else than an intact log.
    pub(super) fn is_disputed(self) -> bool {
        matches!(self, Verdict::OtherLog | Verdict::NoReceipt)
    }

    /// Returns what a run ends in that comes to this.
    #[must_use]
    pub fn exit(self) -> ExitStatus {
        match self {
            Verdict::Same | Verdict::NoSource | Verdict::NotConverted | Verdict::KeptDamaged => ExitStatus::Well,
            Verdict::Differs
            | Verdict::Damaged
            | Verdict::SourceChanged
            | Verdict::LogGone
            | Verdict::OtherLog
            | Verdict::NoReceipt
            | Verdict::ReceiptDamaged
            | Verdict::RootDiffers
            | Verdict::NoLog
            | Verdict::GoldenChanged
            | Verdict::GoldenMissing
            | Verdict::GoldenLeft => ExitStatus::Found,
            Verdict::Unreadable => ExitStatus::Failed,
        }
    }
}

/// One log that is to be checked.
pub(super) struct LogToCheck<'a> {
    pub log: LogFile,
    /// Its path below the store, as a key.
    pub key: String,
    /// What its session is called.
    pub unit_name: String,
    pub kept: Kept,
    /// Its session in the source.
    pub unit: Option<&'a SourceUnit>,
    /// The unit of what was noted when it was made.
    pub noted: Option<RelPath>,
}

/// Which of a session's logs it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kept {
    /// The log that has its name.
    Current,
    /// One that held more than its successor.
    Earlier,
}
