//! One file of a log, rebuilt on disk.

use std::io::{BufWriter, Write};
use std::path::PathBuf;

use crate::adapters::format::Format;
use crate::log::LogView;
use crate::log::restore::{ByteSink, file_plan, rebuild};
use crate::model::digest::hex;
use crate::model::stream::{ReadAt, StreamError};
use crate::pipeline::open::{LogError, LogFile};
use crate::store::layout::Store;
use crate::store::restored::RestoreFolder;
use crate::store::{StoreError, blobs};

use super::error::RestoreError;
use super::plan::Planned;

/// From so many bytes on, and so many times the size of its log, a file is
/// rebuilt once without being written: whoever wrote the log may have lied about
/// its size or hash, and the disk need not be filled to find that out.
const REHEARSED_FROM: u64 = 64 << 20;
const REHEARSED_RATIO: u64 = 16;

/// Rebuilds a file below the folder, and returns its path.
pub(super) fn one_file<R: ReadAt>(
    view: &mut LogView<R>,
    adapter: &dyn Format,
    log: &LogFile,
    entry: &Planned,
    folder: &RestoreFolder<'_>,
    store: Option<&Store>,
) -> Result<PathBuf, RestoreError> {
    let stream = |source| LogError::Stream { path: log.path.clone(), source };
    let plan = file_plan(view, entry.seq).map_err(stream)?;
    let (size, hash) = (plan.entry.size.unwrap_or(0), plan.entry.sha256.clone().unwrap_or_default());
    if let Some(sha256) = &plan.entry.blob {
        let missing = || StoreError::Blob { sha256: sha256.clone() };
        let blob = blobs::open(store.ok_or_else(missing)?, sha256, size)?;
        let file = folder.file(&entry.path)?;
        let mut sink = ToFile { out: BufWriter::with_capacity(256 * 1024, file.bytes()), bytes: 0, hash: sha2::Digest::new() };
        let copied = blob.copy(&mut |bytes| sink.bytes(bytes)).and_then(|()| sink.finish()).map_err(stream)?;
        if copied != (size, sha256.clone()) || *sha256 != hash {
            return Err(missing().into());
        }
        return Ok(file.done(entry.was)?);
    }
    let rebuild_to = |view: &mut LogView<R>, sink: &mut dyn ByteSink| {
        rebuild(view, &plan, &|holds, style, shapes| adapter.renderer(holds, style, shapes), sink)
    };
    let is_right = |(bytes, sha256): (u64, String)| {
        let is_right = bytes == size && sha256 == hash;
        if is_right { Ok(()) } else { Err(StreamError::log(entry.seq, "does not rebuild to the hash and size it records")) }
    };
    if size > REHEARSED_FROM && size / REHEARSED_RATIO > view.bytes() {
        let mut sink = ToFile { out: BufWriter::new(std::io::sink()), bytes: 0, hash: sha2::Digest::new() };
        rebuild_to(view, &mut sink).and_then(|()| sink.finish()).and_then(is_right).map_err(stream)?;
    }
    let file = folder.file(&entry.path)?;
    let mut sink = ToFile { out: BufWriter::with_capacity(256 * 1024, file.bytes()), bytes: 0, hash: sha2::Digest::new() };
    let rebuilt = rebuild_to(view, &mut sink).and_then(|()| sink.finish());
    // A file that is not what it was must not lie there as if it were:
    // without its name it is gone.
    rebuilt.and_then(is_right).map_err(stream)?;
    Ok(file.done(entry.was)?)
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
