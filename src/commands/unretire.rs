//! Giving retired files their names back: exactly those that the receipts name,
//! if they still are what they were, and never over a file.

use serde::Serialize;
use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::adapters::by_id;
use crate::adapters::format::{Format, Standing};
use crate::maintenance;
use crate::model::files::RelPath;
use crate::model::folder::{FolderView, Portion};
use crate::pipeline::retired::{Pair, RetiredState, WHO_RENAMED, from_log, has_its_bytes, is_meant, is_still, pairs, retired_name};
use crate::pipeline::source::{Source, SourceUnit};
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::store::StoreError;
use crate::store::disk::Disk;
use crate::store::layout::{Store, path_below};
use crate::store::listing;
use crate::store::receipts::{Receipts, Retired};
use crate::verify::difference::visible;

use super::migrate_job::MigrateJob;

/// One session's line in the report.
#[derive(Debug, Serialize)]
struct Returned {
    unit: String,
    returned: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Why a session's files keep their names.
struct Refusal {
    /// Which of them is in the way, below the source.
    at: RelPath,
    why: String,
    hint: &'static str,
}

const RESTORE: &str = "`everlog restore LOG -o FOLDER` gives the file as it was";

/// What has been done so far.
struct Giving<'a> {
    source: &'a Source,
    disk: &'a dyn Disk,
    out: &'a Printer,
    done: u64,
    failed: u64,
    folders: BTreeSet<PathBuf>,
}

/// Gives retired sessions their names back, each as a whole: one that cannot be
/// renamed does not keep the others from it.
///
/// # Errors
/// When the receipts cannot be written; before anything is renamed, where one
/// of them names a file elsewhere.
pub(super) fn unretire(
    source: &Source,
    store: &Store,
    known: &mut Receipts,
    job: &MigrateJob<'_>,
    out: &Printer,
) -> Result<ExitStatus, StoreError> {
    let mut giving = Giving { source, disk: job.disk, out, done: 0, failed: 0, folders: BTreeSet::new() };
    let named: Vec<(RelPath, String, Retired)> = known
        .retired()
        .filter(|(receipt, retired)| is_meant(source, receipt, retired))
        .map(|(receipt, retired)| (RelPath::from_key(&receipt.unit), receipt.format.clone(), retired))
        .collect();
    named.iter().try_for_each(|(unit, _, retired)| pairs(source, unit, retired).map(drop))?;
    let mut given = Vec::new();
    for (unit, format, retired) in &named {
        if giving.give_back(unit, by_id(format), retired) {
            given.push(unit);
        }
    }
    for unit in source.units.iter().filter(|unit| !named.iter().any(|(name, _, _)| *name == unit.name)) {
        giving.without_receipt(unit, store, known);
    }
    giving.folders.iter().try_for_each(|folder| job.disk.sync(folder))?;
    // Only now: what is not in the receipts is not looked for again.
    for unit in given {
        known.set_retired(unit, None)?;
    }
    known.save(store, job.disk)?;
    out.summary(&format!("{} got their names back, {} not", text::count(giving.done, "file"), giving.failed));
    Ok(if giving.failed == 0 { ExitStatus::Well } else { ExitStatus::Found })
}

impl Giving<'_> {
    /// Gives a session its names back; says whether it has all of them now.
    fn give_back(&mut self, unit: &RelPath, adapter: Option<&dyn Format>, retired: &Retired) -> bool {
        let Renamed { returned, folders, refusal } = rename_all(self.source, unit, adapter, retired, self.disk);
        self.folders.extend(folders);
        self.done += returned.len() as u64;
        if let Some(Refusal { at, why, hint }) = &refusal {
            let is_live = |pair: &Pair<'_>| pair.place() == RetiredState::Live;
            let live = pairs(self.source, unit, retired).map_or(0, |pairs| pairs.iter().filter(|pair| is_live(pair)).count());
            self.failed += (retired.files.len() - live) as u64;
            self.out.complain(&format!("error: {}\n  at {}\nhint: {hint}", visible(why), visible(&at.to_string())));
            // The disk failed in the middle: what has its name is named.
            for name in &returned {
                self.out.complain(&format!("note: {} has its name back, though not all files of its session have", visible(name)));
            }
        }
        let error = refusal.map(|refusal| refusal.why);
        let is_whole = error.is_none();
        if self.out.form() == Form::Json && (!returned.is_empty() || !is_whole) {
            self.out.object(&Returned { unit: unit.to_string(), returned, error });
        }
        is_whole
    }

    /// A session that no receipt calls retired. Where nobody else makes its
    /// names, the log that holds its very bytes is as good as a receipt.
    fn without_receipt(&mut self, unit: &SourceUnit, store: &Store, known: &Receipts) {
        let was = unit.found.retires.first().map(|path| unit.reported(path).below(&unit.place));
        let has_log = |name: &RelPath| known.get(name).is_none() && store.path(&Store::log_name(name)).is_file();
        let refusal = match (unit.found.standing, was) {
            (Standing::Retired, _) => match from_log(&unit.found, &unit.name, store) {
                Some(retired) => {
                    self.give_back(&unit.name, Some(unit.found.adapter), &retired);
                    return;
                }
                None => "retired, but neither a receipt nor a log says what it was",
            },
            // Its program makes such names too, and would import it again.
            (Standing::PerhapsRetired, Some(was)) if has_log(&was) => WHO_RENAMED,
            (Standing::PerhapsRetired | Standing::Live, _) => return,
        };
        self.failed += 1;
        let at = unit.found.files.first().map(|file| unit.reported(file)).unwrap_or_else(|| unit.name.clone());
        let hint = "rename it by hand if its program is to have it again";
        self.out.complain(&format!("error: {refusal}; nothing was renamed\n  at {}\nhint: {hint}", visible(&at.to_string())));
        if self.out.form() == Form::Json {
            self.out.object(&Returned { unit: unit.name.to_string(), returned: Vec::new(), error: Some(refusal.to_owned()) });
        }
    }
}

