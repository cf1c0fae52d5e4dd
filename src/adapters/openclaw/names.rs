//! What the files of a sessions folder are, by their names, as OpenClaw itself
//! tests them.

use crate::adapters::format::RETIRED_SUFFIX;
use crate::model::files::RelPath;

/// What a file is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Name<'n> {
    /// The history of a session, live or archived.
    Transcript,
    /// A copy of the transcript with this name.
    CopyOf(&'n str),
    /// A copy of the transcript with this name from before it was shortened: it counts
    /// as the transcript where nothing else is left.
    ShortenedFrom(&'n str),
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

/// Judges a file by its name. The loader has a list of its own, which agrees with
/// this one on every name: what it loads must be what is read.
pub(crate) fn judge(name: &str) -> Name<'_> {
    if name.ends_with(".lock") {
        return Name::Lock;
    }
    if name.ends_with(".tmp") {
        return unfinished(name);
    }
    for trace in [".trajectory.jsonl", ".trajectory-path.json"] {
        if let Some(id) = name.strip_suffix(trace) {
            return Name::TraceOf(format!("{id}.jsonl"));
        }
    }
    if let Some(base) = name.strip_suffix(SUFFIX) {
        // A checkpoint is named after its session, before the suffix.
        let is_checkpoint = base.rsplit_once(".checkpoint.").is_some_and(|(_, id)| is_uuid(id));
        return if is_checkpoint { Name::CopyOf(name) } else { Name::Transcript };
    }
    // The scheduler's own move to a database leaves its files under such names.
    let job_file = name.strip_suffix(RETIRED_SUFFIX).unwrap_or(name);
    if matches!(job_file, "jobs.json" | "jobs-state.json" | "jobs.json.bak" | "jobs-state.json.bak" | "jobs-quarantine.json") {
        return Name::Jobs;
    }
    let store = name.strip_prefix("legacy-store.").unwrap_or(name);
    if let Some(rest) = store.strip_prefix("sessions.json").filter(|rest| rest.is_empty() || rest.starts_with('.')) {
        let is_copy = rest.is_empty() || ends_in_digits(rest, ".bak.") || ends_in_digits(rest, ".imported-") || rest == ".migrated";
        return if is_copy { Name::Store } else { Name::Other };
    }
    marked(name)
}

const SUFFIX: &str = ".jsonl";

/// Returns a transcript's name up to its suffix, and the text after the last such suffix.
fn divided(name: &str) -> Option<(&str, &str)> {
    let at = name.rfind(".jsonl.")? + SUFFIX.len();
    Some((&name[..at], &name[at + 1..]))
}

/// Returns a temporary, which may have been meant for a transcript.
fn unfinished(name: &str) -> Name<'_> {
    match divided(name) {
        Some((own, mark)) if mark.starts_with("compact.") || mark.starts_with("repair.") => Name::Unfinished(own),
        _ => Name::Temporary,
    }
}

/// Returns a transcript's name with a mark after it.
fn marked(name: &str) -> Name<'_> {
    let Some((own, mark)) = divided(name) else { return Name::Other };
    let has_stamp = |word: &str| mark.strip_prefix(word).is_some_and(is_stamp);
    if has_stamp("reset.") || has_stamp("deleted.") || ends_in_digits(mark, "imported-") {
        return Name::Transcript;
    }
    if has_stamp("bak.") {
        return Name::ShortenedFrom(own);
    }
    // Compressed copies are of generations that no longer load files.
    let is_copy =
        mark == "bak" || (mark.starts_with("bak-") && !mark.ends_with(".zst")) || (mark.contains("repair") && mark.ends_with(".bak"));
    if is_copy { Name::CopyOf(own) } else { Name::Other }
}

/// Returns the name of the transcript that a copy was made of.
pub(crate) fn original(name: &str, own: &str) -> String {
    match name.strip_suffix(SUFFIX).and_then(|base| base.rsplit_once(".checkpoint.")) {
        Some((id, uuid)) if is_uuid(uuid) => format!("{id}.jsonl"),
        _ => own.to_owned(),
    }
}

fn is_uuid(text: &str) -> bool {
    const HYPHENS: [usize; 4] = [8, 13, 18, 23];
    let is_right = |(at, byte): (usize, u8)| if HYPHENS.contains(&at) { byte == b'-' } else { byte.is_ascii_hexdigit() };
    text.len() == 36 && text.bytes().enumerate().all(is_right)
}

fn ends_in_digits(rest: &str, word: &str) -> bool {
    rest.strip_prefix(word).is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
}

/// Tells whether a text is the time in an archive's name: ISO, with `-` for `:`.
fn is_stamp(text: &str) -> bool {
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    matches!(shape.as_str(), "0000-00-00T00-00-00.000Z" | "0000-00-00T00-00-00Z")
}

/// The characters that stand for single bytes of names that are not UTF-8: private
/// ones, which no real name holds.
const BYTES: std::ops::RangeInclusive<u32> = 0x10_ff80..=0x10_ffff;

