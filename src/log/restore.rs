//! From a log back to files: walks each file's recipe and lets the adapter
//! render the records.

use crate::json::Value;
use crate::model::digest::residual_digest;
use crate::model::event::{Damage, EventKind, FileEntry, FileKind, Residual, bytes_of};
use crate::model::files::RelPath;
use crate::model::ids::Seq;
use crate::model::recipe::{Piece, pieces};
use crate::model::shape::Order;
use crate::model::stream::{LogAccess, ReadAt, RecordRenderer, RecordSink, StreamError};

use super::view::LogView;

/// Takes the bytes of one file in order.
pub trait ByteSink {
    /// Takes the next bytes.
    ///
    /// # Errors
    /// When they are wrong, or cannot be written.
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), StreamError>;

    /// Takes the next bytes, which are a record that an event was rendered to.
    ///
    /// # Errors
    /// When they are wrong, or cannot be written.
    fn record(&mut self, record: &[u8]) -> Result<(), StreamError> {
        self.bytes(record)
    }

    /// Hears which event the next bytes come from: the line of the log to look
    /// at where they are wrong.
    fn comes_from(&mut self, _seq: Seq) {}
}

/// Makes the renderer for a file, from what it holds, its style and the log's
/// shapes.
pub type MakeRenderer<'a> = &'a dyn Fn(&str, Option<&str>, &[Order]) -> Option<Box<dyn RecordRenderer>>;

/// A `file` event, read.
#[derive(Debug)]
pub struct FilePlan {
    /// Its event.
    pub seq: Seq,
    /// The path relative to the session's folder.
    pub path: RelPath,
    /// A link's target.
    pub target: Option<Vec<u8>>,
    /// The rest of it.
    pub entry: FileEntry,
}

/// Reads a `file` event.
///
/// # Errors
/// When the recipe makes no sense.
pub fn file_plan<R: ReadAt>(log: &mut LogView<R>, seq: Seq) -> Result<FilePlan, StreamError> {
    let event = log.event(seq)?;
    let entry: FileEntry =
        serde_json::from_slice(event.payload).map_err(|e| StreamError::log(seq, format!("is not a valid file event: {e}")))?;
    let path = bytes_of(entry.path.as_deref(), entry.path_b64.as_deref()).ok_or_else(|| StreamError::log(seq, "has no path"))?;
    let target = match entry.kind {
        FileKind::Link => {
            Some(bytes_of(entry.target.as_deref(), entry.target_b64.as_deref()).ok_or_else(|| StreamError::log(seq, "has no target"))?)
        }
        FileKind::File | FileKind::Rows | FileKind::Folder => None,
    };
    Ok(FilePlan { seq, path: RelPath::new(path), target, entry })
}

/// However small a log is, its files may have so many bytes: a run of zero bytes
/// or of blank lines is a count in a log.
const ALWAYS_ALLOWED: u64 = 1 << 30;

/// Beyond that, files may have so many times the bytes of their log. What repeats
/// itself on disk (snapshots, backups) stands in a log once, and a real session
/// stays well below this.
const ALLOWED_TIMES: u64 = 1_000;

/// Refuses a log whose files would be out of all proportion to it: a few lines
/// can ask for more bytes than any disk has. Attachments do not count; their
/// bytes lie beside the log.
///
/// # Errors
/// When they would, or a `file` event makes no sense.
pub fn check_sizes<R: ReadAt>(log: &mut LogView<R>) -> Result<(), StreamError> {
    let allowed = ALWAYS_ALLOWED.max(log.bytes().saturating_mul(ALLOWED_TIMES));
    let mut all = 0u64;
    for seq in log.files().to_vec() {
        let plan = file_plan(log, seq)?;
        if plan.entry.blob.is_none() {
            all = all.saturating_add(plan.entry.size.unwrap_or(0));
        }
        // What is in a compressed file passes through memory.
        all = all.saturating_add(plan.entry.packed.as_ref().map_or(0, |packing| packing.size));
        if all > allowed {
            return Err(StreamError::OutOfProportion { seq, bytes: all, log: log.bytes() });
        }
    }
    Ok(())
}

/// Rebuilds one regular file's bytes into a sink. A companion that lies in a
/// blob is not rebuilt from the log: the caller has its hash.
///
/// # Errors
/// When the log does not say how, or the sink refuses.
pub fn rebuild<R: ReadAt>(
    log: &mut LogView<R>,
    plan: &FilePlan,
    make_renderer: MakeRenderer<'_>,
    sink: &mut dyn ByteSink,
) -> Result<(), StreamError> {
    if let Some(content) = &plan.entry.content {
        return sink.bytes(content.as_bytes());
    }
    let Some(packing) = &plan.entry.packed else {
        return rebuild_plain(log, plan, plan.entry.size, make_renderer, sink);
    };
    let mut plain = Unpacked(Vec::new());
    rebuild_plain(log, plan, Some(packing.size), make_renderer, &mut plain)?;
    let packed = packing.pack(&plain.0).map_err(|source| StreamError::Io { doing: "compress a rebuilt file", source })?;
    if plan.entry.size.is_some_and(|size| packed.len() as u64 > size) {
        return Err(StreamError::TooLong);
    }
    sink.comes_from(plan.seq);
    sink.bytes(&packed)
}

