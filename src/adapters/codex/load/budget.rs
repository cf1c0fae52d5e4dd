//! What a compaction without a list leaves: the newest prompts that fit into a
//! budget, and the summary. Releases 0.39 to 0.98 wrote such compactions.

use crate::json::Value;

use super::entry::{Entry, Prompt, parts};
use super::marks;
use super::parts::Part;

/// How many tokens of prompts are kept.
const BUDGET: usize = 20_000;
/// How many bytes count as a token.
const BYTES_PER_TOKEN: usize = 4;

/// Builds the history after a compaction.
pub(super) fn prompts_and_summary<'r>(history: &[Entry<'r>], summary: &str) -> Vec<Entry<'r>> {
    let mut left = BUDGET;
    let mut kept = Vec::new();
    for prompt in history.iter().rev().filter_map(Entry::prompt) {
        if left == 0 {
            break;
        }
        let (id, texts) = match prompt {
            Prompt::Stored(item) => (item.get("id"), texts(item)),
            Prompt::Kept(id, texts) => (id, texts.to_vec()),
        };
        let cost = texts.iter().map(String::len).sum::<usize>().div_ceil(BYTES_PER_TOKEN);
        if cost > left {
            kept.push(Entry::Prompt(id, truncated(&texts, left)));
            break;
        }
        left -= cost;
        kept.push(Entry::Prompt(id, texts));
    }
    kept.reverse();
    let summary = if summary.is_empty() { "(no summary available)" } else { summary };
    kept.push(Entry::Prompt(None, vec![summary.to_owned()]));
    kept
}

/// The texts of a prompt, without those that only frame an image.
fn texts(item: Value<'_>) -> Vec<String> {
    let parts: Vec<(Option<Part>, Value<'_>)> = parts(item).map(|part| (Part::of(part), part)).collect();
    let is_image = |at: Option<usize>| at.and_then(|at| parts.get(at)).is_some_and(|(kind, _)| *kind == Some(Part::InputImage));
    let mut texts = Vec::new();
    for (at, (kind, part)) in parts.iter().enumerate() {
        let text = part.get("text").unwrap_or_default().to_str();
        let is_frame =
            (marks::opens_image(&text) && is_image(at.checked_add(1))) || (marks::closes_image(&text) && is_image(at.checked_sub(1)));
        if *kind == Some(Part::InputText) && !is_frame {
            texts.push(text.into_owned());
        }
    }
    // What only had other parts becomes an empty text.
    if texts.is_empty() && !parts.is_empty() { vec![String::new()] } else { texts }
}

/// The beginning and the end of texts that are too long, as many bytes of each,
/// and between them how much is missing.
fn truncated(texts: &[String], tokens: usize) -> Vec<String> {
    let bytes: usize = texts.iter().map(String::len).sum();
    let half = tokens * BYTES_PER_TOKEN / 2;
    let missing = (bytes - 2 * half).div_ceil(BYTES_PER_TOKEN);
    let (mut head, mut tail) = (Vec::new(), Vec::new());
    let mut start = 0;
    for text in texts {
        let end = start + text.len();
        if start < half {
            head.push(text[..char_start(text, half - start)].to_owned());
        }
        let tail_start = bytes - half;
        if end > tail_start {
            tail.push(text[char_end(text, tail_start.saturating_sub(start))..].to_owned());
        }
        start = end;
    }
    head.push(format!("…{missing} tokens truncated…"));
    head.extend(tail);
    head
}

/// The nearest place up to here where a character begins.
fn char_start(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or_default()
}

/// The nearest place from here on where a character begins.
fn char_end(text: &str, at: usize) -> usize {
    (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}
