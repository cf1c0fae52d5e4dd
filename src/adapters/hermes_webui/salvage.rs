//! Documents that the program cannot read: their bytes are damage, but for the
//! whole rows in them.

use crate::adapters::kit::known::Origin;
use crate::adapters::kit::place::Placing;
use crate::adapters::kit::salvage::DamageKind;
use crate::json::{self, Dialect, Style, Value};
use crate::model::finding::FindingCode;
use crate::model::heads::{HeadKind, HeadName, HeadOp};
use crate::model::ids::Seq;
use crate::model::recipe::RecipeBuilder;
use crate::model::stream::StreamError;

use super::message::{Hidden, Normal};
use super::reader::Reader;
use super::sidecar::{Document, List, RowTarget, Which, escapes_of, no_record_between};
use super::wire::{CONTEXT, DOCUMENT_STYLE, MESSAGES};
use super::write::SIDECARS;

/// How far a broken document has come into the log.
struct Progress {
    recipe: RecipeBuilder,
    kind: DamageKind,
    /// Everything before this place.
    done: usize,
    /// The line that it stands on.
    line: u64,
}

impl<'a> Reader<'a, '_> {
    /// Reads a document that the program cannot read.
    pub(super) fn broken(&mut self, document: &Document<'a>, which: Which) -> Result<(), StreamError> {
        let bytes = document.bytes;
        if let (Which::Backup, Some((place, why))) = (which, document.fault()) {
            self.to.findings.add(FindingCode::BackupUnreadable, place, format!("this backup cannot be read: {why}"));
            self.outcome.failures.insert(which.head(MESSAGES).to_string(), "backup cannot be read".to_owned());
        }
        let kind = match std::str::from_utf8(bytes) {
            Err(_) => DamageKind::BadUtf8,
            Ok(text) if text.bytes().all(|b| b == 0) => DamageKind::NulRun,
            Ok(_) => DamageKind::NotJson,
        };
        let mut progress = Progress { recipe: RecipeBuilder::default(), kind, done: 0, line: 1 };
        progress.recipe.line_end("");
        let style = Style { escapes: escapes_of(bytes), ..DOCUMENT_STYLE };
        let mut list: Option<List> = None;
        let mut seen = Vec::new();
        for row in whole_rows(bytes) {
            self.damage(document, &mut progress, row.start)?;
            if list.as_ref().is_none_or(|list| list.name != row.list) {
                self.finish_list(list.take())?;
                list = Some(self.begin_salvaged(row.list, which, &seen)?);
                seen.push(row.list);
            }
            let place = RowTarget { recipe: &mut progress.recipe, style, hidden: Some(Hidden::Salvaged) };
            if let Some(list) = &mut list {
                // The walk over the document has validated it.
                self.salvaged_row(list, Value::trusted(&bytes[row.start..row.end]), place)?;
            }
            progress.skip(bytes, row.end);
        }
        self.damage(document, &mut progress, bytes.len())?;
        self.finish_list(list)?;
        if !seen.contains(&MESSAGES) {
            self.to.put_head(&which.head(MESSAGES), Seq::ROOT, HeadOp::Branch)?;
        }
        self.to.rebuilt(document.path, SIDECARS, style.unless(DOCUMENT_STYLE), progress.recipe);
        Ok(())
    }

    /// The loader of a broken document has no context: its rows hang beside
    /// every head.
    fn begin_salvaged(&mut self, name: &'static str, which: Which, seen: &[&str]) -> Result<List, StreamError> {
        if name == MESSAGES {
            return Ok(Self::begin_list(MESSAGES, which, seen));
        }
        self.to.put_head(&HeadName::new(HeadKind::Branch, ""), Seq::ROOT, HeadOp::Switch)?;
        Ok(List { name, placing: Placing::without_head(), partial: None })
    }

    /// Carries the bytes up to a place.
    fn damage(&mut self, document: &Document<'a>, progress: &mut Progress, to: usize) -> Result<(), StreamError> {
        let gap = &document.bytes[progress.done..to];
        if !gap.is_empty() {
            let seq = self.to.put_damage(document.path, progress.line, progress.done, progress.kind.word(), gap)?;
            progress.recipe.events(seq, seq, |end, next| no_record_between(self.to.events, end, next));
            progress.skip(document.bytes, to);
        }
        Ok(())
    }

    fn salvaged_row(&mut self, list: &mut List, row: Value<'a>, place: RowTarget<'_>) -> Result<(), StreamError> {
        let normal = Normal::of(row, place.style.escapes, place.hidden);
        let seq = match self.known.by_normal(&normal.ts, &normal.payload) {
            Ok(seq) => {
                list.placing.known(seq, self.to.events, &mut self.repeats, &mut |n| (n == 0).then_some(seq))?;
                seq
            }
            Err(normal_hash) => {
                let parent = list.placing.parent_of_new(self.to.events, &mut self.repeats)?;
                let seq = self.put_row(&normal, parent)?;
                let origin = Origin { record: row.text(), hash: self.known.hash(row.text()), escapes: place.style.escapes, file_time: 1 };
                self.known.add(origin, normal_hash, seq);
                list.placing.added(seq);
                seq
            }
        };
        let shape = normal.shape(&mut self.shapes);
        let other = (shape != self.shape_of.get(&seq).copied().unwrap_or(0)).then_some(shape);
        self.row_piece(seq, row, place, other)
    }
}

