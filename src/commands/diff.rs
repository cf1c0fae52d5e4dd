//! `everlog diff`: the messages of two logs or sources, of whatever formats.

use serde::Serialize;
use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::log::LogView;
use crate::model::event::SessionKind;
use crate::model::stream::StreamError;
use crate::pipeline::batch;
use crate::report::differences::{Quoting, Showing, json_change};
use crate::report::exit::ExitStatus;
use crate::report::printer::{Form, Printer};
use crate::report::styled::Styled;
use crate::report::terminal::Tint;
use crate::report::text;
use crate::verify::compare::{Fate, Members, MessageChange, Multiset, PieceClass, Spoken, damaged, message_changes, salvaged, spoken};
use crate::verify::difference::visible;
use crate::verify::facts::facts;

use super::compare::{CompareJob, LogBytes, Opened, Side};
use super::error::CommandError;
use super::kinds::Kinds;

/// How many changed members of one message are shown.
const MEMBERS: usize = 5;

/// How two sessions compare.
struct SessionDiff {
    kind: SessionKind,
    formats: (String, String),
    counts: (usize, usize),
    changes: Vec<ChangedMessage>,
    /// Heads that only one side has, in words.
    heads: Vec<String>,
    /// Damage, and what was salvaged from it, that only one side has.
    broken: Vec<Broken>,
    /// Facts, companion files and metadata that only one side has.
    others: Vec<Other>,
    warnings: Vec<(&'static str, String)>,
}

/// One change and the message that it is about.
struct ChangedMessage {
    change: MessageChange,
    about: Spoken,
}

/// Something that only one side has.
struct Broken {
    /// `damage` or `salvaged`.
    kind: &'static str,
    /// `A` or `B`.
    side: &'static str,
    piece: Spoken,
}

/// A fact, a companion file or a metadata record that only one side has.
struct Other {
    /// `A` or `B`.
    side: &'static str,
    piece: Spoken,
}

/// What became of how many messages.
#[derive(Debug, Default, Serialize)]
struct Totals {
    #[serde(flatten)]
    units: Kinds,
    only_in_a: u64,
    only_in_b: u64,
    added: u64,
    removed: u64,
    changed: u64,
    moved: u64,
    restamped: u64,
    heads: u64,
    broken: u64,
    /// Turns, runs, compactions and other facts on one side.
    facts: u64,
    /// Attachments and other files without records on one side.
    companions: u64,
    /// Titles, summaries, settings and index entries on one side.
    metadata: u64,
    not_compared: u64,
}

impl Totals {
    fn is_nothing(&self) -> bool {
        let messages = self.added + self.removed + self.changed + self.moved + self.restamped;
        let others = self.facts + self.companions + self.metadata;
        messages + others + self.only_in_a + self.only_in_b + self.heads + self.broken + self.not_compared == 0
    }
}

/// Runs the command.
///
/// # Errors
/// When a side cannot be read.
pub fn run(job: &CompareJob, out: &Printer) -> Result<ExitStatus, CommandError> {
    let (mut a, mut b) = (Side::open(&job.a)?, Side::open(&job.b)?);
    a.skip_databases();
    b.skip_databases();
    let (pairs, only_a, only_b) = paired(&a, &b);
    let results = batch::each(&pairs, job.jobs, |(first, second)| batch::caught(|| compare(&a, first, &b, second), CommandError::Bug));
    let mut totals = Totals { only_in_a: only_a.len() as u64, only_in_b: only_b.len() as u64, ..Totals::default() };
    let mut is_doubtful = false;
    for ((first, second), result) in pairs.iter().zip(results) {
        let compared = match result {
            Ok(compared) => compared,
            Err(error) => {
                let is_of_a = batch::caught(|| a.log(first).map(drop), CommandError::Bug).is_err();
                if is_of_a {
                    a.miss(first, &error)
                } else {
                    b.miss(second, &error)
                }
                continue;
            }
        };
        totals.units.add(compared.kind);
        count(&compared, &mut totals);
        is_doubtful |= !compared.warnings.is_empty();
        compared.warnings.iter().for_each(|(warning, place)| out.complain(&format!("{warning}\n  at {}", visible(place))));
        report(&compared, (first, second), a.name_b64(first).as_deref(), job, out);
    }
    for (names, side, change) in [(&only_a, &a, "session_removed"), (&only_b, &b, "session_added")] {
        names.iter().for_each(|name| report_alone(name, side, change, out));
    }
    a.tell_unseen(out);
    b.tell_unseen(out);
    totals.not_compared = a.unseen() + b.unseen();
    let is_same = totals.is_nothing();
    out.summary(&summary(&totals));
    if out.form() == Form::Json {
        out.object(&serde_json::json!({ "schema": 1, "summary": totals }));
    }
    Ok(if is_same && !is_doubtful { ExitStatus::Well } else { ExitStatus::Found })
}

/// Returns which sessions belong together: by name, and where one is left on each side,
/// those two.
fn paired(a: &Side, b: &Side) -> (Vec<(String, String)>, Vec<String>, Vec<String>) {
    let (in_a, in_b): (BTreeSet<&String>, BTreeSet<&String>) = (a.names().collect(), b.names().collect());
    let mut pairs: Vec<(String, String)> = in_a.intersection(&in_b).map(|name| ((*name).clone(), (*name).clone())).collect();
    let only_a: Vec<String> = in_a.difference(&in_b).map(|name| (*name).clone()).collect();
    let only_b: Vec<String> = in_b.difference(&in_a).map(|name| (*name).clone()).collect();
    if let ([first], [second]) = (only_a.as_slice(), only_b.as_slice()) {
        pairs.push((first.clone(), second.clone()));
        return (pairs, Vec::new(), Vec::new());
    }
    (pairs, only_a, only_b)
}

fn compare(a: &Side, first: &str, b: &Side, second: &str) -> Result<SessionDiff, CommandError> {
    let Opened { log: mut left, warning: left_warning, .. } = a.log(first)?;
    let Opened { log: mut right, warning: right_warning, .. } = b.log(second)?;
    let formats = (left.session.format.clone(), right.session.format.clone());
    let stream = |side: &Side, name: &str| {
        let path = side.place(name).into();
        |source| CommandError::Stream { path, source }
    };
    let (active_left, active_right) = (left.active(), right.active());
    let old = spoken(&mut left, &active_left).map_err(stream(a, first))?;
    let new = spoken(&mut right, &active_right).map_err(stream(b, second))?;
    let members = if formats.0 == formats.1 { Members::All } else { Members::Shared };
    let changes = message_changes((&mut left, &old), (&mut right, &new), members).map_err(stream(a, first))?;
    let about = |change: &MessageChange| {
        let of = |list: &[Spoken], number: Option<usize>| number.and_then(|number| list.get(number - 1).cloned());
        of(&new, change.second).or_else(|| of(&old, change.first))
    };
    let changes: Vec<ChangedMessage> =
        changes.into_iter().filter_map(|change| about(&change).map(|about| ChangedMessage { change, about })).collect();
    // Heads of different programs have different names.
    let heads = if members == Members::All { lone_heads(&left, &right) } else { Vec::new() };
    let broken = lone_pieces(&mut left, &mut right).map_err(stream(a, first))?;
    let others = lone_others(&mut left, &mut right, members).map_err(stream(a, first))?;
    let warnings = [(left_warning, a.place(first)), (right_warning, b.place(second))];
    let warnings = warnings.into_iter().filter_map(|(warning, place)| warning.map(|warning| (warning, place))).collect();
    Ok(SessionDiff { kind: left.session.kind, formats, counts: (old.len(), new.len()), changes, heads, broken, others, warnings })
}

fn lone_heads(a: &LogView<LogBytes>, b: &LogView<LogBytes>) -> Vec<String> {
    let names = |log: &LogView<LogBytes>| -> BTreeSet<String> { log.state().heads().map(|(name, _)| name.to_string()).collect() };
    let (in_a, in_b) = (names(a), names(b));
    let only = |these: &BTreeSet<String>, those: &BTreeSet<String>, side: &str| -> Vec<String> {
        these.difference(those).map(|name| format!("{name} is only in {side}")).collect()
    };
    [only(&in_a, &in_b, "A"), only(&in_b, &in_a, "B")].concat()
}

/// Damage, and what was salvaged from it, that only one of two logs has.
fn lone_pieces(a: &mut LogView<LogBytes>, b: &mut LogView<LogBytes>) -> Result<Vec<Broken>, StreamError> {
    let mut list = Vec::new();
    for (kind, in_a, in_b) in [("damage", damaged(a)?, damaged(b)?), ("salvaged", salvaged(a)?, salvaged(b)?)] {
        let (only_a, only_b) = (Multiset::of(&in_b).lacks(in_a.clone()), Multiset::of(&in_a).lacks(in_b));
        list.extend(only_a.into_iter().map(|piece| Broken { kind, side: "A", piece }));
        list.extend(only_b.into_iter().map(|piece| Broken { kind, side: "B", piece }));
    }
    Ok(list)
}

/// Facts, companion files and metadata that only one of two logs has. Metadata of
/// different programs has different words.
fn lone_others(a: &mut LogView<LogBytes>, b: &mut LogView<LogBytes>, members: Members) -> Result<Vec<Other>, StreamError> {
    let of = |log: &mut LogView<LogBytes>| -> Result<Vec<Spoken>, StreamError> {
        let mut list = facts(log)?;
        list.retain(|piece| members == Members::All || piece.class != PieceClass::Metadata);
        Ok(list)
    };
    let (in_a, in_b) = (of(a)?, of(b)?);
    let (only_a, only_b) = (Multiset::of(&in_b).lacks(in_a.clone()), Multiset::of(&in_a).lacks(in_b));
    let only_a = only_a.into_iter().map(|piece| Other { side: "A", piece });
    Ok(only_a.chain(only_b.into_iter().map(|piece| Other { side: "B", piece })).collect())
}

fn count(compared: &SessionDiff, totals: &mut Totals) {
    for ChangedMessage { change, .. } in &compared.changes {
        *match change.fate {
            Fate::Added => &mut totals.added,
            Fate::Removed => &mut totals.removed,
            Fate::Changed(_) => &mut totals.changed,
            Fate::Moved => &mut totals.moved,
            Fate::Restamped { .. } => &mut totals.restamped,
        } += 1;
    }
    totals.heads += compared.heads.len() as u64;
    totals.broken += compared.broken.len() as u64;
    for Other { piece, .. } in &compared.others {
        *match piece.class {
            PieceClass::Message | PieceClass::Damage => &mut totals.broken,
            PieceClass::Fact => &mut totals.facts,
            PieceClass::Companion => &mut totals.companions,
            PieceClass::Metadata => &mut totals.metadata,
        } += 1;
    }
}

/// What `--json` says of one change.
#[derive(Debug, Serialize)]
struct Json<'a> {
    schema: u32,
    session: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    session_b64: Option<&'a str>,
    change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    a: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    b: Option<usize>,
    role: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<&'a str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    fields: Vec<&'a str>,
}

