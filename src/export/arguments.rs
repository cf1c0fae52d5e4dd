//! What a tool is called with, as the JSON object that every provider demands.

use crate::api::Arguments;
use crate::json::{self, Dialect, Escapes, Separators, Style};
use crate::model::export::loss::LossCode;

/// Parsers of some programs and languages give up below this many levels.
const DEEPEST: usize = 100;

/// Arguments as a JSON object, and what was done to make them one.
pub(super) struct Object {
    /// The object, on one line.
    pub text: String,
    /// What the object has otherwise than the log.
    pub loss: Option<LossCode>,
}

/// Makes an object of arguments: what is none becomes the member `input` of one.
pub(super) fn object_of(arguments: Option<&Arguments>) -> Object {
    let Some(arguments) = arguments else { return Object { text: "{}".to_owned(), loss: Some(LossCode::ArgumentsWrapped) } };
    let said = match (arguments.json(), arguments) {
        (Some(carried), _) => plain(carried.as_str()),
        (None, Arguments::Text(text)) => text.as_str().to_owned(),
        (None, Arguments::Json(json)) => json.as_str().to_owned(),
    };
    let (mended, loss) = match without_lone_surrogates(&said) {
        Some(mended) => (mended, Some(LossCode::TextAltered)),
        None => (said, None),
    };
    let is_object = json::scan_object(mended.as_bytes(), Dialect::Strict, &mut Vec::new()).is_ok_and(|facts| facts.depth <= DEEPEST);
    if is_object {
        return Object { text: mended, loss };
    }
    let mut wrapped = b"{\"input\":".to_vec();
    json::push_string(&mended, &mut wrapped);
    wrapped.push(b'}');
    Object { text: String::from_utf8_lossy(&wrapped).into_owned(), loss: Some(LossCode::ArgumentsWrapped) }
}

/// The JSON of a log as it was before it was carried there.
fn plain(carried: &str) -> String {
    const STYLE: Style = Style { separators: Separators::Compact, escapes: Escapes::Utf8 };
    let mut out = Vec::with_capacity(carried.len());
    STYLE.push_value(json::Value::trusted(carried.as_bytes()), &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// The text with U+FFFD for each escape that is half of a pair, which some
/// programs die of; `None` where there is no such half.
fn without_lone_surrogates(text: &str) -> Option<String> {
    let unit = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    let mut out = String::new();
    let (mut at, mut copied) = (0, 0);
    while let Some(found) = text.as_bytes().get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        at += found;
        let (first, second) = (unit(at), unit(at + 6));
        at += match (first, second) {
            (Some(0xd800..=0xdbff), Some(0xdc00..=0xdfff)) => 12,
            (Some(0xd800..=0xdfff), _) => {
                out.push_str(&text[copied..at]);
                out.push_str("\\ufffd");
                copied = at + 6;
                6
            }
            // The character after it may be a backslash of its own.
            (_, _) => 2,
        };
    }
    (copied > 0).then(|| out + &text[copied..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_halves_of_pairs_are_replaced() {
        assert_eq!(without_lone_surrogates(r#"{"a":"\ud83d\ude00","b":"\\ud800"}"#), None);
        assert_eq!(without_lone_surrogates(r#"["\ud800x\udc00"]"#).as_deref(), Some(r#"["\ufffdx\ufffd"]"#));
        assert_eq!(without_lone_surrogates("\\u\\ud800\u{fc}").as_deref(), Some("\\u\\ufffd\u{fc}"));
    }
}
