//! What a program keeps as text, taken apart before it is exported or compared.

use crate::adapters::exporter::{Exporter, Kinship, Spoken};
use crate::json::Value;
use crate::model::event::EventKind;
use crate::model::stream::StreamError;

use super::source::SourceEvent;

/// Shows each message as the program understands it. Its payload stays as the log
/// has it.
///
/// # Errors
/// When the program's own form of a message is not valid JSON.
pub fn understand(events: &mut [SourceEvent], exporter: &dyn Exporter, kinship: Kinship) -> Result<(), StreamError> {
    let mut before: Option<Vec<u8>> = None;
    for event in events.iter_mut().filter(|event| event.kind == EventKind::Message) {
        let spoken = Spoken { payload: Value::trusted(&event.payload), before: before.as_deref().map(Value::trusted), kinship };
        let understood = exporter.understood(spoken);
        if let Some(payload) = &understood {
            event.message = SourceEvent::from_payload(event.seq, event.kind, event.ts.clone(), payload.clone())?.message;
        }
        before = Some(understood.unwrap_or_else(|| event.payload.clone()));
    }
    Ok(())
}
