//! The messages of two logs, of whatever formats: what was added, removed,
//! changed, moved or re-stamped; and whether one has all that the other has.

use foldhash::fast::FixedState;
use jiff::Timestamp;
use sha2::{Digest, Sha256};
use similar::{Algorithm, DiffOp, TextDiff, capture_diff_slices_deadline};
use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;
use std::time::Duration;

use crate::json::Value;
use crate::log::{LogView, Projection, Reach, Salvage};
use crate::model::event::{Damage, EventKind, EventRef};
use crate::model::heads::HeadName;
use crate::model::ids::Seq;
use crate::model::stream::{LogAccess, ReadAt, StreamError};

use super::explain::deadline;
use super::structure::{Changes, changes};

/// What of a message's text is compared to tell a changed one from another.
const COMPARED_TEXT: usize = 4_000;

/// From here on two texts are taken for versions of one.
const ALIKE: f32 = 0.5;

/// So many pairs are looked at: two unlike sessions could have a million.
const MOST_COMPARED: usize = 2_000;

/// How long an excerpt is, in characters.
const EXCERPT: usize = 60;

/// What identifies a message by what it says: role and content, hashed.
pub type ContentKey = [u8; 32];

/// A message of a log, without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Spoken {
    /// Its event.
    pub seq: Seq,
    /// Who speaks.
    pub role: String,
    /// When.
    pub ts: Option<String>,
    /// What it says, hashed.
    pub key: ContentKey,
    /// How it begins.
    pub excerpt: String,
    /// Which of the things that a log can lose it is.
    pub class: PieceClass,
}

/// Which of the things that a log can lose a piece is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum PieceClass {
    /// A message.
    Message,
    /// Bytes that the source's loader rejects.
    Damage,
    /// A turn, run, custom entry, compaction, summary of a branch, or label.
    Fact,
    /// A file that a session has beside its records: an attachment, a config
    /// file, a link.
    Companion,
    /// A record about the session: its title, summary, settings, an index entry.
    Metadata,
}

/// The role that reports give to a damaged piece.
const DAMAGE: &str = "damage";

impl Spoken {
    fn of(event: &EventRef<'_>) -> Spoken {
        let content = event.value().first("content").unwrap_or(Value::EMPTY_ARRAY);
        let role = event.value().first("role").and_then(Value::as_str).unwrap_or_default().into_owned();
        let mut hash = Sha256::new();
        hash.update(role.as_bytes());
        hash.update(b"\n");
        hash.update(content.normal_form());
        let (ts, key) = (event.ts.map(str::to_owned), hash.finalize().into());
        Spoken { seq: event.seq, role, ts, key, excerpt: excerpt(content), class: PieceClass::Message }
    }
}

/// Returns the texts of a content's parts, as far as `most` characters go; of other
/// parts their type.
fn texts(content: Value<'_>, most: usize) -> String {
    let mut text = String::new();
    for part in content.elements() {
        if text.chars().count() >= most {
            break;
        }
        if !text.is_empty() {
            text.push(' ');
        }
        match (part.first("text").and_then(Value::as_str), part.first("type")) {
            (Some(said), _) => text.push_str(&said),
            (None, Some(kind)) => text.push_str(&format!("[{}]", kind.as_str().unwrap_or_default())),
            (None, None) => text.push_str("[?]"),
        }
    }
    text.chars().take(most).collect()
}

fn excerpt(content: Value<'_>) -> String {
    shortened(&texts(content, EXCERPT + 1))
}

pub(super) fn shortened(text: &str) -> String {
    if text.chars().count() > EXCERPT { format!("{}…", text.chars().take(EXCERPT).collect::<String>()) } else { text.to_owned() }
}

/// Messages of one path that are always compared, however short the log is.
const ALWAYS_COMPARED: usize = 100_000;
/// Messages of one path that are compared for each event of the log. Repeats of
/// repeats could make a small log stand for more messages than memory holds.
const COMPARED_PER_EVENT: usize = 64;

