//! Pictures in documents: those whose kind readers of documents know.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::export::carry::Origin;
use crate::export::prepare::Draft;
use crate::export::source::SourceEvent;
use crate::model::export::loss::{LossCode, Losses};
use crate::model::export::transcript::{Answer, Body, CallResult, Image, Piece};

/// The kinds of pictures that readers of documents know, and the endings of their
/// files.
const KINDS: [(&str, &str); 4] = [("image/png", "png"), ("image/jpeg", "jpg"), ("image/gif", "gif"), ("image/webp", "webp")];

/// Returns what the file of a picture ends in; `None` where the picture cannot be
/// one that readers of documents know.
pub(super) fn ending(image: &Image) -> Option<&'static str> {
    KINDS.iter().find(|(kind, _)| *kind == image.media_type).map(|(_, ending)| *ending)
}

/// Returns the media type of a picture in a file with this ending.
pub(super) fn media_type(ending: &str) -> Option<&'static str> {
    KINDS.iter().find(|(_, known)| *known == ending).map(|(kind, _)| *kind)
}

/// Returns the bytes of a picture, where its base64 can be made of them again.
pub(super) fn bytes(image: &Image) -> Option<Vec<u8>> {
    STANDARD.decode(&image.data).ok()
}

/// Returns the base64 of bytes.
pub(super) fn data(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Puts a text in the place of each picture that a document cannot show.
pub(super) fn fit(drafts: &mut [Draft], events: &[SourceEvent], losses: &mut Losses) {
    for draft in drafts {
        let pieces = match &mut draft.body {
            Body::User(pieces) | Body::Note { pieces, .. } => pieces,
            Body::Result(CallResult { pieces, .. }) | Body::Answer(Answer { pieces, .. }) => pieces,
            Body::System(_) | Body::Compaction { .. } | Body::BranchSummary(_) | Body::Model { .. } | Body::Title(_) => continue,
        };
        for piece in pieces {
            let Piece::Image(image) = piece else { continue };
            if ending(image).is_some() && bytes(image).is_some() {
                continue;
            }
            *piece = Piece::Text(format!("[image: {}]", image.media_type));
            if let Origin::Events(of) = &draft.origin {
                of.iter().for_each(|at| losses.add(LossCode::ImageMissing, events[*at].seq));
            }
        }
    }
}
