//! Whole files: legacy sessions, their backups, and meta files.

use crate::adapters::kit::document::{self, Document, DocumentPiece, Frame};
use crate::adapters::kit::place::Placing;
use crate::adapters::kit::salvage::{DamageKind, LineEnd, dissect};
use crate::json::{self, Dialect, Escapes, ScanError};
use crate::model::files::RelPath;
use crate::model::finding::FindingCode;
use crate::model::ids::Seq;
use crate::model::location::Location;
use crate::model::recipe::RecipeBuilder;
use crate::model::stream::StreamError;
use crate::runtimes::go::{KeyForm, MAX_DEPTH, Rejection, whole_value};

use super::decode::{self, Depth, Legacy, Meta};
use super::list::{List, Placed, damage, gap};
use super::normal::{Record, Sight};
use super::reader::Reader;
use super::wire::{DEPTH_IN_LEGACY, HOLDS_LEGACY, HOLDS_META, LEGACY, META, WHOLE, style_of};

/// What the program says of a legacy file that it cannot read.
pub(super) const UNDECODABLE: &str = "legacy file cannot be decoded";

/// Why a record cut out of such a file is not seen.
const SALVAGED: &str = "salvaged from a broken file";

/// What a legacy file is to the program.
pub(super) type Decoded<'a> = Option<Legacy<'a>>;

