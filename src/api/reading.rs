//! Members of a payload that has been validated, as the types of this room
//! need them. A member that is `null` counts as absent: no fact of a message
//! tells the two apart.

use crate::json::{self, Dialect, Kind, Member};

use super::text::Text;

/// The members of one JSON object.
pub(super) struct Object<'a>(Vec<Member<'a>>);

impl<'a> Object<'a> {
    /// Reads the members of a value; there are none where it is not an object.
    pub(super) fn of(value: &'a [u8]) -> Object<'a> {
        Object(if json::kind_of(value) == Kind::Object { json::all_members(value) } else { Vec::new() })
    }

    /// Returns the value of a member. Of equal names the last counts, as for
    /// every common JSON parser.
    pub(super) fn get(&self, name: &str) -> Option<&'a [u8]> {
        let value = self.0.iter().rev().find(|member| member.is(name))?.value;
        (json::kind_of(value) != Kind::Null).then_some(value)
    }

    /// Returns the text of a member, with the original where it is not a string
    /// that UTF-8 can hold.
    pub(super) fn text(&self, name: &str) -> Option<Text> {
        self.get(name).map(Text::of)
    }

    /// Returns the text of a member whatever its type: an id may be a number.
    pub(super) fn string(&self, name: &str) -> Option<String> {
        self.text(name).map(Text::into_string)
    }

    /// Returns a member's members.
    pub(super) fn object(&self, name: &str) -> Object<'a> {
        self.get(name).map_or(Object(Vec::new()), Object::of)
    }

    /// Returns the elements of a member that is a list.
    pub(super) fn list(&self, name: &str) -> impl Iterator<Item = &'a [u8]> + use<'a> {
        self.get(name).filter(|value| json::kind_of(value) == Kind::Array).into_iter().flat_map(json::elements)
    }

    /// Returns a member that is `true` or `false`.
    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        match self.get(name).map(json::kind_of)? {
            Kind::True => Some(true),
            Kind::False => Some(false),
            Kind::String | Kind::Number | Kind::Object | Kind::Array | Kind::Null => None,
        }
    }

    /// Returns a member that is a number which a double can hold.
    pub(super) fn number(&self, name: &str) -> Option<f64> {
        let value = self.get(name).filter(|value| json::kind_of(value) == Kind::Number)?;
        std::str::from_utf8(value).ok()?.parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// Returns a member that counts something: a whole number from 0 on.
    pub(super) fn count(&self, name: &str) -> Option<u64> {
        let value = self.get(name).filter(|value| json::kind_of(value) == Kind::Number)?;
        if let Some(count) = std::str::from_utf8(value).ok().and_then(|digits| digits.parse().ok()) {
            return Some(count);
        }
        // `120.0` and `1e3` are counts, too; up to here a double is exact.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        let number = self.number(name).filter(|number| number.fract() == 0.0 && (0.0..=EXACT).contains(number))?;
        Some(number as u64)
    }
}

/// Tells whether these bytes are one JSON value and nothing else.
pub(super) fn is_json(text: &[u8]) -> bool {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
    json::scan_value(text, Dialect::Strict).is_ok_and(|scan| text[scan.end..].iter().all(blank))
}
