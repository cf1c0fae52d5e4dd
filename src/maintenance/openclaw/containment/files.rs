//! Which files of an old state folder are transcripts, and which session of the
//! database each is of.

use std::collections::{BTreeMap, BTreeSet};

use crate::adapters::containment::StoreFiles;
use crate::adapters::openclaw::names::{self, Name};
use crate::json::{self, Dialect, Value};
use crate::model::files::RelPath;

const STORE: &str = "sessions.json";

/// The folder that transcripts are in.
const SESSIONS: &str = "sessions";

/// How a compressed copy of a transcript is named.
const COMPRESSED: &str = ".zst";

/// A transcript.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Transcript {
    pub path: RelPath,
    /// Its folder, and its name in it.
    pub folder: String,
    pub name: String,
    pub packing: Packing,
}

/// Whether a transcript is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    Plain,
    Zstd,
}

/// Finds the transcripts of a folder, archives and copies included: those in folders of
/// sessions, in folders with a session store, and in the folder itself.
pub(super) fn transcripts(paths: &[RelPath]) -> Vec<Transcript> {
    let texts: Vec<(&RelPath, &str, &str)> = paths.iter().filter_map(|path| Some((path, path.as_text()?))).map(split).collect();
    let stores: BTreeSet<&str> = texts.iter().filter(|(_, _, name)| *name == STORE).map(|(_, folder, _)| *folder).collect();
    let is_of_sessions = |folder: &str| folder.is_empty() || folder == SESSIONS || folder.ends_with("/sessions") || stores.contains(folder);
    let here = texts.iter().filter(|(_, folder, _)| is_of_sessions(folder));
    here.filter_map(|(path, folder, name)| {
        let packing = packing(name)?;
        Some(Transcript { path: (*path).clone(), folder: (*folder).to_owned(), name: (*name).to_owned(), packing })
    })
    .collect()
}

fn split<'p>((path, text): (&'p RelPath, &'p str)) -> (&'p RelPath, &'p str, &'p str) {
    let (folder, name) = text.rsplit_once('/').unwrap_or(("", text));
    (path, folder, name)
}

/// Tells whether a name is that of a transcript, and whether it is compressed.
fn packing(name: &str) -> Option<Packing> {
    if is_transcript(name) {
        return Some(Packing::Plain);
    }
    let plain = name.strip_suffix(COMPRESSED)?;
    // The database puts the generation of the transcript between time and suffix.
    let without_generation = plain.rsplit_once('.').map_or(plain, |(before, _)| before);
    (is_transcript(plain) || is_transcript(without_generation)).then_some(Packing::Zstd)
}

fn is_transcript(name: &str) -> bool {
    match names::judge(name) {
        // What an import has set aside is a copy of what it read.
        Name::Transcript => !name.contains(".jsonl.imported-"),
        Name::CopyOf(_) | Name::ShortenedFrom(_) => true,
        Name::TraceOf(_) | Name::Store | Name::Jobs | Name::Lock | Name::Unfinished(_) | Name::Temporary | Name::Other => false,
    }
}

/// Which sessions the stores of a folder name, by folder and file.
#[derive(Debug, Default)]
pub(super) struct Named(BTreeMap<(String, String), Vec<String>>);

impl Named {
    /// Reads all session stores.
    pub(super) fn of(files: &dyn StoreFiles, paths: &[RelPath]) -> Named {
        let mut named = Named::default();
        for (path, folder, name) in paths.iter().filter_map(|path| Some((path, path.as_text()?))).map(split) {
            if name == STORE
                && let Ok(bytes) = files.read(path)
                && let Ok(store) = json::validate(&bytes, Dialect::Strict)
            {
                named.add(folder, store.value);
            }
        }
        named
    }

