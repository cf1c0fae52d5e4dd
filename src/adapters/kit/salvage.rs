//! Lines that a program's loader rejects: what is wrong with them, and which
//! complete records can be salvaged from them.

use std::collections::HashMap;

use crate::json::{self, Dialect};
use crate::model::finding::FindingCode;

/// What is wrong with bytes that a loader rejects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum DamageKind {
    /// The last line of a file, cut off.
    TornTail,
    /// Something else stands on the line of a record.
    Fused,
    /// Zero bytes, as a power cut leaves them.
    NulRun,
    /// Bytes that are not UTF-8, and not JSON either.
    BadUtf8,
    /// Text that is not JSON.
    NotJson,
    /// JSON that is not a record of the program.
    Rejected,
}

impl DamageKind {
    /// Returns the word in a damage event.
    pub(in crate::adapters) fn word(self) -> &'static str {
        match self {
            DamageKind::TornTail => "torn_tail",
            DamageKind::Fused => "fused_line",
            DamageKind::NulRun => "nul_run",
            DamageKind::BadUtf8 => "bad_utf8",
            DamageKind::NotJson => "not_json",
            DamageKind::Rejected => "rejected",
        }
    }

    /// Returns the code of the finding that reports it.
    pub(in crate::adapters) fn finding(self) -> FindingCode {
        match self {
            DamageKind::TornTail => FindingCode::TornTail,
            DamageKind::Fused => FindingCode::FusedLine,
            DamageKind::NulRun => FindingCode::NulRun,
            DamageKind::BadUtf8 | DamageKind::NotJson => FindingCode::NotJson,
            DamageKind::Rejected => FindingCode::RejectedRecord,
        }
    }

    /// Returns what a person reads; `why` is what the parser or the loader said.
    pub(in crate::adapters) fn sentence(self, program: &str, why: &str) -> String {
        match self {
            DamageKind::TornTail => "the last line was cut off; kept as damage".to_owned(),
            DamageKind::Fused => "a torn record with another one on the same line; kept as damage".to_owned(),
            DamageKind::NulRun => "a run of zero bytes, as a power cut leaves it; kept as damage".to_owned(),
            DamageKind::BadUtf8 => format!("not UTF-8 and not JSON: {why}; kept as damage"),
            DamageKind::NotJson => format!("not JSON: {why}; kept as damage"),
            DamageKind::Rejected => format!("{program} does not take this record: {why}; kept as damage"),
        }
    }
}

/// Bytes of a rejected line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) struct Piece {
    pub start: usize,
    pub end: usize,
    /// What is wrong with these bytes; `None` where they are a complete record.
    pub damage: Option<DamageKind>,
}

/// Whether a line ends where the file does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::adapters) enum LineEnd {
    Newline,
    FileEnd,
}

/// A line is scanned at most this many times for records that turn out not to be
/// any: without a limit a hostile line would cost the square of its length.
const MOST_PASSES: usize = 64;

/// Cuts a line that is not JSON into complete records and what is around
/// them, in order and without a gap. `at` is where the parser stopped.
pub(in crate::adapters) fn dissect(text: &[u8], at: usize, end: LineEnd, dialect: Dialect, accepts: &dyn Fn(&[u8]) -> bool) -> Vec<Piece> {
    let mut records = Vec::new();
    let mut parts = HashMap::new();
    let (mut from, mut spent) = (0, 0);
    // Each place costs a scan, and a hostile line has many.
    while spent <= MOST_PASSES * text.len()
        && let Some(found) = text.get(from..).and_then(next_object)
    {
        let start = from + found;
        if let Some(end) = parts.get(&start) {
            from = *end;
            continue;
        }
        match json::scan_value(&text[start..], dialect) {
            Ok(scan) if accepts(&text[start..start + scan.end]) => {
                records.push((start, start + scan.end));
                from = start + scan.end;
            }
            Ok(scan) => {
                spent += scan.end;
                from = start + 2;
            }
            Err(error) => {
                spent += error.at;
                add_parts(&text[start..start + error.at], start, accepts, &mut parts);
                from = start + 2;
            }
        }
    }
    if records.is_empty() {
        return vec![Piece { start: 0, end: text.len(), damage: Some(judge(text, at, end)) }];
    }
    let mut pieces = Vec::new();
    let mut done = 0;
    for (start, end) in records {
        if start > done {
            pieces.push(Piece { start: done, end: start, damage: Some(around(&text[done..start])) });
        }
        pieces.push(Piece { start, end, damage: None });
        done = end;
    }
    if done < text.len() {
        pieces.push(Piece { start: done, end: text.len(), damage: Some(around(&text[done..])) });
    }
    pieces
}

