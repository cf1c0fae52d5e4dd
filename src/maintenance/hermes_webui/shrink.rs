//! Whether a sidecar that has fewer messages than its backup was meant to.

use crate::json::Value;

use super::document::{Document, get, is_true, number, text_of};

/// Tells whether the live file says that its shrinking was intended and the backup
/// is from before. Where in doubt it was not: to restore is the lesser evil.
pub(super) fn is_intended(live: &Document<'_>, backup: &Document<'_>) -> bool {
    live.fault.is_none()
        && backup.fault.is_none()
        && (was_cleared(live, backup) || was_compressed(live, backup) || another(live, backup, "intentional_shrink_generation"))
}

/// Tells whether the live file bears a mark of this name that the backup does not.
fn another(live: &Document<'_>, backup: &Document<'_>, key: &str) -> bool {
    let mark = live.text(key).filter(|mark| !mark.is_empty());
    mark.is_some() && backup.text(key) != mark
}

fn was_cleared(live: &Document<'_>, backup: &Document<'_>) -> bool {
    if !another(live, backup, "clear_generation") {
        return false;
    }
    let is_zero = |key: &str| live.number(key) == Some(0.0);
    if !is_zero("truncation_watermark") || !is_zero("truncation_boundary") {
        return false;
    }
    let is_empty = |key: &str| live.get(key).is_some_and(|list| list.is_array() && !is_true(Some(list)));
    let is_null = |key: &str| live.get(key).is_some_and(|value| value.is_null());
    // Either nothing has happened since, or something was said again.
    live.count() > 0
        || (["messages", "context_messages", "pending_attachments"].into_iter().all(is_empty)
            && ["active_stream_id", "pending_user_message", "pending_started_at", "pending_user_source"].into_iter().all(is_null))
}

/// A compression replaces what the model sees; a backup from before it holds
/// more of that, and no note that it was compressed.
fn was_compressed(live: &Document<'_>, backup: &Document<'_>) -> bool {
    let length = |document: &Document<'_>, key: &str| document.elements(key).count();
    let is_shorter = live.get("context_messages").is_some_and(|list| list.is_array())
        && live.count() >= 0
        && (length(live, "context_messages") as i64) < live.count();
    let says = |key: &str| live.get(key).map(text_of).is_some_and(|text| !text.trim().is_empty());
    let is_set = |key: &str| live.get(key).is_some_and(|value| !value.is_null());
    let is_manual = live.text("compression_anchor_mode").is_some_and(|mode| mode.trim().eq_ignore_ascii_case("manual"));
    let is_anchored = is_shorter && says("compression_anchor_summary") && is_set("compression_anchor_message_key");
    let is_marked = is_shorter && live.get("truncation_watermark").and_then(number).is_some();
    (is_manual || is_anchored || is_marked)
        && !backup.elements("context_messages").any(is_compaction_note)
        && length(backup, "context_messages") > length(live, "context_messages")
}

/// A row that says that what came before it was compressed.
fn is_compaction_note(row: Value<'_>) -> bool {
    if !row.is_object() {
        return false;
    }
    let members: Vec<_> = row.all_members();
    let text = get(&members, "content").map(text_of).unwrap_or_default().trim_start().to_lowercase();
    let notes = ["[context compaction", "[your active task list was preserved across context compression]", "[session arc summary"];
    notes.iter().any(|note| text.starts_with(note))
        || (is_true(get(&members, "_compressed_summary")) && text.starts_with("context compaction"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn intended(live: &str, backup: &str) -> bool {
        is_intended(&Document::of(live.as_bytes()), &Document::of(backup.as_bytes()))
    }

    #[test]
    fn only_a_mark_that_the_backup_lacks_makes_a_shrink_intended() {
        let backup = r#"{"messages":[1,2,3],"context_messages":[1,2,3]}"#;
        assert!(!intended(r#"{"messages":[1]}"#, backup));
        assert!(intended(r#"{"messages":[1],"intentional_shrink_generation":"g"}"#, backup));
        let marked = r#"{"messages":[1,2,3],"intentional_shrink_generation":"g"}"#;
        assert!(!intended(r#"{"messages":[1],"intentional_shrink_generation":"g"}"#, marked), "the backup is of the same generation");
        assert!(!intended("{", backup) && !intended(r#"{"messages":[]}"#, "{"));
    }

    #[test]
    fn a_clear_counts_while_its_marks_are_whole() {
        let backup = r#"{"messages":[1,2,3]}"#;
        let rest = r#""context_messages":[],"active_stream_id":null,"pending_user_message":null,"pending_attachments":[],"pending_started_at":null,"pending_user_source":null"#;
        let zero = r#""clear_generation":"c","truncation_watermark":0.0,"truncation_boundary":0.0"#;
        assert!(intended(&format!(r#"{{"messages":[],{zero},{rest}}}"#), backup));
        assert!(intended(&format!(r#"{{"messages":[1],{zero}}}"#), backup), "and something was said since");
        assert!(!intended(&format!(r#"{{"messages":[],{zero}}}"#), backup), "an empty transcript must bear every mark");
        assert!(!intended(r#"{"messages":[1],"clear_generation":"c","truncation_watermark":7,"truncation_boundary":0.0}"#, backup));
    }

    #[test]
    fn a_compression_counts_against_older_backups_only() {
        let live = r#"{"messages":[1,2],"context_messages":[1],"compression_anchor_mode":"manual"}"#;
        assert!(intended(live, r#"{"messages":[1,2,3],"context_messages":[1,2,3]}"#));
        assert!(!intended(live, r#"{"messages":[1,2,3],"context_messages":[{"role":"user","content":"[CONTEXT COMPACTION — x"},2]}"#));
        assert!(!intended(live, r#"{"messages":[1,2,3],"context_messages":[1]}"#));
    }
}
