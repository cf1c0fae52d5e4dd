//! `everlog restore`: the original files, byte for byte.

use serde::Serialize;
use std::collections::BTreeMap;
use std::io::{BufWriter, Write};
use std::path::PathBuf;

use crate::adapters::adapter::Adapter;
use crate::log::LogView;
use crate::log::restore::{ByteSink, FilePlan, file_plan, rebuild};
use crate::model::digest::hex;
use crate::model::event::FileKind;
use crate::model::files::RelPath;
use crate::model::stream::{ReadAt, StreamError};
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::store::blobs;
use crate::store::disk::Disk;
use crate::store::layout::Store;
use crate::store::receipts::{Receipt, Receipts};
use crate::store::restored::RestoreFolder;

use super::batch;
use super::error::CommandError;
use super::logs::{self, LogFile, session_folder};

/// What to restore, and where to.
#[derive(Debug)]
pub struct RestoreJob<'a> {
    /// Logs, or stores.
    pub logs: Vec<PathBuf>,
    /// The folder to restore into.
    pub dest: PathBuf,
    /// How many sessions at once.
    pub jobs: usize,
    /// The disk under it.
    pub disk: &'a dyn Disk,
}

/// One session's line in the report.
#[derive(Debug, Serialize)]
struct Restored {
    log: String,
    files: u64,
    bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// When nothing could be done at all.
pub fn run(job: &RestoreJob<'_>, out: &Printer) -> Result<ExitStatus, CommandError> {
    let mut found = Vec::new();
    for path in &job.logs {
        found.extend(logs::find(path)?);
    }
    let folder = RestoreFolder::at(&job.dest, job.disk)?;
    let stores = Stores::of(&found);
    let results = batch::each(&found, job.jobs, |log| batch::caught(|| one_log(log, &folder, &stores), CommandError::Bug));
    folder.sync()?;
    let (mut files, mut bytes, mut failed, mut doubtful) = (0, 0, 0, 0);
    for (log, result) in found.iter().zip(results) {
        let mut restored = Restored { log: log.name.clone(), files: 0, bytes: 0, error: None };
        match result {
            Ok(done) => {
                (restored.files, restored.bytes) = (done.files, done.bytes);
                if let Some(warning) = done.warning {
                    doubtful += 1;
                    out.complain(&format!("{warning}\n  at {}", log.name));
                }
            }
            Err(error) => {
                failed += 1;
                out.complain(&text::error(&error, Some(&log.name), error.hint().as_deref()));
                restored.error = Some(error.to_string());
            }
        }
        files += restored.files;
        bytes += restored.bytes;
        if out.form() == Form::Json {
            out.object(&restored);
        }
    }
    out.summary(&format!(
        "{} restored from {} to {}: {}, byte for byte{}",
        text::count(files, "file"),
        text::count(found.len() as u64, "log"),
        job.dest.display(),
        text::size(bytes),
        if failed > 0 { format!("; {} failed", text::count(failed, "log")) } else { String::new() }
    ));
    Ok(match failed {
        0 if doubtful == 0 => ExitStatus::Well,
        n if n > 0 && n == found.len() as u64 => ExitStatus::Failed,
        _ => ExitStatus::Found,
    })
}

/// The stores that logs lie in, with their receipts by log.
struct Stores(BTreeMap<PathBuf, (Store, BTreeMap<String, Receipt>)>);

impl Stores {
    fn of(logs: &[LogFile]) -> Stores {
        let mut stores = BTreeMap::new();
        for store in logs.iter().filter_map(|log| Store::of_log(&log.path)) {
            stores.entry(store.root().to_owned()).or_insert_with(|| {
                let receipts = Receipts::load(&store);
                let by_log = receipts.iter().map(|receipt| (receipt.log.clone(), receipt)).collect();
                (store, by_log)
            });
        }
        Stores(stores)
    }