impl Progress {
    /// Goes on to a place. Each newline is counted once, however many rows
    /// there are.
    fn skip(&mut self, bytes: &[u8], to: usize) {
        self.line += memchr::memchr_iter(b'\n', &bytes[self.done..to]).count() as u64;
        self.done = to;
    }
}

/// A whole row of a broken document.
#[derive(Debug, PartialEq, Eq)]
struct WholeRow {
    list: &'static str,
    start: usize,
    end: usize,
}

/// Returns the whole rows of a broken document's own two lists.
fn whole_rows(bytes: &[u8]) -> Vec<WholeRow> {
    let start = if bytes.starts_with(b"\xef\xbb\xbf") { 3 } else { 0 };
    let mut walk = Walk { bytes, at: start, rows: Vec::new(), seen: Vec::new() };
    walk.blank();
    if walk.peek() == Some(b'{') {
        walk.at += 1;
        while walk.member() {}
    }
    walk.rows
}

/// A walk over the members of an object as far as they are whole. Where one is
/// not, it goes on at the next line that begins as one of the lists does: no
/// string has a line end in it, and only outermost members stand that far left.
struct Walk<'a> {
    bytes: &'a [u8],
    at: usize,
    rows: Vec<WholeRow>,
    /// Lists that have been walked through. Of two the first counts.
    seen: Vec<&'static str>,
}

/// How the lists begin in the program's own style.
const BEGINNINGS: [&[u8]; 2] = [b"\n  \"messages\":", b"\n  \"context_messages\":"];

