//! Blocks of Markdown that hold a text as it is, whatever the text says.

/// Returns a text as code within a line.
#[must_use]
pub fn code(text: &str) -> String {
    let ticks = "`".repeat(longest_run(text, '`') + 1);
    let pad = if text.starts_with('`') || text.ends_with('`') { " " } else { "" };
    if text.is_empty() { String::new() } else { format!("{ticks}{pad}{text}{pad}{ticks}") }
}

/// Returns a text as a block of code, with the word that says what it is.
#[must_use]
pub fn fenced(info: &str, text: &str) -> String {
    let fence = fence_around(text);
    format!("{fence}{info}\n{}\n{fence}", text.trim_end_matches('\n'))
}

/// Returns a fence that nothing in a text ends.
fn fence_around(text: &str) -> String {
    "`".repeat((longest_run(text, '`') + 1).max(3))
}

fn longest_run(text: &str, wanted: char) -> usize {
    text.split(|c| c != wanted).map(str::len).max().unwrap_or(0)
}

/// Returns a text with the fence that it leaves open closed: the next message must
/// not become a part of its code.
#[must_use]
pub fn closed(text: &str) -> String {
    let mut open: Option<(char, usize)> = None;
    for line in text.lines() {
        let body = line.trim_start_matches(' ');
        let Some(mark) = body.chars().next().filter(|c| matches!(c, '`' | '~') && line.len() - body.len() <= 3) else { continue };
        let run = body.chars().take_while(|c| *c == mark).count();
        let info = &body[run..];
        match open {
            Some((fence, len)) if fence == mark && run >= len && info.trim().is_empty() => open = None,
            None if run >= 3 && !(mark == '`' && info.contains('`')) => open = Some((mark, run)),
            Some(_) | None => {}
        }
    }
    match open {
        Some((mark, run)) => format!("{}\n{}", text.trim_end_matches('\n'), mark.to_string().repeat(run)),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_does_not_swallow_the_next() {
        assert_eq!(closed("a\n```rust\nb\n"), "a\n```rust\nb\n```");
        assert_eq!(closed("````\n```\nb"), "````\n```\nb\n````");
        assert_eq!(closed("```\na\n```\nb"), "```\na\n```\nb");
        assert_eq!(fence_around("a ```` b"), "`````");
        assert_eq!(code("a `b`"), "`` a `b` ``");
    }
}
