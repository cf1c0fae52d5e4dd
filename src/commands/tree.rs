//! `everlog tree`: the branch tree of a log, for people or one object per node.

use serde::Serialize;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;

use crate::log::{LogView, decode_line};
use crate::model::event::{Damage, EventKind, EventRef};
use crate::model::heads::HeadName;
use crate::model::ids::Seq;
use crate::model::stream::{LogAccess, ReadAt, StreamError};
use crate::report::exit::ExitStatus;
use crate::report::fitted::{FittedLine, columns, fitted};
use crate::report::printer::{Form, Printer};
use crate::report::styled::Styled;
use crate::report::terminal::{Terminal, Tint};
use crate::report::text;
use crate::verify::difference::visible;

use super::error::CommandError;
use super::logs;
use super::tree_line::{Words, label, run_count, words};
use super::tree_names::{Ids, Names};
use super::tree_shape::{Begins, LineOf, Run, Shape, TreeLine};

/// What to draw, and on what.
#[derive(Debug)]
pub struct TreeJob {
    /// The log.
    pub log: PathBuf,
    /// Which nodes have a line of their own.
    pub nodes: Nodes,
    /// Where it is drawn.
    pub terminal: Terminal,
}

/// Which nodes have a line of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Nodes {
    /// Those of note.
    OfNote,
    /// All of them.
    All,
}

/// Runs the command.
///
/// # Errors
/// When the log cannot be read.
pub fn run(job: &TreeJob, out: &Printer) -> Result<ExitStatus, CommandError> {
    let mut view = logs::open_any(&job.log, None)?;
    let stream = |source: StreamError| CommandError::Stream { path: job.log.clone(), source };
    let mut status = ExitStatus::Well;
    if let Some(warning) = logs::seal_warning(view.seal()) {
        out.complain(&format!("{warning}\n  at {}", visible(&job.log.display().to_string())));
        status = ExitStatus::Found;
    }
    let known = Known::of(&mut view).map_err(stream)?;
    match out.form() {
        Form::Json => objects(&mut view, &known, out).map_err(stream)?,
        Form::Text => draw(&mut view, &known, job, out).map_err(stream)?,
    }
    Ok(status)
}

/// So many characters of a text a program is shown.
const SHOWN: usize = 200;

/// Of so many damaged places each is listed, unless all is asked for.
const LISTED: usize = 20;

/// At one node so many heads are named.
const NAMED: usize = 4;

/// What is known of a log's nodes besides what each says itself.
struct Known {
    active: HeadName,
    forks: HashSet<HeadName>,
    /// The heads at each node, those at none at the root.
    heads: BTreeMap<Seq, Vec<HeadName>>,
    labels: HashMap<Seq, String>,
    /// Messages that the source's loader would not show.
    salvaged: HashSet<Seq>,
    damage: Vec<Damage>,
    names: Names,
    nodes: u64,
}

impl Known {
    fn of<R: ReadAt>(view: &mut LogView<R>) -> Result<Known, StreamError> {
        let mut known = Known {
            active: view.active(),
            forks: view.forks().iter().cloned().collect(),
            heads: BTreeMap::new(),
            labels: HashMap::new(),
            salvaged: HashSet::new(),
            damage: Vec::new(),
            names: Names::default(),
            nodes: 0,
        };
        for (name, node) in view.state().heads() {
            let node = if view.is_node(node) { node } else { Seq::ROOT };
            known.heads.entry(node).or_default().push(name.clone());
        }
        let mut ids = Ids::default();
        for seq in (1..=view.last().number()).map(Seq::new) {
            if view.kind(seq) == EventKind::Damage {
                let damage = serde_json::from_slice(view.event(seq)?.payload);
                known.damage.extend(damage.ok().map(|damage| Damage { text: None, b64: None, ..damage }));
            } else if view.is_node(seq) {
                let event = view.event(seq)?;
                known.nodes += 1;
                known.look_at(&event);
                ids.add(seq, event.source_id().as_deref());
            }
        }
        known.names = ids.names(view.last());
        Ok(known)
    }

