//! What the program shows of a node: the entry as it was, but for what it takes out or
//! adds when it makes a model's context of it.

use crate::adapters::kit::entries::show;
use crate::adapters::kit::tree::entry::get;
use crate::json::{self, Kind, Member};
use crate::model::event::EventKind;
use crate::model::shape::Shapes;
use crate::model::shown::{Place, Shown};
use crate::model::stream::StreamError;
use crate::runtimes::javascript as js;

use super::schema::SCHEMA;

/// The kinds of state that a provider's own compaction leaves with an answer, and that
/// is of no use once another one stands after it.
const CHECKPOINTS: [&str; 3] = ["openai-responses-compaction", "openai-responses-retained-compaction", "anthropic-compaction"];

/// Hands on what is shown of one node.
pub(super) fn show(shown: &Shown<'_>, shapes: &Shapes, hand_on: &mut dyn FnMut(&[u8])) -> Result<(), StreamError> {
    if shown.event.kind != EventKind::Message {
        return show::show(shown, shapes, SCHEMA, hand_on);
    }
    show::show(shown, shapes, SCHEMA, &mut |line| {
        let is_plain =
            ["excludeFromContext", "providerReplay", "\"custom\""].iter().all(|name| memchr::memmem::find(line, name.as_bytes()).is_none());
        if is_plain {
            return hand_on(line);
        }
        let members: Vec<Member<'_>> = json::all_members(line);
        if get(&members, "excludeFromContext") == Some(b"true") {
            return;
        }
        let has_role = |role: &str| get(&members, "role").is_some_and(|value| js::is_text(value, role));
        let is_dropped = |member: &Member<'_>| {
            member.name() == "providerReplay" && has_role("assistant") && shown.place == Place::Kept && is_checkpoint(member.value)
        };
        let adds_type = has_role("custom") && get(&members, "customType").is_none();
        if !adds_type && !members.iter().any(is_dropped) {
            return hand_on(line);
        }
        let mut kept: Vec<Vec<u8>> =
            members.iter().filter(|member| !is_dropped(member)).map(|member| [member.key, b":", member.value].concat()).collect();
        if adds_type {
            kept.push(b"\"customType\":\"hook\"".to_vec());
        }
        hand_on(&[b"{".as_slice(), &kept.join(&b','), b"}"].concat());
    })
}

fn is_checkpoint(replay: &[u8]) -> bool {
    json::kind_of(replay) == Kind::Object
        && get(&json::all_members(replay), "type").is_some_and(|kind| CHECKPOINTS.iter().any(|name| js::is_text(kind, name)))
}
