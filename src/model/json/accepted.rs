//! What is in objects and arrays that were accepted before: nothing is validated
//! again. A text that was not accepted ends early instead of failing.

use super::ends::{token_end, value_end};
use super::tokens::Member;

/// The members of an object that has been accepted before.
#[inline]
#[must_use]
pub fn members(object: &[u8]) -> Members<'_> {
    Members { text: object, at: 1 }
}

/// The members of an object, one after the other.
#[derive(Debug, Clone)]
pub struct Members<'a> {
    text: &'a [u8],
    /// Behind the opening brace, or behind the member before.
    at: usize,
}

impl<'a> Members<'a> {
    /// Where the key of the next member stands, and where its value begins.
    #[inline(always)]
    fn next_key(&self) -> Option<(&'a [u8], usize)> {
        let start = next_item(self.text, self.at);
        if self.text.get(start) != Some(&b'"') {
            return None;
        }
        let end = token_end(self.text, start);
        let colon = solid(self.text, end);
        if self.text.get(colon) != Some(&b':') {
            return None;
        }
        Some((&self.text[start..end], solid(self.text, colon + 1)))
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

/// The same, all at once.
#[must_use]
pub fn all_members(object: &[u8]) -> Vec<Member<'_>> {
    // Most objects have no more.
    let mut all = Vec::with_capacity(12);
    all.extend(members(object));
    all
}

/// The same; of the last member of this name the members are noted too, where it
/// is an object.
#[must_use]
pub fn all_members_opening<'a>(object: &'a [u8], name: &str, opened: &mut Vec<Member<'a>>) -> Vec<Member<'a>> {
    let mut all = Vec::with_capacity(12);
    let mut members = members(object);
    while let Some((key, start)) = members.next_key() {
        let is_it = (Member { key, value: b"" }).is(name);
        if is_it {
            opened.clear();
        }
        let end = match object.get(start) {
            Some(b'{') if is_it => {
                opened.reserve(12);
                behind_members(object, start, opened)
            }
            _ => value_end(object, start),
        };
        let Some(end) = end else { break };
        members.at = end;
        all.push(Member { key, value: &object[start..end] });
    }
    all
}

/// Notes the members of the object that begins here; where it ends.
fn behind_members<'a>(text: &'a [u8], start: usize, out: &mut Vec<Member<'a>>) -> Option<usize> {
    let mut inside = Members { text, at: start + 1 };
    out.extend(&mut inside);
    let closer = next_item(text, inside.at);
    (text.get(closer) == Some(&b'}')).then_some(closer + 1)
}

/// The text of an object from the value of this member on, the first of equal
/// names. Costs less than the value itself, whose end may be far away.
#[must_use]
pub fn from_member<'a>(object: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut members = members(object);
    loop {
        let (key, start) = members.next_key()?;
        if (Member { key, value: b"" }).is(name) {
            return object.get(start..).filter(|value| !value.is_empty());
        }
        members.at = value_end(object, start)?;
    }
}

/// The elements of an array that has been accepted before. What stands behind
/// the array is not looked at.
#[inline]
pub fn elements(array: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut at = 1;
    std::iter::from_fn(move || {
        let start = next_item(array, at);
        if matches!(array.get(start), None | Some(b']')) {
            return None;
        }
        at = value_end(array, start)?;
        Some(&array[start..at])
    })
}

/// The same with the members of each element that is an object, in one walk.
pub fn opened_elements(array: &[u8]) -> impl Iterator<Item = (&[u8], Vec<Member<'_>>)> {
    let mut at = 1;
    std::iter::from_fn(move || {
        let start = next_item(array, at);
        let mut all = Vec::new();
        at = match array.get(start) {
            None | Some(b']') => return None,
            Some(b'{') => {
                all.reserve(6);
                behind_members(array, start, &mut all)?
            }
            Some(_) => value_end(array, start)?,
        };
        Some((&array[start..at], all))
    })
}

/// Where the next member or element begins, or the container ends.
#[inline(always)]
fn next_item(text: &[u8], at: usize) -> usize {
    let at = solid(text, at);
    if text.get(at) == Some(&b',') { solid(text, at + 1) } else { at }
}

/// Where the next byte stands that is not blank: nearly always right here.
#[inline(always)]
fn solid(text: &[u8], at: usize) -> usize {
    match text.get(at) {
        Some(b' ' | b'\t' | b'\n' | b'\r') => behind_blanks(text, at),
        _ => at,
    }
}

fn behind_blanks(text: &[u8], at: usize) -> usize {
    let blanks = text[at..].iter().take_while(|b| matches!(b, b' ' | b'\t' | b'\n' | b'\r'));
    at + blanks.count()
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
        let all = all_members(OBJECT);
        assert_eq!(shown(&all), r#"a="x}\"";b=[ {"c":1 , "d":{}}, [2],"e"];a=null;b=0;"#);
        let list: Vec<_> = elements(all[1].value).collect();
        assert_eq!(list, [&br#"{"c":1 , "d":{}}"#[..], b"[2]", b"\"e\""]);
        let opened: Vec<_> = opened_elements(all[1].value).map(|(element, members)| (element, shown(&members))).collect();
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
            let all = all_members_opening(object, "m", &mut opened);
            assert_eq!((shown(&all), shown(&opened).as_str()), (shown(&all_members(object)), inside));
        }
    }

    #[test]
    fn the_first_of_equal_names_is_where_a_look_begins() {
        assert!(from_member(OBJECT, "a").unwrap().starts_with(br#""x}\"" ,"#));
        assert!(from_member(OBJECT, "b").unwrap().starts_with(b"[ {"));
        assert_eq!(from_member(OBJECT, "c"), None);
        assert_eq!(elements(from_member(OBJECT, "b").unwrap()).count(), 3);
    }

    #[test]
    fn a_text_that_was_cut_off_ends_early() {
        for end in 0..OBJECT.len() {
            let cut = &OBJECT[..end];
            assert!(all_members(cut).len() <= 4);
            let list = from_member(cut, "b").unwrap_or_default();
            assert!(opened_elements(list).count() <= 3 && elements(list).count() <= 3);
        }
        let nested = br#"{"m":{"c":1 , "d":{}} }"#;
        for end in 0..nested.len() {
            let mut opened = Vec::new();
            let found = all_members_opening(&nested[..end], "m", &mut opened).len();
            // It counts from its closing brace on.
            assert_eq!((found, opened.len() <= 2), (usize::from(end > 20), true), "{end}");
        }
    }
}
