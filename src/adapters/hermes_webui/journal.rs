//! Journals, line by line: of turns, and of runs.
//!
//! Their reader breaks lines where Python's `str.splitlines` does, also at
//! characters that stand inside a record; such a record is lost to it. It is
//! whole all the same, and becomes an event that the loader does not see.

use crate::adapters::format::Check;
use crate::adapters::kit::mapping::{NoContent, ParentId, Setting};
use crate::adapters::kit::salvage::{DamageKind, LineEnd, dissect};
use crate::json::{self, Dialect, Member, Separators, Style, Value};
use crate::model::event::{EventKind, EventRef};
use crate::model::files::{RelPath, SourceFile};
use crate::model::finding::FindingCode;
use crate::model::ids::Seq;
use crate::model::jsonl::{Lines, Newlines};
use crate::model::location::Location;
use crate::model::recipe::RecipeBuilder;
use crate::model::stream::{EventSink, StreamError};
use crate::runtimes::python::text::{Span, splitlines, strip};

use super::reader::Reader;
use super::wire::{JOURNAL_STYLE, RUN, RUN_ORDER, TURN_ORDER};
use super::write::{self, JournalRecord, RUNS, TURNS, push_line, turn_table};

const SALVAGED: &[u8] = br#"{"from":["loader"],"why":"salvaged from a line that cannot be read"}"#;
const SPLIT: &[u8] = br#"{"from":["loader"],"why":"its reader breaks the line at a character inside it"}"#;

/// One journal on its way into the log.
pub(super) struct Journal<'a> {
    pub path: &'a RelPath,
    pub kind: EventKind,
    pub style: Style,
    recipe: RecipeBuilder,
    file: &'a [u8],
    damage: Option<Open>,
}

/// Rejected bytes that the next line may still add to.
struct Open {
    line: u64,
    start: usize,
    end: usize,
    kind: DamageKind,
}

/// Bytes that stand for one line of a journal.
#[derive(Clone, Copy)]
struct Piece<'a> {
    number: u64,
    /// Where it begins in its line, and in the file.
    column: usize,
    offset: usize,
    text: &'a [u8],
    end: &'a [u8],
}

