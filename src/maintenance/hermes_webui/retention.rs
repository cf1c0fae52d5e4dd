//! What of a sessions folder has served its purpose: turns that have ended and
//! seen to be, and the journals of runs that have ended.

use std::collections::{BTreeMap, BTreeSet};

use crate::adapters::hermes_webui::layout::{RUNS, run_id};
use crate::model::digest::sha256_hex;
use crate::model::files::RelPath;
use crate::model::jsonl::{Lines, Newlines};
use crate::model::retention::{Completion, Due, Edit, Prunable, Removal, RetentionContext, Rule, Share, Stay, StayCode, seconds_to_ns};

use super::document::{Document, get, is_true, text_of};
use super::folder::{Files, Folder, SessionFile, writer};
use super::rows::{Row, Shown, shown};
use super::run_end::{RunEnd, run_end};
use super::turns::{Event, Journal};

/// The states of a turn that is under way.
const UNDER_WAY: [&str; 3] = ["submitted", "worker_started", "assistant_started"];

/// Returns what can be said of a folder's turns and runs.
pub(super) fn items(folder: &Folder<'_>, outlook: &RetentionContext<'_>) -> Vec<Prunable> {
    let sessions: BTreeMap<&str, SessionJournals<'_>> =
        folder.sessions.iter().filter(|(_, files)| !files.is_odd).map(|(id, files)| (*id, SessionJournals::of(folder, files))).collect();
    let looked = Looked { outlook, sessions };
    let mut items = Vec::new();
    if outlook.asks(Rule::TurnJournal) {
        items.extend(looked.turns());
    }
    if outlook.asks(Rule::RunJournal) {
        let by_stream = looked.by_stream();
        for session in looked.sessions.values() {
            items.extend(session.files.runs.iter().map(|place| looked.run(session, place, &by_stream)));
        }
    }
    items
}

/// One session, as far as turns are told by it.
struct SessionJournals<'f> {
    files: &'f Files<'f>,
    journal: Journal,
    /// The lines that hold more than events of one turn, by file.
    shared: BTreeSet<(String, u64)>,
    shards: BTreeMap<&'f str, Shard>,
    rows: Vec<Row>,
    /// The run that the sidecar waits for.
    active: Option<String>,
    /// The runs whose output the program still hopes to show.
    retried: BTreeSet<String>,
}

/// A turn journal: where its lines stand.
struct Shard {
    lines: Vec<(usize, usize)>,
    sha256: String,
    writer: Option<u32>,
}

