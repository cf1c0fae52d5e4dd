//! Evidence that two things which should be the same are not.

use crate::model::location::Location;

/// The first thing that differs, and a window of both sides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// What differs, in words that stand alone.
    pub what: String,
    /// Where.
    pub location: Location,
    /// What the source has there.
    pub source: String,
    /// What the log gives.
    pub log: String,
}

impl Difference {
    /// A difference without two sides to show.
    pub fn plain(what: impl Into<String>, location: Location) -> Difference {
        Difference { what: what.into(), location, source: String::new(), log: String::new() }
    }
}

/// How much of each side is shown around a difference.
pub(super) const WINDOW: usize = 40;

/// A short piece of a text around a byte, cut at characters, with what a
/// terminal would obey made visible.
#[must_use]
pub fn window(text: &[u8], at: usize) -> String {
    let from = at.saturating_sub(WINDOW).min(text.len());
    let to = (at + WINDOW).min(text.len());
    let shown = visible(&String::from_utf8_lossy(&text[from..to]));
    format!("{}{shown}{}", if from > 0 { "…" } else { "" }, if to < text.len() { "…" } else { "" })
}

/// A text in which control characters can be seen and do nothing.
#[must_use]
pub fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') => {
                out.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out
}
