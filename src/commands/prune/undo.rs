//! The way back: what a prune took, from the logs or from the trash.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::Ordering;

use crate::commands::error::CommandError;
use crate::model::retention::Rule;
use crate::pipeline::batch;
use crate::pipeline::old_bytes::{NoCopy, old_bytes};
use crate::pipeline::source::Source;
use crate::pipeline::tombstone;
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::store::StoreError;
use crate::store::layout::{Store, path_below};
use crate::store::prune::Pruner;
use crate::store::pruned::{Fate, Progress, Prune, Pruned, Tombstone};
use crate::store::receipts::Receipts;
use crate::store::repairs;
use crate::verify::difference::visible;

use super::job::PruneJob;
use super::users::Users;
use super::{groups, logs};

/// How much came back.
#[derive(Default)]
struct Tally {
    files: u64,
    bytes: u64,
    /// How many files are not as they were.
    failed: u64,
    /// Something went wrong, whatever is back.
    has_errors: bool,
}

impl Tally {
    fn back(&mut self, stone: &Tombstone) {
        self.files += 1;
        self.bytes += stone.old.bytes.saturating_sub(stone.new.as_ref().map_or(0, |new| new.bytes));
    }
}

/// Brings back what a prune took: each session as a whole, the last change
/// first.
pub(super) fn undo(
    source: &Source,
    store: &Store,
    wanted: Option<&str>,
    job: &PruneJob<'_>,
    out: &Printer,
) -> Result<ExitStatus, CommandError> {
    let mut pruned = Pruned::read(store)?;
    let pruner = Pruner { disk: job.disk, root: &source.root, store };
    let prune = chosen(&pruned, source, &pruner, wanted, out)?;
    pruner.refuse_outside(&prune.files)?;
    pruner.sweep(&prune.files)?;
    let mut by_number: BTreeMap<u64, Vec<&Tombstone>> = BTreeMap::new();
    for stone in prune.files.iter().rev() {
        by_number.entry(stone.bundle).or_default().push(stone);
    }
    let bundles: Vec<Vec<&Tombstone>> = by_number.into_values().rev().collect();
    let way = Way::new(source, store, &pruned, &prune, job);
    let (mut tally, mut done) = (Tally::default(), 0);
    for group in groups::of(&bundles) {
        if job.stop.load(Ordering::Relaxed) {
            return Err(CommandError::Interrupted { done, of: bundles.len() });
        }
        done += group.len();
        way.back(group, &mut pruned, &mut tally, out)?;
    }
    if !tally.has_errors {
        pruned.mark(store, job.disk, &prune.name, Progress::Undone)?;
        Pruned::sweep_spares(store, job.disk)?;
    }
    Ok(say(&prune, &tally, out))
}

fn say(prune: &Prune, Tally { files, bytes, failed, has_errors }: &Tally, out: &Printer) -> ExitStatus {
    if out.form() == Form::Json {
        out.object(&serde_json::json!({ "undone": { "prune": prune.name, "files": files, "bytes": bytes, "failed": failed } }));
    }
    let not = if *failed > 0 { format!(", {failed} not") } else { String::new() };
    let has_copies = prune.files.iter().filter_map(|stone| stone.trash.as_ref()).any(|copy| Path::new(copy).exists());
    let trash = if has_copies { "; the copies in the trash stay" } else { "" };
    let name = visible(&prune.name);
    out.summary(&format!("{} as before {name}: {} back{not}{trash}", text::count(*files, "file"), text::size(*bytes)));
    if *has_errors { ExitStatus::Found } else { ExitStatus::Well }
}

