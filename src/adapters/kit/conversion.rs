//! What the conversion of any format needs: events and findings go out, and at
//! the end shapes, residuals and one line for each file.

use std::collections::{BTreeMap, HashMap};

use crate::adapters::format::{Check, ReadSummary};
use crate::model::digest::residual_digest;
use crate::model::event::{Body, Damage, DamagedBytes, Draft, EventKind, FileEntry, FileKind, Residual, text_or_b64, to_log_json};
use crate::model::files::{Entry, Files, RelPath};
use crate::model::finding::Findings;
use crate::model::heads::{Head, HeadName, HeadOp};
use crate::model::ids::Seq;
use crate::model::packing::Packing;
use crate::model::recipe::RecipeBuilder;
use crate::model::shape::Order;
use crate::model::stream::{EventSink, StreamError};

/// Companions up to this size stand in the log as text.
const LONGEST_CONTENT: usize = 64 * 1024;

/// One conversion in progress.
pub(in crate::adapters) struct Conversion<'a, 's> {
    pub files: &'a Files,
    pub check: Check,
    pub events: &'s mut dyn EventSink,
    pub findings: &'s mut Findings,
    pub summary: ReadSummary,
    residuals: Vec<Residual>,
    residual_of: HashMap<(Seq, Seq, &'a [u8]), u32>,
    recipes: BTreeMap<&'a RelPath, Rebuilding>,
}

/// How a file with records is rebuilt.
struct Rebuilding {
    holds: &'static str,
    style: Option<String>,
    recipe: RecipeBuilder,
    packed: Option<Packing>,
}

impl<'a, 's> Conversion<'a, 's> {
    pub(in crate::adapters) fn new(
        files: &'a Files,
        check: Check,
        events: &'s mut dyn EventSink,
        findings: &'s mut Findings,
    ) -> Conversion<'a, 's> {
        Conversion {
            files,
            check,
            events,
            findings,
            summary: ReadSummary::default(),
            residuals: Vec::new(),
            residual_of: HashMap::new(),
            recipes: BTreeMap::new(),
        }
    }

    /// Puts an event whose payload is in log form already.
    pub(in crate::adapters) fn put(
        &mut self,
        kind: EventKind,
        ts: Option<&str>,
        parent: Option<Seq>,
        payload: &[u8],
    ) -> Result<Seq, StreamError> {
        self.events.put(Draft { ts, parent, body: Body::Json(kind, payload) })
    }

    pub(in crate::adapters) fn put_json<T: serde::Serialize>(&mut self, kind: EventKind, payload: &T) -> Result<Seq, StreamError> {
        let payload = to_log_json(payload).map_err(not_json)?;
        self.put(kind, None, None, &payload)
    }

    pub(in crate::adapters) fn put_head(&mut self, head: &HeadName, node: Seq, op: HeadOp) -> Result<(), StreamError> {
        let head = Head::to(head, node, op);
        self.events.put(Draft { ts: None, parent: None, body: Body::Head(&head) })?;
        Ok(())
    }

    /// Puts bytes that the loader rejects.
    pub(in crate::adapters) fn put_damage(
        &mut self,
        path: &RelPath,
        line: u64,
        offset: usize,
        reason: &str,
        bytes: &[u8],
    ) -> Result<Seq, StreamError> {
        let DamagedBytes { nul, rest } = DamagedBytes::of(bytes);
        let (text, b64) = if rest.is_empty() && !nul.is_empty() { (None, None) } else { text_or_b64(&rest) };
        let damage = Damage { file: path.to_string(), line, offset: offset as u64, reason: reason.to_owned(), nul, text, b64 };
        self.put_json(EventKind::Damage, &damage)
    }

    /// Returns the count of the residual that keeps a record which `rendered` is not.
    pub(in crate::adapters) fn residual(&mut self, of: (Seq, Seq), rendered: &[u8], record: &'a [u8]) -> u32 {
        let residuals = &mut self.residuals;
        let summary = &mut self.summary;
        *self.residual_of.entry((of.0, of.1, record)).or_insert_with(|| {
            let (text, b64) = text_or_b64(record);
            residuals.push(Residual { of, piece: None, digest: residual_digest(rendered), text, b64 });
            summary.residual_bytes += record.len() as u64;
            residuals.len() as u32 - 1
        })
    }