impl<'a> Reader<'a, '_> {
    pub(super) fn journal(&mut self, path: &'a RelPath, file: &'a SourceFile, kind: EventKind) -> Result<(), StreamError> {
        let style = style_of(&file.bytes);
        let mut journal = Journal { path, kind, style, recipe: RecipeBuilder::default(), file: &file.bytes, damage: None };
        for line in Lines::new(&file.bytes, Newlines::LineFeed) {
            let whole = Piece { number: line.number, column: 0, offset: line.offset, text: line.text, end: line.end };
            let is_broken = breaks(line.text);
            if !is_broken || is_object(line.text) {
                self.line(&mut journal, whole, is_broken.then_some(SPLIT))?;
                continue;
            }
            for Span { start: at, len, end_len: end } in splitlines(line.text) {
                let is_last = at + len + end == line.text.len();
                let end = if is_last && end == 0 { line.end } else { &line.text[at + len..at + len + end] };
                let piece = Piece { column: at, offset: line.offset + at, text: &line.text[at..at + len], end, ..whole };
                self.line(&mut journal, piece, None)?;
                if is_last && !end.is_empty() && end.as_ptr() != line.end.as_ptr() && !line.end.is_empty() {
                    self.close(&mut journal)?;
                    journal.recipe.gap(&String::from_utf8_lossy(line.end));
                }
            }
        }
        self.close(&mut journal)?;
        let holds = if kind == EventKind::Run { RUNS } else { TURNS };
        self.to.rebuilt(path, holds, style.unless(JOURNAL_STYLE), journal.recipe);
        Ok(())
    }

    fn line(&mut self, journal: &mut Journal<'a>, line: Piece<'a>, hidden: Option<&'static [u8]>) -> Result<(), StreamError> {
        if strip(line.text).is_empty() {
            self.close(journal)?;
            journal.recipe.gap(&String::from_utf8_lossy(&journal.file[line.offset..line.offset + line.text.len() + line.end.len()]));
            return Ok(());
        }
        let place = |byte: usize| Location::at(journal.path.to_string(), line.number, (line.column + byte) as u64 + 1);
        if let Err(error) = std::str::from_utf8(line.text) {
            let message = "not UTF-8, which makes the whole journal unreadable for the program; kept as damage";
            self.to.findings.add(FindingCode::JournalUnreadable, place(error.valid_up_to()), message);
            return self.reject(journal, line, DamageKind::BadUtf8);
        }
        let mut members = Vec::new();
        let error = match json::scan_object(line.text, Dialect::Python, &mut members) {
            Ok(_) => {
                if hidden.is_some() {
                    let message = "its own reader breaks this record at a line separator inside it, and loses it";
                    self.to.findings.add(FindingCode::RecordSplit, place(0), message);
                }
                self.close(journal)?;
                return self.record(journal, line, &members, hidden);
            }
            Err(error) => error,
        };
        if json::validate(line.text, Dialect::Python).is_ok() {
            let sentence = DamageKind::Rejected.sentence("Hermes WebUI", "it is not an object");
            self.to.findings.add(FindingCode::RejectedRecord, place(0), sentence);
            return self.reject(journal, line, DamageKind::Rejected);
        }
        let end = if line.end.is_empty() { LineEnd::FileEnd } else { LineEnd::Newline };
        let accepts = |record: &[u8]| ["turn_id", "run_id"].iter().any(|key| Value::trusted(record).first(key).is_some());
        for cut in dissect(line.text, error.at, end, Dialect::Python, &accepts) {
            let is_last = cut.end == line.text.len();
            let piece = Piece {
                column: line.column + cut.start,
                offset: line.offset + cut.start,
                text: &line.text[cut.start..cut.end],
                end: if is_last { line.end } else { b"" },
                ..line
            };
            match cut.damage {
                Some(kind) => {
                    self.to.findings.add(kind.finding(), place(cut.start), kind.sentence("Hermes WebUI", error.what));
                    self.reject(journal, piece, kind)?;
                }
                None => {
                    self.close(journal)?;
                    let members: Vec<Member<'a>> = Value::trusted(piece.text).all_members();
                    self.record(journal, piece, &members, Some(SALVAGED))?;
                }
            }
        }
        Ok(())
    }

    fn reject(&mut self, journal: &mut Journal<'a>, line: Piece<'a>, kind: DamageKind) -> Result<(), StreamError> {
        let end = line.offset + line.text.len() + line.end.len();
        match &mut journal.damage {
            Some(open) if open.kind == kind && open.end == line.offset => open.end = end,
            _ => {
                self.close(journal)?;
                journal.damage = Some(Open { line: line.number, start: line.offset, end, kind });
            }
        }
        Ok(())
    }

    fn close(&mut self, journal: &mut Journal<'a>) -> Result<(), StreamError> {
        if let Some(open) = journal.damage.take() {
            let seq = self.to.put_damage(journal.path, open.line, open.start, open.kind.word(), &journal.file[open.start..open.end])?;
            let kind = journal.kind;
            journal.recipe.events(seq, seq, |end, next| none_between(self.to.events, kind, end, next));
        }
        Ok(())
    }

    fn record(
        &mut self,
        journal: &mut Journal<'a>,
        line: Piece<'a>,
        members: &[Member<'a>],
        hidden: Option<&'static [u8]>,
    ) -> Result<(), StreamError> {
        let get = |name: &str| members.iter().find(|member| member.is(name)).map(|member| member.value());
        let is_run = journal.kind == EventKind::Run;
        let table = if is_run { &RUN } else { turn_table(get("event")) };
        // A transcript that stands in the data is taken out of it.
        let transcript = if is_run && hidden.is_none() { self.transcript(journal, get("payload"))? } else { None };
        let replaced: Vec<Member<'_>>;
        let taken_from = match &transcript {
            None => members,
            Some(data) => {
                let with =
                    |member: &Member<'a>| if member.key() == b"\"payload\"" { Member { key: member.key(), value: data } } else { *member };
                replaced = members.iter().map(with).collect();
                &replaced
            }
        };
        let given = JournalRecord { session: &self.session, run_id: get("run_id"), number: get("seq"), event: get("event") };
        let setting = Setting { writer: journal.style.escapes, parent: ParentId::Unwritten };
        let mut taken = table.claim(taken_from, setting, &given).unwrap_or_default();
        if is_run {
            taken.say("kind", b"\"stream\"".to_vec());
        }
        if let Some(hidden) = hidden {
            taken.say("hidden", hidden.to_vec());
        }
        let order: &[&'static str] = if is_run { &RUN_ORDER } else { &TURN_ORDER };
        let mut payload = Vec::with_capacity(line.text.len());
        let shape = table.shape(members, &mut self.shapes);
        taken.push_payload(order, &NoContent, table, shape, journal.style.escapes, &mut payload);
        let ts = taken.seconds.as_deref();
        let seq = self.to.put(journal.kind, ts, None, &payload)?;
        journal.recipe.line_end(&String::from_utf8_lossy(line.end));
        let rendered = (self.to.check == Check::EachRecord).then(|| {
            let event = EventRef { seq, ts, kind: journal.kind, parent: None, payload: &payload };
            self.rendered_line(&event, journal.style, get("payload").filter(|_| transcript.is_some()))
        });
        match rendered {
            Some(rendered) if rendered != line.text => {
                let count = self.to.residual((seq, seq), &rendered, line.text);
                journal.recipe.residual(count);
            }
            _ => {
                let kind = journal.kind;
                journal.recipe.events(seq, seq, |end, next| none_between(self.to.events, kind, end, next));
            }
        }
        Ok(())
    }

    /// Returns what an event renders to. A transcript that was taken out was compared
    /// row by row, so it is put back as it stood.
    fn rendered_line(&self, event: &EventRef<'_>, style: Style, data: Option<Value<'_>>) -> Vec<u8> {
        let mut out = Vec::new();
        // A shape of our own table is always there.
        let _ = push_line(event, &self.session, &self.shapes, style, &mut out);
        if let Some(list) = data.and_then(transcript_in)
            && let Some((start, end)) = write::transcript_place(&out)
        {
            out.splice(start..end, list.text().iter().copied());
        }
        out
    }
}

/// Tells whether no record of this kind and no damage stands between two events.
fn none_between(events: &dyn EventSink, kind: EventKind, end: Seq, next: Seq) -> bool {
    (end.number() + 1..next.number()).map(Seq::new).all(|seq| events.kind(seq) != kind && events.kind(seq) != EventKind::Damage)
}

fn is_object(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok() && json::scan_object(text, Dialect::Python, &mut Vec::new()).is_ok()
}

/// Returns the journals' own style, unless the first record shows spaces.
fn style_of(bytes: &[u8]) -> Style {
    let first = bytes.split(|b| *b == b'\n').take(16).find(|line| is_object(line));
    let spaced = first.and_then(|line| memchr::memmem::find(line, b"\":").map(|at| line.get(at + 2) == Some(&b' ')));
    if spaced == Some(true) { Style { separators: Separators::Spaced, ..JOURNAL_STYLE } } else { JOURNAL_STYLE }
}

/// Tells whether `str.splitlines` breaks a text without `\n`.
fn breaks(text: &[u8]) -> bool {
    splitlines(text).next().is_some_and(|line| line.end_len > 0)
}

/// Returns the transcript in a run's data, if there is one.
pub(super) fn transcript_in(data: Value<'_>) -> Option<Value<'_>> {
    fn spelt<'v>(object: Value<'v>, key: &[u8]) -> Option<Value<'v>> {
        object.members().find(|member| member.key() == key).map(|member| member.value())
    }
    spelt(spelt(data, b"\"session\"")?, b"\"messages\"").filter(|list| list.is_array())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_breaks_at_any_end_of_a_line() {
        assert!(breaks("a\u{2028}b".as_bytes()) && breaks(b"a\r") && !breaks("a\u{2027}\u{1f}\u{e9}".as_bytes()) && !breaks(b""));
    }
}