/// What is inside of a compressed file.
struct Unpacked(Vec<u8>);

impl ByteSink for Unpacked {
    fn bytes(&mut self, bytes: &[u8]) -> Result<(), StreamError> {
        self.0.extend_from_slice(bytes);
        Ok(())
    }
}

/// Rebuilds what the pieces of a file make: so many bytes.
fn rebuild_plain<R: ReadAt>(
    log: &mut LogView<R>,
    plan: &FilePlan,
    size: Option<u64>,
    make_renderer: MakeRenderer<'_>,
    sink: &mut dyn ByteSink,
) -> Result<(), StreamError> {
    let (Some(holds), Some(recipe)) = (&plan.entry.holds, &plan.entry.recipe) else {
        return Err(StreamError::log(plan.seq, "says neither what the file holds nor its content"));
    };
    let unreadable = || StreamError::log(plan.seq, "has a recipe that cannot be read");
    let pieces = pieces(Value::trusted(recipe.get().as_bytes())).ok_or_else(unreadable)?;
    let style = plan.entry.style.as_ref().map(|style| style.get());
    let mut renderer = make_renderer(holds, style, log.shapes())
        .ok_or_else(|| StreamError::log(plan.seq, format!("holds `{holds}`, which is unknown")))?;
    let size = size.ok_or_else(|| StreamError::log(plan.seq, "does not say how long the file is"))?;
    let work = size.saturating_add(log.bytes()).saturating_mul(WORK_PER_BYTE).saturating_add(WORK_FOR_ANY);
    let mut lines = Lines { sink, line_end: b"\n".to_vec(), left: size, work };
    // A renderer that stops at a piece of the recipe names no event: it is the file's.
    let in_recipe = |error| {
        if let StreamError::Log { seq, what } = &error
            && seq.is_root()
        {
            return StreamError::log(plan.seq, what.as_str());
        }
        error
    };
    for piece in pieces {
        let piece = piece.ok_or_else(unreadable)?;
        lines.work(1)?;
        // What no other event says stands in the recipe itself.
        lines.sink.comes_from(plan.seq);
        match piece {
            Piece::Events(first, last) => events(log, renderer.as_mut(), first, last, &mut lines).map_err(in_recipe)?,
            Piece::Gap { bytes, times } => {
                if (bytes.len() as u64).checked_mul(times).is_none_or(|all| all > lines.left) {
                    return Err(StreamError::TooLong);
                }
                lines.repeated(bytes.as_bytes(), times)?;
            }
            Piece::Residual(seq) => residual(log, renderer.as_mut(), seq, &mut lines).map_err(in_recipe)?,
            Piece::LineEnd(end) => lines.line_end = end.into_bytes(),
            Piece::Own(piece) => renderer.render_own(log, piece, &mut lines).map_err(in_recipe)?,
        }
    }
    Ok(())
}

fn events<R: ReadAt>(
    log: &mut LogView<R>,
    renderer: &mut dyn RecordRenderer,
    first: Seq,
    last: Seq,
    lines: &mut Lines<'_>,
) -> Result<(), StreamError> {
    if last > log.last() {
        return Err(StreamError::log(last, "is named in a recipe and not in the log"));
    }
    let mut seq = first;
    while seq <= last {
        lines.sink.comes_from(seq);
        lines.work(log.line_bytes(seq))?;
        if log.kind(seq) == EventKind::Damage {
            let payload = log.event(seq)?.payload;
            let damage: Damage =
                serde_json::from_slice(payload).map_err(|e| StreamError::log(seq, format!("is not a valid damage event: {e}")))?;
            let bytes = damage.bytes().ok_or_else(|| StreamError::log(seq, "holds no bytes"))?;
            let pieces = bytes.pieces().ok_or_else(|| StreamError::log(seq, "has runs of zero bytes that are out of order"))?;
            for (bytes, zeros) in pieces {
                lines.raw(bytes)?;
                lines.repeated(b"\0", zeros)?;
            }
        } else {
            renderer.render(log, seq, lines)?;
        }
        seq = seq.next();
    }
    Ok(())
}

