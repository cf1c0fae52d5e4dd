//! The files that serve a whole folder: the sidebar's list of sessions, and
//! which of them were deleted.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::adapters::format::Check;
use crate::adapters::kit::document::{Document, DocumentPiece, Frame};
use crate::adapters::kit::salvage::DamageKind;
use crate::json::{self, Dialect, Kind, Style, Value};
use crate::model::event::EventKind;
use crate::model::files::{RelPath, SourceFile};
use crate::model::finding::FindingCode;
use crate::model::location::Location;
use crate::model::recipe::RecipeBuilder;
use crate::model::stream::StreamError;
use crate::runtimes::python::convert::int;
use crate::runtimes::python::loads::check;
use crate::runtimes::python::text::strip;
use crate::runtimes::python::value::{pick, str_or_empty};
use crate::runtimes::wtf8::decode;

use super::reader::Reader;
use super::sidecar::escapes_of;
use super::turns::{DEEPEST, quoted};
use super::wire::{DOCUMENT_STYLE, STORE};
use super::write::{INDEXES, STORES};

impl<'a> Reader<'a, '_> {
    /// The sidebar's list: one fact for each row.
    pub(super) fn index(&mut self, path: &'a RelPath, file: &'a SourceFile) -> Result<(), StreamError> {
        let bytes = file.bytes.as_slice();
        let scan = std::str::from_utf8(bytes).ok().and_then(|_| json::validate(bytes, Dialect::Python).ok());
        let Some(list) = scan.map(|scan| scan.value).filter(|list| list.is_array()) else { return self.unreadable(path, bytes) };
        let style = Style { escapes: escapes_of(bytes), ..DOCUMENT_STYLE };
        let mut recipe = RecipeBuilder::default();
        let mut done = 0;
        let mut rows = list.elements().peekable();
        while let Some(row) = rows.next() {
            let Range { start: at, end } = row.span_in(bytes);
            if done == 0 {
                recipe.gap(&String::from_utf8_lossy(&bytes[..at]));
            }
            let next = rows.peek().map_or(bytes.len(), |next| next.span_in(bytes).start);
            recipe.line_end(&String::from_utf8_lossy(&bytes[end..next]));
            let mut payload = br#"{"of":"index","data":"#.to_vec();
            json::push_carried_value(row, style.escapes, &mut payload);
            payload.push(b'}');
            let seq = self.to.put(EventKind::Meta, None, None, &payload)?;
            let rendered = (self.to.check == Check::EachRecord).then(|| {
                let mut out = Vec::new();
                if let Some(data) = Value::trusted(&payload).members().nth(1) {
                    style.push_value_at(data.value(), 1, &mut out);
                }
                out
            });
            self.piece(seq, row.text(), &mut recipe, rendered);
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
            let reason = if std::str::from_utf8(bytes).is_ok() { DamageKind::NotJson } else { DamageKind::BadUtf8 };
            let seq = self.to.put_damage(path, 1, 0, reason.word(), bytes)?;
            recipe.events(seq, seq, |_, _| true);
        }
        self.to.rebuilt(path, STORES, None, recipe);
        Ok(())
    }
}

/// Returns a file's value as its program reads it; nothing where it cannot.
fn value(bytes: &[u8], kind: Kind) -> Option<Value<'_>> {
    let text = std::str::from_utf8(bytes).ok()?.as_bytes();
    check(text, DEEPEST).ok().filter(|value| value.kind() == kind)
}

/// Returns the sessions that the list has rows for, in code point order.
pub(super) fn named_ids(bytes: &[u8]) -> String {
    let rows = value(bytes, Kind::Array).into_iter().flat_map(Value::elements).filter(|row| row.is_object());
    let ids = rows.filter_map(|row| row.get("session_id")).filter(|id| id.is_string());
    sorted(ids.map(|id| decode(id.text()).into_owned()))
}

/// Returns the sessions that were deleted for good.
pub(super) fn deleted_ids(bytes: &[u8]) -> String {
    let [version, ids] = value(bytes, Kind::Object).map_or([None, None], |list| pick(list, ["version", "ids"]));
    let is_known = version.is_some_and(|version| int(version).as_deref() == Ok("1"));
    let ids = ids.filter(|ids| is_known && ids.is_array()).into_iter().flat_map(Value::elements);
    sorted(ids.map(|id| strip(&str_or_empty(Some(id))).to_vec()).filter(|id| !id.is_empty()))
}

fn sorted(ids: impl Iterator<Item = Vec<u8>>) -> String {
    let ids: BTreeSet<Vec<u8>> = ids.collect();
    format!("[{}]", ids.iter().map(|id| quoted(id)).collect::<Vec<_>>().join(","))
}
