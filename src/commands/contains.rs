//! `everlog contains`: whether everything of one side is on the other: messages by
//! role and content, damaged pieces and companion files by their bytes, turns, runs,
//! compactions and other facts by what they say, and metadata. People ask this
//! before they delete the old folder, so whatever was not compared is named.

use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

use crate::adapters::format::RETIRED_SUFFIX;
use crate::log::LogView;
use crate::model::event::SessionKind;
use crate::model::stream::StreamError;
use crate::pipeline::batch;
use crate::report::differences::Quoting;
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};
use crate::report::text;
use crate::store::blobs;
use crate::verify::compare::{Multiset, PieceClass, Spoken, all_spoken, damaged};
use crate::verify::difference::visible;
use crate::verify::facts::{companions, facts};

use super::compare::{Attachments, CompareJob, LogBytes, Opened, Side};
use super::contains_database;
use super::contains_match::{Asked, Given, Lacking, lacking};
use super::contains_store;
use super::error::CommandError;
use super::kinds::Kinds;

/// What `--json` says of one message that is missing.
#[derive(Debug, Serialize)]
struct Json<'a> {
    schema: u32,
    missing: &'a str,
    session: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_b64: Option<&'a str>,
    event: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    ts: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
}

/// What `--json` says of a session of which nothing is there.
#[derive(Debug, Serialize)]
struct JsonSession<'a> {
    schema: u32,
    missing: &'static str,
    session: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_b64: Option<String>,
    messages: usize,
    damaged: usize,
}

/// A session with all its versions: as it is now, and as it was kept before.
#[derive(Default)]
struct SessionVersions {
    name: String,
    /// The id that its program knows it by.
    id: String,
    format: String,
    kind: SessionKind,
    /// Everything that is looked for, or in which it may be found.
    pieces: Vec<Spoken>,
    /// What is to be said of its logs, and where they are.
    warnings: Vec<(String, String)>,
}

impl SessionVersions {
    fn count(&self, class: PieceClass) -> usize {
        self.pieces.iter().filter(|piece| piece.class == class).count()
    }
}

/// How much was asked for, and how much of it is not there. Messages are those
/// of all branches, each as often as it stands there.
#[derive(Debug, Default, Serialize)]
struct Totals {
    #[serde(flatten)]
    units: Kinds,
    messages: u64,
    contained: u64,
    missing: u64,
    sessions_missing: u64,
    damaged: u64,
    damaged_missing: u64,
    /// Turns, runs, custom entries, compactions, summaries, labels.
    facts: u64,
    facts_missing: u64,
    /// Attachments and other files without records.
    companions: u64,
    companions_missing: u64,
    metadata: u64,
    metadata_missing: u64,
    /// What a program of another format has no place for, and B cannot have.
    of_format: u64,
    database_messages: u64,
    database_missing: u64,
    not_compared: u64,
    strays: u64,
}

/// What is asked.
#[derive(Debug)]
pub struct ContainsJob {
    /// The two sides.
    pub sides: CompareJob,
    /// Where records go that a database lacks.
    pub rescue: Option<PathBuf>,
}

