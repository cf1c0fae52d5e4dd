//! Tests of the tokenizer.

use super::*;

fn accepts(text: &str, dialect: Dialect) -> bool {
    scan_value(text.as_bytes(), dialect).is_ok_and(|scan| text[scan.end..].trim().is_empty())
}

#[test]
fn takes_what_the_dialect_takes_and_nothing_else() {
    for good in ["0", "-0", "1e400", "0.10", "1E-5", "\"\\ud800\"", "[]", "{}", "[[],{}]", "{\"a\":{},\"a\":[1,2]}", "null"] {
        assert!(accepts(good, Dialect::Strict), "{good}");
    }
    for bad in ["", "01", "1.", ".5", "+1", "1e", "\"\\x\"", "\"\\u12g4\"", "\"\n\"", "[1,]", "{\"a\":1,}", "{a:1}", "[1}", "nul", "\"open"]
    {
        assert!(!accepts(bad, Dialect::Python), "{bad}");
    }
    for odd in ["NaN", "-Infinity", "[Infinity]"] {
        assert!(accepts(odd, Dialect::Python), "{odd}");
        assert!(!accepts(odd, Dialect::Strict), "{odd}");
    }
}

#[test]
fn members_keep_their_bytes_and_order() {
    let text = br#" {"b" : 1.10 , "a":[ {"x":"}"} ] ,"b":"\u00e9"} "#;
    let mut found = Vec::new();
    let facts = scan_object(text, Dialect::Strict, &mut found).unwrap();
    let spans: Vec<_> = found.iter().map(|m| (m.name().into_owned(), String::from_utf8_lossy(m.value).into_owned())).collect();
    assert_eq!(spans, [("b".into(), "1.10".into()), ("a".into(), "[ {\"x\":\"}\"} ]".into()), ("b".into(), "\"\\u00e9\"".into())]);
    assert_eq!(facts.depth, 3);
}

#[test]
fn a_million_levels_need_no_stack() {
    let deep = format!("{}1{}", "[".repeat(1_000_000), "]".repeat(1_000_000));
    assert_eq!(scan_value(deep.as_bytes(), Dialect::Strict).unwrap().facts.depth, 1_000_000);
    assert!(scan_value(&deep.as_bytes()[..1_500_000], Dialect::Strict).is_err());
}

#[test]
fn a_control_character_is_wrong_only_in_a_string_that_ends() {
    let error = |text: &[u8]| scan_value(text, Dialect::Strict).unwrap_err();
    assert_eq!(error(b"\"ab\ncd\""), ScanError::invalid(3, "an unescaped control character in a string"));
    // Cut off, and something else was written after it.
    assert_eq!(error(b"\"ab\ncd"), ScanError { at: 6, what: "the text ends early", fault: Fault::Truncated });
}

#[test]
fn objects_and_arrays_are_told_apart_at_every_depth() {
    for depth in [1, 63, 64, 65, 128, 129, 200] {
        let opened = (0..depth).map(|n| if n % 3 == 0 { "{\"k\":" } else { "[" }).collect::<String>();
        let closed = (0..depth).rev().map(|n| if n % 3 == 0 { '}' } else { ']' }).collect::<String>();
        assert!(accepts(&format!("{opened}1{closed}"), Dialect::Strict), "{depth}");
        let swapped = closed.replacen(if closed.ends_with("]}") { "]}" } else { "}" }, "]]", 1);
        assert!(!accepts(&format!("{opened}1{swapped}"), Dialect::Strict), "{depth}");
    }
}

#[test]
fn an_outline_says_what_a_second_look_would() {
    let text = br#"{"a":[1],"list":[ {"x":"\"]","y":[{}]} , null,{},[{"z":1}] ],"b":2}"#;
    let name = |member: &Member<'_>| member.is("list").then_some("list");
    let (mut all, mut lists) = (Vec::new(), Vec::new());
    let facts = scan_outline(text, Dialect::Strict, &name, &mut all, &mut lists).unwrap();
    assert_eq!(facts, scan_object(text, Dialect::Strict, &mut Vec::new()).unwrap());
    let [list] = &lists[..] else { panic!("{} lists", lists.len()) };
    assert_eq!((list.value().address(), list.value()), (all[1].value().address(), all[1].value()));
    let spans = |found: &[Member<'_>]| found.iter().map(|m| (m.key.to_vec(), m.value.to_vec())).collect::<Vec<_>>();
    let noted: Vec<_> = list.elements().map(|(element, inside)| (element, spans(inside))).collect();
    let again: Vec<_> = list.value().elements().map(|element| (element, spans(&element.all_members()))).collect();
    assert_eq!(noted, again);
    for broken in [&br#"{"list":[1,]}"#[..], br#"{"list":[{]}"#, br#"{"list":[{"a":1}"#, br#"{"list":[1 2]}"#, br#"{"list":[{"a":1,}]}"#] {
        let outlined = scan_outline(broken, Dialect::Strict, &name, &mut Vec::new(), &mut Vec::new()).unwrap_err();
        assert_eq!(outlined, scan_object(broken, Dialect::Strict, &mut Vec::new()).unwrap_err());
    }
}

#[test]
fn every_beginning_of_a_valid_text_is_truncated() {
    let text =
        r#" {"a" : [ -1.5e+3 , 0.10E-5,1e9, NaN,-Infinity , Infinity,{ } ], "\u00e9\"\\":"\ud83d\n x", "b":{"c":[true,false ,null]}} "#;
    fn verdict(text: &[u8]) -> Result<&[u8], Fault> {
        validate(text, Dialect::Python).map(|scan| scan.value.text()).map_err(|error| error.fault)
    }
    let complete = text.trim_end().len();
    for end in 0..complete {
        assert_eq!(verdict(&text.as_bytes()[..end]).err(), Some(Fault::Truncated), "{}", &text[..end]);
    }
    for end in complete..=text.len() {
        assert_eq!(verdict(&text.as_bytes()[..end]), Ok(text.trim().as_bytes()));
    }
}

#[test]
fn what_no_more_text_can_repair_is_invalid() {
    for text in [
        "[1 2",
        "[1.5.",
        "[1e5e",
        "[1e5.",
        "[1.5e+3-",
        "[01",
        "[tru]",
        "[trux",
        "[.",
        "[e",
        "{\"a\" 1",
        "{\"a\":1 x",
        "[\"\\u12g",
        "[\"\\x",
        "nul ",
        "{}x",
        "{} {",
        "[NaN",
        "\"\\u00e9\" u",
    ] {
        let error = validate(text.as_bytes(), Dialect::Strict).unwrap_err();
        assert_eq!(error.fault, Fault::Invalid, "{text}");
    }
}
