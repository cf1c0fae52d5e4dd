//! Retention: which parts of a source have served their purpose, and when they may
//! be removed. Adapters list what there is, a policy says what is due; nothing here
//! touches the disk.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::ops::Range;

use super::audit::Evidence;
use super::files::RelPath;

/// What can be pruned, each kind by a rule of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// Completed turns of turn journals.
    TurnJournal,
    /// Journals of runs that have ended.
    RunJournal,
    /// Old lines of logs of scheduled jobs.
    CronRunLog,
    /// Events before the latest checkpoint of an event log.
    EventLog,
    /// Lines that a count in a file beside them hides.
    HiddenLines,
    /// Sessions that were retired.
    Retired,
}

impl Rule {
    /// All rules.
    pub const ALL: [Rule; 6] = [Rule::TurnJournal, Rule::RunJournal, Rule::CronRunLog, Rule::EventLog, Rule::HiddenLines, Rule::Retired];

    /// Returns the rule's name, as options and reports have it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Rule::TurnJournal => "turn-journal",
            Rule::RunJournal => "run-journal",
            Rule::CronRunLog => "cron-run-log",
            Rule::EventLog => "event-log",
            Rule::HiddenLines => "hidden-lines",
            Rule::Retired => "retired",
        }
    }

    /// Returns the rule of this name.
    #[must_use]
    pub fn named(word: &str) -> Option<Rule> {
        Rule::ALL.into_iter().find(|rule| rule.word() == word)
    }

    /// Tells whether a session has many of its items, one after the other, so that its
    /// newest can be kept.
    #[must_use]
    pub fn counts_newest(self) -> bool {
        matches!(self, Rule::TurnJournal | Rule::RunJournal)
    }

    /// Returns how many items so many parts of a file are: each of its own, or all one.
    #[must_use]
    pub fn items(self, parts: u64) -> u64 {
        match self {
            Rule::TurnJournal | Rule::RunJournal | Rule::Retired => parts,
            Rule::CronRunLog | Rule::EventLog | Rule::HiddenLines => parts.min(1),
        }
    }

    /// Tells whether a file of which nothing is left stays: a list of messages that is
    /// empty is not a list that was removed.
    #[must_use]
    pub fn keeps_empty_file(self) -> bool {
        self == Rule::HiddenLines
    }

    /// Returns what one of its parts is called.
    #[must_use]
    pub fn part(self) -> &'static str {
        match self {
            Rule::TurnJournal => "turn",
            Rule::RunJournal => "run",
            Rule::EventLog => "event",
            Rule::CronRunLog | Rule::HiddenLines => "line",
            Rule::Retired => "session",
        }
    }
}

/// Why something is not removed. The names are stable: programs match on them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StayCode {
    /// A turn or a run has not ended.
    NotEnded,
    /// It is not clear how it ended.
    Unclear,
    /// One of its lines also holds something else.
    SharedLine,
    /// It was interrupted, and the session has no mark of that.
    NoMarker,
    /// Only the file itself says that it has ended.
    Unsettled,
    /// Its program still waits for it, or comes back to it.
    WaitedFor,
    /// Younger than asked for.
    Young,
    /// Among the newest of its session.
    KeptLast,
    /// The folder is small enough.
    WithinBudget,
    /// Its session was retired, and is removed completely or not at all.
    SessionRetired,
    /// Its time is in the future.
    InTheFuture,
    /// Its writer runs.
    WriterRuns,
    /// A program has it locked or open.
    Held,
    /// Written not long ago.
    WrittenLately,
    /// There is no log of it.
    NoLog,
    /// Its log is not as it was sealed.
    LogUnsealed,
    /// Its log has other bytes.
    LogDiffers,
    /// The audit of its session found something.
    AuditFindings,
    /// It changed since it was looked at.
    Changed,
    /// It could not be looked at.
    Unreadable,
    /// It could not be written, moved or removed.
    WriteFailed,
}

impl StayCode {
    /// Returns the code as programs match it.
    #[must_use]
    pub fn word(self) -> String {
        serde_json::to_string(&self).unwrap_or_default().trim_matches('"').to_owned()
    }
}

/// The reason why something is not removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stay {
    /// What kind of reason.
    pub code: StayCode,
    /// The reason in a sentence.
    pub why: String,
}

impl Stay {
    /// Returns a reason.
    pub fn new(code: StayCode, why: impl Into<String>) -> Stay {
        Stay { code, why: why.into() }
    }
}

