//! `everlog fork`: a new head in a log, and nothing that is there touched.

use serde::Serialize;
use std::fs::TryLockError;
use std::path::{Path, PathBuf};

use crate::log::fork::{self, Fork, Rest};
use crate::log::{LogView, SealState};
use crate::model::heads::{HeadKind, HeadName};
use crate::model::ids::Seq;
use crate::model::stream::{ReadAt, StreamError};
use crate::pipeline::previous::unfinished;
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};
use crate::store::disk::{self, Disk};
use crate::store::layout::Store;
use crate::store::lock::{FileLock, StoreLock};
use crate::store::{StoreError, extend};
use crate::verify::difference::visible;

use super::error::CommandError;
use super::{logs, nodes};

/// What to fork, and where.
#[derive(Debug)]
pub struct ForkJob<'a> {
    /// The log.
    pub log: PathBuf,
    /// The node: the source's own id, `#` and a number, or a head.
    pub at: String,
    /// The new head's name; the first free of `fork-1`, `fork-2` … if none.
    pub name: Option<String>,
    /// The disk under it.
    pub disk: &'a dyn Disk,
}

/// The report.
#[derive(Debug, Serialize)]
struct Forked {
    log: String,
    head: String,
    node: Seq,
}

/// The right to write to a log.
enum Lock {
    Store {
        _lock: StoreLock,
    },
    /// A log that lies in no store is locked itself.
    Log {
        _lock: FileLock,
    },
}

/// Runs the command.
///
/// # Errors
/// When the log cannot be read or written, is not whole, has no such node, or
/// has that head already.
pub fn run(job: &ForkJob<'_>, out: &Printer) -> Result<ExitStatus, CommandError> {
    refuse_link_in_store(&job.log)?;
    // A link outside of every store may lead into one.
    let path = std::fs::canonicalize(&job.log).map_err(StoreError::io("find", &job.log))?;
    let _lock = lock(&path, job.disk)?;
    let mut view = logs::open_any(&path, None)?;
    let stream = |source: StreamError| CommandError::Stream { path: path.clone(), source };
    let left = left_behind(&view, &path)?;
    let node = nodes::named_or_head(&mut view, &path, &job.at)?;
    let fork = Fork { name: name(job.name.as_deref(), &view)?, node };
    let lines = fork::lines(&view, std::slice::from_ref(&fork)).map_err(stream)?;
    if left > 0 {
        extend::cut(job.disk, &path, view.bytes())?;
        out.say(&format!("note: {}\n  at {}", unfinished(left), visible(&job.log.display().to_string())));
    }
    extend::add(job.disk, &path, view.bytes(), &lines)?;
    if out.form() == Form::Json {
        out.object(&Forked { log: job.log.display().to_string(), head: fork.name.to_string(), node });
    }
    out.summary(&format!(
        "{} stands at #{node} now; `everlog replay {} --head {}` shows it",
        visible(&fork.name.to_string()),
        visible(&job.log.display().to_string()),
        visible(&fork.name.name)
    ));
    Ok(ExitStatus::Well)
}

/// Refuses a log that only a link inside a store leads to: nothing in a store is
/// followed through a link, or who can write to one store could have another
/// one's logs changed.
fn refuse_link_in_store(log: &Path) -> Result<(), CommandError> {
    let path = std::path::absolute(log).map_err(StoreError::io("find", log))?;
    let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|meta| meta.is_symlink());
    for store in path.ancestors().skip(1).filter(|folder| Store::at(folder).private().is_dir()) {
        let mut below = path.ancestors().take_while(|part| *part != store);
        if let Some(link) = below.find(|part| is_link(part)) {
            let wanted = if link == path { "a log" } else { "a folder" };
            return Err(StoreError::Planted { path: link.to_owned(), what: "a symbolic link", wanted }.into());
        }
    }
    Ok(())
}

fn lock(path: &Path, disk: &dyn Disk) -> Result<Lock, CommandError> {
    if let Some(store) = Store::of_log(path) {
        return Ok(Lock::Store { _lock: StoreLock::take(&store, disk)? });
    }
    match FileLock::take(disk::open(path)?) {
        Ok(lock) => Ok(Lock::Log { _lock: lock }),
        Err((_, TryLockError::WouldBlock)) => Err(StoreError::Locked { path: path.to_owned() }.into()),
        Err((_, TryLockError::Error(source))) => Err(StoreError::Io { doing: "lock", path: path.to_owned(), source }.into()),
    }
}

/// Counts the bytes that an unfinished fork has left after the last
/// good seal.
fn left_behind<R: ReadAt>(view: &LogView<R>, path: &Path) -> Result<u64, CommandError> {
    let refused = |why| Err(CommandError::NotForked { path: path.to_owned(), why });
    match view.seal() {
        SealState::Good { .. } => Ok(0),
        SealState::Followed { .. } => match fork::rest(view).map_err(|source| CommandError::Stream { path: path.to_owned(), source })? {
            Rest::Unfinished(bytes) => Ok(bytes),
            Rest::Events => refused("events follow its last good seal"),
        },
        SealState::Broken { .. } => refused("it was altered since it was sealed"),
        SealState::Missing => refused("it has no seal: it is incomplete"),
    }
}

fn name<R: ReadAt>(asked: Option<&str>, view: &LogView<R>) -> Result<HeadName, CommandError> {
    let Some(asked) = asked else { return Ok(fork::free_name(view)) };
    let head = HeadName::parse(asked);
    // A name must mean this head when it is typed again.
    let is_fit = head.kind == HeadKind::Branch && !head.name.is_empty() && !head.name.chars().any(char::is_control);
    if !is_fit || HeadName::parse(&head.name) != head {
        return Err(CommandError::BadName { name: asked.to_owned() });
    }
    match view.state().head(&head) {
        Some(_) => Err(CommandError::HeadExists { head: head.to_string() }),
        None => Ok(head),
    }
}