/// Returns the messages on the path of a head, in order.
///
/// # Errors
/// When the log cannot be read, or its repeats stand for more messages than any
/// source has had.
pub fn spoken<R: ReadAt>(log: &mut LogView<R>, head: &HeadName) -> Result<Vec<Spoken>, StreamError> {
    let node = log.state().head(head).unwrap_or(Seq::ROOT);
    let mut projection = Projection::of(log, node, Reach::Path, Salvage::Hidden)?;
    let allowed = ALWAYS_COMPARED.saturating_add(COMPARED_PER_EVENT.saturating_mul(log.last().number() as usize));
    if projection.path_len() > allowed {
        return Err(StreamError::log(node, "repeats messages so often that they cannot be compared"));
    }
    let mut list = Vec::new();
    while let Some(shown) = projection.next_shown(log)? {
        if shown.event.kind == EventKind::Message {
            list.push(Spoken::of(&shown.event));
        }
    }
    Ok(list)
}

/// Returns every message of a log: those on the path of the head that is shown by
/// default, as often as they stand there, then all others.
///
/// # Errors
/// When the log cannot be read.
pub fn all_spoken<R: ReadAt>(log: &mut LogView<R>) -> Result<Vec<Spoken>, StreamError> {
    let active = log.active();
    let mut list = spoken(log, &active)?;
    let on_path: HashSet<Seq, FixedState> = list.iter().map(|message| message.seq).collect();
    for seq in (1..=log.last().number()).map(Seq::new) {
        if log.kind(seq) == EventKind::Message && !on_path.contains(&seq) {
            list.push(Spoken::of(&log.event(seq)?));
        }
    }
    Ok(list)
}

/// Hands out the role and the text of every message of a log: those on the path
/// of the head that is shown by default, as often as they stand there, then all
/// others.
///
/// # Errors
/// When the log cannot be read.
pub fn each_text<R: ReadAt>(log: &mut LogView<R>, hand_out: &mut dyn FnMut(&str, String)) -> Result<(), StreamError> {
    for message in all_spoken(log)? {
        let event = log.event(message.seq)?;
        hand_out(&message.role, event.value().first("content").map(text_of).unwrap_or_default());
    }
    Ok(())
}

/// Returns the texts of a content's parts, those inside the results of tools included.
fn text_of(content: Value<'_>) -> String {
    let mut text = String::new();
    for part in content.elements() {
        let kind = part.first("type").and_then(Value::as_str).unwrap_or_default();
        match kind.as_ref() {
            "text" => text.push_str(&part.first("text").and_then(Value::as_str).unwrap_or_default()),
            "tool_result" => text.push_str(&part.first("content").map(text_of).unwrap_or_default()),
            _ => {}
        }
    }
    text
}

/// Returns the damaged pieces of a log, by their bytes, as if each were said. Line ends do
/// not count: a line that was cut off may have got one since.
///
/// # Errors
/// When the log cannot be read.
pub fn damaged<R: ReadAt>(log: &mut LogView<R>) -> Result<Vec<Spoken>, StreamError> {
    let mut list = Vec::new();
    for seq in (1..=log.last().number()).map(Seq::new) {
        if log.kind(seq) != EventKind::Damage {
            continue;
        }
        let event = log.event(seq)?;
        let damage: Damage = serde_json::from_slice(event.payload).map_err(|error| StreamError::log(seq, error.to_string()))?;
        let Some(bytes) = damage.bytes() else { continue };
        let piece = bytes.rest.trim_ascii_end();
        if !piece.is_empty() || !bytes.nul.is_empty() {
            let mut hash = Sha256::new().chain_update(b"damage\0").chain_update(piece);
            // Counted, not written out: a log may name any number of them.
            for (start, len) in &bytes.nul {
                hash.update([start.to_be_bytes(), len.to_be_bytes()].concat());
            }
            let zeros: u64 = bytes.nul.iter().fold(0, |all, (_, len)| all.saturating_add(*len));
            let zeros = if zeros > 0 { format!("({zeros} zero bytes)") } else { String::new() };
            let key = hash.finalize().into();
            let excerpt = shortened(&format!("{}{zeros}", String::from_utf8_lossy(piece)));
            list.push(Spoken { seq, role: DAMAGE.to_owned(), ts: None, key, excerpt, class: PieceClass::Damage });
        }
    }
    Ok(list)
}

/// Returns the messages of a log that were salvaged from damage.
///
/// # Errors
/// When the log cannot be read.
pub fn salvaged<R: ReadAt>(log: &mut LogView<R>) -> Result<Vec<Spoken>, StreamError> {
    let mut list = Vec::new();
    for seq in (1..=log.last().number()).map(Seq::new) {
        if log.kind(seq) == EventKind::Message {
            let event = log.event(seq)?;
            if event.is_hidden_from("loader") {
                list.push(Spoken::of(&event));
            }
        }
    }
    Ok(list)
}

