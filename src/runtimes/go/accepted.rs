//! A JSON value that was validated, as a source for the decoder: nothing is
//! checked again but types.

use crate::json::{self, Dialect, Kind, Member, ScanError, Value};

use super::decode::{KeyForm, Record, Source, find_field};
use super::syntax::MAX_DEPTH;
use super::text::Text;

/// Why a text is not decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rejection {
    /// It is not JSON.
    NotJson(ScanError),
    /// It is nested deeper than [`MAX_DEPTH`].
    TooDeep,
    /// A value is of another type than its field, which is named if it is known.
    Type(Option<&'static str>),
}

impl Rejection {
    /// Returns a value of the wrong type for what has this name.
    #[must_use]
    pub fn wrong_type(name: &'static str) -> Rejection {
        Rejection::Type(Some(name))
    }

    /// Returns where in the text it shows.
    #[must_use]
    pub fn at(self) -> usize {
        match self {
            Rejection::NotJson(error) => error.at,
            Rejection::TooDeep | Rejection::Type(_) => 0,
        }
    }

    /// Returns the reason, as part of a sentence.
    #[must_use]
    pub fn because(self) -> String {
        match self {
            Rejection::NotJson(error) => error.to_string(),
            Rejection::TooDeep => format!("nested more than {MAX_DEPTH} deep"),
            Rejection::Type(Some(field)) => format!("`{field}` has a value of the wrong type"),
            Rejection::Type(None) => "a value of the wrong type".to_owned(),
        }
    }
}

/// Validates a text that is one JSON value.
///
/// # Errors
/// When it is not, or is nested too deep.
pub fn whole_value(text: &[u8]) -> Result<Value<'_>, Rejection> {
    let scan = json::validate(text, Dialect::Strict).map_err(Rejection::NotJson)?;
    if scan.facts.depth > MAX_DEPTH { Err(Rejection::TooDeep) } else { Ok(scan.value) }
}

/// A value, and what is noticed of the keys that are read.
#[derive(Debug, Clone, Copy)]
pub struct Accepted<'a> {
    pub(super) value: Value<'a>,
    /// Of all keys so far.
    pub form: KeyForm,
}

impl<'a> Accepted<'a> {
    /// Takes a value of which no key was read yet.
    #[must_use]
    pub fn new(value: Value<'a>) -> Accepted<'a> {
        Accepted { value, form: KeyForm::Plain }
    }

    /// Returns its kind.
    #[must_use]
    pub fn kind(&self) -> Kind {
        self.value.kind()
    }

    fn expect(&self, kind: Kind) -> Result<Value<'a>, Rejection> {
        if self.kind() == kind { Ok(self.value) } else { Err(self.wrong_type()) }
    }
}

impl<'a> Source<'a> for Accepted<'a> {
    type Error = Rejection;

    fn peek(&self) -> u8 {
        self.value.text().first().copied().unwrap_or(0)
    }

    fn null(&mut self) -> Result<(), Rejection> {
        Ok(())
    }

    fn text(&mut self) -> Result<Text<'a>, Rejection> {
        self.expect(Kind::String).map(|string| Text::of_token(string.text()))
    }

    fn number(&mut self) -> Result<&'a [u8], Rejection> {
        self.expect(Kind::Number).map(Value::text)
    }

    fn raw(&mut self) -> Result<Value<'a>, Rejection> {
        Ok(self.value)
    }

    fn object<T: Record<'a, Self>>(&mut self, record: &mut T) -> Result<(), Rejection> {
        let object = self.expect(Kind::Object)?;
        decode_members(object.members(), record, self)
    }

    fn array(&mut self, mut each: impl FnMut(&mut Self) -> Result<(), Rejection>) -> Result<(), Rejection> {
        for element in self.expect(Kind::Array)?.elements() {
            self.value = element;
            each(self)?;
        }
        Ok(())
    }

    fn wrong_type(&self) -> Rejection {
        Rejection::Type(None)
    }

    fn in_field(error: Rejection, field: &'static str) -> Rejection {
        match error {
            Rejection::Type(None) => Rejection::wrong_type(field),
            Rejection::Type(Some(_)) | Rejection::NotJson(_) | Rejection::TooDeep => error,
        }
    }
}

/// Reads members into a record.
pub fn decode_members<'a, T: Record<'a, Accepted<'a>>>(
    members: impl Iterator<Item = Member<'a>>,
    record: &mut T,
    from: &mut Accepted<'a>,
) -> Result<(), Rejection> {
    let mut seen = 0_u32;
    for member in members {
        let Some((field, form)) = find_field(T::KEYS, member.key()) else { continue };
        let bit = 1 << field;
        if form == KeyForm::Odd || seen & bit != 0 {
            from.form = KeyForm::Odd;
        }
        seen |= bit;
        from.value = member.value();
        record.decode_field(field, from)?;
    }
    Ok(())
}
