//! Files that are one JSON value: whole-file sessions, and saved chats.

use crate::adapters::format::Check;
use crate::adapters::kit::document::{Document, DocumentPiece, Frame};
use crate::adapters::kit::mapping::Table;
use crate::adapters::kit::place::Placing;
use crate::adapters::kit::salvage::LineEnd;
use crate::json::{self, Dialect, Kind, Separators, Style};
use crate::model::event::EventKind;
use crate::model::files::RelPath;
use crate::model::heads::{HeadName, HeadOp};
use crate::model::ids::Seq;
use crate::model::recipe::RecipeBuilder;
use crate::model::stream::StreamError;
use crate::runtimes::javascript::decode_utf8;

use super::fields::member;
use super::lane::{Lane, no_record_between, switch_to_none};
use super::message::Sight;
use super::messages::{Bytes, Looked, WRITER};
use super::reader::Reader;
use super::records::Journal;
use super::schema::{
    DEPTH_IN_LIST, DEPTH_IN_WHOLE, DOCUMENT, HOLDS_LIST, HOLDS_RECORDS, HOLDS_SAVED, HOLDS_WHOLE, LINES, SAVED, SAVED_ALONE, WHOLE,
    WHOLE_ALONE,
};

/// A file that is one object with a list in it.
pub(super) struct Layout {
    /// Its keys, with the list and without.
    with_list: &'static Table,
    alone: &'static Table,
    pub key: &'static str,
    holds: &'static str,
}

pub(super) const SESSION: Layout = Layout { with_list: &WHOLE, alone: &WHOLE_ALONE, key: "messages", holds: HOLDS_WHOLE };
pub(super) const CHAT: Layout = Layout { with_list: &SAVED, alone: &SAVED_ALONE, key: "history", holds: HOLDS_SAVED };

/// A row of a list, and what stands around it.
struct Row<'a> {
    bytes: &'a [u8],
    end: &'a [u8],
    style: Style,
    depth: usize,
}