/// Notes the objects inside a torn record that are parts of it, where each
/// begins and ends. `torn` is what a parser took of it, and stands at `offset`.
fn add_parts(torn: &[u8], offset: usize, accepts: &dyn Fn(&[u8]) -> bool, parts: &mut HashMap<usize, usize>) {
    let mut open = Vec::new();
    let mut found = Vec::new();
    let (mut at, mut members_end) = (0, None);
    while let Some(byte) = torn.get(at) {
        match byte {
            b'"' => at = json::token_end(torn, at) - 1,
            b'{' | b'[' => open.push(at),
            b'}' | b']' => {
                // What stands at the very end may be the next record, glued to
                // the torn one.
                found.extend(open.pop().filter(|start| torn[*start] == b'{' && at + 1 < torn.len()).map(|start| (start, at + 1)));
            }
            b',' if open.len() == 1 => members_end = Some(at),
            _ => {}
        }
        at += 1;
    }
    // A document that holds records is not one itself.
    let is_record = || members_end.is_some_and(|end| accepts(&[&torn[..end], b"}"].concat()));
    if !found.is_empty() && is_record() {
        parts.extend(found.into_iter().map(|(start, end)| (offset + start, offset + end)));
    }
}

/// Returns where something begins that may be an object with members.
fn next_object(text: &[u8]) -> Option<usize> {
    memchr::memchr_iter(b'{', text).find(|at| text[at + 1..].iter().find(|b| !b.is_ascii_whitespace()) == Some(&b'"'))
}

fn is_nul_run(text: &[u8]) -> bool {
    text.contains(&0) && text.iter().all(|b| matches!(b, 0 | b' ' | b'\t' | b'\r'))
}

/// Returns what stands beside a record on its line.
fn around(text: &[u8]) -> DamageKind {
    if is_nul_run(text) { DamageKind::NulRun } else { DamageKind::Fused }
}

/// Returns what is wrong with a line that holds no complete record.
fn judge(text: &[u8], at: usize, end: LineEnd) -> DamageKind {
    if is_nul_run(text) {
        return DamageKind::NulRun;
    }
    if end == LineEnd::FileEnd && text.starts_with(b"{") && at >= text.len().saturating_sub(8) {
        return DamageKind::TornTail;
    }
    if std::str::from_utf8(text).is_err() { DamageKind::BadUtf8 } else { DamageKind::NotJson }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = r#"{"role":"user","content":"{\"x\":1}"}"#;

    fn cut(text: &str) -> Vec<(&str, Option<DamageKind>)> {
        let at = json::scan_value(text.as_bytes(), Dialect::Strict).err().map_or(0, |error| error.at);
        let accepts = |record: &[u8]| json::members(record).any(|member| member.name() == "role");
        let pieces = dissect(text.as_bytes(), at, LineEnd::FileEnd, Dialect::Strict, &accepts);
        pieces.iter().map(|piece| (&text[piece.start..piece.end], piece.damage)).collect()
    }

    #[test]
    fn complete_records_are_cut_out_of_what_is_around_them() {
        let torn = &RECORD[..20];
        assert_eq!(cut(&format!("{torn}{RECORD}")), [(torn, Some(DamageKind::Fused)), (RECORD, None)]);
        assert_eq!(cut(&format!("{RECORD}{RECORD}")), [(RECORD, None), (RECORD, None)]);
        assert_eq!(
            cut(&format!("\0\0{RECORD}{torn}")),
            [("\0\0", Some(DamageKind::NulRun)), (RECORD, None), (torn, Some(DamageKind::Fused))]
        );
    }

    #[test]
    fn parts_of_a_torn_record_are_no_records() {
        let part = r#"{"role":"user","content":"a part"}"#;
        let torn = format!(r#"{{"role":"assistant","tool_calls":[{part}],"arguments":{part},"more":"x"#);
        assert_eq!(cut(&torn), [(torn.as_str(), Some(DamageKind::TornTail))]);
        assert_eq!(cut(&format!("{torn}{RECORD}")), [(torn.as_str(), Some(DamageKind::Fused)), (RECORD, None)]);
        // Torn where a part would begin, the next record looks like one.
        let torn = r#"{"role":"assistant","tool_calls":["#;
        assert_eq!(cut(&format!("{torn}{RECORD}")), [(torn, Some(DamageKind::Fused)), (RECORD, None)]);
        // A document around records is not a record.
        let (before, between) = (r#"{"key":"k","messages":["#, ",");
        let torn = format!("{before}{RECORD}{between}{}", &RECORD[..20]);
        let pieces = cut(&torn);
        assert_eq!(pieces[..2], [(before, Some(DamageKind::Fused)), (RECORD, None)]);
    }

    #[test]
    fn a_line_without_a_record_is_named_for_what_it_is() {
        assert_eq!(cut(&RECORD[..20]), [(&RECORD[..20], Some(DamageKind::TornTail))]);
        assert_eq!(cut("garbage"), [("garbage", Some(DamageKind::NotJson))]);
        assert_eq!(cut("\0\0\0"), [("\0\0\0", Some(DamageKind::NulRun))]);
    }

    #[test]
    fn a_record_is_found_after_however_many_objects_that_are_not_records() {
        let torn = format!("{{\"list\":[{}", "{\"x\":1},".repeat(500));
        assert_eq!(cut(&format!("{torn}{RECORD}")), [(torn.as_str(), Some(DamageKind::Fused)), (RECORD, None)]);
    }

    #[test]
    fn a_hostile_line_costs_no_more_than_a_few_looks() {
        let line = "{\"a\":[".repeat(200_000);
        assert_eq!(dissect(line.as_bytes(), line.len(), LineEnd::Newline, Dialect::Strict, &|_| true).len(), 1);
    }
}
