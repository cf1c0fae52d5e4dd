//! Text that becomes part of a page.

/// Appends a text to a page. It can neither end an element nor an attribute, and
/// its control characters are shown instead of obeyed.
pub(super) fn push_escaped(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            // A carriage return would become a line end of its own.
            '\r' => {}
            '\0'..='\x1f' => out.push(char::from_u32(0x2400 + u32::from(c)).unwrap_or('\u{fffd}')),
            '\x7f'..='\u{9f}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            // They would turn around what comes after them.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{200e}' | '\u{200f}' => out.push('\u{fffd}'),
            _ => out.push(c),
        }
    }
}

/// Returns a text as it is written into a page.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    push_escaped(text, &mut out);
    out
}

/// Returns a text without the sequences by which programs colour a terminal.
pub(super) fn without_colours(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find("\x1b[") {
        out.push_str(&rest[..at]);
        let after = &rest[at + 2..];
        let end = after.bytes().position(|b| (0x40..=0x7e).contains(&b));
        let is_plain = end.is_some_and(|end| after.as_bytes()[..end].iter().all(|b| (0x20..0x40).contains(b)));
        match end.filter(|_| is_plain) {
            Some(end) => rest = &after[end + 1..],
            None => {
                out.push('\x1b');
                rest = &rest[at + 1..];
            }
        }
    }
    out.push_str(rest);
    out
}

/// Returns JSON as it stands in a `script` element: nothing in it can end that.
pub(super) fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_text_is_markup() {
        assert_eq!(escaped("<a href=\"x\" b='y'>&amp;"), "&lt;a href=&quot;x&quot; b=&#39;y&#39;&gt;&amp;amp;");
        assert_eq!(escaped("a\x1b\0\u{202e}\u{85}b\r\n"), "a\u{241b}\u{2400}\u{fffd}\u{fffd}b\n");
        assert_eq!(in_script("{\"a\":\"</script><!--\"}"), "{\"a\":\"\\u003c/script\\u003e\\u003c!--\"}");
    }

    #[test]
    fn colours_of_a_terminal_are_left_out() {
        assert_eq!(without_colours("\x1b[1;31mred\x1b[0m plain \x1b[2K"), "red plain ");
        assert_eq!(without_colours("\x1b[é \x1b["), "\x1b[é \x1b[");
    }
}
