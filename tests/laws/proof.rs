//! The proof of replay, with a format that exists only here: its messages say
//! which lines they show, and its loader shows what a test tells it to.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::result_large_err)]

use everlog::adapters::format::{Check, Format, Found, ReadSummary};
use everlog::json;
use everlog::log::{LogView, LogWriter};
use everlog::model::event::{Body, Draft, EventKind, Outcome, Session, SessionKind, to_log_json};
use everlog::model::fact::Fact;
use everlog::model::files::{Entry, Files, RelPath, SourceFile};
use everlog::model::finding::Findings;
use everlog::model::folder::FolderView;
use everlog::model::heads::{Head, HeadKind, HeadName, HeadOp};
use everlog::model::ids::Seq;
use everlog::model::loaded::{LoadOutcome, Loader};
use everlog::model::shape::Order;
use everlog::model::shown::MessageRenderer;
use everlog::model::stream::{EventSink, RecordRenderer, StreamError};
use everlog::report::differences::Showing;
use everlog::verify::explain::{Explained, Limits, replay_differences};
use everlog::verify::{Difference, Proof, check_log, prove};
use std::collections::BTreeMap;

#[derive(Clone, Default)]
struct Told {
    lists: BTreeMap<HeadName, Vec<String>>,
    facts: BTreeMap<String, String>,
}

impl Format for Told {
    fn id(&self) -> &'static str {
        "told"
    }

    fn describe(&self) -> &'static str {
        "told"
    }

    fn looked_for(&self) -> &'static str {
        "nothing"
    }

    fn discover(&self, _: &FolderView<'_>) -> Found {
        Found::default()
    }

    fn read(&self, _: &Files, _: Check, _: &mut dyn EventSink, _: &mut Findings) -> Result<ReadSummary, StreamError> {
        Ok(ReadSummary::default())
    }

    fn renderer(&self, _: &str, _: Option<&str>, _: &[Order]) -> Option<Box<dyn RecordRenderer>> {
        None
    }

    fn message_renderer(&self, _: &[Order]) -> Box<MessageRenderer> {
        Box::new(|shown, show| {
            let payload = shown.edit.map_or(shown.event.payload, |edit| edit.payload);
            let says = json::members(payload).find(|member| member.name() == "says");
            says.iter().flat_map(|says| json::elements(says.value)).for_each(show);
            Ok(())
        })
    }

    fn loader<'f>(&self, _: &'f Files) -> Box<dyn Loader + 'f> {
        Box::new(self.clone())
    }
}

impl Loader for Told {
    fn heads(&mut self) -> Vec<HeadName> {
        self.lists.keys().cloned().collect()
    }

    fn load(&mut self, head: Option<&HeadName>, show: &mut dyn FnMut(&[u8])) -> LoadOutcome {
        let main = HeadName::main();
        for line in &self.lists[head.unwrap_or(&main)] {
            show(line.as_bytes());
        }
        match head {
            Some(_) => LoadOutcome::default(),
            None => LoadOutcome { active: Some(main), facts: self.facts.clone(), ..LoadOutcome::default() },
        }
    }
}

struct Log {
    writer: LogWriter<Vec<u8>>,
    outcome: Outcome,
}

impl Log {
    fn new() -> Log {
        let mut log =
            Log { writer: LogWriter::new(Vec::new()), outcome: Outcome { active: Some("branch:main".to_owned()), ..Outcome::default() } };
        log.put(EventKind::Session, None, &to_log_json(&Session::new(SessionKind::Session, "told", "s")).unwrap());
        log
    }

    fn put(&mut self, kind: EventKind, parent: Option<Seq>, payload: &[u8]) -> Seq {
        self.writer.put(Draft { ts: None, parent, body: Body::Json(kind, payload) }).unwrap()
    }