/// Returns the file that a program would write over if a retired one got its name back,
/// where it is not as it was when that was retired.
fn overwritten_by(source: &Source, adapter: &dyn Format, pair: &Pair<'_>, retired: &Retired) -> Option<RelPath> {
    if pair.place() != RetiredState::Retired {
        return None;
    }
    let folder = pair.name.folders().next().unwrap_or_else(|| RelPath::new(""));
    let own_name = RelPath::new(pair.name.as_bytes().rsplit(|b| *b == b'/').next().unwrap_or_default());
    let peek = |path: &RelPath, part: Portion| listing::part_of(&source.root, path, part);
    let view = FolderView::new(&source.listing, &folder, &peek);
    let bytes = view.all_bytes(retired_name(&own_name));
    let over = maintenance::of(adapter.id()).overwritten_by(&own_name, &bytes, &view)?;
    let now = path_below(&source.root, &over.below(&folder));
    let is_as_it_was = retired.beside.iter().any(|was| over.has_key(&was.path) && is_still(&now, was));
    Some(over.below(&folder)).filter(|_| !is_as_it_was)
}

/// What became of the files of one session.
#[derive(Default)]
struct Renamed {
    /// Those that have their names back.
    returned: Vec<String>,
    /// The folders that they lie in.
    folders: Vec<PathBuf>,
    /// Why the others do not.
    refusal: Option<Refusal>,
}

/// Renames the files of one session: all or none of them, unless the disk fails
/// in the middle.
fn rename_all(source: &Source, unit: &RelPath, adapter: Option<&dyn Format>, retired: &Retired, disk: &dyn Disk) -> Renamed {
    let pairs = match may_be_renamed(source, unit, adapter, retired) {
        Ok(pairs) => pairs,
        Err(refusal) => return Renamed { refusal: Some(refusal), ..Renamed::default() },
    };
    let mut renamed = Renamed::default();
    // What makes the program list the session was renamed first, and comes last.
    for pair in pairs.iter().rev().filter(|pair| pair.place() == RetiredState::Retired) {
        if let Err(error) = disk.rename_new(&pair.retired, &pair.live) {
            let hint = "run it again when that is repaired: it goes on where it stopped";
            renamed.refusal = Some(Refusal { at: pair.name.clone(), why: error.to_string(), hint });
            break;
        }
        renamed.returned.push(pair.name.to_string());
        renamed.folders.extend(pair.live.parent().map(PathBuf::from));
    }
    renamed
}

/// Returns the files of one session, if each of them may have its name back.
fn may_be_renamed<'r>(
    source: &Source,
    unit: &RelPath,
    adapter: Option<&dyn Format>,
    retired: &'r Retired,
) -> Result<Vec<Pair<'r>>, Refusal> {
    let elsewhere = |error: StoreError| Refusal { at: unit.clone(), why: error.to_string(), hint: RESTORE };
    let pairs = pairs(source, unit, retired).map_err(elsewhere)?;
    for pair in &pairs {
        let refuse = |at: &RelPath, why: &str, hint| Err(Refusal { at: at.clone(), why: why.to_owned(), hint });
        match pair.place() {
            RetiredState::Live => {}
            RetiredState::Retired if has_its_bytes(&pair.retired, pair.was) => {}
            RetiredState::Retired => {
                return refuse(&retired_name(&pair.name), "changed since it was retired; nothing was renamed", RESTORE);
            }
            RetiredState::Both => return refuse(&pair.name, "exists already; nothing was renamed", "move it away, and run again"),
            RetiredState::Gone => return refuse(&retired_name(&pair.name), "was retired, and is gone; nothing was renamed", RESTORE),
        }
        if let Some((program, over)) = adapter.and_then(|adapter| Some((adapter.id(), overwritten_by(source, adapter, pair, retired)?))) {
            let why = format!("{program} would import it over {over}, which was written since; nothing was renamed");
            return refuse(&pair.name, &why, RESTORE);
        }
    }
    Ok(pairs)
}