fn chosen(pruned: &Pruned, source: &Source, pruner: &Pruner<'_>, wanted: Option<&str>, out: &Printer) -> Result<Prune, CommandError> {
    let root = source.root.to_string_lossy();
    let is_left = |prune: &&Prune| prune.progress != Some(Progress::Undone) && !prune.files.is_empty();
    let is_ours = |prune: &&Prune| prune.files.iter().all(|stone| stone.source == root);
    let is_meant = |prune: &&Prune| wanted.is_none_or(|name| prune.name == name);
    let left = || pruned.prunes().iter().filter(is_left);
    let is_for_ever = |prune: &&Prune| wanted.is_none() && !prune.files.iter().any(|stone| logs::has_copy(pruner.store, stone));
    let for_ever: Vec<&Prune> = left().filter(is_ours).filter(is_for_ever).collect();
    if let Some(prune) = left().filter(is_ours).filter(|prune| !is_for_ever(prune)).rfind(is_meant) {
        let after = pruned.prunes().iter().skip_while(|other| other.name != prune.name);
        for passed in after.filter(|other| for_ever.iter().any(|one| one.name == other.name)) {
            out.complain(&format!("note: {} is skipped: {FOR_EVER}", visible(&passed.name)));
        }
        return Ok(prune.clone());
    }
    // A folder that was moved is known by what stands in it, and by nobody
    // having the name that it had.
    let has_moved = |prune: &&Prune| prune.files.iter().all(|stone| !Path::new(&stone.source).exists()) && pruner.stand_here(&prune.files);
    if let Some(prune) = left().filter(|_| wanted.is_some()).filter(is_meant).find(has_moved) {
        let place = prune.files.first().map(|stone| visible(&stone.source)).unwrap_or_default();
        out.complain(&format!("note: it was recorded for {place}, which was moved: everything stands here as it was left"));
        return Ok(prune.clone());
    }
    let lost = || for_ever.iter().map(|prune| format!("{}: {FOR_EVER}", visible(&prune.name))).collect::<Vec<_>>().join("; ");
    let none = if for_ever.is_empty() { "there is none".to_owned() } else { lost() };
    let is_known = |prune: &&Prune| !for_ever.iter().any(|one| one.name == prune.name);
    Err(CommandError::NothingPruned {
        wanted: wanted.map_or(none, str::to_owned),
        known: left().filter(is_known).map(|prune| format!("{} of {}", prune.name, prune.files[0].source)).collect(),
    })
}

/// Said of a prune that has no way back.
const FOR_EVER: &str = "it was done without a log and without a trash";

/// Returns the files of a prune that a later one took more of, with its tombstone.
fn later(pruned: &Pruned, prune: &Prune) -> BTreeMap<String, Tombstone> {
    let own: BTreeSet<(&String, &String)> = prune.files.iter().map(|stone| (&stone.source, &stone.file)).collect();
    let after = pruned.prunes().iter().skip_while(|other| other.name != prune.name).skip(1);
    let stones = after.filter(|other| other.progress != Some(Progress::Undone)).flat_map(|other| &other.files);
    let same = stones.filter(|stone| own.contains(&(&stone.source, &stone.file)));
    same.map(|stone| (stone.file.clone(), stone.clone())).collect()
}

/// What is at hand while an undo goes on.
pub(super) struct Way<'a> {
    pub source: &'a Source,
    store: &'a Store,
    pub pruner: Pruner<'a>,
    users: Users<'a>,
    job: &'a PruneJob<'a>,
    /// Files that a later prune took more of, with its tombstone.
    later: BTreeMap<String, Tombstone>,
    /// The sessions that are retired, as keys.
    retired: BTreeSet<String>,
}

/// The files of a bundle, each with the bytes that it had.
type Returning<'s> = Vec<(&'s Tombstone, Vec<u8>)>;

