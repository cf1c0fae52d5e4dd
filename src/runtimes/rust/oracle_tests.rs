//! Every function against serde_json and the standard library themselves, on
//! texts that are made up, broken and put together anew.

use std::io::BufRead;

use proptest::prelude::*;

use super::*;
use crate::json::{Dialect, Lexeme, each_number_or_space, validate};

/// What this crate's serde_json reads, which has not the feature for exact numbers.
fn oracle(text: &[u8]) -> Option<serde_json::Value> {
    serde_json::from_slice(text).ok()
}

/// A text with every number replaced, whose range this crate's serde_json judges otherwise.
fn without_numbers(text: &[u8]) -> Vec<u8> {
    let mut plain = Vec::new();
    let mut end = 0;
    each_number_or_space(text, |lexeme, range| {
        if lexeme != Lexeme::WhiteSpace {
            plain.extend_from_slice(&text[end..range.start]);
            plain.push(b'0');
            end = range.end;
        }
    });
    plain.extend_from_slice(&text[end..]);
    plain
}

fn numbers(text: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    each_number_or_space(text, |lexeme, range| {
        if lexeme != Lexeme::WhiteSpace {
            found.push(String::from_utf8(text[range].to_vec()).unwrap());
        }
    });
    found
}

/// Holds one text against serde_json.
fn check(text: &[u8]) {
    let found = parse(text);
    if validate(text, Dialect::Strict).is_err() {
        assert!(found.is_none() && oracle(text).is_none(), "{}", text.escape_ascii());
        return;
    }
    let fits = |number: &String| number.contains(['.', 'e', 'E']) || number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok();
    let is_right = oracle(&without_numbers(text)).is_some() && numbers(text).iter().all(fits);
    assert_eq!(found.is_some(), is_right, "{}", text.escape_ascii());
    if let (Some(found), Some(expected)) = (found, oracle(text)) {
        assert_eq!(unsigned(found), if text.trim_ascii() == b"-0" { Some(0) } else { expected.as_u64() }, "{}", text.escape_ascii());
        let printed = printed(found);
        assert_eq!(numbers(&printed).len(), printed_numbers(&expected), "{}", text.escape_ascii());
        if !numbers(text).contains(&"-0".to_owned()) {
            assert_eq!(oracle(&printed), Some(expected), "{}", text.escape_ascii());
        }
    }
}

fn printed_numbers(value: &serde_json::Value) -> usize {
    numbers(value.to_string().as_bytes()).len()
}

#[test]
fn numbers_are_read_and_printed_as_the_real_program_does() {
    // What a program that writes with serde_json sent of these, between brackets; nothing where it skipped the line.
    const SENT: &[(&str, Option<&str>)] = &[
        ("1.10", Some("1.10")),
        ("1e5", Some("1e+5")),
        ("1E+5", Some("1e+5")),
        ("-0", Some("0")),
        ("-0.0", Some("-0.0")),
        ("1e400", Some("1e+400")),
        ("1e-400", Some("1e-400")),
        ("12345678901234567890123", None),
        ("18446744073709551615", Some("18446744073709551615")),
        ("18446744073709551616", None),
        ("-9223372036854775808", Some("-9223372036854775808")),
        ("-9223372036854775809", None),
        ("100000000000000000000.0", Some("100000000000000000000.0")),
        ("123456789012345680000.5", Some("123456789012345680000.5")),
    ];
    for (number, sent) in SENT {
        let found = parse(number.as_bytes()).map(|value| String::from_utf8(printed(value)).unwrap());
        assert_eq!(found.as_deref(), *sent, "{number}");
    }
}