fn name_of(fate: &Fate) -> &'static str {
    match fate {
        Fate::Added => "added",
        Fate::Removed => "removed",
        Fate::Changed(_) => "changed",
        Fate::Moved => "moved",
        Fate::Restamped { .. } => "restamped",
    }
}

fn report(compared: &SessionDiff, (first, second): (&str, &str), session_b64: Option<&str>, job: &CompareJob, out: &Printer) {
    let quotes = job.showing.quoting == Quoting::Windows;
    if out.form() == Form::Json {
        for ChangedMessage { change, about } in &compared.changes {
            let fields = match &change.fate {
                Fate::Changed(changes) => changes.list.iter().map(|change| change.path.as_str()).collect(),
                Fate::Added | Fate::Removed | Fate::Moved | Fate::Restamped { .. } => Vec::new(),
            };
            let text = Some(about.excerpt.as_str()).filter(|_| quotes);
            let (a, b) = (change.first, change.second);
            out.object(&Json {
                schema: 1,
                session: first,
                session_b64,
                change: name_of(&change.fate),
                a,
                b,
                role: &about.role,
                text,
                fields,
            });
        }
        for head in &compared.heads {
            out.object(&serde_json::json!({ "schema": 1, "session": first, "change": "head", "what": head }));
        }
        for Broken { kind, side, piece } in &compared.broken {
            let text = Some(&piece.excerpt).filter(|_| quotes);
            out.object(&serde_json::json!({ "schema": 1, "session": first, "change": kind, "only_in": side, "event": piece.seq.number(), "text": text }));
        }
        for Other { side, piece } in &compared.others {
            let text = Some(&piece.excerpt).filter(|_| quotes);
            out.object(&serde_json::json!({ "schema": 1, "session": first, "change": piece.role, "only_in": side, "event": piece.seq.number(), "text": text }));
        }
        return;
    }
    if compared.changes.is_empty() && compared.heads.is_empty() && compared.broken.is_empty() && compared.others.is_empty() {
        return;
    }
    let names = if first == second { visible(first) } else { format!("{} and {}", visible(first), visible(second)) };
    let formats = if compared.formats.0 == compared.formats.1 {
        visible(&compared.formats.0)
    } else {
        format!("{} and {}", visible(&compared.formats.0), visible(&compared.formats.1))
    };
    out.text(&format!("{names} ({formats}): {} and {} messages", compared.counts.0, compared.counts.1));
    for shown in compared.changes.iter().take(job.most) {
        out.text(line(shown, job.showing));
    }
    let rest = compared.changes.len().saturating_sub(job.most) as u64;
    if rest > 0 {
        out.text(&format!("  and {}", text::count(rest, "more difference")));
    }
    compared.heads.iter().for_each(|head| out.text(&format!("  {}", visible(head))));
    for Broken { kind, side, piece } in compared.broken.iter().take(job.most) {
        let quoted = if quotes { format!(": {}", visible(&piece.excerpt)) } else { String::new() };
        let what = if *kind == "damage" { "damaged bytes" } else { "a salvaged message" };
        out.text(&format!("  ! {what} only in {side}, event {}{quoted}", piece.seq));
    }
    let rest = compared.broken.len().saturating_sub(job.most) as u64;
    if rest > 0 {
        out.text(&format!("  and {}", text::count(rest, "more damaged piece")));
    }
    for Other { side, piece } in compared.others.iter().take(job.most) {
        let quoted = if quotes { format!(": {}", visible(&piece.excerpt)) } else { String::new() };
        out.text(&format!("  ! a {} only in {side}, event {}{quoted}", what(piece), piece.seq));
    }
    let rest = compared.others.len().saturating_sub(job.most) as u64;
    if rest > 0 {
        out.text(&format!("  and {}", text::count(rest, "more fact or file")));
    }
}