    fn look_at(&mut self, event: &EventRef<'_>) {
        if event.is_hidden_from("loader") {
            self.salvaged.insert(event.seq);
        }
        if event.kind == EventKind::Label
            && let Some((target, label)) = label(event)
        {
            match label {
                Some(label) => self.labels.insert(target, label),
                None => self.labels.remove(&target),
            };
        }
    }

    fn heads_at(&self, seq: Seq) -> &[HeadName] {
        self.heads.get(&seq).map(Vec::as_slice).unwrap_or_default()
    }

    fn is_of_note(&self, seq: Seq, kind: EventKind, shape: &Shape) -> bool {
        let by_kind =
            matches!(kind, EventKind::Compaction | EventKind::BranchSummary | EventKind::Edit | EventKind::Hide | EventKind::ModelChange);
        by_kind
            || shape.children(seq).len() > 1
            || self.heads.contains_key(&seq)
            || self.labels.contains_key(&seq)
            || self.salvaged.contains(&seq)
    }

    /// Returns an entry's name and words. Entries name others, which have to be read
    /// too: so this one is copied.
    fn words<R: ReadAt>(&self, view: &mut LogView<R>, seq: Seq) -> Result<(String, Words), StreamError> {
        let line = view.line(seq)?.to_vec();
        let event = decode_line(&line).map_err(|what| StreamError::log(seq, what))?;
        let words = words(&event, |other| {
            let id = view.event(other).ok().and_then(|event| event.source_id().map(std::borrow::Cow::into_owned));
            self.names.name(other, id.as_deref())
        });
        Ok((self.names.name(seq, event.source_id().as_deref()), words))
    }
}

