//! Two JSON values, compared member by member: what was added, removed or
//! changed, and at which path.

use similar::{Algorithm, DiffOp, capture_diff_slices};

use crate::json::{Kind, Member, Name, Value};

/// Values that lie deeper are compared as a whole.
const DEEPEST: usize = 64;

/// Longer lists are compared place by place.
const LONGEST_ALIGNED: usize = 2_000;

/// So many changes of one value are listed; the rest is counted.
const LISTED: usize = 100;

/// What changes one value into another.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Changes {
    /// The changes, in the order of the first value.
    pub list: Vec<ValueChange>,
    /// How many more there are.
    pub more: u64,
}

/// One change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueChange {
    /// Where: `content[0].text`; empty for the value as a whole.
    pub path: String,
    /// The JSON text before it; nothing where it was added.
    pub from: Option<Vec<u8>>,
    /// The JSON text after it; nothing where it was removed.
    pub to: Option<Vec<u8>>,
}

/// Compares two values. Escapes, white space and the order of keys do
/// not count.
#[must_use]
pub fn changes(from: Value<'_>, to: Value<'_>) -> Changes {
    let mut found = Changes::default();
    compare(from, to, &mut String::new(), 0, &mut found);
    found
}

impl Changes {
    fn add(&mut self, path: &str, from: Option<Value<'_>>, to: Option<Value<'_>>) {
        if self.list.len() < LISTED {
            let text = |value: Value<'_>| value.text().to_vec();
            self.list.push(ValueChange { path: path.to_owned(), from: from.map(text), to: to.map(text) });
        } else {
            self.more += 1;
        }
    }
}

fn compare(from: Value<'_>, to: Value<'_>, path: &mut String, depth: usize, found: &mut Changes) {
    if from.is_same_as(to) {
        return;
    }
    match (from.kind(), to.kind()) {
        (Kind::Object, Kind::Object) if depth < DEEPEST => compare_objects(from, to, path, depth, found),
        (Kind::Array, Kind::Array) if depth < DEEPEST => compare_arrays(from, to, path, depth, found),
        _ => found.add(path, Some(from), Some(to)),
    }
}

/// Returns the members by name, each the last one of its name.
fn by_name(object: Value<'_>) -> Vec<(Name<'_>, Member<'_>)> {
    let mut named: Vec<(Name<'_>, Member<'_>)> = Vec::new();
    for member in object.members() {
        let name = member.exact_name();
        match named.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = member,
            None => named.push((name, member)),
        }
    }
    named
}

fn compare_objects(from: Value<'_>, to: Value<'_>, path: &mut String, depth: usize, found: &mut Changes) {
    let (left, mut right) = (by_name(from), by_name(to));
    for (name, member) in left {
        let other = right.iter().position(|(other, _)| *other == name).map(|at| right.remove(at).1);
        within(path, &step(&name, &member), |path| match other {
            Some(other) => compare(member.value(), other.value(), path, depth + 1, found),
            None => found.add(path, Some(member.value()), None),
        });
    }
    for (name, member) in right {
        within(path, &step(&name, &member), |path| found.add(path, None, Some(member.value())));
    }
}

fn compare_arrays(from: Value<'_>, to: Value<'_>, path: &mut String, depth: usize, found: &mut Changes) {
    let (left, right): (Vec<Value<'_>>, Vec<Value<'_>>) = (from.elements().collect(), to.elements().collect());
    if left.len().max(right.len()) > LONGEST_ALIGNED {
        return place_by_place((&left, 0), (&right, 0), path, depth, found);
    }
    for op in capture_diff_slices(Algorithm::Myers, &left, &right) {
        let (old, new) = (op.old_range(), op.new_range());
        if !matches!(op, DiffOp::Equal { .. }) {
            place_by_place((&left[old.clone()], old.start), (&right[new.clone()], new.start), path, depth, found);
        }
    }
}

/// Elements in pairs, as far as both sides have some; each with the number of
/// its first.
fn place_by_place(left: (&[Value<'_>], usize), right: (&[Value<'_>], usize), path: &mut String, depth: usize, found: &mut Changes) {
    for n in 0..left.0.len().max(right.0.len()) {
        let number = if n < left.0.len() { left.1 + n } else { right.1 + n };
        within(path, &format!("[{number}]"), |path| match (left.0.get(n), right.0.get(n)) {
            (Some(from), Some(to)) => compare(*from, *to, path, depth + 1, found),
            (from, to) => found.add(path, from.copied(), to.copied()),
        });
    }
}

fn within(path: &mut String, step: &str, then: impl FnOnce(&mut String)) {
    let len = path.len();
    // A path does not begin with a point.
    path.push_str(if path.is_empty() { step.strip_prefix('.').unwrap_or(step) } else { step });
    then(path);
    path.truncate(len);
}

fn step(name: &Name<'_>, member: &Member<'_>) -> String {
    let name = match name {
        Name::Text(name) => name,
        // A lone surrogate: the key as it was written.
        Name::Units(_) => return format!("[{}]", String::from_utf8_lossy(member.key())),
    };
    let is_word = !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '$');
    if is_word { format!(".{name}") } else { format!("[{name:?}]") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(from: &str, to: &str) -> Vec<String> {
        let text = |side: Option<Vec<u8>>| side.map_or("-".to_owned(), |json| String::from_utf8(json).unwrap());
        changes(Value::trusted(from.as_bytes()), Value::trusted(to.as_bytes()))
            .list
            .into_iter()
            .map(|change| format!("{} {} {}", change.path, text(change.from), text(change.to)))
            .collect()
    }

    #[test]
    fn a_change_has_its_path_and_both_sides() {
        assert_eq!(shown(r#"{"a":{"b":[1,{"c":"x"}]}}"#, r#"{"a":{"b":[1,{"c":"y"}]}}"#), [r#"a.b[1].c "x" "y""#]);
        assert_eq!(shown(r#"{"a":1,"b":2}"#, r#"{"b":2,"c":3}"#), ["a 1 -", "c - 3"]);
        assert_eq!(shown("[1,2,3]", "[2,3]"), ["[0] 1 -"]);
        assert_eq!(shown("[1,2]", "[1,9,2]"), ["[1] - 9"]);
        assert_eq!(shown(r#"{"odd key":1}"#, r#"{"odd key":null}"#), [r#"["odd key"] 1 null"#]);
        assert_eq!(shown("1", "\"1\""), [" 1 \"1\""]);
    }

    #[test]
    fn what_no_program_can_tell_apart_is_no_change() {
        assert_eq!(shown(r#"{"a":1.0,"b":"\u00e9"}"#, r#"{ "b":"é", "a":1 }"#), [""; 0]);
    }

    #[test]
    fn names_with_lone_surrogates_are_told_apart() {
        assert_eq!(shown(r#"{"\ud800":1}"#, r#"{"\ud801":1}"#), [r#"["\ud800"] 1 -"#, r#"["\ud801"] - 1"#]);
    }

    #[test]
    fn many_changes_are_counted() {
        let list = |n: u32| format!("[{}]", (0..5_000).map(|k| (k * n).to_string()).collect::<Vec<_>>().join(","));
        let found = changes(Value::trusted(list(1).as_bytes()), Value::trusted(list(2).as_bytes()));
        assert_eq!((found.list.len(), found.more), (LISTED, 4_999 - LISTED as u64));
    }
}
