//! The laws of the parts: what is written reads back, what is split joins again,
//! what is equal is equal both ways. Each over inputs that are made up, and made
//! smaller where one fails. The laws of whole sessions are in `laws.rs`, those of
//! prune in `prune_laws.rs`.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods)]

use crate::support;

use everlog::adapters::{ALL, by_id};
use everlog::cli::{size, span_ns};
use everlog::commands::audit::{self, AuditJob};
use everlog::json::{self, Dialect, Escapes, Separators, Style};
use everlog::log::LogView;
use everlog::log::contain::{Missing, missing};
use everlog::model::event::{bytes_of, text_or_b64};
use everlog::model::files::RelPath;
use everlog::model::heads::{HeadKind, HeadName};
use everlog::model::ids::Seq;
use everlog::model::jsonl::{Lines, Newlines};
use everlog::model::location::Location;
use everlog::model::recipe::{Piece, RecipeBuilder, pieces};
use everlog::model::retention::{Edit, edited};
use everlog::model::shape::Order;
use everlog::model::time;
use everlog::pipeline::source::Selection;
use everlog::report::printer::{Form, Printer, Talk};
use proptest::prelude::*;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use support::prune::{Last, NOW_NS, Run, Seen, Turn, session};
use support::webui::Folder;
use support::{Said, convert_and_prove, generated};

fn any_text() -> impl Strategy<Value = String> {
    let character = prop_oneof![
        6 => any::<char>(),
        3 => prop::char::range(' ', '~'),
        2 => prop::char::range('\0', '\u{1f}'),
        1 => prop::sample::select(vec!['"', '\\', '/', '\u{7f}', '\u{85}', '\u{2028}', '\u{2029}', '\u{feff}', '\u{fffd}', '<', '&']),
    ];
    prop::collection::vec(character, 0..30).prop_map(String::from_iter)
}

/// What a program's strings may hold as it is, and need not escape.
fn is_raw_for(c: char, writer: Escapes) -> bool {
    let is_plain = c >= ' ' && !matches!(c, '"' | '\\');
    match writer {
        Escapes::Ascii => is_plain && c <= '~',
        Escapes::Utf8 => is_plain,
        Escapes::Go => is_plain && !matches!(c, '<' | '>' | '&' | '\u{2028}' | '\u{2029}'),
    }
}

/// Whether an escape tells that it was one: what the log itself must escape looks
/// the same where the program would not have (the record's residual keeps that).
fn is_told(unit: u16, writer: Escapes) -> bool {
    match writer {
        Escapes::Ascii => true,
        Escapes::Utf8 => !matches!(unit, 0x7f..=0x9f | 0x2028 | 0x2029),
        Escapes::Go => !matches!(unit, 0x7f..=0x9f),
    }
}

/// A string token as a program or an attacker writes it: any escape, in any
/// spelling, lone surrogates too.
fn any_token(writer: Escapes) -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => any::<char>().prop_filter_map("escaped", move |c| is_raw_for(c, writer).then(|| c.to_string())),
        4 => prop::char::range(' ', '~').prop_filter_map("escaped", move |c| is_raw_for(c, writer).then(|| c.to_string())),
        2 => any::<u16>().prop_filter_map("untold", move |unit| is_told(unit, writer).then(|| format!("\\u{unit:04x}"))),
        1 => any::<u16>().prop_filter_map("untold", move |unit| is_told(unit, writer).then(|| format!("\\u{unit:04X}"))),
        1 => (0_u16..0x80).prop_filter_map("untold", move |unit| is_told(unit, writer).then(|| format!("\\u{unit:04x}"))),
        1 => prop::char::range('\u{10000}', '\u{10ffff}').prop_map(|c| {
            c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect()
        }),
        1 => prop::sample::select(vec!["\\n", "\\r", "\\t", "\\b", "\\f", "\\/", "\\\\", "\\\"", "\\u003c"]).prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| format!("\"{}\"", pieces.concat()))
}

/// A value that is not written yet.
#[derive(Debug, Clone)]
enum Value {
    Leaf(String),
    List(Vec<Value>),
    Object(Vec<(String, Value)>),
}

