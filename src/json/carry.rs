//! Carrying a source value into the log: compact, readable, plain JSON for
//! every parser, and reversible by [`Style::push_value`](super::Style).

use super::skip::token_end;
use super::string::{Escapes, RAW_KEY, push_carried, push_string, unescape};
use super::value::Value;

/// Deeper values are carried as text: some parsers stop at 128, and a carried
/// value is already a few levels deep in its line.
const DEEPEST: usize = 90;

/// Why a value cannot be carried token by token.
struct NeedsRaw;

/// Carries one value, written with these escapes.
pub fn push_carried_value<'v>(value: impl Into<Value<'v>>, writer: Escapes, out: &mut Vec<u8>) {
    let value = value.into().text();
    // Numbers and words, without white space after them, are carried as they are.
    if let [b'0'..=b'9' | b't' | b'f' | b'n', .., last] | [last @ b'0'..=b'9'] = value
        && last.is_ascii_alphanumeric()
    {
        return out.extend_from_slice(value);
    }
    let start = out.len();
    if push_tokens(value, writer, out).is_err() {
        out.truncate(start);
        push_raw(value, out);
    }
}

/// Carries one string.
pub fn push_carried_string<'v>(string: impl Into<Value<'v>>, writer: Escapes, out: &mut Vec<u8>) {
    push_carried_token(string.into().text(), writer, out);
}

/// Carries one string token: a value, or a key.
fn push_carried_token(token: &[u8], writer: Escapes, out: &mut Vec<u8>) {
    let start = out.len();
    out.push(b'"');
    if push_carried(&token[1..token.len() - 1], writer, out).is_err() {
        out.truncate(start);
        return push_raw(token, out);
    }
    out.push(b'"');
}

/// `{"$raw":"its text"}`.
fn push_raw(value: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"");
    out.extend_from_slice(RAW_KEY.as_bytes());
    out.extend_from_slice(b"\":");
    push_string(&String::from_utf8_lossy(value), out);
    out.push(b'}');
}

fn push_tokens(value: &[u8], writer: Escapes, out: &mut Vec<u8>) -> Result<(), NeedsRaw> {
    let mut depth = 0;
    let mut at = 0;
    while let Some(&byte) = value.get(at) {
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => at += 1,
            b'"' => {
                let end = token_end(value, at);
                let token = &value[at..end];
                let is_key = value[end..].iter().find(|b| !b.is_ascii_whitespace()) == Some(&b':');
                if is_key {
                    // An object of the source that looks like our own marker
                    // must not be taken for it.
                    if unescape(token) == RAW_KEY {
                        return Err(NeedsRaw);
                    }
                    out.push(b'"');
                    push_carried(&token[1..token.len() - 1], writer, out).map_err(|_| NeedsRaw)?;
                    out.push(b'"');
                } else {
                    push_carried_token(token, writer, out);
                }
                at = end;
            }
            b'N' | b'I' => {
                let word: &[u8] = if byte == b'N' { b"NaN" } else { b"Infinity" };
                push_raw(word, out);
                at += word.len();
            }
            b'-' if value[at..].starts_with(b"-I") => {
                push_raw(b"-Infinity", out);
                at += b"-Infinity".len();
            }
            other => {
                match other {
                    b'{' | b'[' => depth += 1,
                    b'}' | b']' => depth -= 1,
                    _ => {}
                }
                if depth > DEEPEST {
                    return Err(NeedsRaw);
                }
                out.push(other);
                at += 1;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::{Separators, Style};

    fn carried(source: &str, style: Style) -> String {
        let mut out = Vec::new();
        push_carried_value(source.as_bytes(), style.escapes, &mut out);
        String::from_utf8(out).unwrap()
    }

    fn indented(escapes: Escapes) -> Style {
        Style { separators: Separators::Indented, escapes }
    }

    #[test]
    fn what_is_carried_renders_back_to_its_bytes() {
        let python = Style::default();
        let js = Style { separators: Separators::Compact, escapes: Escapes::Utf8 };
        let deep = format!("{}1{}", "[".repeat(300), "]".repeat(300));
        for (style, source) in [
            (python, r#"{"a": [1.10, 1e-05, NaN, -Infinity, "\u00e9\ud83d\ude00\u2028\u007f\n"], "a": "\/\u0041\u00E9\u000a"}"#),
            (python, r#""\ud83d""#),
            (python, r#"{"k": "\udc00", "$raw": "x"}"#),
            (python, r#"{"\udc00": 1}"#),
            (python, deep.as_str()),
            (
                indented(Escapes::Go),
                "{\n  \"a\": [\n    1,\n    {},\n    []\n  ],\n  \"b\": \"\\u003c\\u2028\\ufffd\u{fffd}\\u003C\u{7f}\"\n}",
            ),
            (indented(Escapes::Utf8), "[\n  \"<\u{2028}\"\n]"),
            (js, "{\"a\":\"é\u{7f}\u{2028}\u{85}\\n\\u0001\\u00e9\",\"$raw\":1}"),
        ] {
            let log = carried(source, style);
            let mut back = Vec::new();
            style.push_value(log.as_bytes(), &mut back);
            assert_eq!(String::from_utf8_lossy(&back), source, "through {log}");
            assert!(serde_json::from_str::<serde_json::Value>(&log).is_ok(), "not plain JSON: {log}");
        }
    }

    #[test]
    fn the_log_is_readable_and_free_of_controls() {
        assert_eq!(carried(r#""\u4f60\u597d \u001b[31m\u0085""#, Style::default()), r#""你好 \u001b[31m\u0085""#);
        assert_eq!(carried("NaN", Style::default()), r#"{"$raw":"NaN"}"#);
    }
}
