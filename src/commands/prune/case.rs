//! The safety case: not live, in a log that has these very bytes, and nothing
//! found in the session.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use crate::adapters::format;
use crate::commands::audit::of_unit;
use crate::maintenance;
use crate::model::audit::{AuditItem, Evidence, Fact};
use crate::model::digest::sha256_hex;
use crate::model::files::RelPath;
use crate::model::finding::{Finding, FindingCode, Severity};
use crate::model::folder::Listed;
use crate::model::retention::{Removal, Share, Stay, StayCode, span_text};
use crate::pipeline::old_bytes::rebuilt;
use crate::pipeline::source::{Source, SourceUnit};
use crate::pipeline::unchanged::{LogState, Trust, log_state, unchanged};
use crate::store::layout::{Store, path_below};
use crate::store::listing::mtime_ns;
use crate::store::live::Running;
use crate::store::lock::HeldLocks;
use crate::store::receipts::{Receipt, Receipts};
use crate::store::repairs;

use super::job::{Copies, PruneJob};
use super::judged::{Check, Depth, Judged};
use super::logs::{self, InLog};
use super::retired;

/// What is known of each unit, found out once.
#[derive(Default)]
struct Known {
    log: OnceCell<Result<InLog, Stay>>,
    /// Whether its log is the one of its receipt, and was left alone since.
    is_as_noted: OnceCell<bool>,
    /// What was rebuilt from its log, by path in it: the hash, if that went well.
    rebuilt: BTreeMap<RelPath, Option<String>>,
    audit: OnceCell<Option<Stay>>,
}

/// Everything that cases are judged by.
pub(super) struct Cases<'a> {
    source: &'a Source,
    store: &'a Store,
    job: &'a PruneJob<'a>,
    receipts: Receipts,
    locks: HeldLocks,
    running: BTreeMap<RelPath, Running>,
    known: BTreeMap<usize, Known>,
    /// What is wrong in a folder as a whole, of the folder that was looked at
    /// last.
    folder: Option<(RelPath, FolderAudit)>,
}

/// What an audit of a folder finds.
#[derive(Default)]
pub(super) struct FolderAudit {
    /// As it is.
    pub now: Vec<AuditItem>,
    /// As it was before sessions in it were retired; nothing where none were.
    pub before: Option<Vec<AuditItem>>,
}

impl FolderAudit {
    /// Returns what is about a unit. That a retired one is not where its folder's list
    /// and its journals have it is our doing.
    fn of<'a>(&'a self, unit: &'a SourceUnit) -> impl Iterator<Item = &'a AuditItem> {
        let before = self.before.iter().flatten();
        let is_ours = unit.found.standing == format::Standing::Retired && self.before.is_some();
        self.now.iter().filter(move |_| !is_ours).chain(before).filter(|item| concerns(unit, item))
    }
}

/// Findings that are about a store, or about what we did to the source.
const OF_THE_STORE: [FindingCode; 8] = [
    FindingCode::SourceShrunk,
    FindingCode::SourcePruned,
    FindingCode::ForkKept,
    FindingCode::ForkRenamed,
    FindingCode::ForkUnfinished,
    FindingCode::SourceRetired,
    FindingCode::RetiredChanged,
    FindingCode::NotRetired,
];