    fn add(&mut self, folder: &str, store: Value<'_>) {
        for entry in store.members().map(|member| member.value()).filter(|entry| entry.is_object()) {
            let text = |name: &str| entry.get(name).and_then(Value::as_str).map(std::borrow::Cow::into_owned);
            let Some(id) = text("sessionId") else { continue };
            // The path may be that of another machine: the name is what counts.
            let file = text("sessionFile").and_then(|file| file.rsplit(['/', '\\']).next().map(str::to_owned));
            let file = file.unwrap_or_else(|| format!("{id}.jsonl"));
            let ids = self.0.entry((folder.to_owned(), file)).or_default();
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
    }

    /// Returns the session of a transcript: the one that a store names for it, of several
    /// the first that is in the database; else the one in its name; else the one in
    /// its header.
    pub(super) fn session(&self, file: &Transcript, header: Option<String>, exists: &mut dyn FnMut(&str) -> bool) -> Option<String> {
        let key = (file.folder.clone(), file.name.clone());
        if let Some(ids) = self.0.get(&key) {
            return ids.iter().find(|id| ids.len() == 1 || exists(id)).or(ids.first()).cloned();
        }
        id_in_name(&file.name).map(str::to_owned).or(header)
    }
}

/// Returns the session's id in the name of a transcript, of an archive or of a copy.
pub(super) fn id_in_name(name: &str) -> Option<&str> {
    let own = name.find(".jsonl").map_or(name, |at| &name[..at]);
    let own = own.split_once(".checkpoint.").map_or(own, |(id, _)| id);
    let own = own.split_once("-topic-").map_or(own, |(id, _)| id);
    let id = match own.split_once('_') {
        Some((stamp, id)) if is_stamp(stamp) => id,
        _ => own,
    };
    let is_inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    let is_id = id.len() <= 128 && id.bytes().all(is_inner) && id.bytes().next().is_some_and(|first| first.is_ascii_alphanumeric());
    is_id.then_some(id)
}

/// Tells whether a text is a time as the names of forks have it: ISO, with `-` for `:`
/// and for the point.
fn is_stamp(text: &str) -> bool {
    let shape: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    matches!(shape.as_str(), "0000-00-00T00-00-00-000Z" | "0000-00-00T00-00-00Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_session_is_in_the_name_of_its_files() {
        const ID: &str = "d95950a8-32ac-435b-b1d4-d23b9111f0b1";
        for name in [
            format!("{ID}.jsonl"),
            format!("{ID}-topic-4%2F2.jsonl"),
            format!("2026-11-15T23-41-27-797Z_{ID}.jsonl"),
            format!("{ID}.jsonl.reset.2026-11-15T23-45-27.333Z"),
            format!("{ID}-topic-7.jsonl.bak.2026-11-15T23-45-27Z"),
            format!("{ID}.checkpoint.89d5e414-39ef-4d1f-ae09-8034e934d317.jsonl"),
            format!("{ID}.jsonl.corrupt-2026-11-15T23-43-46-386Z-224460b4.jsonl"),
            format!("{ID}.jsonl.deleted.2026-11-18T06-41-42.827Z.64bee4b4d30546ac.zst"),
        ] {
            assert_eq!(id_in_name(&name), Some(ID), "{name}");
        }
        assert_eq!(id_in_name("boot-2026_x.jsonl"), Some("boot-2026_x"));
        assert_eq!(id_in_name("-x.jsonl"), None);
        assert_eq!(id_in_name("\u{e9}.jsonl"), None);
    }

    #[test]
    fn transcripts_are_found_where_sessions_are() {
        let paths = [
            "a.jsonl",
            "agents/m/agent/x.jsonl",
            "agents/m/session-sqlite-import-archive/k.a.jsonl.imported-17",
            "agents/m/sessions/a.jsonl",
            "agents/m/sessions/a.jsonl.deleted.2026-11-18T06-41-42.827Z.64be.zst",
            "agents/m/sessions/a.jsonl.reset.2026-11-18T06-41-42.827Z",
            "agents/m/sessions/a.trajectory.jsonl",
            "agents/m/sessions/sessions.json",
            "cron/runs/job.jsonl",
            "kept/b.jsonl",
            "kept/sessions.json",
            "sessions/k.a.jsonl.imported-17",
            "workspace/data.jsonl",
        ];
        let found = transcripts(&paths.map(RelPath::new));
        let names: Vec<String> = found.iter().map(|file| file.path.to_string()).collect();
        assert_eq!(names, [paths[0], paths[3], paths[4], paths[5], paths[9]]);
        assert_eq!(found.iter().map(|file| file.packing).filter(|packing| *packing == Packing::Zstd).count(), 1);
    }
}