impl Value {
    fn write(&self, style: Style, depth: usize, out: &mut Vec<u8>) {
        let mut items: Vec<(&str, &Value)> = Vec::new();
        let (open, close) = match self {
            Value::Leaf(text) => return out.extend_from_slice(text.as_bytes()),
            Value::List(list) => {
                items.extend(list.iter().map(|value| ("", value)));
                (b'[', b']')
            }
            Value::Object(members) => {
                items.extend(members.iter().map(|(key, value)| (key.as_str(), value)));
                (b'{', b'}')
            }
        };
        out.push(open);
        for (n, (key, value)) in items.iter().enumerate() {
            if n > 0 {
                style.push_comma(out);
            }
            style.push_break(depth + 1, out);
            if open == b'{' {
                out.extend_from_slice(key.as_bytes());
                style.push_colon(out);
            }
            value.write(style, depth + 1, out);
        }
        if !items.is_empty() {
            style.push_break(depth, out);
        }
        out.push(close);
    }

    fn text(&self, style: Style) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(style, 0, &mut out);
        out
    }
}

fn any_style() -> impl Strategy<Value = Style> {
    let separators = prop::sample::select(vec![Separators::Spaced, Separators::Compact, Separators::Indented]);
    let escapes = prop::sample::select(vec![Escapes::Ascii, Escapes::Utf8, Escapes::Go]);
    (separators, escapes).prop_map(|(separators, escapes)| Style { separators, escapes })
}

fn any_number() -> impl Strategy<Value = String> {
    "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,18})?([eE][+-]?[0-9]{1,3})?"
}

fn any_value(writer: Escapes) -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        2 => prop::sample::select(vec!["null", "true", "false"]).prop_map(|word| Value::Leaf(word.to_owned())),
        3 => any_number().prop_map(Value::Leaf),
        5 => any_token(writer).prop_map(Value::Leaf),
    ];
    leaf.prop_recursive(4, 24, 5, move |inner| {
        let key = prop_oneof![3 => any_token(writer), 1 => Just("\"a\"".to_owned()), 1 => Just("\"$raw\"".to_owned())];
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::List),
            prop::collection::vec((key, inner), 0..5).prop_map(Value::Object),
        ]
    })
}

fn styled_value() -> impl Strategy<Value = (Style, Value)> {
    any_style().prop_flat_map(|style| (Just(style), any_value(style.escapes)))
}

/// A number in another spelling, or another one.
fn numbers() -> impl Strategy<Value = (String, String)> {
    let near = (any::<u64>(), 0_u64..3).prop_map(|(n, more)| (n.to_string(), format!("{}.0", n.saturating_add(more))));
    prop_oneof![(any_number(), any_number()), near, any_number().prop_map(|n| (n.clone(), format!("{n}e0").replace("e0e0", "e0")))]
}

