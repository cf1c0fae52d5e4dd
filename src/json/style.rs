//! How a source program writes JSON: separators and escapes. Rendering in a
//! style is the inverse of carrying a value into the log.

use serde::{Deserialize, Serialize};

use super::byte_set::ByteSet;

use super::skip::token_end;
use super::string::{Escapes, RAW_KEY, decode_string, decode_unicode_escape, first_unicode_escape, push_hex_escape, push_string};
use super::validate::scan_object;
use super::value::Value;
use super::verdict::Dialect;

/// What a writer puts between members and after keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Separators {
    /// `", "` and `": "`, CPython's default.
    #[default]
    Spaced,
    /// `","` and `":"`.
    Compact,
    /// One member a line, two spaces a level, `": "`: Go's and JavaScript's
    /// indented form, which puts nothing inside of empty containers.
    Indented,
}

/// The writing style of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Style {
    /// What is between members and after keys.
    pub separators: Separators,
    /// What is escaped in strings.
    pub escapes: Escapes,
}

/// What a member `$raw` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Raw {
    /// The text of a value that the log carries.
    Carried,
    /// A member like others.
    Literal,
}

impl Style {
    /// Writes the comma between two members.
    #[inline]
    pub fn push_comma(self, out: &mut Vec<u8>) {
        out.push(b',');
        if self.separators == Separators::Spaced {
            out.push(b' ');
        }
    }

    /// Writes the colon after a key.
    #[inline]
    pub fn push_colon(self, out: &mut Vec<u8>) {
        out.push(b':');
        if self.separators != Separators::Compact {
            out.push(b' ');
        }
    }

    /// Starts a new line at this depth, where this style does.
    pub fn push_break(self, depth: usize, out: &mut Vec<u8>) {
        if self.separators == Separators::Indented {
            const SHALLOW: &[u8] = b"\n                ";
            match SHALLOW.get(..=2 * depth) {
                Some(whole) => out.extend_from_slice(whole),
                None => {
                    out.push(b'\n');
                    out.extend(std::iter::repeat_n(b' ', 2 * depth));
                }
            }
        }
    }

    /// Returns this style as a log names it, where it is not the program's usual one.
    #[must_use]
    pub fn unless(self, usual: Style) -> Option<String> {
        if self == usual { None } else { serde_json::to_string(&self).ok() }
    }

    /// Returns the style that a log names; the usual one where it names none.
    #[must_use]
    pub fn named(text: Option<&str>, usual: Style) -> Option<Style> {
        text.map_or(Some(usual), |text| serde_json::from_str(text).ok())
    }

    /// Returns the style that a file's first records show: those of its beginning, or the
    /// first one that there is. Lines that are not JSON, and objects without a
    /// member, say nothing about the writer; where there is nothing else, it is
    /// `usual`. A record in another style than the others is kept as a residual.
    #[must_use]
    pub fn of_file(bytes: &[u8], usual: Style) -> Style {
        let head = &bytes[..bytes.len().min(64 * 1024)];
        let Some(separators) = lines(head).take(64).find_map(separators_of) else {
            // A line that fills the beginning is as good a witness as any.
            let first = lines(bytes).find_map(|line| Some((separators_of(line)?, line)));
            return first.map_or(usual, |(separators, line)| Style { separators, escapes: escapes_of(std::iter::once(line), |_| true) });
        };
        if head.is_ascii() {
            return Style { separators, escapes: Escapes::Ascii };
        }
        let counts = |line: &[u8]| std::str::from_utf8(line).is_ok() && is_record(line);
        Style { separators, escapes: escapes_of(lines(head).take(64), counts) }
    }