    /// The store of a log, and the receipt that says which permissions and
    /// times its files had.
    fn get(&self, log: &LogFile) -> (Option<&Store>, Option<&Receipt>) {
        let Some((store, receipts)) = Store::of_log(&log.path).and_then(|store| self.0.get(store.root())) else { return (None, None) };
        let absolute = std::path::absolute(&log.path).unwrap_or_else(|_| log.path.clone());
        let name = absolute.strip_prefix(store.root()).map(|name| RelPath::new(name.as_os_str().as_encoded_bytes())).ok();
        (Some(store), name.and_then(|name| receipts.get(&name.key())))
    }
}

/// What came out of one log.
struct Done {
    files: u64,
    bytes: u64,
    /// What to say where the log is not as it was sealed.
    warning: Option<&'static str>,
}

fn one_log(log: &LogFile, folder: &RestoreFolder<'_>, stores: &Stores) -> Result<Done, CommandError> {
    let (mut view, adapter) = logs::open(&log.path, None)?;
    let inside = session_folder(&view, log);
    let (store, receipt) = stores.get(log);
    let mut done = Done { files: 0, bytes: 0, warning: logs::seal_warning(view.seal()) };
    let mut made = Vec::new();
    let files = receipt.map(|receipt| receipt.files.as_slice()).unwrap_or_default();
    let looks: BTreeMap<&str, (u32, i64)> = files.iter().map(|file| (file.path.as_str(), (file.mode, file.mtime_ns))).collect();
    for seq in view.files().to_vec() {
        let restored = file_plan(&mut view, seq)
            .map_err(|source| CommandError::Stream { path: log.path.clone(), source })
            .and_then(|plan| one_file(&mut view, adapter, &plan, &inside, log, folder, store, &looks).map(|made| (plan, made)));
        match restored {
            Ok((plan, full)) => {
                if plan.entry.kind == FileKind::File {
                    done.bytes += plan.entry.size.unwrap_or(0);
                    done.files += 1;
                }
                made.extend(full);
            }
            Err(error) => {
                // Half a session must not lie there as if it were one.
                for full in &made {
                    folder.discard(full)?;
                }
                return Err(error);
            }
        }
    }
    if made.is_empty() {
        return Err(CommandError::NoLogs { path: log.path.clone() });
    }
    Ok(done)
}

#[expect(clippy::too_many_arguments, reason = "a file is restored from log, blobs and receipt")]
fn one_file<R: ReadAt>(
    view: &mut LogView<R>,
    adapter: &dyn Adapter,
    plan: &FilePlan,
    inside: &RelPath,
    log: &LogFile,
    folder: &RestoreFolder<'_>,
    store: Option<&Store>,
    looks: &BTreeMap<&str, (u32, i64)>,
) -> Result<Option<PathBuf>, CommandError> {
    let path = plan.path.below(inside);
    let was = looks.get(plan.path.key().as_str()).copied();
    match (plan.entry.kind, &plan.entry.blob) {
        (FileKind::Folder, _) => Ok(folder.folder(&path).map(|()| None)?),
        (FileKind::Link, _) => Ok(folder.link(&path, plan.target.as_deref().unwrap_or_default()).map(Some)?),
        (FileKind::File, Some(sha256)) => {
            let missing = || crate::store::StoreError::Blob { sha256: sha256.clone() };
            let bytes = blobs::get(store.ok_or_else(missing)?, sha256)?;
            if !has_size(plan, bytes.len() as u64) {
                return Err(missing().into());
            }
            let file = folder.file(&path)?;
            file.bytes().fill(&bytes)?;
            Ok(Some(file.done(was)?))
        }
        (FileKind::File, None) => {
            let file = folder.file(&path)?;
            let mut sink = ToFile { out: BufWriter::with_capacity(256 * 1024, file.bytes()), bytes: 0, hash: sha2::Digest::new() };
            let rebuilt =
                rebuild(view, plan, &|holds, style, shapes| adapter.renderer(holds, style, shapes), &mut sink).and_then(|()| sink.finish());
            let right = rebuilt.and_then(|(bytes, sha256)| {
                if Some(&sha256) == plan.entry.sha256.as_ref() && has_size(plan, bytes) {
                    Ok(())
                } else {
                    Err(StreamError::log(plan.seq, "does not rebuild to the hash and size it records"))
                }
            });
            // A file that is not what it was must not lie there as if it were:
            // without its name it is gone.
            right.map_err(|source| CommandError::Stream { path: log.path.clone(), source })?;
            Ok(Some(file.done(was)?))
        }
    }
}

/// Whether a file has the size that its log records. A log may record any.
fn has_size(plan: &FilePlan, bytes: u64) -> bool {
    plan.entry.size.is_none_or(|size| size == bytes)
}

/// Writes what comes, counts it and hashes it.
struct ToFile<W: Write> {
    out: BufWriter<W>,
    bytes: u64,
    hash: sha2::Sha256,
}

impl<W: Write> ToFile<W> {
    fn finish(mut self) -> Result<(u64, String), StreamError> {
        self.out.flush().map_err(|source| StreamError::Io { doing: "write a restored file", source })?;
        Ok((self.bytes, hex(&sha2::Digest::finalize(self.hash))))
    }
}

impl<W: Write> ByteSink for ToFile<W> {
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), StreamError> {
        sha2::Digest::update(&mut self.hash, bytes);
        self.bytes += bytes.len() as u64;
        self.out.write_all(bytes).map_err(|source| StreamError::Io { doing: "write a restored file", source })
    }
}
