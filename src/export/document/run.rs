//! One document from beginning to end: read, prepared, paired, written, and read
//! again.

use crate::adapters::exporter::Kinship;
use crate::adapters::format::Format;
use crate::export::carry::{self, Origin};
use crate::export::error::ExportError;
use crate::export::finish::{self, Asked};
use crate::export::pairing::Pairing;
use crate::export::prepare::{Draft, Prepared, prepare};
use crate::export::prove;
use crate::export::redaction;
use crate::export::run::set_model;
use crate::export::source::{self, Depth, SourceEvent};
use crate::export::understand::understand;
use crate::export::wanted::Export;
use crate::log::LogView;
use crate::model::export::ability::Ability;
use crate::model::export::loss::{LossCode, Losses};
use crate::model::export::transcript::{Body, Piece, Seed};
use crate::model::ids::Seq;
use crate::model::stream::ReadAt;
use crate::redact::Redactor;

use super::images;
use super::kind::{Document, SessionForm};

/// Which document is wanted, and of what.
#[derive(Clone)]
pub struct WantedDocument {
    /// The kind of document.
    pub document: &'static dyn Document,
    /// The last node of the path.
    pub node: Seq,
    /// The name of that path, which makes one export another than the next.
    pub head: String,
    /// Another folder than that of the session.
    pub cwd: Option<String>,
    /// Another model than those of the answers.
    pub model: Option<String>,
    /// Another title than that of the session.
    pub title: Option<String>,
}

/// Makes a document of one path of a log.
///
/// # Errors
/// When the log cannot be read, there is nothing to export, or the document does
/// not say what it should.
pub fn export_document<R: ReadAt>(
    log: &mut LogView<R>,
    source: Option<&dyn Format>,
    wanted: &WantedDocument,
    redactor: Option<&mut Redactor>,
) -> Result<Export, ExportError> {
    let document = wanted.document;
    let abilities = document.abilities();
    let depth = if abilities.can(Ability::Compactions) { Depth::Everything } else { Depth::Shown };
    let mut path = source::read(log, wanted.node, depth)?;
    if let Some(source) = source.and_then(Format::exporter) {
        understand(&mut path.events, source, Kinship::Foreign)?;
        let beside = carry::beside(log, source)?;
        path.events = carry::originals(path.events, source, document.id(), &beside)?;
    }
    if let Some(redactor) = redactor {
        redaction::redact(&mut path, redactor);
    }
    let seed = Seed::of(document.id(), &path.seal, &wanted.head);
    let kinships = vec![Kinship::Foreign; path.events.len()];
    let Prepared { mut drafts, mut losses, .. } = prepare(&path.events, &kinships, None, document, std::mem::take(&mut path.losses));
    if let Some(model) = &wanted.model {
        set_model(&mut drafts, model);
    }
    drafts.retain(|draft| !is_blank(&draft.body) || left_out(draft, &path.events, &mut losses));
    let mut drafts = Pairing { events: &path.events, seed: &seed, losses: &mut losses }.settle(drafts, abilities);
    if document.form() == SessionForm::AsItWas {
        // What was put there for a provider; that it is declared as lost is struck
        // when the document is read again.
        drafts.retain(|draft| matches!(draft.origin, Origin::Events(_)));
    }
    images::fit(&mut drafts, &path.events, &mut losses);
    if !drafts.iter().any(|draft| matches!(draft.body, Body::User(_) | Body::Answer(_))) {
        return Err(ExportError::Empty);
    }
    let asked = Asked { target: document.id(), cwd: wanted.cwd.as_deref(), title: wanted.title.as_deref(), folder: None };
    let (transcript, origins) = finish::transcript(&path, drafts, seed, abilities, &mut losses, asked);
    // A document without a folder says none.
    losses.retain(|code, _| code != LossCode::CwdInvented);
    let session = document.write(&transcript);
    let unproven = |what: String| ExportError::Unproven { seq: None, what };
    let said =
        document.read(&session, &transcript).map_err(|what| unproven(format!("the {} cannot be read again: {what}", document.id())))?;
    let records = transcript.entries.len();
    if said.len() != records {
        return Err(unproven(format!("the {} says {} of {records} things", document.id(), said.len())));
    }
    let numbered = said.iter().enumerate().map(|(n, said)| said.event(Seq::new(u32::try_from(n + 1).unwrap_or(u32::MAX))));
    let read: Vec<SourceEvent> = numbered.collect::<Result<_, _>>()?;
    for (_, origin) in said.iter().zip(&origins).filter(|(said, _)| said.ts.is_none()) {
        if let Origin::Events(of) = origin {
            let timed = of.iter().map(|at| &path.events[*at]).filter(|event| event.ts.is_some());
            timed.for_each(|event| losses.add(LossCode::TimeDropped, event.seq));
        }
    }
    prove::settle_losses(&path.events, &origins, &read, &mut losses, wanted.model.as_deref())?;
    Ok(Export { session, losses, records, listing: None })
}

/// Tells whether a message says nothing: a summary can be empty.
fn is_blank(body: &Body) -> bool {
    let says = |piece: &Piece| !matches!(piece, Piece::Text(text) if text.trim().is_empty());
    match body {
        Body::System(text) => text.trim().is_empty(),
        Body::User(pieces) | Body::Note { pieces, .. } => !pieces.iter().any(says),
        Body::Answer(answer) => !answer.pieces.iter().any(says) && answer.error.is_none(),
        Body::Result(_) | Body::Compaction { .. } | Body::BranchSummary(_) | Body::Model { .. } | Body::Title(_) => false,
    }
}

/// Declares that a draft is left out, and does not keep it.
fn left_out(draft: &Draft, events: &[SourceEvent], losses: &mut Losses) -> bool {
    if let Origin::Events(of) = &draft.origin {
        of.iter().for_each(|at| losses.add(LossCode::EmptyLeftOut, events[*at].seq));
    }
    false
}