/// Runs the command.
///
/// # Errors
/// When a side cannot be read.
pub fn run(ContainsJob { sides: job, rescue }: &ContainsJob, out: &Printer) -> Result<ExitStatus, CommandError> {
    if let Some(status) = contains_store::run(job, rescue.as_deref(), out)? {
        return Ok(status);
    }
    if let Some(folder) = rescue {
        let why = format!("{} is not a database whose program's rules are known", job.b.display());
        return Err(CommandError::NoRescue { path: folder.clone(), why });
    }
    let (mut a, mut b) = (Side::open(&job.a)?, Side::open(&job.b)?);
    let (asked, given) = (sessions(&mut a, Use::Asked, job.jobs), sessions(&mut b, Use::Given, job.jobs));
    let warnings: Vec<_> = asked.iter().chain(&given).flat_map(|session| &session.warnings).collect();
    warnings.iter().for_each(|(warning, place)| out.complain(&format!("{warning}\n  at {}", visible(place))));
    let mut totals = Totals { strays: a.strays(), ..Totals::default() };
    let asked_for: Vec<Asked<'_>> = asked.iter().map(|session| Asked { name: &session.name, pieces: &session.pieces }).collect();
    let there: Vec<Given<'_>> = given.iter().map(|session| Given { name: &session.name, pieces: &session.pieces }).collect();
    let formats: BTreeSet<&str> = given.iter().map(|session| session.format.as_str()).collect();
    for (session, lacks) in asked.iter().zip(lacking(&asked_for, &there)) {
        totals.units.add(session.kind);
        totals.add(session);
        let mut by_class: BTreeMap<PieceClass, Vec<Spoken>> = BTreeMap::new();
        lacks.pieces.into_iter().for_each(|piece| by_class.entry(piece.class).or_default().push(piece));
        // What only this format can say, no session of B's formats can have.
        let has_format = formats.contains(session.format.as_str());
        let shared = |class: PieceClass| has_format || matches!(class, PieceClass::Message | PieceClass::Damage);
        if lacks.whole == Lacking::Everything && by_class.keys().any(|class| shared(*class)) {
            totals.sessions_missing += 1;
            report_session(session, &a, out);
        }
        for (class, pieces) in &by_class {
            if shared(*class) {
                *totals.missing(*class) += pieces.len() as u64;
                report(&session.name, &a, (pieces, what(*class)), job, out);
            }
        }
        let of_format: Vec<(PieceClass, u64)> =
            by_class.iter().filter(|(class, _)| !shared(**class)).map(|(class, pieces)| (*class, pieces.len() as u64)).collect();
        totals.of_format += report_of_format(session, &a, &of_format, out);
    }
    totals.contained = totals.messages - totals.missing;
    let ids = asked.iter().map(|session| session.id.as_str()).collect();
    let databases = contains_database::asked_for(&mut a, &ids);
    if !databases.is_empty() {
        let compared = contains_database::compare(&databases, &b, job, out);
        totals.database_messages = compared.messages;
        totals.database_missing = compared.missing;
    }
    totals.not_compared = a.unseen();
    a.tell_unseen(out);
    a.tell_strays(out);
    let is_all_there = totals.all_missing() + totals.database_missing == 0;
    if !is_all_there {
        // What is missing may be in there.
        b.tell_unseen(out);
    }
    if out.form() == Form::Json {
        out.object(&serde_json::json!({ "schema": 1, "summary": totals }));
    }
    out.summary(&summary(&totals));
    let is_well = is_all_there && totals.not_compared + totals.of_format == 0 && warnings.is_empty();
    Ok(if is_well { ExitStatus::Well } else { ExitStatus::Found })
}

impl Totals {
    fn add(&mut self, session: &SessionVersions) {
        let count = |class| session.count(class) as u64;
        self.messages += count(PieceClass::Message);
        self.damaged += count(PieceClass::Damage);
        self.facts += count(PieceClass::Fact);
        self.companions += count(PieceClass::Companion);
        self.metadata += count(PieceClass::Metadata);
    }

    fn missing(&mut self, class: PieceClass) -> &mut u64 {
        match class {
            PieceClass::Message => &mut self.missing,
            PieceClass::Damage => &mut self.damaged_missing,
            PieceClass::Fact => &mut self.facts_missing,
            PieceClass::Companion => &mut self.companions_missing,
            PieceClass::Metadata => &mut self.metadata_missing,
        }
    }

    fn all_missing(&self) -> u64 {
        self.missing + self.damaged_missing + self.facts_missing + self.companions_missing + self.metadata_missing
    }
}

/// Returns what reports call one piece of a class.
pub(super) fn what(class: PieceClass) -> &'static str {
    match class {
        PieceClass::Message => "message",
        PieceClass::Damage => "damaged piece",
        PieceClass::Fact => "other fact",
        PieceClass::Companion => "companion file",
        PieceClass::Metadata => "metadata record",
    }
}