    /// A message that shows these lines.
    fn says(&mut self, parent: Seq, says: &str) -> Seq {
        self.put(EventKind::Message, Some(parent), format!(r#"{{"role":"user","content":[],"says":{says}}}"#).as_bytes())
    }

    fn head(&mut self, name: &str, node: Seq) {
        let head = Head::to(&HeadName::new(HeadKind::Branch, name), node, HeadOp::Load);
        self.writer.put(Draft { ts: None, parent: None, body: Body::Head(&head) }).unwrap();
    }

    fn sealed(mut self) -> LogView<Vec<u8>> {
        let outcome = to_log_json(&self.outcome).unwrap();
        self.put(EventKind::Outcome, None, &outcome);
        self.writer.close_facts("branch:main").unwrap();
        let sha256 = everlog::model::digest::sha256_hex(b"x");
        let file = format!(r#"{{"path":"x","kind":"file","size":1,"sha256":"{sha256}","content":"x"}}"#);
        self.put(EventKind::File, None, file.as_bytes());
        LogView::open(self.writer.finish().unwrap().0).unwrap()
    }

    fn proven(self, told: &Told) -> Result<Proof, Difference> {
        let mut files = Files::new("s");
        files.insert(RelPath::new("x"), Entry::File(SourceFile { bytes: b"x".to_vec(), mtime_ns: 0 }));
        let mut view = self.sealed();
        let alone = check_log(&mut view, told, &|_, _| false).unwrap().expect("the log by itself is good");
        let proof = prove(&mut view, told, &files).unwrap()?;
        assert_eq!((alone.messages, alone.heads), (proof.messages, proof.heads));
        Ok(proof)
    }
}

fn told(lists: &[(&str, &[&str])]) -> Told {
    let list =
        |(name, lines): &(&str, &[&str])| (HeadName::new(HeadKind::Branch, *name), lines.iter().map(|line| (*line).to_owned()).collect());
    Told { lists: lists.iter().map(list).collect(), facts: BTreeMap::new() }
}

#[test]
fn an_item_may_show_no_line_or_several() {
    let log = || {
        let mut log = Log::new();
        let one = log.says(Seq::ROOT, "[1]");
        let none = log.says(one, "[]");
        let label = log.put(EventKind::Label, Some(none), br#"{"target":2,"label":"x"}"#);
        log.says(label, "[2,3]");
        log
    };
    assert_eq!(log().proven(&told(&[("main", &["1", "2", "3"])])).unwrap().messages, 3);
    let what = |lines: &[&str]| log().proven(&told(&[("main", lines)])).unwrap_err().what;
    assert_eq!(what(&["1", "2", "4"]), "message 3 of branch:main differs");
    assert_eq!(what(&["1", "2"]), "branch:main has 2 messages in the source program and 3 in the log");
    assert_eq!(what(&["1", "2", "3", "4"]), "branch:main has 4 messages in the source program and 3 in the log");
}

/// Everything that differs, as a person would be told.
fn explained(log: Log, told: &Told, most: usize) -> (Vec<String>, u64) {
    let limits = Limits { context: 40, most };
    let mut found = Explained::default();
    replay_differences(&mut log.sealed(), told, &Files::new("s"), limits, &mut found).unwrap();
    let text = |difference: &Difference| {
        let said = everlog::report::differences::difference(difference, &difference.place.to_string(), Showing::default());
        said.plain().replace("error: ", "").replace('\n', " |")
    };
    (found.list.iter().map(text).collect(), found.more)
}

#[test]
fn a_message_that_is_missing_does_not_make_all_after_it_differ() {
    let log = || {
        let mut log = Log::new();
        let end = ["[{\"t\":\"a b c\"}]", "[2]", "[3]", "[4]"].iter().fold(Seq::ROOT, |parent, says| log.says(parent, says));
        log.head("other", end);
        log
    };
    let of = |lines: &[&str]| {
        let mut told = told(&[("main", lines)]);
        told.lists.insert(HeadName::new(HeadKind::Branch, "other"), told.lists[&HeadName::main()].clone());
        told
    };
    let a = "{\"t\":\"a b c\"}";
    assert_eq!(explained(log(), &of(&[a, "2", "3", "4"]), 10), (vec![], 0));
    assert_eq!(explained(log(), &of(&[a, "3", "4"]), 10).0, ["message 2 of branch:main is in the log and not in the source |  at log:3:1"]);
    assert_eq!(
        explained(log(), &of(&[a, "2", "9", "3", "4"]), 10).0,
        ["message 3 of branch:main is in the source and not in the log |  at log:4:1"]
    );
    let changed = of(&["{\"t\":\"a X c\"}", "2", "3", "4"]);
    assert_eq!(explained(log(), &changed, 10).0, ["message 1 of branch:main differs in `t` |  at log:2:1 |  t: a [-X-]{+b+} c"]);
    let (some, more) = explained(log(), &of(&["7", "8", "9", "10"]), 1);
    assert_eq!((some.len(), more), (1, 3));
}

#[test]
fn a_head_by_itself_is_explained_where_the_default_one_is_the_same() {
    let mut log = Log::new();
    let one = log.says(Seq::ROOT, "[1]");
    log.head("main", one);
    let two = log.says(one, "[2]");
    log.head("other", two);
    log.head("main", one);
    let (some, _) = explained(log, &told(&[("main", &["1"]), ("other", &["1", "3"])]), 10);
    assert_eq!(some, ["message 2 of branch:other differs |  at log:4:1 |  [-3-]{+2+}"]);
}

#[test]
fn what_heads_share_is_compared_with_what_each_of_them_loads() {
    let log = || {
        let mut log = Log::new();
        let one = log.says(Seq::ROOT, "[1]");
        let none = log.says(one, "[]");
        let two = log.says(none, "[\"x\"]");
        let several = log.says(two, "[3,4]");
        let edit = log.put(EventKind::Edit, Some(several), br#"{"target":4,"replacement":{},"says":["two"]}"#);
        log.head("edited", edit);
        log.head("other", several);
        log.head("main", several);
        log
    };
    let heads = |other: &[&str], edited: &[&str]| {
        let told = told(&[("main", &["1", "\"x\"", "3", "4"]), ("other", other), ("edited", edited)]);
        log().proven(&told).map(|proof| proof.heads_compared).map_err(|difference| difference.what)
    };
    let (same, edited) = (["1", "\"x\"", "3", "4"], ["1", "\"two\"", "3", "4"]);
    assert_eq!(heads(&same, &edited).unwrap(), 3);
    // The same value in another spelling is what it was before.
    assert_eq!(heads(&["1", "\"\\u0078\"", "3", "4"], &edited).unwrap(), 3);
    assert_eq!(heads(&["1", "7", "3", "4"], &edited).unwrap_err(), "message 2 of branch:other differs");
    assert_eq!(heads(&["1", "\"x\"", "3", "7"], &edited).unwrap_err(), "message 4 of branch:other differs");
    assert_eq!(heads(&same, &same).unwrap_err(), "message 2 of branch:edited differs");
    let shorter = "branch:other has 2 messages in the source program and 4 in the log";
    assert_eq!(heads(&["1", "\"x\""], &edited).unwrap_err(), shorter);
}

#[test]
fn compactions_edits_and_salvaged_messages_are_compared_as_shown() {
    let mut log = Log::new();
    let one = log.says(Seq::ROOT, "[1]");
    let two = log.says(one, "[2]");
    let three = log.says(two, "[3]");
    let compaction = log.put(EventKind::Compaction, Some(three), br#"{"summary":"s","first_kept":3,"says":["s"]}"#);
    let four = log.says(compaction, "[4]");
    let torn = log.put(EventKind::Message, Some(four), br#"{"role":"user","content":[],"hidden":{"from":["loader"]},"says":[5]}"#);
    let edit = log.put(EventKind::Edit, Some(torn), br#"{"target":3,"replacement":{},"says":["two"]}"#);
    let gone = log.put(EventKind::Edit, Some(edit), br#"{"target":4,"replacement":null,"says":["gone"]}"#);
    log.says(gone, "[6]");
    assert_eq!(log.proven(&told(&[("main", &["\"s\"", "\"two\"", "4", "6"])])).unwrap().messages, 4);
}

#[test]
fn facts_are_compared_by_name() {
    let named = |pairs: &[(&str, &str)]| pairs.iter().map(|(name, fact)| ((*name).to_owned(), Fact::from(*fact))).collect();
    let facts = |pairs: &[(&str, &str)]| pairs.iter().map(|(name, fact)| ((*name).to_owned(), (*fact).to_owned())).collect();
    let proven = |said: &[(&str, &str)], derived: &[(&str, &str)]| {
        let mut log = Log::new();
        log.says(Seq::ROOT, "[1]");
        log.outcome.facts = named(said);
        let mut told = told(&[("main", &["1"])]);
        told.facts = facts(derived);
        log.proven(&told).map_err(|difference| difference.what)
    };
    let (low, high) = (("thinking", "low"), ("thinking", "high"));
    assert!(proven(&[low, ("name", "x")], &[("name", "x"), low]).is_ok());
    assert_eq!(proven(&[low], &[high]).unwrap_err(), "the fact `thinking` differs");
    assert_eq!(proven(&[low], &[]).unwrap_err(), "the fact `thinking` differs");
    assert_eq!(proven(&[], &[low]).unwrap_err(), "the fact `thinking` differs");
}

/// One path of so many messages, and so many heads that stand at its end.
fn many_heads(messages: usize, heads: usize) -> (Log, Told) {
    let mut log = Log::new();
    let end = (0..messages).fold(Seq::ROOT, |parent, _| log.says(parent, "[1]"));
    let mut told = told(&[]);
    let lines = vec!["1".to_owned(); messages];
    told.lists.insert(HeadName::main(), lines.clone());
    for n in 0..heads {
        let name = format!("h{n:03}");
        log.head(&name, end);
        told.lists.insert(HeadName::new(HeadKind::Branch, name), lines.clone());
    }
    (log, told)
}

#[test]
fn heads_beyond_the_budget_are_counted_and_only_looked_for() {
    let (log, told) = many_heads(50, 20);
    let proof = log.proven(&told).unwrap();
    assert_eq!((proof.messages, proof.heads, proof.heads_compared), (50, 21, 21));

    // 4 x 10,000 events and 100,000 more: about 14 heads of 10,000 messages.
    let (log, mut long) = many_heads(10_000, 30);
    let name = |n: usize| HeadName::new(HeadKind::Branch, format!("h{n:03}"));
    long.lists.get_mut(&name(29)).unwrap().pop();
    let proof = log.proven(&long).unwrap();
    assert_eq!(proof.heads, 31);
    assert!((15..=16).contains(&proof.heads_compared), "{} compared", proof.heads_compared);

    let (log, mut early) = many_heads(10_000, 30);
    early.lists.get_mut(&name(0)).unwrap().pop();
    assert!(log.proven(&early).unwrap_err().what.starts_with("branch:h000 has 9999 messages"));

    let (log, mut fewer) = many_heads(10_000, 30);
    fewer.lists.remove(&name(29));
    assert_eq!(log.proven(&fewer).unwrap_err().what, "the log has a head that the source has not: branch:h029");
}

#[test]
fn a_budget_counts_what_is_walked_and_not_only_what_is_shown() {
    let mut log = Log::new();
    let end = (0..10_000).fold(Seq::ROOT, |parent, _| log.put(EventKind::Label, Some(parent), br#"{"target":2,"label":"x"}"#));
    let mut told = told(&[("main", &[])]);
    for n in 0..30 {
        log.head(&format!("h{n:03}"), end);
        told.lists.insert(HeadName::new(HeadKind::Branch, format!("h{n:03}")), Vec::new());
    }
    let proof = log.proven(&told).unwrap();
    assert!(proof.heads == 31 && proof.heads_compared < 20, "{} compared", proof.heads_compared);
}