/// Which members of messages are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Members {
    /// Role, content and time: what every format has.
    Shared,
    /// All of them.
    All,
}

/// How a message of one log stands in the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// Only in the second.
    Added,
    /// Only in the first.
    Removed,
    /// It says something else now.
    Changed(Changes),
    /// It stands elsewhere.
    Moved,
    /// It has another time.
    Restamped {
        /// The time in the first.
        from: Option<String>,
        /// The time in the second.
        to: Option<String>,
    },
}

/// One difference between two lists of messages. Numbers count from 1.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MessageChange {
    /// What became of it.
    pub fate: Fate,
    /// Which message of the first.
    pub first: Option<usize>,
    /// Which message of the second.
    pub second: Option<usize>,
}

/// Compares the messages of two heads.
///
/// # Errors
/// When a log cannot be read.
pub fn message_changes<A: ReadAt, B: ReadAt>(
    (first, a): (&mut LogView<A>, &[Spoken]),
    (second, b): (&mut LogView<B>, &[Spoken]),
    members: Members,
) -> Result<Vec<MessageChange>, StreamError> {
    let keys = |list: &[Spoken]| -> Vec<ContentKey> { list.iter().map(|message| message.key).collect() };
    let ops = capture_diff_slices_deadline(Algorithm::Patience, &keys(a), &keys(b), deadline());
    let mut matched = Matched::of(&ops, a, b);
    matched.find_moved(a, b);
    matched.find_changed(&ops, &|old, new| {
        let (old, new) = (&a[old], &b[new]);
        Ok(old.role == new.role && is_alike(&content(first, old.seq)?, &content(second, new.seq)?))
    })?;
    let mut list: Vec<MessageChange> = Vec::new();
    for (old, new, how) in matched.pairs {
        let (from, to) = (&a[old], &b[new]);
        let mut note = |fate| list.push(MessageChange { fate, first: Some(old + 1), second: Some(new + 1) });
        if how == Match::Moved {
            note(Fate::Moved);
        }
        let is_restamped = !is_same_time(from.ts.as_deref(), to.ts.as_deref());
        if is_restamped {
            note(Fate::Restamped { from: from.ts.clone(), to: to.ts.clone() });
        }
        // A time that changed also stands, in the source's words, in `ext`; the
        // shape is the log's own.
        let ignored: &[&str] = if is_restamped { &["shape", "ext"] } else { &["shape"] };
        let mut changed = changes(first.event(from.seq)?.value(), second.event(to.seq)?.value());
        changed.list.retain(|change| {
            let name = change.path.split(['.', '[']).next().unwrap_or_default();
            match members {
                Members::Shared => matches!(name, "role" | "content"),
                Members::All => !ignored.contains(&name),
            }
        });
        if !changed.list.is_empty() {
            note(Fate::Changed(changed));
        }
    }
    list.extend(matched.old_left.iter().map(|old| MessageChange { fate: Fate::Removed, first: Some(old + 1), second: None }));
    list.extend(matched.new_left.iter().map(|new| MessageChange { fate: Fate::Added, first: None, second: Some(new + 1) }));
    list.sort_by_key(|change| (change.first.or(change.second), change.second));
    Ok(list)
}

fn content<R: ReadAt>(log: &LogView<R>, seq: Seq) -> Result<String, StreamError> {
    let mut line = Vec::new();
    log.copy_line(seq, &mut line)?;
    let event = crate::log::decode_line(&line).map_err(|what| StreamError::log(seq, what))?;
    Ok(texts(event.value().first("content").unwrap_or(Value::EMPTY_ARRAY), COMPARED_TEXT))
}

/// Tells whether two texts look like versions of one.
fn is_alike(from: &str, to: &str) -> bool {
    TextDiff::configure().timeout(Duration::from_millis(50)).diff_words(from, to).ratio() >= ALIKE
}

/// Tells whether two times are one: the same text, or the same moment.
fn is_same_time(a: Option<&str>, b: Option<&str>) -> bool {
    let moment = |ts: Option<&str>| ts.and_then(|ts| ts.parse::<Timestamp>().ok());
    a == b || moment(a).is_some_and(|moment_a| moment(b) == Some(moment_a))
}

/// How two messages were found to belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Match {
    InPlace,
    Moved,
}

/// Which messages of two lists belong together, and which are left.
struct Matched {
    pairs: Vec<(usize, usize, Match)>,
    old_left: Vec<usize>,
    new_left: Vec<usize>,
}