fn summary(totals: &Totals) -> String {
    let counts = [
        (PieceClass::Damage, totals.damaged),
        (PieceClass::Fact, totals.facts),
        (PieceClass::Companion, totals.companions),
        (PieceClass::Metadata, totals.metadata),
    ];
    let mut counted = vec![text::count(totals.messages, "message")];
    counted.extend(counts.iter().filter(|(_, count)| *count > 0).map(|(class, count)| text::count(*count, what(*class))));
    let last = counted.pop().unwrap_or_default();
    let mut text = if counted.is_empty() { last } else { format!("{} and {last}", counted.join(", ")) };
    let _ = write!(text, " on all branches of {} in A, ", totals.units.text());
    match totals.all_missing() {
        0 if totals.of_format == 0 => text.push_str("all of them in B"),
        0 => {
            let _ = write!(text, "all that both formats can say is in B; {} not compared", text::thousands(totals.of_format));
        }
        missing => {
            let _ = write!(text, "{} of them not in B", text::thousands(missing));
        }
    }
    if totals.sessions_missing > 0 {
        let _ = write!(text, "; {} missing entirely", text::count(totals.sessions_missing, "session"));
    }
    if totals.database_messages > 0 {
        let _ = write!(text, "; {} in databases, ", text::count(totals.database_messages, "message"));
        match totals.database_missing {
            0 => text.push_str("all of them in B"),
            missing => {
                let _ = write!(text, "{} of them not in B", text::thousands(missing));
            }
        }
    }
    if totals.not_compared > 0 {
        let _ = write!(text, "; {} in A could not be looked at", text::count(totals.not_compared, "thing"));
    }
    if totals.strays > 0 {
        let _ = write!(text, "; {} in A of no session", text::count(totals.strays, "file"));
    }
    text
}

/// What the sessions of a side are read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Use {
    /// To be looked for.
    Asked,
    /// To be looked in.
    Given,
}

/// Returns the sessions of a side. One that cannot be read is noted, and keeps no other
/// from being looked at.
fn sessions(side: &mut Side, use_as: Use, jobs: usize) -> Vec<SessionVersions> {
    let names: Vec<String> = side.names().cloned().collect();
    let read = batch::each(&names, jobs, |name| batch::caught(|| session(side, name, use_as), CommandError::Bug));
    let mut sessions = Vec::new();
    for (name, result) in names.iter().zip(read) {
        match result {
            Ok(session) => sessions.push(session),
            Err(error) => side.miss(name, &error),
        }
    }
    sessions
}

fn session(side: &Side, name: &str, use_as: Use) -> Result<SessionVersions, CommandError> {
    let mut session = SessionVersions { name: name.to_owned(), ..SessionVersions::default() };
    let versions: Vec<_> = side.versions(name).collect();
    let count = versions.len();
    for (n, opened) in versions.into_iter().enumerate() {
        let Opened { mut log, warning, place, attachments } = opened?;
        let stream = |source| CommandError::Stream { path: place.clone().into(), source };
        let mut pieces = all_spoken(&mut log).map_err(stream)?;
        pieces.extend(damaged(&mut log).map_err(stream)?);
        pieces.extend(facts(&mut log).map_err(stream)?);
        let lost = lost_attachments(&mut log, &attachments).map_err(stream)?;
        session.warnings.extend(lost.iter().map(|piece| {
            let file = visible(&piece.excerpt);
            (format!("warning: the attachment {file} is missing from the store, or damaged"), place.clone())
        }));
        let lost: BTreeSet<_> = lost.into_iter().map(|piece| piece.seq).collect();
        pieces.retain(|piece| !lost.contains(&piece.seq));
        if use_as == Use::Asked {
            // A retired file beside a live session is asked for as what it was.
            let is_retired = |file: &str| count > 1 && matches!(attachments, Attachments::InSource) && file.ends_with(RETIRED_SUFFIX);
            pieces.retain(|piece| match piece.class {
                PieceClass::Message | PieceClass::Damage | PieceClass::Fact => true,
                PieceClass::Companion => !is_retired(&piece.excerpt),
                // A title that was replaced is not a loss.
                PieceClass::Metadata => n == 0,
            });
        }
        (session.id, session.format, session.kind) = (log.session.id.clone(), log.session.format.clone(), log.session.kind);
        // What two versions have is one thing.
        session.pieces.extend(Multiset::of(&session.pieces).lacks(pieces));
        session.warnings.extend(warning.map(|warning| (warning.to_owned(), place)));
    }
    Ok(session)
}

