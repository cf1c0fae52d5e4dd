//! Rows of a database as text: what an adapter reads of a database, what its log
//! rebuilds, and what a restored database is filled from. Each line is compact
//! JSON, and two databases with equal rows have equal lines, so that comparing
//! lines compares every value with its storage class.
//!
//! | line | says |
//! |---|---|
//! | `{"database":{…}}` | the settings of the database file |
//! | `{"schema":{…}}` | one entry of the schema, with its SQL text |
//! | `{"rows":{"table":…,"columns":[…],…}}` | which table and columns the next rows are of |
//! | `[…]` | one row |
//! | `{"left_out":{…}}` | a table whose rows are left out, and how many there are |
//!
//! A value is `null`, an integer, a real number (always with a point, an exponent,
//! or as `{"real":"inf"}`), a text, or `{"blob":"base64"}`. A text that is not UTF-8
//! is `{"text":"base64"}`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

use super::event::to_log_json;
use crate::json::{self, Kind, Value};

/// A value of a row, with its storage class.
#[derive(Debug, Clone, PartialEq)]
pub enum RowValue<'a> {
    /// NULL.
    Null,
    /// INTEGER.
    Integer(i64),
    /// REAL.
    Real(f64),
    /// TEXT, which need not be UTF-8.
    Text(Cow<'a, [u8]>),
    /// BLOB.
    Blob(Cow<'a, [u8]>),
}

impl<'a> RowValue<'a> {
    /// Reads a value of a row's line; `None` where it has another form.
    #[must_use]
    pub fn read(value: Value<'a>) -> Option<RowValue<'a>> {
        match value.kind() {
            Kind::Null => Some(RowValue::Null),
            Kind::Number if is_real(value.text()) => value.parse().map(RowValue::Real),
            Kind::Number => value.parse().map(RowValue::Integer),
            Kind::String => value.as_str().map(|text| RowValue::Text(into_bytes(text))),
            Kind::Object => {
                let member = value.members().next()?;
                let text = member.value().as_str()?;
                let bytes = || STANDARD.decode(text.as_bytes()).ok().map(Cow::Owned);
                match member.name().as_ref() {
                    "blob" => bytes().map(RowValue::Blob),
                    "text" => bytes().map(RowValue::Text),
                    "real" => text.parse().ok().map(RowValue::Real),
                    _ => None,
                }
            }
            Kind::Array | Kind::True | Kind::False => None,
        }
    }

    /// Appends the value as a row's line has it.
    pub fn push(&self, out: &mut Vec<u8>) {
        match self {
            RowValue::Null => out.extend_from_slice(b"null"),
            RowValue::Integer(number) => out.extend_from_slice(number.to_string().as_bytes()),
            RowValue::Real(number) if number.is_finite() => out.extend_from_slice(format!("{number:?}").as_bytes()),
            RowValue::Real(number) => out.extend_from_slice(format!("{{\"real\":\"{number}\"}}").as_bytes()),
            RowValue::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => json::push_string(text, out),
                Err(_) => push_base64("text", bytes, out),
            },
            RowValue::Blob(bytes) => push_base64("blob", bytes, out),
        }
    }

    /// Returns the value as a row's line has it.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        let mut out = Vec::new();
        self.push(&mut out);
        out
    }

    /// Returns the text, where it is one in UTF-8.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            RowValue::Text(bytes) => std::str::from_utf8(bytes).ok(),
            RowValue::Null | RowValue::Integer(_) | RowValue::Real(_) | RowValue::Blob(_) => None,
        }
    }
}

fn into_bytes(text: Cow<'_, str>) -> Cow<'_, [u8]> {
    match text {
        Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
        Cow::Owned(text) => Cow::Owned(text.into_bytes()),
    }
}

fn is_real(number: &[u8]) -> bool {
    number.iter().any(|byte| matches!(byte, b'.' | b'e' | b'E'))
}

fn push_base64(class: &str, bytes: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(format!("{{\"{class}\":\"").as_bytes());
    out.extend_from_slice(STANDARD.encode(bytes).as_bytes());
    out.extend_from_slice(b"\"}");
}

/// The settings of a database file that its schema does not say.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DatabaseSettings {
    /// The size of a page in bytes.
    pub page_size: i64,
    /// How texts are encoded.
    pub encoding: String,
    /// Whether pages are given back: 0 never, 1 at once, 2 when asked.
    pub auto_vacuum: i64,
    /// The program's own number for its schema.
    pub user_version: i64,
    /// The program's own number for its files.
    pub application_id: i64,
    /// How changes are logged: `wal`, or a rollback journal.
    pub journal_mode: String,
}

/// One entry of a schema.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SchemaEntry {
    /// `table`, `index`, `trigger` or `view`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its name.
    pub name: String,
    /// The table that it belongs to.
    pub table: String,
    /// The statement that makes it.
    pub sql: String,
}

