//! Which characters must not reach a terminal as they are: those that it obeys
//! instead of showing, and those that change how the text around them is read.

/// Says whether a terminal would obey this character, or show the text around
/// it in another order or with parts hidden.
///
/// Joiners (U+200C, U+200D) and variation selectors are not among them:
/// Persian, Indic scripts and emoji need them.
#[must_use]
pub fn is_unsafe_on_terminal(c: char) -> bool {
    c.is_control()
        || matches!(c,
            // Marks and overrides of the writing direction.
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}'
            // Line ends that are not control characters.
            | '\u{2028}' | '\u{2029}'
            // Characters without a width, in which text can be hidden.
            | '\u{180e}' | '\u{200b}' | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
            | '\u{e0000}'..='\u{e007f}')
}

/// Appends a character so that it can be seen and does nothing.
pub fn push_visible(c: char, out: &mut String) {
    match c {
        '\n' => out.push_str("\\n"),
        '\r' => out.push_str("\\r"),
        '\t' => out.push_str("\\t"),
        c if is_unsafe_on_terminal(c) => out.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
        c => out.push(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn controls_and_direction_marks_are_unsafe_and_letters_are_not() {
        let all = ('\0'..='\u{1f}').chain('\u{7f}'..='\u{9f}').chain('\u{202a}'..='\u{202e}').chain('\u{2066}'..='\u{2069}');
        for c in all.chain("\u{200e}\u{200f}\u{61c}\u{2028}\u{2029}\u{feff}".chars()) {
            assert!(is_unsafe_on_terminal(c), "{c:?}");
        }
        for c in "aé你🙂\u{301}\u{200d}\u{200c}\u{fe0f} ~".chars() {
            assert!(!is_unsafe_on_terminal(c), "{c:?}");
        }
    }
}