/// Returns a name as a text that no other name has, so that it can be told apart and put
/// together like any other. None for a name that holds such characters itself.
pub(super) fn as_text(name: &[u8]) -> Option<String> {
    let mut text = String::new();
    for chunk in name.utf8_chunks() {
        if chunk.valid().chars().any(|c| BYTES.contains(&u32::from(c))) {
            return None;
        }
        text.push_str(chunk.valid());
        text.extend(chunk.invalid().iter().filter_map(|byte| char::from_u32(BYTES.start() - 0x80 + u32::from(*byte))));
    }
    Some(text)
}

/// Returns the path with this text.
pub(super) fn path_of(text: &str) -> RelPath {
    let mut name = Vec::new();
    for c in text.chars() {
        match u8::try_from(u32::from(c).wrapping_sub(BYTES.start() - 0x80)) {
            Ok(byte) if BYTES.contains(&u32::from(c)) => name.push(byte),
            _ => name.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    RelPath::new(name)
}

/// Returns the version that a database's header names, where it is one.
pub(super) fn database_version(first: &[u8]) -> Option<u32> {
    let version = first.starts_with(b"SQLite format 3\0").then(|| first.get(60..64)).flatten()?;
    Some(u32::from_be_bytes(version.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::adapters::openclaw::load::names::{FileRole, place_of};

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
            (format!("{live}.bak.2026-11-15T23-44-23.326Z"), Name::ShortenedFrom(&live)),
            (format!("{live}.bak"), Name::CopyOf(&live)),
            (format!("{live}.bak.lock"), Name::Lock),
            (format!("{live}.copy.jsonl"), Name::Transcript),
            ("sessions.jsonl".to_owned(), Name::Transcript),
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

    #[test]
    fn a_name_that_is_not_utf8_comes_back_from_its_text() {
        for name in [&b"a.jsonl"[..], b"\xff\xfe.jsonl", b"caf\xe9.jsonl", "caf\u{e9}.jsonl".as_bytes(), b"\xf0\x9f\x98.jsonl", b"\x80"] {
            let text = as_text(name).unwrap();
            assert_eq!(path_of(&text).as_bytes(), name);
            assert_eq!(text.ends_with(SUFFIX), name.ends_with(SUFFIX.as_bytes()));
        }
        assert_eq!(as_text("\u{10ffff}".as_bytes()), None);
    }

    /// Names as they are and as they might be: every base with every two marks.
    fn generated_names() -> Vec<String> {
        const STAMP: &str = "2026-11-15T23-45-27.333Z";
        const ID: &str = "89d5e414-39ef-4d1f-ae09-8034e934d317";
        let bases = [
            "a.jsonl",
            "a",
            "sessions.jsonl",
            "sessions.json",
            "legacy-store.sessions.json",
            "legacy-store.a.jsonl",
            "jobs.json",
            ".jsonl",
            "x.json",
            "repair.jsonl",
            "a.jsonl.b.jsonl",
            "a-topic-4%2F2.jsonl",
            "xjsonl",
            "a.trajectory.jsonl",
            "bak",
            "\u{e9}.jsonl",
        ];
        let stamped = [".reset.", ".deleted.", ".bak.", ".imported-", ".corrupt-", ".checkpoint."];
        let endings = [STAMP, "2026-11-15T23-45-27Z", "1794786429475", ID, "x", ""];
        let plain = [
            "",
            ".bak",
            ".bak-",
            ".bak-17-1794786429475",
            ".repair.bak",
            ".repair",
            ".repair-1",
            ".openai-codex-repair-2026.bak",
            "repair.bak",
            ".pre-doctor-branch-repair-2026-11-15T23-27-00-132Z.bak",
            ".compact.0.tmp",
            ".repair.1.2.tmp",
            ".tmp",
            ".lock",
            ".zst",
            ".migrated",
            ".jsonl",
            ".json",
            ".trajectory.jsonl",
            ".trajectory-path.json",
            ".old",
            "~",
            ".1",
            ".orig",
            " copy",
            "-1.jsonl",
        ];
        let stamped = stamped.iter().flat_map(|mark| endings.iter().map(move |end| format!("{mark}{end}")));
        let marks: Vec<String> = plain.iter().map(|mark| (*mark).to_owned()).chain(stamped).collect();
        let twice = |base: &&str| {
            marks
                .iter()
                .flat_map(|one| marks.iter().map(move |two| format!("{one}{two}")))
                .map(|mark| format!("{base}{mark}"))
                .collect::<Vec<_>>()
        };
        bases.iter().flat_map(twice).collect()
    }

    #[test]
    fn the_loader_takes_a_file_for_what_the_reader_takes_it_for() {
        let names = generated_names();
        for name in &names {
            let loaded = match judge(name) {
                Name::Transcript if name.ends_with(SUFFIX) => FileRole::Live,
                Name::Transcript => FileRole::Archive,
                Name::ShortenedFrom(_) => FileRole::Shortened,
                Name::CopyOf(_) | Name::Unfinished(_) => FileRole::Copy,
                Name::TraceOf(_) | Name::Store | Name::Jobs | Name::Lock | Name::Temporary => FileRole::Beside,
                Name::Other => FileRole::Unknown,
            };
            assert_eq!(place_of(name), loaded, "{name}");
        }
        assert!(names.len() > 50_000, "{}", names.len());
    }
}