    /// Returns the count of the residual that keeps the bytes of one piece of a recipe,
    /// which is made of this event and which `rendered` is not.
    pub(in crate::adapters) fn residual_piece(
        &mut self,
        of: Seq,
        piece: String,
        rendered: &[u8],
        bytes: &[u8],
    ) -> Result<u32, StreamError> {
        let (text, b64) = text_or_b64(bytes);
        let piece = Some(raw_json(piece)?);
        self.residuals.push(Residual { of: (of, of), piece, digest: residual_digest(rendered), text, b64 });
        self.summary.residual_bytes += bytes.len() as u64;
        Ok(self.residuals.len() as u32 - 1)
    }

    /// Notes how a file is rebuilt; `style` is JSON, where it is not the usual one.
    pub(in crate::adapters) fn rebuilt(&mut self, path: &'a RelPath, holds: &'static str, style: Option<String>, recipe: RecipeBuilder) {
        self.recipes.insert(path, Rebuilding { holds, style, recipe, packed: None });
    }

    /// Forgets how a file is rebuilt: its bytes are kept as they are.
    pub(in crate::adapters) fn kept_as_it_is(&mut self, path: &RelPath) {
        self.recipes.remove(path);
    }

    /// Notes how a file is compressed, of which it is noted how it is rebuilt.
    pub(in crate::adapters) fn packed(&mut self, path: &RelPath, packing: Packing) {
        if let Some(rebuilding) = self.recipes.get_mut(path) {
            rebuilding.packed = Some(packing);
        }
    }

    /// Shapes, residuals, and one line per file. What has no recipe is a
    /// companion, whose bytes are kept as they are.
    pub(in crate::adapters) fn trailer(mut self, shapes: &[Order]) -> Result<ReadSummary, StreamError> {
        if !shapes.is_empty() {
            let mut payload = b"{\"orders\":[".to_vec();
            for (n, order) in shapes.iter().enumerate() {
                if n > 0 {
                    payload.push(b',');
                }
                order.push_json(&mut payload);
            }
            payload.extend_from_slice(b"]}");
            self.put(EventKind::Shapes, None, None, &payload)?;
        }
        let mut first_residual = Seq::ROOT;
        for residual in std::mem::take(&mut self.residuals) {
            let seq = self.put_json(EventKind::Residual, &residual)?;
            if first_residual.is_root() {
                first_residual = seq;
            }
        }
        let files = self.files;
        for (path, entry) in files.iter() {
            let entry = self.file_entry(path, entry, first_residual)?;
            self.put_json(EventKind::File, &entry)?;
        }
        Ok(self.summary)
    }

    fn file_entry(&mut self, path: &'a RelPath, entry: &Entry, first_residual: Seq) -> Result<FileEntry, StreamError> {
        let (text, b64) = text_or_b64(path.as_bytes());
        let mut line = FileEntry {
            path: text,
            path_b64: b64,
            kind: FileKind::Folder,
            target: None,
            target_b64: None,
            size: None,
            sha256: None,
            holds: None,
            style: None,
            recipe: None,
            packed: None,
            content: None,
            blob: None,
        };
        match entry {
            Entry::EmptyFolder => {}
            Entry::Link { target } => {
                line.kind = FileKind::Link;
                (line.target, line.target_b64) = text_or_b64(target);
            }
            Entry::File(file) | Entry::Rows(file) => {
                line.kind = if matches!(entry, Entry::Rows(_)) { FileKind::Rows } else { FileKind::File };
                line.size = Some(file.bytes.len() as u64);
                let sha256 = self.files.sha256(path).unwrap_or_default().to_owned();
                line.sha256 = Some(sha256.clone());
                self.summary.hashes.insert(path.clone(), sha256.clone());
                if let Some(Rebuilding { holds, style, recipe, packed }) = self.recipes.remove(path) {
                    line.holds = Some(holds.to_owned());
                    line.style = style.map(raw_json).transpose()?;
                    line.recipe = Some(raw_json(recipe.finish(first_residual))?);
                    line.packed = packed;
                } else {
                    match std::str::from_utf8(&file.bytes) {
                        Ok(text) if text.len() <= LONGEST_CONTENT => line.content = Some(text.to_owned()),
                        _ => {
                            line.blob = Some(sha256);
                            self.summary.blobs.push(path.clone());
                        }
                    }
                }
            }
        }
        Ok(line)
    }
}

fn raw_json(text: String) -> Result<Box<serde_json::value::RawValue>, StreamError> {
    serde_json::value::RawValue::from_string(text).map_err(not_json)
}

fn not_json(error: serde_json::Error) -> StreamError {
    StreamError::Io { doing: "write the log", source: error.into() }
}
