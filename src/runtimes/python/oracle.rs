//! Every function against the answers that CPython gave: the tables are written
//! by `scripts/record-runtimes`, and these tests need no Python.

use std::borrow::Cow;

use crate::json::{self, Dialect, Escapes, Separators, Style, Value};
use crate::runtimes::digits::ascii_digit;
use crate::runtimes::wtf8::decode;

use super::datetime::{DateTime, push_isoformat_of};
use super::dict::Dict;
use super::dumps::{Form, Writer, push};
use super::exception::Exception;
use super::isoparse::isoparse;
use super::loads::{Failure, loads};
use super::number::{double, float_json, float_repr};
use super::pathlib::{Resolved, normal, resolved, suffix};
use super::sort::sort_by_float;
use super::strings::{push_ascii, push_key_in_ascii, push_repr, push_utf8};
use super::text::{byte_lines, is_printable, is_space, lower, splitlines, strip, strip_str, text_lines};
use super::value::{at_most, equals, is_truthy, iterated, str_of};
use super::{convert, text};

macro_rules! table {
    ($name:literal) => {
        include_bytes!(concat!("../../../fixtures/runtimes/python/", $name, ".jsonl"))
    };
}

fn value_of(text: &[u8]) -> Value<'_> {
    json::validate(text, Dialect::Python).unwrap().value
}

/// One cell of a row: a JSON value of the table.
#[derive(Debug, Clone, Copy)]
struct Cell<'t>(Value<'t>);

impl<'t> Cell<'t> {
    fn text(self) -> Cow<'t, [u8]> {
        assert!(self.0.is_string(), "{:?}", self.0);
        decode(self.0.text())
    }

    fn cells(self) -> Vec<Cell<'t>> {
        self.0.elements().map(Cell).collect()
    }

    fn number(self) -> i64 {
        self.0.parse().unwrap()
    }

    fn texts(self) -> Vec<Vec<u8>> {
        self.cells().iter().map(|cell| cell.text().into_owned()).collect()
    }
}

/// Runs a check on every row, and shows the row of the first that fails.
fn each<const N: usize>(table: &'static [u8], at_least: usize, check: impl Fn([Cell<'_>; N])) {
    let mut rows = 0;
    for line in table.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
        let cells: [Cell<'_>; N] = Cell(value_of(line)).cells().try_into().unwrap();
        let shown = String::from_utf8_lossy(&line[..line.len().min(600)]).into_owned();
        let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| check(cells))).is_err();
        assert!(!failed, "row {}: {shown}", rows + 1);
        rows += 1;
    }
    assert!(rows >= at_least, "only {rows} rows");
}

fn made(write: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let mut out = Vec::new();
    write(&mut out);
    out
}

#[track_caller]
fn same(ours: impl AsRef<[u8]>, theirs: Cell<'_>) {
    let (ours, theirs) = (ours.as_ref(), theirs.text());
    assert_eq!(String::from_utf8_lossy(ours), String::from_utf8_lossy(&theirs));
    assert_eq!(ours, &*theirs);
}

/// Returns an answer, or the exception as the tables write it.
fn or_raised(answer: Result<impl Into<Vec<u8>>, Exception>) -> Vec<u8> {
    answer.map_or_else(|exception| format!("!{}", exception.name()).into_bytes(), Into::into)
}

#[test]
fn json_loads() {
    each(table!("loads"), 1100, |[text, too_deep, answer]| {
        let text = text.text();
        let answered = match loads(&text, usize::try_from(too_deep.number()).unwrap(), &mut Vec::new()) {
            Ok(value) => made(|out| push(value, Form::Repr, out)),
            Err(Failure::Syntax(_)) => b"!JSONDecodeError".to_vec(),
            Err(Failure::LongInteger) => b"!ValueError".to_vec(),
            Err(Failure::TooDeep) => b"!RecursionError".to_vec(),
        };
        same(answered, answer);
    });
}

