//! What is wrong with a line that the loader does not take.

use crate::model::finding::FindingCode;
use crate::model::json::{self, Dialect};
use crate::model::jsonl::Line;

use super::wire::Rejection;

/// Why a line is damage.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    TornTail,
    Fused,
    NulRun,
    BadUtf8,
    NotJson,
    Rejected,
}

impl Kind {
    /// The word in a damage event.
    pub(super) fn word(self) -> &'static str {
        match self {
            Kind::TornTail => "torn_tail",
            Kind::Fused => "fused_line",
            Kind::NulRun => "nul_run",
            Kind::BadUtf8 => "bad_utf8",
            Kind::NotJson => "not_json",
            Kind::Rejected => "rejected",
        }
    }

    pub(super) fn finding(self) -> FindingCode {
        match self {
            Kind::TornTail => FindingCode::TornTail,
            Kind::Fused => FindingCode::FusedLine,
            Kind::NulRun => FindingCode::NulRun,
            Kind::BadUtf8 | Kind::NotJson => FindingCode::NotJson,
            Kind::Rejected => FindingCode::RejectedRecord,
        }
    }

    pub(super) fn sentence(self, rejection: &Rejection) -> String {
        let why = match rejection {
            Rejection::NotJson { what, .. } | Rejection::NoMessage(what) => what,
        };
        match self {
            Kind::TornTail => "the last line was cut off; kept as damage".to_owned(),
            Kind::Fused => "a torn record with another one behind it on the same line; both kept as damage".to_owned(),
            Kind::NulRun => "a run of zero bytes, as a power cut leaves it; kept as damage".to_owned(),
            Kind::BadUtf8 => format!("not UTF-8 and not JSON: {why}; kept as damage"),
            Kind::NotJson => format!("not JSON: {why}; kept as damage"),
            Kind::Rejected => format!("gptme does not take this record: {why}; kept as damage"),
        }
    }
}

/// Judges a rejected line: what it is, and at which of its bytes.
pub(super) fn classify(line: Line<'_>, rejection: &Rejection) -> (Kind, usize) {
    let Rejection::NotJson { at, .. } = rejection else { return (Kind::Rejected, 0) };
    let text = line.text;
    let at = (*at).min(text.len());
    if text.iter().all(|b| matches!(b, 0 | b' ' | b'\t')) {
        return (Kind::NulRun, 0);
    }
    if let Some(behind) = record_behind(text) {
        return (Kind::Fused, behind);
    }
    if line.end.is_empty() && text.starts_with(b"{") && at >= text.len().saturating_sub(8) {
        return (Kind::TornTail, at);
    }
    match std::str::from_utf8(text) {
        Err(error) => (Kind::BadUtf8, error.valid_up_to()),
        Ok(_) => (Kind::NotJson, at),
    }
}

/// Where a complete object begins that ends the line but does not start it.
fn record_behind(text: &[u8]) -> Option<usize> {
    // Only few places are tried: each costs a scan to the end of the line.
    let places = memchr::memmem::find_iter(text, b"{\"").filter(|at| *at > 0).take(64);
    places.into_iter().find(|&at| json::scan_object(&text[at..], Dialect::Python, &mut Vec::new()).is_ok() && text[at + 2] != b'"')
}

/// Whether a text, valid or not, opens this many containers within each other
/// before anything is wrong with it: the parser gives up before it notices.
pub(super) fn opens_deeper_than(text: &[u8], deepest: usize) -> bool {
    // The scanner stops where the parser would have seen a mistake; what it
    // passed until then is what the parser was in.
    let stop = match json::scan_value(text, Dialect::Python) {
        Ok(scan) => return scan.facts.depth >= deepest,
        Err(error) => error.at.min(text.len()),
    };
    let (mut depth, mut most, mut in_string, mut at) = (0usize, 0usize, false, 0);
    while at < stop {
        match text[at] {
            b'\\' if in_string => at += 1,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                most = most.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
        at += 1;
    }
    most >= deepest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::gptme::wire::Record;

    fn kind(text: &str, end: &'static str) -> (Kind, usize) {
        let line = Line { number: 1, offset: 0, text: text.as_bytes(), end: end.as_bytes() };
        let rejection = Record::parse(text.as_bytes(), &mut Vec::new()).err().unwrap();
        classify(line, &rejection)
    }

    #[test]
    fn damage_is_named_for_what_it_is() {
        let whole = r#"{"role": "user", "content": "x"}"#;
        assert_eq!(kind(&whole[..20], "").0, Kind::TornTail);
        assert_eq!(kind(&whole[..20], "\n").0, Kind::NotJson);
        assert_eq!(kind(&format!("{}{whole}", &whole[..20]), "\n"), (Kind::Fused, 20));
        assert_eq!(kind(&format!("{whole}{whole}"), "\n"), (Kind::Fused, whole.len()));
        assert_eq!(kind("\0\0\0", "\n").0, Kind::NulRun);
        assert_eq!(kind("[1]", "\n").0, Kind::Rejected);
        assert!(opens_deeper_than("[".repeat(1500).as_bytes(), 992));
        assert!(!opens_deeper_than(format!("}}{}", "[".repeat(1500)).as_bytes(), 992));
    }
}
