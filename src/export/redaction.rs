//! A path without its secrets, for exports that leave the machine.

use crate::json::{self, Value};
use crate::model::event::EventKind;
use crate::model::export::loss::LossCode;
use crate::model::ids::Seq;
use crate::redact::{Redactor, RemovedFrom};

use super::source::{SourceEvent, SourcePath};

/// Takes the secrets out of what a path says, and declares where some were. What
/// the path's events carry for the way back is not looked into: it must not go
/// along.
pub(super) fn redact(path: &mut SourcePath, redactor: &mut Redactor) {
    let events = std::mem::take(&mut path.events);
    path.events = events.into_iter().filter_map(|event| redacted(event, redactor)).collect();
    path.session = redactor.session(path.session.clone());
    let redactions = redactor.redactions();
    for place in redactions.removed.iter().flat_map(|one| &one.places) {
        let seq = match place {
            RemovedFrom::Session => Seq::new(1),
            RemovedFrom::Message(seq) => *seq,
        };
        path.losses.add(LossCode::Redacted, seq);
    }
    redactions.left_out.iter().for_each(|seq| path.losses.add(LossCode::Redacted, *seq));
}

fn redacted(mut event: SourceEvent, redactor: &mut Redactor) -> Option<SourceEvent> {
    if let Some(message) = event.message.take() {
        let message = redactor.message(message)?;
        event.payload = message.raw.as_str().as_bytes().to_vec();
        event.message = Some(message);
    } else if event.kind == EventKind::ModelChange || event.kind == EventKind::Meta {
        event.payload = words_of(&event, redactor);
    }
    Some(event)
}

/// The texts of an entry that is not a message: targets have a place for no more.
fn words_of(event: &SourceEvent, redactor: &mut Redactor) -> Vec<u8> {
    let mut out = vec![b'{'];
    for member in Value::trusted(&event.payload).members().filter(|member| member.value().is_string()) {
        if out.len() > 1 {
            out.push(b',');
        }
        let text = member.value().to_str();
        let place = RemovedFrom::Message(event.seq);
        out.extend_from_slice(member.key());
        out.push(b':');
        json::push_string(&redactor.text(&text, place).unwrap_or_else(|| text.into_owned()), &mut out);
    }
    out.push(b'}');
    out
}
