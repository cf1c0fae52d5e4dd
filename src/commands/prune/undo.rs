//! The way back: what a prune took, from the logs or from the trash.

use std::collections::BTreeMap;

use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::store::layout::Store;
use crate::store::prune::Pruner;
use crate::store::pruned::{Fate, Progress, Prune, Pruned, Tombstone};
use crate::verify::difference::visible;

use super::users::Users;
use super::{PruneJob, logs};
use crate::commands::error::CommandError;
use crate::commands::source::Source;

/// Brings back what a prune took: each session as a whole, the last change
/// first.
pub(super) fn undo(
    source: &Source,
    store: &Store,
    wanted: Option<&str>,
    job: &PruneJob<'_>,
    out: &Printer,
) -> Result<ExitStatus, CommandError> {
    let mut pruned = Pruned::load(store);
    let prune = chosen(&pruned, source, wanted)?;
    let pruner = Pruner { disk: job.disk, root: &source.root };
    pruner.refuse_outside(&prune.files)?;
    pruner.sweep(&prune.files)?;
    let mut bundles: BTreeMap<u64, Vec<&Tombstone>> = BTreeMap::new();
    for stone in prune.files.iter().rev() {
        bundles.entry(stone.bundle).or_default().push(stone);
    }
    let (mut files, mut bytes, mut failed) = (0, 0, 0);
    let users = Users::now(source);
    for stones in bundles.into_values().rev() {
        match back(&pruner, &users, store, &stones) {
            Ok(()) => {
                for stone in stones {
                    pruned.note(store, job.disk, stone, Fate::Back)?;
                    files += 1;
                    bytes += stone.old.bytes.saturating_sub(stone.new.as_ref().map_or(0, |new| new.bytes));
                }
            }
            Err(error) => {
                failed += stones.len() as u64;
                let place = stones.first().map(|stone| stone.path().to_string());
                out.complain(&text::error(&error, place.as_deref(), error.hint().as_deref()));
            }
        }
    }
    if failed == 0 {
        pruned.mark(store, job.disk, &prune.name, Progress::Undone)?;
    }
    if out.form() == Form::Json {
        out.object(&serde_json::json!({ "undone": { "prune": prune.name, "files": files, "bytes": bytes, "failed": failed } }));
    }
    let not = if failed > 0 { format!(", {failed} not") } else { String::new() };
    out.summary(&format!("{} as before {}: {} back{not}", text::count(files, "file"), visible(&prune.name), text::size(bytes)));
    Ok(if failed == 0 { ExitStatus::Well } else { ExitStatus::Found })
}

fn chosen(pruned: &Pruned, source: &Source, wanted: Option<&str>) -> Result<Prune, CommandError> {
    let root = source.root.to_string_lossy();
    let is_left = |prune: &&Prune| prune.progress != Some(Progress::Undone) && !prune.files.is_empty();
    let is_ours = |prune: &&Prune| prune.files.iter().all(|stone| stone.source == root);
    let is_meant = |prune: &&Prune| wanted.is_none_or(|name| prune.name == name);
    let left = || pruned.prunes().iter().filter(is_left);
    left().filter(is_ours).rfind(is_meant).cloned().ok_or_else(|| CommandError::NothingPruned {
        wanted: wanted.unwrap_or("there is none").to_owned(),
        known: left().map(|prune| format!("{} of {}", prune.name, prune.files[0].source)).collect(),
    })
}

fn back(pruner: &Pruner<'_>, users: &Users<'_>, store: &Store, stones: &[&Tombstone]) -> Result<(), CommandError> {
    if let Some((stone, stay)) = stones.iter().find_map(|stone| Some((stone, users.of(stone)?))) {
        return Err(CommandError::InUse { file: stone.path().to_string(), why: stay.why });
    }
    let mut files = Vec::new();
    for stone in stones {
        files.push((*stone, logs::old_bytes(store, stone)?));
    }
    Ok(pruner.put_back(&files)?)
}
