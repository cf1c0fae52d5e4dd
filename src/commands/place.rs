//! In which folder of a store the logs of a source are. A store of one source
//! has them directly below it; a store of several gives each a folder, and never
//! lets two sources share one.

use std::ffi::OsString;
use std::path::Path;

use crate::model::files::RelPath;
use crate::pipeline::source::Source;
use crate::store::layout::Store;
use crate::store::receipts::Receipts;
use crate::store::source_list::{KnownSource, SourceList};

use super::error::CommandError;

/// How a source shares its store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Share {
    /// Nothing was said of other sources: a new store is of this one alone.
    Alone,
    /// It comes with others, and a new folder for its logs has this name.
    Beside(OsString),
}

/// Whether the source around a folder is asked for where the store does not know
/// that folder itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Around {
    /// It is: one session's folder is named like a session of the folder around it.
    Asked,
    /// It is not: what the store knows there is something beside this source, such
    /// as a database beside a folder of sessions.
    Ignored,
}

/// The folder of a source's logs, and the sources that the store is of.
#[derive(Debug)]
pub(super) struct Place {
    pub(super) folder: RelPath,
    list: SourceList,
    around: Around,
}

/// The source that the store knows under this path, or around it.
fn known<'l>(list: &'l SourceList, root: &Path, around: Around) -> Option<&'l KnownSource> {
    let above = root.parent().filter(|_| around == Around::Asked);
    list.of(root).or_else(|| above.and_then(|above| list.of(above)))
}

fn refused(store: &Store, root: &Path, list: &SourceList) -> CommandError {
    let of = list.list().iter().map(|source| source.path.clone()).collect();
    CommandError::OtherSource { store: store.root().to_owned(), source: root.to_owned(), of }
}

/// Chooses the folder for the logs of a source.
///
/// # Errors
/// When the store is of another source, whose sessions could have the same names.
pub(super) fn choose(store: &Store, root: &Path, share: &Share) -> Result<Place, CommandError> {
    choose_as(Around::Asked, store, root, share)
}

/// Chooses the folder for a source beside another one in the same folder, such as a
/// folder of sessions beside a database: its sessions are not named as those of the
/// source that the store knows around it.
///
/// # Errors
/// When the store is of another source, whose sessions could have the same names.
pub(super) fn choose_apart(store: &Store, source: &Source, share: &Share) -> Result<Place, CommandError> {
    choose_as(Around::Ignored, store, &source.root, share)
}

fn choose_as(around: Around, store: &Store, root: &Path, share: &Share) -> Result<Place, CommandError> {
    let list = SourceList::read(store)?;
    if let Some(source) = known(&list, root, around) {
        return Ok(Place { folder: source.folder.clone(), list, around });
    }
    // A store that was written before there were lists is of one source, whichever it is.
    let is_of_one = list.sole().is_some() || (list.list().is_empty() && store.has_receipts());
    // A source that is no longer at its path was moved, or the store was; what is
    // there may be a link to where it is now.
    let is_gone_or_here = |source: &KnownSource| std::fs::canonicalize(&source.path).map_or(true, |now| now == root);
    let has_moved = list.sole().is_none_or(is_gone_or_here);
    let folder = match (share, is_of_one) {
        (Share::Alone, true) if has_moved => RelPath::new(""),
        (Share::Alone | Share::Beside(_), true) => return Err(refused(store, root, &list)),
        (Share::Alone, false) if list.list().is_empty() => RelPath::new(""),
        (Share::Alone, false) => list.new_folder(root.file_name().unwrap_or_default()),
        (Share::Beside(wanted), false) => list.new_folder(wanted),
    };
    Ok(Place { folder, list, around })
}

/// Chooses it once more, when it is a part's turn to say what the store is of: the
/// parts beside it may have said that since.
///
/// # Errors
/// When the store is of another source by now, or has another folder for this one.
pub(super) fn choose_again(before: &Place, store: &Store, root: &Path, share: &Share) -> Result<Place, CommandError> {
    let now = choose_as(before.around, store, root, share)?;
    // The sessions have the names that follow from the folder of then.
    if now.folder == before.folder { Ok(now) } else { Err(refused(store, root, &now.list)) }
}

impl Place {
    /// Tells whether the sessions of a source are named as those of the source whose
    /// folder it has.
    pub(super) fn suits(&self, source: &Source) -> bool {
        let known = known(&self.list, &source.root, self.around);
        source.units.is_empty() || known.is_none_or(|known| known.path == source.root || known.path == source.named_from)
    }

    /// Tells whether sessions of a source are in the store already, as those of the
    /// source around it.
    pub(super) fn has_sessions_of(&self, source: &Source, receipts: &Receipts) -> bool {
        let own = RelPath::new(source.root.file_name().unwrap_or_default().as_encoded_bytes());
        receipts.has_units_below(&own.below(&self.folder))
    }

    /// Returns the list with this source in it.
    ///
    /// # Errors
    /// When its sessions are not named as those of the source whose folder it has.
    pub(super) fn with(mut self, source: &Source, store: &Store) -> Result<SourceList, CommandError> {
        if !self.suits(source) {
            return Err(refused(store, &source.root, &self.list));
        }
        if source.units.is_empty() || self.list.of(&source.root).is_some() {
            return Ok(self.list);
        }
        self.list.remember(KnownSource { path: source.named_from.clone(), folder: self.folder });
        Ok(self.list)
    }
}

/// Finds the folder of a source's logs in a store that exists.
///
/// # Errors
/// When the store has folders for several sources, and none for this one.
pub(super) fn find(store: &Store, source: &Path) -> Result<RelPath, CommandError> {
    let list = SourceList::read(store)?;
    let whole = std::fs::canonicalize(source).unwrap_or_else(|_| source.to_owned());
    let root = if whole.is_file() { whole.parent().unwrap_or(&whole) } else { &whole };
    match known(&list, root, Around::Asked) {
        Some(source) => Ok(source.folder.clone()),
        None if list.sole().is_some() || list.list().is_empty() => Ok(RelPath::new("")),
        None => Err(CommandError::UnknownSource { store: store.root().to_owned(), source: source.to_owned() }),
    }
}

/// Finds the folder of a source's logs, where that folder itself may be what was
/// asked for: then nobody need know the source's path.
///
/// # Errors
/// When the store has folders for several sources, and none for this one.
pub(super) fn find_in_part(store: &Store, part: &RelPath, source: &Path) -> Result<RelPath, CommandError> {
    let list = SourceList::read(store)?;
    let asked = list.list().iter().find(|source| !part.as_bytes().is_empty() && source.folder == *part);
    asked.map_or_else(|| find(store, source), |source| Ok(source.folder.clone()))
}