    /// Renders a string token of the log as this style writes it.
    pub fn push_string<'v>(self, token: impl Into<Value<'v>>, out: &mut Vec<u8>) {
        let token = token.into().text();
        match self.escapes {
            // Every escape the log uses is one that CPython writes too, or one
            // that the source had: all are copied. What is raw in the log and
            // not ASCII is what CPython escapes.
            Escapes::Ascii => {
                let mut rest = token;
                while let Some(at) = first_non_ascii(rest) {
                    out.extend_from_slice(&rest[..at]);
                    rest = &rest[at..];
                    let len = rest.iter().position(u8::is_ascii).unwrap_or(rest.len());
                    push_ascii_run(&rest[..len], out);
                    rest = &rest[len..];
                }
                out.extend_from_slice(rest);
            }
            // Characters that the log alone escapes become raw again.
            Escapes::Utf8 => {
                push_unescaped(token, |c| matches!(c, '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}'), &copy, out);
            }
            Escapes::Go => push_unescaped(token, |c| matches!(c, '\u{7f}'..='\u{9f}'), &push_html_escaped, out),
        }
    }

    /// Renders a key that is given as text.
    pub fn push_name(self, name: &str, out: &mut Vec<u8>) {
        if name.bytes().all(|b| PLAIN[usize::from(b)]) {
            out.push(b'"');
            out.extend_from_slice(name.as_bytes());
            return out.push(b'"');
        }
        let mut token = Vec::with_capacity(name.len() + 2);
        push_string(name, &mut token);
        self.push_string(token.as_slice(), out);
    }

    /// Renders a value of the log (compact, log escapes, `$raw` for what not
    /// every parser takes) as this style writes it. Token by token: nesting
    /// costs no recursion.
    pub fn push_value<'v>(self, value: impl Into<Value<'v>>, out: &mut Vec<u8>) {
        self.push_value_at(value, 0, out);
    }

    /// Renders a value that is inside of `depth` containers, which matters where
    /// lines are indented.
    pub fn push_value_at<'v>(self, value: impl Into<Value<'v>>, depth: usize, out: &mut Vec<u8>) {
        self.push(value.into(), Raw::Carried, depth, out);
    }

    /// Renders a value that no log carries: a member `$raw` in it is one like
    /// others.
    pub fn push_literal_at<'v>(self, value: impl Into<Value<'v>>, depth: usize, out: &mut Vec<u8>) {
        self.push(value.into(), Raw::Literal, depth, out);
    }

    fn push(self, value: Value<'_>, raw: Raw, depth: usize, out: &mut Vec<u8>) {
        let value = value.text();
        match value.first() {
            Some(b'"') => return self.push_string(value, out),
            Some(b'{' | b'[') => {}
            // Numbers and words are the same in every style.
            _ => return out.extend_from_slice(value),
        }
        let mut depth = depth;
        let mut at = 0;
        while let Some(&byte) = value.get(at) {
            match byte {
                b'"' => {
                    let end = token_end(value, at);
                    self.push_string(&value[at..end], out);
                    at = end;
                    continue;
                }
                b',' => {
                    self.push_comma(out);
                    self.push_break(depth, out);
                }
                b':' => self.push_colon(out),
                b'{' if raw == Raw::Carried && value[at..].starts_with(RAW_PREFIX) => {
                    let end = token_end(value, at + RAW_PREFIX.len() - 1);
                    let text = &value[at + RAW_PREFIX.len() - 1..end];
                    self.push_raw_text(decode_string(text).unwrap_or_else(|lossy| lossy).as_bytes(), out);
                    at = end + 1;
                    continue;
                }
                b'{' | b'[' => {
                    out.push(byte);
                    depth += 1;
                    if !matches!(value.get(at + 1), Some(b'}' | b']')) {
                        self.push_break(depth, out);
                    }
                }
                b'}' | b']' => {
                    depth = depth.saturating_sub(1);
                    if !matches!(at.checked_sub(1).and_then(|before| value.get(before)), Some(b'{' | b'[')) {
                        self.push_break(depth, out);
                    }
                    out.push(byte);
                }
                other => out.push(other),
            }
            at += 1;
        }
    }
}

impl Style {
    /// Writes the text that a `$raw` carries. It may come from an indented file:
    /// in a style of one line per record its line ends are left out, or one
    /// message would be shown as many lines.
    fn push_raw_text(self, text: &[u8], out: &mut Vec<u8>) {
        let is_one_line = match self.separators {
            Separators::Indented => false,
            Separators::Compact | Separators::Spaced => true,
        };
        if !is_one_line || memchr::memchr(b'\n', text).is_none() {
            return out.extend_from_slice(text);
        }
        let mut at = 0;
        while let Some(&byte) = text.get(at) {
            let end = match byte {
                b'"' => token_end(text, at),
                b'\n' => {
                    // The indentation of the next line goes with it.
                    at += 1 + text[at + 1..].iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r')).count();
                    continue;
                }
                b'\r' if text.get(at + 1) == Some(&b'\n') => {
                    at += 1;
                    continue;
                }
                _ => at + 1,
            };
            out.extend_from_slice(&text[at..end]);
            at = end;
        }
    }
}

/// Tells whether a line is one object.
fn is_record(line: &[u8]) -> bool {
    scan_object(line.trim_ascii(), Dialect::Python, &mut Vec::new()).is_ok()
}

/// Returns the separators of a record, where it has members.
fn separators_of(line: &[u8]) -> Option<Separators> {
    let after = memchr::memmem::find(line, b"\":").filter(|_| is_record(line))? + 2;
    Some(if line.get(after) == Some(&b' ') { Separators::Spaced } else { Separators::Compact })
}

fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let end = memchr::memchr(b'\n', text);
        rest = end.map(|end| &text[end + 1..]);
        Some(&text[..end.unwrap_or(text.len())])
    })
}

