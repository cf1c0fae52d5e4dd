//! What is in validated objects and arrays: nothing is validated again. A text
//! that is not valid ends early instead of failing.

use std::borrow::Cow;
use std::ops::Range;

use super::byte_set::ByteSet;
use super::skip::{token_end, value_end};
use super::string::{decode_string, lossy, units};
use super::value::{Value, span_in, spells};

/// One member of an object that was validated: both texts as they were written.
#[derive(Debug, Clone, Copy)]
pub struct Member<'a> {
    /// The key with its quotes.
    pub key: &'a [u8],
    /// The bytes of [`Member::value`].
    pub value: &'a [u8],
}

impl<'a> Member<'a> {
    /// Returns the key with its quotes.
    #[inline(always)]
    #[must_use]
    pub fn key(&self) -> &'a [u8] {
        self.key
    }

    /// Returns the value, without the white space around it.
    #[inline(always)]
    #[must_use]
    pub fn value(&self) -> Value<'a> {
        Value::scanned(self.value)
    }

    /// Tells whether the key spells this name.
    #[must_use]
    #[inline(always)]
    pub fn is(&self, name: &str) -> bool {
        spells(self.key, name)
    }

    /// Tells whether the key holds an escape, so that its bytes are not its text.
    #[must_use]
    pub fn is_escaped(&self) -> bool {
        const ESCAPE: ByteSet<1> = ByteSet::of([b'\\']);
        ESCAPE.is_in(self.key)
    }

    /// Returns the key's characters, lone surrogates included. Two members have
    /// equal names exactly where this is equal.
    #[must_use]
    pub fn exact_name(&self) -> Name<'a> {
        if !self.is_escaped() {
            return Name::Text(self.name());
        }
        decode_string(self.key).map_or_else(|_| Name::Units(units(self.key)), |text| Name::Text(Cow::Owned(text)))
    }

    /// Returns the key's text, with U+FFFD for lone surrogates. Names of which any
    /// may occur are compared by [`Member::exact_name`]: here two different ones can
    /// look alike.
    #[must_use]
    pub fn name(&self) -> Cow<'a, str> {
        let inner = &self.key[1..self.key.len() - 1];
        if !self.is_escaped() {
            return lossy(inner);
        }
        Cow::Owned(decode_string(self.key).unwrap_or_else(|lossy| lossy))
    }

    /// Returns where the member is, from its key to the end of its value, in the text
    /// that it was read from.
    #[must_use]
    pub fn span_in(&self, source: &[u8]) -> Range<usize> {
        span_in(source, self.key).start..span_in(source, self.value).end
    }
}

/// The characters of a member's name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Name<'a> {
    /// A name without lone surrogates.
    Text(Cow<'a, str>),
    /// The UTF-16 units of a name with a lone surrogate, which no UTF-8 text can
    /// hold.
    Units(Vec<u16>),
}

/// The members of an object, one after the other.
#[derive(Debug, Clone)]
pub struct Members<'a> {
    text: &'a [u8],
    /// After the opening brace, or after the previous member.
    at: usize,
}

impl<'a> Members<'a> {
    /// Takes the rest of an object: a text that begins with a comma or with the
    /// closing brace after a member, of an object that this crate wrote.
    #[inline]
    pub(crate) fn of_rest(text: &'a [u8]) -> Members<'a> {
        Members { text, at: 0 }
    }

    /// Takes the object that begins a text. In a valid value of any other kind there
    /// is not a key with a colon, so that it has no members.
    #[inline]
    pub(super) fn of(text: &'a [u8]) -> Members<'a> {
        Members { text, at: 1 }
    }

    /// Returns the next key, and where its value begins.
    #[inline(always)]
    pub(super) fn next_key(&self) -> Option<(&'a [u8], usize)> {
        let start = next_item(self.text, self.at);
        if self.text.get(start) != Some(&b'"') {
            return None;
        }
        let end = token_end(self.text, start);
        let colon = skip_white_space(self.text, end);
        if self.text.get(colon) != Some(&b':') {
            return None;
        }
        Some((&self.text[start..end], skip_white_space(self.text, colon + 1)))
    }

    /// Skips the value that begins here, which belongs to the key before it.
    #[inline(always)]
    pub(super) fn skip_value(&mut self, start: usize) -> Option<usize> {
        self.at = value_end(self.text, start)?;
        Some(self.at)
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = Member<'a>;

    #[inline]
    fn next(&mut self) -> Option<Member<'a>> {
        let (key, start) = self.next_key()?;
        self.at = value_end(self.text, start)?;
        Some(Member { key, value: &self.text[start..self.at] })
    }
}

impl<'a> Value<'a> {
    /// Returns the members of an object in their order, repeated keys included; none
    /// of any other value.
    #[inline]
    pub fn members(self) -> Members<'a> {
        Members::of(self.text())
    }

    /// Returns the members of an object as a list.
    #[must_use]
    pub fn all_members(self) -> Vec<Member<'a>> {
        // Most objects have no more.
        let mut all = Vec::with_capacity(12);
        all.extend(self.members());
        all
    }

