//! Names of rollouts: which thread and which rollout of it a file is.

use crate::adapters::format::RETIRED_SUFFIX;
use crate::model::files::RelPath;

/// The short name of the format.
pub(super) const ID: &str = "codex";

/// What the name of a rollout says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name<'p> {
    /// The name without its folders and endings: in time order as text.
    pub stem: &'p str,
    /// The id of the thread.
    pub thread: &'p str,
    /// The id of this rollout of the thread.
    pub rollout: &'p str,
    pub form: Form,
}

/// How a rollout is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Lines.
    Lines,
    /// Lines, compressed.
    Cold,
    /// One JSON document.
    Document,
}

/// A path without what retiring added to it.
pub(super) fn live(path: &[u8]) -> &[u8] {
    path.strip_suffix(RETIRED_SUFFIX.as_bytes()).unwrap_or(path)
}

/// The last part of a path.
pub(super) fn base(path: &[u8]) -> &[u8] {
    memchr::memrchr(b'/', path).map_or(path, |at| &path[at + 1..])
}

/// Reads the name of a file; `None` where it is not that of a rollout.
pub(super) fn parse(path: &[u8]) -> Option<Name<'_>> {
    let name = std::str::from_utf8(base(live(path))).ok()?;
    let rest = name.strip_prefix("rollout-")?;
    if let Some(rest) = rest.strip_suffix(".json") {
        let id = rest.get(DAY.len() + 1..).filter(|id| is_uuid(id))?;
        let is_dated = matches_pattern(&rest[..DAY.len()], DAY) && rest.as_bytes()[DAY.len()] == b'-';
        return is_dated.then_some(Name { stem: name.strip_suffix(".json")?, thread: id, rollout: id, form: Form::Document });
    }
    let (stem, form) = match name.strip_suffix(".jsonl") {
        Some(stem) => (stem, Form::Lines),
        None => (name.strip_suffix(".jsonl.zst")?, Form::Cold),
    };
    let rest = stem.strip_prefix("rollout-")?;
    let ids = rest.get(SECOND.len() + 1..)?;
    if !matches_pattern(rest.get(..SECOND.len())?, SECOND) || rest.as_bytes()[SECOND.len()] != b'-' {
        return None;
    }
    let (thread, rollout) = ids.split_once('_').unwrap_or((ids, ids));
    (is_uuid(thread) && is_uuid(rollout)).then_some(Name { stem, thread, rollout, form })
}

const DAY: &str = "dddd-dd-dd";
const SECOND: &str = "dddd-dd-ddTdd-dd-dd";

fn matches_pattern(text: &str, pattern: &str) -> bool {
    text.len() == pattern.len()
        && text.bytes().zip(pattern.bytes()).all(|(byte, wanted)| if wanted == b'd' { byte.is_ascii_digit() } else { byte == wanted })
}

/// The folder of a path.
pub(super) fn folder(path: &[u8]) -> &[u8] {
    memchr::memrchr(b'/', path).map_or(b"", |at| &path[..at])
}

/// By what the files of a thread are in order: their
/// stems, and of equal ones a plain file after a compressed one and the newer folder last.
pub(super) fn rank(path: &[u8]) -> (&str, bool, &[u8]) {
    let name = parse(path);
    (name.as_ref().map_or("", |name| name.stem), name.is_none_or(|name| name.form != Form::Cold), path)
}

/// How many folders above its log the paths of a session's files begin.
pub(super) fn above(path: &RelPath) -> Option<u32> {
    let depth = path.as_bytes().iter().filter(|byte| **byte == b'/').count();
    u32::try_from(depth).ok().filter(|depth| *depth > 0)
}

/// Whether a text is a UUID in its usual form.
pub(super) fn is_uuid(text: &str) -> bool {
    const HYPHENS: [usize; 4] = [8, 13, 18, 23];
    let fits = |(at, byte): (usize, u8)| if HYPHENS.contains(&at) { byte == b'-' } else { byte.is_ascii_hexdigit() };
    text.len() == 36 && text.bytes().enumerate().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    const THREAD: &str = "01a1ed50-0500-7ba2-8a77-25c41b133e5f";
    const ROLLOUT: &str = "01a1ed50-077e-7123-a131-5de0ff3bb4ed";

    #[test]
    fn a_name_says_its_thread_and_its_rollout() {
        let first = format!("sessions/2026/11/18/rollout-2026-11-18T06-20-06-{THREAD}.jsonl");
        let name = parse(first.as_bytes()).unwrap();
        assert_eq!((name.thread, name.rollout, name.form), (THREAD, THREAD, Form::Lines));
        let second = format!("rollout-2026-11-18T06-20-07-{THREAD}_{ROLLOUT}.jsonl.zst.migrated");
        let name = parse(second.as_bytes()).unwrap();
        assert_eq!((name.thread, name.rollout, name.form), (THREAD, ROLLOUT, Form::Cold));
        let old = format!("sessions/rollout-2026-11-18-{THREAD}.json");
        assert_eq!(parse(old.as_bytes()).unwrap().form, Form::Document);
    }

    #[test]
    fn other_names_are_no_rollouts() {
        for name in
            ["history.jsonl", "rollout-x.jsonl", &format!("rollout-2026-11-18T06-20-06-{THREAD}.jsonl.tmp"), &format!("{THREAD}.jsonl")]
        {
            assert_eq!(parse(name.as_bytes()), None, "{name}");
        }
    }
}