proptest! {
    #[test]
    fn a_string_of_the_log_reads_back_and_holds_nothing_that_terminals_act_on(text in any_text()) {
        let mut token = Vec::new();
        json::push_string(&text, &mut token);
        prop_assert_eq!(json::decode_string(&token).unwrap(), text.as_str());
        prop_assert_eq!(json::unescape(&token), text.as_str());
        let token = String::from_utf8(token).unwrap();
        prop_assert!(!token.chars().any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')), "{}", token);
        prop_assert_eq!(serde_json::from_str::<String>(&token).unwrap(), text);
    }

    #[test]
    fn a_carried_value_renders_to_its_bytes_and_is_plain_json((style, value) in styled_value()) {
        let source = value.text(style);
        let mut log = Vec::new();
        json::push_carried_value(&source, style.escapes, &mut log);
        let mut back = Vec::new();
        style.push_value(&log, &mut back);
        prop_assert_eq!(String::from_utf8_lossy(&back), String::from_utf8_lossy(&source), "through {}", String::from_utf8_lossy(&log));
        let log = String::from_utf8(log).unwrap();
        prop_assert!(serde_json::from_str::<serde::de::IgnoredAny>(&log).is_ok(), "{}", log);
        prop_assert!(!log.chars().any(|c| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')), "{}", log);
    }

    #[test]
    fn equal_values_are_those_with_one_normal_form((style, a) in styled_value(), (other, b) in styled_value()) {
        // The same value in another style, and another value.
        let (one, spaced, second) = (a.text(style), a.text(Style { separators: other.separators, ..style }), b.text(other));
        prop_assert!(json::same_value(&one, &spaced) && json::same_value(&spaced, &one));
        prop_assert_eq!(json::normal_form(&one), json::normal_form(&spaced));
        let is_same = json::same_value(&one, &second);
        prop_assert_eq!(is_same, json::same_value(&second, &one));
        prop_assert_eq!(is_same, json::normal_form(&one) == json::normal_form(&second));
    }

    #[test]
    fn equal_numbers_are_those_with_one_normal_form((a, b) in numbers()) {
        let (a, b) = (a.as_bytes(), b.as_bytes());
        prop_assert_eq!(json::same_value(a, b), json::same_value(b, a));
        prop_assert_eq!(json::same_value(a, b), json::normal_form(a) == json::normal_form(b));
    }

    #[test]
    fn a_path_comes_back_from_its_key_and_no_two_share_one(a in name_bytes(), b in name_bytes()) {
        let (one, other) = (RelPath::new(a), RelPath::new(b));
        prop_assert_eq!(RelPath::from_key(&one.key()), one.clone());
        prop_assert_eq!(one == other, one.key() == other.key());
        if one.stays_inside() && other.stays_inside() {
            let below = one.below(&other);
            prop_assert!(below.stays_inside() && below.folders().any(|folder| folder == other));
        }
    }

    #[test]
    fn bytes_come_back_from_text_or_base64(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let (text, b64) = text_or_b64(&bytes);
        prop_assert_eq!(text.is_some(), std::str::from_utf8(&bytes).is_ok());
        prop_assert_eq!(bytes_of(text.as_deref(), b64.as_deref()), Some(bytes));
    }

    #[test]
    fn lines_join_to_their_text_and_know_their_places(bytes in line_bytes()) {
        for newlines in [Newlines::Universal, Newlines::LineFeed] {
            let (mut at, mut number) = (0, 0);
            for line in Lines::new(&bytes, newlines) {
                number += 1;
                prop_assert_eq!((line.number, line.offset), (number, at));
                prop_assert_eq!(&bytes[at..at + line.text.len()], line.text);
                at += line.text.len();
                prop_assert_eq!(&bytes[at..at + line.end.len()], line.end);
                at += line.end.len();
                prop_assert!(!line.text.contains(&b'\n') && (!line.end.is_empty() || at == bytes.len()));
                if newlines == Newlines::LineFeed {
                    prop_assert_eq!(Location::of_offset("f", &bytes, line.offset), Location::at("f", number, 1));
                }
            }
            prop_assert_eq!(at, bytes.len());
        }
    }

    #[test]
    fn a_recipe_reads_back_as_what_was_put_in(steps in prop::collection::vec(any_step(), 0..30)) {
        let (mut builder, mut wanted, mut next) = (RecipeBuilder::default(), Vec::new(), 1);
        let mut line_end = "\n".to_owned();
        for step in &steps {
            match step {
                Step::Events(skip, len, is_joined) => {
                    let (first, last) = (next + skip, next + skip + len);
                    // Only neighbours are joined here: what lies between is of other files.
                    builder.events(Seq::new(first), Seq::new(last), |end, first| *is_joined && end.next() == first);
                    wanted.extend((first..=last).map(|n| format!("event {n}")));
                    next = last + 1;
                }
                Step::Gap(bytes) => {
                    builder.gap(bytes);
                    wanted.push(format!("gap {bytes:?}"));
                }
                Step::LineEnd(end) => {
                    builder.line_end(end);
                    if line_end != *end {
                        wanted.push(format!("end {end:?}"));
                    }
                    line_end.clone_from(end);
                }
                Step::Residual(count) => {
                    builder.residual(*count);
                    wanted.push(format!("residual {}", 1_000 + count));
                }
            }
        }
        let text = builder.finish(Seq::new(1_000));
        let mut found = Vec::new();
        for piece in pieces(json::validate(text.as_bytes(), Dialect::Strict).unwrap().value).unwrap() {
            match piece.unwrap() {
                Piece::Events(first, last) => found.extend((first.number()..=last.number()).map(|n| format!("event {n}"))),
                Piece::Gap { bytes, times } => found.extend((0..times).map(|_| format!("gap {bytes:?}"))),
                Piece::LineEnd(end) => found.push(format!("end {end:?}")),
                Piece::Residual(seq) => found.push(format!("residual {seq}")),
                Piece::Own(own) => found.push(format!("own {own:?}")),
            }
        }
        prop_assert_eq!(found, wanted, "{}", text);
    }

    #[test]
    fn an_order_of_keys_reads_back(order in any_order()) {
        let mut text = Vec::new();
        order.push_json(&mut text);
        prop_assert_eq!(Order::from_json(json::validate(&text, Dialect::Strict).unwrap().value), Some(order));
    }

    #[test]
    fn a_head_is_named_by_what_it_is_printed_as(
        kind in prop::sample::select(vec![HeadKind::Branch, HeadKind::View, HeadKind::Context, HeadKind::Backup, HeadKind::Events]),
        name in any_text(),
    ) {
        let head = HeadName::new(kind, name);
        prop_assert_eq!(HeadName::parse(&head.to_string()), head);
    }

    #[test]
    fn seconds_since_the_epoch_come_back_as_they_were(seconds in 0_u64..253_402_300_800, fraction in "(\\.[0-9]{1,9})?") {
        let number = format!("{seconds}{fraction}");
        let text = time::from_epoch(number.as_bytes()).unwrap();
        prop_assert!(time::is_log_time(text.as_bytes()), "{}", text);
        prop_assert_eq!(time::to_epoch(&text), Some(number));
    }

    #[test]
    fn edits_take_out_what_they_name_and_nothing_else(parts in prop::collection::vec((any_text(), any::<bool>()), 0..12)) {
        let whole: String = parts.iter().map(|(text, _)| text.as_str()).collect();
        let (mut edits, mut kept, mut at) = (Vec::new(), String::new(), 0);
        for (text, goes) in &parts {
            if *goes {
                edits.push(Edit::cut(at..at + text.len()));
            } else {
                kept.push_str(text);
            }
            at += text.len();
        }
        prop_assert_eq!(edited(whole.as_bytes(), &edits), Some(kept.into_bytes()));
        // After the end, or back to front, they do not fit.
        edits.push(Edit::cut(at..at + 1));
        prop_assert_eq!(edited(whole.as_bytes(), &edits), None);
    }

    #[test]
    fn a_size_is_its_number_of_units(number in 0_u64..1 << 20, unit in 0_usize..13, space in "[ ]{0,2}", is_loud in any::<bool>()) {
        const UNITS: [(&str, u32, u32); 13] = [
            ("", 2, 0), ("b", 2, 0), ("k", 2, 10), ("kib", 2, 10), ("kb", 10, 3), ("m", 2, 20), ("mib", 2, 20), ("mb", 10, 6), ("g", 2, 30),
            ("gib", 2, 30), ("gb", 10, 9), ("tib", 2, 40), ("tb", 10, 12),
        ];
        let (word, base, power) = UNITS[unit];
        let word = if is_loud { word.to_uppercase() } else { word.to_owned() };
        prop_assert_eq!(size(&format!("{space}{number}{space}{word}{space}")), Some(number * u64::from(base).pow(power)));
        prop_assert_eq!(size(&format!("-{number}{word}")), None);
    }

    #[test]
    fn a_span_is_the_sum_of_its_parts(weeks in 0_i64..500, days in 0_i64..5_000, hours in 0_i64..5_000, minutes in 0_i64..5_000) {
        const MINUTE: i64 = 60_000_000_000;
        let minutes_in_all = (weeks * 7 + days) * 24 * 60 + hours * 60 + minutes;
        for text in [format!("{weeks}w {days}d {hours}h {minutes}m"), format!("P{weeks}W{days}DT{hours}H{minutes}M"), format!("{minutes_in_all}m")] {
            prop_assert_eq!(span_ns(&text), Some(minutes_in_all * MINUTE), "{}", text);
        }
        prop_assert_eq!(span_ns(&format!("-{}d", days + 1)), None);
    }
}

fn name_bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![4 => prop::sample::select(b"ab./~".to_vec()), 1 => 1_u8..=255];
    prop::collection::vec(byte, 0..12)
}

fn line_bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![2 => Just(b'\n'), 2 => Just(b'\r'), 3 => Just(b'x'), 1 => any::<u8>()];
    prop::collection::vec(byte, 0..40)
}

#[derive(Debug, Clone)]
enum Step {
    /// So many numbers further on, so many more events, joined where it can be.
    Events(u32, u32, bool),
    Gap(String),
    LineEnd(String),
    Residual(u32),
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_u32..3, 0_u32..4, any::<bool>()).prop_map(|(skip, len, is_joined)| Step::Events(skip, len, is_joined)),
        2 => prop::sample::select(vec!["\n", "\r\n", " ", "\u{85}"]).prop_map(|gap| Step::Gap(gap.to_owned())),
        1 => prop::sample::select(vec!["\n", "\r\n", ""]).prop_map(|end| Step::LineEnd(end.to_owned())),
        1 => (0_u32..9).prop_map(Step::Residual),
    ]
}

