//! Findings: what was noticed and did not stop us. Each has a stable code, a
//! severity, a place and a sentence for people.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::digest::sha256_hex;
use super::files::Files;
use super::location::Location;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Ordinary life of the source program.
    Info,
    /// Somebody should look at it.
    Warn,
    /// Something is lost or unusable in the source.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::Info => "info",
            Severity::Warn => "warning",
            Severity::Error => "error",
        })
    }
}

macro_rules! codes {
    ($($variant:ident $severity:ident $doc:literal,)*) => {
        /// What was noticed. The names are stable: programs match on them.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        #[non_exhaustive]
        pub enum FindingCode {
            $(#[doc = $doc] $variant,)*
        }

        impl FindingCode {
            /// Every code.
            pub const ALL: &'static [FindingCode] = &[$(FindingCode::$variant,)*];

            /// Returns how much it matters.
            #[must_use]
            pub fn severity(self) -> Severity {
                match self {
                    $(FindingCode::$variant => Severity::$severity,)*
                }
            }
        }
    };
}

codes! {
    TornTail Warn "The last line was cut off.",
    FusedLine Warn "Two records stand on one line.",
    Salvaged Warn "A complete record on a broken line, which the program does not see.",
    NulRun Warn "A run of zero bytes, as after a power cut.",
    NotJson Warn "A line that is not JSON.",
    RejectedRecord Warn "A JSON line that the program's loader rejects.",
    HeaderLost Warn "A transcript without the header it should begin with.",
    OlderLoaderDiffers Info "Older versions of the program would show another history.",
    RepeatedHeader Info "A second header in one file.",
    RepeatedRecord Info "A record that stands in its file twice.",
    RepeatedId Warn "Several records of one id, of which the program takes the last.",
    UnknownRecord Info "A record of a type that the program does not know.",
    LostParent Warn "An entry names one above it that is not there.",
    CircularParents Error "Entries name each other in a circle.",
    ReplacedBytes Warn "Bytes that are not UTF-8, which the program's loader replaces.",
    UnknownField Info "A field that the program's loader drops.",
    UnknownEvent Info "An event of a kind or form that the program does not know.",
    EventsLackStartup Info "The event log lacks start-up messages, as it always does.",
    EventsDisagree Warn "The event log and the conversation differ.",
    EventsUnreadable Warn "The program could not replay the event log.",
    MisplacedEvents Info "An event log where a branch should be.",
    TranscriptLost Error "The conversation's file is gone; its event log is not.",
    ViewMissing Warn "The active view's file is gone.",
    ConfigInvalid Warn "The session's settings cannot be read.",
    LoaderFails Error "The program cannot load this session at all.",
    MetaMissing Warn "The file that says what of a session counts is gone.",
    LinesSkipped Info "Messages that the program has deleted logically.",
    CountDiffers Info "A count that is not that of the records.",
    BackupOnly Info "A backup of a session that is gone.",
    WouldImport Warn "A file that the program would take for a session.",
    WouldOverwrite Warn "A file that the program would import over a newer session.",
    ImportStops Warn "A file at which the program's import of older sessions ends.",
    WouldDelete Warn "A session that its program deletes, at its next start or within days.",
    OrphanCompanion Warn "Files of a session whose transcript is gone.",
    WouldLoseTurns Warn "A session of which the program's own migration would delete turns.",
    KeyTwice Warn "Several files of one session, of which the program takes one.",
    KeyElsewhere Info "A session whose key leads to other files.",
    AliasOfAnother Info "Another session answers to this one's key.",
    PromotedCopy Info "A session that begins with a copy of another one.",
    PromptsPending Info "Prompts wait that are not yet in the transcript.",
    SidecarMissing Warn "The session's own file is gone; something else of it is not.",
    BackupUnreadable Warn "A backup that cannot be read.",
    JournalUnreadable Warn "A journal that its program's reader gives up on.",
    RecordSplit Warn "A record that its own reader breaks in two and loses.",
    TurnJournalTerminalCollision Warn "A turn that ends more than once.",
    TurnJournalPendingTurn Warn "A submitted prompt that the transcript does not have.",
    TurnJournalInterruptedTurn Warn "A turn that was cut short.",
    TurnJournalMalformedEvent Warn "A line of a turn journal that its own reader cannot use.",
    StalePendingTurn Warn "A prompt waits in a sidecar for a run that has ended.",
    SidecarUnreadable Error "A session's own file that its program cannot read.",
    ShrunkenLive Warn "A sidecar has fewer messages than its backup, and nothing says why.",
    OrphanBackup Warn "A backup whose sidecar is gone.",
    OrphanBackupWithoutStateRow Warn "A backup whose sidecar is gone, of a session that the database does not know.",
    MalformedOrphanBackup Warn "A backup whose sidecar is gone, and that cannot be read.",
    OrphanJournal Warn "Journals of a session that is gone.",
    TemporaryNewer Warn "A leftover temporary that holds messages which the session lacks.",
    IndexMissing Info "There are sessions and no list of them.",
    IndexUnreadable Warn "The list of sessions cannot be read.",
    IndexMissingFile Warn "The list names a session that is gone.",
    IndexMissingEntry Warn "A session that the list does not name.",
    IndexRowStale Info "What the list says of a session is older than the session.",
    DivergentDuplicate Warn "Two files of one session that differ.",
    StateDbMissingSidecar Warn "A session that only the database still has.",
    StateDbOrphanWebuiRow Warn "A session in the database without a message and without a file.",
    StateDbDeletedWebuiTombstone Info "A deleted session of which something is left.",
    StateDbUnreadable Warn "The database beside the sessions cannot be read.",
    NotInDatabase Warn "A session of files that the database of its program lacks.",
    DiffersFromDatabase Warn "A session of which its files and the database of its program say different things.",
    OnlyInDatabase Info "Sessions that only the database of the program has.",
    LockFile Info "A lock file, which belongs to no session.",
    TemporaryKept Info "A leftover temporary that holds a complete document.",
    TemporaryLeft Warn "A leftover temporary that is not carried in the log.",
    SpecialFile Warn "Neither a file nor a folder nor a link.",
    NotASession Info "A file that looks like a session and is not one.",
    UnsupportedVersion Warn "A session in a format that is known and not converted yet.",
    NewerVersion Warn "A session of a newer version than is known.",
    FormatUnclear Warn "Two formats fit a folder equally well.",
    UnknownFile Info "A file that belongs to no session.",
    LinkSkipped Warn "A link that leads out of the source; what it leads to is not looked at.",
    PerhapsSession Warn "A file with the name of a session that no format recognises: it may be damaged.",
    RowsLeftOut Info "Rows of a database that are not carried.",
    DatabaseSkipped Warn "A database whose messages are not compared.",
    ReceiptDamaged Warn "A receipt that is not as it was written.",
    StoreSkipped Info "A folder of logs, which is not a source.",
    Unreadable Error "A file or folder that could not be read.",
    SourceShrunk Warn "The source no longer has what an earlier log has.",
    SourcePruned Info "The source no longer has what was pruned from it.",
    ForkKept Warn "A fork stands on what the source no longer has.",
    ForkRenamed Warn "A fork has another name now, because the source gave its own to a head.",
    ForkUnfinished Warn "A log was being forked when its writer died.",
    SourceRetired Info "The session was migrated and retired.",
    RetiredChanged Warn "Something in a retired session changed since.",
    NotRetired Warn "A source was not renamed.",
    SessionLive Info "The program has this session open.",
}

impl FindingCode {
    /// Tells whether it says that something is recognised and becomes no log.
    #[must_use]
    pub fn is_unconverted(self) -> bool {
        matches!(
            self,
            FindingCode::UnsupportedVersion
                | FindingCode::FormatUnclear
                | FindingCode::Unreadable
                | FindingCode::LinkSkipped
                | FindingCode::PerhapsSession
        )
    }

    /// Tells whether it says how sessions belong to each other: a fact that people
    /// look for, though nothing is wrong.
    #[must_use]
    pub fn relates_sessions(self) -> bool {
        matches!(self, FindingCode::AliasOfAnother | FindingCode::PromotedCopy | FindingCode::KeyElsewhere)
    }

    /// Tells whether its message says how much is missing, so that another number is
    /// another loss.
    #[must_use]
    pub fn counts_loss(self) -> bool {
        self.is_of_log() || matches!(self, FindingCode::ShrunkenLive | FindingCode::TemporaryNewer | FindingCode::DivergentDuplicate)
    }

    /// Tells whether it is about a log, and its place a path below the store.
    #[must_use]
    pub fn is_of_log(self) -> bool {
        matches!(
            self,
            FindingCode::SourceShrunk
                | FindingCode::SourcePruned
                | FindingCode::ForkKept
                | FindingCode::ForkRenamed
                | FindingCode::ForkUnfinished
        )
    }
}

/// One thing that was noticed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Parts")]
pub struct Finding {
    /// What it is.
    pub code: FindingCode,
    /// How much it matters.
    pub severity: Severity,
    /// Where it is.
    #[serde(flatten)]
    pub location: Location,
    /// A sentence for people.
    pub message: String,
    /// How many more like it the same file has, not listed one by one.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub more: u64,
    /// A hash of the line that it is about, where the line is known: the same
    /// in every run, wherever the line stands by then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

impl Finding {
    /// Returns a finding of its code's usual severity.
    pub fn new(code: FindingCode, location: Location, message: impl Into<String>) -> Finding {
        Finding { code, severity: code.severity(), location, message: message.into(), more: 0, digest: None }
    }

    /// Returns what tells it from other findings of its code in its file: the damaged
    /// line, or else its message. Counts in a message change as a file grows, so
    /// they are left out, except where the count is how much was lost.
    #[must_use]
    pub fn identity(&self) -> String {
        if let Some(digest) = &self.digest {
            return digest.clone();
        }
        // Where a message says totals and then, after a colon, what of them is on one
        // side only, the totals grow with the session and the rest is the loss.
        let message = self.message.as_str();
        let (totals, loss) = if self.code == FindingCode::EventsDisagree {
            message.rsplit_once(": ").unwrap_or(("", message))
        } else if self.code.counts_loss() {
            ("", message)
        } else {
            (message, "")
        };
        let without_counts: String = totals.chars().filter(|c| !c.is_ascii_digit()).collect();
        short_digest([without_counts.as_bytes(), loss.as_bytes()].concat().as_slice())
    }
}

/// Enough of a hash to tell lines of one file apart.
fn short_digest(bytes: &[u8]) -> String {
    let mut digest = sha256_hex(bytes);
    digest.truncate(16);
    digest
}

/// A finding as it is read: serde keeps a copy of all that it flattens.
#[derive(Deserialize)]
struct Parts {
    code: FindingCode,
    severity: Severity,
    file: String,
    #[serde(default)]
    line: Option<u64>,
    #[serde(default)]
    byte: Option<u64>,
    #[serde(default)]
    path_b64: Option<Box<str>>,
    message: String,
    #[serde(default)]
    more: u64,
    #[serde(default)]
    digest: Option<String>,
}

impl From<Parts> for Finding {
    fn from(parts: Parts) -> Finding {
        let Parts { code, severity, file, line, byte, path_b64, message, more, digest } = parts;
        Finding { code, severity, location: Location { file, line, byte, path_b64 }, message, more, digest }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Of one code in one file, so many are listed; the rest is counted.
const LISTED_PER_FILE: usize = 20;

/// What was noticed about one session, in the order of noticing.
#[derive(Debug, Clone, Default)]
pub struct Findings {
    list: Vec<Finding>,
}

impl Findings {
    /// Notes something. A million broken lines must not make a million
    /// findings, so from some point on they are only counted.
    pub fn add(&mut self, code: FindingCode, location: Location, message: impl Into<String>) {
        let mut same = self.list.iter_mut().rev().take(LISTED_PER_FILE * 8).filter(|f| f.code == code && f.location.file == location.file);
        if let Some(last) = same.next()
            && same.count() + 1 >= LISTED_PER_FILE
        {
            last.more += 1;
            return;
        }
        self.list.push(Finding::new(code, location, message));
    }

    /// Returns all of them.
    #[must_use]
    pub fn into_list(self) -> Vec<Finding> {
        self.list
    }

    /// Forgets those that `keep` does not want.
    pub fn retain(&mut self, keep: impl FnMut(&Finding) -> bool) {
        self.list.retain(keep);
    }

    /// Returns all of them, to be changed.
    pub fn each_mut(&mut self) -> impl Iterator<Item = &mut Finding> {
        self.list.iter_mut()
    }

    /// Gives each finding about a line the digest of that line.
    pub fn identify(&mut self, files: &Files) {
        let mut wanted: BTreeMap<&str, BTreeSet<u64>> = BTreeMap::new();
        for Location { file, line, .. } in self.list.iter().filter(|finding| finding.severity >= Severity::Warn).map(|f| &f.location) {
            if let Some(line) = line {
                wanted.entry(file).or_default().insert(*line);
            }
        }
        let mut digests: BTreeMap<(String, u64), String> = BTreeMap::new();
        for (file, lines) in wanted {
            let Some(source) = files.file(file) else { continue };
            let mut start = 0;
            for (n, end) in (1..).zip(memchr::memchr_iter(b'\n', &source.bytes).chain([source.bytes.len()])) {
                if lines.contains(&n) {
                    digests.insert((file.to_owned(), n), short_digest(&source.bytes[start..end]));
                }
                start = end + 1;
                if lines.last().is_none_or(|last| *last <= n) {
                    break;
                }
            }
        }
        for finding in &mut self.list {
            let line = finding.location.line.map(|line| (finding.location.file.clone(), line));
            finding.digest = line.and_then(|line| digests.get(&line).cloned());
        }
    }

    /// Returns all of them, looked at.
    #[must_use]
    pub fn list(&self) -> &[Finding] {
        &self.list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_like_findings_are_counted_not_listed() {
        let mut findings = Findings::default();
        for line in 0..1_000_000 {
            findings.add(FindingCode::NotJson, Location::at("f", line, 1), "x");
        }
        findings.add(FindingCode::NotJson, Location::at("g", 1, 1), "x");
        assert_eq!(findings.list().len(), LISTED_PER_FILE + 1);
        assert_eq!(findings.list()[LISTED_PER_FILE - 1].more, 1_000_000 - LISTED_PER_FILE as u64);
    }
}
