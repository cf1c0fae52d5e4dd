//! What Go reads a JSON value into. A key that comes twice reads into the same
//! place twice, so that everything here says what a second value does to a
//! first.

use std::borrow::Cow;

use super::cursor::{Cursor, Refused};
use super::moment::Moment;
use super::text::{self, Text};

/// A place that a JSON value can be read into.
pub trait Fill<'a> {
    /// Reads the next value; `null` leaves most places as they are.
    fn fill(&mut self, from: &mut Cursor<'a>) -> Result<(), Refused>;
}

/// A whole text read into a fresh place.
pub fn read<'a, T: Fill<'a> + Default>(text: &'a [u8]) -> Result<T, Refused> {
    let mut place = T::default();
    let mut cursor = Cursor::new(text);
    place.fill(&mut cursor)?;
    cursor.end()?;
    Ok(place)
}

/// Reads an object, one member at a time; `null` has none.
pub fn members<'a>(from: &mut Cursor<'a>, mut member: impl FnMut(&str, &mut Cursor<'a>) -> Result<(), Refused>) -> Result<(), Refused> {
    if from.is_at_null() {
        return from.word("null");
    }
    let mut object = from.object()?;
    while from.more(&mut object)? {
        let key = text::folded(from.key()?);
        member(&key, from)?;
    }
    Ok(())
}

impl<'a> Fill<'a> for Cow<'a, str> {
    fn fill(&mut self, from: &mut Cursor<'a>) -> Result<(), Refused> {
        if from.is_at_null() {
            return from.word("null");
        }
        *self = text::decoded(from.string()?);
        Ok(())
    }
}

impl<'a> Fill<'a> for Text<'a> {
    fn fill(&mut self, from: &mut Cursor<'a>) -> Result<(), Refused> {
        if from.is_at_null() {
            return from.word("null");
        }
        *self = Text::of(from.quoted()?);
        Ok(())
    }
}

impl<'a> Fill<'a> for i64 {
    fn fill(&mut self, from: &mut Cursor<'a>) -> Result<(), Refused> {
        if from.is_at_null() {
            return from.word("null");
        }
        let digits = std::str::from_utf8(from.number()?).map_err(|_| Refused)?;
        *self = digits.parse().map_err(|_| Refused)?;
        Ok(())
    }
}

impl<'a> Fill<'a> for Moment {
    fn fill(&mut self, from: &mut Cursor<'a>) -> Result<(), Refused> {
        if from.is_at_null() {
            return from.word("null");
        }
        *self = Moment::parse(from.string()?).ok_or(Refused)?;
        Ok(())
    }
}

/// A pointer: `null` takes away what was there.
impl<'a, T: Fill<'a> + Default> Fill<'a> for Option<T> {
    fn fill(&mut self, from: &mut Cursor<'a>) -> Result<(), Refused> {
        if from.is_at_null() {
            *self = None;
            return from.word("null");
        }
        self.get_or_insert_default().fill(from)
    }
}

/// Any value, kept as it stands there.
#[derive(Debug, Default)]
pub struct Raw<'a>(pub Option<&'a [u8]>);

impl<'a> Fill<'a> for Raw<'a> {
    fn fill(&mut self, from: &mut Cursor<'a>) -> Result<(), Refused> {
        self.0 = Some(from.skip()?);
        Ok(())
    }
}

/// A Go slice. A shorter list only hides the elements behind its end: a longer
/// one that comes later finds them again, and reads into them.
#[derive(Debug)]
pub struct Slice<T> {
    ever: Vec<T>,
    len: usize,
}

impl<T> Default for Slice<T> {
    fn default() -> Slice<T> {
        Slice { ever: Vec::new(), len: 0 }
    }
}

impl<T> Slice<T> {
    /// The elements that count.
    #[must_use]
    pub fn items(&self) -> &[T] {
        self.ever.get(..self.len).unwrap_or_default()
    }
}

impl<'a, T: Fill<'a> + Default> Fill<'a> for Slice<T> {
    fn fill(&mut self, from: &mut Cursor<'a>) -> Result<(), Refused> {
        let mut len = 0;
        if from.is_at_null() {
            from.word("null")?;
        } else {
            let mut array = from.array()?;
            while from.more(&mut array)? {
                if self.ever.len() == len {
                    self.ever.push(T::default());
                }
                if let Some(place) = self.ever.get_mut(len) {
                    place.fill(from)?;
                }
                len += 1;
            }
        }
        self.len = len;
        if len == 0 {
            // Nothing is left to be found again.
            self.ever = Vec::new();
        }
        Ok(())
    }
}
