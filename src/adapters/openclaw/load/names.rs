//! Which file of a unit is what, by its name.

/// What a file is to its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// A live transcript.
    Live,
    /// A transcript that was reset, deleted or imported elsewhere.
    Archive,
    /// A copy from before the transcript was shortened: the transcript itself
    /// where nothing else is left.
    Shortened,
    /// Another copy of a transcript.
    Copy,
    /// Nothing that is loaded.
    Beside,
}

/// What a file of this name is.
#[must_use]
pub fn place_of(name: &str) -> Place {
    if name.ends_with(".trajectory.jsonl") || name.ends_with(".trajectory-path.json") {
        return Place::Beside;
    }
    if let Some(stem) = name.strip_suffix(".jsonl") {
        let is_checkpoint = stem.rsplit_once(".checkpoint.").is_some_and(|(_, id)| is_uuid(id));
        return if is_checkpoint { Place::Copy } else { Place::Live };
    }
    let Some((_, mark)) = name.rsplit_once(".jsonl.") else {
        return if is_import(name) { Place::Archive } else { Place::Beside };
    };
    match mark {
        // Compressed by generations that no longer load files.
        _ if mark.ends_with(".zst") => Place::Beside,
        _ if mark.starts_with("reset.") || mark.starts_with("deleted.") || is_import(name) => Place::Archive,
        _ if mark.starts_with("bak.") => Place::Shortened,
        // A new transcript that was not put in the old one's place.
        _ if mark.ends_with(".tmp") && (mark.starts_with("compact.") || mark.starts_with("repair.")) => Place::Copy,
        _ if mark.starts_with("bak-") || (mark.contains("repair-") && mark.ends_with(".bak")) => Place::Copy,
        _ => Place::Beside,
    }
}

/// What an import leaves of a transcript.
fn is_import(name: &str) -> bool {
    name.rsplit_once("jsonl.imported-").is_some_and(|(_, ms)| !ms.is_empty() && ms.bytes().all(|b| b.is_ascii_digit()))
}

fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, b)| if matches!(at, 8 | 13 | 18 | 23) { b == b'-' } else { b.is_ascii_hexdigit() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_a_file_is() {
        for (name, place) in [
            ("a.jsonl", Place::Live),
            ("a-topic-4%2F2.jsonl", Place::Live),
            ("a.checkpoint.1153272e-24d7-4d5c-b26c-b367e31fd597.jsonl", Place::Copy),
            ("a.checkpoint.x.jsonl", Place::Live),
            ("a.jsonl.corrupt-2026-11-15T23-27-00-132Z-0123abcd.jsonl", Place::Live),
            ("a.jsonl.bak-17-1794786429475", Place::Copy),
            ("a.jsonl.pre-doctor-branch-repair-2026-11-15T23-27-00-132Z.bak", Place::Copy),
            ("a.jsonl.openai-codex-repair-2026.bak", Place::Copy),
            ("a.jsonl.compact.0123abcd.tmp", Place::Copy),
            ("a.jsonl.repair.17.0123abcd.tmp", Place::Copy),
            ("a.jsonl.17.0123abcd.tmp", Place::Beside),
            ("a.jsonl.bak.2026-11-15T23-27-00.132Z", Place::Shortened),
            ("a.jsonl.reset.2026-11-15T23-27-00.132Z", Place::Archive),
            ("a.jsonl.deleted.2026-11-15T23-27-00Z", Place::Archive),
            ("agent_main.a.jsonl.imported-1794786429475", Place::Archive),
            ("legacy-store.sessions.json.imported-1794786429475", Place::Beside),
            ("a.jsonl.deleted.2026-11-15T23-27-00Z.zst", Place::Beside),
            ("a.trajectory.jsonl", Place::Beside),
            ("a.trajectory-path.json", Place::Beside),
            ("sessions.json", Place::Beside),
            ("sessions.json.bak.1794786429475", Place::Beside),
            ("jobs.json.bak", Place::Beside),
            ("a.jsonl.lock", Place::Beside),
        ] {
            assert_eq!(place_of(name), place, "{name}");
        }
    }
}
