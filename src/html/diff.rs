//! Differences between two texts, and patches.

use similar::{ChangeTag, TextDiff};

use super::escape::push_escaped;

/// Of texts with more lines no smallest difference is looked for: that can take
/// time that grows with their square.
const MOST_LINES: usize = 4_000;

/// Appends what an edit changes, line by line.
pub(super) fn push_edit(old: &str, new: &str, out: &mut String) {
    out.push_str("<pre class=diff>");
    if old.lines().count() + new.lines().count() > MOST_LINES {
        old.lines().for_each(|line| push_line('-', line, out));
        new.lines().for_each(|line| push_line('+', line, out));
    } else {
        let diff = TextDiff::from_lines(old, new);
        for (n, group) in diff.grouped_ops(3).iter().enumerate() {
            if n > 0 {
                push_line('@', "⋯", out);
            }
            for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
                let sign = match change.tag() {
                    ChangeTag::Delete => '-',
                    ChangeTag::Insert => '+',
                    ChangeTag::Equal => ' ',
                };
                push_line(sign, change.value().trim_end_matches(['\n', '\r']), out);
            }
        }
    }
    out.push_str("</pre>");
}

/// Appends a patch that is written out already.
pub(super) fn push_patch(patch: &str, out: &mut String) {
    for line in patch.lines() {
        let sign = line.chars().next().unwrap_or(' ');
        match sign {
            '+' | '-' if !line.starts_with("+++") && !line.starts_with("---") => push_line(sign, &line[1..], out),
            '@' => push_line('@', line, out),
            _ => push_line(' ', line.strip_prefix(' ').unwrap_or(line), out),
        }
    }
}

/// Tells whether a text is a patch.
pub(super) fn is_patch(text: &str) -> bool {
    let start = text.trim_start();
    start.starts_with("diff --git ")
        || start.starts_with("*** Begin Patch")
        || (start.starts_with("--- ") && text.contains("\n+++ ") && text.contains("\n@@"))
}

fn push_line(sign: char, line: &str, out: &mut String) {
    let class = match sign {
        '+' => "a",
        '-' => "d",
        '@' => "h",
        _ => "u",
    };
    out.push_str("<span class=");
    out.push_str(class);
    out.push('>');
    out.push(if sign == '@' { ' ' } else { sign });
    out.push(' ');
    push_escaped(line, out);
    out.push_str("\n</span>");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_edit_is_shown_line_by_line() {
        let mut out = String::new();
        push_edit("a\nb<\nc\n", "a\nB\nc\n", &mut out);
        assert_eq!(
            out,
            "<pre class=diff><span class=u>  a\n</span><span class=d>- b&lt;\n</span><span class=a>+ B\n</span><span class=u>  c\n</span></pre>"
        );
    }

    #[test]
    fn patches_are_known_by_their_beginning() {
        assert!(is_patch("diff --git a/x b/x\n") && is_patch("--- a\n+++ b\n@@ -1 +1 @@\n"));
        assert!(!is_patch("--- a list\n- of things"));
        let mut out = String::new();
        push_patch("@@ -1 +1 @@\n-a\n+b\n c\n+++ x", &mut out);
        assert!(out.contains("<span class=d>- a\n</span><span class=a>+ b\n</span><span class=u>  c\n</span><span class=u>  +++ x"));
    }
}
