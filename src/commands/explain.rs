//! `everlog explain`: what a finding code means, from the same page as the
//! documentation, so that the two cannot differ.

use serde::Serialize;

use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};

use super::error::CommandError;

/// The page of the documentation that has a table row for every code.
const PAGE: &str = include_str!("../../docs/src/reference/findings.md");

/// One row of the page, for one code.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Explanation {
    code: &'static str,
    severity: &'static str,
    section: &'static str,
    meaning: &'static str,
    /// What the last column asks, such as "what you can do".
    question: &'static str,
    answer: &'static str,
}

/// Explains one code, or lists all of them.
///
/// # Errors
/// [`CommandError::UnknownCode`] where no finding has this code.
pub fn run(code: Option<&str>, out: &Printer) -> Result<ExitStatus, CommandError> {
    let all = explanations();
    let chosen: Vec<&Explanation> = match code {
        None => all.iter().collect(),
        Some(code) => {
            // People copy codes out of reports, where they stand in brackets.
            let code = code.trim_matches(['[', ']', '`']);
            let found = all.iter().find(|one| one.code == code);
            vec![found.ok_or_else(|| CommandError::UnknownCode { code: code.to_owned(), near: near(code, &all) })?]
        }
    };
    for one in chosen {
        match (out.form(), code) {
            (Form::Json, _) => out.object(one),
            (Form::Text, None) => out.text(&format!("{:32} {:5} {}", one.code, one.severity, plain(one.meaning))),
            (Form::Text, Some(_)) => out.text(&page(one)),
        }
    }
    Ok(ExitStatus::Well)
}

fn page(one: &Explanation) -> String {
    let asked = capitalised(one.question.trim_end_matches('?'));
    format!("{} ({}): {}\n{asked}: {}", one.code, one.severity, plain(one.meaning), plain(one.answer))
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Markdown's marks for emphasis, removed; code keeps its backticks.
fn plain(text: &str) -> String {
    text.replace("**", "")
}

/// Returns every row of the page, a code each.
fn explanations() -> Vec<Explanation> {
    let (mut section, mut question) = ("", "");
    let mut found = Vec::new();
    for line in PAGE.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            section = title;
        }
        let Some(row) = line.strip_prefix("| ").and_then(|row| row.strip_suffix(" |")) else { continue };
        let [codes, severity, meaning, answer] = row.split(" | ").collect::<Vec<_>>()[..] else { continue };
        if codes == "code" {
            question = answer;
            continue;
        }
        let codes = codes.split(", ").map(|code| code.trim_matches('`'));
        found.extend(codes.map(|code| Explanation { code, severity, section, meaning, question, answer }));
    }
    found
}

/// Codes that share most of their letters with what was typed.
fn near(code: &str, all: &[Explanation]) -> Vec<&'static str> {
    let mut rated: Vec<(f32, &'static str)> =
        all.iter().map(|one| (similar::TextDiff::from_chars(code, one.code).ratio(), one.code)).filter(|(ratio, _)| *ratio > 0.6).collect();
    rated.sort_by(|a, b| b.0.total_cmp(&a.0));
    rated.into_iter().take(3).map(|(_, code)| code).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::finding::FindingCode;

    fn name(code: &impl Serialize) -> String {
        serde_json::to_string(code).unwrap().trim_matches('"').to_owned()
    }

    #[test]
    fn every_code_has_its_row_and_every_row_its_code() {
        let all = explanations();
        for code in FindingCode::ALL {
            let (name, severity) = (name(code), name(&code.severity()));
            let rows: Vec<_> = all.iter().filter(|one| one.code == name).collect();
            assert_eq!(rows.len(), 1, "{name}");
            assert_eq!(rows[0].severity, severity, "{name}");
            assert!(!rows[0].meaning.is_empty() && !rows[0].answer.is_empty() && !rows[0].question.is_empty(), "{name}");
        }
        let unknown: Vec<_> = all.iter().filter(|one| !FindingCode::ALL.iter().any(|code| name(code) == one.code)).collect();
        assert_eq!(unknown, Vec::<&Explanation>::new());
    }

    #[test]
    fn a_code_that_is_mistyped_finds_its_neighbours() {
        assert_eq!(near("torn_tial", &explanations()).first(), Some(&"torn_tail"));
        assert_eq!(near("zzzz", &explanations()), Vec::<&str>::new());
    }
}