/// Which table and columns rows are of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowsHeader {
    /// The table.
    pub table: String,
    /// Its columns, in the order of the table. Those in `all` are left out of rows.
    pub columns: Vec<String>,
    /// Whether each row begins with its hidden row number.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rowid: bool,
    /// A column that has one text in all rows, and that text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all: Option<(String, String)>,
}

impl RowsHeader {
    /// Returns the columns that a row's line has values of, in their order.
    pub fn listed(&self) -> impl Iterator<Item = &str> {
        let all = self.all.as_ref().map(|(column, _)| column.as_str());
        self.columns.iter().map(String::as_str).filter(move |column| Some(*column) != all)
    }
}

/// A table whose rows are left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// The table.
    pub table: String,
    /// How many rows it has.
    pub rows: u64,
    /// Why they are left out.
    pub why: String,
}

/// One line of a text of rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowsLine<'a> {
    /// The settings of the database.
    Database(DatabaseSettings),
    /// An entry of its schema.
    Schema(SchemaEntry),
    /// What the next rows are of.
    Rows(RowsHeader),
    /// One row: an array.
    Row(Value<'a>),
    /// Rows that are left out.
    LeftOut(LeftOut),
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Header {
    Database(DatabaseSettings),
    Schema(SchemaEntry),
    Rows(RowsHeader),
    LeftOut(LeftOut),
}

impl<'a> RowsLine<'a> {
    /// Reads a line; `None` where it is of no known kind.
    #[must_use]
    pub fn read(line: &'a [u8]) -> Option<RowsLine<'a>> {
        if line.first() == Some(&b'[') {
            let value = Value::trusted(line);
            return Some(RowsLine::Row(value));
        }
        Some(match serde_json::from_slice(line).ok()? {
            Header::Database(settings) => RowsLine::Database(settings),
            Header::Schema(entry) => RowsLine::Schema(entry),
            Header::Rows(header) => RowsLine::Rows(header),
            Header::LeftOut(left_out) => RowsLine::LeftOut(left_out),
        })
    }

    /// Appends the line, with its end.
    pub fn push(self, out: &mut Vec<u8>) {
        let header = match self {
            RowsLine::Row(row) => {
                out.extend_from_slice(row.text());
                out.push(b'\n');
                return;
            }
            RowsLine::Database(settings) => Header::Database(settings),
            RowsLine::Schema(entry) => Header::Schema(entry),
            RowsLine::Rows(header) => Header::Rows(header),
            RowsLine::LeftOut(left_out) => Header::LeftOut(left_out),
        };
        // Texts and numbers alone: nothing in them cannot be written as JSON.
        out.extend(to_log_json(&header).unwrap_or_default());
        out.push(b'\n');
    }
}

/// Returns the lines of a text of rows, without their ends.
pub fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_reads_back_with_its_class_and_its_bits() {
        let values = [
            RowValue::Null,
            RowValue::Integer(i64::MIN),
            RowValue::Integer(12_345_678_901_234_567),
            RowValue::Real(1.0),
            RowValue::Real(-0.0),
            RowValue::Real(1e300),
            RowValue::Real(5e-324),
            RowValue::Real(0.1 + 0.2),
            RowValue::Real(f64::NEG_INFINITY),
            RowValue::Text(Cow::Borrowed(b"a\0b\x7f\n \xe2\x80\xa8 \"")),
            RowValue::Text(Cow::Borrowed(b"\xff\xfe")),
            RowValue::Text(Cow::Borrowed(b"")),
            RowValue::Blob(Cow::Borrowed(b"\0\xff")),
            RowValue::Blob(Cow::Borrowed(b"")),
        ];
        for value in values {
            let text = value.to_json();
            let read = RowValue::read(Value::trusted(&text)).unwrap();
            let bits = |value: &RowValue<'_>| if let RowValue::Real(number) = value { number.to_bits() } else { 0 };
            assert_eq!((bits(&read), &read), (bits(&value), &value), "{}", String::from_utf8_lossy(&text));
        }
    }

    #[test]
    fn lines_read_back_as_they_were_written() {
        let header = RowsHeader {
            table: "t \u{2028}".to_owned(),
            columns: vec!["a".to_owned(), "b".to_owned()],
            rowid: true,
            all: Some(("b".to_owned(), "x".to_owned())),
        };
        assert_eq!(header.listed().collect::<Vec<_>>(), ["a"]);
        let mut out = Vec::new();
        RowsLine::Rows(header.clone()).push(&mut out);
        RowsLine::Row(Value::trusted(b"[1,null]")).push(&mut out);
        assert!(!String::from_utf8_lossy(&out).contains('\u{2028}'));
        let read: Vec<RowsLine<'_>> = lines(&out).map(|line| RowsLine::read(line).unwrap()).collect();
        assert!(matches!(&read[0], RowsLine::Rows(again) if *again == header));
        assert!(matches!(&read[1], RowsLine::Row(row) if row.elements().count() == 2));
        assert_eq!(RowsLine::read(b"{\"other\":1}"), None);
    }
}
