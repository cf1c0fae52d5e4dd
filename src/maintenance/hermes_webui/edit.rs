//! Edits of a document as bytes: what does not change stays as it stands, what
//! is new is written as the program writes.

use crate::json::{self, Escapes, Separators, Style, Value};
use crate::runtimes::python::number::float_json;

use super::document::Document;

/// A document while it is edited.
pub(super) struct Edit<'a> {
    document: &'a Document<'a>,
    style: Style,
    /// Places in the document, in no order, and what comes there.
    changes: Vec<(std::ops::Range<usize>, Vec<u8>)>,
    /// Members that the document does not have.
    added: Vec<(&'static str, Vec<u8>)>,
}

impl<'a> Edit<'a> {
    pub(super) fn of(document: &'a Document<'a>) -> Edit<'a> {
        let inside = document.bytes.trim_ascii_start().get(1..).unwrap_or_default();
        let colon = memchr::memmem::find(inside, b"\":").and_then(|at| inside.get(at + 2));
        let separators = match (inside.first(), colon) {
            (Some(b'\n' | b'\r'), _) => Separators::Indented,
            (_, Some(b' ')) => Separators::Spaced,
            _ => Separators::Compact,
        };
        Edit { document, style: Style { separators, escapes: Escapes::Utf8 }, changes: Vec::new(), added: Vec::new() }
    }

    /// Gives a member another value, a compact JSON text, if the document has
    /// that member.
    pub(super) fn set(&mut self, key: &str, value: &[u8]) {
        if let Some(old) = self.document.get(key) {
            let mut text = Vec::new();
            self.style.push_value_at(value, 1, &mut text);
            self.changes.push((old.span_in(self.document.bytes), text));
        }
    }

    /// Adds rows, compact JSON texts, at the end of a list; a list that is not
    /// there is made.
    pub(super) fn append(&mut self, key: &'static str, rows: &[Vec<u8>]) {
        if rows.is_empty() {
            return;
        }
        let old = self.document.get(key).filter(|value| value.is_array());
        let last = old.and_then(|list| list.elements().last());
        if let Some(last) = last {
            let mut text = Vec::new();
            for row in rows {
                self.style.push_comma(&mut text);
                self.style.push_break(2, &mut text);
                self.style.push_value_at(row, 2, &mut text);
            }
            let end = last.span_in(self.document.bytes).end;
            self.changes.push((end..end, text));
            return;
        }
        let list = [&b"["[..], &rows.join(&b','), b"]"].concat();
        match self.document.get(key) {
            Some(_) => self.set(key, &list),
            None => self.added.push((key, list)),
        }
    }

    /// Returns the document with all changes.
    pub(super) fn finish(mut self) -> Vec<u8> {
        if let Some(last) = self.document.members.last() {
            let mut text = Vec::new();
            for (key, value) in &self.added {
                self.style.push_comma(&mut text);
                self.style.push_break(1, &mut text);
                text.extend_from_slice(format!("\"{key}\"").as_bytes());
                self.style.push_colon(&mut text);
                self.style.push_value_at(value, 1, &mut text);
            }
            let end = last.value().span_in(self.document.bytes).end;
            self.changes.push((end..end, text));
        }
        // The last first, so that what stands before keeps its place; of two at
        // one place the later one was made later.
        self.changes.sort_by_key(|(range, _)| range.start);
        let mut bytes = Vec::with_capacity(self.document.bytes.len() + 1024);
        let mut at = 0;
        for (range, text) in &self.changes {
            bytes.extend_from_slice(&self.document.bytes[at..range.start]);
            bytes.extend_from_slice(text);
            at = range.end;
        }
        bytes.extend_from_slice(&self.document.bytes[at..]);
        bytes
    }
}

/// Returns a whole object in the program's own style.
pub(super) fn document(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let style = Style { separators: Separators::Indented, escapes: Escapes::Utf8 };
    let mut bytes = Vec::new();
    style.push_value(&object(members), &mut bytes);
    bytes
}

/// Returns an object as a compact JSON text.
pub(super) fn object(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut out = b"{".to_vec();
    for (n, (key, value)) in members.iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        json::push_string(key, &mut out);
        out.push(b':');
        out.extend_from_slice(value);
    }
    out.push(b'}');
    out
}

/// Returns a text as a JSON string.
pub(super) fn quoted(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    json::push_string(text, &mut out);
    out
}

/// Returns a value without the white space between its tokens.
pub(super) fn compact(value: Value<'_>) -> Vec<u8> {
    let value = value.text();
    let mut out = Vec::with_capacity(value.len());
    let mut at = 0;
    while let Some(&byte) = value.get(at) {
        match byte {
            b'"' => {
                let end = json::token_end(value, at);
                out.extend_from_slice(&value[at..end]);
                at = end;
                continue;
            }
            b' ' | b'\t' | b'\n' | b'\r' => {}
            other => out.push(other),
        }
        at += 1;
    }
    out
}

/// Returns a number as `json.dumps` writes it.
pub(super) fn float(number: f64) -> Vec<u8> {
    float_json(number).into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(text: &str, edit: impl FnOnce(&mut Edit<'_>)) -> String {
        let document = Document::of(text.as_bytes());
        let mut edits = Edit::of(&document);
        edit(&mut edits);
        String::from_utf8(edits.finish()).unwrap()
    }

    #[test]
    fn only_what_changes_changes() {
        let text = "{\n  \"a\": 1E2,\n  \"é\": [],\n  \"l\": [\n    {\n      \"x\": 0.10\n    }\n  ],\n  \"a\": 2\n}";
        let rows = [br#"{"y":[],"z":{"k":"\n"}}"#.to_vec()];
        let made = edited(text, |edit| {
            edit.append("l", &rows);
            edit.set("a", b"null");
            edit.set("nothing", b"7");
            edit.append("é", &[b"1".to_vec(), b"2".to_vec()]);
            edit.append("new", &rows);
        });
        let row = "{\n      \"y\": [],\n      \"z\": {\n        \"k\": \"\\n\"\n      }\n    }";
        let want = format!(
            "{{\n  \"a\": 1E2,\n  \"é\": [\n    1,\n    2\n  ],\n  \"l\": [\n    {{\n      \"x\": 0.10\n    }},\n    {row}\n  ],\n  \"a\": null,\n  \"new\": [\n    {row}\n  ]\n}}"
        );
        assert_eq!(made, want);
    }

    #[test]
    fn other_writers_keep_their_separators() {
        assert_eq!(edited(r#"{"a": [1], "b": 2}"#, |edit| edit.append("a", &[b"{\"c\":3}".to_vec()])), r#"{"a": [1, {"c": 3}], "b": 2}"#);
        assert_eq!(edited(r#"{"a":[1],"b":2}"#, |edit| edit.append("c", &[b"3".to_vec()])), r#"{"a":[1],"b":2,"c":[3]}"#);
        assert_eq!(edited(r#"{"a":1}"#, |_| {}), r#"{"a":1}"#);
    }
}