/// Returns what reports call a piece that is not a message.
fn what(piece: &Spoken) -> String {
    match piece.class {
        PieceClass::Companion => "companion file".to_owned(),
        PieceClass::Metadata => format!("metadata record ({})", piece.role),
        PieceClass::Message | PieceClass::Damage | PieceClass::Fact => piece.role.replace('_', " "),
    }
}

/// One change on a line, or on a few.
fn line(shown: &ChangedMessage, showing: Showing) -> Styled {
    let ChangedMessage { change, about } = shown;
    let number = |number: Option<usize>| number.map(|number| number.to_string()).unwrap_or_default();
    let quoted = if showing.quoting == Quoting::Windows { format!(": {}", visible(&about.excerpt)) } else { String::new() };
    let said = format!("{}{quoted}", visible(&about.role));
    let time = |ts: &Option<String>| ts.clone().unwrap_or_else(|| "no time".to_owned());
    let plain = |text: String| Styled::of(Tint::Plain, text);
    match &change.fate {
        Fate::Added => Styled::of(Tint::Added, format!("  + message {} is only in B, {said}", number(change.second))),
        Fate::Removed => Styled::of(Tint::Removed, format!("  - message {} is only in A, {said}", number(change.first))),
        Fate::Moved => plain(format!("  > message {} stands as message {} in B, {said}", number(change.first), number(change.second))),
        Fate::Restamped { from, to } => {
            plain(format!("  @ message {} has another time: {} is {} in B", number(change.first), visible(&time(from)), visible(&time(to))))
        }
        Fate::Changed(changes) => {
            let mut text = Styled::from(&format!("  ~ message {} differs, {}", number(change.first), visible(&about.role)));
            for change in changes.list.iter().take(MEMBERS) {
                let said = if showing.quoting == Quoting::Windows { json_change(change, showing) } else { plain(visible(&change.path)) };
                text.push_str("\n      ");
                text.append(said);
            }
            let rest = changes.list.len().saturating_sub(MEMBERS) as u64 + changes.more;
            if rest > 0 {
                let _ = write!(text, "\n      and {}", text::count(rest, "more member"));
            }
            text
        }
    }
}

