//! Which file comes from which log, before the first one is written. Several logs
//! of a store may contain the same path: a file changed hands between two
//! sessions, or a session was retired and its program wrote a file of it again.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::log::restore::{FilePlan, check_sizes, file_plan};
use crate::model::event::{FileKind, SessionKind};
use crate::model::files::RelPath;
use crate::model::ids::Seq;
use crate::model::stream::StreamError;
use crate::store::StoreError;
use crate::store::inside::going_down;
use crate::store::layout::Store;
use crate::store::listing::mtime_ns;
use crate::store::receipts::{FileReceipt, Receipt, Receipts};
use crate::store::restored::{Expected, RestoreFolder};

use crate::verify::alone::refused_path;

use crate::log::SealState;
use crate::pipeline::open::{LogError, LogFile, open, session_folder};

use super::error::RestoreError;

/// The stores that logs lie in, with their receipts by log.
pub(super) struct Stores(BTreeMap<PathBuf, (Store, BTreeMap<String, Receipt>)>);

impl Stores {
    /// Returns the stores of these logs.
    ///
    /// # Errors
    /// When something else stands where a file of a store belongs.
    pub(super) fn of(logs: &[LogFile]) -> Result<Stores, StoreError> {
        let mut stores = BTreeMap::new();
        for store in logs.iter().filter_map(|log| Store::of_log(&log.path)) {
            if stores.contains_key(store.root()) {
                continue;
            }
            store.refuse_planted()?;
            let receipts = Receipts::load(&store);
            let by_log = receipts.iter().map(|receipt| (receipt.log.clone(), receipt)).collect();
            stores.insert(store.root().to_owned(), (store, by_log));
        }
        Ok(Stores(stores))
    }

    /// Returns the store of a log, and the receipt that says which permissions and
    /// times its files had.
    pub(super) fn get(&self, log: &LogFile) -> (Option<&Store>, Option<&Receipt>) {
        let Some((store, receipts)) = Store::of_log(&log.path).and_then(|store| self.0.get(store.root())) else { return (None, None) };
        let absolute = std::path::absolute(&log.path).unwrap_or_else(|_| log.path.clone());
        let name = absolute.strip_prefix(store.root()).map(|name| RelPath::new(name.as_os_str().as_encoded_bytes())).ok();
        (Some(store), name.and_then(|name| receipts.get(&name.key())))
    }
}

/// One entry of a log, as it is to stand below the folder.
#[derive(Debug, Clone)]
pub(super) struct Planned {
    pub(super) seq: Seq,
    pub(super) path: RelPath,
    pub(super) what: EntryKind,
    /// The permissions and the time that its receipt has.
    pub(super) was: Option<(u32, i64)>,
}

/// What an entry is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum EntryKind {
    File {
        size: u64,
        sha256: String,
    },
    Link {
        target: Vec<u8>,
    },
    Folder,
    /// Rows of the database at the path: as text they have this size.
    Rows {
        size: u64,
    },
}

impl EntryKind {
    fn of(plan: FilePlan) -> Result<EntryKind, StreamError> {
        let missing = |what| StreamError::log(plan.seq, what);
        Ok(match plan.entry.kind {
            FileKind::Folder => EntryKind::Folder,
            FileKind::Rows => EntryKind::Rows { size: plan.entry.size.ok_or_else(|| missing("does not say how long the rows are"))? },
            FileKind::Link => EntryKind::Link { target: plan.target.unwrap_or_default() },
            FileKind::File => EntryKind::File {
                size: plan.entry.size.ok_or_else(|| missing("does not say how long the file is"))?,
                sha256: plan.entry.sha256.clone().ok_or_else(|| missing("does not say the hash of the file"))?,
            },
        })
    }

    pub(super) fn expected(&self) -> Expected<'_> {
        match self {
            EntryKind::File { size, sha256 } => Expected::File { size: *size, sha256 },
            EntryKind::Link { target } => Expected::Link(target),
            // A database has other bytes than the rows that are put into it.
            EntryKind::Folder | EntryKind::Rows { .. } => Expected::Folder,
        }
    }
}

/// What a log is to be restored to.
#[derive(Debug, Clone)]
pub(super) struct LogPlan {
    pub(super) entries: Vec<Planned>,
    /// Which of them are written from this log; the others come from another one.
    pub(super) is_own: Vec<bool>,
    /// When the log itself was written.
    written_ns: i64,
    /// What the log is of.
    pub(super) kind: SessionKind,
    /// Whether the log is as it was sealed.
    pub(super) seal: SealState,
}

impl LogPlan {
    /// Reads what a log is to be restored to.
    ///
    /// # Errors
    /// When the log cannot be read, or would swell beyond all measure.
    pub(super) fn of(log: &LogFile, stores: &Stores) -> Result<LogPlan, RestoreError> {
        let (mut view, _) = open(&log.path, None)?;
        let stream = |source| LogError::Stream { path: log.path.clone(), source };
        check_sizes(&mut view).map_err(stream)?;
        let inside = session_folder(&view, log);
        let (_, receipt) = stores.get(log);
        let files = receipt.map(|receipt| receipt.files.as_slice()).unwrap_or_default();
        let looks: BTreeMap<&str, &FileReceipt> = files.iter().map(|file| (file.path.as_str(), file)).collect();
        let mut entries = Vec::new();
        for seq in view.files().to_vec() {
            let plan = file_plan(&mut view, seq).map_err(stream)?;
            going_down(&plan.path.below(&inside))?;
            // A receipt speaks for the bytes that were proven, not for whatever a log
            // with that name has now.
            let was = looks.get(plan.path.key().as_str()).filter(|was| was.sha256 == plan.entry.sha256);
            let was = was.map(|was| (was.mode, was.mtime_ns));
            entries.push(Planned { seq, path: plan.path.below(&inside), was, what: EntryKind::of(plan).map_err(stream)? });
        }
        if let Some(refused) = refused_path(&mut view).map_err(stream)? {
            return Err(RestoreError::Unrestorable { path: log.path.clone(), what: refused.what });
        }
        if entries.is_empty() {
            return Err(RestoreError::NoFiles { path: log.path.clone() });
        }
        let written_ns = log.path.symlink_metadata().map_or(i64::MIN, |meta| mtime_ns(&meta));
        let is_own = vec![true; entries.len()];
        Ok(LogPlan { entries, is_own, written_ns, kind: view.session.kind, seal: view.seal().clone() })
    }

