//! Commands that were carried out on the spot and not by the model.

use crate::runtimes::javascript::{Type, Value};

use super::record::{Kind, Record};

/// What the text of a user record begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Says {
    Caveat,
    Command,
    Output,
    Other,
}

const BEGINNINGS: [(&[u8], Says); 4] = [
    (b"<command-name>", Says::Command),
    (b"<local-command-stdout>", Says::Output),
    (b"<local-command-stderr>", Says::Output),
    (b"<local-command-caveat>", Says::Caveat),
];

impl Says {
    fn of(record: &Record<'_>) -> Says {
        if !Value::accepted(record.line).get("promptSource").is_undefined() {
            return Says::Other;
        }
        let content = record.message.get("content");
        let last_block = || record.blocks_of("text").last().and_then(|block| block.get("text").text());
        let text = if content.type_of() == Type::String { content.text() } else { last_block() };
        let text = text.unwrap_or_default();
        BEGINNINGS.iter().find(|(start, _)| text.starts_with(start)).map_or(Says::Other, |(_, says)| *says)
    }
}

/// Which records of a list are such a command or its output: what follows a caveat,
/// up to the first record that is neither. Several caveats may wait at once, some
/// for their command and some for its output.
pub(super) fn completed(list: &[&Record<'_>]) -> Vec<bool> {
    let (mut awaits_command, mut awaits_output) = (false, false);
    let mut judge = |record: &&Record<'_>| {
        match record.kind {
            Kind::Attachment | Kind::System | Kind::Progress => return false,
            Kind::Assistant => {
                (awaits_command, awaits_output) = (false, false);
                return false;
            }
            Kind::User => {}
        }
        let says = Says::of(record);
        if record.is_meta {
            awaits_command |= says == Says::Caveat;
            return false;
        }
        let is_part = match says {
            Says::Command => awaits_command,
            Says::Output => awaits_output,
            Says::Caveat | Says::Other => false,
        };
        (awaits_command, awaits_output) = (false, is_part);
        is_part
    };
    list.iter().map(&mut judge).collect()
}
