//! Whether a line that we print is the message that the real loader returned.
//! Values that strict JSON cannot hold stand as objects with one `$` key.

use everlog::json::{self, Kind};
use everlog::model::digest::sha256_hex;

fn units(token: &[u8]) -> Vec<u16> {
    let inner = std::str::from_utf8(&token[1..token.len() - 1]).unwrap();
    let mut out = Vec::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.extend(c.encode_utf16(&mut [0; 2]).iter());
            continue;
        }
        match chars.next().unwrap() {
            'u' => {
                let digits: String = chars.by_ref().take(4).collect();
                out.push(u16::from_str_radix(&digits, 16).unwrap());
            }
            'n' => out.push(10),
            'r' => out.push(13),
            't' => out.push(9),
            'b' => out.push(8),
            'f' => out.push(12),
            other => out.push(other as u16),
        }
    }
    out
}

/// A JSON text. `serde_json` would refuse some of what real loaders return.
#[derive(Debug, Clone)]
pub struct Json(pub Vec<u8>);

impl Json {
    pub fn get(&self, key: &str) -> Option<Json> {
        json::members(&self.0).find(|member| member.name() == key).map(|member| Json(member.value.to_vec()))
    }

    pub fn list(&self, key: &str) -> Vec<Json> {
        self.get(key).map(|list| json::elements(&list.0).map(|item| Json(item.to_vec())).collect()).unwrap_or_default()
    }

    pub fn text(&self, key: &str) -> String {
        self.get(key).map(|value| value.as_text()).unwrap_or_default()
    }

    pub fn as_text(&self) -> String {
        json::unescape(&self.0).into_owned()
    }
}

fn is_special(want: &[u8], got: &[u8]) -> Option<bool> {
    let mut members = json::members(want);
    let (only, None) = (members.next()?, members.next()) else { return None };
    let value = json::unescape(only.value);
    match only.name().as_ref() {
        "$big" => {
            let text = String::from_utf16(&units(got)).ok()?;
            Some(sha256_hex(text.as_bytes()) == Json(only.value.to_vec()).text("sha256_utf8"))
        }
        "$utf16be_hex" => {
            let hex: String = units(got).iter().map(|unit| format!("{unit:04x}")).collect();
            Some(hex == value)
        }
        "$num" => Some(json::same_value(value.as_bytes(), got)),
        "$json" => Some(json::same_value(value.as_bytes(), got)),
        _ => None,
    }
}

/// Whether a JSON text is the value that is wanted.
pub fn is_same(want: &[u8], got: &[u8]) -> bool {
    if json::kind_of(want) == Kind::Object
        && let Some(answer) = is_special(want, got)
    {
        return answer;
    }
    match (json::kind_of(want), json::kind_of(got)) {
        (Kind::Array, Kind::Array) => {
            let (want, got): (Vec<_>, Vec<_>) = (json::elements(want).collect(), json::elements(got).collect());
            want.len() == got.len() && want.iter().zip(got).all(|(want, got)| is_same(want, got))
        }
        (Kind::Object, Kind::Object) => {
            let mut left: std::collections::BTreeMap<String, &[u8]> =
                json::members(got).map(|m| (m.name().into_owned(), m.value)).collect();
            json::members(want).all(|want| left.remove(want.name().as_ref()).is_some_and(|got| is_same(want.value, got))) && left.is_empty()
        }
        _ => json::same_value(want, got),
    }
}
