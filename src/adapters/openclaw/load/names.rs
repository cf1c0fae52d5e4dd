//! Which file of a unit is what, by its name.

/// What a file is to its session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileRole {
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
    /// Nothing that is loaded, unless it is all that there is.
    Unknown,
}

/// Returns what a file of this name is.
#[must_use]
pub fn place_of(name: &str) -> FileRole {
    if name.ends_with(".lock") || name.ends_with(".trajectory.jsonl") || name.ends_with(".trajectory-path.json") {
        return FileRole::Beside;
    }
    if let Some(stem) = name.strip_suffix(".jsonl") {
        let is_checkpoint = stem.rsplit_once(".checkpoint.").is_some_and(|(_, id)| is_uuid(id));
        return if is_checkpoint { FileRole::Copy } else { FileRole::Live };
    }
    if name.ends_with(".tmp") {
        // A new transcript that was not put in the old one's place.
        let mark = name.rsplit_once(".jsonl.").map_or("", |(_, mark)| mark);
        let is_transcript = mark.starts_with("compact.") || mark.starts_with("repair.");
        return if is_transcript { FileRole::Copy } else { FileRole::Beside };
    }
    if is_list(name) {
        return FileRole::Beside;
    }
    let Some((_, mark)) = name.rsplit_once(".jsonl.").filter(|_| !is_of_store(name)) else { return FileRole::Unknown };
    let (word, time) = mark.split_once('.').unwrap_or((mark, ""));
    match word {
        "reset" | "deleted" if is_time(time) => FileRole::Archive,
        "bak" if is_time(time) => FileRole::Shortened,
        _ if is_import(mark) => FileRole::Archive,
        _ if mark == "bak" || (mark.contains("repair") && mark.ends_with(".bak")) => FileRole::Copy,
        // Compressed by generations that no longer load files.
        _ if mark.starts_with("bak-") && !mark.ends_with(".zst") => FileRole::Copy,
        _ => FileRole::Unknown,
    }
}

/// Tells whether a name begins as that of the session store does.
fn is_of_store(name: &str) -> bool {
    name.starts_with("sessions.json.") || name.starts_with("legacy-store.sessions.json.")
}

/// Tells whether a name is that of the session store or of the scheduled jobs, or of a
/// copy of either.
fn is_list(name: &str) -> bool {
    let is_moment = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let rest = name.strip_prefix("legacy-store.").unwrap_or(name).strip_prefix("sessions.json");
    let is_store = rest.is_some_and(|rest| {
        let copy = rest.strip_prefix(".bak.").or_else(|| rest.strip_prefix(".imported-"));
        matches!(rest, "" | ".migrated") || copy.is_some_and(is_moment)
    });
    let job_file = name.strip_suffix(".migrated").unwrap_or(name);
    is_store || ["jobs.json", "jobs.json.bak", "jobs-state.json", "jobs-state.json.bak", "jobs-quarantine.json"].contains(&job_file)
}

/// What an import leaves of a transcript.
fn is_import(mark: &str) -> bool {
    mark.strip_prefix("imported-").is_some_and(|ms| !ms.is_empty() && ms.bytes().all(|b| b.is_ascii_digit()))
}

/// `2026-11-15T23-27-00.132Z`, with or without the milliseconds.
fn is_time(text: &str) -> bool {
    let fits = |form: &str| {
        let is_right = |(byte, wanted): (u8, u8)| if wanted == b'0' { byte.is_ascii_digit() } else { byte == wanted };
        text.len() == form.len() && text.bytes().zip(form.bytes()).all(is_right)
    };
    fits("0000-00-00T00-00-00.000Z") || fits("0000-00-00T00-00-00Z")
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
            ("a.jsonl", FileRole::Live),
            ("a-topic-4%2F2.jsonl", FileRole::Live),
            ("a.checkpoint.1153272e-24d7-4d5c-b26c-b367e31fd597.jsonl", FileRole::Copy),
            ("a.checkpoint.x.jsonl", FileRole::Live),
            ("a.jsonl.corrupt-2026-11-15T23-27-00-132Z-0123abcd.jsonl", FileRole::Live),
            ("a.jsonl.bak-17-1794786429475", FileRole::Copy),
            ("a.jsonl.pre-doctor-branch-repair-2026-11-15T23-27-00-132Z.bak", FileRole::Copy),
            ("a.jsonl.openai-codex-repair-2026.bak", FileRole::Copy),
            ("a.jsonl.compact.0123abcd.tmp", FileRole::Copy),
            ("a.jsonl.repair.17.0123abcd.tmp", FileRole::Copy),
            ("a.jsonl.17.0123abcd.tmp", FileRole::Beside),
            ("a.jsonl.bak.2026-11-15T23-27-00.132Z", FileRole::Shortened),
            ("a.jsonl.reset.2026-11-15T23-27-00.132Z", FileRole::Archive),
            ("a.jsonl.deleted.2026-11-15T23-27-00Z", FileRole::Archive),
            ("agent_main.a.jsonl.imported-1794786429475", FileRole::Archive),
            ("legacy-store.sessions.json.imported-1794786429475", FileRole::Beside),
            ("a.jsonl.deleted.2026-11-15T23-27-00Z.zst", FileRole::Unknown),
            ("a.txt", FileRole::Unknown),
            ("a.trajectory.jsonl", FileRole::Beside),
            ("a.trajectory-path.json", FileRole::Beside),
            ("sessions.json", FileRole::Beside),
            ("sessions.json.bak.1794786429475", FileRole::Beside),
            ("jobs.json.bak", FileRole::Beside),
            ("a.jsonl.lock", FileRole::Beside),
        ] {
            assert_eq!(place_of(name), place, "{name}");
        }
    }
}