impl<'f> SessionJournals<'f> {
    fn of(folder: &Folder<'_>, files: &'f Files<'f>) -> SessionJournals<'f> {
        let mut shards = BTreeMap::new();
        let mut texts = Vec::new();
        for place in &files.turns {
            let bytes = folder.bytes(place);
            let lines = Lines::new(&bytes, Newlines::Universal).map(|line| (line.offset, line.offset + line.text.len() + line.end.len()));
            shards.insert(place.path, Shard { lines: lines.collect(), sha256: sha256_hex(&bytes), writer: writer(place) });
            texts.push((place.path, bytes));
        }
        let live = files.sidecar.map(|place| folder.bytes(&place)).unwrap_or_default();
        let document = Document::of(&live);
        let retried = document.elements("messages").filter_map(|row| {
            let members: Vec<_> = row.all_members();
            is_true(get(&members, "_pending_journal_recovery")).then(|| get(&members, "_journal_retry_stream_id").map(text_of))?
        });
        let waits = document.says("pending_user_message") || document.says("active_stream_id");
        let journal = Journal::read(texts.into_iter());
        SessionJournals {
            files,
            shared: journal.shared_lines(),
            journal,
            shards,
            rows: document.elements("messages").map(Row::of).collect(),
            active: waits.then(|| document.text("active_stream_id").unwrap_or_default()),
            retried: retried.collect(),
        }
    }

    /// Tells whether the program waits for a run, or comes back to it.
    fn waits_for(&self, stream: &str) -> bool {
        // A prompt that waits for no run in particular may wait for any.
        self.active.as_deref().is_some_and(|active| active == stream || active.is_empty()) || self.retried.contains(stream)
    }
}

/// A folder that was looked through.
struct Looked<'f, 'e> {
    outlook: &'e RetentionContext<'e>,
    sessions: BTreeMap<&'f str, SessionJournals<'f>>,
}

/// The events of one turn, in the order of time, each with its session.
type Told<'a, 'f> = Vec<(&'a SessionJournals<'f>, &'a Event)>;

impl<'f> Looked<'f, '_> {
    /// Turns by their id, wherever their events stand: a turn can begin in one
    /// session and end in the one that goes on with it.
    fn told(&self) -> BTreeMap<&str, Told<'_, 'f>> {
        let mut turns: BTreeMap<&str, Told<'_, 'f>> = BTreeMap::new();
        for session in self.sessions.values() {
            for event in session.journal.events.iter().filter(|event| !event.turn.is_empty()) {
                turns.entry(&event.turn).or_default().push((session, event));
            }
        }
        for told in turns.values_mut() {
            told.sort_by(|(_, a), (_, b)| a.created_at.total_cmp(&b.created_at));
        }
        turns
    }

    /// Returns the last event of each turn, by the run that it names.
    fn by_stream(&self) -> BTreeMap<&str, Told<'_, 'f>> {
        let mut runs: BTreeMap<&str, Told<'_, 'f>> = BTreeMap::new();
        for session in self.sessions.values() {
            for event in session.journal.latest().into_values() {
                runs.entry(&event.stream).or_default().push((session, event));
            }
        }
        runs
    }

    fn turns(&self) -> Vec<Prunable> {
        let turns = self.told();
        turns.into_iter().map(|(turn, told)| self.turn(turn, &told)).collect()
    }

    fn turn(&self, turn: &str, told: &Told<'_, 'f>) -> Prunable {
        let mut places: BTreeMap<&str, (&Shard, Vec<u64>)> = BTreeMap::new();
        for (session, event) in told {
            let Some((path, shard)) = session.shards.get_key_value(event.path.as_str()) else { continue };
            places.entry(path).or_insert((shard, Vec::new())).1.push(event.line);
        }
        let shares = places.into_iter().map(|(path, (shard, mut lines))| {
            lines.sort_unstable();
            lines.dedup();
            let place = |line: &u64| usize::try_from(*line).ok().and_then(|line| shard.lines.get(line.checked_sub(1)?));
            let edits: Vec<Edit> = lines.iter().filter_map(place).map(|(start, end)| Edit::cut(*start..*end)).collect();
            let bytes = edits.iter().map(|edit| edit.to - edit.from).sum();
            let removal = Removal::Bytes { edits, sha256: shard.sha256.clone() };
            Share { file: RelPath::new(path), removal, bytes, writer: shard.writer, lock: None }
        });
        Prunable {
            rule: Rule::TurnJournal,
            name: turn.to_owned(),
            parts: 1,
            shares: shares.collect(),
            own_ns: told.iter().filter_map(|(_, event)| seconds_to_ns(event.created_at)).max(),
            due: Due::ByPolicy,
            standing: self.turn_standing(told),
        }
    }

    fn turn_standing(&self, told: &Told<'_, 'f>) -> Result<Completion, Stay> {
        let Some((_, last)) = told.last() else { return Err(Stay::new(StayCode::Unclear, "nothing is known of it")) };
        if UNDER_WAY.contains(&last.event.as_str()) {
            return Err(Stay::new(StayCode::NotEnded, format!("its last event is `{}`", last.event)));
        }
        if !last.is_end() || !ends_where_it_should(told) {
            let why = "its events do not say what it has come to: one is unknown, or something follows its end";
            return Err(Stay::new(StayCode::Unclear, why));
        }
        if told.iter().any(|(session, event)| session.shared.contains(&(event.path.clone(), event.line))) {
            return Err(Stay::new(StayCode::SharedLine, "a line of it holds something else, too: lines go as a whole"));
        }
        let streams: BTreeSet<&str> = told.iter().map(|(_, event)| event.stream.as_str()).filter(|stream| !stream.is_empty()).collect();
        let sessions: Vec<&SessionJournals<'f>> = told.iter().map(|(session, _)| *session).collect();
        if streams.iter().any(|stream| sessions.iter().any(|session| session.waits_for(stream))) {
            return Err(Stay::new(StayCode::WaitedFor, "the session still waits for it"));
        }
        let mut looked_at: Told<'_, 'f> = told.clone();
        looked_at.dedup_by(|(a, one), (b, other)| std::ptr::eq(*a, *b) && one.stream == other.stream);
        let look =
            |(session, event): &(&SessionJournals<'f>, &Event)| shown(&session.rows, &event.stream, session.journal.submitted(&event.turn));
        let seen: Vec<Shown> = looked_at.iter().map(look).collect();
        if last.event == "interrupted" {
            return match seen.contains(&Shown::Interruption) {
                true => Ok(Completion::By("the transcript shows that it was interrupted")),
                false => Err(Stay::new(StayCode::NoMarker, "it was interrupted, and the transcript does not show it")),
            };
        }
        if seen.iter().any(|seen| matches!(seen, Shown::Answer | Shown::Interruption)) {
            return Ok(Completion::By("the transcript shows what came of it"));
        }
        let ended =
            |session: &&SessionJournals<'f>, stream: &str| session.files.run(stream).is_some_and(|place| self.end(place).is_completed());
        if streams.iter().any(|stream| sessions.iter().any(|session| ended(session, stream))) {
            return Ok(Completion::By("its run has ended"));
        }
        if streams.iter().any(|stream| sessions.iter().any(|session| self.run_was_pruned(session, stream))) {
            return Ok(Completion::By("its run had ended when it was pruned"));
        }
        Err(Stay::new(StayCode::Unsettled, "only its own journal says that it has ended: neither the transcript nor a run does"))
    }

    fn run_was_pruned(&self, session: &SessionJournals<'f>, stream: &str) -> bool {
        let shard = session.files.turns.first().and_then(|place| place.path.rsplit('/').next());
        let id = shard.map(|name| name.split('~').next().unwrap_or(name)).map(|name| name.strip_suffix(".jsonl").unwrap_or(name));
        id.is_some_and(|id| (self.outlook.was_pruned)(&RelPath::new(format!("{RUNS}{id}/{stream}.jsonl"))))
    }

    fn end(&self, place: &SessionFile<'_>) -> RunEnd {
        let path = RelPath::new(place.path);
        run_end(run_id(&path), place.listed.size, &|offset| (self.outlook.from)(&path, offset))
    }

    fn run(&self, session: &SessionJournals<'f>, place: &SessionFile<'_>, by_stream: &BTreeMap<&str, Told<'_, 'f>>) -> Prunable {
        let path = RelPath::new(place.path);
        let stream = run_id(&path).to_owned();
        let end = self.end(place);
        let bytes = place.listed.size;
        Prunable {
            rule: Rule::RunJournal,
            parts: 1,
            shares: vec![Share { file: path, removal: Removal::Whole, bytes, writer: None, lock: None }],
            own_ns: seconds_to_ns(end.at),
            due: Due::ByPolicy,
            standing: run_standing(session, &stream, &end, by_stream.get(stream.as_str()).map_or(&[], Vec::as_slice)),
            name: stream,
        }
    }
}

/// Tells whether a run has ended; `turns` are those that name it, in whichever session:
/// a rotated session's turns go on in another one's journal.
fn run_standing<'f>(
    session: &SessionJournals<'f>,
    stream: &str,
    end: &RunEnd,
    turns: &[(&SessionJournals<'f>, &Event)],
) -> Result<Completion, Stay> {
    if end.is_unclear {
        return Err(Stay::new(StayCode::Unclear, "its last lines are cut off, or of another run"));
    }
    if end.state.is_none() {
        return Err(Stay::new(StayCode::NotEnded, "it has no end: it runs, or was cut off"));
    }
    if session.waits_for(stream) || turns.iter().any(|(other, _)| other.waits_for(stream)) {
        return Err(Stay::new(StayCode::WaitedFor, "the session still waits for it"));
    }
    let prompt = turns.iter().find_map(|(other, event)| other.journal.submitted(&event.turn));
    let seen: Vec<Shown> = turns.iter().map(|(other, _)| *other).chain([session]).map(|of| shown(&of.rows, stream, prompt)).collect();
    if !end.is_completed() {
        return match seen.contains(&Shown::Interruption) {
            true => Ok(Completion::By("the transcript shows that it was interrupted")),
            false => Err(Stay::new(StayCode::NoMarker, "it was interrupted, and the transcript does not show it")),
        };
    }
    if seen.iter().any(|seen| matches!(seen, Shown::Answer | Shown::Interruption)) {
        return Ok(Completion::By("the transcript shows what came of it"));
    }
    if !turns.is_empty() && turns.iter().all(|(_, event)| event.is_end()) {
        return Ok(Completion::By("its turn has ended"));
    }
    // So side questions leave them: there is nothing else that could say it.
    if turns.is_empty() && session.files.sidecar.is_none() && session.files.turns.is_empty() {
        return Ok(Completion::OwnWord("it has no session: its own end is all there is"));
    }
    Err(Stay::new(StayCode::Unsettled, "only its own journal says that it has ended: neither the transcript nor a turn does"))
}

/// Tells whether nothing of a turn follows its end, in any of its files: a clock
/// that ran backwards must not make an end of a beginning.
fn ends_where_it_should(told: &Told<'_, '_>) -> bool {
    let mut last_lines: BTreeMap<&str, (u64, bool)> = BTreeMap::new();
    for (_, event) in told {
        let last = last_lines.entry(&event.path).or_insert((event.line, event.is_end()));
        if event.line >= last.0 {
            *last = (event.line, event.is_end());
        }
    }
    let ends: BTreeSet<&str> = told.iter().filter(|(_, event)| event.is_end()).map(|(_, event)| event.path.as_str()).collect();
    last_lines.into_iter().all(|(path, (_, is_end))| is_end || !ends.contains(path))
}
