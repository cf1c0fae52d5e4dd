//! Every function against the answers of the real engine, which
//! `scripts/record-runtimes javascript` wrote to `fixtures/runtimes/javascript`.

use std::fmt::Debug;

use serde::de::DeserializeOwned;

use super::*;
use crate::json;

/// The text of a recorded table.
macro_rules! table {
    ($name:literal) => {
        include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/runtimes/javascript/", $name, ".jsonl"))
    };
}

/// Calls `check` with every row of a table, and fails with the first rows that
/// differ. A table of fewer rows than `least` was not recorded completely.
fn each_row<Row: DeserializeOwned, Answer: PartialEq + Debug>(table: &str, least: usize, check: impl Fn(&Row) -> (Answer, Answer)) {
    let mut wrong = Vec::new();
    let mut rows = 0;
    for line in table.lines() {
        rows += 1;
        let row: Row = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        let (ours, theirs) = check(&row);
        if ours != theirs {
            wrong.push(format!("{line}\n  ours {ours:?}\n  V8   {theirs:?}"));
        }
    }
    assert!(rows >= least, "the table has only {rows} rows");
    assert!(wrong.is_empty(), "{} of {rows} rows differ:\n{}", wrong.len(), wrong[..wrong.len().min(12)].join("\n"));
}

fn double(bits: &str) -> f64 {
    f64::from_bits(u64::from_str_radix(bits, 16).unwrap())
}

/// Returns the bits of a double, all NaNs being one.
fn bits(number: f64) -> u64 {
    if number.is_nan() { f64::NAN.to_bits() } else { number.to_bits() }
}

fn stringified(text: &[u8]) -> String {
    let mut out = Vec::new();
    push_string(text, &mut out);
    String::from_utf8(out).unwrap()
}

#[test]
fn numbers_are_printed_as_v8_does() {
    each_row(table!("number-text"), 2000, |(bits, text): &(String, String)| (number_text(double(bits)), text.clone()));
}

#[test]
fn json_is_accepted_and_printed_as_v8_does() {
    each_row(table!("json"), 2500, |(text, wanted): &(String, Option<String>)| {
        let ours = Value::parse(text.as_bytes()).map(|value| String::from_utf8(stringify(value.token())).unwrap());
        (ours, wanted.clone())
    });
}

#[test]
fn properties_are_listed_in_the_order_of_v8() {
    each_row(table!("json"), 2500, |(text, wanted): &(String, Option<String>)| {
        let names = |text: &[u8]| -> Vec<Vec<u8>> {
            let value = Value::parse(text).unwrap_or(Value::UNDEFINED);
            value.properties().into_iter().map(|(name, _)| name.into_owned()).collect()
        };
        // What V8 printed is in its order and has each name once.
        let printed = Value::accepted(wanted.as_deref().unwrap_or_default().as_bytes());
        let in_order = printed.members().map(|member| decode(member.key()).into_owned()).collect();
        (names(text.as_bytes()), in_order)
    });
}

#[test]
fn what_is_printed_as_it_stands_means_what_v8_prints() {
    each_row(table!("json"), 2500, |(text, wanted): &(String, Option<String>)| {
        let value = Value::parse(text.as_bytes());
        let again = |numbers| value.map(|value| stringify(&printed_raw(value.token(), numbers)));
        let exact = wanted.clone().map(String::into_bytes);
        ((again(Numbers::Printed), again(Numbers::Kept)), (exact.clone(), exact))
    });
    each_row(table!("json"), 2500, |(text, wanted): &(String, Option<String>)| {
        // The digits of a lone number are those that V8 prints.
        let number = Value::parse(text.as_bytes()).filter(|value| value.type_of() == Type::Number);
        let ours = number.map(|value| printed(value.token(), Numbers::Printed).into_owned());
        (ours, wanted.clone().map(String::into_bytes).filter(|_| number.is_some()))
    });
}

#[test]
fn values_become_text_and_numbers_and_truth_as_in_v8() {
    type Row = (String, Option<String>, Option<String>, u8);
    each_row(table!("coerce"), 800, |(text, string, number, truth): &Row| {
        let value = text.as_bytes();
        let ours = (to_text(value).ok().map(|text| stringified(&text)), to_number(value).ok().map(bits), u8::from(is_truthy(value)));
        (ours, (string.clone(), number.as_deref().map(|text| bits(double(text))), *truth))
    });
}

