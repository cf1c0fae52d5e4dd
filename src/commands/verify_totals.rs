//! What all rows of `verify` come to: counts, the closing object for programs and the
//! last line for people.

use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::report::exit::ExitStatus;
use crate::report::text;
use crate::verify::Level;

use super::kinds::Kinds;
use super::verify_job::{Kept, Strictness, VERDICTS, Verdict, VerifyJob};
use super::verify_row::{Checked, counting, status};

/// The closing object.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Closing {
    pub(super) schema: u32,
    pub(super) summary: Totals,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Totals {
    pub(super) level: Cow<'static, str>,
    /// What the logs are of that could be opened, earlier ones aside.
    #[serde(flatten)]
    pub(super) units: Kinds,
    pub(super) logs: u64,
    pub(super) earlier: u64,
    pub(super) bytes: u64,
    pub(super) messages: u64,
    pub(super) findings: u64,
    pub(super) verdicts: BTreeMap<Verdict, u64>,
    /// Which part of a larger run it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) shard: Option<String>,
    /// The root of the store, where it was asked for as a whole.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) root: Option<String>,
    pub(super) exit: u8,
}

/// What is counted over all rows.
#[derive(Debug)]
pub(super) struct Counts {
    units: Kinds,
    verdicts: BTreeMap<(Kept, Verdict), u64>,
    bytes: u64,
    messages: u64,
    findings: u64,
    pub(super) exit: ExitStatus,
}

impl Default for Counts {
    fn default() -> Counts {
        let (units, verdicts) = (Kinds::default(), BTreeMap::new());
        Counts { units, verdicts, bytes: 0, messages: 0, findings: 0, exit: ExitStatus::Well }
    }
}

impl Counts {
    pub(super) fn add(&mut self, one: &Checked, strictness: Strictness) {
        if let Some(kind) = one.kind.filter(|_| one.kept == Kept::Current) {
            self.units.add(kind);
        }
        *self.verdicts.entry((one.kept, one.verdict)).or_default() += 1;
        self.bytes += one.bytes;
        self.messages += one.messages;
        self.findings += counting(one).map(|(_, finding)| 1 + finding.more).sum::<u64>();
        self.exit = self.exit.max(status(one, strictness));
    }

    fn of(&self, kept: Kept, verdict: Verdict) -> u64 {
        self.verdicts.get(&(kept, verdict)).copied().unwrap_or_default()
    }

    /// Returns how many logs there are of a kind.
    fn logs(&self, kept: Kept) -> u64 {
        VERDICTS.into_iter().filter(|verdict| is_of_a_log(*verdict)).map(|verdict| self.of(kept, verdict)).sum()
    }

    pub(super) fn totals(self, job: &VerifyJob, root: Option<&str>) -> Totals {
        let both = |verdict| self.of(Kept::Current, verdict) + self.of(Kept::Earlier, verdict);
        Totals {
            level: match job.level {
                Level::Seal => "seal",
                Level::Restore => "restore",
                Level::Full => "full",
            }
            .into(),
            units: self.units,
            logs: self.logs(Kept::Current),
            earlier: self.logs(Kept::Earlier),
            bytes: self.bytes,
            messages: self.messages,
            findings: self.findings,
            verdicts: VERDICTS.into_iter().map(|verdict| (verdict, both(verdict))).collect(),
            shard: job.shard.map(|shard| shard.to_string()),
            root: root.map(str::to_owned),
            exit: self.exit as u8,
        }
    }
}

/// Tells whether a verdict is one about a log that there is.
fn is_of_a_log(verdict: Verdict) -> bool {
    match verdict {
        Verdict::LogGone
        | Verdict::NoLog
        | Verdict::NotConverted
        | Verdict::GoldenLeft
        | Verdict::ReceiptDamaged
        | Verdict::RootDiffers => false,
        Verdict::Same
        | Verdict::NoSource
        | Verdict::KeptDamaged
        | Verdict::Differs
        | Verdict::Damaged
        | Verdict::SourceChanged
        | Verdict::OtherLog
        | Verdict::NoReceipt
        | Verdict::GoldenChanged
        | Verdict::GoldenMissing
        | Verdict::Unreadable => true,
    }
}

/// Returns how a verdict is counted: what follows the number.
pub(super) fn counted_as(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Same => "the same",
        Verdict::NoSource => "without source",
        Verdict::KeptDamaged => "as damaged as when kept",
        Verdict::Differs => "different",
        Verdict::Damaged => "damaged",
        Verdict::SourceChanged => "with a changed source",
        Verdict::LogGone => "gone",
        Verdict::OtherLog => "other than their receipts say",
        Verdict::NoReceipt => "without receipt",
        Verdict::ReceiptDamaged => "damaged receipts",
        Verdict::RootDiffers => "other root",
        Verdict::NoLog => "without log",
        Verdict::NotConverted => "not converted",
        Verdict::GoldenChanged => "with a changed replay",
        Verdict::GoldenMissing => "without a kept replay",
        Verdict::GoldenLeft => "kept replays left over",
        Verdict::Unreadable => "unreadable",
    }
}

/// Counts logs of one verdict in words.
pub(super) fn in_words(verdict: Verdict, count: u64) -> String {
    match (verdict, count) {
        (Verdict::ReceiptDamaged, 1) => "1 damaged receipt".to_owned(),
        (Verdict::GoldenLeft, 1) => "1 kept replay left over".to_owned(),
        _ => format!("{} {}", text::thousands(count), counted_as(verdict)),
    }
}

/// Returns the line that ends a report for people.
pub(super) fn summary(all: &Counts, job: &VerifyJob, root: Option<&str>) -> String {
    let how = match (job.level, &job.source) {
        (Level::Seal, _) => "by their seals",
        (Level::Restore | Level::Full, Some(_)) => "against their source",
        (Level::Restore | Level::Full, None) => "alone",
    };
    let counts = |kept: Kept| {
        let list: Vec<String> = VERDICTS
            .into_iter()
            .map(|verdict| (verdict, all.of(kept, verdict)))
            .filter(|(verdict, count)| *count > 0 || (*verdict == Verdict::Same && kept == Kept::Current))
            .map(|(verdict, count)| in_words(verdict, count))
            .collect();
        list.join(", ")
    };
    let of = if all.units.are_sessions() { String::new() } else { format!(" ({})", all.units.text()) };
    let part = job.shard.map(|shard| format!("part {shard}: ")).unwrap_or_default();
    let mut line = format!("{part}{}{of} checked {how}: {}", text::count(all.logs(Kept::Current), "log"), counts(Kept::Current));
    if all.logs(Kept::Earlier) > 0 {
        line.push_str(&format!("; {}: {}", text::count(all.logs(Kept::Earlier), "earlier log"), counts(Kept::Earlier)));
    }
    if job.level > Level::Seal {
        line.push_str(&format!("; {} rebuilt", text::size(all.bytes)));
    }
    if let Some(root) = root {
        line.push_str(&format!("; root {root}"));
    }
    line
}