    /// Returns the member of this name, of equal names the last, which is the one
    /// that every program we read takes. Looks at all members.
    #[must_use]
    pub fn get(self, name: &str) -> Option<Value<'a>> {
        self.members().filter(|member| member.is(name)).last().map(|member| member.value())
    }

    /// Returns the member of this name, of equal names the first. For objects that
    /// this crate wrote, whose names are all different: looks no farther.
    #[must_use]
    pub fn first(self, name: &str) -> Option<Value<'a>> {
        self.members().find(|member| member.is(name)).map(|member| member.value())
    }

    /// Returns the members of these names in one walk, of equal names the last.
    #[must_use]
    pub fn get_each<const N: usize>(self, names: [&str; N]) -> [Option<Value<'a>>; N] {
        let mut found = [None; N];
        for member in self.members() {
            if let Some((_, slot)) = names.iter().zip(found.iter_mut()).find(|(name, _)| member.is(name)) {
                *slot = Some(member.value());
            }
        }
        found
    }

    /// Returns the elements of an array; none of any other value.
    #[inline]
    pub fn elements(self) -> Elements<'a> {
        Elements::of(self.text())
    }

    /// Returns the members of an object. Of the last member of this name the members
    /// are noted too, where it is an object: no second walk has to find them.
    #[must_use]
    pub fn all_members_opening(self, name: &str, opened: &mut Vec<Member<'a>>) -> Vec<Member<'a>> {
        let object = self.text();
        let mut all = Vec::with_capacity(12);
        let mut members = self.members();
        while let Some((key, start)) = members.next_key() {
            let is_it = spells(key, name);
            if is_it {
                opened.clear();
            }
            let end = match object.get(start) {
                Some(b'{') if is_it => {
                    opened.reserve(12);
                    members_end(object, start, opened)
                }
                _ => value_end(object, start),
            };
            let Some(end) = end else { break };
            members.at = end;
            all.push(Member { key, value: &object[start..end] });
        }
        all
    }

    /// Returns the elements of an array with the members of each that is an object,
    /// in one walk.
    pub fn opened_elements(self) -> impl Iterator<Item = (Value<'a>, Vec<Member<'a>>)> {
        let Elements { text, mut at } = self.elements();
        std::iter::from_fn(move || {
            let start = next_item(text, at);
            let mut all = Vec::new();
            at = match text.get(start) {
                None | Some(b']') => return None,
                Some(b'{') => {
                    all.reserve(6);
                    members_end(text, start, &mut all)?
                }
                Some(_) => value_end(text, start)?,
            };
            Some((Value::scanned(&text[start..at]), all))
        })
    }
}

/// Notes the members of the object that begins here, and returns where it ends.
fn members_end<'a>(text: &'a [u8], start: usize, out: &mut Vec<Member<'a>>) -> Option<usize> {
    let mut inside = Members { text, at: start + 1 };
    out.extend(&mut inside);
    let closer = next_item(text, inside.at);
    (text.get(closer) == Some(&b'}')).then_some(closer + 1)
}

/// The elements of an array, one after the other.
#[derive(Debug, Clone)]
pub struct Elements<'a> {
    text: &'a [u8],
    /// After the opening bracket, or after the previous element.
    at: usize,
}