/// Pieces of which texts are put together: whole values and what breaks them.
const PIECES: [&[u8]; 56] = [
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\"a\"",
    b"\"b\"",
    b"\"\"",
    b"1",
    b"-1",
    b"0",
    b"-0",
    b"01",
    b"1.5",
    b"1.",
    b".5",
    b"1e2",
    b"1E+2",
    b"1e-2",
    b"1e400",
    b"-1e400",
    b"0e400",
    b"1e-400",
    b"18446744073709551615",
    b"18446744073709551616",
    b"1.7976931348623157e308",
    b"1.7976931348623159e308",
    b"0.1",
    b"1.10",
    b"1794982006.0054626",
    b"1e16",
    b"123456789012345680000",
    b"true",
    b"false",
    b"null",
    b"nul",
    b"NaN",
    b"Infinity",
    b"\"\\ud83d\\ude00\"",
    b"\"\\ud83d\"",
    b"\"\\ude00\"",
    b"\"\\ud83d\\u0041\"",
    b"\"\\\\ud83d\"",
    b"\"\\u00e9\"",
    b"\"\\x\"",
    b"\"\x7f\xc2\x85\xe2\x80\xa8\"",
    b"\"\xff\"",
    b"\"\n\"",
    b"\"\\b\\f\\n\\r\\t\\/\\\"\\u001f\"",
    b" ",
    b"\t\r\n",
    b"\xef\xbb\xbf",
    b"\xc2\xa0",
    b"\0",
    b"\"k\":",
];

#[test]
fn every_piece_and_every_pair_of_pieces_is_taken_as_serde_json_takes_it() {
    for one in PIECES {
        check(one);
        for two in PIECES {
            check(&[one, two].concat());
            check(&[b"[", one, b",", two, b"]"].concat());
            check(&[b"{\"k\":", one, b",\"k\":", two, b"}"].concat());
        }
    }
}

#[test]
fn values_nest_127_deep_and_no_deeper() {
    for depth in [1, MAX_DEPTH - 1, MAX_DEPTH, MAX_DEPTH + 1, MAX_DEPTH + 2] {
        check(&[b"[".repeat(depth), b"]".repeat(depth)].concat());
        check(&[b"{\"a\":".repeat(depth), b"{}".to_vec(), b"}".repeat(depth)].concat());
        assert_eq!(parse(&[b"[".repeat(depth), b"]".repeat(depth)].concat()).is_some(), depth <= MAX_DEPTH);
    }
}

#[test]
fn long_numbers_are_in_range_or_not_as_serde_json_has_it() {
    for digits in [1, 20, 299, 300, 301, 308, 309, 310, 400] {
        check("9".repeat(digits).as_bytes());
        check(format!("1{}.5", "0".repeat(digits)).as_bytes());
        check(format!("0.{}1", "0".repeat(digits)).as_bytes());
        check(format!("1e{}", "9".repeat(digits)).as_bytes());
    }
}

proptest! {
    #[test]
    fn texts_of_pieces_are_taken_as_serde_json_takes_them(picked in proptest::collection::vec(0..PIECES.len(), 0..12)) {
        check(&picked.into_iter().flat_map(|at| PIECES[at].to_vec()).collect::<Vec<u8>>());
    }

    #[test]
    fn numbers_are_printed_as_serde_json_prints_them(number in any::<f64>(), integer in any::<i64>()) {
        check(format!("{number}").as_bytes());
        check(format!("{number:e}").as_bytes());
        check(format!("{integer}").as_bytes());
    }

    #[test]
    fn strings_are_printed_as_serde_json_prints_them(text in ".*", controls in "[\u{0}-\u{7f}]*") {
        for text in [text, controls] {
            let mut out = Vec::new();
            push_string(&text, &mut out);
            prop_assert_eq!(String::from_utf8(out).unwrap(), serde_json::to_string(&text).unwrap());
        }
    }

    #[test]
    fn lines_end_where_the_standard_library_ends_them(text in "[ab\r\n\u{85}\u{2028}]{0,12}") {
        let found: Vec<&[u8]> = lines(text.as_bytes()).map(|(at, line)| {
            assert!(text.as_bytes()[at..].starts_with(line));
            line
        }).collect();
        let expected: Vec<String> = std::io::Cursor::new(&text).lines().map(Result::unwrap).collect();
        prop_assert_eq!(found, expected.iter().map(String::as_bytes).collect::<Vec<_>>());
    }

    #[test]
    fn a_line_is_blank_where_trimming_leaves_nothing(text in "[a \t\u{b}\u{85}\u{a0}\u{feff}\u{2028}\u{3000}]{0,3}") {
        prop_assert_eq!(is_blank(text.as_bytes()), text.trim().is_empty());
    }
}
