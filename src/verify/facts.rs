//! What a log has besides messages and damage, piece by piece: facts (turns, runs,
//! custom entries, compactions, summaries, labels), companion files by the hash of
//! their bytes, and metadata. `contains` and `diff` answer for these too.

use sha2::{Digest, Sha256};
use std::hash::{Hash, Hasher};

use crate::log::LogView;
use crate::log::contain::identify;
use crate::log::restore::{FilePlan, file_plan};
use crate::model::event::{EventKind, EventRef, FileKind};
use crate::model::ids::Seq;
use crate::model::stream::{LogAccess, ReadAt, StreamError};

use super::compare::{ContentKey, PieceClass, Spoken, shortened};

/// Of a payload so many bytes are looked at for an excerpt.
const BEGINNING: usize = 256;

/// Lists the pieces of a log that are neither messages nor damage.
///
/// # Errors
/// When the log cannot be read.
pub fn facts<R: ReadAt>(log: &mut LogView<R>) -> Result<Vec<Spoken>, StreamError> {
    let mut list = Vec::new();
    for seq in (1..=log.last().number()).map(Seq::new) {
        let class = match class_of(log.kind(seq)) {
            ComparedAs::As(class) => class,
            ComparedAs::Elsewhere => continue,
            ComparedAs::WithTime => PieceClass::Metadata,
        };
        let id = log.session.id.clone();
        let event = log.event(seq)?;
        // A head that no record of the source moved follows from the messages.
        if class_of(event.kind) == ComparedAs::WithTime && event.ts.is_none() {
            continue;
        }
        let mut state = Sha256Hasher(Sha256::new_with_prefix(b"fact\0"));
        if class == PieceClass::Metadata {
            // A title belongs to its session: that of another does not count.
            id.hash(&mut state);
        }
        identify(&event, &mut state);
        list.push(piece(&event, state.0.finalize().into(), class));
    }
    list.extend(companions(log)?.into_iter().map(|companion| companion.piece));
    Ok(list)
}

/// A file of a session that has no records.
#[derive(Debug)]
pub struct Companion {
    /// What is compared of it.
    pub piece: Spoken,
    /// The hash and the size of its bytes, where the store keeps them.
    pub blob: Option<(String, u64)>,
}

/// Lists the files of a log that have no records. An empty folder holds nothing,
/// and is not one of them.
///
/// # Errors
/// When the log cannot be read.
pub fn companions<R: ReadAt>(log: &mut LogView<R>) -> Result<Vec<Companion>, StreamError> {
    let mut list = Vec::new();
    for seq in log.files().to_vec() {
        let plan = file_plan(log, seq)?;
        let key = match plan.entry.kind {
            FileKind::File if plan.entry.content.is_some() || plan.entry.blob.is_some() => bytes_key(&plan),
            FileKind::Link => link_key(&plan),
            FileKind::File | FileKind::Rows | FileKind::Folder => continue,
        };
        let role = if plan.entry.kind == FileKind::Link { "link" } else { "file" };
        let excerpt = plan.path.to_string();
        let piece = Spoken { seq, role: role.to_owned(), ts: None, key, excerpt, class: PieceClass::Companion };
        list.push(Companion { piece, blob: plan.entry.blob.clone().map(|sha256| (sha256, plan.entry.size.unwrap_or(0))) });
    }
    Ok(list)
}

/// A file is what its bytes are, whatever its name. They are hashed here where the
/// log has them: a log could say any hash of them.
fn bytes_key(plan: &FilePlan) -> ContentKey {
    let said = match (&plan.entry.content, &plan.entry.blob) {
        (Some(content), _) => crate::model::digest::sha256_hex(content.as_bytes()),
        (None, blob) => blob.clone().unwrap_or_default(),
    };
    Sha256::new_with_prefix(b"file\0").chain_update(said).finalize().into()
}

fn link_key(plan: &FilePlan) -> ContentKey {
    let target = plan.target.as_deref().unwrap_or_default();
    Sha256::new_with_prefix(b"link\0").chain_update(plan.path.as_bytes()).chain_update(b"\0").chain_update(target).finalize().into()
}

fn piece(event: &EventRef<'_>, key: ContentKey, class: PieceClass) -> Spoken {
    let beginning = &event.payload[..event.payload.len().min(BEGINNING)];
    Spoken {
        seq: event.seq,
        role: event.kind.name().to_owned(),
        ts: event.ts.map(str::to_owned),
        key,
        excerpt: shortened(&String::from_utf8_lossy(beginning)),
        class,
    }
}

/// Where events of a kind are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ComparedAs {
    /// Here, as pieces of a class.
    As(PieceClass),
    /// Here as metadata, where a record of the source has made them.
    WithTime,
    /// With the messages, the damage or the files; or they follow from what is.
    Elsewhere,
}

fn class_of(kind: EventKind) -> ComparedAs {
    match kind {
        EventKind::Turn
        | EventKind::Run
        | EventKind::Custom
        | EventKind::Compaction
        | EventKind::BranchSummary
        | EventKind::Label
        | EventKind::Unknown => ComparedAs::As(PieceClass::Fact),
        EventKind::Meta | EventKind::Row | EventKind::ModelChange | EventKind::SettingChange | EventKind::Usage | EventKind::Edit => {
            ComparedAs::As(PieceClass::Metadata)
        }
        EventKind::Head => ComparedAs::WithTime,
        EventKind::Message
        | EventKind::Damage
        | EventKind::Repeat
        | EventKind::Session
        | EventKind::Outcome
        | EventKind::Hide
        | EventKind::Checkpoint
        | EventKind::Shapes
        | EventKind::Residual
        | EventKind::File
        | EventKind::Seal => ComparedAs::Elsewhere,
    }
}

/// Gives what is hashed to SHA-256.
struct Sha256Hasher(Sha256);

impl Hasher for Sha256Hasher {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Nobody asks for the short form.
    fn finish(&self) -> u64 {
        0
    }
}
