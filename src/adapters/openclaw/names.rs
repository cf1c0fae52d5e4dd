//! What the files of a sessions folder are, by their names, as OpenClaw itself
//! tests them.

use crate::adapters::adapter::RETIRED_SUFFIX;

/// What a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Name<'n> {
    /// The history of a session, live or archived.
    Transcript,
    /// A copy of the transcript with this name.
    CopyOf(&'n str),
    /// A trace, or where it is, of the session whose transcript has this name.
    TraceOf(String),
    /// The session store, or a copy of it.
    Store,
    /// The scheduled jobs, their states, or a copy of either.
    Jobs,
    Lock,
    /// A temporary that was to become the transcript with this name.
    Unfinished(&'n str),
    Temporary,
    Other,
}

/// Judges a file by its name.
pub(super) fn judge(name: &str) -> Name<'_> {
    if name.ends_with(".lock") {
        return Name::Lock;
    }
    if let Some(temporary) = name.strip_suffix(".tmp") {
        let own = [".jsonl.compact.", ".jsonl.repair."].iter().find_map(|word| temporary.find(word));
        return own.map_or(Name::Temporary, |at| Name::Unfinished(&name[..at + ".jsonl".len()]));
    }
    for trace in [".trajectory.jsonl", ".trajectory-path.json"] {
        if let Some(id) = name.strip_suffix(trace) {
            return Name::TraceOf(format!("{id}.jsonl"));
        }
    }
    // The scheduler's own move to a database leaves its files under such names.
    let job_file = name.strip_suffix(RETIRED_SUFFIX).unwrap_or(name);
    if matches!(job_file, "jobs.json" | "jobs-state.json" | "jobs.json.bak" | "jobs-state.json.bak" | "jobs-quarantine.json") {
        return Name::Jobs;
    }
    let store = name.strip_prefix("legacy-store.").unwrap_or(name);
    if let Some(rest) = store.strip_prefix("sessions.json") {
        let is_copy = rest.is_empty() || ends_in_digits(rest, ".bak.") || ends_in_digits(rest, ".imported-") || rest == ".migrated";
        return if is_copy { Name::Store } else { Name::Other };
    }
    transcript(name)
}

fn transcript(name: &str) -> Name<'_> {
    let Some(at) = name.find(".jsonl") else { return Name::Other };
    let (own, rest) = name.split_at(at + ".jsonl".len());
    if rest.is_empty() {
        // A checkpoint is named after its session, before the suffix.
        let base = own.strip_suffix(".jsonl").unwrap_or(own);
        return match base.rsplit_once(".checkpoint.") {
            Some((_, uuid)) if uuid.len() == 36 => Name::CopyOf(own),
            _ => Name::Transcript,
        };
    }
    let is_archive = [".reset.", ".deleted."].iter().any(|word| rest.strip_prefix(word).is_some_and(is_stamp));
    if is_archive || ends_in_digits(rest, ".imported-") || (rest.starts_with(".corrupt-") && rest.ends_with(".jsonl")) {
        return Name::Transcript;
    }
    let is_backup = rest.strip_prefix(".bak.").is_some_and(is_stamp)
        || rest.starts_with(".bak-")
        || (rest.contains("repair") && rest.ends_with(".bak"))
        || rest == ".bak";
    if is_backup { Name::CopyOf(own) } else { Name::Other }
}

/// The name of the transcript that a copy was made of.
pub(super) fn original(name: &str, own: &str) -> String {
    match name.strip_suffix(".jsonl").and_then(|base| base.rsplit_once(".checkpoint.")) {
        Some((id, uuid)) if uuid.len() == 36 => format!("{id}.jsonl"),
        _ => own.to_owned(),
    }
}

fn ends_in_digits(rest: &str, word: &str) -> bool {
    rest.strip_prefix(word).is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// Whether a text is the time in an archive's name: ISO, with `-` for `:`.
fn is_stamp(text: &str) -> bool {
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    matches!(shape.as_str(), "0000-00-00T00-00-00.000Z" | "0000-00-00T00-00-00Z")
}

/// The version that a database's header names, where it is one.
pub(super) fn database_version(first: &[u8]) -> Option<u32> {
    let version = first.starts_with(b"SQLite format 3\0").then(|| first.get(60..64)).flatten()?;
    Some(u32::from_be_bytes(version.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_told_apart_by_name() {
        let id = "d95950a8-32ac-435b-b1d4-d23b9111f0b1";
        let live = format!("{id}.jsonl");
        for (name, is) in [
            (live.clone(), Name::Transcript),
            (format!("{id}-topic-42.jsonl"), Name::Transcript),
            (format!("{live}.reset.2026-11-15T23-45-27.333Z"), Name::Transcript),
            (format!("{live}.deleted.2026-11-15T23-45-27Z"), Name::Transcript),
            (format!("{live}.corrupt-2026-11-15T23-43-46-386Z-224460b4.jsonl"), Name::Transcript),
            (format!("agent_main.{live}.imported-1794786429475"), Name::Transcript),
            (format!("{live}.bak.2026-11-15T23-44-23.326Z"), Name::CopyOf(&live)),
            (format!("{live}.lock"), Name::Lock),
            (format!("{live}.reset.yesterday"), Name::Other),
            ("sessions.json".to_owned(), Name::Store),
            ("sessions.json.bak.1770000000000".to_owned(), Name::Store),
            ("legacy-store.sessions.json.imported-1".to_owned(), Name::Store),
            ("sessions.json.4242.b6b7fd55.tmp".to_owned(), Name::Temporary),
            (format!("{live}.compact.b6b7fd55.tmp"), Name::Unfinished(&live)),
            (format!("{live}.repair.17.b6b7fd55.tmp"), Name::Unfinished(&live)),
            ("jobs.json.bak".to_owned(), Name::Jobs),
            ("jobs.json.migrated".to_owned(), Name::Jobs),
            ("notes.txt".to_owned(), Name::Other),
        ] {
            assert_eq!(judge(&name), is, "{name}");
        }
        let checkpoint = format!("{id}.checkpoint.89d5e414-39ef-4d1f-ae09-8034e934d317.jsonl");
        assert!(matches!(judge(&checkpoint), Name::CopyOf(_)));
        assert_eq!(original(&checkpoint, &checkpoint), live);
        assert_eq!(judge(&format!("{id}.trajectory.jsonl")), Name::TraceOf(live));
    }
}
