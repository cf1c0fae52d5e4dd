//! Entries that take bytes as validated on the caller's word. They are here for
//! the formats whose adapters still pass validated JSON as bytes; all others hold a
//! [`Value`]. The last caller to be converted takes this file with it.

use std::borrow::Cow;

use super::members::{Elements, Member, Members};
use super::value::{Kind, Value, spells};

/// All that could be passed as `&[u8]` can be passed as a value.
macro_rules! from_bytes {
    ($($(#[$about:meta])* [$($generics:tt)*] $bytes:ty),* $(,)?) => {
        $(impl<'a, $($generics)*> From<$bytes> for Value<'a> {
            fn from(text: $bytes) -> Value<'a> {
                Value::trusted(text)
            }
        })*
    };
}

from_bytes!([] &'a [u8], [] &&'a [u8], [] &'a Vec<u8>, [] &'a Cow<'_, [u8]>, [const N: usize] &'a [u8; N]);

/// Returns the kind of a value that was validated.
#[must_use]
pub fn kind_of(value: &[u8]) -> Kind {
    Value::trusted(value).kind()
}

/// Returns the members of an object that was validated.
#[inline]
#[must_use]
pub fn members(object: &[u8]) -> Members<'_> {
    Members::of(object)
}

/// Returns the members of an object that was validated, as a list.
#[must_use]
pub fn all_members(object: &[u8]) -> Vec<Member<'_>> {
    Value::trusted(object).all_members()
}

/// Calls [`Value::all_members_opening`].
#[must_use]
pub fn all_members_opening<'a>(object: &'a [u8], name: &str, opened: &mut Vec<Member<'a>>) -> Vec<Member<'a>> {
    Value::trusted(object).all_members_opening(name, opened)
}

/// Returns the elements of an array that was validated. What follows the array is
/// not looked at.
#[inline]
pub fn elements(array: &[u8]) -> impl Iterator<Item = &[u8]> {
    Elements::of(array).map(Value::text)
}

/// Calls [`Value::opened_elements`].
pub fn opened_elements(array: &[u8]) -> impl Iterator<Item = (&[u8], Vec<Member<'_>>)> {
    Value::trusted(array).opened_elements().map(|(element, members)| (element.text(), members))
}

/// Calls [`Value::is_same_as`].
#[must_use]
pub fn same_value(a: &[u8], b: &[u8]) -> bool {
    Value::trusted(a).is_same_as(Value::trusted(b))
}

/// Calls [`Value::normal_form`].
#[must_use]
pub fn normal_form(value: &[u8]) -> Vec<u8> {
    Value::trusted(value).normal_form()
}

/// Returns the text of an object from the value of this member on, the first of
/// equal names. Costs less than the value itself, whose end may be far away.
#[must_use]
pub fn from_member<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut members = members(object);
    loop {
        let (key, start) = members.next_key()?;
        if spells(key, name) {
            return object.get(start..).filter(|value| !value.is_empty());
        }
        members.skip_value(start)?;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_equal_names_is_where_a_look_begins() {
        let object = br#"{ "a" : "x}\"" , "b":[ {"c":1 , "d":{}}, [2],"e"] ,"\u0061":null,"b":0}"#;
        assert!(from_member(object, "a").unwrap().starts_with(br#""x}\"" ,"#));
        assert!(from_member(object, "b").unwrap().starts_with(b"[ {"));
        assert_eq!(from_member(object, "c"), None);
        assert_eq!(elements(from_member(object, "b").unwrap()).count(), 3);
        for end in 0..object.len() {
            let list = from_member(&object[..end], "b").unwrap_or_default();
            assert!(opened_elements(list).count() <= 3 && elements(list).count() <= 3);
        }
    }
}
