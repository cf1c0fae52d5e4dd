//! Every message of the agent's database, to be compared with logs.

use crate::json::{self, Dialect, Value};
use crate::model::database::{Cell, DatabaseMessage, Query, Tables, TablesError};

use super::document::without_workspace;

/// What the agent puts before content that is a list of parts.
pub(super) const LIST: &str = "\0json:";

/// Reads every message, inactive ones included: they are shown no more, and no
/// other file may have them.
pub(super) fn messages(tables: &dyn Tables) -> Result<Vec<DatabaseMessage>, TablesError> {
    let wanted = ["session_id", "role", "content"];
    let known = tables.columns("messages");
    if !wanted.iter().all(|name| known.iter().any(|column| column == name)) {
        return Err(TablesError("it has no table of messages that is known".to_owned()));
    }
    let mut found = Vec::new();
    tables.rows(&Query { table: "messages", columns: &wanted, only: None, order: &["session_id", "rowid"] }, &mut |cells| {
        let text = |cell: &Cell| match cell {
            Cell::Text(text) => text.clone(),
            Cell::Bytes(bytes) => String::from_utf8_lossy(bytes).into_owned(),
            Cell::Integer(number) => number.to_string(),
            Cell::Real(number) => number.to_string(),
            Cell::Null => String::new(),
        };
        let content = text(&cells[2]);
        let said = content.strip_prefix(LIST).map_or_else(|| content.clone(), texts_of_list);
        let prompt = without_workspace(&said);
        let mut texts = vec![prompt.to_owned(), without_uploads(prompt).to_owned(), said.clone(), content];
        texts.dedup();
        found.push(DatabaseMessage { session: text(&cells[0]), role: text(&cells[1]), texts });
    })?;
    Ok(found)
}

/// Returns a prompt without the note about uploads that the WebUI puts after it in the
/// database; in its own files they stand in a member of their own.
fn without_uploads(prompt: &str) -> &str {
    match prompt.rfind("\n\n[Attached files: ").filter(|_| prompt.ends_with(']')) {
        Some(at) => &prompt[..at],
        None => prompt,
    }
}

/// Returns the texts of a list of parts, one after the other. What is not such a list
/// is a text itself.
pub(super) fn texts_of_list(list: &str) -> String {
    // What follows the list is left out.
    let scanned = json::scan_value(list.as_bytes(), Dialect::Python).ok();
    let Some(list) = scanned.map(|scan| scan.value).filter(|value| value.is_array() && list.starts_with('[')) else {
        return list.to_owned();
    };
    let text = |part: Value<'_>| part.first("text").unwrap_or(part).to_str().into_owned();
    list.elements().map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_compared_without_what_the_program_puts_around_it() {
        assert_eq!(without_uploads("look\n\n[Attached files: /a, /b]"), "look");
        assert_eq!(without_uploads("look\n\n[Attached files: /a] and"), "look\n\n[Attached files: /a] and");
        assert_eq!(texts_of_list(r#"[{"type": "text", "text": "one"}, "two", {"type": "image"}, 3]"#), "onetwo");
        assert_eq!(texts_of_list("{} no list"), "{} no list");
    }
}
