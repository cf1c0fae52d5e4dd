//! The records of a transcript, as the import of OpenClaw's database reads them: one
//! per physical line, empty lines and falsy values aside.

use std::ops::Range;

use crate::json::{self, Dialect};
use crate::model::digest::half_digest;
use crate::runtimes::javascript::{Value, lines, stringify, trim};

use crate::maintenance::records::{Reading, Record};

/// Reads the records of a file.
pub(super) fn records(file: &[u8]) -> Vec<Record> {
    let mut records = Vec::new();
    for (number, (start, line)) in (1..).zip(lines(file)) {
        let text = trim(line);
        let reading = match value(text) {
            Ok(Some(value)) => Reading::Value { printed: half_digest(&stringify(value.token())) },
            Ok(None) => continue,
            Err(why) => Reading::Unreadable { why },
        };
        // White space around a line is not a part of it.
        let at = start + (text.as_ptr().addr() - line.as_ptr().addr());
        records.push(Record { line: number, at: at..at + text.len(), text: half_digest(text), reading });
    }
    records
}

/// Reads the value on a line; `None` where the import skips it.
fn value(text: &[u8]) -> Result<Option<Value<'_>>, &'static str> {
    if text.is_empty() {
        return Ok(None);
    }
    if std::str::from_utf8(text).is_err() {
        return Err("not UTF-8");
    }
    let value = Value::parse(text).ok_or("not JSON")?;
    Ok(value.is_truthy().then_some(value))
}

/// So many places of a line are tried that turn out to begin no record.
const MOST_TRIES: usize = 64;

/// Finds the complete entries inside of a line that is not one itself: two that a
/// missing newline fused, or one after a torn beginning.
pub(super) fn salvage(line: &[u8]) -> Vec<Range<usize>> {
    const BEGIN: &[u8] = b"{\"type\":\"";
    let (mut found, mut at, mut tries) = (Vec::new(), 0, 0);
    while let Some(start) = line.get(at..).and_then(|rest| memchr::memmem::find(rest, BEGIN)).map(|skip| at + skip) {
        let complete = json::scan_value(&line[start..], Dialect::Strict).ok().map(|scan| start + scan.end);
        match complete.filter(|end| std::str::from_utf8(&line[start..*end]).is_ok()) {
            Some(end) => {
                found.push(start..end);
                at = end;
            }
            None if tries < MOST_TRIES => {
                tries += 1;
                at = start + 1;
            }
            None => break,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blank_lines_and_falsy_values_are_no_records_and_lines_end_at_line_feeds_alone() {
        let file =
            b"{\"a\":1}\r\n\n \xef\xbb\xbf\xc2\xa0\nnull\n0\n-0.0\n1e-400\nfalse\n\"\"\n[1,2]\r\n\"x\xe2\x80\xa8y\"\n{\"torn\":\n\xff{}\n7";
        let found = records(file);
        let read: Vec<(u64, &[u8])> = found.iter().map(|record| (record.line, &file[record.at.clone()])).collect();
        let wanted: [(u64, &[u8]); 6] =
            [(1, b"{\"a\":1}"), (10, b"[1,2]"), (11, "\"x\u{2028}y\"".as_bytes()), (12, b"{\"torn\":"), (13, b"\xff{}"), (14, b"7")];
        assert_eq!(read, wanted);
        let why = |n: usize| match &found[n].reading {
            Reading::Unreadable { why } => Some(*why),
            Reading::Value { .. } => None,
        };
        assert_eq!([why(0), why(3), why(4)], [None, Some("not JSON"), Some("not UTF-8")]);
        assert_eq!(records(b"[1.0]")[0].reading, records(b"[1]")[0].reading);
    }

    #[test]
    fn complete_entries_are_found_inside_of_a_line() {
        let found = |line: &[u8]| salvage(line).into_iter().map(|at| line[at].to_vec()).collect::<Vec<_>>();
        assert_eq!(found(b"{\"type\":\"a\"}{\"type\":\"b\"}"), [b"{\"type\":\"a\"}", b"{\"type\":\"b\"}"]);
        assert_eq!(found(b"{\"type\":\"torn\",\"text\":\"so far{\"type\":\"b\"}"), [b"{\"type\":\"b\"}"]);
        assert_eq!(found(b"\0\0\0"), Vec::<Vec<u8>>::new());
        assert_eq!(found(&b"{\"type\":\"".repeat(10_000)), Vec::<Vec<u8>>::new());
    }
}