impl<'a> Reader<'a, '_> {
    /// Reads a file that is one object. `None` where it is not one.
    pub(super) fn document(
        &mut self,
        path: &'a RelPath,
        bytes: &'a [u8],
        head: Option<HeadName>,
        layout: &Layout,
    ) -> Result<Option<()>, StreamError> {
        let Ok(parsed) = Document::parse(bytes, Dialect::Strict, layout.with_list) else { return Ok(None) };
        let has_list = parsed.get(layout.key).is_some_and(json::Value::is_array);
        let table = if has_list { layout.with_list } else { layout.alone };
        let style = parsed.style(WRITER);
        let mut payload = parsed.payload(table, &[("of", "\"file\"")], WRITER);
        payload.push(b'}');
        let payload = decode_utf8(&payload);
        let frame = Frame::put(&mut self.to, table, &payload, style)?;
        let mut recipe = RecipeBuilder::default();
        let mut placing = self.begin(head.as_ref())?;
        let mut len = 0;
        for piece in parsed.pieces() {
            match piece {
                DocumentPiece::Part(n, bytes) => frame.part(&mut self.to, &mut recipe, n, bytes)?,
                DocumentPiece::Gap(bytes) => recipe.gap(&String::from_utf8_lossy(bytes)),
                DocumentPiece::Record { value, end, .. } => {
                    self.row(&mut placing, &mut recipe, Row { bytes: value.text(), end, style, depth: DEPTH_IN_WHOLE })?;
                    len += 1;
                }
            }
        }
        self.end(placing, head, len)?;
        let style = format!(
            "{{\"separators\":{},\"escapes\":{}{}}}",
            serde_json::to_string(&style.separators).unwrap_or_default(),
            serde_json::to_string(&style.escapes).unwrap_or_default(),
            if has_list { "" } else { ",\"list\":false" }
        );
        let usual = has_list && parsed.separators() == Separators::Indented;
        self.to.rebuilt(path, layout.holds, (!usual).then_some(style), recipe);
        Ok(Some(()))
    }

    /// Reads a saved chat that is a bare list of turns. `None` where it is not one.
    pub(super) fn bare_list(&mut self, path: &'a RelPath, bytes: &'a [u8], head: Option<HeadName>) -> Result<Option<()>, StreamError> {
        let Ok(scan) = json::scan_value(bytes, Dialect::Strict) else { return Ok(None) };
        let start = bytes.iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(0);
        let list = &bytes[start..scan.end.max(start)];
        if json::kind_of(list) != Kind::Array || !bytes[scan.end..].trim_ascii().is_empty() {
            return Ok(None);
        }
        let separators = if list.get(1) == Some(&b'\n') { Separators::Indented } else { Separators::Compact };
        let style = Style { separators, escapes: WRITER };
        let offset = |part: &[u8]| part.as_ptr() as usize - bytes.as_ptr() as usize;
        let rows: Vec<&'a [u8]> = json::elements(list).collect();
        let mut recipe = RecipeBuilder::default();
        let first = rows.first().map_or(bytes.len(), |first| offset(first));
        recipe.gap(&String::from_utf8_lossy(&bytes[..first]));
        let mut placing = self.begin(head.as_ref())?;
        let len = rows.len();
        for (n, row) in rows.iter().enumerate() {
            let after = offset(row) + row.len();
            let end = &bytes[after..rows.get(n + 1).map_or(bytes.len(), |next| offset(next))];
            self.row(&mut placing, &mut recipe, Row { bytes: row, end, style, depth: DEPTH_IN_LIST })?;
        }
        self.end(placing, head, len)?;
        self.to.rebuilt(path, HOLDS_LIST, style.unless(DOCUMENT), recipe);
        Ok(Some(()))
    }

    /// Reads a file that should be one JSON value and is not: complete messages
    /// in it are kept, hidden from the loader.
    pub(super) fn broken_file(&mut self, path: &'a RelPath, bytes: &'a [u8], head: Option<HeadName>) -> Result<(), StreamError> {
        let mut journal = Journal::new(path, bytes, LINES);
        let mut lane = Lane::begin(&mut self.to, head)?;
        if !bytes.is_empty() {
            self.broken(&mut journal, &mut lane, (bytes, b""), (1, 0), LineEnd::FileEnd)?;
        }
        self.close_damage(&mut journal)?;
        lane.finish(&mut self.to)?;
        self.to.rebuilt(path, HOLDS_RECORDS, None, journal.recipe);
        Ok(())
    }

    fn begin(&mut self, head: Option<&HeadName>) -> Result<Placing, StreamError> {
        match head {
            Some(head) if *head != HeadName::main() => Ok(Placing::for_head(head.clone())),
            Some(_) => Ok(Placing::without_head()),
            None => {
                switch_to_none(&mut self.to)?;
                Ok(Placing::without_head())
            }
        }
    }

    fn end(&mut self, placing: Placing, head: Option<HeadName>, len: usize) -> Result<(), StreamError> {
        let node = placing.finish(self.to.events, &mut self.messages.repeats)?;
        match head.filter(|head| len == 0 && *head == HeadName::main()) {
            Some(head) => self.to.put_head(&head, node, HeadOp::Branch),
            None => Ok(()),
        }
    }

    fn row(&mut self, placing: &mut Placing, recipe: &mut RecipeBuilder, row: Row<'a>) -> Result<(), StreamError> {
        recipe.line_end(&String::from_utf8_lossy(row.end));
        if json::kind_of(row.bytes) != Kind::Object {
            return self.odd_row(placing, recipe, &row);
        }
        let (seq, bytes) = match self.messages.look(row.bytes, Sight::Shown) {
            Looked::Known(seq, bytes) => {
                placing.known(seq, self.to.events, &mut self.messages.repeats, &mut |n| (n == 0).then_some(seq))?;
                (seq, bytes)
            }
            Looked::New(new) => {
                let parent = placing.parent_of_new(self.to.events, &mut self.messages.repeats)?;
                let seq = self.messages.put(&mut self.to, *new, parent)?;
                placing.added(seq);
                (seq, Bytes::Same)
            }
        };
        let is_plain = bytes == Bytes::Same && std::str::from_utf8(row.bytes).is_ok();
        let rendered = (self.to.check == Check::EachRecord || !is_plain).then(|| {
            let mut out = Vec::new();
            self.messages.push_rendered(seq, (row.style, row.depth), &mut out);
            out
        });
        self.row_piece(recipe, seq, row.bytes, rendered);
        Ok(())
    }

    /// A row that is not an object: the loader keeps it as it is.
    fn odd_row(&mut self, placing: &mut Placing, recipe: &mut RecipeBuilder, row: &Row<'a>) -> Result<(), StreamError> {
        let mut payload = b"{\"type\":\"row\",\"data\":".to_vec();
        json::push_carried_value(row.bytes, WRITER, &mut payload);
        payload.push(b'}');
        let payload = decode_utf8(&payload);
        let parent = placing.parent_of_new(self.to.events, &mut self.messages.repeats)?;
        let seq = self.to.put(EventKind::Custom, None, Some(parent), &payload)?;
        placing.added(seq);
        let mut rendered = Vec::new();
        row.style.push_value_at(member(&payload, "data").unwrap_or_default(), row.depth, &mut rendered);
        self.row_piece(recipe, seq, row.bytes, Some(rendered));
        Ok(())
    }

    fn row_piece(&mut self, recipe: &mut RecipeBuilder, seq: Seq, row: &'a [u8], rendered: Option<Vec<u8>>) {
        match rendered {
            Some(rendered) if rendered != row => {
                let count = self.to.residual((seq, seq), &rendered, row);
                recipe.residual(count);
            }
            _ => recipe.events(seq, seq, |end, next| no_record_between(self.to.events, end, next)),
        }
    }
}
