//! From a log back to files: walks each file's recipe and lets the adapter
//! render the records.

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
    /// The same.
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
/// When it is none that makes sense.
pub fn file_plan<R: ReadAt>(log: &mut LogView<R>, seq: Seq) -> Result<FilePlan, StreamError> {
    let event = log.event(seq)?;
    let entry: FileEntry = serde_json::from_slice(event.payload).map_err(|e| StreamError::log(seq, format!("is no file event: {e}")))?;
    let path = bytes_of(entry.path.as_deref(), entry.path_b64.as_deref()).ok_or_else(|| StreamError::log(seq, "has no path"))?;
    let target = match entry.kind {
        FileKind::Link => {
            Some(bytes_of(entry.target.as_deref(), entry.target_b64.as_deref()).ok_or_else(|| StreamError::log(seq, "has no target"))?)
        }
        FileKind::File | FileKind::Folder => None,
    };
    Ok(FilePlan { seq, path: RelPath::new(path), target, entry })
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
    let (Some(holds), Some(recipe)) = (&plan.entry.holds, &plan.entry.recipe) else {
        return Err(StreamError::log(plan.seq, "says neither what the file holds nor its content"));
    };
    let pieces = pieces(recipe.get().as_bytes()).ok_or_else(|| StreamError::log(plan.seq, "has a recipe that cannot be read"))?;
    let style = plan.entry.style.as_ref().map(|style| style.get());
    let mut renderer = make_renderer(holds, style, log.shapes())
        .ok_or_else(|| StreamError::log(plan.seq, format!("holds `{holds}`, which is unknown")))?;
    let size = plan.entry.size.ok_or_else(|| StreamError::log(plan.seq, "does not say how long the file is"))?;
    let mut lines = Lines { sink, line_end: b"\n".to_vec(), left: size };
    for piece in pieces {
        // What no other event says stands in the recipe itself.
        lines.sink.comes_from(plan.seq);
        match piece {
            Piece::Events(first, last) => events(log, renderer.as_mut(), first, last, &mut lines)?,
            Piece::Gap { bytes, times } => {
                if (bytes.len() as u64).checked_mul(times).is_none_or(|all| all > lines.left) {
                    return Err(StreamError::TooLong);
                }
                let times = if bytes.is_empty() { 0 } else { times };
                (0..times).try_for_each(|_| lines.raw(bytes.as_bytes()))?;
            }
            Piece::Residual(seq) => residual(log, renderer.as_mut(), seq, &mut lines)?,
            Piece::LineEnd(end) => lines.line_end = end.into_bytes(),
            Piece::Own(piece) => renderer.render_own(log, piece, &mut lines)?,
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
        if log.kind(seq) == EventKind::Damage {
            let payload = log.event(seq)?.payload;
            let damage: Damage = serde_json::from_slice(payload).map_err(|e| StreamError::log(seq, format!("is no damage event: {e}")))?;
            let bytes = bytes_of(damage.text.as_deref(), damage.b64.as_deref());
            lines.raw(&bytes.ok_or_else(|| StreamError::log(seq, "holds no bytes"))?)?;
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
    let payload = log.event(seq)?.payload;
    let kept: Residual = serde_json::from_slice(payload).map_err(|e| StreamError::log(seq, format!("is no residual event: {e}")))?;
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
                renderer.render(log, of, &mut rendered)?;
                of = of.next();
            }
        }
    }
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
        self.0.extend_from_slice(text);
        Ok(())
    }
}

/// Puts line ends behind records and stops when a file outgrows the size that
/// its log records: repeats in a hostile log could go on for ever.
struct Lines<'a> {
    sink: &'a mut dyn ByteSink,
    line_end: Vec<u8>,
    left: u64,
}

impl Lines<'_> {
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