#[test]
fn values_are_the_same_where_v8_finds_them_equal() {
    each_row(table!("same"), 800, |(a, b, same): &(String, String, u8)| {
        let (a, b) = (Some(a.as_bytes()), Some(b.as_bytes()));
        let by_text = map_key(a).is_some_and(|key| Some(key) == map_key(b));
        ((u8::from(Key::of(a) == Key::of(b)), u8::from(by_text)), (*same, *same))
    });
    assert_ne!(Key::of(None::<json::Value<'_>>), Key::of(Some(json::Value::NULL)));
    assert_ne!(map_key(None::<json::Value<'_>>), map_key(Some(json::Value::NULL)));
    let object = Some(&b"{}"[..]);
    assert_eq!((Key::of(object), map_key(object)), (Key::of(object), None));
}

#[test]
fn white_space_is_what_v8_trims() {
    each_row(table!("spaces"), 1, |spaces: &Vec<u32>| {
        let ours = (0..0x11_0000).filter(|code| char::from_u32(*code).is_some_and(is_space)).collect();
        (ours, spaces.clone())
    });
    each_row(table!("trim"), 400, |(text, wanted): &(String, String)| {
        let text = decode(text.as_bytes());
        let ours = stringified(trim(&text));
        ((ours, is_blank(&text)), (wanted.clone(), wanted == "\"\""))
    });
}

#[test]
fn bytes_that_are_not_utf8_are_replaced_as_v8_does() {
    each_row(table!("utf8"), 1000, |(hex, wanted): &(String, String)| {
        let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
        (decode_utf8(&bytes).into_owned(), wanted.clone().into_bytes())
    });
}

#[test]
fn dates_are_read_as_v8_does() {
    each_row(table!("date-parse"), 5000, |(text, wanted): &(String, Option<i64>)| (parse_date(&lossy(&decode(text.as_bytes()))), *wanted));
}

#[test]
fn dates_are_printed_as_v8_does() {
    each_row(table!("iso-string"), 900, |(ms, wanted): &(i64, Option<String>)| (to_iso_string(*ms), wanted.clone()));
}

#[test]
fn values_become_times_as_in_v8() {
    each_row(table!("time"), 100, |(text, wanted, constructed): &(String, Option<i64>, Option<u8>)| {
        (to_time(Some(text.as_bytes())), if constructed.is_some() { Ok(*wanted) } else { Err(TypeError) })
    });
}

#[test]
fn any_depth_is_coerced_and_printed() {
    let deep = format!("{}3{}", "[".repeat(500_000), "]".repeat(500_000));
    assert_eq!(to_number(deep.as_bytes()), Ok(3.0));
    assert_eq!(stringify(deep.as_bytes()), deep.as_bytes());
    let objects = format!("{}0{}", "{\"b\":1,\"0\":".repeat(20_000), "}".repeat(20_000));
    assert_eq!(stringify(objects.as_bytes()).len(), objects.len());
}

#[test]
fn nothing_is_copied_that_stays_as_it_is() {
    use std::borrow::Cow;
    for stays in [r#"{"a":[1,-2.5,0.1,123456789012345,0.30000000000000004,"\u0061 1e400"]}"#, "5e-324", "1e+21"] {
        assert!(matches!(printed(stays.as_bytes(), Numbers::Printed), Cow::Borrowed(_)), "{stays}");
    }
    let kept = br#"{"a":[1.0,12345678901234567890,1E5,0.0]}"#;
    assert!(matches!(printed(kept, Numbers::Kept), Cow::Borrowed(_)));
    assert_eq!(printed(b"[ 1e400 , -0 ,-0.0e5, 1.50]", Numbers::Kept), &b"[null,0,0,1.50]"[..]);
    assert_eq!(printed_raw(b"\"\xff\xe2\x82\"", Numbers::Kept), "\"\u{fffd}\u{fffd}\"".as_bytes());
}