impl Matched {
    fn of(ops: &[DiffOp], a: &[Spoken], b: &[Spoken]) -> Matched {
        let mut pairs = Vec::new();
        for op in ops.iter().filter(|op| matches!(op, DiffOp::Equal { .. })) {
            pairs.extend(op.old_range().zip(op.new_range()).map(|(old, new)| (old, new, Match::InPlace)));
        }
        let (old, new): (HashSet<usize>, HashSet<usize>) =
            (pairs.iter().map(|pair| pair.0).collect(), pairs.iter().map(|pair| pair.1).collect());
        let old_left = (0..a.len()).filter(|at| !old.contains(at)).collect();
        let new_left = (0..b.len()).filter(|at| !new.contains(at)).collect();
        Matched { pairs, old_left, new_left }
    }

    /// What is left on both sides and says the same has moved.
    fn find_moved(&mut self, a: &[Spoken], b: &[Spoken]) {
        let mut waiting: HashMap<ContentKey, VecDeque<usize>> = HashMap::new();
        self.new_left.iter().for_each(|&new| waiting.entry(b[new].key).or_default().push_back(new));
        let mut taken = HashSet::new();
        let pairs = &mut self.pairs;
        self.old_left.retain(|&old| match waiting.get_mut(&a[old].key).and_then(VecDeque::pop_front) {
            Some(new) => {
                pairs.push((old, new, Match::Moved));
                taken.insert(new);
                false
            }
            None => true,
        });
        self.new_left.retain(|new| !taken.contains(new));
    }

    /// Returns what stands in the place of something like it has changed.
    fn find_changed(&mut self, ops: &[DiffOp], is_alike: &dyn Fn(usize, usize) -> Result<bool, StreamError>) -> Result<(), StreamError> {
        let within = |left: &[usize], range: Range<usize>| -> Vec<usize> {
            left[left.partition_point(|at| *at < range.start)..left.partition_point(|at| *at < range.end)].to_vec()
        };
        let (mut old_found, mut new_found) = (HashSet::new(), HashSet::new());
        let mut left = MOST_COMPARED;
        for op in ops.iter().filter(|op| !matches!(op, DiffOp::Equal { .. })) {
            for (old, new) in within(&self.old_left, op.old_range()).into_iter().zip(within(&self.new_left, op.new_range())).take(left) {
                left -= 1;
                if is_alike(old, new)? {
                    self.pairs.push((old, new, Match::InPlace));
                    old_found.insert(old);
                    new_found.insert(new);
                }
            }
        }
        self.old_left.retain(|at| !old_found.contains(at));
        self.new_left.retain(|at| !new_found.contains(at));
        Ok(())
    }
}

/// Messages that can still be taken, by what they say.
#[derive(Debug, Default)]
pub struct Multiset(HashMap<ContentKey, u64>);

impl Multiset {
    /// Adds messages.
    pub fn add(&mut self, messages: &[Spoken]) {
        messages.iter().for_each(|message| *self.0.entry(message.key).or_default() += 1);
    }

    /// Takes one that says this; says whether there was one left.
    pub fn take(&mut self, message: &Spoken) -> bool {
        match self.0.get_mut(&message.key) {
            Some(left) if *left > 0 => {
                *left -= 1;
                true
            }
            Some(_) | None => false,
        }
    }

    /// Adds what another set has left.
    pub fn join(&mut self, other: Multiset) {
        other.0.into_iter().for_each(|(key, count)| *self.0.entry(key).or_default() += count);
    }

    /// Counts those of these that could not be taken, and takes none.
    #[must_use]
    pub fn count_lacking(&self, messages: &[Spoken]) -> usize {
        let mut wanted: HashMap<ContentKey, u64> = HashMap::new();
        let is_lacking = |message: &&Spoken| {
            let so_far = wanted.entry(message.key).or_default();
            *so_far += 1;
            *so_far > self.0.get(&message.key).copied().unwrap_or(0)
        };
        messages.iter().filter(is_lacking).count()
    }

    /// Of these, those that are not left to take.
    #[must_use]
    pub fn lacks(mut self, messages: Vec<Spoken>) -> Vec<Spoken> {
        messages.into_iter().filter(|message| !self.take(message)).collect()
    }

    /// Returns a set of these.
    #[must_use]
    pub fn of(messages: &[Spoken]) -> Multiset {
        let mut set = Multiset::default();
        set.add(messages);
        set
    }
}