/// One node for programs.
#[derive(Debug, Serialize)]
struct Object {
    seq: Seq,
    id: String,
    kind: &'static str,
    parent: Seq,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    heads: Vec<String>,
    /// Whether one of the heads is the one that is shown by default.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    active: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    labels: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

fn objects<R: ReadAt>(view: &mut LogView<R>, known: &Known, out: &Printer) -> Result<(), StreamError> {
    for seq in (1..=view.last().number()).map(Seq::new) {
        if out.is_closed() {
            break;
        }
        if !view.is_node(seq) {
            continue;
        }
        let (_, Words { who, text }) = known.words(view, seq)?;
        let event = view.event(seq)?;
        let heads = known.heads_at(seq);
        out.object(&Object {
            seq,
            id: event.source_id().map_or_else(|| format!("#{seq}"), |id| id.into_owned()),
            kind: event.kind.name(),
            parent: event.parent.unwrap_or(Seq::ROOT),
            role: (event.kind == EventKind::Message).then_some(who),
            heads: heads.iter().map(ToString::to_string).collect(),
            active: heads.contains(&known.active),
            labels: known.labels.get(&seq).cloned().into_iter().collect(),
            text: (!text.is_empty()).then(|| cut(text)),
        });
    }
    Ok(())
}

fn cut(text: String) -> String {
    match text.char_indices().nth(SHOWN) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

fn draw<R: ReadAt>(view: &mut LogView<R>, known: &Known, job: &TreeJob, out: &Printer) -> Result<(), StreamError> {
    let shape = Shape::of(view, view.state().head(&known.active).unwrap_or(Seq::ROOT));
    let lines = shape.lines(view, |seq| job.nodes == Nodes::All || known.is_of_note(seq, view.kind(seq), &shape));
    let drawing = Drawing { said: EntryTexts::of(view, &lines, known, job.terminal.columns)?, known, shape, job };
    let session = &view.session;
    out.text(&fitted(
        &format!(
            "{} {}: {}, {}, {}, {} is active ({})",
            visible(&session.format),
            session_kind(view),
            text::count(known.nodes, "node"),
            text::count(known.heads.values().map(|heads| heads.len() as u64).sum(), "head"),
            text::count(drawing.shape.branch_points(), "branch point"),
            visible(&typed(&known.active)),
            visible(&session.id),
        ),
        job.terminal.columns,
    ));
    if !known.heads_at(Seq::ROOT).is_empty() {
        let mut line = FittedLine::new(job.terminal);
        line.push(Tint::Guide, "○ ");
        line.push(Tint::Plain, "before the first entry");
        drawing.push_marks(&mut line, Seq::ROOT);
        out.text(line.finish());
    }
    for line in &lines {
        if out.is_closed() {
            return Ok(());
        }
        out.text(drawing.line(line));
    }
    damage(&known.damage, job, out);
    Ok(())
}

fn session_kind<R: ReadAt>(view: &LogView<R>) -> String {
    serde_json::to_value(view.session.kind).ok().and_then(|kind| kind.as_str().map(str::to_owned)).unwrap_or_default()
}

/// Returns a head's name as a person types it.
fn typed(head: &HeadName) -> String {
    if HeadName::parse(&head.name) == *head { head.name.clone() } else { head.to_string() }
}

/// Entries that are shown, by number.
struct EntryTexts {
    /// Where in the list an entry stands, from 1.
    places: Vec<u32>,
    list: Vec<(String, Words)>,
}

impl EntryTexts {
    /// Reads every entry that is shown, in the log's own order.
    fn of<R: ReadAt>(view: &mut LogView<R>, lines: &[TreeLine], known: &Known, columns: usize) -> Result<EntryTexts, StreamError> {
        let mut is_wanted = vec![false; view.last().index() + 1];
        for line in lines {
            let (first, last) = match line.what {
                LineOf::Node(seq) => (seq, view.repeat(seq).map_or(seq, |(_, last)| last)),
                LineOf::Run(Run { first, last, ends, .. }) => ends.unwrap_or((first, last)),
            };
            for seq in [first, last] {
                is_wanted[seq.index()] = true;
            }
        }
        let mut said = EntryTexts { places: vec![0; is_wanted.len()], list: Vec::new() };
        for seq in (1..=view.last().number()).map(Seq::new).filter(|seq| is_wanted[seq.index()]) {
            let (name, words) = known.words(view, seq)?;
            let Words { who, mut text } = words.visible();
            // A repeat has no words of its own: it has those that it repeats.
            if let Some((_, last)) = view.repeat(seq) {
                let (_, repeated) = said.get(last);
                text = format!("{text}, {}: {}", repeated.who, repeated.text);
            }
            said.list.push((visible(&name), Words { who: fitted(&who, columns), text: fitted(&text, columns) }));
            said.places[seq.index()] = said.list.len() as u32;
        }
        Ok(said)
    }

    fn get(&self, seq: Seq) -> &(String, Words) {
        static NOTHING: (String, Words) = (String::new(), Words { who: String::new(), text: String::new() });
        let place = self.places.get(seq.index()).copied().unwrap_or(0) as usize;
        place.checked_sub(1).and_then(|at| self.list.get(at)).unwrap_or(&NOTHING)
    }
}

/// The tree on its way to the terminal.
struct Drawing<'a> {
    known: &'a Known,
    shape: Shape,
    said: EntryTexts,
    job: &'a TreeJob,
}

impl Drawing<'_> {
    fn line(&self, line: &TreeLine) -> Styled {
        let mut fitted = FittedLine::new(self.job.terminal);
        let through = line.depth as usize - usize::from(line.begins == Begins::Branch);
        let corner = if line.begins == Begins::Branch { "├─" } else { "" };
        fitted.push(Tint::Guide, &format!("{}{corner}", "│ ".repeat(through)));
        match line.what {
            LineOf::Node(seq) => self.push_node(&mut fitted, seq),
            LineOf::Run(run) => self.push_run(&mut fitted, &run),
        }
        fitted.finish()
    }

    fn push_point(&self, line: &mut FittedLine, seq: Seq) {
        if self.shape.is_active(seq) {
            line.push(Tint::Active, "● ");
        } else {
            line.push(Tint::Guide, "○ ");
        }
    }

