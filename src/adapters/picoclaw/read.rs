//! A session's files to events: what the meta file says, the messages, the
//! backups beside them, and what a load ends in.

use std::collections::BTreeMap;

use crate::adapters::format::{Check, ReadSummary};
use crate::adapters::kit::conversion::Conversion;
use crate::adapters::kit::document::Document;
use crate::adapters::kit::members;
use crate::adapters::kit::place::Placing;
use crate::json;
use crate::model::event::{EventKind, Outcome, Session, SessionKind};
use crate::model::fact::Fact;
use crate::model::files::{Entry, Files, RelPath};
use crate::model::finding::{FindingCode, Findings};
use crate::model::heads::{HeadKind, HeadName, HeadOp};
use crate::model::ids::Seq;
use crate::model::location::Location;
use crate::model::stream::{EventSink, StreamError};
use crate::runtimes::go::{Text, UNEXPECTED_END, compact, ends_too_soon, to_utf8};

use super::decode::{Depth, Legacy, Meta, legacy};
use super::layout::{ID, Role, legacy_stem, role, role_alone, role_by_content, stem};
use super::list::Messages;
use super::reader::Reader;
use super::whole::{UNDECODABLE, decode_meta};
use super::wire::LEGACY;

/// What the program says of a session whose meta file it cannot read.
const BAD_META: &str = "memory: decode meta";

/// What it says where there is no session at all.
const NO_SESSION: &str = "no session file";

type FileOf<'a> = (&'a RelPath, &'a [u8], Role);

/// Converts a session.
pub(super) fn read(files: &Files, check: Check, events: &mut dyn EventSink, findings: &mut Findings) -> Result<ReadSummary, StreamError> {
    let mut reader = Reader { to: Conversion::new(files, check, events, findings), messages: Messages::new(), outcome: Outcome::default() };
    let roles: Vec<FileOf<'_>> = files
        .iter()
        .filter_map(|(path, entry)| match entry {
            Entry::File(file) if files.lone_file().is_some() => {
                Some((path, file.bytes.as_slice(), role_alone(path.as_bytes(), &file.bytes)))
            }
            Entry::File(file) => Some((path, file.bytes.as_slice(), role_by_content(path.as_bytes(), &file.bytes))),
            Entry::Rows(_) | Entry::Link { .. } | Entry::EmptyFolder => None,
        })
        .collect();
    reader.session(&roles)?;
    reader.backups(&roles)?;
    reader
        .to
        .put_json(EventKind::Outcome, &Outcome { active: Some(HeadName::main().to_string()), ..std::mem::take(&mut reader.outcome) })?;
    reader.to.events.close_facts(&HeadName::main().to_string())?;
    reader.to.trailer(reader.messages.shapes.others())
}

