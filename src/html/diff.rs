//! Differences between two texts, and patches.

use similar::{ChangeTag, TextDiff};

use crate::api::{PatchLine, patch_lines};

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
    for line in patch_lines(patch) {
        match line {
            PatchLine::Same(line) => push_line(' ', line, out),
            PatchLine::Removed(line) => push_line('-', line, out),
            PatchLine::Added(line) => push_line('+', line, out),
            PatchLine::Heading(line) => push_line('@', line, out),
        }
    }
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
    fn a_patch_is_coloured_line_by_line() {
        let mut out = String::new();
        push_patch("@@ -1 +1 @@\n-a\n+b\n c", &mut out);
        assert_eq!(
            out,
            "<span class=h>  @@ -1 +1 @@\n</span><span class=d>- a\n</span><span class=a>+ b\n</span><span class=u>  c\n</span>"
        );
    }
}