/// A range of a file's bytes, and what replaces it; nothing replaces what is cut out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Edit {
    /// Where they begin.
    pub from: u64,
    /// Where they end.
    pub to: u64,
    /// What stands there then.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub put: String,
}

impl Edit {
    /// Cuts bytes out.
    #[must_use]
    pub fn cut(range: Range<usize>) -> Edit {
        Edit { from: range.start as u64, to: range.end as u64, put: String::new() }
    }
}

/// Returns a file with its edits made; nothing where they do not fit it.
#[must_use]
pub fn edited(bytes: &[u8], edits: &[Edit]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    for edit in edits {
        let (from, to) = (usize::try_from(edit.from).ok()?, usize::try_from(edit.to).ok()?);
        out.extend_from_slice(bytes.get(at..from)?);
        out.extend_from_slice(edit.put.as_bytes());
        at = bytes.get(from..to).map(|_| to)?;
    }
    out.extend_from_slice(&bytes[at..]);
    Some(out)
}

/// What is removed of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Removal {
    /// All of it.
    Whole,
    /// These bytes, in their order, of a file with this hash.
    Bytes {
        /// What is cut out or put in.
        edits: Vec<Edit>,
        /// The hash of the file that they fit.
        sha256: String,
    },
}

/// One file's share in an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// The file, below the folder of sessions.
    pub file: RelPath,
    /// What is removed of it.
    pub removal: Removal,
    /// How many bytes that frees.
    pub bytes: u64,
    /// The process that writes it, where its name says so.
    pub writer: Option<u32>,
    /// A file that its program locks while it writes this one.
    pub lock: Option<RelPath>,
}

/// Whose rule removes an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Due {
    /// The policy decides.
    ByPolicy,
    /// Its program's own rule removes it.
    ByOwnRule,
}

/// Who says that something has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Completion {
    /// Somebody besides the file itself.
    By(&'static str),
    /// Only the file itself: enough where a log has a copy.
    OwnWord(&'static str),
}

/// Something that is removed completely or not at all: a turn, a run, a head of a
/// file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prunable {
    /// By which rule.
    pub rule: Rule,
    /// What it is called.
    pub name: String,
    /// How many turns, runs, lines or events it is.
    pub parts: u64,
    /// Its files, in the order in which they change.
    pub shares: Vec<Share>,
    /// Its own latest time, in nanoseconds since the epoch.
    pub own_ns: Option<i64>,
    /// Whether the policy decides, or the program's own rule.
    pub due: Due,
    /// Who says that it has ended, or why it is not.
    pub standing: Result<Completion, Stay>,
}

/// What an adapter needs besides the folder to list what can be pruned.
pub struct RetentionContext<'e> {
    /// What lies outside the folder.
    pub evidence: &'e Evidence<'e>,
    /// The bytes of a file of the folder, from an offset on.
    pub from: &'e dyn Fn(&RelPath, u64) -> Vec<u8>,
    /// Whether a file was pruned before.
    pub was_pruned: &'e dyn Fn(&RelPath) -> bool,
    /// Which rules are asked for.
    pub rules: &'e [Rule],
}

impl RetentionContext<'_> {
    /// Tells whether a rule is asked for.
    #[must_use]
    pub fn asks(&self, rule: Rule) -> bool {
        self.rules.contains(&rule)
    }
}

/// The age that is due where no limit is given: thirty days.
pub const USUAL_AGE_NS: i64 = 30 * 86_400_000_000_000;

/// The limits that a person sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Policy {
    /// Items older than this are due, in nanoseconds.
    pub older_than_ns: Option<i64>,
    /// So many of the newest turns and runs of each session stay. It does not count
    /// for rules of which a session has one item: that would never be removed.
    pub keep_last: usize,
    /// The oldest items are due, too, until a folder has no more than so many bytes.
    pub max_bytes: Option<u64>,
}

/// An item as a policy sees it.
#[derive(Debug, Clone)]
pub struct Aged {
    /// Its session.
    pub session: RelPath,
    /// Its rule.
    pub rule: Rule,
    /// The later of its own time and its files', in nanoseconds.
    pub at_ns: i64,
    /// What it would free.
    pub bytes: u64,
    /// Whether the policy has a say.
    pub due: Due,
}

/// Returns a span as people read it, by its largest unit.
#[must_use]
pub fn span_text(ns: i64) -> String {
    const UNITS: [(i64, &str); 4] = [(86_400, "d"), (3_600, "h"), (60, "min"), (1, "s")];
    let seconds = ns / 1_000_000_000;
    let (unit, word) = UNITS.into_iter().find(|(unit, _)| seconds >= *unit).unwrap_or((1, "s"));
    format!("{}{word}", seconds / unit)
}