impl<'a> Way<'a> {
    /// Returns the way back of one prune.
    pub fn new(source: &'a Source, store: &'a Store, pruned: &Pruned, prune: &Prune, job: &'a PruneJob<'a>) -> Way<'a> {
        let retired = Receipts::load(store).retired().map(|(receipt, _)| receipt.unit).collect();
        let pruner = Pruner { disk: job.disk, root: &source.root, store };
        Way { source, store, pruner, users: Users::now(source), job, later: later(pruned, prune), retired }
    }

    /// Puts those files of a bundle back that are gone, all of them or none.
    pub fn roll_back(&self, gone: &[&Tombstone], bundle: &[&Tombstone]) -> Result<(), CommandError> {
        let files = self.returning(gone, bundle)?;
        let carried = self.pruner.put_back(vec![files]);
        carried.bundles.into_iter().try_for_each(|result| result.map_err(|error| self.told(gone, error)))?;
        Ok(carried.writers?)
    }

    /// Brings a group of bundles back, and notes it in one go.
    fn back(&self, group: &[Vec<&Tombstone>], pruned: &mut Pruned, tally: &mut Tally, out: &Printer) -> Result<(), CommandError> {
        // What a prune that was cut short left alone, or an earlier undo brought
        // back, does not come back now.
        let here: BTreeSet<&str> =
            group.iter().flatten().filter(|stone| self.pruner.is_back(stone)).map(|stone| stone.file.as_str()).collect();
        let look = |stones: &Vec<_>| batch::caught(|| self.returning(stones, stones), CommandError::Bug);
        let (mut ready, mut refused) = (Vec::new(), Vec::new());
        for (stones, found) in group.iter().zip(batch::each(group, self.job.jobs, look)) {
            match found {
                Ok(files) => ready.push((stones, files)),
                Err(error) => refused.push((stones, error)),
            }
        }
        let (asked, files): (Vec<&Vec<&Tombstone>>, Vec<Returning<'_>>) = ready.into_iter().unzip();
        let carried = self.pruner.put_back(files);
        let mut back: Vec<&Tombstone> = Vec::new();
        for (stones, result) in asked.into_iter().zip(carried.bundles) {
            match result {
                Ok(()) => back.extend(stones),
                Err(error) => {
                    // The disk failed in the middle: each file is as it is seen.
                    back.extend(stones.iter().filter(|stone| !here.contains(stone.file.as_str()) && self.pruner.is_back_for_good(stone)));
                    refused.push((stones, self.told(stones, error)));
                }
            }
        }
        pruned.note(self.store, self.job.disk, &back, Fate::Back)?;
        carried.writers?;
        back.iter().filter(|stone| !here.contains(stone.file.as_str())).for_each(|stone| tally.back(stone));
        for (stones, error) in refused {
            tally.has_errors = true;
            // Each names its file itself.
            out.complain(&text::error(&error, None, error.hint().as_deref()));
            let (there, not): (Vec<&Tombstone>, Vec<&Tombstone>) = stones.iter().partition(|stone| back.contains(stone));
            tally.failed += not.len() as u64;
            for stone in there {
                out.complain(&format!("note: {} is back, though not all of its session is", stone.path()));
            }
        }
        Ok(())
    }

    /// Returns the old bytes of files, if nothing keeps them from being put back: they
    /// are proven, and the tombstones are such as everlog writes.
    fn returning<'s>(&self, stones: &[&'s Tombstone], bundle: &[&Tombstone]) -> Result<Returning<'s>, CommandError> {
        if let Some((stone, how)) = stones.iter().find_map(|stone| Some((stone, self.stands_before(stone)?))) {
            return Err(self.not_as_left(stone, how));
        }
        if let Some((stone, stay)) = stones.iter().find_map(|stone| Some((stone, self.users.of(stone)?))) {
            return Err(CommandError::InUse { file: stone.path().to_string(), why: stay.why });
        }
        let files: Returning<'s> = stones.iter().copied().zip(old_bytes(self.store, stones).map_err(no_copy)?).collect();
        for (stone, old) in &files {
            if let Some(why) = tombstone::doubt(stone, old, bundle) {
                return Err(CommandError::NotGenuine { file: stone.path().to_string(), why });
            }
        }
        Ok(files)
    }

    /// Returns what was done since with a file or its session, and is to be taken back
    /// first.
    fn stands_before(&self, stone: &Tombstone) -> Option<String> {
        if let Some(later) = self.later.get(&stone.file).filter(|later| logs::has_copy(self.store, later)) {
            return Some(format!("a later prune took more of it; bring that back first, with `--undo={}`", later.prune));
        }
        // What was pruned of a retired session belongs to it as it is.
        let is_retired = stone.rule != Rule::Retired && self.retired.contains(&stone.unit);
        let [source, dest] = [&self.source.root, self.store.root()].map(|path| text::shell_word(&path.display().to_string()));
        is_retired.then(|| {
            format!("its session was retired since; take that back first, with `everlog migrate {source} -o {dest} --unretire`, then undo")
        })
    }

    fn not_as_left(&self, stone: &Tombstone, how: String) -> CommandError {
        CommandError::NotAsLeft { file: stone.path().to_string(), how, log: logs::place_of(self.store, stone) }
    }

    /// Returns an error of the disk, in words for one who wants something back.
    fn told(&self, stones: &[&Tombstone], error: StoreError) -> CommandError {
        let StoreError::Changed { path } = &error else { return error.into() };
        let is_it = |stone: &&&Tombstone| path_below(&self.source.root, &stone.path()) == *path;
        let Some(stone) = stones.iter().find(is_it) else { return error.into() };
        let now = repairs::current(path).ok().flatten().map(|(bytes, _)| bytes.len() as u64);
        let how = match (self.later.get(&stone.file), now, &stone.new) {
            (Some(later), _, _) => format!("a later prune, {}, took more of it for ever", later.prune),
            (None, None, _) => "it is gone".to_owned(),
            (None, Some(now), None) => format!("it was removed, and a file of {} has its name now", text::size(now)),
            (None, Some(now), Some(new)) => {
                format!("{} were left, and a program has made others of them, {}", text::size(new.bytes), text::size(now))
            }
        };
        self.not_as_left(stone, how)
    }
}

fn no_copy(NoCopy { file }: NoCopy) -> CommandError {
    CommandError::NoOldBytes { file }
}