impl<'a> Cases<'a> {
    pub fn new(source: &'a Source, store: &'a Store, job: &'a PruneJob<'a>) -> Cases<'a> {
        Cases {
            source,
            store,
            job,
            receipts: Receipts::load(store),
            locks: HeldLocks::now(),
            running: source.running(),
            known: BTreeMap::new(),
            folder: None,
        }
    }

    /// Looks at an item: whether it is live, what its log has, what the audit
    /// says.
    pub fn look(&mut self, one: &mut Judged, audit: &dyn Fn() -> FolderAudit, evidence: &Evidence<'_>, depth: &Depth) {
        one.checks.push(Check::of("not live", "no program has it locked or writes it", self.live(one, evidence)));
        if depth.asks(one) {
            let check = self.copied(one, depth);
            one.checks.push(check);
        }
        if depth.asks(one) {
            if self.folder.as_ref().is_none_or(|(folder, _)| *folder != one.folder) {
                self.folder = Some((one.folder.clone(), audit()));
            }
            let found = one.units.iter().find_map(|n| self.audited(*n));
            one.checks.push(Check::of("audit", "nothing was found in its session", found));
        }
    }

    fn live(&self, one: &Judged, evidence: &Evidence<'_>) -> Option<Stay> {
        if let Some(Running { process, .. }) = self.running.get(&one.folder) {
            return Some(Stay::new(StayCode::WriterRuns, format!("process {process} works on these sessions")));
        }
        // A number is given again: whoever has it now would go on with the file.
        let writer = one.item.shares.iter().filter_map(|share| share.writer).find(|pid| (evidence.still_runs)(*pid, i64::MAX));
        if let Some(process) = writer {
            return Some(Stay::new(StayCode::WriterRuns, format!("process {process}, which writes it by its name, runs")));
        }
        let units = one.units.iter().filter_map(|n| self.source.units.get(*n));
        let locks = units.flat_map(SourceUnit::lock_files).map(|path| path.below(&one.folder));
        let held = one.files().chain(locks).find_map(|path| self.locks.holder(|| path_below(&self.source.root, &path)));
        if let Some(process) = held {
            return Some(Stay::new(StayCode::Held, format!("process {process} has it locked")));
        }
        one.files().find_map(|file| self.lately(self.source.listing.get(&file)?))
    }

    /// Tells whether a file was written not long ago.
    fn lately(&self, listed: &Listed) -> Option<Stay> {
        let (idle, age) = (self.job.idle_ns, self.job.now_ns.saturating_sub(listed.mtime_ns));
        match age {
            _ if idle <= 0 => None,
            age if age < 0 => Some(Stay::new(StayCode::InTheFuture, "its time lies in the future: a clock was or is wrong")),
            age if age < idle => {
                let why = format!("written {} ago, and not left alone for {} yet", span_text(age), span_text(idle));
                Some(Stay::new(StayCode::WrittenLately, why))
            }
            _ => None,
        }
    }

    fn copied(&mut self, one: &mut Judged, depth: &Depth) -> Check {
        let proof = if depth.explains(one) { Proof::Rebuilt } else { Proof::Noted };
        let copies = self.job.copies;
        let shares = one.owners.iter().zip(&one.item.shares).zip(one.files());
        let mut lacking = shares.filter_map(|((n, share), file)| Some((file, self.lacks(*n, share, proof)?)));
        let against = match copies {
            Copies::InLogs => lacking.next().map(|(_, stay)| stay),
            Copies::GivenUp => {
                let given_up: Vec<RelPath> = lacking.map(|(file, _)| file).collect();
                one.given_up = given_up;
                None
            }
        };
        let speaks = match one.given_up.is_empty() {
            true => "its log is there, sealed, and has these bytes",
            false => "no log has it: given up by --without-log",
        };
        Check::of("log", speaks, against)
    }

    /// Returns what a unit's log lacks of a file: believed where size and time are those
    /// of the proof, else looked up. Before anything is removed it is proven anew.
    fn lacks(&mut self, n: usize, share: &Share, proof: Proof) -> Option<Stay> {
        let unit = self.source.units.get(n)?;
        let known = self.known.entry(n).or_default();
        let log_path = retired::log_path(unit, &share.file);
        let listed = self.source.listing.get(&share.file.below(&unit.found.root))?;
        if let Some(receipt) = self.receipts.get(&unit.name)
            && proof == Proof::Noted
            && *known.is_as_noted.get_or_init(|| is_as_noted(&receipt, &self.receipts, self.store))
            && is_proven(&receipt, &log_path, share, listed)
        {
            return None;
        }
        let log = known.log.get_or_init(|| logs::files_of(self.store, &unit.name)).as_ref();
        let log = match log {
            Ok(log) => log,
            Err(stay) => return Some(stay.clone()),
        };
        let now = match &share.removal {
            Removal::Bytes { sha256, .. } => Some(sha256.clone()),
            Removal::Whole => {
                let path = path_below(&self.source.root, &share.file.below(&unit.found.root));
                repairs::current(&path).ok().flatten().map(|(bytes, _)| sha256_hex(&bytes))
            }
        };
        let has = now.is_some() && log.get(&log_path) == now.as_ref();
        if !has {
            return Some(Stay::new(StayCode::LogDiffers, format!("its log is of other bytes; {}", retired::way_to_a_log(unit))));
        }
        if proof == Proof::Noted {
            return None;
        }
        let rebuilt = known.rebuilt.entry(log_path.clone()).or_insert_with(|| {
            let wanted = now.iter().map(|sha256| (log_path.clone(), sha256.clone())).collect();
            let found = rebuilt(self.store, &self.store.path(&Store::log_name(&unit.name)), &wanted);
            found.ok().and_then(|(files, _)| files.get(&log_path).map(|bytes| sha256_hex(bytes)))
        });
        (*rebuilt != now).then(|| logs::not_rebuilt(self.store, &log_path))
    }

    /// Returns what the audit has against a unit.
    fn audited(&mut self, n: usize) -> Option<Stay> {
        let unit = self.source.units.get(n)?;
        let folder = self.folder.as_ref().map(|(_, audit)| audit);
        let known = self.known.entry(n).or_default();
        let look = || {
            let of_folder = folder.into_iter().flat_map(|audit| audit.of(unit)).map(|item| item.finding.clone());
            let own = own_findings(unit, self.source, self.receipts.get(&unit.name).as_ref());
            let worst = own.into_iter().chain(of_folder).find(|finding| finding.severity >= Severity::Warn);
            worst.map(|finding| Stay::new(StayCode::AuditFindings, format!("{} ({})", finding.message, finding.location)))
        };
        known.audit.get_or_init(look).clone()
    }
}