impl Policy {
    /// Says why each item need not even be looked at closer: too young, or among
    /// those that are kept. Of what is left [`Policy::over_budget`] decides.
    #[must_use]
    pub fn screen(&self, items: &[Aged], now_ns: i64) -> Vec<Option<Stay>> {
        let look = |(item, is_kept): (&Aged, bool)| match is_kept && item.due == Due::ByPolicy {
            true => Some(Stay::new(StayCode::KeptLast, format!("among the newest {} of its session", self.keep_last))),
            false => self.is_early(item, now_ns),
        };
        items.iter().zip(self.kept_last(items)).map(look).collect()
    }

    /// Says why an item stays that is not counted among the newest.
    #[must_use]
    pub fn is_early(&self, item: &Aged, now_ns: i64) -> Option<Stay> {
        if item.due == Due::ByOwnRule {
            return None;
        }
        if item.at_ns > now_ns {
            return Some(Stay::new(StayCode::InTheFuture, "its time lies in the future: a clock was or is wrong"));
        }
        self.is_young(item, now_ns).filter(|_| self.max_bytes.is_none())
    }

    fn is_young(&self, item: &Aged, now_ns: i64) -> Option<Stay> {
        let young = |why: String| Some(Stay::new(StayCode::Young, why));
        let is_counted = self.keep_last > 0 && item.rule.counts_newest();
        // Of what is not counted, `--keep-last` alone says nothing.
        let usual = (self.keep_last > 0).then_some(USUAL_AGE_NS);
        match self.older_than_ns.or(usual.filter(|_| !is_counted)) {
            Some(age) if now_ns.saturating_sub(item.at_ns) > age => None,
            Some(age) => young(format!("{} old, and not yet {}", span_text(now_ns.saturating_sub(item.at_ns).max(0)), span_text(age))),
            None if is_counted => None,
            None => young("no age was asked for".to_owned()),
        }
    }

    fn kept_last(&self, items: &[Aged]) -> Vec<bool> {
        let mut groups: BTreeMap<(&RelPath, Rule), Vec<usize>> = BTreeMap::new();
        for (n, item) in items.iter().enumerate().filter(|(_, item)| item.rule.counts_newest()) {
            groups.entry((&item.session, item.rule)).or_default().push(n);
        }
        let mut kept = vec![false; items.len()];
        for mut group in groups.into_values() {
            group.sort_by_key(|n| std::cmp::Reverse((items[*n].at_ns, *n)));
            group.into_iter().take(self.keep_last).for_each(|n| kept[n] = true);
        }
        kept
    }

    /// Of items that may go, those that stay all the same: what is young enough,
    /// unless the folder with so many bytes is too large even without the old
    /// ones, and then the oldest go first.
    #[must_use]
    pub fn over_budget(&self, items: &[Aged], folder_bytes: u64, now_ns: i64) -> Vec<Option<Stay>> {
        let Some(max) = self.max_bytes else { return vec![None; items.len()] };
        // What is removed without a limit is removed with one, too.
        let is_due = |item: &Aged| item.due == Due::ByOwnRule || self.is_young(item, now_ns).is_none();
        let mut stays: Vec<Option<Stay>> = vec![None; items.len()];
        let mut left = folder_bytes.saturating_sub(items.iter().filter(|item| is_due(item)).map(|item| item.bytes).sum());
        let mut others: Vec<usize> = (0..items.len()).filter(|n| !is_due(&items[*n])).collect();
        others.sort_by_key(|n| (items[*n].at_ns, *n));
        for n in others {
            if left > max {
                left = left.saturating_sub(items[n].bytes);
            } else {
                stays[n] =
                    Some(Stay::new(StayCode::WithinBudget, format!("the source has no more than {max} bytes of journals without it")));
            }
        }
        stays
    }
}

/// Nanoseconds since the epoch of seconds as programs write them; nothing for
/// what is not a time.
#[must_use]
pub fn seconds_to_ns(seconds: f64) -> Option<i64> {
    // Beyond this a float of seconds is not nanoseconds of ours.
    (seconds.is_finite() && seconds > 0.0 && seconds < 9.2e9).then_some((seconds * 1e9) as i64)
}

