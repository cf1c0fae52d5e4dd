//! The transcripts that closing events of a run repeat: the whole list of
//! messages, as a browser was sent it. Stored once, as a path.

use std::ops::Range;

use crate::adapters::format::Check;
use crate::adapters::kit::known::Origin;
use crate::adapters::kit::place::Placing;
use crate::json::Value;
use crate::model::ids::Seq;
use crate::model::stream::StreamError;

use super::journal::{Journal, transcript_in};
use super::message::{Normal, render};
use super::reader::Reader;
use super::wire::{JOURNAL_STYLE, NOT_SENT};
use super::write::PATH;

/// A row of a transcript: in the log already, or not yet.
enum Row<'a> {
    Known(Seq),
    New(Value<'a>, Box<Normal<'a>>),
}

impl<'a> Reader<'a, '_> {
    /// Returns a run's data with its transcript put into the tree and named there;
    /// `None` where it has none, or one that a path would not give back.
    pub(super) fn transcript(&mut self, journal: &Journal<'a>, data: Option<Value<'a>>) -> Result<Option<Vec<u8>>, StreamError> {
        let Some(data) = data.filter(|data| data.is_object()).filter(|_| journal.style == JOURNAL_STYLE) else { return Ok(None) };
        let Some(list) = transcript_in(data) else { return Ok(None) };
        // Another such place before this one would be taken for it.
        if memchr::memmem::find(data.text(), b"\"messages\":{\"$path\"").is_some() {
            return Ok(None);
        }
        let rows: Vec<Value<'a>> = list.elements().collect();
        if rows.is_empty() || rows.iter().any(|row| !row.is_object()) {
            return Ok(None);
        }
        let is_stored = |row: &Value<'a>| row.members().any(|member| NOT_SENT.contains(&member.name().as_ref()));
        let as_stored = rows.iter().any(is_stored);
        let mut resolved = Vec::with_capacity(rows.len());
        for row in rows {
            let normal = Normal::of(row, journal.style.escapes, None);
            if self.to.check == Check::EachRecord && !self.renders(&normal, row) {
                return Ok(None);
            }
            let Some(prints) = normal.prints() else { return Ok(None) };
            let known = if as_stored { self.by_stored.get(&prints.stored) } else { self.by_sent.get(&prints.sent) };
            match (known, self.known.by_normal(&normal.ts, &normal.payload)) {
                (Some(seq), _) => resolved.push(Row::Known(*seq)),
                // The same message with its keys in another order.
                (None, Ok(_)) => return Ok(None),
                (None, Err(_)) => resolved.push(Row::New(row, Box::new(normal))),
            }
        }
        let node = self.place(resolved, journal)?;
        let Range { start, end } = list.span_in(data.text());
        let how = if as_stored { "stored" } else { "sent" };
        let named = format!("{{\"{PATH}\":{node},\"as\":\"{how}\"}}");
        Ok(Some([&data.text()[..start], named.as_bytes(), &data.text()[end..]].concat()))
    }

    /// Tells whether a row is as the program writes it.
    fn renders(&mut self, normal: &Normal<'_>, row: Value<'_>) -> bool {
        let shape = normal.shape(&mut self.shapes);
        let ts = Some(normal.ts.as_str()).filter(|ts| !ts.is_empty());
        let mut out = Vec::with_capacity(row.text().len());
        render(&normal.finished(shape), ts, &self.shapes, JOURNAL_STYLE, 0, &mut out).is_some() && out == row.text()
    }

    fn place(&mut self, rows: Vec<Row<'a>>, journal: &Journal<'a>) -> Result<Seq, StreamError> {
        let mut placing = Placing::without_head();
        let known: Vec<Option<Seq>> = rows
            .iter()
            .map(|row| match row {
                Row::Known(seq) => Some(*seq),
                Row::New(..) => None,
            })
            .collect();
        for (n, row) in rows.into_iter().enumerate() {
            match row {
                Row::Known(seq) => {
                    let mut ahead = |more: usize| known.get(n + more).copied().flatten();
                    placing.known(seq, self.to.events, &mut self.repeats, &mut ahead)?;
                }
                Row::New(row, normal) => {
                    // A list may hold the same new row twice.
                    match self.known.by_normal(&normal.ts, &normal.payload) {
                        Ok(seq) => placing.known(seq, self.to.events, &mut self.repeats, &mut |more| (more == 0).then_some(seq))?,
                        Err(hash) => {
                            let parent = placing.parent_of_new(self.to.events, &mut self.repeats)?;
                            let seq = self.put_row(&normal, parent)?;
                            let origin = Origin {
                                record: row.text(),
                                hash: self.known.hash(row.text()),
                                escapes: journal.style.escapes,
                                file_time: 0,
                            };
                            self.known.add(origin, hash, seq);
                            placing.added(seq);
                        }
                    }
                }
            }
        }
        placing.finish(self.to.events, &mut self.repeats)
    }
}
