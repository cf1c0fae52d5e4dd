//! A `.jsonl` file: messages on lines, of which the meta file may say that the
//! first so many no longer count.

use crate::adapters::kit::place::Placing;
use crate::adapters::kit::salvage::{DamageKind, LineEnd, dissect};
use crate::json::{Dialect, Style};
use crate::model::event::{Body, Draft, EventKind, Hide, to_log_json};
use crate::model::files::RelPath;
use crate::model::finding::FindingCode;
use crate::model::heads::{HeadName, HeadOp};
use crate::model::ids::Seq;
use crate::model::jsonl::{Line, Lines, Newlines};
use crate::model::location::Location;
use crate::model::stream::StreamError;
use crate::runtimes::go::{Rejection, TOKEN_TOO_LONG};

use super::list::{List, Placed, damage, gap};
use super::normal::{Record, Sight};
use super::reader::Reader;
use super::wire::{HOLDS_LINES, LINES, style_of};

/// A line with this many bytes before its `\n` is more than the program's
/// scanner takes.
const TOO_LONG: usize = 10 * 1024 * 1024;

/// What the program says of a session with such a line, before the cause.
const BAD_LINES: &str = "memory: scan jsonl";

/// Why a record cut out of a rejected line is not seen.
const SALVAGED: &str = "salvaged from a broken line";

impl<'a> Reader<'a, '_> {
    /// Reads the lines; the first `skip` that are not empty are hidden.
    /// Returns how many are not empty.
    pub(super) fn lines(&mut self, path: &'a RelPath, bytes: &'a [u8], skip: u64) -> Result<u64, StreamError> {
        let style = style_of(bytes, Style::of_file(bytes, LINES).separators);
        let mut list = List::new(path, bytes, style, 0, Placing::without_head());
        let (mut counted, mut up_to) = (0, Seq::ROOT);
        for line in Lines::new(bytes, Newlines::LineFeed) {
            let line = without_return(line);
            if line.text.is_empty() {
                gap(&mut self.to, &mut list, line.end)?;
                continue;
            }
            counted += 1;
            self.note_length(path, line);
            self.line(&mut list, line)?;
            if counted <= skip {
                up_to = Seq::ROOT;
            }
            if counted == skip {
                up_to = self.messages.node(&mut self.to, &mut list)?;
            }
        }
        if skip > counted {
            up_to = self.messages.node(&mut self.to, &mut list)?;
        }
        let is_empty = list.len == 0;
        let (node, recipe) = self.messages.finish(&mut self.to, list)?;
        if is_empty {
            self.to.put_head(&HeadName::main(), node, HeadOp::Branch)?;
        }
        if !up_to.is_root() {
            let hide = Hide { up_to, why: "skip".to_owned() };
            let payload = to_log_json(&hide).map_err(|error| StreamError::Io { doing: "write the log", source: error.into() })?;
            self.to.events.put(Draft { ts: None, parent: Some(node), body: Body::Json(EventKind::Hide, &payload) })?;
        }
        self.to.rebuilt(path, HOLDS_LINES, style.unless(LINES), recipe);
        Ok(counted)
    }

    fn note_length(&mut self, path: &RelPath, line: Line<'_>) {
        let newline = usize::from(line.end.ends_with(b"\n"));
        let length = line.text.len() + line.end.len() - newline;
        if length >= TOO_LONG {
            let place = Location::at(path.to_string(), line.number, 1);
            let message =
                format!("a line of {length} bytes: picoclaw writes such lines and cannot read them, nor anything else of the session");
            self.to.findings.add(FindingCode::LoaderFails, place, message);
            self.outcome.error.get_or_insert_with(|| format!("{BAD_LINES}: {TOKEN_TOO_LONG}"));
        }
    }

    fn line(&mut self, list: &mut List<'a>, line: Line<'a>) -> Result<(), StreamError> {
        let placed = Placed { bytes: line.text, end: line.end, line: line.number, byte: 1 };
        if self.messages.known_bytes(&mut self.to, list, placed)? {
            return Ok(());
        }
        match Record::decode(line.text) {
            Ok(record) => {
                let sight = record.sight();
                self.messages.record(&mut self.to, list, placed, &record, sight)?;
                Ok(())
            }
            // White space that is not nothing: it counts, and says nothing.
            Err(_) if line.text.trim_ascii().is_empty() => {
                gap(&mut self.to, list, &list.bytes[line.offset..line.offset + line.text.len() + line.end.len()])
            }
            Err(rejection) => self.rejected(list, line, rejection),
        }
    }

    /// A line that the loader skips. Complete records in it are kept as
    /// such, hidden from it.
    fn rejected(&mut self, list: &mut List<'a>, line: Line<'a>, rejection: Rejection) -> Result<(), StreamError> {
        let text = line.text;
        let end = if line.end.ends_with(b"\n") { LineEnd::Newline } else { LineEnd::FileEnd };
        let pieces = match rejection {
            Rejection::NotJson(error) => dissect(text, error.at, end, Dialect::Strict, &Record::is_whole),
            Rejection::TooDeep | Rejection::Type(_) => Vec::new(),
        };
        let kind = pieces.iter().find_map(|piece| piece.damage).unwrap_or(match rejection {
            Rejection::NotJson(_) => DamageKind::Fused,
            Rejection::TooDeep | Rejection::Type(_) => DamageKind::Rejected,
        });
        let salvaged = pieces.iter().filter(|piece| piece.damage.is_none()).count();
        let mut sentence = kind.sentence("picoclaw", &rejection.because());
        if salvaged > 0 {
            let records = if salvaged == 1 { "a complete record".to_owned() } else { format!("{salvaged} complete records") };
            sentence.push_str(&format!("; {records} on it, lost to picoclaw, can be seen with `everlog replay --salvage`"));
        }
        let place = Location::at(list.path.to_string(), line.number, rejection.at().min(text.len()) as u64 + 1);
        self.to.findings.add(kind.finding(), place, sentence);
        let whole = (line.offset, line.offset + text.len() + line.end.len());
        if salvaged == 0 {
            return damage(&mut self.to, list, line.number, whole, kind);
        }
        let last = pieces.len() - 1;
        for (n, piece) in pieces.into_iter().enumerate() {
            let line_end: &[u8] = if n == last { line.end } else { b"" };
            match piece.damage {
                Some(kind) => {
                    let to = line.offset + piece.end + line_end.len();
                    damage(&mut self.to, list, line.number, (line.offset + piece.start, to), kind)?;
                }
                None => {
                    let bytes = &text[piece.start..piece.end];
                    let placed = Placed { bytes, end: line_end, line: line.number, byte: piece.start as u64 + 1 };
                    if let Ok(record) = Record::decode(bytes) {
                        self.messages.record(&mut self.to, list, placed, &record, Sight::Hidden(SALVAGED))?;
                    }
                }
            }
        }
        Ok(())
    }
}

/// Returns a `\r` at the very end of a file belongs to the end of its line too.
fn without_return(line: Line<'_>) -> Line<'_> {
    match line.text.split_last() {
        Some((b'\r', text)) if line.end.is_empty() => Line { text, end: &line.text[text.len()..], ..line },
        _ => line,
    }
}