/// Nanoseconds since the epoch of a time in words; one without a zone is taken
/// for the latest that it can be anywhere.
#[must_use]
pub fn iso_to_ns(text: &str) -> Option<i64> {
    const FURTHEST_WEST: jiff::SignedDuration = jiff::SignedDuration::from_hours(12);
    let moment = match text.parse::<jiff::Timestamp>() {
        Ok(moment) => moment,
        Err(_) => {
            let local = text.parse::<jiff::civil::DateTime>().ok()?;
            local.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp().checked_add(FURTHEST_WEST).ok()?
        }
    };
    i64::try_from(moment.as_nanosecond()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 86_400_000_000_000;

    fn aged(session: &str, days: i64, bytes: u64) -> Aged {
        Aged { session: RelPath::new(session), rule: Rule::RunJournal, at_ns: days * DAY, bytes, due: Due::ByPolicy }
    }

    fn codes(stays: &[Option<Stay>]) -> Vec<Option<StayCode>> {
        stays.iter().map(|stay| stay.as_ref().map(|stay| stay.code)).collect()
    }

    #[test]
    fn age_and_the_newest_of_each_session_decide() {
        let items = [aged("a", 1, 1), aged("a", 2, 1), aged("a", 95, 1), aged("b", 3, 1), aged("b", 200, 1)];
        let policy = Policy { older_than_ns: Some(30 * DAY), keep_last: 1, max_bytes: None };
        let stays = codes(&policy.screen(&items, 100 * DAY));
        assert_eq!(stays, [None, None, Some(StayCode::KeptLast), None, Some(StayCode::KeptLast)]);
        let policy = Policy { keep_last: 0, ..policy };
        let stays = codes(&policy.screen(&items, 100 * DAY));
        assert_eq!(stays, [None, None, Some(StayCode::Young), None, Some(StayCode::InTheFuture)]);
        // Exactly as old is not older; without any limit nothing is removed.
        assert_eq!(codes(&policy.screen(&items[..1], 31 * DAY)), [Some(StayCode::Young)]);
        assert_eq!(codes(&Policy::default().screen(&items[..1], 100 * DAY)), [Some(StayCode::Young)]);
    }

    #[test]
    fn a_folder_that_is_too_large_loses_its_oldest() {
        let items = [aged("a", 90, 10), aged("a", 80, 10), aged("b", 85, 10), aged("b", 1, 10)];
        let policy = Policy { older_than_ns: Some(30 * DAY), keep_last: 0, max_bytes: Some(25) };
        assert_eq!(codes(&policy.screen(&items, 100 * DAY)), [None; 4]);
        let stays = codes(&policy.over_budget(&items, 40, 100 * DAY));
        assert_eq!(stays, [Some(StayCode::WithinBudget), None, Some(StayCode::WithinBudget), None]);
    }

    #[test]
    fn a_limit_never_makes_less_go() {
        let items = [aged("a", 90, 10), aged("a", 1, 10), aged("b", 85, 10), aged("b", 50, 10)];
        for older_than_ns in [None, Some(30 * DAY)] {
            for keep_last in [0, 1] {
                let without = Policy { older_than_ns, keep_last, max_bytes: None };
                let with = Policy { max_bytes: Some(1 << 30), ..without };
                let screened = with.screen(&items, 100 * DAY);
                let budgeted = with.over_budget(&items, 40, 100 * DAY);
                let goes: Vec<bool> = screened.iter().zip(&budgeted).map(|(one, other)| one.is_none() && other.is_none()).collect();
                let goes_without: Vec<bool> = without.screen(&items, 100 * DAY).iter().map(Option::is_none).collect();
                assert_eq!(goes, goes_without, "{with:?}");
            }
        }
    }

    #[test]
    fn a_time_without_a_zone_is_the_latest_that_it_can_be() {
        assert_eq!(iso_to_ns("2026-11-16T13:00:00+01:00"), iso_to_ns("2026-11-16T12:00:00Z"));
        assert_eq!(iso_to_ns("2026-11-16T12:00:00.5"), iso_to_ns("2026-11-17T00:00:00.5Z"));
        assert_eq!((iso_to_ns("2026-11-16"), iso_to_ns("soon"), seconds_to_ns(f64::NAN)), (iso_to_ns("2026-11-16T12:00:00Z"), None, None));
    }

    #[test]
    fn edits_leave_every_other_byte() {
        let cut = [Edit::cut(0..2), Edit { from: 4, to: 5, put: "XY".to_owned() }];
        assert_eq!(edited(b"ab\ncdef", &cut).as_deref(), Some(&b"\ncXYef"[..]));
        assert_eq!(edited(b"ab", &cut), None);
    }
}