impl<'a> Elements<'a> {
    /// Takes the rest of an array that was validated: a text that begins after one of
    /// its elements.
    #[inline]
    pub(crate) fn of_rest(text: &'a [u8]) -> Elements<'a> {
        Elements { text, at: 0 }
    }

    /// Takes the array that begins a text; what follows it is not looked at.
    #[inline]
    pub(super) fn of(text: &'a [u8]) -> Elements<'a> {
        Elements { text, at: if text.first() == Some(&b'[') { 1 } else { text.len() } }
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Value<'a>;

    #[inline]
    fn next(&mut self) -> Option<Value<'a>> {
        let start = next_item(self.text, self.at);
        if matches!(self.text.get(start), None | Some(b']')) {
            return None;
        }
        self.at = value_end(self.text, start)?;
        Some(Value::scanned(&self.text[start..self.at]))
    }
}

/// Returns where the next member or element begins, or the container ends.
#[inline(always)]
fn next_item(text: &[u8], at: usize) -> usize {
    let at = skip_white_space(text, at);
    if text.get(at) == Some(&b',') { skip_white_space(text, at + 1) } else { at }
}

/// Returns the offset of the next byte that is not white space: nearly always this
/// one.
#[inline(always)]
fn skip_white_space(text: &[u8], at: usize) -> usize {
    match text.get(at) {
        Some(b' ' | b'\t' | b'\n' | b'\r') => white_space_end(text, at),
        _ => at,
    }
}

fn white_space_end(text: &[u8], at: usize) -> usize {
    let white_space = text[at..].iter().take_while(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r'));
    at + white_space.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const OBJECT: &[u8] = br#"{ "a" : "x}\"" , "b":[ {"c":1 , "d":{}}, [2],"e"] ,"\u0061":null,"b":0}"#;

    fn shown(members: &[Member<'_>]) -> String {
        members.iter().map(|member| format!("{}={};", member.name(), String::from_utf8_lossy(member.value))).collect()
    }

    #[test]
    fn members_and_elements_keep_their_bytes() {
        let object = Value::trusted(OBJECT);
        let all = object.all_members();
        assert_eq!(shown(&all), r#"a="x}\"";b=[ {"c":1 , "d":{}}, [2],"e"];a=null;b=0;"#);
        let list: Vec<_> = all[1].value().elements().map(Value::text).collect();
        assert_eq!(list, [&br#"{"c":1 , "d":{}}"#[..], b"[2]", b"\"e\""]);
        let opened: Vec<_> = all[1].value().opened_elements().map(|(element, members)| (element.text(), shown(&members))).collect();
        assert_eq!(opened.iter().map(|(element, _)| *element).collect::<Vec<_>>(), list);
        assert_eq!(opened.iter().map(|(_, members)| members.as_str()).collect::<Vec<_>>(), ["c=1;d={};", "", ""]);
    }

    #[test]
    fn what_is_opened_is_the_last_of_its_name() {
        for (object, inside) in [
            (&br#"{"a":1,"m":{"x":"}", "y":[{}] },"z":{"x":0}}"#[..], "x=\"}\";y=[{}];"),
            (br#"{"m":{"x":1},"m":{"y":2}}"#, "y=2;"),
            (br#"{"m":{"x":1},"\u006d":[{"y":2}]}"#, ""),
            (br#"{"m":{}}"#, ""),
        ] {
            let mut opened = Vec::new();
            let object = Value::trusted(object);
            let all = object.all_members_opening("m", &mut opened);
            assert_eq!((shown(&all), shown(&opened).as_str()), (shown(&object.all_members()), inside));
        }
    }

    #[test]
    fn a_text_that_was_cut_off_ends_early() {
        for end in 0..OBJECT.len() {
            let cut = Value::trusted(&OBJECT[..end]);
            assert!(cut.all_members().len() <= 4);
            let list = Value::trusted(OBJECT.get(19..end).unwrap_or_default());
            assert!(list.opened_elements().count() <= 3 && list.elements().count() <= 3);
        }
        let nested = br#"{"m":{"c":1 , "d":{}} }"#;
        for end in 0..nested.len() {
            let mut opened = Vec::new();
            let found = Value::trusted(&nested[..end]).all_members_opening("m", &mut opened).len();
            // It counts from its closing brace on.
            assert_eq!((found, opened.len() <= 2), (usize::from(end > 20), true), "{end}");
        }
    }
}
