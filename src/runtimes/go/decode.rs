//! What `json.Unmarshal` does to a value that it reads into. A key that comes
//! twice is read into the same value twice, so that every rule here says what a
//! second reading does to the first.

use crate::json::Value;

use super::strings::matches_key;
use super::text::Text;
use super::time::Time;

/// Where the decoder takes JSON values from. Each method passes one value.
pub trait Source<'a>: Sized {
    /// Why a text cannot be decoded.
    type Error;

    /// Returns the first byte of the next value.
    fn peek(&self) -> u8;

    /// Passes a value which begins as `null` does.
    fn null(&mut self) -> Result<(), Self::Error>;

    /// Passes a string.
    fn text(&mut self) -> Result<Text<'a>, Self::Error>;

    /// Passes a number.
    fn number(&mut self) -> Result<&'a [u8], Self::Error>;

    /// Passes any value.
    fn raw(&mut self) -> Result<Value<'a>, Self::Error>;

    /// Reads an object into a record, member by member.
    fn object<T: Record<'a, Self>>(&mut self, record: &mut T) -> Result<(), Self::Error>;

    /// Passes an array; `each` must pass one element.
    fn array(&mut self, each: impl FnMut(&mut Self) -> Result<(), Self::Error>) -> Result<(), Self::Error>;

    /// Returns the error of a value that is not of the type of its field.
    fn wrong_type(&self) -> Self::Error;

    /// Returns the error with the field that it happened in, if it names none yet.
    fn in_field(error: Self::Error, _field: &'static str) -> Self::Error {
        error
    }
}

/// A type that a JSON value can be read into.
pub trait Decode<'a, S: Source<'a>> {
    /// Reads the next value; `null` leaves most types as they are.
    fn decode(&mut self, from: &mut S) -> Result<(), S::Error>;
}

/// A struct. The macro `record!` declares one.
pub trait Record<'a, S: Source<'a>> {
    /// The keys of the fields, at most 32: small ASCII letters, digits and `_`.
    const KEYS: &'static [&'static str];

    /// Reads the next value into the field with this number.
    fn decode_field(&mut self, field: usize, from: &mut S) -> Result<(), S::Error>;
}

/// Whether the keys of an object are as the program's own writer has them. If
/// they are, its members say all that the decoder takes from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum KeyForm {
    /// Every known key comes once and is spelled exactly.
    #[default]
    Plain,
    /// Some known key comes twice, has an escape, or letters in another case.
    Odd,
}

/// Returns the field that a key, given with its quotes, is read into.
pub(super) fn find_field(keys: &[&str], token: &[u8]) -> Option<(usize, KeyForm)> {
    let inner = token.get(1..token.len().saturating_sub(1)).unwrap_or_default();
    if let Some(field) = keys.iter().position(|key| key.as_bytes() == inner) {
        return Some((field, KeyForm::Plain));
    }
    // Only an escape or a letter in another case makes a key of what is not one.
    if inner.iter().all(|byte| byte.is_ascii() && !byte.is_ascii_uppercase() && *byte != b'\\') {
        return None;
    }
    let key = Text::of_token(token).decoded();
    keys.iter().position(|name| matches_key(name, &key)).map(|field| (field, KeyForm::Odd))
}

impl<'a, S: Source<'a>> Decode<'a, S> for Text<'a> {
    fn decode(&mut self, from: &mut S) -> Result<(), S::Error> {
        if from.peek() == b'n' {
            return from.null();
        }
        *self = from.text()?;
        Ok(())
    }
}

impl<'a, S: Source<'a>> Decode<'a, S> for i64 {
    fn decode(&mut self, from: &mut S) -> Result<(), S::Error> {
        if from.peek() == b'n' {
            return from.null();
        }
        let digits = from.number()?;
        // A fraction or an exponent makes a number that is not an integer, even in `1.0`.
        *self = std::str::from_utf8(digits).ok().and_then(|digits| digits.parse().ok()).ok_or_else(|| from.wrong_type())?;
        Ok(())
    }
}

impl<'a, S: Source<'a>> Decode<'a, S> for Time {
    fn decode(&mut self, from: &mut S) -> Result<(), S::Error> {
        if from.peek() == b'n' {
            return from.null();
        }
        let token = from.text()?.token();
        let inner = token.get(1..token.len().saturating_sub(1)).unwrap_or_default();
        *self = Time::parse(inner).ok_or_else(|| from.wrong_type())?;
        Ok(())
    }
}

/// A pointer: `null` takes away what was there.
impl<'a, S: Source<'a>, T: Decode<'a, S> + Default> Decode<'a, S> for Option<T> {
    fn decode(&mut self, from: &mut S) -> Result<(), S::Error> {
        if from.peek() == b'n' {
            *self = None;
            return from.null();
        }
        self.get_or_insert_default().decode(from)
    }
}

/// `json.RawMessage`: any value as it stands, `null` included.
#[derive(Debug, Clone, Copy, Default)]
pub struct Raw<'a>(pub Option<Value<'a>>);

impl<'a, S: Source<'a>> Decode<'a, S> for Raw<'a> {
    fn decode(&mut self, from: &mut S) -> Result<(), S::Error> {
        self.0 = Some(from.raw()?);
        Ok(())
    }
}

/// A slice. A shorter list only hides the elements after its end: a longer one
/// that comes later finds them again, and is read into them.
#[derive(Debug, Clone)]
pub struct Slice<T> {
    /// Up to the slice's capacity, as far as it was ever used.
    backing: Vec<T>,
    len: usize,
}

impl<T> Default for Slice<T> {
    fn default() -> Slice<T> {
        Slice { backing: Vec::new(), len: 0 }
    }
}

impl<T> Slice<T> {
    /// Returns the elements up to the slice's length.
    #[must_use]
    pub fn items(&self) -> &[T] {
        self.backing.get(..self.len).unwrap_or_default()
    }
}

impl<'a, S: Source<'a>, T: Decode<'a, S> + Default> Decode<'a, S> for Slice<T> {
    fn decode(&mut self, from: &mut S) -> Result<(), S::Error> {
        if from.peek() == b'n' {
            *self = Slice::default();
            return from.null();
        }
        let mut len = 0;
        let backing = &mut self.backing;
        from.array(|from| {
            if backing.len() == len {
                backing.push(T::default());
            }
            len += 1;
            match backing.get_mut(len - 1) {
                Some(element) => element.decode(from),
                None => Ok(()),
            }
        })?;
        self.len = len;
        if len == 0 {
            // An empty list makes a new slice: nothing is left to be found again.
            self.backing = Vec::new();
        }
        Ok(())
    }
}
