//! What is searched for, and which lines of a log can have it at all. A log is
//! JSON: most lines are skipped by their bytes, and only those that may
//! match are read.

use regex::bytes;
use regex::{Regex, RegexBuilder};
use regex_syntax::hir::{Hir, HirKind};

/// What is searched for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SearchTerms {
    /// These words, one after the other, with any white space between them.
    Words(String),
    /// What this expression matches.
    Regex(String),
}

/// Whether `a` finds `A`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Case {
    /// Unless the pattern has a capital letter.
    Smart,
    /// Always.
    Ignored,
    /// Never.
    Exact,
}

/// A pattern, ready to search with.
#[derive(Debug)]
pub struct Pattern {
    /// Finds matches in text.
    pub(super) text: Regex,
    /// Finds lines of a log that may have a match in their text; nothing where
    /// any line may.
    pub(super) lines: Option<bytes::Regex>,
}

/// The bytes that begin what a line must be read for: escapes that a log seldom
/// has, which may stand for any character, and values carried as `$raw`. Escaped
/// control characters, which are common, are not among them.
const ODD: &str = r"\\u(?:[1-9a-fA-F]|0[1-9a-fA-F]|00[2-6a-fA-F]|007[0-9a-eA-E])|\$raw";

/// Where a match may be one of more texts than this, every line is read.
const ALTERNATIVES: usize = 64;

impl Pattern {
    /// Makes a pattern.
    ///
    /// # Errors
    /// When it is not a regular expression, with what is wrong.
    pub fn of(wanted: &SearchTerms, case: Case) -> Result<Pattern, String> {
        let (source, plain) = match wanted {
            SearchTerms::Words(words) => {
                let words: Vec<String> = words.split_whitespace().map(regex::escape).collect();
                (words.join(r"\s+"), words.join(" "))
            }
            SearchTerms::Regex(source) => (source.clone(), source.clone()),
        };
        let ignores_case = match case {
            Case::Smart => !has_capitals(&plain),
            Case::Ignored => true,
            Case::Exact => false,
        };
        let text = RegexBuilder::new(&source).case_insensitive(ignores_case).multi_line(true).build();
        let text = text.map_err(|error| error.to_string())?;
        let literals = regex_syntax::ParserBuilder::new().multi_line(true).build().parse(&source).ok().and_then(|hir| required(&hir));
        let lines = literals.and_then(|literals| {
            let literals: Vec<String> = literals.iter().map(|literal| regex::escape(literal)).collect();
            let lines = format!("{}|(?-i:{ODD})", literals.join("|"));
            bytes::RegexBuilder::new(&lines).case_insensitive(ignores_case).build().ok()
        });
        Ok(Pattern { text, lines })
    }
}

/// Tells whether a pattern has a capital letter, other than in an escape such as
/// `\S`.
fn has_capitals(pattern: &str) -> bool {
    let mut is_escaped = false;
    pattern.chars().any(|c| {
        let counts = !is_escaped && c.is_uppercase();
        is_escaped = c == '\\' && !is_escaped;
        counts
    })
}

/// Returns texts of which every match has at least one, in the form that it has
/// in a log.
fn required(hir: &Hir) -> Option<Vec<String>> {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) | HirKind::Class(_) => None,
        HirKind::Literal(literal) => {
            // A log writes some characters as escapes, and may write a few more so.
            let text = std::str::from_utf8(&literal.0).ok()?;
            let pieces = text.split(|c: char| matches!(c, '"' | '\\' | '/' | '\u{2028}' | '\u{2029}') || c.is_control());
            pieces.max_by_key(|piece| piece.len()).filter(|piece| !piece.is_empty()).map(|piece| vec![piece.to_owned()])
        }
        HirKind::Repetition(repetition) if repetition.min == 0 => None,
        HirKind::Repetition(repetition) => required(&repetition.sub),
        HirKind::Capture(capture) => required(&capture.sub),
        HirKind::Concat(parts) => {
            // The longest of them is the rarest.
            let shortest = |texts: &Vec<String>| texts.iter().map(String::len).min();
            parts.iter().filter_map(required).max_by_key(shortest)
        }
        HirKind::Alternation(parts) => {
            let all: Option<Vec<Vec<String>>> = parts.iter().map(required).collect();
            all.map(|all| all.concat()).filter(|all| all.len() <= ALTERNATIVES)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn literals(source: &str) -> Option<Vec<String>> {
        required(&regex_syntax::parse(source).unwrap())
    }

    #[test]
    fn every_match_has_one_of_the_required_texts() {
        let some = |texts: &[&str]| Some(texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>());
        assert_eq!(literals("tide table"), some(&["tide table"]));
        assert_eq!(literals(r"src/main\.rs"), some(&["main.rs"]));
        assert_eq!(literals(r#"say "yes" at once"#), some(&[" at once"]));
        assert_eq!(literals(r"fo+ba(r|zz)?\s+quux"), some(&["quux"]));
        assert_eq!(literals("(foo|bars)x?"), some(&["foo", "bars"]));
        for any in ["[ab]c?", "a|b*", r"\d+", "\"", "x*", "^$"] {
            assert_eq!(literals(any), None, "{any}");
        }
    }

    #[test]
    fn lines_are_read_that_may_have_a_match() {
        let may = |wanted: &SearchTerms, line: &str| {
            Pattern::of(wanted, Case::Smart).unwrap().lines.is_none_or(|lines| lines.is_match(line.as_bytes()))
        };
        let words = |text: &str| SearchTerms::Words(text.to_owned());
        assert!(may(&words("Café au"), r#"{"text":"ein Café\nau lait"}"#));
        assert!(may(&words("café"), r#"{"text":"CAFÉ"}"#));
        assert!(!may(&words("Café"), r#"{"text":"cafe \u001b[0m\n\u0007\u007f\u0085"}"#), "controls are common");
        assert!(may(&words("Café"), r#"{"text":"Caf\u00e9"}"#) && may(&words("abc"), r#"{"text":"\u0061bc"}"#));
        assert!(may(&words("xyz"), r#"{"text":{"$raw":"\"\\ud800\""}}"#));
        assert!(may(&words("\""), "anything") && may(&SearchTerms::Regex(r"\d+".to_owned()), "anything"));
        assert!(Pattern::of(&SearchTerms::Regex("(".to_owned()), Case::Smart).is_err());
    }

    #[test]
    fn a_capital_letter_makes_case_count() {
        let finds = |text: &str, case| Pattern::of(&SearchTerms::Words(text.to_owned()), case).unwrap().text.is_match("The Tide  TABLE");
        assert!(finds("tide table", Case::Smart) && !finds("Tide Table", Case::Smart));
        assert!(finds("Tide Table", Case::Ignored) && !finds("tide", Case::Exact));
        assert!(!has_capitals(r"\Sfoo") && has_capitals(r"\\Sfoo"));
    }
}