#[test]
fn json_dumps_and_repr() {
    let writer = std::cell::RefCell::new(Writer::default());
    each(table!("dumps"), 400, |[text, ascii, utf8, repr, sorted]| {
        let text = text.text();
        let value = value_of(&text);
        let written = |form| made(|out| writer.borrow_mut().push(value, form, out));
        same(written(Form::Ascii), ascii);
        same(written(Form::Utf8), utf8);
        same(written(Form::Repr), repr);
        same(written(Form::SortedRepr), sorted);
        // What keeps its tokens is still the same value.
        same(made(|out| push(value_of(&written(Form::Tokens)), Form::Repr, out)), repr);
    });
}

#[test]
fn json_dumps_with_indent() {
    each(table!("layout"), 120, |[value, ascii, utf8, indented, indented_utf8]| {
        let value = value.text();
        let styled = |separators, escapes| made(|out| Style { separators, escapes }.push_value(&value, out));
        same(styled(Separators::Spaced, Escapes::Ascii), ascii);
        same(styled(Separators::Spaced, Escapes::Utf8), utf8);
        same(styled(Separators::Indented, Escapes::Ascii), indented);
        same(styled(Separators::Indented, Escapes::Utf8), indented_utf8);
    });
}

#[test]
fn strings() {
    each(table!("strings"), 600, |[token, ascii, utf8, repr, stripped, lines, lowered]| {
        let token = token.text();
        let text = decode(&token);
        same(made(|out| push_ascii(&text, out)), ascii);
        same(made(|out| push_key_in_ascii(&token, out)), ascii);
        same(made(|out| push_utf8(&text, out)), utf8);
        same(made(|out| push_repr(&text, out)), repr);
        same(strip(&text), stripped);
        if let Ok(text) = std::str::from_utf8(&text) {
            same(strip_str(text), stripped);
        }
        let split: Vec<Vec<u8>> = splitlines(&text).map(|line| text[line.start..line.start + line.len].to_vec()).collect();
        assert_eq!(split, lines.texts());
        same(lower(&text), lowered);
    });
}

#[test]
fn lines_of_files() {
    each(table!("lines"), 200, |[text, in_text, in_bytes]| {
        let text = text.text();
        assert_eq!(text_lines(&text).collect::<Vec<_>>(), in_text.texts());
        assert_eq!(byte_lines(&text).collect::<Vec<_>>(), in_bytes.texts());
    });
}

#[test]
fn characters() {
    let rows: Vec<Vec<Cell<'_>>> =
        table!("characters").split(|b| *b == b'\n').filter(|line| !line.is_empty()).map(|line| Cell(value_of(line)).cells()).collect();
    let codes = |row: usize| -> Vec<u32> { rows[row][1].cells().iter().map(|cell| cell.number() as u32).collect() };
    let pairs = |row: usize| -> Vec<Vec<Cell<'_>>> { rows[row][1].cells().iter().map(|cell| cell.cells()).collect() };
    let everything = || (0..0x11_0000).filter_map(char::from_u32);

    let toggles = codes(0);
    let mut printable = false;
    for code in 0..0x11_0000 {
        printable ^= toggles.binary_search(&code).is_ok();
        assert_eq!(is_printable(code), printable, "{code:#x}");
    }
    assert_eq!(everything().filter(|c| is_space(*c)).map(u32::from).collect::<Vec<_>>(), codes(1));

    let mut lowered = pairs(2).into_iter().peekable();
    for c in everything() {
        let own = c.to_string();
        let expected = lowered.next_if(|pair| pair[0].number() == i64::from(u32::from(c))).map(|pair| pair[1].text().into_owned());
        assert_eq!(lower(own.as_bytes()), expected.unwrap_or_else(|| own.clone().into_bytes()), "{:#x}", u32::from(c));
    }
    assert!(lowered.next().is_none());

    let mut digits = pairs(3).into_iter().filter(|pair| pair[0].number() > 0x7f).peekable();
    for c in everything().filter(|c| !c.is_ascii()) {
        let expected = digits.next_if(|pair| pair[0].number() == i64::from(u32::from(c))).map(|pair| pair[1].number());
        assert_eq!(ascii_digit(c).map(|digit| i64::from(digit as u8 - b'0')), expected, "{:#x}", u32::from(c));
    }
    assert!(digits.next().is_none());
}