impl Walk<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn rest(&self) -> &[u8] {
        self.bytes.get(self.at..).unwrap_or_default()
    }

    fn blank(&mut self) {
        self.at += self.rest().iter().take_while(|b| b.is_ascii_whitespace()).count();
    }

    /// Goes past a value; `false` where it is not whole, and then to the line
    /// where that shows.
    fn value(&mut self) -> bool {
        let scan = json::scan_value(self.rest(), Dialect::Python);
        let is_complete = scan.is_ok();
        self.at += match scan {
            Ok(scan) => scan.end,
            Err(error) => memchr::memrchr(b'\n', &self.rest()[..error.at]).unwrap_or(error.at),
        };
        is_complete
    }

    /// Goes past a member; `false` where there is none any more.
    fn member(&mut self) -> bool {
        self.blank();
        if self.peek() == Some(b',') {
            self.at += 1;
            self.blank();
        }
        let start = self.at;
        if self.peek() == Some(b'"') && self.value() {
            let name = json::unescape(&self.bytes[start..self.at]).into_owned();
            self.blank();
            if self.peek() == Some(b':') {
                self.at += 1;
                self.blank();
                let list = [MESSAGES, CONTEXT].into_iter().find(|list| *list == name && !self.seen.contains(list));
                let is_whole = match list.filter(|_| self.peek() == Some(b'[')) {
                    Some(list) => self.list(list),
                    None => self.value(),
                };
                if is_whole {
                    return true;
                }
            }
        } else if self.peek() == Some(b'}') {
            return false;
        }
        self.go_on_at_a_list()
    }

    fn go_on_at_a_list(&mut self) -> bool {
        let next = memchr::memchr_iter(b'\n', self.rest()).find(|at| BEGINNINGS.iter().any(|line| self.rest()[*at..].starts_with(line)));
        self.at += next.unwrap_or(0);
        next.is_some()
    }

    /// Takes the rows of a list that are whole; `false` where its end is not
    /// found.
    fn list(&mut self, list: &'static str) -> bool {
        self.seen.push(list);
        self.at += 1;
        loop {
            self.blank();
            match self.peek() {
                Some(b']') => {
                    self.at += 1;
                    return true;
                }
                Some(b',') => self.at += 1,
                _ => {
                    let start = self.at;
                    let is_whole = self.value();
                    if is_whole && self.bytes[start] == b'{' && std::str::from_utf8(&self.bytes[start..self.at]).is_ok() {
                        self.rows.push(WholeRow { list, start, end: self.at });
                    }
                    if !is_whole && !self.go_on_at_a_row() {
                        return false;
                    }
                }
            }
        }
    }

    /// Goes on at the next line that begins as a row of a list does, unless the
    /// list ends before.
    fn go_on_at_a_row(&mut self) -> bool {
        for at in memchr::memchr_iter(b'\n', self.rest()) {
            let line = &self.rest()[at..];
            if line.starts_with(b"\n    {") {
                self.at += at;
                return true;
            }
            if line.starts_with(b"\n  ]") || line.starts_with(b"\n  \"") {
                return false;
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<(&'static str, &str)> {
        whole_rows(text.as_bytes()).into_iter().map(|row| (row.list, &text[row.start..row.end])).collect()
    }

    #[test]
    fn only_the_lists_of_the_outermost_object_count() {
        let text = r#"{"draft":{"messages":[{"no":1}]},"x":"\"messages\":[{\"no\":2}]","messages":[{"a":1},7,{"b":"]"}],"context_messages":[{"c":1},{"d"#;
        assert_eq!(
            rows(text),
            [("messages", r#"{"a":1}"#), ("messages", r#"{"b":"]"}"#), ("context_messages", r#"{"c":1}"#)],
            "seven is not a row, and the last one is torn"
        );
        assert_eq!(rows(r#"[{"messages":[{"no":1}]}"#), []);
        assert_eq!(rows("\u{feff}{\"messages\":[{}]}"), [("messages", "{}")]);
    }

    #[test]
    fn what_follows_damage_is_found_again() {
        let text = "{\n  \"draft\": {\n    \"messages\": [\n      {\n        \"no\": 1\n  \"messages\": [\n    {\n      \"a\": 1\n    },\n    {\n      \"b\": \u{0}\u{0}\n    },\n    {\n      \"c\": 3\n    }\n  ],\n  \"n\": 01,\n  \"context_messages\": [\n    {\n      \"d\": 4\n    }\n  ]";
        let found = rows(text);
        assert_eq!(
            found.iter().map(|(list, row)| (*list, row.as_bytes()[9])).collect::<Vec<_>>(),
            [("messages", b'a'), ("messages", b'c'), ("context_messages", b'd')]
        );
    }

    #[test]
    fn damage_in_every_row_takes_no_longer_than_its_bytes() {
        let row = "    {\n      \"a\": \u{0}\n    },\n";
        let text = format!("{{\n  \"messages\": [\n{}", row.repeat(200_000));
        let started = std::time::Instant::now();
        assert_eq!(rows(&text), []);
        assert!(started.elapsed().as_secs() < 20, "it takes {:?} for {} bytes", started.elapsed(), text.len());
        let mut progress = Progress { recipe: RecipeBuilder::default(), kind: DamageKind::NotJson, done: 0, line: 1 };
        for end in (0..=text.len()).step_by(7) {
            progress.skip(text.as_bytes(), end);
        }
        assert_eq!(progress.line, text[..progress.done].matches('\n').count() as u64 + 1);
        assert!(started.elapsed().as_secs() < 20, "counting lines takes {:?}", started.elapsed());
    }
}