/// How far a log is believed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Proof {
    /// As it is noted, where size and time are those of the proof.
    Noted,
    /// Not at all: what is removed is rebuilt from it.
    Rebuilt,
}

/// Tells whether a log is the one of its receipt, and nobody wrote to it since that
/// was noted. Damage in its middle leaves its size and its end.
fn is_as_noted(receipt: &Receipt, receipts: &Receipts, store: &Store) -> bool {
    let log = store.path(&RelPath::from_key(&receipt.log)).symlink_metadata().map(|meta| mtime_ns(&meta)).ok();
    log_state(receipt, store) == LogState::Intact && log.is_some() && log <= receipts.written_ns(&RelPath::from_key(&receipt.unit))
}

/// Tells whether a file has the size and time, and as far as it is known the bytes,
/// that were proven.
fn is_proven(receipt: &Receipt, log_path: &RelPath, share: &Share, listed: &Listed) -> bool {
    receipt.files.iter().find(|file| file.path == log_path.key()).is_some_and(|was| {
        let same_bytes = match &share.removal {
            Removal::Bytes { sha256, .. } => was.sha256.as_ref() == Some(sha256),
            Removal::Whole => was.sha256.is_some(),
        };
        same_bytes && was.size == listed.size && was.mtime_ns == listed.mtime_ns
    })
}

/// Returns what a conversion of a unit finds: as its receipt has it, or looked for.
fn own_findings(unit: &SourceUnit, source: &Source, receipt: Option<&Receipt>) -> Vec<Finding> {
    let found = retired::findings(unit, source, receipt).unwrap_or_else(|| {
        let same = receipt.and_then(|receipt| unchanged(unit, source, receipt, Trust::SizeAndTime).ok().flatten());
        same.map_or_else(|| of_unit(unit, source), |receipt| receipt.findings.clone())
    });
    found
        .into_iter()
        .filter(|finding| !maintenance::of(unit.found.adapter.id()).audit_covers(finding) && !OF_THE_STORE.contains(&finding.code))
        .collect()
}

/// Tells whether a finding about a folder is about this unit.
fn concerns(unit: &SourceUnit, item: &AuditItem) -> bool {
    let file = RelPath::new(item.finding.location.file.as_bytes());
    if unit.found.files.contains(&file) || unit.found.retires.contains(&file) || unit.found.name == file.below(&unit.found.root) {
        return true;
    }
    let Some(Fact::Text(id)) = item.facts.get("session_id") else { return false };
    let name = String::from_utf8_lossy(unit.own_name()).into_owned();
    name.strip_prefix(id.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