/// Adds the exact name of a session to a row, where it is not UTF-8.
fn add_exact(row: &mut serde_json::Value, side: &Side, session: &str) {
    if let (Some(b64), Some(row)) = (side.name_b64(session), row.as_object_mut()) {
        row.insert("session_b64".to_owned(), b64.into());
    }
}

fn report_alone(name: &str, side: &Side, change: &'static str, out: &Printer) {
    if out.form() == Form::Json {
        let mut row = serde_json::json!({ "schema": 1, "session": name, "change": change });
        add_exact(&mut row, side, name);
        return out.object(&row);
    }
    let letter = if change == "session_removed" { "A" } else { "B" };
    out.text(&format!("{} is only in {letter}\n  at {}", visible(name), visible(&side.place(name))));
}

fn summary(totals: &Totals) -> String {
    if totals.is_nothing() {
        return format!("{} compared: the same messages", totals.units.text());
    }
    let counts = [
        (totals.added, "added"),
        (totals.removed, "removed"),
        (totals.changed, "changed"),
        (totals.moved, "moved"),
        (totals.restamped, "re-stamped"),
    ];
    let mut list: Vec<String> =
        counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{} {what}", text::thousands(*count))).collect();
    let things = [
        (totals.heads, "head", "on one side"),
        (totals.broken, "damaged piece", "on one side"),
        (totals.facts, "other fact", "on one side"),
        (totals.companions, "companion file", "on one side"),
        (totals.metadata, "metadata record", "on one side"),
        (totals.only_in_a, "session", "only in A"),
        (totals.only_in_b, "session", "only in B"),
        (totals.not_compared, "thing", "that could not be looked at"),
    ];
    let counted = things.iter().filter(|(count, ..)| *count > 0);
    list.extend(counted.map(|(count, what, where_it_is)| format!("{} {where_it_is}", text::count(*count, what))));
    format!("{} compared: {}", totals.units.text(), list.join(", "))
}
