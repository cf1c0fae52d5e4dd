//! The files that serve a whole folder: the sidebar's list of sessions, and
//! which of them were deleted.

use crate::adapters::adapter::Check;
use crate::adapters::document::{Document, DocumentPiece, Frame};
use crate::adapters::surgery::Wound;
use crate::model::event::EventKind;
use crate::model::files::{RelPath, SourceFile};
use crate::model::finding::FindingCode;
use crate::model::json::{self, Dialect, Kind, Style};
use crate::model::location::Location;
use crate::model::recipe::RecipeBuilder;
use crate::model::stream::StreamError;

use super::message::is_true;
use super::pynumber::integer;
use super::pytext::{Units, dumps_text, str_of, stripped, units};
use super::read::Reader;
use super::sidecar::escapes_of;
use super::turns::{DEEPEST, LONGEST_INTEGER};
use super::wire::{DOCUMENT_STYLE, STORE};
use super::write::{INDEXES, STORES};

impl<'a> Reader<'a, '_> {
    /// The sidebar's list: one fact for each row.
    pub(super) fn index(&mut self, path: &'a RelPath, file: &'a SourceFile) -> Result<(), StreamError> {
        let bytes = file.bytes.as_slice();
        let scan = std::str::from_utf8(bytes).ok().and_then(|_| json::scan_value(bytes, Dialect::Python).ok());
        let start = bytes.iter().position(|b| !b.is_ascii_whitespace()).unwrap_or(0);
        let is_list = scan.is_some_and(|scan| bytes[start] == b'[' && bytes[scan.end..].trim_ascii().is_empty());
        let Some(end) = scan.filter(|_| is_list).map(|scan| scan.end) else { return self.unreadable(path, bytes) };
        let style = Style { escapes: escapes_of(bytes), ..DOCUMENT_STYLE };
        let mut recipe = RecipeBuilder::default();
        let mut done = 0;
        let mut rows = json::elements(&bytes[start..end]).peekable();
        while let Some(row) = rows.next() {
            let at = row.as_ptr() as usize - bytes.as_ptr() as usize;
            if done == 0 {
                recipe.gap(&String::from_utf8_lossy(&bytes[..at]));
            }
            let next = rows.peek().map_or(bytes.len(), |next| next.as_ptr() as usize - bytes.as_ptr() as usize);
            recipe.line_end(&String::from_utf8_lossy(&bytes[at + row.len()..next]));
            let mut payload = br#"{"of":"index","data":"#.to_vec();
            json::push_carried_value(row, style.escapes, &mut payload);
            payload.push(b'}');
            let seq = self.to.put(EventKind::Meta, None, None, &payload)?;
            let rendered = (self.to.check == Check::EachRecord).then(|| {
                let mut out = Vec::new();
                let data = json::members(&payload).nth(1).map_or(&b""[..], |member| member.value);
                style.push_value_at(data, 1, &mut out);
                out
            });
            self.piece(seq, row, &mut recipe, rendered);
            done = next;
        }
        if done < bytes.len() {
            recipe.gap(&String::from_utf8_lossy(&bytes[done..]));
        }
        self.to.rebuilt(path, INDEXES, style.unless(DOCUMENT_STYLE), recipe);
        Ok(())
    }

    /// What was deleted: one fact.
    pub(super) fn store(&mut self, path: &'a RelPath, file: &'a SourceFile) -> Result<(), StreamError> {
        let bytes = file.bytes.as_slice();
        let parsed = std::str::from_utf8(bytes).ok().and_then(|_| Document::parse(bytes, Dialect::Python, &STORE).ok());
        let Some(whole) = parsed else { return self.unreadable(path, bytes) };
        let style = whole.style(escapes_of(bytes));
        let mut payload = whole.payload(&STORE, &[("of", "\"store\"")], style.escapes);
        payload.push(b'}');
        let frame = Frame::put(&mut self.to, &STORE, &payload, style)?;
        let mut recipe = RecipeBuilder::default();
        for piece in whole.pieces() {
            match piece {
                DocumentPiece::Part(n, bytes) => frame.part(&mut self.to, &mut recipe, n, bytes)?,
                DocumentPiece::Gap(bytes) => recipe.gap(&String::from_utf8_lossy(bytes)),
                DocumentPiece::Record { .. } => {}
            }
        }
        self.to.rebuilt(path, STORES, style.unless(DOCUMENT_STYLE), recipe);
        Ok(())
    }

    fn unreadable(&mut self, path: &'a RelPath, bytes: &'a [u8]) -> Result<(), StreamError> {
        self.to.findings.add(FindingCode::NotJson, Location::file(path.to_string()), "not what it should be; kept as damage");
        let mut recipe = RecipeBuilder::default();
        if !bytes.is_empty() {
            let reason = if std::str::from_utf8(bytes).is_ok() { Wound::NotJson } else { Wound::BadUtf8 };
            let seq = self.to.put_damage(path, 1, 0, reason.word(), bytes)?;
            recipe.events(seq, seq, |_, _| true);
        }
        self.to.rebuilt(path, STORES, None, recipe);
        Ok(())
    }
}

/// A file's value as its program reads it; nothing where it cannot.
fn value(bytes: &[u8], kind: Kind) -> Option<&[u8]> {
    let text = std::str::from_utf8(bytes).ok()?.as_bytes();
    let scan = json::scan_value(text, Dialect::Python).ok()?;
    let is_read = scan.facts.depth < DEEPEST && scan.facts.longest_integer <= LONGEST_INTEGER && text[scan.end..].trim_ascii().is_empty();
    Some(text[..scan.end].trim_ascii_start()).filter(|value| is_read && json::kind_of(value) == kind)
}

fn last<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    json::members(object).filter(|member| member.name() == name).last().map(|member| member.value)
}

/// The sessions that the list has rows for, in code point order.
pub(super) fn named_ids(bytes: &[u8]) -> String {
    let rows = value(bytes, Kind::Array).into_iter().flat_map(json::elements).filter(|row| json::kind_of(row) == Kind::Object);
    sorted(rows.filter_map(|row| last(row, "session_id")).filter(|id| json::kind_of(id) == Kind::String).map(units))
}

/// The sessions that were deleted for good.
pub(super) fn deleted_ids(bytes: &[u8]) -> String {
    let list = value(bytes, Kind::Object)
        .filter(|list| last(list, "version").is_some_and(|version| integer(Some(version)).as_deref() == Some("1")));
    let ids = list.and_then(|list| last(list, "ids")).filter(|ids| json::kind_of(ids) == Kind::Array).into_iter().flat_map(json::elements);
    sorted(ids.filter(|id| is_true(Some(id))).map(|id| stripped(&str_of(id)).to_vec()).filter(|id| !id.is_empty()))
}

fn sorted(ids: impl Iterator<Item = Units>) -> String {
    let points = |id: &Units| -> Vec<u32> {
        char::decode_utf16(id.iter().copied()).map(|c| c.map_or_else(|lone| u32::from(lone.unpaired_surrogate()), u32::from)).collect()
    };
    let mut ids: Vec<Units> = ids.collect();
    ids.sort_by_cached_key(points);
    ids.dedup();
    format!("[{}]", ids.iter().map(|id| dumps_text(id)).collect::<Vec<_>>().join(","))
}
