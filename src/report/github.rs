//! What GitHub Actions reads: annotations in the log of a step, and a summary
//! of the job.

use std::fmt::Write as _;

/// How an annotation is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notice {
    /// As an error.
    Error,
    /// As a warning.
    Warning,
}

/// One annotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Annotation {
    /// How it is shown.
    pub notice: Notice,
    /// The file, from the top of the repository.
    pub file: String,
    /// The line and the byte in it, from 1.
    pub at: Option<(u64, u64)>,
    /// A few words above it.
    pub title: String,
    /// What it says.
    pub message: String,
}

impl Annotation {
    /// Returns the line that makes GitHub show it.
    #[must_use]
    pub fn line(&self) -> String {
        let mut line = format!(
            "::{} file={}",
            match self.notice {
                Notice::Error => "error",
                Notice::Warning => "warning",
            },
            property(&self.file)
        );
        if let Some((number, byte)) = self.at {
            let _ = write!(line, ",line={number},col={byte}");
        }
        let _ = write!(line, ",title={}::{}", property(&self.title), data(&self.message));
        line
    }
}

/// Returns what follows the `::`.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Returns what follows a `=`.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}

/// Returns a table in Markdown.
#[must_use]
pub fn table(heading: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let mut text = line(&heading.iter().map(ToString::to_string).collect::<Vec<_>>());
    text.push_str(&line(&vec!["---".to_owned(); heading.len()]));
    rows.iter().for_each(|row| text.push_str(&line(&row.iter().map(|cell| plain_cell(cell)).collect::<Vec<_>>())));
    text
}

/// Returns a cell whose text neither ends the cell nor is read as markup.
fn plain_cell(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '\n' | '\r' => out.push(' '),
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' | '#' | '~' => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            '&' => out.push_str("&amp;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_annotation_stays_on_its_line_and_in_its_fields() {
        let annotation = Annotation {
            notice: Notice::Error,
            file: "a,b:c%.jsonl".to_owned(),
            at: Some((7, 3)),
            title: "x: y".to_owned(),
            message: "100%: one,\ntwo ::error::".to_owned(),
        };
        assert_eq!(annotation.line(), "::error file=a%2Cb%3Ac%25.jsonl,line=7,col=3,title=x%3A y::100%25: one,%0Atwo ::error::");
    }

    #[test]
    fn a_cell_is_text() {
        assert_eq!(table(&["a"], &[vec!["x|<b>*y*\n`".to_owned()]]), "| a |\n| --- |\n| x\\|&lt;b>\\*y\\* \\` |\n");
    }
}
