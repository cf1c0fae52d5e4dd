//! The files that serve a whole folder: the sidebar's list of sessions, and
//! which of them were deleted.

use crate::adapters::adapter::Check;
use crate::adapters::document::{Document, DocumentPiece, Frame};
use crate::adapters::surgery::Wound;
use crate::model::event::EventKind;
use crate::model::files::{RelPath, SourceFile};
use crate::model::finding::FindingCode;
use crate::model::json::{self, Dialect, Style};
use crate::model::location::Location;
use crate::model::recipe::RecipeBuilder;
use crate::model::stream::StreamError;

use super::read::Reader;
use super::sidecar::escapes_of;
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
