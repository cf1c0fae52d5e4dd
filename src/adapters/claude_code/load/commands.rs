//! Commands that were carried out on the spot and not by the model.

use std::collections::HashSet;

use crate::runtimes::javascript::{Type, Value};

use super::record::{Kind, Record};
use super::tree::{Index, Tree};

/// The records of a list that are such a command or its output.
pub(super) fn completed(tree: &Tree<'_>, list: &[Index]) -> HashSet<Index> {
    let (mut is_open, mut is_behind_command) = (false, false);
    let mut marked = HashSet::new();
    for &index in list {
        let record = &tree.records[index];
        match record.kind {
            Kind::Attachment | Kind::System | Kind::Progress => continue,
            Kind::Assistant => (is_open, is_behind_command) = (false, false),
            Kind::User => {
                let text = text(record);
                let is_from_program = !Value::accepted(record.line).get("promptSource").is_truthy();
                let begins = |with: &[u8]| is_from_program && text.starts_with(with);
                if record.is_meta {
                    is_open |= begins(b"<local-command-caveat>");
                } else if is_open && begins(b"<command-name>") {
                    (is_open, is_behind_command) = (false, true);
                    marked.insert(index);
                } else if is_behind_command && (begins(b"<local-command-stdout>") || begins(b"<local-command-stderr>")) {
                    marked.insert(index);
                } else {
                    (is_open, is_behind_command) = (false, false);
                }
            }
        }
    }
    marked
}

/// The text of a message: all of it, or its last text block.
fn text<'a>(record: &Record<'a>) -> std::borrow::Cow<'a, [u8]> {
    let content = record.message.get("content");
    if content.type_of() == Type::String {
        return content.text().unwrap_or_default();
    }
    record.blocks_of("text").last().and_then(|block| block.get("text").text()).unwrap_or_default()
}
