//! Findings, errors and numbers as people read them.

use std::error::Error;
use std::fmt::Write as _;

pub use crate::model::counted::{count, thousands};
use crate::model::finding::{Finding, FindingCode};
use crate::verify::difference::visible;

/// Returns a finding in two or three lines; `inside` is put before its file.
#[must_use]
pub fn finding(finding: &Finding, inside: &str) -> String {
    let place = if inside.is_empty() { finding.location.to_string() } else { format!("{inside}/{}", finding.location) };
    let mut text = format!("{}: {} [{}]\n  at {}", finding.severity, visible(&finding.message), code_name(finding.code), visible(&place));
    if finding.more > 0 {
        let _ = write!(text, "\n  and {} more like it in this file", thousands(finding.more));
    }
    text
}

/// Returns a code as programs and people write it: `torn_tail`.
#[must_use]
pub fn code_name(code: FindingCode) -> String {
    serde_json::to_string(&code).unwrap_or_default().trim_matches('"').to_owned()
}

/// Returns an error with its causes and what to do.
#[must_use]
pub fn error(error: &dyn Error, at: Option<&str>, hint: Option<&str>) -> String {
    let mut text = format!("error: {}", visible(&error.to_string()));
    if let Some(at) = at {
        let _ = write!(text, "\n  at {}", visible(at));
    }
    let mut cause = error.source();
    while let Some(inner) = cause {
        let _ = write!(text, "\n  because {}", visible(&inner.to_string()));
        cause = inner.source();
    }
    if let Some(hint) = hint {
        let _ = write!(text, "\nhint: {hint}");
    }
    text
}

/// Returns a word of a command as a shell takes it.
#[must_use]
pub fn shell_word(word: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:,@%=".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", visible(&word.replace('\'', "'\\''"))) }
}

/// Returns a size as people write it.
#[must_use]
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KB", "MB", "GB", "TB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < UNITS.len() {
        value /= 1000.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} B") } else { format!("{value:.1} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_well() {
        assert_eq!((thousands(0).as_str(), thousands(1234567).as_str()), ("0", "1,234,567"));
        assert_eq!((size(999).as_str(), size(1_234_567).as_str()), ("999 B", "1.2 MB"));
        assert_eq!((count(1, "file").as_str(), count(2, "file").as_str()), ("1 file", "2 files"));
    }

    #[test]
    fn nothing_in_a_report_obeys_the_terminal() {
        assert_eq!(visible("a\u{1b}[31m\u{9b}\n\u{202e}"), "a\\u{1b}[31m\\u{9b}\\n\\u{202e}");
    }
}