/// A residual counts as long as its events still render to what they did when
/// it was taken; after a change the rendering counts.
fn residual<R: ReadAt>(
    log: &mut LogView<R>,
    renderer: &mut dyn RecordRenderer,
    seq: Seq,
    lines: &mut Lines<'_>,
) -> Result<(), StreamError> {
    lines.work(log.line_bytes(seq))?;
    let payload = log.event(seq)?.payload;
    let kept: Residual =
        serde_json::from_slice(payload).map_err(|e| StreamError::log(seq, format!("is not a valid residual event: {e}")))?;
    let bytes = bytes_of(kept.text.as_deref(), kept.b64.as_deref()).ok_or_else(|| StreamError::log(seq, "holds no bytes"))?;
    // A rendering may be longer than the record that it stands beside.
    let mut rendered = Collect(Vec::new(), lines.left.saturating_mul(4).saturating_add(1 << 20));
    let (first, last) = kept.of;
    if last > log.last() || last.number().saturating_sub(first.number()) > 1 << 20 {
        return Err(StreamError::log(seq, "is of events that are not in the log"));
    }
    match &kept.piece {
        Some(piece) => renderer.render_own(log, piece.get().as_bytes(), &mut rendered)?,
        None => {
            let mut of = first;
            while of <= last {
                lines.work(log.line_bytes(of))?;
                renderer.render(log, of, &mut rendered)?;
                of = of.next();
            }
        }
    }
    lines.work(rendered.0.len() as u64)?;
    let is_kept = residual_digest(&rendered.0) == kept.digest;
    lines.sink.comes_from(if is_kept { seq } else { last });
    let bytes = if is_kept { bytes } else { rendered.0 };
    lines.raw(&bytes)?;
    if kept.piece.is_some() { Ok(()) } else { lines.end_line() }
}

/// Records in memory, without line ends.
#[derive(Debug, Default)]
struct Collect(Vec<u8>, u64);

impl RecordSink for Collect {
    fn room(&self) -> u64 {
        self.1.saturating_sub(self.0.len() as u64)
    }

    fn record(&mut self, record: &[u8]) -> Result<(), StreamError> {
        self.text(record)
    }

    fn text(&mut self, text: &[u8]) -> Result<(), StreamError> {
        if text.len() as u64 > self.room() {
            return Err(StreamError::TooLong);
        }
        self.0.extend_from_slice(text);
        Ok(())
    }
}

/// Puts line ends after records and stops when a file outgrows the size that
/// its log records: repeats in a hostile log could go on for ever.
struct Lines<'a> {
    sink: &'a mut dyn ByteSink,
    line_end: Vec<u8>,
    left: u64,
    /// How many bytes of events may still be looked at.
    work: u64,
}

/// A file of this size, from a log of that size, may look at so many bytes of
/// events for each of theirs: a record in the log can be longer than in its file,
/// and one that is there twice is looked at twice. A hostile recipe could look at
/// events for ever that render to nothing.
const WORK_PER_BYTE: u64 = 16;
/// A file may look at so many bytes of events, whatever the sizes.
const WORK_FOR_ANY: u64 = 1 << 20;

/// Repeated bytes are handed on in pieces of about this size.
const PIECE: usize = 64 * 1024;

impl Lines<'_> {
    fn work(&mut self, bytes: u64) -> Result<(), StreamError> {
        self.work = self.work.checked_sub(bytes.max(1)).ok_or(StreamError::TooMuchWork)?;
        Ok(())
    }

    /// Hands on the bytes so many times, unless the file has no room for all of them.
    fn repeated(&mut self, bytes: &[u8], times: u64) -> Result<(), StreamError> {
        let all = (bytes.len() as u64).checked_mul(times).ok_or(StreamError::TooLong)?;
        if all > self.left {
            return Err(StreamError::TooLong);
        }
        if all == 0 {
            return Ok(());
        }
        let at_once = (PIECE / bytes.len()).max(1) as u64;
        let piece = bytes.repeat(usize::try_from(at_once.min(times)).unwrap_or(1));
        let mut left = times;
        while left >= at_once {
            self.raw(&piece)?;
            left -= at_once;
        }
        let rest = usize::try_from(left).unwrap_or(0) * bytes.len();
        self.raw(&piece[..rest.min(piece.len())])
    }

    fn raw(&mut self, bytes: &[u8]) -> Result<(), StreamError> {
        self.left = self.left.checked_sub(bytes.len() as u64).ok_or(StreamError::TooLong)?;
        self.sink.bytes(bytes)
    }

    fn end_line(&mut self) -> Result<(), StreamError> {
        let end = std::mem::take(&mut self.line_end);
        let done = self.raw(&end);
        self.line_end = end;
        done
    }
}

impl RecordSink for Lines<'_> {
    fn room(&self) -> u64 {
        self.left
    }

    fn record(&mut self, record: &[u8]) -> Result<(), StreamError> {
        self.left = self.left.checked_sub(record.len() as u64).ok_or(StreamError::TooLong)?;
        self.sink.record(record)?;
        self.end_line()
    }

    fn text(&mut self, text: &[u8]) -> Result<(), StreamError> {
        self.raw(text)
    }
}
