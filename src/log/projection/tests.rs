//! Small logs, written, sealed and read back.

use super::*;
use crate::log::{LogTail, LogWriter};
use crate::model::event::{Body, Checkpoint, Draft, Run};
use crate::model::heads::{Head, HeadKind, HeadName, HeadOp, Repeat};
use crate::model::stream::EventSink;

struct Made {
    writer: LogWriter<Vec<u8>>,
}

impl Made {
    fn new() -> Made {
        let mut writer = LogWriter::new(Vec::new());
        let session = br#"{"version":1,"kind":"session","format":"none","id":"s"}"#;
        writer.put(Draft { ts: None, parent: None, body: Body::Json(EventKind::Session, session) }).unwrap();
        Made { writer }
    }

    fn node(&mut self, kind: EventKind, parent: Seq, payload: &str) -> Seq {
        self.writer.put(Draft { ts: None, parent: Some(parent), body: Body::Json(kind, payload.as_bytes()) }).unwrap()
    }

    fn message(&mut self, parent: Seq) -> Seq {
        self.node(EventKind::Message, parent, r#"{"role":"user","content":[]}"#)
    }

    fn messages(&mut self, parent: Seq, count: usize) -> Seq {
        (0..count).fold(parent, |parent, _| self.message(parent))
    }

    fn salvaged(&mut self, parent: Seq) -> Seq {
        self.node(EventKind::Message, parent, r#"{"role":"user","content":[],"hidden":{"from":["loader"],"why":"torn"}}"#)
    }

    fn repeat(&mut self, parent: Seq, first: u32, last: u32) -> Seq {
        let repeat = Repeat { first: Seq::new(first), last: Seq::new(last), source_id: None };
        self.writer.put(Draft { ts: None, parent: Some(parent), body: Body::Repeat(&repeat) }).unwrap()
    }

    fn hide(&mut self, parent: Seq, up_to: u32) -> Seq {
        self.node(EventKind::Hide, parent, &format!(r#"{{"up_to":{up_to},"why":"skip"}}"#))
    }

    fn compaction(&mut self, parent: Seq, first_kept: u32) -> Seq {
        let payload = format!(r#"{{"source_id":"c","summary":"…","first_kept":{first_kept},"tokens_before":5000,"details":{{"x":[1]}}}}"#);
        self.node(EventKind::Compaction, parent, &payload)
    }

    fn edit(&mut self, parent: Seq, target: u32, replacement: &str) -> Seq {
        self.node(EventKind::Edit, parent, &format!(r#"{{"source_id":"e","target":{target},"replacement":{replacement}}}"#))
    }

    fn head(&mut self, head: &HeadName, node: Seq, op: HeadOp) {
        self.writer.put(Draft { ts: None, parent: None, body: Body::Head(&Head::to(head, node, op)) }).unwrap();
    }

    fn bytes(mut self) -> Vec<u8> {
        self.writer.close_facts("branch:main").unwrap();
        self.writer.finish().unwrap().0
    }

    fn finish(self) -> LogView<Vec<u8>> {
        LogView::open(self.bytes()).unwrap()
    }
}

/// Returns what is shown, in short: number, place unless plain, and the edit's number.
fn seen(log: &mut LogView<Vec<u8>>, node: Seq, reach: Reach, salvage: Salvage) -> String {
    let mut projection = Projection::of(log, node, reach, salvage).unwrap();
    let mut words = Vec::new();
    while let Some(shown) = projection.next_shown(log).unwrap() {
        let place = match shown.place {
            Place::Plain => "",
            Place::Kept => "k",
            Place::Compaction => "C",
            Place::OlderCompaction => "c",
        };
        let edit = shown.edit.map(|edit| format!("~{}", edit.seq)).unwrap_or_default();
        words.push(format!("{}{place}{edit}", shown.event.seq));
    }
    words.join(" ")
}

fn shown(log: &mut LogView<Vec<u8>>, node: Seq) -> String {
    seen(log, node, Reach::Shown, Salvage::Hidden)
}

#[test]
fn every_event_with_a_parent_is_a_node_that_moves_the_head() {
    let mut made = Made::new();
    let message = made.message(Seq::ROOT);
    let label = made.node(EventKind::Label, message, r#"{"target":2,"label":"x"}"#);
    let unknown = made.node(EventKind::Unknown, label, "{}");
    let mut log = made.finish();
    assert_eq!(log.state().head(&HeadName::main()), Some(unknown));
    assert_eq!(log.false_checkpoint().unwrap(), None);
    assert_eq!(shown(&mut log, unknown), "2 3 4");
}

#[test]
fn a_hide_takes_away_all_up_to_its_node() {
    for (up_to, left) in [(4, "5 6 8"), (6, "8"), (2, "3 4 5 6 8"), (0, "2 3 4 5 6 8"), (9, "2 3 4 5 6 8"), (1, "2 3 4 5 6 8")] {
        let mut made = Made::new();
        let five = made.messages(Seq::ROOT, 5);
        let hide = made.hide(five, up_to);
        let end = made.message(hide);
        made.message(Seq::new(2));
        let mut log = made.finish();
        assert_eq!(shown(&mut log, end), left, "up to {up_to}");
        assert_eq!(seen(&mut log, end, Reach::Path, Salvage::Hidden), left, "up to {up_to}");
    }
}

#[test]
fn of_several_hides_the_furthest_counts() {
    let mut made = Made::new();
    let five = made.messages(Seq::ROOT, 5);
    let far = made.hide(five, 5);
    let near = made.hide(far, 3);
    let mut log = made.finish();
    assert_eq!(shown(&mut log, near), "6");
    assert_eq!(shown(&mut log, five), "2 3 4 5 6");
}

#[test]
fn a_hide_reaches_to_its_node_and_not_to_where_that_is_said_again() {
    let mut made = Made::new();
    let four = made.messages(Seq::ROOT, 4);
    let repeat = made.repeat(four, 3, 4);
    let after = made.message(repeat);
    let by_message = made.hide(after, 3);
    let by_repeat = made.hide(after, repeat.number());
    let mut log = made.finish();
    assert_eq!(shown(&mut log, after), "2 3 4 5 3 4 7");
    assert_eq!(shown(&mut log, by_message), "4 5 3 4 7");
    assert_eq!(shown(&mut log, by_repeat), "7");
}

#[test]
fn the_last_compaction_rules_and_stands_first() {
    let mut made = Made::new();
    let four = made.messages(Seq::ROOT, 4);
    let first = made.compaction(four, 4);
    let more = made.messages(first, 2);
    let second = made.compaction(more, 5);
    let end = made.messages(second, 2);
    let mut log = made.finish();
    assert_eq!(shown(&mut log, more), "6C 4k 5k 7 8");
    assert_eq!(shown(&mut log, end), "9C 5k 6c 7k 8k 10 11");
    assert_eq!(seen(&mut log, end, Reach::Path, Salvage::Hidden), "2 3 4 5 6 7 8 9 10 11");
}

#[test]
fn a_compaction_keeps_nothing_where_its_first_node_is_not_before_it() {
    let mut made = Made::new();
    let three = made.messages(Seq::ROOT, 3);
    let beside = made.message(Seq::new(2));
    let names_itself = made.compaction(three, 6);
    let names_another_branch = made.compaction(three, beside.number());
    let names_none = made.node(EventKind::Compaction, three, r#"{"summary":"…"}"#);
    let end = made.message(names_none);
    let mut log = made.finish();
    assert_eq!(shown(&mut log, names_itself), "6C");
    assert_eq!(shown(&mut log, names_another_branch), "7C");
    assert_eq!(shown(&mut log, end), "8C 9");
}

#[test]
fn a_compaction_may_keep_from_any_node_and_from_a_repeat_on() {
    let mut made = Made::new();
    let three = made.messages(Seq::ROOT, 3);
    let label = made.node(EventKind::Label, three, r#"{"target":2,"label":null}"#);
    let repeat = made.repeat(label, 2, 3);
    let after = made.message(repeat);
    let from_label = made.compaction(after, label.number());
    let from_repeat = made.compaction(after, repeat.number());
    let mut log = made.finish();
    assert_eq!(shown(&mut log, from_label), "8C 5k 2k 3k 7k");
    assert_eq!(shown(&mut log, from_repeat), "9C 2k 3k 7k");
}

#[test]
fn a_hide_reaches_into_what_a_compaction_keeps_and_over_it() {
    let mut made = Made::new();
    let four = made.messages(Seq::ROOT, 4);
    let compaction = made.compaction(four, 3);
    let after = made.message(compaction);
    let into = made.hide(after, 4);
    let over = made.hide(after, compaction.number());
    let mut log = made.finish();
    assert_eq!(shown(&mut log, into), "6C 5k 7");
    assert_eq!(shown(&mut log, over), "7");
}

#[test]
fn the_last_edit_of_a_target_counts() {
    let mut made = Made::new();
    let three = made.messages(Seq::ROOT, 3);
    let first = made.edit(three, 3, r#"{"content":[]}"#);
    let second = made.edit(first, 3, r#"{"content":[{"type":"text","text":"x"}]}"#);
    let without = made.edit(second, 4, "null");
    let back = made.edit(without, 4, r#"{"content":[]}"#);
    let mut log = made.finish();
    assert_eq!(shown(&mut log, first), "2 3~5 4");
    assert_eq!(shown(&mut log, second), "2 3~6 4");
    assert_eq!(shown(&mut log, without), "2 3~6");
    assert_eq!(shown(&mut log, back), "2 3~6 4~8");
    assert_eq!(seen(&mut log, without, Reach::Path, Salvage::Hidden), "2 3 4");
    let mut projection = Projection::of(&mut log, second, Reach::Shown, Salvage::Hidden).unwrap();
    projection.next_shown(&mut log).unwrap();
    let edited = projection.next_shown(&mut log).unwrap().unwrap();
    assert_eq!((edited.event.seq, edited.event.kind), (Seq::new(3), EventKind::Message));
    assert!(edited.edit.unwrap().payload.ends_with(br#""text":"x"}]}}"#));
}

#[test]
fn an_edit_that_a_compaction_or_a_hide_cuts_off_does_not_count() {
    let mut made = Made::new();
    let two = made.messages(Seq::ROOT, 2);
    let edit = made.edit(two, 6, "null");
    let before = made.edit(edit, 5, "null");
    let kept = made.message(before);
    let compaction = made.compaction(kept, 6);
    let after = made.edit(compaction, 7, r#"{"summary":"y"}"#);
    let hide = made.hide(kept, 5);
    let mut log = made.finish();
    assert_eq!(shown(&mut log, kept), "2 3");
    assert_eq!(shown(&mut log, compaction), "7C 6k");
    assert_eq!(shown(&mut log, after), "7C~8 6k");
    assert_eq!(shown(&mut log, hide), "6");
}

#[test]
fn a_salvaged_message_is_shown_only_where_it_is_asked_for() {
    let mut made = Made::new();
    let two = made.messages(Seq::ROOT, 2);
    let on_path = made.salvaged(two);
    let after = made.message(on_path);
    made.head(&HeadName::new(HeadKind::Branch, ""), Seq::ROOT, HeadOp::Switch);
    let beside = made.salvaged(two);
    made.head(&HeadName::main(), Seq::ROOT, HeadOp::Switch);
    let end = made.messages(after, 2);
    let compaction = made.compaction(end, 5);
    made.message(two);
    let bytes = made.bytes();
    let mut log = LogView::open(bytes.clone()).unwrap();
    assert_eq!((on_path, beside), (Seq::new(4), Seq::new(7)));
    assert_eq!(shown(&mut log, end), "2 3 5 9 10");
    assert_eq!(seen(&mut log, end, Reach::Shown, Salvage::Shown), "2 3 4 5 7 9 10");
    assert_eq!(seen(&mut log, end, Reach::Path, Salvage::Shown), "2 3 4 5 7 9 10");
    assert_eq!(seen(&mut log, after, Reach::Path, Salvage::Shown), "2 3 4 5 7");
    assert_eq!(seen(&mut log, compaction, Reach::Shown, Salvage::Shown), "11C 5k 7 9k 10k");
    let mut early = LogView::open_until(bytes, Some(Seq::new(6))).unwrap();
    assert_eq!(seen(&mut early, after, Reach::Path, Salvage::Shown), "2 3 4 5");
}

#[test]
fn a_rule_that_cannot_be_read_is_an_error_and_no_guess() {
    for (kind, payload) in [
        (EventKind::Hide, r#"{"up_to":"3"}"#),
        (EventKind::Compaction, r#"{"first_kept":-1}"#),
        (EventKind::Edit, r#"{"replacement":null}"#),
    ] {
        let mut made = Made::new();
        let one = made.message(Seq::ROOT);
        let rule = made.node(kind, one, payload);
        let mut log = made.finish();
        let error = Projection::of(&mut log, rule, Reach::Shown, Salvage::Hidden).unwrap_err().to_string();
        assert!(error.starts_with("event 3 has a payload that cannot be read"), "{error}");
    }
}

#[test]
fn a_checkpoint_says_whether_anything_projects() {
    for (kind, payload, says) in [
        (EventKind::Hide, r#"{"up_to":2,"why":""}"#, true),
        (EventKind::Compaction, "{}", true),
        (EventKind::Edit, r#"{"target":2,"replacement":null}"#, true),
        (EventKind::BranchSummary, r#"{"summary":""}"#, false),
        (EventKind::Label, r#"{"target":2,"label":""}"#, false),
    ] {
        let mut made = Made::new();
        let one = made.message(Seq::ROOT);
        made.node(kind, one, payload);
        let bytes = made.bytes();
        assert_eq!(LogView::open(bytes.clone()).unwrap().false_checkpoint().unwrap(), None);
        assert_eq!(LogTail::open(bytes).unwrap().unwrap().projects(), says, "{}", kind.name());
    }
}

/// Returns every checkpoint of a log, with the number of its event.
fn checkpoints(log: &mut LogView<Vec<u8>>) -> Vec<(Seq, Checkpoint)> {
    let all: Vec<Seq> = (1..=log.last().number()).map(Seq::new).filter(|seq| log.kind(*seq) == EventKind::Checkpoint).collect();
    all.into_iter().map(|seq| (seq, serde_json::from_slice(log.event(seq).unwrap().payload).unwrap())).collect()
}

#[test]
fn checkpoints_of_alternating_branches_are_true_wherever_they_stand() {
    let mut made = Made::new();
    let alt = HeadName::new(HeadKind::Branch, "alt");
    let mut ends = [made.message(Seq::ROOT); 2];
    for n in 0..3000_usize {
        // Now and then by a head of its own, now and then by the parent alone.
        let side = n % 2;
        match n {
            500 => made.head(&alt, ends[1], HeadOp::Branch),
            1700 => made.head(&HeadName::main(), Seq::ROOT, HeadOp::Switch),
            _ => {}
        }
        ends[side] = match n % 7 {
            3 => made.node(EventKind::Custom, ends[side], r#"{"custom_type":"t","data":1}"#),
            5 => made.repeat(ends[side], 2, 2),
            _ => made.message(ends[side]),
        };
    }
    let bytes = made.bytes();
    let mut log = LogView::open(bytes.clone()).unwrap();
    let all = checkpoints(&mut log);
    let runs: usize = all.iter().map(|(_, checkpoint)| checkpoint.path.len()).sum();
    assert!(all.len() > 5 && runs < 2 * log.last().index(), "{} checkpoints, {runs} runs", all.len());
    for (seq, said) in all {
        let mut then = LogView::open_until(bytes.clone(), Some(seq)).unwrap();
        let node = then.state().head(&HeadName::parse(&said.of)).unwrap();
        let heads: Vec<(String, Seq)> = then.state().heads().map(|(name, node)| (name.to_string(), node)).collect();
        assert_eq!(said.heads.into_iter().collect::<Vec<_>>(), heads, "checkpoint {seq}");
        let path = then.path(node).unwrap();
        let mut from_runs = Vec::new();
        for Run(first, last, _, _) in said.path {
            from_runs.extend((first.number()..=last.number()).map(Seq::new).filter(|seq| then.is_node(*seq)));
        }
        assert_eq!(from_runs, path, "checkpoint {seq}");
    }
}

#[test]
fn checkpoints_of_200_000_alternating_nodes_stay_linear() {
    // One node each in turn, then stretches of 60 on branches that are long.
    let mut made = Made::new();
    let mut ends = [made.message(Seq::ROOT); 2];
    for n in 0..100_000 {
        ends[n % 2] = made.message(ends[n % 2]);
    }
    for n in 0..100_000 {
        ends[n / 60 % 2] = made.message(ends[n / 60 % 2]);
    }
    let mut log = made.finish();
    assert_eq!(log.false_checkpoint().unwrap(), None);
    let all = checkpoints(&mut log);
    let runs: usize = all.iter().map(|(_, checkpoint)| checkpoint.path.len()).sum();
    assert!(all.len() > 10 && runs < 2 * log.last().index(), "{} checkpoints, {runs} runs", all.len());
}
