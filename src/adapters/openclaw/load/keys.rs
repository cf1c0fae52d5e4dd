//! Ids as numbers. Two values have the same key exactly where a JavaScript
//! `Map` would take them for the same.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::json::{Kind, kind_of};
use crate::runtimes::javascript::{decode, number};

/// What stands at a place for an id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key(u32);

/// Keys of numbers; all other keys beyond the fixed ones are strings.
const NUMBER: u32 = 1 << 31;
const FIRST_STRING: u32 = 7;

impl Key {
    /// No such member.
    pub const ABSENT: Key = Key(0);
    /// `null`.
    pub const NULL: Key = Key(1);
    const FALSE: Key = Key(2);
    const TRUE: Key = Key(3);
    /// A list or an object, which equals nothing but itself.
    const OTHER: Key = Key(4);
    /// The empty string.
    pub const EMPTY: Key = Key(5);
    const ZERO: Key = Key(6);

    /// Tells whether a condition takes it for true.
    #[must_use]
    pub fn is_truthy(self) -> bool {
        !matches!(self, Key::ABSENT | Key::NULL | Key::FALSE | Key::EMPTY | Key::ZERO)
    }

    /// Tells whether it is a string that is not empty.
    #[must_use]
    pub fn is_name(self) -> bool {
        (FIRST_STRING..NUMBER).contains(&self.0)
    }

    /// Tells whether it is a string.
    #[must_use]
    pub fn is_string(self) -> bool {
        self.is_name() || self == Key::EMPTY
    }

    /// Tells whether an equal value elsewhere is the same.
    #[must_use]
    pub fn can_match(self) -> bool {
        self != Key::OTHER
    }

    /// Returns its place in tables that hold all but numbers.
    #[must_use]
    pub fn place(self) -> usize {
        self.0 as usize
    }
}

/// All the ids of a file.
#[derive(Debug)]
pub struct Keys<'a> {
    strings: HashMap<Cow<'a, [u8]>, Key>,
    numbers: HashMap<u64, Key>,
    next_string: u32,
}

impl Default for Keys<'_> {
    fn default() -> Self {
        Keys { strings: HashMap::new(), numbers: HashMap::new(), next_string: FIRST_STRING }
    }
}

impl<'a> Keys<'a> {
    /// Returns the key of a value, new where it has not been met.
    pub fn of(&mut self, value: Option<&'a [u8]>) -> Key {
        let Some(value) = value else { return Key::ABSENT };
        let kind = kind_of(value);
        if kind == Kind::String && value.len() > 2 {
            let next = &mut self.next_string;
            *self.strings.entry(decode(value)).or_insert_with(|| fresh(next))
        } else if kind == Kind::Number && number(value) != 0.0 {
            let next = Key(NUMBER | self.numbers.len() as u32);
            *self.numbers.entry(number(value).to_bits()).or_insert(next)
        } else {
            fixed(kind)
        }
    }

    /// Returns the key of a value; `None` where it has not been met.
    #[must_use]
    pub fn find(&self, value: Option<&[u8]>) -> Option<Key> {
        let Some(value) = value else { return Some(Key::ABSENT) };
        let kind = kind_of(value);
        if kind == Kind::String && value.len() > 2 {
            self.strings.get(&*decode(value)).copied()
        } else if kind == Kind::Number && number(value) != 0.0 {
            self.numbers.get(&number(value).to_bits()).copied()
        } else {
            Some(fixed(kind))
        }
    }

    /// Returns the key of an id that the program makes up, equal to no other.
    pub fn invent(&mut self) -> Key {
        fresh(&mut self.next_string)
    }

    /// Returns how long a table of all but numbers must be.
    #[must_use]
    pub fn places(&self) -> usize {
        self.next_string as usize
    }
}

fn fresh(next: &mut u32) -> Key {
    let key = Key(*next);
    *next += 1;
    key
}

/// Returns the key of the one value of a kind that has none of its own.
fn fixed(kind: Kind) -> Key {
    match kind {
        Kind::String => Key::EMPTY,
        Kind::Number => Key::ZERO,
        Kind::True => Key::TRUE,
        Kind::False => Key::FALSE,
        Kind::Null => Key::NULL,
        Kind::Object | Kind::Array => Key::OTHER,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_have_one_key() {
        let mut keys = Keys::default();
        for (a, b, same) in [
            ("\"a\"", "\"\\u0061\"", true),
            ("1", "1.0e0", true),
            ("-0", "0", true),
            ("\"1\"", "1", false),
            ("\"\\ud800\"", "\"\\ud801\"", false),
            ("true", "1", false),
            ("null", "false", false),
        ] {
            assert_eq!(keys.of(Some(a.as_bytes())) == keys.of(Some(b.as_bytes())), same, "{a} {b}");
            assert_eq!(keys.find(Some(b.as_bytes())), Some(keys.of(Some(b.as_bytes()))));
        }
        assert_eq!(keys.find(Some(b"\"never\"")), None);
        for falsy in ["\"\"", "0", "1e-400", "null", "false"] {
            assert!(!keys.of(Some(falsy.as_bytes())).is_truthy(), "{falsy}");
        }
        for truthy in ["\"0\"", "1e400", "true", "{}", "[]"] {
            assert!(keys.of(Some(truthy.as_bytes())).is_truthy(), "{truthy}");
        }
    }
}