#[test]
fn int_and_float_of_texts() {
    each(table!("numbers"), 1300, |[text, whole, float]| {
        let text = text.text();
        same(or_raised(convert::int_of_text(&text)), whole);
        same(or_raised(convert::float_of_text(&text).map(float_repr)), float);
    });
}

#[test]
fn floats() {
    each(table!("floats"), 1200, |[token, repr, whole]| {
        let token = token.text();
        same(float_repr(double(&token)), repr);
        if double(&token).is_finite() {
            same(float_json(double(&token)), repr);
        }
        if whole.0.is_string() {
            same(or_raised(convert::int(value_of(&token))), whole);
        }
    });
    assert_eq!([f64::NAN, f64::INFINITY, f64::NEG_INFINITY].map(float_json), ["NaN", "Infinity", "-Infinity"]);
}

#[test]
fn truth_int_float_and_str_of_values() {
    each(table!("conversions"), 400, |[value, truth, whole, float, printed]| {
        let value = value.text();
        assert_eq!(is_truthy(value_of(&value)), truth.0 == Value::TRUE);
        same(or_raised(convert::int(value_of(&value))), whole);
        same(or_raised(convert::float(value_of(&value)).map(float_repr)), float);
        same(str_of(value_of(&value)), printed);
    });
}

#[test]
fn equality_and_order() {
    each(table!("comparisons"), 1400, |[left, right, equal, order]| {
        let (left, right) = (left.text(), right.text());
        assert_eq!(equals(value_of(&left), value_of(&right)), equal.0 == Value::TRUE);
        if order.0.is_string() {
            same(or_raised(at_most(value_of(&left), value_of(&right)).map(|_| b"an answer")), order);
        } else {
            assert_eq!(at_most(value_of(&left), value_of(&right)), Ok(order.0 == Value::TRUE));
        }
    });
}

#[test]
fn dicts() {
    each(table!("dicts"), 200, |[value, answer]| {
        let value = value.text();
        same(or_raised(Dict::of(value_of(&value)).map(|dict| dict.to_json())), answer);
    });
    let object = br#"{"b": 1, "\u0061": 2, "b": 3}"#;
    assert_eq!(iterated(value_of(object)), [&b"b"[..], b"a"]);
    assert_eq!(iterated(value_of("\"é\\ud800\"".as_bytes())), ["é".as_bytes(), b"\xed\xa0\x80"]);
    assert_eq!(iterated(value_of(b"[1.50, null]")), [&b"1.5"[..], b"None"]);
    assert!(iterated(value_of(b"7")).is_empty());
}

#[test]
fn times() {
    each(table!("isoparse"), 2400, |[text, answer]| {
        same(or_raised(isoparse(&text.text()).map(|time| time.isoformat())), answer);
    });
    each(table!("isoformat"), 250, |[text, answer]| {
        let text = text.text();
        same(made(|out| push_isoformat_of(std::str::from_utf8(&text).unwrap(), out)), answer);
    });
    each(table!("mtimes"), 400, |[ns, answer]| same(DateTime::of_mtime(ns.number()).isoformat(), answer));
}

#[test]
fn paths() {
    each(table!("paths"), 400, |[text, path, end, absolute, answer]| {
        let text = text.text();
        same(normal(&text), path);
        same(suffix(&normal(&text)), end);
        let Some(Resolved::Path(found)) = resolved(&absolute.text()) else { panic!("not resolved") };
        same(found, answer);
    });
}

#[test]
fn list_sort() {
    each(table!("sorts"), 250, |[keys, order]| {
        let keys: Vec<f64> = keys.texts().iter().map(|key| double(key)).collect();
        let mut items: Vec<usize> = (0..keys.len()).collect();
        sort_by_float(&mut items, |at| keys[*at]);
        let expected: Vec<usize> = order.cells().iter().map(|cell| cell.number() as usize).collect();
        assert_eq!(items, expected);
    });
}

#[test]
fn bytes_are_stripped_of_ascii_alone() {
    assert_eq!(text::strip_bytes(b" \t\x0b\x0c\r\n\x1ca\x1f "), b"\x1ca\x1f");
    assert_eq!(text::strip_bytes(b"\n "), b"");
}
