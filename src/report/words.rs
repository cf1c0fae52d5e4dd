//! Two texts in one line, word by word: `the [-brown-]{+red+} fox`.

use similar::{ChangeTag, TextDiff};
use std::time::Duration;

use crate::verify::difference::visible;

use super::styled::Styled;
use super::terminal::Tint;

/// Longer texts are not compared within.
const COMPARED: usize = 64 * 1024;

/// A word is no longer than this: what both sides share of a longer one is not
/// said to have changed.
const LONGEST_WORD: usize = 40;

/// So many characters of something that was added or removed are shown.
const SHOWN: usize = 200;

/// So many changes are shown; the rest is counted.
const CHANGES: usize = 8;

/// Returns what changed between two texts, with so much of what did not around it.
#[must_use]
pub fn word_diff(from: &str, to: &str, context: usize) -> Styled {
    let start = common_start(from, to);
    let end = common_end(&from[start..], &to[start..]);
    let (before, after) = (&from[..start], &from[from.len() - end..]);
    let (from, to) = (&from[start..from.len() - end], &to[start..to.len() - end]);
    let mut out = Styled::from(&visible(&last_of(before, context)));
    let mut changes = 0;
    for (tag, text) in pieces(from, to) {
        changes += usize::from(tag != ChangeTag::Equal);
        if changes > CHANGES {
            continue;
        }
        match tag {
            ChangeTag::Equal => out.push_str(&visible(&middle_of(&text, context))),
            ChangeTag::Delete => out.push(Tint::Removed, &format!("[-{}-]", visible(&cut(&text)))),
            ChangeTag::Insert => out.push(Tint::Added, &format!("{{+{}+}}", visible(&cut(&text)))),
        }
    }
    if changes > CHANGES {
        out.push_str(&format!("… and {} more changes …", changes - CHANGES));
    }
    out.push_str(&visible(&first_of(after, context)));
    out
}

/// Returns how much both begin with, back to where a word begins.
fn common_start(from: &str, to: &str) -> usize {
    let same: usize = from.chars().zip(to.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
    let word = from[..same].chars().rev().take(LONGEST_WORD).position(char::is_whitespace);
    word.map_or(same, |count| same - from[..same].chars().rev().take(count).map(char::len_utf8).sum::<usize>())
}

/// Returns how much both end with, from where a word ends.
fn common_end(from: &str, to: &str) -> usize {
    let same: usize = from.chars().rev().zip(to.chars().rev()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8()).sum();
    let tail = &from[from.len() - same..];
    let word = tail.chars().take(LONGEST_WORD).position(char::is_whitespace);
    word.map_or(same, |count| same - tail.chars().take(count).map(char::len_utf8).sum::<usize>())
}

/// Returns the words of both, those of one kind that follow each other as one.
fn pieces(from: &str, to: &str) -> Vec<(ChangeTag, String)> {
    let whole = [(ChangeTag::Delete, from.to_owned()), (ChangeTag::Insert, to.to_owned())];
    if from.len().max(to.len()) > COMPARED {
        return whole.into();
    }
    let diff = TextDiff::configure().timeout(Duration::from_millis(200)).diff_words(from, to);
    let mut list: Vec<(ChangeTag, String)> = Vec::new();
    for change in diff.iter_all_changes() {
        match list.last_mut() {
            Some((tag, text)) if *tag == change.tag() => text.push_str(change.value()),
            _ => list.push((change.tag(), change.value().to_owned())),
        }
    }
    list
}

fn cut(text: &str) -> String {
    let count = text.chars().count();
    if count <= SHOWN { text.to_owned() } else { format!("{}… ({count} characters)", text.chars().take(SHOWN).collect::<String>()) }
}

fn first_of(text: &str, count: usize) -> String {
    let shown: String = text.chars().take(count).collect();
    if shown.len() < text.len() { format!("{shown}…") } else { shown }
}

fn last_of(text: &str, count: usize) -> String {
    let skipped = text.chars().count().saturating_sub(count);
    let shown: String = text.chars().skip(skipped).collect();
    if skipped > 0 { format!("…{shown}") } else { shown }
}

fn middle_of(text: &str, context: usize) -> String {
    if text.chars().count() <= context.saturating_mul(2) {
        text.to_owned()
    } else {
        format!("{}{}", first_of(text, context), last_of(text, context).trim_start_matches('…'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::terminal::Colours;

    fn diff(from: &str, to: &str, context: usize) -> String {
        word_diff(from, to, context).plain()
    }

    #[test]
    fn words_are_changed_whole_and_the_rest_is_cut() {
        assert_eq!(diff("the brown fox", "the red fox", 40), "the [-brown-]{+red+} fox");
        assert_eq!(diff("message 2", "message X", 40), "message [-2-]{+X+}");
        assert_eq!(diff("a b c", "a c", 40), "a [-b -]c");
        assert_eq!(diff("", "new", 40), "{+new+}");
        assert_eq!(diff(&format!("{}x end", "word ".repeat(100)), &format!("{}y end", "word ".repeat(100)), 5), "…word [-x-]{+y+} end");
    }

    #[test]
    fn a_long_word_changes_only_where_it_does() {
        let long = "你好".repeat(100);
        assert_eq!(diff(&format!("{long}吗{long}"), &format!("{long}呢{long}"), 2), "…你好[-吗-]{+呢+}你好…");
    }

    #[test]
    fn never_megabytes_and_nothing_that_a_terminal_obeys() {
        let (from, to) = ("a\u{1b} ".repeat(500_000), "b ".repeat(500_000));
        let shown = diff(&from, &to, 40);
        assert!(shown.len() < 3_000 && !shown.contains('\u{1b}'), "{}", shown.len());
        let many = |word: &str| (0..100).map(|n| format!("{word}{n} same ")).collect::<String>();
        assert!(diff(&many("a"), &many("b"), 40).contains("more changes"));
    }

    #[test]
    fn colours_go_around_what_changed() {
        assert_eq!(word_diff("a b", "a c", 9).render(Colours::Shown), "a \u{1b}[31m[-b-]\u{1b}[0m\u{1b}[32m{+c+}\u{1b}[0m");
    }
}