/// Lists the attachments that a log names and its store does not have.
fn lost_attachments(log: &mut LogView<LogBytes>, attachments: &Attachments) -> Result<Vec<Spoken>, StreamError> {
    let Attachments::InStore(store) = attachments else { return Ok(Vec::new()) };
    let is_there = |sha256: &str, size| store.as_ref().is_some_and(|store| blobs::is_intact(store, sha256, size));
    let mut lost = companions(log)?;
    lost.retain(|companion| companion.blob.as_ref().is_some_and(|(sha256, size)| !is_there(sha256, *size)));
    Ok(lost.into_iter().map(|companion| companion.piece).collect())
}

fn report_session(session: &SessionVersions, side: &Side, out: &Printer) {
    let (messages, damaged) = (session.count(PieceClass::Message), session.count(PieceClass::Damage));
    match out.form() {
        Form::Json => {
            let session_b64 = side.name_b64(&session.name);
            out.object(&JsonSession { schema: 1, missing: "session", session: &session.name, session_b64, messages, damaged });
        }
        Form::Text => out.text(&format!(
            "{} {} is missing entirely\n  at {}",
            session.kind.words().0,
            visible(&session.name),
            visible(&side.place(&session.name))
        )),
    }
}

/// Names what of a session B's formats have no place for, and returns how many of
/// these things a person would miss. Metadata is named and not counted: a session
/// that was exported has its new program's.
fn report_of_format(session: &SessionVersions, side: &Side, of_format: &[(PieceClass, u64)], out: &Printer) -> u64 {
    if of_format.is_empty() {
        return 0;
    }
    let counted: u64 = of_format.iter().filter(|(class, _)| *class != PieceClass::Metadata).map(|(_, count)| count).sum();
    let list: Vec<String> = of_format.iter().map(|(class, count)| text::count(*count, what(*class))).collect();
    let place = side.place(&session.name);
    let why = format!("{}: only {} can say this, and B has no session of that format", list.join(", "), session.format);
    if out.form() == Form::Json {
        out.object(&serde_json::json!({ "schema": 1, "not_compared": place, "session": session.name, "why": why, "count": counted }));
    } else if counted > 0 {
        out.complain(&format!("warning: not compared: {}\n  at {}", visible(&why), visible(&place)));
    } else {
        out.say(&format!("note: not compared: {}\n  at {}", visible(&why), visible(&place)));
    }
    counted
}

fn report(session: &str, side: &Side, (lacking, what): (&[Spoken], &str), job: &CompareJob, out: &Printer) {
    let quotes = job.showing.quoting == Quoting::Windows;
    if out.form() == Form::Json {
        let exact = side.name_b64(session);
        let session_b64 = exact.as_deref();
        for message in lacking {
            let text = Some(message.excerpt.as_str()).filter(|_| quotes);
            let (event, ts) = (message.seq.number(), message.ts.as_deref());
            out.object(&Json { schema: 1, missing: &message.role, session, session_b64, event, ts, text });
        }
        return;
    }
    if lacking.is_empty() {
        return;
    }
    out.text(&format!(
        "{} has {} that B has not\n  at {}",
        visible(session),
        text::count(lacking.len() as u64, what),
        visible(&side.place(session))
    ));
    for message in lacking.iter().take(job.most) {
        let ts = message.ts.as_deref().map(|ts| format!(" {}", visible(ts))).unwrap_or_default();
        let quoted = if quotes { format!(": {}", visible(&message.excerpt)) } else { String::new() };
        out.text(&format!("  - event {}{ts}, {}{quoted}", message.seq, visible(&message.role)));
    }
    let rest = lacking.len().saturating_sub(job.most) as u64;
    if rest > 0 {
        out.text(&format!("  and {}", text::count(rest, &format!("more {what}"))));
    }
}