    fn push_node(&self, line: &mut FittedLine, seq: Seq) {
        let (name, Words { who, text }) = self.said.get(seq);
        self.push_point(line, seq);
        line.push(Tint::Id, name);
        line.push(Tint::Role, &format!(" {who}: "));
        // Marks are shown whole as long as some words have room beside them.
        let marks: usize = self.marks(seq).iter().map(|(_, mark)| columns(mark)).sum();
        let room = line.left().saturating_sub(marks).max(line.left().min(12));
        line.push(Tint::Plain, &fitted(text, room));
        self.push_marks(line, seq);
    }

    fn push_marks(&self, line: &mut FittedLine, seq: Seq) {
        for (tint, mark) in self.marks(seq) {
            line.push(tint, &mark);
        }
    }

    fn marks(&self, seq: Seq) -> Vec<(Tint, String)> {
        let mut marks = Vec::new();
        if let Some(label) = self.known.labels.get(&seq) {
            marks.push((Tint::Mark, format!("  [{}]", visible(label))));
        }
        if self.known.salvaged.contains(&seq) {
            marks.push((Tint::Damage, "  (salvaged)".to_owned()));
        }
        let heads = self.known.heads_at(seq);
        // The one that is shown by default is never among those only counted.
        let (active, others): (Vec<&HeadName>, Vec<&HeadName>) = heads.iter().partition(|head| **head == self.known.active);
        for (n, head) in active.into_iter().chain(others).take(NAMED).enumerate() {
            let before = if n == 0 { "  ◀ " } else { ", " };
            let (tint, after) = match head {
                head if *head == self.known.active => (Tint::Active, " (active)"),
                head if self.known.forks.contains(head) => (Tint::Mark, " (fork)"),
                _ => (Tint::Mark, ""),
            };
            marks.push((tint, format!("{before}{}{after}", visible(&typed(head)))));
        }
        if heads.len() > NAMED {
            marks.push((Tint::Mark, format!(" and {} more", text::thousands((heads.len() - NAMED) as u64))));
        }
        let ways = self.shape.children(seq).len() as u64;
        if ways > 1 && !seq.is_root() {
            marks.push((Tint::Guide, format!("  {}", text::count(ways, "branch").replace("branchs", "branches"))));
        }
        marks
    }

    fn push_run(&self, line: &mut FittedLine, run: &Run) {
        self.push_point(line, run.first);
        line.push(Tint::Guide, &run_count(run.messages, run.others));
        let Some((first, last)) = run.ends else { return };
        let ((_, first_words), (_, last_words)) = (self.said.get(first), self.said.get(last));
        line.push(Tint::Role, &format!(", {}: ", first_words.who));
        if first == last {
            return line.push(Tint::Plain, &first_words.text);
        }
        let who = format!(" … {}: ", last_words.who);
        let room = line.left().saturating_sub(columns(&who));
        // What the one does not need the other has.
        let for_last = columns(&last_words.text).min(room / 2);
        line.push(Tint::Plain, &fitted(&first_words.text, room - for_last));
        line.push(Tint::Role, &who);
        line.push(Tint::Plain, &last_words.text);
    }
}

/// Says how much is damaged, and where.
fn damage(damage: &[Damage], job: &TreeJob, out: &Printer) {
    if damage.is_empty() {
        return;
    }
    let put = |words: String| {
        let mut line = FittedLine::new(job.terminal);
        line.push(Tint::Damage, &words);
        out.text(line.finish());
    };
    put(format!("{}:", text::count(damage.len() as u64, "damaged place")));
    let listed = if job.nodes == Nodes::All { damage.len() } else { LISTED };
    for place in damage.iter().take(listed) {
        put(format!("  {}:{} {}", visible(&place.file), place.line, visible(&place.reason)));
    }
    if damage.len() > listed {
        put(format!("  and {} more", text::thousands((damage.len() - listed) as u64)));
    }
}