fn any_order() -> impl Strategy<Value = Order> {
    let of_keys = |keys: Vec<(String, Option<Order>)>| {
        let mut order = Order::default();
        keys.into_iter().for_each(|(key, inside)| order.push(key, inside));
        order
    };
    let flat = prop::collection::vec((any_text(), Just(None)), 0..4).prop_map(of_keys);
    flat.prop_recursive(4, 16, 4, move |inner| prop::collection::vec((any_text(), prop::option::of(inner)), 0..4).prop_map(of_keys))
}

fn log_of(history: &[generated::Op]) -> Vec<u8> {
    let (converted, _) = convert_and_prove(by_id("gptme").unwrap(), &generated::files(history)).unwrap();
    converted.log
}

/// What one log has and another lacks.
fn lacking(old: &[u8], new: &[u8]) -> Missing {
    missing(&mut LogView::open(old.to_vec()).unwrap(), &mut LogView::open(new.to_vec()).unwrap()).unwrap()
}

fn messages_of(log: &[u8]) -> u64 {
    log.split(|b| *b == b'\n').filter(|line| memchr::memmem::find(line, b"\"type\":\"message\"").is_some()).count() as u64
}

/// Histories in which messages are only added.
fn appended(most: usize) -> impl Strategy<Value = Vec<generated::Op>> {
    let is_append = |op: &generated::Op| matches!(op, generated::Op::Append(_));
    generated::history(most).prop_map(move |ops| ops.into_iter().filter(is_append).collect())
}

