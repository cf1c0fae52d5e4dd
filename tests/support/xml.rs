//! A small XML reader that takes no more than XML is: for reports that other
//! programs must be able to read.

use std::collections::BTreeMap;

/// An element with what stands in it.
#[derive(Debug, Clone, Default)]
pub struct Element {
    pub name: String,
    pub attributes: BTreeMap<String, String>,
    pub children: Vec<Element>,
}

impl Element {
    /// Fails unless it has these attributes and no others.
    pub fn has_only(&self, names: &[&str]) {
        let (mut wanted, mut have): (Vec<&str>, Vec<&str>) = (names.to_vec(), self.attributes.keys().map(String::as_str).collect());
        wanted.sort_unstable();
        have.sort_unstable();
        assert_eq!(have, wanted, "attributes of {}", self.name);
    }
}

/// Reads a document.
pub fn parse(text: &str) -> Result<Element, String> {
    let is_allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | '\u{20}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    if let Some(c) = text.chars().find(|c| !is_allowed(*c)) {
        return Err(format!("{c:?} stands in the text"));
    }
    let mut rest = text.strip_prefix("<?xml version=\"1.0\" encoding=\"UTF-8\"?>").ok_or("no declaration")?;
    let mut open = vec![Element::default()];
    while let Some(at) = rest.find('<') {
        decoded(&rest[..at])?;
        let end = tag_end(&rest[at..]).ok_or("a tag does not end")? + at;
        let tag = &rest[at + 1..end];
        rest = &rest[end + 1..];
        if let Some(name) = tag.strip_prefix('/') {
            let done = open.pop().ok_or("too many ends")?;
            if done.name != name {
                return Err(format!("{} ends as {name}", done.name));
            }
            open.last_mut().ok_or("too many ends")?.children.push(done);
        } else if let Some(tag) = tag.strip_suffix('/') {
            let done = element(tag)?;
            open.last_mut().ok_or("no parent")?.children.push(done);
        } else {
            open.push(element(tag)?);
        }
    }
    match (open.as_slice(), rest.trim()) {
        ([root], "") if root.children.len() == 1 => Ok(root.children[0].clone()),
        _ => Err("not one element".to_owned()),
    }
}

/// Where a tag ends; `>` may stand in quotes.
fn tag_end(tag: &str) -> Option<usize> {
    let mut is_quoted = false;
    tag.char_indices().find_map(|(at, c)| {
        is_quoted ^= c == '"';
        (c == '>' && !is_quoted).then_some(at)
    })
}

fn element(tag: &str) -> Result<Element, String> {
    let (name, mut rest) = tag.split_once(' ').unwrap_or((tag, ""));
    let mut element = Element { name: name.to_owned(), ..Element::default() };
    while !rest.trim().is_empty() {
        let (name, value) = rest.trim_start().split_once("=\"").ok_or(format!("no value in {rest}"))?;
        let (value, after) = value.split_once('"').ok_or("a quote is open")?;
        if value.contains('<') || element.attributes.insert(name.to_owned(), decoded(value)?).is_some() {
            return Err(format!("{name} cannot be so"));
        }
        rest = after;
    }
    Ok(element)
}

fn decoded(text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        let (name, after) = rest[at + 1..].split_once(';').ok_or("a bare &")?;
        out.push(match name {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            other => return Err(format!("&{other}; is unknown")),
        });
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}
