//! What is wrong with a line that the loader does not take.

use crate::adapters::kit::salvage::{self, DamageKind, LineEnd, Piece};
use crate::json::{self, Dialect};
use crate::model::jsonl::Line;

use super::wire::Rejection;

/// Judges a rejected line: what it is, and the complete records on it, in
/// pieces without a gap; and what the parser or the loader said.
pub(super) fn dissect(line: Line<'_>, rejection: &Rejection, accepts: &dyn Fn(&[u8]) -> bool) -> (Vec<Piece>, usize, &'static str) {
    let whole = |kind| vec![Piece { start: 0, end: line.text.len(), damage: Some(kind) }];
    match rejection {
        Rejection::NoMessage(what) => (whole(DamageKind::Rejected), 0, what),
        Rejection::NotJson { at, what } => {
            let end = if line.end.is_empty() { LineEnd::FileEnd } else { LineEnd::Newline };
            let at = (*at).min(line.text.len());
            (salvage::dissect(line.text, at, end, Dialect::Python, accepts), at, what)
        }
    }
}

/// Tells whether a text, valid or not, opens this many containers within each other
/// before anything is wrong with it: the parser gives up before it notices.
pub(super) fn opens_deeper_than(text: &[u8], deepest: usize) -> bool {
    // The scanner stops where the parser would have seen a mistake; what it
    // passed until then is what the parser was in.
    let stop = match json::scan_value(text, Dialect::Python) {
        Ok(scan) => return scan.facts.depth >= deepest,
        Err(error) => error.at.min(text.len()),
    };
    json::deepest(&text[..stop]) >= deepest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::gptme::wire::Record;

    fn damage_of(text: &str, end: &'static str) -> Vec<Option<DamageKind>> {
        let line = Line { number: 1, offset: 0, text: text.as_bytes(), end: end.as_bytes() };
        let rejection = Record::parse(text.as_bytes(), &mut Vec::new()).err().unwrap();
        let accepts = |record: &[u8]| Record::parse(record, &mut Vec::new()).is_ok();
        dissect(line, &rejection, &accepts).0.iter().map(|piece| piece.damage).collect()
    }

    #[test]
    fn damage_is_named_for_what_it_is() {
        let whole = r#"{"role": "user", "content": "x"}"#;
        assert_eq!(damage_of(&whole[..20], ""), [Some(DamageKind::TornTail)]);
        assert_eq!(damage_of(&whole[..20], "\n"), [Some(DamageKind::NotJson)]);
        assert_eq!(damage_of(&format!("{}{whole}", &whole[..20]), "\n"), [Some(DamageKind::Fused), None]);
        assert_eq!(damage_of(&format!("{whole}{whole}"), "\n"), [None, None]);
        assert_eq!(damage_of("\0\0\0", "\n"), [Some(DamageKind::NulRun)]);
        assert_eq!(damage_of("[1]", "\n"), [Some(DamageKind::Rejected)]);
        assert!(opens_deeper_than("[".repeat(1500).as_bytes(), 992));
        assert!(!opens_deeper_than(format!("}}{}", "[".repeat(1500)).as_bytes(), 992));
    }
}
