//! One export from beginning to end: read, prepared, paired, written, and proven.

use crate::adapters::exporter::{Exporter, Kinship};
use crate::adapters::format::Format;
use crate::log::LogView;
use crate::model::export::ability::Ability;
use crate::model::export::loss::{LossCode, Losses};
use crate::model::export::transcript::{Body, Seed};
use crate::model::ids::Seq;
use crate::model::stream::{ReadAt, StreamError};
use crate::redact::Redactor;

use super::carry::Origin;
use super::error::ExportError;
use super::finish::Asked;
use super::pairing::Pairing;
use super::prepare::{Draft, Prepared, prepare};
use super::shorten::shorten;
use super::source::{self, Depth, SourceEvent};
use super::understand::understand;
use super::wanted::{Export, Extension, Wanted};
use super::{carry, finish, prove, redaction};

/// Exports one path of a log.
///
/// # Errors
/// When the log cannot be read, the format cannot be exported to, there is
/// nothing to export, or the proof fails.
pub fn export<R: ReadAt>(log: &mut LogView<R>, source: Option<&dyn Format>, wanted: &Wanted) -> Result<Export, ExportError> {
    export_redacted(log, source, wanted, None)
}

/// Exports one path of a log, without its secrets where something takes them out.
/// Such an export is bare and is never taken for the program's own: what would go
/// along for the way back has the secrets.
///
/// # Errors
/// As [`export`].
pub fn export_redacted<R: ReadAt>(
    log: &mut LogView<R>,
    source: Option<&dyn Format>,
    wanted: &Wanted,
    redactor: Option<&mut Redactor>,
) -> Result<Export, ExportError> {
    let Some(exporter) = wanted.target.exporter() else { return Err(ExportError::NoTarget { format: wanted.target.id().to_owned() }) };
    let abilities = exporter.abilities();
    let depth = if abilities.can(Ability::Compactions) { Depth::Everything } else { Depth::Shown };
    let mut path = source::read(log, wanted.node, depth)?;
    if let Some(source) = source.and_then(Format::exporter) {
        // Before what came from elsewhere is what it was there.
        understand(&mut path.events, source, Kinship::of(&path.session.format, wanted.target.id()))?;
        let beside = carry::beside(log, source)?;
        path.events = carry::originals(path.events, source, wanted.target.id(), &beside)?;
    }
    let is_redacted = redactor.is_some();
    if let Some(redactor) = redactor {
        redaction::redact(&mut path, redactor);
    }
    let format_of = |event: &SourceEvent| event.format.clone().unwrap_or_else(|| path.session.format.as_str().into());
    // What was redacted is no longer what its program signed.
    let kinship = |event: &SourceEvent| if is_redacted { Kinship::Foreign } else { Kinship::of(&format_of(event), wanted.target.id()) };
    let kinships: Vec<Kinship> = path.events.iter().map(kinship).collect();
    let seed = Seed::of(wanted.target.id(), &path.seal, &wanted.head);
    let sent = path.session.summary.clone().filter(|_| source.and_then(Format::exporter).is_some_and(Exporter::sends_summary));
    let Prepared { mut drafts, summary, mut losses } = prepare(&path.events, &kinships, sent, exporter, std::mem::take(&mut path.losses));
    if let Some(model) = &wanted.model {
        set_model(&mut drafts, model);
    }
    let mut drafts = Pairing { events: &path.events, seed: &seed, losses: &mut losses }.settle(drafts, abilities);
    reword(&mut drafts, &path.events, &kinships, exporter, &mut losses);
    shorten(&mut drafts, &path.events, exporter, &mut losses);
    note_foreign_tools(&drafts, &path.events, exporter, &mut losses);
    if !drafts.iter().any(|draft| matches!(draft.body, Body::User(_) | Body::Answer(_))) {
        return Err(ExportError::Empty);
    }
    let asked =
        Asked { target: wanted.target.id(), cwd: wanted.cwd.as_deref(), title: wanted.title.as_deref(), folder: wanted.folder.as_deref() };
    let (mut transcript, origins) = finish::transcript(&path, drafts, seed, abilities, &mut losses, asked);
    transcript.summary = summary;
    if exporter.prunes_above().is_some_and(|most| transcript.entries.len() > most) {
        losses.add(LossCode::TargetPrunes, Seq::new(1));
    }
    let bare = exporter.write(&transcript);
    let read = prove::read_back(wanted.target, &bare, transcript.entries.len())?;
    prove::settle_losses(&path.events, &origins, &read, &mut losses, wanted.model.as_deref())?;
    let records = transcript.entries.len();
    let extension = if is_redacted { Extension::Bare } else { wanted.extension };
    let session = match extension {
        Extension::Bare => bare,
        Extension::Carried => {
            let members = carry::members(&path.seal, &path.about, &path.events, &origins, &read, exporter);
            for (entry, member) in transcript.entries.iter_mut().zip(members) {
                entry.carried = Some(member);
            }
            let session = exporter.write(&transcript);
            // The extension must not change what the program shows.
            let with_extension = prove::read_back(wanted.target, &session, records)?;
            prove::same(&read, &with_extension)?;
            session
        }
    };
    Ok(Export { session, losses, records, listing: exporter.listing(&transcript) })
}

/// Gives back the events that the path to a node is made of, as they were before
/// the session was exported, where it was.
///
/// # Errors
/// When the log cannot be read.
pub fn originals<R: ReadAt>(log: &mut LogView<R>, format: &dyn Format, node: Seq) -> Result<Vec<SourceEvent>, StreamError> {
    let path = source::read(log, node, Depth::Everything)?;
    match format.exporter() {
        Some(exporter) => {
            let beside = carry::beside(log, exporter)?;
            carry::originals(path.events, exporter, format.id(), &beside)
        }
        None => Ok(path.events),
    }
}

/// Notes the calls that the program keeps and does not send to the model.
fn note_foreign_tools(drafts: &[Draft], events: &[SourceEvent], exporter: &dyn Exporter, losses: &mut Losses) {
    for draft in drafts {
        let (Body::Answer(answer), Origin::Events(of)) = (&draft.body, &draft.origin) else { continue };
        if answer.calls().any(|call| !exporter.offers(&call.name)) {
            of.iter().for_each(|at| losses.add(LossCode::ToolNotOffered, events[*at].seq));
        }
    }
}

/// Lets the target change what it would take for something else.
fn reword(drafts: &mut [Draft], events: &[SourceEvent], kinships: &[Kinship], exporter: &dyn Exporter, losses: &mut Losses) {
    for draft in drafts {
        let of = match &draft.origin {
            Origin::Events(of) => of.as_slice(),
            Origin::Invented(_) => &[],
        };
        let is_own = !of.is_empty() && of.iter().all(|at| kinships[*at] == Kinship::SameFormat);
        if !is_own && exporter.reword(&mut draft.body) {
            of.iter().for_each(|at| losses.add(LossCode::TextAltered, events[*at].seq));
        }
    }
}

/// Gives all answers this model.
pub(super) fn set_model(drafts: &mut [Draft], model: &str) {
    let (provider, model) = model.split_once('/').map_or((None, model), |(provider, model)| (Some(provider), model));
    for draft in drafts {
        if let Body::Answer(answer) = &mut draft.body {
            answer.model = Some(model.to_owned());
            answer.provider = provider.map(str::to_owned).or(answer.provider.take());
        }
    }
}