/// Returns a file name as a JSON string of the log.
fn quoted(path: &RelPath) -> String {
    let mut out = Vec::new();
    json::push_string(&path.to_string(), &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// Decodes a meta file; an error is what the program would stumble over.
pub(super) fn decode_meta(bytes: &[u8]) -> Result<Meta<'_>, Rejection> {
    if whole_value(bytes)?.is_null() {
        return decode::meta(&[]);
    }
    let mut members = Vec::new();
    match json::scan_object(bytes, Dialect::Strict, &mut members) {
        Ok(_) => decode::meta(&members),
        Err(_) => Err(Rejection::wrong_type("meta")),
    }
}

impl<'a> Reader<'a, '_> {
    /// A meta file as one event, from which it is rendered again.
    pub(super) fn meta_file(&mut self, path: &'a RelPath, bytes: &'a [u8]) -> Result<(), StreamError> {
        let mut recipe = RecipeBuilder::default();
        let Ok(parsed) = Document::parse(bytes, Dialect::Strict, &META) else {
            if !bytes.is_empty() {
                let seq = self.to.put_damage(path, 1, 0, DamageKind::NotJson.word(), bytes)?;
                recipe.events(seq, seq, |_, _| false);
            }
            self.to.rebuilt(path, HOLDS_META, None, recipe);
            return Ok(());
        };
        let style = style_of(bytes, parsed.separators());
        let mut payload = parsed.payload(&META, &[("file", &quoted(path))], style.escapes);
        payload.push(b'}');
        let frame = Frame::put(&mut self.to, &META, &payload, style)?;
        for piece in parsed.pieces() {
            match piece {
                DocumentPiece::Part(n, bytes) => frame.part(&mut self.to, &mut recipe, n, bytes)?,
                DocumentPiece::Gap(bytes) => recipe.gap(&String::from_utf8_lossy(bytes)),
                DocumentPiece::Record { .. } => {}
            }
        }
        self.to.rebuilt(path, HOLDS_META, style.unless(WHOLE), recipe);
        Ok(())
    }

    /// Returns a legacy session; `placing` says whose list it is. Returns what the
    /// program makes of what stands around the messages, if it takes the file.
    pub(super) fn legacy_file(
        &mut self,
        path: &'a RelPath,
        bytes: &'a [u8],
        placing: Placing,
    ) -> Result<(usize, Decoded<'a>), StreamError> {
        self.parsed_file(path, bytes, Document::parse(bytes, Dialect::Strict, &LEGACY), placing)
    }

    /// Puts a legacy file that was parsed, and returns the number of its messages and
    /// what it was decoded to.
    pub(super) fn parsed_file(
        &mut self,
        path: &'a RelPath,
        bytes: &'a [u8],
        parsed: Result<Document<'a>, ScanError>,
        placing: Placing,
    ) -> Result<(usize, Decoded<'a>), StreamError> {
        match parsed {
            Ok(parsed) if parsed.facts.depth <= MAX_DEPTH => self.document(path, bytes, &parsed, placing),
            Ok(_) => self.broken(path, bytes, Rejection::TooDeep, placing),
            Err(error) => match whole_value(bytes) {
                Ok(value) if value.is_null() => self.nothing(path, bytes, placing),
                Ok(_) => self.broken(path, bytes, Rejection::wrong_type("session"), placing),
                Err(Rejection::TooDeep) => self.broken(path, bytes, Rejection::TooDeep, placing),
                Err(_) => self.broken(path, bytes, Rejection::NotJson(error), placing),
            },
        }
    }

    fn document(
        &mut self,
        path: &'a RelPath,
        bytes: &'a [u8],
        parsed: &Document<'a>,
        placing: Placing,
    ) -> Result<(usize, Decoded<'a>), StreamError> {
        let style = style_of(bytes, parsed.separators());
        let mut decoded = match decode::legacy(parsed.all.iter().copied(), Depth::Frame) {
            Ok((_, KeyForm::Odd)) => return self.odd(path, bytes, parsed, placing),
            Ok((legacy, KeyForm::Plain)) => Some(legacy),
            Err(rejection) => {
                self.note_rejected(path, 1, 1, rejection);
                None
            }
        };
        let mut payload = parsed.payload(&LEGACY, &[("file", &quoted(path))], style.escapes);
        payload.push(b'}');
        let frame = Frame::put(&mut self.to, &LEGACY, &payload, style)?;
        let mut list = List::new(path, bytes, style, DEPTH_IN_LEGACY, placing);
        let mut lines = LineCounter::new(bytes);
        let is_text = std::str::from_utf8(bytes).is_ok();
        // What is not a time here may be one in lines with the same bytes.
        let may_lack_times = memchr::memmem::find(bytes, b"\"000").is_some();
        for piece in parsed.pieces() {
            match piece {
                DocumentPiece::Part(n, bytes) => {
                    super::list::close_damage(&mut self.to, &mut list)?;
                    frame.part(&mut self.to, &mut list.recipe, n, bytes)?;
                }
                DocumentPiece::Gap(bytes) => gap(&mut self.to, &mut list, bytes)?,
                DocumentPiece::Record { offset, value, members, end, .. } => {
                    let (line, byte) = lines.at(offset);
                    let placed = Placed { bytes: value.text(), end, line, byte };
                    if !may_lack_times && self.messages.known_bytes(&mut self.to, &mut list, placed)? {
                        continue;
                    }
                    match Record::of_accepted(value, members, if is_text { KeyForm::Plain } else { KeyForm::Odd }) {
                        Ok(record) => {
                            let sight = record.sight();
                            self.messages.record(&mut self.to, &mut list, placed, &record, sight)?;
                        }
                        Err(rejection) => {
                            decoded = None;
                            self.note_rejected(path, line, byte, rejection);
                            damage(&mut self.to, &mut list, line, (offset, offset + value.text().len() + end.len()), DamageKind::Rejected)?;
                        }
                    }
                }
            }
        }
        let len = list.len;
        let (_, recipe) = self.messages.finish(&mut self.to, list)?;
        self.to.rebuilt(path, HOLDS_LEGACY, style.unless(WHOLE), recipe);
        Ok((len, decoded))
    }

    /// Returns a file with a key twice or in other letters: its messages are put as
    /// the program reads them, and its bytes are kept beside them as a whole.
    fn odd(
        &mut self,
        path: &'a RelPath,
        bytes: &'a [u8],
        parsed: &Document<'a>,
        placing: Placing,
    ) -> Result<(usize, Decoded<'a>), StreamError> {
        let legacy = match decode::legacy(parsed.all.iter().copied(), Depth::Messages) {
            Ok((legacy, _)) => legacy,
            Err(rejection) => return self.broken(path, bytes, rejection, placing),
        };
        let mut payload = parsed.payload(&LEGACY, &[("file", &quoted(path))], Escapes::Go);
        payload.push(b'}');
        let frame = Frame::put(&mut self.to, &LEGACY, &payload, WHOLE)?;
        let mut list = List::new(path, bytes, WHOLE, DEPTH_IN_LEGACY, placing);
        let first = self.to.events.next();
        let mut rendered = Vec::new();
        for message in legacy.messages.items() {
            let mut message = message.clone();
            message.forget_zero_time();
            let record = Record { members: Vec::new(), message, form: KeyForm::Odd };
            self.messages.unbound(&mut self.to, &mut list, &record, &mut rendered)?;
        }
        let last = self.to.events.next();
        let len = list.len;
        self.messages.finish(&mut self.to, list)?;
        let mut recipe = RecipeBuilder::default();
        recipe.line_end("");
        let count = if first < last {
            let last = Seq::new(last.number() - 1);
            self.to.residual((first, last), &rendered, bytes)
        } else {
            let piece = format!("{{\"doc\":{},\"part\":0}}", frame.event());
            let rendered = document::first_part(&LEGACY, &payload, WHOLE);
            self.to.residual_piece(frame.event(), piece, &rendered, bytes)?
        };
        recipe.residual(count);
        self.to.rebuilt(path, HOLDS_LEGACY, None, recipe);
        Ok((len, Some(legacy)))
    }

    /// `null`, which the program takes for an empty session.
    fn nothing(&mut self, path: &'a RelPath, bytes: &'a [u8], placing: Placing) -> Result<(usize, Decoded<'a>), StreamError> {
        let mut list = List::new(path, bytes, WHOLE, DEPTH_IN_LEGACY, placing);
        gap(&mut self.to, &mut list, bytes)?;
        let (_, recipe) = self.messages.finish(&mut self.to, list)?;
        self.to.rebuilt(path, HOLDS_LEGACY, None, recipe);
        Ok((0, decode::legacy(std::iter::empty(), Depth::Frame).ok().map(|(legacy, _)| legacy)))
    }

    /// Returns a file that the program skips. Complete messages in it are kept as
    /// such, hidden from it.
    fn broken(
        &mut self,
        path: &'a RelPath,
        bytes: &'a [u8],
        rejection: Rejection,
        placing: Placing,
    ) -> Result<(usize, Decoded<'a>), StreamError> {
        if bytes.is_empty() {
            self.to.findings.add(FindingCode::NotJson, Location::file(path.to_string()), "the file is empty");
            return self.nothing(path, bytes, placing).map(|(len, _)| (len, None));
        }
        let mut list = List::new(path, bytes, WHOLE, DEPTH_IN_LEGACY, placing);
        let pieces = dissect(bytes, rejection.at(), LineEnd::FileEnd, Dialect::Strict, &Record::is_whole);
        let ends_early = rejection.at() + 8 >= bytes.len() && bytes.starts_with(b"{");
        let kind = match rejection {
            Rejection::NotJson(_) if ends_early => DamageKind::TornTail,
            Rejection::NotJson(_) => DamageKind::NotJson,
            Rejection::TooDeep | Rejection::Type(_) => DamageKind::Rejected,
        };
        let salvaged = pieces.iter().filter(|piece| piece.damage.is_none()).count();
        let what = if kind == DamageKind::TornTail { "the file was cut off".to_owned() } else { rejection.because() };
        let message = match salvaged {
            0 => format!("{what}; kept as damage"),
            1 => format!("{what}; 1 complete message was cut out of it, the rest is kept as damage"),
            n => format!("{what}; {n} complete messages were cut out of it, the rest is kept as damage"),
        };
        self.to.findings.add(kind.finding(), Location::of_offset(path.to_string(), bytes, rejection.at()), message);
        let mut lines = LineCounter::new(bytes);
        let is_separator = |piece: &[u8]| piece.iter().all(|b| matches!(b, b' ' | b'\t' | b'\r' | b'\n' | b','));
        let mut pieces = pieces.into_iter().peekable();
        while let Some(piece) = pieces.next() {
            let (line, byte) = lines.at(piece.start);
            if piece.damage.is_some() {
                damage(&mut self.to, &mut list, line, (piece.start, piece.end), kind)?;
                continue;
            }
            let after = pieces.next_if(|next| next.damage.is_some() && is_separator(&bytes[next.start..next.end]));
            let end = after.map_or(&[][..], |next| &bytes[next.start..next.end]);
            let placed = Placed { bytes: &bytes[piece.start..piece.end], end, line, byte };
            if let Ok(record) = Record::decode(placed.bytes) {
                self.messages.record(&mut self.to, &mut list, placed, &record, Sight::Hidden(SALVAGED))?;
            }
        }
        let len = list.len;
        let (_, recipe) = self.messages.finish(&mut self.to, list)?;
        self.to.rebuilt(path, HOLDS_LEGACY, None, recipe);
        Ok((len, None))
    }

    fn note_rejected(&mut self, path: &RelPath, line: u64, byte: u64, rejection: Rejection) {
        let message = format!("picoclaw does not take this record, nor the file that it is in: {}", rejection.because());
        self.to.findings.add(FindingCode::RejectedRecord, Location::at(path.to_string(), line, byte), message);
    }
}

/// Counts lines along a file, so that no place costs a count from its start.
struct LineCounter<'a> {
    bytes: &'a [u8],
    at: usize,
    line: u64,
    line_start: usize,
}

impl<'a> LineCounter<'a> {
    fn new(bytes: &'a [u8]) -> LineCounter<'a> {
        LineCounter { bytes, at: 0, line: 1, line_start: 0 }
    }

    /// Line and byte, from 1, of an offset that is not before the last one.
    fn at(&mut self, offset: usize) -> (u64, u64) {
        for newline in memchr::memchr_iter(b'\n', &self.bytes[self.at..offset]) {
            self.line += 1;
            self.line_start = self.at + newline + 1;
        }
        self.at = offset;
        (self.line, (offset - self.line_start) as u64 + 1)
    }
}