impl<'a> Reader<'a, '_> {
    fn session(&mut self, roles: &[FileOf<'a>]) -> Result<(), StreamError> {
        let first = |wanted: Role| roles.iter().find(|(_, _, role)| *role == wanted).map(|(path, bytes, _)| (*path, *bytes));
        let (meta, lines) = (first(Role::Meta), first(Role::Lines));
        if meta.is_some() || lines.is_some() {
            return self.jsonl(roles, meta, lines);
        }
        match first(Role::Legacy) {
            Some((path, bytes)) => self.legacy(roles, path, bytes),
            None => self.orphan(roles),
        }
    }

    /// Lines and what the meta file says of them.
    fn jsonl(
        &mut self,
        roles: &[FileOf<'a>],
        meta: Option<(&'a RelPath, &'a [u8])>,
        lines: Option<(&'a RelPath, &'a [u8])>,
    ) -> Result<(), StreamError> {
        let decoded_meta = meta.map(|(path, bytes)| (path, decode_meta(bytes)));
        let known: Option<&Meta<'a>> = decoded_meta.as_ref().and_then(|(_, meta)| meta.as_ref().ok());
        let key = known.and_then(|meta| meta.key.non_empty());
        let begun = self.begun_before(roles, key.as_deref()).or_else(|| known.and_then(|meta| meta.created_at.non_zero()));
        self.put_session(SessionKind::Session, key.as_deref(), begun)?;
        if let Some((path, bytes)) = meta {
            self.meta_file(path, bytes)?;
        }
        if let Some((path, Err(rejection))) = &decoded_meta {
            let though = if lines.is_some() { ", though the messages are there" } else { "" };
            let message = format!("not a meta file that picoclaw can read ({}): it shows an empty history{though}", rejection.because());
            self.to.findings.add(FindingCode::LoaderFails, Location::file(path.to_string()), message);
            let is_cut_off = meta.is_some_and(|(_, bytes)| ends_too_soon(bytes));
            self.outcome.error = Some(if is_cut_off { format!("{BAD_META}: {UNEXPECTED_END}") } else { BAD_META.to_owned() });
        }
        let skip = known.map_or(0, |meta| u64::try_from(meta.skip).unwrap_or(0));
        match lines {
            Some((path, bytes)) => {
                let counted = self.lines(path, bytes, skip)?;
                self.note_counts(meta.map(|(path, _)| path), path, known, counted);
            }
            None => self.to.put_head(&HeadName::main(), Seq::ROOT, HeadOp::Branch)?,
        }
        if let Some(meta) = known {
            self.outcome.summary = meta.summary.non_empty();
            self.outcome.facts = meta_facts(meta);
        }
        Ok(())
    }

    fn note_counts(&mut self, meta_path: Option<&RelPath>, path: &RelPath, meta: Option<&Meta<'_>>, counted: u64) {
        let Some(meta_path) = meta_path else {
            let is_linked_meta =
                |(path, entry): &(&RelPath, &Entry)| matches!(entry, Entry::Link { .. }) && role(path.as_bytes()) == Role::Meta;
            let (at, message) = match self.to.files.iter().find(is_linked_meta) {
                Some((link, _)) => (
                    link,
                    "the meta file is a link, which is carried and not followed: what picoclaw reads there (key, summary, which lines were skipped) is not known here",
                ),
                None => (
                    path,
                    "no meta file beside it: picoclaw does not list this session, and has forgotten its summary and which lines were skipped",
                ),
            };
            return self.to.findings.add(FindingCode::MetaMissing, Location::file(at.to_string()), message);
        };
        let Some(meta) = meta else { return };
        if meta.skip > 0 {
            let message = format!("`skip` hides the first {} of {counted} lines; picoclaw deletes them at its next save", meta.skip);
            self.to.findings.add(FindingCode::LinesSkipped, Location::file(meta_path.to_string()), message);
        }
        if u64::try_from(meta.count).ok() != Some(counted) {
            let message =
                format!("`count` says {}, the lines are {counted}, as after an interrupted write; picoclaw does not mind", meta.count);
            self.to.findings.add(FindingCode::CountDiffers, Location::file(meta_path.to_string()), message);
        }
    }

    fn legacy(&mut self, roles: &[FileOf<'a>], path: &'a RelPath, bytes: &'a [u8]) -> Result<(), StreamError> {
        let parsed = Document::parse(bytes, json::Dialect::Strict, &LEGACY);
        let frame = parsed.as_ref().ok().and_then(|parsed| legacy(parsed.all.iter().copied(), Depth::Frame).ok()).map(|(frame, _)| frame);
        let key = frame.as_ref().and_then(|legacy| legacy.key.non_empty());
        let begun = self.begun_before(roles, key.as_deref()).or_else(|| frame.as_ref().and_then(|legacy| legacy.created.non_zero()));
        let id = key.unwrap_or_else(|| to_utf8(legacy_stem(path.as_bytes())).into_owned());
        self.put_session(SessionKind::Session, Some(&id), begun)?;
        let (len, taken) = self.parsed_file(path, bytes, parsed, Placing::without_head())?;
        if len == 0 {
            self.to.put_head(&HeadName::main(), Seq::ROOT, HeadOp::Branch)?;
        }
        match taken {
            Some(legacy) => {
                self.outcome.summary = legacy.summary.non_empty();
                let facts = [
                    ("key", legacy.key.non_empty().or_else(|| Some(to_utf8(legacy_stem(path.as_bytes())).into_owned()))),
                    ("created", legacy.created.non_zero()),
                    ("updated", legacy.updated.non_zero()),
                ];
                self.outcome.facts = named(facts);
            }
            None => {
                let message = "picoclaw cannot decode this file: it leaves it as it is and shows nothing of it";
                self.to.findings.add(FindingCode::LoaderFails, Location::file(path.to_string()), message);
                self.outcome.error = Some(UNDECODABLE.to_owned());
            }
        }
        Ok(())
    }

    /// Backups of a session that is gone.
    fn orphan(&mut self, roles: &[FileOf<'a>]) -> Result<(), StreamError> {
        let key =
            roles.iter().find_map(|(_, bytes, role)| frame_of(bytes).filter(|_| *role == Role::Backup)).map(|legacy| legacy.key.decoded());
        let begun = self.begun_before(roles, key.as_deref());
        self.put_session(SessionKind::Orphan, key.as_deref(), begun)?;
        self.to.put_head(&HeadName::main(), Seq::ROOT, HeadOp::Branch)?;
        self.outcome.error = Some(NO_SESSION.to_owned());
        let is_backup = |role: &Role| matches!(role, Role::Backup | Role::BackupMeta);
        // A temporary by itself was named where it was found.
        if let Some((path, _, _)) = roles.iter().find(|(_, _, role)| is_backup(role)) {
            let message = "a backup without its session: picoclaw never looks at it again";
            self.to.findings.add(FindingCode::BackupOnly, Location::file(path.to_string()), message);
        }
        Ok(())
    }

    fn put_session(&mut self, kind: SessionKind, key: Option<&str>, created: Option<String>) -> Result<(), StreamError> {
        let id = key.map_or_else(|| to_utf8(stem(self.to.files.name_bytes())).into_owned(), str::to_owned);
        let beside = self.to.files.shared_facts();
        let (canonical, promoted_from) = (beside.canonical.as_ref(), beside.promoted_from.as_ref());
        let session = Session {
            created,
            canonical: canonical.map(ToString::to_string),
            promoted_from: promoted_from.map(ToString::to_string),
            ..Session::new(kind, ID, id)
        };
        self.to.put_json(EventKind::Session, &session)?;
        Ok(())
    }

    /// Returns when the session was begun, by the backup of its legacy file: the
    /// program's own migration forgets it.
    fn begun_before(&self, roles: &[FileOf<'a>], key: Option<&str>) -> Option<String> {
        let backups = roles.iter().filter(|(_, _, role)| *role == Role::Backup).filter_map(|(_, bytes, _)| frame_of(bytes));
        let mut begun =
            backups.filter(|legacy| key.is_none_or(|key| legacy.key.decoded() == key)).filter_map(|legacy| legacy.created.non_zero());
        begun.next()
    }

    /// The other lists, in byte order of path.
    fn backups(&mut self, roles: &[FileOf<'a>]) -> Result<(), StreamError> {
        for (path, bytes, role) in roles {
            match role {
                Role::Backup => {
                    let head = HeadName::new(HeadKind::Backup, path.key());
                    self.legacy_file(path, bytes, Placing::for_head(head))?;
                }
                Role::BackupMeta => self.meta_file(path, bytes)?,
                Role::Carried => {
                    members::read(&mut self.to, path, bytes, "picoclaw")?;
                }
                Role::Lines | Role::Meta | Role::Legacy | Role::Companion => {}
            }
        }
        Ok(())
    }
}

/// Returns what stands around the messages of a legacy file, where it is one object.
fn frame_of(bytes: &[u8]) -> Option<Legacy<'_>> {
    let mut members = Vec::new();
    json::scan_object(bytes, json::Dialect::Strict, &mut members).ok()?;
    legacy(members.into_iter(), Depth::Frame).ok().map(|(legacy, _)| legacy)
}

fn named<const N: usize>(facts: [(&str, Option<String>); N]) -> BTreeMap<String, Fact> {
    facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), Fact::Text(value?)))).collect()
}

fn meta_facts(meta: &Meta<'_>) -> BTreeMap<String, Fact> {
    let mut facts =
        named([("key", meta.key.non_empty()), ("created_at", meta.created_at.non_zero()), ("updated_at", meta.updated_at.non_zero())]);
    for (name, count) in [("skip", meta.skip), ("count", meta.count)] {
        facts.insert(name.to_owned(), Fact::Json(count.to_string()));
    }
    if !meta.aliases.items().is_empty() {
        let aliases: Vec<_> = meta.aliases.items().iter().map(Text::decoded).collect();
        facts.insert("aliases".to_owned(), Fact::Json(serde_json::to_string(&aliases).unwrap_or_default()));
    }
    if let Some(scope) = meta.scope.0 {
        facts.insert("scope".to_owned(), Fact::Json(to_utf8(&compact(scope)).into_owned()));
    }
    facts
}