    /// Returns how many bytes it needs that are not there yet.
    pub(super) fn needs(&self, folder: &RestoreFolder<'_>) -> u64 {
        let own = self.entries.iter().zip(&self.is_own).filter(|(_, is_own)| **is_own).map(|(entry, _)| entry);
        let sizes = own.filter_map(|entry| match &entry.what {
            EntryKind::File { size, .. } if !folder.seems_there(&entry.path, *size) => Some(*size),
            EntryKind::Rows { size } => Some(*size),
            EntryKind::File { .. } | EntryKind::Link { .. } | EntryKind::Folder => None,
        });
        sizes.fold(0, u64::saturating_add)
    }
}

/// A file of a log that is not restored, because a newer log has another one at
/// the same path.
#[derive(Debug)]
pub struct Superseded {
    /// Which of the logs contains it.
    pub log: usize,
    /// Which of the logs the newer one is in.
    pub by: usize,
    /// The file, below the folder that logs are restored to.
    pub path: RelPath,
}

/// A path that several logs contain.
#[derive(Debug)]
struct Contested {
    path: RelPath,
    /// The number of a log and of its entry, for each log: the one whose receipt
    /// has the newest file there comes first.
    places: Vec<(usize, usize)>,
}

/// Which log each path comes from, where several contain it.
#[derive(Debug)]
pub(super) struct PathOwners {
    contested: Vec<Contested>,
}

/// Decides which log each path comes from: the one whose receipt has the newest
/// file there. The same bytes are one file.
pub(super) fn settle(logs: &[LogFile], plans: &mut [Option<LogPlan>]) -> PathOwners {
    let mut by_path: BTreeMap<&RelPath, Vec<(usize, usize)>> = BTreeMap::new();
    for (log, plan) in plans.iter().enumerate() {
        for (n, entry) in plan.iter().flat_map(|plan| plan.entries.iter().enumerate()) {
            // Each log of a database has other rows of it.
            if let EntryKind::Rows { .. } = entry.what {
                continue;
            }
            by_path.entry(&entry.path).or_default().push((log, n));
        }
    }
    // A log that is named last wins where nothing tells two of them apart, so
    // that the result does not depend on the order of threads.
    let age = |(log, n): (usize, usize)| {
        let plan = plans[log].as_ref();
        plan.map(|plan| (plan.entries[n].was.map(|(_, mtime_ns)| mtime_ns), plan.written_ns, &logs[log].name, n))
    };
    let mut contested = Vec::new();
    for (path, mut places) in by_path.into_iter().filter(|(_, places)| places.len() > 1) {
        places.sort_by_key(|place| std::cmp::Reverse(age(*place)));
        // Twice in one log is no matter of age: that log is wrong, and its
        // second file meets the first.
        let first = places.first().map(|(log, _)| *log);
        places = places.iter().enumerate().filter(|(at, (log, _))| *at == 0 || Some(*log) != first).map(|(_, place)| *place).collect();
        contested.push(Contested { path: path.clone(), places });
    }
    for (log, n) in contested.iter().flat_map(|one| one.places.iter().skip(1)) {
        if let Some(plan) = &mut plans[*log] {
            plan.is_own[*n] = false;
        }
    }
    PathOwners { contested }
}

impl PathOwners {
    /// Hands the paths of logs that could not be restored to the next newest log
    /// that has them: a damaged log must not keep an intact one's file back.
    /// Returns the numbers of the logs that have got more to restore, each with a
    /// plan of these files alone.
    pub(super) fn pass_on(&mut self, failed: &BTreeSet<usize>, plans: &[Option<LogPlan>]) -> BTreeMap<usize, LogPlan> {
        let mut more: BTreeMap<usize, LogPlan> = BTreeMap::new();
        for one in &mut self.contested {
            let before = one.places.first().copied();
            one.places.retain(|(log, _)| !failed.contains(log));
            let Some((log, n)) = one.places.first().copied().filter(|first| Some(*first) != before) else { continue };
            let Some(plan) = &plans[log] else { continue };
            let rest = more.entry(log).or_insert_with(|| LogPlan { is_own: vec![false; plan.entries.len()], ..plan.clone() });
            rest.is_own[n] = true;
        }
        more
    }

    /// Lists what is not restored because a newer log has another file there.
    pub(super) fn superseded(&self, plans: &[Option<LogPlan>]) -> Vec<Superseded> {
        let what = |(log, n): (usize, usize)| plans[log].as_ref().map(|plan| &plan.entries[n].what);
        let mut list = Vec::new();
        for one in &self.contested {
            let Some((newest, rest)) = one.places.split_first() else { continue };
            let others = rest.iter().filter(|place| what(**place) != what(*newest));
            list.extend(others.map(|(log, _)| Superseded { log: *log, by: newest.0, path: one.path.clone() }));
        }
        list
    }
}