/// Tells whether the lines that count hold more characters raw that are not ASCII,
/// or more of their escapes.
fn escapes_of<'l>(lines: impl Iterator<Item = &'l [u8]>, counts: impl Fn(&[u8]) -> bool) -> Escapes {
    let (raw, escaped) = lines.fold((0, 0), |(raw, escaped), line| {
        let is_beyond_ascii = |at: usize| {
            let digits = line.get(at + 2..at + 6).and_then(|digits| std::str::from_utf8(digits).ok());
            digits.and_then(|digits| u16::from_str_radix(digits, 16).ok()).is_some_and(|unit| unit > 0x9f)
        };
        let has_escape = memchr::memmem::find_iter(line, b"\\u").any(is_beyond_ascii);
        let has_raw = !line.is_ascii();
        // Most lines say nothing about it: whether they count does not matter.
        if !(has_escape || has_raw) || !counts(line) {
            return (raw, escaped);
        }
        (raw + usize::from(has_raw), escaped + usize::from(has_escape))
    });
    if raw > escaped { Escapes::Utf8 } else { Escapes::Ascii }
}

/// The bytes that every style writes as they are.
const PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0u8;
    while byte.is_ascii() {
        plain[byte as usize] = byte.is_ascii_alphanumeric() || byte == b'_';
        byte += 1;
    }
    plain
};

/// Copies a token of the log. Of its `\u` escapes those whose character `raw`
/// accepts become that character; `push` writes the text between them.
fn push_unescaped(token: &[u8], raw: impl Fn(char) -> bool, push: &dyn Fn(&[u8], &mut Vec<u8>), out: &mut Vec<u8>) {
    let mut rest = token;
    while let Some(at) = first_unicode_escape(rest) {
        push(&rest[..at], out);
        let (escape, after) = rest[at..].split_at_checked(6).unwrap_or((&rest[at..], b""));
        match decode_unicode_escape(escape).filter(|(c, _)| raw(*c)) {
            Some((c, _)) => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            None => out.extend_from_slice(escape),
        }
        rest = after;
    }
    push(rest, out);
}

fn copy(text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(text);
}

fn push_html_escaped(text: &[u8], out: &mut Vec<u8>) {
    const HTML: ByteSet<3> = ByteSet::of([b'<', b'>', b'&']);
    let mut copied = 0;
    HTML.walk(text, 0, |mark| {
        out.extend_from_slice(&text[copied..mark]);
        push_hex_escape(u16::from(text[mark]), out);
        copied = mark + 1;
        Some(copied)
    });
    out.extend_from_slice(&text[copied..]);
}

/// How a value that not every parser takes begins in the log: `{"$raw":"`.
const RAW_PREFIX: &[u8] = b"{\"$raw\":\"";
const _: () = assert!(RAW_KEY.len() == 4);

/// Returns the offset of the first byte that is not ASCII; by blocks, which is many
/// times faster than byte by byte.
fn first_non_ascii(text: &[u8]) -> Option<usize> {
    const BLOCK: usize = 64;
    let clean = text.chunks(BLOCK).take_while(|block| block.is_ascii()).count() * BLOCK;
    text.get(clean..)?.iter().position(|b| !b.is_ascii()).map(|at| clean + at)
}

fn push_ascii_run(run: &[u8], out: &mut Vec<u8>) {
    for chunk in run.utf8_chunks() {
        for c in chunk.valid().chars() {
            for &mut unit in c.encode_utf16(&mut [0; 2]) {
                push_hex_escape(unit, out);
            }
        }
        // A log is UTF-8; in one that is not, the bytes stay as they are.
        out.extend_from_slice(chunk.invalid());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_whole_record_tells_the_style_wherever_it_stands() {
        let (spaced, compact) = ("{\"a\": \"é\"}\n", "{\"a\":\"é\"}\n");
        let long = |separator: &str| format!("{{\"a\":{separator}\"{}\"}}\n", "é".repeat(40_000));
        let utf8 = |separators| Style { separators, escapes: Escapes::Utf8 };
        let usual = Style { separators: Separators::Indented, escapes: Escapes::Go };
        for (first, separators) in [
            (long(" "), Separators::Spaced),
            (long(""), Separators::Compact),
            (" \n".repeat(64) + spaced, Separators::Spaced),
            ("{}\n".repeat(64) + compact, Separators::Compact),
            ("torn\n".repeat(20_000) + compact, Separators::Compact),
        ] {
            assert_eq!(Style::of_file(first.as_bytes(), usual), utf8(separators), "{}…", &first[..12]);
        }
        for nothing in ["", "\n", "{}\n", "torn {\"a\":1"] {
            assert_eq!(Style::of_file(nothing.as_bytes(), usual), usual, "{nothing}");
        }
    }
}