fn any_turn() -> impl Strategy<Value = Turn> {
    let last =
        prop::sample::select(vec![Last::Submitted, Last::Worker, Last::Assistant, Last::Completed, Last::Interrupted, Last::Unknown]);
    let seen = prop::sample::select(vec![Seen::Nothing, Seen::Prompt, Seen::Answer, Seen::Marker]);
    let run = prop::sample::select(vec![Run::None, Run::Open, Run::Done, Run::Errored]);
    (last, seen, run, 1_u32..99, prop::array::uniform4(0_u8..3)).prop_map(|(last, seen, run, days, shards)| Turn {
        last,
        seen,
        run,
        days,
        shards,
    })
}

/// What an audit says.
fn audited(source: &Path, jobs: usize) -> String {
    let (said, stop) = (Said::default(), AtomicBool::new(false));
    let printer = Printer::to(Box::new(said.clone()), Form::Json, Talk::Quiet);
    let (selection, adapters) = (Selection::default(), ALL.to_vec());
    let job = AuditJob {
        source: source.to_owned(),
        dest: source.join("no-store"),
        findings: audit::Judgement::Report,
        selection,
        adapters,
        jobs,
        now_ns: NOW_NS,
        stop: &stop,
        disk: &everlog::store::disk::RealDisk,
    };
    audit::run(&job, &printer).unwrap();
    drop(printer);
    said.text().replace(source.to_str().unwrap(), "SOURCE")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn a_log_contains_itself_and_whatever_it_grew_from(history in appended(30), cuts in (0_usize..31, 0_usize..31)) {
        let (less, more) = (cuts.0.min(cuts.1).min(history.len()), cuts.0.max(cuts.1).min(history.len()));
        let [first, second, third] = [&history[..less], &history[..more], &history[..]].map(log_of);
        prop_assert!(lacking(&third, &third).is_nothing());
        for (old, new) in [(&first, &second), (&second, &third), (&first, &third)] {
            prop_assert!(lacking(old, new).is_nothing());
            // The other way round exactly that is missing which was added.
            prop_assert_eq!(lacking(new, old).messages, messages_of(new) - messages_of(old));
        }
    }

    #[test]
    fn whatever_happened_a_log_contains_itself(history in generated::history(40)) {
        let log = log_of(&history);
        prop_assert!(lacking(&log, &log).is_nothing());
    }

    #[test]
    fn an_audit_says_the_same_again_elsewhere_and_with_any_number_of_jobs(sessions in prop::collection::vec(prop::collection::vec(any_turn(), 1..4), 1..4)) {
        let [here, there] = [Folder::new(), Folder::new()];
        for folder in [&here, &there] {
            for (n, turns) in sessions.iter().enumerate() {
                session(folder, &format!("s{n}"), turns);
            }
        }
        let said = audited(&here.path(), 1);
        prop_assert_eq!(&said, &audited(&here.path(), 4));
        prop_assert_eq!(&said, &audited(&there.path(), 2));
    }
}
